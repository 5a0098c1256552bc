/* SPDX-License-Identifier: Apache-2.0 */
/* options - the ProfileOptions that a capture takes when it was given none. */
#include "python/options.h"

#include "base/banned.h"

PyObject *capture_options_new(struct module_state *state)
{
    (void)state;
    OWNED type = py_import_attr("jax.profiler", "ProfileOptions");
    return type ? PyObject_CallNoArgs(type) : NULL;
}
