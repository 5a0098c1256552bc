/* SPDX-License-Identifier: Apache-2.0 */
/* folder - the folder of reports: made, locked against a second exporter, cleared of old reports.
 *
 * Removes only files that the index there names, and temporary ones that its own workers left: the
 * user may have named a folder that holds other things. The log is kept under a temporary name
 * until the capture proved to be one, so that a failure at the start leaves old reports whole. */
#ifndef DEW_CLI_REPORT_FOLDER_H
#define DEW_CLI_REPORT_FOLDER_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/err.h"

#define REPORTS_INDEX "reports.json"
#define REPORTS_LOG "export.log"

struct folder {
    char *path;
    int lock; /* the folder, open and locked; -1 in an empty struct */
    int log;  /* appended to by everybody */
    char *log_path;
    size_t found;   /* length of the part of the path that was there before */
    bool committed; /* the old reports are gone and the log has its name */
};

#define FOLDER_EMPTY                                                                               \
    {                                                                                              \
        .lock = -1, .log = -1                                                                      \
    }

must_check int folder_open(const char *path, struct folder *ret, struct err *e);

/* The index that lies in it: new reference, or NULL where there is none that can be read. */
json_t *folder_index(const struct folder *folder);

/* Whether an index lies in it that is not just word of a failure. */
bool folder_has_reports(const struct folder *folder);

/* Removes the old reports that are not among the entries `kept` (or NULL), and gives the log its
 * name. */
must_check int folder_commit(struct folder *folder, const json_t *kept, struct err *e);

/* Removes what a worker that was ended left half-written of `file`. */
void folder_tidy(const struct folder *folder, const char *file, pid_t worker);

void folder_log(const struct folder *folder, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* As folder_log(), into the log that lies there from earlier reports. */
void folder_remark(const struct folder *folder, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Unlocks. Without a commit the log goes, and so do the folders that were made here. */
void folder_release(struct folder *folder);

#endif
