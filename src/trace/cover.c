/* SPDX-License-Identifier: Apache-2.0 */
/* cover - a hash table, open addressing, emptied of what has ended whenever it is half full. */
#include "trace/cover.h"

#include <stdlib.h>

#include "base/banned.h"

#define ROOM_FIRST 256

static struct cover_slot *slot_of(const struct cover_table *table, const struct cover *cover,
                                  uint32_t thread)
{
    uint64_t hash = (uint64_t)(uintptr_t)cover * UINT64_C(0x9e3779b97f4a7c15) ^
                    (uint64_t)thread * UINT64_C(0xff51afd7ed558ccd);
    size_t at = (size_t)(hash ^ hash >> 32) & (table->room - 1);
    while (table->slots[at].cover &&
           (table->slots[at].cover != cover || table->slots[at].thread != thread))
        at = (at + 1) & (table->room - 1);
    return &table->slots[at];
}

/* Forgets what ended by `now`; makes room where that does not leave enough. */
static bool make_room(struct cover_table *table, int64_t now)
{
    size_t open = 0;
    for (size_t i = 0; i < table->room; i++)
        open += table->slots[i].cover && table->slots[i].until > now;
    size_t room = table->room ? table->room : ROOM_FIRST;
    while (room < open * 4)
        room *= 2;
    struct cover_table fresh = {.slots = calloc(room, sizeof(*fresh.slots)), .room = room};
    if (!fresh.slots)
        return false;
    for (size_t i = 0; i < table->room; i++) {
        const struct cover_slot *old = &table->slots[i];
        if (!old->cover || old->until <= now)
            continue;
        *slot_of(&fresh, old->cover, old->thread) = *old;
        fresh.used++;
    }
    free(table->slots);
    *table = fresh;
    return true;
}

static uint64_t add(int64_t *until, int64_t start, int64_t end)
{
    int64_t from = start > *until ? start : *until;
    if (end <= from)
        return 0;
    *until = end;
    return (uint64_t)(end - from);
}

static uint64_t add_elsewhere(struct cover_table *table, const struct cover *cover, uint32_t thread,
                              int64_t start, int64_t end)
{
    if (table->used * 2 >= table->room && !make_room(table, start)) {
        table->no_memory = true;
        return (uint64_t)(end - start);
    }
    struct cover_slot *slot = slot_of(table, cover, thread);
    if (!slot->cover) {
        *slot = (struct cover_slot){cover, start, thread};
        table->used++;
    }
    return add(&slot->until, start, end);
}

uint64_t cover_add(struct cover *cover, struct cover_table *table, uint32_t thread, int64_t start,
                   int64_t end)
{
    if (!cover->seen || start >= cover->quiet_at) {
        *cover = (struct cover){.quiet_at = end, .until = end, .thread = thread, .seen = true};
        return (uint64_t)(end - start);
    }
    cover->quiet_at = end > cover->quiet_at ? end : cover->quiet_at;
    return cover->thread == thread ? add(&cover->until, start, end)
                                   : add_elsewhere(table, cover, thread, start, end);
}

void cover_table_release(struct cover_table *table)
{
    free(table->slots);
    *table = (struct cover_table){0};
}
