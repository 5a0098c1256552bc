/* SPDX-License-Identifier: Apache-2.0 */
/* summary_text - the page: what matters in words first, then the tables, then the receipt. */
#include <inttypes.h>

#include "cli/output.h"
#include "cli/summary_words.h"
#include "cli/summary_write.h"
#include "cli/width.h"

#include "base/banned.h"

static const char *ps(uint64_t value, char buffer[FORMAT_MAX])
{
    return format_ps(value > INT64_MAX ? INT64_MAX : (int64_t)value, buffer);
}

static const char *share(uint64_t part, uint64_t whole, char buffer[FORMAT_MAX])
{
    return format_share(part, whole, buffer);
}

static const char *count(uint64_t value, char buffer[FORMAT_MAX])
{
    (void)snprintf(buffer, FORMAT_MAX, "%" PRIu64, value);
    return buffer;
}

static void heading(FILE *file, const char *title)
{
    (void)fprintf(file, "\n%s%s%s\n", style_begin(file, STYLE_BOLD), title, style_end(file));
}

static void why_empty(FILE *file, const char *why)
{
    (void)fprintf(file, "  none: %s\n", why);
}

/* `what` is the plural, which one less is without its s. */
static void and_more(FILE *file, size_t left, const char *what)
{
    int size = (int)strlen(what) - (left == 1);
    if (left)
        (void)fprintf(file, "  and %zu more %.*s (--top 0 shows all)\n", left, size, what);
}

static size_t shown(size_t n, size_t top)
{
    return top && n > top ? top : n;
}

static void print_name(FILE *file, const char *name)
{
    output_text(file, view_text(name));
}

/* In a sentence on a terminal a name may take a line, not more. */
static void say_name(FILE *file, const char *name)
{
    unsigned width = output_width(file);
    CLEANUP(cleanup_free) char *shorter = width ? width_shorten(name, width) : NULL;
    print_name(file, shorter ? shorter : name);
}

static void say_time(FILE *file, uint64_t value)
{
    char buffer[FORMAT_MAX];
    (void)fputs(ps(value, buffer), file);
}

static void say_count(FILE *file, uint64_t value)
{
    (void)fprintf(file, "%" PRIu64, value);
}

static void headline(FILE *file, const struct summary *summary)
{
    const struct summary_voice voice = {file, say_name, say_time, say_count};
    char a[FORMAT_MAX];
    (void)fputs(style_begin(file, STYLE_BOLD), file);
    summary_say_headline(&voice, summary);
    (void)fprintf(file, "%s\n", style_end(file));
    if (summary_say_advice(&voice, summary))
        (void)fputc('\n', file);
    if (summary_say_unused(&voice, summary))
        (void)fputc('\n', file);
    if (summary_say_steps(&voice, summary))
        (void)fputc('\n', file);
    (void)fputs(style_begin(file, STYLE_FAINT), file);
    (void)fprintf(file, "%s window, %s, %" PRIu64 " event%s, ", ps(summary->window_ps, a),
                  summary->platform == PLATFORM_NONE ? "no platform"
                                                     : summary_platform_name(summary->platform),
                  summary->events, summary->events == 1 ? "" : "s");
    print_name(file, summary->file);
    (void)fprintf(file, "%s\n", style_end(file));
}

static int print_devices(FILE *file, const struct summary *summary, struct err *e)
{
    static const struct table_column columns[] = {
        {"device", false, false}, {"busy", true, false},         {"share", true, false},
        {"idle", true, false},    {"not launched", true, false}, {"between", true, false},
        {"edge", true, false},    {"unknown", true, false},      {"ops", true, false}};
    static const char *const spare[] = {"unknown", "ops", "edge", "share", NULL};
    heading(file, "Devices");
    if (!summary->n_devices) {
        why_empty(file, summary->no_devices);
        return 0;
    }
    CLEANUP(table_free) struct table *table = table_new(columns, 9);
    table_spare(table, spare);
    for (size_t i = 0; i < summary->n_devices; i++) {
        const struct summary_device *d = &summary->devices[i];
        char text[8][FORMAT_MAX];
        table_row(table, (const char *const[]){
                             d->name, ps(d->busy_ps, text[0]),
                             share(d->busy_ps, summary->window_ps, text[1]),
                             ps(d->idle_ps, text[2]), ps(d->idle_by_cause[IDLE_HOST], text[3]),
                             ps(d->idle_by_cause[IDLE_BETWEEN], text[4]),
                             ps(d->idle_by_cause[IDLE_EDGE], text[5]),
                             ps(d->idle_by_cause[IDLE_UNKNOWN], text[6]), count(d->ops, text[7])});
    }
    return table_print(table, file, e);
}

static int print_regions(FILE *file, const struct summary *summary, size_t top, struct err *e)
{
    static const struct table_column columns[] = {
        {"region", false, true},   {"calls", true, false}, {"total", true, false},
        {"share", true, false},    {"mean", true, false},  {"p50", true, false},
        {"p90", true, false},      {"p99", true, false},   {"max", true, false},
        {"launched", true, false}, {"ops", true, false},   {"idle behind", true, false}};
    static const char *const spare[] = {"p99",   "p90", "ops",   "mean", "max",
                                        "share", "p50", "calls", NULL};
    heading(file, "Regions");
    if (!summary->n_regions) {
        why_empty(file, summary->no_regions);
        return 0;
    }
    CLEANUP(table_free) struct table *table = table_new(columns, 12);
    table_spare(table, spare);
    size_t n = shown(summary->n_regions, top);
    for (size_t i = 0; i < n; i++) {
        const struct summary_region *r = &summary->regions[i];
        const struct summary_spread *s = &r->calls;
        char text[11][FORMAT_MAX];
        table_row(table,
                  (const char *const[]){
                      r->name, count(s->count, text[0]), ps(s->total_ps, text[1]),
                      share(s->total_ps, summary->window_ps, text[2]), ps(s->mean_ps, text[3]),
                      ps(s->p50_ps, text[4]), ps(s->p90_ps, text[5]), ps(s->p99_ps, text[6]),
                      ps(s->max_ps, text[7]), ps(r->launched_ps, text[8]),
                      count(r->launched_ops, text[9]), ps(r->idle_behind_ps, text[10])});
    }
    int code = table_print(table, file, e);
    and_more(file, summary->n_regions - n, "regions");
    if (summary->n_devices && !summary->has_links)
        (void)fputs("  launched: by overlap in time, for want of links in the file\n", file);
    return code;
}

static void idle_row(struct table *table, const char *name, const struct summary_region_idle *part,
                     uint64_t idle)
{
    char text[6][FORMAT_MAX];
    table_row(table, (const char *const[]){name, ps(part->idle_ps, text[0]),
                                           share(part->idle_ps, idle, text[1]),
                                           ps(part->by_cause[IDLE_HOST], text[2]),
                                           ps(part->by_cause[IDLE_BETWEEN], text[3]),
                                           ps(part->by_cause[IDLE_EDGE], text[4]),
                                           ps(part->by_cause[IDLE_UNKNOWN], text[5])});
}

/* What the used devices waited for: the rows that the headline chooses from. */
static int print_idle(FILE *file, const struct summary *summary, size_t top, struct err *e)
{
    static const struct table_column columns[] = {
        {"idle behind", false, true},  {"time", true, false},    {"share of idle", true, false},
        {"not launched", true, false}, {"between", true, false}, {"edge", true, false},
        {"unknown", true, false}};
    static const char *const spare[] = {"unknown", "edge", "share of idle", "between", NULL};
    const struct summary_waits *waits = &summary->waits;
    if (!waits->all.idle_ps || !summary->n_regions)
        return 0;
    heading(file, summary->n_devices > waits->n_devices ? "Idle time (of the devices in use)"
                                                        : "Idle time");
    CLEANUP(table_free) struct table *table = table_new(columns, 7);
    table_spare(table, spare);
    size_t n = shown(waits->n_behind, top);
    for (size_t i = 0; i < n; i++) {
        const struct summary_region_idle *part = &waits->behind[i];
        idle_row(table,
                 part->region == SUMMARY_NO_REGION ? SUMMARY_NO_REGION_NAME
                                                   : summary->regions[part->region].name,
                 part, waits->all.idle_ps);
    }
    int code = table_print(table, file, e);
    and_more(file, waits->n_behind - n, "regions");
    return code;
}

static int print_steps(FILE *file, const struct summary *summary, struct err *e)
{
    static const struct table_column columns[] = {{"slowest", false, true},  {"step", true, false},
                                                  {"duration", true, false}, {"busy", true, false},
                                                  {"idle", true, false},     {"", false, false}};
    const struct summary_steps *steps = &summary->steps;
    heading(file, "Steps");
    if (!steps->count) {
        why_empty(file, summary->no_steps);
        return 0;
    }
    char a[FORMAT_MAX], b[FORMAT_MAX], c[FORMAT_MAX], d[FORMAT_MAX];
    const struct summary_spread *s = &steps->durations;
    (void)fprintf(file, "  %" PRIu64 " step%s: mean %s, p50 %s, p90 %s, max %s", s->count,
                  s->count == 1 ? "" : "s", ps(s->mean_ps, a), ps(s->p50_ps, b), ps(s->p90_ps, c),
                  ps(s->max_ps, d));
    if (summary->n_devices)
        (void)fprintf(file, "; device busy %s of %s", share(steps->busy_ps, s->total_ps, a),
                      s->count == 1 ? "it" : "them");
    if (steps->cut)
        (void)fprintf(file, "; %" PRIu64 " cut", steps->cut);
    (void)fputc('\n', file);
    CLEANUP(table_free) struct table *table = table_new(columns, 6);
    for (size_t i = 0; i < steps->n_slowest; i++) {
        const struct summary_step *step = &steps->slowest[i];
        char number[FORMAT_MAX];
        (void)snprintf(number, sizeof(number), "%" PRId64, step->number);
        table_row(table, (const char *const[]){step->name, number, ps(step->duration_ps, b),
                                               ps(step->busy_ps, c), ps(step->idle_ps, d),
                                               step->cut ? "cut" : ""});
    }
    int code = steps->n_slowest ? table_print(table, file, e) : 0;
    and_more(file, (size_t)(steps->count - steps->n_slowest), "steps");
    return code;
}

static int print_ops(FILE *file, const struct summary *summary, size_t top, struct err *e)
{
    static const struct table_column columns[] = {
        {"op", false, true},           {"module", false, true}, {"kind", false, false},
        {"calls", true, false},        {"total", true, false},  {"mean", true, false},
        {"share of busy", true, false}};
    static const char *const spare[] = {"mean", "kind", "calls", "share of busy", NULL};
    heading(file, "Device ops");
    if (!summary->n_ops) {
        why_empty(file, summary->no_ops);
        return 0;
    }
    uint64_t busy = 0, collective = 0, exposed = 0;
    for (size_t i = 0; i < summary->n_devices; i++) {
        add_saturated(&busy, summary->devices[i].busy_ps);
        add_saturated(&collective, summary->devices[i].collective_ps);
        add_saturated(&exposed, summary->devices[i].collective_exposed_ps);
    }
    CLEANUP(table_free) struct table *table = table_new(columns, 7);
    table_spare(table, spare);
    size_t n = shown(summary->n_ops, top);
    for (size_t i = 0; i < n; i++) {
        const struct summary_op *op = &summary->ops[i];
        char text[4][FORMAT_MAX];
        table_row(table, (const char *const[]){op->op, op->module, summary_kind_name(op->kind),
                                               count(op->calls, text[0]), ps(op->total_ps, text[1]),
                                               ps(op->total_ps / op->calls, text[2]),
                                               share(op->total_ps, busy, text[3])});
    }
    int code = table_print(table, file, e);
    and_more(file, summary->n_ops - n, "ops");
    char a[FORMAT_MAX], b[FORMAT_MAX];
    if (collective)
        (void)fprintf(file, "  collectives: %s, of it %s hidden behind other ops\n",
                      ps(collective, a), share(collective - exposed, collective, b));
    return code;
}

static int print_host(FILE *file, const struct summary *summary, size_t top, struct err *e)
{
    static const struct table_column columns[] = {
        {"host", false, true}, {"calls", true, false}, {"total", true, false}};
    heading(file, "Host, busiest names (a name's time holds that of the names inside it)");
    if (!summary->n_host_names) {
        why_empty(file, summary->no_host);
        return 0;
    }
    CLEANUP(table_free) struct table *table = table_new(columns, 3);
    size_t n = shown(summary->n_host_names, top);
    for (size_t i = 0; i < n; i++) {
        char a[FORMAT_MAX], b[FORMAT_MAX];
        table_row(table, (const char *const[]){summary->host_names[i].name,
                                               count(summary->host_names[i].calls, a),
                                               ps(summary->host_names[i].total_ps, b)});
    }
    int code = table_print(table, file, e);
    and_more(file, summary->n_host_names - n, "names");
    return code;
}

static void print_receipt(FILE *file, const struct summary *summary)
{
    const struct summary_receipt *r = &summary->receipt;
    heading(file, "Receipt");
    (void)fprintf(file,
                  "  launches %" PRIu64 " (%" PRIu64 " without ops), executions with ops %" PRIu64
                  ": %" PRIu64 " by links, %" PRIu64 " by number, %" PRIu64
                  " by launch order, %" PRIu64 " unmatched\n",
                  r->launches, r->launches_unmatched, r->executions, r->executions_linked,
                  r->executions_numbered, r->executions_ordered - r->executions_numbered,
                  r->executions_unmatched);
    (void)fprintf(file,
                  "  in flight at the start %" PRIu64 ", at the end %" PRIu64
                  "; compilations %" PRIu64 "; planes %" PRIu64 ", lines %" PRIu64
                  ", events outside the window %" PRIu64 "\n",
                  r->in_flight_start, r->in_flight_end, r->compilations, r->planes, r->lines,
                  r->events_outside);
    for (size_t i = 0; i < summary->n_warnings; i++) {
        (void)fprintf(file, "  %snote:%s ", style_begin(file, STYLE_YELLOW), style_end(file));
        print_name(file, summary->warnings[i]);
        (void)fputc('\n', file);
    }
}

int summary_print_text(FILE *file, const struct summary *summary, size_t top, struct err *e)
{
    headline(file, summary);
    int r = print_devices(file, summary, e);
    if (r == 0)
        r = print_regions(file, summary, top, e);
    if (r == 0)
        r = print_idle(file, summary, top, e);
    if (r == 0)
        r = print_steps(file, summary, e);
    if (r == 0)
        r = print_ops(file, summary, top, e);
    if (r == 0)
        r = print_host(file, summary, top, e);
    if (r == 0)
        print_receipt(file, summary);
    return r;
}
