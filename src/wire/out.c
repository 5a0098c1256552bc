/* SPDX-License-Identifier: Apache-2.0 */
/* out - a growing buffer; a nested message's length is put in front of it when it ends. */
#include "wire/out.h"

#include <stdlib.h>

#include "wire/wire.h"

#include "base/banned.h"

#define VARINT_BYTES_MAX 10

static bool reserve(struct wire_out *out, size_t more)
{
    if (out->no_memory)
        return false;
    if (more <= out->room - out->size)
        return true;
    size_t room = out->room ? out->room : 256;
    while (room - out->size < more) {
        if (room > SIZE_MAX / 4) {
            out->no_memory = true;
            return false;
        }
        room *= 2;
    }
    uint8_t *grown = realloc(out->data, room);
    if (!grown) {
        out->no_memory = true;
        return false;
    }
    out->data = grown;
    out->room = room;
    return true;
}

static size_t encode(uint64_t value, uint8_t bytes[VARINT_BYTES_MAX])
{
    size_t n = 0;
    while (value >= 0x80) {
        bytes[n++] = (uint8_t)(value | 0x80);
        value >>= 7;
    }
    bytes[n++] = (uint8_t)value;
    return n;
}

void out_raw(struct wire_out *out, struct view bytes)
{
    if (!bytes.size || !reserve(out, bytes.size))
        return;
    memcpy(out->data + out->size, bytes.data, bytes.size);
    out->size += bytes.size;
}

void out_raw_varint(struct wire_out *out, uint64_t value)
{
    uint8_t bytes[VARINT_BYTES_MAX];
    size_t n = encode(value, bytes);
    out_raw(out, view_of(bytes, n));
}

static void out_tag(struct wire_out *out, uint32_t field, enum wire_type type)
{
    out_raw_varint(out, (uint64_t)field << 3 | (unsigned)type);
}

void out_varint(struct wire_out *out, uint32_t field, uint64_t value)
{
    out_tag(out, field, WIRE_VARINT);
    out_raw_varint(out, value);
}

void out_signed(struct wire_out *out, uint32_t field, int64_t value)
{
    out_varint(out, field, wire_zigzag(value));
}

void out_bytes(struct wire_out *out, uint32_t field, struct view bytes)
{
    out_tag(out, field, WIRE_BYTES);
    out_raw_varint(out, bytes.size);
    out_raw(out, bytes);
}

size_t out_begin(struct wire_out *out, uint32_t field)
{
    out_tag(out, field, WIRE_BYTES);
    return out->size;
}

void out_end(struct wire_out *out, size_t place)
{
    if (out->no_memory)
        return;
    uint8_t bytes[VARINT_BYTES_MAX];
    size_t inside = out->size - place, n = encode(inside, bytes);
    if (!reserve(out, n))
        return;
    if (inside)
        memmove(out->data + place + n, out->data + place, inside);
    memcpy(out->data + place, bytes, n);
    out->size += n;
}

int out_check(const struct wire_out *out, struct err *e)
{
    return out->no_memory ? err_nomem(e) : 0;
}

void out_release(struct wire_out *out)
{
    free(out->data);
    *out = (struct wire_out){0};
}
