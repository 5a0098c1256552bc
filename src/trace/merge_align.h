/* SPDX-License-Identifier: Apache-2.0 */
/* merge_align - where on one time axis the captures of several processes lie.
 *
 * First by each host's clock: profile_start_time says when a capture began. Then by the steps that
 * a process shares with the reference, the first one: the last collective of a step ends at the
 * same moment in all processes (a few tens of microseconds apart), so the median difference of
 * those ends is what the clocks are apart. And no process leaves a collective before the other one
 * has joined it, which bounds the difference from both sides. Processes of one host have one clock,
 * which is left alone unless those bounds prove it wrong. Without collectives the ends of the steps
 * stand in; then a process that is always late by as much looks the same, and the difference is
 * taken for the clock's only where it is less than half a step. docs/merge.md tells the rules and
 * their reasons.
 */
#ifndef DEW_TRACE_MERGE_ALIGN_H
#define DEW_TRACE_MERGE_ALIGN_H

#include "trace/merge_facts.h"

/* Fewer shared steps say nothing. */
#define ALIGN_STEPS_MIN 3
/* Less than this is what waking a thread takes, not the clock. */
#define ALIGN_NOISE_PS INT64_C(50000000) /* 50 us */

enum align_by {
    ALIGN_CLOCK,       /* profile_start_time alone */
    ALIGN_COLLECTIVES, /* and the collectives' ends in shared steps */
    ALIGN_STEPS,       /* and the ends of shared steps */
};

enum align_why { /* why by the clock alone */
                 ALIGN_WHY_NONE,
                 ALIGN_WHY_REFERENCE, /* it is the one that the others are compared with */
                 ALIGN_WHY_FEW,       /* too few shared steps */
                 ALIGN_WHY_ONE_CLOCK, /* the same host, and no proof against its clock */
                 ALIGN_WHY_CLOSE,     /* the clocks agree within the scatter */
                 ALIGN_WHY_UNCLEAR, /* apart by half a step or more: the clock, or a late process */
                 ALIGN_WHY_ASKED,   /* refining was switched off */
};

struct align_place {
    bool too_far;          /* one axis cannot hold both; nothing else is known then */
    int64_t start_ns;      /* of the capture, since 1970, after correction */
    int64_t correction_ns; /* added to the clock's */
    enum align_by by;
    enum align_why why;
    bool by_collectives; /* what the residual is taken from: collectives, else steps' ends */
    uint32_t shared;     /* steps compared with the reference */
    int64_t residual_ns; /* median distance from the reference after correction; -1: unknown */
    int64_t worst_ns;    /* the greatest, or -1 */
    int64_t bound_ns;    /* the order of collectives allows no greater error of the clock; or -1 */
};

/* Where the reference lies. */
struct align_place merge_align_reference(const struct merge_facts *reference);

/* Where a capture lies beside the reference. One without a window starts with it. */
must_check int merge_align(const struct merge_facts *reference, const struct merge_facts *facts,
                           bool refine, struct align_place *ret_place, struct err *e);

const char *align_by_name(enum align_by by);
const char *align_why_words(enum align_why why);

#endif
