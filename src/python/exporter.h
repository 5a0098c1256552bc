/* SPDX-License-Identifier: Apache-2.0 */
/* exporter - `dew-profile report` as a child process of a program that profiles itself.
 *
 * The converter never runs in the program's own process: what it leaks or breaks stays outside. The
 * child has a process group of its own, nothing to read, no output, and none of the program's
 * descriptors; what it says on stderr becomes the error's text. */
#ifndef DEW_PYTHON_EXPORTER_H
#define DEW_PYTHON_EXPORTER_H

#include <stdbool.h>

#include "python/py.h"

/* Path of dew-profile: $DEW_PROFILE_PROGRAM, the one installed with this module, the one in this
 * Python's scripts folder, the first on PATH. New reference to bytes, or NULL with
 * FileNotFoundError. */
PyObject *exporter_program(void);

enum export_end {
    EXPORT_DONE,
    EXPORT_FAILED,      /* with OSError or RuntimeError, which says what failed */
    EXPORT_INTERRUPTED, /* with what a signal handler raised; the child was ended first */
};

/* Makes the reports of the capture in `folder`. With `background` it returns as soon as the child
 * works in a session of its own. */
must_check enum export_end exporter_run(const char *folder, PyObject *library, bool background);

#endif
