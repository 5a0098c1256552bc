/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_summary - any bytes as a capture to summarize: it answers or says why not, and what it says
 * of each device adds up to the picosecond. */
#include <string.h>

#include "target.h"
#include "trace/summary.h"

#include "base/banned.h"

/* `whole`: of all steps. Sums stop at UINT64_MAX, which keeps the inequalities. */
static void adds_up(const struct summary *summary, bool whole)
{
    uint64_t ops = 0, calls = 0;
    for (size_t i = 0; i < summary->n_ops; i++)
        calls += summary->ops[i].calls;
    for (size_t d = 0; d < summary->n_devices; d++) {
        const struct summary_device *device = &summary->devices[d];
        uint64_t by_region = 0, by_cause = 0;
        for (size_t i = 0; i < device->n_idle_by_region; i++)
            by_region += device->idle_by_region[i].idle_ps;
        for (size_t i = 0; i < IDLE_CAUSES; i++)
            by_cause += device->idle_by_cause[i];
        HOLDS(device->busy_ps + device->idle_ps == summary->window_ps);
        HOLDS(by_region == device->idle_ps);
        HOLDS(by_cause == device->idle_ps);
        for (size_t i = 0; i < device->n_idle_by_region; i++) {
            uint64_t of_region = 0;
            for (size_t cause = 0; cause < IDLE_CAUSES; cause++)
                of_region += device->idle_by_region[i].by_cause[cause];
            HOLDS(of_region == device->idle_by_region[i].idle_ps);
        }
        HOLDS(!whole || device->op_time_ps >= device->busy_ps);
        HOLDS(device->collective_exposed_ps <= device->collective_ps);
        HOLDS(device->busy_ps <= INT64_MAX);
        ops += device->ops;
    }
    HOLDS(ops == calls);
    const struct summary_receipt *receipt = &summary->receipt;
    HOLDS(receipt->executions_numbered <= receipt->executions_ordered);
    HOLDS(summary->platform == PLATFORM_GPU ||
          receipt->executions == receipt->executions_linked + receipt->executions_ordered +
                                     receipt->executions_unmatched);
    for (size_t i = 0; i < summary->n_regions; i++)
        HOLDS(summary->regions[i].launched_ordered_ops <= summary->regions[i].launched_ops);
    for (size_t i = 1; i < summary->steps.n_slowest; i++)
        HOLDS(summary->steps.slowest[i - 1].duration_ps >= summary->steps.slowest[i].duration_ps);
    for (size_t i = 0; i < summary->steps.n_samples; i++) {
        const struct summary_step *step = &summary->steps.samples[i];
        HOLDS(step->duration_ps <= INT64_MAX && step->exposed_ps <= step->collective_ps);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const patterns[] = {"region.*"};
    const struct summary_options options[] = {
        {.file = "input", .host = "host", .top = 5},
        {.file = "input",
         .host = "host",
         .top = 1,
         .region_patterns = patterns,
         .n_region_patterns = 1,
         .has_step_range = true,
         .step_first = 0,
         .step_last = 1},
    };
    for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++) {
        struct summary summary = {0};
        struct err e = {0};
        int code = summary_run(view_of(data, size), &options[i], &summary, &e);
        HOLDS(code == 0 || (e.code == code && e.text[0] != '\0'));
        adds_up(&summary, !options[i].has_step_range);
        summary_release(&summary);
    }
    return 0;
}
