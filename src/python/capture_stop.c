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
#include "python/uninterrupted.h"

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
    if (PyErr_WarnFormat(PyExc_RuntimeWarning, 1,
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
    note(end, manifest_put(capture, NULL, "error", errors_text(&end->errors)));
    note(end, manifest_write(capture, end->whole ? CAPTURE_CAPTURED : CAPTURE_FAILED));
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

/* What capture_stop() does uninterrupted. */
struct ending {
    struct module_state *state;
    struct capture *capture;
    struct capture_end *end;
    PyObject *open; /* list of the names of the regions that were, or NULL */
};

static void end_and_save(void *context)
{
    struct ending *ending = context;
    struct module_state *state = ending->state;
    struct capture *capture = ending->capture;
    struct capture_end *end = ending->end;
    PyObject *open = ending->open = region_open_names(state);
    if (!open)
        errors_take(&end->errors);
    owner_capture_off(capture->serial);
    uint64_t since = monotonic_ns();
    OWNED bytes = jax_trace_off(capture->way, capture->folders.jax_folder, &end->errors);
    note(end, manifest_put_seconds(capture, "stop", since));

    CLEANUP(cleanup_free) char *old_folder = strdup(capture->folders.folder);
    /* Its two descriptors are what saving needs, should the program have taken all others. */
    flush_end(STEAL(capture->flush));
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
}

void capture_stop(struct module_state *state, struct capture *capture, struct capture_end *end)
{
    uint64_t begun = monotonic_ns();
    capture_log(&end->errors, "stopping the capture in %s", capture->folders.folder);
    jax_drain(JAX_DRAIN_ALL, &end->errors);
    errors_subtract(&end->errors, &capture->old_failures);
    note(end, manifest_put_seconds(capture, "drain_at_stop", begun));

    struct ending ending = {.state = state, .capture = capture, .end = end};
    uninterrupted(end_and_save, &ending);
    OWNED open = ending.open;
    if (end->saved)
        capture_log(&end->errors, "saved %llu bytes in %.3f s: %s", (unsigned long long)end->bytes,
                    seconds_since(begun), capture->folders.file);
    else
        capture_log(&end->errors, "no capture could be saved, after %.3f s, for %s",
                    seconds_since(begun), capture->folders.folder);
    warn_open_regions(open, end);
}

/* The command that makes them again, as a shell takes it. */
static PyObject *command_again(const char *folder)
{
    OWNED quote = py_import_attr("shlex", "quote");
    OWNED path = quote ? PyUnicode_DecodeFSDefault(folder) : NULL;
    OWNED quoted = path ? PyObject_CallFunctionObjArgs(quote, path, NULL) : NULL;
    return quoted ? PyUnicode_FromFormat("dew-profile report %U", quoted) : NULL;
}

static void warn_report(struct capture *capture, PyObject *exception, struct capture_end *end)
{
    OWNED command = command_again(capture->folders.folder);
    if (!command || PyErr_WarnFormat(PyExc_RuntimeWarning, 1,
                                     "the capture is saved in '%s', but its reports failed: %S; "
                                     "make them again with: %U",
                                     capture->folders.folder, exception, command) < 0)
        errors_take(&end->errors);
}

static const char *mode_name(enum reports_mode reports)
{
    static const char *const names[] = {"wait", "background", "off"};
    return names[reports];
}

/* The manifest's word on the reports; written uninterrupted. */
struct outcome {
    struct capture *capture;
    struct capture_end *end;
    enum reports_mode reports;
    const char *state;
    PyObject *error; /* borrowed: str or None */
};

static void note_outcome(void *context)
{
    struct outcome *outcome = context;
    note(outcome->end,
         manifest_put(outcome->capture, NULL, "reports",
                      Py_BuildValue("{s:s,s:s,s:O}", "mode", mode_name(outcome->reports), "state",
                                    outcome->state, "error", outcome->error)));
    write_manifest(outcome->capture, outcome->end);
}

static void tell_failure(struct outcome *outcome)
{
    struct capture_end *end = outcome->end;
    OWNED exception = exception_take();
    OWNED text = PyObject_Str(exception);
    if (!text)
        PyErr_Clear();
    outcome->state = "failed";
    outcome->error = text ? text : Py_None;
    uninterrupted(note_outcome, outcome);
    OWNED bytes = text ? PyUnicode_EncodeFSDefault(text) : NULL;
    const char *words = bytes ? PyBytes_AsString(bytes) : NULL;
    PyErr_Clear();
    capture_log(&end->errors, "reports of %s failed: %s", outcome->capture->folders.folder,
                words ? words : "");
    warn_report(outcome->capture, exception, end);
}

void capture_report(struct capture *capture, enum reports_mode reports, struct capture_end *end)
{
    if (!end->whole || end->moved || reports == REPORTS_OFF || end->errors.interrupt)
        return;
    struct outcome outcome = {.capture = capture, .end = end, .reports = reports, .error = Py_None};
    uint64_t since = monotonic_ns();
    switch (
        exporter_run(capture->folders.folder, capture->library, reports == REPORTS_BACKGROUND)) {
    case EXPORT_DONE:
        note(end, manifest_put_seconds(capture, "reports", since));
        outcome.state = reports == REPORTS_WAIT ? "made" : "going on";
        uninterrupted(note_outcome, &outcome);
        capture_log(&end->errors, "reports of %s: %.3f s", capture->folders.folder,
                    seconds_since(since));
        return;
    case EXPORT_INTERRUPTED:
        errors_interrupt(&end->errors, exception_take());
        outcome.state = "interrupted";
        uninterrupted(note_outcome, &outcome);
        return;
    case EXPORT_FAILED:
        tell_failure(&outcome);
    }
}
