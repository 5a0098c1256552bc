/* SPDX-License-Identifier: Apache-2.0 */
/* jax_calls - every call from here into JAX.
 *
 * Owns the knowledge of JAX's names: the public ones, and the few of jax._src.profiler that let a
 * capture be taken as bytes. Those are probed for and never assumed; where they have another shape
 * the public stop_trace() is used. Tried with jax 0.10.2 and 0.12. Nothing here holds our lock. */
#ifndef DEW_PYTHON_JAX_CALLS_H
#define DEW_PYTHON_JAX_CALLS_H

#include "python/errors.h"

/* Imports jax and jax.profiler. 0, or -1 with an exception. */
must_check int jax_import(void);

/* Name of the default backend, for example "cpu": new reference to a str. Initialises it. */
PyObject *jax_default_backend(void);

/* A fresh jax.profiler.ProfileOptions: new reference. */
PyObject *jax_new_options(void);

/* Whether `object` is a ProfileOptions, without importing jax: where jax was not imported, nothing
 * can be one. 1, 0, or -1 with an exception. */
must_check int jax_is_options(PyObject *object);

/* Every option and its value: new reference to a dict. ValueError names attributes that the options
 * do not have and that JAX would ignore. */
PyObject *jax_option_values(PyObject *options);

/* The default backend's devices: new reference to a dict as the manifest has it. */
PyObject *jax_describe_backend(void);

must_check int jax_process(long *ret_index, long *ret_count);

/* {"jax": ..., "jaxlib": ...}: new reference. */
PyObject *jax_versions(void);

/* --- jax_drain.c --- */

/* What a drain waits for: the live arrays of the default backend and effects; and also what was
 * dispatched and dropped, which costs a computation a device. Before a capture that is dear and
 * saves nothing; after it, it is work that the capture would lose. */
enum jax_drain_scope { JAX_DRAIN_LIVE, JAX_DRAIN_ALL };

/* Waits, and copies nothing to the host. Arrays deleted or donated meanwhile are skipped.
 * Everything is waited for even where something failed: failures are collected, an interrupt ends
 * the wait. */
void jax_drain(enum jax_drain_scope scope, struct errors *errors);

/* --- jax_trace.c --- */

/* How a trace is ended. */
enum jax_way {
    JAX_WAY_SESSION,    /* the session's own stop(), which returns the serialized capture */
    JAX_WAY_STOP_TRACE, /* jax.profiler.stop_trace(), which writes files */
};

/* Which way this JAX offers. */
enum jax_way jax_probe_way(void);

/* 1 where a trace runs in this process, 0 where none does, -1 with an exception. Also sees a
 * profiler server's session, as long as it records host events. */
must_check int jax_tracing(void);

/* Starts a trace whose folder, as far as JAX knows, is `folder`: the name by which the trace is
 * known again. On failure no trace of ours runs. 0, or -1 with an exception. */
must_check int jax_trace_on(const char *folder, PyObject *options);

/* Ends the trace that jax_trace_on(folder) started. Returns the serialized capture as a new
 * reference to bytes, or NULL: the files, if any, are then below `folder`. What failed is in
 * `errors`. A trace that is not ours is not touched. JAX can trace again in every case. */
PyObject *jax_trace_off(enum jax_way way, const char *folder, struct errors *errors);

#endif
