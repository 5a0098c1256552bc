/* SPDX-License-Identifier: Apache-2.0 */
/* capture_folder - the folders of a capture: refused, made, and unmade. */
#include "python/capture.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"

#include "base/banned.h"

#define CAPTURES_MAX 1000000 /* in one folder; the names grow past four digits */
#define FOLDER_MODE 0777     /* the umask decides */
#define HOST_MAX 256
#define RUN_MAX 96
#define TEMPORARY_MAX 48 /* of the name that the file has until it is whole, beyond its own */
#define SCHEME_MIN 2     /* letters; one alone is nobody's scheme */

/* What pathlib makes of "gs://b" is "gs:/b". A local folder may be called "anything:", but hardly
 * as a store of files is. */
static bool is_folded_store(const char *path)
{
    static const char *const stores[] = {"abfs", "abfss", "az",    "gs",
                                         "hdfs", "http",  "https", "s3"};
    size_t n = strcspn(path, ":");
    for (size_t i = 0; i < sizeof(stores) / sizeof(stores[0]); i++)
        if (strlen(stores[i]) == n && strncmp(path, stores[i], n) == 0)
            return path[n] == ':' && path[n + 1] == '/';
    return false;
}

/* "scheme://" at the start, or what is left of it. */
static bool is_remote(const char *path)
{
    size_t n = strspn(path, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+.-");
    return (n >= SCHEME_MIN && strncmp(path + n, "://", 3) == 0) || is_folded_store(path);
}

static int refuse_text(PyObject *directory, const char *path)
{
    if (*path == '\0')
        PyErr_SetString(PyExc_ValueError,
                        "directory is the empty string; pass '.' for the current folder, or None "
                        "for a fresh temporary one");
    else if (is_remote(path))
        PyErr_Format(PyExc_ValueError,
                     "directory %R is a remote location; captures are written to a local folder: "
                     "pass one, and copy it there afterwards",
                     directory);
    else
        return 0;
    return -1;
}

static int fail_sys(int number, const char *what, const char *path)
{
    struct err e;
    (void)err_sys(&e, number, "%s '%s'", what, path);
    exception_from_err(PyExc_OSError, &e);
    return -1;
}

/* The deepest folder above `path` that is there must be one that can be written into. */
static int check_writable(const char *path)
{
    CLEANUP(cleanup_free) char *part = strdup(path);
    if (!part) {
        PyErr_NoMemory();
        return -1;
    }
    struct stat st;
    while (stat(part, &st) != 0) {
        if (errno != ENOENT)
            return fail_sys(errno, "cannot make a capture in", path);
        char *slash = strrchr(part, '/');
        if (!slash)
            return fail_sys(ENOENT, "cannot make a capture in", path);
        slash[slash == part ? 1 : 0] = '\0';
    }
    if (!S_ISDIR(st.st_mode)) {
        struct err e;
        (void)err_sys(&e, ENOTDIR,
                      "cannot make a capture in '%s': '%s' is a file; pass a folder, or a path "
                      "where one can be made",
                      path, part);
        exception_from_err(PyExc_OSError, &e);
        return -1;
    }
    if (access(part, W_OK | X_OK) != 0)
        return fail_sys(errno, "cannot write into the folder", part);
    return 0;
}

static int keep_path(PyObject *text, char **ret)
{
    OWNED bytes = PyUnicode_EncodeFSDefault(text);
    char *data;
    Py_ssize_t size;
    if (!bytes || PyBytes_AsStringAndSize(bytes, &data, &size) < 0)
        return -1;
    if (strlen(data) != (size_t)size) {
        PyErr_SetString(PyExc_ValueError, "directory has a NUL in it; no folder can");
        return -1;
    }
    *ret = strdup(data);
    if (*ret)
        return 0;
    PyErr_NoMemory();
    return -1;
}

int capture_check_root(PyObject *directory, struct capture_folders *folders)
{
    if (PyBytes_Check(directory)) {
        PyErr_Format(PyExc_TypeError,
                     "directory must be a str or an os.PathLike of str, not bytes (%R); use "
                     "os.fsdecode()",
                     directory);
        return -1;
    }
    CLEANUP(cleanup_free) char *given = NULL;
    if (keep_path(directory, &given) < 0 || refuse_text(directory, given) < 0)
        return -1;
    OWNED abspath = py_import_attr("os.path", "abspath");
    OWNED absolute = abspath ? PyObject_CallFunctionObjArgs(abspath, directory, NULL) : NULL;
    CLEANUP(cleanup_free) char *root = NULL;
    if (!absolute || keep_path(absolute, &root) < 0 || check_writable(root) < 0)
        return -1;
    folders->root = STEAL(root);
    return 0;
}

static bool is_there(const char *path)
{
    struct stat st;
    return lstat(path, &st) == 0;
}

/* Remembers the topmost folder of `path` that is not there yet, for capture_undo_folders(). */
static int note_missing(struct capture_folders *folders, const char *path)
{
    CLEANUP(cleanup_free) char *part = strdup(path);
    CLEANUP(cleanup_free) char *missing = NULL;
    while (part && *part && strcmp(part, "/") != 0 && !is_there(part)) {
        free(missing);
        missing = strdup(part);
        char *slash = strrchr(part, '/');
        if (!missing || !slash)
            break;
        *slash = '\0';
    }
    if (!part || (*part && !missing && !is_there(part))) {
        PyErr_NoMemory();
        return -1;
    }
    if (missing)
        folders->made = STEAL(missing);
    return 0;
}

static int raise_core(const struct err *e)
{
    exception_from_err(PyExc_RuntimeError, e);
    return -1;
}

/* base/capture-NNNN, the first number that no folder has. mkdir decides, so that two processes that
 * look at the same time get different ones. */
static int make_numbered(const char *base, char **ret, struct err *e)
{
    size_t room = strlen(base) + 32;
    CLEANUP(cleanup_free) char *path = malloc(room);
    if (!path)
        return err_nomem(e);
    for (int number = 1; number < CAPTURES_MAX; number++) {
        (void)snprintf(path, room, "%s/capture-%04d", base, number);
        if (mkdir(path, FOLDER_MODE) == 0) {
            *ret = STEAL(path);
            return 0;
        }
        if (errno == ENOENT) {
            /* A start that failed in another process took the empty folder away again. */
            if (dir_make_all(base, e) < 0)
                return e->code;
            number--;
        } else if (errno != EEXIST) {
            return err_sys(e, errno, "cannot make the folder '%s'", path);
        }
    }
    return err_set(e, ERR_LIMIT, "'%s' has %d captures; use a fresh folder", base, CAPTURES_MAX);
}

/* Sorts by time; the process and the serial tell captures of one moment apart, the random number
 * those of different machines on one shared folder. */
static void name_run(unsigned serial, char name[RUN_MAX])
{
    struct timespec now;
    struct tm utc;
    uint32_t random = 0;
    (void)clock_gettime(CLOCK_REALTIME, &now);
    (void)gmtime_r(&now.tv_sec, &utc);
    if (getentropy(&random, sizeof(random)) != 0)
        random = (uint32_t)now.tv_nsec;
    char day[32];
    (void)strftime(day, sizeof(day), "%Y_%m_%d_%H_%M_%S", &utc);
    (void)snprintf(name, RUN_MAX, "%s_%06ld-%ld-%u-%08x", day, now.tv_nsec / 1000, (long)getpid(),
                   serial, (unsigned)random);
}

static int name_files(struct capture_folders *folders, unsigned serial, struct err *e)
{
    char run[RUN_MAX];
    name_run(serial, run);
    /* JAX names its file by gethostname() too. */
    char host[HOST_MAX] = {0};
    if (gethostname(host, sizeof(host) - 1) != 0 || host[0] == '\0')
        (void)snprintf(host, sizeof(host), "localhost");
    char file[HOST_MAX + 16];
    (void)snprintf(file, sizeof(file), "%s.xplane.pb", host);

    CLEANUP(cleanup_free) char *runs = path_join(folders->folder, "plugins/profile");
    folders->run = strdup(run);
    folders->run_folder = runs ? path_join(runs, run) : NULL;
    folders->file = folders->run_folder ? path_join(folders->run_folder, file) : NULL;
    if (!folders->run || !folders->file)
        return err_nomem(e);
    if (strlen(folders->file) + TEMPORARY_MAX > PATH_MAX)
        return err_sys(e, ENAMETOOLONG, "cannot make a capture in '%.256s...'", folders->root);
    return 0;
}

int capture_make_run_folder(const struct capture_folders *folders, struct err *e)
{
    CLEANUP(cleanup_free) char *part = strdup(folders->run_folder);
    if (!part)
        return err_nomem(e);
    for (char *end = part + strlen(folders->folder) + 1;; end++) {
        if (*end != '/' && *end != '\0')
            continue;
        char kept = *end;
        *end = '\0';
        if (mkdir(part, FOLDER_MODE) != 0 && errno != EEXIST)
            return err_sys(e, errno, "cannot make the folder '%s'", part);
        if (kept == '\0')
            return 0;
        *end = kept;
    }
}

int capture_make_folders(struct capture_folders *folders, long process_index, unsigned serial)
{
    struct err e;
    CLEANUP(cleanup_free) char *base = NULL;
    if (process_index < 0) {
        base = strdup(folders->root);
    } else {
        char name[32];
        (void)snprintf(name, sizeof(name), "process-%05ld", process_index);
        base = path_join(folders->root, name);
    }
    if (!base) {
        PyErr_NoMemory();
        return -1;
    }
    if (!folders->made && note_missing(folders, base) < 0)
        return -1;
    if (dir_make_all(base, &e) < 0 || make_numbered(base, &folders->folder, &e) < 0)
        return raise_core(&e);
    return name_files(folders, serial, &e) == 0 ? 0 : raise_core(&e);
}

static int make_temporary(char **ret)
{
    OWNED mkdtemp = py_import_attr("tempfile", "mkdtemp");
    OWNED args = PyTuple_New(0);
    OWNED kwargs = Py_BuildValue("{s:s}", "prefix", "dew-profile-jax-");
    OWNED path = mkdtemp && args && kwargs ? PyObject_Call(mkdtemp, args, kwargs) : NULL;
    return path ? keep_path(path, ret) : -1;
}

int capture_choose_jax_folder(struct capture_folders *folders, enum jax_way way)
{
    /* stop_trace() loses a capture that it cannot write, so it writes where that is least likely;
     * the session's own stop writes nothing, and its folder is only a name. */
    if (way == JAX_WAY_STOP_TRACE) {
        folders->jax_made = true;
        return make_temporary(&folders->jax_folder);
    }
    folders->jax_folder = path_join(folders->folder, "jax");
    if (folders->jax_folder)
        return 0;
    PyErr_NoMemory();
    return -1;
}

/* rmdir takes empty folders only, so what others put there stays. */
static void remove_up_to(const char *path, const char *last)
{
    char *part = path ? strdup(path) : NULL;
    while (part && rmdir(part) == 0 && strcmp(part, last) != 0) {
        char *slash = strrchr(part, '/');
        if (!slash || slash == part)
            break;
        *slash = '\0';
    }
    free(part);
}

void capture_remove_folder(const char *path)
{
    struct err e;
    if (dir_remove_all(path, &e) < 0)
        return;
}

void capture_undo_folders(struct capture_folders *folders)
{
    if (folders->jax_made && folders->jax_folder)
        capture_remove_folder(folders->jax_folder);
    if (folders->folder) {
        CLEANUP(cleanup_free) char *manifest = path_join(folders->folder, "manifest.json");
        if (manifest)
            (void)unlink(manifest);
        (void)rmdir(folders->folder);
    }
    if (!folders->made)
        return;
    /* From the deepest that can have been made: what is missing already is passed over. */
    CLEANUP(cleanup_free) char *part = strdup(folders->folder ? folders->folder : folders->root);
    while (part && strlen(part) > strlen(folders->made) && !is_there(part))
        *strrchr(part, '/') = '\0';
    if (part && strlen(part) >= strlen(folders->made))
        remove_up_to(part, folders->made);
}

void capture_folders_release(struct capture_folders *folders)
{
    free(folders->root);
    free(folders->folder);
    free(folders->run);
    free(folders->run_folder);
    free(folders->file);
    free(folders->jax_folder);
    free(folders->made);
    *folders = (struct capture_folders){0};
}
