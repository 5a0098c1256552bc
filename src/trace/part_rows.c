/* SPDX-License-Identifier: Apache-2.0 */
/* part_rows - regions, and ops by their modules. */
#include "trace/part_fields.h"

#include "base/banned.h"

/* A nested sketch; *ret must be empty. */
static int read_sketch(struct wire *wire, struct view bytes, struct part_reader *reader,
                       struct sketch *ret)
{
    struct wire inner = wire_enter(wire, bytes, false);
    int r = part_get_sketch(&inner, ret, &reader->buckets);
    wire->damage = inner.damage;
    return r;
}

int part_read_region(struct wire *wire, struct part_reader *reader)
{
    struct many_rows *rows = reader->rows;
    struct many_region *region;
    struct part_fields f = {0};
    int r = many_add_region(rows, &region, reader->e);
    if (r == 0)
        r = part_take_all(wire, &f, REGION_FIELDS,
                          1U << REGION_NAME | 1U << REGION_CALLS | 1U << REGION_MEANS,
                          1U << REGION_NAME);
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
        return part_refuse(wire, "a region that cannot be");
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

static int read_op(struct wire *wire, struct view module, struct part_reader *reader)
{
    struct part_fields f = {0};
    int r = part_take_all(wire, &f, OP_FIELDS, 1U << OP_NAME, 1U << OP_NAME);
    if (r < 0)
        return r;
    const uint64_t *n = f.number;
    if (n[OP_KIND] >= OP_KINDS || n[OP_PROCESSES] == 0 ||
        n[OP_PROCESSES] > reader->rows->n_processes || n[OP_CALLS] < n[OP_PROCESSES] ||
        n[OP_LEAST] > n[OP_MOST] || n[OP_MOST] > n[OP_TOTAL] ||
        n[OP_MOST_PROCESS] >= reader->rows->n_processes)
        return part_refuse(wire, "an op that cannot be");
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

int part_read_module(struct wire *wire, struct part_reader *reader)
{
    struct view name = {0};
    struct wire_field field;
    bool named = false;
    int r;
    while ((r = wire_next(wire, &field)) > 0) {
        if (field.type != WIRE_BYTES || field.cut)
            return part_refuse(wire, "a field of the wrong type");
        if (field.number == MODULE_NAME && !named && part_name_can_be(field.bytes)) {
            name = field.bytes;
            named = true;
        } else if (field.number == MODULE_OP && named) {
            struct wire op = wire_enter(wire, field.bytes, false);
            r = read_op(&op, name, reader);
            wire->damage = op.damage;
            if (r < 0)
                return r;
        } else {
            return part_refuse(wire, "no field of a module");
        }
    }
    return r;
}
