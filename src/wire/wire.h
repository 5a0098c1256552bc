/* SPDX-License-Identifier: Apache-2.0 */
/* wire - protobuf tokens out of borrowed bytes.
 *
 * A `struct wire` is a position in one message: it never reads past that message's end, owns
 * nothing, allocates nothing and does not recurse; a nested message is read by entering its bytes
 * with a second `struct wire`, so limits nest by construction. It refuses field number 0, numbers
 * above 2^29 - 1, groups (which protobuf has long retired) and varints of more than 64 bits. It
 * leaves out everything that needs a schema. Its bounds are fuzzed by tests/fuzz/fuzz_wire.c and
 * compared with a second parser by tests/fuzz/fuzz_nanopb.c.
 *
 * The small readers are inline because a capture has millions of tokens, nearly all of one or two
 * bytes. */
#ifndef DEW_WIRE_WIRE_H
#define DEW_WIRE_WIRE_H

#include "base/err.h"
#include "base/view.h"

enum wire_type {
    WIRE_VARINT = 0,
    WIRE_FIXED64 = 1,
    WIRE_BYTES = 2,
    WIRE_FIXED32 = 5,
};

/* Where and why reading stopped. `problem` is a constant text. */
struct damage {
    int code; /* 0, ERR_DAMAGED or ERR_TRUNCATED */
    uint64_t offset;
    const char *problem;
};

struct wire {
    const uint8_t *pos;
    const uint8_t *end;
    const uint8_t *start; /* of the file; offsets in errors are counted from here */
    bool cut;             /* the file ends before this message does: running out is truncation */
    struct damage damage; /* set once; the reader then stays where it is */
};

struct wire_field {
    uint32_t number;
    enum wire_type type;
    bool cut;          /* `bytes` is only what the file still holds of the field */
    uint64_t value;    /* varint, fixed32 or fixed64 */
    struct view bytes; /* view of the input; empty for other types */
};

/* A whole file: its own end is the only sign of a cut there is. */
static inline struct wire wire_file(struct view file)
{
    /* Pointer arithmetic on NULL is undefined, and an empty map has NULL. */
    static const uint8_t nothing[1];
    const uint8_t *data = file.data ? file.data : nothing;
    return (struct wire){.pos = data, .end = data + file.size, .start = data, .cut = true};
}

/* A message inside the one that `parent` reads; `cut` as the field that held it said. */
static inline struct wire wire_enter(const struct wire *parent, struct view bytes, bool cut)
{
    return (struct wire){
        .pos = bytes.data, .end = bytes.data + bytes.size, .start = parent->start, .cut = cut};
}

static inline uint64_t wire_offset(const struct wire *wire, const uint8_t *at)
{
    return (uint64_t)(at - wire->start);
}

/* Records why the token at `at` cannot be read and returns the code. The first record stays. */
int wire_refuse(struct wire *wire, const uint8_t *at, const char *problem);

/* The same where the message's end came too soon: ERR_TRUNCATED in a cut message, else
 * ERR_DAMAGED. */
int wire_refuse_short(struct wire *wire, const uint8_t *at);

/* Fills `e` from the damage and returns its code. */
int wire_error(const struct wire *wire, struct err *e);

const uint8_t *wire_varint_long(const uint8_t *pos, const uint8_t *end, uint64_t *ret_value);

/* Bytes that wire_varint_wide() reads at once. */
#define WIRE_WIDE 8

/* A varint of at most WIRE_WIDE bytes, by arithmetic instead of a loop: the position after it, or
 * NULL where it is longer. Times have a length of their own in each event, which branches guess
 * wrong. WIRE_WIDE bytes must be readable at `pos`; whether the varint ends inside its message is
 * for the caller to see. */
static inline const uint8_t *wire_varint_wide(const uint8_t *pos, uint64_t *ret_value)
{
    uint64_t word;
    memcpy(&word, pos, sizeof(word));
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    word = __builtin_bswap64(word);
#endif
    uint64_t stops = ~word & UINT64_C(0x8080808080808080);
    if (stops == 0)
        return NULL;
    unsigned last_bit = (unsigned)__builtin_ctzll(stops); /* of the last byte, 7 or 15 or ... */
    word &= stops ^ (stops - 1);
    /* each byte has 7 bits: close the gaps between pairs, then between fours, then eights */
    word = (word & UINT64_C(0x007f007f007f007f)) | (word & UINT64_C(0x7f007f007f007f00)) >> 1;
    word = (word & UINT64_C(0x00003fff00003fff)) | (word & UINT64_C(0x3fff00003fff0000)) >> 2;
    *ret_value = (word & UINT64_C(0x0fffffff)) | (word & UINT64_C(0x0fffffff00000000)) >> 4;
    return pos + last_bit / 8 + 1;
}

/* The position after the varint, or NULL where it does not end before `end` or in 64 bits. */
static inline const uint8_t *wire_varint(const uint8_t *pos, const uint8_t *end,
                                         uint64_t *ret_value)
{
    if (pos < end && pos[0] < 0x80) {
        *ret_value = pos[0];
        return pos + 1;
    }
    if (end - pos >= 2 && pos[1] < 0x80) {
        *ret_value = (pos[0] & 0x7fU) | (uint64_t)pos[1] << 7;
        return pos + 2;
    }
    return wire_varint_long(pos, end, ret_value);
}

int wire_next_any(struct wire *wire, struct wire_field *ret_field);

/* The next field: 1, or 0 at the message's end, or a negative code with wire->damage set and the
 * position at the token that failed. A bytes field cut by the end of the file is handed out first,
 * with ret_field->cut; the call after it returns ERR_TRUNCATED. */
must_check static inline int wire_next(struct wire *wire, struct wire_field *ret_field)
{
    const uint8_t *pos = wire->pos;
    if (pos == wire->end || wire->damage.code != 0)
        return wire->damage.code;
    unsigned tag = *pos;
    unsigned type = tag & 7;
    uint64_t value;
    if (tag < 0x08 || tag >= 0x80 || (type != WIRE_VARINT && type != WIRE_BYTES) ||
        !(pos = wire_varint(pos + 1, wire->end, &value)))
        return wire_next_any(wire, ret_field);
    size_t size = type == WIRE_BYTES ? (size_t)value : 0;
    if (size > (size_t)(wire->end - pos))
        return wire_next_any(wire, ret_field);
    *ret_field = (struct wire_field){.number = tag >> 3,
                                     .type = (enum wire_type)type,
                                     .value = type == WIRE_VARINT ? value : 0,
                                     .bytes = view_of(pos, size)};
    wire->pos = pos + size;
    return 1;
}

#endif
