/* SPDX-License-Identifier: Apache-2.0 */
/* region - named spans, and the names that the running capture has seen. */
#ifndef DEW_PYTHON_REGION_H
#define DEW_PYTHON_REGION_H

#include "python/state.h"

/* Makes the types; called while the module is being made. 0, or -1 with an exception. */
int region_types_add(PyObject *module, struct module_state *state);

/* A context manager that spans while the capture `serial` runs; serial 0 means any capture. */
PyObject *region_new(struct module_state *state, PyObject *name, unsigned serial);

/* Forgets the names of the last capture. 0, or -1 with an exception. */
int region_note_started(struct module_state *state);

/* Names entered during this capture: new reference to a list of str, in order of first sight. */
PyObject *region_names(struct module_state *state);

/* Names of regions that are open now: new reference to a list of str. */
PyObject *region_open_names(struct module_state *state);

#endif
