/* SPDX-License-Identifier: Apache-2.0 */
/* region - named spans. */
#include "python/region.h"

#include "base/banned.h"

int region_types_add(PyObject *module, struct module_state *state)
{
    (void)module;
    (void)state;
    return 0;
}

PyObject *region_new(struct module_state *state, PyObject *name, unsigned serial)
{
    (void)state;
    (void)name;
    (void)serial;
    PyErr_SetString(PyExc_NotImplementedError, "regions are not built yet");
    return NULL;
}

int region_note_started(struct module_state *state)
{
    (void)state;
    return 0;
}

PyObject *region_names(struct module_state *state)
{
    (void)state;
    return PyList_New(0);
}

PyObject *region_open_names(struct module_state *state)
{
    (void)state;
    return PyList_New(0);
}
