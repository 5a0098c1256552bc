/* SPDX-License-Identifier: Apache-2.0 */
/* summary_many_notes - what to know before trusting the comparison. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "cli/output.h"
#include "cli/summary_many.h"
#include "cli/summary_many_figures.h"

#include "base/banned.h"

#define LABEL_MAX 128

struct notes {
    char (*all)[NOTE_MAX];
    size_t n;
};

static void note(struct notes *notes, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void note(struct notes *notes, const char *format, ...)
{
    va_list arguments;
    if (notes->n == NOTES_MAX)
        return;
    va_start(arguments, format);
    (void)vsnprintf(notes->all[notes->n++], NOTE_MAX, format, arguments);
    va_end(arguments);
}

static void about_group(struct notes *notes, const struct many_rows *rows, const struct verdict *v)
{
    if (v->missing_count) {
        char list[VERDICT_MISSING_MAX * 22 + 8] = "";
        size_t at = 0;
        for (uint32_t i = 0; i < v->n_missing; i++)
            at += (size_t)snprintf(list + at, sizeof(list) - at, "%s%" PRIu64, i ? ", " : "",
                                   v->missing[i]);
        note(notes, "%" PRIu64 " of the job's %" PRIu64 " processes are not here: %s%s",
             v->missing_count, v->missing_count + rows->n_processes, list,
             v->missing_count > v->n_missing ? ", ..." : "");
    }
    if (v->counts_differ)
        note(notes, "the captures are of jobs with different numbers of processes");
    if (v->versions_differ)
        note(notes, "the processes ran different versions of JAX");
    if (v->apart)
        note(notes, "by their clocks, not all captures were running at the same time: the latest "
                    "began after the first had stopped");
    if (v->damaged)
        note(notes, "%" PRIu64 " of the captures are damaged: only what is whole is in the sums",
             v->damaged);
    if (v->thinned)
        note(notes,
             "of processes with more than %d steps only every 2nd, 4th, ... is compared; "
             "counts and totals are of all",
             MANY_STEPS_OF_ONE);
    if (v->runs_lost)
        note(notes, "some processes' step numbers have too many gaps to say how long they waited");
    if (v->basis == BASIS_LENGTHS && v->kind != VERDICT_CANNOT_TELL)
        note(notes, "no collectives are in the steps, so nothing shows that processes wait for one "
                    "another: the lost time holds if they do");
}

/* The processes whose clocks say something, and the worst of them. */
static void about_clocks(struct notes *notes, const struct many_rows *rows, const struct verdict *v,
                         enum verdict_clock clock)
{
    uint32_t n = 0, worst = 0;
    int64_t furthest = -1;
    for (uint32_t i = 0; i < rows->n_processes; i++) {
        const struct verdict_process *p = &v->processes[i];
        int64_t distance = p->end_offset_ns < 0 ? -p->end_offset_ns : p->end_offset_ns;
        if (p->clock != clock)
            continue;
        n++;
        if (distance > furthest) {
            furthest = distance;
            worst = i;
        }
    }
    if (!n)
        return;
    char label[LABEL_MAX], more[64] = "", by[FORMAT_MAX];
    (void)verdict_label(&rows->processes[worst], label, sizeof(label));
    if (n > 1)
        (void)snprintf(more, sizeof(more), " (and %u more, by less)", n - 1);
    (void)many_ns((uint64_t)furthest, by);
    const char *direction = v->processes[worst].end_offset_ns < 0 ? "before" : "after";
    const char *than = v->pair ? "the other process" : "the median process";
    const char *what =
        clock == CLOCK_OFF ? "its clock is off, since steps with collectives end together; no time "
                             "here depends on clocks"
        : clock == CLOCK_EITHER
            ? "the clock of one of the two is off, since steps with collectives end together; no "
              "time here depends on clocks"
        : v->pair ? "the clock of one of the two is off, or they run that far apart; without "
                    "collectives in the steps that cannot be told"
                  : "its clock is off, or it runs that far apart; without collectives in the "
                    "steps that cannot be told";
    note(notes, "the steps of %s begin and end %s %s those of %s%s, all by the same: %s", label, by,
         direction, than, v->pair ? "" : more, what);
}

size_t summary_many_notes(const struct many_view *view, char notes[NOTES_MAX][NOTE_MAX])
{
    struct notes list = {.all = notes};
    about_group(&list, view->rows, view->verdict);
    about_clocks(&list, view->rows, view->verdict, CLOCK_OFF);
    about_clocks(&list, view->rows, view->verdict, CLOCK_EITHER);
    about_clocks(&list, view->rows, view->verdict, CLOCK_AMBIGUOUS);
    return list.n;
}
