/* SPDX-License-Identifier: Apache-2.0 */
/* devices - interval arithmetic on clipped positions; no event is kept. */
#include "trace/devices.h"

#include <stdlib.h>

#include "base/banned.h"

static int64_t clip(const struct devices *devices, int64_t position)
{
    return position < devices->window_start ? devices->window_start
           : position > devices->window_end ? devices->window_end
                                            : position;
}

static int regions_reserve(struct device *device, uint32_t n, struct err *e)
{
    if (n <= device->regions_room)
        return 0;
    uint32_t room = device->regions_room ? device->regions_room : 8;
    while (room < n)
        room *= 2;
    struct device_region *grown = realloc(device->by_region, room * sizeof(*grown));
    if (!grown)
        return err_nomem(e);
    memset(grown + device->regions_room, 0, (room - device->regions_room) * sizeof(*grown));
    device->by_region = grown;
    device->regions_room = room;
    return 0;
}

int devices_init(struct devices *devices, int64_t window_start, int64_t window_end, size_t n_strip,
                 struct err *e)
{
    *devices = (struct devices){
        .window_start = window_start, .window_end = window_end, .n_strip = n_strip, .room = 4};
    devices->all = calloc(devices->room, sizeof(*devices->all));
    if (!devices->all)
        return err_nomem(e);
    struct span from = {.until = window_start};
    devices->all[0] = (struct device){.busy = from,
                                      .collective = from,
                                      .compute = from,
                                      .either = from,
                                      .mark = window_start,
                                      .first_open = DEVICES_NO_SLOT};
    return regions_reserve(&devices->all[0], 1, e);
}

int devices_add(struct devices *devices, const char *name, int64_t ordinal, uint32_t *ret_index,
                struct err *e)
{
    if (devices->count == DEVICES_MAX)
        return err_set(e, ERR_LIMIT, "the capture has more than %d devices", DEVICES_MAX);
    if (devices->count + 1 == devices->room) {
        struct device *grown = realloc(devices->all, (size_t)2 * devices->room * sizeof(*grown));
        if (!grown)
            return err_nomem(e);
        devices->all = grown;
        devices->room *= 2;
    }
    const struct device *blank = &devices->all[0];
    struct device *device = &devices->all[1 + devices->count];
    *device = *blank;
    device->by_region = NULL;
    device->regions_room = 0;
    device->ordinal = ordinal;
    (void)snprintf(device->name, sizeof(device->name), "%s", name);
    devices->count++; /* from here on devices_release() frees its arrays */
    int r = regions_reserve(device, blank->regions_room, e);
    if (r < 0)
        return r;
    memcpy(device->by_region, blank->by_region, blank->regions_room * sizeof(*device->by_region));
    if (devices->n_strip) {
        device->strip = calloc(devices->n_strip, sizeof(*device->strip));
        if (!device->strip)
            return err_nomem(e);
    }
    *ret_index = devices->count - 1;
    return 0;
}

/* What is idle, if anything, is so from here on. */
static int64_t idle_from(const struct device *device)
{
    return device->busy.until > device->mark ? device->busy.until : device->mark;
}

/* The gap that is open goes on in the region of this slot. */
static void open_add(struct device *device, uint32_t slot, uint64_t idle)
{
    struct device_region *region = &device->by_region[slot];
    if (!region->open) {
        region->next_open = device->first_open;
        device->first_open = slot;
    }
    region->open += idle;
}

/* It is over, and this was its cause. */
static void open_close(struct device *device, enum idle_cause cause)
{
    while (device->first_open != DEVICES_NO_SLOT) {
        struct device_region *region = &device->by_region[device->first_open];
        region->idle[cause] += region->open;
        region->open = 0;
        device->first_open = region->next_open;
    }
}

int devices_advance(struct devices *devices, int64_t now, uint32_t region, struct err *e)
{
    now = clip(devices, now);
    uint32_t slot = region == SUMMARY_NO_REGION ? 0 : region + 1;
    for (uint32_t i = 0; i <= devices->count; i++) {
        struct device *device = &devices->all[i];
        if (now <= device->mark)
            continue;
        if (slot >= device->regions_room) {
            int r = regions_reserve(device, slot + 1, e);
            if (r < 0)
                return r;
        }
        int64_t from = idle_from(device);
        uint64_t idle = from < now ? (uint64_t)(now - from) : 0;
        if (idle)
            open_add(device, slot, idle);
        for (int cause = 0; cause < IDLE_CAUSES; cause++) {
            device->by_region[slot].idle[cause] += device->gaps_ps[cause];
            idle += device->gaps_ps[cause];
            device->gaps_ps[cause] = 0;
        }
        device->by_region[slot].busy += (uint64_t)(now - device->mark) - idle;
        device->mark = now;
    }
    return 0;
}

/* Ops arrive by start, so nothing but the last interval reaches over `now`. */
static uint64_t covered_until(const struct span *span, int64_t now)
{
    return span->until > now ? span->covered - (uint64_t)(span->until - now) : span->covered;
}

struct device_times devices_until(const struct devices *devices, int64_t now)
{
    now = clip(devices, now);
    struct device_times sum = {0};
    for (uint32_t i = 1; i <= devices->count; i++) {
        const struct device *device = &devices->all[i];
        add_saturated(&sum.busy, covered_until(&device->busy, now));
        add_saturated(&sum.collective, covered_until(&device->collective, now));
        add_saturated(&sum.exposed,
                      covered_until(&device->either, now) - covered_until(&device->compute, now));
    }
    return sum;
}

bool devices_gap(const struct devices *devices, uint32_t index, int64_t start, int64_t *ret_from)
{
    const struct device *device = &devices->all[1 + index];
    if (start >= devices->window_end || start <= device->busy.until)
        return false;
    *ret_from = device->busy.until;
    return true;
}

/* Bucket i covers the positions from n i / window up, exactly, so that buckets add up to busy. They
 * are filled from left to right: the bounds of the last one are kept, for most ops end in it. */
static void strip_add(const struct devices *devices, struct device *device, int64_t from,
                      int64_t to)
{
    __extension__ typedef unsigned __int128 wide;
    uint64_t window = (uint64_t)(devices->window_end - devices->window_start);
    uint64_t n = devices->n_strip, at = (uint64_t)(from - devices->window_start);
    uint64_t end = (uint64_t)(to - devices->window_start);
    while (at < end) {
        if (at >= device->strip_edge) {
            device->strip_bucket = (uint64_t)((wide)at * n / window);
            device->strip_edge =
                (uint64_t)(((wide)(device->strip_bucket + 1) * window + n - 1) / n);
        }
        uint64_t stop = device->strip_edge < end ? device->strip_edge : end;
        device->strip[device->strip_bucket] += stop - at;
        at = stop;
    }
}

void devices_op(struct devices *devices, uint32_t index, int64_t start, int64_t end,
                enum idle_cause cause)
{
    struct device *device = &devices->all[1 + index];
    if (start >= devices->window_end || end < devices->window_start)
        return;
    start = clip(devices, start);
    end = clip(devices, end);
    int64_t from = idle_from(device);
    if (start > from)
        device->gaps_ps[cause] += (uint64_t)(start - from);
    if (start > device->busy.until)
        open_close(device, cause);
    device->has_op = true;
    uint64_t added = span_add(&device->busy, start, end);
    if (added && device->strip)
        strip_add(devices, device, end - (int64_t)added, end);
}

int devices_finish(struct devices *devices, uint32_t region, struct err *e)
{
    int r = devices_advance(devices, devices->window_end, region, e);
    if (r < 0)
        return r;
    for (uint32_t i = 1; i <= devices->count; i++)
        open_close(&devices->all[i], IDLE_EDGE);
    return 0;
}

void devices_release(struct devices *devices)
{
    for (uint32_t i = 0; devices->all && i <= devices->count; i++) {
        free(devices->all[i].by_region);
        free(devices->all[i].strip);
    }
    free(devices->all);
    *devices = (struct devices){0};
}
