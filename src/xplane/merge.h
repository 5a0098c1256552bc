/* SPDX-License-Identifier: Apache-2.0 */
/* merge - the events of many lines, of one plane or several, in order of their start.
 *
 * A heap over line cursors: memory by the number of lines, not of events. Only a line that is not
 * in order of time costs memory by its events (XMERGE_SORTED_EVENT_BYTES each), since it has to be
 * sorted; `sorted` counts those lines so that it can be said. Ties: the longer event first, then
 * the line given first, then file order. Aggregated events have no start and are left out. A
 * damaged line gives its events up to the damage. */
#ifndef DEW_XPLANE_MERGE_H
#define DEW_XPLANE_MERGE_H

#include "xplane/line.h"

struct xmerge_source;

#define XMERGE_SORTED_EVENT_BYTES 24

/* XMERGE_SURVEY reads each line once beforehand and sorts those out of order. XMERGE_TRUST begins
 * at once, for lines opened by xline_open_head(): one that goes back in time, is damaged or turns
 * out to be `late` then ends the merge with `betrayed` set, and what was handed out before is void:
 * the caller starts again with XMERGE_SURVEY. JAX writes lines in order, so trust halves the
 * reading. */
enum xmerge_mode { XMERGE_SURVEY, XMERGE_TRUST };

struct xmerge {
    struct xmerge_source *sources;
    uint32_t *heap; /* sources that still have an event, the next one first */
    uint32_t count; /* in the heap */
    uint32_t source_count;
    uint32_t sorted;    /* lines that had to be sorted */
    int64_t rival_ps;   /* least start of the lines behind the first */
    struct xevent next; /* what xmerge_next() hands out */
    bool trusting;
    bool betrayed; /* see XMERGE_TRUST */
};

/* What a merge that trusts has read of all lines so far. */
struct xmerge_count {
    uint64_t events; /* aggregated ones too */
    uint64_t aggregated;
};

/* `lines` are copied; the map behind them must outlive the merge. */
must_check int xmerge_open(struct xmerge *ret_merge, const struct xline *lines, uint32_t count,
                           enum xmerge_mode mode, struct err *e);

/* The next `room` events, each with the number of its line; fewer only at the end. */
uint32_t xmerge_take(struct xmerge *merge, struct xevent *events, uint32_t room);

/* The next event and the number of its line: true, or false at the end. The event is valid until
 * the next call. */
bool xmerge_next(struct xmerge *merge, const struct xevent **ret_event, uint32_t *ret_line);

void xmerge_count(const struct xmerge *merge, struct xmerge_count *ret_count);

/* Takes a zeroed merge too. */
void xmerge_release(struct xmerge *merge);

#endif
