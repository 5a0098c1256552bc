/* SPDX-License-Identifier: Apache-2.0 */
/* jax_drain - waiting for what was dispatched, and telling its failures from a signal handler's. */
#include "python/jax_calls.h"

#include "base/banned.h"

/* array.question(); an answer that cannot be had counts as `unknown`. */
static bool ask(PyObject *array, const char *question, bool unknown)
{
    OWNED answer = py_call_method(array, question, "()");
    int yes = answer ? PyObject_IsTrue(answer) : -1;
    if (yes < 0)
        PyErr_Clear();
    return yes < 0 ? unknown : yes > 0;
}

/* Whether JAX's runtime raised it, and not a signal handler. */
static bool is_jax_error(PyObject *exception)
{
    OWNED type = py_import_attr("jax.errors", "JaxRuntimeError");
    int is = type ? PyObject_IsInstance(exception, type) : 0;
    if (PyErr_Occurred())
        PyErr_Clear();
    return is > 0;
}

/* Whether the failure `first` is the array's own. JAX looks at signals while it waits, so it
 * may be what a handler raised: then the array is not ready yet, or fails otherwise or not at all
 * when it is asked again. */
static bool is_own_failure(PyObject *array, PyObject *method, PyObject *first)
{
    if (is_jax_error(first))
        return true;
    OWNED again = ask(array, "is_ready", true) ? PyObject_CallMethodObjArgs(array, method, NULL)
                                               : Py_NewRef(Py_None);
    OWNED second = again ? NULL : exception_take();
    return second && errors_same(first, second);
}

/* Waits for one array; the failure of one that was deleted meanwhile is none. */
static void wait_for_array(PyObject *array, PyObject *method, PyObject **first_failure,
                           Py_ssize_t *failures, struct errors *errors)
{
    OWNED done = PyObject_CallMethodObjArgs(array, method, NULL);
    if (done || errors_take_interrupt(errors))
        return;
    OWNED failure = exception_take();
    if (ask(array, "is_deleted", false))
        return;
    if (!is_own_failure(array, method, failure))
        errors_interrupt(errors, STEAL(failure));
    else if ((*failures)++ == 0)
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
            errors_interrupt(errors, exception_take());
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

/* A step of a drain, in JAX's Python, where a signal handler may raise: 0, or -1 with an exception.
 */
typedef int drain_step(PyObject *jax, PyObject *argument);

/* One that fails is done again, but for errors of JAX's runtime, some of which are told once only:
 * JAX's own failure comes again, what a handler raised does not, and becomes the interrupt. 0, or
 * -1 with JAX's failure. */
static int do_step(drain_step *step, PyObject *jax, PyObject *argument, struct errors *errors)
{
    if (step(jax, argument) == 0 || errors_take_interrupt(errors))
        return 0;
    OWNED first = exception_take();
    if (is_jax_error(first)) {
        exception_raise(STEAL(first));
        return -1;
    }
    int code = step(jax, argument);
    OWNED second = exception_take();
    bool came_again = second && errors_same(first, second);
    if (!came_again)
        errors_interrupt(errors, STEAL(first));
    if (code < 0)
        exception_raise(STEAL(second));
    return code;
}

/* A computation of no size on one device, waited for: a copy, which compiles in half the time that
 * arithmetic takes. */
static int run_behind(PyObject *jax, PyObject *device)
{
    OWNED zero = PyLong_FromLong(0);
    OWNED there = zero ? py_call_method(jax, "device_put", "(OO)", zero, device) : NULL;
    OWNED result = there ? py_call_method(there, "copy", "()") : NULL;
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
        if (do_step(run_behind, jax, PyList_GetItem(devices, i), errors) < 0)
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

static int wait_for_effects(PyObject *jax, PyObject *Py_UNUSED(none))
{
    OWNED done = py_call_method(jax, "effects_barrier", "()");
    return done ? 0 : -1;
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
    if (!errors->interrupt && do_step(wait_for_effects, jax, NULL, errors) < 0)
        errors_take(errors);
}
