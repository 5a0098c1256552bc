/* SPDX-License-Identifier: Apache-2.0 */
/* patch - edits in order, and the walk that puts them between the pieces of the input. */
#include "wire/patch.h"

#include <assert.h>
#include <stdlib.h>

#include "base/banned.h"

#define FIRST_ROOM 64

static uint32_t put_varint(uint8_t *to, uint64_t number)
{
    uint32_t size = 0;
    for (; number >= 0x80; number >>= 7)
        to[size++] = (uint8_t)(number | 0x80);
    to[size++] = (uint8_t)number;
    return size;
}

static int add(struct patches *patches, const struct patch *patch, struct err *e)
{
    if (patches->count == patches->room) {
        size_t room = patches->room ? patches->room * 2 : FIRST_ROOM;
        struct patch *grown = realloc(patches->all, room * sizeof(*grown));
        if (!grown)
            return err_nomem(e);
        patches->all = grown;
        patches->room = room;
    }
    patches->all[patches->count++] = *patch;
    patches->growth += (int64_t)patch->size - (int64_t)patch->removed;
    return 0;
}

int patches_put(struct patches *patches, size_t at, size_t removed, uint64_t tag, uint64_t number,
                struct err *e)
{
    struct patch patch = {.at = at, .removed = (uint32_t)removed};
    if (tag)
        patch.size = put_varint(patch.bytes, tag);
    patch.size += put_varint(patch.bytes + patch.size, number);
    return add(patches, &patch, e);
}

int patches_enter(struct patches *patches, size_t at, size_t bytes, uint64_t size,
                  struct patch_message *ret_message, struct err *e)
{
    /* Nothing for nothing until it is known whether the size changes. */
    struct patch patch = {.at = at};
    int code = add(patches, &patch, e);
    if (code != 0)
        return code;
    patches->all[patches->count - 1].removed = (uint32_t)bytes;
    *ret_message = (struct patch_message){patches->count - 1, patches->growth, size};
    return 0;
}

void patches_leave(struct patches *patches, const struct patch_message *message)
{
    struct patch *length = &patches->all[message->index];
    int64_t growth = patches->growth - message->growth;
    if (growth == 0) {
        length->removed = 0; /* its bytes stay as they are, even where they are not the shortest */
        return;
    }
    length->size = put_varint(length->bytes, message->size + (uint64_t)growth);
    patches->growth += (int64_t)length->size - (int64_t)length->removed;
}

int patches_write(const struct patches *patches, struct view input,
                  int (*sink)(void *context, struct view piece, struct err *e), void *context,
                  struct err *e)
{
    size_t done = 0;
    int code = 0;
    for (size_t i = 0; code == 0 && i < patches->count; i++) {
        const struct patch *patch = &patches->all[i];
        assert(patch->at >= done && patch->at + patch->removed <= input.size);
        if (patch->at > done)
            code = sink(context, view_of(input.data + done, patch->at - done), e);
        if (code == 0 && patch->size > 0)
            code = sink(context, view_of(patch->bytes, patch->size), e);
        done = patch->at + patch->removed;
    }
    if (code == 0 && done < input.size)
        code = sink(context, view_of(input.data + done, input.size - done), e);
    return code;
}

void patches_release(struct patches *patches)
{
    free(patches->all);
    *patches = (struct patches){0};
}
