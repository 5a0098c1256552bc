/* SPDX-License-Identifier: Apache-2.0 */
/* out - protobuf tokens into memory: the counterpart of wire.h.
 *
 * Owns its bytes. Running out of memory is remembered, so that a writer of many fields checks once,
 * at its end. A field that is 0 or empty is written all the same: what is left out is the caller's
 * choice. It leaves out everything that needs a schema. */
#ifndef DEW_WIRE_OUT_H
#define DEW_WIRE_OUT_H

#include "base/err.h"
#include "base/view.h"

struct wire_out {
    uint8_t *data;
    size_t size, room;
    bool no_memory;
};

void out_varint(struct wire_out *out, uint32_t field, uint64_t value);

/* A signed number that is often negative: ZigZag, as protobuf's sint64. */
void out_signed(struct wire_out *out, uint32_t field, int64_t value);

void out_bytes(struct wire_out *out, uint32_t field, struct view bytes);

/* A varint or bytes without a tag: the items of a packed field, or a header of one's own. */
void out_raw_varint(struct wire_out *out, uint64_t value);
void out_raw(struct wire_out *out, struct view bytes);

/* A nested message: everything put between the two calls is inside it. Returns the place that
 * out_end() takes; messages end in the reverse order of their beginning. */
size_t out_begin(struct wire_out *out, uint32_t field);
void out_end(struct wire_out *out, size_t place);

static inline struct view out_view(const struct wire_out *out)
{
    return view_of(out->data, out->size);
}

static inline uint64_t wire_zigzag(int64_t value)
{
    return (uint64_t)value << 1 ^ (value < 0 ? UINT64_MAX : 0);
}

static inline int64_t wire_unzigzag(uint64_t value)
{
    return (int64_t)(value >> 1 ^ (value & 1 ? UINT64_MAX : 0));
}

/* ERR_MEMORY where any call before had none. */
must_check int out_check(const struct wire_out *out, struct err *e);

/* Takes an empty (zeroed) one too. */
void out_release(struct wire_out *out);

#endif
