/* SPDX-License-Identifier: Apache-2.0 */
/* inputs - from the arguments to files, facts and names. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "cli/capture_path.h"
#include "cli/merge/merge.h"
#include "cli/regions_manifest.h"

#include "base/banned.h"

#define INPUTS_MAX 65536
#define PROCESS_MARK "_process-"
#define HOST_SHOWN 200 /* so that HOST_process-NNNNN.xplane.pb is a name that file systems take */

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static int grow(void **array, size_t n, size_t *room, size_t size, struct err *e)
{
    if (n < *room)
        return 0;
    size_t wanted = *room ? *room * 2 : 16;
    void *grown = realloc(*array, wanted * size);
    if (!grown)
        return err_nomem(e);
    *array = grown;
    *room = wanted;
    return 0;
}

static int add_file(struct merge_job *job, const char *path, const char *manifest, struct err *e)
{
    if (job->n == INPUTS_MAX)
        return err_set(e, ERR_LIMIT, "more than %d captures", INPUTS_MAX);
    int code = grow((void **)&job->inputs, job->n, &job->room, sizeof(*job->inputs), e);
    if (code != 0)
        return code;
    struct merge_input *input = &job->inputs[job->n++];
    *input = (struct merge_input){.index = -1, .count = -1};
    input->path = strdup(path);
    input->manifest_path = manifest ? strdup(manifest) : NULL;
    return input->path && (!manifest || input->manifest_path) ? 0 : err_nomem(e);
}

static int add_without(struct merge_job *job, const char *path, struct err *e)
{
    int code = grow((void **)&job->without_capture, job->n_without, &job->without_room,
                    sizeof(*job->without_capture), e);
    if (code != 0)
        return code;
    char *copy = strdup(path);
    if (!copy)
        return err_nomem(e);
    job->without_capture[job->n_without++] = copy;
    return 0;
}

int merge_inputs_add(struct merge_job *job, const char *path, struct err *e)
{
    CLEANUP(capture_set_release) struct capture_set set = {0};
    int code = capture_find_processes(path, &set, e);
    for (size_t i = 0; code == 0 && i < set.count; i++) {
        const struct capture_files *files = &set.all[i];
        for (size_t k = 0; code == 0 && k < files->count; k++)
            code = add_file(job, files->paths[k], files->manifest, e);
    }
    for (size_t i = 0; code == 0 && i < set.n_empty; i++)
        code = add_without(job, set.empty[i], e);
    return code;
}

static int64_t number_at(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    return json_is_integer(value) ? (int64_t)json_integer_value(value) : -1;
}

/* A merged run's manifest has one entry a file. */
static const json_t *entry_of(const json_t *manifest, const char *path)
{
    size_t i;
    const json_t *entry, *list = json_object_get(manifest, "merged");
    json_array_foreach(list, i, entry)
    {
        const char *file = json_string_value(json_object_get(entry, "file"));
        if (file && strcmp(base_name(file), base_name(path)) == 0)
            return json_object_get(entry, "process");
    }
    return NULL;
}

static void read_manifest(struct merge_input *input)
{
    input->manifest = manifest_read(input->manifest_path);
    const json_t *process = entry_of(input->manifest, input->path);
    if (!process)
        process = json_object_get(input->manifest, "process");
    input->index = number_at(process, "index");
    input->count = number_at(process, "count");
}

int merge_input_read(struct merge_input *input, struct err *e)
{
    CLEANUP(map_release) struct map map = {0};
    int code = map_open(&map, input->path, e);
    if (code != 0)
        return code;
    input->bytes = map.bytes.size;
    code = merge_facts_read(map.bytes, &input->facts, e);
    if (code != 0)
        return err_context(e, "%s", input->path);
    return 0;
}

static int by_index(const void *a, const void *b)
{
    const struct merge_input *left = a, *right = b;
    if (left->index != right->index)
        return left->index < right->index ? -1 : 1;
    return strcmp(left->path, right->path);
}

/* HOST of HOST.xplane.pb, or of HOST_process-NNNNN.xplane.pb, a run merged before. */
static struct view host_of(const char *path)
{
    const char *base = base_name(path);
    size_t size = strlen(base) - strlen(CAPTURE_SUFFIX);
    const char *mark = strstr(base, PROCESS_MARK);
    for (const char *next = mark; next; next = strstr(next + 1, PROCESS_MARK))
        mark = next;
    if (mark && strspn(mark + strlen(PROCESS_MARK), "0123456789") ==
                    size - (size_t)(mark - base) - strlen(PROCESS_MARK))
        size = (size_t)(mark - base);
    return view_of(base, size < HOST_SHOWN ? size : HOST_SHOWN);
}

static bool all_indexed(const struct merge_job *job)
{
    for (size_t i = 0; i < job->n; i++)
        if (job->inputs[i].index < 0 || (i > 0 && job->inputs[i - 1].index == job->inputs[i].index))
            return false;
    return true;
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static int names_differ(const struct merge_job *job, bool *ret, struct err *e)
{
    CLEANUP(cleanup_free) const char **names = calloc(job->n + 1, sizeof(*names));
    if (!names)
        return err_nomem(e);
    for (size_t i = 0; i < job->n; i++)
        names[i] = base_name(job->inputs[i].path);
    qsort(names, job->n, sizeof(*names), by_text);
    *ret = true;
    for (size_t i = 1; i < job->n; i++)
        *ret &= strcmp(names[i - 1], names[i]) != 0;
    return 0;
}

static int name_inputs(struct merge_job *job, struct err *e)
{
    bool indexed = all_indexed(job), differ = false;
    int code = names_differ(job, &differ, e);
    if (code != 0)
        return code;
    bool kept = job->n == 1 || (!indexed && differ);
    for (size_t i = 0; i < job->n; i++) {
        struct merge_input *input = &job->inputs[i];
        const char *base = base_name(input->path);
        struct view host =
            kept ? view_of(base, strlen(base) - strlen(CAPTURE_SUFFIX)) : host_of(input->path);
        char mark[40] = "";
        if (!kept)
            (void)snprintf(mark, sizeof(mark), PROCESS_MARK "%05lld",
                           indexed ? (long long)input->index : (long long)i);
        size_t room = host.size + sizeof(mark);
        input->name = malloc(room);
        if (!input->name)
            return err_nomem(e);
        (void)snprintf(input->name, room, "%.*s%s", VIEW_ARG(host), mark);
    }
    return 0;
}

int merge_inputs_order(struct merge_job *job, struct err *e)
{
    bool all = true;
    for (size_t i = 0; i < job->n; i++) {
        read_manifest(&job->inputs[i]);
        all &= job->inputs[i].index >= 0;
    }
    if (all)
        qsort(job->inputs, job->n, sizeof(*job->inputs), by_index);
    return name_inputs(job, e);
}

void merge_job_release(struct merge_job *job)
{
    for (size_t i = 0; i < job->n; i++) {
        struct merge_input *input = &job->inputs[i];
        free(input->path);
        free(input->manifest_path);
        free(input->name);
        json_decref(input->manifest);
        merge_facts_release(&input->facts);
        merge_facts_release(&input->written);
    }
    for (size_t i = 0; i < job->n_without; i++)
        free(job->without_capture[i]);
    free(job->without_capture);
    free(job->inputs);
    free(job->run);
    merge_reasons_release(&job->reasons);
    *job = (struct merge_job){0};
}
