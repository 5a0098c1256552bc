/* SPDX-License-Identifier: Apache-2.0 */
/* intern - uthash over names kept in an arena. */
#include "base/intern.h"

#include <stdlib.h>

#define HASH_NONFATAL_OOM 1
#include <uthash.h>

#include "base/banned.h"

struct intern_entry {
    struct view name;
    uint32_t id;
    UT_hash_handle hh;
};

static struct intern_entry *find(const struct intern *names, struct view name)
{
    struct intern_entry *entry = NULL;
    if (name.size <= UINT32_MAX)
        HASH_FIND(hh, names->table, name.data, (unsigned)name.size, entry);
    return entry;
}

int intern_put(struct intern *names, struct view name, uint32_t *ret_id, struct err *e)
{
    if (name.size == 0)
        name = view_of("", 0);
    struct intern_entry *entry = find(names, name);
    if (entry) {
        *ret_id = entry->id;
        return 0;
    }
    if (name.size > UINT32_MAX || names->count == UINT32_MAX)
        return err_set(e, ERR_LIMIT, "more names, or a longer name, than can be numbered");
    if (names->count == names->room) {
        uint32_t room = names->room ? names->room * 2 : 64;
        struct intern_entry **grown = realloc(names->by_id, (size_t)room * sizeof(*grown));
        if (!grown)
            return err_nomem(e);
        names->by_id = grown;
        names->room = room;
    }
    entry = arena_alloc(&names->arena, sizeof(*entry));
    char *copy = arena_copy(&names->arena, name);
    if (!entry || !copy)
        return err_nomem(e);
    entry->name = view_of(copy, name.size);
    entry->id = names->count;
    HASH_ADD_KEYPTR(hh, names->table, entry->name.data, (unsigned)entry->name.size, entry);
    if (!entry->hh.tbl) /* uthash's sign that it had no memory */
        return err_nomem(e);
    names->by_id[names->count++] = entry;
    *ret_id = entry->id;
    return 0;
}

bool intern_find(const struct intern *names, struct view name, uint32_t *ret_id)
{
    if (name.size == 0)
        name = view_of("", 0);
    const struct intern_entry *entry = find(names, name);
    if (entry)
        *ret_id = entry->id;
    return entry != NULL;
}

struct view intern_name(const struct intern *names, uint32_t id)
{
    return names->by_id[id]->name;
}

void intern_release(struct intern *names)
{
    HASH_CLEAR(hh, names->table);
    free(names->by_id);
    arena_release(&names->arena);
    *names = (struct intern){0};
}
