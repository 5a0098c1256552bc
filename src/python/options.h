/* SPDX-License-Identifier: Apache-2.0 */
/* options - the ProfileOptions that a capture takes when it was given none. */
#ifndef DEW_PYTHON_OPTIONS_H
#define DEW_PYTHON_OPTIONS_H

#include "python/state.h"

/* New reference to a fresh jax.profiler.ProfileOptions. Initialises JAX's default backend. */
PyObject *capture_options_new(struct module_state *state);

#endif
