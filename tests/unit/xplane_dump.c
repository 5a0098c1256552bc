/* SPDX-License-Identifier: Apache-2.0 */
/* xplane_dump - what the reader sees in a capture, as JSON lines for comparison with another
 * reader.
 *
 *   xplane_dump FILE            a line of JSON for each line of each plane, then one for the file
 *   xplane_dump FILE events     and one for each event with its stats, in the order of the file
 *   xplane_dump FILE merged     and one for each event of a plane in order of time, without stats
 *
 * Text of a capture is written as JSON strings in which each byte is one code point (latin-1), so
 * that any byte survives. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/map.h"
#include "xplane/merge.h"
#include "xplane/space.h"

#include "base/banned.h"

static void put_text(struct view text)
{
    putchar('"');
    for (size_t i = 0; i < text.size; i++)
        if (text.data[i] < 0x20 || text.data[i] > 0x7e || strchr("\"\\", text.data[i]))
            printf("\\u%04x", text.data[i]);
        else
            putchar(text.data[i]);
    putchar('"');
}

static void put_stat_value(const struct xplane *plane, const struct xstat *stat)
{
    struct view text = stat->bytes;
    switch (stat->kind) {
    case XSTAT_KIND_NONE:
        fputs("null", stdout);
        return;
    case XSTAT_KIND_REAL:
        printf("\"%a\"", stat->real);
        return;
    case XSTAT_KIND_UNSIGNED:
        printf("%" PRIu64, stat->integer);
        return;
    case XSTAT_KIND_SIGNED:
        printf("%" PRId64, (int64_t)stat->integer);
        return;
    case XSTAT_KIND_REF:
        if (!xplane_stat_text(plane, stat, &text)) {
            printf("{\"ref\": %" PRIu64 "}", stat->integer);
            return;
        }
        break;
    default:
        break;
    }
    put_text(text);
}

static void put_stats(const struct xplane *plane, struct wire stats, uint32_t field)
{
    struct xstat stat;
    const char *between = "";
    fputs("\"stats\": [", stdout);
    while (xstat_next(&stats, field, &stat) > 0) {
        fputs(between, stdout);
        fputs("[", stdout);
        put_text(xplane_stat_name(plane, stat.metadata_id));
        fputs(", ", stdout);
        put_stat_value(plane, &stat);
        fputs("]", stdout);
        between = ", ";
    }
    fputs("]", stdout);
}

static void put_damage(const struct damage *damage)
{
    if (damage->code == 0)
        return;
    printf(", \"damage\": [%d, %" PRIu64 ", \"%s\"]", damage->code, damage->offset,
           damage->problem);
}

static void put_event(const struct xplane *plane, const struct xline *line,
                      const struct xevent *event, uint32_t number, bool with_stats)
{
    printf("{\"kind\": \"event\", \"line\": %u, \"name\": ", number);
    put_text(xplane_event_name(plane, event->metadata_id));
    printf(", \"start_ps\": %" PRId64 ", \"duration_ps\": %" PRId64, event->start_ps,
           event->duration_ps);
    if (event->aggregated)
        printf(", \"occurrences\": %" PRId64, event->occurrences);
    if (with_stats) {
        fputs(", ", stdout);
        put_stats(plane, xevent_stats(line, event), XEVENT_STATS);
    }
    puts("}");
}

static uint64_t put_line(const struct xplane *plane, uint32_t number, bool events)
{
    struct xline line;
    xplane_line(plane, number, 0, &line);
    struct xline_survey survey;
    xline_survey(&line, &survey);
    struct xline walk = line;
    struct xevent event;
    uint64_t sum_ps = 0;
    while (xline_next(&walk, &event) > 0) {
        sum_ps += (uint64_t)event.duration_ps;
        if (events)
            put_event(plane, &line, &event, number, true);
    }
    fputs("{\"kind\": \"line\", \"plane\": ", stdout);
    put_text(plane->name);
    fputs(", \"line\": ", stdout);
    put_text(line.name);
    printf(", \"id\": %" PRId64 ", \"events\": %" PRIu64 ", \"framed\": %" PRIu64
           ", \"sum_ps\": %" PRIu64 ", \"first_ps\": %" PRId64 ", \"last_ps\": %" PRId64
           ", \"ordered\": %s, \"cut\": %s",
           line.id, survey.events, line.events, sum_ps, survey.first_ps, survey.last_ps,
           survey.ordered ? "true" : "false", line.cut ? "true" : "false");
    put_damage(&survey.damage);
    puts("}");
    return survey.events;
}

static int put_merged(const struct xplane *plane, struct err *e)
{
    CLEANUP(cleanup_free)
    struct xline *lines = calloc((size_t)plane->line_count + 1, sizeof(*lines));
    if (!lines)
        return err_nomem(e);
    for (uint32_t i = 0; i < plane->line_count; i++)
        xplane_line(plane, i, 0, &lines[i]);
    CLEANUP(xmerge_release) struct xmerge merge = {0};
    int code = xmerge_open(&merge, lines, plane->line_count, XMERGE_SURVEY, e);
    const struct xevent *event;
    uint32_t number;
    while (code == 0 && xmerge_next(&merge, &event, &number))
        put_event(plane, &lines[number], event, number, false);
    return code;
}

static int put_plane(const struct wire *part, const char *mode, uint64_t *events, struct err *e)
{
    CLEANUP(xplane_release) struct xplane plane = {0};
    int code = xplane_open(&plane, part, e);
    if (code != 0)
        return code;
    fputs("{\"kind\": \"plane\", \"plane\": ", stdout);
    put_text(plane.name);
    printf(", \"lines\": %u, \"event_names\": %u, \"stat_names\": %u, \"cut\": %s, ",
           plane.line_count, plane.event_metadata.count, plane.stat_metadata.count,
           part->cut ? "true" : "false");
    put_stats(&plane, xplane_stats(&plane), XPLANE_STATS);
    put_damage(&plane.damage);
    puts("}");
    for (uint32_t i = 0; i < plane.line_count; i++)
        *events += put_line(&plane, i, strcmp(mode, "events") == 0);
    return strcmp(mode, "merged") == 0 ? put_merged(&plane, e) : 0;
}

int main(int argc, char **argv)
{
    if (argc < 2 || argc > 3) {
        (void)fputs("usage: xplane_dump FILE [events|merged]\n", stderr);
        return 2;
    }
    struct err e = {0};
    CLEANUP(map_release) struct map map = {0};
    uint64_t events = 0;
    struct xspace space = {0};
    struct wire part;
    int code = map_open(&map, argv[1], &e);
    if (code == 0)
        xspace_open(&space, map.bytes);
    while (code == 0 && xspace_next(&space, &part) > 0)
        code = put_plane(&part, argc > 2 ? argv[2] : "", &events, &e);
    if (code != 0) {
        (void)fprintf(stderr, "xplane_dump: %s\n", e.text);
        return 1;
    }
    printf("{\"kind\": \"file\", \"planes\": %u, \"events\": %" PRIu64 ", \"hostname\": ",
           space.planes, events);
    put_text(space.hostname);
    put_damage(&space.wire.damage);
    puts("}");
    return 0;
}
