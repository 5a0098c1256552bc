/* SPDX-License-Identifier: Apache-2.0 */
/* walk - every event of the lines opened, in order of time, to the layout it belongs to. */
#include "trace/open.h"
#include "xplane/ahead.h"

#include "base/banned.h"

/* Everything that ends up to `now`: steps close, and idle time up to each end of a region belongs
 * to who was innermost before it. */
static int close_until(struct pass *pass, int64_t now, struct err *e)
{
    struct timeline_end end;
    while (timeline_next_end(&pass->timeline, now, &end)) {
        int r = devices_advance(&pass->devices, end.end, pass->innermost, e);
        if (r < 0)
            return r;
        if (end.region == TIMELINE_NONE) {
            struct steps *steps = end.step & 1 ? &pass->device_steps : &pass->steps;
            r = steps_end(steps, end.step / 2, devices_until(&pass->devices, end.end), e);
            if (r < 0)
                return r;
        } else {
            pass->innermost = timeline_innermost(&pass->timeline, end.end);
        }
    }
    return 0;
}

static int feed(struct pass *pass, const struct track *track, const struct xline *line,
                const struct xevent *event, struct err *e)
{
    switch (pass->planes[track->plane].role) {
    case PLANE_HOST:
        return host_event(pass, track, line, event, e);
    case PLANE_GPU:
        return gpu_event(pass, track, line, event, e);
    default:
        return tpu_event(pass, track, line, event, e);
    }
}

static int take(struct pass *pass, const struct xevent *event, struct err *e)
{
    if (pass->timeline.n_ends && pass->timeline.ends[0].end <= event->start_ps) {
        int r = close_until(pass, event->start_ps, e);
        if (r < 0)
            return r;
    }
    return feed(pass, &pass->tracks[event->line], &pass->lines[event->line], event, e);
}

static uint64_t bytes_of_events(const struct pass *pass)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < pass->n_lines; i++)
        bytes += (uint64_t)(pass->lines[i].wire.end - pass->lines[i].wire.pos);
    return bytes;
}

static int walk_merged(struct pass *pass, struct xmerge *merge, struct err *e)
{
    struct xahead *ahead;
    struct sift sift = {.pass = pass};
    int r = xahead_start(&ahead, merge, bytes_of_events(pass), sift_events, &sift, e);
    if (r < 0)
        return r;
    const struct xevent *events;
    uint32_t n;
    while (r == 0 && (n = xahead_next(ahead, &events)) > 0) {
        for (uint32_t i = 0; r == 0 && i < n; i++)
            r = take(pass, &events[i], e);
    }
    xahead_stop(ahead);
    if (r == 0 && sift.covers.no_memory)
        r = err_nomem(e);
    cover_table_release(&sift.covers);
    pass->receipt.events_outside += sift.count.outside;
    pass->receipt.python_tracer_events += sift.count.python;
    return r;
}

/* What the surveys would have counted. */
static void take_count(struct pass *pass, const struct xmerge *merge, struct summary *summary)
{
    struct xmerge_count count;
    xmerge_count(merge, &count);
    summary->events += count.events;
    pass->receipt.events_aggregated += count.aggregated;
}

int walk(struct pass *pass, struct summary *summary, struct err *e)
{
    CLEANUP(xmerge_release) struct xmerge merge = {0};
    int r = xmerge_open(&merge, pass->lines, pass->n_lines,
                        pass->careful ? XMERGE_SURVEY : XMERGE_TRUST, e);
    if (r == 0)
        r = walk_merged(pass, &merge, e);
    if (r < 0)
        return r;
    pass->again |= merge.betrayed;
    if (pass->again)
        return 0;
    if (!pass->careful)
        take_count(pass, &merge, summary);
    r = close_until(pass, INT64_MAX, e);
    return r < 0 ? r : devices_finish(&pass->devices, SUMMARY_NO_REGION, e);
}
