/* SPDX-License-Identifier: Apache-2.0 */
/* region - region(), its check of names, and the object that does nothing. */
#include "python/region.h"

#include <string.h>

#include "python/owner.h"
#include "python/region_hub.h"

#include "base/banned.h"

#define NAME_SHOWN 60 /* characters of a refused name in its error */

/* ---- names ----------------------------------------------------------------------------------- */

static int refuse(PyObject *name, const char *why)
{
    OWNED start = PyUnicode_Substring(name, 0, NAME_SHOWN);
    if (start)
        PyErr_Format(PyExc_ValueError, "region name %A%s %s", start,
                     PyUnicode_GetLength(name) > NAME_SHOWN ? "..." : "", why);
    return -1;
}

/* The trace keeps the name exactly as given, or this refuses it: TraceMe reads "name#key=value#" as
 * a name with metadata, readers of the trace end a name at a NUL, and protobuf text is UTF-8. */
static int check_text(PyObject *name)
{
    Py_ssize_t size;
    const char *text = PyUnicode_AsUTF8AndSize(name, &size);
    if (!text) {
        if (!PyErr_ExceptionMatches(PyExc_UnicodeEncodeError))
            return -1;
        PyErr_Clear();
        return refuse(name, "holds a lone surrogate, which no trace can store");
    }
    if (size > 0 && text[size - 1] == '#')
        return refuse(name, "ends in '#', which the trace format takes for the end of metadata");
    if (memchr(text, '\0', (size_t)size))
        return refuse(name, "holds a NUL character, where the trace's readers would cut it");
    return 0;
}

/* `value` is stolen. The old one goes last: what its end runs may look at the hub. */
static void replace(PyObject **field, PyObject *value)
{
    PyObject *old = *field;
    *field = value;
    Py_XDECREF(old);
}

static int check_name(struct region_hub *hub, PyObject *name)
{
    if (!PyUnicode_Check(name)) {
        OWNED type = PyType_GetName(Py_TYPE(name));
        if (type)
            PyErr_Format(PyExc_TypeError, "region name must be str, not %U", type);
        return -1;
    }
    if (check_text(name) < 0)
        return -1;
    /* An instance of a subclass may carry anything with it: it is not kept. */
    if (PyUnicode_CheckExact(name) && PyUnicode_GetLength(name) <= CHECKED_NAME_MAX) {
        size_t slot = hub_slot(name);
        hub->noted[slot] = false;
        replace(&hub->checked[slot], Py_NewRef(name));
    }
    return 0;
}

/* ---- the object that does nothing ------------------------------------------------------------ */

/* __enter__ and __exit__ of the idle object. They stand in its type as plain built-in functions,
 * which do not bind: `with` then makes no method object for either. So they are called without the
 * object by `with`, and with it by type(x).__enter__(x), as contextlib.ExitStack does. */
static PyObject *idle_nothing(PyObject *none, PyObject *const *args, Py_ssize_t count)
{
    (void)none;
    (void)args;
    (void)count;
    Py_RETURN_NONE;
}

static PyMethodDef idle_enter = {"__enter__", (PyCFunction)(void (*)(void))idle_nothing,
                                 METH_FASTCALL, NULL};
static PyMethodDef idle_exit = {"__exit__", (PyCFunction)(void (*)(void))idle_nothing,
                                METH_FASTCALL, NULL};

static int set_function(PyObject *target, PyMethodDef *def, PyObject *self, PyObject *module_name)
{
    OWNED function = PyCFunction_NewEx(def, self, module_name);
    return function ? PyObject_SetAttrString(target, def->ml_name, function) : -1;
}

static PyObject *idle_repr(PyObject *Py_UNUSED(self))
{
    return PyUnicode_FromString("<region: nothing captures>");
}

static PyType_Slot idle_slots[] = {
    {Py_tp_doc,
     (void *)"What region() gives while nothing captures: entering and leaving it do nothing."},
    {Py_tp_repr, idle_repr},
    {0, NULL},
};

static PyType_Spec idle_spec = {
    .name = "dew.telemetry.profile._IdleRegion",
    .basicsize = sizeof(PyObject),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .slots = idle_slots,
};

static PyObject *idle_new(void)
{
    OWNED type = PyType_FromSpec(&idle_spec);
    if (!type || set_function(type, &idle_enter, NULL, NULL) < 0 ||
        set_function(type, &idle_exit, NULL, NULL) < 0)
        return NULL;
    allocfunc alloc = (allocfunc)PyType_GetSlot((PyTypeObject *)type, Py_tp_alloc);
    return alloc((PyTypeObject *)type, 0);
}

/* ---- the hub --------------------------------------------------------------------------------- */

static int hub_traverse(PyObject *object, visitproc visit, void *arg)
{
    struct region_hub *hub = (struct region_hub *)object;
    Py_VISIT(Py_TYPE(object));
    Py_VISIT(hub->idle);
    Py_VISIT(hub->span_type);
    Py_VISIT(hub->trace_me);
    Py_VISIT(hub->names);
    return 0;
}

static int hub_clear(PyObject *object)
{
    struct region_hub *hub = (struct region_hub *)object;
    Py_CLEAR(hub->idle);
    Py_CLEAR(hub->span_type);
    Py_CLEAR(hub->trace_me);
    Py_CLEAR(hub->names);
    for (size_t i = 0; i < CHECKED_SLOTS; i++)
        Py_CLEAR(hub->checked[i]);
    return 0;
}

static void hub_dealloc(PyObject *object)
{
    PyTypeObject *type = Py_TYPE(object);
    PyObject_GC_UnTrack(object);
    (void)hub_clear(object);
    freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
    release(object);
    Py_DECREF(type);
}

static PyType_Slot hub_slots[] = {
    {Py_tp_doc, (void *)"What region() remembers."},
    {Py_tp_traverse, hub_traverse},
    {Py_tp_clear, hub_clear},
    {Py_tp_dealloc, hub_dealloc},
    {0, NULL},
};

static PyType_Spec hub_spec = {
    .name = "dew.telemetry.profile._Regions",
    .basicsize = sizeof(struct region_hub),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .slots = hub_slots,
};

static struct region_hub *hub_new(void)
{
    OWNED type = PyType_FromSpec(&hub_spec);
    if (!type)
        return NULL;
    allocfunc alloc = (allocfunc)PyType_GetSlot((PyTypeObject *)type, Py_tp_alloc);
    struct region_hub *hub = (struct region_hub *)alloc((PyTypeObject *)type, 0);
    if (!hub)
        return NULL;
    hub->idle = idle_new();
    hub->span_type = hub->idle ? span_type_new() : NULL;
    hub->names = hub->span_type ? PyDict_New() : NULL;
    if (!hub->names)
        Py_CLEAR(hub);
    return hub;
}

/* ---- region() -------------------------------------------------------------------------------- */

static PyObject *make(struct region_hub *hub, PyObject *name, unsigned owner)
{
    if (hub->checked[hub_slot(name)] != name && check_name(hub, name) < 0)
        return NULL;
    /* A second copy of the module, or another interpreter, has no part in the capture. */
    if (atomic_load_explicit(&owner_capturing, memory_order_relaxed) == 0 || !hub->trace_me)
        return Py_NewRef(hub->idle);
    if (PyUnicode_CheckExact(name))
        return span_new(hub, name, owner);
    OWNED exact = PyUnicode_FromObject(name); /* a subclass may hash and compare as it likes */
    return exact ? span_new(hub, exact, owner) : NULL;
}

/* The unusual ways to call it: by keyword, or wrongly. */
static PyObject *named_argument(PyObject *const *args, Py_ssize_t count, PyObject *keywords)
{
    Py_ssize_t named = keywords ? PyTuple_Size(keywords) : 0;
    if (count + named != 1) {
        PyErr_Format(PyExc_TypeError, "region() takes exactly one argument, the name (%zd given)",
                     count + named);
        return NULL;
    }
    if (named == 1) {
        PyObject *keyword = PyTuple_GetItem(keywords, 0);
        if (PyUnicode_CompareWithASCIIString(keyword, "name") != 0) {
            PyErr_Format(PyExc_TypeError, "region() got an unexpected keyword argument '%U'",
                         keyword);
            return NULL;
        }
    }
    return args[0];
}

static PyObject *region(PyObject *hub, PyObject *const *args, Py_ssize_t count, PyObject *keywords)
{
    PyObject *name;
    if (__builtin_expect(count == 1 && !keywords, 1))
        name = args[0];
    else
        name = named_argument(args, count, keywords);
    return name ? make((struct region_hub *)hub, name, 0) : NULL;
}

PyDoc_STRVAR(region_doc,
             "region(name)\n--\n\n"
             "region(name: str) -> AbstractContextManager[None]\n\n"
             "A context manager that names a span of the running capture.\n\n"
             "    with region(\"input.wait\"):\n"
             "        batch = next(batches)\n\n"
             "The name in the trace is exactly the one given, a str. ValueError where the trace "
             "would\nchange it: it ends in '#', or holds a NUL or a lone surrogate. `as x` gives "
             "None; exceptions\npass through. Without a capture it does nothing and allocates "
             "nothing; what it then\nreturns stays idle, so call it where you enter it.\n\n"
             "Inside a function that jax.jit traces, a region is recorded once, at trace time, "
             "and not when\nthe compiled function runs: use jax.named_scope there.");

static PyMethodDef region_def = {"region", (PyCFunction)(void (*)(void))region,
                                 METH_FASTCALL | METH_KEYWORDS, region_doc};

int region_types_add(PyObject *module, struct module_state *state)
{
    state->regions = (PyObject *)hub_new();
    if (!state->regions)
        return -1;
    OWNED module_name = PyModule_GetNameObject(module);
    return module_name ? set_function(module, &region_def, state->regions, module_name) : -1;
}

/* ---- for captures ---------------------------------------------------------------------------- */

unsigned region_owner_number(void)
{
    static atomic_uint last;
    unsigned number;
    do
        number = atomic_fetch_add(&last, 1) + 1;
    while (number == 0);
    return number;
}

static struct region_hub *hub_of(struct module_state *state)
{
    return (struct region_hub *)state->regions;
}

PyObject *region_new(struct module_state *state, PyObject *name, unsigned owner)
{
    return make(hub_of(state), name, owner);
}

int region_note_started(struct module_state *state, unsigned owner)
{
    struct region_hub *hub = hub_of(state);
    bool raw;
    OWNED trace_me = span_trace_me(&raw);
    OWNED names = trace_me ? PyDict_New() : NULL;
    if (!names)
        return -1;
    replace(&hub->trace_me, STEAL(trace_me));
    replace(&hub->names, STEAL(names));
    hub->trace_me_is_raw = raw;
    hub->owner = owner;
    hub->serial = 0; /* regions left open in the last one are not this one's */
    memset(hub->noted, 0, sizeof(hub->noted));
    return 0;
}

PyObject *region_names(struct module_state *state)
{
    return PyDict_Keys(hub_of(state)->names);
}

PyObject *region_open_names(struct module_state *state)
{
    return span_open_names(hub_of(state));
}
