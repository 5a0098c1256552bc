/* SPDX-License-Identifier: Apache-2.0 */
/* pass - the state of one reading of a capture, and what the platform layouts share.
 *
 * summary.c opens the planes and feeds every event, in order of time, to the layout that its line
 * belongs to: layout_cpu.c for the host's lines (and ops on them), layout_gpu.c and layout_tpu.c
 * for device planes. A layout turns an event into an op of a device with its launch, and calls
 * pass_op(). Nothing in here outlives summary_run(). */
#ifndef DEW_TRACE_PASS_H
#define DEW_TRACE_PASS_H

#include "trace/devices.h"
#include "trace/links.h"
#include "trace/names.h"
#include "trace/ops.h"
#include "trace/regions.h"
#include "trace/sift.h"
#include "trace/stats.h"
#include "trace/steps.h"
#include "trace/timeline.h"
#include "xplane/merge.h"
#include "xplane/space.h"

#define NAME_NO_STEP UINT32_MAX

/* What is kept of each name of a plane. */
struct name_state {
    bool ready;
    uint8_t name_class;
    bool maybe_region;
    uint32_t region;   /* SUMMARY_NO_REGION until it is one */
    uint32_t step;     /* its number among the names of steps, or NAME_NO_STEP */
    uint32_t function; /* interned function of a call or launch */
    uint64_t calls, total_ps;
    struct cover cover;
    /* the op of the last event with this name */
    bool op_ready;
    struct view op_module_bytes;
    uint64_t op_module_ref, op_name_ref;
    uint32_t op;
};

enum plane_role { PLANE_HOST, PLANE_GPU, PLANE_TPU, PLANE_OTHER };

struct plane_state {
    struct xplane plane;
    enum plane_role role;
    uint32_t device; /* of PLANE_GPU and PLANE_TPU */
    struct stat_ids stat_ids;
    struct name_state *names;
    struct sifted_name *sifted; /* of PLANE_HOST */
    /* TPU: the module that runs now */
    struct {
        int64_t end, run;
        bool has;
        uint32_t function;
        uint32_t serial;
        struct view name;
    } module;
};

enum line_role { LINE_HOST, LINE_OPS, LINE_ASYNC, LINE_STEPS, LINE_MODULES };

#define THREAD_CALLS_MAX 16
#define THREAD_LAUNCHES_MAX 8
#define THREAD_TASKS_MAX 64

struct thread_open {
    int64_t end;
    uint32_t region;
};

/* One host thread. Arrays of fixed size drop what is outermost when they are full. */
struct thread {
    struct thread_open *open; /* its regions by start */
    uint32_t n_open, open_room;
    struct {
        int64_t end;
        uint32_t function;
        int64_t metadata_id; /* of the call's event: its whole name */
    } calls[THREAD_CALLS_MAX];
    uint32_t n_calls;
    struct {
        int64_t end;
        uint64_t launch;
    } launches[THREAD_LAUNCHES_MAX];
    uint32_t n_launches;
    uint64_t tasks[THREAD_TASKS_MAX]; /* pool tasks that it is in: their launches */
    uint32_t n_tasks, tasks_lost;
    int64_t inside_until; /* what starts before is inside the runtime or the compiler */
    int64_t compile_until;
};

struct track {
    uint32_t plane;
    enum line_role role;
    uint32_t thread;
    bool worker;
};

struct pass {
    const struct summary_options *options;
    struct plane_state *planes;
    uint32_t n_planes;
    struct xline *lines;
    struct track *tracks;
    uint32_t n_lines, lines_room;
    struct thread *threads;
    int64_t window_start, window_end;
    int64_t scope_start, scope_end; /* events that start in here count */
    enum summary_platform platform;
    bool careful; /* lines are surveyed before they are read, none is trusted to be in order */
    bool again;   /* trust was misplaced: what this pass found is void, a careful one must follow */
    bool cpu_ops; /* ops stand on host lines */
    struct devices devices;
    struct timeline timeline;
    struct regions regions;
    struct links links;
    struct ops ops;
    struct cover_table covers;
    struct view compiled[SUMMARY_COMPILED_MAX]; /* names of functions, in the file */
    uint32_t n_compiled;
    struct steps steps, device_steps;
    struct intern functions;
    uint32_t innermost; /* region now, or SUMMARY_NO_REGION */
    uint64_t gpu_linked;
    uint32_t module_serial;
    struct summary_receipt receipt;
};

/* What launched an op. */
struct op_launch {
    bool known;
    bool follows; /* an earlier op of the same execution is known */
    bool ordered; /* matched by nothing but launch order */
    int64_t start;
    uint32_t region;
};

static inline bool pass_in_scope(const struct pass *pass, int64_t start)
{
    return start >= pass->scope_start && start < pass->scope_end;
}

/* On a TPU the device knows only the lowest 28 bits of an execution's id, and XProf cuts the
 * host's to these (xla/tsl/profiler/utils/preprocess_xplane.cc). */
#define TPU_RUN_BITS 28

static inline int64_t pass_run(const struct pass *pass, int64_t run)
{
    return pass->platform == PLATFORM_TPU ? run & ((INT64_C(1) << TPU_RUN_BITS) - 1) : run;
}

void pass_op(struct pass *pass, uint32_t device, uint32_t op, const struct xevent *event,
             const struct op_launch *launch);

must_check int pass_op_number(struct pass *pass, struct name_state *name, struct view module,
                              struct view op, struct view category, uint32_t *ret_op,
                              struct err *e);

must_check int pass_step(struct pass *pass, struct steps *steps, uint32_t name, int64_t number,
                         const struct xevent *event, struct err *e);

/* The function that a module was made from: "jit_f" and "PjitFunction(f)" give the same number. */
must_check int pass_function(struct pass *pass, struct view name, uint32_t *ret_function,
                             struct err *e);

/* The first damage in the file is the one that is told. */
void pass_note_damage(struct pass *pass, const struct damage *damage);

/* Makes a name ready; pass_name() does so at first sight. */
void pass_name_new(struct pass *pass, struct plane_state *plane, struct name_state *name,
                   int64_t metadata_id);

/* NULL for an event whose name the file does not hold. */
static inline struct name_state *pass_name(struct pass *pass, struct plane_state *plane,
                                           int64_t metadata_id)
{
    uint32_t index = xplane_event_index(&plane->plane, metadata_id);
    if (index == XTABLE_NONE)
        return NULL;
    struct name_state *name = &plane->names[index];
    if (!name->ready)
        pass_name_new(pass, plane, name, metadata_id);
    return name;
}

/* The number of an op that names itself and its module in stats; without an hlo_op, the event's
 * name is the op. `name` may be NULL. */
must_check int pass_op_of_stats(struct pass *pass, struct plane_state *plane,
                                struct name_state *name, const struct xevent *event,
                                const struct event_stats *stats, uint32_t *ret_op, struct err *e);

must_check int host_event(struct pass *pass, const struct track *track, const struct xline *line,
                          const struct xevent *event, struct err *e);
/* `origin` is the launch that the thread's task comes from, or LINKS_NONE. */
must_check int cpu_op(struct pass *pass, struct plane_state *plane, uint64_t origin,
                      struct name_state *name, const struct xevent *event,
                      const struct event_stats *stats, struct err *e);
must_check int gpu_event(struct pass *pass, const struct track *track, const struct xline *line,
                         const struct xevent *event, struct err *e);
must_check int tpu_event(struct pass *pass, const struct track *track, const struct xline *line,
                         const struct xevent *event, struct err *e);

/* receipt.c: words about what is odd, and why tables are empty. */
must_check int receipt_words(const struct pass *pass, struct summary *summary, struct err *e);

/* result.c: from the state to the result. */
must_check int pass_result(struct pass *pass, struct summary *summary, struct err *e);

#endif
