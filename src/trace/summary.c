/* SPDX-License-Identifier: Apache-2.0 */
/* summary - opens the planes, settles the window, and feeds every event to its layout. */
#include "trace/summary.h"

#include <stdlib.h>

#include "trace/pass.h"

#include "base/banned.h"

/* A line time beyond this many ns (1973 as a date) is a date, not a distance. */
#define DATED_NS INT64_C(100000000000000000)
#define HOST_PLANE "/host:CPU"

const char *summary_platform_name(enum summary_platform platform)
{
    static const char *const words[] = {"none", "cpu", "gpu", "tpu"};
    return words[platform];
}

const char *summary_launched_name(enum launched_by by)
{
    static const char *const words[] = {"none", "links", "overlap"};
    return words[by];
}

const char *summary_cause_name(enum idle_cause cause)
{
    static const char *const words[] = {"host", "between", "edge", "unknown"};
    return words[cause];
}

const char *summary_kind_name(enum op_kind kind)
{
    static const char *const words[] = {"matmul/conv", "fusion", "copy", "collective", "other"};
    return words[kind];
}

struct environment {
    int64_t start_ns, stop_ns;
    bool has;
};

static void note_damage(struct pass *pass, const struct damage *damage, struct summary *summary)
{
    if (damage->code == 0 || (pass->receipt.damaged && pass->receipt.damaged_at <= damage->offset))
        return;
    pass->receipt.damaged = true;
    pass->receipt.damaged_at = damage->offset;
    pass->receipt.damage = damage->problem;
    (void)summary;
}

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

static void find_stat_ids(struct plane_state *plane)
{
    static const char *const names[STAT_KINDS] = {[STAT_PRODUCER] = "_p",
                                                  [STAT_CONSUMER] = "_c",
                                                  [STAT_RUN] = "run_id",
                                                  [STAT_DEVICE] = "device_ordinal",
                                                  [STAT_OP] = "hlo_op",
                                                  [STAT_MODULE] = "hlo_module",
                                                  [STAT_STEP] = "step_num",
                                                  [STAT_CORRELATION] = "correlation_id",
                                                  [STAT_CATEGORY] = "hlo_category"};
    for (unsigned kind = 1; kind < STAT_KINDS; kind++) {
        int64_t id;
        /* no stat has the id INT64_MIN: ids are counted up from 0 or 1 */
        plane->stat_ids[kind] = INT64_MIN;
        if (!xplane_stat_id(&plane->plane, names[kind], &id))
            continue;
        plane->stat_ids[kind] = id;
        if (id >= 0 && id < (int64_t)sizeof(plane->stat_table))
            plane->stat_table[id] = (uint8_t)kind;
    }
}

static void read_environment(const struct xplane *plane, struct environment *environment)
{
    struct wire stats = xplane_stats(plane);
    struct xstat stat;
    int64_t value;
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
    if (start && stop && environment->stop_ns > environment->start_ns)
        environment->has = true;
}

static void read_host_facts(const struct xplane *plane, struct summary *summary)
{
    struct wire stats = xplane_stats(plane);
    struct xstat stat;
    int64_t value;
    struct view text;
    while (xstat_next(&stats, XPLANE_STATS, &stat) > 0) {
        struct view name = xplane_stat_name(plane, stat.metadata_id);
        if (view_is(name, "process_id") && xstat_integer(&stat, &value))
            summary->process = value;
        else if (view_is(name, "jax_version") && xplane_stat_text(plane, &stat, &text))
            summary->jax_version = arena_copy(&summary->arena, text);
    }
}

static int open_planes(struct pass *pass, struct view bytes, struct summary *summary,
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
        if (!plane->names)
            return err_nomem(e);
        find_stat_ids(plane);
        note_damage(pass, &plane->plane.damage, summary);
        if (view_is(plane->plane.name, "Task Environment"))
            read_environment(&plane->plane, environment);
        else if (plane->role == PLANE_HOST || view_is(plane->plane.name, "/host:metadata"))
            read_host_facts(&plane->plane, summary);
    }
    note_damage(pass, &space.wire.damage, summary);
    if (pass->n_planes == 0)
        return err_at(e, ERR_DAMAGED, space.wire.damage.code ? space.wire.damage.offset : 0,
                      "%s holds no profiler data%s%s", pass->options->file,
                      space.wire.damage.code ? ": " : " (it is empty)",
                      space.wire.damage.code ? space.wire.damage.problem : "");
    pass->receipt.has_host_name = space.hostname.size > 0;
    if (space.hostname.size)
        summary->host = arena_copy(&summary->arena, space.hostname);
    return 0;
}

static bool line_role_of(const struct pass *pass, const struct plane_state *plane,
                         const struct xline *line, enum line_role *ret_role)
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
        (void)pass;
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

struct extent {
    int64_t first, last;
    bool has;
};

static int survey_line(struct pass *pass, const struct xline *line, struct summary *summary,
                       bool counts, struct extent *extent)
{
    struct xline_survey survey;
    xline_survey(line, &survey);
    summary->events += survey.events;
    pass->receipt.events_aggregated += survey.aggregated;
    pass->receipt.lines++;
    note_damage(pass, &survey.damage, summary);
    if (line->misdated)
        pass->receipt.events_outside += survey.events;
    if (!survey.ordered) {
        pass->receipt.lines_sorted++;
        pass->receipt.events_sorted += survey.events;
    }
    if (counts && survey.events > survey.aggregated) {
        if (!extent->has || survey.first_ps < extent->first)
            extent->first = survey.first_ps;
        if (!extent->has || survey.last_ps > extent->last)
            extent->last = survey.last_ps;
        extent->has = true;
    }
    return 0;
}

static int64_t base_of(const struct pass *pass, const struct environment *environment)
{
    int64_t least = INT64_MAX;
    for (uint32_t p = 0; p < pass->n_planes; p++) {
        for (uint32_t i = 0; i < pass->planes[p].plane.line_count; i++) {
            struct xline line;
            xplane_line(&pass->planes[p].plane, i, 0, &line);
            if (line.timestamp_ns > DATED_NS && line.timestamp_ns < least)
                least = line.timestamp_ns;
        }
    }
    return least == INT64_MAX ? 0 : environment->has ? environment->start_ns : least;
}

static int open_lines(struct pass *pass, struct summary *summary,
                      const struct environment *environment, struct extent *extent, struct err *e)
{
    int64_t base_ns = base_of(pass, environment);
    for (uint32_t p = 0; p < pass->n_planes; p++) {
        struct plane_state *plane = &pass->planes[p];
        pass->receipt.planes++;
        if (plane->plane.line_count == 0 && plane->role != PLANE_OTHER)
            pass->receipt.planes_without_lines++;
        for (uint32_t i = 0; i < plane->plane.line_count; i++) {
            struct xline line;
            enum line_role role = LINE_HOST;
            xplane_line(&plane->plane, i, base_ns, &line);
            bool taken = line_role_of(pass, plane, &line, &role);
            int r = survey_line(pass, &line, summary, taken, extent);
            if (r == 0 && taken)
                r = add_line(pass, p, &line, role, e);
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

/* Before the devices are added: their planes are numbered in file order. */
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

static int add_plane_devices(struct pass *pass, struct err *e)
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

/* Where the steps asked for lie. */
static int find_steps(struct pass *pass, struct extent *ret_extent, struct err *e)
{
    struct extent extent = {0};
    for (uint32_t i = 0; i < pass->n_lines; i++) {
        const struct plane_state *plane = &pass->planes[pass->tracks[i].plane];
        struct xline line = pass->lines[i];
        struct xevent event;
        struct event_stats stats;
        if (pass->tracks[i].role != LINE_HOST || plane->stat_ids[STAT_STEP] == INT64_MIN)
            continue;
        while (xline_next(&line, &event) > 0) {
            if (event.stats == event.end || event.aggregated)
                continue;
            pass_stats(plane, &line, &event, &stats);
            if (!stats_has(&stats, STAT_STEP) || stats.step < pass->options->step_first ||
                stats.step > pass->options->step_last)
                continue;
            int64_t end = event.start_ps + event.duration_ps;
            if (!extent.has || event.start_ps < extent.first)
                extent.first = event.start_ps;
            if (!extent.has || end > extent.last)
                extent.last = end;
            extent.has = true;
        }
    }
    if (!extent.has || extent.last <= extent.first)
        return err_set(e, ERR_MISSING, "%s has no step %lld to %lld", pass->options->file,
                       (long long)pass->options->step_first, (long long)pass->options->step_last);
    *ret_extent = extent;
    return 0;
}

static int settle_window(struct pass *pass, struct summary *summary,
                         const struct environment *environment, const struct extent *extent,
                         struct err *e)
{
    pass->receipt.has_task_environment = environment->has;
    int64_t length_ns = environment->stop_ns - environment->start_ns;
    if (environment->has && length_ns < INT64_MAX / 1000) {
        pass->window_end = length_ns * 1000;
        summary->start_unix_ns = environment->start_ns;
        summary->stop_unix_ns = environment->stop_ns;
    } else if (extent->has) {
        pass->window_start = extent->first;
        pass->window_end = extent->last;
        /* no real capture is that long, but differences inside the window must fit */
        if ((uint64_t)extent->last - (uint64_t)extent->first > INT64_MAX)
            pass->window_end = extent->first + INT64_MAX;
    }
    if (!pass->options->has_step_range)
        return 0;
    struct extent steps = {0};
    int r = find_steps(pass, &steps, e);
    if (r < 0)
        return r;
    summary->step_range = true;
    if ((uint64_t)steps.last - (uint64_t)steps.first > INT64_MAX)
        steps.last = steps.first + INT64_MAX;
    pass->window_start = pass->scope_start = steps.first;
    pass->window_end = pass->scope_end = steps.last;
    return 0;
}

static size_t strip_length(const struct pass *pass)
{
    uint32_t planes = pass->n_planes ? pass->n_planes : 1;
    size_t each = SUMMARY_STRIP_ALL_MAX / planes;
    uint64_t window = (uint64_t)(pass->window_end - pass->window_start);
    each = each < SUMMARY_STRIP_MAX ? each : SUMMARY_STRIP_MAX;
    return window < each ? (size_t)window : each;
}

/* Everything that ends up to `now`: steps close, and idle time up to each end of a region belongs
 * to who was innermost before it. */
static int close_until(struct pass *pass, int64_t now, struct err *e)
{
    struct timeline_end end;
    while (timeline_next_end(&pass->timeline, now, &end)) {
        int r = devices_advance(&pass->devices, end.end, pass->innermost, e);
        if (r < 0)
            return r;
        if (end.region == TIMELINE_NONE) {
            struct steps *steps = end.step & 1 ? &pass->device_steps : &pass->steps;
            r = steps_end(steps, end.step / 2, devices_until(&pass->devices, end.end), e);
            if (r < 0)
                return r;
        } else {
            pass->innermost = timeline_innermost(&pass->timeline, end.end);
        }
    }
    return 0;
}

static int feed(struct pass *pass, const struct track *track, const struct xline *line,
                const struct xevent *event, struct err *e)
{
    switch (pass->planes[track->plane].role) {
    case PLANE_HOST:
        return host_event(pass, track, line, event, e);
    case PLANE_GPU:
        return gpu_event(pass, track, line, event, e);
    default:
        return tpu_event(pass, track, line, event, e);
    }
}

static int walk(struct pass *pass, struct err *e)
{
    CLEANUP(xmerge_release) struct xmerge merge = {0};
    int r = xmerge_open(&merge, pass->lines, pass->n_lines, e);
    if (r < 0)
        return r;
    const struct xevent *event;
    uint32_t i;
    while (xmerge_next(&merge, &event, &i)) {
        if (pass->timeline.n_ends && pass->timeline.ends[0].end <= event->start_ps) {
            r = close_until(pass, event->start_ps, e);
            if (r < 0)
                return r;
        }
        if (event->start_ps >= pass->window_end ||
            event->start_ps + event->duration_ps < pass->window_start)
            pass->receipt.events_outside++;
        r = feed(pass, &pass->tracks[i], &pass->lines[i], event, e);
        if (r < 0)
            return r;
    }
    r = close_until(pass, INT64_MAX, e);
    return r < 0 ? r : devices_finish(&pass->devices, SUMMARY_NO_REGION, e);
}

static void pass_release(struct pass *pass)
{
    for (uint32_t i = 0; i < pass->n_planes; i++) {
        xplane_release(&pass->planes[i].plane);
        free(pass->planes[i].names);
    }
    for (uint32_t i = 0; pass->threads && i < pass->n_lines; i++)
        free(pass->threads[i].open);
    free(pass->planes);
    free(pass->lines);
    free(pass->tracks);
    free(pass->threads);
    devices_release(&pass->devices);
    timeline_release(&pass->timeline);
    regions_release(&pass->regions);
    links_release(&pass->links);
    ops_release(&pass->ops);
    steps_release(&pass->steps);
    steps_release(&pass->device_steps);
    intern_release(&pass->functions);
}

static int run(struct pass *pass, struct view bytes, struct summary *summary, struct err *e)
{
    struct environment environment = {0};
    struct extent extent = {0};
    int r = open_planes(pass, bytes, summary, &environment, e);
    if (r < 0)
        return r;
    number_devices(pass);
    r = open_lines(pass, summary, &environment, &extent, e);
    if (r == 0)
        r = settle_window(pass, summary, &environment, &extent, e);
    if (r == 0) {
        summary->n_strip = strip_length(pass);
        r = devices_init(&pass->devices, pass->window_start, pass->window_end, summary->n_strip, e);
    }
    if (r == 0)
        r = add_plane_devices(pass, e);
    if (r == 0)
        r = links_init(&pass->links, e);
    if (r == 0)
        r = steps_init(&pass->steps, pass->options->top, e);
    if (r == 0)
        r = steps_init(&pass->device_steps, pass->options->top, e);
    if (r == 0)
        r = walk(pass, e);
    return r < 0 ? r : pass_result(pass, summary, e);
}

int summary_run(struct view bytes, const struct summary_options *options, struct summary *ret,
                struct err *e)
{
    CLEANUP(pass_release)
    struct pass pass = {.options = options,
                        .regions = {.options = options},
                        .scope_start = INT64_MIN,
                        .scope_end = INT64_MAX,
                        .innermost = SUMMARY_NO_REGION};
    CLEANUP(summary_release) struct summary summary = {.process = -1, .host = options->host};
    int r = run(&pass, bytes, &summary, e);
    if (r == 0)
        r = receipt_words(&pass, &summary, e);
    if (r < 0)
        return r;
    *ret = summary;
    summary = (struct summary){0};
    return 0;
}

void summary_release(struct summary *summary)
{
    for (size_t i = 0; summary->regions && i < summary->n_regions; i++)
        sketch_release(&summary->regions[i].calls.sketch);
    sketch_release(&summary->steps.durations.sketch);
    arena_release(&summary->arena);
    *summary = (struct summary){0};
}
