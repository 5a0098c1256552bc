/* SPDX-License-Identifier: Apache-2.0 */
/* verdict - which process the others wait for, what that cost, and what cannot be told.
 *
 * Made from settled rows (many.h); owns its arrays. docs/scale.md explains each formula. The lost
 * time is made of differences inside each process's own trace, so an error of a clock never changes
 * it; clocks serve only to say how far apart the processes' steps lie. */
#ifndef DEW_TRACE_VERDICT_H
#define DEW_TRACE_VERDICT_H

#include "trace/many.h"

/* Shared steps that a verdict needs. */
#define VERDICT_STEPS_MIN 3
/* Below this share of the steps' time, waiting is even. */
#define VERDICT_LOST_PERCENT 5
/* A constant distance above this is a clock that is off. On one clock, an axis by
 * `profile_start_time` was seen to be good to 0.5 ms, on a busy machine mostly to 1.4 ms. */
#define VERDICT_CLOCK_NS 3000000

enum verdict_basis {
    BASIS_NONE,        /* no shared steps */
    BASIS_COLLECTIVES, /* time in exposed collectives: the slowest has the least */
    BASIS_LENGTHS,     /* no collectives to be seen: lengths of steps */
};

enum verdict_kind {
    VERDICT_CANNOT_TELL,
    VERDICT_EVEN,      /* hardly any time is lost */
    VERDICT_STRAGGLER, /* one process, in most steps */
    VERDICT_HICCUP,    /* one process, in a few steps */
    VERDICT_MIXED,     /* it is now this one and now that */
};

enum verdict_clock {
    CLOCK_UNKNOWN, /* no positions, or too few shared steps */
    CLOCK_AGREES,
    CLOCK_OFF,       /* starts and ends are off alike: its clock, where steps wait for each other */
    CLOCK_AMBIGUOUS, /* the same, but nothing shows that steps wait: it may be late all the time */
    CLOCK_EITHER,    /* as CLOCK_OFF, but of two processes: whose it is cannot be told */
    CLOCK_STARTS,    /* it starts apart from the others and ends with them */
    CLOCK_ENDS,      /* it ends apart from the others */
};

enum verdict_role {
    ROLE_CANNOT_TELL,
    ROLE_EVEN,
    ROLE_STRAGGLER,
    ROLE_SLOW, /* hardly waits, while the others do */
    ROLE_WAITS,
};

struct verdict_process {
    bool known;         /* shares steps, and which ones is known */
    uint64_t shared;    /* its compared steps that another process has too */
    uint64_t shared_ps; /* mean length of its compared steps times `shared` */
    uint64_t lost_ps;   /* that it waited for others in them */
    uint64_t slowest_in;
    uint64_t caused_ps; /* that the others waited in those */
    uint64_t saved_ps;  /* by which those would be shorter if it kept up with the next slowest */
    enum verdict_role role;
    enum verdict_clock clock;
    /* against the median process, of two against the other one; where clock is known */
    int64_t start_offset_ns, end_offset_ns;
};

struct verdict {
    enum verdict_kind kind;
    enum verdict_basis basis;
    const char *reason; /* for VERDICT_CANNOT_TELL, a sentence */
    uint32_t process;   /* the straggler, or who caused most */
    uint64_t shared;    /* steps that at least two processes have */
    uint64_t shared_ps; /* their length, all processes together */
    uint64_t lost_ps;   /* all processes together */
    uint64_t peers_ps;  /* of shared_ps, that of all but the slowest of each step */
    uint64_t others;    /* peers, summed over the steps: lost_ps / others is a peer's wait a step */
    /* where the straggler's time goes, as far as a region or its devices show it */
    struct many_region *region;
    uint64_t region_excess_ps;         /* a step, over the median process */
    uint64_t work_excess_ps;           /* a step: its devices busy with its own work */
    struct verdict_process *processes; /* as in the rows */
    uint64_t *step_lost_ps;            /* as in the rows */
    uint64_t *missing;                 /* processes of the job that are not here, the first few */
    uint32_t n_missing;
    uint64_t missing_count;
    uint64_t damaged;
    bool pair; /* positions are known of two processes only */
    bool counts_differ, versions_differ, apart, thinned, runs_lost;
};

#define VERDICT_MISSING_MAX 8

must_check int verdict_make(struct many_rows *rows, struct verdict *ret, struct err *e);

/* "process 3", or a name for one without an index: host, process id, file. Returns `buffer`. */
const char *verdict_label(const struct many_process *process, char *buffer, size_t size);

const char *verdict_kind_name(enum verdict_kind kind);
const char *verdict_basis_name(enum verdict_basis basis);
const char *verdict_role_name(enum verdict_role role);
const char *verdict_clock_name(enum verdict_clock clock);

void verdict_release(struct verdict *verdict);

#endif
