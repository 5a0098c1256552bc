/* SPDX-License-Identifier: Apache-2.0 */
/* many - tables that grow, and the joining of their rows. */
#include "trace/many.h"

#include <stdlib.h>

#include "base/banned.h"

const char *many_total_name(enum many_total total)
{
    static const char *const words[MANY_TOTALS] = {
        "events",
        "ops",
        "op_time_ps",
        "busy_ps",
        "idle_ps",
        "device_window_ps",
        "devices",
        "collective_ps",
        "collective_exposed_ps",
        "idle_host_ps",
        "idle_between_ps",
        "idle_edge_ps",
        "idle_unknown_ps",
        "steps",
        "steps_cut",
        "steps_repeated",
        "steps_busy_ps",
        "steps_idle_ps",
        "launches",
        "launches_unmatched",
        "executions",
        "executions_unmatched",
        "ops_unmatched",
        "ops_unmatched_ps",
        "compilations",
        "compilation_ps",
        "python_tracer_events",
    };
    return words[total];
}

/* Room for `n` + 1 rows; what is new is zeroed. */
static void *grow(void *rows, uint32_t n, uint32_t *room, size_t size)
{
    if (n < *room)
        return rows;
    uint32_t wanted = *room ? *room * 2 : 4;
    unsigned char *grown = realloc(rows, wanted * size);
    if (!grown)
        return NULL;
    memset(grown + *room * size, 0, (wanted - *room) * size);
    *room = wanted;
    return grown;
}

#define ADD(rows, table, limit, what, ret, e)                                                      \
    do {                                                                                           \
        if ((rows)->n_##table >= (limit))                                                          \
            return err_set(e, ERR_LIMIT, "more than %u %s; join fewer processes", (limit), what);  \
        void *grown =                                                                              \
            grow((rows)->table, (rows)->n_##table, &(rows)->room_##table, sizeof(*(rows)->table)); \
        if (!grown)                                                                                \
            return err_nomem(e);                                                                   \
        (rows)->table = grown;                                                                     \
        *(ret) = &(rows)->table[(rows)->n_##table++];                                              \
        return 0;                                                                                  \
    } while (0)

int many_add_process(struct many_rows *rows, struct many_process **ret, struct err *e)
{
    ADD(rows, processes, (unsigned)MANY_PROCESSES_MAX, "processes", ret, e);
}

int many_add_region(struct many_rows *rows, struct many_region **ret, struct err *e)
{
    ADD(rows, regions, (unsigned)MANY_REGIONS_MAX,
        "region names (pick some with --region when the parts are made)", ret, e);
}

int many_add_op(struct many_rows *rows, struct many_op **ret, struct err *e)
{
    ADD(rows, ops, MANY_OPS_MAX, "different ops", ret, e);
}

int many_add_step(struct many_rows *rows, struct many_step **ret, struct err *e)
{
    ADD(rows, steps, (unsigned)MANY_STEPS_MAX,
        "different steps (pick some with --step when the parts are made)", ret, e);
}

void many_rows_release(struct many_rows *rows)
{
    for (uint32_t i = 0; i < rows->n_processes; i++)
        free(rows->processes[i].runs);
    for (uint32_t i = 0; i < rows->n_regions; i++) {
        sketch_release(&rows->regions[i].calls);
        sketch_release(&rows->regions[i].means);
    }
    free(rows->processes);
    free(rows->regions);
    free(rows->ops);
    free(rows->steps);
    sketch_release(&rows->step_durations);
    *rows = (struct many_rows){0};
}

void many_release(struct many *many)
{
    many_rows_release(&many->rows);
    intern_release(&many->names);
    intern_release(&many->region_keys);
    intern_release(&many->op_keys);
    intern_release(&many->step_keys);
}

int many_text_order(struct view a, struct view b)
{
    size_t n = a.size < b.size ? a.size : b.size;
    int order = n ? memcmp(a.data, b.data, n) : 0;
    return order ? order : (a.size > b.size) - (a.size < b.size);
}

#define ORDER(a, b)                                                                                \
    do {                                                                                           \
        if ((a) != (b))                                                                            \
            return (a) < (b) ? -1 : 1;                                                             \
    } while (0)

int many_order(const struct many_process *a, const struct many_process *b)
{
    /* as unsigned, so that processes without an index come last */
    ORDER((uint64_t)a->index, (uint64_t)b->index);
    int order = many_text_order(a->host, b->host);
    if (order)
        return order;
    ORDER(a->pid, b->pid);
    ORDER(a->start_unix_ns, b->start_unix_ns);
    ORDER(a->window_ps, b->window_ps);
    ORDER(a->events, b->events);
    ORDER(a->busy_ps, b->busy_ps);
    ORDER(a->steps_ps, b->steps_ps);
    return 0;
}

/* A name of `many`'s own and its number. */
static int own_name(struct many *many, struct view *name, uint32_t *ret_id, struct err *e)
{
    int r = intern_put(&many->names, *name, ret_id, e);
    if (r == 0)
        *name = intern_name(&many->names, *ret_id);
    return r;
}

static int own_view(struct many *many, struct view *name, struct err *e)
{
    uint32_t id;
    return own_name(many, name, &id, e);
}

static int join_process(struct many *many, const struct many_process *from, struct err *e)
{
    struct many_process *to, copy = *from;
    copy.runs = NULL;
    int r = own_view(many, &copy.host, e);
    if (r == 0)
        r = own_view(many, &copy.file, e);
    if (r == 0)
        r = own_view(many, &copy.version, e);
    if (r == 0)
        r = many_add_process(&many->rows, &to, e);
    if (r < 0)
        return r;
    *to = copy;
    if (!from->n_runs)
        return 0;
    to->runs = malloc(from->n_runs * sizeof(*to->runs));
    if (!to->runs)
        return err_nomem(e);
    memcpy(to->runs, from->runs, from->n_runs * sizeof(*to->runs));
    for (uint32_t i = 0; r == 0 && i < to->n_runs; i++)
        r = own_view(many, &to->runs[i].name, e);
    return r;
}

static bool process_before(const struct many *many, uint32_t a, uint32_t b)
{
    return many_order(&many->rows.processes[a], &many->rows.processes[b]) < 0;
}

static void join_extreme(const struct many *many, struct many_extreme *to, struct many_extreme from,
                         bool smallest)
{
    bool better = smallest ? from.first < to->first : from.first > to->first;
    if (from.first == to->first)
        better = process_before(many, from.process, to->process);
    struct many_extreme best = better ? from : *to, other = better ? *to : from;
    if (smallest)
        best.second = best.second < other.first ? best.second : other.first;
    else
        best.second = best.second > other.first ? best.second : other.first;
    *to = best;
}

static int join_region(struct many *many, const struct many_region *from, uint32_t base,
                       struct err *e)
{
    struct view name = from->name;
    uint32_t id, place;
    int r = own_name(many, &name, &id, e);
    if (r == 0)
        r = intern_put(&many->region_keys, view_of(&id, sizeof(id)), &place, e);
    if (r < 0)
        return r;
    struct many_region *to;
    if (place == many->rows.n_regions) {
        r = many_add_region(&many->rows, &to, e);
        if (r < 0)
            return r;
        *to = (struct many_region){
            .name = name, .slowest = base + from->slowest, .fastest = base + from->fastest};
        to->slowest_calls = from->slowest_calls;
    } else {
        to = &many->rows.regions[place];
        uint32_t slowest = base + from->slowest, fastest = base + from->fastest;
        if (from->means.max > to->means.max ||
            (from->means.max == to->means.max && process_before(many, slowest, to->slowest))) {
            to->slowest = slowest;
            to->slowest_calls = from->slowest_calls;
        }
        if (from->means.min < to->means.min ||
            (from->means.min == to->means.min && process_before(many, fastest, to->fastest)))
            to->fastest = fastest;
    }
    add_saturated(&to->processes, from->processes);
    add_saturated(&to->launched_ps, from->launched_ps);
    add_saturated(&to->launched_ops, from->launched_ops);
    add_saturated(&to->launches, from->launches);
    add_saturated(&to->idle_behind_ps, from->idle_behind_ps);
    to->launched_by |= from->launched_by;
    r = sketch_merge(&to->calls, &from->calls, e);
    return r < 0 ? r : sketch_merge(&to->means, &from->means, e);
}

static int join_op(struct many *many, const struct many_op *from, uint32_t base, struct err *e)
{
    struct many_op copy = *from, *to;
    uint32_t key[3], place;
    copy.most += base;
    int r = own_name(many, &copy.module, &key[0], e);
    if (r == 0)
        r = own_name(many, &copy.op, &key[1], e);
    key[2] = (uint32_t)copy.kind;
    if (r == 0)
        r = intern_put(&many->op_keys, view_of(key, sizeof(key)), &place, e);
    if (r < 0)
        return r;
    if (place == many->rows.n_ops) {
        r = many_add_op(&many->rows, &to, e);
        if (r == 0)
            *to = copy;
        return r;
    }
    to = &many->rows.ops[place];
    add_saturated(&to->processes, copy.processes);
    add_saturated(&to->calls, copy.calls);
    add_saturated(&to->total_ps, copy.total_ps);
    if (copy.most_ps > to->most_ps ||
        (copy.most_ps == to->most_ps && process_before(many, copy.most, to->most))) {
        to->most_ps = copy.most_ps;
        to->most = copy.most;
    }
    if (copy.least_ps < to->least_ps)
        to->least_ps = copy.least_ps;
    return 0;
}

static int join_step(struct many *many, const struct many_step *from, uint32_t base, struct err *e)
{
    struct many_step copy = *from, *to;
    struct {
        int64_t number;
        uint64_t name;
    } key = {.number = from->number};
    uint32_t id, place;
    copy.longest.process += base;
    copy.least.process += base;
    int r = own_name(many, &copy.name, &id, e);
    key.name = id;
    if (r == 0)
        r = intern_put(&many->step_keys, view_of(&key, sizeof(key)), &place, e);
    if (r < 0)
        return r;
    if (place == many->rows.n_steps) {
        r = many_add_step(&many->rows, &to, e);
        if (r == 0)
            *to = copy;
        return r;
    }
    to = &many->rows.steps[place];
    add_saturated(&to->processes, copy.processes);
    add_saturated(&to->duration_ps, copy.duration_ps);
    join_extreme(many, &to->longest, copy.longest, false);
    if (copy.shortest_ps < to->shortest_ps)
        to->shortest_ps = copy.shortest_ps;
    if (copy.waiting && to->waiting)
        join_extreme(many, &to->least, copy.least, true);
    else if (copy.waiting)
        to->least = copy.least;
    add_saturated(&to->waiting, copy.waiting);
    add_saturated(&to->wait_ps, copy.wait_ps);
    add_saturated(&to->clocks, copy.clocks);
    to->starts_ns += copy.starts_ns;
    to->ends_ns += copy.ends_ns;
    return 0;
}

int many_join(struct many *many, const struct many_rows *from, struct err *e)
{
    uint32_t base = many->rows.n_processes;
    int r = 0;
    for (uint32_t i = 0; r == 0 && i < from->n_processes; i++)
        r = join_process(many, &from->processes[i], e);
    for (uint32_t i = 0; r == 0 && i < from->n_regions; i++)
        r = join_region(many, &from->regions[i], base, e);
    for (uint32_t i = 0; r == 0 && i < from->n_ops; i++)
        r = join_op(many, &from->ops[i], base, e);
    for (uint32_t i = 0; r == 0 && i < from->n_steps; i++)
        r = join_step(many, &from->steps[i], base, e);
    if (r == 0)
        r = sketch_merge(&many->rows.step_durations, &from->step_durations, e);
    for (int i = 0; i < MANY_TOTALS; i++)
        add_saturated(&many->rows.totals[i], from->totals[i]);
    return r;
}
