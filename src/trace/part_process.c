/* SPDX-License-Identifier: Apache-2.0 */
/* part_process - processes, and the numbers of the steps that each has. */
#include <stdlib.h>

#include "trace/part_fields.h"

#include "base/banned.h"

static int read_run(struct wire *wire, struct many_process *process)
{
    struct part_fields f = {0};
    int r = part_take_all(wire, &f, RUN_FIELDS, 1U << RUN_NAME, 1U << RUN_NAME);
    if (r < 0)
        return r;
    uint64_t length, steps = f.number[RUN_COUNT];
    if (process->n_runs == MANY_RUNS_MAX || steps == 0 || steps > MANY_STEPS_OF_ONE ||
        f.number[RUN_STRIDE] == 0 || !product_u64(f.number[RUN_STRIDE], steps - 1, &length) ||
        length > (uint64_t)INT64_MAX - (uint64_t)wire_unzigzag(f.number[RUN_FIRST]))
        return part_refuse(wire, "a run of steps that cannot be");
    if (!process->runs)
        process->runs = calloc(MANY_RUNS_MAX, sizeof(*process->runs));
    if (!process->runs)
        return ERR_MEMORY;
    process->runs[process->n_runs++] =
        (struct many_run){f.bytes[RUN_NAME], wire_unzigzag(f.number[RUN_FIRST]),
                          f.number[RUN_STRIDE], (uint32_t)steps};
    return 0;
}

static void set_process(struct many_process *p, const struct part_fields *f)
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

int part_read_process(struct wire *wire, struct part_reader *reader)
{
    const uint32_t names = 1U << PROCESS_HOST | 1U << PROCESS_FILE | 1U << PROCESS_VERSION;
    struct many_process *process;
    struct part_fields f = {0};
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
            r = part_take(wire, &field, &f, PROCESS_RUN, names, names);
        }
        if (r < 0)
            return r;
    }
    if (r == 0)
        r = part_complete(wire, &f, PROCESS_RUN);
    if (r < 0)
        return r;
    if (f.number[PROCESS_PLATFORM] > PLATFORM_TPU || f.number[PROCESS_FLAGS] > PROCESS_FLAGS_ALL)
        return part_refuse(wire, "a process that cannot be");
    set_process(process, &f);
    return process_can_be(process) ? 0 : part_refuse(wire, "a process that cannot be");
}
