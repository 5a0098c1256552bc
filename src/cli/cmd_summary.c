/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_summary - `dew-profile summary`: where the time went, straight from the capture's files. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/command.h"
#include "cli/output.h"
#include "cli/summary_inputs.h"
#include "cli/summary_many.h"
#include "cli/summary_write.h"

#include "base/banned.h"

#define TOP_NOT_GIVEN INT_MIN
#define TOP_OF_PAGES 12 /* what a program reads has everything */
#define TOP_MAX 1000000

static struct {
    int json;
    char *csv;
    char *html;
    char *partial;
    char **patterns;
    int top;
    char *steps;
} asked = {.top = TOP_NOT_GIVEN};

static const struct poptOption options[] = {
    {"json", '\0', POPT_ARG_NONE, &asked.json, 0, "Print JSON, schema 1 (times in picoseconds)",
     NULL},
    {"csv", '\0', POPT_ARG_STRING, &asked.csv, 0,
     "Print one table as CSV: devices, idle, regions, steps, ops or host", "TABLE"},
    {"html", '\0', POPT_ARG_STRING, &asked.html, 0,
     "Write a page for the browser to FILE ('-': standard output)", "FILE"},
    {"partial", '\0', POPT_ARG_STRING, &asked.partial, 0,
     "Write the sums to FILE ('-': standard output), to be joined with those of other processes",
     "FILE"},
    {"region", 'r', POPT_ARG_ARGV, &asked.patterns, 0,
     "Regions are the host events whose names match (* and ? as in a shell); may be given several "
     "times",
     "PATTERN"},
    {"top", 'n', POPT_ARG_INT, &asked.top, 0,
     "Rows of each table; 0: all (default: 12; with --json and --csv: all)", "N"},
    {"step", 's', POPT_ARG_STRING, &asked.steps, 0,
     "Only the time from step A to step B, both included", "A:B"},
    POPT_TABLEEND,
};

static bool parse_number(const char *text, const char *end, int64_t *ret_number)
{
    char *stop;
    errno = 0;
    long long number = strtoll(text, &stop, 10);
    if (errno || stop == text || stop != end)
        return false;
    *ret_number = number;
    return true;
}

static int parse_steps(struct summary_options *to, struct err *e)
{
    const char *text = asked.steps, *colon = strchr(text, ':');
    const char *end = text + strlen(text);
    bool good = parse_number(text, colon ? colon : end, &to->step_first) &&
                parse_number(colon ? colon + 1 : text, end, &to->step_last);
    if (!good || to->step_first > to->step_last)
        return err_set(e, ERR_USAGE, "--step takes A:B, two step numbers in order; not '%s'", text);
    to->has_step_range = true;
    return 0;
}

static int check_options(struct summary_options *to, struct err *e)
{
    static const char *const tables[] = {"devices", "idle", "regions", "steps", "ops", "host"};
    if (asked.top == TOP_NOT_GIVEN)
        asked.top = asked.json || asked.csv ? 0 : TOP_OF_PAGES;
    if (asked.top < 0 || asked.top > TOP_MAX)
        return err_set(e, ERR_USAGE, "--top takes a number from 0 to %d", TOP_MAX);
    if (!!asked.csv + !!asked.json + !!asked.html + !!asked.partial > 1)
        return err_set(e, ERR_USAGE, "--csv, --html, --json and --partial exclude each other");
    if (asked.partial && !*asked.partial)
        return err_set(e, ERR_USAGE,
                       "--partial takes the name of a file, or '-' for standard output");
    if (asked.html && !*asked.html)
        return err_set(e, ERR_USAGE, "--html takes the name of a file, or '-' for standard output");
    bool known = !asked.csv;
    for (size_t i = 0; asked.csv && i < sizeof(tables) / sizeof(tables[0]); i++)
        known |= strcmp(asked.csv, tables[i]) == 0;
    if (!known)
        return err_set(e, ERR_USAGE, "--csv takes one of %s; not '%s'", SUMMARY_CSV_TABLES,
                       asked.csv);
    while (asked.patterns && asked.patterns[to->n_region_patterns])
        to->n_region_patterns++;
    to->region_patterns = (const char *const *)asked.patterns;
    to->top = (size_t)asked.top;
    return asked.steps ? parse_steps(to, e) : 0;
}

static int print_html(const struct summary *summary, struct err *e)
{
    if (strcmp(asked.html, "-") != 0)
        return summary_write_html(asked.html, summary, (size_t)asked.top, e);
    summary_print_html(stdout, summary, (size_t)asked.top);
    return 0;
}

static int print(const struct summary *summary, struct err *e)
{
    if (asked.json)
        return output_json(stdout, summary_to_json(summary, (size_t)asked.top), e);
    return asked.html  ? print_html(summary, e)
           : asked.csv ? summary_print_csv(stdout, summary, asked.csv, (size_t)asked.top, true, e)
                       : summary_print_text(stdout, summary, (size_t)asked.top, e);
}

/* Damage and empty answers are in the result; the status says so too. */
static int status_of(const struct summary *summary)
{
    if (summary->receipt.damaged) {
        complain("%s is damaged at byte %llu: the summary holds only what is whole", summary->file,
                 (unsigned long long)summary->receipt.damaged_at);
        return EXIT_UNREADABLE;
    }
    if (summary->n_devices || summary->n_host_names)
        return EXIT_DONE;
    complain("the capture holds no event of a device or of the host");
    return EXIT_NOTHING;
}

static int one_capture(const struct summary_input *input, const struct summary_options *common)
{
    struct err e = {0};
    CLEANUP(summary_release) struct summary summary = {0};
    if (summary_of_input(input, common, &summary, &e) < 0)
        return fail(summary_exit_status(&e), &e);
    int r = print(&summary, &e);
    if (r < 0)
        return fail(r == ERR_USAGE ? EXIT_USAGE : EXIT_FAILED, &e);
    return status_of(&summary);
}

/* What several captures, or parts, cannot be asked for. */
static int check_many(const struct summary_inputs *inputs, struct err *e)
{
    if (asked.html && inputs->parts)
        return err_set(e, ERR_USAGE,
                       "--html makes a page of one capture, and a part does not hold what it "
                       "shows; name the capture that a part was made of");
    if (asked.html)
        return err_set(e, ERR_USAGE,
                       "--html makes a page of one capture, and %zu are asked for; name one, such "
                       "as '%s'",
                       inputs->count, inputs->all[0].path);
    bool to_file = asked.partial && strcmp(asked.partial, "-") != 0;
    for (size_t i = 0; to_file && i < inputs->count; i++) {
        /* a part may be joined into its own place */
        const char *source = inputs->all[i].part ? "" : inputs->all[i].path;
        int r = output_check_target(asked.partial, "the part", source, e);
        if (r < 0)
            return r;
    }
    if (inputs->parts && asked.csv)
        return err_set(e, ERR_USAGE,
                       "--csv takes captures, and parts hold no single process's "
                       "tables; use --json");
    if (inputs->parts && (asked.patterns || asked.steps))
        return err_set(e, ERR_USAGE,
                       "%s is asked for when a part is made, and cannot be when it "
                       "is joined",
                       asked.steps ? "--step" : "--region");
    return 0;
}

static int run(const char *const *arguments)
{
    struct err e = {0};
    struct summary_options common = {0};
    if (check_options(&common, &e) < 0)
        return fail(EXIT_USAGE, &e);
    CLEANUP(summary_inputs_release) struct summary_inputs inputs = {0};
    if (summary_inputs_find(arguments, &inputs, &e) < 0)
        return fail(EXIT_UNREADABLE, &e);
    if (inputs.count == 1 && !inputs.parts && !asked.partial)
        return one_capture(&inputs.all[0], &common);
    if (check_many(&inputs, &e) < 0)
        return fail(EXIT_USAGE, &e);
    return summary_many(&inputs, &(struct summary_request){.json = asked.json,
                                                           .csv = asked.csv,
                                                           .partial = asked.partial,
                                                           .top = (size_t)asked.top,
                                                           .options = common});
}

const struct command command_summary = {
    .name = "summary",
    .arguments = "CAPTURE|PART...",
    .one_line = "where the time went: devices, regions, steps, operations",
    .help =
        "Reads a capture and says where the time went: how long each device was busy and what "
        "it\nwaited for, what each region cost and launched, the steps, the operations. CAPTURE "
        "is a\n.xplane.pb file, a run folder, a capture folder, or a folder of captures (its "
        "newest).\n\nOf several captures, or of a root with process-NNNNN folders, it says which "
        "process the\nothers wait for and what that costs. --partial FILE writes the sums of "
        "captures as a small\nPART where they lie; parts are joined to the same answer in any "
        "order and grouping.",
    .options = options,
    .min_arguments = 1,
    .max_arguments = ARGUMENTS_ANY,
    .run = run,
};
