/* SPDX-License-Identifier: Apache-2.0 */
/* region_span - a region while a capture runs, over JAX's own TraceMe.
 *
 * TraceMe is what jax.profiler.TraceAnnotation is made of. It takes its start time when it is made,
 * its __enter__ only returns it, and it is written when __exit__ is called or when it is destroyed,
 * whichever comes first. So the cheapest exact span is: make one, drop the only reference to it;
 * no method is looked up, bound or called. That is how jaxlib below TRACE_ME_SEEN_BELOW
 * is built, and the tests pin it; with a newer one the span calls the two methods as well.
 *
 * A TraceMe belongs to no thread: it is written to the line of the thread that leaves it, with the
 * time at which it was entered wherever that was. One that was entered in an earlier trace is
 * dropped by JAX. */
#include "python/region_hub.h"

#include <string.h>

#include "python/owner.h"
#include "xprof/version.h"

#include "base/banned.h"

#define TRACE_ME_SEEN_BELOW "0.13" /* jaxlib */

struct span {
    PyObject_HEAD struct region_hub *hub; /* owned */
    PyObject *name;                       /* owned */
    PyObject *trace_me;                   /* owned; NULL where it is open and nothing captured */
    struct span *newer, *older;           /* in the hub's list while open */
    unsigned owner;                       /* the Profiler it spans for; 0: any */
    unsigned serial;                      /* of the capture in which it was entered */
    bool open;
};

static void list_add(struct span *span)
{
    struct region_hub *hub = span->hub;
    span->newer = NULL;
    span->older = hub->open;
    if (hub->open)
        hub->open->newer = span;
    hub->open = span;
    span->open = true;
}

static void list_remove(struct span *span)
{
    if (span->newer)
        span->newer->older = span->older;
    else
        span->hub->open = span->older;
    if (span->older)
        span->older->newer = span->newer;
    span->open = false;
}

/* The name goes into the capture's manifest once; most entries see at a glance that it is. */
static int note_name(struct span *span)
{
    struct region_hub *hub = span->hub;
    size_t slot = hub_slot(span->name);
    bool kept = hub->checked[slot] == span->name;
    if (kept && hub->noted[slot])
        return 0;
    if (PyDict_SetItem(hub->names, span->name, Py_None) < 0)
        return -1;
    if (kept)
        hub->noted[slot] = true;
    return 0;
}

static PyObject *trace_me_begin(struct span *span)
{
    struct region_hub *hub = span->hub;
    OWNED trace_me = PyObject_CallFunctionObjArgs(hub->trace_me, span->name, NULL);
    if (!trace_me || hub->trace_me_is_raw)
        return STEAL(trace_me);
    OWNED entered = py_call_method(trace_me, "__enter__", "()");
    return entered ? STEAL(trace_me) : NULL;
}

static int trace_me_end(struct span *span)
{
    OWNED trace_me = STEAL(span->trace_me);
    if (!trace_me || span->hub->trace_me_is_raw)
        return 0;
    OWNED left = py_call_method(trace_me, "__exit__", "(OOO)", Py_None, Py_None, Py_None);
    return left ? 0 : -1;
}

static PyObject *span_enter(PyObject *object, PyObject *Py_UNUSED(none))
{
    struct span *span = (struct span *)object;
    if (span->open) {
        PyErr_Format(PyExc_RuntimeError,
                     "region %R is entered already: leave it first, or make one region() for each "
                     "use",
                     span->name);
        return NULL;
    }
    span->serial = atomic_load_explicit(&owner_capturing, memory_order_relaxed);
    if (span->serial != 0 && (span->owner == 0 || span->owner == span->hub->owner)) {
        span->hub->serial = span->serial;
        if (note_name(span) < 0)
            return NULL;
        span->trace_me = trace_me_begin(span);
        if (!span->trace_me)
            return NULL;
    }
    list_add(span);
    Py_RETURN_NONE;
}

static PyObject *span_exit(PyObject *object, PyObject *const *args, Py_ssize_t count)
{
    (void)args;
    (void)count;
    struct span *span = (struct span *)object;
    if (!span->open) {
        PyErr_Format(PyExc_RuntimeError, "region %R is left without having been entered",
                     span->name);
        return NULL;
    }
    list_remove(span);
    if (trace_me_end(span) < 0)
        return NULL;
    Py_RETURN_NONE;
}

static PyObject *span_repr(PyObject *object)
{
    struct span *span = (struct span *)object;
    return PyUnicode_FromFormat("<region %R%s>", span->name, span->open ? ", entered" : "");
}

/* A span that is dropped while open (a generator that was never finished) ends here. */
static void span_dealloc(PyObject *object)
{
    struct span *span = (struct span *)object;
    PyTypeObject *type = Py_TYPE(object);
    if (span->open) {
        list_remove(span);
        Py_CLEAR(span->trace_me);
    }
    Py_DECREF(span->name);
    Py_DECREF(span->hub);
    PyObject_Free(object);
    Py_DECREF(type);
}

static PyMethodDef span_methods[] = {
    {"__enter__", span_enter, METH_NOARGS, NULL},
    {"__exit__", (PyCFunction)(void (*)(void))span_exit, METH_FASTCALL, NULL},
    {NULL},
};

static PyType_Slot span_slots[] = {
    {Py_tp_doc, (void *)"What region() gives while a capture runs: a span of that name."},
    {Py_tp_repr, span_repr},
    {Py_tp_dealloc, span_dealloc},
    {Py_tp_methods, span_methods},
    {0, NULL},
};

static PyType_Spec span_spec = {
    .name = "dew.telemetry.profile._Region",
    .basicsize = sizeof(struct span),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = span_slots,
};

PyTypeObject *span_type_new(void)
{
    return (PyTypeObject *)PyType_FromSpec(&span_spec);
}

PyObject *span_new(struct region_hub *hub, PyObject *name, unsigned owner)
{
    struct span *span = PyObject_New(struct span, hub->span_type);
    if (!span)
        return NULL;
    span->hub = (struct region_hub *)Py_NewRef((PyObject *)hub);
    span->name = Py_NewRef(name);
    span->trace_me = NULL;
    span->owner = owner;
    span->serial = 0;
    span->open = false;
    return (PyObject *)span;
}

/* *ret_raw: whether the version is one of those described above. */
PyObject *span_trace_me(bool *ret_raw)
{
    OWNED annotation = py_import_attr("jax.profiler", "TraceAnnotation");
    OWNED base = annotation ? PyObject_GetAttrString(annotation, "__base__") : NULL;
    OWNED name = base ? PyObject_GetAttrString(base, "__name__") : NULL;
    OWNED version = name ? py_import_attr("jaxlib", "__version__") : NULL;
    const char *base_name = version ? PyUnicode_AsUTF8AndSize(name, NULL) : NULL;
    const char *version_text = base_name ? PyUnicode_AsUTF8AndSize(version, NULL) : NULL;
    if (!version_text)
        return NULL;
    if (strcmp(base_name, "TraceMe") != 0) {
        *ret_raw = false;
        return STEAL(annotation);
    }
    *ret_raw = version_compare(version_text, TRACE_ME_SEEN_BELOW) < 0;
    return STEAL(base);
}

PyObject *span_open_names(const struct region_hub *hub)
{
    OWNED names = PyList_New(0);
    for (struct span *span = hub->open; names && span; span = span->older)
        if (span->trace_me && span->serial == hub->serial && PyList_Append(names, span->name) < 0)
            return NULL;
    if (!names || PyList_Reverse(names) < 0)
        return NULL;
    return STEAL(names);
}
