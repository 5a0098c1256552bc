/* SPDX-License-Identifier: Apache-2.0 */
/* region - named spans, and the names that the running capture has seen.
 *
 * region() has two answers. While nothing captures: one shared object that does nothing, so that a
 * call allocates nothing. While a capture runs: a fresh span (region_span.c) over JAX's TraceMe.
 * What both share is the hub: one object for each copy of the module, which is also what the
 * function region() is bound to, so that it reaches its state without a call.
 *
 * Left out: anything for a foreign JAX trace. region() spans in captures of this package only. */
#ifndef DEW_PYTHON_REGION_H
#define DEW_PYTHON_REGION_H

#include "python/state.h"

/* Makes the types and the hub, and adds region() to the module; called while the module is being
 * made. 0, or -1 with an exception. */
int region_types_add(PyObject *module, struct module_state *state);

/* A number for one Profiler: never 0, never the same twice in a process. */
unsigned region_owner_number(void);

/* A context manager that spans while the Profiler of that number captures; 0: while any does. New
 * reference. TypeError for a name that is no str, ValueError for one that the trace would change.
 */
PyObject *region_new(struct module_state *state, PyObject *name, unsigned owner);

/* Forgets the names of the last capture; called before the capture of the Profiler `owner` goes on.
 * Imports jax.profiler. 0, or -1 with an exception. */
int region_note_started(struct module_state *state, unsigned owner);

/* Names entered during this capture: new reference to a list of str, in order of first sight. */
PyObject *region_names(struct module_state *state);

/* Names of the regions of this capture that are open now, oldest first: new reference to a list of
 * str. */
PyObject *region_open_names(struct module_state *state);

#endif
