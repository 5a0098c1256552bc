/* SPDX-License-Identifier: Apache-2.0 */
/* errors - what went wrong while work that must be finished was being finished.
 *
 * Owns the exceptions it was given. An exception that is no Exception (KeyboardInterrupt, the
 * SystemExit of a signal handler) is kept apart: it goes on at the end, whatever else there is. */
#ifndef DEW_PYTHON_ERRORS_H
#define DEW_PYTHON_ERRORS_H

#include <stdbool.h>

#include "python/py.h"

struct errors {
    PyObject *list;      /* of exceptions, in order; NULL while there are none */
    PyObject *interrupt; /* the first that is no Exception, or that a handler raised, or NULL */
};

/* Moves the current exception, if one is set, into `errors`. One that says the same as another
 * there is left out: a computation that failed surfaces in everything made from it. */
void errors_take(struct errors *errors);

/* Moves it only where it is an interrupt; false where it is none and stays set. */
bool errors_take_interrupt(struct errors *errors);

/* Keeps `exception` (stolen), which a signal handler raised, as an interrupt of whatever class. */
void errors_interrupt(struct errors *errors, PyObject *exception);

/* Whether two exceptions are of one type and say the same; notes are not compared. */
bool errors_same(PyObject *a, PyObject *b);

/* Leaves out what `known` says too. */
void errors_subtract(struct errors *errors, const struct errors *known);

bool errors_any(const struct errors *errors);

/* One line for the manifest: new reference to a str, or to None where nothing went wrong. */
PyObject *errors_text(const struct errors *errors);

/* Raises what was collected and empties it: the interrupt with the others as notes, the only error,
 * or an ExceptionGroup of several. 0 where there was none, else -1. */
must_check int errors_raise(struct errors *errors, const char *message);

/* The same while `body`, an exception of the program's own, is on its way: the errors become notes
 * on it; only an interrupt is raised. */
must_check int errors_raise_onto(struct errors *errors, PyObject *body, const char *doing);

void errors_release(struct errors *errors);

#endif
