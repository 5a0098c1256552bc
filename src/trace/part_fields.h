/* SPDX-License-Identifier: Apache-2.0 */
/* part_fields - what the readers of a part's messages share.
 *
 * Each reader takes one message; what it refuses is noted in the wire, with the byte where it
 * stands. Names are views of the part. */
#ifndef DEW_TRACE_PART_FIELDS_H
#define DEW_TRACE_PART_FIELDS_H

#include "trace/part.h"
#include "wire/wire.h"

#define PART_FIELDS_MAX 32

/* The fields of one message, each at most once. */
struct part_fields {
    uint64_t number[PART_FIELDS_MAX];
    struct view bytes[PART_FIELDS_MAX];
    uint32_t seen;
};

struct part_reader {
    struct many_rows *rows;
    uint32_t buckets;
    bool totals, durations;
    struct err *e;
};

must_check int part_refuse(struct wire *wire, const char *problem);

/* What holds names is far larger than the longest, and all are printed as C strings. */
bool part_name_can_be(struct view name);

/* Takes one field into its slot; `bytes` says which are bytes, `names` which of them are names. */
must_check int part_take(struct wire *wire, const struct wire_field *field,
                         struct part_fields *fields, uint32_t n_fields, uint32_t bytes,
                         uint32_t names);

/* Whether all fields from 1 up to `n_fields` - 1 are there. */
must_check int part_complete(struct wire *wire, const struct part_fields *fields,
                             uint32_t n_fields);

/* The whole message: part_take() of all, then part_complete(). */
must_check int part_take_all(struct wire *wire, struct part_fields *fields, uint32_t n_fields,
                             uint32_t bytes, uint32_t names);

must_check int part_read_process(struct wire *wire, struct part_reader *reader);
must_check int part_read_region(struct wire *wire, struct part_reader *reader);
must_check int part_read_module(struct wire *wire, struct part_reader *reader);
must_check int part_read_steps(struct wire *wire, struct part_reader *reader);
must_check int part_read_totals(struct wire *wire, struct part_reader *reader);

#endif
