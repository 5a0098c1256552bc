/* SPDX-License-Identifier: Apache-2.0 */
/* space - the fields of the outermost message. */
#include "xplane/space.h"

#include "base/banned.h"

void xspace_open(struct xspace *ret_space, struct view file)
{
    *ret_space = (struct xspace){.wire = wire_file(file)};
}

static void take_text(struct xspace *space, const struct wire_field *field)
{
    if (field->number == XSPACE_ERRORS && space->errors++ == 0)
        space->first_error = field->bytes;
    if (field->number == XSPACE_WARNINGS && space->warnings++ == 0)
        space->first_warning = field->bytes;
    if (field->number == XSPACE_HOSTNAMES && space->hostname.size == 0)
        space->hostname = field->bytes;
}

int xspace_next(struct xspace *space, struct wire *ret_part)
{
    struct wire *wire = &space->wire;
    struct wire_field field;
    int more;
    for (const uint8_t *at = wire->pos; (more = wire_next(wire, &field)) > 0; at = wire->pos) {
        if (field.number > XSPACE_HOSTNAMES)
            continue;
        if (field.type != WIRE_BYTES)
            return wire_refuse(wire, at, "the file's field has a wire type of another kind");
        if (field.number == XSPACE_PLANES) {
            space->planes++;
            *ret_part = wire_enter(wire, field.bytes, field.cut);
            return 1;
        }
        if (!field.cut)
            take_text(space, &field);
    }
    return more;
}
