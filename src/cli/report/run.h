/* SPDX-License-Identifier: Apache-2.0 */
/* run - from a capture and a converter to a folder of reports.
 *
 * Owns the order of things: folder, scratch, workers, list of tools, plan, reports, index. Whatever
 * ends it, the scratch folder is gone, no worker lives and the index says what there is. */
#ifndef DEW_CLI_REPORT_RUN_H
#define DEW_CLI_REPORT_RUN_H

#include "cli/capture_path.h"
#include "cli/report/index.h"
#include "cli/report/plan.h"

struct run_order {
    struct index_source source;
    struct plan_wishes wishes;
    const char *folder;
    unsigned jobs;
    int64_t limit_ms; /* for one report; 0: none */
    bool quiet;
    bool detach; /* the work goes on in a process of its own */
};

struct run_outcome {
    struct plan plan;
    json_t *kept; /* what the index says beyond it: index.h */
    int signal;   /* the one that interrupted it, or 0 */
};

/* With `detach` it returns in that process, or in this one where it fails before.
 * Returns an exit_status, and fills the outcome where it is EXIT_DONE or EXIT_FAILED with reports
 * in its plan. Otherwise e says why. A signal that came when all was done ends the program here. */
must_check int run_reports(const struct run_order *order, struct run_outcome *ret, struct err *e);

#endif
