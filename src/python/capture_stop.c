/* SPDX-License-Identifier: Apache-2.0 */
/* capture_stop - from a running trace to a capture on disk, whatever fails on the way.
 *
 * No step is left out because an earlier one failed, and none because a signal handler raised:
 * errors are collected, and the caller raises them when all is done. */
#include "python/capture.h"

#include <stdlib.h>
#include <string.h>

#include "python/exporter.h"
#include "python/owner.h"
#include "python/region.h"

#include "base/banned.h"

#define NS_PER_S 1e9

static double seconds_since(uint64_t ns)
{
    return (double)(monotonic_ns() - ns) / NS_PER_S;
}

/* manifest_put_*() in a row: the first failure, as a rule of memory, is noted once. */
static void note(struct capture_end *end, int code)
{
    if (code < 0)
        errors_take(&end->errors);
}

static void warn_open_regions(PyObject *open, struct capture_end *end)
{
    if (!open || PyList_Size(open) == 0)
        return;
    if (PyErr_WarnFormat(PyExc_RuntimeWarning, 2,
                         "regions were still open when the capture was stopped, and are not in it: "
                         "%R",
                         open) < 0)
        errors_take(&end->errors);
}

static void note_regions(struct module_state *state, struct capture *capture, PyObject *open,
                         struct capture_end *end)
{
    note(end, manifest_put(capture, NULL, "regions", region_names(state)));
    if (open)
        note(end, manifest_put(capture, NULL, "regions_open_at_stop", Py_NewRef(open)));
    note(end, manifest_put(capture, NULL, "body_raised", PyBool_FromLong(end->body != NULL)));
    if (end->body)
        note(end,
             manifest_put(capture, NULL, "body_error",
                          PyObject_GetAttrString((PyObject *)Py_TYPE(end->body), "__qualname__")));
}

static void note_end(struct capture *capture, struct capture_end *end)
{
    char now[UTC_TEXT_MAX];
    utc_text(now);
    note(end, manifest_put(capture, "times", "stopped_utc", PyUnicode_FromString(now)));
    note(end, manifest_put(capture, "times", "stopped_monotonic_ns",
                           PyLong_FromUnsignedLongLong(monotonic_ns())));
    if (end->saved)
        note(end,
             manifest_put(capture, "capture", "bytes", PyLong_FromUnsignedLongLong(end->bytes)));
}

/* A capture that was saved and can be read is captured, even where the drain or the program failed;
 * the text says what did. */
static void write_manifest(struct capture *capture, struct capture_end *end)
{
    for (int tries = 0;; tries++) {
        if (manifest_put(capture, NULL, "error", errors_text(&end->errors)) == 0 &&
            manifest_write(capture, end->whole ? CAPTURE_CAPTURED : CAPTURE_FAILED) == 0)
            return;
        if (tries > 0 || !errors_take_interrupt(&end->errors))
            break;
    }
    errors_take(&end->errors);
}

/* The place that could not take the capture may still take a word about where it is. */
static void leave_word(struct capture *capture, char *old_folder)
{
    char *moved = capture->folders.folder;
    capture->folders.folder = old_folder;
    if (manifest_write(capture, CAPTURE_FAILED) < 0)
        PyErr_Clear();
    capture->folders.folder = moved;
}

void capture_stop(struct module_state *state, struct capture *capture, struct capture_end *end)
{
    uint64_t begun = monotonic_ns();
    capture_log(&end->errors, "stopping the capture in %s", capture->folders.folder);
    jax_drain(JAX_DRAIN_ALL, &end->errors);
    errors_subtract(&end->errors, &capture->old_failures);
    note(end, manifest_put_seconds(capture, "drain_at_stop", begun));

    OWNED open = region_open_names(state);
    if (!open)
        errors_take(&end->errors);
    owner_capture_off(capture->serial);
    uint64_t since = monotonic_ns();
    OWNED bytes = jax_trace_off(capture->way, capture->folders.jax_folder, &end->errors);
    note(end, manifest_put_seconds(capture, "stop", since));

    CLEANUP(cleanup_free) char *old_folder = strdup(capture->folders.folder);
    since = monotonic_ns();
    capture_save(capture, bytes, end);
    Py_CLEAR(bytes);
    note(end, manifest_put_seconds(capture, "save", since));
    owner_release(capture->serial);

    note_regions(state, capture, open, end);
    note_end(capture, end);
    write_manifest(capture, end);
    if (end->moved && old_folder)
        leave_word(capture, old_folder);
    if (end->saved)
        capture_log(&end->errors, "saved %llu bytes in %.3f s: %s", (unsigned long long)end->bytes,
                    seconds_since(begun), capture->folders.file);
    else
        capture_log(&end->errors, "no capture could be saved, after %.3f s, for %s",
                    seconds_since(begun), capture->folders.folder);
    warn_open_regions(open, end);
}

static void warn_report(struct capture *capture, struct capture_end *end)
{
    OWNED exception = exception_take();
    if (PyErr_WarnFormat(PyExc_RuntimeWarning, 2,
                         "the capture is saved in '%s', but its reports failed: %S; make them "
                         "again with: dew-profile report '%s'",
                         capture->folders.folder, exception, capture->folders.folder) < 0)
        errors_take(&end->errors);
}

static const char *mode_name(enum reports_mode reports)
{
    static const char *const names[] = {"wait", "background", "off"};
    return names[reports];
}

static void note_reports(struct capture *capture, enum reports_mode reports, const char *state,
                         PyObject *error, struct capture_end *end)
{
    note(end, manifest_put(capture, NULL, "reports",
                           Py_BuildValue("{s:s,s:s,s:O}", "mode", mode_name(reports), "state",
                                         state, "error", error)));
    write_manifest(capture, end);
}

void capture_report(struct capture *capture, enum reports_mode reports, struct capture_end *end)
{
    if (!end->whole || end->moved || reports == REPORTS_OFF || end->errors.interrupt)
        return;
    uint64_t since = monotonic_ns();
    if (exporter_run(capture->folders.folder, capture->library, reports == REPORTS_BACKGROUND) ==
        0) {
        note(end, manifest_put_seconds(capture, "reports", since));
        note_reports(capture, reports, reports == REPORTS_WAIT ? "made" : "going on", Py_None, end);
        capture_log(&end->errors, "reports of %s: %.3f s", capture->folders.folder,
                    seconds_since(since));
        return;
    }
    if (errors_take_interrupt(&end->errors)) {
        note_reports(capture, reports, "interrupted", Py_None, end);
        return;
    }
    OWNED exception = exception_take();
    OWNED text = PyObject_Str(exception);
    note_reports(capture, reports, "failed", text ? text : Py_None, end);
    OWNED utf8 = text ? PyUnicode_AsUTF8String(text) : NULL;
    const char *words = utf8 ? PyBytes_AsString(utf8) : "";
    capture_log(&end->errors, "reports of %s failed: %s", capture->folders.folder, words);
    PyErr_Clear();
    exception_raise(STEAL(exception));
    warn_report(capture, end);
}
