/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_report - `dew-profile report`: xprof's reports about a capture, as files. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/capture_path.h"
#include "cli/command.h"
#include "cli/output.h"
#include "cli/report/pool.h"
#include "cli/report/run.h"
#include "xprof/converter.h"

#include "base/banned.h"

#define JOBS_DEFAULT 2
#define TIMEOUT_DEFAULT 600
#define TIMEOUT_MAX 1000000
/* Seen to be enough: 10 and 2. The rest is for a library that opens more. */
#define FILES_ALONE 16
#define FILES_PER_WORKER 2

static struct {
    int all;
    char **tools;
    char *output;
    char *converter;
    int jobs;
    int timeout;
    int quiet;
    int detach;
    int json;
} asked = {.timeout = TIMEOUT_DEFAULT};

static const struct poptOption options[] = {
    {"all", 'a', POPT_ARG_NONE, &asked.all, 0,
     "Export the interactive reports too: the trace, and memory and HLO text of each module", NULL},
    {"tool", 't', POPT_ARG_ARGV, &asked.tools, 0,
     "Only this report, beside those already there; may be given several times", "NAME"},
    {"output", 'o', POPT_ARG_STRING, &asked.output, 0,
     "Folder for the reports (default: 'reports' in the capture's folder)", "DIR"},
    {"converter", '\0', POPT_ARG_STRING, &asked.converter, 0,
     "xprof's library, or the folder that xprof is installed in (default: looked for)", "PATH"},
    {"jobs", 'j', POPT_ARG_INT, &asked.jobs, 0,
     "Reports made at the same time (default: 2, or 1 on one core)", "N"},
    {"timeout", '\0', POPT_ARG_INT, &asked.timeout, 0,
     "Give up a report after this long; 0: never (default: 600)", "SECONDS"},
    {"quiet", 'q', POPT_ARG_NONE, &asked.quiet, 0, "Print nothing but errors", NULL},
    {"detach", '\0', POPT_ARG_NONE, &asked.detach, 0, "Return at once and work in the background",
     NULL},
    {"json", '\0', POPT_ARG_NONE, &asked.json, 0, "Print the index of reports as JSON", NULL},
    POPT_TABLEEND,
};

static int check_usage(void)
{
    if (asked.jobs < 0 || asked.jobs > POOL_MAX) {
        complain("--jobs takes a number from 1 to %d", POOL_MAX);
        return EXIT_USAGE;
    }
    if (asked.timeout < 0 || asked.timeout > TIMEOUT_MAX) {
        complain("--timeout takes a number of seconds from 0 to %d", TIMEOUT_MAX);
        return EXIT_USAGE;
    }
    if (asked.detach && asked.json) {
        complain("--json needs the result, --detach does not wait for it");
        return EXIT_USAGE;
    }
    return EXIT_DONE;
}

static unsigned job_count(void)
{
    if (asked.jobs > 0)
        return (unsigned)asked.jobs;
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    return cores > 1 ? JOBS_DEFAULT : 1;
}

/* Full-looking reports come out of a file of 0 bytes, so it is refused before anything is made. */
static int check_sizes(const struct capture_files *files, struct err *e)
{
    for (size_t i = 0; i < files->count; i++) {
        struct stat st;
        if (stat(files->paths[i], &st) != 0)
            return err_sys(e, errno, "cannot open the capture '%s'", files->paths[i]);
        if (!S_ISREG(st.st_mode))
            return err_set(e, ERR_UNSUPPORTED, "'%s' is not a regular file", files->paths[i]);
        if (st.st_size == 0)
            return err_set(e, ERR_DAMAGED,
                           "the capture '%s' is empty (0 bytes): JAX writes such a file, and "
                           "reports success, when a capture grows past 2 GiB",
                           files->paths[i]);
        if (access(files->paths[i], R_OK) != 0)
            return err_sys(e, errno, "cannot read the capture '%s'", files->paths[i]);
    }
    return 0;
}

/* Without this it shows in one report after the other as whatever then failed first. */
static int check_open_files(unsigned jobs, struct err *e)
{
    const rlim_t needed = FILES_ALONE + (rlim_t)jobs * FILES_PER_WORKER;
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= needed)
        return 0;
    const rlim_t before = limit.rlim_cur;
    limit.rlim_cur = limit.rlim_max < needed ? limit.rlim_max : needed;
    if (limit.rlim_cur == needed && setrlimit(RLIMIT_NOFILE, &limit) == 0)
        return 0;
    return err_set(e, ERR_LIMIT,
                   "only %llu files may be open at once (ulimit -n), reports by %u worker%s need "
                   "%llu: allow more, for example with 'ulimit -n 256'",
                   (unsigned long long)before, jobs, jobs == 1 ? "" : "s",
                   (unsigned long long)needed);
}

/* A path as a shell takes it. */
static char *quoted(const char *path)
{
    size_t room = strlen(path) * 4 + 3;
    char *text = malloc(room);
    if (!text)
        return NULL;
    size_t used = 0;
    text[used++] = '\'';
    for (; *path; path++) {
        const char *as = *path == '\'' ? "'\\''" : (char[2]){*path, '\0'};
        used += (size_t)snprintf(text + used, room - used, "%s", as);
    }
    (void)snprintf(text + used, room - used, "'");
    return text;
}

static char *open_hint(const struct capture_files *files)
{
    CLEANUP(cleanup_free) char *logdir = capture_logdir(files);
    CLEANUP(cleanup_free) char *shown = logdir ? quoted(logdir) : NULL;
    char *text = NULL;
    int size = shown ? asprintf(&text, "xprof --logdir %s", shown)
                     : asprintf(&text, "xprof --logdir DIR, with the capture copied into "
                                       "DIR/plugins/profile/RUN/");
    return size < 0 ? NULL : text;
}

static void print_result(const struct plan *plan, const char *folder)
{
    size_t empty = plan_count(plan, REPORT_EMPTY);
    size_t made = plan_count(plan, REPORT_OK) + empty;
    size_t failed = plan_count(plan, REPORT_FAILED);
    size_t interactive = plan_count(plan, REPORT_INTERACTIVE);
    (void)printf("%zu report%s", made, made == 1 ? "" : "s");
    if (empty > 0)
        (void)printf(" (%zu with no rows on this platform)", empty);
    (void)printf(" in %s", folder);
    if (failed > 0)
        (void)printf("; %zu failed", failed);
    (void)fputc('\n', stdout);
    for (size_t i = 0; interactive > 0 && i < plan->count; i++) {
        if (plan->reports[i].status != REPORT_INTERACTIVE)
            continue;
        (void)printf("%zu more are interactive: %s (or export them with --all)\n", interactive,
                     plan->reports[i].note);
        break;
    }
}

static int print_outcome(const struct run_order *order, const struct run_outcome *outcome)
{
    struct err e = {0};
    if (asked.json) {
        json_t *json = index_json(&outcome->plan, outcome->kept, &order->source,
                                  outcome->signal ? "interrupted" : "done", NULL);
        if (json)
            (void)json_object_set_new(json, "folder", json_text(view_text(order->folder)));
        return output_json(stdout, json, &e) == 0 ? EXIT_DONE : fail(EXIT_FAILED, &e);
    }
    if (!asked.quiet)
        print_result(&outcome->plan, order->folder);
    return EXIT_DONE;
}

static void outcome_release(struct run_outcome *outcome)
{
    plan_release(&outcome->plan);
    json_decref(outcome->kept);
}

static int make_reports(const struct run_order *order)
{
    CLEANUP(outcome_release) struct run_outcome outcome = {0};
    struct err e = {0};
    int status = run_reports(order, &outcome, &e);
    if (e.code != 0)
        complain("%s", e.text);
    if (outcome.plan.count > 0 && print_outcome(order, &outcome) != EXIT_DONE)
        status = EXIT_FAILED;
    if (outcome.signal) {
        /* Ends as the signal would have ended it: a shell's loop stops then too. */
        (void)fflush(stdout);
        (void)signal(outcome.signal, SIG_DFL);
        (void)raise(outcome.signal);
    }
    return status;
}

static int run(const char *const *arguments)
{
    int status = check_usage();
    if (status != EXIT_DONE)
        return status;
    struct err e = {0};
    CLEANUP(capture_files_release) struct capture_files files = {0};
    if (capture_find(arguments[0], &files, &e) != 0 || check_sizes(&files, &e) != 0)
        return fail(EXIT_UNREADABLE, &e);
    const unsigned jobs = job_count();
    if (check_open_files(jobs, &e) != 0)
        return fail(EXIT_FAILED, &e);
    CLEANUP(cleanup_free) char *library = NULL;
    CLEANUP(cleanup_free) char *version = NULL;
    if (converter_find(asked.converter, &library, &version, &e) != 0)
        return fail(EXIT_NO_CONVERTER, &e);
    CLEANUP(cleanup_free)
    char *folder = asked.output ? strdup(asked.output) : capture_reports_folder(&files);
    CLEANUP(cleanup_free) char *hint = open_hint(&files);
    if (!folder || !hint)
        return fail(EXIT_FAILED, (err_nomem(&e), &e));
    const struct run_order order = {
        .source = {.library = library, .version = version, .files = &files},
        .wishes = {.tools = (const char *const *)asked.tools,
                   .all = asked.all != 0,
                   .open_hint = hint},
        .folder = folder,
        .jobs = jobs,
        .limit_ms = (int64_t)asked.timeout * 1000,
        .quiet = asked.quiet || asked.detach,
        .detach = asked.detach != 0,
    };
    return make_reports(&order);
}

const struct command command_report = {
    .name = "report",
    .arguments = "CAPTURE",
    .one_line = "xprof's reports about a capture, as files",
    .help =
        "Exports every report that xprof has about a capture, byte for byte as xprof makes it,\n"
        "with reports.json, an index of them. CAPTURE is a .xplane.pb file, a run folder, a\n"
        "capture folder, or a root folder (its newest capture).",
    .options = options,
    .min_arguments = 1,
    .max_arguments = 1,
    .run = run,
};
