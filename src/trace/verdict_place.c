/* SPDX-License-Identifier: Apache-2.0 */
/* verdict_place - conjugate gradients on the processes' shared steps, corrected in whole numbers.
 */
#include "trace/verdict_place.h"

#include <stdlib.h>

#include "trace/verdict_inner.h"

#include "base/banned.h"

#define FRACTION 1024       /* of a nanosecond, of `wide` offsets and residuals */
#define DIRECTION_BITS 40   /* of a direction of the search, as whole numbers */
#define ROUNDS_MAX 8        /* corrections */
#define SEARCHES_MAX 1000   /* directions in one */
#define WORK_MAX (1U << 30) /* visits of steps and runs, all in all */

/* Neighbours in the rows' steps, or, where steps of others lie between, some of them. */
struct span {
    uint32_t process, from, to;
    bool sparse;
    const struct many_run *run;
};

struct places {
    const struct many_rows *rows;
    struct span *spans;
    uint32_t n_spans;
    uint32_t *group;  /* of each step: another one of its group, or itself */
    bool *in;         /* of each process: it takes part */
    uint64_t *n;      /* of each process: its steps */
    uint64_t *shared; /* of each process: those that others of its group have */
    wide *members;    /* of each step: processes that take part */
    wide *sums;       /* n_steps + 1, scratch */
    uint64_t work, done;
};

static void places_release(struct places *p)
{
    free(p->spans);
    free(p->group);
    free(p->in);
    free(p->n);
    free(p->shared);
    free(p->members);
    free(p->sums);
}

/* The span's step after `at`; `k` counts them. */
static uint32_t next_of(const struct places *p, const struct span *span, uint32_t at, uint32_t k)
{
    int64_t number = (int64_t)((uint64_t)span->run->first + span->run->stride * k);
    while (at < span->to && p->rows->steps[at].number < number)
        at++;
    return at;
}

/* Of each step, the sum of its processes' x. */
static void spread(struct places *p, const wide *x, wide *sums)
{
    for (uint32_t i = 0; i <= p->rows->n_steps; i++)
        sums[i] = 0;
    for (uint32_t i = 0; i < p->n_spans; i++) {
        const struct span *s = &p->spans[i];
        if (!p->in[s->process])
            continue;
        if (!s->sparse) {
            sums[s->from] += x[s->process];
            sums[s->to + 1] -= x[s->process];
            continue;
        }
        for (uint32_t k = 0, at = s->from; k < s->run->count; k++) {
            at = next_of(p, s, at, k);
            sums[at] += x[s->process];
            sums[at + 1] -= x[s->process];
        }
    }
    for (uint32_t i = 1; i < p->rows->n_steps; i++)
        sums[i] += sums[i - 1];
}

/* Takes from each process's y what its steps have. */
static void gather(struct places *p, wide *sums, wide *y)
{
    wide sum = 0;
    for (uint32_t i = 0; i <= p->rows->n_steps; i++) {
        wide own = sums[i];
        sums[i] = sum;
        sum += i < p->rows->n_steps ? own : 0;
    }
    for (uint32_t i = 0; i < p->n_spans; i++) {
        const struct span *s = &p->spans[i];
        if (!p->in[s->process])
            continue;
        if (!s->sparse) {
            y[s->process] -= sums[s->to + 1] - sums[s->from];
            continue;
        }
        for (uint32_t k = 0, at = s->from; k < s->run->count; k++) {
            at = next_of(p, s, at, k);
            y[s->process] -= sums[at + 1] - sums[at];
        }
    }
}

/* y: how far each process's x are from the means of its steps, summed over its steps. */
static void apply(struct places *p, const wide *x, wide *y)
{
    spread(p, x, p->sums);
    for (uint32_t i = 0; i < p->rows->n_steps; i++)
        p->sums[i] = p->members[i] ? p->sums[i] / p->members[i] : 0;
    for (uint32_t i = 0; i < p->rows->n_processes; i++)
        y[i] = p->in[i] ? x[i] * (wide)p->n[i] : 0;
    gather(p, p->sums, y);
    p->done += p->work;
}

static uint32_t find(uint32_t *group, uint32_t i)
{
    while (group[i] != i) {
        group[i] = group[group[i]];
        i = group[i];
    }
    return i;
}

static void unite(uint32_t *group, uint32_t a, uint32_t b)
{
    a = find(group, a);
    b = find(group, b);
    group[a > b ? a : b] = a > b ? b : a;
}

static int begin(struct places *p, const struct many_rows *rows, struct err *e)
{
    size_t runs = 0;
    for (uint32_t i = 0; i < rows->n_processes; i++)
        runs += rows->processes[i].n_runs;
    p->rows = rows;
    p->spans = calloc(runs + 1, sizeof(*p->spans));
    p->group = calloc((size_t)rows->n_steps + 1, sizeof(*p->group));
    p->in = calloc((size_t)rows->n_processes + 1, sizeof(*p->in));
    p->n = calloc((size_t)rows->n_processes + 1, sizeof(*p->n));
    p->shared = calloc((size_t)rows->n_processes + 1, sizeof(*p->shared));
    p->members = calloc((size_t)rows->n_steps + 1, sizeof(*p->members));
    p->sums = calloc((size_t)rows->n_steps + 2, sizeof(*p->sums));
    return p->spans && p->group && p->in && p->n && p->shared && p->members && p->sums
               ? 0
               : err_nomem(e);
}

/* False where a run names steps that are not there, which is a part's lie. */
static bool add_spans(struct places *p, uint32_t process)
{
    const struct many_process *from = &p->rows->processes[process];
    for (uint32_t k = 0; k < from->n_runs; k++) {
        const struct many_run *run = &from->runs[k];
        int64_t last = (int64_t)((uint64_t)run->first + run->stride * (run->count - 1));
        struct span s = {.process = process, .run = run};
        s.from = verdict_find_step(p->rows, run->name, run->first);
        s.to = verdict_find_step(p->rows, run->name, last);
        if (s.from == UINT32_MAX || s.to == UINT32_MAX || s.from > s.to)
            return false;
        s.sparse = s.to - s.from + 1 != run->count;
        for (uint32_t j = 0, at = s.from; s.sparse && j < run->count; j++) {
            at = next_of(p, &s, at, j);
            if (p->rows->steps[at].number != (int64_t)((uint64_t)run->first + run->stride * j))
                return false;
        }
        p->n[process] += run->count;
        p->spans[p->n_spans++] = s;
        p->work += s.sparse ? s.to - s.from : 1;
    }
    return from->n_runs > 0;
}

static void unite_steps(struct places *p)
{
    wide *over = p->sums; /* how many spans hold each step and the next one together */
    for (uint32_t i = 0; i <= p->rows->n_steps; i++) {
        p->group[i] = i;
        over[i] = 0;
    }
    uint32_t before = UINT32_MAX, anchor = 0;
    for (uint32_t i = 0; i < p->n_spans; i++) {
        const struct span *s = &p->spans[i];
        if (s->process == before)
            unite(p->group, anchor, s->from);
        anchor = s->from;
        before = s->process;
        if (!s->sparse) {
            over[s->from] += 1;
            over[s->to] -= 1;
            continue;
        }
        for (uint32_t k = 0, at = s->from; k < s->run->count; k++) {
            at = next_of(p, s, at, k);
            unite(p->group, s->from, at);
        }
    }
    for (uint32_t i = 0; i + 1 < p->rows->n_steps; i++) {
        if (over[i] > 0)
            unite(p->group, i, i + 1);
        over[i + 1] += over[i];
    }
}

/* Of each process that takes part, how many of its steps others have. */
static void count_shared(struct places *p, wide *x, wide *y)
{
    for (uint32_t i = 0; i < p->rows->n_processes; i++) {
        x[i] = 1;
        y[i] = 0;
    }
    spread(p, x, p->members);
    for (uint32_t i = 0; i < p->rows->n_steps; i++)
        p->sums[i] = p->members[i] > 1;
    gather(p, p->sums, y);
    for (uint32_t i = 0; i < p->rows->n_processes; i++)
        p->shared[i] = p->in[i] ? (uint64_t)-y[i] : 0;
}

/* Leaves in only the group with most processes; of several, the first. */
static int pick_group(struct places *p, wide *x, wide *y, struct err *e)
{
    CLEANUP(cleanup_free) uint32_t *sizes = calloc((size_t)p->rows->n_steps + 1, sizeof(*sizes));
    CLEANUP(cleanup_free) uint32_t *of = calloc((size_t)p->rows->n_processes + 1, sizeof(*of));
    if (!sizes || !of)
        return err_nomem(e);
    unite_steps(p);
    for (uint32_t i = 0; i < p->n_spans; i++)
        of[p->spans[i].process] = find(p->group, p->spans[i].from);
    uint32_t most = UINT32_MAX;
    for (uint32_t i = 0; i < p->rows->n_processes; i++)
        sizes[of[i]] += p->in[i];
    for (uint32_t i = 0; i < p->rows->n_processes; i++) {
        if (p->in[i] && (most == UINT32_MAX || sizes[of[i]] > sizes[most]))
            most = of[i];
    }
    for (uint32_t i = 0; i < p->rows->n_processes; i++)
        p->in[i] = p->in[i] && of[i] == most;
    count_shared(p, x, y);
    return 0;
}

/* Makes the sum 0, as it is but for rounding and for processes in steps' sums whose own steps are
 * not known. Returns the largest, a step. */
static wide balance(const struct places *p, wide *r)
{
    wide sum = 0, n = 0, worst = 0;
    for (uint32_t i = 0; i < p->rows->n_processes; i++) {
        sum += p->in[i] ? r[i] : 0;
        n += p->in[i] ? (wide)p->n[i] : 0;
    }
    for (uint32_t i = 0; i < p->rows->n_processes; i++) {
        if (!p->in[i])
            continue;
        r[i] -= sum / n * (wide)p->n[i];
        wide size = (r[i] < 0 ? -r[i] : r[i]) / (wide)p->n[i];
        worst = size > worst ? size : worst;
    }
    return worst;
}

struct search {
    double *d, *r, *direction;
    wide *whole, *image;
};

static void search_release(struct search *s)
{
    free(s->d);
    free(s->r);
    free(s->direction);
    free(s->whole);
    free(s->image);
}

/* image = what `direction` does, in units that `whole` numbers of it hold. Returns the unit. */
static double image_of(struct places *p, struct search *s)
{
    double largest = 0;
    for (uint32_t i = 0; i < p->rows->n_processes; i++) {
        double size = s->direction[i] < 0 ? -s->direction[i] : s->direction[i];
        largest = size > largest ? size : largest;
    }
    double scale = largest > 0 ? (double)(1ULL << DIRECTION_BITS) / largest : 0;
    for (uint32_t i = 0; i < p->rows->n_processes; i++)
        s->whole[i] = (wide)(s->direction[i] * scale);
    apply(p, s->whole, s->image);
    return scale > 0 ? 1 / scale : 0;
}

/* Solves for d, to some digits. */
static void search(struct places *p, const wide *residual, struct search *s)
{
    double rr = 0, first;
    uint32_t n = p->rows->n_processes;
    for (uint32_t i = 0; i < n; i++) {
        double weight = p->in[i] ? (double)p->n[i] : 1;
        s->d[i] = 0;
        s->r[i] = p->in[i] ? (double)residual[i] : 0;
        s->direction[i] = s->r[i] / weight;
        rr += s->r[i] * s->direction[i];
    }
    first = rr;
    for (int k = 0; k < SEARCHES_MAX && rr > first * 1e-16 && p->done < WORK_MAX; k++) {
        double unit = image_of(p, s), curve = 0, next = 0;
        for (uint32_t i = 0; i < n; i++)
            curve += s->direction[i] * (double)s->image[i] * unit;
        if (!(curve > 0))
            return;
        double along = rr / curve;
        for (uint32_t i = 0; i < n; i++) {
            s->d[i] += along * s->direction[i];
            s->r[i] -= along * (double)s->image[i] * unit;
            next += p->in[i] ? s->r[i] * (s->r[i] / (double)p->n[i]) : 0;
        }
        for (uint32_t i = 0; i < n; i++)
            s->direction[i] =
                (p->in[i] ? s->r[i] / (double)p->n[i] : 0) + next / rr * s->direction[i];
        rr = next;
    }
}

/* b: what each process's positions differ from the means of its steps, summed over them. False
 * where a number is none that a clock can say. */
static bool sum_positions(struct places *p, bool ends, wide *b)
{
    const wide far = (wide)1 << 80;
    for (uint32_t i = 0; i < p->rows->n_steps; i++) {
        const struct many_step *step = &p->rows->steps[i];
        wide sum = ends ? step->ends_ns : step->starts_ns;
        if (sum > far || sum < -far)
            return false;
        p->sums[i] = step->clocks ? sum * FRACTION / (wide)step->clocks : 0;
    }
    for (uint32_t i = 0; i < p->rows->n_processes; i++) {
        const struct many_process *from = &p->rows->processes[i];
        wide own = (wide)(ends ? from->ends_ns : from->starts_ns);
        b[i] = (own + (wide)from->start_unix_ns * (wide)p->n[i]) * FRACTION;
    }
    gather(p, p->sums, b);
    return true;
}

/* Whether the steps' sums are those of the processes that take part, and of no other. */
static bool complete(const struct places *p)
{
    for (uint32_t i = 0; i < p->rows->n_steps; i++) {
        if (p->members[i] && p->rows->steps[i].clocks != (uint64_t)p->members[i])
            return false;
    }
    return true;
}

/* x: the offsets. False where they cannot be told. */
static bool solve(struct places *p, struct search *s, const wide *b, wide *x, wide *r)
{
    const wide far = (wide)1 << 61;
    for (uint32_t i = 0; i < p->rows->n_processes; i++)
        x[i] = p->in[i] ? b[i] / (wide)p->n[i] : 0;
    wide worst = 0;
    for (int round = 0; round < ROUNDS_MAX; round++) {
        for (uint32_t i = 0; i < p->rows->n_processes; i++) {
            if (x[i] / FRACTION > far || x[i] / FRACTION < -far)
                return false;
        }
        apply(p, x, r);
        for (uint32_t i = 0; i < p->rows->n_processes; i++)
            r[i] = b[i] - r[i];
        worst = balance(p, r);
        /* steps that all of them share need no search: it is all rounding */
        if (worst <= 4 || p->done >= WORK_MAX || !complete(p))
            break;
        search(p, r, s);
        for (uint32_t i = 0; i < p->rows->n_processes; i++) {
            if (!(s->d[i] < 0x1p72 && s->d[i] > -0x1p72))
                return false;
            x[i] += (wide)s->d[i];
        }
    }
    return worst <= (wide)4 * FRACTION;
}

static int64_t nanoseconds(wide x)
{
    x += FRACTION / 2;
    return (int64_t)((x - (x < 0 ? FRACTION - 1 : 0)) / FRACTION);
}

static int solve_both(struct places *p, wide *x, wide *r, struct verdict_offset *offsets,
                      struct err *e)
{
    size_t n = (size_t)p->rows->n_processes + 1;
    CLEANUP(search_release)
    struct search s = {calloc(n, sizeof(double)), calloc(n, sizeof(double)),
                       calloc(n, sizeof(double)), calloc(n, sizeof(wide)), calloc(n, sizeof(wide))};
    CLEANUP(cleanup_free) wide *b = calloc(n, sizeof(*b));
    if (!s.d || !s.r || !s.direction || !s.whole || !s.image || !b)
        return err_nomem(e);
    for (int ends = 0; ends < 2; ends++) {
        p->done = 0;
        bool known = sum_positions(p, ends, b) && solve(p, &s, b, x, r);
        for (uint32_t i = 0; i < p->rows->n_processes; i++) {
            *(ends ? &offsets[i].end_ns : &offsets[i].start_ns) = known ? nanoseconds(x[i]) : 0;
            offsets[i].known = known && p->in[i] && p->shared[i] >= VERDICT_STEPS_MIN &&
                               (!ends || offsets[i].known);
        }
    }
    return 0;
}

int verdict_place(const struct many_rows *rows, struct verdict_offset *offsets, struct err *e)
{
    CLEANUP(places_release) struct places p = {0};
    CLEANUP(cleanup_free) wide *x = calloc((size_t)rows->n_processes + 1, sizeof(*x));
    CLEANUP(cleanup_free) wide *y = calloc((size_t)rows->n_processes + 1, sizeof(*y));
    if (!x || !y)
        return err_nomem(e);
    int r = begin(&p, rows, e);
    if (r < 0)
        return r;
    bool any = false;
    p.work = rows->n_steps;
    for (uint32_t i = 0; i < rows->n_processes; i++) {
        const struct many_process *process = &rows->processes[i];
        uint32_t before = p.n_spans;
        if (!process->has_clock || process->runs_lost)
            continue;
        p.in[i] = add_spans(&p, i);
        any |= p.in[i];
        if (!p.in[i])
            p.n_spans = before;
    }
    if (!any)
        return 0;
    r = pick_group(&p, x, y, e);
    return r < 0 ? r : solve_both(&p, x, y, offsets, e);
}
