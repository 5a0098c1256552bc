/* SPDX-License-Identifier: Apache-2.0 */
/* reports_mode - 'wait', 'background' or 'off'. */
#ifndef DEW_PYTHON_REPORTS_MODE_H
#define DEW_PYTHON_REPORTS_MODE_H

#include "python/py.h"

enum reports_mode { REPORTS_WAIT, REPORTS_BACKGROUND, REPORTS_OFF };

/* 0, or -1 with TypeError or ValueError that names `source` as where the value came from. */
must_check int reports_mode_parse(PyObject *value, enum reports_mode *ret, const char *source);

/* What DEW_PROFILE_REPORTS says, else 'wait': new reference to a str, or NULL with ValueError. The
 * environment is asked each time, so that a program may set it after the import. */
PyObject *reports_mode_default(void);

#endif
