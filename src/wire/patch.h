/* SPDX-License-Identifier: Apache-2.0 */
/* patch - a message with a few varints replaced, without a copy of the rest.
 *
 * Holds edits of borrowed bytes in the order of their places: memory by the number of edits, never
 * by the size of the message. A nested message whose size changes gets its length rewritten by
 * patches_enter() and patches_leave() around its edits, so that every length is the shortest form
 * of the right number. Writing hands out the pieces in order: views of the input between the edits
 * as they are, and the edits. Bytes that no edit covers come out as they went in. */
#ifndef DEW_WIRE_PATCH_H
#define DEW_WIRE_PATCH_H

#include "base/err.h"
#include "base/view.h"

#define PATCH_BYTES_MAX 20 /* two varints: a tag and a value */

struct patch {
    size_t at;        /* in the input */
    uint32_t removed; /* bytes of the input from there on */
    uint32_t size;    /* bytes put in their place */
    uint8_t bytes[PATCH_BYTES_MAX];
};

struct patches {
    struct patch *all;
    size_t count, room;
    int64_t growth; /* of the whole: output size - input size */
};

/* The place of one nested message between enter and leave. */
struct patch_message {
    size_t index;
    int64_t growth;
    uint64_t size;
};

/* `number` with `tag` in front (0: none) instead of `removed` bytes at `at`, which must not be
 * before the end of the edit before. */
must_check int patches_put(struct patches *patches, size_t at, size_t removed, uint64_t tag,
                           uint64_t number, struct err *e);

/* The length of a nested message stands at `at` in `bytes` bytes and says `size`. */
must_check int patches_enter(struct patches *patches, size_t at, size_t bytes, uint64_t size,
                             struct patch_message *ret_message, struct err *e);
void patches_leave(struct patches *patches, const struct patch_message *message);

/* Calls `sink` for each piece of the result in order; stops at its first failure and returns it. */
must_check int patches_write(const struct patches *patches, struct view input,
                             int (*sink)(void *context, struct view piece, struct err *e),
                             void *context, struct err *e);

/* Takes an empty (zeroed) one too. */
void patches_release(struct patches *patches);

#endif
