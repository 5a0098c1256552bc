/* SPDX-License-Identifier: Apache-2.0 */
/* intern - names to small dense numbers, in order of first sight.
 *
 * Owns a copy of each name. Numbers start at 0 and never change. Memory grows with the number of
 * distinct names, which callers bound. */
#ifndef DEW_BASE_INTERN_H
#define DEW_BASE_INTERN_H

#include "base/arena.h"
#include "base/err.h"
#include "base/view.h"

struct intern_entry;

struct intern {
    struct arena arena;
    struct intern_entry *table; /* uthash */
    struct intern_entry **by_id;
    uint32_t count;
    uint32_t room;
};

/* Finds or adds. */
must_check int intern_put(struct intern *names, struct view name, uint32_t *ret_id, struct err *e);

/* false where the name was never put. */
bool intern_find(const struct intern *names, struct view name, uint32_t *ret_id);

/* View of the interner's own copy: NUL-terminated, valid until intern_release(). */
struct view intern_name(const struct intern *names, uint32_t id);

void intern_release(struct intern *names);

#endif
