/* SPDX-License-Identifier: Apache-2.0 */
/* summary_json - schema 1: integer picoseconds throughout. Keys may be added, none renamed. */
#include "cli/output.h"
#include "cli/summary_write.h"

#include "base/banned.h"

static json_t *number(uint64_t value)
{
    return json_integer(value > INT64_MAX ? INT64_MAX : (json_int_t)value);
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

static json_t *causes_json(const uint64_t by_cause[IDLE_CAUSES])
{
    json_t *object = json_object();
    for (int cause = 0; cause < IDLE_CAUSES; cause++)
        put(object, summary_cause_name((enum idle_cause)cause), number(by_cause[cause]));
    return object;
}

static json_t *device_json(const struct summary *summary, const struct summary_device *device)
{
    json_t *object = json_object(), *regions = json_array();
    put(object, "name", text(device->name));
    put(object, "used", json_boolean(device->used));
    put(object, "ops", number(device->ops));
    put(object, "op_time_ps", number(device->op_time_ps));
    put(object, "busy_ps", number(device->busy_ps));
    put(object, "idle_ps", number(device->idle_ps));
    for (size_t i = 0; i < device->n_idle_by_region; i++) {
        const struct summary_region_idle *part = &device->idle_by_region[i];
        json_t *row = json_object();
        put(row, "region",
            text(part->region == SUMMARY_NO_REGION ? SUMMARY_NO_REGION_NAME
                                                   : summary->regions[part->region].name));
        put(row, "idle_ps", number(part->idle_ps));
        put(row, "by_cause", causes_json(part->by_cause));
        (void)json_array_append_new(regions, row);
    }
    put(object, "idle_by_region", regions);
    put(object, "idle_by_cause", causes_json(device->idle_by_cause));
    put(object, "collective_ps", number(device->collective_ps));
    put(object, "collective_exposed_ps", number(device->collective_exposed_ps));
    put(object, "async_ops", number(device->async_ops));
    put(object, "async_ps", number(device->async_ps));
    return object;
}

static void put_spread(json_t *object, const struct summary_spread *spread)
{
    put(object, "mean_ps", number(spread->mean_ps));
    put(object, "min_ps", number(spread->min_ps));
    put(object, "p50_ps", number(spread->p50_ps));
    put(object, "p90_ps", number(spread->p90_ps));
    put(object, "p99_ps", number(spread->p99_ps));
    put(object, "max_ps", number(spread->max_ps));
}

static json_t *region_json(const struct summary_region *region)
{
    json_t *object = json_object();
    put(object, "name", text(region->name));
    put(object, "calls", number(region->calls.count));
    put(object, "total_ps", number(region->calls.total_ps));
    put_spread(object, &region->calls);
    put(object, "exact", json_boolean(region->calls.exact));
    put(object, "launches", number(region->launches));
    put(object, "launched_ps", number(region->launched_ps));
    put(object, "launched_ops", number(region->launched_ops));
    put(object, "launched_ordered_ops", number(region->launched_ordered_ops));
    put(object, "launched_by", text(summary_launched_name(region->launched_by)));
    put(object, "idle_behind_ps", number(region->idle_behind_ps));
    put(object, "idle_behind_by_cause", causes_json(region->idle_behind_by_cause));
    return object;
}

static json_t *step_json(const struct summary_step *step)
{
    json_t *object = json_object();
    put(object, "step", json_integer(step->number));
    put(object, "name", text(step->name));
    put(object, "start_ps", number(step->start_ps));
    put(object, "duration_ps", number(step->duration_ps));
    put(object, "busy_ps", number(step->busy_ps));
    put(object, "idle_ps", number(step->idle_ps));
    put(object, "collective_ps", number(step->collective_ps));
    put(object, "collective_exposed_ps", number(step->exposed_ps));
    put(object, "cut", json_boolean(step->cut));
    return object;
}

static json_t *steps_json(const struct summary_steps *steps)
{
    json_t *object = json_object(), *slowest = json_array();
    put(object, "count", number(steps->count));
    put(object, "cut", number(steps->cut));
    put(object, "repeated", number(steps->repeated));
    put(object, "total_ps", number(steps->durations.total_ps));
    put_spread(object, &steps->durations);
    put(object, "busy_ps", number(steps->busy_ps));
    put(object, "idle_ps", number(steps->idle_ps));
    put(object, "collective_ps", number(steps->collective_ps));
    put(object, "collective_exposed_ps", number(steps->exposed_ps));
    put(object, "from_device", json_boolean(steps->from_device));
    for (size_t i = 0; i < steps->n_slowest; i++)
        (void)json_array_append_new(slowest, step_json(&steps->slowest[i]));
    put(object, "slowest", slowest);
    return object;
}

static json_t *op_json(const struct summary_op *op)
{
    json_t *object = json_object();
    put(object, "module", text(op->module));
    put(object, "op", text(op->op));
    put(object, "kind", text(summary_kind_name(op->kind)));
    put(object, "calls", number(op->calls));
    put(object, "total_ps", number(op->total_ps));
    return object;
}

static json_t *host_json(const struct summary_host_name *name)
{
    json_t *object = json_object();
    put(object, "name", text(name->name));
    put(object, "calls", number(name->calls));
    put(object, "total_ps", number(name->total_ps));
    return object;
}

static json_t *receipt_json(const struct summary *summary)
{
    const struct summary_receipt *receipt = &summary->receipt;
    const struct {
        const char *key;
        uint64_t value;
    } numbers[] = {
        {"launches", receipt->launches},
        {"launches_unmatched", receipt->launches_unmatched},
        {"executions", receipt->executions},
        {"executions_linked", receipt->executions_linked},
        {"executions_ordered", receipt->executions_ordered},
        {"executions_numbered", receipt->executions_numbered},
        {"executions_unmatched", receipt->executions_unmatched},
        {"ops_unmatched", receipt->ops_unmatched},
        {"ops_unmatched_ps", receipt->ops_unmatched_ps},
        {"in_flight_start", receipt->in_flight_start},
        {"in_flight_end", receipt->in_flight_end},
        {"ops_later", receipt->ops_later},
        {"ops_later_ps", receipt->ops_later_ps},
        {"compilations", receipt->compilations},
        {"compilation_ps", receipt->compilation_ps},
        {"steps_cut", receipt->steps_cut},
        {"planes", receipt->planes},
        {"planes_without_lines", receipt->planes_without_lines},
        {"lines", receipt->lines},
        {"lines_sorted", receipt->lines_sorted},
        {"events_sorted", receipt->events_sorted},
        {"events_outside", receipt->events_outside},
        {"events_aggregated", receipt->events_aggregated},
        {"python_tracer_events", receipt->python_tracer_events},
    };
    json_t *object = json_object();
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
        put(object, numbers[i].key, number(numbers[i].value));
    json_t *compiled = json_array();
    for (size_t i = 0; i < summary->n_compiled; i++)
        (void)json_array_append_new(compiled, text(summary->compiled[i]));
    put(object, "compiled", compiled);
    put(object, "has_task_environment", json_boolean(receipt->has_task_environment));
    put(object, "has_host_name", json_boolean(receipt->has_host_name));
    put(object, "collector_empty", json_boolean(receipt->collector_empty));
    put(object, "sums_capped", json_boolean(receipt->sums_capped));
    put(object, "damaged", json_boolean(receipt->damaged));
    if (receipt->damaged)
        put(object, "damaged_at", number(receipt->damaged_at));
    return object;
}

static json_t *capture_json(const struct summary *summary)
{
    json_t *object = json_object(), *files = json_array();
    (void)json_array_append_new(files, text(summary->file));
    put(object, "files", files);
    put(object, "events", number(summary->events));
    put(object, "host", text(summary->host));
    put(object, "process", summary->process < 0 ? json_null() : json_integer(summary->process));
    put(object, "jax_version", text(summary->jax_version));
    put(object, "start_unix_ns", json_integer(summary->start_unix_ns));
    put(object, "stop_unix_ns", json_integer(summary->stop_unix_ns));
    return object;
}

/* `limit` rows at most; 0 for all. */
#define PUT_ROWS(object, key, rows, n, limit, row_json)                                            \
    do {                                                                                           \
        json_t *array_ = json_array();                                                             \
        size_t n_ = (limit) && (n) > (limit) ? (limit) : (n);                                      \
        for (size_t i_ = 0; i_ < n_; i_++)                                                         \
            (void)json_array_append_new(array_, row_json(&(rows)[i_]));                            \
        put(object, key, array_);                                                                  \
    } while (0)

static json_t *empty_json(const struct summary *summary)
{
    json_t *object = json_object();
    const struct {
        const char *key, *why;
    } tables[] = {{"devices", summary->no_devices},
                  {"regions", summary->no_regions},
                  {"steps", summary->no_steps},
                  {"ops", summary->no_ops},
                  {"host", summary->no_host}};
    for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++) {
        if (tables[i].why)
            put(object, tables[i].key, text(tables[i].why));
    }
    return object;
}

json_t *summary_to_json(const struct summary *summary, size_t top)
{
    json_t *object = json_object(), *devices = json_array(), *warnings = json_array();
    put(object, "schema", json_integer(1));
    put(object, "capture", capture_json(summary));
    put(object, "window_ps", number(summary->window_ps));
    put(object, "platform", text(summary_platform_name(summary->platform)));
    for (size_t i = 0; i < summary->n_devices; i++)
        (void)json_array_append_new(devices, device_json(summary, &summary->devices[i]));
    put(object, "devices", devices);
    PUT_ROWS(object, "regions", summary->regions, summary->n_regions, (size_t)0, region_json);
    put(object, "regions_from", text(summary->regions_from));
    put(object, "steps", steps_json(&summary->steps));
    PUT_ROWS(object, "ops", summary->ops, summary->n_ops, top, op_json);
    PUT_ROWS(object, "host", summary->host_names, summary->n_host_names, top, host_json);
    put(object, "receipt", receipt_json(summary));
    for (size_t i = 0; i < summary->n_warnings; i++)
        (void)json_array_append_new(warnings, text(summary->warnings[i]));
    put(object, "warnings", warnings);
    put(object, "empty", empty_json(summary));
    return object;
}
