/* SPDX-License-Identifier: Apache-2.0 */
/* devices - busy and idle time of each device, and who the idle time belongs to.
 *
 * Each device is accounted up to its `mark`. Before the innermost region changes, and at a step's
 * ends, devices_advance() books the time since the mark: what is not covered by an op is idle and
 * goes to the region that was innermost. Ops arrive by start, so what is booked never changes. All
 * positions are clipped to the window, which is why busy and idle parts add up to it exactly. */
#ifndef DEW_TRACE_DEVICES_H
#define DEW_TRACE_DEVICES_H

#include "trace/span.h"
#include "trace/summary.h"

#define DEVICES_MAX 4096

struct device {
    char name[64];
    int64_t ordinal;
    bool is_named; /* comes from a plane, not from an ordinal */
    uint64_t ops, op_time_ps, async_ops, async_ps;
    struct span busy, collective, compute, either;
    int64_t mark;
    uint64_t gaps_ps; /* idle time between ops since the mark, not booked yet */
    uint64_t idle_ps;
    uint64_t *idle_by_region; /* [0] no region, [1 + region] */
    uint64_t *busy_by_region; /* the same for overlap */
    uint32_t regions_room;
    uint64_t cause[IDLE_CAUSES];
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

/* An op. The cause of a gap in front of it has been booked by the caller (devices_gap()). */
void devices_op(struct devices *devices, uint32_t index, int64_t start, int64_t end);

/* The end of what the device did before `start`, where [ret, start) is a gap inside the window. */
bool devices_gap(const struct devices *devices, uint32_t index, int64_t start, int64_t *ret_from);

/* After the last event: books to the window's end. */
must_check int devices_finish(struct devices *devices, uint32_t region, struct err *e);

void devices_release(struct devices *devices);

#endif
