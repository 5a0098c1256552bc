/* SPDX-License-Identifier: Apache-2.0 */
/* capture_start - from nothing to a running trace, or back to nothing.
 *
 * The order is the promise: what can be refused without JAX is refused first, and the trace is the
 * last thing that can fail. */
#include "python/capture.h"

#include <stdlib.h>
#include <string.h>

#include "python/converter_installed.h"
#include "python/options.h"
#include "python/owner.h"
#include "python/uninterrupted.h"

#include "base/banned.h"

/* Captures without reports do not need xprof; the manifest then only says what was found. */
static int find_converter(struct module_state *state, enum reports_mode reports,
                          PyObject **ret_converter)
{
    if (!state->converter) {
        state->converter = converter_require(state);
        if (!state->converter && reports != REPORTS_OFF)
            return -1;
        if (!state->converter && !PyErr_ExceptionMatches(PyExc_Exception))
            return -1;
        PyErr_Clear();
    }
    *ret_converter = Py_XNewRef(state->converter);
    return 0;
}

static int choose_root(PyObject *directory, struct capture_folders *folders)
{
    if (directory)
        return capture_check_root(directory, folders);
    OWNED mkdtemp = py_import_attr("tempfile", "mkdtemp");
    OWNED args = PyTuple_New(0);
    OWNED kwargs = Py_BuildValue("{s:s}", "prefix", "dew-profile-");
    OWNED path = mkdtemp && args && kwargs ? PyObject_Call(mkdtemp, args, kwargs) : NULL;
    if (!path || capture_check_root(path, folders) < 0)
        return -1;
    folders->made = strdup(folders->root);
    if (folders->made)
        return 0;
    PyErr_NoMemory();
    return -1;
}

static int refuse_foreign_trace(void)
{
    int tracing = jax_tracing();
    if (tracing <= 0)
        return tracing;
    long parent = owner_forked_from();
    if (parent != 0)
        PyErr_Format(PyExc_RuntimeError,
                     "this process was forked from process %ld while that one captured, and JAX's "
                     "profiler state came with it; capture in a process started afresh",
                     parent);
    else
        PyErr_SetString(
            PyExc_RuntimeError,
            "JAX is tracing already (jax.profiler.start_trace(), or a profiler server's "
            "client) and can trace only once at a time; that trace goes on: stop it "
            "before starting a capture");
    return -1;
}

static int make_folders(struct capture *capture)
{
    long index, count;
    if (jax_process(&index, &count) < 0)
        return -1;
    if (capture_make_folders(&capture->folders, count > 1 ? index : -1, capture->serial) < 0)
        return -1;
    return capture_choose_jax_folder(&capture->folders, capture->way);
}

static int take_options(struct module_state *state, PyObject *given, struct capture *capture)
{
    capture->options = given ? Py_NewRef(given) : capture_options_new(state);
    return capture->options ? 0 : -1;
}

/* Work that failed before is over, and so no reason to refuse: JAX keeps such failures for as long
 * as a failed array lives, and those of callbacks for ever. */
static int drain_before(struct capture *capture)
{
    jax_drain(JAX_DRAIN_LIVE, &capture->old_failures);
    if (capture->old_failures.interrupt)
        return errors_raise(&capture->old_failures, "starting the capture");
    if (!errors_any(&capture->old_failures))
        return 0;
    OWNED text = errors_text(&capture->old_failures);
    return text ? PyErr_WarnFormat(PyExc_RuntimeWarning, 1,
                                   "work that was dispatched before the capture failed: %U", text)
                : -1;
}

static int begin(struct module_state *state, PyObject *directory, PyObject *options,
                 enum reports_mode reports, struct capture *capture)
{
    OWNED converter = NULL;
    uint64_t since = monotonic_ns();
    capture->started_ns = since;
    utc_text(capture->started_utc);
    if (choose_root(directory, &capture->folders) < 0 ||
        find_converter(state, reports, &converter) < 0 || jax_import() < 0 ||
        refuse_foreign_trace() < 0)
        return -1;
    if (converter && !(capture->library = PyObject_GetAttrString(converter, "library")))
        return -1;
    capture->way = jax_probe_way();
    if (take_options(state, options, capture) < 0 || make_folders(capture) < 0 ||
        manifest_make(capture, converter) < 0 ||
        manifest_put_seconds(capture, "prepare", since) < 0 ||
        manifest_write(capture, CAPTURE_CAPTURING) < 0)
        return -1;

    since = monotonic_ns();
    if (drain_before(capture) < 0 || manifest_put_seconds(capture, "drain_at_start", since) < 0)
        return -1;

    owner_describe(capture->serial, capture->folders.folder, capture->started_utc);
    since = monotonic_ns();
    if (jax_trace_on(capture->folders.jax_folder, capture->options) < 0)
        return -1;
    /* Nothing below may fail: the trace runs. */
    if (manifest_put_seconds(capture, "start", since) < 0)
        PyErr_Clear();
    return 0;
}

int capture_start(struct module_state *state, PyObject *directory, PyObject *options,
                  enum reports_mode reports, struct capture *capture)
{
    int code = begin(state, directory, options, reports, capture);
    if (code < 0) {
        OWNED exception = exception_take();
        capture_undo_folders(&capture->folders);
        exception_raise(STEAL(exception));
    }
    return code;
}

static void trace_off(void *context)
{
    struct capture *capture = context;
    struct errors ignored = {0};
    Py_XDECREF(jax_trace_off(capture->way, capture->folders.jax_folder, &ignored));
    errors_release(&ignored);
}

void capture_abandon(struct capture *capture)
{
    OWNED exception = exception_take();
    uninterrupted(trace_off, capture);
    capture_undo_folders(&capture->folders);
    exception_raise(STEAL(exception));
}

void capture_free(struct capture *capture)
{
    if (!capture)
        return;
    capture_folders_release(&capture->folders);
    Py_CLEAR(capture->manifest);
    Py_CLEAR(capture->options);
    Py_CLEAR(capture->library);
    errors_release(&capture->old_failures);
    flush_end(STEAL(capture->flush));
    free(capture);
}
