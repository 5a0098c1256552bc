/* SPDX-License-Identifier: Apache-2.0 */
/* devices - busy and idle time of each device, and who the idle time belongs to.
 *
 * Each device is accounted up to its `mark`. Before the innermost region changes, and at a step's
 * ends, devices_advance() books the time since the mark: what is not covered by an op is idle and
 * goes to the region that was innermost. Ops arrive by start, so what is booked never changes. The
 * cause of a gap is known when the op arrives that ends it; until then its parts are `open` in
 * their regions. All positions are clipped to the window, which is why busy and idle parts add up
 * to it exactly. */
#ifndef DEW_TRACE_DEVICES_H
#define DEW_TRACE_DEVICES_H

#include "trace/span.h"
#include "trace/summary.h"

#define DEVICES_MAX 4096

/* What a device did while a region was innermost. */
struct device_region {
    uint64_t busy; /* for overlap */
    uint64_t idle[IDLE_CAUSES];
    uint64_t open;      /* of the gap that no op has ended yet */
    uint32_t next_open; /* the next slot with such a part, or DEVICES_NO_SLOT */
};
#define DEVICES_NO_SLOT UINT32_MAX

struct device {
    char name[64];
    int64_t ordinal;
    bool is_named; /* comes from a plane, not from an ordinal */
    uint64_t ops, op_time_ps, async_ops, async_ps;
    struct span busy, collective, compute, either;
    int64_t mark;
    uint64_t gaps_ps[IDLE_CAUSES];   /* idle time between ops since the mark, not booked yet */
    struct device_region *by_region; /* [0] no region, [1 + region] */
    uint32_t regions_room;
    uint32_t first_open;
    bool has_op; /* inside the window */
    uint64_t *strip;
    uint64_t strip_bucket, strip_edge; /* the last one filled, and where it ends */
};

struct devices {
    struct device *all; /* [0] is never busy: late devices start as its copy */
    uint32_t count;     /* without [0] */
    uint32_t room;
    int64_t window_start, window_end;
    size_t n_strip;
};

must_check int devices_init(struct devices *devices, int64_t window_start, int64_t window_end,
                            size_t n_strip, struct err *e);

/* *ret_index is valid for ever; devices_at() pointers only until the next call of this. */
must_check int devices_add(struct devices *devices, const char *name, int64_t ordinal,
                           uint32_t *ret_index, struct err *e);

static inline struct device *devices_at(struct devices *devices, uint32_t index)
{
    return &devices->all[1 + index];
}

/* Books the time up to `now` to `region` (SUMMARY_NO_REGION for none). */
must_check int devices_advance(struct devices *devices, int64_t now, uint32_t region,
                               struct err *e);

/* Sums over all devices. */
struct device_times {
    uint64_t busy, collective, exposed; /* exposed: collectives with no other op running */
};

/* What the devices did up to `now`, which must have been advanced to. */
struct device_times devices_until(const struct devices *devices, int64_t now);

/* An op, and the cause of the gap in front of it, which counts where devices_gap() found one. */
void devices_op(struct devices *devices, uint32_t index, int64_t start, int64_t end,
                enum idle_cause cause);

/* The end of what the device did before `start`, where [ret, start) is a gap inside the window. */
bool devices_gap(const struct devices *devices, uint32_t index, int64_t start, int64_t *ret_from);

static inline uint64_t device_region_idle(const struct device_region *region)
{
    uint64_t sum = 0;
    for (int cause = 0; cause < IDLE_CAUSES; cause++)
        sum += region->idle[cause];
    return sum;
}

/* After the last event: books to the window's end. */
must_check int devices_finish(struct devices *devices, uint32_t region, struct err *e);

void devices_release(struct devices *devices);

#endif
