/* SPDX-License-Identifier: Apache-2.0 */
/* fingerprint - a number for what a compiled program computes.
 *
 * Hashes, of every computation of an HloProto, the instructions' operation codes, shapes, literals
 * and operands, in order. Leaves out where the program runs (device assignment), what differs from
 * process to process without meaning (the order of maps), source places, and backend settings such
 * as tuning results. Field numbers are those of XLA's hlo.proto. */
#ifndef DEW_TRACE_FINGERPRINT_H
#define DEW_TRACE_FINGERPRINT_H

#include "base/view.h"

/* false where the bytes hold no such program. */
bool fingerprint_hlo(struct view hlo_proto, uint64_t *ret_fingerprint);

#endif
