/* SPDX-License-Identifier: Apache-2.0 */
/* merge_steps - the part of merge_facts that knows steps and the collectives that end in them. */
#ifndef DEW_TRACE_MERGE_STEPS_H
#define DEW_TRACE_MERGE_STEPS_H

#include "trace/merge_facts.h"
#include "xplane/line.h"

must_check int merge_step_add(struct merge_facts *facts, const struct xevent *event,
                              struct view name, int64_t number, struct err *e);

/* Before collectives are read, and after. */
void merge_steps_order_by_end(struct merge_facts *facts);
void merge_steps_order(struct merge_facts *facts);

/* A collective that ends in a step. `joins`: its event begins when the device joins it, not when
 * the device begins to wait for one that was started before. */
void merge_steps_collective(struct merge_facts *facts, const struct xevent *event, bool joins);

#endif
