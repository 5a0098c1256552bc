/* SPDX-License-Identifier: Apache-2.0 */
/* layout_tpu - the `XLA Ops`, `Async XLA Ops`, `XLA Modules` and `Steps` lines of a TPU's plane.
 *
 * An op belongs to the module whose interval holds its start. The execution is the module event's
 * run_id, and its launch the host call that has the same one; where calls have none, launch order
 * on the device, checked by the module's name. Ops nest on a TPU (a loop spans its body), so sums
 * by op are inclusive, and busy is a union. Async ops are counted apart and are no part of busy. */
#include <stdlib.h>

#include "trace/pass.h"

#include "base/banned.h"

/* "jit_f(1234567)" is module jit_f with a fingerprint behind it. */
static struct view module_name(struct view name)
{
    const uint8_t *open = name.size ? memchr(name.data, '(', name.size) : NULL;
    return open ? view_of(name.data, (size_t)(open - name.data)) : name;
}

static int module_event(struct pass *pass, struct plane_state *plane, const struct xline *line,
                        const struct xevent *event, struct err *e)
{
    struct event_stats stats;
    stats_read(&stats, &plane->stat_ids, line, event);
    struct view name = module_name(xplane_event_name(&plane->plane, event->metadata_id));
    plane->module.name = name;
    plane->module.end = event->start_ps + event->duration_ps;
    plane->module.has = true;
    /* without a run_id the interval itself is the execution */
    plane->module.run =
        stats_has(&stats, STAT_RUN) ? pass_run(pass, stats.integers[STAT_RUN]) : event->start_ps;
    return pass_function(pass, name, &plane->module.function, e);
}

/* "%fusion.3 = f32[8]{0} fusion(...)" is fusion.3. */
static struct view short_name(const struct xevent_metadata *metadata)
{
    if (metadata->display_name.size)
        return metadata->display_name;
    struct view name = metadata->name;
    if (view_starts(name, "%")) {
        const uint8_t *space = memchr(name.data, ' ', name.size);
        size_t end = space ? (size_t)(space - name.data) : name.size;
        name = view_of(name.data + 1, end - 1);
    }
    return name;
}

static struct view category_of(const struct plane_state *plane,
                               const struct xevent_metadata *metadata)
{
    struct wire stats = metadata->stats;
    struct xstat stat;
    struct view text = view_of("", 0);
    while (xstat_next(&stats, XEVENT_METADATA_STATS, &stat) > 0) {
        if (stat.metadata_id == plane->stat_ids.of[STAT_CATEGORY] &&
            xplane_stat_text(&plane->plane, &stat, &text))
            break;
    }
    return text;
}

static int op_of(struct pass *pass, struct plane_state *plane, const struct xevent *event,
                 bool in_module, uint32_t *ret_op, struct err *e)
{
    struct name_state nameless = {0};
    struct name_state *name = pass_name(pass, plane, event->metadata_id);
    struct view module = in_module ? plane->module.name : view_of("", 0);
    if (name && name->op_ready && view_equal(name->op_module_bytes, module)) {
        *ret_op = name->op;
        return 0;
    }
    struct xevent_metadata metadata = {0};
    struct view category = view_of("", 0);
    uint32_t index = xplane_event_index(&plane->plane, event->metadata_id);
    if (index != XTABLE_NONE) {
        xplane_event_metadata(&plane->plane, index, &metadata);
        category = category_of(plane, &metadata);
    }
    name = name ? name : &nameless;
    int r = pass_op_number(pass, name, module, short_name(&metadata), category, ret_op, e);
    name->op_module_bytes = module;
    return r;
}

static int async_event(struct pass *pass, struct plane_state *plane, const struct xevent *event,
                       struct err *e)
{
    uint32_t op;
    bool in_module = plane->module.has && event->start_ps < plane->module.end;
    int r = op_of(pass, plane, event, in_module, &op, e);
    if (r < 0)
        return r;
    struct device *device = devices_at(&pass->devices, plane->device);
    int64_t start = event->start_ps, end = start + event->duration_ps;
    int64_t low = pass->window_start, high = pass->window_end;
    if (pass->ops.all[op].kind == OP_COLLECTIVE && end > low && start < high) {
        start = start > low ? start : low;
        end = end < high ? end : high;
        (void)span_add(&device->collective, start, end);
        (void)span_add(&device->either, start, end);
    }
    if (pass_in_scope(pass, event->start_ps)) {
        device->async_ops++;
        add_saturated(&device->async_ps, (uint64_t)event->duration_ps);
    }
    return 0;
}

static int op_event(struct pass *pass, struct plane_state *plane, const struct xevent *event,
                    struct err *e)
{
    bool in_module = plane->module.has && event->start_ps < plane->module.end;
    uint32_t op;
    int r = op_of(pass, plane, event, in_module, &op, e);
    if (r < 0)
        return r;
    struct op_launch launch = {0};
    if (in_module) {
        const struct links_execution *execution;
        bool first;
        r = links_execution(&pass->links, plane->module.run, plane->device, event->start_ps,
                            LINKS_NONE, plane->module.function, &execution, &first, e);
        if (r < 0)
            return r;
        launch = (struct op_launch){.known = execution->how != LINKED_NOT,
                                    .follows = !first,
                                    .start = execution->launch_start,
                                    .region = execution->region};
    }
    pass_op(pass, plane->device, op, event, &launch);
    return 0;
}

static int step_event(struct pass *pass, struct plane_state *plane, const struct xline *line,
                      const struct xevent *event, struct err *e)
{
    struct event_stats stats;
    stats_read(&stats, &plane->stat_ids, line, event);
    struct view name = xplane_event_name(&plane->plane, event->metadata_id);
    int64_t number = stats_integer(&stats, STAT_STEP, 0);
    if (!stats_has(&stats, STAT_STEP)) {
        char text[24];
        if (name.size == 0 || name.size >= sizeof(text))
            return 0;
        memcpy(text, name.data, name.size);
        text[name.size] = '\0';
        char *end;
        number = strtoll(text, &end, 10);
        if (*end)
            return 0;
    }
    uint32_t step;
    int r = intern_put(&pass->device_steps.names, view_text("device step"), &step, e);
    return r < 0 ? r : pass_step(pass, &pass->device_steps, step, number, event, e);
}

int tpu_event(struct pass *pass, const struct track *track, const struct xline *line,
              const struct xevent *event, struct err *e)
{
    struct plane_state *plane = &pass->planes[track->plane];
    switch (track->role) {
    case LINE_MODULES:
        return module_event(pass, plane, line, event, e);
    case LINE_ASYNC:
        return async_event(pass, plane, event, e);
    case LINE_STEPS:
        return step_event(pass, plane, line, event, e);
    default:
        return op_event(pass, plane, event, e);
    }
}
