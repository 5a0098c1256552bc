/* SPDX-License-Identifier: Apache-2.0 */
/* profiler_life - starting, stopping, leaving, and the end of the process. */
#include "python/profiler_life.h"

#include <stdlib.h>

#include "python/owner.h"
#include "python/region.h"
#include "python/reports_mode.h"

#include "base/banned.h"

static bool owns_slot(const struct profiler *self)
{
    enum owner_phase phase = owner_phase_of(self->serial);
    return phase == OWNER_CAPTURING || phase == OWNER_STOPPING;
}

PyObject *profiler_active(struct module_state *state)
{
    struct profiler *active = (struct profiler *)state->active;
    return Py_NewRef(active && owns_slot(active) ? (PyObject *)active : Py_None);
}

PyObject *profiler_reports(struct profiler *self, enum reports_mode *ret)
{
    OWNED value = self->reports ? Py_NewRef(self->reports) : reports_mode_default();
    if (!value || reports_mode_parse(value, ret, "reports") < 0)
        return NULL;
    return STEAL(value);
}

/* --- at exit --- */

static PyObject *stop_at_exit(PyObject *module, PyObject *Py_UNUSED(none))
{
    struct module_state *state = state_of_module(module);
    OWNED active = profiler_active(state);
    if (active == Py_None)
        Py_RETURN_NONE;
    struct profiler *self = (struct profiler *)active;
    struct errors errors = {0};
    if (profiler_stop(self) < 0)
        errors_take(&errors);
    if (PyErr_WarnFormat(PyExc_RuntimeWarning, 1,
                         "a capture was still running at exit; it was stopped and saved in '%S'; "
                         "use `with`, or stop() it before the program ends",
                         self->capture) < 0)
        errors_take(&errors);
    if (errors_raise(&errors, "the capture that was running at exit") < 0)
        return NULL;
    Py_RETURN_NONE;
}

static PyMethodDef exit_method = {"_stop_at_exit", stop_at_exit, METH_NOARGS, NULL};

/* Hooks that are registered while others run are never called. */
static int warn_at_exit(void)
{
    OWNED main_thread = py_import_attr("threading", "main_thread");
    OWNED thread = main_thread ? PyObject_CallNoArgs(main_thread) : NULL;
    OWNED alive = thread ? py_call_method(thread, "is_alive", "()") : NULL;
    if (!alive)
        return -1;
    if (PyObject_IsTrue(alive) != 0)
        return 0;
    return PyErr_WarnFormat(PyExc_RuntimeWarning, 1,
                            "this capture was started while the program ends, too late to be "
                            "stopped for you: stop() it, or it is lost");
}

/* atexit runs the latest first. JAX registers its own teardown when it is imported, which must come
 * before this, so that the capture is stopped while the backends live. */
static int install_exit_hook(struct module_state *state)
{
    if (state->exit_hook)
        return 0;
    PyTypeObject *type = state->profiler_type;

    OWNED hook = PyCFunction_New(&exit_method, PyType_GetModule(type));
    OWNED atexit = hook ? PyImport_ImportModule("atexit") : NULL;
    OWNED done =
        atexit && jax_import() == 0 ? py_call_method(atexit, "register", "(O)", hook) : NULL;
    if (!done)
        return -1;
    state->exit_hook = STEAL(hook);
    return warn_at_exit();
}

/* --- start --- */

static PyObject *path_of(const char *path)
{
    OWNED text = PyUnicode_DecodeFSDefault(path);
    OWNED type = text ? py_import_attr("pathlib", "Path") : NULL;
    return type ? PyObject_CallFunctionObjArgs(type, text, NULL) : NULL;
}

/* The trace runs and the slot is `starting`: makes the capture the running one. */
static int publish(struct profiler *self, struct module_state *state, struct capture *capture)
{
    OWNED folder = path_of(capture->folders.folder);
    OWNED root = self->directory ? Py_NewRef(self->directory)
                                 : PyUnicode_DecodeFSDefault(capture->folders.root);
    if (!folder || !root || region_note_started(state, self->region_owner) < 0)
        return -1;
    /* A forked child may still hold what it was forked with. */
    struct capture *old_running = self->running;
    PyObject *old[] = {self->capture, self->directory, state->active};
    self->capture = STEAL(folder);
    self->directory = STEAL(root);
    self->serial = capture->serial;
    self->running = capture;
    state->active = Py_NewRef((PyObject *)self);
    owner_capture_on(capture->serial);
    capture_free(old_running);
    for (size_t i = 0; i < sizeof(old) / sizeof(old[0]); i++)
        Py_XDECREF(old[i]);
    return 0;
}

static int start_taken(struct profiler *self, struct module_state *state, enum reports_mode reports,
                       unsigned serial)
{
    struct capture *capture = calloc(1, sizeof(*capture));
    if (!capture) {
        PyErr_NoMemory();
        return -1;
    }
    capture->serial = serial;
    if (capture_start(state, self->directory, self->options, reports, capture) < 0) {
        capture_free(capture);
        return -1;
    }
    if (install_exit_hook(state) == 0 && publish(self, state, capture) == 0)
        return 0;
    capture_abandon(capture);
    capture_free(capture);
    return -1;
}

int profiler_start(struct profiler *self)
{
    enum reports_mode reports;
    OWNED mode = profiler_reports(self, &reports);
    if (!mode)
        return -1;
    struct err e;
    unsigned serial;
    if (owner_take(&serial, &e) < 0) {
        exception_from_err(PyExc_RuntimeError, &e);
        return -1;
    }
    int code = start_taken(self, state_of_type(Py_TYPE((PyObject *)self)), reports, serial);
    if (code < 0)
        owner_release(serial);
    return code;
}

/* --- stop --- */

static void forget(struct profiler *self, struct module_state *state, struct capture *capture,
                   struct capture_end *end)
{
    /* Another thread may have started the next capture meanwhile. */
    if (self->serial != capture->serial)
        return;
    if (state->active == (PyObject *)self)
        Py_CLEAR(state->active);
    OWNED folder = end->moved ? path_of(capture->folders.folder) : NULL;
    if (end->moved && !folder)
        errors_take(&end->errors);
    if (folder) {
        PyObject *old = self->capture;
        self->capture = STEAL(folder);
        Py_XDECREF(old);
    }
}

/* The slot is `stopping`, by this thread. */
static void stop_taken(struct profiler *self, struct capture_end *end)
{
    OWNED alive = Py_NewRef((PyObject *)self);
    struct module_state *state = state_of_type(Py_TYPE((PyObject *)self));
    struct capture *capture = STEAL(self->running);
    enum reports_mode reports = REPORTS_OFF;
    OWNED mode = profiler_reports(self, &reports);
    if (!mode)
        errors_take(&end->errors);
    capture_stop(state, capture, end);
    forget(self, state, capture, end);
    capture_report(capture, reports, end);
    capture_free(capture);
}

static void refuse_stop(const struct profiler *self)
{
    long parent = owner_forked_from();
    if (owner_phase_of(self->serial) == OWNER_STOPPING)
        PyErr_SetString(PyExc_RuntimeError,
                        "the capture is being stopped by another thread already");
    else if (self->running && parent != 0)
        PyErr_Format(PyExc_RuntimeError,
                     "the capture belongs to process %ld, from which this one was forked; only "
                     "that process can stop it",
                     parent);
    else
        PyErr_SetString(PyExc_RuntimeError,
                        "this profiler has no capture running; start() begins one");
}

int profiler_stop(struct profiler *self)
{
    if (!owner_begin_stop(self->serial)) {
        refuse_stop(self);
        return -1;
    }
    struct capture_end end = {0};
    stop_taken(self, &end);
    return errors_raise(&end.errors, "stopping the capture");
}

int profiler_leave(struct profiler *self, PyObject *body)
{
    if (!owner_begin_stop(self->serial))
        return 0; /* stopped inside the `with`, or a forked child is leaving it */
    struct capture_end end = {.body = body};
    stop_taken(self, &end);
    if (body)
        return errors_raise_onto(&end.errors, body, "stopping the capture");
    return errors_raise(&end.errors, "stopping the capture");
}
