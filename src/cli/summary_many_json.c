/* SPDX-License-Identifier: Apache-2.0 */
/* summary_many_json - the value of "joined" in schema 1: integer picoseconds, sums exact up to
 * 2^63 - 1. */
#include "cli/output.h"
#include "cli/summary_many.h"

#include "base/banned.h"

#define LABEL_MAX 128

static json_t *number(uint64_t value)
{
    return json_integer(value > INT64_MAX ? INT64_MAX : (json_int_t)value);
}

static json_t *known(int64_t value)
{
    return value < 0 ? json_null() : json_integer(value);
}

static json_t *text(const char *words)
{
    return words ? json_text(view_text(words)) : json_null();
}

/* Steals `value`. A failure leaves a NULL behind, which output_json() reports. */
static void put(json_t *object, const char *key, json_t *value)
{
    (void)json_object_set_new(object, key, value);
}

static json_t *label(const struct many_process *process)
{
    char buffer[LABEL_MAX];
    return text(verdict_label(process, buffer, sizeof(buffer)));
}

static void put_spread(json_t *object, struct sketch *sketch)
{
    put(object, "mean_ps", number(sketch->count ? sketch->total / sketch->count : 0));
    put(object, "min_ps", number(sketch->min));
    put(object, "p50_ps", number(sketch_quantile(sketch, 0.5)));
    put(object, "p90_ps", number(sketch_quantile(sketch, 0.9)));
    put(object, "p99_ps", number(sketch_quantile(sketch, 0.99)));
    put(object, "max_ps", number(sketch->max));
    put(object, "exact", json_boolean(sketch_exact(sketch)));
}

static json_t *process_json(const struct many_view *view, uint32_t i)
{
    const struct many_process *p = &view->rows->processes[i];
    const struct verdict_process *v = &view->verdict->processes[i];
    json_t *object = json_object();
    put(object, "label", label(p));
    put(object, "process_index", known(p->index));
    put(object, "process_count", known(p->count));
    put(object, "host", json_text(p->host));
    put(object, "pid", known(p->pid));
    put(object, "file", json_text(p->file));
    put(object, "jax_version", p->version.size ? json_text(p->version) : json_null());
    put(object, "platform", text(summary_platform_name((enum summary_platform)p->platform)));
    put(object, "start_unix_ns", json_integer(p->start_unix_ns));
    put(object, "stop_unix_ns", json_integer(p->stop_unix_ns));
    put(object, "window_ps", number(p->window_ps));
    put(object, "events", number(p->events));
    put(object, "damaged", json_boolean(p->damaged));
    put(object, "devices", number(p->devices));
    put(object, "busy_ps", number(p->busy_ps));
    put(object, "idle_ps", number(p->idle_ps));
    put(object, "steps", number(p->steps));
    put(object, "steps_cut", number(p->steps_cut));
    put(object, "steps_ps", number(p->steps_ps));
    put(object, "shared_steps", number(v->shared));
    put(object, "lost_ps", v->known ? number(v->lost_ps) : json_null());
    put(object, "slowest_in", number(v->slowest_in));
    put(object, "caused_ps", number(v->caused_ps));
    put(object, "saved_ps", number(v->saved_ps));
    put(object, "verdict", text(verdict_role_name(v->role)));
    put(object, "clock", text(verdict_clock_name(v->clock)));
    bool placed = v->clock != CLOCK_UNKNOWN;
    put(object, "start_offset_ns", placed ? json_integer(v->start_offset_ns) : json_null());
    put(object, "end_offset_ns", placed ? json_integer(v->end_offset_ns) : json_null());
    return object;
}

json_t *summary_many_processes_json(const struct many_view *view)
{
    json_t *list = json_array();
    for (uint32_t i = 0; i < view->rows->n_processes; i++)
        (void)json_array_append_new(list, process_json(view, i));
    return list;
}

static json_t *region_json(const struct many_rows *rows, struct many_region *region)
{
    json_t *object = json_object(), *over = json_object(), *by = json_array();
    put(object, "name", json_text(region->name));
    put(object, "processes", number(region->processes));
    put(object, "calls", number(region->calls.count));
    put(object, "total_ps", number(region->calls.total));
    put_spread(object, &region->calls);
    put(object, "launches", number(region->launches));
    put(object, "launched_ps", number(region->launched_ps));
    put(object, "launched_ops", number(region->launched_ops));
    for (int i = LAUNCHED_BY_NONE; i <= LAUNCHED_BY_OVERLAP; i++) {
        if (region->launched_by >> i & 1)
            (void)json_array_append_new(by, text(summary_launched_name((enum launched_by)i)));
    }
    put(object, "launched_by", by);
    put(object, "idle_behind_ps", number(region->idle_behind_ps));
    put_spread(over, &region->means);
    put(over, "slowest", label(&rows->processes[region->slowest]));
    put(over, "fastest", label(&rows->processes[region->fastest]));
    put(object, "mean_over_processes", over);
    return object;
}

static json_t *step_json(const struct many_view *view, uint32_t i)
{
    const struct many_rows *rows = view->rows;
    const struct many_step *step = &rows->steps[i];
    json_t *object = json_object();
    bool collectives = view->verdict->basis == BASIS_COLLECTIVES && step->waiting;
    put(object, "name", json_text(step->name));
    put(object, "step", json_integer(step->number));
    put(object, "processes", number(step->processes));
    put(object, "total_ps", number(step->duration_ps));
    put(object, "min_ps", number(step->shortest_ps));
    put(object, "max_ps", number(step->longest.first));
    put(object, "collective_exposed_ps", number(step->wait_ps));
    put(object, "lost_ps", number(view->verdict->step_lost_ps[i]));
    put(object, "slowest",
        label(&rows->processes[collectives ? step->least.process : step->longest.process]));
    return object;
}

static json_t *steps_json(const struct many_view *view)
{
    struct many_rows *rows = view->rows;
    json_t *object = json_object(), *list = json_array();
    put(object, "count", number(rows->totals[MANY_STEPS]));
    put(object, "cut", number(rows->totals[MANY_STEPS_CUT]));
    put(object, "repeated", number(rows->totals[MANY_STEPS_REPEATED]));
    put(object, "total_ps", number(rows->step_durations.total));
    put_spread(object, &rows->step_durations);
    put(object, "busy_ps", number(rows->totals[MANY_STEPS_BUSY_PS]));
    put(object, "idle_ps", number(rows->totals[MANY_STEPS_IDLE_PS]));
    for (uint32_t i = 0; i < rows->n_steps; i++)
        (void)json_array_append_new(list, step_json(view, i));
    put(object, "compared", list);
    return object;
}

static json_t *op_json(const struct many_rows *rows, const struct many_op *op)
{
    json_t *object = json_object();
    put(object, "module", json_text(op->module));
    put(object, "op", json_text(op->op));
    put(object, "kind", text(summary_kind_name((enum op_kind)op->kind)));
    put(object, "processes", number(op->processes));
    put(object, "calls", number(op->calls));
    put(object, "total_ps", number(op->total_ps));
    put(object, "least_ps", number(op->least_ps));
    put(object, "most_ps", number(op->most_ps));
    put(object, "most_in", label(&rows->processes[op->most]));
    return object;
}

static json_t *verdict_json(const struct many_view *view)
{
    const struct verdict *v = view->verdict;
    json_t *object = json_object();
    bool named = v->kind == VERDICT_STRAGGLER || v->kind == VERDICT_HICCUP;
    put(object, "verdict", text(verdict_kind_name(v->kind)));
    put(object, "reason", text(v->kind == VERDICT_CANNOT_TELL ? v->reason : NULL));
    put(object, "basis", text(verdict_basis_name(v->basis)));
    put(object, "process", named ? label(&view->rows->processes[v->process]) : json_null());
    put(object, "process_index",
        named ? known(view->rows->processes[v->process].index) : json_null());
    put(object, "shared_steps", number(v->shared));
    put(object, "shared_ps", number(v->shared_ps));
    put(object, "lost_ps", number(v->lost_ps));
    put(object, "lost_per_step_ps", number(v->others ? v->lost_ps / v->others : 0));
    put(object, "region", v->region ? json_text(v->region->name) : json_null());
    put(object, "region_excess_per_step_ps", number(v->region_excess_ps));
    put(object, "device_work_excess_per_step_ps", number(v->work_excess_ps));
    return object;
}

json_t *summary_many_json(const struct many_view *view)
{
    struct many_rows *rows = view->rows;
    json_t *object = verdict_json(view), *totals = json_object(), *regions = json_array();
    json_t *ops = json_array(), *list = json_array();
    char notes[NOTES_MAX][NOTE_MAX];
    size_t n = summary_many_notes(view, notes);
    put(object, "processes", summary_many_processes_json(view));
    for (int i = 0; i < MANY_TOTALS; i++)
        put(totals, many_total_name((enum many_total)i), number(rows->totals[i]));
    put(object, "totals", totals);
    for (uint32_t i = 0; i < rows->n_regions; i++)
        (void)json_array_append_new(regions, region_json(rows, &rows->regions[i]));
    put(object, "regions", regions);
    put(object, "steps", steps_json(view));
    for (uint32_t i = 0; i < rows->n_ops; i++)
        (void)json_array_append_new(ops, op_json(rows, &rows->ops[i]));
    put(object, "ops", ops);
    for (size_t i = 0; i < n; i++)
        (void)json_array_append_new(list, text(notes[i]));
    put(object, "notes", list);
    return object;
}
