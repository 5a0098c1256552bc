/* SPDX-License-Identifier: Apache-2.0 */
/* py - helpers over the limited API. */
#include "python/py.h"

#include <stdarg.h>
#include <string.h>

#include "base/banned.h"

/* PyErr_Fetch is deprecated since 3.12, and its successor is not in the limited API of 3.11. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
PyObject *exception_take(void)
{
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    if (!type)
        return NULL;
    PyErr_NormalizeException(&type, &value, &traceback);
    if (traceback)
        (void)PyException_SetTraceback(value, traceback);
    Py_XDECREF(traceback);
    Py_XDECREF(type);
    return value;
}

void exception_raise(PyObject *exception)
{
    PyObject *type = (PyObject *)Py_TYPE(exception);
    PyErr_Restore(Py_NewRef(type), exception, PyException_GetTraceback(exception));
}
#pragma GCC diagnostic pop

/* Paths in it may be any bytes, and its end may be cut within a character. */
static PyObject *text_of(const struct err *e)
{
    size_t size = strlen(e->text);
    Py_ssize_t whole;
    OWNED start =
        PyUnicode_DecodeUTF8Stateful(e->text, (Py_ssize_t)size, "surrogateescape", &whole);
    return start && size + 1 < ERR_TEXT_MAX
               ? PyUnicode_DecodeUTF8(e->text, (Py_ssize_t)size, "surrogateescape")
               : STEAL(start);
}

void exception_from_err(PyObject *type, const struct err *e)
{
    if (e->code == ERR_MEMORY) {
        PyErr_NoMemory();
        return;
    }
    OWNED text = text_of(e);
    if (!text)
        return;
    if (e->code != ERR_IO) {
        PyErr_SetObject(type, text);
        return;
    }
    /* OSError picks its subclass by the number; the text already ends in strerror's words. */
    OWNED exception = PyObject_CallFunction(PyExc_OSError, "iO", e->sys_errno, text);
    if (exception)
        PyErr_SetObject((PyObject *)Py_TYPE(exception), exception);
}

PyObject *py_import_attr(const char *module, const char *name)
{
    OWNED imported = PyImport_ImportModule(module);
    return imported ? PyObject_GetAttrString(imported, name) : NULL;
}

PyObject *py_attr_or_null(PyObject *object, const char *name)
{
    PyObject *value = object ? PyObject_GetAttrString(object, name) : NULL;
    if (!value)
        PyErr_Clear();
    return value;
}

PyObject *py_call_method(PyObject *object, const char *name, const char *format, ...)
{
    OWNED method = PyObject_GetAttrString(object, name);
    if (!method)
        return NULL;
    va_list args;
    va_start(args, format);
    OWNED packed = Py_VaBuildValue(format, args);
    va_end(args);
    return packed ? PyObject_CallObject(method, packed) : NULL;
}
