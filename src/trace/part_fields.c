/* SPDX-License-Identifier: Apache-2.0 */
/* part_fields - a message's fields to slots. */
#include "trace/part_fields.h"

#include <string.h>

#include "base/banned.h"

int part_refuse(struct wire *wire, const char *problem)
{
    return wire_refuse(wire, wire->pos, problem);
}

bool part_name_can_be(struct view name)
{
    return name.size <= PART_NAME_BYTES_MAX && (!name.size || !memchr(name.data, '\0', name.size));
}

int part_take(struct wire *wire, const struct wire_field *field, struct part_fields *fields,
              uint32_t n_fields, uint32_t bytes, uint32_t names)
{
    if (field->number >= n_fields)
        return part_refuse(wire, "a field that this version does not know");
    if (fields->seen >> field->number & 1)
        return part_refuse(wire, "a field that is there twice");
    if (field->cut || field->type != (bytes >> field->number & 1 ? WIRE_BYTES : WIRE_VARINT))
        return part_refuse(wire, "a field of the wrong type");
    if (names >> field->number & 1 && !part_name_can_be(field->bytes))
        return part_refuse(wire, "a name that cannot be");
    fields->seen |= 1U << field->number;
    fields->number[field->number] = field->value;
    fields->bytes[field->number] = field->bytes;
    return 0;
}

int part_complete(struct wire *wire, const struct part_fields *fields, uint32_t n_fields)
{
    uint32_t all = (uint32_t)((UINT64_C(1) << n_fields) - 2);
    return fields->seen == all ? 0 : part_refuse(wire, "a message without all its fields");
}

int part_take_all(struct wire *wire, struct part_fields *fields, uint32_t n_fields, uint32_t bytes,
                  uint32_t names)
{
    struct wire_field field;
    int r;
    while ((r = wire_next(wire, &field)) > 0) {
        r = part_take(wire, &field, fields, n_fields, bytes, names);
        if (r < 0)
            return r;
    }
    return r < 0 ? r : part_complete(wire, fields, n_fields);
}
