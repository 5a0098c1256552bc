/* SPDX-License-Identifier: Apache-2.0 */
/* jax_trace - JAX's trace, on and off.
 *
 * The only file that knows names of jax._src: they are probed for, and the public stop_trace()
 * serves where they have another shape. */
#include <stdint.h>

#include "python/jax_calls.h"
#include "python/uninterrupted.h"

#include "base/banned.h"

static bool has_callable(PyObject *object, const char *name)
{
    OWNED value = py_attr_or_null(object, name);
    return value && PyCallable_Check(value);
}

static bool has_attr(PyObject *object, const char *name)
{
    OWNED value = py_attr_or_null(object, name);
    return value != NULL;
}

/* jax._src.profiler, or NULL without an exception. */
static PyObject *private_profiler(void)
{
    PyObject *module = PyImport_ImportModule("jax._src.profiler");
    if (!module)
        PyErr_Clear();
    return module;
}

/* The object that knows whether a trace runs, or NULL without an exception. */
static PyObject *trace_state(void)
{
    OWNED module = private_profiler();
    return py_attr_or_null(module, "_profile_state");
}

/* jax 0.12 keeps a Python session around the native one; before, the native one stood alone. */
static const char session_name[] = "session";
static const char native_session_name[] = "profile_session";

/* state.session, or state.profile_session: new reference, maybe to None, or NULL. */
static PyObject *current_session(PyObject *state)
{
    PyObject *session = py_attr_or_null(state, session_name);
    return session ? session : py_attr_or_null(state, native_session_name);
}

enum jax_way jax_probe_way(void)
{
    OWNED module = private_profiler();
    OWNED state = py_attr_or_null(module, "_profile_state");
    OWNED lock = py_attr_or_null(state, "lock");
    OWNED native = py_attr_or_null(module, "_profiler");
    OWNED native_type = py_attr_or_null(native, "ProfilerSession");
    bool known = has_callable(lock, "acquire") && has_callable(lock, "release") &&
                 has_callable(state, "reset") && has_callable(native_type, "stop") &&
                 (has_attr(state, native_session_name) ? has_attr(state, "log_dir")
                                                       : has_attr(state, session_name));
    return known ? JAX_WAY_SESSION : JAX_WAY_STOP_TRACE;
}

int jax_tracing(void)
{
    OWNED state = trace_state();
    OWNED session = current_session(state);
    if (session && session != Py_None)
        return 1;
    OWNED annotation = py_import_attr("jax.profiler", "TraceAnnotation");
    if (!annotation)
        return -1;
    OWNED probe = py_attr_or_null(annotation, "is_enabled");
    OWNED enabled = probe ? PyObject_CallNoArgs(probe) : NULL;
    if (!enabled) {
        PyErr_Clear();
        return 0;
    }
    return PyObject_IsTrue(enabled);
}

/* Whether the running trace is the one that was started with `folder`. The shape must be known. */
static bool trace_is_ours(PyObject *state, PyObject *session, const char *folder)
{
    if (!session || session == Py_None)
        return false;
    PyObject *holder = has_attr(state, session_name) ? session : state;
    OWNED log_dir = py_attr_or_null(holder, "log_dir");
    if (!log_dir)
        return true; /* nothing to tell by; we did start one */
    OWNED ours = PyUnicode_DecodeFSDefault(folder);
    int same = ours ? PyObject_RichCompareBool(log_dir, ours, Py_EQ) : 0;
    if (PyErr_Occurred())
        PyErr_Clear();
    return same > 0;
}

/* The native session, which gives bytes: new reference, or NULL where the shape is not known. */
static PyObject *native_session(PyObject *state, PyObject *session)
{
    OWNED inner = py_attr_or_null(session, "_raw_session");
    if (inner)
        return has_callable(inner, "stop") ? STEAL(inner) : NULL;
    bool bare = session && has_attr(state, native_session_name) && has_callable(session, "stop");
    return bare ? Py_NewRef(session) : NULL;
}

static void call_for_effect(PyObject *object, const char *name, struct errors *errors)
{
    OWNED result = py_call_method(object, name, "()");
    if (!result)
        errors_take(errors);
}

static void set_if_there(PyObject *object, const char *name, PyObject *value)
{
    if (has_attr(object, name) && PyObject_SetAttrString(object, name, value) < 0)
        PyErr_Clear();
}

/* What JAX's own stop does after the native session gave its data. */
static void forget_session(PyObject *module, PyObject *state, PyObject *session,
                           struct errors *errors)
{
    set_if_there(session, "_is_running", Py_False);
    set_if_there(session, "_raw_session", Py_None);
    call_for_effect(state, "reset", errors);
    if (has_callable(module, "clear_metadata"))
        call_for_effect(module, "clear_metadata", errors);
}

/* The native session's stop(), which collects and serializes: most of what a stop costs, in time
 * and in memory. It is no Python code, so that a signal handler cannot get in between. */
struct collecting {
    PyObject *stop;
    PyObject *bytes;
    struct errors *errors;
};

static void collect(void *context)
{
    struct collecting *collecting = context;
    OWNED bytes = PyObject_CallNoArgs(collecting->stop);
    if (bytes && !PyBytes_Check(bytes)) {
        PyErr_Format(PyExc_RuntimeError, "JAX's profiler session gave %R and not bytes",
                     (PyObject *)Py_TYPE(bytes));
        Py_CLEAR(bytes);
    }
    if (!bytes)
        errors_take(collecting->errors);
    collecting->bytes = STEAL(bytes);
}

static PyObject *stop_native(PyObject *native, struct errors *errors)
{
    OWNED stop = PyObject_GetAttrString(native, "stop");
    if (!stop) {
        errors_take(errors);
        return NULL;
    }
    struct collecting collecting = {.stop = stop, .errors = errors};
    uninterrupted_aside(collect, &collecting);
    return collecting.bytes;
}

static PyObject *stop_session_locked(PyObject *module, PyObject *state, const char *folder,
                                     struct errors *errors)
{
    OWNED session = current_session(state);
    if (!trace_is_ours(state, session, folder)) {
        PyErr_SetString(PyExc_RuntimeError,
                        "the trace of this capture was ended by someone else, for example with "
                        "jax.profiler.stop_trace(); end it only with stop()");
        errors_take(errors);
        return NULL;
    }
    OWNED native = native_session(state, session);
    if (!native) {
        PyErr_SetString(PyExc_RuntimeError, "the trace was ended by another thread meanwhile");
        errors_take(errors);
        return NULL;
    }
    OWNED bytes = stop_native(native, errors);
    forget_session(module, state, session, errors);
    return STEAL(bytes);
}

static PyObject *stop_session(const char *folder, struct errors *errors)
{
    OWNED module = private_profiler();
    OWNED state = py_attr_or_null(module, "_profile_state");
    OWNED lock = py_attr_or_null(state, "lock");
    OWNED held = py_call_method(lock, "acquire", "()");
    if (!held) {
        errors_take(errors);
        return NULL;
    }
    PyObject *bytes = stop_session_locked(module, state, folder, errors);
    call_for_effect(lock, "release", errors);
    return bytes;
}

/* A stop_trace() that failed can leave JAX believing that a trace still runs. */
static void forget_failed_trace(const char *folder, struct errors *errors)
{
    OWNED module = private_profiler();
    OWNED state = py_attr_or_null(module, "_profile_state");
    OWNED session = current_session(state);
    if (has_callable(state, "reset") && trace_is_ours(state, session, folder))
        forget_session(module, state, session, errors);
}

static void stop_trace(const char *folder, struct errors *errors)
{
    OWNED profiler = PyImport_ImportModule("jax.profiler");
    OWNED done = profiler ? py_call_method(profiler, "stop_trace", "()") : NULL;
    if (done)
        return;
    errors_take(errors);
    forget_failed_trace(folder, errors);
}

PyObject *jax_trace_off(enum jax_way way, const char *folder, struct errors *errors)
{
    OWNED state = trace_state();
    OWNED session = current_session(state);
    OWNED native = native_session(state, session);
    bool gone = state && (!session || session == Py_None);
    if (way == JAX_WAY_SESSION && jax_probe_way() == JAX_WAY_SESSION && (native || gone))
        return stop_session(folder, errors);
    stop_trace(folder, errors);
    return NULL;
}

/* What was raised when the session was already made. */
static void undo_trace_on(void *context)
{
    const char *folder = context;
    OWNED state = trace_state();
    OWNED session = current_session(state);
    if (!trace_is_ours(state, session, folder))
        return;
    struct errors ignored = {0};
    OWNED bytes = jax_trace_off(JAX_WAY_SESSION, folder, &ignored);
    errors_release(&ignored);
}

int jax_trace_on(const char *folder, PyObject *options)
{
    OWNED start = py_import_attr("jax.profiler", "start_trace");
    OWNED args = Py_BuildValue("(N)", PyUnicode_DecodeFSDefault(folder));
    OWNED kwargs = Py_BuildValue("{s:O}", "profiler_options", options);
    if (!start || !args || !kwargs)
        return -1;
    OWNED done = PyObject_Call(start, args, kwargs);
    if (done)
        return 0;
    OWNED exception = exception_take();
    uninterrupted(undo_trace_on, (void *)(uintptr_t)folder);
    exception_raise(STEAL(exception));
    return -1;
}
