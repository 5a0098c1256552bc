/* SPDX-License-Identifier: Apache-2.0 */
/* message - protobuf messages written by hand, for tests of the reader.
 *
 * A message lives in a fixed buffer and asserts that it fits. Nested messages are written into
 * their own struct first and then put into the outer one. */
#ifndef DEW_TESTS_MESSAGE_H
#define DEW_TESTS_MESSAGE_H

#include <assert.h>

#include "base/view.h"

#define MESSAGE_MAX 8192

struct message {
    size_t size;
    uint8_t bytes[MESSAGE_MAX];
};

static inline void put_raw(struct message *m, const void *bytes, size_t size)
{
    assert(size <= MESSAGE_MAX - m->size);
    memcpy(m->bytes + m->size, bytes, size);
    m->size += size;
}

static inline void put_varint(struct message *m, uint64_t value)
{
    for (; value > 0x7f; value >>= 7)
        put_raw(m, &(uint8_t){(uint8_t)(value | 0x80)}, 1);
    put_raw(m, &(uint8_t){(uint8_t)value}, 1);
}

static inline void put_integer(struct message *m, uint32_t field, uint64_t value)
{
    put_varint(m, (uint64_t)field << 3);
    put_varint(m, value);
}

static inline void put_bytes(struct message *m, uint32_t field, const void *bytes, size_t size)
{
    put_varint(m, (uint64_t)field << 3 | 2);
    put_varint(m, size);
    put_raw(m, bytes, size);
}

static inline void put_text(struct message *m, uint32_t field, const char *text)
{
    put_bytes(m, field, text, strlen(text));
}

static inline void put_message(struct message *m, uint32_t field, const struct message *inner)
{
    put_bytes(m, field, inner->bytes, inner->size);
}

static inline struct view message_view(const struct message *m)
{
    return view_of(m->bytes, m->size);
}

#endif
