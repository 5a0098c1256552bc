/* SPDX-License-Identifier: Apache-2.0 */
/* profiler - the Profiler class: what was configured, and its face to Python.
 *
 * Configuration touches nothing: what cannot be is refused at start, where it matters. How a
 * capture is started and stopped is in profiler_life.c. */
#include "python/profiler.h"

#include "python/profiler_life.h"
#include "python/region.h"
#include "python/reports_mode.h"

#include "base/banned.h"

static PyObject *make_path(PyObject *text)
{
    OWNED type = py_import_attr("pathlib", "Path");
    return type ? PyObject_CallFunctionObjArgs(type, text, NULL) : NULL;
}

static PyObject *take_directory(PyObject *directory)
{
    if (directory == Py_None)
        return NULL;
    if (!PyUnicode_Check(directory) && !PyBytes_Check(directory) &&
        !PyObject_HasAttrString((PyObject *)Py_TYPE(directory), "__fspath__")) {
        PyErr_Format(PyExc_TypeError,
                     "directory must be a str, an os.PathLike of str or None, not %R",
                     (PyObject *)Py_TYPE(directory));
        return NULL;
    }
    return PyOS_FSPath(directory);
}

static PyObject *take_options(PyObject *options)
{
    if (options == Py_None)
        return NULL;
    int is = jax_is_options(options);
    if (is > 0)
        return Py_NewRef(options);
    if (is == 0)
        PyErr_Format(PyExc_TypeError,
                     "options must be a jax.profiler.ProfileOptions or None, not %R; "
                     "capture_options() gives one to change",
                     (PyObject *)Py_TYPE(options));
    return NULL;
}

static PyObject *profiler_alloc(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    PyObject *object = PyType_GenericNew(type, args, kwargs);
    if (object) /* not in __init__, which a subclass may leave out */
        ((struct profiler *)object)->region_owner = region_owner_number();
    return object;
}

/* Replaces what an earlier __init__ left; a capture that runs is not touched by it. */
static int profiler_init(PyObject *object, PyObject *args, PyObject *kwargs)
{
    struct profiler *self = (struct profiler *)object;
    static char directory_name[] = "directory", options_name[] = "options";
    static char *names[] = {directory_name, options_name, NULL};
    PyObject *directory = Py_None, *options = Py_None;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|O$O:Profiler", names, &directory, &options))
        return -1;
    OWNED path = take_directory(directory);
    OWNED checked = PyErr_Occurred() ? NULL : take_options(options);
    if (PyErr_Occurred())
        return -1;
    PyObject *old[] = {self->directory, self->options};
    self->directory = STEAL(path);
    self->options = STEAL(checked);
    Py_XDECREF(old[0]);
    Py_XDECREF(old[1]);
    return 0;
}

PyObject *profiler_new(struct module_state *state, PyObject *args, PyObject *kwargs)
{
    return PyObject_Call((PyObject *)state->profiler_type, args, kwargs);
}

/* --- attributes --- */

static PyObject *get_directory(PyObject *object, void *Py_UNUSED(closure))
{
    struct profiler *self = (struct profiler *)object;
    if (!self->directory)
        Py_RETURN_NONE;
    OWNED decode = py_import_attr("os", "fsdecode");
    OWNED text = decode ? PyObject_CallFunctionObjArgs(decode, self->directory, NULL) : NULL;
    return text ? make_path(text) : NULL;
}

static PyObject *get_capture(PyObject *object, void *Py_UNUSED(closure))
{
    struct profiler *self = (struct profiler *)object;
    return Py_NewRef(self->capture ? self->capture : Py_None);
}

static PyObject *get_reports(PyObject *object, void *Py_UNUSED(closure))
{
    enum reports_mode mode;
    return profiler_reports((struct profiler *)object, &mode);
}

static int set_reports(PyObject *object, PyObject *value, void *Py_UNUSED(closure))
{
    struct profiler *self = (struct profiler *)object;
    enum reports_mode mode;
    if (!value) {
        PyErr_SetString(PyExc_AttributeError, "reports cannot be deleted");
        return -1;
    }
    if (reports_mode_parse(value, &mode, "reports") < 0)
        return -1;
    PyObject *old = self->reports;
    self->reports = Py_NewRef(value);
    Py_XDECREF(old);
    return 0;
}

static PyGetSetDef profiler_attributes[] = {
    {"directory", get_directory, NULL,
     "The root of the captures (pathlib.Path); None until one was given or allocated.", NULL},
    {"capture", get_capture, NULL,
     "The newest capture's own folder (pathlib.Path); None before the first start.", NULL},
    {"reports", get_reports, set_reports,
     "When the reports are made: 'wait' (stop returns when they are), 'background' or 'off'.\n"
     "The default is what DEW_PROFILE_REPORTS says, else 'wait'.",
     NULL},
    {NULL},
};

/* --- methods --- */

PyDoc_STRVAR(
    start_doc,
    "start($self)\n--\n\n"
    "start() -> Self\n\n"
    "Start a capture and return self.\n\n"
    "Waits for pending work of the default backend first. A failed start leaves nothing\n"
    "behind. RuntimeError: a capture or another JAX trace runs already. ImportError: xprof\n"
    "is missing, too old or broken. OSError, ValueError, TypeError: the folder cannot be\n"
    "used.");

PyDoc_STRVAR(enter_doc, "__enter__($self)\n--\n\n"
                        "__enter__() -> Self\n\n"
                        "Start a capture, as start() does, and return self.");

static PyObject *method_start(PyObject *object, PyObject *Py_UNUSED(none))
{
    return profiler_start((struct profiler *)object) < 0 ? NULL : Py_NewRef(object);
}

PyDoc_STRVAR(
    stop_doc,
    "stop($self)\n--\n\n"
    "stop() -> None\n\n"
    "Stop the capture, save it and make its reports.\n\n"
    "Waits for pending work of the default backend first. Whatever fails, the capture is\n"
    "saved, if need be in a temporary folder that the error names; several errors come as\n"
    "an ExceptionGroup. A report that fails is a RuntimeWarning. RuntimeError: this\n"
    "profiler has no capture running.");

static PyObject *method_stop(PyObject *object, PyObject *Py_UNUSED(none))
{
    if (profiler_stop((struct profiler *)object) < 0)
        return NULL;
    Py_RETURN_NONE;
}

PyDoc_STRVAR(exit_doc, "__exit__($self, exc_type, exc, traceback)\n--\n\n"
                       "__exit__(exc_type, exc, traceback) -> None\n\n"
                       "Stop the capture, unless it was stopped already.\n\n"
                       "An exception of the body wins: what fails here becomes notes on it.");

static PyObject *method_exit(PyObject *object, PyObject *args, PyObject *kwargs)
{
    static char type_name[] = "exc_type", exc_name[] = "exc", traceback_name[] = "traceback";
    static char *names[] = {type_name, exc_name, traceback_name, NULL};
    PyObject *type, *body, *traceback;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OOO:__exit__", names, &type, &body, &traceback))
        return NULL;
    if (profiler_leave((struct profiler *)object, body == Py_None ? NULL : body) < 0)
        return NULL;
    Py_RETURN_NONE;
}

PyDoc_STRVAR(region_doc, "region($self, name)\n--\n\n"
                         "region(name: str) -> AbstractContextManager[None]\n\n"
                         "As the module's region(), but spanning only while this profiler "
                         "captures.");

static PyObject *method_region(PyObject *object, PyObject *args, PyObject *kwargs)
{
    static char name_name[] = "name";
    static char *names[] = {name_name, NULL};
    PyObject *name;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O:region", names, &name))
        return NULL;
    struct module_state *state = state_of_type(Py_TYPE(object));
    return region_new(state, name, ((struct profiler *)object)->region_owner);
}

static PyMethodDef profiler_methods[] = {
    {"region", (PyCFunction)(void (*)(void))method_region, METH_VARARGS | METH_KEYWORDS,
     region_doc},
    {"start", method_start, METH_NOARGS, start_doc},
    {"stop", method_stop, METH_NOARGS, stop_doc},
    {"__enter__", method_start, METH_NOARGS, enter_doc},
    {"__exit__", (PyCFunction)(void (*)(void))method_exit, METH_VARARGS | METH_KEYWORDS, exit_doc},
    {NULL},
};

/* --- type --- */

static int profiler_traverse(PyObject *object, visitproc visit, void *arg)
{
    struct profiler *self = (struct profiler *)object;
    Py_VISIT(Py_TYPE(object));
    Py_VISIT(self->directory);
    Py_VISIT(self->options);
    Py_VISIT(self->capture);
    Py_VISIT(self->reports);
    if (self->running) {
        Py_VISIT(self->running->manifest);
        Py_VISIT(self->running->options);
        Py_VISIT(self->running->library);
    }
    return 0;
}

static int profiler_clear(PyObject *object)
{
    struct profiler *self = (struct profiler *)object;
    Py_CLEAR(self->directory);
    Py_CLEAR(self->options);
    Py_CLEAR(self->capture);
    Py_CLEAR(self->reports);
    if (self->running) {
        Py_CLEAR(self->running->manifest);
        Py_CLEAR(self->running->options);
        Py_CLEAR(self->running->library);
    }
    return 0;
}

static void profiler_dealloc(PyObject *object)
{
    struct profiler *self = (struct profiler *)object;
    PyTypeObject *type = Py_TYPE(object);
    PyObject_GC_UnTrack(object);
    if (self->weakrefs)
        PyObject_ClearWeakRefs(object);
    (void)profiler_clear(object);
    capture_free(STEAL(self->running));
    freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
    release(object);
    Py_DECREF(type);
}

static PyMemberDef profiler_members[] = {
    {"__weaklistoffset__", T_PYSSIZET, offsetof(struct profiler, weakrefs), READONLY, NULL},
    {NULL},
};

PyDoc_STRVAR(profiler_doc,
             "Profiler(directory=None, *, options=None)\n--\n\n"
             "Captures of this process into folders below `directory`.\n\n"
             "directory: str or os.PathLike of a local folder, made where it is missing; None "
             "takes a\n    fresh temporary folder at the first start, which stays.\n"
             "options: jax.profiler.ProfileOptions; None takes capture_options() at each start.\n\n"
             "Only configures; may be used again and again, as a context or by start() and "
             "stop().");

static PyType_Slot profiler_slots[] = {
    {Py_tp_doc, (void *)profiler_doc},   {Py_tp_new, (void *)profiler_alloc},
    {Py_tp_init, (void *)profiler_init}, {Py_tp_traverse, profiler_traverse},
    {Py_tp_clear, profiler_clear},       {Py_tp_dealloc, profiler_dealloc},
    {Py_tp_methods, profiler_methods},   {Py_tp_members, profiler_members},
    {Py_tp_getset, profiler_attributes}, {0, NULL},
};

static PyType_Spec profiler_spec = {
    .name = "dew.telemetry.profile.Profiler",
    .basicsize = sizeof(struct profiler),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_BASETYPE,
    .slots = profiler_slots,
};

int profiler_type_add(PyObject *module, struct module_state *state)
{
    state->profiler_type = (PyTypeObject *)PyType_FromModuleAndSpec(module, &profiler_spec, NULL);
    return state->profiler_type ? PyModule_AddType(module, state->profiler_type) : -1;
}
