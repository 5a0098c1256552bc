/* SPDX-License-Identifier: Apache-2.0 */
/* steps - open slots, samples that thin themselves out, and the slowest in order. */
#include "trace/steps.h"

#include <stdlib.h>

#include "base/banned.h"

void steps_init(struct steps *steps, size_t top)
{
    uint32_t most = top == 0 || top > SUMMARY_STEPS_MAX ? SUMMARY_STEPS_MAX : (uint32_t)top;
    *steps = (struct steps){.stride = 1, .top = most};
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

/* The longest first; of equal ones the earlier. */
static int by_length(const void *a, const void *b)
{
    const struct step_data *x = a, *y = b;
    int64_t long_x = x->end - x->start, long_y = y->end - y->start;
    if (long_x != long_y)
        return long_x > long_y ? -1 : 1;
    if (x->start != y->start)
        return x->start < y->start ? -1 : 1;
    return (x->number > y->number) - (x->number < y->number);
}

static void heap_up(struct step_data *heap, uint32_t at)
{
    struct step_data step = heap[at];
    for (; at > 0 && by_length(&step, &heap[(at - 1) / 2]) > 0; at = (at - 1) / 2)
        heap[at] = heap[(at - 1) / 2];
    heap[at] = step;
}

static void heap_down(struct step_data *heap, uint32_t n, uint32_t at)
{
    struct step_data step = heap[at];
    for (;;) {
        uint32_t child = 2 * at + 1;
        if (child >= n)
            break;
        child += child + 1 < n && by_length(&heap[child + 1], &heap[child]) > 0;
        if (by_length(&heap[child], &step) <= 0)
            break;
        heap[at] = heap[child];
        at = child;
    }
    heap[at] = step;
}

static int add_slowest(struct steps *steps, const struct step_data *step, struct err *e)
{
    if (steps->n_slowest == steps->top) {
        if (by_length(step, &steps->slowest[0]) > 0)
            return 0;
        steps->slowest[0] = *step;
        heap_down(steps->slowest, steps->n_slowest, 0);
        return 0;
    }
    if (steps->n_slowest == steps->slowest_room) {
        uint32_t room = steps->slowest_room ? steps->slowest_room * 2 : 16;
        struct step_data *grown = realloc(steps->slowest, room * sizeof(*grown));
        if (!grown)
            return err_nomem(e);
        steps->slowest = grown;
        steps->slowest_room = room;
    }
    steps->slowest[steps->n_slowest++] = *step;
    heap_up(steps->slowest, steps->n_slowest - 1);
    return 0;
}

void steps_sort(struct steps *steps)
{
    if (steps->n_slowest) /* qsort takes no NULL */
        qsort(steps->slowest, steps->n_slowest, sizeof(*steps->slowest), by_length);
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
    if (r == 0)
        r = add_slowest(steps, &step, e);
    if (r < 0)
        return r;
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
