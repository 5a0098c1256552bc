/* SPDX-License-Identifier: Apache-2.0 */
/* receipt - sentences about what is odd in a capture, each with its remedy. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "trace/pass.h"

#include "base/banned.h"

#define WARNINGS_MAX 32
#define WARNING_TEXT_MAX 512
#define NAME_SHOWN_MAX 40 /* bytes */

struct words {
    struct summary *summary;
    bool no_memory;
};

__attribute__((format(printf, 2, 3))) static void warn(struct words *words, const char *format, ...)
{
    char text[WARNING_TEXT_MAX];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    struct summary *summary = words->summary;
    if (summary->n_warnings == WARNINGS_MAX)
        return;
    const char *copy = arena_copy(&summary->arena, view_text(text));
    if (!copy)
        words->no_memory = true;
    else
        summary->warnings[summary->n_warnings++] = copy;
}

static void about_file(struct words *words)
{
    const struct summary_receipt *receipt = &words->summary->receipt;
    if (receipt->damaged)
        warn(words,
             "the file is damaged at byte %" PRIu64
             " (%s): what follows is only what is whole before it; names and planes may be missing",
             receipt->damaged_at, receipt->damage);
    else if (!receipt->has_host_name)
        warn(words, "the file does not end with the host's name, as JAX's own do: it may have been "
                    "cut between two of its planes; compare its size with the original's");
    if (!receipt->has_task_environment && !words->summary->step_range)
        warn(words, "the capture does not say when it started and stopped (no Task Environment "
                    "plane): the window is from the first to the last event");
    if (receipt->lines_sorted)
        warn(words,
             "%" PRIu64 " line%s not in time order; sorted for this reading (%" PRIu64
             " events, %d bytes of memory each)",
             receipt->lines_sorted, receipt->lines_sorted == 1 ? " was" : "s were",
             receipt->events_sorted, XMERGE_SORTED_EVENT_BYTES);
    if (receipt->sums_capped)
        warn(words,
             "durations add up to more than 2^64 ps (213 days), which no capture lasts: such "
             "sums stand at their limit; the file is damaged or was made by hand");
    if (receipt->events_aggregated)
        warn(words, "%" PRIu64 " events are only counts without a time; they are left out",
             receipt->events_aggregated);
    if (receipt->python_tracer_events)
        warn(words,
             "the Python tracer was on (%" PRIu64
             " events) and slows the program down; set ProfileOptions.python_tracer_level = 0, as "
             "capture_options() does",
             receipt->python_tracer_events);
}

static bool is_compiled(const struct summary *summary, const char *name)
{
    for (size_t i = 0; i < summary->n_compiled; i++)
        if (strcmp(summary->compiled[i], name) == 0)
            return true;
    return false;
}

/* ", of `f`, `g`", and nothing where no call around the compilations says what they were of. */
static void compiled_names(const struct summary *summary, char *ret_text, size_t size)
{
    size_t used = 0;
    ret_text[0] = '\0';
    for (size_t i = 0; i < summary->n_compiled && used < size; i++) {
        const char *name = summary->compiled[i];
        size_t length = strlen(name) < NAME_SHOWN_MAX ? strlen(name) : NAME_SHOWN_MAX;
        while (length && ((uint8_t)name[length] & 0xc0) == 0x80)
            length--; /* no half of a character */
        int n = snprintf(ret_text + used, size - used, "%s`%.*s`", i ? ", " : ", of ", (int)length,
                         name);
        used += n > 0 ? (size_t)n : 0;
    }
}

static void about_devices(struct words *words)
{
    const struct summary *summary = words->summary;
    const struct summary_receipt *receipt = &summary->receipt;
    if (receipt->collector_empty)
        warn(words, "there are device planes but not one op on them: the device's collector gave "
                    "nothing; look for CUPTI, rocprofiler or TPU profiler errors in the program's "
                    "log");
    else if (receipt->planes_without_lines)
        warn(words,
             "%" PRIu64 " device plane%s no lines: nothing ran there, or its collector "
             "failed",
             receipt->planes_without_lines, receipt->planes_without_lines == 1 ? " has" : "s have");
    if (summary->n_devices && !receipt->collector_empty && !summary->has_links)
        warn(words, "the file has no links from ops to the calls that launched them: `launched` is "
                    "device time while a region was innermost, which charges the wrong region "
                    "where dispatch is asynchronous");
    else if (receipt->ops_unmatched)
        warn(words,
             "%" PRIu64 " ops could not be traced to the call that launched them (work in flight "
             "at the start, or links missing); no region is charged with them",
             receipt->ops_unmatched);
    if (receipt->ops_later)
        warn(words,
             "%" PRIu64 " op%s (%.1f ms) that these steps launched began after the last step had "
             "ended, and %s in none of these figures: the program goes on before its work is "
             "done; a wider range of steps has it, or block_until_ready() inside each step",
             receipt->ops_later, receipt->ops_later == 1 ? "" : "s",
             (double)receipt->ops_later_ps / 1e9, receipt->ops_later == 1 ? "is" : "are");
    if (receipt->compilations) {
        char names[WARNING_TEXT_MAX / 2];
        compiled_names(summary, names, sizeof(names));
        warn(words,
             "%" PRIu64 " compilation%s (%.1f ms) inside the window%s: warm up before the capture "
             "starts%s",
             receipt->compilations, receipt->compilations == 1 ? "" : "s",
             (double)receipt->compilation_ps / 1e9, names,
             is_compiled(summary, "copy") ? " (a Profiler itself compiles `copy`, once in a "
                                            "process for each device, as it stops)"
                                          : "");
    }
}

static void about_steps(struct words *words)
{
    const struct summary_steps *steps = &words->summary->steps;
    if (steps->cut)
        warn(words, "%" PRIu64 " step%s cut by an end of the window: marked, and counted with %s",
             steps->cut, steps->cut == 1 ? " is" : "s are",
             steps->cut == 1 ? "its whole length" : "their whole lengths");
    if (steps->repeated)
        warn(words,
             "%" PRIu64 " steps repeat a number seen before; each counts as a step of its own",
             steps->repeated);
}

static void why_empty(struct summary *summary)
{
    const struct summary_receipt *receipt = &summary->receipt;
    bool unnamed = receipt->damaged;
    if (summary->n_devices == 0)
        summary->no_devices =
            unnamed ? "no device op: the file is damaged before the names that would tell"
                    : "no device op in the capture: nothing ran on a device while it was on, or "
                      "the trace was stopped before the work was done (block_until_ready() first)";
    if (summary->n_ops == 0)
        summary->no_ops = !summary->n_devices   ? "no device op in the capture"
                          : summary->step_range ? "no device op began during these steps"
                                                : "the devices' lines hold no op";
    if (summary->n_regions == 0)
        summary->no_regions =
            unnamed ? "the names of events are missing from the damaged file"
            : summary->regions_from[0] == '-'
                ? "no event matches the --region pattern"
                : "the program opened no region while the capture was on: mark parts with `with "
                  "region(\"name\"):` in a Profiler's capture, or in any with "
                  "jax.profiler.TraceAnnotation(\"name\")";
    if (summary->steps.count == 0)
        summary->no_steps = unnamed ? "the names of events are missing from the damaged file"
                                    : "no step marker: wrap each step in `with "
                                      "jax.profiler.StepTraceAnnotation(\"train\", step_num=i):`";
    if (summary->n_host_names == 0)
        summary->no_host = unnamed ? "the names of events are missing from the damaged file"
                                   : "the host tracer was off: set "
                                     "ProfileOptions.host_tracer_level = 2";
}

int receipt_words(const struct pass *pass, struct summary *summary, struct err *e)
{
    (void)pass;
    struct words words = {.summary = summary};
    summary->warnings = arena_alloc(&summary->arena, WARNINGS_MAX * sizeof(*summary->warnings));
    if (!summary->warnings)
        return err_nomem(e);
    why_empty(summary);
    about_file(&words);
    about_devices(&words);
    about_steps(&words);
    return words.no_memory ? err_nomem(e) : 0;
}
