/* SPDX-License-Identifier: Apache-2.0 */
/* names - what a host event is, by its name.
 *
 * The one table of names that the runtimes of jax 0.10 to 0.12 write. It is needed where no
 * manifest says which names are the program's own regions, and to find launches and thread hops. */
#ifndef DEW_TRACE_NAMES_H
#define DEW_TRACE_NAMES_H

#include "base/view.h"

enum name_class {
    NAME_PLAIN,   /* of nobody known: a region, a step or an op */
    NAME_RUNTIME, /* written by JAX, XLA or a driver */
    NAME_PYTHON,  /* Python tracer: "$file.py:12 f" */
    NAME_END,     /* "end: OP", the mark after an op */
    NAME_RECORD,  /* work handed to a thread pool: producer */
    NAME_START,   /* a pool thread takes it up: consumer */
    NAME_STOP,
    NAME_LAUNCH,    /* the call that launches an execution */
    NAME_CALL,      /* PjitFunction(f): which function is called */
    NAME_COMPILE,   /* what happens inside it is the compiler's */
    NAME_INSIDE,    /* what happens inside it is the runtime's */
    NAME_COMPLETED, /* a TPU's execution is over; it has the run_id that its launch has */
};

enum name_class name_class_of(struct view name);

/* The function of a NAME_CALL or of a launch that names its module, else empty. View of `name`. */
struct view name_function(struct view name);

/* Threads on which no program opens regions. */
bool name_is_worker_line(struct view line);

#endif
