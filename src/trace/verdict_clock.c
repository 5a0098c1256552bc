/* SPDX-License-Identifier: Apache-2.0 */
/* verdict_clock - medians, so that one clock that is hours off does not move the others. */
#include "trace/verdict_clock.h"

#include <stdlib.h>

#include "base/banned.h"

static int by_value(const void *a, const void *b)
{
    const int64_t *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

static int64_t apart(int64_t a, int64_t b)
{
    uint64_t distance = a > b ? (uint64_t)a - (uint64_t)b : (uint64_t)b - (uint64_t)a;
    return distance > INT64_MAX ? INT64_MAX : (int64_t)distance;
}

/* Positions below VERDICT_CLOCK_NS apart are the same as far as clocks can tell. */
static enum verdict_clock clock_of(int64_t start, int64_t end, const struct verdict *verdict)
{
    bool start_off = apart(start, 0) > VERDICT_CLOCK_NS, end_off = apart(end, 0) > VERDICT_CLOCK_NS;
    if (!start_off && !end_off)
        return CLOCK_AGREES;
    int64_t larger = apart(start, 0) > apart(end, 0) ? apart(start, 0) : apart(end, 0);
    int64_t tolerance = larger / 4 > VERDICT_CLOCK_NS / 2 ? larger / 4 : VERDICT_CLOCK_NS / 2;
    if (start_off && end_off && apart(start, end) <= tolerance)
        return verdict->basis != BASIS_COLLECTIVES ? CLOCK_AMBIGUOUS
               : verdict->pair                     ? CLOCK_EITHER
                                                   : CLOCK_OFF;
    return apart(start, 0) > apart(end, 0) ? CLOCK_STARTS : CLOCK_ENDS;
}

int verdict_clocks(const struct many_rows *rows, struct verdict *verdict,
                   const struct verdict_offset *offsets, struct err *e)
{
    CLEANUP(cleanup_free) int64_t *starts = calloc((size_t)rows->n_processes + 1, sizeof(*starts));
    CLEANUP(cleanup_free) int64_t *ends = calloc((size_t)rows->n_processes + 1, sizeof(*ends));
    if (!starts || !ends)
        return err_nomem(e);
    uint32_t n = 0;
    for (uint32_t i = 0; i < rows->n_processes; i++) {
        if (!offsets[i].known)
            continue;
        starts[n] = offsets[i].start_ns;
        ends[n++] = offsets[i].end_ns;
    }
    if (n < 2)
        return 0;
    qsort(starts, n, sizeof(*starts), by_value);
    qsort(ends, n, sizeof(*ends), by_value);
    verdict->pair = n == 2;
    int64_t start = starts[(n - 1) / 2], end = ends[(n - 1) / 2];
    int64_t starts_both = starts[0] + starts[1], ends_both = ends[0] + ends[1];
    for (uint32_t i = 0; i < rows->n_processes; i++) {
        struct verdict_process *to = &verdict->processes[i];
        if (verdict->pair) {
            start = starts_both - offsets[i].start_ns;
            end = ends_both - offsets[i].end_ns;
        }
        if (!offsets[i].known ||
            __builtin_sub_overflow(offsets[i].start_ns, start, &to->start_offset_ns) ||
            __builtin_sub_overflow(offsets[i].end_ns, end, &to->end_offset_ns))
            continue;
        to->clock = clock_of(to->start_offset_ns, to->end_offset_ns, verdict);
    }
    return 0;
}
