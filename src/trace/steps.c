/* SPDX-License-Identifier: Apache-2.0 */
/* steps - open slots, samples that thin themselves out, and the slowest in order. */
#include "trace/steps.h"

#include <stdlib.h>

#include "base/banned.h"

int steps_init(struct steps *steps, size_t top, struct err *e)
{
    *steps = (struct steps){.stride = 1, .top = top > 1024 ? 1024 : (uint32_t)top};
    steps->slowest = calloc(steps->top + 1, sizeof(*steps->slowest));
    return steps->slowest ? 0 : err_nomem(e);
}

static int seen_grow(struct steps *steps, struct err *e)
{
    uint32_t room = steps->seen_room ? steps->seen_room * 2 : 256;
    uint64_t *fresh = calloc(room, sizeof(*fresh));
    if (!fresh)
        return err_nomem(e);
    for (uint32_t i = 0; i < steps->seen_room; i++) {
        uint32_t at = (uint32_t)steps->seen[i] & (room - 1);
        if (!steps->seen[i])
            continue;
        while (fresh[at])
            at = (at + 1) & (room - 1);
        fresh[at] = steps->seen[i];
    }
    free(steps->seen);
    steps->seen = fresh;
    steps->seen_room = room;
    return 0;
}

/* Most programs count their steps up by one: then two numbers are enough to remember all. */
static bool note_in_row(struct steps *steps, uint32_t name, int64_t number)
{
    if (!steps->row.has) {
        steps->row.has = true;
        steps->row.name = name;
        steps->row.first = steps->row.last = number;
        return true;
    }
    if (name != steps->row.name)
        return false;
    if (number >= steps->row.first && number <= steps->row.last) {
        steps->repeated++;
        return true;
    }
    if (steps->n_seen > 0 || steps->row.last == INT64_MAX || number != steps->row.last + 1)
        return false;
    steps->row.last = number;
    return true;
}

/* Remembers 64 mixed bits of (name, number); two different steps that mix to the same bits are
 * less likely than a damaged file that passes for a whole one. */
static int note_seen(struct steps *steps, uint32_t name, int64_t number, struct err *e)
{
    if (note_in_row(steps, name, number))
        return 0;
    if (steps->n_seen * 2 >= steps->seen_room) {
        if (steps->seen_room >= STEPS_SEEN_MAX)
            return 0;
        int r = seen_grow(steps, e);
        if (r < 0)
            return r;
    }
    uint64_t key = (uint64_t)number * UINT64_C(0x9e3779b97f4a7c15) + name + 1;
    key ^= key >> 29;
    key *= UINT64_C(0xbf58476d1ce4e5b9);
    key ^= key >> 32;
    key = key ? key : 1;
    uint32_t at = (uint32_t)key & (steps->seen_room - 1);
    for (; steps->seen[at]; at = (at + 1) & (steps->seen_room - 1)) {
        if (steps->seen[at] == key) {
            steps->repeated++;
            return 0;
        }
    }
    steps->seen[at] = key;
    steps->n_seen++;
    return 0;
}

static int open_slot(struct steps *steps, uint32_t *ret_slot, struct err *e)
{
    if (!steps->free_head) {
        uint32_t room = steps->open_room ? steps->open_room * 2 : 16;
        struct step_data *open = realloc(steps->open, room * sizeof(*open));
        if (!open)
            return err_nomem(e);
        steps->open = open;
        uint32_t *chain = realloc(steps->free_next, room * sizeof(*chain));
        if (!chain)
            return err_nomem(e);
        steps->free_next = chain;
        for (uint32_t i = steps->open_room; i < room; i++) {
            chain[i] = steps->free_head;
            steps->free_head = i + 1;
        }
        steps->open_room = room;
    }
    *ret_slot = steps->free_head - 1;
    steps->free_head = steps->free_next[*ret_slot];
    return 0;
}

int steps_begin(struct steps *steps, uint32_t name, int64_t number, int64_t start, int64_t end,
                bool cut, struct device_times times, uint32_t *ret_slot, struct err *e)
{
    int r = note_seen(steps, name, number, e);
    if (r == 0)
        r = open_slot(steps, ret_slot, e);
    if (r < 0)
        return r;
    steps->open[*ret_slot] = (struct step_data){
        .number = number, .name = name, .start = start, .end = end, .times = times, .cut = cut};
    return 0;
}

static int add_sample(struct steps *steps, const struct step_data *step, struct err *e)
{
    if (steps->count % steps->stride)
        return 0;
    if (steps->n_samples == SUMMARY_STEPS_MAX) {
        for (uint32_t i = 0; i < SUMMARY_STEPS_MAX / 2; i++)
            steps->samples[i] = steps->samples[(size_t)2 * i];
        steps->n_samples /= 2;
        steps->stride *= 2;
        if (steps->count % steps->stride)
            return 0;
    }
    if (steps->n_samples == steps->samples_room) {
        uint32_t room = steps->samples_room ? steps->samples_room * 2 : 64;
        struct step_data *grown = realloc(steps->samples, room * sizeof(*grown));
        if (!grown)
            return err_nomem(e);
        steps->samples = grown;
        steps->samples_room = room;
    }
    steps->samples[steps->n_samples++] = *step;
    return 0;
}

/* Sorted insertion: `top` is small. */
static void add_slowest(struct steps *steps, const struct step_data *step)
{
    int64_t length = step->end - step->start;
    uint32_t i = steps->n_slowest;
    while (i > 0 && length > steps->slowest[i - 1].end - steps->slowest[i - 1].start) {
        steps->slowest[i] = steps->slowest[i - 1]; /* the array has one place more than `top` */
        i--;
    }
    if (i >= steps->top)
        return;
    steps->slowest[i] = *step;
    if (steps->n_slowest < steps->top)
        steps->n_slowest++;
}

int steps_end(struct steps *steps, uint32_t slot, struct device_times times, struct err *e)
{
    struct step_data step = steps->open[slot];
    steps->free_next[slot] = steps->free_head;
    steps->free_head = slot + 1;
    step.times.busy = times.busy - step.times.busy;
    step.times.collective = times.collective - step.times.collective;
    step.times.exposed = times.exposed - step.times.exposed;
    int r = sketch_add(&steps->durations, (uint64_t)(step.end - step.start), e);
    if (r == 0)
        r = add_sample(steps, &step, e);
    if (r < 0)
        return r;
    add_slowest(steps, &step);
    steps->count++;
    steps->cut += step.cut;
    add_saturated(&steps->times.busy, step.times.busy);
    add_saturated(&steps->times.collective, step.times.collective);
    add_saturated(&steps->times.exposed, step.times.exposed);
    return 0;
}

void steps_release(struct steps *steps)
{
    intern_release(&steps->names);
    free(steps->open);
    free(steps->free_next);
    free(steps->samples);
    free(steps->slowest);
    free(steps->seen);
    sketch_release(&steps->durations);
    *steps = (struct steps){0};
}
