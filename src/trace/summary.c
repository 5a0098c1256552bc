/* SPDX-License-Identifier: Apache-2.0 */
/* summary - the parts of a summary in their order: open, settle the window, walk, results. */
#include "trace/summary.h"

#include <stdlib.h>

#include "trace/open.h"

#include "base/banned.h"

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

/* Where the steps asked for lie. */
static int find_steps(struct pass *pass, struct extent *ret_extent, struct err *e)
{
    struct extent extent = {0};
    for (uint32_t i = 0; i < pass->n_lines; i++) {
        const struct plane_state *plane = &pass->planes[pass->tracks[i].plane];
        struct xline line = pass->lines[i];
        struct xevent event;
        struct event_stats stats;
        if (pass->tracks[i].role != LINE_HOST || plane->stat_ids.of[STAT_STEP] == STAT_NO_ID)
            continue;
        while (xline_next(&line, &event) > 0) {
            if (event.stats == event.end || event.aggregated)
                continue;
            stats_read(&stats, &plane->stat_ids, &line, &event);
            if (!stats_has(&stats, STAT_STEP) ||
                stats.integers[STAT_STEP] < pass->options->step_first ||
                stats.integers[STAT_STEP] > pass->options->step_last)
                continue;
            extent_add(&extent, event.start_ps, event.start_ps + event.duration_ps);
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
    if (environment->has) {
        pass->window_end = (environment->stop_ns - environment->start_ns) * 1000;
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

static void pass_release(struct pass *pass)
{
    for (uint32_t i = 0; i < pass->n_planes; i++) {
        xplane_release(&pass->planes[i].plane);
        free(pass->planes[i].names);
        free(pass->planes[i].sifted);
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
    cover_table_release(&pass->covers);
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
    r = open_lines(pass, summary, &environment, &extent, e);
    if (r == 0)
        r = settle_window(pass, summary, &environment, &extent, e);
    if (r == 0) {
        summary->n_strip = strip_length(pass);
        r = devices_init(&pass->devices, pass->window_start, pass->window_end, summary->n_strip, e);
    }
    if (r == 0)
        r = open_devices(pass, e);
    if (r == 0)
        r = links_init(&pass->links, e);
    steps_init(&pass->steps, pass->options->top);
    steps_init(&pass->device_steps, pass->options->top);
    if (r == 0)
        r = walk(pass, summary, e);
    if (r == 0 && !pass->again)
        r = pass_result(pass, summary, e);
    return r < 0 || pass->again ? r : receipt_words(pass, summary, e);
}

/* What one reading leaves to the next. */
struct lesson {
    bool careful;                  /* no line is to be trusted */
    bool again;                    /* the reading is void */
    struct links_numbers *numbers; /* with them it would be right; NULL if it is */
    uint32_t n_numbers;
    struct intern functions; /* that they belong to */
};

static void lesson_release(struct lesson *lesson)
{
    free(lesson->numbers);
    intern_release(&lesson->functions);
}

static int learn(struct pass *pass, struct lesson *lesson, struct err *e)
{
    lesson->again = pass->again;
    lesson->careful |= pass->again;
    if (pass->again || !pass->links.contradicted || lesson->numbers)
        return 0;
    int r = links_take_numbers(&pass->links, &lesson->numbers, &lesson->n_numbers, e);
    if (r < 0)
        return r;
    lesson->again = true;
    lesson->functions = pass->functions;
    pass->functions = (struct intern){0};
    return 0;
}

static int run_once(struct view bytes, const struct summary_options *options, struct lesson *lesson,
                    struct summary *ret, struct err *e)
{
    CLEANUP(pass_release)
    struct pass pass = {.options = options,
                        .regions = {.options = options},
                        .careful = lesson->careful,
                        .scope_start = INT64_MIN,
                        .scope_end = INT64_MAX,
                        .innermost = SUMMARY_NO_REGION};
    CLEANUP(summary_release) struct summary summary = {.process = -1, .host = options->host};
    pass.links.given = lesson->numbers;
    pass.links.n_given = lesson->n_numbers;
    pass.functions = lesson->functions;
    lesson->functions = (struct intern){0};
    int r = run(&pass, bytes, &summary, e);
    if (r == 0)
        r = learn(&pass, lesson, e);
    if (r < 0 || lesson->again)
        return r;
    *ret = summary;
    summary = (struct summary){0};
    return 0;
}

int summary_run(struct view bytes, const struct summary_options *options, struct summary *ret,
                struct err *e)
{
    /* the steps asked for are looked up in a reading of their own, so trust would save nothing */
    CLEANUP(lesson_release) struct lesson lesson = {.careful = options->has_step_range};
    int r;
    do
        r = run_once(bytes, options, &lesson, ret, e);
    while (r == 0 && lesson.again);
    return r;
}

void summary_release(struct summary *summary)
{
    for (size_t i = 0; summary->regions && i < summary->n_regions; i++)
        sketch_release(&summary->regions[i].calls.sketch);
    sketch_release(&summary->steps.durations.sketch);
    arena_release(&summary->arena);
    *summary = (struct summary){0};
}
