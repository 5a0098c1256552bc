/* SPDX-License-Identifier: Apache-2.0 */
/* worker - open, convert, write, answer. */
#include "cli/report/worker.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "cli/report/empty.h"
#include "xprof/converter.h"
#include "xprof/tool.h"

#include "base/banned.h"

static double now_seconds(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static bool read_job(int fd, struct job *job)
{
    ssize_t got;
    do
        got = read(fd, job, sizeof(*job));
    while (got < 0 && errno == EINTR);
    return got == (ssize_t)sizeof(*job);
}

static bool send_answer(int fd, const struct answer *answer)
{
    ssize_t put;
    do
        put = write(fd, answer, sizeof(*answer));
    while (put < 0 && errno == EINTR);
    return put == (ssize_t)sizeof(*answer);
}

static void put_text(struct answer *answer, const void *text, size_t size)
{
    answer->size = (uint32_t)(size < ANSWER_TEXT_MAX ? size : ANSWER_TEXT_MAX);
    memcpy(answer->text, text, answer->size);
}

static void put_error(struct answer *answer, int code, const struct err *e)
{
    answer->code = code;
    put_text(answer, e->text, strlen(e->text));
}

static const char *const *paths_of(const struct worker_setup *setup, const struct job *job,
                                   size_t *ret_count)
{
    const char *const *paths = (const char *const *)setup->scratch->paths;
    bool all = job->names || job->capture == ALL_CAPTURES;
    *ret_count = all ? setup->scratch->count : 1;
    return all ? paths : paths + job->capture;
}

static int list_names(const struct worker_setup *setup, const struct converter *converter,
                      const struct job *job, struct answer *answer, struct err *e)
{
    size_t count;
    const char *const *paths = paths_of(setup, job, &count);
    CLEANUP(converter_names_release) struct converter_names names = {0};
    int result = converter_tool_names(converter, paths, count, &names, e);
    if (result != 0)
        return result;
    size_t used = 0;
    for (size_t i = 0; i < names.count; i++) {
        size_t size = strlen(names.names[i]);
        if (size >= WORKER_NAME_MAX || used + size + 1 > ANSWER_TEXT_MAX)
            return err_set(e, ERR_LIMIT, "xprof names more tools, or longer ones, than expected");
        if (used > 0)
            answer->text[used++] = ',';
        memcpy(answer->text + used, names.names[i], size);
        used += size;
    }
    answer->size = (uint32_t)used;
    return 0;
}

/* The tool's own options, and the module where one is asked for. */
static size_t options_of(const struct tool *tool, const struct job *job,
                         struct converter_option options[TOOL_OPTIONS_MAX + 2])
{
    size_t count = tool->n_options;
    memcpy(options, tool->options, count * sizeof(*options));
    if (!job->module[0])
        return count;
    options[count++] =
        (struct converter_option){.key = "module_name", .type = OPTION_STRING, .text = job->module};
    if (strcmp(tool->name, "graph_viewer") == 0)
        options[count++] =
            (struct converter_option){.key = "type", .type = OPTION_STRING, .text = "long_txt"};
    return count;
}

static int make_report(const struct worker_setup *setup, const struct converter *converter,
                       const struct job *job, struct answer *answer, struct err *e)
{
    size_t count;
    const char *const *paths = paths_of(setup, job, &count);
    const struct tool *tool = tool_find(job->tool);
    struct converter_option options[TOOL_OPTIONS_MAX + 2];
    size_t n_options = options_of(tool, job, options);
    CLEANUP(converter_result_release) struct converter_result made = {0};
    int result = converter_call(converter, paths, count, job->tool, options, n_options, &made, e);
    if (result != 0 || job->discard)
        return result;
    CLEANUP(cleanup_free) char *path = path_join(setup->folder, job->file);
    if (!path)
        return err_nomem(e);
    struct view data = view_of(made.data, made.size);
    result = file_place(path, data, NULL, e); /* flushed at the end: run.c */
    if (result != 0)
        return result;
    answer->bytes = made.size;
    const char *why = report_emptiness(job->tool, data);
    answer->empty = why != NULL;
    if (why)
        put_text(answer, why, strlen(why));
    return 0;
}

static void do_job(const struct worker_setup *setup, const struct converter *converter,
                   const struct job *job, struct answer *answer)
{
    struct err e = {0};
    double start = now_seconds();
    int code = job->names ? list_names(setup, converter, job, answer, &e)
                          : make_report(setup, converter, job, answer, &e);
    answer->seconds = now_seconds() - start;
    if (code != 0)
        put_error(answer, code, &e);
}

void worker_run(const struct worker_setup *setup, int jobs, int answers)
{
    (void)dup2(setup->log, STDOUT_FILENO);
    (void)dup2(setup->log, STDERR_FILENO);
    /* Whatever else is written to a temporary folder here goes when the scratch folder goes, also
     * after a crash. */
    (void)setenv("TMPDIR", setup->scratch->folder, 1);
    struct converter_how how = {
        .quiet = false, /* its lines are what the log is for */
        .probe = setup->trusted ? NULL : converter_probe_forked,
    };
    struct err e = {0};
    struct converter *converter = NULL;
    int code = converter_open(setup->library, setup->version, &how, &converter, &e);
    struct job job;
    while (read_job(jobs, &job)) {
        struct answer answer = {.unopened = code != 0};
        if (code != 0)
            put_error(&answer, code, &e);
        else
            do_job(setup, converter, &job, &answer);
        if (!send_answer(answers, &answer) || code != 0)
            break;
    }
    /* Not exit(): nothing here is worth running the handlers of a large foreign library for. */
    _exit(0);
}
