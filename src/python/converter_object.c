/* SPDX-License-Identifier: Apache-2.0 */
/* converter_object - xprof's converter library as a Python object. */
#include "python/converter_object.h"

#include "base/banned.h"

int converter_object_types_add(PyObject *module, struct module_state *state)
{
    (void)module;
    (void)state;
    return 0;
}

PyObject *converter_object_require(struct module_state *state)
{
    (void)state;
    PyErr_SetString(PyExc_NotImplementedError, "the converter is not bound yet");
    return NULL;
}
