/* SPDX-License-Identifier: Apache-2.0 */
/* verdict_why - where a straggler's time goes, and what makes a group of processes odd. */
#include <stdlib.h>

#include "trace/verdict_inner.h"

#include "base/banned.h"

/* The region that explains most of what the straggler costs a step; of those that explain about the
 * same, such as a region around it, the shortest. */
static void explain_region(struct many_rows *rows, struct verdict *v)
{
    const struct many_process *it = &rows->processes[v->process];
    if (v->kind != VERDICT_STRAGGLER || !it->steps)
        return;
    for (int round = 0; round < 2; round++) {
        uint64_t limit = round ? v->region_excess_ps / 5 * 4 : 1;
        for (uint32_t i = 0; i < rows->n_regions; i++) {
            struct many_region *region = &rows->regions[i];
            if (region->slowest != v->process || region->processes < 2)
                continue;
            uint64_t over = verdict_minus(region->means.max, sketch_quantile(&region->means, 0.5));
            uint64_t excess =
                verdict_clamped((wide)over * (wide)region->slowest_calls / (wide)it->steps);
            bool better = !v->region || (round ? region->means.max < v->region->means.max
                                               : excess > v->region_excess_ps);
            if (excess >= limit && better) {
                v->region = region;
                v->region_excess_ps = round ? v->region_excess_ps : excess;
            }
        }
    }
}

static int by_value(const void *a, const void *b)
{
    const uint64_t *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

/* The same for the devices' own work. */
static int explain_work(const struct many_rows *rows, struct verdict *v, struct err *e)
{
    CLEANUP(cleanup_free) uint64_t *work = calloc((size_t)rows->n_processes + 1, sizeof(*work));
    uint32_t n = 0;
    if (!work)
        return err_nomem(e);
    for (uint32_t i = 0; i < rows->n_processes; i++) {
        const struct many_process *p = &rows->processes[i];
        if (p->compared)
            work[n++] = p->work_ps / p->compared;
    }
    if (!n || v->kind != VERDICT_STRAGGLER || !rows->processes[v->process].compared)
        return 0;
    const struct many_process *it = &rows->processes[v->process];
    qsort(work, n, sizeof(*work), by_value);
    v->work_excess_ps = verdict_minus(it->work_ps / it->compared, work[(n - 1) / 2]);
    return 0;
}

int verdict_explain(struct many_rows *rows, struct verdict *v, struct err *e)
{
    explain_region(rows, v);
    return explain_work(rows, v, e);
}

int verdict_check_group(const struct many_rows *rows, struct verdict *v, struct err *e)
{
    int64_t count = -1, first_stop = INT64_MAX, last_start = INT64_MIN, expected = 0;
    v->missing = calloc(VERDICT_MISSING_MAX, sizeof(*v->missing));
    if (!v->missing)
        return err_nomem(e);
    for (uint32_t i = 0; i < rows->n_processes; i++) {
        const struct many_process *p = &rows->processes[i];
        v->damaged += p->damaged;
        v->thinned |= p->step_stride > 1;
        v->versions_differ |= p->version.size && rows->processes[0].version.size &&
                              !view_equal(p->version, rows->processes[0].version);
        if (p->count >= 0) {
            v->counts_differ |= count >= 0 && p->count != count;
            count = p->count;
        }
        if (p->start_unix_ns && p->stop_unix_ns) {
            last_start = p->start_unix_ns > last_start ? p->start_unix_ns : last_start;
            first_stop = p->stop_unix_ns < first_stop ? p->stop_unix_ns : first_stop;
        }
        for (; p->index >= 0 && expected < p->index && v->n_missing < VERDICT_MISSING_MAX;
             expected++)
            v->missing[v->n_missing++] = (uint64_t)expected;
        expected = p->index >= 0 ? p->index + 1 : expected;
    }
    v->apart = first_stop != INT64_MAX && last_start > first_stop;
    if (rows->processes[0].index < 0 || v->counts_differ)
        v->n_missing = 0;
    else if (count > (int64_t)rows->n_processes)
        v->missing_count = (uint64_t)count - rows->n_processes;
    for (; v->missing_count && expected < count && v->n_missing < VERDICT_MISSING_MAX; expected++)
        v->missing[v->n_missing++] = (uint64_t)expected;
    if (v->n_missing > v->missing_count)
        v->n_missing = (uint32_t)v->missing_count;
    return 0;
}
