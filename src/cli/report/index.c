/* SPDX-License-Identifier: Apache-2.0 */
/* index - the plan as JSON. */
#include "cli/report/index.h"

#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "cli/command.h"
#include "cli/output.h"
#include "cli/report/folder.h"

#include "base/banned.h"

static json_t *text_or_null(const char *text)
{
    return text ? json_text(view_text(text)) : json_null();
}

static json_t *entry_json(const struct report *report)
{
    bool failed = report->status == REPORT_FAILED;
    bool made = report->status == REPORT_OK || report->status == REPORT_EMPTY;
    bool interactive = report->status == REPORT_INTERACTIVE;
    /* Milliseconds: more digits would only pretend. */
    double seconds = (double)(int64_t)(report->seconds * 1000 + 0.5) / 1000;
    json_t *entry = json_pack(
        "{s:o, s:o, s:s, s:I, s:f, s:s, s:o}", "tool", text_or_null(report->tool), "file",
        text_or_null(made ? report->file : NULL), "mime", report->mime, "bytes",
        (json_int_t)report->bytes, "seconds", seconds, "status", report_status_name(report->status),
        "error", text_or_null(failed ? report->note : NULL));
    if (entry && report->host)
        (void)json_object_set_new(entry, "host", text_or_null(report->host));
    if (entry && report->module)
        (void)json_object_set_new(entry, "module", text_or_null(report->module));
    if (entry && report->note && !failed)
        (void)json_object_set_new(entry, interactive ? "open" : "why", text_or_null(report->note));
    return entry;
}

json_t *index_captures(const struct capture_files *files)
{
    json_t *list = json_array();
    for (size_t i = 0; i < files->count; i++) {
        const char *slash = strrchr(files->paths[i], '/');
        (void)json_array_append_new(list, text_or_null(slash ? slash + 1 : files->paths[i]));
    }
    return list;
}

json_t *index_run(const struct capture_files *files)
{
    return text_or_null(files->run);
}

bool index_own_name(const char *name)
{
    return *name && *name != '.' && !strchr(name, '/');
}

static json_t *reports_json(const struct plan *plan, const json_t *kept)
{
    json_t *list = kept ? json_copy((json_t *)kept) : json_array();
    for (size_t i = 0; i < plan->count; i++) {
        enum report_status status = plan->reports[i].status;
        if (status != REPORT_WAITING && status != REPORT_RUNNING)
            (void)json_array_append_new(list, entry_json(&plan->reports[i]));
    }
    return list;
}

json_t *index_json(const struct plan *plan, const json_t *kept, const struct index_source *source,
                   const char *state, const char *error)
{
    return json_pack("{s:i, s:s, s:s, s:o, s:{s:o, s:o}, s:o, s:o, s:o}", "schema", 1, "program",
                     PROGRAM_NAME " " DEW_VERSION, "state", state, "error", text_or_null(error),
                     "converter", "library", text_or_null(source->library), "version",
                     text_or_null(source->version), "run", index_run(source->files), "captures",
                     index_captures(source->files), "reports", reports_json(plan, kept));
}

static void cleanup_json(json_t **json)
{
    json_decref(*json);
}

int index_write(const struct plan *plan, const json_t *kept, const struct index_source *source,
                const char *state, const char *error, const char *folder, struct err *e)
{
    CLEANUP(cleanup_json) json_t *json = index_json(plan, kept, source, state, error);
    CLEANUP(cleanup_free)
    char *text = json ? json_dumps(json, JSON_INDENT(1) | JSON_REAL_PRECISION(9)) : NULL;
    CLEANUP(cleanup_free) char *path = path_join(folder, REPORTS_INDEX);
    if (!text || !path)
        return err_nomem(e);
    bool last =
        strcmp(state, "running") != 0; /* a flush for each report would outlast many of them */
    return last ? file_replace(path, view_text(text), e)
                : file_place(path, view_text(text), NULL, e);
}
