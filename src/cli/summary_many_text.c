/* SPDX-License-Identifier: Apache-2.0 */
/* summary_many_text - the page about several processes: its tables and notes. */
#include <inttypes.h>
#include <stdlib.h>

#include "cli/output.h"
#include "cli/summary_many.h"
#include "cli/summary_many_figures.h"

#include "base/banned.h"

#define LABEL_MAX 128

static void heading(FILE *file, const char *title)
{
    (void)fprintf(file, "\n%s%s%s\n", style_begin(file, STYLE_BOLD), title, style_end(file));
}

static void and_more(FILE *file, size_t left, const char *what)
{
    if (left)
        (void)fprintf(file, "  and %zu more %s (--top 0 shows all)\n", left, what);
}

static size_t shown(size_t n, size_t top)
{
    return top && n > top ? top : n;
}

/* A name from a file inside a sentence or cell, cut and made harmless by the caller's printing. */
static char *name_of(struct view name)
{
    return strndup((const char *)name.data, name.size);
}

struct rank {
    uint64_t first, second;
    uint32_t index;
};

static int by_rank(const void *a, const void *b)
{
    const struct rank *x = a, *y = b;
    if (x->first != y->first)
        return x->first > y->first ? -1 : 1;
    if (x->second != y->second)
        return x->second > y->second ? -1 : 1;
    return x->index < y->index ? -1 : x->index > y->index;
}

/* A process that waits for nobody comes before one that waits much, where they caused the same. */
static struct rank rank_process(const struct many_view *view, uint32_t i)
{
    const struct verdict_process *p = &view->verdict->processes[i];
    return (struct rank){p->caused_ps, UINT64_MAX - p->lost_ps, i};
}

static struct rank rank_region(const struct many_view *view, uint32_t i)
{
    return (struct rank){view->rows->regions[i].calls.total, 0, i};
}

static struct rank rank_step(const struct many_view *view, uint32_t i)
{
    return (struct rank){view->verdict->step_lost_ps[i], view->rows->steps[i].longest.first, i};
}

static struct rank rank_op(const struct many_view *view, uint32_t i)
{
    return (struct rank){view->rows->ops[i].total_ps, 0, i};
}

/* NULL without memory. */
static struct rank *ranked(const struct many_view *view, uint32_t n,
                           struct rank (*rank)(const struct many_view *view, uint32_t i))
{
    struct rank *ranks = calloc((size_t)n + 1, sizeof(*ranks));
    for (uint32_t i = 0; ranks && i < n; i++)
        ranks[i] = rank(view, i);
    if (ranks)
        qsort(ranks, n, sizeof(*ranks), by_rank);
    return ranks;
}

static const char *clock_words(const struct verdict_process *p, char buffer[FORMAT_MAX])
{
    int64_t ns = p->end_offset_ns;
    if (p->clock == CLOCK_UNKNOWN)
        return "-";
    if (p->clock == CLOCK_STARTS)
        ns = p->start_offset_ns;
    uint64_t distance = ns < 0 ? (uint64_t)-ns : (uint64_t)ns;
    char text[FORMAT_MAX];
    (void)snprintf(buffer, FORMAT_MAX, "%c%.*s", ns < 0 ? '-' : '+', FORMAT_MAX - 2,
                   many_ns(distance, text));
    return buffer;
}

static int print_processes(FILE *file, const struct many_view *view, struct err *e)
{
    static const struct table_column columns[] = {
        {"process", false, true},    {"host", false, true},    {"window", true, false},
        {"busy", true, false},       {"steps", true, false},   {"mean step", true, false},
        {"waits/step", true, false}, {"share", true, false},   {"slowest in", true, false},
        {"clock", true, false},      {"verdict", false, false}};
    static const char *const spare[] = {"steps", "window", "share", "mean step",
                                        "busy",  "host",   NULL};
    const struct many_rows *rows = view->rows;
    heading(file, "Processes");
    CLEANUP(cleanup_free) struct rank *ranks = ranked(view, rows->n_processes, rank_process);
    CLEANUP(table_free) struct table *table = table_new(columns, 11);
    table_spare(table, spare);
    size_t n = shown(rows->n_processes, view->top);
    if (!ranks)
        return err_nomem(e);
    for (size_t i = 0; i < n; i++) {
        /* all of a few in their own order; else the ones that matter */
        uint32_t at = n == rows->n_processes ? (uint32_t)i : ranks[i].index;
        const struct many_process *p = &rows->processes[at];
        const struct verdict_process *v = &view->verdict->processes[at];
        CLEANUP(cleanup_free) char *host = name_of(p->host);
        char label[LABEL_MAX], t[7][FORMAT_MAX];
        const char *waits = "-", *part = "-";
        if (v->known) {
            waits = many_ps(many_per(v->lost_ps, v->shared), t[4]);
            part = format_share(v->lost_ps, v->shared_ps, t[5]);
        }
        table_row(table,
                  (const char *const[]){
                      verdict_label(p, label, sizeof(label)), host, many_ps(p->window_ps, t[0]),
                      format_share(p->busy_ps, saturated_sum(p->busy_ps, p->idle_ps), t[1]),
                      many_count(p->steps, t[2]), many_ps(many_per(p->steps_ps, p->steps), t[3]),
                      waits, part, many_count(v->slowest_in, t[6]),
                      clock_words(v, (char[FORMAT_MAX]){0}), verdict_role_name(v->role)});
    }
    int r = table_print(table, file, e);
    and_more(file, rows->n_processes - n, "processes, which cost the others less");
    return r;
}

static int print_regions(FILE *file, const struct many_view *view, struct err *e)
{
    static const struct table_column columns[] = {
        {"region", false, true},   {"processes", true, false},  {"calls", true, false},
        {"total", true, false},    {"p50", true, false},        {"mean: least", true, false},
        {"median", true, false},   {"slowest", true, false},    {"slowest is", false, false},
        {"launched", true, false}, {"idle behind", true, false}};
    static const char *const spare[] = {"processes", "p50", "calls", "launched", "total", NULL};
    const struct many_rows *rows = view->rows;
    heading(file, "Regions, and how far processes are apart in them");
    if (!rows->n_regions) {
        (void)fputs("  none: no process opened a region while its capture was on\n", file);
        return 0;
    }
    CLEANUP(cleanup_free) struct rank *ranks = ranked(view, rows->n_regions, rank_region);
    CLEANUP(table_free) struct table *table = table_new(columns, 11);
    table_spare(table, spare);
    size_t n = shown(rows->n_regions, view->top);
    if (!ranks)
        return err_nomem(e);
    for (size_t i = 0; i < n; i++) {
        struct many_region *r = &rows->regions[ranks[i].index];
        CLEANUP(cleanup_free) char *name = name_of(r->name);
        char label[LABEL_MAX], t[9][FORMAT_MAX];
        table_row(table,
                  (const char *const[]){
                      name, many_count(r->processes, t[0]), many_count(r->calls.count, t[1]),
                      many_ps(r->calls.total, t[2]), many_ps(sketch_quantile(&r->calls, 0.5), t[3]),
                      many_ps(r->means.min, t[4]), many_ps(sketch_quantile(&r->means, 0.5), t[5]),
                      many_ps(r->means.max, t[6]),
                      verdict_label(&rows->processes[r->slowest], label, sizeof(label)),
                      many_ps(r->launched_ps, t[7]), many_ps(r->idle_behind_ps, t[8])});
    }
    int r = table_print(table, file, e);
    and_more(file, rows->n_regions - n, "regions");
    return r;
}

static int print_steps(FILE *file, const struct many_view *view, struct err *e)
{
    static const struct table_column columns[] = {
        {"step", false, true},     {"number", true, false},     {"processes", true, false},
        {"shortest", true, false}, {"mean", true, false},       {"longest", true, false},
        {"lost", true, false},     {"waited for", false, false}};
    static const char *const spare[] = {"processes", "mean", NULL};
    struct many_rows *rows = view->rows;
    char a[FORMAT_MAX], b[FORMAT_MAX], c[FORMAT_MAX];
    heading(file, "Steps, most time lost first");
    if (!rows->n_steps) {
        (void)fputs("  none: no step marker in any process, or all steps are cut\n", file);
        return 0;
    }
    struct sketch *all = &rows->step_durations;
    (void)fprintf(file, "  %" PRIu64 " steps of all processes: p50 %s, p90 %s, max %s\n",
                  rows->totals[MANY_STEPS], many_ps(sketch_quantile(all, 0.5), a),
                  many_ps(sketch_quantile(all, 0.9), b), many_ps(all->max, c));
    CLEANUP(cleanup_free) struct rank *ranks = ranked(view, rows->n_steps, rank_step);
    CLEANUP(table_free) struct table *table = table_new(columns, 8);
    table_spare(table, spare);
    size_t n = shown(rows->n_steps, view->top);
    if (!ranks)
        return err_nomem(e);
    for (size_t i = 0; i < n; i++) {
        const struct many_step *s = &rows->steps[ranks[i].index];
        CLEANUP(cleanup_free) char *name = name_of(s->name);
        char label[LABEL_MAX] = "", t[6][FORMAT_MAX];
        bool waited = view->verdict->step_lost_ps[ranks[i].index] > 0;
        uint32_t slowest =
            view->verdict->basis == BASIS_COLLECTIVES ? s->least.process : s->longest.process;
        (void)snprintf(t[0], FORMAT_MAX, "%" PRId64, s->number);
        table_row(
            table,
            (const char *const[]){
                name, t[0], many_count(s->processes, t[1]), many_ps(s->shortest_ps, t[2]),
                many_ps(many_per(s->duration_ps, s->processes), t[3]),
                many_ps(s->longest.first, t[4]),
                many_ps(view->verdict->step_lost_ps[ranks[i].index], t[5]),
                waited ? verdict_label(&rows->processes[slowest], label, sizeof(label)) : ""});
    }
    int r = table_print(table, file, e);
    and_more(file, rows->n_steps - n, "steps");
    return r;
}

static int print_ops(FILE *file, const struct many_view *view, struct err *e)
{
    static const struct table_column columns[] = {
        {"op", false, true},    {"module", false, true}, {"kind", false, false},
        {"calls", true, false}, {"total", true, false},  {"share of busy", true, false},
        {"least", true, false}, {"most", true, false},   {"most in", false, false}};
    static const char *const spare[] = {"share of busy", "calls", "kind", "least", NULL};
    const struct many_rows *rows = view->rows;
    heading(file, "Device ops, and the processes with least and most time in them");
    if (!rows->n_ops) {
        (void)fputs("  none: no device op in any capture\n", file);
        return 0;
    }
    CLEANUP(cleanup_free) struct rank *ranks = ranked(view, rows->n_ops, rank_op);
    CLEANUP(table_free) struct table *table = table_new(columns, 9);
    table_spare(table, spare);
    size_t n = shown(rows->n_ops, view->top);
    if (!ranks)
        return err_nomem(e);
    for (size_t i = 0; i < n; i++) {
        const struct many_op *op = &rows->ops[ranks[i].index];
        CLEANUP(cleanup_free) char *name = name_of(op->op);
        CLEANUP(cleanup_free) char *module = name_of(op->module);
        char label[LABEL_MAX], t[5][FORMAT_MAX];
        table_row(table, (const char *const[]){
                             name, module, summary_kind_name((enum op_kind)op->kind),
                             many_count(op->calls, t[0]), many_ps(op->total_ps, t[1]),
                             format_share(op->total_ps, rows->totals[MANY_BUSY_PS], t[2]),
                             many_ps(op->least_ps, t[3]), many_ps(op->most_ps, t[4]),
                             verdict_label(&rows->processes[op->most], label, sizeof(label))});
    }
    int r = table_print(table, file, e);
    and_more(file, rows->n_ops - n, "ops");
    return r;
}

static void print_notes(FILE *file, const struct many_view *view)
{
    char notes[NOTES_MAX][NOTE_MAX];
    size_t n = summary_many_notes(view, notes);
    for (size_t i = 0; i < n; i++) {
        (void)fprintf(file, "%s%snote:%s ", i ? "" : "\n", style_begin(file, STYLE_YELLOW),
                      style_end(file));
        output_text(file, view_text(notes[i]));
        (void)fputc('\n', file);
    }
}

int summary_many_text(FILE *file, const struct many_view *view, struct err *e)
{
    summary_many_headline(file, view);
    int r = print_processes(file, view, e);
    if (r == 0)
        r = print_regions(file, view, e);
    if (r == 0)
        r = print_steps(file, view, e);
    if (r == 0)
        r = print_ops(file, view, e);
    if (r == 0)
        print_notes(file, view);
    return r;
}
