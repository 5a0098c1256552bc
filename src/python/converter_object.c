/* SPDX-License-Identifier: Apache-2.0 */
/* converter_object - xprof's converter library as a Python object.
 *
 * Owns one opened library (src/xprof) a module, and what turns Python's arguments into its. Each
 * conversion runs with the interpreter lock free and in a scratch folder of its own, with links to
 * the captures: the library writes caches beside what it reads and answers from them later. */
#include "python/converter_object.h"

#include <limits.h>
#include <string.h>

#include "xprof/converter.h"
#include "xprof/scratch.h"
#include "xprof/tool.h"

#include "base/banned.h"

#define PARAMS_MAX 128

struct converter_object {
    PyObject_HEAD struct converter *converter; /* never closed: see converter.h */
};

static struct converter *converter_of(PyObject *object)
{
    return ((struct converter_object *)object)->converter;
}

/* ---- arguments ------------------------------------------------------------------------------- */

/* File system paths as C strings, each borrowed from `keep`, which owns the bytes objects. */
struct paths {
    PyObject *keep;
    const char **items;
    size_t count;
};

static void paths_release(struct paths *paths)
{
    Py_CLEAR(paths->keep);
    PyMem_Free(paths->items);
}

static int paths_add(struct paths *paths, PyObject *path)
{
    PyObject *bytes;
    if (!PyUnicode_FSConverter(path, &bytes)) /* refuses NUL and what is no path */
        return -1;
    OWNED owned = bytes;
    char *text = PyBytes_AsString(owned);
    if (!text || PyList_Append(paths->keep, owned) < 0)
        return -1;
    paths->items[paths->count++] = text;
    return 0;
}

static int paths_read(struct paths *paths, PyObject *sequence)
{
    if (PyUnicode_Check(sequence) || PyBytes_Check(sequence)) {
        PyErr_SetString(PyExc_TypeError, "paths must be a sequence of paths, not one path");
        return -1;
    }
    OWNED list = PySequence_List(sequence);
    paths->keep = list ? PyList_New(0) : NULL;
    if (!paths->keep)
        return -1;
    Py_ssize_t count = PyList_Size(list);
    if (count == 0) {
        PyErr_SetString(PyExc_ValueError, "paths is empty: name at least one .xplane.pb file");
        return -1;
    }
    paths->items = PyMem_Calloc((size_t)count, sizeof(*paths->items));
    if (!paths->items) {
        PyErr_NoMemory();
        return -1;
    }
    for (Py_ssize_t i = 0; i < count; i++)
        if (paths_add(paths, PyList_GetItem(list, i)) < 0)
            return -1;
    return 0;
}

/* Options for the library; the texts are borrowed from `keep`. */
struct options {
    PyObject *keep;
    struct converter_option items[PARAMS_MAX];
    size_t count;
};

static void options_release(struct options *options)
{
    Py_CLEAR(options->keep);
}

static struct converter_option *options_slot(struct options *options, const char *key)
{
    for (size_t i = 0; i < options->count; i++)
        if (strcmp(options->items[i].key, key) == 0)
            return &options->items[i];
    if (options->count == PARAMS_MAX) {
        PyErr_Format(PyExc_ValueError, "more than %d options for one conversion", PARAMS_MAX);
        return NULL;
    }
    return &options->items[options->count++];
}

static const char *kept_text(struct options *options, PyObject *text)
{
    Py_ssize_t size;
    const char *utf8 = PyUnicode_AsUTF8AndSize(text, &size);
    if (!utf8)
        return NULL;
    if (strlen(utf8) != (size_t)size) {
        PyErr_Format(PyExc_ValueError, "option %R holds a NUL character", text);
        return NULL;
    }
    return PyList_Append(options->keep, text) < 0 ? NULL : utf8;
}

static void options_remove(struct options *options, const char *key)
{
    for (size_t i = 0; i < options->count; i++)
        if (strcmp(options->items[i].key, key) == 0) {
            options->count--;
            memmove(&options->items[i], &options->items[i + 1],
                    (options->count - i) * sizeof(options->items[0]));
            return;
        }
}

/* xprof's own front end leaves out None and containers, silently; so does this, since its bytes
 * are what ours must equal. `value` NULL: not given. */
static int options_put(struct options *options, PyObject *key, PyObject *value)
{
    const char *name = kept_text(options, key);
    if (!name)
        return -1;
    if (value == Py_None || PyList_Check(value) || PyTuple_Check(value) || PyDict_Check(value)) {
        options_remove(options, name);
        return 0;
    }
    struct converter_option option = {.key = name};
    if (PyBool_Check(value)) {
        option.type = OPTION_BOOL;
        option.flag = value == Py_True;
    } else if (PyLong_Check(value)) {
        long number = PyLong_AsLong(value);
        if (number == -1 && PyErr_Occurred())
            return -1;
        if (number < INT_MIN || number > INT_MAX) {
            PyErr_Format(PyExc_OverflowError, "option '%s' is %ld, beyond the library's int", name,
                         number);
            return -1;
        }
        option.type = OPTION_INT;
        option.number = (int)number;
    } else if (PyUnicode_Check(value)) {
        option.type = OPTION_STRING;
        option.text = kept_text(options, value);
        if (!option.text)
            return -1;
    } else {
        OWNED type = PyType_GetName(Py_TYPE(value));
        if (type)
            PyErr_Format(PyExc_TypeError, "option '%s' must be bool, int or str, not %U", name,
                         type);
        return -1;
    }
    struct converter_option *slot = options_slot(options, name);
    if (!slot)
        return -1;
    *slot = option;
    return 0;
}

static int options_put_all(struct options *options, PyObject *mapping)
{
    OWNED items = PyMapping_Items(mapping);
    for (Py_ssize_t i = 0; items && i < PyList_Size(items); i++) {
        PyObject *key, *value;
        if (!PyArg_ParseTuple(PyList_GetItem(items, i), "UO", &key, &value) ||
            options_put(options, key, value) < 0)
            return -1;
    }
    return items ? 0 : -1;
}

/* params[from] under the library's own name for it, where it is given. */
static int options_take(struct options *options, PyObject *params, const char *from, const char *to)
{
    OWNED value = PyMapping_GetItemString(params, from);
    if (!value) {
        if (!PyErr_ExceptionMatches(PyExc_KeyError))
            return -1;
        PyErr_Clear();
        return 0;
    }
    OWNED key = PyUnicode_FromString(to);
    return key ? options_put(options, key, value) : -1;
}

static int options_take_mapping(struct options *options, PyObject *params, const char *from)
{
    OWNED value = PyMapping_GetItemString(params, from);
    if (value)
        return options_put_all(options, value);
    if (!PyErr_ExceptionMatches(PyExc_KeyError))
        return -1;
    PyErr_Clear();
    return 0;
}

/* Which of the caller's parameters xprof's front end hands on for which tool. */
static const struct {
    const char *tool; /* NULL: every tool that has use_saved_result */
    const char *from;
    const char *to;
} handed_on[] = {
    {NULL, "use_saved_result", "use_saved_result"},
    {"trace_viewer@", "hosts", "hosts"},
    {"op_profile", "group_by", "group_by"},
    {"hlo_op_profile", "group_by", "group_by"},
    {"memory_viewer", "module_name", "module_name"},
    {"memory_viewer", "program_id", "program_id"},
    {"memory_viewer", "view_memory_allocation_timeline", "view_memory_allocation_timeline"},
    {"memory_viewer", "memory_space", "memory_space"},
    {"megascale_stats", "host", "host_name"},
    {"megascale_stats", "perfetto", "perfetto"},
    {"smart_suggestion", "refresh_suggestion", "refresh_suggestion"},
};

static const struct {
    const char *tool;
    const char *from;
} handed_on_whole[] = {
    {"trace_viewer", "trace_viewer_options"},
    {"trace_viewer@", "trace_viewer_options"},
    {"graph_viewer", "graph_viewer_options"},
};

static bool has_saved_result(const struct tool *tool)
{
    return tool->n_options > 0 && strcmp(tool->options[0].key, "use_saved_result") == 0;
}

static int options_read(struct options *options, const char *name, const struct tool *tool,
                        PyObject *params)
{
    options->keep = PyList_New(0);
    if (!options->keep)
        return -1;
    memcpy(options->items, tool->options, tool->n_options * sizeof(*tool->options));
    options->count = tool->n_options;
    if (!params)
        return 0;
    for (size_t i = 0; i < sizeof(handed_on_whole) / sizeof(*handed_on_whole); i++)
        if (strcmp(handed_on_whole[i].tool, name) == 0 &&
            options_take_mapping(options, params, handed_on_whole[i].from) < 0)
            return -1;
    for (size_t i = 0; i < sizeof(handed_on) / sizeof(*handed_on); i++) {
        const char *row = handed_on[i].tool;
        if ((row ? strcmp(row, name) == 0 : has_saved_result(tool)) &&
            options_take(options, params, handed_on[i].from, handed_on[i].to) < 0)
            return -1;
    }
    return strcmp(name, "kernel_utilization") == 0 ? options_put_all(options, params) : 0;
}

/* ---- results --------------------------------------------------------------------------------- */

static const struct converter_option *option_named(const struct options *options, const char *key)
{
    for (size_t i = 0; i < options->count; i++)
        if (strcmp(options->items[i].key, key) == 0)
            return &options->items[i];
    return NULL;
}

static bool option_is_text(const struct options *options, const char *key, const char *text)
{
    const struct converter_option *option = option_named(options, key);
    return option && option->type == OPTION_STRING && strcmp(option->text, text) == 0;
}

static bool option_is_on(const struct options *options, const char *key)
{
    const struct converter_option *option = option_named(options, key);
    return option && option->type == OPTION_BOOL && option->flag;
}

/* The MIME type that xprof's front end gives for this tool with these options. */
static const char *mime_of(const char *name, const struct tool *tool, const struct options *options)
{
    static const char *const downloads[] = {"pb", "pbtxt", "json", "short_txt", "long_txt"};
    if (strcmp(name, "graph_viewer") == 0) {
        for (size_t i = 0; i < sizeof(downloads) / sizeof(*downloads); i++)
            if (option_is_text(options, "type", downloads[i]))
                return MIME_BYTES;
        if (option_is_text(options, "type", "graph"))
            return MIME_HTML;
    }
    if (strcmp(name, "trace_viewer@") == 0 && option_is_text(options, "format", "pb"))
        return MIME_BYTES;
    if (strcmp(name, "memory_viewer") == 0 &&
        option_is_on(options, "view_memory_allocation_timeline"))
        return MIME_HTML;
    if (strcmp(name, "megascale_stats") == 0 && option_is_on(options, "perfetto"))
        return MIME_BYTES;
    return tool->mime;
}

/* Without the interpreter lock. */
static int convert_in_scratch(const struct converter *converter, const struct paths *paths,
                              const char *name, const struct tool *tool,
                              const struct options *options, struct converter_result *ret,
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

static int names_in_scratch(const struct converter *converter, const struct paths *paths,
                            struct converter_names *ret, struct err *e)
{
    CLEANUP(scratch_release) struct scratch scratch = {0};
    int code = scratch_make(NULL, paths->items, paths->count, &scratch, e);
    if (code != 0)
        return code;
    return converter_tool_names(converter, (const char *const *)scratch.paths, scratch.count, ret,
                                e);
}

/* ---- methods --------------------------------------------------------------------------------- */

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
    CLEANUP(paths_release) struct paths paths = {0};
    if (paths_read(&paths, sequence) < 0)
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
    CLEANUP(paths_release) struct paths paths = {0};
    CLEANUP(options_release) struct options options = {0};
    const struct tool *tool = tool_find(name);
    if (paths_read(&paths, sequence) < 0 || options_read(&options, name, tool, params) < 0)
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
                         mime_of(name, tool, &options));
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

/* ---- finding and opening --------------------------------------------------------------------- */

/* The trial call of a version not seen yet, as a program of its own: the same extension, loaded by
 * its path into a bare interpreter, which then calls its _probe_converter(). */
static const char probe_program[] =
    "import importlib.machinery as m, importlib.util as u, sys\n"
    "s = u.spec_from_file_location('dew.telemetry.profile', sys.argv[1],"
    " loader=m.ExtensionFileLoader('dew.telemetry.profile', sys.argv[1]))\n"
    "p = u.module_from_spec(s)\n"
    "s.loader.exec_module(p)\n"
    "sys.exit(p._probe_converter(sys.argv[2]))\n";

/* A copy of sys.executable or of the extension's own path: both are needed without the lock. */
static char *text_copy(PyObject *text)
{
    PyObject *bytes;
    if (!text || text == Py_None || !PyUnicode_FSConverter(text, &bytes))
        return NULL;
    OWNED owned = bytes;
    const char *data = PyBytes_AsString(owned);
    return data ? strdup(data) : NULL;
}

static int probe_in_python(const char *library, void *context, struct err *e)
{
    PyObject *module = context;
    OWNED file = PyModule_GetFilenameObject(module);
    CLEANUP(cleanup_free) char *extension = text_copy(file);
    CLEANUP(cleanup_free) char *python = text_copy(PySys_GetObject("executable"));
    PyErr_Clear();
    if (!extension || !python || !*python)
        return err_set(e, ERR_UNSUPPORTED,
                       "there is no sys.executable to run it; install a version that is known, or "
                       "a newer dew-telemetry-profile");
    char isolated[] = "-I", no_site[] = "-S", command[] = "-c";
    char *argv[] = {python,    isolated,        no_site, command, (char *)probe_program,
                    extension, (char *)library, NULL};
    int code;
    Py_BEGIN_ALLOW_THREADS
    code = converter_probe_spawned(library, argv, e);
    Py_END_ALLOW_THREADS
    return code;
}

static PyObject *probe_converter(PyObject *Py_UNUSED(module), PyObject *library)
{
    PyObject *bytes;
    if (!PyUnicode_FSConverter(library, &bytes))
        return NULL;
    OWNED owned = bytes;
    struct err e;
    int code = converter_probe_here(PyBytes_AsString(owned), &e);
    return PyLong_FromLong(converter_probe_report(STDOUT_FILENO, code, &e));
}

static PyMethodDef probe_methods[] = {
    {"_probe_converter", probe_converter, METH_O,
     "Tries a library in this process, which may die of it, and says how it went on fd 1."},
    {NULL},
};

/* The folder of the installed xprof package, found without importing it: new reference to a str, or
 * None where it is not installed. */
static PyObject *package_folder(void)
{
    OWNED find_spec = py_import_attr("importlib.util", "find_spec");
    OWNED spec = find_spec ? PyObject_CallFunction(find_spec, "s", "xprof") : NULL;
    if (!spec || spec == Py_None)
        return STEAL(spec);
    OWNED places = PyObject_GetAttrString(spec, "submodule_search_locations");
    if (!places || places == Py_None)
        return STEAL(places);
    OWNED list = PySequence_List(places);
    if (!list)
        return NULL;
    return Py_NewRef(PyList_Size(list) > 0 ? PyList_GetItem(list, 0) : Py_None);
}

static PyObject *find_and_open(PyObject *module, const char *hint, struct module_state *state)
{
    CLEANUP(cleanup_free) char *library = NULL;
    CLEANUP(cleanup_free) char *version = NULL;
    struct err e;
    struct converter *converter;
    struct converter_how how = {.quiet = true, .probe = probe_in_python, .probe_context = module};
    if (converter_find(hint, &library, &version, &e) != 0 ||
        converter_open(library, version, &how, &converter, &e) != 0) {
        exception_from_err(PyExc_ImportError, &e);
        return NULL;
    }
    struct converter_object *object =
        PyObject_New(struct converter_object, (PyTypeObject *)state->converter_type);
    if (object)
        object->converter = converter;
    return (PyObject *)object;
}

static PyObject *open_installed(struct module_state *state)
{
    const char *named = getenv("DEW_PROFILE_CONVERTER");
    if (named && *named)
        return find_and_open(state->module, NULL, state);
    OWNED folder = package_folder();
    if (!folder)
        return NULL;
    if (folder == Py_None) {
        PyErr_SetString(
            PyExc_ImportError,
            "xprof is not installed for this Python; install it with: " CONVERTER_INSTALL);
        return NULL;
    }
    PyObject *bytes;
    if (!PyUnicode_FSConverter(folder, &bytes))
        return NULL;
    OWNED owned = bytes;
    return find_and_open(state->module, PyBytes_AsString(owned), state);
}

PyObject *converter_object_require(struct module_state *state)
{
    /* Opened once a module: opening again would give the same library, after another probe. */
    if (!state->converter) {
        PyObject *opened = open_installed(state);
        if (!opened)
            return NULL;
        if (state->converter) /* another thread was faster */
            Py_DECREF(opened);
        else
            state->converter = opened;
    }
    return Py_NewRef(state->converter);
}

int converter_object_types_add(PyObject *module, struct module_state *state)
{
    state->converter_type = PyType_FromSpec(&object_spec);
    if (!state->converter_type || PyModule_AddFunctions(module, probe_methods) < 0)
        return -1;
    state->module = module;
    return PyModule_AddObjectRef(module, "_Converter", state->converter_type);
}
