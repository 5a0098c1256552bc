/* SPDX-License-Identifier: Apache-2.0 */
/* summary_many_head - the first lines about several processes: the verdict in words. */
#include "cli/output.h"
#include "cli/summary_many.h"
#include "cli/summary_many_figures.h"

#include "base/banned.h"

#define LABEL_MAX 128

/* The label at the beginning of a sentence. */
static void print_subject(FILE *file, const struct many_process *process)
{
    char label[LABEL_MAX];
    (void)verdict_label(process, label, sizeof(label));
    if (process->index >= 0)
        label[0] = 'P';
    output_text(file, view_text(label));
}

static void say_straggler(FILE *file, const struct many_view *view)
{
    const struct verdict *v = view->verdict;
    const struct many_process *it = &view->rows->processes[v->process];
    char a[FORMAT_MAX], b[FORMAT_MAX];
    print_subject(file, it);
    (void)fprintf(file, " of %u is the straggler", view->rows->n_processes);
    if (v->basis == BASIS_COLLECTIVES)
        (void)fprintf(file, ": the others wait %s a step for it, %s of their step time.",
                      many_ps(many_per(v->lost_ps, v->others), a),
                      format_share(v->lost_ps, v->peers_ps, b));
    else
        (void)fprintf(file, " by its steps: %s longer than the others', %s of theirs.",
                      many_ps(many_per(v->lost_ps, v->others), a),
                      format_share(v->lost_ps, v->peers_ps, b));
}

static void say_verdict(FILE *file, const struct many_view *view)
{
    const struct verdict *v = view->verdict;
    char a[FORMAT_MAX], b[FORMAT_MAX];
    (void)fputs(style_begin(file, STYLE_BOLD), file);
    switch (v->kind) {
    case VERDICT_STRAGGLER:
        say_straggler(file, view);
        break;
    case VERDICT_HICCUP:
        print_subject(file, &view->rows->processes[v->process]);
        (void)fprintf(file,
                      " held up the others in %" PRIu64 " of %" PRIu64
                      " steps: they lost %s by that, most of the %s lost in all.",
                      v->processes[v->process].slowest_in, v->shared,
                      many_ps(v->processes[v->process].caused_ps, a), many_ps(v->lost_ps, b));
        break;
    case VERDICT_MIXED:
        (void)fprintf(file,
                      "The processes wait %s a step for one another, %s of their step time; no "
                      "one of them is the cause.",
                      many_ps(many_per(v->lost_ps, v->others), a),
                      format_share(v->lost_ps, v->peers_ps, b));
        break;
    case VERDICT_EVEN:
        (void)fprintf(file,
                      "The %u processes keep step: they wait %s a step for one another, %s of "
                      "their step time.",
                      view->rows->n_processes, many_ps(many_per(v->lost_ps, v->others), a),
                      format_share(v->lost_ps, v->peers_ps, b));
        break;
    case VERDICT_CANNOT_TELL:
        (void)fprintf(file, "Who is slow cannot be told: %s.", v->reason);
        break;
    }
    (void)fprintf(file, "%s\n", style_end(file));
}

/* Where the straggler's time goes. */
static void say_why(FILE *file, const struct many_view *view)
{
    const struct verdict *v = view->verdict;
    char a[FORMAT_MAX], b[FORMAT_MAX], c[FORMAT_MAX];
    uint64_t lost = many_per(v->lost_ps, v->others);
    if (v->kind != VERDICT_STRAGGLER)
        return;
    if (v->region && v->region_excess_ps >= lost / 4) {
        (void)fputs("Its region ", file);
        output_text(file, v->region->name);
        (void)fprintf(file,
                      " takes %s a step more than in the median process (%s a call against %s).\n",
                      many_ps(v->region_excess_ps, a), many_ps(v->region->means.max, b),
                      many_ps(sketch_quantile(&v->region->means, 0.5), c));
    } else if (v->work_excess_ps >= lost / 4 && lost) {
        (void)fprintf(file, "Its devices work %s a step longer than those of the median process.\n",
                      many_ps(v->work_excess_ps, a));
    } else {
        (void)fputs("Neither its regions nor its devices' own work show where that goes: mark more "
                    "regions.\n",
                    file);
    }
}

void summary_many_headline(FILE *file, const struct many_view *view)
{
    const struct verdict *v = view->verdict;
    const struct many_rows *rows = view->rows;
    char a[FORMAT_MAX], b[FORMAT_MAX];
    say_verdict(file, view);
    say_why(file, view);
    if (v->kind != VERDICT_CANNOT_TELL && v->lost_ps)
        (void)fprintf(file, "Lost in all: %s of process time", many_ps(v->lost_ps, a));
    if (v->kind == VERDICT_STRAGGLER || v->kind == VERDICT_HICCUP)
        (void)fprintf(file,
                      "; if it kept up with the next slowest, a step could be up to %s shorter",
                      many_ps(many_per(v->processes[v->process].saved_ps, v->shared), b));
    (void)fputs(v->kind != VERDICT_CANNOT_TELL && v->lost_ps ? ".\n" : "", file);
    (void)fprintf(
        file,
        "%s%u process%s, %s, %" PRIu64 " shared step%s, %" PRIu64 " events; devices busy %s%s\n",
        style_begin(file, STYLE_FAINT), rows->n_processes, rows->n_processes == 1 ? "" : "es",
        summary_platform_name((enum summary_platform)rows->processes[0].platform), v->shared,
        v->shared == 1 ? "" : "s", rows->totals[MANY_EVENTS],
        format_share(rows->totals[MANY_BUSY_PS], rows->totals[MANY_DEVICE_WINDOW_PS], a),
        style_end(file));
}
