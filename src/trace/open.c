/* SPDX-License-Identifier: Apache-2.0 */
/* open - the planes of a capture, their roles, and the lines whose events will be read. */
#include "trace/open.h"

#include "trace/result.h"

#include <stdlib.h>

#include "base/banned.h"

/* A line time beyond this many ns (1973 as a date) is a date, not a distance. */
#define DATED_NS INT64_C(100000000000000000)
#define HOST_PLANE "/host:CPU"

static enum plane_role role_of(struct view name)
{
    if (view_starts(name, "/device:GPU:"))
        return PLANE_GPU;
    if (view_starts(name, "/device:TPU:"))
        return PLANE_TPU;
    if (view_starts(name, HOST_PLANE))
        return PLANE_HOST;
    return PLANE_OTHER;
}

static void read_environment(const struct xplane *plane, struct environment *environment)
{
    struct wire stats = xplane_stats(plane);
    struct xstat stat;
    int64_t value;
    int64_t length_ns;
    bool start = false, stop = false;
    while (xstat_next(&stats, XPLANE_STATS, &stat) > 0) {
        struct view name = xplane_stat_name(plane, stat.metadata_id);
        if (!xstat_integer(&stat, &value))
            continue;
        if (view_is(name, "profile_start_time")) {
            environment->start_ns = value;
            start = true;
        } else if (view_is(name, "profile_stop_time")) {
            environment->stop_ns = value;
            stop = true;
        }
    }
    environment->has =
        start && stop &&
        !__builtin_sub_overflow(environment->stop_ns, environment->start_ns, &length_ns) &&
        length_ns > 0 && length_ns < INT64_MAX / 1000;
}

static int read_host_facts(const struct xplane *plane, struct summary *summary, struct err *e)
{
    struct wire stats = xplane_stats(plane);
    struct xstat stat;
    int64_t value;
    struct view text;
    while (xstat_next(&stats, XPLANE_STATS, &stat) > 0) {
        struct view name = xplane_stat_name(plane, stat.metadata_id);
        if (view_is(name, "process_id") && xstat_integer(&stat, &value))
            summary->process = value;
        if (!view_is(name, "jax_version") || !xplane_stat_text(plane, &stat, &text))
            continue;
        summary->jax_version = result_text(summary, text);
        if (!summary->jax_version)
            return err_nomem(e);
    }
    return 0;
}

/* In file order, before lines and devices are added. */
static void number_devices(struct pass *pass)
{
    uint32_t gpus = 0, tpus = 0;
    for (uint32_t p = 0; p < pass->n_planes; p++) {
        if (pass->planes[p].role == PLANE_GPU)
            pass->planes[p].device = gpus++;
        else if (pass->planes[p].role == PLANE_TPU)
            pass->planes[p].device = tpus++;
    }
    pass->platform = tpus ? PLATFORM_TPU : gpus ? PLATFORM_GPU : PLATFORM_NONE;
    pass->cpu_ops = pass->platform == PLATFORM_NONE;
}

int open_planes(struct pass *pass, struct view bytes, struct summary *summary,
                struct environment *environment, struct err *e)
{
    struct xspace space;
    struct wire part;
    uint32_t room = 0;
    int code;
    xspace_open(&space, bytes);
    while ((code = xspace_next(&space, &part)) > 0) {
        if (pass->n_planes == room) {
            room = room ? room * 2 : 16;
            struct plane_state *grown = realloc(pass->planes, room * sizeof(*grown));
            if (!grown)
                return err_nomem(e);
            pass->planes = grown;
        }
        struct plane_state *plane = &pass->planes[pass->n_planes];
        *plane = (struct plane_state){0};
        int r = xplane_open(&plane->plane, &part, e);
        if (r < 0)
            return r;
        pass->n_planes++;
        plane->role = role_of(plane->plane.name);
        plane->names = calloc(plane->plane.event_metadata.count + 1, sizeof(*plane->names));
        if (plane->role == PLANE_HOST)
            plane->sifted = calloc(plane->plane.event_metadata.count + 1, sizeof(*plane->sifted));
        if (!plane->names || (plane->role == PLANE_HOST && !plane->sifted))
            return err_nomem(e);
        stat_ids_find(&plane->stat_ids, &plane->plane);
        pass_note_damage(pass, &plane->plane.damage);
        if (view_is(plane->plane.name, "Task Environment"))
            read_environment(&plane->plane, environment);
        else if (plane->role == PLANE_HOST || view_is(plane->plane.name, "/host:metadata"))
            r = read_host_facts(&plane->plane, summary, e);
        if (r < 0)
            return r;
    }
    pass_note_damage(pass, &space.wire.damage);
    if (pass->n_planes == 0)
        return err_at(e, ERR_DAMAGED, space.wire.damage.code ? space.wire.damage.offset : 0,
                      "%s holds no profiler data%s%s", pass->options->file,
                      space.wire.damage.code ? ": " : " (it is empty)",
                      space.wire.damage.code ? space.wire.damage.problem : "");
    pass->receipt.has_host_name = space.hostname.size > 0;
    if (space.hostname.size) {
        summary->host = arena_copy(&summary->arena, space.hostname);
        if (!summary->host)
            return err_nomem(e);
    }
    number_devices(pass);
    return 0;
}

static bool line_role_of(const struct plane_state *plane, const struct xline *line,
                         enum line_role *ret_role)
{
    struct view name = line->name;
    switch (plane->role) {
    case PLANE_HOST:
        *ret_role = LINE_HOST;
        return true;
    case PLANE_GPU:
        *ret_role = LINE_OPS;
        return view_starts(name, "Stream #");
    case PLANE_TPU:
        if (view_is(name, "XLA Ops"))
            *ret_role = LINE_OPS;
        else if (view_is(name, "Async XLA Ops"))
            *ret_role = LINE_ASYNC;
        else if (view_is(name, "XLA Modules"))
            *ret_role = LINE_MODULES;
        else if (view_is(name, "Steps") && plane->device == 0)
            *ret_role = LINE_STEPS;
        else
            return false;
        return true;
    default:
        return false;
    }
}

/* A line of driver calls is of the thread that has the same id. */
static uint32_t thread_of(const struct pass *pass, uint32_t self)
{
    const struct xline *line = &pass->lines[self];
    if (!view_starts(line->name, "Host Threads/") || line->id == 0)
        return self;
    for (uint32_t i = 0; i < pass->n_lines; i++) {
        if (i != self && pass->tracks[i].plane == pass->tracks[self].plane &&
            pass->lines[i].id == line->id)
            return i;
    }
    return self;
}

static int add_line(struct pass *pass, uint32_t plane, const struct xline *line,
                    enum line_role role, struct err *e)
{
    if (pass->n_lines == pass->lines_room) {
        uint32_t room = pass->lines_room ? pass->lines_room * 2 : 64;
        struct xline *lines = realloc(pass->lines, room * sizeof(*lines));
        if (!lines)
            return err_nomem(e);
        pass->lines = lines;
        struct track *tracks = realloc(pass->tracks, room * sizeof(*tracks));
        if (!tracks)
            return err_nomem(e);
        pass->tracks = tracks;
        pass->lines_room = room;
    }
    pass->lines[pass->n_lines] = *line;
    pass->tracks[pass->n_lines++] =
        (struct track){.plane = plane, .role = role, .worker = name_is_worker_line(line->name)};
    return 0;
}

static void survey_line(struct pass *pass, const struct xline *line, bool taken,
                        struct summary *summary, struct extent *extent)
{
    struct xline_survey survey;
    xline_survey(line, &survey);
    pass->again |= !pass->careful && (survey.late || survey.damage.code != 0);
    summary->events += survey.events;
    pass->receipt.events_aggregated += survey.aggregated;
    pass_note_damage(pass, &survey.damage);
    if (line->misdated)
        pass->receipt.events_outside += survey.events;
    if (!survey.ordered) {
        pass->receipt.lines_sorted++;
        pass->receipt.events_sorted += survey.events;
    }
    if (taken && survey.events > survey.aggregated)
        extent_add(extent, survey.first_ps, survey.last_ps);
}

static void open_line(const struct pass *pass, uint32_t plane, uint32_t i, int64_t base_ns,
                      struct xline *ret_line)
{
    if (pass->careful)
        xplane_line(&pass->planes[plane].plane, i, base_ns, ret_line);
    else
        xplane_line_head(&pass->planes[plane].plane, i, base_ns, ret_line);
}

static int64_t base_of(const struct pass *pass, const struct environment *environment)
{
    int64_t least = INT64_MAX;
    for (uint32_t p = 0; p < pass->n_planes; p++) {
        for (uint32_t i = 0; i < pass->planes[p].plane.line_count; i++) {
            struct xline line;
            open_line(pass, p, i, 0, &line);
            if (line.timestamp_ns > DATED_NS && line.timestamp_ns < least)
                least = line.timestamp_ns;
        }
    }
    return least == INT64_MAX ? 0 : environment->has ? environment->start_ns : least;
}

int open_lines(struct pass *pass, struct summary *summary, const struct environment *environment,
               struct extent *extent, struct err *e)
{
    pass->careful |= !environment->has; /* the window comes from the lines */
    int64_t base_ns = base_of(pass, environment);
    for (uint32_t p = 0; p < pass->n_planes; p++) {
        struct plane_state *plane = &pass->planes[p];
        pass->receipt.planes++;
        if (plane->plane.line_count == 0 && plane->role != PLANE_OTHER)
            pass->receipt.planes_without_lines++;
        for (uint32_t i = 0; i < plane->plane.line_count; i++) {
            struct xline line;
            enum line_role role = LINE_HOST;
            open_line(pass, p, i, base_ns, &line);
            bool taken = line_role_of(plane, &line, &role);
            pass->receipt.lines++;
            if (pass->careful || !taken)
                survey_line(pass, &line, taken, summary, extent);
            int r = taken ? add_line(pass, p, &line, role, e) : 0;
            if (r < 0)
                return r;
        }
    }
    pass->threads = calloc(pass->n_lines + 1, sizeof(*pass->threads));
    if (!pass->threads)
        return err_nomem(e);
    for (uint32_t i = 0; i < pass->n_lines; i++)
        pass->tracks[i].thread = thread_of(pass, i);
    return 0;
}

int open_devices(struct pass *pass, struct err *e)
{
    for (uint32_t p = 0; p < pass->n_planes; p++) {
        struct plane_state *plane = &pass->planes[p];
        if (plane->role != PLANE_GPU && plane->role != PLANE_TPU)
            continue;
        char name[64];
        struct view rest = plane->plane.name;
        rest = view_of(rest.data + strlen("/device:GPU:"), rest.size - strlen("/device:GPU:"));
        (void)snprintf(name, sizeof(name), "%s:%.*s", plane->role == PLANE_GPU ? "gpu" : "tpu",
                       (int)(rest.size < 40 ? rest.size : 40), (const char *)rest.data);
        int r = devices_add(&pass->devices, name, -1, &plane->device, e);
        if (r < 0)
            return r;
    }
    return 0;
}
