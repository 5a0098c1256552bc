/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_merge - `dew-profile merge`: captures of several processes as one XProf run. */
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/command.h"
#include "cli/merge/merge.h"
#include "cli/output.h"

#include "base/banned.h"

static struct {
    int json, force, keep_clocks;
} asked;

static const struct poptOption options[] = {
    {"force", 'f', POPT_ARG_NONE, &asked.force, 0,
     "Merge what does not belong together, and say what was overruled", NULL},
    {"no-refine", '\0', POPT_ARG_NONE, &asked.keep_clocks, 0,
     "Place captures by the hosts' clocks alone, whatever the shared steps say", NULL},
    {"json", '\0', POPT_ARG_NONE, &asked.json, 0, "Print JSON, schema 1 (times in nanoseconds)",
     NULL},
    POPT_TABLEEND,
};

static int status_of(const struct err *e)
{
    switch (e->code) {
    case ERR_USAGE:
        return EXIT_USAGE;
    case ERR_DAMAGED:
    case ERR_TRUNCATED:
    case ERR_MISSING:
    case ERR_UNSUPPORTED:
        return EXIT_UNREADABLE;
    default:
        return EXIT_FAILED;
    }
}

static const char *manifest_text(const struct merge_input *input, const char *section,
                                 const char *key)
{
    const char *text =
        json_string_value(json_object_get(json_object_get(input->manifest, section), key));
    return text ? text : "";
}

static struct merge_process process_of(const struct merge_input *input)
{
    return (struct merge_process){.facts = &input->facts,
                                  .path = input->path,
                                  .index = input->index,
                                  .count = input->count,
                                  .platform = manifest_text(input, "backend", "platform"),
                                  .jax = manifest_text(input, "versions", "jax"),
                                  .jaxlib = manifest_text(input, "versions", "jaxlib")};
}

/* One file after the other beside the first, so that the programs and steps of only two of them are
 * in memory. */
static int read_all(struct merge_job *job, struct err *e)
{
    CLEANUP(cleanup_free) struct merge_process *processes = calloc(job->n + 1, sizeof(*processes));
    if (!processes)
        return err_nomem(e);
    for (size_t i = 0; i < job->n; i++) {
        struct merge_input *input = &job->inputs[i], *first = &job->inputs[0];
        int code = merge_input_read(input, e);
        if (code != 0)
            return code;
        processes[i] = process_of(input);
        if (i == 0) {
            input->place = merge_align_reference(&input->facts);
            continue;
        }
        code = merge_match(processes, i, &job->reasons, e);
        if (code == 0)
            code = merge_align(&first->facts, &input->facts, !asked.keep_clocks, &input->place, e);
        if (code != 0)
            return code;
        merge_facts_forget(&input->facts);
    }
    merge_facts_forget(&job->inputs[0].facts);
    return 0;
}

static int place(struct merge_job *job, struct err *e)
{
    job->axis_ns = job->inputs[0].place.start_ns;
    for (size_t i = 0; i < job->n; i++) {
        const struct merge_input *input = &job->inputs[i];
        if (input->place.too_far)
            return err_set(e, ERR_LIMIT,
                           "%s and %s began more than a hundred days apart; one axis cannot hold "
                           "them",
                           job->inputs[0].path, input->path);
        if (input->place.start_ns < job->axis_ns)
            job->axis_ns = input->place.start_ns;
    }
    for (size_t i = 0; i < job->n; i++)
        job->inputs[i].shift_ns = job->inputs[i].place.start_ns - job->axis_ns;
    return 0;
}

static void tell_reasons(const struct merge_job *job)
{
    const struct merge_reasons *reasons = &job->reasons;
    for (size_t i = 0; i < reasons->kept; i++)
        complain("%s%s", asked.force ? "overruled: " : "", reasons->all[i].words);
    if (reasons->n > reasons->kept)
        complain("and %zu more such reasons", reasons->n - reasons->kept);
    if (!asked.force)
        complain("these captures do not belong together; nothing was merged (--force merges them "
                 "all the same)");
}

static int tell(const struct merge_job *job)
{
    struct err e = {0};
    int code = asked.json ? output_json(stdout, merge_to_json(job), &e) : merge_print_text(job, &e);
    return code != 0 ? fail(EXIT_FAILED, &e) : EXIT_DONE;
}

static uint64_t events_of(const struct merge_job *job)
{
    uint64_t events = 0;
    for (size_t i = 0; i < job->n; i++)
        events += job->inputs[i].facts.events;
    return events;
}

/* Ends by the signal that asked for it, now that nothing is left behind. */
static int end_by_signal(int number)
{
    const struct sigaction plain = {.sa_handler = SIG_DFL};
    (void)sigaction(number, &plain, NULL);
    (void)raise(number);
    return EXIT_FAILED;
}

static int gather(struct merge_job *job, const char *const *inputs, struct err *e)
{
    for (size_t i = 0; inputs[i]; i++)
        if (merge_inputs_add(job, inputs[i], e) < 0)
            return EXIT_UNREADABLE;
    if (merge_inputs_order(job, e) < 0 || read_all(job, e) < 0)
        return e->code == ERR_IO ? EXIT_UNREADABLE : status_of(e);
    if (events_of(job) == 0) {
        (void)err_set(e, ERR_MISSING, "no event in %s%s; there is nothing to merge",
                      job->inputs[0].path, job->n > 1 ? " and the others" : "");
        return EXIT_NOTHING;
    }
    return EXIT_DONE;
}

/* A file cut between two planes looks whole, but for what JAX writes last. */
static void tell_nameless(const struct merge_job *job)
{
    for (size_t i = 0; i < job->n; i++)
        if (!job->inputs[i].facts.host[0])
            complain("%s: without the host's name that JAX writes at the end; if the file was cut, "
                     "what is left of it was taken",
                     job->inputs[i].path);
}

static int run(const char *const *arguments)
{
    struct err e = {0};
    CLEANUP(merge_job_release) struct merge_job job = {.out = arguments[0]};
    if (merge_out_check(job.out, &e) < 0)
        return fail(status_of(&e), &e);
    int status = gather(&job, arguments + 1, &e);
    if (status != EXIT_DONE)
        return fail(status, &e);
    tell_nameless(&job);
    if (job.reasons.n > 0)
        tell_reasons(&job);
    if (job.reasons.n > 0 && !asked.force) {
        if (asked.json)
            (void)tell(&job);
        return EXIT_FAILED;
    }
    if (place(&job, &e) < 0 || merge_write(&job, &e) < 0) {
        if (merge_stopped_by())
            return end_by_signal(merge_stopped_by());
        return fail(status_of(&e), &e);
    }
    return tell(&job);
}

const struct command command_merge = {
    .name = "merge",
    .arguments = "OUT IN...",
    .one_line = "Captures of several processes as one run on one time axis",
    .help =
        "Makes the new folder OUT, which XProf opens: one run with a file for each process, all "
        "on one\ntime axis. IN is a .xplane.pb file, a run folder, a capture folder, or a root; a "
        "root with\nprocess-NNNNN folders stands for the newest capture of each process. Captures "
        "that do not\nbelong together are refused (exit 1), with the reason.",
    .options = options,
    .min_arguments = 2,
    .max_arguments = ARGUMENTS_ANY,
    .run = run,
};
