/* SPDX-License-Identifier: Apache-2.0 */
/* layout_cpu - ops of the CPU backend: host events with an hlo_op stat.
 *
 * One device per device_ordinal. The execution is (run_id, device_ordinal); an op without a run_id
 * belongs to the call that its thread's task comes from. */
#include "trace/pass.h"

#include "base/banned.h"

static int device_of(struct pass *pass, int64_t ordinal, uint32_t *ret_device, struct err *e)
{
    for (uint32_t i = 0; i < pass->devices.count; i++) {
        if (devices_at(&pass->devices, i)->ordinal == ordinal) {
            *ret_device = i;
            return 0;
        }
    }
    char name[32];
    (void)snprintf(name, sizeof(name), "cpu:%lld", (long long)ordinal);
    return devices_add(&pass->devices, name, ordinal, ret_device, e);
}

static int op_of(struct pass *pass, struct plane_state *plane, struct name_state *name,
                 const struct event_stats *stats, uint32_t *ret_op, struct err *e)
{
    bool refs = stats->op.kind == XSTAT_KIND_REF &&
                (!stats_has(stats, STAT_MODULE) || stats->module.kind == XSTAT_KIND_REF);
    uint64_t module_ref = stats_has(stats, STAT_MODULE) ? stats->module.integer : UINT64_MAX;
    if (refs && name->op_ready && name->op_name_ref == stats->op.integer &&
        name->op_module_ref == module_ref) {
        *ret_op = name->op;
        return 0;
    }
    struct view module = view_of("", 0), op = view_of("", 0), category = view_of("", 0);
    if (stats_has(stats, STAT_MODULE))
        (void)xplane_stat_text(&plane->plane, &stats->module, &module);
    if (stats_has(stats, STAT_CATEGORY))
        (void)xplane_stat_text(&plane->plane, &stats->category, &category);
    (void)xplane_stat_text(&plane->plane, &stats->op, &op);
    int r = pass_op_number(pass, plane, name, module, op, category, ret_op, e);
    name->op_ready = r == 0 && refs;
    name->op_name_ref = stats->op.integer;
    name->op_module_ref = module_ref;
    return r;
}

/* For want of a run_id. */
static struct op_launch launch_of_thread(struct pass *pass, uint64_t candidate)
{
    struct links_launch *launch = links_launch(&pass->links, candidate);
    if (!launch)
        return (struct op_launch){0};
    bool follows = launch->claimed;
    links_claim(&pass->links, launch);
    pass->links.linked += !follows;
    return (struct op_launch){
        .known = true, .follows = follows, .start = launch->start, .region = launch->region};
}

int cpu_op(struct pass *pass, struct plane_state *plane, struct thread *thread,
           struct name_state *name, const struct xevent *event, const struct event_stats *stats,
           struct err *e)
{
    uint32_t device, op;
    int r = device_of(pass, stats_has(stats, STAT_DEVICE) ? stats->device : 0, &device, e);
    if (r == 0)
        r = op_of(pass, plane, name, stats, &op, e);
    if (r < 0)
        return r;
    uint64_t candidate = thread_origin(thread, event->start_ps);
    struct op_launch launch;
    if (stats_has(stats, STAT_RUN)) {
        const struct links_execution *execution;
        bool first;
        r = links_execution(&pass->links, stats->run, device, event->start_ps, candidate,
                            pass->ops.all[op].function, &execution, &first, e);
        if (r < 0)
            return r;
        launch = (struct op_launch){.known = execution->how != LINKED_NOT,
                                    .follows = !first,
                                    .start = execution->launch_start,
                                    .region = execution->region};
    } else {
        launch = launch_of_thread(pass, candidate);
    }
    return pass_op(pass, device, op, event, &launch, e);
}
