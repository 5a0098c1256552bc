/* SPDX-License-Identifier: Apache-2.0 */
/* stat - one named value of an event, a plane or an event's metadata.
 *
 * Owns nothing: texts and bytes are views of the map. Names are resolved by plane.h, since a stat
 * only carries ids. It leaves compressed texts compressed. */
#ifndef DEW_XPLANE_STAT_H
#define DEW_XPLANE_STAT_H

#include "wire/wire.h"
#include "xplane/fields.h"

enum xstat_kind {
    XSTAT_KIND_NONE, /* the file gives no value */
    XSTAT_KIND_REAL,
    XSTAT_KIND_UNSIGNED,
    XSTAT_KIND_SIGNED,
    XSTAT_KIND_TEXT,
    XSTAT_KIND_BYTES,
    XSTAT_KIND_REF,        /* `integer` is the id of the stat metadata whose name is the value */
    XSTAT_KIND_COMPRESSED, /* gzip of a text */
};

struct xstat {
    int64_t metadata_id;
    enum xstat_kind kind;
    uint64_t integer; /* UNSIGNED, REF; SIGNED as its two's complement */
    double real;
    struct view bytes; /* TEXT, BYTES, COMPRESSED: view of the map */
};

/* Decodes one stat message: 1, or a negative code with parent->damage set. */
int xstat_decode(struct wire *parent, struct view bytes, struct xstat *ret_stat);

int xstat_next_any(struct wire *wire, uint32_t field, struct xstat *ret_stat);

/* The next stat among the fields of a message, whose stats are its field number `field`: 1, or 0 at
 * the end, or a negative code with wire->damage set. */
must_check static inline int xstat_next(struct wire *wire, uint32_t field, struct xstat *ret_stat)
{
    const uint8_t *pos = wire->pos;
    if (pos == wire->end || wire->damage.code != 0)
        return wire->damage.code;
    /* tag, size, tag 1, id, tag of an integer, value: the shape of nearly every stat */
    uint64_t size, id, value;
    if (*pos == (field << 3 | WIRE_BYTES) && (pos = wire_varint(pos + 1, wire->end, &size)) &&
        size >= 4 && size <= (uint64_t)(wire->end - pos) &&
        *pos == (XSTAT_METADATA_ID << 3 | WIRE_VARINT)) {
        const uint8_t *end = pos + size;
        pos = wire_varint(pos + 1, end, &id);
        unsigned tag = pos && pos < end ? *pos : 0;
        if ((tag == (XSTAT_UINT64 << 3 | WIRE_VARINT) || tag == (XSTAT_INT64 << 3 | WIRE_VARINT) ||
             tag == (XSTAT_REF << 3 | WIRE_VARINT)) &&
            wire_varint(pos + 1, end, &value) == end) {
            *ret_stat = (struct xstat){
                .metadata_id = (int64_t)id,
                .kind = tag >> 3 == XSTAT_UINT64  ? XSTAT_KIND_UNSIGNED
                        : tag >> 3 == XSTAT_INT64 ? XSTAT_KIND_SIGNED
                                                  : XSTAT_KIND_REF,
                .integer = value,
            };
            wire->pos = end;
            return 1;
        }
    }
    return xstat_next_any(wire, field, ret_stat);
}

/* The value as an integer where it is one that fits; a text of decimal digits counts, because
 * TraceMe arguments arrive as texts from some producers. */
bool xstat_integer(const struct xstat *stat, int64_t *ret_value);

#endif
