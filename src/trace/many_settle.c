/* SPDX-License-Identifier: Apache-2.0 */
/* many_settle - the one order of rows that depends on nothing but what they say. */
#include <stdlib.h>

#include "trace/many.h"

#include "base/banned.h"

static int by_region_name(const void *a, const void *b)
{
    const struct many_region *x = a, *y = b;
    return many_text_order(x->name, y->name);
}

static int by_module_and_op(const void *a, const void *b)
{
    const struct many_op *x = a, *y = b;
    int order = many_text_order(x->module, y->module);
    if (!order)
        order = many_text_order(x->op, y->op);
    return order ? order : (x->kind > y->kind) - (x->kind < y->kind);
}

static int by_name_and_number(const void *a, const void *b)
{
    const struct many_step *x = a, *y = b;
    int order = many_text_order(x->name, y->name);
    return order ? order : (x->number > y->number) - (x->number < y->number);
}

struct place {
    const struct many_process *process;
    uint32_t old;
};

static int by_process(const void *a, const void *b)
{
    const struct place *x = a, *y = b;
    int order = many_order(x->process, y->process);
    return order ? order : many_text_order(x->process->file, y->process->file);
}

static void renumber(struct many_rows *rows, const uint32_t *fresh)
{
    for (uint32_t i = 0; i < rows->n_regions; i++) {
        rows->regions[i].slowest = fresh[rows->regions[i].slowest];
        rows->regions[i].fastest = fresh[rows->regions[i].fastest];
    }
    for (uint32_t i = 0; i < rows->n_ops; i++)
        rows->ops[i].most = fresh[rows->ops[i].most];
    for (uint32_t i = 0; i < rows->n_steps; i++) {
        struct many_step *step = &rows->steps[i];
        step->longest.process = fresh[step->longest.process];
        if (step->waiting)
            step->least.process = fresh[step->least.process];
    }
}

static int sort_processes(struct many_rows *rows, struct err *e)
{
    uint32_t n = rows->n_processes;
    CLEANUP(cleanup_free) struct place *places = calloc(n + 1, sizeof(*places));
    CLEANUP(cleanup_free) uint32_t *fresh = calloc(n + 1, sizeof(*fresh));
    struct many_process *sorted = calloc(n + 1, sizeof(*sorted));
    if (!places || !fresh || !sorted) {
        free(sorted);
        return err_nomem(e);
    }
    for (uint32_t i = 0; i < n; i++)
        places[i] = (struct place){&rows->processes[i], i};
    qsort(places, n, sizeof(*places), by_process);
    for (uint32_t i = 0; i < n; i++) {
        fresh[places[i].old] = i;
        sorted[i] = *places[i].process;
    }
    free(rows->processes);
    rows->processes = sorted;
    rows->room_processes = n + 1;
    renumber(rows, fresh);
    return 0;
}

static int twice(const struct many_process *a, const struct many_process *b, struct err *e)
{
    int r =
        a->index >= 0
            ? err_set(e, ERR_USAGE,
                      "process %lld is there twice: '%.*s' and '%.*s'; name one of them",
                      (long long)a->index, VIEW_ARG(a->file), VIEW_ARG(b->file))
            : err_set(e, ERR_USAGE,
                      "the same process (host '%.*s', process id %lld) is there twice: '%.*s' "
                      "and '%.*s'; name one of them",
                      VIEW_ARG(a->host), (long long)a->pid, VIEW_ARG(a->file), VIEW_ARG(b->file));
    return r;
}

/* One process has one trace at a time, so two windows of one process id on one host that overlap
 * are two processes, in containers. */
static bool apart(const struct many_process *a, const struct many_process *b)
{
    return a->stop_unix_ns <= b->start_unix_ns || b->stop_unix_ns <= a->start_unix_ns;
}

static int refuse_twice(const struct many_rows *rows, struct err *e)
{
    for (uint32_t i = 1; i < rows->n_processes; i++) {
        const struct many_process *a = &rows->processes[i - 1], *b = &rows->processes[i];
        if (a->index != b->index)
            continue;
        bool same_pid = a->pid >= 0 && a->pid == b->pid && view_equal(a->host, b->host) &&
                        a->start_unix_ns && b->start_unix_ns;
        if (a->index >= 0 || many_order(a, b) == 0 || (same_pid && apart(a, b)))
            return twice(a, b, e);
    }
    return 0;
}

bool many_settled(const struct many_rows *rows)
{
    bool sorted = true;
    for (uint32_t i = 1; i < rows->n_processes; i++)
        sorted &= many_order(&rows->processes[i - 1], &rows->processes[i]) < 0;
    for (uint32_t i = 1; i < rows->n_regions; i++)
        sorted &= by_region_name(&rows->regions[i - 1], &rows->regions[i]) < 0;
    for (uint32_t i = 1; i < rows->n_ops; i++)
        sorted &= by_module_and_op(&rows->ops[i - 1], &rows->ops[i]) < 0;
    for (uint32_t i = 1; i < rows->n_steps; i++)
        sorted &= by_name_and_number(&rows->steps[i - 1], &rows->steps[i]) < 0;
    return sorted;
}

int many_settle(struct many *many, struct err *e)
{
    struct many_rows *rows = &many->rows;
    int r = sort_processes(rows, e);
    if (r == 0)
        r = refuse_twice(rows, e);
    if (r < 0)
        return r;
    if (rows->n_regions)
        qsort(rows->regions, rows->n_regions, sizeof(*rows->regions), by_region_name);
    if (rows->n_ops)
        qsort(rows->ops, rows->n_ops, sizeof(*rows->ops), by_module_and_op);
    if (rows->n_steps)
        qsort(rows->steps, rows->n_steps, sizeof(*rows->steps), by_name_and_number);
    return 0;
}
