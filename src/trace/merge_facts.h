/* SPDX-License-Identifier: Apache-2.0 */
/* merge_facts - what one capture file says that matters for putting it beside others.
 *
 * When it was taken, by which versions, which programs ran on its devices, when its steps ended,
 * and how much it holds. Two passes over the events: the first for steps and programs, the second,
 * where there are steps, for the collectives in them. Memory by programs and steps, up to named
 * limits, not by events. A damaged file is refused, with the byte: a part of a capture is no
 * capture to merge. Leaves out what only a manifest knows (src/cli). */
#ifndef DEW_TRACE_MERGE_FACTS_H
#define DEW_TRACE_MERGE_FACTS_H

#include "base/err.h"
#include "base/intern.h"
#include "base/view.h"

#define MERGE_STEPS_MAX 16384 /* kept; those behind are counted */
#define MERGE_PROGRAMS_MAX 65536

/* A program by the name of its HLO module. Modules of one name with other code are kept apart by
 * their fingerprints: a hash over what the instructions compute, not over where they run, in which
 * file they were written or how they were tuned. */
struct merge_program {
    uint32_t name;          /* in `names` */
    uint64_t device_ps;     /* but collectives, as far as the file tells ops apart */
    uint64_t *fingerprints; /* n of them, ascending; none where the capture has no HLO */
    uint32_t n, room;
};

struct merge_step {
    uint64_t key; /* of its name */
    int64_t number;
    int64_t start_ps, end_ps;
    int64_t together_ps; /* end of its last collective, or MERGE_NEVER */
    int64_t joined_ps;   /* when this process joined that one, or MERGE_NEVER */
};
#define MERGE_NEVER INT64_MIN

struct merge_facts {
    bool has_window;
    int64_t start_ns, stop_ns; /* since 1970 */
    bool dated;                /* a line's times are dates, as no JAX writes them */
    char host[256]; /* "" where the file does not say; so for the next two; cut to this size */
    char jax[64], jaxlib[64];
    int64_t pid; /* or -1 */
    uint64_t planes, lines, events, names_stored;
    int64_t first_ps, last_ps; /* of the events, from the capture's start; both 0 without events */
    uint64_t device_ps;        /* sum over the programs */
    struct intern names;
    struct merge_program *programs; /* by `names` */
    struct merge_step *steps;       /* by key, number and start */
    uint32_t n_steps, steps_room, steps_max;
    uint64_t steps_seen;
};

/* ERR_DAMAGED and ERR_TRUNCATED carry the byte. */
must_check int merge_facts_read(struct view file, struct merge_facts *ret, struct err *e);

/* The same without the steps, to see whether two files hold as much. */
must_check int merge_facts_count(struct view file, struct merge_facts *ret, struct err *e);

/* Gives back the programs and the steps; the rest stays. */
void merge_facts_forget(struct merge_facts *facts);

/* Takes a zeroed one too. */
void merge_facts_release(struct merge_facts *facts);

#endif
