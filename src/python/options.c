/* SPDX-License-Identifier: Apache-2.0 */
/* options - the ProfileOptions that a capture takes when it was given none.
 *
 * The Python tracer is off: it records each Python and C call, and a program so traced spends most
 * of its time being recorded. */
#include "python/options.h"

#include "base/banned.h"

#define HOST_TRACER_LEVEL 2

static int set_int(PyObject *options, const char *name, long value)
{
    OWNED number = PyLong_FromLong(value);
    return number ? PyObject_SetAttrString(options, name, number) : -1;
}

/* 1, 0, or -1 with an exception. Initialises JAX's default backend. */
static int backend_is_tpu(void)
{
    OWNED ask = py_import_attr("jax", "default_backend");
    OWNED backend = ask ? PyObject_CallNoArgs(ask) : NULL;
    if (!backend)
        return -1;
    return PyUnicode_Check(backend) && PyUnicode_CompareWithASCIIString(backend, "tpu") == 0;
}

static int set_tpu_mode(PyObject *options)
{
    OWNED advanced = Py_BuildValue("{ss}", "tpu_trace_mode", "TRACE_COMPUTE_AND_SYNC");
    return advanced ? PyObject_SetAttrString(options, "advanced_configuration", advanced) : -1;
}

PyObject *capture_options_new(struct module_state *state)
{
    (void)state;
    OWNED type = py_import_attr("jax.profiler", "ProfileOptions");
    OWNED options = type ? PyObject_CallNoArgs(type) : NULL;
    if (!options || set_int(options, "host_tracer_level", HOST_TRACER_LEVEL) < 0 ||
        set_int(options, "python_tracer_level", 0) < 0 ||
        PyObject_SetAttrString(options, "enable_hlo_proto", Py_True) < 0)
        return NULL;
    int tpu = backend_is_tpu();
    if (tpu < 0 || (tpu && set_tpu_mode(options) < 0))
        return NULL;
    return STEAL(options);
}
