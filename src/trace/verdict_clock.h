/* SPDX-License-Identifier: Apache-2.0 */
/* verdict_clock - how far a process's steps lie from those of the median process, and what that
 * can mean. */
#ifndef DEW_TRACE_VERDICT_CLOCK_H
#define DEW_TRACE_VERDICT_CLOCK_H

#include "trace/verdict.h"

/* How far a process's steps lie from the same steps of others; only differences mean anything. */
struct verdict_offset {
    bool known;
    int64_t start_ns, end_ns;
};

/* Fills `pair`, and clock, start_offset_ns and end_offset_ns of each process. Offsets are within
 * 2^61 ns, so that their sums and differences are numbers too. */
must_check int verdict_clocks(const struct many_rows *rows, struct verdict *verdict,
                              const struct verdict_offset *offsets, struct err *e);

#endif
