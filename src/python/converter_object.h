/* SPDX-License-Identifier: Apache-2.0 */
/* converter_object - xprof's converter library as a Python object. */
#ifndef DEW_PYTHON_CONVERTER_OBJECT_H
#define DEW_PYTHON_CONVERTER_OBJECT_H

#include "python/state.h"

/* Makes the type; called while the module is being made. 0, or -1 with an exception. */
int converter_object_types_add(PyObject *module, struct module_state *state);

/* New reference to a _Converter; ImportError where xprof is missing, too old or broken. */
PyObject *converter_object_require(struct module_state *state);

#endif
