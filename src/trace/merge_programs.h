/* SPDX-License-Identifier: Apache-2.0 */
/* merge_programs - the part of merge_facts that knows programs. */
#ifndef DEW_TRACE_MERGE_PROGRAMS_H
#define DEW_TRACE_MERGE_PROGRAMS_H

#include "trace/merge_facts.h"
#include "xplane/plane.h"

/* The program of this module, or of this run of it: "jit_f(123)" is one of jit_f. New ones are
 * added. */
must_check int merge_program_find(struct merge_facts *facts, struct view name, uint32_t *ret_id,
                                  struct err *e);

/* The programs whose HLO stands in a plane. */
must_check int merge_programs_read(struct merge_facts *facts, const struct xplane *plane,
                                   struct err *e);

void merge_programs_release(struct merge_facts *facts);

#endif
