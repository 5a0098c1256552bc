/* SPDX-License-Identifier: Apache-2.0 */
/* merge_facts - plane by plane, line by line. */
#include "trace/merge_facts.h"

#include <stdlib.h>

#include "trace/kinds.h"
#include "trace/merge_programs.h"
#include "trace/merge_steps.h"
#include "xplane/shift.h"
#include "xplane/space.h"

#include "base/banned.h"

#define WINDOW_MAX_NS (INT64_MAX / 2) /* of 2116, and room to move it */
#define NO_STAT INT64_MIN             /* ids are counted up from 0 or 1 */

enum role { ROLE_OTHER, ROLE_HOST, ROLE_GPU, ROLE_TPU };
enum reading { READ_STEPS, READ_COLLECTIVES };
enum mark {
    MARK_UNKNOWN,
    MARK_NO_OP, /* the end of an op, marked by an event of its own */
    MARK_OP,
    MARK_WAITS, /* for a collective that was started before */
    MARK_JOINS, /* a collective */
};

struct reader {
    struct merge_facts *facts;
    enum reading reading;
    struct xplane plane;
    enum role role;
    int64_t step_id, op_id, module_id;
    uint8_t *marks; /* enum mark, by event metadata */
    /* The program of the event before, since events of one program follow each other. */
    struct xstat last_module;
    uint32_t last_program;
};

static int damage_error(const struct damage *damage, struct err *e)
{
    return err_at(e, damage->code, damage->offset, "byte %llu: %s",
                  (unsigned long long)damage->offset, damage->problem);
}

static enum role role_of(struct view name)
{
    return view_starts(name, "/device:GPU:")   ? ROLE_GPU
           : view_starts(name, "/device:TPU:") ? ROLE_TPU
           : view_starts(name, "/host:CPU")    ? ROLE_HOST
                                               : ROLE_OTHER;
}

static void keep_text(struct view text, char *to, size_t size)
{
    size_t kept = text.size < size ? text.size : size - 1;
    if (kept > 0)
        memcpy(to, text.data, kept);
    to[kept] = '\0';
}

static int read_plane_stats(struct reader *reader, struct err *e)
{
    struct merge_facts *facts = reader->facts;
    struct wire stats = xplane_stats(&reader->plane);
    struct xstat stat;
    int64_t start_ns = 0, stop_ns = -1;
    (void)e;
    while (xstat_next(&stats, XPLANE_STATS, &stat) > 0) {
        struct view name = xplane_stat_name(&reader->plane, stat.metadata_id), text;
        int64_t value;
        if (xstat_integer(&stat, &value)) {
            if (view_is(name, "profile_start_time"))
                start_ns = value;
            else if (view_is(name, "profile_stop_time"))
                stop_ns = value;
            else if (view_is(name, "process_id"))
                facts->pid = value;
        } else if (xplane_stat_text(&reader->plane, &stat, &text)) {
            if (view_is(name, "jax_version"))
                keep_text(text, facts->jax, sizeof(facts->jax));
            else if (view_is(name, "jaxlib_version"))
                keep_text(text, facts->jaxlib, sizeof(facts->jaxlib));
        }
    }
    if (view_is(reader->plane.name, XSHIFT_ENVIRONMENT) && start_ns > 0 && stop_ns >= start_ns &&
        stop_ns <= WINDOW_MAX_NS) {
        facts->has_window = true;
        facts->start_ns = start_ns;
        facts->stop_ns = stop_ns;
    }
    return 0;
}

static enum mark mark_of(struct reader *reader, const struct xevent *event)
{
    uint32_t index = xplane_event_index(&reader->plane, event->metadata_id);
    if (index == XTABLE_NONE)
        return MARK_OP;
    uint8_t *known = &reader->marks[index];
    if (*known == MARK_UNKNOWN) {
        struct view name = xplane_event_name(&reader->plane, event->metadata_id);
        *known = view_starts(name, "end: ")                         ? MARK_NO_OP
                 : kind_of(name, view_of(NULL, 0)) != OP_COLLECTIVE ? MARK_OP
                 : view_contains(name, "done")                      ? MARK_WAITS
                                                                    : MARK_JOINS;
    }
    return (enum mark) * known;
}

static void take_collective(struct reader *reader, const struct xevent *event)
{
    enum mark mark = mark_of(reader, event);
    if (mark == MARK_JOINS || mark == MARK_WAITS)
        merge_steps_collective(reader->facts, event, mark == MARK_JOINS);
}

static int add_device_time(struct reader *reader, const struct xstat *module, int64_t ps,
                           struct err *e)
{
    struct view name = view_of(NULL, 0);
    const struct xstat *last = &reader->last_module;
    bool same = module->kind == XSTAT_KIND_REF && last->kind == module->kind &&
                last->integer == module->integer;
    if (!same) {
        if (!xplane_stat_text(&reader->plane, module, &name))
            return 0;
        int code = merge_program_find(reader->facts, name, &reader->last_program, e);
        if (code != 0)
            return code;
        reader->last_module = *module;
    }
    reader->facts->programs[reader->last_program].device_ps += (uint64_t)ps;
    reader->facts->device_ps += (uint64_t)ps;
    return 0;
}

/* In a collective a process waits for others, whatever it runs itself. */
static int add_op(struct reader *reader, const struct xstat *module, const struct xevent *event,
                  struct err *e)
{
    enum mark mark = mark_of(reader, event);
    if (mark == MARK_NO_OP)
        return 0;
    return add_device_time(reader, module, mark == MARK_OP ? event->duration_ps : 0, e);
}

static int take_host_event(struct reader *reader, const struct xline *line,
                           const struct xevent *event, struct err *e)
{
    struct wire stats = xevent_stats(line, event);
    struct xstat stat, module = {.kind = XSTAT_KIND_NONE};
    bool op = false, step = false;
    int64_t number = 0;
    while (xstat_next(&stats, XEVENT_STATS, &stat) > 0) {
        op |= stat.metadata_id == reader->op_id;
        if (stat.metadata_id == reader->step_id && xstat_integer(&stat, &number))
            step = true;
        if (stat.metadata_id == reader->module_id)
            module = stat;
    }
    if (reader->reading == READ_COLLECTIVES) {
        if (op)
            take_collective(reader, event);
        return 0;
    }
    if (step)
        return merge_step_add(reader->facts, event,
                              xplane_event_name(&reader->plane, event->metadata_id), number, e);
    return op ? add_op(reader, &module, event, e) : 0;
}

static int take_gpu_event(struct reader *reader, const struct xline *line,
                          const struct xevent *event, struct err *e)
{
    if (reader->reading == READ_COLLECTIVES) {
        take_collective(reader, event);
        return 0;
    }
    struct wire stats = xevent_stats(line, event);
    struct xstat stat;
    while (xstat_next(&stats, XEVENT_STATS, &stat) > 0)
        if (stat.metadata_id == reader->module_id)
            return add_op(reader, &stat, event, e);
    return 0;
}

static bool decimal(struct view text, int64_t *ret_number)
{
    int64_t number = 0;
    for (size_t i = 0; i < text.size; i++)
        if (text.data[i] < '0' || text.data[i] > '9' ||
            __builtin_mul_overflow(number, 10, &number) ||
            __builtin_add_overflow(number, text.data[i] - '0', &number))
            return false;
    *ret_number = number;
    return text.size > 0;
}

static int take_tpu_event(struct reader *reader, const struct xline *line,
                          const struct xevent *event, struct err *e)
{
    struct merge_facts *facts = reader->facts;
    bool collectives = reader->reading == READ_COLLECTIVES;
    if (view_is(line->name, "XLA Ops") && collectives)
        take_collective(reader, event);
    if (view_is(line->name, "XLA Modules") && !collectives) {
        uint32_t id;
        struct view name = xplane_event_name(&reader->plane, event->metadata_id);
        int code = merge_program_find(facts, name, &id, e);
        if (code != 0)
            return code;
        facts->programs[id].device_ps += (uint64_t)event->duration_ps;
        facts->device_ps += (uint64_t)event->duration_ps;
    }
    return 0;
}

static int take_event(struct reader *reader, const struct xline *line, const struct xevent *event,
                      struct err *e)
{
    switch (reader->role) {
    case ROLE_HOST:
        return take_host_event(reader, line, event, e);
    case ROLE_GPU:
        return view_starts(line->name, "Stream #") ? take_gpu_event(reader, line, event, e) : 0;
    case ROLE_TPU:
        return take_tpu_event(reader, line, event, e);
    case ROLE_OTHER:
        break;
    }
    return 0;
}

static void note_extent(struct merge_facts *facts, const struct xevent *event)
{
    int64_t end = event->start_ps + event->duration_ps;
    if (facts->events == 1 || event->start_ps < facts->first_ps)
        facts->first_ps = event->start_ps;
    if (facts->events == 1 || end > facts->last_ps)
        facts->last_ps = end;
}

static int read_line(struct reader *reader, uint32_t i, struct err *e)
{
    struct merge_facts *facts = reader->facts;
    struct xline line;
    struct xevent event;
    xplane_line(&reader->plane, i, 0, &line);
    if (line.timestamp_ns > XLINE_DATED_NS) {
        facts->dated = true;
        xplane_line(&reader->plane, i, facts->start_ns, &line);
    }
    facts->lines += reader->reading == READ_STEPS;
    int more;
    while ((more = xline_next(&line, &event)) > 0) {
        if (reader->reading == READ_STEPS) {
            facts->events++;
            if (!event.aggregated)
                note_extent(facts, &event);
        }
        int code = event.aggregated ? 0 : take_event(reader, &line, &event, e);
        if (code != 0)
            return code;
    }
    return more < 0 ? damage_error(&line.wire.damage, e) : 0;
}

static int open_plane(struct reader *reader, const struct wire *part, struct err *e)
{
    int code = xplane_open(&reader->plane, part, e);
    if (code != 0)
        return code;
    if (reader->plane.damage.code != 0)
        return damage_error(&reader->plane.damage, e);
    reader->role = role_of(reader->plane.name);
    int64_t *ids[] = {&reader->step_id, &reader->op_id, &reader->module_id};
    static const char *const names[] = {"step_num", "hlo_op", "hlo_module"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (!xplane_stat_id(&reader->plane, names[i], ids[i]))
            *ids[i] = NO_STAT;
    reader->last_module = (struct xstat){.kind = XSTAT_KIND_NONE};
    reader->marks = calloc(reader->plane.event_metadata.count + 1, 1);
    return reader->marks ? 0 : err_nomem(e);
}

static void close_plane(struct reader *reader)
{
    xplane_release(&reader->plane);
    free(reader->marks);
    reader->marks = NULL;
}

static int read_plane(struct reader *reader, struct err *e)
{
    struct merge_facts *facts = reader->facts;
    const struct xplane *plane = &reader->plane;
    int code = 0;
    if (reader->reading == READ_STEPS) {
        facts->planes++;
        facts->names_stored += plane->event_metadata.count + plane->stat_metadata.count;
        code = merge_programs_read(facts, plane, e);
    }
    for (uint32_t i = 0; code == 0 && i < plane->line_count; i++)
        code = read_line(reader, i, e);
    return code;
}

static int each_plane(struct reader *reader, struct view file,
                      int (*visit)(struct reader *reader, struct err *e), struct err *e)
{
    struct xspace space;
    struct wire part;
    int code = 0, more = 0;
    xspace_open(&space, file);
    while (code == 0 && (more = xspace_next(&space, &part)) > 0) {
        CLEANUP(close_plane) struct reader one = *reader;
        code = open_plane(&one, &part, e);
        if (code == 0)
            code = visit(&one, e);
    }
    if (code != 0 || more < 0)
        return code != 0 ? code : wire_error(&space.wire, e);
    if (space.planes == 0)
        return err_at(e, ERR_DAMAGED, 0, "byte 0: no profiler data%s",
                      file.size == 0 ? " (the file is empty)" : "");
    struct merge_facts *facts = reader->facts;
    if (!facts->host[0] && space.hostname.size > 0)
        keep_text(space.hostname, facts->host, sizeof(facts->host));
    return 0;
}

/* A TPU's own line of steps, for want of steps on the host. */
static int read_device_steps(struct reader *reader, struct err *e)
{
    int code = 0;
    bool first = view_is(reader->plane.name, "/device:TPU:0");
    for (uint32_t i = 0; first && code == 0 && i < reader->plane.line_count; i++) {
        struct xline line;
        struct xevent event;
        int64_t number;
        xplane_line(&reader->plane, i, 0, &line);
        while (code == 0 && view_is(line.name, "Steps") && xline_next(&line, &event) > 0)
            if (!event.aggregated &&
                decimal(xplane_event_name(&reader->plane, event.metadata_id), &number))
                code = merge_step_add(reader->facts, &event, view_of(NULL, 0), number, e);
    }
    return code;
}

static int read_all(struct reader *reader, struct view file, struct err *e)
{
    /* The window first: lines with dates are read from its start. */
    int code = each_plane(reader, file, read_plane_stats, e);
    if (code == 0)
        code = each_plane(reader, file, read_plane, e);
    if (code == 0 && reader->facts->steps_seen == 0)
        code = each_plane(reader, file, read_device_steps, e);
    return code;
}

static int read_facts(struct view file, uint32_t steps_max, struct merge_facts *ret, struct err *e)
{
    CLEANUP(merge_facts_release)
    struct merge_facts facts = {.pid = -1, .steps_max = steps_max};
    struct reader reader = {.facts = &facts, .reading = READ_STEPS};
    int code = read_all(&reader, file, e);
    if (code == 0 && facts.n_steps > 0) {
        merge_steps_order_by_end(&facts);
        reader.reading = READ_COLLECTIVES;
        code = each_plane(&reader, file, read_plane, e);
        merge_steps_order(&facts);
    }
    if (code != 0)
        return code;
    *ret = facts;
    facts = (struct merge_facts){0};
    return 0;
}

int merge_facts_read(struct view file, struct merge_facts *ret, struct err *e)
{
    return read_facts(file, MERGE_STEPS_MAX, ret, e);
}

int merge_facts_count(struct view file, struct merge_facts *ret, struct err *e)
{
    return read_facts(file, 0, ret, e);
}

void merge_facts_forget(struct merge_facts *facts)
{
    merge_programs_release(facts);
    free(facts->steps);
    facts->steps = NULL;
    facts->n_steps = facts->steps_room = 0;
}

void merge_facts_release(struct merge_facts *facts)
{
    merge_facts_forget(facts);
    *facts = (struct merge_facts){0};
}
