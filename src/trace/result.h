/* SPDX-License-Identifier: Apache-2.0 */
/* result - from the state of the pass to the result that outlives it: sorted, named, owned.
 *
 * pass_result() (pass.h) fills the summary table by table; all that the summary points to lies in
 * its arena. This is what its files share. */
#ifndef DEW_TRACE_RESULT_H
#define DEW_TRACE_RESULT_H

#include "trace/pass.h"

/* A NUL-terminated copy in which every byte that is not UTF-8, and NUL, became U+FFFD; NULL where
 * there is no memory. */
const char *result_text(struct summary *summary, struct view text);

/* Empties the sketch. */
void result_spread(struct summary_spread *spread, struct sketch *stolen);

/* Rows sorted without being moved. */
struct order {
    uint64_t key;
    uint32_t index;
};

/* For qsort(): the greatest key first, then by index. */
int order_by_key(const void *a, const void *b);

/* Room for n; NULL where there is no memory. */
struct order *order_new(size_t n);

/* After the devices and the regions. */
must_check int result_waits(struct summary *summary, struct err *e);
must_check int result_steps(struct pass *pass, struct summary *summary, struct err *e);
must_check int result_ops(struct pass *pass, struct summary *summary, struct err *e);
must_check int result_host_names(struct pass *pass, struct summary *summary, struct err *e);

#endif
