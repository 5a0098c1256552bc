/* SPDX-License-Identifier: Apache-2.0 */
/* sift - counts the events that need nothing but counting, and hands on the others.
 *
 * Of a host's events many are of the runtime and say nothing that an analysis follows: the marks at
 * the ends of ops, waits, calls of the Python tracer. They are known by their name, and this counts
 * them right behind the decoder, in its thread (xplane/ahead.h). So it writes nothing that the
 * layouts read: what it knows of names is its own. */
#ifndef DEW_TRACE_SIFT_H
#define DEW_TRACE_SIFT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "trace/cover.h"

struct pass;
struct xevent;

/* Of one name of a host's plane. */
struct sifted_name {
    uint8_t what; /* in sift.c */
    bool python;
    uint64_t calls, total_ps;
    struct cover cover; /* of the events that are counted here */
};

/* Of all events, those handed on too. */
struct sift_count {
    uint64_t outside; /* of the window */
    uint64_t python;  /* of the Python tracer */
};

struct sift {
    const struct pass *pass;
    struct sift_count count;
    struct cover_table covers;
};

/* An xahead_sift: `context` is a struct sift. */
uint32_t sift_events(void *context, struct xevent *events, uint32_t n);

#endif
