/* SPDX-License-Identifier: Apache-2.0 */
/* exporter_program - where dew-profile is. */
#include "python/exporter.h"

#include <string.h>
#include <unistd.h>

#include "base/banned.h"

#define DISTRIBUTION "dew-telemetry-profile"
#define PROGRAM "dew-profile"

static bool is_program(PyObject *path)
{
    OWNED bytes = PyUnicode_EncodeFSDefault(path);
    const char *text = bytes ? PyBytes_AsString(bytes) : NULL;
    if (!text)
        PyErr_Clear();
    return text && access(text, X_OK) == 0;
}

/* The file of that name which the distribution installed: new reference to a str, or NULL without
 * an exception. */
static PyObject *from_distribution(void)
{
    OWNED find = py_import_attr("importlib.metadata", "distribution");
    OWNED distribution = find ? PyObject_CallFunction(find, "s", DISTRIBUTION) : NULL;
    OWNED files = distribution ? PyObject_GetAttrString(distribution, "files") : NULL;
    OWNED iterator = files && files != Py_None ? PyObject_GetIter(files) : NULL;
    PyObject *next;
    while (iterator && (next = PyIter_Next(iterator))) {
        OWNED file = next;
        OWNED name = PyObject_GetAttrString(file, "name");
        if (!name || PyUnicode_CompareWithASCIIString(name, PROGRAM) != 0)
            continue;
        OWNED located = py_call_method(file, "locate", "()");
        OWNED path = located ? PyObject_Str(located) : NULL;
        if (path && is_program(path))
            return STEAL(path);
    }
    PyErr_Clear();
    return NULL;
}

static PyObject *from_scripts(void)
{
    OWNED get_path = py_import_attr("sysconfig", "get_path");
    OWNED folder = get_path ? PyObject_CallFunction(get_path, "s", "scripts") : NULL;
    OWNED path = folder ? PyUnicode_FromFormat("%U/" PROGRAM, folder) : NULL;
    if (path && is_program(path))
        return STEAL(path);
    PyErr_Clear();
    return NULL;
}

static PyObject *from_search(void)
{
    OWNED which = py_import_attr("shutil", "which");
    OWNED path = which ? PyObject_CallFunction(which, "s", PROGRAM) : NULL;
    if (path && path != Py_None)
        return STEAL(path);
    PyErr_Clear();
    return NULL;
}

/* $DEW_PROFILE_PROGRAM: new reference, to None where it is not set or empty. */
static PyObject *from_environment(void)
{
    OWNED variables = py_import_attr("os", "environ");
    OWNED named = variables ? py_call_method(variables, "get", "(s)", "DEW_PROFILE_PROGRAM") : NULL;
    return named && named != Py_None && PyUnicode_GetLength(named) == 0 ? Py_NewRef(Py_None)
                                                                        : STEAL(named);
}

PyObject *exporter_program(void)
{
    OWNED path = from_environment();
    if (!path)
        return NULL;
    if (path != Py_None) {
        if (is_program(path))
            return PyUnicode_EncodeFSDefault(path);
        PyErr_Format(PyExc_FileNotFoundError,
                     "DEW_PROFILE_PROGRAM names '%U', which is no program that can be run", path);
        return NULL;
    }
    Py_CLEAR(path);
    if (!(path = from_distribution()) && !(path = from_scripts()) && !(path = from_search())) {
        PyErr_SetString(PyExc_FileNotFoundError,
                        "the program " PROGRAM " was not found; install " DISTRIBUTION
                        " again, or name the program in DEW_PROFILE_PROGRAM");
        return NULL;
    }
    return PyUnicode_EncodeFSDefault(path);
}
