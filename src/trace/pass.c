/* SPDX-License-Identifier: Apache-2.0 */
/* pass - what all layouts do with an op, a step, a name. */
#include "trace/pass.h"

#include <ctype.h>
#include <stdlib.h>

#include "base/banned.h"

#define FUNCTION_NAME_MAX 512

void pass_note_damage(struct pass *pass, const struct damage *damage)
{
    if (damage->code == 0 || (pass->receipt.damaged && pass->receipt.damaged_at <= damage->offset))
        return;
    pass->receipt.damaged = true;
    pass->receipt.damaged_at = damage->offset;
    pass->receipt.damage = damage->problem;
}

int pass_function(struct pass *pass, struct view name, uint32_t *ret_function, struct err *e)
{
    char text[FUNCTION_NAME_MAX];
    static const char *const prefixes[] = {"jit_", "pmap_", "pjit_"};
    for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++) {
        if (view_starts(name, prefixes[i])) {
            name = view_of(name.data + strlen(prefixes[i]), name.size - strlen(prefixes[i]));
            break;
        }
    }
    size_t n = 0;
    for (; n < name.size && n < sizeof(text); n++)
        text[n] = isalnum(name.data[n]) ? (char)name.data[n] : '_';
    while (n > 0 && text[n - 1] == '_')
        n--;
    return intern_put(&pass->functions, view_of(text, n), ret_function, e);
}

void pass_name_new(struct pass *pass, struct plane_state *plane, struct name_state *name,
                   int64_t metadata_id)
{
    struct view text = xplane_event_name(&plane->plane, metadata_id);
    name->ready = true;
    name->name_class = (uint8_t)name_class_of(text);
    name->region = SUMMARY_NO_REGION;
    name->step = NAME_NO_STEP;
    name->function = LINKS_ANY_FUNCTION;
    bool plain = name->name_class == NAME_PLAIN && text.size > 0;
    name->maybe_region =
        regions_by_name(&pass->regions) ? regions_want(&pass->regions, text) : plain;
}

int pass_op_number(struct pass *pass, struct name_state *name, struct view module, struct view op,
                   struct view category, uint32_t *ret_op, struct err *e)
{
    bool is_new;
    int r = ops_number(&pass->ops, module, op, category, ret_op, &is_new, e);
    if (r < 0)
        return r;
    if (is_new) {
        uint32_t function = LINKS_ANY_FUNCTION;
        if (module.size) {
            r = pass_function(pass, module, &function, e);
            if (r < 0)
                return r;
        }
        pass->ops.all[*ret_op].function = function;
    }
    name->op = *ret_op;
    name->op_ready = true;
    return 0;
}

/* What a text stat says, as a number: events of one name that refer to the same texts are the same
 * op, and need not be looked up. False for a text that is not a reference. */
static bool reference(const struct event_stats *stats, enum stat_kind kind, uint64_t *ret_ref)
{
    *ret_ref = stats_has(stats, kind) ? stats->texts[kind].integer : UINT64_MAX;
    return !stats_has(stats, kind) || stats->texts[kind].kind == XSTAT_KIND_REF;
}

int pass_op_of_stats(struct pass *pass, struct plane_state *plane, struct name_state *name,
                     const struct xevent *event, const struct event_stats *stats, uint32_t *ret_op,
                     struct err *e)
{
    struct name_state nameless = {0};
    uint64_t op_ref, module_ref;
    bool op_refers = reference(stats, STAT_OP, &op_ref);
    bool refers = reference(stats, STAT_MODULE, &module_ref) && op_refers;
    name = name ? name : &nameless;
    if (refers && name->op_ready && name->op_name_ref == op_ref &&
        name->op_module_ref == module_ref) {
        *ret_op = name->op;
        return 0;
    }
    const struct xplane *names = &plane->plane;
    struct view op = view_of("", 0);
    if (!stats_has(stats, STAT_OP) || !xplane_stat_text(names, &stats->texts[STAT_OP], &op))
        op = xplane_event_name(names, event->metadata_id);
    int r = pass_op_number(pass, name, stats_text(stats, names, STAT_MODULE), op,
                           stats_text(stats, names, STAT_CATEGORY), ret_op, e);
    name->op_ready = r == 0 && refers;
    name->op_name_ref = op_ref;
    name->op_module_ref = module_ref;
    return r;
}

/* Why the device did nothing before this op. */
static enum idle_cause cause_of_gap(struct pass *pass, uint32_t device, int64_t start,
                                    const struct op_launch *launch)
{
    int64_t from;
    if (!devices_gap(&pass->devices, device, start, &from))
        return IDLE_BETWEEN; /* there is none to book */
    return !devices_at(&pass->devices, device)->has_op ? IDLE_EDGE
           : launch->follows                           ? IDLE_BETWEEN
           : !launch->known                            ? IDLE_UNKNOWN
           : launch->start > from                      ? IDLE_HOST
                                                       : IDLE_BETWEEN;
}

static void book_collectives(struct pass *pass, struct device *device, const struct op_data *op,
                             int64_t start, int64_t end)
{
    int64_t low = pass->window_start, high = pass->window_end;
    if (op->control || end <= low || start >= high)
        return;
    start = start > low ? start : low;
    end = end < high ? end : high;
    (void)span_add(op->kind == OP_COLLECTIVE ? &device->collective : &device->compute, start, end);
    (void)span_add(&device->either, start, end);
}

/* Launched by the steps that were asked for, run when the last of them had ended. */
static void note_later(struct pass *pass, int64_t start, uint64_t duration,
                       const struct op_launch *launch)
{
    if (start < pass->window_end || !launch->known || !pass_in_scope(pass, launch->start))
        return;
    pass->receipt.ops_later++;
    add_saturated(&pass->receipt.ops_later_ps, duration);
}

void pass_op(struct pass *pass, uint32_t device, uint32_t op, const struct xevent *event,
             const struct op_launch *launch)
{
    int64_t start = event->start_ps, end = start + event->duration_ps;
    uint64_t duration = (uint64_t)event->duration_ps;
    devices_op(&pass->devices, device, start, end, cause_of_gap(pass, device, start, launch));
    struct device *its = devices_at(&pass->devices, device);
    struct op_data *data = &pass->ops.all[op];
    book_collectives(pass, its, data, start, end);
    if (!pass_in_scope(pass, start)) {
        note_later(pass, start, duration, launch);
        return;
    }
    its->ops++;
    add_saturated(&its->op_time_ps, duration);
    data->calls++;
    add_saturated(&data->total_ps, duration);
    if (pass->innermost != SUMMARY_NO_REGION)
        pass->regions.all[pass->innermost].overlap_ops++;
    if (!launch->known) {
        pass->receipt.ops_unmatched++;
        add_saturated(&pass->receipt.ops_unmatched_ps, duration);
    } else if (launch->region != SUMMARY_NO_REGION) {
        struct region_data *region = &pass->regions.all[launch->region];
        region->launched_ops++;
        region->ordered_ops += launch->ordered;
        add_saturated(&region->launched_ps, duration);
    }
}

int pass_step(struct pass *pass, struct steps *steps, uint32_t name, int64_t number,
              const struct xevent *event, struct err *e)
{
    if (!pass_in_scope(pass, event->start_ps))
        return 0;
    int64_t start = event->start_ps, end = start + event->duration_ps;
    bool cut = start < pass->window_start || end > pass->window_end;
    int r = devices_advance(&pass->devices, start, pass->innermost, e);
    if (r < 0)
        return r;
    uint32_t slot;
    r = steps_begin(steps, name, number, start, end, cut, devices_until(&pass->devices, start),
                    &slot, e);
    if (r < 0)
        return r;
    return timeline_open_step(&pass->timeline, slot * 2 + (steps == &pass->device_steps), end, e);
}
