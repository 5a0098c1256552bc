/* SPDX-License-Identifier: Apache-2.0 */
/* converter_object - xprof's converter library as a Python object.
 *
 * Each conversion runs with the interpreter lock free and in a scratch folder of its own, with
 * links to the captures: the library writes caches beside what it reads and answers from them
 * later. */
#include "python/converter_object.h"

#include <string.h>

#include "python/converter_arguments.h"
#include "xprof/scratch.h"

#include "base/banned.h"

struct converter_object {
    PyObject_HEAD struct converter *converter; /* never closed: see converter.h */
};

static struct converter *converter_of(PyObject *object)
{
    return ((struct converter_object *)object)->converter;
}

/* Without the interpreter lock. */
static int convert_in_scratch(const struct converter *converter, const struct capture_paths *paths,
                              const char *name, const struct tool *tool,
                              const struct tool_options *options, struct converter_result *ret,
                              struct err *e)
{
    CLEANUP(scratch_release) struct scratch scratch = {0};
    int code = scratch_make(NULL, paths->items, paths->count, &scratch, e);
    if (code != 0)
        return code;
    const char *const *links = (const char *const *)scratch.paths;
    if (tool->after_names) {
        CLEANUP(converter_names_release) struct converter_names names = {0};
        code = converter_tool_names(converter, links, scratch.count, &names, e);
        if (code != 0)
            return code;
    }
    return converter_call(converter, links, scratch.count, name, options->items, options->count,
                          ret, e);
}

static int names_in_scratch(const struct converter *converter, const struct capture_paths *paths,
                            struct converter_names *ret, struct err *e)
{
    CLEANUP(scratch_release) struct scratch scratch = {0};
    int code = scratch_make(NULL, paths->items, paths->count, &scratch, e);
    if (code != 0)
        return code;
    return converter_tool_names(converter, (const char *const *)scratch.paths, scratch.count, ret,
                                e);
}

PyDoc_STRVAR(
    names_doc,
    "xspace_to_tool_names($self, paths)\n--\n\n"
    "xspace_to_tool_names(paths: Sequence[str | os.PathLike[str]]) -> list[str]\n\n"
    "The tools that have something to say about these captures, in the library's order.\n\n"
    "`paths`: a sequence of .xplane.pb files. Never an empty list: RuntimeError, with the "
    "path,\nthe version and the library's words, where it names none.");

static PyObject *object_names(PyObject *self, PyObject *args, PyObject *kwargs)
{
    static char paths_name[] = "paths";
    static char *keywords[] = {paths_name, NULL};
    PyObject *sequence;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O:xspace_to_tool_names", keywords, &sequence))
        return NULL;
    CLEANUP(capture_paths_release) struct capture_paths paths = {0};
    if (capture_paths_read(&paths, sequence) < 0)
        return NULL;
    CLEANUP(converter_names_release) struct converter_names names = {0};
    struct err e;
    int code;
    Py_BEGIN_ALLOW_THREADS
    code = names_in_scratch(converter_of(self), &paths, &names, &e);
    Py_END_ALLOW_THREADS
    if (code != 0) {
        exception_from_err(PyExc_RuntimeError, &e);
        return NULL;
    }
    OWNED list = PyList_New(0);
    for (size_t i = 0; list && i < names.count; i++) {
        OWNED name = PyUnicode_FromString(names.names[i]);
        if (!name || PyList_Append(list, name) < 0)
            return NULL;
    }
    return STEAL(list);
}

PyDoc_STRVAR(
    data_doc,
    "xspace_to_tool_data($self, paths, tool, params={})\n--\n\n"
    "xspace_to_tool_data(paths: Sequence[str | os.PathLike[str]], tool: str,\n"
    "                    params: Mapping[str, Any] = {}) -> tuple[bytes, str]\n\n"
    "One tool's data for these captures, and its MIME type.\n\n"
    "`paths`: a sequence of .xplane.pb files, one a host. `params`: as\n"
    "xprof.convert.raw_to_tool_data.xspace_to_tool_data takes them, with the same defaults. The "
    "bytes\nare exactly what the library returns, and what that function returns; but "
    "\"trace_viewer\" is the\nlibrary's protobuf (application/octet-stream), which xprof's Python "
    "turns into JSON itself:\n\"trace_viewer@\" is the same trace as JSON.\n\n"
    "Converts in a private temporary folder: no cache appears beside the captures. "
    "\"memory_profile\""
    "\ntakes one path a call. Never empty: RuntimeError, with the path, the tool, the version and "
    "the\nlibrary's words, where the conversion yields nothing.");

/* A copy of the name without an old trailing '^'; NULL with an exception. */
static PyObject *tool_name_of(PyObject *tool)
{
    Py_ssize_t size;
    const char *text = PyUnicode_AsUTF8AndSize(tool, &size);
    if (!text)
        return NULL;
    if (size == 0 || strlen(text) != (size_t)size) {
        PyErr_Format(PyExc_ValueError, "%A is no tool's name", tool);
        return NULL;
    }
    return PyUnicode_FromStringAndSize(text, (Py_ssize_t)tool_name_length(text));
}

static PyObject *object_data(PyObject *self, PyObject *args, PyObject *kwargs)
{
    static char paths_name[] = "paths", tool_name[] = "tool", params_name[] = "params";
    static char *keywords[] = {paths_name, tool_name, params_name, NULL};
    PyObject *sequence, *given, *params = NULL;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OU|O:xspace_to_tool_data", keywords, &sequence,
                                     &given, &params))
        return NULL;
    OWNED kept_name = tool_name_of(given);
    const char *name = kept_name ? PyUnicode_AsUTF8AndSize(kept_name, NULL) : NULL;
    if (!name)
        return NULL;
    CLEANUP(capture_paths_release) struct capture_paths paths = {0};
    CLEANUP(tool_options_release) struct tool_options options = {0};
    const struct tool *tool = tool_find(name);
    if (capture_paths_read(&paths, sequence) < 0 ||
        tool_options_read(&options, name, tool, params) < 0)
        return NULL;
    if (tool->one_host && paths.count > 1) {
        PyErr_Format(PyExc_ValueError,
                     "'%s' takes one host at a time, and %zu paths were given: call it once for "
                     "each path",
                     name, paths.count);
        return NULL;
    }
    CLEANUP(converter_result_release) struct converter_result result = {0};
    struct err e;
    int code;
    Py_BEGIN_ALLOW_THREADS
    code = convert_in_scratch(converter_of(self), &paths, name, tool, &options, &result, &e);
    Py_END_ALLOW_THREADS
    if (code != 0) {
        exception_from_err(PyExc_RuntimeError, &e);
        return NULL;
    }
    if (result.size > PY_SSIZE_T_MAX)
        return PyErr_NoMemory();
    return Py_BuildValue("y#s", result.data, (Py_ssize_t)result.size,
                         tool_options_mime(name, tool, &options));
}

static PyObject *object_library(PyObject *self, void *Py_UNUSED(closure))
{
    return PyUnicode_DecodeFSDefault(converter_library(converter_of(self)));
}

static PyObject *object_version(PyObject *self, void *Py_UNUSED(closure))
{
    return PyUnicode_FromString(converter_version(converter_of(self)));
}

static PyObject *object_repr(PyObject *self)
{
    OWNED library = object_library(self, NULL);
    return library ? PyUnicode_FromFormat("<converter of xprof %s: %R>",
                                          converter_version(converter_of(self)), library)
                   : NULL;
}

static void object_dealloc(PyObject *object)
{
    PyTypeObject *type = Py_TYPE(object);
    PyObject_Free(object);
    Py_DECREF(type);
}

static PyMethodDef object_methods[] = {
    {"xspace_to_tool_names", (PyCFunction)(void (*)(void))object_names,
     METH_VARARGS | METH_KEYWORDS, names_doc},
    {"xspace_to_tool_data", (PyCFunction)(void (*)(void))object_data, METH_VARARGS | METH_KEYWORDS,
     data_doc},
    {NULL},
};

static PyGetSetDef object_attributes[] = {
    {"library", object_library, NULL, "Path of the library, a str.", NULL},
    {"version", object_version, NULL, "Version of the xprof it belongs to, a str.", NULL},
    {NULL},
};

PyDoc_STRVAR(object_doc,
             "xprof's native conversion library, called without xprof's Python.\n\n"
             "The library logs to stderr; opened here it is kept to fatal lines, unless\n"
             "TF_CPP_MIN_LOG_LEVEL is 0, or xprof's own Python has opened it before in this "
             "process.");

static PyType_Slot object_slots[] = {
    {Py_tp_doc, (void *)object_doc},   {Py_tp_repr, object_repr},
    {Py_tp_dealloc, object_dealloc},   {Py_tp_methods, object_methods},
    {Py_tp_getset, object_attributes}, {0, NULL},
};

static PyType_Spec object_spec = {
    .name = "dew.telemetry.profile._Converter",
    .basicsize = sizeof(struct converter_object),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = object_slots,
};

PyObject *converter_object_new(struct module_state *state, struct converter *converter)
{
    struct converter_object *object =
        PyObject_New(struct converter_object, (PyTypeObject *)state->converter_type);
    if (object)
        object->converter = converter;
    return (PyObject *)object;
}

int converter_object_type_add(PyObject *module, struct module_state *state)
{
    state->converter_type = PyType_FromSpec(&object_spec);
    if (!state->converter_type)
        return -1;
    state->module = module;
    return PyModule_AddObjectRef(module, "_Converter", state->converter_type);
}
