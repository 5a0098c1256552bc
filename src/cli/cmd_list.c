/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_list - `dew-profile list`: the captures under a folder, with state, size, age and steps.
 *
 * Looks in ROOT, ROOT/process-NNNNN and, for captures of plain JAX, their plugins/profile/RUN. The
 * state is the manifest's; without a manifest a run with files is "captured". Steps are counted in
 * the files themselves; of several hosts the one with the most of them counts. */
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/file.h"
#include "base/map.h"
#include "cli/capture_path.h"
#include "cli/command.h"
#include "cli/output.h"
#include "cli/regions_manifest.h"
#include "trace/summary.h"

#include "base/banned.h"

static struct {
    int json;
} asked;

static const struct poptOption options[] = {
    {"json", '\0', POPT_ARG_NONE, &asked.json, 0, "Print JSON (sizes in bytes, ages in seconds)",
     NULL},
    POPT_TABLEEND,
};

struct entry {
    char *path;
    char state[32];
    uint64_t bytes, steps;
    size_t files;
    int64_t written; /* seconds since 1970, of the newest file */
    bool damaged;
};

struct entries {
    struct entry *all;
    size_t n, room;
};

static void entries_release(struct entries *entries)
{
    for (size_t i = 0; i < entries->n; i++)
        free(entries->all[i].path);
    free(entries->all);
}

static int count_steps(const char *path, struct entry *entry, struct err *e)
{
    CLEANUP(map_release) struct map map = {0};
    CLEANUP(summary_release) struct summary summary = {0};
    struct summary_options run = {.file = path, .host = "", .top = 1};
    int r = map_open(&map, path, e);
    if (r == 0)
        r = summary_run(map.bytes, &run, &summary, e);
    if (r == ERR_MEMORY)
        return r;
    entry->damaged |= r < 0 || summary.receipt.damaged;
    /* The hosts of a run take the same steps together; one that was cut short took fewer. */
    if (r == 0 && summary.steps.count > entry->steps)
        entry->steps = summary.steps.count;
    return 0;
}

static int add_files(const struct capture_files *files, struct entry *entry, struct err *e)
{
    for (size_t i = 0; i < files->count; i++) {
        struct stat st;
        if (stat(files->paths[i], &st) < 0)
            continue;
        entry->bytes += (uint64_t)st.st_size;
        entry->written = st.st_mtime > entry->written ? st.st_mtime : entry->written;
        int r = count_steps(files->paths[i], entry, e);
        if (r < 0)
            return r;
    }
    entry->files = files->count;
    return 0;
}

static void cleanup_json(json_t **json)
{
    json_decref(*json);
}

static int read_state(const char *folder, struct entry *entry, struct err *e)
{
    CLEANUP(cleanup_free) char *path = path_join(folder, "manifest.json");
    if (!path)
        return err_nomem(e);
    CLEANUP(cleanup_json) json_t *manifest = manifest_read(path);
    const char *state = manifest ? json_string_value(json_object_get(manifest, "state")) : NULL;
    struct stat st;
    if (state)
        (void)snprintf(entry->state, sizeof(entry->state), "%s", state);
    else
        (void)snprintf(entry->state, sizeof(entry->state), "%s",
                       entry->files ? "captured" : "empty");
    if (!entry->files && stat(path, &st) == 0)
        entry->written = st.st_mtime;
    return 0;
}

/* A capture or run folder. One without files counts where it has a manifest, which then says why.
 */
static int add_capture(struct entries *entries, const char *folder, struct err *e)
{
    struct entry entry = {0};
    CLEANUP(capture_files_release) struct capture_files files = {0};
    struct err ignored = {0};
    int r = capture_find(folder, &files, &ignored);
    if (r == 0)
        r = add_files(&files, &entry, e);
    else
        r = ignored.code == ERR_MEMORY ? err_nomem(e) : 0;
    if (r == 0)
        r = read_state(folder, &entry, e);
    if (r < 0 || (!entry.files && strcmp(entry.state, "empty") == 0))
        return r;
    if (entries->n == entries->room) {
        size_t room = entries->room ? entries->room * 2 : 16;
        struct entry *grown = realloc(entries->all, room * sizeof(*grown));
        if (!grown)
            return err_nomem(e);
        entries->all = grown;
        entries->room = room;
    }
    entry.path = strdup(folder);
    if (!entry.path)
        return err_nomem(e);
    entries->all[entries->n++] = entry;
    return 0;
}

static void cleanup_names(struct dirent ***names)
{
    free(*names);
}

/* Calls `visit` for each visible folder entry whose name starts with `prefix`, in order. */
static int each(const char *folder, const char *prefix, struct entries *entries,
                int (*visit)(struct entries *entries, const char *path, struct err *e),
                struct err *e)
{
    CLEANUP(cleanup_names) struct dirent **names = NULL;
    int n = scandir(folder, &names, NULL, alphasort), r = 0;
    if (n < 0)
        return errno == ENOENT || errno == ENOTDIR
                   ? 0
                   : err_sys(e, errno, "cannot read the folder '%s'", folder);
    for (int i = 0; i < n; i++) {
        struct stat st;
        CLEANUP(cleanup_free) char *path = path_join(folder, names[i]->d_name);
        bool wanted =
            names[i]->d_name[0] != '.' && strncmp(names[i]->d_name, prefix, strlen(prefix)) == 0;
        free(names[i]);
        if (!path && r == 0)
            r = err_nomem(e);
        if (r == 0 && wanted && stat(path, &st) == 0 && S_ISDIR(st.st_mode))
            r = visit(entries, path, e);
    }
    return r;
}

static int add_runs(struct entries *entries, const char *folder, struct err *e)
{
    CLEANUP(cleanup_free) char *profile = path_join(folder, "plugins/profile");
    return profile ? each(profile, "", entries, add_capture, e) : err_nomem(e);
}

static int add_below(struct entries *entries, const char *folder, struct err *e)
{
    int r = each(folder, "capture-", entries, add_capture, e);
    return r < 0 ? r : add_runs(entries, folder, e);
}

static int find_all(struct entries *entries, const char *root, struct err *e)
{
    struct stat st;
    if (stat(root, &st) < 0)
        return err_sys(e, errno, "cannot look into '%s'", root);
    if (!S_ISDIR(st.st_mode))
        return err_set(e, ERR_USAGE, "'%s' is no folder; list takes the folder of the captures",
                       root);
    int r = add_below(entries, root, e);
    return r < 0 ? r : each(root, "process-", entries, add_below, e);
}

static const char *age_text(int64_t seconds, char buffer[FORMAT_MAX])
{
    static const struct {
        int64_t seconds;
        const char *unit;
    } units[] = {{86400, "d"}, {3600, "h"}, {60, "min"}, {1, "s"}};
    size_t i = 0;
    while (i < 3 && seconds < 2 * units[i].seconds)
        i++;
    (void)snprintf(buffer, FORMAT_MAX, "%" PRId64 " %s", seconds / units[i].seconds, units[i].unit);
    return buffer;
}

static int64_t age_of(const struct entry *entry, time_t now)
{
    return entry->written < now ? now - entry->written : 0;
}

static const char *below(const char *path, const char *root)
{
    path += strlen(root);
    while (*path == '/')
        path++;
    return path;
}

static int print_table(const struct entries *entries, const char *root, time_t now, struct err *e)
{
    static const struct table_column columns[] = {{"capture", false, true}, {"state", false, false},
                                                  {"hosts", true, false},   {"size", true, false},
                                                  {"age", true, false},     {"steps", true, false}};
    CLEANUP(table_free) struct table *table = table_new(columns, 6);
    for (size_t i = 0; i < entries->n; i++) {
        const struct entry *entry = &entries->all[i];
        char state[48], files[FORMAT_MAX], size[FORMAT_MAX], age[FORMAT_MAX], steps[FORMAT_MAX];
        (void)snprintf(state, sizeof(state), "%s%s", entry->state,
                       entry->damaged ? ", damaged" : "");
        (void)snprintf(files, sizeof(files), "%zu", entry->files);
        (void)snprintf(steps, sizeof(steps), "%" PRIu64, entry->steps);
        table_row(table, (const char *const[]){below(entry->path, root), state, files,
                                               format_bytes(entry->bytes, size),
                                               age_text(age_of(entry, now), age), steps});
    }
    return table_print(table, stdout, e);
}

static int print_json(const struct entries *entries, time_t now, struct err *e)
{
    json_t *object = json_object(), *list = json_array();
    for (size_t i = 0; i < entries->n; i++) {
        const struct entry *entry = &entries->all[i];
        json_t *row = json_object();
        (void)json_object_set_new(row, "capture", json_text(view_text(entry->path)));
        (void)json_object_set_new(row, "state", json_text(view_text(entry->state)));
        (void)json_object_set_new(row, "files", json_integer((json_int_t)entry->files));
        (void)json_object_set_new(row, "bytes", json_integer((json_int_t)entry->bytes));
        (void)json_object_set_new(row, "age_s", json_integer(age_of(entry, now)));
        (void)json_object_set_new(row, "steps", json_integer((json_int_t)entry->steps));
        (void)json_object_set_new(row, "damaged", json_boolean(entry->damaged));
        (void)json_array_append_new(list, row);
    }
    (void)json_object_set_new(object, "schema", json_integer(1));
    (void)json_object_set_new(object, "captures", list);
    return output_json(stdout, object, e);
}

static int run(const char *const *arguments)
{
    struct err e = {0};
    CLEANUP(entries_release) struct entries entries = {0};
    const char *root = arguments[0] ? arguments[0] : ".";
    int r = find_all(&entries, root, &e);
    if (r < 0)
        return fail(r == ERR_USAGE    ? EXIT_USAGE
                    : r == ERR_MEMORY ? EXIT_FAILED
                                      : EXIT_UNREADABLE,
                    &e);
    time_t now = time(NULL);
    if (asked.json || entries.n) {
        r = asked.json ? print_json(&entries, now, &e) : print_table(&entries, root, now, &e);
        if (r < 0)
            return fail(EXIT_FAILED, &e);
    }
    if (entries.n)
        return EXIT_DONE;
    complain("no capture under '%s' (looked for capture-*, process-*/capture-* and "
             "plugins/profile/*)",
             root);
    return EXIT_NOTHING;
}

const struct command command_list = {
    .name = "list",
    .arguments = "[ROOT]",
    .one_line = "the captures under a folder",
    .help = "Lists the captures under ROOT (default: the current folder): state, size, age, steps.",
    .options = options,
    .min_arguments = 0,
    .max_arguments = 1,
    .run = run,
};
