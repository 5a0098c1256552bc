/* SPDX-License-Identifier: Apache-2.0 */
/* module - dew.telemetry.profile: its six names and its state.
 *
 *     __all__ = ["require_profile_support", "capture_options", "active_profile",
 *                "Profiler", "region", "profile"]
 *
 *     def require_profile_support() -> _Converter: ...        # converter_installed.c
 *     def capture_options() -> jax.profiler.ProfileOptions: ... # options.c
 *     def active_profile() -> Profiler | None: ...            # profiler_life.c
 *     class Profiler:                                         # profiler.c
 *         def __init__(self, directory=None, *, options=None): ...
 *         def region(self, name): ...
 *         def start(self): ...                                # capture_start.c
 *         def stop(self): ...                                 # capture_stop.c
 *         def __enter__(self): ...
 *         def __exit__(self, exc_type, exc, traceback): ...
 *         directory, capture, reports                         # attributes
 *     def region(name): ...                                   # region.c
 *     def profile(directory=None, *, options=None): return Profiler(directory, options=options)
 *
 * Making the module imports nothing, starts no thread, installs no hook and reads no file. */
#include "python/py.h"

#include "python/converter_installed.h"
#include "python/converter_object.h"
#include "python/options.h"
#include "python/owner.h"
#include "python/profiler.h"
#include "python/profiler_life.h"
#include "python/region.h"
#include "python/state.h"

#include "base/banned.h"

/* A C function's signature cannot carry annotations, so each docstring opens with the whole one. */
PyDoc_STRVAR(module_doc,
             "Profile a JAX program and keep every XProf report beside the capture.\n\n"
             "    with profile(\"runs/today\") as p:\n"
             "        with region(\"step\"):\n"
             "            step()\n\n"
             "Explicit: nothing is imported, started or touched before the first start().\n"
             "Process-local: every process captures itself and waits for no other.\n");

PyDoc_STRVAR(require_doc,
             "require_profile_support()\n--\n\n"
             "require_profile_support() -> _Converter\n\n"
             "Find and open xprof's native converter library (xprof >= 2.22.3).\n\n"
             "Raises ImportError, with the command that installs it, where it is missing, too old "
             "or broken.");

static PyObject *module_require(PyObject *module, PyObject *Py_UNUSED(none))
{
    return converter_require(state_of_module(module));
}

PyDoc_STRVAR(options_doc,
             "capture_options()\n--\n\n"
             "capture_options() -> jax.profiler.ProfileOptions\n\n"
             "Fresh jax.profiler.ProfileOptions as a capture takes them by default.\n\n"
             "Host tracer level 2, Python tracer level 0, HLO proto on; on a TPU also the trace "
             "mode\nTRACE_COMPUTE_AND_SYNC. Asks JAX for its default backend, and so initialises "
             "it.");

static PyObject *module_options(PyObject *module, PyObject *Py_UNUSED(none))
{
    return capture_options_new(state_of_module(module));
}

PyDoc_STRVAR(active_doc, "active_profile()\n--\n\n"
                         "active_profile() -> Profiler | None\n\n"
                         "The Profiler whose capture is running in this process, else None.");

static PyObject *module_active(PyObject *module, PyObject *Py_UNUSED(none))
{
    return profiler_active(state_of_module(module));
}

PyDoc_STRVAR(profile_doc,
             "profile(directory=None, *, options=None)\n--\n\n"
             "profile(directory: str | os.PathLike[str] | None = None, *,\n"
             "        options: jax.profiler.ProfileOptions | None = None) -> Profiler\n\n"
             "The same as Profiler(directory, options=options): configures, and starts nothing.");

static PyObject *module_profile(PyObject *module, PyObject *args, PyObject *kwargs)
{
    return profiler_new(state_of_module(module), args, kwargs);
}

static PyMethodDef module_methods[] = {
    {"require_profile_support", module_require, METH_NOARGS, require_doc},
    {"capture_options", module_options, METH_NOARGS, options_doc},
    {"active_profile", module_active, METH_NOARGS, active_doc},
    {"profile", (PyCFunction)(void (*)(void))module_profile, METH_VARARGS | METH_KEYWORDS,
     profile_doc},
    {NULL},
};

static int add_all(PyObject *module)
{
    OWNED names = Py_BuildValue("[ssssss]", "require_profile_support", "capture_options",
                                "active_profile", "Profiler", "region", "profile");
    return names ? PyModule_AddObjectRef(module, "__all__", names) : -1;
}

static int module_exec(PyObject *module)
{
    struct module_state *state = state_of_module(module);
    struct err e;
    if (owner_init(&e) < 0) {
        exception_from_err(PyExc_RuntimeError, &e);
        return -1;
    }
    if (add_all(module) < 0 || region_types_add(module, state) < 0 ||
        converter_object_type_add(module, state) < 0 || converter_probe_add(module) < 0)
        return -1;
    return profiler_type_add(module, state);
}

static int module_traverse(PyObject *module, visitproc visit, void *arg)
{
    struct module_state *state = state_of_module(module);
    Py_VISIT(state->profiler_type);
    Py_VISIT(state->converter_type);
    Py_VISIT(state->active);
    Py_VISIT(state->converter);
    Py_VISIT(state->exit_hook);
    Py_VISIT(state->regions);
    return 0;
}

static int module_clear(PyObject *module)
{
    struct module_state *state = state_of_module(module);
    Py_CLEAR(state->profiler_type);
    Py_CLEAR(state->converter_type);
    Py_CLEAR(state->active);
    Py_CLEAR(state->converter);
    Py_CLEAR(state->exit_hook);
    Py_CLEAR(state->regions);
    return 0;
}

static void module_free(void *module)
{
    (void)module_clear(module);
}

static PyModuleDef_Slot module_slots[] = {
    {Py_mod_exec, module_exec},
    {0, NULL},
};

static struct PyModuleDef module_def = {
    .m_base = PyModuleDef_HEAD_INIT,
    .m_name = "dew.telemetry.profile",
    .m_doc = module_doc,
    .m_size = sizeof(struct module_state),
    .m_methods = module_methods,
    .m_slots = module_slots,
    .m_traverse = module_traverse,
    .m_clear = module_clear,
    .m_free = module_free,
};

PyMODINIT_FUNC PyInit_profile(void);

PyMODINIT_FUNC PyInit_profile(void)
{
    return PyModuleDef_Init(&module_def);
}
