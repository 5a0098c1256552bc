/* SPDX-License-Identifier: Apache-2.0 */
/* timeline - a binary heap of ends and a stack that drops what has ended. */
#include "trace/timeline.h"

#include <stdbool.h>
#include <stdlib.h>

#include "base/banned.h"

static bool earlier(const struct timeline_end *a, const struct timeline_end *b)
{
    return a->end != b->end ? a->end < b->end : a->serial > b->serial;
}

static int push_end(struct timeline *timeline, struct timeline_end item, struct err *e)
{
    if (timeline->n_ends == timeline->ends_room) {
        uint32_t room = timeline->ends_room ? timeline->ends_room * 2 : 64;
        struct timeline_end *grown = realloc(timeline->ends, (size_t)room * sizeof(*grown));
        if (!grown)
            return err_nomem(e);
        timeline->ends = grown;
        timeline->ends_room = room;
    }
    uint32_t i = timeline->n_ends++;
    while (i > 0 && earlier(&item, &timeline->ends[(i - 1) / 2])) {
        timeline->ends[i] = timeline->ends[(i - 1) / 2];
        i = (i - 1) / 2;
    }
    timeline->ends[i] = item;
    return 0;
}

static void drop_closed(struct timeline *timeline, int64_t now)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < timeline->n_stack; i++) {
        if (timeline->stack[i].end > now)
            timeline->stack[kept++] = timeline->stack[i];
    }
    timeline->n_stack = kept;
}

int timeline_open_region(struct timeline *timeline, uint32_t region, int64_t end, struct err *e)
{
    if (timeline->n_stack == timeline->stack_room) {
        /* Everything that ends before the next waiting end has ended already. */
        if (timeline->n_ends)
            drop_closed(timeline, timeline->ends[0].end - 1);
        if (timeline->n_stack * 2 >= timeline->stack_room) {
            uint32_t room = timeline->stack_room ? timeline->stack_room * 2 : 64;
            struct timeline_open *grown = realloc(timeline->stack, (size_t)room * sizeof(*grown));
            if (!grown)
                return err_nomem(e);
            timeline->stack = grown;
            timeline->stack_room = room;
        }
    }
    struct timeline_end item = {end, timeline->serial++, region, 0};
    int r = push_end(timeline, item, e);
    if (r < 0)
        return r;
    timeline->stack[timeline->n_stack++] = (struct timeline_open){item.serial, end, region};
    return 0;
}

int timeline_open_step(struct timeline *timeline, uint32_t step, int64_t end, struct err *e)
{
    return push_end(timeline, (struct timeline_end){end, timeline->serial++, TIMELINE_NONE, step},
                    e);
}

bool timeline_next_end(struct timeline *timeline, int64_t now, struct timeline_end *ret_end)
{
    if (timeline->n_ends == 0 || timeline->ends[0].end > now)
        return false;
    *ret_end = timeline->ends[0];
    struct timeline_end last = timeline->ends[--timeline->n_ends];
    uint32_t i = 0, n = timeline->n_ends;
    for (;;) {
        uint32_t child = 2 * i + 1;
        if (child >= n)
            break;
        if (child + 1 < n && earlier(&timeline->ends[child + 1], &timeline->ends[child]))
            child++;
        if (!earlier(&timeline->ends[child], &last))
            break;
        timeline->ends[i] = timeline->ends[child];
        i = child;
    }
    if (n)
        timeline->ends[i] = last;
    return true;
}

uint32_t timeline_innermost(struct timeline *timeline, int64_t now)
{
    while (timeline->n_stack && timeline->stack[timeline->n_stack - 1].end <= now)
        timeline->n_stack--;
    return timeline->n_stack ? timeline->stack[timeline->n_stack - 1].region : TIMELINE_NONE;
}

void timeline_release(struct timeline *timeline)
{
    free(timeline->ends);
    free(timeline->stack);
    *timeline = (struct timeline){0};
}
