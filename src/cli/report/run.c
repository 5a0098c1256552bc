/* SPDX-License-Identifier: Apache-2.0 */
/* run - the loop over reports and workers. */
#include "cli/report/run.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "cli/command.h"
#include "cli/output.h"
#include "cli/report/background.h"
#include "cli/report/folder.h"
#include "cli/report/interrupt.h"
#include "cli/report/kept.h"
#include "cli/report/memory.h"
#include "cli/report/pool.h"
#include "xprof/scratch.h"
#include "xprof/scratch_claim.h"

#include "base/banned.h"

#define LABEL_MAX 320
#define SHARED_SUFFIX ".op_stats_v2.pb"
#define NAMES_SLOT 0
#define SHARED_SLOT 1

struct run {
    const struct run_order *order;
    struct interrupt interrupt;
    struct folder folder;
    struct scratch scratch;
    struct pool pool;
    struct plan plan;
    json_t *kept; /* entries of an earlier index that hold on, or NULL */
    uint64_t capture_bytes;
    struct report *making[POOL_MAX]; /* what the worker in a slot is at; borrowed from the plan */
    enum shared shared;
};

static void run_release(struct run *run)
{
    pool_release(&run->pool); /* first: the workers use all of the others */
    scratch_release(&run->scratch);
    folder_release(&run->folder);
    plan_release(&run->plan);
    json_decref(run->kept);
    interrupt_release(&run->interrupt); /* last: a signal may end the program here */
}

/* On a terminal one line that changes, else a line a report. */
static void show(const struct run *run, const struct report *report)
{
    if (run->order->quiet)
        return;
    char label[LABEL_MAX];
    char size[FORMAT_MAX];
    (void)report_label(report, label, sizeof(label));
    bool terminal = output_is_terminal(stderr);
    if (report->status == REPORT_FAILED) {
        (void)fprintf(stderr, "%s%s: failed: %s\n", terminal ? "\r\033[K" : "", label,
                      report->note ? report->note : "");
        return;
    }
    if (!terminal) {
        (void)fprintf(stderr, "%s: %s, %s, %.3f s\n", label, report_status_name(report->status),
                      format_bytes(report->bytes, size), report->seconds);
        return;
    }
    size_t waiting = plan_count(&run->plan, REPORT_WAITING);
    size_t running = plan_count(&run->plan, REPORT_RUNNING);
    size_t left = waiting + running;
    (void)fprintf(stderr, "\r\033[K");
    if (left > 0)
        (void)fprintf(stderr, "%zu of %zu reports, %s", run->plan.count - left, run->plan.count,
                      label);
}

static int save_index(const struct run *run, const char *state, struct err *e)
{
    return index_write(&run->plan, run->kept, &run->order->source, state, NULL, run->folder.path,
                       e);
}

static void finish(struct run *run, struct report *report, enum report_status status,
                   const char *note, size_t size)
{
    report->status = status;
    if (size > 0)
        report->note = strndup(note, size); /* without memory: no note */
    if (status == REPORT_FAILED) {
        char label[LABEL_MAX];
        folder_log(&run->folder, PROGRAM_NAME ": %s: %s", report_label(report, label, LABEL_MAX),
                   report->note ? report->note : "failed");
    }
    show(run, report);
}

static void cleanup_closedir(DIR **folder)
{
    if (*folder)
        (void)closedir(*folder);
}

/* A worker that ended while it wrote one of the converter's caches leaves half of it, and the
 * converter trusts what it finds. */
static void drop_caches(const struct run *run, const char *suffix)
{
    CLEANUP(cleanup_closedir) DIR *open = opendir(run->scratch.folder);
    if (!open)
        return;
    for (struct dirent *entry; (entry = readdir(open)) != NULL;)
        if (view_ends(view_text(entry->d_name), suffix))
            (void)unlinkat(dirfd(open), entry->d_name, 0);
}

static void drop_half_made(const struct run *run, const struct report *report)
{
    if (report->shares)
        drop_caches(run, SHARED_SUFFIX);
    else if (strncmp(report->tool, "trace_viewer", strlen("trace_viewer")) == 0)
        drop_caches(run, ".SSTABLE");
}

static bool is_shared(const struct run *run, const struct event *event)
{
    return run->shared == SHARED_MAKING && event->kind != EVENT_SIGNAL &&
           event->slot == SHARED_SLOT;
}

/* The tool that makes the shared result ahead of the reports has ended. Where that failed, the
 * first of the reports makes it, and tells what is wrong. */
static void handle_shared(struct run *run, const struct event *event)
{
    bool made = event->kind == EVENT_ANSWER && event->answer.code == 0;
    run->shared = made ? SHARED_MADE : SHARED_NONE;
    if (event->kind != EVENT_DIED)
        return;
    drop_caches(run, SHARED_SUFFIX);
    folder_log(&run->folder, PROGRAM_NAME ": " PLAN_SHARED_BY ", tried ahead: %s", event->text);
}

static void handle_answer(struct run *run, const struct event *event)
{
    struct report *report = run->making[event->slot];
    const struct answer *answer = &event->answer;
    report->bytes = answer->bytes;
    report->seconds = answer->seconds;
    enum report_status status = answer->code != 0 ? REPORT_FAILED
                                : answer->empty   ? REPORT_EMPTY
                                                  : REPORT_OK;
    finish(run, report, status, answer->text, answer->size);
}

static void handle_death(struct run *run, const struct event *event)
{
    struct report *report = run->making[event->slot];
    report->seconds = event->seconds;
    folder_tidy(&run->folder, report->file, event->pid);
    drop_half_made(run, report);
    finish(run, report, REPORT_FAILED, event->text, strlen(event->text));
}

/* Bounded by the plan and by pool.h: a name that does not fit is a report that fails. */
static bool fill(char *field, const char *text)
{
    int size = snprintf(field, WORKER_NAME_MAX, "%s", text ? text : "");
    return size >= 0 && size < WORKER_NAME_MAX;
}

static void give(struct run *run, unsigned slot, struct report *report)
{
    static const char too_long[] = "a name in it is too long";
    struct job job = {.capture = report->capture};
    if (!fill(job.tool, report->tool) || !fill(job.module, report->module) ||
        !fill(job.file, report->file)) {
        finish(run, report, REPORT_FAILED, too_long, sizeof(too_long) - 1);
        return;
    }
    struct err e = {0};
    report->status = REPORT_RUNNING;
    run->making[slot] = report;
    if (pool_give(&run->pool, slot, &job, &e) != 0)
        finish(run, report, REPORT_FAILED, e.text, strlen(e.text));
}

/* Workers parse the whole capture, each for itself, so a second one needs its memory too. The first
 * may always work: that it would fail is a guess. */
static bool has_room(const struct run *run)
{
    bool busy = false;
    for (unsigned slot = 0; slot < run->order->jobs; slot++)
        busy = busy || run->pool.workers[slot].busy;
    return !busy || memory_available() / MEMORY_PER_BYTE >= run->capture_bytes;
}

static void give_all(struct run *run)
{
    for (unsigned slot = 0; slot < run->order->jobs && has_room(run); slot++) {
        struct report *report;
        while (!run->pool.workers[slot].busy &&
               (report = plan_next(&run->plan, run->shared)) != NULL)
            give(run, slot, report);
    }
}

static void interrupt(struct run *run, int number)
{
    char text[96];
    (void)snprintf(text, sizeof(text), "interrupted by signal %d (%s)", number, strsignal(number));
    for (size_t i = 0; i < run->plan.count; i++) {
        struct report *report = &run->plan.reports[i];
        if (report->status == REPORT_WAITING || report->status == REPORT_RUNNING)
            finish(run, report, REPORT_FAILED, text, strlen(text));
    }
}

/* Temporary files of workers that were ended at their work. */
static void end_workers(struct run *run)
{
    pid_t pids[POOL_MAX];
    for (unsigned i = 0; i < POOL_MAX; i++)
        pids[i] = run->pool.workers[i].busy ? run->pool.workers[i].pid : 0;
    pool_release(&run->pool);
    for (unsigned i = 0; i < POOL_MAX; i++)
        if (pids[i] && run->making[i])
            folder_tidy(&run->folder, run->making[i]->file, pids[i]);
}

/* Makes what is planned; the number of the signal that interrupted it, or 0, or an error. */
static int make_all(struct run *run, int *ret_signal, struct err *e)
{
    for (;;) {
        give_all(run);
        if (plan_done(&run->plan))
            return 0;
        struct event event;
        int result = pool_wait(&run->pool, &event, e);
        if (result != 0)
            return result;
        if (event.kind == EVENT_SIGNAL) {
            end_workers(run);
            interrupt(run, event.number);
            *ret_signal = event.number;
            return 0;
        }
        if (is_shared(run, &event)) {
            handle_shared(run, &event);
            continue;
        }
        if (event.kind == EVENT_ANSWER)
            handle_answer(run, &event);
        else
            handle_death(run, &event);
        result = save_index(run, "running", e);
        if (result != 0 && result != ERR_IO) /* a full disk may have room again at the end */
            return result;
    }
}

/* Once, at the end: a disk takes many files about as fast as one. */
static int flush_reports(const struct run *run, struct err *e)
{
    for (size_t i = 0; i < run->plan.count; i++) {
        const struct report *report = &run->plan.reports[i];
        if (report->status != REPORT_OK && report->status != REPORT_EMPTY)
            continue;
        CLEANUP(cleanup_free) char *path = path_join(run->folder.path, report->file);
        int result = path ? file_sync(path, e) : err_nomem(e);
        if (result != 0)
            return result;
    }
    return 0;
}

/* What kept the list of tools from coming, as an exit status. */
static int no_names(const struct event *event, int *ret_signal, struct err *e)
{
    const struct answer *answer = &event->answer;
    switch (event->kind) {
    case EVENT_SIGNAL:
        *ret_signal = event->number;
        (void)err_set(e, ERR_FOREIGN, "interrupted before any report was made");
        return EXIT_FAILED;
    case EVENT_DIED:
        (void)err_set(e, ERR_FOREIGN, "no list of tools: %s", event->text);
        return EXIT_FAILED;
    case EVENT_ANSWER:
        break;
    }
    (void)err_set(e, answer->code, "%.*s", (int)answer->size, answer->text);
    if (answer->unopened)
        return EXIT_NO_CONVERTER;
    return answer->code == ERR_MEMORY || answer->code == ERR_LIMIT ? EXIT_FAILED : EXIT_UNREADABLE;
}

/* Most of the time of all reports goes into the shared result, so that need not wait for the list
 * of tools. One who asks for some reports may need no such result. */
static void start_shared(struct run *run)
{
    if (run->order->jobs <= SHARED_SLOT || run->order->wishes.tools || !has_room(run))
        return;
    const struct job job = {.discard = true, .capture = ALL_CAPTURES, .tool = PLAN_SHARED_BY};
    if (pool_give(&run->pool, SHARED_SLOT, &job, NULL) == 0)
        run->shared = SHARED_MAKING;
}

static int list_names(struct run *run, struct event *ret, struct err *e)
{
    const struct job job = {.names = true};
    int result = pool_give(&run->pool, NAMES_SLOT, &job, e);
    if (result != 0)
        return result;
    start_shared(run);
    for (;;) {
        result = pool_wait(&run->pool, ret, e);
        if (result != 0 || !is_shared(run, ret))
            return result;
        handle_shared(run, ret);
    }
}

static int make_plan(struct run *run, int *ret_signal, struct err *e)
{
    struct event event;
    if (list_names(run, &event, e) != 0)
        return EXIT_FAILED;
    if (event.kind != EVENT_ANSWER || event.answer.code != 0)
        return no_names(&event, ret_signal, e);
    /* The other workers need not try what this one has tried. */
    run->pool.setup.trusted = true;
    struct view names = view_of(event.answer.text, event.answer.size);
    const struct capture_files *files = run->order->source.files;
    int result = plan_make(names, (const char *const *)files->paths, files->count,
                           run->scratch.folder, &run->order->wishes, &run->plan, e);
    return result == 0 ? EXIT_DONE : result == ERR_MISSING ? EXIT_NOTHING : EXIT_FAILED;
}

static uint64_t size_of(const struct capture_files *files)
{
    uint64_t bytes = 0;
    struct stat st;
    for (size_t i = 0; i < files->count; i++)
        if (stat(files->paths[i], &st) == 0)
            bytes += (uint64_t)st.st_size;
    return bytes;
}

static int prepare(struct run *run, struct err *e)
{
    const struct run_order *order = run->order;
    const struct capture_files *files = order->source.files;
    int result = folder_open(order->folder, &run->folder, e);
    if (result == 0)
        result =
            scratch_make(NULL, (const char *const *)files->paths, files->count, &run->scratch, e);
    if (result != 0)
        return result;
    scratch_sweep(run->scratch.folder);
    run->capture_bytes = size_of(files);
    const struct worker_setup setup = {
        .scratch = &run->scratch,
        .library = order->source.library,
        .version = order->source.version,
        .folder = run->folder.path,
        .log = run->folder.log,
    };
    pool_open(&run->pool, &setup, order->limit_ms, &run->interrupt);
    return order->detach ? background_go(e) : 0;
}

/* Leaves word of what kept the reports from being made. In the background nobody hears it; in the
 * foreground one does, and then a failure from before the first report leaves nothing behind. */
static void leave_word(struct run *run, int signal, const struct err *e)
{
    struct folder *folder = &run->folder;
    if (!folder->path || (!run->order->detach && !folder->committed))
        return;
    if (!folder->committed && folder_has_reports(folder)) {
        folder_remark(folder, PROGRAM_NAME ": %s", e->text);
        return;
    }
    /* It has failed already: what fails here too has been told. */
    if (!folder->committed && folder_commit(folder, NULL, NULL) != 0)
        return;
    folder_log(folder, PROGRAM_NAME ": %s", e->text);
    (void)!index_write(&run->plan, run->kept, &run->order->source,
                       signal ? "interrupted" : "failed", e->text, folder->path, NULL);
}

static int make_reports(struct run *run, struct run_outcome *ret, struct err *e)
{
    const struct run_order *order = run->order;
    if (prepare(run, e) != 0)
        return EXIT_FAILED;
    int status = make_plan(run, &ret->signal, e);
    if (status != EXIT_DONE)
        return status;
    /* Asked for some reports, it is about these; the others stay. */
    if (order->wishes.tools && !(run->kept = kept_read(&run->folder, &run->plan, &order->source))) {
        (void)err_nomem(e);
        return EXIT_FAILED;
    }
    if (folder_commit(&run->folder, run->kept, e) != 0 || make_all(run, &ret->signal, e) != 0)
        return EXIT_FAILED;
    if (flush_reports(run, e) != 0 || save_index(run, ret->signal ? "interrupted" : "done", e) != 0)
        return EXIT_FAILED;
    return plan_count(&run->plan, REPORT_FAILED) > 0 ? EXIT_FAILED : EXIT_DONE;
}

int run_reports(const struct run_order *order, struct run_outcome *ret, struct err *e)
{
    CLEANUP(run_release) struct run run = {.order = order, .folder = FOLDER_EMPTY};
    interrupt_hold(&run.interrupt);
    int status = make_reports(&run, ret, e);
    if (e->code != 0) {
        leave_word(&run, ret->signal, e);
        return status;
    }
    ret->plan = run.plan;
    run.plan = (struct plan){0};
    ret->kept = STEAL(run.kept);
    return status;
}
