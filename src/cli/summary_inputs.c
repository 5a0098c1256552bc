/* SPDX-License-Identifier: Apache-2.0 */
/* summary_inputs - arguments to files, files to rows. */
#include "cli/summary_inputs.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "cli/capture_path.h"
#include "cli/command.h"
#include "cli/regions_manifest.h"
#include "trace/part.h"

#include "base/banned.h"

#define HOST_MAX 256
#define PROCESS_MARK "process-"

static int add(struct summary_inputs *inputs, const char *path, const char *manifest, bool part,
               struct err *e)
{
    if (inputs->count == inputs->room) {
        size_t room = inputs->room ? inputs->room * 2 : 8;
        struct summary_input *grown = realloc(inputs->all, room * sizeof(*grown));
        if (!grown)
            return err_nomem(e);
        inputs->all = grown;
        inputs->room = room;
    }
    struct summary_input *input = &inputs->all[inputs->count];
    *input = (struct summary_input){
        .path = strdup(path), .manifest = manifest ? strdup(manifest) : NULL, .part = part};
    inputs->count++;
    inputs->parts += part;
    return !input->path || (manifest && !input->manifest) ? err_nomem(e) : 0;
}

static int add_captures(struct summary_inputs *inputs, const char *argument, struct err *e)
{
    CLEANUP(capture_set_release) struct capture_set set = {0};
    int r = capture_find_processes(argument, &set, e);
    for (size_t i = 0; r == 0 && i < set.count; i++) {
        const struct capture_files *files = &set.all[i];
        for (size_t k = 0; r == 0 && k < files->count; k++)
            r = add(inputs, files->paths[k], files->manifest, false, e);
    }
    for (size_t i = 0; r == 0 && i < set.n_empty; i++)
        complain("'%s' holds no capture: that process is left out", set.empty[i]);
    return r;
}

int summary_inputs_find(const char *const *arguments, struct summary_inputs *ret, struct err *e)
{
    CLEANUP(summary_inputs_release) struct summary_inputs inputs = {0};
    int r = 0;
    for (size_t i = 0; r == 0 && arguments[i]; i++)
        r = path_is_part(arguments[i]) ? add(&inputs, arguments[i], NULL, true, e)
                                       : add_captures(&inputs, arguments[i], e);
    if (r < 0)
        return r;
    *ret = inputs;
    inputs = (struct summary_inputs){0};
    return 0;
}

void summary_inputs_release(struct summary_inputs *inputs)
{
    for (size_t i = 0; i < inputs->count; i++) {
        free(inputs->all[i].path);
        free(inputs->all[i].manifest);
    }
    free(inputs->all);
    *inputs = (struct summary_inputs){0};
}

static void cleanup_json(json_t **json)
{
    json_decref(*json);
}

static void cleanup_names(const char ***names)
{
    free(*names);
}

/* JAX names the file after the host. */
static void host_of(const char *path, char *ret_host, size_t size)
{
    const char *base = strrchr(path, '/');
    base = base ? base + 1 : path;
    size_t n = strlen(base), suffix = strlen(CAPTURE_SUFFIX);
    if (n > suffix && strcmp(base + n - suffix, CAPTURE_SUFFIX) == 0)
        n -= suffix;
    (void)snprintf(ret_host, size, "%.*s", (int)n, base);
}

int summary_of_input(const struct summary_input *input, const struct summary_options *options,
                     struct summary *ret, struct err *e)
{
    struct summary_options run = *options;
    char host[HOST_MAX];
    CLEANUP(map_release) struct map map = {0};
    CLEANUP(cleanup_json) json_t *manifest = manifest_read(input->manifest);
    CLEANUP(cleanup_names)
    const char **names = manifest_regions(manifest, &run.n_region_names);
    run.region_names = names;
    int r = map_open(&map, input->path, e);
    if (r < 0)
        return r;
    host_of(input->path, host, sizeof(host));
    run.file = input->path;
    run.host = host;
    return summary_run(map.bytes, &run, ret, e);
}

static int64_t number_in(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    return json_is_integer(value) ? (int64_t)json_integer_value(value) : -1;
}

/* NNNNN of the last folder process-NNNNN, or of a merged run's HOST_process-NNNNN.xplane.pb. */
static int64_t index_in_path(const char *path)
{
    CLEANUP(cleanup_free) char *whole = realpath(path, NULL);
    const char *at = whole;
    int64_t index = -1;
    while (at && (at = strstr(at, PROCESS_MARK)) != NULL) {
        bool folder = at > whole && at[-1] == '/', merged = at > whole && at[-1] == '_';
        char *end;
        at += strlen(PROCESS_MARK);
        errno = 0;
        long long number = isdigit((unsigned char)*at) ? strtoll(at, &end, 10) : -1;
        if (number < 0 || errno)
            continue;
        if ((folder && *end == '/') || (merged && strcmp(end, CAPTURE_SUFFIX) == 0))
            index = number;
    }
    return index;
}

/* What the manifest says of the file's process; a merged run's has one entry a file. */
static const json_t *process_in(const json_t *manifest, const char *path)
{
    const json_t *entry, *merged = json_object_get(manifest, "merged");
    const char *base = strrchr(path, '/'), *file;
    size_t i;
    base = base ? base + 1 : path;
    json_array_foreach(merged, i, entry)
    {
        file = json_string_value(json_object_get(entry, "file"));
        if (file && strcmp(file, base) == 0)
            return json_object_get(entry, "process");
    }
    return json_object_get(manifest, "process");
}

int summary_join_input(const struct summary_input *input, const struct summary *summary,
                       struct many *into, struct err *e)
{
    CLEANUP(cleanup_json) json_t *manifest = manifest_read(input->manifest);
    const json_t *process = process_in(manifest, input->path);
    struct many_identity identity = {.host = json_string_value(json_object_get(process, "host")),
                                     .index = number_in(process, "index"),
                                     .count = number_in(process, "count"),
                                     .pid = number_in(process, "pid")};
    if (identity.index < 0)
        identity.index = index_in_path(input->path);
    CLEANUP(many_rows_release) struct many_rows rows = {0};
    int r = many_of_summary(summary, &identity, &rows, e);
    return r < 0 ? r : many_join(into, &rows, e);
}
