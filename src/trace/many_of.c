/* SPDX-License-Identifier: Apache-2.0 */
/* many_of - the rows of one process, from its summary. */
#include <stdlib.h>

#include "trace/many.h"

#include "base/banned.h"

static void put_totals(const struct summary *summary, uint64_t *totals)
{
    const struct summary_receipt *receipt = &summary->receipt;
    totals[MANY_EVENTS] = summary->events;
    totals[MANY_DEVICES] = summary->n_devices;
    for (size_t i = 0; i < summary->n_devices; i++) {
        const struct summary_device *device = &summary->devices[i];
        const struct {
            enum many_total total;
            uint64_t value;
        } parts[] = {
            {MANY_OPS, device->ops},
            {MANY_OP_TIME_PS, device->op_time_ps},
            {MANY_BUSY_PS, device->busy_ps},
            {MANY_IDLE_PS, device->idle_ps},
            {MANY_DEVICE_WINDOW_PS, summary->window_ps},
            {MANY_COLLECTIVE_PS, device->collective_ps},
            {MANY_EXPOSED_PS, device->collective_exposed_ps},
            {MANY_IDLE_HOST_PS, device->idle_by_cause[IDLE_HOST]},
            {MANY_IDLE_BETWEEN_PS, device->idle_by_cause[IDLE_BETWEEN]},
            {MANY_IDLE_EDGE_PS, device->idle_by_cause[IDLE_EDGE]},
            {MANY_IDLE_UNKNOWN_PS, device->idle_by_cause[IDLE_UNKNOWN]},
        };
        for (size_t k = 0; k < sizeof(parts) / sizeof(parts[0]); k++)
            totals[parts[k].total] = saturated_sum(totals[parts[k].total], parts[k].value);
    }
    totals[MANY_STEPS] = summary->steps.count;
    totals[MANY_STEPS_CUT] = summary->steps.cut;
    totals[MANY_STEPS_REPEATED] = summary->steps.repeated;
    totals[MANY_STEPS_BUSY_PS] = summary->steps.busy_ps;
    totals[MANY_STEPS_IDLE_PS] = summary->steps.idle_ps;
    totals[MANY_LAUNCHES] = receipt->launches;
    totals[MANY_LAUNCHES_UNMATCHED] = receipt->launches_unmatched;
    totals[MANY_EXECUTIONS] = receipt->executions;
    totals[MANY_EXECUTIONS_UNMATCHED] = receipt->executions_unmatched;
    totals[MANY_OPS_UNMATCHED] = receipt->ops_unmatched;
    totals[MANY_OPS_UNMATCHED_PS] = receipt->ops_unmatched_ps;
    totals[MANY_COMPILATIONS] = receipt->compilations;
    totals[MANY_COMPILATION_PS] = receipt->compilation_ps;
    totals[MANY_PYTHON_TRACER_EVENTS] = receipt->python_tracer_events;
}

static int put_regions(const struct summary *summary, struct many_rows *rows, struct err *e)
{
    for (size_t i = 0; i < summary->n_regions; i++) {
        const struct summary_region *from = &summary->regions[i];
        struct many_region *to;
        if (!from->calls.count)
            continue;
        int r = many_add_region(rows, &to, e);
        if (r < 0)
            return r;
        to->name = view_text(from->name);
        to->processes = 1;
        to->slowest_calls = from->calls.count;
        to->launched_ps = from->launched_ps;
        to->launched_ops = from->launched_ops;
        to->launches = from->launches;
        to->idle_behind_ps = from->idle_behind_ps;
        to->launched_by = UINT64_C(1) << from->launched_by;
        r = sketch_merge(&to->calls, &from->calls.sketch, e);
        if (r == 0)
            r = sketch_add(&to->means, from->calls.mean_ps, e);
        if (r < 0)
            return r;
    }
    return 0;
}

static int by_op(const void *a, const void *b)
{
    const struct many_op *x = a, *y = b;
    int order = strcmp((const char *)x->module.data, (const char *)y->module.data);
    order = order ? order : strcmp((const char *)x->op.data, (const char *)y->op.data);
    return order ? order : (x->kind > y->kind) - (x->kind < y->kind);
}

/* The summary keeps ops apart by bytes that are not UTF-8, and here only the text remains. */
static void unite_ops(struct many_rows *rows)
{
    uint32_t kept = 0;
    if (rows->n_ops)
        qsort(rows->ops, rows->n_ops, sizeof(*rows->ops), by_op);
    for (uint32_t i = 0; i < rows->n_ops; i++) {
        struct many_op *last = kept ? &rows->ops[kept - 1] : NULL;
        if (last && by_op(last, &rows->ops[i]) == 0) {
            last->calls = saturated_sum(last->calls, rows->ops[i].calls);
            last->total_ps = saturated_sum(last->total_ps, rows->ops[i].total_ps);
            last->most_ps = last->least_ps = last->total_ps;
        } else {
            rows->ops[kept++] = rows->ops[i];
        }
    }
    rows->n_ops = kept;
}

static int put_ops(const struct summary *summary, struct many_rows *rows, struct err *e)
{
    for (size_t i = 0; i < summary->n_ops; i++) {
        const struct summary_op *from = &summary->ops[i];
        struct many_op *to;
        int r = many_add_op(rows, &to, e);
        if (r < 0)
            return r;
        *to = (struct many_op){.module = view_text(from->module),
                               .op = view_text(from->op),
                               .kind = from->kind,
                               .processes = 1,
                               .calls = from->calls,
                               .total_ps = from->total_ps,
                               .most_ps = from->total_ps,
                               .least_ps = from->total_ps};
    }
    unite_ops(rows);
    return 0;
}

static int by_step(const void *a, const void *b)
{
    const struct summary_step *x = a, *y = b;
    int order = strcmp(x->name, y->name);
    if (order)
        return order;
    if (x->number != y->number)
        return x->number < y->number ? -1 : 1;
    return (x->start_ps > y->start_ps) - (x->start_ps < y->start_ps);
}

/* The compared steps, sorted; those of the same name and number became one, from the first one's
 * start, as long as all of them together. */
static uint32_t pick_steps(const struct summary *summary, struct summary_step *picked,
                           bool *ret_by_collectives)
{
    const struct summary_steps *steps = &summary->steps;
    uint32_t n = 0;
    bool collectives = false;
    for (size_t i = 0; i < steps->n_samples; i++)
        collectives |= !steps->samples[i].cut && steps->samples[i].collective_ps;
    for (size_t i = 0; i < steps->n_samples; i++) {
        const struct summary_step *step = &steps->samples[i];
        if (!step->cut && (!collectives || step->collective_ps))
            picked[n++] = *step;
    }
    if (n)
        qsort(picked, n, sizeof(*picked), by_step);
    uint32_t kept = 0;
    for (uint32_t i = 0; i < n; i++) {
        struct summary_step *last = kept ? &picked[kept - 1] : NULL;
        if (!last || strcmp(last->name, picked[i].name) != 0 || last->number != picked[i].number) {
            picked[kept++] = picked[i];
            continue;
        }
        last->duration_ps = saturated_sum(last->duration_ps, picked[i].duration_ps);
        last->busy_ps = saturated_sum(last->busy_ps, picked[i].busy_ps);
        last->exposed_ps = saturated_sum(last->exposed_ps, picked[i].exposed_ps);
    }
    *ret_by_collectives = collectives;
    return kept;
}

static uint32_t thin_steps(struct summary_step *steps, uint32_t n, uint64_t *ret_stride)
{
    uint64_t stride = 1;
    while (n > MANY_STEPS_OF_ONE && stride < UINT64_C(1) << 62) {
        uint32_t kept = 0;
        stride *= 2;
        for (uint32_t i = 0; i < n; i++) {
            if ((uint64_t)steps[i].number % stride == 0)
                steps[kept++] = steps[i];
        }
        n = kept;
    }
    *ret_stride = stride;
    return n;
}

static int note_run(struct many_process *process, const struct summary_step *step, struct err *e)
{
    struct many_run *last = process->n_runs ? &process->runs[process->n_runs - 1] : NULL;
    if (last && view_is(last->name, step->name)) {
        uint64_t next, distance = (uint64_t)step->number - (uint64_t)last->first;
        if (last->count == 1)
            last->stride = distance;
        if (product_u64(last->stride, last->count, &next) && distance == next) {
            last->count++;
            return 0;
        }
    }
    if (process->n_runs == MANY_RUNS_MAX) {
        process->runs_lost = true;
        return 0;
    }
    if (!process->runs)
        process->runs = calloc(MANY_RUNS_MAX, sizeof(*process->runs));
    if (!process->runs)
        return err_nomem(e);
    process->runs[process->n_runs++] = (struct many_run){view_text(step->name), step->number, 1, 1};
    return 0;
}

static int put_step(const struct summary_step *from, struct many_process *process,
                    struct many_rows *rows, struct err *e)
{
    struct many_step *to;
    int r = many_add_step(rows, &to, e);
    if (r == 0)
        r = note_run(process, from, e);
    if (r < 0)
        return r;
    to->name = view_text(from->name);
    to->number = from->number;
    to->processes = 1;
    to->duration_ps = to->shortest_ps = from->duration_ps;
    many_extreme_start(&to->longest, false, from->duration_ps, 0);
    if (process->by_collectives) {
        to->waiting = 1;
        to->wait_ps = from->exposed_ps;
        many_extreme_start(&to->least, true, from->exposed_ps, 0);
    }
    process->compared++;
    process->compared_ps = saturated_sum(process->compared_ps, from->duration_ps);
    process->wait_ps = saturated_sum(process->wait_ps, to->wait_ps);
    uint64_t work = from->busy_ps > from->exposed_ps ? from->busy_ps - from->exposed_ps : 0;
    process->work_ps = saturated_sum(process->work_ps, work);
    if (process->has_clock) {
        uint64_t start_ns = from->start_ps / 1000;
        uint64_t end_ns = saturated_sum(from->start_ps, from->duration_ps) / 1000;
        to->clocks = 1;
        to->starts_ns = (wide)process->start_unix_ns + (wide)start_ns;
        to->ends_ns = (wide)process->start_unix_ns + (wide)end_ns;
        process->starts_ns = saturated_sum(process->starts_ns, start_ns);
        process->ends_ns = saturated_sum(process->ends_ns, end_ns);
    }
    return 0;
}

static int put_steps(const struct summary *summary, struct many_rows *rows, struct err *e)
{
    struct many_process *process = &rows->processes[0];
    CLEANUP(cleanup_free)
    struct summary_step *picked = calloc(summary->steps.n_samples + 1, sizeof(*picked));
    if (!picked)
        return err_nomem(e);
    uint32_t n = pick_steps(summary, picked, &process->by_collectives);
    n = thin_steps(picked, n, &process->step_stride);
    process->step_stride *= summary->steps.sample_stride ? summary->steps.sample_stride : 1;
    /* with --step, positions count from the first of those steps, whose own is not known */
    process->has_clock = process->start_unix_ns != 0 && !summary->step_range;
    for (uint32_t i = 0; i < n; i++) {
        int r = put_step(&picked[i], process, rows, e);
        if (r < 0)
            return r;
    }
    return sketch_merge(&rows->step_durations, &summary->steps.durations.sketch, e);
}

static int put_process(const struct summary *summary, const struct many_identity *identity,
                       struct many_rows *rows, struct err *e)
{
    struct many_process *to;
    int r = many_add_process(rows, &to, e);
    if (r < 0)
        return r;
    to->host = view_text(identity->host ? identity->host : summary->host);
    to->file = view_text(identity->file ? identity->file : summary->file);
    to->version = view_text(summary->jax_version ? summary->jax_version : "");
    to->index = many_identity_known(identity->index);
    to->count = many_identity_known(identity->count);
    to->pid = many_identity_known(identity->pid >= 0 ? identity->pid : summary->process);
    bool dated = summary->start_unix_ns > 0 && summary->stop_unix_ns >= summary->start_unix_ns;
    to->start_unix_ns = dated ? summary->start_unix_ns : 0;
    to->stop_unix_ns = dated ? summary->stop_unix_ns : 0;
    to->window_ps = summary->window_ps;
    to->events = summary->events;
    to->platform = summary->platform;
    to->damaged = summary->receipt.damaged;
    to->devices = summary->n_devices;
    to->busy_ps = rows->totals[MANY_BUSY_PS];
    to->idle_ps = rows->totals[MANY_IDLE_PS];
    to->steps = summary->steps.count;
    to->steps_cut = summary->steps.cut;
    to->steps_ps = summary->steps.durations.total_ps;
    return 0;
}

int many_of_summary(const struct summary *summary, const struct many_identity *identity,
                    struct many_rows *ret, struct err *e)
{
    CLEANUP(many_rows_release) struct many_rows rows = {0};
    put_totals(summary, rows.totals);
    int r = put_process(summary, identity, &rows, e);
    if (r == 0)
        r = put_regions(summary, &rows, e);
    if (r == 0)
        r = put_ops(summary, &rows, e);
    if (r == 0)
        r = put_steps(summary, &rows, e);
    if (r < 0)
        return r;
    *ret = rows;
    rows = (struct many_rows){0};
    return 0;
}
