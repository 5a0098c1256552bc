/* SPDX-License-Identifier: Apache-2.0 */
/* wire - the tokens that the inline readers of wire.h leave over: long, rare or wrong ones. */
#include "wire/wire.h"

#include "base/banned.h"

#define VARINT_BYTES_MAX 10
#define FIELD_NUMBER_MAX ((UINT32_C(1) << 29) - 1)

int wire_refuse(struct wire *wire, const uint8_t *at, const char *problem)
{
    if (wire->damage.code == 0)
        wire->damage = (struct damage){ERR_DAMAGED, wire_offset(wire, at), problem};
    return wire->damage.code;
}

int wire_refuse_short(struct wire *wire, const uint8_t *at)
{
    if (!wire->cut)
        return wire_refuse(wire, at, "a field runs past the end of its message");
    if (wire->damage.code == 0)
        wire->damage = (struct damage){ERR_TRUNCATED, wire_offset(wire, at),
                                       "the file ends in the middle of a field"};
    return wire->damage.code;
}

int wire_error(const struct wire *wire, struct err *e)
{
    if (wire->damage.code == 0)
        return 0;
    return err_at(e, wire->damage.code, wire->damage.offset, "byte %llu: %s",
                  (unsigned long long)wire->damage.offset, wire->damage.problem);
}

const uint8_t *wire_varint_long(const uint8_t *pos, const uint8_t *end, uint64_t *ret_value)
{
    uint64_t value = 0;
    if (end - pos >= WIRE_WIDE) {
        const uint8_t *after = wire_varint_wide(pos, ret_value);
        if (after)
            return after;
    }
    for (unsigned i = 0; i < VARINT_BYTES_MAX && pos + i < end; i++) {
        uint64_t bits = pos[i] & 0x7fU;
        if (i == VARINT_BYTES_MAX - 1 && bits > 1)
            return NULL;
        value |= bits << (7 * i);
        if (pos[i] < 0x80) {
            *ret_value = value;
            return pos + i + 1;
        }
    }
    return NULL;
}

static uint64_t little_endian(const uint8_t *pos, unsigned bytes)
{
    uint64_t value = 0;
    for (unsigned i = 0; i < bytes; i++)
        value |= (uint64_t)pos[i] << (8 * i);
    return value;
}

static int read_varint(struct wire *wire, const uint8_t **pos, uint64_t *ret_value)
{
    const uint8_t *after = wire_varint(*pos, wire->end, ret_value);
    if (!after) {
        if (wire->end - *pos < VARINT_BYTES_MAX && (wire->end == *pos || wire->end[-1] >= 0x80))
            return wire_refuse_short(wire, wire->pos);
        return wire_refuse(wire, wire->pos, "a varint has more than 64 bits");
    }
    *pos = after;
    return 0;
}

static int take_fixed(struct wire *wire, const uint8_t *pos, unsigned size,
                      struct wire_field *field)
{
    if (wire->end - pos < (ptrdiff_t)size)
        return wire_refuse_short(wire, wire->pos);
    field->value = little_endian(pos, size);
    wire->pos = pos + size;
    return 1;
}

static int take_bytes(struct wire *wire, const uint8_t *pos, struct wire_field *field)
{
    uint64_t size;
    int code = read_varint(wire, &pos, &size);
    if (code != 0)
        return code;
    uint64_t rest = (uint64_t)(wire->end - pos);
    if (size > rest) {
        code = wire_refuse_short(wire, wire->pos);
        if (code != ERR_TRUNCATED)
            return code;
        field->cut = true;
        size = rest;
    }
    field->bytes = view_of(pos, (size_t)size);
    wire->pos = pos + size;
    return 1;
}

int wire_next_any(struct wire *wire, struct wire_field *ret_field)
{
    const uint8_t *pos = wire->pos;
    uint64_t tag;
    int code = read_varint(wire, &pos, &tag);
    if (code != 0)
        return code;
    if (tag >> 3 == 0 || tag >> 3 > FIELD_NUMBER_MAX)
        return wire_refuse(wire, wire->pos, "a field number out of range");
    struct wire_field field = {
        .number = (uint32_t)(tag >> 3), .type = (enum wire_type)(tag & 7), .bytes = {pos, 0}};
    switch (tag & 7) {
    case WIRE_VARINT:
        code = read_varint(wire, &pos, &field.value);
        if (code == 0) {
            wire->pos = pos;
            code = 1;
        }
        break;
    case WIRE_FIXED64:
        code = take_fixed(wire, pos, 8, &field);
        break;
    case WIRE_FIXED32:
        code = take_fixed(wire, pos, 4, &field);
        break;
    case WIRE_BYTES:
        code = take_bytes(wire, pos, &field);
        break;
    case 3:
    case 4:
        code = wire_refuse(wire, wire->pos, "a group, which captures do not have");
        break;
    default:
        code = wire_refuse(wire, wire->pos, "a wire type that does not exist");
        break;
    }
    if (code == 1)
        *ret_field = field;
    return code;
}
