/* SPDX-License-Identifier: Apache-2.0 */
/* table - entries sorted by id, and an array over them where that is small. */
#include "xplane/table.h"

#include "xplane/fields.h"

#include <stdlib.h>

#include "base/banned.h"

#define FIRST_ROOM 64

int xtable_add(struct xtable *table, int64_t id, struct view bytes, struct err *e)
{
    if (table->count == XPLANE_METADATA_MAX)
        return err_set(e, ERR_LIMIT, "a plane has more than %u metadata entries",
                       XPLANE_METADATA_MAX);
    if (table->count == table->room) {
        uint32_t room = table->room ? table->room * 2 : FIRST_ROOM;
        struct xtable_entry *grown = realloc(table->entries, (size_t)room * sizeof(*grown));
        if (!grown)
            return err_nomem(e);
        table->entries = grown;
        table->room = room;
    }
    table->entries[table->count++] = (struct xtable_entry){id, bytes};
    return 0;
}

static int by_id_then_place(const void *left, const void *right)
{
    const struct xtable_entry *a = left;
    const struct xtable_entry *b = right;
    if (a->id != b->id)
        return a->id < b->id ? -1 : 1;
    return a->bytes.data < b->bytes.data ? -1 : a->bytes.data > b->bytes.data;
}

static void keep_last_of_each(struct xtable *table)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < table->count; i++) {
        if (kept > 0 && table->entries[kept - 1].id == table->entries[i].id)
            kept--;
        table->entries[kept++] = table->entries[i];
    }
    table->count = kept;
}

int xtable_build(struct xtable *table, struct err *e)
{
    if (table->count == 0)
        return 0;
    qsort(table->entries, table->count, sizeof(*table->entries), by_id_then_place);
    keep_last_of_each(table);
    table->first = table->entries[0].id;
    uint64_t last = (uint64_t)table->entries[table->count - 1].id - (uint64_t)table->first;
    if (last >= (uint64_t)table->count * XPLANE_DENSE_FACTOR)
        return 0;
    table->span = last + 1;
    table->dense = malloc((size_t)table->span * sizeof(*table->dense));
    if (!table->dense)
        return err_nomem(e);
    memset(table->dense, 0xff, (size_t)table->span * sizeof(*table->dense));
    for (uint32_t i = 0; i < table->count; i++)
        table->dense[(uint64_t)table->entries[i].id - (uint64_t)table->first] = i;
    return 0;
}

uint32_t xtable_search(const struct xtable *table, int64_t id)
{
    uint32_t low = 0;
    uint32_t high = table->count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (table->entries[middle].id < id)
            low = middle + 1;
        else
            high = middle;
    }
    return low < table->count && table->entries[low].id == id ? low : XTABLE_NONE;
}

void xtable_release(struct xtable *table)
{
    free(table->entries);
    free(table->dense);
    *table = (struct xtable){0};
}
