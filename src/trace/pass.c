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

static void stat_take(struct event_stats *stats, enum stat_kind kind, const struct xstat *stat)
{
    int64_t value = 0;
    switch (kind) {
    case STAT_OP:
        stats->op = *stat;
        break;
    case STAT_MODULE:
        stats->module = *stat;
        break;
    case STAT_CATEGORY:
        stats->category = *stat;
        break;
    default:
        if (!xstat_integer(stat, &value))
            return;
    }
    switch (kind) {
    case STAT_PRODUCER:
        stats->producer = value;
        break;
    case STAT_CONSUMER:
        stats->consumer = value;
        break;
    case STAT_RUN:
        stats->run = value;
        break;
    case STAT_DEVICE:
        stats->device = value;
        break;
    case STAT_STEP:
        stats->step = value;
        break;
    case STAT_CORRELATION:
        stats->correlation = value;
        break;
    default:
        break;
    }
    stats->has |= 1U << kind;
}

static enum stat_kind stat_kind_of(const struct plane_state *plane, int64_t id)
{
    if (id >= 0 && id < (int64_t)sizeof(plane->stat_table))
        return plane->stat_table[id];
    for (unsigned kind = 1; kind < STAT_KINDS; kind++) {
        if (plane->stat_ids[kind] == id)
            return (enum stat_kind)kind;
    }
    return STAT_UNKNOWN;
}

void pass_stats(const struct plane_state *plane, const struct xline *line,
                const struct xevent *event, struct event_stats *ret_stats)
{
    struct wire wire = xevent_stats(line, event);
    struct xstat stat;
    ret_stats->has = 0;
    while (xstat_next(&wire, XEVENT_STATS, &stat) > 0) {
        enum stat_kind kind = stat_kind_of(plane, stat.metadata_id);
        if (kind != STAT_UNKNOWN)
            stat_take(ret_stats, kind, &stat);
    }
}

struct name_state *pass_name(struct pass *pass, struct plane_state *plane, int64_t metadata_id)
{
    uint32_t index = xplane_event_index(&plane->plane, metadata_id);
    if (index == XTABLE_NONE)
        return NULL;
    struct name_state *name = &plane->names[index];
    if (!name->ready) {
        struct view text = xplane_event_name(&plane->plane, metadata_id);
        name->ready = true;
        name->name_class = (uint8_t)name_class_of(text);
        name->region = SUMMARY_NO_REGION;
        name->function = LINKS_ANY_FUNCTION;
        bool plain = name->name_class == NAME_PLAIN && text.size > 0;
        name->maybe_region =
            regions_by_name(&pass->regions) ? regions_want(&pass->regions, text) : plain;
    }
    return name;
}

int pass_op_number(struct pass *pass, struct plane_state *plane, struct name_state *name,
                   struct view module, struct view op, struct view category, uint32_t *ret_op,
                   struct err *e)
{
    (void)plane;
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

/* Why the device did nothing before this op. */
static void book_gap(struct pass *pass, uint32_t device, int64_t start,
                     const struct op_launch *launch)
{
    int64_t from;
    if (!devices_gap(&pass->devices, device, start, &from))
        return;
    struct device *its = devices_at(&pass->devices, device);
    enum idle_cause cause = !its->has_op           ? IDLE_EDGE
                            : launch->follows      ? IDLE_BETWEEN
                            : !launch->known       ? IDLE_UNKNOWN
                            : launch->start > from ? IDLE_HOST
                                                   : IDLE_BETWEEN;
    its->cause[cause] += (uint64_t)(start - from);
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

int pass_op(struct pass *pass, uint32_t device, uint32_t op, const struct xevent *event,
            const struct op_launch *launch, struct err *e)
{
    int64_t start = event->start_ps, end = start + event->duration_ps;
    uint64_t duration = (uint64_t)event->duration_ps;
    book_gap(pass, device, start, launch);
    int r = devices_op(&pass->devices, device, start, end, pass->innermost, e);
    if (r < 0)
        return r;
    struct device *its = devices_at(&pass->devices, device);
    struct op_data *data = &pass->ops.all[op];
    book_collectives(pass, its, data, start, end);
    if (!pass_in_scope(pass, start))
        return 0;
    its->ops++;
    its->op_time_ps += duration;
    data->calls++;
    data->total_ps += duration;
    if (pass->innermost != SUMMARY_NO_REGION)
        pass->regions.all[pass->innermost].overlap_ops++;
    if (!launch->known) {
        pass->receipt.ops_unmatched++;
        pass->receipt.ops_unmatched_ps += duration;
    } else if (launch->region != SUMMARY_NO_REGION) {
        struct region_data *region = &pass->regions.all[launch->region];
        region->launched_ops++;
        region->launched_ps += duration;
    }
    return 0;
}

int pass_step(struct pass *pass, struct steps *steps, struct view name, int64_t number,
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
