/* SPDX-License-Identifier: Apache-2.0 */
/* profiler - the Profiler class: what was configured, and the capture that runs, if one does. */
#include "python/profiler.h"

#include "python/region.h"

#include "base/banned.h"

struct profiler {
    PyObject_HEAD PyObject *weakrefs;
    PyObject *directory;
    PyObject *options;
    unsigned serial;
};

struct module_state *state_of_type(PyTypeObject *type)
{
    return PyType_GetModuleState(type);
}

static PyObject *profiler_make(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    static char directory_name[] = "directory", options_name[] = "options";
    static char *names[] = {directory_name, options_name, NULL};
    PyObject *directory = Py_None, *options = Py_None;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|O$O:Profiler", names, &directory, &options))
        return NULL;
    allocfunc alloc = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
    struct profiler *self = (struct profiler *)alloc(type, 0);
    if (!self)
        return NULL;
    self->directory = Py_NewRef(directory);
    self->options = Py_NewRef(options);
    return (PyObject *)self;
}

static int profiler_traverse(PyObject *object, visitproc visit, void *arg)
{
    struct profiler *self = (struct profiler *)object;
    Py_VISIT(Py_TYPE(object));
    Py_VISIT(self->directory);
    Py_VISIT(self->options);
    return 0;
}

static int profiler_clear(PyObject *object)
{
    struct profiler *self = (struct profiler *)object;
    Py_CLEAR(self->directory);
    Py_CLEAR(self->options);
    return 0;
}

static void profiler_dealloc(PyObject *object)
{
    PyTypeObject *type = Py_TYPE(object);
    PyObject_GC_UnTrack(object);
    if (((struct profiler *)object)->weakrefs)
        PyObject_ClearWeakRefs(object);
    (void)profiler_clear(object);
    freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
    release(object);
    Py_DECREF(type);
}

static PyObject *profiler_start(PyObject *object, PyObject *Py_UNUSED(none))
{
    (void)object;
    PyErr_SetString(PyExc_NotImplementedError, "captures are not built yet");
    return NULL;
}

static PyMethodDef profiler_methods[] = {
    {"start", profiler_start, METH_NOARGS, "start()\n--\n\n"},
    {NULL},
};

static PyMemberDef profiler_members[] = {
    {"__weaklistoffset__", T_PYSSIZET, offsetof(struct profiler, weakrefs), READONLY, NULL},
    {NULL},
};

static PyType_Slot profiler_slots[] = {
    {Py_tp_new, profiler_make},
    {Py_tp_traverse, profiler_traverse},
    {Py_tp_clear, profiler_clear},
    {Py_tp_dealloc, profiler_dealloc},
    {Py_tp_methods, profiler_methods},
    {Py_tp_members, profiler_members},
    {0, NULL},
};

static PyType_Spec profiler_spec = {
    .name = "dew.telemetry.profile.Profiler",
    .basicsize = sizeof(struct profiler),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC,
    .slots = profiler_slots,
};

int profiler_type_add(PyObject *module, struct module_state *state)
{
    state->profiler_type = (PyTypeObject *)PyType_FromModuleAndSpec(module, &profiler_spec, NULL);
    return state->profiler_type ? PyModule_AddType(module, state->profiler_type) : -1;
}

PyObject *profiler_new(struct module_state *state, PyObject *args, PyObject *kwargs)
{
    return PyObject_Call((PyObject *)state->profiler_type, args, kwargs);
}

PyObject *profiler_active(struct module_state *state)
{
    return Py_NewRef(state->active ? state->active : Py_None);
}
