/* SPDX-License-Identifier: Apache-2.0 */
/* ahead - the events of a merge, decoded by a second thread while the caller works on earlier ones.
 *
 * Reading the file and understanding it cost about the same, so two cores halve the time of a big
 * capture. The thread touches nothing but the merge, which belongs to it from xahead_start() to
 * xahead_stop(), and a ring of batches of fixed size. A caller that finds the ring empty while the
 * thread is not decoding does it itself, so that a thread that gets no core costs nothing. Small
 * captures, which would pay more for a thread than it saves, and machines with one core have none.
 */
#ifndef DEW_XPLANE_AHEAD_H
#define DEW_XPLANE_AHEAD_H

#include "xplane/merge.h"

struct xahead;

/* Bytes of events below which a thread does not pay. */
#define XAHEAD_BYTES_MIN (UINT64_C(2) << 20)

/* Sees all events, in order, in one thread or the other, never in both at once; moves those that
 * the caller shall get to the front and returns how many they are. `context` belongs to it until
 * xahead_stop(). */
typedef uint32_t xahead_sift(void *context, struct xevent *events, uint32_t n);

/* `bytes` is about how much the merge will read. The merge is borrowed and stays the caller's to
 * release, after xahead_stop(). `sift` may be NULL. */
must_check int xahead_start(struct xahead **ret_ahead, struct xmerge *merge, uint64_t bytes,
                            xahead_sift *sift, void *context, struct err *e);

/* The next events that were sifted out, in the merge's order: how many, 0 at the end. They are
 * valid until the next call. */
uint32_t xahead_next(struct xahead *ahead, const struct xevent **ret_events);

/* Ends the thread, wherever it is, and frees. Takes NULL too. */
void xahead_stop(struct xahead *ahead);

#endif
