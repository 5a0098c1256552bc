/* SPDX-License-Identifier: Apache-2.0 */
/* index - reports.json: what was made of a capture, and what became of the rest.
 *
 * Replaced as a whole each time, so that a reader sees the old or the new one. Schema 1; keys may
 * be added, none renamed. */
#ifndef DEW_CLI_REPORT_INDEX_H
#define DEW_CLI_REPORT_INDEX_H

#include <jansson.h>

#include "cli/capture_path.h"
#include "cli/report/plan.h"

struct index_source {
    const char *library;
    const char *version; /* or NULL */
    const struct capture_files *files;
};

/* What "captures" and "run" are for these files: new references, NULL without memory. */
json_t *index_captures(const struct capture_files *files);
json_t *index_run(const struct capture_files *files);

/* Whether `name` is that of a file in the index's own folder. */
bool index_own_name(const char *name);

/* `kept` are entries of an earlier index that hold on, or NULL. `state`: "running", "done",
 * "interrupted" or "failed"; `error` is what ended it before its time, or NULL. Reports that are
 * not finished are left out. A new reference, NULL without memory. */
json_t *index_json(const struct plan *plan, const json_t *kept, const struct index_source *source,
                   const char *state, const char *error);

must_check int index_write(const struct plan *plan, const json_t *kept,
                           const struct index_source *source, const char *state, const char *error,
                           const char *folder, struct err *e);

#endif
