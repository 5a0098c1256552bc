/* SPDX-License-Identifier: Apache-2.0 */
/* converter_installed - the converter library of the xprof that is installed: found, tried, opened.
 *
 * xprof's Python is never imported. A version that is not known is tried in a process of its own
 * first, since a library with another interface kills the process that calls it. */
#include "python/converter_installed.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "python/converter_object.h"
#include "xprof/converter.h"
#include "xprof/scratch.h"

#include "base/banned.h"

/* The trial call of a version not seen yet, as a program of its own: the same extension, loaded by
 * its path into a bare interpreter, which then calls its _probe_converter(). */
static const char probe_program[] =
    "import importlib.machinery as m, importlib.util as u, sys\n"
    "s = u.spec_from_file_location('dew.telemetry.profile', sys.argv[1],"
    " loader=m.ExtensionFileLoader('dew.telemetry.profile', sys.argv[1]))\n"
    "p = u.module_from_spec(s)\n"
    "s.loader.exec_module(p)\n"
    "sys.exit(p._probe_converter(sys.argv[2], sys.argv[3]))\n";

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
    CLEANUP(scratch_release) struct scratch scratch = {0};
    int code = scratch_make(NULL, NULL, 0, &scratch, e);
    if (code != 0)
        return code;
    char isolated[] = "-I", no_site[] = "-S", command[] = "-c";
    char *argv[] = {python,    isolated,        no_site,        command, (char *)probe_program,
                    extension, (char *)library, scratch.folder, NULL};
    Py_BEGIN_ALLOW_THREADS
    code = converter_probe_spawned(library, argv, e);
    Py_END_ALLOW_THREADS
    return code;
}

static PyObject *probe_converter(PyObject *Py_UNUSED(module), PyObject *args)
{
    PyObject *library, *folder;
    if (!PyArg_ParseTuple(args, "O&O&", PyUnicode_FSConverter, &library, PyUnicode_FSConverter,
                          &folder))
        return NULL;
    OWNED owned_library = library;
    OWNED owned_folder = folder;
    /* What the library prints there is not the verdict. */
    CLEANUP(cleanup_close) int verdict = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0);
    if (verdict < 0 || dup2(STDERR_FILENO, STDOUT_FILENO) < 0)
        return PyErr_SetFromErrno(PyExc_OSError);
    struct err e;
    int code =
        converter_probe_here(PyBytes_AsString(owned_library), PyBytes_AsString(owned_folder), &e);
    return PyLong_FromLong(converter_probe_report(verdict, code, &e));
}

static PyMethodDef probe_methods[] = {
    {"_probe_converter", probe_converter, METH_VARARGS,
     "Tries a library in this process, which may die of it, and says how it went on fd 1. What the "
     "library prints goes to fd 2."},
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
    return converter_object_new(state, converter);
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

PyObject *converter_require(struct module_state *state)
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

int converter_probe_add(PyObject *module)
{
    return PyModule_AddFunctions(module, probe_methods);
}
