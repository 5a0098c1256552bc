/* SPDX-License-Identifier: Apache-2.0 */
/* result - regions, devices and the receipt; what all tables share. */
#include <stdlib.h>

#include "base/utf8.h"
#include "trace/result.h"

#include "base/banned.h"

static bool is_text(uint32_t code)
{
    return code != 0 && code < UTF8_NOT;
}

const char *result_text(struct summary *summary, struct view text)
{
    size_t bad = 0, size;
    for (size_t i = 0; i < text.size; i += size)
        bad += !is_text(utf8_first(text.data + i, text.size - i, &size));
    char *copy = arena_alloc(&summary->arena, text.size + 2 * bad + 1);
    if (!copy)
        return NULL;
    char *to = copy;
    for (size_t i = 0; i < text.size; i += size) {
        bool good = is_text(utf8_first(text.data + i, text.size - i, &size));
        memcpy(to, good ? (const char *)text.data + i : "\xef\xbf\xbd", good ? size : 3);
        to += good ? size : 3;
    }
    *to = '\0';
    return copy;
}

void result_spread(struct summary_spread *spread, struct sketch *stolen)
{
    *spread = (struct summary_spread){.count = stolen->count,
                                      .total_ps = stolen->total,
                                      .mean_ps = stolen->count ? stolen->total / stolen->count : 0,
                                      .min_ps = stolen->min,
                                      .p50_ps = sketch_quantile(stolen, 0.5),
                                      .p90_ps = sketch_quantile(stolen, 0.9),
                                      .p99_ps = sketch_quantile(stolen, 0.99),
                                      .max_ps = stolen->max,
                                      .exact = sketch_exact(stolen),
                                      .sketch = *stolen};
    *stolen = (struct sketch){0};
}

int order_by_key(const void *a, const void *b)
{
    const struct order *x = a, *y = b;
    if (x->key != y->key)
        return x->key > y->key ? -1 : 1;
    return x->index < y->index ? -1 : x->index > y->index;
}

struct order *order_new(size_t n)
{
    return calloc(n + 1, sizeof(struct order));
}

/* *ret_place[region number] is its place in the result. */
static int put_regions(struct pass *pass, struct summary *summary, uint32_t **ret_place,
                       struct err *e)
{
    uint32_t n = pass->regions.names.count, kept = 0;
    CLEANUP(cleanup_free) struct order *order = order_new(n);
    CLEANUP(cleanup_free) uint32_t *place = calloc(n + 1, sizeof(*place));
    if (!order || !place)
        return err_nomem(e);
    for (uint32_t i = 0; i < n; i++)
        order[kept++] = (struct order){pass->regions.all[i].calls.total, i};
    qsort(order, kept, sizeof(*order), order_by_key);
    summary->regions = arena_alloc(&summary->arena, (kept + 1) * sizeof(*summary->regions));
    if (!summary->regions)
        return err_nomem(e);
    for (uint32_t i = 0; i < kept; i++) {
        struct region_data *data = &pass->regions.all[order[i].index];
        struct summary_region *region = &summary->regions[i];
        place[order[i].index] = i;
        region->name = result_text(summary, intern_name(&pass->regions.names, order[i].index));
        if (!region->name)
            return err_nomem(e);
        region->launches = data->launches;
        region->launched_by = summary->has_links   ? LAUNCHED_BY_LINKS
                              : summary->n_devices ? LAUNCHED_BY_OVERLAP
                                                   : LAUNCHED_BY_NONE;
        if (region->launched_by == LAUNCHED_BY_LINKS) {
            region->launched_ps = data->launched_ps;
            region->launched_ops = data->launched_ops;
            region->launched_ordered_ops = data->ordered_ops;
        } else if (region->launched_by == LAUNCHED_BY_OVERLAP) {
            region->launched_ops = data->overlap_ops;
            for (uint32_t d = 0; d < pass->devices.count; d++) {
                const struct device *device = devices_at(&pass->devices, d);
                if (order[i].index + 1 < device->regions_room)
                    add_saturated(&region->launched_ps, device->by_region[order[i].index + 1].busy);
            }
        }
        result_spread(&region->calls, &data->calls);
        summary->n_regions = i + 1;
    }
    summary->regions_from = regions_source(&pass->regions);
    *ret_place = place;
    place = NULL;
    return 0;
}

static int put_device_idle(const struct device *device, struct summary *summary,
                           struct summary_device *to, const uint32_t *place, struct err *e)
{
    uint32_t n = device->regions_room, kept = 0;
    CLEANUP(cleanup_free) struct order *order = order_new(n);
    if (!order)
        return err_nomem(e);
    for (uint32_t i = 0; i < n; i++) {
        uint64_t idle = device_region_idle(&device->by_region[i]);
        if (idle)
            order[kept++] = (struct order){idle, i};
    }
    qsort(order, kept, sizeof(*order), order_by_key);
    to->idle_by_region = arena_alloc(&summary->arena, (kept + 1) * sizeof(*to->idle_by_region));
    if (!to->idle_by_region)
        return err_nomem(e);
    for (uint32_t i = 0; i < kept; i++) {
        uint32_t region = order[i].index ? place[order[i].index - 1] : SUMMARY_NO_REGION;
        const uint64_t *causes = device->by_region[order[i].index].idle;
        to->idle_by_region[i] = (struct summary_region_idle){region, order[i].key, {0}};
        memcpy(to->idle_by_region[i].by_cause, causes, sizeof(to->idle_by_region[i].by_cause));
        to->idle_ps += order[i].key;
        for (int cause = 0; cause < IDLE_CAUSES; cause++)
            to->idle_by_cause[cause] += causes[cause];
        if (region == SUMMARY_NO_REGION)
            continue;
        struct summary_region *its = &summary->regions[region];
        add_saturated(&its->idle_behind_ps, order[i].key);
        for (int cause = 0; cause < IDLE_CAUSES; cause++)
            add_saturated(&its->idle_behind_by_cause[cause], causes[cause]);
    }
    to->n_idle_by_region = kept;
    return 0;
}

static int put_devices(struct pass *pass, struct summary *summary, const uint32_t *place,
                       struct err *e)
{
    for (uint32_t i = 0; i < pass->devices.count; i++) {
        const struct device *device = devices_at(&pass->devices, i);
        struct summary_device *to = &summary->devices[i];
        to->name = result_text(summary, view_text(device->name));
        if (!to->name)
            return err_nomem(e);
        to->ops = device->ops;
        to->op_time_ps = device->op_time_ps;
        to->busy_ps = device->busy.covered;
        to->collective_ps = device->collective.covered;
        to->collective_exposed_ps = device->either.covered - device->compute.covered;
        to->async_ops = device->async_ops;
        to->async_ps = device->async_ps;
        if (device->strip) {
            to->strip_busy_ps =
                arena_alloc(&summary->arena, summary->n_strip * sizeof(*device->strip));
            if (!to->strip_busy_ps)
                return err_nomem(e);
            memcpy(to->strip_busy_ps, device->strip, summary->n_strip * sizeof(*device->strip));
        }
        int r = put_device_idle(device, summary, to, place, e);
        if (r < 0)
            return r;
    }
    return 0;
}

/* CPU devices appear in the order of their first op. */
static int by_ordinal(const void *a, const void *b)
{
    const struct device *x = a, *y = b;
    return (x->ordinal > y->ordinal) - (x->ordinal < y->ordinal);
}

static void put_receipt(struct pass *pass)
{
    struct summary_receipt *receipt = &pass->receipt;
    const struct links *links = &pass->links;
    receipt->executions = links->linked + links->numbered + links->ordered + links->unmatched;
    receipt->executions_linked = links->linked;
    receipt->executions_ordered = links->numbered + links->ordered;
    receipt->executions_numbered = links->numbered;
    receipt->executions_unmatched = links->unmatched;
    if (pass->platform == PLATFORM_GPU) {
        receipt->executions = receipt->executions_linked = links->claimed;
    }
    receipt->launches_unmatched =
        receipt->launches > links->claimed ? receipt->launches - links->claimed : 0;
    receipt->in_flight_start = links->early;
    receipt->in_flight_end = links->last_claimed_launch == INT64_MIN ? receipt->launches_unmatched
                             : links->late < receipt->launches_unmatched
                                 ? links->late
                                 : receipt->launches_unmatched;
    if (pass->platform == PLATFORM_GPU || pass->platform == PLATFORM_TPU) {
        receipt->collector_empty = true;
        for (uint32_t i = 0; i < pass->devices.count; i++)
            receipt->collector_empty &= !devices_at(&pass->devices, i)->ops;
    }
}

static bool any_capped(const struct summary *summary)
{
    bool capped = summary->steps.durations.total_ps == UINT64_MAX;
    for (size_t i = 0; i < summary->n_devices; i++)
        capped |= summary->devices[i].op_time_ps == UINT64_MAX ||
                  summary->devices[i].async_ps == UINT64_MAX;
    for (size_t i = 0; i < summary->n_regions; i++)
        capped |= summary->regions[i].calls.total_ps == UINT64_MAX ||
                  summary->regions[i].launched_ps == UINT64_MAX ||
                  summary->regions[i].idle_behind_ps == UINT64_MAX;
    for (size_t i = 0; i < summary->n_ops; i++)
        capped |= summary->ops[i].total_ps == UINT64_MAX;
    for (size_t i = 0; i < summary->n_host_names; i++)
        capped |= summary->host_names[i].total_ps == UINT64_MAX;
    return capped;
}

int pass_result(struct pass *pass, struct summary *summary, struct err *e)
{
    if (pass->platform == PLATFORM_NONE && pass->devices.count)
        pass->platform = PLATFORM_CPU;
    if (pass->platform == PLATFORM_CPU)
        qsort(pass->devices.all + 1, pass->devices.count, sizeof(*pass->devices.all), by_ordinal);
    summary->platform = pass->platform;
    summary->window_ps = (uint64_t)(pass->window_end - pass->window_start);
    summary->file = result_text(summary, view_text(pass->options->file));
    summary->host = result_text(summary, view_text(summary->host ? summary->host : ""));
    summary->n_devices = pass->devices.count;
    summary->devices =
        arena_alloc(&summary->arena, (summary->n_devices + 1) * sizeof(*summary->devices));
    if (!summary->file || !summary->host || !summary->devices)
        return err_nomem(e);
    summary->has_links = pass->links.linked > 0 || pass->gpu_linked > 0;
    CLEANUP(cleanup_free) uint32_t *place = NULL;
    int r = put_regions(pass, summary, &place, e);
    if (r == 0)
        r = put_devices(pass, summary, place, e);
    if (r == 0)
        r = result_waits(summary, e);
    if (r == 0)
        r = result_steps(pass, summary, e);
    if (r == 0)
        r = result_ops(pass, summary, e);
    if (r == 0)
        r = result_host_names(pass, summary, e);
    for (uint32_t i = 0; r == 0 && i < pass->n_compiled; i++) {
        summary->compiled[i] = result_text(summary, pass->compiled[i]);
        summary->n_compiled = i + 1;
        r = summary->compiled[i] ? 0 : err_nomem(e);
    }
    put_receipt(pass);
    pass->receipt.sums_capped = any_capped(summary);
    summary->receipt = pass->receipt;
    return r;
}
