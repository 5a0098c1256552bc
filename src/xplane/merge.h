/* SPDX-License-Identifier: Apache-2.0 */
/* merge - the events of many lines, of one plane or several, in order of their start.
 *
 * A heap over line cursors: memory by the number of lines, not of events. Only a line that is not
 * in order of time costs memory by its events (24 bytes each), since it has to be sorted; `sorted`
 * counts those lines so that it can be said. Ties: the longer event first, then the line given
 * first, then file order. Aggregated events have no start and are left out. A damaged line gives
 * its events up to the damage. */
#ifndef DEW_XPLANE_MERGE_H
#define DEW_XPLANE_MERGE_H

#include "xplane/line.h"

struct xmerge_source;

struct xmerge {
    struct xmerge_source *sources;
    uint32_t *heap; /* sources that still have an event, the next one first */
    uint32_t count; /* in the heap */
    uint32_t source_count;
    uint32_t sorted; /* lines that had to be sorted */
    bool started;
};

/* `lines` are copied; the map behind them must outlive the merge. */
must_check int xmerge_open(struct xmerge *ret_merge, const struct xline *lines, uint32_t count,
                           struct err *e);

/* The next event and the number of its line: true, or false at the end. The event is valid until
 * the next call. */
bool xmerge_next(struct xmerge *merge, const struct xevent **ret_event, uint32_t *ret_line);

/* Takes a zeroed merge too. */
void xmerge_release(struct xmerge *merge);

#endif
