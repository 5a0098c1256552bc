/* SPDX-License-Identifier: Apache-2.0 */
/* layout_gpu - kernels and copies on the `Stream #...` lines of a GPU's plane.
 *
 * All streams of a plane are one device: their union is its busy time, memory copies and sets
 * included (kind copy). The launch is the driver call with the same correlation id. */
#include "trace/pass.h"

#include "base/banned.h"

static int op_of(struct pass *pass, struct plane_state *plane, struct name_state *name,
                 const struct xevent *event, const struct event_stats *stats, uint32_t *ret_op,
                 struct err *e)
{
    struct view module = view_of("", 0), op = view_of("", 0), category = view_of("", 0);
    if (stats_has(stats, STAT_MODULE))
        (void)xplane_stat_text(&plane->plane, &stats->module, &module);
    if (stats_has(stats, STAT_CATEGORY))
        (void)xplane_stat_text(&plane->plane, &stats->category, &category);
    if (!stats_has(stats, STAT_OP) || !xplane_stat_text(&plane->plane, &stats->op, &op))
        op = xplane_event_name(&plane->plane, event->metadata_id);
    return pass_op_number(pass, plane, name, module, op, category, ret_op, e);
}

int gpu_event(struct pass *pass, const struct track *track, const struct xline *line,
              const struct xevent *event, struct err *e)
{
    struct plane_state *plane = &pass->planes[track->plane];
    struct name_state nameless = {0};
    struct name_state *name = pass_name(pass, plane, event->metadata_id);
    struct event_stats stats = {0};
    pass_stats(plane, line, event, &stats);
    uint32_t op;
    int r = op_of(pass, plane, name ? name : &nameless, event, &stats, &op, e);
    if (r < 0)
        return r;
    struct op_launch launch = {0};
    if (stats_has(&stats, STAT_CORRELATION)) {
        const struct links_launch *found = links_call(&pass->links, (uint64_t)stats.correlation);
        if (found) {
            launch = (struct op_launch){.known = true,
                                        .follows = found->claimed,
                                        .start = found->start,
                                        .region = found->region};
            links_claim(&pass->links, links_launch(&pass->links, found->id));
            pass->gpu_linked++;
        }
    }
    return pass_op(pass, plane->device, op, event, &launch, e);
}
