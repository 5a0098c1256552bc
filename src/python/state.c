/* SPDX-License-Identifier: Apache-2.0 */
/* state - how a type leads to the module it belongs to. */
#include "python/state.h"

#include "base/banned.h"

struct module_state *state_of_type(PyTypeObject *type)
{
    /* Subclasses made in Python belong to no module of ours. */
    for (PyTypeObject *base = type; base; base = PyType_GetSlot(base, Py_tp_base)) {
        PyObject *module =
            PyType_GetFlags(base) & Py_TPFLAGS_HEAPTYPE ? PyType_GetModule(base) : NULL;
        if (module)
            return state_of_module(module);
        PyErr_Clear();
    }
    return NULL;
}
