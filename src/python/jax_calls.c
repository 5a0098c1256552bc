/* SPDX-License-Identifier: Apache-2.0 */
/* jax_calls - what JAX says about itself: versions, backend, processes, options. */
#include "python/jax_calls.h"

#include "base/banned.h"

int jax_import(void)
{
    OWNED profiler = PyImport_ImportModule("jax.profiler");
    return profiler ? 0 : -1;
}

PyObject *jax_default_backend(void)
{
    OWNED function = py_import_attr("jax", "default_backend");
    return function ? PyObject_CallNoArgs(function) : NULL;
}

PyObject *jax_new_options(void)
{
    OWNED type = py_import_attr("jax.profiler", "ProfileOptions");
    return type ? PyObject_CallNoArgs(type) : NULL;
}

int jax_is_options(PyObject *object)
{
    OWNED modules = py_import_attr("sys", "modules");
    if (!modules)
        return -1;
    OWNED type = py_attr_or_null(PyDict_GetItemString(modules, "jax.profiler"), "ProfileOptions");
    if (!type)
        return 0;
    int is = PyObject_IsInstance(object, type);
    if (is != 0)
        return is;
    /* JAX takes the native base class too. */
    OWNED base = py_attr_or_null(type, "__base__");
    return base && base != (PyObject *)&PyBaseObject_Type ? PyObject_IsInstance(object, base) : 0;
}

static int refuse_unknown_options(PyObject *options)
{
    OWNED extra = py_attr_or_null(options, "__dict__");
    Py_ssize_t count = extra && PyDict_Check(extra) ? PyDict_Size(extra) : 0;
    if (count == 0)
        return 0;
    OWNED names = PyDict_Keys(extra);
    if (names)
        PyErr_Format(PyExc_ValueError,
                     "options has %R, which jax.profiler.ProfileOptions does not know and would "
                     "ignore; check the spelling",
                     names);
    return -1;
}

PyObject *jax_option_values(PyObject *options)
{
    if (refuse_unknown_options(options) < 0)
        return NULL;
    OWNED names = PyObject_Dir(options);
    OWNED values = PyDict_New();
    if (!names || !values)
        return NULL;
    Py_ssize_t count = PyList_Size(names);
    for (Py_ssize_t i = 0; i < count; i++) {
        OWNED name = PyObject_Str(PyList_GetItem(names, i));
        const char *text = name ? PyUnicode_AsUTF8AndSize(name, NULL) : NULL;
        if (!text)
            return NULL;
        if (*text == '_')
            continue;
        OWNED value = PyObject_GetAttr(options, name);
        if (!value)
            return NULL;
        if (!PyCallable_Check(value) && PyDict_SetItem(values, name, value) < 0)
            return NULL;
    }
    return STEAL(values);
}

/* {kind: how many} */
static PyObject *count_kinds(PyObject *devices)
{
    OWNED counts = PyDict_New();
    OWNED iterator = counts ? PyObject_GetIter(devices) : NULL;
    if (!iterator)
        return NULL;
    PyObject *next;
    while ((next = PyIter_Next(iterator))) {
        OWNED device = next;
        OWNED kind = PyObject_GetAttrString(device, "device_kind");
        if (!kind)
            return NULL;
        PyObject *before = PyDict_GetItemWithError(counts, kind);
        OWNED after = PyLong_FromLong((before ? PyLong_AsLong(before) : 0) + 1);
        if (PyErr_Occurred() || !after || PyDict_SetItem(counts, kind, after) < 0)
            return NULL;
    }
    return PyErr_Occurred() ? NULL : STEAL(counts);
}

PyObject *jax_describe_backend(void)
{
    OWNED jax = PyImport_ImportModule("jax");
    if (!jax)
        return NULL;
    OWNED platform = py_call_method(jax, "default_backend", "()");
    OWNED devices = platform ? py_call_method(jax, "devices", "()") : NULL;
    OWNED local = devices ? py_call_method(jax, "local_devices", "()") : NULL;
    OWNED kinds = local ? count_kinds(devices) : NULL;
    if (!kinds)
        return NULL;
    return Py_BuildValue("{s:O,s:O,s:n,s:n}", "platform", platform, "device_kinds", kinds,
                         "devices", PyObject_Size(devices), "local_devices", PyObject_Size(local));
}

static int call_for_long(PyObject *object, const char *name, long *ret)
{
    OWNED value = py_call_method(object, name, "()");
    long number = value ? PyLong_AsLong(value) : -1;
    if (PyErr_Occurred())
        return -1;
    *ret = number;
    return 0;
}

int jax_process(long *ret_index, long *ret_count)
{
    OWNED jax = PyImport_ImportModule("jax");
    if (!jax || call_for_long(jax, "process_index", ret_index) < 0)
        return -1;
    return call_for_long(jax, "process_count", ret_count);
}

PyObject *jax_versions(void)
{
    OWNED jax = py_import_attr("jax", "__version__");
    OWNED jaxlib = jax ? py_import_attr("jaxlib", "__version__") : NULL;
    return jaxlib ? Py_BuildValue("{s:O,s:O}", "jax", jax, "jaxlib", jaxlib) : NULL;
}
