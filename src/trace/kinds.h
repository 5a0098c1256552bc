/* SPDX-License-Identifier: Apache-2.0 */
/* kinds - what an operation is, by the compiler's category where the file has it, else its name.
 *
 * The one table of such rules. It leaves out everything that is not in a name: a fusion that holds
 * a matmul is a fusion unless the compiler's category says more. */
#ifndef DEW_TRACE_KINDS_H
#define DEW_TRACE_KINDS_H

#include "trace/summary.h"

/* `category` is the hlo_category stat, or empty. */
enum op_kind kind_of(struct view op, struct view category);

/* while, conditional, call: an op that spans the ops of its body. */
bool kind_is_control(struct view op);

#endif
