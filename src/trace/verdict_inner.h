/* SPDX-License-Identifier: Apache-2.0 */
/* verdict_inner - the steps by which a verdict is made, one file each. */
#ifndef DEW_TRACE_VERDICT_INNER_H
#define DEW_TRACE_VERDICT_INNER_H

#include "trace/verdict.h"

/* verdict_steps.c: who is the slowest of each step and what that costs; what each process lost in
 * its steps, and where those lie on its clock. */
must_check int verdict_sum_steps(const struct many_rows *rows, struct verdict *verdict,
                                 struct err *e);

/* The step's place in the rows, or UINT32_MAX. */
uint32_t verdict_find_step(const struct many_rows *rows, struct view name, int64_t number);

/* verdict_why.c: where a straggler's time goes. */
must_check int verdict_explain(struct many_rows *rows, struct verdict *verdict, struct err *e);

/* verdict_why.c: what is odd about the processes as a group. */
must_check int verdict_check_group(const struct many_rows *rows, struct verdict *verdict,
                                   struct err *e);

/* 0 where b is larger. */
static inline uint64_t verdict_minus(uint64_t a, uint64_t b)
{
    return a > b ? a - b : 0;
}

static inline uint64_t verdict_clamped(wide value)
{
    return value < 0 ? 0 : value > (wide)UINT64_MAX ? UINT64_MAX : (uint64_t)value;
}

#endif
