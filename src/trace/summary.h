/* SPDX-License-Identifier: Apache-2.0 */
/* summary - where the time of one capture went: the complete answer that every writer prints.
 *
 * summary_run() reads one .xplane.pb, held as a view of a map, in one merged pass over its lines in
 * time order. Memory is bounded by metadata, open regions and work in flight, not by events. The
 * result owns all that it points to (its strings are valid UTF-8, NUL-terminated; bytes that are
 * not UTF-8 became U+FFFD), so the map may be released before the result is written. All times are
 * integer picoseconds, relative to the window's start where they are positions.
 *
 * Invariants that writers may rely on, and that the tests hold for every device of every file:
 *   busy_ps + idle_ps == window_ps
 *   sum of idle_by_region == idle_ps == sum of idle_by_cause
 *   sum of a region's by_cause == its idle_ps
 *
 * It never prints. What is odd about a capture is in `receipt` as numbers and in `warnings` as
 * sentences that name the remedy. A damaged file is no failure of summary_run(): `receipt.damaged`
 * is set and the rest holds what is whole. It leaves out how several processes compare: one result
 * is one file. */
#ifndef DEW_TRACE_SUMMARY_H
#define DEW_TRACE_SUMMARY_H

#include "base/arena.h"
#include "base/err.h"
#include "base/view.h"
#include "trace/sketch.h"

enum summary_platform { PLATFORM_NONE, PLATFORM_CPU, PLATFORM_GPU, PLATFORM_TPU };

enum launched_by {
    LAUNCHED_BY_NONE,    /* nothing to attribute: no launch, or no device op, in the file */
    LAUNCHED_BY_LINKS,   /* followed through the file's own links */
    LAUNCHED_BY_OVERLAP, /* the file has no links: device time while the region was open */
};

enum idle_cause {
    IDLE_HOST,    /* the next op's launch began after the previous op ended */
    IDLE_BETWEEN, /* it was already launched, or follows in the same execution */
    IDLE_EDGE,    /* before the first op, after the last, or a device without ops */
    IDLE_UNKNOWN, /* the next op's launch was not found */
    IDLE_CAUSES,
};

enum op_kind { OP_MATMUL, OP_FUSION, OP_COPY, OP_COLLECTIVE, OP_OTHER, OP_KINDS };

/* The words used in every output: "cpu", "links", "host", "matmul/conv", ... */
const char *summary_platform_name(enum summary_platform platform);
const char *summary_launched_name(enum launched_by by);
const char *summary_cause_name(enum idle_cause cause);
const char *summary_kind_name(enum op_kind kind);

/* A distribution of durations: exact to SKETCH_EXACT_MAX samples, then within 1 % (see sketch.h).
 * Count, total, min and max are exact always. All zero where count is 0. */
struct summary_spread {
    uint64_t count;
    uint64_t total_ps, mean_ps, min_ps, p50_ps, p90_ps, p99_ps, max_ps;
    bool exact;
    struct sketch sketch; /* what the percentiles came from: mergeable with other processes' */
};

struct summary_region_idle {
    uint32_t region; /* index into summary.regions, or SUMMARY_NO_REGION */
    uint64_t idle_ps;
    uint64_t by_cause[IDLE_CAUSES];
};
#define SUMMARY_NO_REGION UINT32_MAX
#define SUMMARY_NO_REGION_NAME "(no region)"

/* Strip of activity for pictures: bucket i covers window_ps * i / n to window_ps * (i + 1) / n. */
#define SUMMARY_STRIP_MAX 4096       /* buckets of one device */
#define SUMMARY_STRIP_ALL_MAX 131072 /* buckets of all devices together */

struct summary_device {
    const char *name;    /* "cpu:0", "gpu:0", "tpu:0" */
    bool used;           /* false: (nearly) no work, compared with the busiest device's */
    uint64_t ops;        /* op events */
    uint64_t op_time_ps; /* sum of their durations */
    uint64_t busy_ps;    /* length of the union of their intervals inside the window */
    uint64_t idle_ps;
    struct summary_region_idle *idle_by_region; /* largest first; only parts above 0 */
    size_t n_idle_by_region;
    uint64_t idle_by_cause[IDLE_CAUSES];
    uint64_t collective_ps;         /* union of the collective ops' intervals */
    uint64_t collective_exposed_ps; /* of that, with no other op of the device running */
    uint64_t async_ops, async_ps;   /* TPU "Async XLA Ops": apart, not part of busy */
    uint64_t *strip_busy_ps;        /* summary.n_strip buckets of busy time, or NULL */
};

/* What the used devices waited for, together. */
struct summary_waits {
    size_t n_devices;                   /* the used ones */
    uint64_t time_ps;                   /* their windows */
    struct summary_region_idle all;     /* its `region` means nothing */
    struct summary_region_idle *behind; /* largest first; only parts above 0 */
    size_t n_behind;
};

struct summary_region {
    const char *name;
    struct summary_spread calls; /* host durations */
    uint64_t launched_ps;        /* device op time of the work that it launched, all devices */
    uint64_t launched_ops;
    uint64_t launched_ordered_ops; /* of them, matched to it by launch order alone */
    uint64_t launches; /* launch calls made while it was the innermost region of that thread */
    enum launched_by launched_by;
    uint64_t idle_behind_ps; /* all devices' idle time given to it */
    uint64_t idle_behind_by_cause[IDLE_CAUSES];
};

struct summary_step {
    int64_t number;
    const char *name;  /* of the marker, such as "train" */
    uint64_t start_ps; /* from the window's start; a cut step's is 0 where it began before */
    uint64_t duration_ps;
    uint64_t busy_ps; /* mean over the devices, rounded down; duration_ps - idle_ps */
    uint64_t idle_ps;
    uint64_t collective_ps; /* union of the collectives in it, mean over the devices */
    uint64_t exposed_ps;    /* of that, with no other op of the device running */
    bool cut;               /* reaches over an end of the window */
};
#define SUMMARY_STEPS_MAX 16384 /* samples kept for pictures and for diff; all are counted */

struct summary_steps {
    uint64_t count, cut;
    uint64_t repeated; /* steps whose number and name had been seen before */
    struct summary_spread durations;
    uint64_t busy_ps, idle_ps; /* sums over all steps */
    uint64_t collective_ps, exposed_ps;
    struct summary_step *slowest; /* longest first, at most options.top */
    size_t n_slowest;
    struct summary_step
        *samples; /* in time order; every kth step where count > SUMMARY_STEPS_MAX */
    size_t n_samples;
    uint64_t sample_stride; /* that k */
    bool from_device;       /* read from a device's "Steps" line for want of host markers */
};

struct summary_op {
    const char *module; /* "" where the file does not say */
    const char *op;
    enum op_kind kind;
    uint64_t calls, total_ps;
};

struct summary_host_name {
    const char *name;
    uint64_t calls;
    uint64_t total_ps; /* thread by thread, each moment once, however deep the name is in itself */
};

#define SUMMARY_COMPILED_MAX 4

struct summary_receipt {
    uint64_t launches; /* launch calls seen */
    uint64_t
        launches_unmatched;     /* of them, without an execution: in flight at the end, or no ops */
    uint64_t executions;        /* executions (or linked launches) that have ops */
    uint64_t executions_linked; /* matched by following the file's links */
    uint64_t executions_ordered;  /* queued ones, whose launch has no id of theirs */
    uint64_t executions_numbered; /* of them, matched by number; the others by launch order alone */
    uint64_t executions_unmatched;
    uint64_t ops_unmatched, ops_unmatched_ps; /* their ops */
    uint64_t ops_later, ops_later_ps;         /* launched inside the window, begun after it */
    uint64_t in_flight_start, in_flight_end;  /* executions (launches) over the window's ends */
    uint64_t compilations, compilation_ps;    /* inside the window */
    uint64_t steps_cut;
    uint64_t planes, planes_without_lines, lines, lines_sorted, events_sorted;
    uint64_t events_outside;    /* of the window */
    uint64_t events_aggregated; /* num_occurrences events, which have no position */
    uint64_t python_tracer_events;
    bool sums_capped; /* a total stands at UINT64_MAX: durations that no clock measured */
    bool has_task_environment;
    bool has_host_name;   /* JAX writes it last, so a file without it may have lost planes */
    bool collector_empty; /* device planes are there and none has an op */
    bool damaged;
    uint64_t damaged_at; /* byte in the file, where damaged */
    const char *damage;  /* words, where damaged, else NULL */
};

struct summary {
    struct arena arena;      /* owns the strings and arrays below */
    const char *file;        /* as given to summary_run() */
    const char *host;        /* host name, from the file's name */
    int64_t process;         /* process id that the capture states, or -1 */
    const char *jax_version; /* or NULL */
    uint64_t events;
    uint64_t window_ps;
    int64_t start_unix_ns, stop_unix_ns; /* 0 where the capture has no Task Environment */
    enum summary_platform platform;
    bool has_links;
    bool step_range; /* restricted by --step */
    struct summary_device *devices;
    size_t n_devices;
    struct summary_waits waits;
    struct summary_region *regions; /* by total, largest first */
    size_t n_regions;
    const char *regions_from; /* words: "the manifest", "names", "--region" */
    struct summary_steps steps;
    struct summary_op *ops; /* by total, largest first; all of them */
    size_t n_ops;
    struct summary_host_name *host_names; /* by total, largest first; all of them */
    size_t n_host_names;
    size_t n_strip;
    struct summary_receipt receipt;
    const char *compiled[SUMMARY_COMPILED_MAX]; /* functions that were, the first ones */
    size_t n_compiled;
    const char **warnings;
    size_t n_warnings;
    /* why a table has no rows; NULL where it has */
    const char *no_devices, *no_regions, *no_steps, *no_ops, *no_host;
};

struct summary_options {
    const char *file; /* its path, for words */
    const char *host;
    const char *const *region_names; /* exact names, from a manifest; NULL: none known */
    size_t n_region_names;
    const char *const *region_patterns; /* shell patterns (* ? [a-z]), from --region */
    size_t n_region_patterns;
    bool has_step_range;
    int64_t step_first, step_last; /* both included */
    size_t top;                    /* rows of `slowest`; 0: SUMMARY_STEPS_MAX */
};

/* Fails only where there is nothing to say: no memory, a bad option, not an XSpace at all
 * (ERR_DAMAGED), a step range that matches nothing (ERR_MISSING). */
must_check int summary_run(struct view bytes, const struct summary_options *options,
                           struct summary *ret, struct err *e);

/* Takes a zeroed one too. */
void summary_release(struct summary *summary);

#endif
