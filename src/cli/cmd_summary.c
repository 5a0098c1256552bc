/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_summary - `dew-profile summary`: where the time went, straight from the capture's files. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "cli/capture_path.h"
#include "cli/command.h"
#include "cli/output.h"
#include "cli/regions_manifest.h"
#include "cli/summary_write.h"

#include "base/banned.h"

#define TOP_DEFAULT 12
#define TOP_MAX 1000000

static struct {
    int json;
    char *csv;
    char *html;
    char **patterns;
    int top;
    char *steps;
} asked = {.top = TOP_DEFAULT};

static const struct poptOption options[] = {
    {"json", '\0', POPT_ARG_NONE, &asked.json, 0, "Print JSON, schema 1 (times in picoseconds)",
     NULL},
    {"csv", '\0', POPT_ARG_STRING, &asked.csv, 0,
     "Print one table as CSV: devices, idle, regions, steps, ops or host", "TABLE"},
    {"html", '\0', POPT_ARG_STRING, &asked.html, 0,
     "Write a page for the browser to FILE ('-': standard output)", "FILE"},
    {"region", 'r', POPT_ARG_ARGV, &asked.patterns, 0,
     "Regions are the host events whose names match (* and ? as in a shell); may be given several "
     "times",
     "PATTERN"},
    {"top", 'n', POPT_ARG_INT, &asked.top, 0, "Rows of each table; 0: all (default: 12)", "N"},
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
    if (asked.top < 0 || asked.top > TOP_MAX)
        return err_set(e, ERR_USAGE, "--top takes a number from 0 to %d", TOP_MAX);
    if (!!asked.csv + !!asked.json + !!asked.html > 1)
        return err_set(e, ERR_USAGE, "--csv, --html and --json exclude each other");
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
    to->top = asked.top ? (size_t)asked.top : TOP_DEFAULT;
    return asked.steps ? parse_steps(to, e) : 0;
}

/* JAX names the file after the host. */
static void host_of(const char *path, char *ret_host, size_t size)
{
    const char *base = strrchr(path, '/');
    base = base ? base + 1 : path;
    size_t n = strlen(base), suffix = strlen(CAPTURE_SUFFIX);
    if (n > suffix && strcmp(base + n - suffix, CAPTURE_SUFFIX) == 0)
        n -= suffix;
    (void)snprintf(ret_host, size, "%.*s", (int)n, base);
}

static int summarize(const char *path, struct summary_options run, struct summary *ret,
                     struct err *e)
{
    char host[256];
    CLEANUP(map_release) struct map map = {0};
    int r = map_open(&map, path, e);
    if (r < 0)
        return r;
    host_of(path, host, sizeof(host));
    run.file = path;
    run.host = host;
    return summary_run(map.bytes, &run, ret, e);
}

static int print_text(const struct summary *summaries, size_t n, struct err *e)
{
    int r = 0;
    for (size_t i = 0; r == 0 && i < n; i++) {
        if (n > 1)
            (void)printf("%s== %s (%zu of %zu)\n", i ? "\n" : "", summaries[i].host, i + 1, n);
        r = summary_print_text(stdout, &summaries[i], (size_t)asked.top, e);
    }
    return r;
}

static int print_csv(const struct summary *summaries, size_t n, struct err *e)
{
    int r = 0;
    for (size_t i = 0; r == 0 && i < n; i++)
        r = summary_print_csv(stdout, &summaries[i], asked.csv, i == 0, e);
    return r;
}

/* One file is the schema's object; several are a list of them under "processes". */
static int print_json(const struct summary *summaries, size_t n, struct err *e)
{
    if (n == 1)
        return output_json(stdout, summary_to_json(&summaries[0], (size_t)asked.top), e);
    json_t *all = json_object(), *list = json_array();
    for (size_t i = 0; i < n; i++)
        (void)json_array_append_new(list, summary_to_json(&summaries[i], (size_t)asked.top));
    (void)json_object_set_new(all, "schema", json_integer(1));
    (void)json_object_set_new(all, "processes", list);
    return output_json(stdout, all, e);
}

static int print_html(const struct summary *summary, struct err *e)
{
    if (strcmp(asked.html, "-") != 0)
        return summary_write_html(asked.html, summary, (size_t)asked.top, e);
    summary_print_html(stdout, summary, (size_t)asked.top);
    return 0;
}

struct results {
    struct summary *all;
    size_t n;
};

static void results_release(struct results *results)
{
    for (size_t i = 0; i < results->n; i++)
        summary_release(&results->all[i]);
    free(results->all);
}

static int print_results(const struct results *results, struct err *e)
{
    return asked.json   ? print_json(results->all, results->n, e)
           : asked.html ? print_html(results->all, e)
           : asked.csv  ? print_csv(results->all, results->n, e)
                        : print_text(results->all, results->n, e);
}

static void cleanup_json(json_t **json)
{
    json_decref(*json);
}

static void cleanup_names(const char ***names)
{
    free(*names);
}

static int exit_status_of(const struct err *e)
{
    return e->code == ERR_USAGE     ? EXIT_USAGE
           : e->code == ERR_MISSING ? EXIT_NOTHING
           : e->code == ERR_MEMORY  ? EXIT_FAILED
                                    : EXIT_UNREADABLE;
}

/* Damage and empty answers are in the result; the status says so too. */
static int status_of(const struct results *results)
{
    bool empty = true;
    for (size_t i = 0; i < results->n; i++) {
        const struct summary *summary = &results->all[i];
        if (summary->receipt.damaged) {
            complain("%s is damaged at byte %llu: the summary holds only what is whole",
                     summary->file, (unsigned long long)summary->receipt.damaged_at);
            return EXIT_UNREADABLE;
        }
        empty &= summary->n_devices == 0 && summary->n_host_names == 0;
    }
    if (empty)
        complain("the capture holds no event of a device or of the host");
    return empty ? EXIT_NOTHING : EXIT_DONE;
}

static int run(const char *const *arguments)
{
    struct err e = {0};
    struct summary_options common = {0};
    if (check_options(&common, &e) < 0)
        return fail(EXIT_USAGE, &e);
    CLEANUP(capture_files_release) struct capture_files files = {0};
    if (capture_find(arguments[0], &files, &e) < 0)
        return fail(EXIT_UNREADABLE, &e);
    if (asked.html && files.count > 1)
        return fail(EXIT_USAGE,
                    (err_set(&e, ERR_USAGE,
                             "--html makes a page of one file, and '%s' has %zu; name one, "
                             "such as '%s'",
                             arguments[0], files.count, files.paths[0]),
                     &e));
    CLEANUP(cleanup_json) json_t *manifest = manifest_read(files.manifest);
    size_t n_names;
    CLEANUP(cleanup_names) const char **names = manifest_regions(manifest, &n_names);
    common.region_names = names;
    common.n_region_names = n_names;
    CLEANUP(results_release) struct results results = {0};
    results.all = calloc(files.count, sizeof(*results.all));
    if (!results.all)
        return fail(EXIT_FAILED, (err_nomem(&e), &e));
    for (size_t i = 0; i < files.count; i++) {
        if (summarize(files.paths[i], common, &results.all[i], &e) < 0)
            return fail(exit_status_of(&e), &e);
        results.n++;
    }
    int r = print_results(&results, &e);
    if (r < 0)
        return fail(r == ERR_USAGE ? EXIT_USAGE : EXIT_FAILED, &e);
    return status_of(&results);
}

const struct command command_summary = {
    .name = "summary",
    .arguments = "CAPTURE",
    .one_line = "where the time went: devices, regions, steps, operations",
    .help =
        "Reads a capture and says where the time went: how long each device was busy and what "
        "it\nwaited for, what each region cost and launched, the steps, the operations. CAPTURE "
        "is a\n.xplane.pb file, a run folder, a capture folder, or a folder of captures (its "
        "newest).",
    .options = options,
    .min_arguments = 1,
    .max_arguments = 1,
    .run = run,
};
