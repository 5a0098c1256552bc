/* SPDX-License-Identifier: Apache-2.0 */
/* manifest - manifest.json: what the capture is, written again at each change of its state.
 *
 * docs/captures.md lists the fields. Owns their names; leaves out what only a reader of the capture
 * can know. Values that JSON does not have are written as their repr(). */
#include "python/capture.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"

#include "base/banned.h"

#define MANIFEST_SCHEMA 1
#define NS_PER_S 1e9

uint64_t monotonic_ns(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000U + (uint64_t)now.tv_nsec;
}

void utc_text(char text[UTC_TEXT_MAX])
{
    struct timespec now;
    struct tm utc;
    (void)clock_gettime(CLOCK_REALTIME, &now);
    (void)gmtime_r(&now.tv_sec, &utc);
    size_t used = strftime(text, UTC_TEXT_MAX, "%Y-%m-%dT%H:%M:%S", &utc);
    (void)snprintf(text + used, UTC_TEXT_MAX - used, ".%06ldZ", now.tv_nsec / 1000);
}

int manifest_put(struct capture *capture, const char *section, const char *key, PyObject *value)
{
    OWNED owned = value;
    if (!owned)
        return -1;
    PyObject *into = capture->manifest;
    if (section && !(into = PyDict_GetItemString(into, section))) {
        PyErr_Format(PyExc_KeyError, "the manifest has no section '%s'", section);
        return -1;
    }
    return PyDict_SetItemString(into, key, owned);
}

int manifest_put_seconds(struct capture *capture, const char *key, uint64_t since_ns)
{
    double seconds = (double)(monotonic_ns() - since_ns) / NS_PER_S;
    return manifest_put(capture, "durations_s", key, PyFloat_FromDouble(seconds));
}

static PyObject *path_text(const char *path)
{
    return PyUnicode_DecodeFSDefault(path);
}

static int put_capture(struct capture *capture)
{
    const struct capture_folders *folders = &capture->folders;
    const char *file = folders->file + strlen(folders->folder) + 1;
    return manifest_put(capture, NULL, "capture",
                        Py_BuildValue("{s:N,s:N,s:s,s:N,s:O}", "root", path_text(folders->root),
                                      "folder", path_text(folders->folder), "run", folders->run,
                                      "file", path_text(file), "bytes", Py_None));
}

static int put_times(struct capture *capture)
{
    if (manifest_put(capture, NULL, "durations_s", PyDict_New()) < 0)
        return -1;
    return manifest_put(capture, NULL, "times",
                        Py_BuildValue("{s:s,s:K,s:O,s:O}", "started_utc", capture->started_utc,
                                      "started_monotonic_ns",
                                      (unsigned long long)capture->started_ns, "stopped_utc",
                                      Py_None, "stopped_monotonic_ns", Py_None));
}

static int put_versions(struct capture *capture, PyObject *converter)
{
    if (manifest_put(capture, NULL, "versions", jax_versions()) < 0 ||
        manifest_put(capture, "versions", "dew-telemetry-profile",
                     PyUnicode_FromString(DEW_VERSION)) < 0)
        return -1;
    OWNED platform = PyImport_ImportModule("platform");
    if (!platform || manifest_put(capture, "versions", "python",
                                  py_call_method(platform, "python_version", "()")) < 0)
        return -1;
    PyObject *xprof = converter ? PyObject_GetAttrString(converter, "version") : Py_NewRef(Py_None);
    return manifest_put(capture, "versions", "xprof", xprof);
}

static int put_process(struct capture *capture)
{
    long index, count;
    if (jax_process(&index, &count) < 0)
        return -1;
    char host[256] = {0};
    (void)gethostname(host, sizeof(host) - 1);
    OWNED variables = py_import_attr("os", "environ");
    OWNED flags = variables ? py_call_method(variables, "get", "(s)", "XLA_FLAGS") : NULL;
    if (!flags || manifest_put(capture, NULL, "xla_flags", Py_NewRef(flags)) < 0 ||
        manifest_put(capture, NULL, "command_line", py_import_attr("sys", "orig_argv")) < 0)
        return -1;
    return manifest_put(capture, NULL, "process",
                        Py_BuildValue("{s:l,s:l,s:N,s:l}", "index", index, "count", count, "host",
                                      path_text(host), "pid", (long)getpid()));
}

/* Where the files are now: the capture may have been moved to a temporary folder. */
static int put_view(struct capture *capture)
{
    const struct capture_folders *folders = &capture->folders;
    OWNED quote = py_import_attr("shlex", "quote");
    OWNED root = quote ? PyObject_CallFunction(quote, "(N)", path_text(folders->root)) : NULL;
    OWNED folder = root ? PyObject_CallFunction(quote, "(N)", path_text(folders->folder)) : NULL;
    if (!folder)
        return -1;
    OWNED xprof = PyUnicode_FromFormat("xprof --logdir %U", root);
    OWNED summary = PyUnicode_FromFormat("dew-profile summary %U", folder);
    if (!xprof || !summary)
        return -1;
    return manifest_put(capture, NULL, "view", Py_BuildValue("[OO]", summary, xprof));
}

static int put_outcome(struct capture *capture)
{
    if (manifest_put(capture, NULL, "regions", PyList_New(0)) < 0 ||
        manifest_put(capture, NULL, "regions_open_at_stop", PyList_New(0)) < 0 ||
        manifest_put(capture, NULL, "body_raised", Py_NewRef(Py_None)) < 0 ||
        manifest_put(capture, NULL, "body_error", Py_NewRef(Py_None)) < 0 ||
        manifest_put(capture, NULL, "error", Py_NewRef(Py_None)) < 0)
        return -1;
    return manifest_put(
        capture, NULL, "stopped_by",
        PyUnicode_FromString(capture->way == JAX_WAY_SESSION ? "session" : "stop_trace"));
}

int manifest_make(struct capture *capture, PyObject *converter)
{
    OWNED manifest = PyDict_New();
    if (!manifest)
        return -1;
    capture->manifest = STEAL(manifest);
    if (manifest_put(capture, NULL, "schema", PyLong_FromLong(MANIFEST_SCHEMA)) < 0 ||
        manifest_put(capture, NULL, "state", Py_NewRef(Py_None)) < 0 || put_capture(capture) < 0 ||
        put_times(capture) < 0 || put_versions(capture, converter) < 0 ||
        manifest_put(capture, NULL, "backend", jax_describe_backend()) < 0 ||
        put_process(capture) < 0 ||
        manifest_put(capture, NULL, "options", jax_option_values(capture->options)) < 0)
        return -1;
    return put_outcome(capture);
}

static const char *state_name(enum capture_state state)
{
    switch (state) {
    case CAPTURE_CAPTURING:
        return "capturing";
    case CAPTURE_CAPTURED:
        return "captured";
    case CAPTURE_FAILED:
        break;
    }
    return "failed";
}

/* json.dumps(manifest, indent=indent, default=repr) as ASCII, with a line end. */
static PyObject *serialize(PyObject *manifest, PyObject *indent)
{
    OWNED dumps = py_import_attr("json", "dumps");
    OWNED repr = dumps ? py_import_attr("builtins", "repr") : NULL;
    OWNED args = repr ? PyTuple_Pack(1, manifest) : NULL;
    OWNED kwargs = args ? Py_BuildValue("{s:O,s:O}", "indent", indent, "default", repr) : NULL;
    OWNED text = kwargs ? PyObject_Call(dumps, args, kwargs) : NULL;
    OWNED line = text ? PyUnicode_FromFormat("%U\n", text) : NULL;
    return line ? PyUnicode_AsASCIIString(line) : NULL;
}

/* Without the interpreter lock. */
static int write_bytes(struct capture *capture, const char *path, enum capture_state state,
                       struct view bytes, struct err *e)
{
    flush_end(STEAL(capture->flush));
    if (state != CAPTURE_CAPTURING)
        return file_replace(path, bytes, e);
    struct file_unflushed unflushed;
    int code = file_place(path, bytes, &unflushed, e);
    if (code == 0)
        capture->flush = flush_begin(unflushed);
    return code;
}

int manifest_write(struct capture *capture, enum capture_state state)
{
    if (manifest_put(capture, NULL, "state", PyUnicode_FromString(state_name(state))) < 0 ||
        put_view(capture) < 0)
        return -1;
    /* With an indent Python's own encoder does the work, many times slower: not while a program
     * waits for its start. */
    OWNED indent = state == CAPTURE_CAPTURING ? Py_NewRef(Py_None) : PyLong_FromLong(1);
    OWNED bytes = indent ? serialize(capture->manifest, indent) : NULL;
    char *data;
    Py_ssize_t size;
    if (!bytes || PyBytes_AsStringAndSize(bytes, &data, &size) < 0)
        return -1;
    struct err e;
    int code;
    CLEANUP(cleanup_free) char *path = path_join(capture->folders.folder, "manifest.json");
    if (!path) {
        PyErr_NoMemory();
        return -1;
    }
    Py_BEGIN_ALLOW_THREADS
    code = write_bytes(capture, path, state, view_of(data, (size_t)size), &e);
    Py_END_ALLOW_THREADS
    if (code < 0)
        exception_from_err(PyExc_RuntimeError, &e);
    return code < 0 ? -1 : 0;
}
