/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_xplane - any bytes as a capture: every cursor, every look-up, the survey and the merge.
 *
 * The survey, the walk and the merge see the same events; names lie inside the input. */
#include <string.h>

#include "target.h"
#include "xplane/merge.h"
#include "xplane/space.h"

#include "base/banned.h"

#define LINES_MERGED_MAX 64

static struct view input;

static void inside(struct view text)
{
    HOLDS(text.size == 0 ||
          (text.data >= input.data && text.data + text.size <= input.data + input.size));
}

static void walk_stats(const struct xplane *plane, struct wire stats, uint32_t field)
{
    struct xstat stat;
    int64_t number;
    while (xstat_next(&stats, field, &stat) > 0) {
        struct view text = {0};
        inside(stat.bytes);
        (void)xstat_integer(&stat, &number);
        (void)xplane_stat_text(plane, &stat, &text);
        inside(text);
        inside(xplane_stat_name(plane, stat.metadata_id));
    }
}

static void walk_line(const struct xplane *plane, const struct xline *line)
{
    struct xline walk = *line;
    struct xline_survey survey;
    struct xevent event;
    uint64_t events = 0;
    inside(line->name);
    inside(line->display_name);
    xline_survey(line, &survey);
    while (xline_next(&walk, &event) > 0) {
        int64_t end;
        HOLDS(event.duration_ps >= 0);
        HOLDS(!__builtin_add_overflow(event.start_ps, event.duration_ps, &end));
        HOLDS(event.aggregated || (event.start_ps >= survey.first_ps && end <= survey.last_ps));
        inside(xplane_event_name(plane, event.metadata_id));
        walk_stats(plane, xevent_stats(line, &event), XEVENT_STATS);
        events++;
    }
    HOLDS(events == survey.events && events <= line->events);
    HOLDS(walk.wire.damage.code == survey.damage.code);
    HOLDS(survey.damage.code != 0 || events == line->events);
}

static void walk_merge(const struct xline *lines, uint32_t count)
{
    struct xmerge merge;
    const struct xevent *event;
    uint32_t line;
    uint64_t expected = 0;
    int64_t before = INT64_MIN;
    for (uint32_t i = 0; i < count; i++) {
        struct xline_survey survey;
        xline_survey(&lines[i], &survey);
        expected += survey.events - survey.aggregated;
    }
    HOLDS(xmerge_open(&merge, lines, count, XMERGE_SURVEY, NULL) == 0);
    while (xmerge_next(&merge, &event, &line)) {
        HOLDS(line < count && event->start_ps >= before);
        before = event->start_ps;
        expected--;
    }
    HOLDS(expected == 0);
    xmerge_release(&merge);
}

/* A merge that trusts either says that it should not have, or gives what one that surveys gives. */
static void walk_trusting(const struct xplane *plane, const struct xline *surveyed, uint32_t count)
{
    struct xmerge merge, trusting;
    const struct xevent *event, *same;
    uint32_t line, same_line;
    struct xline heads[LINES_MERGED_MAX];
    for (uint32_t i = 0; i < count; i++)
        xplane_line_head(plane, i, i % 2 ? 1 : 0, &heads[i]);
    HOLDS(xmerge_open(&trusting, heads, count, XMERGE_TRUST, NULL) == 0);
    while (xmerge_next(&trusting, &event, &line))
        continue;
    bool betrayed = trusting.betrayed;
    xmerge_release(&trusting);
    if (betrayed)
        return;
    HOLDS(xmerge_open(&merge, surveyed, count, XMERGE_SURVEY, NULL) == 0);
    HOLDS(xmerge_open(&trusting, heads, count, XMERGE_TRUST, NULL) == 0);
    HOLDS(merge.sorted == 0);
    while (xmerge_next(&trusting, &event, &line)) {
        HOLDS(xmerge_next(&merge, &same, &same_line) && line == same_line);
        HOLDS(event->start_ps == same->start_ps && event->end == same->end);
    }
    HOLDS(!xmerge_next(&merge, &same, &same_line));
    struct xmerge_count one, other;
    xmerge_count(&trusting, &one);
    xmerge_count(&merge, &other);
    HOLDS(one.events == other.events && one.aggregated == other.aggregated);
    xmerge_release(&trusting);
    xmerge_release(&merge);
}

static void walk_plane(const struct wire *part)
{
    struct xplane plane;
    struct xline lines[LINES_MERGED_MAX];
    uint32_t kept = 0;
    HOLDS(xplane_open(&plane, part, NULL) == 0);
    inside(plane.name);
    walk_stats(&plane, xplane_stats(&plane), XPLANE_STATS);
    for (uint32_t i = 0; i < plane.event_metadata.count; i++) {
        struct xevent_metadata metadata;
        HOLDS(xplane_event_index(&plane, plane.event_metadata.entries[i].id) == i);
        xplane_event_metadata(&plane, i, &metadata);
        inside(metadata.name);
        inside(metadata.display_name);
        inside(metadata.metadata);
        walk_stats(&plane, metadata.stats, XEVENT_METADATA_STATS);
    }
    for (uint32_t i = 0; i < plane.line_count; i++) {
        struct xline line;
        xplane_line(&plane, i, i % 2 ? 1 : 0, &line);
        walk_line(&plane, &line);
        if (kept < LINES_MERGED_MAX)
            lines[kept++] = line;
    }
    walk_merge(lines, kept);
    walk_trusting(&plane, lines, kept);
    xplane_release(&plane);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct xspace space;
    struct wire part;
    input = view_of(data, size);
    xspace_open(&space, input);
    while (xspace_next(&space, &part) > 0)
        walk_plane(&part);
    inside(space.hostname);
    inside(space.first_error);
    inside(space.first_warning);
    return 0;
}
