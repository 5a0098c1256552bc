/* SPDX-License-Identifier: Apache-2.0 */
/* verdict - sums over shared steps, then thresholds. */
#include "trace/verdict.h"

#include <inttypes.h>
#include <stdlib.h>

#include "trace/verdict_clock.h"

#include "base/banned.h"

const char *verdict_kind_name(enum verdict_kind kind)
{
    static const char *const words[] = {"cannot tell", "even", "straggler", "hiccup", "mixed"};
    return words[kind];
}

const char *verdict_basis_name(enum verdict_basis basis)
{
    static const char *const words[] = {"none", "collectives", "step lengths"};
    return words[basis];
}

const char *verdict_role_name(enum verdict_role role)
{
    static const char *const words[] = {"cannot tell", "even", "straggler", "slow", "waits"};
    return words[role];
}

const char *verdict_clock_name(enum verdict_clock clock)
{
    static const char *const words[] = {"unknown",       "agrees",       "clock off",
                                        "clock or late", "starts apart", "ends apart"};
    return words[clock];
}

const char *verdict_label(const struct many_process *process, char *buffer, size_t size)
{
    if (process->index >= 0)
        (void)snprintf(buffer, size, "process %" PRId64, process->index);
    else if (process->pid >= 0)
        (void)snprintf(buffer, size, "%.*s (pid %" PRId64 ")", VIEW_ARG(process->host),
                       process->pid);
    else
        (void)snprintf(buffer, size, "%.*s", VIEW_ARG(process->file));
    return buffer;
}

static uint64_t minus(uint64_t a, uint64_t b)
{
    return a > b ? a - b : 0;
}

static uint64_t times(uint64_t a, uint64_t b)
{
    uint64_t product;
    return product_u64(a, b, &product) ? product : UINT64_MAX;
}

static void add(uint64_t *to, uint64_t more)
{
    *to = saturated_sum(*to, more);
}

/* Who keeps the others waiting in one step, and how long. */
struct slowest {
    uint64_t n, lost_ps, saved_ps, best_ps; /* best: what is subtracted from each process's own */
    uint32_t process;
};

static struct slowest slowest_of(const struct many_step *step, enum verdict_basis basis)
{
    if (basis == BASIS_COLLECTIVES)
        return (struct slowest){
            .n = step->waiting,
            .lost_ps = minus(step->wait_ps, times(step->least.first, step->waiting)),
            .saved_ps = step->waiting > 1 ? step->least.second - step->least.first : 0,
            .best_ps = step->least.first,
            .process = step->least.process};
    return (struct slowest){
        .n = step->processes,
        .lost_ps = minus(times(step->longest.first, step->processes), step->duration_ps),
        .saved_ps = step->processes > 1 ? step->longest.first - step->longest.second : 0,
        .best_ps = step->longest.first,
        .process = step->longest.process};
}

static enum verdict_basis basis_of(const struct many_rows *rows)
{
    enum verdict_basis basis = BASIS_NONE;
    for (uint32_t i = 0; i < rows->n_steps; i++) {
        if (rows->steps[i].waiting > 1)
            return BASIS_COLLECTIVES;
        if (rows->steps[i].processes > 1)
            basis = BASIS_LENGTHS;
    }
    return basis;
}

static void sum_steps(const struct many_rows *rows, struct verdict *v)
{
    for (uint32_t i = 0; i < rows->n_steps; i++) {
        const struct many_step *step = &rows->steps[i];
        struct slowest s = slowest_of(step, v->basis);
        if (s.n < 2)
            continue;
        struct verdict_process *process = &v->processes[s.process];
        v->step_lost_ps[i] = s.lost_ps;
        v->shared++;
        add(&v->lost_ps, s.lost_ps);
        add(&v->shared_ps, step->duration_ps);
        add(&v->peers_ps, step->duration_ps / step->processes * (s.n - 1));
        add(&v->others, s.n - 1);
        process->slowest_in++;
        add(&process->caused_ps, s.lost_ps);
        add(&process->saved_ps, s.saved_ps);
    }
}

/* Sums over the sorted steps up to each, so that a run of neighbours is one difference. */
struct prefix {
    wide best_ps, starts_ns, ends_ns;
    uint64_t shared;
};

static void prefix_step(const struct many_step *step, enum verdict_basis basis,
                        struct prefix *prefix)
{
    struct slowest s = slowest_of(step, basis);
    prefix->best_ps += s.best_ps;
    prefix->shared += s.n > 1;
    if (step->clocks) {
        prefix->starts_ns += step->starts_ns / (wide)step->clocks;
        prefix->ends_ns += step->ends_ns / (wide)step->clocks;
    }
}

static uint32_t find_step(const struct many_rows *rows, struct view name, int64_t number)
{
    uint32_t low = 0, high = rows->n_steps;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        const struct many_step *step = &rows->steps[middle];
        int order = many_text_order(step->name, name);
        if (order < 0 || (order == 0 && step->number < number))
            low = middle + 1;
        else
            high = middle;
    }
    return low < rows->n_steps && rows->steps[low].number == number &&
                   view_equal(rows->steps[low].name, name)
               ? low
               : UINT32_MAX;
}

static bool add_run(const struct many_rows *rows, const struct prefix *prefix,
                    const struct many_run *run, struct prefix *sum)
{
    int64_t last = (int64_t)((uint64_t)run->first + run->stride * (run->count - 1));
    uint32_t from = find_step(rows, run->name, run->first);
    uint32_t to = find_step(rows, run->name, last);
    if (from == UINT32_MAX || to == UINT32_MAX)
        return false;
    if (to - from + 1 == run->count) {
        sum->best_ps += prefix[to + 1].best_ps - prefix[from].best_ps;
        sum->shared += prefix[to + 1].shared - prefix[from].shared;
        sum->starts_ns += prefix[to + 1].starts_ns - prefix[from].starts_ns;
        sum->ends_ns += prefix[to + 1].ends_ns - prefix[from].ends_ns;
        return true;
    }
    for (uint32_t k = 0; k < run->count; k++) {
        uint32_t at = find_step(rows, run->name, (int64_t)((uint64_t)run->first + run->stride * k));
        if (at == UINT32_MAX)
            return false;
        sum->best_ps += prefix[at + 1].best_ps - prefix[at].best_ps;
        sum->shared += prefix[at + 1].shared - prefix[at].shared;
        sum->starts_ns += prefix[at + 1].starts_ns - prefix[at].starts_ns;
        sum->ends_ns += prefix[at + 1].ends_ns - prefix[at].ends_ns;
    }
    return true;
}

static uint64_t clamped(wide value)
{
    return value < 0 ? 0 : value > (wide)UINT64_MAX ? UINT64_MAX : (uint64_t)value;
}

static void sum_process(const struct many_rows *rows, const struct prefix *prefix, uint32_t i,
                        struct verdict *v, struct verdict_offset *offset)
{
    const struct many_process *process = &rows->processes[i];
    struct verdict_process *to = &v->processes[i];
    struct prefix sum = {0};
    bool known = process->compared > 0 && !process->runs_lost &&
                 (v->basis != BASIS_COLLECTIVES || process->by_collectives);
    for (uint32_t k = 0; known && k < process->n_runs; k++)
        known = add_run(rows, prefix, &process->runs[k], &sum);
    v->runs_lost |= process->runs_lost;
    to->known = known && sum.shared > 0;
    if (!to->known)
        return;
    to->shared = sum.shared;
    to->shared_ps =
        clamped((wide)process->compared_ps * (wide)sum.shared / (wide)process->compared);
    wide own = (wide)(v->basis == BASIS_COLLECTIVES ? process->wait_ps : process->compared_ps);
    to->lost_ps = clamped(v->basis == BASIS_COLLECTIVES ? own - sum.best_ps : sum.best_ps - own);
    if (!process->has_clock || sum.shared < VERDICT_STEPS_MIN)
        return;
    /* a part may say anything, and differences of these are made */
    const wide far = (wide)1 << 61;
    wide n = (wide)process->compared, zero = (wide)process->start_unix_ns * n;
    wide start = (zero + (wide)process->starts_ns - sum.starts_ns) / n;
    wide end = (zero + (wide)process->ends_ns - sum.ends_ns) / n;
    if (start > far || start < -far || end > far || end < -far)
        return;
    *offset = (struct verdict_offset){true, (int64_t)start, (int64_t)end};
}

static int sum_processes(const struct many_rows *rows, struct verdict *v, struct err *e)
{
    CLEANUP(cleanup_free)
    struct prefix *prefix = calloc((size_t)rows->n_steps + 1, sizeof(*prefix));
    CLEANUP(cleanup_free)
    struct verdict_offset *offsets = calloc((size_t)rows->n_processes + 1, sizeof(*offsets));
    if (!prefix || !offsets)
        return err_nomem(e);
    for (uint32_t i = 0; i < rows->n_steps; i++) {
        prefix[i + 1] = prefix[i];
        prefix_step(&rows->steps[i], v->basis, &prefix[i + 1]);
    }
    for (uint32_t i = 0; i < rows->n_processes; i++)
        sum_process(rows, prefix, i, v, &offsets[i]);
    return verdict_clocks(rows, v, offsets, e);
}

static bool above_percent(uint64_t part, uint64_t whole, unsigned percent)
{
    return (wide)part * 100 >= (wide)whole * (wide)percent && part > 0;
}

static void decide(struct many_rows *rows, struct verdict *v)
{
    uint32_t most = 0;
    for (uint32_t i = 1; i < rows->n_processes; i++) {
        if (v->processes[i].caused_ps > v->processes[most].caused_ps)
            most = i;
    }
    v->process = most;
    v->kind = VERDICT_CANNOT_TELL;
    const struct verdict_process *it = rows->n_processes ? &v->processes[most] : NULL;
    if (rows->n_processes < 2)
        v->reason = "there is only one process";
    else if (v->basis == BASIS_NONE)
        v->reason = "no step is in more than one process: mark steps with "
                    "jax.profiler.StepTraceAnnotation(\"train\", step_num=i), with the same "
                    "numbers in all processes, and capture them at the same time";
    else if (v->shared < VERDICT_STEPS_MIN)
        v->reason = "too few steps are in more than one process: capture some more";
    else if (!above_percent(v->lost_ps, v->peers_ps, VERDICT_LOST_PERCENT))
        v->kind = VERDICT_EVEN;
    else if (!above_percent(it->caused_ps, v->lost_ps, 50))
        v->kind = VERDICT_MIXED;
    else if (it->slowest_in * 2 < v->shared)
        v->kind = VERDICT_HICCUP;
    else if (v->basis == BASIS_LENGTHS && it->clock == CLOCK_STARTS)
        v->reason = "one process has longer steps, which begin earlier and end with those of the "
                    "others: either it is slow and its clock is off, or it waits inside its steps "
                    "for others that come late; there are no collectives in the steps to tell";
    else
        v->kind = VERDICT_STRAGGLER;
}

static void give_roles(const struct many_rows *rows, struct verdict *v)
{
    uint64_t mean = v->others ? v->lost_ps / v->others : 0; /* a peer's wait a step */
    for (uint32_t i = 0; i < rows->n_processes; i++) {
        struct verdict_process *p = &v->processes[i];
        if (!p->known || p->shared < VERDICT_STEPS_MIN || v->kind == VERDICT_CANNOT_TELL)
            p->role = ROLE_CANNOT_TELL;
        else if (v->kind == VERDICT_STRAGGLER && i == v->process)
            p->role = ROLE_STRAGGLER;
        else if (above_percent(p->lost_ps, p->shared_ps, VERDICT_LOST_PERCENT))
            p->role = ROLE_WAITS;
        else if (v->kind != VERDICT_EVEN && p->lost_ps / p->shared < mean / 4 && p->slowest_in)
            p->role = ROLE_SLOW;
        else
            p->role = ROLE_EVEN;
    }
}

/* The region that explains most of what the straggler costs a step; of those that explain about the
 * same, such as a region around it, the shortest. */
static void explain(struct many_rows *rows, struct verdict *v)
{
    const struct many_process *it = &rows->processes[v->process];
    if (v->kind != VERDICT_STRAGGLER || !it->steps)
        return;
    for (int round = 0; round < 2; round++) {
        uint64_t limit = round ? v->region_excess_ps / 5 * 4 : 1;
        for (uint32_t i = 0; i < rows->n_regions; i++) {
            struct many_region *region = &rows->regions[i];
            if (region->slowest != v->process || region->processes < 2)
                continue;
            uint64_t over = minus(region->means.max, sketch_quantile(&region->means, 0.5));
            uint64_t excess = clamped((wide)over * (wide)region->slowest_calls / (wide)it->steps);
            bool better = !v->region || (round ? region->means.max < v->region->means.max
                                               : excess > v->region_excess_ps);
            if (excess >= limit && better) {
                v->region = region;
                v->region_excess_ps = round ? v->region_excess_ps : excess;
            }
        }
    }
}

static int by_value(const void *a, const void *b)
{
    const uint64_t *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

/* The same for the devices' own work. */
static int explain_work(const struct many_rows *rows, struct verdict *v, struct err *e)
{
    CLEANUP(cleanup_free) uint64_t *work = calloc((size_t)rows->n_processes + 1, sizeof(*work));
    uint32_t n = 0;
    if (!work)
        return err_nomem(e);
    for (uint32_t i = 0; i < rows->n_processes; i++) {
        const struct many_process *p = &rows->processes[i];
        if (p->compared)
            work[n++] = p->work_ps / p->compared;
    }
    if (!n || v->kind != VERDICT_STRAGGLER || !rows->processes[v->process].compared)
        return 0;
    const struct many_process *it = &rows->processes[v->process];
    qsort(work, n, sizeof(*work), by_value);
    v->work_excess_ps = minus(it->work_ps / it->compared, work[(n - 1) / 2]);
    return 0;
}

/* What is odd about the processes as a group. */
static int check_group(const struct many_rows *rows, struct verdict *v, struct err *e)
{
    int64_t count = -1, first_stop = INT64_MAX, last_start = INT64_MIN, expected = 0;
    v->missing = calloc(VERDICT_MISSING_MAX, sizeof(*v->missing));
    if (!v->missing)
        return err_nomem(e);
    for (uint32_t i = 0; i < rows->n_processes; i++) {
        const struct many_process *p = &rows->processes[i];
        v->damaged += p->damaged;
        v->thinned |= p->step_stride > 1;
        v->versions_differ |= p->version.size && rows->processes[0].version.size &&
                              !view_equal(p->version, rows->processes[0].version);
        if (p->count >= 0) {
            v->counts_differ |= count >= 0 && p->count != count;
            count = p->count;
        }
        if (p->start_unix_ns && p->stop_unix_ns) {
            last_start = p->start_unix_ns > last_start ? p->start_unix_ns : last_start;
            first_stop = p->stop_unix_ns < first_stop ? p->stop_unix_ns : first_stop;
        }
        for (; p->index >= 0 && expected < p->index && v->n_missing < VERDICT_MISSING_MAX;
             expected++)
            v->missing[v->n_missing++] = (uint64_t)expected;
        expected = p->index >= 0 ? p->index + 1 : expected;
    }
    v->apart = first_stop != INT64_MAX && last_start > first_stop;
    if (rows->processes[0].index < 0 || v->counts_differ)
        v->n_missing = 0;
    else if (count > (int64_t)rows->n_processes)
        v->missing_count = (uint64_t)count - rows->n_processes;
    for (; v->missing_count && expected < count && v->n_missing < VERDICT_MISSING_MAX; expected++)
        v->missing[v->n_missing++] = (uint64_t)expected;
    if (v->n_missing > v->missing_count)
        v->n_missing = (uint32_t)v->missing_count;
    return 0;
}

int verdict_make(struct many_rows *rows, struct verdict *ret, struct err *e)
{
    CLEANUP(verdict_release) struct verdict v = {.basis = basis_of(rows)};
    v.processes = calloc((size_t)rows->n_processes + 1, sizeof(*v.processes));
    v.step_lost_ps = calloc((size_t)rows->n_steps + 1, sizeof(*v.step_lost_ps));
    if (!v.processes || !v.step_lost_ps)
        return err_nomem(e);
    if (rows->n_processes == 0)
        return err_set(e, ERR_MISSING, "no process to compare");
    sum_steps(rows, &v);
    int r = sum_processes(rows, &v, e);
    if (r < 0)
        return r;
    decide(rows, &v);
    give_roles(rows, &v);
    explain(rows, &v);
    r = explain_work(rows, &v, e);
    if (r == 0)
        r = check_group(rows, &v, e);
    if (r < 0)
        return r;
    *ret = v;
    v = (struct verdict){0};
    return 0;
}

void verdict_release(struct verdict *verdict)
{
    free(verdict->processes);
    free(verdict->step_lost_ps);
    free(verdict->missing);
    *verdict = (struct verdict){0};
}
