/* SPDX-License-Identifier: Apache-2.0 */
/* stat - stats of any shape, and their values as integers. */
#include "xplane/stat.h"

#include "base/banned.h"

static enum wire_type type_of(uint32_t number)
{
    switch (number) {
    case XSTAT_DOUBLE:
        return WIRE_FIXED64;
    case XSTAT_STR:
    case XSTAT_BYTES:
    case XSTAT_COMPRESSED_STR:
        return WIRE_BYTES;
    default:
        return WIRE_VARINT;
    }
}

/* The value fields are alternatives: the last one in the message is the value. */
static void take_value(struct xstat *stat, const struct wire_field *field)
{
    static const enum xstat_kind kinds[] = {
        [XSTAT_DOUBLE] = XSTAT_KIND_REAL,
        [XSTAT_UINT64] = XSTAT_KIND_UNSIGNED,
        [XSTAT_INT64] = XSTAT_KIND_SIGNED,
        [XSTAT_STR] = XSTAT_KIND_TEXT,
        [XSTAT_BYTES] = XSTAT_KIND_BYTES,
        [XSTAT_REF] = XSTAT_KIND_REF,
        [XSTAT_COMPRESSED_STR] = XSTAT_KIND_COMPRESSED,
    };
    *stat = (struct xstat){.metadata_id = stat->metadata_id,
                           .kind = kinds[field->number],
                           .integer = field->value,
                           .bytes = field->bytes};
    if (stat->kind == XSTAT_KIND_REAL) {
        memcpy(&stat->real, &field->value, sizeof(stat->real));
        stat->integer = 0;
    }
}

int xstat_decode(struct wire *parent, struct view bytes, struct xstat *ret_stat)
{
    struct wire wire = wire_enter(parent, bytes, false);
    struct xstat stat = {.kind = XSTAT_KIND_NONE};
    struct wire_field field;
    int more;
    for (const uint8_t *at = wire.pos; (more = wire_next(&wire, &field)) > 0; at = wire.pos) {
        if (field.number > XSTAT_COMPRESSED_STR)
            continue;
        if (field.type != type_of(field.number)) {
            more = wire_refuse(&wire, at, "a stat's value has a wire type of another kind");
            break;
        }
        if (field.number == XSTAT_METADATA_ID)
            stat.metadata_id = (int64_t)field.value;
        else
            take_value(&stat, &field);
    }
    if (more < 0) {
        parent->damage = wire.damage;
        return more;
    }
    *ret_stat = stat;
    return 1;
}

int xstat_next_any(struct wire *wire, uint32_t field, struct xstat *ret_stat)
{
    struct wire_field found;
    int more;
    for (const uint8_t *at = wire->pos; (more = wire_next(wire, &found)) > 0; at = wire->pos) {
        if (found.number != field)
            continue;
        if (found.cut)
            return wire->damage.code;
        if (found.type != WIRE_BYTES)
            return wire_refuse(wire, at, "stats have a wire type of another kind");
        return xstat_decode(wire, found.bytes, ret_stat);
    }
    return more;
}

static bool digits_to_integer(struct view text, int64_t *ret_value)
{
    bool negative = text.size > 0 && text.data[0] == '-';
    size_t i = negative;
    int64_t value = 0;
    if (i == text.size)
        return false;
    for (; i < text.size; i++) {
        int digit = text.data[i] - '0';
        if (digit < 0 || digit > 9 || __builtin_mul_overflow(value, 10, &value) ||
            __builtin_sub_overflow(value, digit, &value))
            return false;
    }
    if (!negative && __builtin_sub_overflow(0, value, &value))
        return false;
    *ret_value = value;
    return true;
}

bool xstat_integer(const struct xstat *stat, int64_t *ret_value)
{
    switch (stat->kind) {
    case XSTAT_KIND_UNSIGNED:
        if (stat->integer > INT64_MAX)
            return false;
        *ret_value = (int64_t)stat->integer;
        return true;
    case XSTAT_KIND_SIGNED:
        *ret_value = (int64_t)stat->integer;
        return true;
    case XSTAT_KIND_TEXT:
        return digits_to_integer(stat->bytes, ret_value);
    default:
        return false;
    }
}
