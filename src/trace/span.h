/* SPDX-License-Identifier: Apache-2.0 */
/* span - length of the union of intervals that arrive in order of their start.
 *
 * One number of state; it leaves out the intervals themselves. `until` is where what was covered so
 * far ends, so an interval that begins behind it left a gap. */
#ifndef DEW_TRACE_SPAN_H
#define DEW_TRACE_SPAN_H

#include <stdint.h>

struct span {
    int64_t until;
    uint64_t covered;
};

/* Returns the length that [start, end) adds; its new part is the last that many ps before `end`. */
static inline uint64_t span_add(struct span *span, int64_t start, int64_t end)
{
    int64_t from = start > span->until ? start : span->until;
    if (end <= from) {
        if (start > span->until)
            span->until = start;
        return 0;
    }
    span->until = end;
    span->covered += (uint64_t)(end - from);
    return (uint64_t)(end - from);
}

#endif
