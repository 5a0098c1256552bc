/* SPDX-License-Identifier: Apache-2.0 */
/* result - from the state of the pass to the result that outlives it: sorted, named, owned. */
#include <stdlib.h>

#include "trace/pass.h"

#include "base/banned.h"

static bool valid_sequence(const uint8_t *at, size_t left, size_t *ret_size)
{
    size_t n = at[0] < 0x80             ? 1
               : (at[0] & 0xe0) == 0xc0 ? 2
               : (at[0] & 0xf0) == 0xe0 ? 3
               : (at[0] & 0xf8) == 0xf0 ? 4
                                        : 0;
    if (n == 0 || n > left || at[0] == 0)
        return false;
    uint32_t code = n == 1 ? at[0] : at[0] & (0x7fU >> n);
    for (size_t i = 1; i < n; i++) {
        if ((at[i] & 0xc0) != 0x80)
            return false;
        code = code << 6 | (at[i] & 0x3f);
    }
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    *ret_size = n;
    return code >= least[n] && code <= 0x10ffff && !(code >= 0xd800 && code < 0xe000);
}

/* A NUL-terminated copy in which every byte that is not UTF-8, and NUL, became U+FFFD. */
static const char *text_copy(struct arena *arena, struct view text)
{
    size_t bad = 0, size;
    for (size_t i = 0; i < text.size; i += size) {
        if (!valid_sequence(text.data + i, text.size - i, &size)) {
            bad++;
            size = 1;
        }
    }
    char *copy = arena_alloc(arena, text.size + 2 * bad + 1);
    if (!copy)
        return NULL;
    char *to = copy;
    for (size_t i = 0; i < text.size; i += size) {
        if (valid_sequence(text.data + i, text.size - i, &size)) {
            memcpy(to, text.data + i, size);
            to += size;
        } else {
            memcpy(to, "\xef\xbf\xbd", 3);
            to += 3;
            size = 1;
        }
    }
    *to = '\0';
    return copy;
}

static void spread_of(struct summary_spread *spread, struct sketch *stolen)
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

struct order {
    uint64_t key;
    uint32_t index;
};

static int by_key(const void *a, const void *b)
{
    const struct order *x = a, *y = b;
    if (x->key != y->key)
        return x->key > y->key ? -1 : 1;
    return x->index < y->index ? -1 : x->index > y->index;
}

static struct order *order_new(size_t n)
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
    qsort(order, kept, sizeof(*order), by_key);
    summary->regions = arena_alloc(&summary->arena, (kept + 1) * sizeof(*summary->regions));
    if (!summary->regions)
        return err_nomem(e);
    for (uint32_t i = 0; i < kept; i++) {
        struct region_data *data = &pass->regions.all[order[i].index];
        struct summary_region *region = &summary->regions[i];
        place[order[i].index] = i;
        region->name =
            text_copy(&summary->arena, intern_name(&pass->regions.names, order[i].index));
        if (!region->name)
            return err_nomem(e);
        region->launches = data->launches;
        region->launched_by = summary->has_links   ? LAUNCHED_BY_LINKS
                              : summary->n_devices ? LAUNCHED_BY_OVERLAP
                                                   : LAUNCHED_BY_NONE;
        if (region->launched_by == LAUNCHED_BY_LINKS) {
            region->launched_ps = data->launched_ps;
            region->launched_ops = data->launched_ops;
        } else if (region->launched_by == LAUNCHED_BY_OVERLAP) {
            region->launched_ops = data->overlap_ops;
            for (uint32_t d = 0; d < pass->devices.count; d++) {
                const struct device *device = devices_at(&pass->devices, d);
                if (order[i].index + 1 < device->regions_room)
                    region->launched_ps += device->busy_by_region[order[i].index + 1];
            }
        }
        spread_of(&region->calls, &data->calls);
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
        if (device->idle_by_region[i])
            order[kept++] = (struct order){device->idle_by_region[i], i};
    }
    qsort(order, kept, sizeof(*order), by_key);
    to->idle_by_region = arena_alloc(&summary->arena, (kept + 1) * sizeof(*to->idle_by_region));
    if (!to->idle_by_region)
        return err_nomem(e);
    for (uint32_t i = 0; i < kept; i++) {
        uint32_t region = order[i].index ? place[order[i].index - 1] : SUMMARY_NO_REGION;
        to->idle_by_region[i] = (struct summary_region_idle){region, order[i].key};
        if (region != SUMMARY_NO_REGION)
            summary->regions[region].idle_behind_ps += order[i].key;
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
        to->name = text_copy(&summary->arena, view_text(device->name));
        if (!to->name)
            return err_nomem(e);
        to->ops = device->ops;
        to->op_time_ps = device->op_time_ps;
        to->busy_ps = device->busy.covered;
        to->idle_ps = device->idle_ps;
        to->collective_ps = device->collective.covered;
        to->collective_exposed_ps = device->either.covered - device->compute.covered;
        to->async_ops = device->async_ops;
        to->async_ps = device->async_ps;
        memcpy(to->idle_by_cause, device->cause, sizeof(device->cause));
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

static struct summary_step *put_step_list(struct pass *pass, struct steps *steps,
                                          struct summary *summary, const struct step_data *from,
                                          uint32_t n)
{
    struct summary_step *list = arena_alloc(&summary->arena, (n + 1) * sizeof(*list));
    const char **names = arena_alloc(&summary->arena, (steps->names.count + 1) * sizeof(*names));
    if (!list || !names)
        return NULL;
    for (uint32_t i = 0; i < n; i++) {
        const struct step_data *step = &from[i];
        if (!names[step->name])
            names[step->name] = text_copy(&summary->arena, intern_name(&steps->names, step->name));
        if (!names[step->name])
            return NULL;
        uint64_t duration = (uint64_t)(step->end - step->start);
        uint64_t n_devices = pass->devices.count ? pass->devices.count : 1;
        uint64_t busy = step->times.busy / n_devices;
        list[i] = (struct summary_step){.number = step->number,
                                        .name = names[step->name],
                                        .start_ps = step->start > pass->window_start
                                                        ? (uint64_t)step->start -
                                                              (uint64_t)pass->window_start
                                                        : 0,
                                        .duration_ps = duration,
                                        .busy_ps = busy,
                                        .idle_ps = duration - (busy < duration ? busy : duration),
                                        .collective_ps = step->times.collective / n_devices,
                                        .exposed_ps = step->times.exposed / n_devices,
                                        .cut = step->cut};
    }
    return list;
}

static int by_time(const void *a, const void *b)
{
    const struct step_data *x = a, *y = b;
    if (x->start != y->start)
        return x->start < y->start ? -1 : 1;
    return (x->end > y->end) - (x->end < y->end);
}

static int put_steps(struct pass *pass, struct summary *summary, struct err *e)
{
    bool from_device = pass->steps.count == 0 && pass->device_steps.count > 0;
    struct steps *steps = from_device ? &pass->device_steps : &pass->steps;
    struct summary_steps *to = &summary->steps;
    *to = (struct summary_steps){.count = steps->count,
                                 .cut = steps->cut,
                                 .repeated = steps->repeated,
                                 .n_slowest = steps->n_slowest,
                                 .n_samples = steps->n_samples,
                                 .sample_stride = steps->stride,
                                 .from_device = from_device};
    if (steps->n_samples > 0) /* qsort takes no NULL */
        qsort(steps->samples, steps->n_samples, sizeof(*steps->samples), by_time);
    to->slowest = put_step_list(pass, steps, summary, steps->slowest, steps->n_slowest);
    to->samples = put_step_list(pass, steps, summary, steps->samples, steps->n_samples);
    if (!to->slowest || !to->samples)
        return err_nomem(e);
    spread_of(&to->durations, &steps->durations);
    uint64_t n_devices = pass->devices.count ? pass->devices.count : 1;
    to->busy_ps = steps->times.busy / n_devices;
    to->collective_ps = steps->times.collective / n_devices;
    to->exposed_ps = steps->times.exposed / n_devices;
    to->idle_ps = to->durations.total_ps -
                  (to->busy_ps < to->durations.total_ps ? to->busy_ps : to->durations.total_ps);
    pass->receipt.steps_cut = steps->cut;
    return 0;
}

static int put_ops(struct pass *pass, struct summary *summary, struct err *e)
{
    CLEANUP(cleanup_free) struct order *order = order_new(pass->ops.count);
    if (!order)
        return err_nomem(e);
    uint32_t kept = 0;
    for (uint32_t i = 0; i < pass->ops.count; i++) {
        if (pass->ops.all[i].calls)
            order[kept++] = (struct order){pass->ops.all[i].total_ps, i};
    }
    qsort(order, kept, sizeof(*order), by_key);
    summary->ops = arena_alloc(&summary->arena, (kept + 1) * sizeof(*summary->ops));
    if (!summary->ops)
        return err_nomem(e);
    for (uint32_t i = 0; i < kept; i++) {
        const struct op_data *data = &pass->ops.all[order[i].index];
        struct summary_op *op = &summary->ops[i];
        *op = (struct summary_op){
            .module = text_copy(&summary->arena, intern_name(&pass->ops.names, data->module)),
            .op = text_copy(&summary->arena, intern_name(&pass->ops.names, data->name)),
            .kind = data->kind,
            .calls = data->calls,
            .total_ps = data->total_ps};
        if (!op->module || !op->op)
            return err_nomem(e);
    }
    summary->n_ops = kept;
    return 0;
}

struct host_total {
    uint64_t calls, total_ps;
};

/* Names that stand in several tables, or several times in one, are one name. */
static int sum_host_names(struct pass *pass, struct intern *names, struct host_total **ret_totals,
                          struct err *e)
{
    CLEANUP(cleanup_free) struct host_total *totals = NULL;
    uint32_t room = 0;
    for (uint32_t p = 0; p < pass->n_planes; p++) {
        struct plane_state *plane = &pass->planes[p];
        if (plane->role != PLANE_HOST)
            continue;
        for (uint32_t i = 0; i < plane->plane.event_metadata.count; i++) {
            if (!plane->names[i].calls)
                continue;
            struct xevent_metadata metadata;
            uint32_t id;
            xplane_event_metadata(&plane->plane, i, &metadata);
            int r = intern_put(names, metadata.name, &id, e);
            if (r < 0)
                return r;
            if (id >= room) {
                uint32_t grown_room = room ? room * 2 : 128;
                struct host_total *grown = realloc(totals, grown_room * sizeof(*grown));
                if (!grown)
                    return err_nomem(e);
                memset(grown + room, 0, (grown_room - room) * sizeof(*grown));
                totals = grown;
                room = grown_room;
            }
            totals[id].calls += plane->names[i].calls;
            totals[id].total_ps += plane->names[i].total_ps;
        }
    }
    *ret_totals = totals;
    totals = NULL;
    return 0;
}

static int put_host_names(struct pass *pass, struct summary *summary, struct err *e)
{
    CLEANUP(intern_release) struct intern names = {0};
    CLEANUP(cleanup_free) struct host_total *totals = NULL;
    int r = sum_host_names(pass, &names, &totals, e);
    if (r < 0)
        return r;
    CLEANUP(cleanup_free) struct order *order = order_new(names.count);
    summary->host_names =
        arena_alloc(&summary->arena, (names.count + 1) * sizeof(*summary->host_names));
    if (!order || !summary->host_names)
        return err_nomem(e);
    for (uint32_t i = 0; i < names.count; i++)
        order[i] = (struct order){totals[i].total_ps, i};
    qsort(order, names.count, sizeof(*order), by_key);
    for (uint32_t i = 0; i < names.count; i++) {
        const struct host_total *total = &totals[order[i].index];
        summary->host_names[i] = (struct summary_host_name){
            text_copy(&summary->arena, intern_name(&names, order[i].index)), total->calls,
            total->total_ps};
        if (!summary->host_names[i].name)
            return err_nomem(e);
    }
    summary->n_host_names = names.count;
    return 0;
}

static void put_receipt(struct pass *pass)
{
    struct summary_receipt *receipt = &pass->receipt;
    const struct links *links = &pass->links;
    receipt->executions = links->linked + links->ordered + links->unmatched;
    receipt->executions_linked = links->linked;
    receipt->executions_ordered = links->ordered;
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

int pass_result(struct pass *pass, struct summary *summary, struct err *e)
{
    if (pass->platform == PLATFORM_NONE && pass->devices.count)
        pass->platform = PLATFORM_CPU;
    if (pass->platform == PLATFORM_CPU)
        qsort(pass->devices.all + 1, pass->devices.count, sizeof(*pass->devices.all), by_ordinal);
    summary->platform = pass->platform;
    summary->window_ps = (uint64_t)(pass->window_end - pass->window_start);
    summary->file = text_copy(&summary->arena, view_text(pass->options->file));
    summary->host = text_copy(&summary->arena, view_text(summary->host ? summary->host : ""));
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
        r = put_steps(pass, summary, e);
    if (r == 0)
        r = put_ops(pass, summary, e);
    if (r == 0)
        r = put_host_names(pass, summary, e);
    put_receipt(pass);
    summary->receipt = pass->receipt;
    return r;
}
