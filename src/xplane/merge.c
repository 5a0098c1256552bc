/* SPDX-License-Identifier: Apache-2.0 */
/* merge - a binary heap of line cursors, and a sorted index for lines out of order. */
#include "xplane/merge.h"

#include <stdlib.h>

#include "base/banned.h"

struct place {
    int64_t start_ps;
    int64_t duration_ps;
    const uint8_t *pos; /* of the event's field in the line */
};

_Static_assert(sizeof(struct place) <= XMERGE_SORTED_EVENT_BYTES, "what is said of the memory");

struct xmerge_source {
    struct xline line;
    struct xevent event; /* the next one */
    int64_t last_ps;     /* start of the one loaded last */
    uint64_t events;     /* read so far */
    uint64_t aggregated;
    struct place *places; /* NULL where the line is in order */
    size_t place_count;
    size_t place_next;
};

static bool before(const struct xmerge *merge, uint32_t a, uint32_t b)
{
    const struct xevent *left = &merge->sources[a].event;
    const struct xevent *right = &merge->sources[b].event;
    if (left->start_ps != right->start_ps)
        return left->start_ps < right->start_ps;
    if (left->duration_ps != right->duration_ps)
        return left->duration_ps > right->duration_ps;
    return a < b;
}

static void sift_down(struct xmerge *merge, uint32_t at)
{
    uint32_t moved = merge->heap[at];
    for (;;) {
        uint32_t child = 2 * at + 1;
        if (child >= merge->count)
            break;
        if (child + 1 < merge->count && before(merge, merge->heap[child + 1], merge->heap[child]))
            child++;
        if (!before(merge, merge->heap[child], moved))
            break;
        merge->heap[at] = merge->heap[child];
        at = child;
    }
    merge->heap[at] = moved;
}

static inline bool load_in_order(struct xmerge_source *source, struct xevent *ret_event)
{
    while (xline_next(&source->line, ret_event) > 0) {
        source->events++;
        if (!ret_event->aggregated)
            return true;
        source->aggregated++;
    }
    return false;
}

/* The source's event behind the one that was loaded last. */
static inline bool load_next(struct xmerge *merge, struct xmerge_source *source,
                             struct xevent *ret_event)
{
    if (source->places) {
        if (source->place_next == source->place_count)
            return false;
        source->line.wire.pos = source->places[source->place_next++].pos;
        return load_in_order(source, ret_event);
    }
    bool has = load_in_order(source, ret_event);
    if (merge->trusting) {
        if (has ? ret_event->start_ps < source->last_ps
                : source->line.late || source->line.wire.damage.code != 0)
            merge->betrayed = true;
        source->last_ps = ret_event->start_ps;
    }
    return has;
}

static int by_start(const void *left, const void *right)
{
    const struct place *a = left;
    const struct place *b = right;
    if (a->start_ps != b->start_ps)
        return a->start_ps < b->start_ps ? -1 : 1;
    if (a->duration_ps != b->duration_ps)
        return a->duration_ps > b->duration_ps ? -1 : 1;
    return a->pos < b->pos ? -1 : a->pos > b->pos;
}

static int sort_line(struct xmerge_source *source, uint64_t events, struct err *e)
{
    if (events > XMERGE_SORTED_EVENTS_MAX)
        return err_set(e, ERR_LIMIT, "a line out of order has more than %u events to sort",
                       XMERGE_SORTED_EVENTS_MAX);
    source->places = malloc((size_t)events * sizeof(*source->places));
    if (!source->places)
        return err_nomem(e);
    struct xline walk = source->line;
    struct xevent event;
    const uint8_t *pos = walk.wire.pos;
    while (source->place_count < events && xline_next(&walk, &event) > 0) {
        if (!event.aggregated)
            source->places[source->place_count++] =
                (struct place){event.start_ps, event.duration_ps, pos};
        pos = walk.wire.pos;
    }
    qsort(source->places, source->place_count, sizeof(*source->places), by_start);
    return 0;
}

/* To know whether the line after the first one's next event is due, one start is enough. */
static void note_rival(struct xmerge *merge)
{
    merge->rival_ps = INT64_MAX;
    for (uint32_t child = 1; child <= 2 && child < merge->count; child++) {
        int64_t start_ps = merge->sources[merge->heap[child]].event.start_ps;
        if (start_ps < merge->rival_ps)
            merge->rival_ps = start_ps;
    }
}

static int open_source(struct xmerge *merge, uint32_t i, const struct xline *line, struct err *e)
{
    struct xmerge_source *source = &merge->sources[i];
    struct xline_survey survey;
    source->line = *line;
    source->last_ps = INT64_MIN;
    if (merge->trusting)
        return 0;
    xline_survey(line, &survey);
    if (survey.ordered)
        return 0;
    merge->sorted++;
    return sort_line(source, survey.events - survey.aggregated, e);
}

int xmerge_open(struct xmerge *ret_merge, const struct xline *lines, uint32_t count,
                enum xmerge_mode mode, struct err *e)
{
    if (count > XMERGE_LINES_MAX)
        return err_set(e, ERR_LIMIT, "more than %u lines to merge", XMERGE_LINES_MAX);
    CLEANUP(xmerge_release)
    struct xmerge merge = {.source_count = count, .trusting = mode == XMERGE_TRUST};
    merge.sources = calloc((size_t)count + 1, sizeof(*merge.sources));
    merge.heap = calloc((size_t)count + 1, sizeof(*merge.heap));
    if (!merge.sources || !merge.heap)
        return err_nomem(e);
    for (uint32_t i = 0; i < count; i++) {
        int code = open_source(&merge, i, &lines[i], e);
        if (code != 0)
            return code;
        if (load_next(&merge, &merge.sources[i], &merge.sources[i].event))
            merge.heap[merge.count++] = i;
    }
    for (uint32_t i = merge.count / 2; i-- > 0;)
        sift_down(&merge, i);
    note_rival(&merge);
    *ret_merge = merge;
    merge = (struct xmerge){0};
    return 0;
}

/* Most often the line whose turn it was goes on, so its events are decoded right to where they are
 * wanted until the next line is due. */
uint32_t xmerge_take(struct xmerge *merge, struct xevent *events, uint32_t room)
{
    uint32_t n = 0;
    while (n < room && merge->count > 0 && !merge->betrayed) {
        uint32_t line = merge->heap[0];
        struct xmerge_source *source = &merge->sources[line];
        events[n] = source->event;
        bool has = true;
        for (bool due = false; !due;) {
            events[n++].line = line;
            struct xevent *next = n < room ? &events[n] : &source->event;
            has = load_next(merge, source, next);
            due = !has || n == room || merge->betrayed || next->start_ps >= merge->rival_ps;
            if (has && due && n < room)
                source->event = *next;
        }
        if (!has)
            merge->heap[0] = merge->heap[--merge->count];
        if (merge->count > 0)
            sift_down(merge, 0);
        note_rival(merge);
    }
    return n;
}

bool xmerge_next(struct xmerge *merge, const struct xevent **ret_event, uint32_t *ret_line)
{
    if (xmerge_take(merge, &merge->next, 1) == 0)
        return false;
    *ret_line = merge->next.line;
    *ret_event = &merge->next;
    return true;
}

void xmerge_count(const struct xmerge *merge, struct xmerge_count *ret_count)
{
    struct xmerge_count count = {0};
    for (uint32_t i = 0; i < merge->source_count; i++) {
        const struct xmerge_source *source = &merge->sources[i];
        count.events += source->events;
        count.aggregated += source->aggregated;
    }
    *ret_count = count;
}

void xmerge_release(struct xmerge *merge)
{
    for (uint32_t i = 0; merge->sources && i < merge->source_count; i++)
        free(merge->sources[i].places);
    free(merge->sources);
    free(merge->heap);
    *merge = (struct xmerge){0};
}
