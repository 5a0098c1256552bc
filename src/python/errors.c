/* SPDX-License-Identifier: Apache-2.0 */
/* errors - collecting exceptions, and raising them at the end. */
#include "python/errors.h"

#include "base/banned.h"

bool errors_same(PyObject *a, PyObject *b)
{
    OWNED a_text = Py_IS_TYPE(a, Py_TYPE(b)) ? PyObject_Str(a) : NULL;
    OWNED b_text = a_text ? PyObject_Str(b) : NULL;
    bool same = b_text && PyUnicode_Compare(a_text, b_text) == 0;
    if (PyErr_Occurred())
        PyErr_Clear(); /* a foreign __str__ that raises: then they count as different */
    return same;
}

static bool has(PyObject *list, PyObject *exception)
{
    Py_ssize_t count = list ? PyList_Size(list) : 0;
    for (Py_ssize_t i = 0; i < count; i++)
        if (errors_same(PyList_GetItem(list, i), exception))
            return true;
    return false;
}

static void put(struct errors *errors, PyObject *exception)
{
    if (has(errors->list, exception))
        return;
    if (!errors->list)
        errors->list = PyList_New(0);
    /* Without memory for a list the first error is still worth more than none. */
    if (!errors->list || PyList_Append(errors->list, exception) < 0)
        PyErr_Clear();
}

void errors_interrupt(struct errors *errors, PyObject *exception)
{
    if (!errors->interrupt)
        errors->interrupt = exception;
    else
        Py_DECREF(exception);
}

bool errors_take_interrupt(struct errors *errors)
{
    if (!PyErr_Occurred() || PyErr_ExceptionMatches(PyExc_Exception))
        return false;
    errors_interrupt(errors, exception_take());
    return true;
}

void errors_take(struct errors *errors)
{
    if (!PyErr_Occurred() || errors_take_interrupt(errors))
        return;
    OWNED exception = exception_take();
    put(errors, exception);
}

void errors_subtract(struct errors *errors, const struct errors *known)
{
    OWNED before = STEAL(errors->list);
    Py_ssize_t count = before ? PyList_Size(before) : 0;
    for (Py_ssize_t i = 0; i < count; i++)
        if (!has(known->list, PyList_GetItem(before, i)))
            put(errors, PyList_GetItem(before, i));
}

bool errors_any(const struct errors *errors)
{
    return errors->list || errors->interrupt;
}

static PyObject *describe(PyObject *exception)
{
    OWNED name = PyObject_GetAttrString((PyObject *)Py_TYPE(exception), "__name__");
    return name ? PyUnicode_FromFormat("%U: %S", name, exception) : NULL;
}

PyObject *errors_text(const struct errors *errors)
{
    if (!errors_any(errors))
        return Py_NewRef(Py_None);
    OWNED parts = PyList_New(0);
    if (!parts)
        return NULL;
    Py_ssize_t count = errors->list ? PyList_Size(errors->list) : 0;
    for (Py_ssize_t i = 0; i <= count; i++) {
        PyObject *exception = i < count ? PyList_GetItem(errors->list, i) : errors->interrupt;
        if (!exception)
            continue;
        OWNED text = describe(exception);
        if (!text || PyList_Append(parts, text) < 0)
            return NULL;
    }
    OWNED separator = PyUnicode_FromString("; ");
    return separator ? PyUnicode_Join(separator, parts) : NULL;
}

/* Notes that cannot be made (no memory, a foreign __str__ that raises) are left out. */
static void add_notes(PyObject *list, PyObject *onto, const char *doing)
{
    Py_ssize_t count = list ? PyList_Size(list) : 0;
    for (Py_ssize_t i = 0; i < count; i++) {
        OWNED text = describe(PyList_GetItem(list, i));
        OWNED done = text ? py_call_method(onto, "add_note", "(N)",
                                           PyUnicode_FromFormat("%s: %U", doing, text))
                          : NULL;
        if (!done)
            PyErr_Clear();
    }
}

int errors_raise(struct errors *errors, const char *message)
{
    OWNED list = STEAL(errors->list);
    OWNED interrupt = STEAL(errors->interrupt);
    if (interrupt) {
        add_notes(list, interrupt, message);
        exception_raise(STEAL(interrupt));
        return -1;
    }
    if (!list)
        return 0;
    if (PyList_Size(list) == 1) {
        exception_raise(Py_NewRef(PyList_GetItem(list, 0)));
        return -1;
    }
    OWNED type = py_import_attr("builtins", "ExceptionGroup");
    PyObject *group = type ? PyObject_CallFunction(type, "sO", message, list) : NULL;
    if (group)
        exception_raise(group);
    return -1;
}

int errors_raise_onto(struct errors *errors, PyObject *body, const char *doing)
{
    if (errors->interrupt)
        return errors_raise(errors, doing);
    add_notes(errors->list, body, doing);
    Py_CLEAR(errors->list);
    return 0;
}

void errors_release(struct errors *errors)
{
    Py_CLEAR(errors->list);
    Py_CLEAR(errors->interrupt);
}
