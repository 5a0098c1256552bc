/* SPDX-License-Identifier: Apache-2.0 */
/* many - what several processes' summaries add up to, in any order and grouping.
 *
 * `struct many_rows` holds counts, sums, extremes and sketches of any number of processes. Joining
 * rows is commutative and associative, so joined parts (part.h) and joined captures are the same
 * rows. Kept are: one small row a process, one a region name, one an op, and one a shared step;
 * never a row for each process and step. What the rows mean together, who is slow and what that
 * cost, is in verdict.h.
 *
 * Sums saturate instead of wrapping. Ties between processes go to the one that comes first in
 * many_order(). Joining refuses more rows than the limits below; it leaves the busiest host names
 * and each device's own figures to the summary of one capture. */
#ifndef DEW_TRACE_MANY_H
#define DEW_TRACE_MANY_H

#include "base/intern.h"
#include "trace/summary.h"

#define MANY_PROCESSES_MAX 65536
#define MANY_REGIONS_MAX 65536
#define MANY_OPS_MAX (1U << 18)
#define MANY_STEPS_MAX 65536
/* Steps of one process that are compared: all up to this, then those whose number is divisible by
 * 2, 4, 8, ..., which are the same ones in every process. */
#define MANY_STEPS_OF_ONE 4096
#define MANY_RUNS_MAX 64

__extension__ typedef __int128 wide;

/* Numbers first, first + stride, ... of steps called `name`. */
struct many_run {
    struct view name;
    int64_t first;
    uint64_t stride;
    uint32_t count;
};

struct many_process {
    struct view host, file, version;     /* version of JAX, or empty */
    int64_t index, count;                /* of the job's processes, -1: not known */
    int64_t pid;                         /* -1: not known */
    int64_t start_unix_ns, stop_unix_ns; /* 0: not known */
    uint64_t window_ps, events;
    uint64_t platform; /* enum summary_platform */
    bool damaged;
    uint64_t devices, busy_ps, idle_ps; /* sums over its devices */
    uint64_t steps, steps_cut, steps_ps;
    /* over its compared steps: those not cut; where any has a collective, those with one */
    bool by_collectives;
    bool has_clock; /* its steps' positions are known on the common clock */
    bool runs_lost; /* more runs than MANY_RUNS_MAX: which steps it shares is not known */
    uint64_t step_stride;
    uint64_t compared, compared_ps;
    uint64_t wait_ps;            /* of that, in exposed collectives */
    uint64_t work_ps;            /* of that, its devices busy with anything else */
    uint64_t starts_ns, ends_ns; /* sums of the positions after start_unix_ns */
    struct many_run *runs;
    uint32_t n_runs;
};

/* The two smallest or largest of one figure over processes, and whose the first is. */
struct many_extreme {
    uint64_t first, second;
    uint32_t process;
};

struct many_step {
    struct view name;
    int64_t number;
    uint64_t processes; /* that have it, uncut */
    uint64_t duration_ps;
    struct many_extreme longest;
    uint64_t shortest_ps;
    uint64_t waiting; /* processes with a collective in it */
    uint64_t wait_ps; /* their exposed collective time */
    struct many_extreme least;
    uint64_t clocks; /* processes with a clock */
    wide starts_ns, ends_ns;
};

struct many_region {
    struct view name;
    uint64_t processes;
    struct sketch calls; /* durations of all calls */
    struct sketch means; /* of each process's mean call */
    uint32_t slowest, fastest;
    uint64_t slowest_calls;
    uint64_t launched_ps, launched_ops, launches, idle_behind_ps;
    uint64_t launched_by; /* bits: 1 << enum launched_by */
};

struct many_op {
    struct view module, op;
    uint64_t kind; /* enum op_kind */
    uint64_t processes, calls, total_ps;
    uint64_t most_ps, least_ps; /* of one process */
    uint32_t most;
};

enum many_total {
    MANY_EVENTS,
    MANY_OPS,
    MANY_OP_TIME_PS,
    MANY_BUSY_PS,
    MANY_IDLE_PS,
    MANY_DEVICE_WINDOW_PS, /* windows times devices: busy + idle */
    MANY_DEVICES,
    MANY_COLLECTIVE_PS,
    MANY_EXPOSED_PS,
    MANY_IDLE_HOST_PS, /* in the order of enum idle_cause */
    MANY_IDLE_BETWEEN_PS,
    MANY_IDLE_EDGE_PS,
    MANY_IDLE_UNKNOWN_PS,
    MANY_STEPS,
    MANY_STEPS_CUT,
    MANY_STEPS_REPEATED,
    MANY_STEPS_BUSY_PS,
    MANY_STEPS_IDLE_PS,
    MANY_LAUNCHES,
    MANY_LAUNCHES_UNMATCHED,
    MANY_EXECUTIONS,
    MANY_EXECUTIONS_UNMATCHED,
    MANY_OPS_UNMATCHED,
    MANY_OPS_UNMATCHED_PS,
    MANY_COMPILATIONS,
    MANY_COMPILATION_PS,
    MANY_PYTHON_TRACER_EVENTS,
    MANY_TOTALS,
};

/* The word of the JSON and of the format's description: "events", "op_time_ps", ... */
const char *many_total_name(enum many_total total);

/* Names are views of whatever the rows were made from. Process numbers in the rows are places in
 * `processes`. Owns its arrays. */
struct many_rows {
    struct many_process *processes;
    struct many_region *regions;
    struct many_op *ops;
    struct many_step *steps;
    uint32_t n_processes, n_regions, n_ops, n_steps;
    uint32_t room_processes, room_regions, room_ops, room_steps;
    struct sketch step_durations;
    uint64_t totals[MANY_TOTALS];
};

/* Who the process is, beyond what its file says. NULL and -1: not known. */
struct many_identity {
    const char *host, *file;
    int64_t index, count, pid;
};

/* An index, a count or a process id; -1 for what cannot be one. */
static inline int64_t many_identity_known(int64_t number)
{
    return number < 0 || number > INT32_MAX ? -1 : number;
}

/* The rows of one summary; views of its strings and of `identity`'s. */
must_check int many_of_summary(const struct summary *summary, const struct many_identity *identity,
                               struct many_rows *ret, struct err *e);

/* Adds room for one more row, zeroed; *ret is valid until the next call for the same table. */
must_check int many_add_process(struct many_rows *rows, struct many_process **ret, struct err *e);
must_check int many_add_region(struct many_rows *rows, struct many_region **ret, struct err *e);
must_check int many_add_op(struct many_rows *rows, struct many_op **ret, struct err *e);
must_check int many_add_step(struct many_rows *rows, struct many_step **ret, struct err *e);

/* Takes zeroed ones too. */
void many_rows_release(struct many_rows *rows);

/* Rows that others are joined into: its names are its own. A zeroed one is empty. */
struct many {
    struct many_rows rows;
    struct intern names;
    struct intern region_keys, op_keys, step_keys; /* the number is the place in the table */
};

/* After a failure `many` is fit for many_release() only. */
must_check int many_join(struct many *many, const struct many_rows *from, struct err *e);

/* Sorts the rows by what they say, so that equal rows become equal bytes, and refuses the same
 * process twice (ERR_USAGE). To be called once, when everything was joined: nothing can be joined
 * into sorted rows. */
must_check int many_settle(struct many *many, struct err *e);

void many_release(struct many *many);

/* Whether the rows are as many_settle() sorts them, with no two of the same name. */
bool many_settled(const struct many_rows *rows);

/* The order of processes: by index, host, process id, start. 0 only for the same process. */
int many_order(const struct many_process *a, const struct many_process *b);

/* The order of bytes, and the shorter first. */
int many_text_order(struct view a, struct view b);

static inline void many_extreme_start(struct many_extreme *extreme, bool smallest, uint64_t value,
                                      uint32_t process)
{
    *extreme = (struct many_extreme){value, smallest ? UINT64_MAX : 0, process};
}

#endif
