/* SPDX-License-Identifier: Apache-2.0 */
/* capture_save - the bytes of a capture onto the disk, checked, in its place or in another one. */
#include "python/capture.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/map.h"
#include "wire/wire.h"

#include "base/banned.h"

#define LOWER_WHAT                                                                                 \
    "shorten the capture, or lower host_tracer_level or python_tracer_level, or switch off "       \
    "enable_hlo_proto, in its options"

/* The message fields that the check goes into, outermost last: the framing of the planes and their
 * lines, not the events, tells a capture from a torn one in no time. */
static const uint32_t checked_fields[] = {3 /* XPlane.lines */, 1 /* XSpace.planes */};
#define CHECK_DEPTH (sizeof(checked_fields) / sizeof(checked_fields[0]))

static int check_message(struct wire *wire, size_t depth, struct err *e)
{
    struct wire_field field;
    int more;
    while ((more = wire_next(wire, &field)) > 0) {
        if (depth == 0 || field.number != checked_fields[depth - 1])
            continue;
        if (field.type != WIRE_BYTES)
            return err_at(e, ERR_DAMAGED, wire_offset(wire, wire->pos), "not a message");
        struct wire inner = wire_enter(wire, field.bytes, field.cut);
        if (check_message(&inner, depth - 1, e) < 0)
            return e->code;
    }
    return more < 0 ? wire_error(wire, e) : 0;
}

static int check_capture(struct view bytes, const char *path)
{
    struct err e;
    struct wire wire = wire_file(bytes);
    int code;
    Py_BEGIN_ALLOW_THREADS
    code = check_message(&wire, CHECK_DEPTH, &e);
    Py_END_ALLOW_THREADS
    if (code == 0)
        return 0;
    PyErr_Format(
        PyExc_RuntimeError,
        "JAX gave a capture that cannot be read (%zu bytes, kept in '%s': %s); most likely "
        "a limit of its serializer cut it: " LOWER_WHAT,
        bytes.size, path, e.text);
    return -1;
}

/* What save_below() made of them, by calls that need no descriptor. */
static void remove_made(const struct capture_folders *to)
{
    CLEANUP(cleanup_free) char *part = to->run_folder ? strdup(to->run_folder) : NULL;
    while (part && strlen(part) > strlen(to->root)) {
        (void)rmdir(part);
        *strrchr(part, '/') = '\0';
    }
    (void)rmdir(to->root);
}

/* Another place: a fresh folder in `parent` that is root and capture folder in one. */
static int save_below(const char *parent, const struct capture_folders *from, struct view bytes,
                      struct capture_folders *ret)
{
    CLEANUP(capture_folders_release) struct capture_folders to = {0};
    to.root = path_join(parent, "dew-profile-saved-XXXXXX");
    if (!to.root || !mkdtemp(to.root))
        return -1;
    to.folder = strdup(to.root);
    to.run = strdup(from->run);
    CLEANUP(cleanup_free) char *runs = path_join(to.root, "plugins/profile");
    to.run_folder = runs ? path_join(runs, from->run) : NULL;
    to.file = to.run_folder ? path_join(to.run_folder, strrchr(from->file, '/') + 1) : NULL;
    if (!to.folder || !to.run || !to.file || dir_make_all(to.run_folder, NULL) < 0 ||
        file_replace(to.file, bytes, NULL) < 0) {
        remove_made(&to);
        return -1;
    }
    *ret = to;
    to = (struct capture_folders){0};
    return 0;
}

/* The result of a call that gives a path, or NULL without an exception. */
static char *path_from(const char *module, const char *function, const char *argument)
{
    OWNED call = py_import_attr(module, function);
    OWNED path = !call      ? NULL
                 : argument ? PyObject_CallFunction(call, "s", argument)
                            : PyObject_CallNoArgs(call);
    OWNED bytes = path ? PyUnicode_EncodeFSDefault(path) : NULL;
    const char *text = bytes ? PyBytes_AsString(bytes) : NULL;
    char *copy = text ? strdup(text) : NULL;
    PyErr_Clear();
    return copy;
}

static int save_elsewhere(struct capture *capture, struct view bytes)
{
    CLEANUP(cleanup_free) char *temporary = path_from("tempfile", "gettempdir", NULL);
    CLEANUP(cleanup_free) char *home = path_from("os.path", "expanduser", "~");
    CLEANUP(cleanup_free) char *here = path_from("os", "getcwd", NULL);
    const char *parents[] = {temporary, "/var/tmp", "/dev/shm", home, here};
    struct capture_folders saved = {0};
    int code = -1;
    Py_BEGIN_ALLOW_THREADS
    for (size_t i = 0; i < sizeof(parents) / sizeof(parents[0]) && code < 0; i++)
        if (parents[i])
            code = save_below(parents[i], &capture->folders, bytes, &saved);
    Py_END_ALLOW_THREADS
    if (code < 0)
        return -1;
    saved.jax_folder = STEAL(capture->folders.jax_folder);
    saved.jax_made = capture->folders.jax_made;
    capture_folders_release(&capture->folders);
    capture->folders = saved;
    return 0;
}

/* Where the capture's folder is after all, in the manifest too. */
static void note_moved(struct capture *capture, struct capture_end *end)
{
    end->moved = true;
    OWNED root = PyUnicode_DecodeFSDefault(capture->folders.root);
    if (!root || manifest_put(capture, "capture", "root", Py_NewRef(root)) < 0 ||
        manifest_put(capture, "capture", "folder", Py_NewRef(root)) < 0)
        errors_take(&end->errors);
}

static void save_bytes(struct capture *capture, struct view bytes, struct capture_end *end)
{
    struct err e;
    int code;
    end->bytes = bytes.size;
    Py_BEGIN_ALLOW_THREADS
    code = capture_make_run_folder(&capture->folders, &e);
    if (code == 0)
        code = file_replace(capture->folders.file, bytes, &e);
    Py_END_ALLOW_THREADS
    end->saved = code == 0;
    if (code < 0) {
        int number = e.code == ERR_IO ? e.sys_errno : 0;
        struct err told;
        CLEANUP(cleanup_free) char *first = strdup(e.text);
        end->saved = save_elsewhere(capture, bytes) == 0;
        if (end->saved)
            (void)err_set(&told, e.code,
                          "%s; the capture was saved to '%s' instead ('dew-profile report' makes "
                          "its reports there)",
                          first ? first : "", capture->folders.file);
        else
            (void)err_set(&told, e.code,
                          "%s; no temporary folder could take it either, so the capture is lost",
                          first ? first : "");
        told.sys_errno = number;
        exception_from_err(PyExc_RuntimeError, &told);
        errors_take(&end->errors);
        if (end->saved)
            note_moved(capture, end);
    }
    if (!end->saved)
        return;
    end->whole = check_capture(bytes, capture->folders.file) == 0;
    if (!end->whole)
        errors_take(&end->errors);
}

static void refuse_empty(struct capture_end *end)
{
    PyErr_SetString(
        PyExc_RuntimeError,
        "JAX gave an empty capture (0 bytes), so nothing could be saved; most likely it "
        "passed 2 GiB, which JAX cannot serialize: " LOWER_WHAT);
    errors_take(&end->errors);
}

/* The last entry of `folder` whose name ends in `suffix`: owned path, or NULL. */
static char *find_in(const char *folder, const char *suffix)
{
    DIR *entries = opendir(folder);
    char *found = NULL;
    struct dirent *entry;
    while (entries && (entry = readdir(entries))) {
        if (entry->d_name[0] == '.' || !view_ends(view_text(entry->d_name), suffix))
            continue;
        free(found);
        found = path_join(folder, entry->d_name);
    }
    if (entries)
        (void)closedir(entries);
    return found;
}

/* What stop_trace() wrote below `folder`: owned path, or NULL. */
static char *find_written(const char *folder)
{
    CLEANUP(cleanup_free) char *runs = path_join(folder, "plugins/profile");
    CLEANUP(cleanup_free) char *run = runs ? find_in(runs, "") : NULL;
    return run ? find_in(run, ".xplane.pb") : NULL;
}

static void save_written(struct capture *capture, struct capture_end *end)
{
    CLEANUP(cleanup_free) char *written = find_written(capture->folders.jax_folder);
    if (!written) {
        if (!errors_any(&end->errors)) {
            PyErr_SetString(PyExc_RuntimeError,
                            "jax.profiler.stop_trace() returned, but wrote no .xplane.pb file; the "
                            "capture is lost");
            errors_take(&end->errors);
        }
        return;
    }
    struct err e;
    CLEANUP(map_release) struct map map = {0};
    if (map_open(&map, written, &e) < 0) {
        exception_from_err(PyExc_RuntimeError, &e);
        errors_take(&end->errors);
        return;
    }
    if (map.bytes.size == 0)
        refuse_empty(end);
    else
        save_bytes(capture, map.bytes, end);
}

void capture_save(struct capture *capture, PyObject *bytes, struct capture_end *end)
{
    char *data;
    Py_ssize_t size;
    if (!bytes)
        save_written(capture, end);
    else if (PyBytes_AsStringAndSize(bytes, &data, &size) < 0)
        errors_take(&end->errors);
    else if (size == 0)
        refuse_empty(end);
    else
        save_bytes(capture, view_of(data, (size_t)size), end);
    /* Only what was saved again, or is nothing, is taken away. */
    if (end->saved || end->bytes == 0)
        capture_remove_folder(capture->folders.jax_folder);
}
