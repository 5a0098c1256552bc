/* SPDX-License-Identifier: Apache-2.0 */
/* timeline - what is open now: regions of the whole process, and steps, in order of time.
 *
 * Events arrive by their start and know their end, so the ends wait in a heap; memory is by what is
 * open at once. The innermost region is the one that started last of those still open, whether or
 * not regions nest. */
#ifndef DEW_TRACE_TIMELINE_H
#define DEW_TRACE_TIMELINE_H

#include "base/err.h"
#include "base/view.h"

#define TIMELINE_NONE UINT32_MAX

struct timeline_end {
    int64_t end;
    uint64_t serial; /* of the opening */
    uint32_t region; /* or TIMELINE_NONE: a step */
    uint32_t step;
};

struct timeline_open {
    uint64_t serial;
    int64_t end;
    uint32_t region;
};

struct timeline {
    struct timeline_end *ends; /* heap, next end first */
    uint32_t n_ends, ends_room;
    struct timeline_open *stack; /* regions by start; closed ones leave when they reach the top */
    uint32_t n_stack, stack_room;
    uint64_t serial;
};

must_check int timeline_open_region(struct timeline *timeline, uint32_t region, int64_t end,
                                    struct err *e);
must_check int timeline_open_step(struct timeline *timeline, uint32_t step, int64_t end,
                                  struct err *e);

/* Takes the next end at or before `now`; false where there is none. A region that ended then is no
 * longer counted by timeline_innermost(). */
bool timeline_next_end(struct timeline *timeline, int64_t now, struct timeline_end *ret_end);

/* The region that started last of those that end after `now`; ends up to `now` must have been
 * taken.
 */
uint32_t timeline_innermost(struct timeline *timeline, int64_t now);

void timeline_release(struct timeline *timeline);

#endif
