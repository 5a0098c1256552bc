/* SPDX-License-Identifier: Apache-2.0 */
/* worker - the process in which the converter runs: it makes one report after the other.
 *
 * A child forked by pool.c. It opens the library, so that a crash in it costs this process and the
 * report it was making. Owns nothing but its memory; its stdout and stderr are the log, because the
 * library writes to both. */
#ifndef DEW_CLI_REPORT_WORKER_H
#define DEW_CLI_REPORT_WORKER_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "cli/report/plan.h"
#include "xprof/scratch.h"

#define WORKER_NAME_MAX                                                                            \
    256 /* no file name, and so no module's name, is longer on Linux or macOS                      \
         */

struct worker_setup {
    const struct scratch *scratch;
    const char *library;
    const char *version; /* or NULL */
    const char *folder;  /* of the reports */
    int log;
    bool trusted; /* another worker has opened this library already */
};

/* Jobs and answers are fixed in size and smaller than PIPE_BUF, which makes each of them one write
 * and one read: never half of one, also when the other side dies. */
struct job {
    bool names;   /* list the tools; the rest is then unused */
    bool discard; /* make it for what the converter keeps in the scratch folder; write nothing */
    int64_t capture;
    char tool[WORKER_NAME_MAX];
    char module[WORKER_NAME_MAX]; /* "" for none */
    char file[WORKER_NAME_MAX];
};

#define ANSWER_TEXT_MAX 3072

struct answer {
    int code;      /* 0 or an err_code */
    bool unopened; /* the library could not be opened; the worker ends */
    bool empty;
    uint64_t bytes;
    double seconds;
    uint32_t size; /* of text: the error, why it is empty, or the tools' names */
    char text[ANSWER_TEXT_MAX];
};

_Static_assert(sizeof(struct job) <= PIPE_BUF, "a job is one write");
_Static_assert(sizeof(struct answer) <= PIPE_BUF, "an answer is one write");

/* Reads jobs until there are no more of them. */
_Noreturn void worker_run(const struct worker_setup *setup, int jobs, int answers);

#endif
