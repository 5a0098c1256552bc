/* SPDX-License-Identifier: Apache-2.0 */
/* py - Python.h as this extension sees it, and the few helpers that every file here wants.
 *
 * The only place that includes Python.h, and the only place with conditions on Python's version:
 * the extension is one stable-ABI file for 3.11 and later. Left out on purpose: anything that needs
 * more than the limited API of 3.11. */
#ifndef DEW_PYTHON_PY_H
#define DEW_PYTHON_PY_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <structmember.h>

#include "base/cleanup.h"
#include "base/err.h"

/* The headers of 3.12 return the constants without a new reference, since they are immortal there,
 * even when compiling for 3.11, where they are not. */
#undef Py_RETURN_NONE
#undef Py_RETURN_TRUE
#undef Py_RETURN_FALSE
#undef Py_RETURN_NOTIMPLEMENTED
#define Py_RETURN_NONE return Py_NewRef(Py_None)
#define Py_RETURN_TRUE return Py_NewRef(Py_True)
#define Py_RETURN_FALSE return Py_NewRef(Py_False)
#define Py_RETURN_NOTIMPLEMENTED return Py_NewRef(Py_NotImplemented)

static inline void cleanup_py(PyObject **object)
{
    Py_CLEAR(*object);
}

/* A reference that is given up when the variable goes out of scope. */
#define OWNED __attribute__((unused)) CLEANUP(cleanup_py) PyObject *

/* The current exception, normalized, with its traceback attached: new reference, the error
 * indicator is then clear. NULL where none is set. */
PyObject *exception_take(void);

/* Sets `exception` (stolen) as the current one. */
void exception_raise(PyObject *exception);

/* Raises what a core layer reported: MemoryError, OSError with errno and path, or `type`. */
void exception_from_err(PyObject *type, const struct err *e);

/* getattr(import(module), name): new reference. */
PyObject *py_import_attr(const char *module, const char *name);

/* object.name as a new reference; NULL, without an exception, where there is none or `object` is
 * NULL.
 */
PyObject *py_attr_or_null(PyObject *object, const char *name);

/* object.name(), object.name(argument): new references. */
PyObject *py_call_method(PyObject *object, const char *name, const char *format, ...);

#endif
