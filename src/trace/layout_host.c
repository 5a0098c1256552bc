/* SPDX-License-Identifier: Apache-2.0 */
/* layout_host - events of the host's threads: regions, steps, launches, hops between threads. */
#include <stdlib.h>

#include "trace/pass.h"

#include "base/banned.h"

/* The innermost one that is open. */
static uint32_t thread_region(struct thread *thread, int64_t now)
{
    while (thread->n_open && thread->open[thread->n_open - 1].end <= now)
        thread->n_open--;
    return thread->n_open ? thread->open[thread->n_open - 1].region : SUMMARY_NO_REGION;
}

static int thread_open_region(struct thread *thread, uint32_t region, const struct xevent *event,
                              struct err *e)
{
    int64_t now = event->start_ps;
    (void)thread_region(thread, now);
    if (thread->n_open == thread->open_room) {
        uint32_t kept = 0;
        for (uint32_t i = 0; i < thread->n_open; i++) {
            if (thread->open[i].end > now)
                thread->open[kept++] = thread->open[i];
        }
        thread->n_open = kept;
        if (kept * 2 >= thread->open_room) {
            uint32_t room = thread->open_room ? thread->open_room * 2 : 16;
            struct thread_open *grown = realloc(thread->open, room * sizeof(*grown));
            if (!grown)
                return err_nomem(e);
            thread->open = grown;
            thread->open_room = room;
        }
    }
    thread->open[thread->n_open++] =
        (struct thread_open){.end = now + event->duration_ps, .region = region};
    return 0;
}

static uint64_t thread_launch(const struct thread *thread, int64_t now)
{
    for (uint32_t i = thread->n_launches; i-- > 0;) {
        if (thread->launches[i].end > now)
            return thread->launches[i].launch;
    }
    return LINKS_NONE;
}

/* What a task is charged to: the innermost launch that is open, else the one it was handed over
 * from. */
static uint64_t thread_origin(const struct thread *thread, int64_t now)
{
    uint64_t launch = thread_launch(thread, now);
    if (launch != LINKS_NONE)
        return launch;
    return thread->n_tasks ? thread->tasks[thread->n_tasks - 1] : LINKS_NONE;
}

static void push_launch(struct thread *thread, uint64_t launch, const struct xevent *event)
{
    while (thread->n_launches && thread->launches[thread->n_launches - 1].end <= event->start_ps)
        thread->n_launches--;
    if (thread->n_launches == THREAD_LAUNCHES_MAX) {
        memmove(&thread->launches[0], &thread->launches[1],
                (THREAD_LAUNCHES_MAX - 1) * sizeof(thread->launches[0]));
        thread->n_launches--;
    }
    thread->launches[thread->n_launches].end = event->start_ps + event->duration_ps;
    thread->launches[thread->n_launches++].launch = launch;
}

static void push_call(struct thread *thread, uint32_t function, const struct xevent *event)
{
    while (thread->n_calls && thread->calls[thread->n_calls - 1].end <= event->start_ps)
        thread->n_calls--;
    if (thread->n_calls == THREAD_CALLS_MAX) {
        memmove(&thread->calls[0], &thread->calls[1],
                (THREAD_CALLS_MAX - 1) * sizeof(thread->calls[0]));
        thread->n_calls--;
    }
    thread->calls[thread->n_calls].end = event->start_ps + event->duration_ps;
    thread->calls[thread->n_calls].metadata_id = event->metadata_id;
    thread->calls[thread->n_calls++].function = function;
}

static uint32_t thread_function(const struct thread *thread, int64_t now)
{
    for (uint32_t i = thread->n_calls; i-- > 0;) {
        if (thread->calls[i].end > now)
            return thread->calls[i].function;
    }
    return LINKS_ANY_FUNCTION;
}

static void push_task(struct thread *thread, uint64_t launch)
{
    if (thread->n_tasks == THREAD_TASKS_MAX)
        thread->tasks_lost++;
    else
        thread->tasks[thread->n_tasks++] = launch;
}

static void pop_task(struct thread *thread)
{
    if (thread->tasks_lost)
        thread->tasks_lost--;
    else if (thread->n_tasks)
        thread->n_tasks--;
}

static int function_of_name(struct pass *pass, struct plane_state *plane, struct name_state *name,
                            const struct xevent *event, struct err *e)
{
    if (name->function != LINKS_ANY_FUNCTION)
        return 0;
    struct view text = name_function(xplane_event_name(&plane->plane, event->metadata_id));
    return text.size ? pass_function(pass, text, &name->function, e) : 0;
}

/* The region to which what a thread launches belongs: its own, else that of the call that its pool
 * task comes from. */
static uint32_t region_for_launch(struct pass *pass, struct thread *thread, int64_t now)
{
    uint32_t region = thread_region(thread, now);
    if (region != SUMMARY_NO_REGION)
        return region;
    const struct links_launch *origin = links_launch(&pass->links, thread_origin(thread, now));
    return origin ? origin->region : SUMMARY_NO_REGION;
}

static int launch_event(struct pass *pass, struct plane_state *plane, struct thread *thread,
                        struct name_state *name, const struct xline *line,
                        const struct xevent *event, struct err *e)
{
    int64_t now = event->start_ps;
    if (thread_launch(thread, now) != LINKS_NONE)
        return 0; /* a helper of the call that counts */
    struct event_stats stats;
    stats_read(&stats, &plane->stat_ids, line, event);
    int r = function_of_name(pass, plane, name, event, e);
    if (r < 0)
        return r;
    uint32_t function =
        name->function != LINKS_ANY_FUNCTION ? name->function : thread_function(thread, now);
    enum links_launch_kind kind = pass->platform == PLATFORM_GPU ? LAUNCH_CALL
                                  : stats_has(&stats, STAT_RUN)  ? LAUNCH_RUN
                                                                 : LAUNCH_QUEUED;
    uint32_t region = region_for_launch(pass, thread, now);
    uint64_t launch;
    r = links_add_launch(&pass->links, kind, now, region, function,
                         pass_run(pass, stats_integer(&stats, STAT_RUN, 0)), &launch, e);
    if (r < 0)
        return r;
    push_launch(thread, launch, event);
    if (pass_in_scope(pass, now) && pass->platform != PLATFORM_GPU) {
        pass->receipt.launches++;
        if (region != SUMMARY_NO_REGION)
            pass->regions.all[region].launches++;
    }
    return 0;
}

/* A call of the driver that launched something on a GPU. */
static int driver_call(struct pass *pass, struct thread *thread, const struct xevent *event,
                       const struct event_stats *stats, struct err *e)
{
    uint32_t region = region_for_launch(pass, thread, event->start_ps);
    uint64_t launch;
    int r = links_add_launch(&pass->links, LAUNCH_CALL, event->start_ps, region, LINKS_ANY_FUNCTION,
                             0, &launch, e);
    if (r < 0)
        return r;
    links_add_call(&pass->links, (uint64_t)stats->integers[STAT_CORRELATION], launch);
    if (pass_in_scope(pass, event->start_ps)) {
        pass->receipt.launches++;
        if (region != SUMMARY_NO_REGION)
            pass->regions.all[region].launches++;
    }
    return 0;
}

/* On a TPU's host several calls on the way to the device carry the execution's run_id: the first,
 * which is the outermost, is the launch. */
static int run_call(struct pass *pass, struct thread *thread, const struct xevent *event,
                    const struct event_stats *stats, struct err *e)
{
    int64_t run = pass_run(pass, stats->integers[STAT_RUN]);
    if (links_knows_run(&pass->links, run))
        return 0;
    uint32_t region = region_for_launch(pass, thread, event->start_ps);
    uint64_t launch;
    int r = links_add_launch(&pass->links, LAUNCH_RUN, event->start_ps, region,
                             thread_function(thread, event->start_ps), run, &launch, e);
    if (r < 0)
        return r;
    if (pass_in_scope(pass, event->start_ps)) {
        pass->receipt.launches++;
        if (region != SUMMARY_NO_REGION)
            pass->regions.all[region].launches++;
    }
    return 0;
}

static int region_event(struct pass *pass, struct plane_state *plane, struct thread *thread,
                        struct name_state *name, const struct xevent *event, struct err *e)
{
    int r = 0;
    if (name->region == SUMMARY_NO_REGION)
        r = regions_number(&pass->regions, xplane_event_name(&plane->plane, event->metadata_id),
                           &name->region, e);
    if (r == 0 && pass_in_scope(pass, event->start_ps))
        r = regions_call(&pass->regions, name->region, (uint64_t)event->duration_ps, e);
    if (r < 0 || event->duration_ps == 0)
        return r;
    r = thread_open_region(thread, name->region, event, e);
    if (r < 0)
        return r;
    r = devices_advance(&pass->devices, event->start_ps, pass->innermost, e);
    if (r < 0)
        return r;
    r = timeline_open_region(&pass->timeline, name->region, event->start_ps + event->duration_ps,
                             e);
    pass->innermost = name->region;
    return r;
}

static void note_compiled(struct pass *pass, const struct plane_state *plane,
                          const struct thread *thread, int64_t now)
{
    struct view name = view_of("", 0);
    for (uint32_t i = thread->n_calls; i-- > 0 && !name.size;)
        if (thread->calls[i].end > now)
            name = name_function(xplane_event_name(&plane->plane, thread->calls[i].metadata_id));
    if (!name.size || pass->n_compiled == SUMMARY_COMPILED_MAX)
        return;
    for (uint32_t i = 0; i < pass->n_compiled; i++)
        if (view_equal(pass->compiled[i], name))
            return;
    pass->compiled[pass->n_compiled++] = name;
}

static void compile_event(struct pass *pass, const struct plane_state *plane, struct thread *thread,
                          bool worker, const struct xevent *event)
{
    int64_t end = event->start_ps + event->duration_ps;
    /* a compiler's own pool threads work for a call that is counted already */
    if (!worker && event->start_ps >= thread->compile_until &&
        pass_in_scope(pass, event->start_ps)) {
        pass->receipt.compilations++;
        note_compiled(pass, plane, thread, event->start_ps);
        add_saturated(&pass->receipt.compilation_ps, (uint64_t)event->duration_ps);
    }
    if (end > thread->compile_until)
        thread->compile_until = end;
}

static void note_inside(struct thread *thread, const struct xevent *event)
{
    int64_t end = event->start_ps + event->duration_ps;
    if (end > thread->inside_until)
        thread->inside_until = end;
}

static int step_event(struct pass *pass, const struct plane_state *plane, struct name_state *name,
                      const struct xevent *event, int64_t number, struct err *e)
{
    int r = 0;
    if (name->step == NAME_NO_STEP)
        r = intern_put(&pass->steps.names, xplane_event_name(&plane->plane, event->metadata_id),
                       &name->step, e);
    return r < 0 ? r : pass_step(pass, &pass->steps, name->step, number, event, e);
}

/* What plain_event() returns for an op, which is no event of the host. */
#define EVENT_IS_OP 1

static int plain_event(struct pass *pass, const struct track *track, struct thread *thread,
                       struct name_state *name, const struct xline *line,
                       const struct xevent *event, struct err *e)
{
    struct plane_state *plane = &pass->planes[track->plane];
    struct event_stats stats;
    stats_read(&stats, &plane->stat_ids, line, event);
    if (stats_has(&stats, STAT_CORRELATION) && pass->platform == PLATFORM_GPU)
        return driver_call(pass, thread, event, &stats, e);
    if (stats_has(&stats, STAT_OP)) {
        int r = pass->cpu_ops ? cpu_op(pass, plane, thread_origin(thread, event->start_ps), name,
                                       event, &stats, e)
                              : 0;
        return r < 0 || !pass->cpu_ops ? r : EVENT_IS_OP;
    }
    if (stats_has(&stats, STAT_RUN) && pass->platform == PLATFORM_TPU)
        return run_call(pass, thread, event, &stats, e);
    if (stats_has(&stats, STAT_STEP) && name->name_class == NAME_PLAIN) {
        int r = step_event(pass, plane, name, event, stats.integers[STAT_STEP], e);
        if (r < 0 || !regions_by_name(&pass->regions))
            return r;
    }
    if (!name->maybe_region)
        return 0;
    if (!regions_by_name(&pass->regions) &&
        (track->worker || event->start_ps < thread->inside_until))
        return 0;
    return region_event(pass, plane, thread, name, event, e);
}

/* The producer's end of a hop to another thread. */
static void record_event(struct pass *pass, const struct plane_state *plane, struct thread *thread,
                         const struct xline *line, const struct xevent *event)
{
    uint64_t origin = thread_origin(thread, event->start_ps);
    if (origin == LINKS_NONE)
        return;
    struct event_stats stats;
    stats_read(&stats, &plane->stat_ids, line, event);
    if (stats_has(&stats, STAT_PRODUCER))
        links_add_hop(&pass->links, (uint64_t)stats.integers[STAT_PRODUCER], origin);
}

/* The consumer's end. */
static void start_event(struct pass *pass, const struct plane_state *plane, struct thread *thread,
                        const struct xline *line, const struct xevent *event)
{
    struct event_stats stats;
    stats_read(&stats, &plane->stat_ids, line, event);
    push_task(thread, stats_has(&stats, STAT_CONSUMER)
                          ? links_take_hop(&pass->links, (uint64_t)stats.integers[STAT_CONSUMER])
                          : LINKS_NONE);
}

/* An event of the runtime whose name alone says what it is. */
static int named_event(struct pass *pass, const struct track *track, struct thread *thread,
                       struct name_state *name, const struct xline *line,
                       const struct xevent *event, struct err *e)
{
    struct plane_state *plane = &pass->planes[track->plane];
    int r = 0;
    switch ((enum name_class)name->name_class) {
    case NAME_CALL:
        r = function_of_name(pass, plane, name, event, e);
        push_call(thread, name->function, event);
        break;
    case NAME_LAUNCH:
        r = launch_event(pass, plane, thread, name, line, event, e);
        note_inside(thread, event);
        break;
    case NAME_COMPILE:
        compile_event(pass, plane, thread, track->worker, event);
        note_inside(thread, event);
        break;
    case NAME_INSIDE:
        note_inside(thread, event);
        break;
    default:
        break;
    }
    if (r == 0 && name->maybe_region && regions_by_name(&pass->regions))
        r = region_event(pass, plane, thread, name, event, e);
    return r;
}

int host_event(struct pass *pass, const struct track *track, const struct xline *line,
               const struct xevent *event, struct err *e)
{
    struct plane_state *plane = &pass->planes[track->plane];
    struct thread *thread = &pass->threads[track->thread];
    struct name_state *name = pass_name(pass, plane, event->metadata_id);
    int r = 0;
    if (!name)
        return 0;
    switch ((enum name_class)name->name_class) {
    case NAME_RECORD:
        record_event(pass, plane, thread, line, event);
        break;
    case NAME_START:
        start_event(pass, plane, thread, line, event);
        break;
    case NAME_STOP:
        pop_task(thread);
        break;
    case NAME_RUNTIME:
    case NAME_PLAIN:
        if (event->stats != event->end || name->maybe_region)
            r = plain_event(pass, track, thread, name, line, event, e);
        break;
    default:
        r = named_event(pass, track, thread, name, line, event, e);
        break;
    }
    if (r != 0)
        return r < 0 ? r : 0;
    if (pass_in_scope(pass, event->start_ps)) {
        name->calls++;
        add_saturated(&name->total_ps,
                      cover_add(&name->cover, &pass->covers, track->thread, event->start_ps,
                                event->start_ps + event->duration_ps));
    }
    return pass->covers.no_memory ? err_nomem(e) : 0;
}
