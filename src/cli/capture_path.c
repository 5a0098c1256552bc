/* SPDX-License-Identifier: Apache-2.0 */
/* capture_path - folders of every shape that captures come in. */
#include "cli/capture_path.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "cli/command.h"
#include "trace/part.h"

#include "base/banned.h"

#define ENTRIES_MAX 65536 /* files of a run, captures of a root */
#define CAPTURE_PREFIX "capture-"
#define PROCESS_PREFIX "process-"

struct names {
    char **names;
    size_t count;
};

static void names_release(struct names *names)
{
    for (size_t i = 0; i < names->count; i++)
        free(names->names[i]);
    free(names->names);
    *names = (struct names){0};
}

static void cleanup_closedir(DIR **folder)
{
    if (*folder)
        (void)closedir(*folder);
}

static bool is_folder(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

static bool ends(const char *text, const char *suffix)
{
    return view_ends(view_text(text), suffix);
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static bool is_capture_file(const char *name)
{
    /* macOS keeps "._HOST.xplane.pb" beside a file on foreign file systems. */
    return *name != '.' && ends(name, CAPTURE_SUFFIX);
}

/* "<prefix><digits>" */
static bool is_numbered(const char *name, const char *prefix)
{
    size_t size = strlen(prefix);
    if (strncmp(name, prefix, size) != 0 || !name[size])
        return false;
    for (const char *at = name + size; *at; at++)
        if (!isdigit((unsigned char)*at))
            return false;
    return true;
}

static bool is_capture_folder(const char *name)
{
    return is_numbered(name, CAPTURE_PREFIX);
}

static bool is_process_folder(const char *name)
{
    return is_numbered(name, PROCESS_PREFIX);
}

static bool is_visible(const char *name)
{
    return *name != '.';
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Adds "<folder>/<name>" for each entry that `wanted` takes, and sorts. A folder that is not there
 * has none. */
static int list(const char *folder, bool (*wanted)(const char *name), struct names *names,
                struct err *e)
{
    CLEANUP(cleanup_closedir) DIR *open = opendir(folder);
    if (!open)
        return errno == ENOENT || errno == ENOTDIR
                   ? 0
                   : err_sys(e, errno, "cannot read the folder '%s'", folder);
    size_t room = 0;
    for (struct dirent *entry; (entry = readdir(open)) != NULL;) {
        if (!wanted(entry->d_name))
            continue;
        if (names->count == ENTRIES_MAX)
            return err_set(e, ERR_LIMIT, "more than %d captures in '%s'", ENTRIES_MAX, folder);
        if (names->count == room) {
            room = room ? room * 2 : 16;
            char **grown = realloc(names->names, room * sizeof(*grown));
            if (!grown)
                return err_nomem(e);
            names->names = grown;
        }
        char *path = path_join(folder, entry->d_name);
        if (!path)
            return err_nomem(e);
        names->names[names->count++] = path;
    }
    if (names->count > 0)
        qsort(names->names, names->count, sizeof(*names->names), by_name);
    return 0;
}

/* Takes out the `*.xplane.pb` that are folders, pipes and the like. What cannot be looked at stays:
 * it is an error of its own later, where leaving it out would tell of one host less. */
static void keep_files(struct names *files, char **ret_other)
{
    size_t kept = 0;
    for (size_t i = 0; i < files->count; i++) {
        struct stat st;
        char *path = files->names[i];
        if (stat(path, &st) != 0 || S_ISREG(st.st_mode)) {
            files->names[kept++] = path;
        } else if (ret_other && !*ret_other) {
            *ret_other = path;
        } else {
            free(path);
        }
    }
    files->count = kept;
}

/* As list(), of capture files. One that is no file goes to *ret_other if that is NULL; `ret_other`
 * may be NULL. */
static int list_files(const char *folder, struct names *files, char **ret_other, struct err *e)
{
    int result = list(folder, is_capture_file, files, e);
    if (result == 0)
        keep_files(files, ret_other);
    return result;
}

/* When the newest of the files was written, in ns; -1 for none. */
static int64_t newest_ns(const struct names *files)
{
    int64_t newest = -1;
    for (size_t i = 0; i < files->count; i++) {
        struct stat st;
        if (stat(files->names[i], &st) != 0 || !S_ISREG(st.st_mode))
            continue;
        int64_t ns = (int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec;
        if (ns > newest)
            newest = ns;
    }
    return newest;
}

/* The best run seen so far. */
struct choice {
    char *run;
    int64_t ns;
    char *other; /* something that is called like a capture and is no file, or NULL */
};

static void choice_release(struct choice *choice)
{
    free(choice->run);
    free(choice->other);
    *choice = (struct choice){0};
}

/* Of two written at the same time the one that comes later in the order of names. */
static int consider_run(const char *run, struct choice *best, struct err *e)
{
    CLEANUP(names_release) struct names files = {0};
    int result = is_folder(run) ? list_files(run, &files, &best->other, e) : 0;
    if (result != 0)
        return result;
    int64_t ns = newest_ns(&files);
    if (ns < 0 || (best->run && ns < best->ns))
        return 0;
    char *copy = strdup(run);
    if (!copy)
        return err_nomem(e);
    free(best->run);
    best->run = copy;
    best->ns = ns;
    return 0;
}

static int consider_runs_in(const char *folder, struct choice *best, struct err *e)
{
    CLEANUP(names_release) struct names runs = {0};
    int result = list(folder, is_visible, &runs, e);
    for (size_t i = 0; result == 0 && i < runs.count; i++)
        result = consider_run(runs.names[i], best, e);
    return result;
}

static int consider_plugins(const char *folder, struct choice *best, struct err *e)
{
    CLEANUP(cleanup_free) char *profile = path_join(folder, "plugins/profile");
    return profile ? consider_runs_in(profile, best, e) : err_nomem(e);
}

static uint64_t number_of(const char *path)
{
    const char *dash = strrchr(path, '-');
    return dash ? strtoull(dash + 1, NULL, 10) : 0;
}

static int by_number(const void *a, const void *b)
{
    uint64_t left = number_of(*(char *const *)a);
    uint64_t right = number_of(*(char *const *)b);
    return left < right ? -1 : left > right;
}

/* The capture of the highest number that has files. Numbers, not times: copying changes times. */
static int consider_captures(const char *root, struct choice *best, struct err *e)
{
    CLEANUP(names_release) struct names captures = {0};
    int result = list(root, is_capture_folder, &captures, e);
    if (result == 0 && captures.count > 0)
        qsort(captures.names, captures.count, sizeof(*captures.names), by_number);
    CLEANUP(choice_release) struct choice newest = {0};
    for (size_t i = captures.count; result == 0 && !newest.run && i > 0; i--)
        result = consider_plugins(captures.names[i - 1], &newest, e);
    if (!best->other)
        best->other = STEAL(newest.other);
    if (result != 0 || !newest.run || (best->run && newest.ns < best->ns))
        return result;
    free(best->run);
    best->run = STEAL(newest.run);
    best->ns = newest.ns;
    return 0;
}

static int consider_root(const char *root, struct choice *best, struct err *e)
{
    int result = consider_run(root, best, e);
    if (result != 0 || best->run)
        return result;
    /* The user may stand inside plugins/profile. */
    result = strcmp(base_name(root), "profile") == 0 ? consider_runs_in(root, best, e) : 0;
    if (result == 0)
        result = consider_plugins(root, best, e);
    if (result == 0)
        result = consider_captures(root, best, e);
    CLEANUP(names_release) struct names processes = {0};
    if (result == 0)
        result = list(root, is_process_folder, &processes, e);
    for (size_t i = 0; result == 0 && i < processes.count; i++)
        result = consider_captures(processes.names[i], best, e);
    return result;
}

/* The folder above `path`, which is absolute and without a slash at its end. */
static char *parent_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return strndup(path, slash && slash > path ? (size_t)(slash - path) : 1);
}

/* DIR of DIR/plugins/profile/RUN, or NULL: not of that shape, or no memory. */
static char *above_plugins(const char *run)
{
    CLEANUP(cleanup_free) char *profile = parent_of(run);
    if (!profile || !ends(profile, "/plugins/profile"))
        return NULL;
    size_t size = strlen(profile) - strlen("/plugins/profile");
    return size == 0 ? strdup("/") : strndup(profile, size);
}

static int find_folder(struct capture_files *files, struct err *e)
{
    CLEANUP(cleanup_free) char *above = above_plugins(files->run);
    if (!above)
        return 0;
    CLEANUP(cleanup_free) char *manifest = path_join(above, "manifest.json");
    if (!manifest)
        return err_nomem(e);
    struct stat st;
    if (stat(manifest, &st) == 0 && S_ISREG(st.st_mode))
        files->manifest = STEAL(manifest);
    if (files->manifest || is_capture_folder(base_name(above)))
        files->folder = STEAL(above);
    return 0;
}

static int files_of_run(const char *run, struct capture_files *ret, struct err *e)
{
    CLEANUP(names_release) struct names files = {0};
    int result = list_files(run, &files, NULL, e);
    if (result != 0)
        return result;
    ret->paths = files.names;
    ret->count = files.count;
    files = (struct names){0};
    return 0;
}

bool path_is_part(const char *path)
{
    CLEANUP(cleanup_close) int fd = -1;
    uint64_t size;
    struct err e;
    if (file_open(path, &fd, &size, &e) != 0)
        return false;
    uint8_t first[PART_MAGIC_BYTES];
    ssize_t n = read(fd, first, sizeof(first));
    return n > 0 && part_is(view_of(first, (size_t)n));
}

/* What else it may have been meant as is told: parts are named as their makers like. */
static int not_a_capture(const char *path, struct err *e)
{
    CLEANUP(cleanup_close) int fd = -1;
    uint64_t size;
    int result = file_open(path, &fd, &size, e);
    if (result != 0)
        return result;
    if (path_is_part(path))
        return err_set(e, ERR_UNSUPPORTED,
                       "'%s' is a part, which only summary joins; name the capture it was made of",
                       path);
    return err_set(e, ERR_UNSUPPORTED,
                   "'%s' is %s: a capture file is called HOST" CAPTURE_SUFFIX
                   ", and a part is what summary --partial wrote; make it again if it was one",
                   path, size ? "neither a capture nor a part" : "empty");
}

static int one_file(const char *path, struct capture_files *ret, struct err *e)
{
    if (!is_capture_file(base_name(path)))
        return not_a_capture(path, e);
    ret->paths = calloc(1, sizeof(*ret->paths));
    if (!ret->paths)
        return err_nomem(e);
    ret->paths[0] = strdup(path);
    ret->count = ret->paths[0] ? 1 : 0;
    return ret->count ? 0 : err_nomem(e);
}

/* Absolute, so that "h.xplane.pb" given from inside its run folder still finds the manifest. Of the
 * folder and not of the file: the file itself may be a link to one kept elsewhere. */
static int set_run(struct capture_files *files, struct err *e)
{
    const char *path = files->paths[0];
    const char *name = base_name(path);
    CLEANUP(cleanup_free)
    char *folder = name == path ? strdup(".") : strndup(path, (size_t)(name - path));
    if (!folder)
        return err_nomem(e);
    files->run = realpath(folder, NULL);
    return files->run ? 0 : err_sys(e, errno, "cannot open the folder '%s'", folder);
}

/* A capture that was started leaves its folder with a manifest; the file comes when it is stopped.
 */
static bool has_unstopped(const char *path)
{
    CLEANUP(names_release) struct names captures = {0};
    CLEANUP(names_release) struct names processes = {0};
    if (is_capture_folder(base_name(path)))
        return true;
    if (list(path, is_capture_folder, &captures, NULL) == 0 && captures.count > 0)
        return true;
    int code = list(path, is_process_folder, &processes, NULL);
    for (size_t i = 0; code == 0 && i < processes.count; i++)
        if (list(processes.names[i], is_capture_folder, &captures, NULL) == 0 && captures.count > 0)
            return true;
    return false;
}

static int nothing_in(const char *path, const char *other, struct err *e)
{
    if (other)
        return err_set(e, ERR_MISSING,
                       "no capture in '%s': '%s' is neither a regular file nor a link to one", path,
                       other);
    if (has_unstopped(path))
        return err_set(e, ERR_MISSING,
                       "no capture in '%s': one was started and has no *" CAPTURE_SUFFIX
                       " file; it still runs, or its process ended without a stop, by SIGKILL or a "
                       "signal that it does not handle ('" PROGRAM_NAME " list' shows its state)",
                       path);
    return err_set(e, ERR_MISSING,
                   "no capture in '%s': it holds neither *" CAPTURE_SUFFIX
                   " files nor capture-NNNN or plugins/profile/RUN folders with such files",
                   path);
}

int capture_find(const char *path, struct capture_files *ret, struct err *e)
{
    CLEANUP(capture_files_release) struct capture_files files = {0};
    CLEANUP(choice_release) struct choice best = {0};
    struct stat st;
    if (stat(path, &st) != 0)
        return err_sys(e, errno, "cannot open the capture '%s'", path);
    bool folder = S_ISDIR(st.st_mode);
    int result = folder ? consider_root(path, &best, e) : one_file(path, &files, e);
    if (result != 0)
        return result;
    if (folder && !best.run)
        return nothing_in(path, best.other, e);
    if (folder)
        result = files_of_run(best.run, &files, e);
    if (result != 0)
        return result;
    result = set_run(&files, e);
    if (result != 0)
        return result;
    result = find_folder(&files, e);
    if (result != 0)
        return result;
    *ret = files;
    files = (struct capture_files){0};
    return 0;
}

static int add_process(struct capture_set *set, struct names *processes, size_t i, struct err *e)
{
    struct err missing = {0};
    int code = capture_find(processes->names[i], &set->all[set->count], &missing);
    if (code == 0)
        set->count++;
    else if (code == ERR_MISSING)
        set->empty[set->n_empty++] = STEAL(processes->names[i]);
    else if (e)
        *e = missing;
    return code == ERR_MISSING ? 0 : code;
}

int capture_find_processes(const char *path, struct capture_set *ret, struct err *e)
{
    CLEANUP(capture_set_release) struct capture_set set = {0};
    CLEANUP(names_release) struct names processes = {0};
    int code = is_folder(path) ? list(path, is_process_folder, &processes, e) : 0;
    if (code != 0)
        return code;
    set.all = calloc(processes.count + 1, sizeof(*set.all));
    set.empty = calloc(processes.count + 1, sizeof(*set.empty));
    if (!set.all || !set.empty)
        return err_nomem(e);
    for (size_t i = 0; code == 0 && i < processes.count; i++)
        code = add_process(&set, &processes, i, e);
    if (code == 0 && set.count == 0) {
        code = capture_find(path, &set.all[0], e);
        set.count = code == 0;
    }
    if (code != 0)
        return code;
    *ret = set;
    set = (struct capture_set){0};
    return 0;
}

void capture_set_release(struct capture_set *set)
{
    for (size_t i = 0; i < set->count; i++)
        capture_files_release(&set->all[i]);
    for (size_t i = 0; i < set->n_empty; i++)
        free(set->empty[i]);
    free(set->all);
    free(set->empty);
    *set = (struct capture_set){0};
}

char *capture_reports_folder(const struct capture_files *files)
{
    if (files->folder)
        return path_join(files->folder, "reports");
    CLEANUP(cleanup_free) char *above = above_plugins(files->run);
    CLEANUP(cleanup_free) char *all = path_join(above ? above : files->run, "reports");
    if (!all)
        return NULL;
    if (above)
        return path_join(all, base_name(files->run));
    const char *name = base_name(files->paths[0]);
    CLEANUP(cleanup_free) char *stem = strndup(name, strlen(name) - strlen(CAPTURE_SUFFIX));
    return stem ? path_join(all, stem) : NULL;
}

char *capture_logdir(const struct capture_files *files)
{
    return above_plugins(files->run);
}

void capture_files_release(struct capture_files *files)
{
    for (size_t i = 0; i < files->count; i++)
        free(files->paths[i]);
    free(files->paths);
    free(files->run);
    free(files->folder);
    free(files->manifest);
    *files = (struct capture_files){0};
}
