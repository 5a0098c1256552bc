/* SPDX-License-Identifier: Apache-2.0 */
/* state - what one copy of the module owns: its types and the objects it keeps.
 *
 * Every field but `module` is an owned reference, NULL until made. module.c's traverse and clear
 * list the same fields in the same order. What belongs to the process and not to the module is in
 * owner.h. */
#ifndef DEW_PYTHON_STATE_H
#define DEW_PYTHON_STATE_H

#include <stdbool.h>

#include "python/py.h"

struct module_state {
    PyObject *module; /* borrowed: the module owns this state */
    PyTypeObject *profiler_type;
    PyObject *converter_type;
    PyObject *active;    /* the Profiler whose capture runs, or NULL; see profiler_active() */
    PyObject *converter; /* the _Converter, once it was found, or NULL */
    PyObject *exit_hook; /* what atexit calls, or NULL before the first start */
    PyObject *regions;   /* what region() is bound to: a struct region_hub */
};

/* The state of the module that `type` or one of its bases was made by. */
struct module_state *state_of_type(PyTypeObject *type);

static inline struct module_state *state_of_module(PyObject *module)
{
    return PyModule_GetState(module);
}

#endif
