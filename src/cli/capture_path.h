/* SPDX-License-Identifier: Apache-2.0 */
/* capture_path - from what the user names to the files of one capture.
 *
 * Reads folders only, never a capture. Takes a .xplane.pb file, a run folder (plugins/profile/RUN),
 * a capture folder (capture-NNNN), or a root with any of: capture-NNNN, process-NNNNN/capture-NNNN,
 * plugins/profile/RUN. A root means its newest capture: the highest number beside its siblings, the
 * most recently written among several processes or runs. Captures without a .xplane.pb do not
 * count, nor does a .xplane.pb that is a folder or a pipe; a link to a file is one. */
#ifndef DEW_CLI_CAPTURE_PATH_H
#define DEW_CLI_CAPTURE_PATH_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

#define CAPTURE_SUFFIX ".xplane.pb"

struct capture_files {
    char **paths; /* sorted by name; at least one; all in `run` */
    size_t count;
    char *run;      /* the folder that holds them */
    char *folder;   /* the capture-NNNN folder, or NULL: a capture of plain JAX */
    char *manifest; /* `folder`'s manifest.json, or NULL where it has none */
};

/* ERR_MISSING: nothing like a capture there. ERR_UNSUPPORTED: a file of another kind. ERR_IO. */
must_check int capture_find(const char *path, struct capture_files *ret, struct err *e);

struct capture_set {
    struct capture_files *all;
    size_t count;
    char **empty; /* process-NNNNN folders that hold no capture with files */
    size_t n_empty;
};

/* As capture_find(), but a root with process-NNNNN folders means the newest capture of each of
 * them; at least one. */
must_check int capture_find_processes(const char *path, struct capture_set *ret, struct err *e);

/* Takes an empty (zeroed) one too. */
void capture_set_release(struct capture_set *set);

/* Whether a regular file begins as what `summary --partial` writes does. */
bool path_is_part(const char *path);

/* The folder into which reports about these files go unless the user says otherwise:
 * capture-NNNN/reports; DIR/reports/RUN for plain JAX's DIR/plugins/profile/RUN; else
 * reports/NAME beside the files. Owned by the caller; NULL without memory. */
char *capture_reports_folder(const struct capture_files *files);

/* The folder to give to `xprof --logdir` to see these files, owned by the caller; NULL where they
 * do not lie in a plugins/profile/RUN, without which xprof does not find them, or without memory.
 */
char *capture_logdir(const struct capture_files *files);

/* Takes an empty (zeroed) one too. */
void capture_files_release(struct capture_files *files);

#endif
