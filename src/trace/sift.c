/* SPDX-License-Identifier: Apache-2.0 */
/* sift - one look at each event's name. */
#include "trace/sift.h"

#include "trace/pass.h"

#include "base/banned.h"

enum what {
    NOT_SEEN, /* 0: a name is looked at when it first occurs */
    HANDED_ON,
    COUNTED,
    COUNTED_IF_BARE,            /* without stats; with them it may be an op or a step */
    COUNTED_IF_BARE_ON_WORKERS, /* on other threads it is a region */
    DROPPED,
};

static enum what what_of(const struct pass *pass, struct view name)
{
    bool by_name = regions_by_name(&pass->regions);
    bool wanted = by_name && regions_want(&pass->regions, name);
    switch (name_class_of(name)) {
    case NAME_END:
        return DROPPED;
    case NAME_PYTHON:
        return wanted ? HANDED_ON : COUNTED;
    case NAME_RUNTIME:
        return wanted ? HANDED_ON : COUNTED_IF_BARE;
    case NAME_PLAIN:
        return wanted                  ? HANDED_ON
               : by_name || !name.size ? COUNTED_IF_BARE
                                       : COUNTED_IF_BARE_ON_WORKERS;
    default:
        return HANDED_ON;
    }
}

static bool hands_on(enum what what, const struct track *track, const struct xevent *event)
{
    return what == HANDED_ON || (what == COUNTED_IF_BARE && event->stats != event->end) ||
           (what == COUNTED_IF_BARE_ON_WORKERS && (event->stats != event->end || !track->worker));
}

/* False for an event that is done with. */
static bool take(struct sift *sift, const struct track *track, const struct plane_state *plane,
                 struct sift_count *count, const struct xevent *event)
{
    const struct pass *pass = sift->pass;
    count->outside += event->start_ps >= pass->window_end ||
                      event->start_ps + event->duration_ps < pass->window_start;
    if (plane->role != PLANE_HOST)
        return true;
    uint32_t index = xplane_event_index(&plane->plane, event->metadata_id);
    if (index == XTABLE_NONE)
        return false; /* what has no name tells nothing */
    struct sifted_name *name = &plane->sifted[index];
    if (name->what == NOT_SEEN) {
        struct view text = xplane_event_name(&plane->plane, event->metadata_id);
        name->what = (uint8_t)what_of(pass, text);
        name->python = name_class_of(text) == NAME_PYTHON;
    }
    count->python += name->python;
    if (hands_on((enum what)name->what, track, event))
        return true;
    if (name->what != DROPPED && pass_in_scope(pass, event->start_ps)) {
        name->calls++;
        add_saturated(&name->total_ps,
                      cover_add(&name->cover, &sift->covers, track->thread, event->start_ps,
                                event->start_ps + event->duration_ps));
    }
    return false;
}

uint32_t sift_events(void *context, struct xevent *events, uint32_t n)
{
    struct sift *sift = context;
    struct sift_count count = sift->count;
    uint32_t line = 0;
    const struct track *track = NULL;
    const struct plane_state *plane = NULL;
    uint32_t kept = 0;
    for (uint32_t i = 0; i < n; i++) {
        if (i == 0 || events[i].line != line) { /* most often the line goes on */
            line = events[i].line;
            track = &sift->pass->tracks[line];
            plane = &sift->pass->planes[track->plane];
        }
        if (!take(sift, track, plane, &count, &events[i]))
            continue;
        if (kept != i)
            events[kept] = events[i];
        kept++;
    }
    sift->count = count;
    return kept;
}
