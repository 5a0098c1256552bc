/* SPDX-License-Identifier: Apache-2.0 */
/* merge_steps - found by their ends while collectives are read, by their numbers afterwards. */
#include "trace/merge_steps.h"

#include <stdlib.h>

#include "base/banned.h"

#define STEPS_AT_ONCE_MAX 8 /* that count for one collective */
#define HASH_START UINT64_C(0xcbf29ce484222325)

static uint64_t hash_text(struct view text)
{
    uint64_t hash = HASH_START;
    for (size_t i = 0; i < text.size; i++)
        hash = (hash ^ text.data[i]) * UINT64_C(0x100000001b3);
    return hash;
}

int merge_step_add(struct merge_facts *facts, const struct xevent *event, struct view name,
                   int64_t number, struct err *e)
{
    facts->steps_seen++;
    if (facts->n_steps == facts->steps_max)
        return 0;
    if (facts->n_steps == facts->steps_room) {
        uint32_t room = facts->steps_room ? facts->steps_room * 2 : 256;
        struct merge_step *grown = realloc(facts->steps, room * sizeof(*grown));
        if (!grown)
            return err_nomem(e);
        facts->steps = grown;
        facts->steps_room = room;
    }
    facts->steps[facts->n_steps++] =
        (struct merge_step){.key = hash_text(name),
                            .number = number,
                            .start_ps = event->start_ps,
                            .end_ps = event->start_ps + event->duration_ps,
                            .together_ps = MERGE_NEVER,
                            .joined_ps = MERGE_NEVER};
    return 0;
}

void merge_steps_collective(struct merge_facts *facts, const struct xevent *event, bool joins)
{
    int64_t end = event->start_ps + event->duration_ps;
    uint32_t low = 0, high = facts->n_steps;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (facts->steps[middle].end_ps < end)
            low = middle + 1;
        else
            high = middle;
    }
    for (uint32_t n = 0; low < facts->n_steps && n < STEPS_AT_ONCE_MAX; low++, n++) {
        struct merge_step *step = &facts->steps[low];
        if (step->start_ps > end)
            return;
        if (step->together_ps < end) {
            step->together_ps = end;
            step->joined_ps = joins ? event->start_ps : MERGE_NEVER;
        }
    }
}

static int by_end(const void *a, const void *b)
{
    const struct merge_step *left = a, *right = b;
    return left->end_ps < right->end_ps ? -1 : left->end_ps > right->end_ps;
}

static int by_key(const void *a, const void *b)
{
    const struct merge_step *left = a, *right = b;
    if (left->key != right->key)
        return left->key < right->key ? -1 : 1;
    if (left->number != right->number)
        return left->number < right->number ? -1 : 1;
    return left->start_ps < right->start_ps ? -1 : left->start_ps > right->start_ps;
}

void merge_steps_order_by_end(struct merge_facts *facts)
{
    if (facts->n_steps > 0)
        qsort(facts->steps, facts->n_steps, sizeof(*facts->steps), by_end);
}

void merge_steps_order(struct merge_facts *facts)
{
    if (facts->n_steps > 0)
        qsort(facts->steps, facts->n_steps, sizeof(*facts->steps), by_key);
}
