/* SPDX-License-Identifier: Apache-2.0 */
/* profiler - the Profiler class. */
#ifndef DEW_PYTHON_PROFILER_H
#define DEW_PYTHON_PROFILER_H

#include "python/state.h"

/* Makes the type and adds it to the module. 0, or -1 with an exception. */
int profiler_type_add(PyObject *module, struct module_state *state);

/* profile(directory=None, *, options=None) */
PyObject *profiler_new(struct module_state *state, PyObject *args, PyObject *kwargs);

#endif
