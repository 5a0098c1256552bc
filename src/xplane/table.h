/* SPDX-License-Identifier: Apache-2.0 */
/* table - a plane's metadata by id: which entry of the map field is whose.
 *
 * Owns two arrays that grow with the entries the file really has. Ids are any int64_t, so an id
 * never sizes anything: where ids lie close together an array finds them, else bisection does (a
 * hash table could be driven to quadratic time by chosen ids). Of two entries with one id the later
 * counts, as in protobuf's maps. */
#ifndef DEW_XPLANE_TABLE_H
#define DEW_XPLANE_TABLE_H

#include "base/err.h"
#include "base/view.h"

#define XTABLE_NONE UINT32_MAX

struct xtable_entry {
    int64_t id;
    struct view bytes; /* the metadata message: view of the map */
};

struct xtable {
    struct xtable_entry *entries; /* by ascending id, once built */
    uint32_t *dense;              /* entry of id first + i, or NULL where ids are far apart */
    uint64_t span;
    int64_t first;
    uint32_t count;
    uint32_t room;
};

must_check int xtable_add(struct xtable *table, int64_t id, struct view bytes, struct err *e);

/* After the last xtable_add and before the first look-up. */
must_check int xtable_build(struct xtable *table, struct err *e);

uint32_t xtable_search(const struct xtable *table, int64_t id);

/* The entry's index, 0 to count - 1, or XTABLE_NONE. */
static inline uint32_t xtable_index(const struct xtable *table, int64_t id)
{
    if (!table->dense)
        return xtable_search(table, id);
    uint64_t at = (uint64_t)id - (uint64_t)table->first;
    return at < table->span ? table->dense[at] : XTABLE_NONE;
}

void xtable_release(struct xtable *table);

#endif
