/* SPDX-License-Identifier: Apache-2.0 */
/* layout_gpu - kernels and copies on the `Stream #...` lines of a GPU's plane.
 *
 * All streams of a plane are one device: their union is its busy time, memory copies and sets
 * included (kind copy). The launch is the driver call with the same correlation id. */
#include "trace/pass.h"

#include "base/banned.h"

int gpu_event(struct pass *pass, const struct track *track, const struct xline *line,
              const struct xevent *event, struct err *e)
{
    struct plane_state *plane = &pass->planes[track->plane];
    struct name_state *name = pass_name(pass, plane, event->metadata_id);
    struct event_stats stats;
    stats_read(&stats, &plane->stat_ids, line, event);
    uint32_t op;
    int r = pass_op_of_stats(pass, plane, name, event, &stats, &op, e);
    if (r < 0)
        return r;
    struct op_launch launch = {0};
    if (stats_has(&stats, STAT_CORRELATION)) {
        const struct links_launch *found =
            links_call(&pass->links, (uint64_t)stats.integers[STAT_CORRELATION]);
        if (found) {
            launch = (struct op_launch){.known = true,
                                        .follows = found->claimed,
                                        .start = found->start,
                                        .region = found->region};
            links_claim(&pass->links, links_launch(&pass->links, found->id));
            pass->gpu_linked++;
        }
    }
    pass_op(pass, plane->device, op, event, &launch);
    return 0;
}
