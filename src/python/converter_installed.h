/* SPDX-License-Identifier: Apache-2.0 */
/* converter_installed - finds and opens the converter library of the installed xprof. */
#ifndef DEW_PYTHON_CONVERTER_INSTALLED_H
#define DEW_PYTHON_CONVERTER_INSTALLED_H

#include "python/state.h"

/* New reference to the module's _Converter, opened by the first call; ImportError where xprof is
 * missing, too old or broken. */
PyObject *converter_require(struct module_state *state);

/* Adds what the trial process calls; called while the module is being made. 0, or -1 with an
 * exception. */
must_check int converter_probe_add(PyObject *module);

#endif
