/* SPDX-License-Identifier: Apache-2.0 */
/* result_tables - steps, ops and the host's names, sorted. */
#include <stdlib.h>

#include "trace/result.h"

#include "base/banned.h"

static struct summary_step *put_step_list(struct pass *pass, struct steps *steps,
                                          struct summary *summary, const struct step_data *from,
                                          uint32_t n)
{
    struct summary_step *list = arena_alloc(&summary->arena, (n + 1) * sizeof(*list));
    const char **names = arena_alloc(&summary->arena, (steps->names.count + 1) * sizeof(*names));
    if (!list || !names)
        return NULL;
    for (uint32_t i = 0; i < n; i++) {
        const struct step_data *step = &from[i];
        if (!names[step->name])
            names[step->name] = result_text(summary, intern_name(&steps->names, step->name));
        if (!names[step->name])
            return NULL;
        uint64_t duration = (uint64_t)(step->end - step->start);
        uint64_t n_devices = pass->devices.count ? pass->devices.count : 1;
        uint64_t busy = step->times.busy / n_devices;
        list[i] = (struct summary_step){.number = step->number,
                                        .name = names[step->name],
                                        .start_ps = step->start > pass->window_start
                                                        ? (uint64_t)step->start -
                                                              (uint64_t)pass->window_start
                                                        : 0,
                                        .duration_ps = duration,
                                        .busy_ps = busy,
                                        .idle_ps = duration - (busy < duration ? busy : duration),
                                        .collective_ps = step->times.collective / n_devices,
                                        .exposed_ps = step->times.exposed / n_devices,
                                        .cut = step->cut};
    }
    return list;
}

static int by_time(const void *a, const void *b)
{
    const struct step_data *x = a, *y = b;
    if (x->start != y->start)
        return x->start < y->start ? -1 : 1;
    return (x->end > y->end) - (x->end < y->end);
}

int result_steps(struct pass *pass, struct summary *summary, struct err *e)
{
    bool from_device = pass->steps.count == 0 && pass->device_steps.count > 0;
    struct steps *steps = from_device ? &pass->device_steps : &pass->steps;
    struct summary_steps *to = &summary->steps;
    *to = (struct summary_steps){.count = steps->count,
                                 .cut = steps->cut,
                                 .repeated = steps->repeated,
                                 .n_slowest = steps->n_slowest,
                                 .n_samples = steps->n_samples,
                                 .sample_stride = steps->stride,
                                 .from_device = from_device};
    if (steps->n_samples > 0) /* qsort takes no NULL */
        qsort(steps->samples, steps->n_samples, sizeof(*steps->samples), by_time);
    steps_sort(steps);
    to->slowest = put_step_list(pass, steps, summary, steps->slowest, steps->n_slowest);
    to->samples = put_step_list(pass, steps, summary, steps->samples, steps->n_samples);
    if (!to->slowest || !to->samples)
        return err_nomem(e);
    result_spread(&to->durations, &steps->durations);
    uint64_t n_devices = pass->devices.count ? pass->devices.count : 1;
    to->busy_ps = steps->times.busy / n_devices;
    to->collective_ps = steps->times.collective / n_devices;
    to->exposed_ps = steps->times.exposed / n_devices;
    to->idle_ps = to->durations.total_ps -
                  (to->busy_ps < to->durations.total_ps ? to->busy_ps : to->durations.total_ps);
    pass->receipt.steps_cut = steps->cut;
    return 0;
}

int result_ops(struct pass *pass, struct summary *summary, struct err *e)
{
    CLEANUP(cleanup_free) struct order *order = order_new(pass->ops.count);
    if (!order)
        return err_nomem(e);
    uint32_t kept = 0;
    for (uint32_t i = 0; i < pass->ops.count; i++) {
        if (pass->ops.all[i].calls)
            order[kept++] = (struct order){pass->ops.all[i].total_ps, i};
    }
    qsort(order, kept, sizeof(*order), order_by_key);
    summary->ops = arena_alloc(&summary->arena, (kept + 1) * sizeof(*summary->ops));
    if (!summary->ops)
        return err_nomem(e);
    for (uint32_t i = 0; i < kept; i++) {
        const struct op_data *data = &pass->ops.all[order[i].index];
        struct summary_op *op = &summary->ops[i];
        *op = (struct summary_op){
            .module = result_text(summary, intern_name(&pass->ops.names, data->module)),
            .op = result_text(summary, intern_name(&pass->ops.names, data->name)),
            .kind = data->kind,
            .calls = data->calls,
            .total_ps = data->total_ps};
        if (!op->module || !op->op)
            return err_nomem(e);
    }
    summary->n_ops = kept;
    return 0;
}

struct host_total {
    uint64_t calls, total_ps;
};

/* Names that stand in several tables, or several times in one, are one name. */
static int sum_host_names(struct pass *pass, struct intern *names, struct host_total **ret_totals,
                          struct err *e)
{
    CLEANUP(cleanup_free) struct host_total *totals = NULL;
    uint32_t room = 0;
    for (uint32_t p = 0; p < pass->n_planes; p++) {
        struct plane_state *plane = &pass->planes[p];
        if (plane->role != PLANE_HOST)
            continue;
        for (uint32_t i = 0; i < plane->plane.event_metadata.count; i++) {
            uint64_t calls = plane->names[i].calls + plane->sifted[i].calls;
            if (!calls)
                continue;
            struct xevent_metadata metadata;
            uint32_t id;
            xplane_event_metadata(&plane->plane, i, &metadata);
            int r = intern_put(names, metadata.name, &id, e);
            if (r < 0)
                return r;
            if (id >= room) {
                uint32_t grown_room = room ? room * 2 : 128;
                struct host_total *grown = realloc(totals, grown_room * sizeof(*grown));
                if (!grown)
                    return err_nomem(e);
                memset(grown + room, 0, (grown_room - room) * sizeof(*grown));
                totals = grown;
                room = grown_room;
            }
            totals[id].calls += calls;
            add_saturated(&totals[id].total_ps, plane->names[i].total_ps);
            add_saturated(&totals[id].total_ps, plane->sifted[i].total_ps);
        }
    }
    *ret_totals = totals;
    totals = NULL;
    return 0;
}

int result_host_names(struct pass *pass, struct summary *summary, struct err *e)
{
    CLEANUP(intern_release) struct intern names = {0};
    CLEANUP(cleanup_free) struct host_total *totals = NULL;
    int r = sum_host_names(pass, &names, &totals, e);
    if (r < 0)
        return r;
    CLEANUP(cleanup_free) struct order *order = order_new(names.count);
    summary->host_names =
        arena_alloc(&summary->arena, (names.count + 1) * sizeof(*summary->host_names));
    if (!order || !summary->host_names)
        return err_nomem(e);
    for (uint32_t i = 0; i < names.count; i++)
        order[i] = (struct order){totals[i].total_ps, i};
    qsort(order, names.count, sizeof(*order), order_by_key);
    for (uint32_t i = 0; i < names.count; i++) {
        const struct host_total *total = &totals[order[i].index];
        summary->host_names[i] =
            (struct summary_host_name){result_text(summary, intern_name(&names, order[i].index)),
                                       total->calls, total->total_ps};
        if (!summary->host_names[i].name)
            return err_nomem(e);
    }
    summary->n_host_names = names.count;
    return 0;
}
