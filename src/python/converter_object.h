/* SPDX-License-Identifier: Apache-2.0 */
/* converter_object - xprof's converter library as a Python object. */
#ifndef DEW_PYTHON_CONVERTER_OBJECT_H
#define DEW_PYTHON_CONVERTER_OBJECT_H

#include "python/state.h"
#include "xprof/converter.h"

/* Makes the type; called while the module is being made. 0, or -1 with an exception. */
must_check int converter_object_type_add(PyObject *module, struct module_state *state);

/* A new _Converter for a library that was opened; NULL with an exception. */
PyObject *converter_object_new(struct module_state *state, struct converter *converter);

#endif
