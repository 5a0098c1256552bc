/* SPDX-License-Identifier: Apache-2.0 */
/* converter_arguments - what a caller of _Converter gives, as xprof's library takes it.
 *
 * Owns the tables of what xprof's own front end hands on to which tool: the same call must give the
 * same bytes. */
#include "python/converter_arguments.h"

#include <limits.h>
#include <string.h>

#include "base/banned.h"

void capture_paths_release(struct capture_paths *paths)
{
    Py_CLEAR(paths->keep);
    PyMem_Free(paths->items);
}

static int paths_add(struct capture_paths *paths, PyObject *path)
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

int capture_paths_read(struct capture_paths *paths, PyObject *sequence)
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

void tool_options_release(struct tool_options *options)
{
    Py_CLEAR(options->keep);
}

static struct converter_option *options_slot(struct tool_options *options, const char *key)
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

static const char *kept_text(struct tool_options *options, PyObject *text)
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

static void options_remove(struct tool_options *options, const char *key)
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
static int options_put(struct tool_options *options, PyObject *key, PyObject *value)
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

static int options_put_all(struct tool_options *options, PyObject *mapping)
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
static int options_take(struct tool_options *options, PyObject *params, const char *from,
                        const char *to)
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

static int options_take_mapping(struct tool_options *options, PyObject *params, const char *from)
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

int tool_options_read(struct tool_options *options, const char *name, const struct tool *tool,
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

static const struct converter_option *option_named(const struct tool_options *options,
                                                   const char *key)
{
    for (size_t i = 0; i < options->count; i++)
        if (strcmp(options->items[i].key, key) == 0)
            return &options->items[i];
    return NULL;
}

static bool option_is_text(const struct tool_options *options, const char *key, const char *text)
{
    const struct converter_option *option = option_named(options, key);
    return option && option->type == OPTION_STRING && strcmp(option->text, text) == 0;
}

static bool option_is_on(const struct tool_options *options, const char *key)
{
    const struct converter_option *option = option_named(options, key);
    return option && option->type == OPTION_BOOL && option->flag;
}

const char *tool_options_mime(const char *name, const struct tool *tool,
                              const struct tool_options *options)
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
