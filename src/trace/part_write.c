/* SPDX-License-Identifier: Apache-2.0 */
/* part_write - settled rows to bytes; what can be told from the rest is left out. */
#include "trace/part.h"

#include "base/banned.h"

static const uint8_t magic[PART_MAGIC_BYTES] = {0x89, 'D', 'E', 'W', 'P', 'A', 'R', 'T'};

bool part_is(struct view bytes)
{
    size_t n = bytes.size < sizeof(magic) ? bytes.size : sizeof(magic);
    return n > 0 && memcmp(bytes.data, magic, n) == 0;
}

uint64_t part_checksum(struct view body)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (size_t i = 0; i < body.size; i++)
        hash = (hash ^ body.data[i]) * UINT64_C(0x100000001b3);
    return hash;
}

static void put_run(struct wire_out *out, const struct many_run *run)
{
    size_t place = out_begin(out, PROCESS_RUN);
    out_bytes(out, RUN_NAME, run->name);
    out_signed(out, RUN_FIRST, run->first);
    out_varint(out, RUN_STRIDE, run->stride);
    out_varint(out, RUN_COUNT, run->count);
    out_end(out, place);
}

static void put_process(struct wire_out *out, const struct many_process *p)
{
    size_t place = out_begin(out, PART_PROCESS);
    out_bytes(out, PROCESS_HOST, p->host);
    out_bytes(out, PROCESS_FILE, p->file);
    out_bytes(out, PROCESS_VERSION, p->version);
    out_signed(out, PROCESS_INDEX, p->index);
    out_signed(out, PROCESS_COUNT, p->count);
    out_signed(out, PROCESS_PID, p->pid);
    out_signed(out, PROCESS_START, p->start_unix_ns);
    out_signed(out, PROCESS_STOP, p->stop_unix_ns);
    out_varint(out, PROCESS_WINDOW, p->window_ps);
    out_varint(out, PROCESS_EVENTS, p->events);
    out_varint(out, PROCESS_PLATFORM, p->platform);
    out_varint(out, PROCESS_FLAGS,
               (p->damaged ? PROCESS_FLAG_DAMAGED : 0) |
                   (p->by_collectives ? PROCESS_FLAG_COLLECTIVES : 0) |
                   (p->has_clock ? PROCESS_FLAG_CLOCK : 0) |
                   (p->runs_lost ? PROCESS_FLAG_RUNS_LOST : 0));
    out_varint(out, PROCESS_DEVICES, p->devices);
    out_varint(out, PROCESS_BUSY, p->busy_ps);
    out_varint(out, PROCESS_IDLE, p->idle_ps);
    out_varint(out, PROCESS_STEPS, p->steps);
    out_varint(out, PROCESS_STEPS_CUT, p->steps_cut);
    out_varint(out, PROCESS_STEPS_PS, p->steps_ps);
    out_varint(out, PROCESS_STRIDE, p->step_stride);
    out_varint(out, PROCESS_COMPARED, p->compared);
    out_varint(out, PROCESS_COMPARED_PS, p->compared_ps);
    out_varint(out, PROCESS_WAIT, p->wait_ps);
    out_varint(out, PROCESS_WORK, p->work_ps);
    out_varint(out, PROCESS_STARTS, p->starts_ns);
    out_varint(out, PROCESS_ENDS, p->ends_ns);
    for (uint32_t i = 0; i < p->n_runs; i++)
        put_run(out, &p->runs[i]);
    out_end(out, place);
}

static void put_region(struct wire_out *out, struct many_region *region)
{
    size_t place = out_begin(out, PART_REGION);
    out_bytes(out, REGION_NAME, region->name);
    out_varint(out, REGION_PROCESSES, region->processes);
    part_put_sketch(out, REGION_CALLS, &region->calls);
    part_put_sketch(out, REGION_MEANS, &region->means);
    out_varint(out, REGION_SLOWEST, region->slowest);
    out_varint(out, REGION_FASTEST, region->fastest);
    out_varint(out, REGION_SLOWEST_CALLS, region->slowest_calls);
    out_varint(out, REGION_LAUNCHED, region->launched_ps);
    out_varint(out, REGION_LAUNCHED_OPS, region->launched_ops);
    out_varint(out, REGION_LAUNCHES, region->launches);
    out_varint(out, REGION_IDLE_BEHIND, region->idle_behind_ps);
    out_varint(out, REGION_LAUNCHED_BY, region->launched_by);
    out_end(out, place);
}

static void put_op(struct wire_out *out, const struct many_op *op)
{
    size_t place = out_begin(out, MODULE_OP);
    out_bytes(out, OP_NAME, op->op);
    out_varint(out, OP_KIND, op->kind);
    out_varint(out, OP_PROCESSES, op->processes);
    out_varint(out, OP_CALLS, op->calls);
    out_varint(out, OP_TOTAL, op->total_ps);
    out_varint(out, OP_MOST, op->most_ps);
    out_varint(out, OP_LEAST, op->least_ps);
    out_varint(out, OP_MOST_PROCESS, op->most);
    out_end(out, place);
}

static void put_ops(struct wire_out *out, const struct many_rows *rows)
{
    for (uint32_t i = 0; i < rows->n_ops;) {
        struct view module = rows->ops[i].module;
        size_t place = out_begin(out, PART_MODULE);
        out_bytes(out, MODULE_NAME, module);
        for (; i < rows->n_ops && view_equal(rows->ops[i].module, module); i++)
            put_op(out, &rows->ops[i]);
        out_end(out, place);
    }
}

static void put_wide(struct wire_out *out, wide value)
{
    out_raw_varint(out, (uint64_t)value);
    out_raw_varint(out, wire_zigzag((int64_t)(value >> 64)));
}

/* Steps are the bulk of a part, so they are bare numbers: docs/scale.md lists them. */
static void put_step(struct wire_out *out, const struct many_step *step, const int64_t *before)
{
    out_raw_varint(out,
                   before ? (uint64_t)step->number - (uint64_t)*before : wire_zigzag(step->number));
    out_raw_varint(out, step->processes);
    out_raw_varint(out, step->longest.first);
    out_raw_varint(out, step->longest.process);
    if (step->processes > 1) {
        out_raw_varint(out, step->longest.second);
        out_raw_varint(out, step->shortest_ps);
        out_raw_varint(out, step->duration_ps);
    }
    out_raw_varint(out, step->waiting);
    if (step->waiting) {
        out_raw_varint(out, step->least.first);
        out_raw_varint(out, step->least.process);
    }
    if (step->waiting > 1) {
        out_raw_varint(out, step->least.second);
        out_raw_varint(out, step->wait_ps);
    }
    out_raw_varint(out, step->clocks);
    if (step->clocks) {
        put_wide(out, step->starts_ns);
        put_wide(out, step->ends_ns - step->starts_ns);
    }
}

static void put_steps(struct wire_out *out, const struct many_rows *rows)
{
    for (uint32_t i = 0; i < rows->n_steps;) {
        struct view name = rows->steps[i].name;
        size_t group = out_begin(out, PART_STEPS);
        out_bytes(out, STEPS_NAME, name);
        size_t packed = out_begin(out, STEPS_PACKED);
        const int64_t *before = NULL;
        for (; i < rows->n_steps && view_equal(rows->steps[i].name, name); i++) {
            put_step(out, &rows->steps[i], before);
            before = &rows->steps[i].number;
        }
        out_end(out, packed);
        out_end(out, group);
    }
}

static void put_header(struct wire_out *out, struct view body)
{
    uint8_t bytes[PART_HEADER_BYTES];
    uint64_t checksum = part_checksum(body);
    memcpy(bytes, magic, sizeof(magic));
    for (unsigned i = 0; i < 4; i++)
        bytes[8 + i] = (uint8_t)((uint32_t)PART_VERSION >> 8 * i);
    for (unsigned i = 0; i < 8; i++) {
        bytes[12 + i] = (uint8_t)((uint64_t)body.size >> 8 * i);
        bytes[20 + i] = (uint8_t)(checksum >> 8 * i);
    }
    out_raw(out, view_of(bytes, sizeof(bytes)));
    out_raw(out, body);
}

static void cleanup_out(struct wire_out *out)
{
    out_release(out);
}

int part_write(struct many_rows *rows, struct wire_out *out, struct err *e)
{
    CLEANUP(cleanup_out) struct wire_out body = {0};
    for (uint32_t i = 0; i < rows->n_processes; i++)
        put_process(&body, &rows->processes[i]);
    for (uint32_t i = 0; i < rows->n_regions; i++)
        put_region(&body, &rows->regions[i]);
    put_ops(&body, rows);
    put_steps(&body, rows);
    size_t totals = out_begin(&body, PART_TOTALS);
    for (int i = 0; i < MANY_TOTALS; i++)
        out_raw_varint(&body, rows->totals[i]);
    out_end(&body, totals);
    part_put_sketch(&body, PART_STEP_DURATIONS, &rows->step_durations);
    int r = out_check(&body, e);
    if (r < 0)
        return r;
    put_header(out, out_view(&body));
    return out_check(out, e);
}
