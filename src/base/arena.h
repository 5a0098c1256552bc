/* SPDX-License-Identifier: Apache-2.0 */
/* arena - memory that is released all at once.
 *
 * Owns every block it hands out until arena_release(). It never gives single blocks back, and never
 * allocates by a number that a file claims: callers check counts against their limits first. */
#ifndef DEW_BASE_ARENA_H
#define DEW_BASE_ARENA_H

#include <stddef.h>

#include "base/view.h"

struct arena_block;

struct arena {
    struct arena_block *blocks; /* newest first */
};

/* Zeroed memory aligned for any type, or NULL when there is none. */
void *arena_alloc(struct arena *arena, size_t size);

/* A NUL-terminated copy of the bytes, or NULL. */
char *arena_copy(struct arena *arena, struct view text);

void arena_release(struct arena *arena);

#endif
