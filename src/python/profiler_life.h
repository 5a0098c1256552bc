/* SPDX-License-Identifier: Apache-2.0 */
/* profiler_life - a Profiler's captures: who starts and stops them, by hand, by `with`, at exit.
 *
 * A Profiler's fields are touched with the interpreter lock held; which of two threads starts or
 * stops is decided by the owner slot. */
#ifndef DEW_PYTHON_PROFILER_LIFE_H
#define DEW_PYTHON_PROFILER_LIFE_H

#include "python/capture.h"

struct profiler {
    PyObject_HEAD PyObject *weakrefs;
    PyObject *directory; /* str, bytes (refused at start), or NULL: a temporary folder */
    PyObject *options;   /* ProfileOptions, or NULL: fresh ones at each start */
    PyObject *capture;   /* pathlib.Path of the newest capture's folder, or NULL */
    PyObject *reports;   /* str, or NULL: as the environment says */
    unsigned region_owner;
    unsigned serial;         /* of the newest capture, in the owner slot; 0 before the first */
    struct capture *running; /* owned; NULL where none runs, or a stop has taken it over */
};

/* New reference to the Profiler whose capture runs in this process, or to None. */
PyObject *profiler_active(struct module_state *state);

/* The current mode as *ret and as a new reference to a str, or NULL with ValueError. */
PyObject *profiler_reports(struct profiler *self, enum reports_mode *ret);

must_check int profiler_start(struct profiler *self);
must_check int profiler_stop(struct profiler *self);

/* Leaves a `with`; `body` is the exception on its way out of it, or NULL. */
must_check int profiler_leave(struct profiler *self, PyObject *body);

#endif
