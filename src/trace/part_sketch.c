/* SPDX-License-Identifier: Apache-2.0 */
/* part_sketch - a sketch as samples in order, or as the buckets that are not empty. */
#include <stdlib.h>

#include "trace/part.h"
#include "wire/wire.h"

#include "base/banned.h"

/* Far beyond the key of the largest number, whatever the rounding of log(). */
#define KEY_MAX 4600
#define KEY_MIN (-1)
/* No capture has as many, and those of MANY_PROCESSES_MAX parts can be added up. */
#define COUNT_MAX (UINT64_C(1) << 47)

void part_put_sketch(struct wire_out *out, uint32_t field, struct sketch *sketch)
{
    size_t place = out_begin(out, field);
    if (sketch_exact(sketch)) {
        (void)sketch_quantile(sketch, 0); /* sorts */
        size_t packed = out_begin(out, SKETCH_SAMPLES);
        for (uint64_t i = 0, before = 0; i < sketch->count; before = sketch->samples[i++])
            out_raw_varint(out, sketch->samples[i] - before);
        out_end(out, packed);
        out_end(out, place);
        return;
    }
    out_varint(out, SKETCH_COUNT, sketch->count);
    out_varint(out, SKETCH_TOTAL, sketch->total);
    out_varint(out, SKETCH_MIN, sketch->min);
    out_varint(out, SKETCH_MAX, sketch->max);
    size_t packed = out_begin(out, SKETCH_BUCKETS);
    int32_t before = KEY_MIN - 1;
    for (uint32_t i = 0; i < sketch->n_buckets; i++) {
        int32_t key = sketch->first_key + (int32_t)i;
        if (!sketch->buckets[i])
            continue;
        out_raw_varint(out, (uint64_t)(key - before));
        out_raw_varint(out, sketch->buckets[i]);
        before = key;
    }
    out_end(out, packed);
    out_end(out, place);
}

static int get_samples(struct wire *wire, struct view packed, struct sketch *sketch)
{
    const uint8_t *at = packed.data, *end = packed.data + packed.size;
    uint64_t value = 0, more;
    if (!packed.size)
        return 0;
    /* a sample is a byte at least */
    uint64_t room = packed.size < SKETCH_EXACT_MAX ? packed.size : SKETCH_EXACT_MAX;
    sketch->samples = malloc(room * sizeof(*sketch->samples));
    if (!sketch->samples)
        return ERR_MEMORY;
    sketch->room = (uint32_t)room;
    sketch->sorted = true;
    while (at < end) {
        const uint8_t *from = at;
        at = wire_varint(at, end, &more);
        if (!at || sketch->count == room || !sum_u64(value, more, &value))
            return wire_refuse(wire, from, "a sample that cannot be");
        sketch->samples[sketch->count++] = value;
        sketch->total = saturated_sum(sketch->total, value);
    }
    sketch->min = sketch->samples[0];
    sketch->max = value;
    return 0;
}

/* One (key, count) pair; NULL where it is none. */
static const uint8_t *next_bucket(const uint8_t *at, const uint8_t *end, int32_t *key,
                                  uint64_t *ret_count)
{
    uint64_t distance;
    at = wire_varint(at, end, &distance);
    if (!at || distance == 0 || distance > (uint64_t)(KEY_MAX - *key))
        return NULL;
    *key += (int32_t)distance;
    at = wire_varint(at, end, ret_count);
    return at && *ret_count ? at : NULL;
}

static int get_buckets(struct wire *wire, struct view packed, struct sketch *sketch,
                       uint32_t *buckets)
{
    const uint8_t *end = packed.data + packed.size;
    int32_t key = KEY_MIN - 1, first = 0;
    uint64_t count, sum = 0;
    for (const uint8_t *at = packed.data, *from = at; at < end; from = at) {
        at = next_bucket(at, end, &key, &count);
        if (!at || !sum_u64(sum, count, &sum) || sum > COUNT_MAX)
            return wire_refuse(wire, from, "a bucket that cannot be");
        if (sum == count)
            first = key;
    }
    if (sum != sketch->count || sum <= SKETCH_EXACT_MAX || sketch->min > sketch->max)
        return wire_refuse(wire, packed.data, "buckets that do not add up");
    uint32_t n = (uint32_t)(key - first) + 1;
    *buckets += n;
    if (*buckets > PART_BUCKETS_MAX)
        return wire_refuse(wire, packed.data, "more buckets than any part has");
    sketch->buckets = calloc(n, sizeof(*sketch->buckets));
    if (!sketch->buckets)
        return ERR_MEMORY;
    sketch->first_key = first;
    sketch->n_buckets = n;
    key = KEY_MIN - 1;
    for (const uint8_t *at = packed.data; at < end;) {
        at = next_bucket(at, end, &key, &count);
        sketch->buckets[key - first] = count;
    }
    return 0;
}

int part_get_sketch(struct wire *wire, struct sketch *ret, uint32_t *buckets)
{
    CLEANUP(sketch_release) struct sketch sketch = {0};
    struct view samples = {0}, packed = {0};
    struct wire_field field;
    uint32_t seen = 0;
    int r;
    while ((r = wire_next(wire, &field)) > 0) {
        bool bytes = field.number == SKETCH_SAMPLES || field.number == SKETCH_BUCKETS;
        if (field.number >= SKETCH_FIELDS || seen >> field.number & 1 ||
            field.type != (bytes ? WIRE_BYTES : WIRE_VARINT) || field.cut)
            return wire_refuse(wire, field.bytes.data, "no field of a sketch");
        seen |= 1U << field.number;
        uint64_t *const numbers[SKETCH_FIELDS] = {[SKETCH_COUNT] = &sketch.count,
                                                  [SKETCH_TOTAL] = &sketch.total,
                                                  [SKETCH_MIN] = &sketch.min,
                                                  [SKETCH_MAX] = &sketch.max};
        if (!bytes)
            *numbers[field.number] = field.value;
        else if (field.number == SKETCH_SAMPLES)
            samples = field.bytes;
        else
            packed = field.bytes;
    }
    if (r < 0)
        return r;
    bool exact = seen == 1U << SKETCH_SAMPLES;
    bool bucketed = seen == (1U << SKETCH_FIELDS) - (1U << SKETCH_COUNT);
    if (!exact && !bucketed)
        return wire_refuse(wire, wire->pos, "a sketch without its fields");
    r = exact ? get_samples(wire, samples, &sketch) : get_buckets(wire, packed, &sketch, buckets);
    if (r < 0)
        return r;
    *ret = sketch;
    sketch = (struct sketch){0};
    return 0;
}
