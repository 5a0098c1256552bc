/* SPDX-License-Identifier: Apache-2.0 */
/* jax_calls - every call from here into JAX. */
#include "python/jax_calls.h"

#include <string.h>

#include "base/banned.h"

/* A signal handler may raise in any Python code that is called here; steps that must not be left
 * half done are then called again. More raises than this in one step is no accident. */
#define INTERRUPTED_TRIES_MAX 8

int jax_import(void)
{
    OWNED profiler = PyImport_ImportModule("jax.profiler");
    return profiler ? 0 : -1;
}

/* object.name as a new reference, NULL without an exception where there is none. */
static PyObject *attr_or_null(PyObject *object, const char *name)
{
    PyObject *value = object ? PyObject_GetAttrString(object, name) : NULL;
    if (!value)
        PyErr_Clear();
    return value;
}

static bool has_callable(PyObject *object, const char *name)
{
    OWNED value = attr_or_null(object, name);
    return value && PyCallable_Check(value);
}

static bool has_attr(PyObject *object, const char *name)
{
    OWNED value = attr_or_null(object, name);
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
    return attr_or_null(module, "_profile_state");
}

/* jax 0.12 keeps a Python session around the native one; before, the native one stood alone. */
static const char session_name[] = "session";
static const char native_session_name[] = "profile_session";

/* state.session, or state.profile_session: new reference, maybe to None, or NULL. */
static PyObject *current_session(PyObject *state)
{
    PyObject *session = attr_or_null(state, session_name);
    return session ? session : attr_or_null(state, native_session_name);
}

enum jax_way jax_probe_way(void)
{
    OWNED module = private_profiler();
    OWNED state = attr_or_null(module, "_profile_state");
    OWNED lock = attr_or_null(state, "lock");
    OWNED native = attr_or_null(module, "_profiler");
    OWNED native_type = attr_or_null(native, "ProfilerSession");
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
    OWNED probe = attr_or_null(annotation, "is_enabled");
    OWNED enabled = probe ? PyObject_CallNoArgs(probe) : NULL;
    if (!enabled) {
        PyErr_Clear();
        return 0;
    }
    return PyObject_IsTrue(enabled);
}

PyObject *jax_default_backend(void)
{
    OWNED function = py_import_attr("jax", "default_backend");
    return function ? PyObject_CallNoArgs(function) : NULL;
}

PyObject *jax_new_options(void)
{
    OWNED type = py_import_attr("jax.profiler", "ProfileOptions");
    return type ? PyObject_CallNoArgs(type) : NULL;
}

int jax_is_options(PyObject *object)
{
    OWNED modules = py_import_attr("sys", "modules");
    if (!modules)
        return -1;
    OWNED type = attr_or_null(PyDict_GetItemString(modules, "jax.profiler"), "ProfileOptions");
    if (!type)
        return 0;
    int is = PyObject_IsInstance(object, type);
    if (is != 0)
        return is;
    /* JAX takes the native base class too. */
    OWNED base = attr_or_null(type, "__base__");
    return base && base != (PyObject *)&PyBaseObject_Type ? PyObject_IsInstance(object, base) : 0;
}

static int refuse_unknown_options(PyObject *options)
{
    OWNED extra = attr_or_null(options, "__dict__");
    Py_ssize_t count = extra && PyDict_Check(extra) ? PyDict_Size(extra) : 0;
    if (count == 0)
        return 0;
    OWNED names = PyDict_Keys(extra);
    if (names)
        PyErr_Format(PyExc_ValueError,
                     "options has %R, which jax.profiler.ProfileOptions does not know and would "
                     "ignore; check the spelling",
                     names);
    return -1;
}

PyObject *jax_option_values(PyObject *options)
{
    if (refuse_unknown_options(options) < 0)
        return NULL;
    OWNED names = PyObject_Dir(options);
    OWNED values = PyDict_New();
    if (!names || !values)
        return NULL;
    Py_ssize_t count = PyList_Size(names);
    for (Py_ssize_t i = 0; i < count; i++) {
        OWNED name = PyObject_Str(PyList_GetItem(names, i));
        const char *text = name ? PyUnicode_AsUTF8AndSize(name, NULL) : NULL;
        if (!text)
            return NULL;
        if (*text == '_')
            continue;
        OWNED value = PyObject_GetAttr(options, name);
        if (!value)
            return NULL;
        if (!PyCallable_Check(value) && PyDict_SetItem(values, name, value) < 0)
            return NULL;
    }
    return STEAL(values);
}

/* {kind: how many} */
static PyObject *count_kinds(PyObject *devices)
{
    OWNED counts = PyDict_New();
    OWNED iterator = counts ? PyObject_GetIter(devices) : NULL;
    if (!iterator)
        return NULL;
    PyObject *next;
    while ((next = PyIter_Next(iterator))) {
        OWNED device = next;
        OWNED kind = PyObject_GetAttrString(device, "device_kind");
        if (!kind)
            return NULL;
        PyObject *before = PyDict_GetItemWithError(counts, kind);
        OWNED after = PyLong_FromLong((before ? PyLong_AsLong(before) : 0) + 1);
        if (PyErr_Occurred() || !after || PyDict_SetItem(counts, kind, after) < 0)
            return NULL;
    }
    return PyErr_Occurred() ? NULL : STEAL(counts);
}

PyObject *jax_describe_backend(void)
{
    OWNED jax = PyImport_ImportModule("jax");
    if (!jax)
        return NULL;
    OWNED platform = py_call_method(jax, "default_backend", "()");
    OWNED devices = platform ? py_call_method(jax, "devices", "()") : NULL;
    OWNED local = devices ? py_call_method(jax, "local_devices", "()") : NULL;
    OWNED kinds = local ? count_kinds(devices) : NULL;
    if (!kinds)
        return NULL;
    return Py_BuildValue("{s:O,s:O,s:n,s:n}", "platform", platform, "device_kinds", kinds,
                         "devices", PyObject_Size(devices), "local_devices", PyObject_Size(local));
}

static int call_for_long(PyObject *object, const char *name, long *ret)
{
    OWNED value = py_call_method(object, name, "()");
    long number = value ? PyLong_AsLong(value) : -1;
    if (PyErr_Occurred())
        return -1;
    *ret = number;
    return 0;
}

int jax_process(long *ret_index, long *ret_count)
{
    OWNED jax = PyImport_ImportModule("jax");
    if (!jax || call_for_long(jax, "process_index", ret_index) < 0)
        return -1;
    return call_for_long(jax, "process_count", ret_count);
}

PyObject *jax_versions(void)
{
    OWNED jax = py_import_attr("jax", "__version__");
    OWNED jaxlib = jax ? py_import_attr("jaxlib", "__version__") : NULL;
    return jaxlib ? Py_BuildValue("{s:O,s:O}", "jax", jax, "jaxlib", jaxlib) : NULL;
}

static bool is_deleted(PyObject *array)
{
    OWNED answer = py_call_method(array, "is_deleted", "()");
    int deleted = answer ? PyObject_IsTrue(answer) : 0;
    if (deleted < 0 || !answer)
        PyErr_Clear();
    return deleted > 0;
}

/* Waits for one array; the failure of one that was deleted meanwhile is none. */
static void wait_for_array(PyObject *array, PyObject *method, PyObject **first_failure,
                           Py_ssize_t *failures, struct errors *errors)
{
    OWNED done = PyObject_CallMethodObjArgs(array, method, NULL);
    if (done || errors_take_interrupt(errors))
        return;
    if (is_deleted(array)) {
        PyErr_Clear();
        return;
    }
    OWNED failure = exception_take();
    if ((*failures)++ == 0)
        *first_failure = STEAL(failure);
}

static void wait_for_arrays(PyObject *arrays, struct errors *errors)
{
    OWNED first_failure = NULL;
    OWNED method = PyUnicode_InternFromString("block_until_ready"); /* found faster in types */
    Py_ssize_t failures = 0;
    Py_ssize_t count = PyList_Size(arrays);
    if (!method)
        errors_take(errors);
    for (Py_ssize_t i = 0; method && i < count && !errors->interrupt; i++) {
        wait_for_array(PyList_GetItem(arrays, i), method, &first_failure, &failures, errors);
        if (PyErr_CheckSignals() < 0)
            errors_take(errors);
    }
    if (!first_failure)
        return;
    if (failures > 1) {
        /* One failed computation fails everything made from it, mostly in the same words. */
        OWNED done =
            py_call_method(first_failure, "add_note", "(N)",
                           PyUnicode_FromFormat("%zd arrays failed; this is the first", failures));
        if (!done)
            PyErr_Clear();
    }
    exception_raise(STEAL(first_failure));
    errors_take(errors);
}

/* A computation of no size on one device, waited for. */
static int run_behind(PyObject *jax, PyObject *device)
{
    OWNED zero = PyLong_FromLong(0);
    OWNED there = zero ? py_call_method(jax, "device_put", "(OO)", zero, device) : NULL;
    OWNED result = there ? PyNumber_Negative(there) : NULL;
    OWNED done = result ? py_call_method(result, "block_until_ready", "()") : NULL;
    return done ? 0 : -1;
}

/* Results that the program dropped are no live arrays, but a device runs what one thread dispatched
 * in order, and GPU and TPU what all threads did: one more computation ends last. That it cannot be
 * made (a transfer guard, a mesh that is set) is no failure of the program's work. */
static void wait_for_dropped(PyObject *jax, struct errors *errors)
{
    OWNED local = py_call_method(jax, "local_devices", "()");
    OWNED devices = local ? PySequence_List(local) : NULL;
    if (!devices) {
        errors_take(errors);
        return;
    }
    Py_ssize_t count = PyList_Size(devices);
    for (Py_ssize_t i = 0; i < count && !errors->interrupt; i++)
        if (run_behind(jax, PyList_GetItem(devices, i)) < 0 && !errors_take_interrupt(errors))
            PyErr_Clear();
}

static void wait_for_live(PyObject *jax, struct errors *errors)
{
    OWNED live = py_call_method(jax, "live_arrays", "()");
    OWNED arrays = live ? PySequence_List(live) : NULL;
    if (arrays)
        wait_for_arrays(arrays, errors);
    else
        errors_take(errors);
}

void jax_drain(enum jax_drain_scope scope, struct errors *errors)
{
    OWNED jax = PyImport_ImportModule("jax");
    if (!jax) {
        errors_take(errors);
        return;
    }
    wait_for_live(jax, errors);
    if (scope == JAX_DRAIN_ALL && !errors->interrupt)
        wait_for_dropped(jax, errors);
    if (errors->interrupt)
        return;
    OWNED done = py_call_method(jax, "effects_barrier", "()");
    if (!done)
        errors_take(errors);
}

/* Whether the running trace is the one that was started with `folder`. The shape must be known. */
static bool trace_is_ours(PyObject *state, PyObject *session, const char *folder)
{
    if (!session || session == Py_None)
        return false;
    PyObject *holder = has_attr(state, session_name) ? session : state;
    OWNED log_dir = attr_or_null(holder, "log_dir");
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
    OWNED inner = attr_or_null(session, "_raw_session");
    if (inner)
        return has_callable(inner, "stop") ? STEAL(inner) : NULL;
    bool bare = session && has_attr(state, native_session_name) && has_callable(session, "stop");
    return bare ? Py_NewRef(session) : NULL;
}

/* Calls until no signal handler's exception comes in between. */
static PyObject *call_through(PyObject *object, const char *name, struct errors *errors)
{
    for (int tries = 1;; tries++) {
        PyObject *result = py_call_method(object, name, "()");
        if (result || tries == INTERRUPTED_TRIES_MAX || !errors_take_interrupt(errors))
            return result;
    }
}

static void call_for_effect(PyObject *object, const char *name, struct errors *errors)
{
    OWNED result = call_through(object, name, errors);
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
    OWNED bytes = call_through(native, "stop", errors);
    if (bytes && !PyBytes_Check(bytes)) {
        PyErr_Format(PyExc_RuntimeError, "JAX's profiler session gave %R and not bytes",
                     (PyObject *)Py_TYPE(bytes));
        Py_CLEAR(bytes);
    }
    if (!bytes)
        errors_take(errors);
    forget_session(module, state, session, errors);
    return STEAL(bytes);
}

static PyObject *stop_session(const char *folder, struct errors *errors)
{
    OWNED module = private_profiler();
    OWNED state = attr_or_null(module, "_profile_state");
    OWNED lock = attr_or_null(state, "lock");
    OWNED held = call_through(lock, "acquire", errors);
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
    OWNED state = attr_or_null(module, "_profile_state");
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

/* An interrupt that was raised when the session was already made. */
static void undo_trace_on(const char *folder)
{
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
    undo_trace_on(folder);
    exception_raise(STEAL(exception));
    return -1;
}
