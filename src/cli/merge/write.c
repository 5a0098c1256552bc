/* SPDX-License-Identifier: Apache-2.0 */
/* write - the run folder: beside OUT first, then in its place.
 *
 * Each file is copied from the map piece by piece, so memory does not grow with it. */
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "base/map.h"
#include "cli/capture_path.h"
#include "cli/merge/merge.h"
#include "xplane/shift.h"

#include "base/banned.h"

#define CHUNK_BYTES ((size_t)1 << 20)
#define NS_PER_S INT64_C(1000000000)
#define PS_PER_NS 1000
#define PROFILE "plugins/profile"

static volatile sig_atomic_t stop_signal;

static void note_signal(int number)
{
    stop_signal = number;
}

int merge_stopped_by(void)
{
    return stop_signal;
}

static void watch_signals(void)
{
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        struct sigaction before, noted = {.sa_handler = note_signal};
        if (sigaction(numbers[i], NULL, &before) == 0 && before.sa_handler != SIG_IGN)
            (void)sigaction(numbers[i], &noted, NULL);
    }
}

struct target {
    FILE *file;
    const char *path;
    struct map map; /* what is copied from */
};

static int put_piece(void *context, struct view piece, struct err *e)
{
    struct target *target = context;
    struct view map = target->map.bytes;
    for (size_t done = 0; done < piece.size;) {
        size_t chunk = piece.size - done < CHUNK_BYTES ? piece.size - done : CHUNK_BYTES;
        if (stop_signal)
            return err_set(e, ERR_IO, "stopped by a signal");
        if (fwrite(piece.data + done, 1, chunk, target->file) != chunk)
            return err_sys(e, errno, "cannot write '%s'", target->path);
        done += chunk;
        if (piece.data >= map.data && piece.data < map.data + map.size)
            map_forget_before(&target->map, (size_t)(piece.data - map.data) + done);
    }
    return 0;
}

static int flush(struct target *target, struct err *e)
{
    int number = 0;
    if (fflush(target->file) != 0 || fsync(fileno(target->file)) != 0)
        number = errno;
    if (fclose(STEAL(target->file)) != 0 && number == 0)
        number = errno;
    return number ? err_sys(e, number, "cannot write '%s'", target->path) : 0;
}

static void target_release(struct target *target)
{
    cleanup_fclose(&target->file);
    map_release(&target->map);
}

static int plan(const struct merge_job *job, const struct merge_input *input, struct view file,
                struct patches *ret, struct err *e)
{
    const struct merge_facts *facts = &input->facts;
    int64_t end_ps;
    if (__builtin_mul_overflow(input->shift_ns, PS_PER_NS, &end_ps) ||
        __builtin_add_overflow(end_ps, facts->last_ps, &end_ps))
        return err_set(e, ERR_LIMIT, "%s: moved by %lld ns, its events would lie out of range",
                       input->path, (long long)input->shift_ns);
    const struct xshift shift = {.line_ns = input->shift_ns,
                                 .dated_ns = input->place.correction_ns - job->axis_ns,
                                 .sets_window = facts->has_window,
                                 .start_ns = job->axis_ns,
                                 .stop_ns = facts->stop_ns + input->place.correction_ns};
    int code = xshift_plan(file, &shift, ret, e);
    return code == 0 ? 0 : err_context(e, "%s", input->path);
}

static void cleanup_patches(struct patches *patches)
{
    patches_release(patches);
}

/* A single capture is its own axis: not one byte changes. */
static int copy(const struct merge_job *job, const struct merge_input *input, const char *path,
                struct err *e)
{
    CLEANUP(target_release) struct target target = {.path = path};
    CLEANUP(cleanup_patches) struct patches patches = {0};
    int code = map_open(&target.map, input->path, e);
    if (code == 0 && job->n > 1)
        code = plan(job, input, target.map.bytes, &patches, e);
    if (code != 0)
        return code;
    target.file = fopen(path, "wxe");
    if (!target.file)
        return err_sys(e, errno, "cannot write '%s'", path);
    code = patches_write(&patches, target.map.bytes, put_piece, &target, e);
    return code == 0 ? flush(&target, e) : code;
}

/* What was written, as any reader will find it. */
static int read_back(struct merge_input *input, const char *path, struct err *e)
{
    CLEANUP(map_release) struct map map = {0};
    int code = map_open(&map, path, e);
    if (code == 0)
        code = merge_facts_count(map.bytes, &input->written, e);
    if (code != 0)
        return err_context(e, "reading back '%s'", path);
    merge_facts_forget(&input->written);
    const struct merge_facts *before = &input->facts, *after = &input->written;
    if (before->planes != after->planes || before->lines != after->lines ||
        before->events != after->events || before->names_stored != after->names_stored ||
        before->steps_seen != after->steps_seen || before->device_ps != after->device_ps)
        return err_set(e, ERR_FOREIGN,
                       "%s changed while it was read: %llu events before, %llu in the merged file",
                       input->path, (unsigned long long)before->events,
                       (unsigned long long)after->events);
    return 0;
}

static int write_one(const struct merge_job *job, struct merge_input *input, const char *folder,
                     struct err *e)
{
    size_t room = strlen(input->name) + sizeof(CAPTURE_SUFFIX);
    CLEANUP(cleanup_free) char *name = malloc(room);
    if (!name)
        return err_nomem(e);
    (void)snprintf(name, room, "%s" CAPTURE_SUFFIX, input->name);
    CLEANUP(cleanup_free) char *path = path_join(folder, name);
    if (!path)
        return err_nomem(e);
    int code = copy(job, input, path, e);
    return code == 0 ? read_back(input, path, e) : code;
}

static void run_name(const struct merge_job *job, char *to, size_t size)
{
    time_t seconds = (time_t)(job->axis_ns / NS_PER_S);
    struct tm utc;
    if (job->axis_ns <= 0 || !gmtime_r(&seconds, &utc) ||
        strftime(to, size, "%Y_%m_%d_%H_%M_%S", &utc) == 0)
        (void)snprintf(to, size, "merged");
}

static char *write_json(json_t *json)
{
    char *text = json ? json_dumps(json, JSON_INDENT(1) | JSON_ENSURE_ASCII) : NULL;
    json_decref(json);
    return text;
}

static int write_manifest(const struct merge_job *job, const char *folder, struct err *e)
{
    CLEANUP(cleanup_free) char *text = write_json(merge_manifest(job));
    CLEANUP(cleanup_free) char *path = path_join(folder, "manifest.json");
    if (!text || !path)
        return err_nomem(e);
    return file_replace(path, view_text(text), e);
}

static int sync_folders(const char *temporary, const char *name, struct err *e)
{
    char below[128];
    (void)snprintf(below, sizeof(below), PROFILE "/%s", name);
    for (;;) {
        CLEANUP(cleanup_free) char *path = path_join(temporary, below);
        int code = path ? dir_sync(path, e) : err_nomem(e);
        char *slash = strrchr(below, '/');
        if (code != 0)
            return code;
        if (!slash)
            return dir_sync(temporary, e);
        *slash = '\0';
    }
}

static int fill(struct merge_job *job, const char *temporary, const char *name, struct err *e)
{
    char below[128];
    (void)snprintf(below, sizeof(below), PROFILE "/%s", name);
    CLEANUP(cleanup_free) char *folder = path_join(temporary, below);
    job->run = path_join(job->out, below);
    if (!folder || !job->run)
        return err_nomem(e);
    int code = dir_make_all(folder, e);
    for (size_t i = 0; code == 0 && i < job->n; i++)
        code = write_one(job, &job->inputs[i], folder, e);
    if (code == 0)
        code = write_manifest(job, temporary, e);
    return code == 0 ? sync_folders(temporary, name, e) : code;
}

/* OUT as it can be renamed to: without a slash at its end, which "." has not got either. */
static char *plain_path(const char *out)
{
    char *real = realpath(out, NULL);
    if (real)
        return real;
    size_t size = strlen(out);
    while (size > 1 && out[size - 1] == '/')
        size--;
    return strndup(out, size);
}

static char *folder_above(const char *path)
{
    const char *slash = strrchr(path, '/');
    return !slash ? strdup(".") : strndup(path, slash == path ? 1 : (size_t)(slash - path));
}

int merge_out_check(const char *out, struct err *e)
{
    if (*out == '\0')
        return err_set(e, ERR_USAGE, "OUT is the empty string; name the folder to make");
    CLEANUP(cleanup_free) char *path = plain_path(out);
    CLEANUP(cleanup_free) char *above = path ? folder_above(path) : NULL;
    if (!above)
        return err_nomem(e);
    struct stat st;
    if (stat(above, &st) != 0)
        return err_sys(e, errno, "cannot make '%s': the folder it would lie in", out);
    if (lstat(path, &st) != 0)
        return errno == ENOENT ? 0 : err_sys(e, errno, "cannot look at '%s'", out);
    if (!S_ISDIR(st.st_mode))
        return err_set(e, ERR_USAGE, "'%s' is no folder; merge makes a new folder", out);
    DIR *folder = opendir(path);
    if (!folder)
        return err_sys(e, errno, "cannot read the folder '%s'", out);
    size_t entries = 0;
    while (readdir(folder))
        entries++;
    (void)closedir(folder);
    if (entries > 2)
        return err_set(e, ERR_USAGE,
                       "'%s' is not empty; merge makes a new folder or fills an "
                       "empty one",
                       out);
    return 0;
}

int merge_write(struct merge_job *job, struct err *e)
{
    CLEANUP(cleanup_free) char *out = plain_path(job->out);
    CLEANUP(cleanup_free) char *above = out ? folder_above(out) : NULL;
    if (!above)
        return err_nomem(e);
    size_t room = strlen(out) + 48;
    CLEANUP(cleanup_free) char *temporary = malloc(room);
    if (!temporary)
        return err_nomem(e);
    (void)snprintf(temporary, room, "%s.%ld.tmp", out, (long)getpid());
    char name[64];
    run_name(job, name, sizeof(name));
    watch_signals();
    if (mkdir(temporary, 0777) != 0)
        return err_sys(e, errno, "cannot make the folder '%s'", temporary);
    int code = fill(job, temporary, name, e);
    if (code == 0 && stop_signal)
        code = err_set(e, ERR_IO, "stopped by a signal");
    if (code == 0 && rename(temporary, out) != 0)
        code = err_sys(e, errno, "cannot put the run in the place of '%s'", job->out);
    if (code != 0) {
        if (dir_remove_all(temporary, NULL) != 0)
            (void)err_context(e, "('%s' could not be removed)", temporary);
        return code;
    }
    return dir_sync(above, e);
}
