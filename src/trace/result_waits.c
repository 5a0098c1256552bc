/* SPDX-License-Identifier: Apache-2.0 */
/* result_waits - which devices were used, and what those waited for, region by region.
 *
 * A device without work of its own waits all the time and for nothing; with several devices such a
 * one would drown what the others tell. */
#include <stdlib.h>

#include "trace/result.h"

#include "base/banned.h"

/* The profiler's own drain runs one tiny computation on each device, so "unused" is not "no op". */
#define UNUSED_FRACTION 50 /* of the busiest device's work */

static void find_used(struct summary *summary)
{
    uint64_t most = 0;
    for (size_t i = 0; i < summary->n_devices; i++) {
        uint64_t busy = summary->devices[i].busy_ps;
        most = busy > most ? busy : most;
    }
    for (size_t i = 0; i < summary->n_devices; i++) {
        struct summary_device *device = &summary->devices[i];
        device->used = most == 0 || (device->busy_ps && device->busy_ps >= most / UNUSED_FRACTION);
    }
}

static void add_part(struct summary_region_idle *to, const struct summary_region_idle *part)
{
    add_saturated(&to->idle_ps, part->idle_ps);
    for (int cause = 0; cause < IDLE_CAUSES; cause++)
        add_saturated(&to->by_cause[cause], part->by_cause[cause]);
}

static int by_idle(const void *a, const void *b)
{
    const struct summary_region_idle *x = a, *y = b;
    if (x->idle_ps != y->idle_ps)
        return x->idle_ps > y->idle_ps ? -1 : 1;
    return x->region < y->region ? -1 : x->region > y->region;
}

int result_waits(struct summary *summary, struct err *e)
{
    struct summary_waits *waits = &summary->waits;
    size_t n = summary->n_regions, kept = 0;
    waits->behind = arena_alloc(&summary->arena, (n + 1) * sizeof(*waits->behind));
    if (!waits->behind)
        return err_nomem(e);
    find_used(summary);
    for (size_t i = 0; i <= n; i++)
        waits->behind[i] =
            (struct summary_region_idle){.region = i < n ? (uint32_t)i : SUMMARY_NO_REGION};
    for (size_t i = 0; i < summary->n_devices; i++) {
        const struct summary_device *device = &summary->devices[i];
        if (!device->used)
            continue;
        waits->n_devices++;
        add_saturated(&waits->time_ps, summary->window_ps);
        for (size_t k = 0; k < device->n_idle_by_region; k++) {
            const struct summary_region_idle *part = &device->idle_by_region[k];
            add_part(&waits->behind[part->region == SUMMARY_NO_REGION ? n : part->region], part);
            add_part(&waits->all, part);
        }
    }
    for (size_t i = 0; i <= n; i++)
        if (waits->behind[i].idle_ps)
            waits->behind[kept++] = waits->behind[i];
    waits->n_behind = kept;
    if (kept)
        qsort(waits->behind, kept, sizeof(*waits->behind), by_idle);
    return 0;
}
