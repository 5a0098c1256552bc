/* SPDX-License-Identifier: Apache-2.0 */
/* part_steps - steps and totals: bare numbers one after the other. */
#include "trace/part_fields.h"

#include "base/banned.h"

/* Bare numbers one after the other. `ok` turns false at the first that is not there. */
struct numbers {
    const uint8_t *at, *end;
    bool ok;
};

static uint64_t next_number(struct numbers *numbers)
{
    uint64_t value = 0;
    const uint8_t *after = numbers->ok ? wire_varint(numbers->at, numbers->end, &value) : NULL;
    if (!after) {
        numbers->ok = false;
        return 0;
    }
    numbers->at = after;
    return value;
}

/* No sum of positions is that large: 65536 processes, 64 bits. */
#define WIDE_HIGH_MAX (INT64_C(1) << 20)

static wide next_wide(struct numbers *numbers)
{
    uint64_t low = next_number(numbers);
    int64_t high = wire_unzigzag(next_number(numbers));
    if (high > WIDE_HIGH_MAX || high < -WIDE_HIGH_MAX) {
        numbers->ok = false;
        return 0;
    }
    return (wide)high * ((wide)1 << 64) + (wide)low;
}

static bool read_step(struct numbers *numbers, const int64_t *before, uint32_t n_processes,
                      struct many_step *step)
{
    uint64_t distance = next_number(numbers);
    if (!before) {
        step->number = wire_unzigzag(distance);
    } else {
        if (distance == 0 || distance > (uint64_t)INT64_MAX - (uint64_t)*before)
            return false;
        step->number = (int64_t)((uint64_t)*before + distance);
    }
    step->processes = next_number(numbers);
    step->longest.first = next_number(numbers);
    uint64_t longest = next_number(numbers), least = 0;
    step->duration_ps = step->shortest_ps = step->longest.first;
    if (step->processes > 1) {
        step->longest.second = next_number(numbers);
        step->shortest_ps = next_number(numbers);
        step->duration_ps = next_number(numbers);
    }
    step->waiting = next_number(numbers);
    if (step->waiting) {
        uint64_t wait = next_number(numbers);
        many_extreme_start(&step->least, true, wait, 0);
        step->wait_ps = wait;
        least = next_number(numbers);
    }
    if (step->waiting > 1) {
        step->least.second = next_number(numbers);
        step->wait_ps = next_number(numbers);
    }
    step->clocks = next_number(numbers);
    if (step->clocks) {
        step->starts_ns = next_wide(numbers);
        step->ends_ns = step->starts_ns + next_wide(numbers);
    }
    step->longest.process = (uint32_t)longest;
    step->least.process = (uint32_t)least;
    return numbers->ok && step->processes > 0 && step->processes <= n_processes &&
           longest < n_processes && least < n_processes && step->waiting <= step->processes &&
           step->clocks <= step->processes && step->longest.second <= step->longest.first &&
           step->shortest_ps <= step->longest.first && step->duration_ps >= step->longest.first &&
           step->least.second >= step->least.first;
}

static int read_packed_steps(struct wire *wire, struct view name, struct view packed,
                             struct part_reader *reader)
{
    struct numbers numbers = {packed.data, packed.data + packed.size, true};
    const int64_t *before = NULL;
    while (numbers.at < numbers.end) {
        const uint8_t *from = numbers.at;
        struct many_step step = {.name = name}, *to;
        if (!read_step(&numbers, before, reader->rows->n_processes, &step))
            return wire_refuse(wire, from, "a step that cannot be");
        int r = many_add_step(reader->rows, &to, reader->e);
        if (r < 0)
            return r;
        *to = step;
        before = &to->number;
    }
    return 0;
}

int part_read_steps(struct wire *wire, struct part_reader *reader)
{
    struct part_fields f = {0};
    int r = part_take_all(wire, &f, STEPS_FIELDS, 1U << STEPS_NAME | 1U << STEPS_PACKED,
                          1U << STEPS_NAME);
    return r < 0 ? r : read_packed_steps(wire, f.bytes[STEPS_NAME], f.bytes[STEPS_PACKED], reader);
}

int part_read_totals(struct wire *wire, struct part_reader *reader)
{
    struct numbers numbers = {wire->pos, wire->end, true};
    for (int i = 0; i < MANY_TOTALS; i++)
        reader->rows->totals[i] = next_number(&numbers);
    return numbers.ok && numbers.at == numbers.end ? 0
                                                   : part_refuse(wire, "totals that are not all");
}
