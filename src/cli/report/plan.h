/* SPDX-License-Identifier: Apache-2.0 */
/* plan - which reports are made of a capture, under which names, and what became of each.
 *
 * Owns the list. Decides from the converter's list of tools, the table in xprof/tool.h and what the
 * user asked for; it converts nothing. File names are made from names inside the capture, so they
 * are escaped and bounded here and nowhere else. */
#ifndef DEW_CLI_REPORT_PLAN_H
#define DEW_CLI_REPORT_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/view.h"

#define REPORT_FILE_MAX                                                                            \
    200 /* bytes of a file name; what the file system and a suffix need is left */

enum report_status {
    REPORT_WAITING,
    REPORT_RUNNING,
    REPORT_OK,
    REPORT_EMPTY, /* made, and it has no rows on this platform */
    REPORT_FAILED,
    REPORT_INTERACTIVE, /* not made: it is a page that asks again and again */
};

struct report {
    char *tool;
    char *host;       /* of a report about one host of several, else NULL */
    char *module;     /* of a report about one HLO module, else NULL */
    char *file;       /* its name in the folder of reports, NULL for an interactive one */
    const char *mime; /* static */
    int64_t capture;  /* number of the one capture it is made from, or ALL_CAPTURES */
    bool shares;      /* made from the intermediate result that most tools share */
    enum report_status status;
    uint64_t bytes;
    double seconds;
    char *note; /* failed: the error; empty: why; interactive: how to open it */
};

#define ALL_CAPTURES (-1)

struct plan {
    struct report *reports;
    size_t count;
    size_t room;
};

struct plan_wishes {
    const char *const *tools; /* ended by NULL: only these; NULL: every one */
    bool all;                 /* the interactive ones too */
    const char *open_hint;    /* how to open an interactive one */
};

/* `names` is the converter's list, separated by commas; `captures` are the paths given to it;
 * `scratch` is the folder where its call left the HLO modules. ERR_MISSING: a wished-for tool is
 * not among the names. */
must_check int plan_make(struct view names, const char *const *captures, size_t n_captures,
                         const char *scratch, const struct plan_wishes *wishes, struct plan *ret,
                         struct err *e);

/* The intermediate result that most tools share, as far as it is made apart from any report. */
enum shared {
    SHARED_NONE,
    SHARED_MAKING,
    SHARED_MADE,
};

/* A tool that makes little more than the shared result; every xprof seen has it. */
#define PLAN_SHARED_BY "framework_op_stats"

/* The next report to make, or NULL: none is left, or all that are left wait for the shared
 * intermediate result, which one worker is just making. */
struct report *plan_next(struct plan *plan, enum shared shared);

/* Whether every report has come to its end. */
bool plan_done(const struct plan *plan);

size_t plan_count(const struct plan *plan, enum report_status status);

const char *report_status_name(enum report_status status);

/* What the user calls it: "memory_profile (host a)". Cut at `room`. */
const char *report_label(const struct report *report, char *buffer, size_t room);

void plan_release(struct plan *plan);

#endif
