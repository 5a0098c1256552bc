/* SPDX-License-Identifier: Apache-2.0 */
/* kept - the old index, as far as it still holds. */
#include "cli/report/kept.h"

#include <string.h>

#include "base/banned.h"

static void cleanup_json(json_t **json)
{
    json_decref(*json);
}

static bool is_planned(const struct plan *plan, const char *tool)
{
    for (size_t i = 0; i < plan->count; i++)
        if (strcmp(plan->reports[i].tool, tool) == 0)
            return true;
    return false;
}

/* The index is a file like any other and may say anything. */
static bool is_whole(const json_t *entry)
{
    const json_t *file = json_object_get(entry, "file");
    return json_is_string(json_object_get(entry, "tool")) &&
           json_is_string(json_object_get(entry, "status")) &&
           (json_is_null(file) ||
            (json_is_string(file) && index_own_name(json_string_value(file))));
}

/* The index names one converter; what another one made says so itself. */
static int note_version(json_t *entry, const json_t *old, const char *version)
{
    json_t *made_by = json_object_get(json_object_get(old, "converter"), "version");
    const char *name = json_string_value(made_by);
    bool same = name && version && strcmp(name, version) == 0;
    return same || !name || json_object_get(entry, "xprof")
               ? 0
               : json_object_set(entry, "xprof", made_by);
}

json_t *kept_read(const struct folder *folder, const struct plan *plan,
                  const struct index_source *source)
{
    const struct capture_files *files = source->files;
    CLEANUP(cleanup_json) json_t *kept = json_array();
    CLEANUP(cleanup_json) json_t *old = folder_index(folder);
    CLEANUP(cleanup_json) json_t *captures = index_captures(files);
    CLEANUP(cleanup_json) json_t *run = index_run(files);
    if (!kept || !captures || !run)
        return NULL;
    if (!json_equal(json_object_get(old, "captures"), captures) ||
        !json_equal(json_object_get(old, "run"), run))
        return STEAL(kept);
    size_t i;
    json_t *entry;
    json_array_foreach(json_object_get(old, "reports"), i, entry)
    {
        if (!is_whole(entry) || is_planned(plan, json_string_value(json_object_get(entry, "tool"))))
            continue;
        if (note_version(entry, old, source->version) != 0 || json_array_append(kept, entry) != 0)
            return NULL;
    }
    return STEAL(kept);
}

bool kept_has(const json_t *kept, const char *file)
{
    size_t i;
    json_t *entry;
    json_array_foreach(kept, i, entry)
    {
        const char *name = json_string_value(json_object_get(entry, "file"));
        if (name && strcmp(name, file) == 0)
            return true;
    }
    return false;
}
