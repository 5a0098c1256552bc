/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_nanopb - the same bytes through nanopb and through src/xplane: what one accepts the other
 * accepts, and they count and sum alike.
 *
 * Where they may differ, ours is the stricter one, on purpose: it refuses a known field of another
 * wire type (nanopb hands it to the callback), a varint of more than 64 bits in a field that it
 * does not know, a field number above 2^29 - 1 (nanopb folds it), and times that do not fit. */
#include <string.h>

#include <pb_decode.h>

#include "target.h"
#include "xplane.pb.h"
#include "xplane/space.h"

#include "base/banned.h"

struct sums {
    uint64_t planes, lines, events, stats;
    uint64_t plane_ids, line_ids, event_ids, stat_ids;
    uint64_t offsets_ps, durations_ps, occurrences, timestamps_ns;
};

static bool count_stat(pb_istream_t *stream, const pb_field_t *field, void **arg)
{
    (void)field;
    struct sums *sums = *arg;
    NpStat stat = NpStat_init_zero;
    if (!pb_decode(stream, NpStat_fields, &stat))
        return false;
    sums->stats++;
    sums->stat_ids += (uint64_t)stat.metadata_id;
    return true;
}

static bool count_event(pb_istream_t *stream, const pb_field_t *field, void **arg)
{
    (void)field;
    struct sums *sums = *arg;
    NpEvent event = NpEvent_init_zero;
    event.stats = (pb_callback_t){.funcs.decode = count_stat, .arg = sums};
    if (!pb_decode(stream, NpEvent_fields, &event))
        return false;
    sums->events++;
    sums->event_ids += (uint64_t)event.metadata_id;
    sums->durations_ps += event.duration_ps < 0 ? 0 : (uint64_t)event.duration_ps;
    if (event.which_data == NpEvent_offset_ps_tag)
        sums->offsets_ps += (uint64_t)event.data.offset_ps;
    if (event.which_data == NpEvent_num_occurrences_tag)
        sums->occurrences += (uint64_t)event.data.num_occurrences;
    return true;
}

static bool count_line(pb_istream_t *stream, const pb_field_t *field, void **arg)
{
    (void)field;
    struct sums *sums = *arg;
    NpLine line = NpLine_init_zero;
    line.events = (pb_callback_t){.funcs.decode = count_event, .arg = sums};
    if (!pb_decode(stream, NpLine_fields, &line))
        return false;
    sums->lines++;
    sums->line_ids += (uint64_t)line.id;
    sums->timestamps_ns += (uint64_t)line.timestamp_ns;
    return true;
}

static bool check_entry(pb_istream_t *stream, const pb_field_t *field, void **arg)
{
    (void)field;
    (void)arg;
    NpEntry entry = NpEntry_init_zero;
    return pb_decode(stream, NpEntry_fields, &entry);
}

static bool count_plane(pb_istream_t *stream, const pb_field_t *field, void **arg)
{
    (void)field;
    struct sums *sums = *arg;
    NpPlane plane = NpPlane_init_zero;
    plane.lines = (pb_callback_t){.funcs.decode = count_line, .arg = sums};
    plane.stats = (pb_callback_t){.funcs.decode = count_stat, .arg = sums};
    plane.event_metadata = (pb_callback_t){.funcs.decode = check_entry};
    plane.stat_metadata = (pb_callback_t){.funcs.decode = check_entry};
    if (!pb_decode(stream, NpPlane_fields, &plane))
        return false;
    sums->planes++;
    sums->plane_ids += (uint64_t)plane.id;
    return true;
}

static bool read_theirs(const uint8_t *data, size_t size, struct sums *sums)
{
    pb_istream_t stream = pb_istream_from_buffer(data, size);
    NpSpace space = NpSpace_init_zero;
    space.planes = (pb_callback_t){.funcs.decode = count_plane, .arg = sums};
    return pb_decode(&stream, NpSpace_fields, &space);
}

static void note(struct damage *first, const struct damage *found)
{
    if (first->code == 0)
        *first = *found;
}

static void count_stats(struct wire stats, uint32_t field, struct sums *sums, struct damage *first)
{
    struct xstat stat;
    while (xstat_next(&stats, field, &stat) > 0) {
        sums->stats++;
        sums->stat_ids += (uint64_t)stat.metadata_id;
    }
    note(first, &stats.damage);
}

static void read_our_line(const struct xplane *plane, uint32_t i, struct sums *sums,
                          struct damage *first)
{
    struct xline line;
    struct xevent event;
    xplane_line(plane, i, 0, &line);
    xplane_line(plane, i, line.timestamp_ns, &line); /* so that a start is the offset */
    while (xline_next(&line, &event) > 0) {
        sums->events++;
        sums->event_ids += (uint64_t)event.metadata_id;
        sums->durations_ps += (uint64_t)event.duration_ps;
        if (event.aggregated)
            sums->occurrences += (uint64_t)event.occurrences;
        else
            sums->offsets_ps += (uint64_t)event.start_ps;
        count_stats(xevent_stats(&line, &event), XEVENT_STATS, sums, first);
    }
    note(first, &line.wire.damage);
    sums->lines++;
    sums->line_ids += (uint64_t)line.id;
    sums->timestamps_ns += (uint64_t)line.timestamp_ns;
}

static struct damage read_ours(const uint8_t *data, size_t size, struct sums *sums)
{
    struct damage first = {0};
    struct xspace space;
    struct wire part;
    xspace_open(&space, view_of(data, size));
    while (xspace_next(&space, &part) > 0) {
        struct xplane plane;
        HOLDS(xplane_open(&plane, &part, NULL) == 0);
        note(&first, &plane.damage);
        count_stats(xplane_stats(&plane), XPLANE_STATS, sums, &first);
        for (uint32_t i = 0; i < plane.line_count; i++)
            read_our_line(&plane, i, sums, &first);
        sums->planes++;
        sums->plane_ids += (uint64_t)plane.id;
        xplane_release(&plane);
    }
    note(&first, &space.wire.damage);
    return first;
}

static bool stricter_on_purpose(const char *problem)
{
    return strstr(problem, "wire type") || strstr(problem, "64 bits") ||
           strstr(problem, "field number");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const uint8_t nothing[1];
    struct sums ours = {0}, theirs = {0};
    data = data ? data : nothing;
    bool accepted = read_theirs(data, size, &theirs);
    struct damage damage = read_ours(data, size, &ours);
    if (damage.code != 0) {
        HOLDS(!accepted || stricter_on_purpose(damage.problem));
        return 0;
    }
    HOLDS(accepted);
    HOLDS(memcmp(&ours, &theirs, sizeof(ours)) == 0);
    return 0;
}
