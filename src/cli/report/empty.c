/* SPDX-License-Identifier: Apache-2.0 */
/* empty - one rule a tool. */
#include "cli/report/empty.h"

#include <jansson.h>
#include <stdbool.h>
#include <string.h>

#include "base/cleanup.h"

#include "base/banned.h"

/* Above this a report is not empty, whatever its shape: the emptiest page that a long run made was
 * some hundred KiB of a table of steps, and parsing costs memory. */
#define LOOK_MAX ((size_t)16 << 20)

static void cleanup_json(json_t **json)
{
    json_decref(*json);
}

/* The pages are one table {"cols", "rows", "p"} or a list of them. */
static const json_t *table(const json_t *root, size_t number)
{
    return json_is_array(root) ? json_array_get(root, number) : number == 0 ? root : NULL;
}

static bool has_no_rows(const json_t *root, size_t number)
{
    const json_t *rows = json_object_get(table(root, number), "rows");
    return json_is_array(rows) && json_array_size(rows) == 0;
}

static bool first_has_no_rows(const json_t *root)
{
    return has_no_rows(root, 0);
}

/* Table 0 is for TPUs, table 1 has the steps. */
static bool has_no_steps(const json_t *root)
{
    return has_no_rows(root, 0) && has_no_rows(root, 1);
}

/* Rows of framework_op_stats: rank, host or device, type, operation, ... */
static bool has_only_idle_rows(const json_t *root)
{
    const json_t *rows = json_object_get(table(root, 0), "rows");
    if (!json_is_array(rows))
        return false;
    size_t i;
    json_t *row;
    json_array_foreach(rows, i, row)
    {
        const json_t *type = json_array_get(json_object_get(row, "c"), 2);
        const char *text = json_string_value(json_object_get(type, "v"));
        if (!text || strcmp(text, "IDLE") != 0)
            return false;
    }
    return true;
}

static bool has_no_programs(const json_t *root)
{
    const json_t *children = json_object_get(json_object_get(root, "byProgram"), "children");
    return json_is_array(children) && json_array_size(children) == 0;
}

static bool has_no_allocator(const json_t *root)
{
    const json_t *allocators = json_object_get(root, "memoryProfilePerAllocator");
    return json_is_object(allocators) && json_object_size(allocators) == 0;
}

static const struct {
    const char *tool;
    bool (*is_empty)(const json_t *root);
    const char *why;
} rules[] = {
    {"overview_page", first_has_no_rows, "no time on a device in this capture"},
    {"input_pipeline_analyzer", has_no_steps, "no steps in this capture"},
    {"framework_op_stats", has_only_idle_rows, "no operations besides idle time"},
    {"memory_profile", has_no_allocator, "no memory allocator reported anything"},
    {"op_profile", has_no_programs, "no operations on a device"},
    {"hlo_op_profile", has_no_programs, "no operations on a device"},
    {"hlo_stats", first_has_no_rows, "no operations on a device"},
    {"roofline_model", first_has_no_rows, "no operations on a device"},
    {"kernel_stats", first_has_no_rows, "no kernels in this capture"},
    {"pod_viewer", first_has_no_rows, "no steps in this capture"},
    {"perf_counters", first_has_no_rows, "no counters in this capture"},
};

const char *report_emptiness(const char *tool, struct view data)
{
    for (size_t i = 0; i < sizeof(rules) / sizeof(*rules); i++) {
        if (strcmp(rules[i].tool, tool) != 0)
            continue;
        if (data.size > LOOK_MAX)
            return NULL;
        CLEANUP(cleanup_json)
        json_t *root = json_loadb((const char *)data.data, data.size, 0, NULL);
        return root && rules[i].is_empty(root) ? rules[i].why : NULL;
    }
    return NULL;
}
