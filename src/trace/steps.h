/* SPDX-License-Identifier: Apache-2.0 */
/* steps - the program's steps, with the devices' busy time in each.
 *
 * A step is an event with a step number. It opens with the devices' busy time up to its start and
 * closes with that up to its end. Keeps every step up to SUMMARY_STEPS_MAX for pictures, then every
 * second, fourth, ... one, and the slowest ones apart; totals count all. */
#ifndef DEW_TRACE_STEPS_H
#define DEW_TRACE_STEPS_H

#include "base/intern.h"
#include "trace/devices.h"
#include "trace/summary.h"

struct step_data {
    int64_t number;
    uint32_t name; /* interned in `names` */
    int64_t start, end;
    struct device_times times; /* while open: up to the start */
    bool cut;
};

struct steps {
    struct intern names;
    struct step_data *open; /* slots; free ones are chained through `free_next` */
    uint32_t *free_next;
    uint32_t open_room, free_head; /* 1 + slot, 0 none */
    struct step_data *samples;
    uint32_t n_samples, samples_room;
    uint64_t stride;
    struct step_data *slowest; /* a heap, the shortest of them first, until steps_sort() */
    uint32_t n_slowest, slowest_room, top;
    struct sketch durations;
    uint64_t count, cut, repeated;
    struct device_times times;
    struct {
        bool has;
        uint32_t name;
        int64_t first, last;
    } row;          /* the first steps, as long as they count up by one */
    uint64_t *seen; /* the others with their names, open addressing; stops at STEPS_SEEN_MAX */
    uint32_t n_seen, seen_room;
};

#define STEPS_SEEN_MAX (1U << 17)

/* Keeps the `top` slowest; 0, or more than SUMMARY_STEPS_MAX, for that many. */
void steps_init(struct steps *steps, size_t top);

/* `name` is a number of steps->names. */
must_check int steps_begin(struct steps *steps, uint32_t name, int64_t number, int64_t start,
                           int64_t end, bool cut, struct device_times times, uint32_t *ret_slot,
                           struct err *e);
must_check int steps_end(struct steps *steps, uint32_t slot, struct device_times times,
                         struct err *e);

/* Brings the slowest into order, longest first. */
void steps_sort(struct steps *steps);

void steps_release(struct steps *steps);

#endif
