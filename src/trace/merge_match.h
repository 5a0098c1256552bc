/* SPDX-License-Identifier: Apache-2.0 */
/* merge_match - do these captures belong together? If not, why not.
 *
 * Each is compared with the first: versions, platform, number of processes, programs, time; and all
 * with each other for being of one process. Programs agree where each side spent at least half of
 * its device time in programs that the other has too, by name and fingerprint: processes of one job
 * may run small programs of their own. What is not known on one side is no reason. */
#ifndef DEW_TRACE_MERGE_MATCH_H
#define DEW_TRACE_MERGE_MATCH_H

#include "trace/merge_facts.h"

struct merge_process {
    const struct merge_facts *facts;
    const char *path; /* for words */
    /* From manifests; -1 or "" where not known. */
    int64_t index, count;
    const char *platform, *jax, *jaxlib;
};

enum merge_reason_kind {
    MERGE_SAME_PROCESS,
    MERGE_OTHER_COUNT,
    MERGE_OTHER_VERSION,
    MERGE_OTHER_PLATFORM,
    MERGE_OTHER_PROGRAM,
    MERGE_NO_START,
    MERGE_NO_OVERLAP,
};

struct merge_reason {
    enum merge_reason_kind kind;
    size_t process; /* which of them does not belong */
    const char *words;
};

struct merge_reasons {
    struct arena arena;
    struct merge_reason *all; /* at most MERGE_REASONS_MAX; n counts all */
    size_t n, kept;
};
#define MERGE_REASONS_MAX 64

/* Compares process i, from 1 on, with the first, whose facts must not be forgotten yet, and with
 * all before it for being the same. `reasons` grows; a zeroed one is empty. */
must_check int merge_match(const struct merge_process *processes, size_t i,
                           struct merge_reasons *reasons, struct err *e);

/* "same-process" and so on, for programs. */
const char *merge_reason_name(enum merge_reason_kind kind);

/* Takes a zeroed one too. */
void merge_reasons_release(struct merge_reasons *reasons);

#endif
