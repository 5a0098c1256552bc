/* SPDX-License-Identifier: Apache-2.0 */
/* verdict - thresholds over the sums: what is to be called what. */
#include "trace/verdict.h"

#include <stdlib.h>

#include "trace/verdict_inner.h"

#include "base/banned.h"

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

int verdict_make(struct many_rows *rows, struct verdict *ret, struct err *e)
{
    CLEANUP(verdict_release) struct verdict v = {0};
    v.processes = calloc((size_t)rows->n_processes + 1, sizeof(*v.processes));
    v.step_lost_ps = calloc((size_t)rows->n_steps + 1, sizeof(*v.step_lost_ps));
    if (!v.processes || !v.step_lost_ps)
        return err_nomem(e);
    if (rows->n_processes == 0)
        return err_set(e, ERR_MISSING, "no process to compare");
    int r = verdict_sum_steps(rows, &v, e);
    if (r < 0)
        return r;
    decide(rows, &v);
    give_roles(rows, &v);
    r = verdict_explain(rows, &v, e);
    if (r == 0)
        r = verdict_check_group(rows, &v, e);
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
