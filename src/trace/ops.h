/* SPDX-License-Identifier: Apache-2.0 */
/* ops - calls and time of each operation, by (module, op).
 *
 * Memory by the number of distinct operations. Both names are interned; the pair is found by hash.
 */
#ifndef DEW_TRACE_OPS_H
#define DEW_TRACE_OPS_H

#include "base/intern.h"
#include "trace/summary.h"

struct op_data {
    uint32_t module, name; /* interned in `names` */
    uint32_t function;     /* that the module was made from; see pass.h */
    enum op_kind kind;
    bool control;
    uint64_t calls, total_ps;
    uint32_t next;
};

struct ops {
    struct intern names;
    struct op_data *all;
    uint32_t count, room;
    uint32_t *heads; /* OPS_HEADS */
};

/* Finds or adds. `category` is read at the first sight of an op only. */
must_check int ops_number(struct ops *ops, struct view module, struct view name,
                          struct view category, uint32_t *ret_op, bool *ret_new, struct err *e);
void ops_release(struct ops *ops);

#endif
