/* SPDX-License-Identifier: Apache-2.0 */
/* part_read - bytes to rows, believing nothing. */
#include <stdlib.h>

#include "trace/part.h"
#include "wire/wire.h"

#include "base/banned.h"

#define FIELDS_MAX 32

/* The fields of one message, each at most once; `bytes` says which are not varints. */
struct fields {
    uint64_t number[FIELDS_MAX];
    struct view bytes[FIELDS_MAX];
    uint32_t seen;
};

struct reader {
    struct many_rows *rows;
    uint32_t buckets;
    bool totals, durations;
    struct err *e;
};

static int refuse(struct wire *wire, const char *problem)
{
    return wire_refuse(wire, wire->pos, problem);
}

/* The longest is far below the size of what holds them, and all are printed as C strings. */
static bool name_can_be(struct view name)
{
    return name.size <= PART_NAME_BYTES_MAX && (!name.size || !memchr(name.data, '\0', name.size));
}

/* Takes one field into its slot; `bytes` says which are bytes, `names` which of them are names. */
static int take(struct wire *wire, const struct wire_field *field, struct fields *fields,
                uint32_t n_fields, uint32_t bytes, uint32_t names)
{
    if (field->number >= n_fields)
        return refuse(wire, "a field that this version does not know");
    if (fields->seen >> field->number & 1)
        return refuse(wire, "a field that is there twice");
    if (field->cut || field->type != (bytes >> field->number & 1 ? WIRE_BYTES : WIRE_VARINT))
        return refuse(wire, "a field of the wrong type");
    if (names >> field->number & 1 && !name_can_be(field->bytes))
        return refuse(wire, "a name that cannot be");
    fields->seen |= 1U << field->number;
    fields->number[field->number] = field->value;
    fields->bytes[field->number] = field->bytes;
    return 0;
}

/* Whether all fields below `n_fields` are there, but for those of `optional`. */
static int complete(struct wire *wire, const struct fields *fields, uint32_t n_fields,
                    uint32_t optional)
{
    uint32_t all = (uint32_t)((UINT64_C(1) << n_fields) - 2);
    return (fields->seen | optional) == (all | optional)
               ? 0
               : refuse(wire, "a message without all its fields");
}

static int read_run(struct wire *wire, struct many_process *process)
{
    struct fields f = {0};
    struct wire_field field;
    int r;
    while ((r = wire_next(wire, &field)) > 0) {
        r = take(wire, &field, &f, RUN_FIELDS, 1U << RUN_NAME, 1U << RUN_NAME);
        if (r < 0)
            return r;
    }
    if (r == 0)
        r = complete(wire, &f, RUN_FIELDS, 0);
    if (r < 0)
        return r;
    uint64_t length, steps = f.number[RUN_COUNT];
    if (process->n_runs == MANY_RUNS_MAX || steps == 0 || steps > MANY_STEPS_OF_ONE ||
        f.number[RUN_STRIDE] == 0 || !product_u64(f.number[RUN_STRIDE], steps - 1, &length) ||
        length > (uint64_t)INT64_MAX - (uint64_t)wire_unzigzag(f.number[RUN_FIRST]))
        return refuse(wire, "a run of steps that cannot be");
    if (!process->runs)
        process->runs = calloc(MANY_RUNS_MAX, sizeof(*process->runs));
    if (!process->runs)
        return ERR_MEMORY;
    process->runs[process->n_runs++] =
        (struct many_run){f.bytes[RUN_NAME], wire_unzigzag(f.number[RUN_FIRST]),
                          f.number[RUN_STRIDE], (uint32_t)steps};
    return 0;
}

static void set_process(struct many_process *p, const struct fields *f)
{
    const uint64_t *n = f->number;
    p->host = f->bytes[PROCESS_HOST];
    p->file = f->bytes[PROCESS_FILE];
    p->version = f->bytes[PROCESS_VERSION];
    p->index = wire_unzigzag(n[PROCESS_INDEX]);
    p->count = wire_unzigzag(n[PROCESS_COUNT]);
    p->pid = wire_unzigzag(n[PROCESS_PID]);
    p->start_unix_ns = wire_unzigzag(n[PROCESS_START]);
    p->stop_unix_ns = wire_unzigzag(n[PROCESS_STOP]);
    p->window_ps = n[PROCESS_WINDOW];
    p->events = n[PROCESS_EVENTS];
    p->platform = n[PROCESS_PLATFORM];
    p->damaged = n[PROCESS_FLAGS] & PROCESS_FLAG_DAMAGED;
    p->by_collectives = n[PROCESS_FLAGS] & PROCESS_FLAG_COLLECTIVES;
    p->has_clock = n[PROCESS_FLAGS] & PROCESS_FLAG_CLOCK;
    p->runs_lost = n[PROCESS_FLAGS] & PROCESS_FLAG_RUNS_LOST;
    p->devices = n[PROCESS_DEVICES];
    p->busy_ps = n[PROCESS_BUSY];
    p->idle_ps = n[PROCESS_IDLE];
    p->steps = n[PROCESS_STEPS];
    p->steps_cut = n[PROCESS_STEPS_CUT];
    p->steps_ps = n[PROCESS_STEPS_PS];
    p->step_stride = n[PROCESS_STRIDE];
    p->compared = n[PROCESS_COMPARED];
    p->compared_ps = n[PROCESS_COMPARED_PS];
    p->wait_ps = n[PROCESS_WAIT];
    p->work_ps = n[PROCESS_WORK];
    p->starts_ns = n[PROCESS_STARTS];
    p->ends_ns = n[PROCESS_ENDS];
}

static bool process_can_be(const struct many_process *process)
{
    uint64_t steps = 0;
    for (uint32_t i = 0; i < process->n_runs; i++)
        steps += process->runs[i].count;
    return many_identity_known(process->index) == process->index &&
           many_identity_known(process->count) == process->count &&
           many_identity_known(process->pid) == process->pid && process->start_unix_ns >= 0 &&
           process->stop_unix_ns >= 0 && process->compared <= MANY_STEPS_MAX &&
           (process->runs_lost ? steps <= process->compared : steps == process->compared);
}

static int read_process(struct wire *wire, struct reader *reader)
{
    const uint32_t names = 1U << PROCESS_HOST | 1U << PROCESS_FILE | 1U << PROCESS_VERSION;
    struct many_process *process;
    struct fields f = {0};
    struct wire_field field;
    int r = many_add_process(reader->rows, &process, reader->e);
    if (r < 0)
        return r;
    while ((r = wire_next(wire, &field)) > 0) {
        if (field.number == PROCESS_RUN && field.type == WIRE_BYTES && !field.cut) {
            struct wire run = wire_enter(wire, field.bytes, false);
            r = read_run(&run, process);
            wire->damage = run.damage;
        } else {
            r = take(wire, &field, &f, PROCESS_RUN, names, names);
        }
        if (r < 0)
            return r;
    }
    if (r == 0)
        r = complete(wire, &f, PROCESS_RUN, 0);
    if (r < 0)
        return r;
    if (f.number[PROCESS_PLATFORM] > PLATFORM_TPU || f.number[PROCESS_FLAGS] > PROCESS_FLAGS_ALL)
        return refuse(wire, "a process that cannot be");
    set_process(process, &f);
    return process_can_be(process) ? 0 : refuse(wire, "a process that cannot be");
}

/* A nested sketch; *ret must be empty. */
static int read_sketch(struct wire *wire, struct view bytes, struct reader *reader,
                       struct sketch *ret)
{
    struct wire inner = wire_enter(wire, bytes, false);
    int r = part_get_sketch(&inner, ret, &reader->buckets);
    wire->damage = inner.damage;
    return r;
}

static int read_region(struct wire *wire, struct reader *reader)
{
    struct many_rows *rows = reader->rows;
    struct many_region *region;
    struct fields f = {0};
    struct wire_field field;
    int r = many_add_region(rows, &region, reader->e);
    if (r < 0)
        return r;
    while ((r = wire_next(wire, &field)) > 0) {
        r = take(wire, &field, &f, REGION_FIELDS,
                 1U << REGION_NAME | 1U << REGION_CALLS | 1U << REGION_MEANS, 1U << REGION_NAME);
        if (r < 0)
            return r;
    }
    if (r == 0)
        r = complete(wire, &f, REGION_FIELDS, 0);
    if (r == 0)
        r = read_sketch(wire, f.bytes[REGION_CALLS], reader, &region->calls);
    if (r == 0)
        r = read_sketch(wire, f.bytes[REGION_MEANS], reader, &region->means);
    if (r < 0)
        return r;
    const uint64_t *n = f.number;
    uint64_t processes = n[REGION_PROCESSES];
    if (processes == 0 || processes > rows->n_processes || region->means.count != processes ||
        region->calls.count < processes || n[REGION_SLOWEST] >= rows->n_processes ||
        n[REGION_FASTEST] >= rows->n_processes || n[REGION_LAUNCHED_BY] > 7 ||
        n[REGION_SLOWEST_CALLS] > region->calls.count)
        return refuse(wire, "a region that cannot be");
    region->name = f.bytes[REGION_NAME];
    region->processes = processes;
    region->slowest = (uint32_t)n[REGION_SLOWEST];
    region->fastest = (uint32_t)n[REGION_FASTEST];
    region->slowest_calls = n[REGION_SLOWEST_CALLS];
    region->launched_ps = n[REGION_LAUNCHED];
    region->launched_ops = n[REGION_LAUNCHED_OPS];
    region->launches = n[REGION_LAUNCHES];
    region->idle_behind_ps = n[REGION_IDLE_BEHIND];
    region->launched_by = n[REGION_LAUNCHED_BY];
    return 0;
}

static int read_op(struct wire *wire, struct view module, struct reader *reader)
{
    struct fields f = {0};
    struct wire_field field;
    int r;
    while ((r = wire_next(wire, &field)) > 0) {
        r = take(wire, &field, &f, OP_FIELDS, 1U << OP_NAME, 1U << OP_NAME);
        if (r < 0)
            return r;
    }
    if (r == 0)
        r = complete(wire, &f, OP_FIELDS, 0);
    if (r < 0)
        return r;
    const uint64_t *n = f.number;
    if (n[OP_KIND] >= OP_KINDS || n[OP_PROCESSES] == 0 ||
        n[OP_PROCESSES] > reader->rows->n_processes || n[OP_CALLS] < n[OP_PROCESSES] ||
        n[OP_LEAST] > n[OP_MOST] || n[OP_MOST] > n[OP_TOTAL] ||
        n[OP_MOST_PROCESS] >= reader->rows->n_processes)
        return refuse(wire, "an op that cannot be");
    struct many_op *op;
    r = many_add_op(reader->rows, &op, reader->e);
    if (r < 0)
        return r;
    *op = (struct many_op){.module = module,
                           .op = f.bytes[OP_NAME],
                           .kind = n[OP_KIND],
                           .processes = n[OP_PROCESSES],
                           .calls = n[OP_CALLS],
                           .total_ps = n[OP_TOTAL],
                           .most_ps = n[OP_MOST],
                           .least_ps = n[OP_LEAST],
                           .most = (uint32_t)n[OP_MOST_PROCESS]};
    return 0;
}

static int read_module(struct wire *wire, struct reader *reader)
{
    struct view name = {0};
    struct wire_field field;
    bool named = false;
    int r;
    while ((r = wire_next(wire, &field)) > 0) {
        if (field.type != WIRE_BYTES || field.cut)
            return refuse(wire, "a field of the wrong type");
        if (field.number == MODULE_NAME && !named && name_can_be(field.bytes)) {
            name = field.bytes;
            named = true;
        } else if (field.number == MODULE_OP && named) {
            struct wire op = wire_enter(wire, field.bytes, false);
            r = read_op(&op, name, reader);
            wire->damage = op.damage;
            if (r < 0)
                return r;
        } else {
            return refuse(wire, "no field of a module");
        }
    }
    return r;
}

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
                             struct reader *reader)
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

static int read_steps(struct wire *wire, struct reader *reader)
{
    struct fields f = {0};
    struct wire_field field;
    int r;
    while ((r = wire_next(wire, &field)) > 0) {
        r = take(wire, &field, &f, STEPS_FIELDS, 1U << STEPS_NAME | 1U << STEPS_PACKED,
                 1U << STEPS_NAME);
        if (r < 0)
            return r;
    }
    if (r == 0)
        r = complete(wire, &f, STEPS_FIELDS, 0);
    return r < 0 ? r : read_packed_steps(wire, f.bytes[STEPS_NAME], f.bytes[STEPS_PACKED], reader);
}

static int read_totals(struct wire *wire, struct reader *reader)
{
    struct numbers numbers = {wire->pos, wire->end, true};
    for (int i = 0; i < MANY_TOTALS; i++)
        reader->rows->totals[i] = next_number(&numbers);
    return numbers.ok && numbers.at == numbers.end ? 0 : refuse(wire, "totals that are not all");
}

static int read_field(struct wire *wire, const struct wire_field *field, struct reader *reader)
{
    struct wire inner = wire_enter(wire, field->bytes, field->cut);
    int r;
    if (field->type != WIRE_BYTES)
        return refuse(wire, "a field of the wrong type");
    switch (field->number) {
    case PART_PROCESS:
        r = read_process(&inner, reader);
        break;
    case PART_REGION:
        r = read_region(&inner, reader);
        break;
    case PART_MODULE:
        r = read_module(&inner, reader);
        break;
    case PART_STEPS:
        r = read_steps(&inner, reader);
        break;
    case PART_TOTALS:
        if (reader->totals)
            return refuse(wire, "totals that are there twice");
        reader->totals = true;
        r = read_totals(&inner, reader);
        break;
    case PART_STEP_DURATIONS:
        if (reader->durations)
            return refuse(wire, "step durations that are there twice");
        reader->durations = true;
        r = part_get_sketch(&inner, &reader->rows->step_durations, &reader->buckets);
        break;
    default:
        return refuse(wire, "a field that this version does not know");
    }
    if (inner.damage.code)
        wire->damage = inner.damage;
    return r;
}

int part_read_body(struct view file, struct view body, struct many_rows *ret, struct err *e)
{
    CLEANUP(many_rows_release) struct many_rows rows = {0};
    struct reader reader = {.rows = &rows, .e = e};
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
        r = refuse(&wire, "a part without its totals or processes");
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
