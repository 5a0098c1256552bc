/* SPDX-License-Identifier: Apache-2.0 */
/* arena - blocks of at least BLOCK_BYTES, filled from the front. */
#include "base/arena.h"

#include <stdalign.h>
#include <stdlib.h>

#include "base/banned.h"

#define BLOCK_BYTES ((size_t)64 * 1024)

struct arena_block {
    struct arena_block *next;
    size_t used;
    size_t size;
    alignas(max_align_t) unsigned char bytes[];
};

void *arena_alloc(struct arena *arena, size_t size)
{
    size_t align = alignof(max_align_t);
    if (size > SIZE_MAX / 2)
        return NULL;
    size = (size + align - 1) / align * align;
    struct arena_block *block = arena->blocks;
    if (!block || block->size - block->used < size) {
        size_t room = size > BLOCK_BYTES ? size : BLOCK_BYTES;
        block = calloc(1, sizeof(*block) + room);
        if (!block)
            return NULL;
        block->size = room;
        block->next = arena->blocks;
        arena->blocks = block;
    }
    void *memory = block->bytes + block->used;
    block->used += size;
    return memory;
}

char *arena_copy(struct arena *arena, struct view text)
{
    char *copy = arena_alloc(arena, text.size + 1);
    if (copy && text.size > 0)
        memcpy(copy, text.data, text.size);
    return copy;
}

void arena_release(struct arena *arena)
{
    struct arena_block *block = arena->blocks;
    while (block) {
        struct arena_block *next = block->next;
        free(block);
        block = next;
    }
    arena->blocks = NULL;
}
