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

int cpu_op(struct pass *pass, struct plane_state *plane, uint64_t origin, struct name_state *name,
           const struct xevent *event, const struct event_stats *stats, struct err *e)
{
    uint32_t device, op;
    int r = device_of(pass, stats_integer(stats, STAT_DEVICE, 0), &device, e);
    if (r == 0)
        r = pass_op_of_stats(pass, plane, name, event, stats, &op, e);
    if (r < 0)
        return r;
    struct op_launch launch;
    if (stats_has(stats, STAT_RUN)) {
        const struct links_execution *execution;
        bool first;
        r = links_execution(&pass->links, stats->integers[STAT_RUN], device, event->start_ps,
                            origin, pass->ops.all[op].function, &execution, &first, e);
        if (r < 0)
            return r;
        launch = (struct op_launch){.known = execution->how != LINKED_NOT,
                                    .follows = !first,
                                    .ordered = execution->how == LINKED_BY_ORDER,
                                    .start = execution->launch_start,
                                    .region = execution->region};
    } else {
        launch = launch_of_thread(pass, origin);
    }
    pass_op(pass, device, op, event, &launch);
    return 0;
}
