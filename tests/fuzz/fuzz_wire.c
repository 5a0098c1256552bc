/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_wire - any bytes as tokens: always inside the input, always forward, errors that stay. */
#include "target.h"
#include "wire/wire.h"

#include "base/banned.h"

static void walk(struct wire wire)
{
    struct wire_field field;
    const uint8_t *before = wire.pos;
    int more;
    while ((more = wire_next(&wire, &field)) > 0) {
        HOLDS(wire.pos > before && wire.pos <= wire.end);
        HOLDS(field.number > 0 && field.number < UINT32_C(1) << 29);
        HOLDS(field.bytes.data >= before && field.bytes.data + field.bytes.size <= wire.end);
        HOLDS(field.type == WIRE_BYTES || field.bytes.size == 0);
        HOLDS(!field.cut || (wire.cut && wire.pos == wire.end && field.type == WIRE_BYTES));
        before = wire.pos;
    }
    HOLDS(more == wire.damage.code && wire_next(&wire, &field) == more);
    HOLDS(more != 0 || wire.pos == wire.end);
    HOLDS(more == 0 || wire_offset(&wire, wire.end) >= wire.damage.offset);
    HOLDS(wire.cut || more != ERR_TRUNCATED);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct wire wire = wire_file(view_of(data, size));
    walk(wire);
    wire.cut = false;
    walk(wire);
    return 0;
}
