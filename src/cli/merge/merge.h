/* SPDX-License-Identifier: Apache-2.0 */
/* merge - what the parts of `dew-profile merge` share: the inputs, then the run made of them.
 *
 * inputs.c finds and reads captures and gives each its name in the run; write.c makes the run, all
 * or nothing; tell.c writes what was done, as text, JSON and the run's manifest. The analysis is in
 * src/trace/merge_*.h. */
#ifndef DEW_CLI_MERGE_MERGE_H
#define DEW_CLI_MERGE_MERGE_H

#include <jansson.h>

#include "trace/merge_align.h"
#include "trace/merge_match.h"

struct merge_input {
    char *path;
    char *manifest_path; /* or NULL */
    json_t *manifest;    /* or NULL */
    int64_t index;       /* process index, or -1; so for the job's number of processes */
    int64_t count;
    char *name; /* HOST of HOST.xplane.pb in the run */
    struct merge_facts facts;
    struct align_place place;
    int64_t shift_ns; /* of the lines that count from the capture's start */
    bool shifted;
    uint64_t bytes;
    struct merge_facts written; /* as read back from the run */
};

struct merge_job {
    const char *out; /* as given */
    struct merge_input *inputs;
    size_t n, room;
    char **without_capture; /* process folders without one */
    size_t n_without, without_room;
    struct merge_reasons reasons; /* all overruled, where a run is made */
    int64_t axis_ns;              /* where the run's axis begins, since 1970; 0 where unknown */
    char *run;                    /* the run folder, as it will be called */
};

/* Adds the files of what the user named. */
must_check int merge_inputs_add(struct merge_job *job, const char *path, struct err *e);

/* Reads their manifests, puts them in the order of processes, and names them. */
must_check int merge_inputs_order(struct merge_job *job, struct err *e);

/* Reads the file itself. `e` has the path in front. */
must_check int merge_input_read(struct merge_input *input, struct err *e);

/* ERR_USAGE where OUT is neither absent nor an empty folder. */
must_check int merge_out_check(const char *out, struct err *e);

/* Makes OUT: in a folder beside it, which is renamed when all is on the disk and has been read
 * back. On failure nothing is left. */
must_check int merge_write(struct merge_job *job, struct err *e);

/* The signal that asked for the end while writing, or 0. */
int merge_stopped_by(void);

/* NULL without memory. */
json_t *merge_manifest(const struct merge_job *job);
json_t *merge_to_json(const struct merge_job *job);

must_check int merge_print_text(const struct merge_job *job, struct err *e);

void merge_job_release(struct merge_job *job);

#endif
