/* SPDX-License-Identifier: Apache-2.0 */
/* verdict_steps - sums over the steps that processes share. */
#include <stdlib.h>

#include "trace/verdict_clock.h"
#include "trace/verdict_inner.h"
#include "trace/verdict_place.h"

#include "base/banned.h"

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
            .lost_ps = verdict_minus(step->wait_ps, times(step->least.first, step->waiting)),
            .saved_ps = step->waiting > 1 ? step->least.second - step->least.first : 0,
            .best_ps = step->least.first,
            .process = step->least.process};
    return (struct slowest){
        .n = step->processes,
        .lost_ps = verdict_minus(times(step->longest.first, step->processes), step->duration_ps),
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
        process->slowest_in += s.lost_ps > 0; /* else nobody is slower than another */
        add(&process->caused_ps, s.lost_ps);
        add(&process->saved_ps, s.saved_ps);
    }
}

/* Sums over the sorted steps up to each, so that a run of neighbours is one difference. */
struct prefix {
    wide best_ps;
    uint64_t shared;
};

static void prefix_step(const struct many_step *step, enum verdict_basis basis,
                        struct prefix *prefix)
{
    struct slowest s = slowest_of(step, basis);
    prefix->best_ps += s.best_ps;
    prefix->shared += s.n > 1;
}

uint32_t verdict_find_step(const struct many_rows *rows, struct view name, int64_t number)
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
    uint32_t from = verdict_find_step(rows, run->name, run->first);
    uint32_t to = verdict_find_step(rows, run->name, last);
    if (from == UINT32_MAX || to == UINT32_MAX)
        return false;
    if (to - from + 1 == run->count) {
        sum->best_ps += prefix[to + 1].best_ps - prefix[from].best_ps;
        sum->shared += prefix[to + 1].shared - prefix[from].shared;
        return true;
    }
    for (uint32_t k = 0; k < run->count; k++) {
        uint32_t at =
            verdict_find_step(rows, run->name, (int64_t)((uint64_t)run->first + run->stride * k));
        if (at == UINT32_MAX)
            return false;
        sum->best_ps += prefix[at + 1].best_ps - prefix[at].best_ps;
        sum->shared += prefix[at + 1].shared - prefix[at].shared;
    }
    return true;
}

static void sum_process(const struct many_rows *rows, const struct prefix *prefix, uint32_t i,
                        struct verdict *v)
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
        verdict_clamped((wide)process->compared_ps * (wide)sum.shared / (wide)process->compared);
    wide own = (wide)(v->basis == BASIS_COLLECTIVES ? process->wait_ps : process->compared_ps);
    to->lost_ps =
        verdict_clamped(v->basis == BASIS_COLLECTIVES ? own - sum.best_ps : sum.best_ps - own);
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
        sum_process(rows, prefix, i, v);
    int r = verdict_place(rows, offsets, e);
    if (r < 0)
        return r;
    for (uint32_t i = 0; i < rows->n_processes; i++)
        offsets[i].known &= v->processes[i].known && v->processes[i].shared >= VERDICT_STEPS_MIN;
    return verdict_clocks(rows, v, offsets, e);
}

int verdict_sum_steps(const struct many_rows *rows, struct verdict *v, struct err *e)
{
    v->basis = basis_of(rows);
    sum_steps(rows, v);
    return sum_processes(rows, v, e);
}
