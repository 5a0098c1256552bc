/* SPDX-License-Identifier: Apache-2.0 */
/* capture - one capture from start to saved: what it owns and its phases.
 *
 *     start: capture_folder.c (check, make) -> manifest.c -> jax_drain.c -> jax_trace.c (on)
 *     stop:  jax_drain.c -> jax_trace.c (off) -> capture_save.c -> manifest.c -> exporter.c
 *
 * A struct capture belongs to the Profiler that started it until stop takes it over. Paths are in
 * the file system's encoding, absolute, and owned by it. */
#ifndef DEW_PYTHON_CAPTURE_H
#define DEW_PYTHON_CAPTURE_H

#include <stdint.h>

#include "base/flush.h"
#include "python/jax_calls.h"
#include "python/reports_mode.h"
#include "python/state.h"

#define UTC_TEXT_MAX 64

enum capture_state { CAPTURE_CAPTURING, CAPTURE_CAPTURED, CAPTURE_FAILED };

/* The folders of one capture; each NULL until known. */
struct capture_folders {
    char *root;       /* DIRECTORY, absolute */
    char *folder;     /* root/[process-NNNNN/]capture-NNNN */
    char *run;        /* the last part of run_folder */
    char *run_folder; /* folder/plugins/profile/RUN */
    char *file;       /* run_folder/HOST.xplane.pb */
    char *jax_folder; /* where JAX would write if it were asked to */
    char *made;       /* the topmost folder that this start made */
    bool jax_made;    /* jax_folder is a temporary folder of ours */
};

struct capture {
    unsigned serial; /* in the owner slot */
    enum jax_way way;
    uint64_t started_ns; /* monotonic */
    char started_utc[UTC_TEXT_MAX];
    struct capture_folders folders;
    PyObject *manifest;         /* dict; written again at each change of state */
    struct flush *flush;        /* of the first manifest, or NULL */
    PyObject *options;          /* the ProfileOptions it runs with */
    struct errors old_failures; /* of work that was dispatched before the start */
    PyObject *library; /* path of xprof's converter library (str), or NULL without reports */
};

/* Starts one; `directory` is NULL (a fresh temporary folder), a str or bytes. On failure nothing is
 * left behind but the owner slot, which is the caller's. */
must_check int capture_start(struct module_state *state, PyObject *directory, PyObject *options,
                             enum reports_mode reports, struct capture *capture);

/* How a capture ended, and what the caller has still to raise. */
struct capture_end {
    struct errors errors;
    PyObject *body; /* borrowed: the exception on its way out of the `with`, or NULL */
    bool saved;     /* bytes of it are on disk */
    bool whole;     /* and they can be read */
    bool moved;     /* not where it should be: folders.folder is a fresh temporary folder */
    uint64_t bytes; /* of the capture */
};

/* Everything up to the capture being on disk and the slot free. Never raises: see end->errors. */
void capture_stop(struct module_state *state, struct capture *capture, struct capture_end *end);

/* The reports, after capture_stop(). */
void capture_report(struct capture *capture, enum reports_mode reports, struct capture_end *end);

/* Ends a trace that was just started, and takes away what its start made; keeps the current
 * exception. */
void capture_abandon(struct capture *capture);

/* Takes NULL too. */
void capture_free(struct capture *capture);

/* --- capture_folder.c --- */

/* Refuses what is no local folder to write into: bytes, the empty path, remote schemes, a file in
 * its place, a folder that cannot be written. Touches JAX not at all. Sets folders->root. */
must_check int capture_check_root(PyObject *directory, struct capture_folders *folders);

/* Makes the capture's own folder, and names what will lie in it; process_index is below 0 where the
 * job has one process. */
must_check int capture_make_folders(struct capture_folders *folders, long process_index,
                                    unsigned serial);

/* Makes run_folder in the capture's own folder, which must still be there. A capture that runs or
 * was lost shows XProf no empty run. */
must_check int capture_make_run_folder(const struct capture_folders *folders, struct err *e);

/* A fresh private folder for JAX's stop_trace(), or only a name where it will not be used. */
must_check int capture_choose_jax_folder(struct capture_folders *folders, enum jax_way way);

/* Removes what a failed start made, as far as it is empty; `manifest` too. */
void capture_undo_folders(struct capture_folders *folders);

/* Removes a folder of ours and all in it; one that stays is no error worth more than the capture.
 */
void capture_remove_folder(const char *path);

void capture_folders_release(struct capture_folders *folders);

/* --- capture_save.c --- */

/* Puts the capture in its place: from `bytes` (or NULL: from the files below jax_folder), checked,
 * flushed to the disk; if it cannot be there, in a fresh temporary folder. */
void capture_save(struct capture *capture, PyObject *bytes, struct capture_end *end);

/* --- manifest.c --- */

must_check int manifest_make(struct capture *capture, PyObject *converter);

/* manifest["section"][key] = value (stolen; NULL fails with the exception that is set). */
must_check int manifest_put(struct capture *capture, const char *section, const char *key,
                            PyObject *value);

must_check int manifest_put_seconds(struct capture *capture, const char *key, uint64_t since_ns);

/* Sets the state and writes the file into the capture's folder. The first one is flushed to the
 * disk while the start goes on: what a power cut would take with it is a capture that is in memory.
 */
must_check int manifest_write(struct capture *capture, enum capture_state state);

/* The present, as the manifest writes it: "2025-01-31T12:00:00.123456Z". */
void utc_text(char text[UTC_TEXT_MAX]);

uint64_t monotonic_ns(void);

/* --- capture_log.c --- */

/* logging.getLogger("dew.telemetry.profile").info(text); what fails goes to `errors`. */
void capture_log(struct errors *errors, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
