/* SPDX-License-Identifier: Apache-2.0 */
/* part_read - header and body to rows, believing nothing. */
#include "trace/part_fields.h"

#include "base/banned.h"

static int read_field(struct wire *wire, const struct wire_field *field, struct part_reader *reader)
{
    struct wire inner = wire_enter(wire, field->bytes, field->cut);
    int r;
    if (field->type != WIRE_BYTES)
        return part_refuse(wire, "a field of the wrong type");
    switch (field->number) {
    case PART_PROCESS:
        r = part_read_process(&inner, reader);
        break;
    case PART_REGION:
        r = part_read_region(&inner, reader);
        break;
    case PART_MODULE:
        r = part_read_module(&inner, reader);
        break;
    case PART_STEPS:
        r = part_read_steps(&inner, reader);
        break;
    case PART_TOTALS:
        if (reader->totals)
            return part_refuse(wire, "totals that are there twice");
        reader->totals = true;
        r = part_read_totals(&inner, reader);
        break;
    case PART_STEP_DURATIONS:
        if (reader->durations)
            return part_refuse(wire, "step durations that are there twice");
        reader->durations = true;
        r = part_get_sketch(&inner, &reader->rows->step_durations, &reader->buckets);
        break;
    default:
        return part_refuse(wire, "a field that this version does not know");
    }
    if (inner.damage.code)
        wire->damage = inner.damage;
    return r;
}

int part_read_body(struct view file, struct view body, struct many_rows *ret, struct err *e)
{
    CLEANUP(many_rows_release) struct many_rows rows = {0};
    struct part_reader reader = {.rows = &rows, .e = e};
    struct wire whole = wire_file(file);
    struct wire wire = wire_enter(&whole, body, false);
    struct wire_field field;
    int r;
    while ((r = wire_next(&wire, &field)) > 0) {
        r = read_field(&wire, &field, &reader);
        if (r < 0)
            break;
    }
    if (r == 0 && !(reader.totals && reader.durations && rows.n_processes))
        r = part_refuse(&wire, "a part without its totals or processes");
    if (r == 0 && !many_settled(&rows))
        r = part_refuse(&wire, "rows that are out of order or there twice");
    if (r < 0)
        return wire.damage.code ? wire_error(&wire, e) : r == ERR_MEMORY ? err_nomem(e) : r;
    *ret = rows;
    rows = (struct many_rows){0};
    return 0;
}

static uint64_t little_endian(const uint8_t *at, unsigned bytes)
{
    uint64_t value = 0;
    for (unsigned i = 0; i < bytes; i++)
        value |= (uint64_t)at[i] << 8 * i;
    return value;
}

int part_read(struct view bytes, struct many_rows *ret, struct err *e)
{
    if (!part_is(bytes))
        return err_set(e, ERR_UNSUPPORTED, "not a part");
    if (bytes.size >= 12 && little_endian(bytes.data + 8, 4) != PART_VERSION)
        return err_set(e, ERR_UNSUPPORTED,
                       "a part of format %llu, made by another dew-profile; this one reads format "
                       "%d: make it again with this one, or join it with that one",
                       (unsigned long long)little_endian(bytes.data + 8, 4), PART_VERSION);
    if (bytes.size < PART_HEADER_BYTES)
        return err_at(e, ERR_TRUNCATED, bytes.size,
                      "the part ends in its header, after %zu bytes: copy it again", bytes.size);
    uint64_t size = little_endian(bytes.data + 12, 8);
    struct view body = view_of(bytes.data + PART_HEADER_BYTES, bytes.size - PART_HEADER_BYTES);
    if (size > body.size)
        return err_at(e, ERR_TRUNCATED, bytes.size,
                      "the part is cut: %llu bytes of %llu are there; copy it again",
                      (unsigned long long)bytes.size,
                      (unsigned long long)saturated_sum(size, PART_HEADER_BYTES));
    if (size < body.size || part_checksum(body) != little_endian(bytes.data + 20, 8))
        return err_at(e, ERR_DAMAGED, PART_HEADER_BYTES,
                      "the part was changed after it was written (its checksum does not fit): make "
                      "it again from the capture");
    int r = part_read_body(bytes, body, ret, e);
    return r == ERR_DAMAGED || r == ERR_TRUNCATED
               ? err_context(e, "no part as this dew-profile writes them, so make it again from "
                                "the capture")
               : r;
}
