/* SPDX-License-Identifier: Apache-2.0 */
/* verdict_place - how far processes' clocks are apart by the steps that they share.
 *
 * Position of a step in a process = place of the step + offset of the process: the offsets are
 * those of least squares, for which the sums over each process's steps and over each step's
 * processes are enough. A step that only one process has says nothing, whatever it is. */
#ifndef DEW_TRACE_VERDICT_PLACE_H
#define DEW_TRACE_VERDICT_PLACE_H

#include "trace/verdict_clock.h"

/* Fills those of `offsets` that are known: of processes with VERDICT_STEPS_MIN steps shared with
 * others of the largest group that shared steps hold together. */
must_check int verdict_place(const struct many_rows *rows, struct verdict_offset *offsets,
                             struct err *e);

#endif
