/* SPDX-License-Identifier: Apache-2.0 */
/* pool - fork, pipes, poll. */
#include "cli/report/pool.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#ifdef __linux__
#include <sys/prctl.h>
#endif

#include "base/banned.h"

static int64_t now_ms(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static int make_pipe(int ends[2], struct err *e)
{
    if (pipe2(ends, O_CLOEXEC) != 0)
        return err_sys(e, errno, "cannot make a pipe to a worker");
    return 0;
}

void pool_open(struct pool *pool, const struct worker_setup *setup, int64_t limit_ms,
               const struct interrupt *interrupt)
{
    *pool =
        (struct pool){.setup = *setup, .limit_ms = limit_ms, .interrupt = interrupt, .open = true};
    /* A worker may be gone when it is given a job: that is noticed by its closed pipe. */
    const struct sigaction ignore = {.sa_handler = SIG_IGN};
    (void)sigaction(SIGPIPE, &ignore, &pool->sigpipe);
}

/* The child keeps its own two pipe ends and the log. Were it to hold the ends of its siblings, they
 * would not notice the end of this program. */
static void close_siblings(const struct pool *pool)
{
    for (unsigned i = 0; i < POOL_MAX; i++) {
        if (!pool->workers[i].pid)
            continue;
        (void)close(pool->workers[i].jobs);
        (void)close(pool->workers[i].answers);
    }
}

static _Noreturn void child(const struct pool *pool, int jobs, int answers)
{
#ifdef __linux__
    /* A hung worker would not notice otherwise that its parent was killed. */
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
#endif
    /* Ctrl-C reaches the whole process group; who ends when is the parent's decision. */
    struct interrupt interrupt = *pool->interrupt;
    interrupt_release(&interrupt);
    (void)signal(SIGINT, SIG_IGN);
    (void)signal(SIGPIPE, SIG_DFL);
    (void)signal(SIGBUS, SIG_DFL);
    /* A crash is expected and reported; its core file would only lie about. */
    const struct rlimit none = {0, 0};
    (void)setrlimit(RLIMIT_CORE, &none);
    close_siblings(pool);
    worker_run(&pool->setup, jobs, answers);
}

static int start(struct pool *pool, struct pool_worker *worker, struct err *e)
{
    int jobs[2];
    int answers[2];
    int result = make_pipe(jobs, e);
    if (result != 0)
        return result;
    result = make_pipe(answers, e);
    pid_t pid = result == 0 ? fork() : -1;
    if (pid == 0) {
        (void)close(jobs[1]);
        (void)close(answers[0]);
        child(pool, jobs[0], answers[1]);
    }
    int number = errno;
    (void)close(jobs[0]);
    if (result != 0) {
        (void)close(jobs[1]);
        return result;
    }
    (void)close(answers[1]);
    if (pid < 0) {
        (void)close(jobs[1]);
        (void)close(answers[0]);
        return err_sys(e, number, "cannot start a worker");
    }
    *worker = (struct pool_worker){.pid = pid, .jobs = jobs[1], .answers = answers[0]};
    return 0;
}

int pool_give(struct pool *pool, unsigned slot, const struct job *job, struct err *e)
{
    struct pool_worker *worker = &pool->workers[slot];
    int result = worker->pid ? 0 : start(pool, worker, e);
    if (result != 0)
        return result;
    worker->busy = true;
    worker->since_ms = now_ms();
    ssize_t put;
    do
        put = write(worker->jobs, job, sizeof(*job));
    while (put < 0 && errno == EINTR);
    if (put < 0 && errno != EPIPE) /* a dead worker is an event of pool_wait() */
        return err_sys(e, errno, "cannot give a worker its job");
    return 0;
}

/* Its exit status; it is dead or about to be. */
static int bury(struct pool_worker *worker)
{
    (void)close(worker->jobs);
    (void)close(worker->answers);
    int status = 0;
    pid_t ended;
    do
        ended = waitpid(worker->pid, &status, 0);
    while (ended < 0 && errno == EINTR);
    *worker = (struct pool_worker){0};
    return ended < 0 ? 0 : status;
}

static void died(struct pool_worker *worker, struct event *event)
{
    event->kind = EVENT_DIED;
    /* A closed pipe is no proof that the process ends. */
    (void)kill(worker->pid, SIGKILL);
    int status = bury(worker);
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL)
        (void)snprintf(event->text, sizeof(event->text),
                       "the converter's process was killed by signal %d (%s); the system may have "
                       "run out of memory",
                       SIGKILL, strsignal(SIGKILL));
    else if (WIFSIGNALED(status))
        (void)snprintf(event->text, sizeof(event->text), "the converter crashed by signal %d (%s)",
                       WTERMSIG(status), strsignal(WTERMSIG(status)));
    else
        (void)snprintf(event->text, sizeof(event->text),
                       "the converter ended its process with status %d", WEXITSTATUS(status));
}

static void timed_out(const struct pool *pool, struct pool_worker *worker, struct event *event)
{
    event->kind = EVENT_DIED;
    (void)kill(worker->pid, SIGKILL);
    (void)bury(worker);
    (void)snprintf(event->text, sizeof(event->text),
                   "timeout: not done after %lld s (--timeout allows more)",
                   (long long)(pool->limit_ms / 1000));
}

static void answered(struct pool_worker *worker, struct event *event)
{
    ssize_t got;
    do
        got = read(worker->answers, &event->answer, sizeof(event->answer));
    while (got < 0 && errno == EINTR);
    if (got != (ssize_t)sizeof(event->answer)) {
        died(worker, event);
        return;
    }
    event->kind = EVENT_ANSWER;
    if (event->answer.size > ANSWER_TEXT_MAX)
        event->answer.size = ANSWER_TEXT_MAX;
    worker->busy = false;
    if (event->answer.unopened)
        (void)bury(worker);
}

/* Milliseconds until the first busy worker is out of time; -1 for never. */
static int time_left(const struct pool *pool, int64_t now)
{
    int64_t least = -1;
    for (unsigned i = 0; pool->limit_ms > 0 && i < POOL_MAX; i++) {
        const struct pool_worker *worker = &pool->workers[i];
        if (!worker->busy)
            continue;
        int64_t left = worker->since_ms + pool->limit_ms - now;
        left = left < 0 ? 0 : left;
        least = least < 0 || left < least ? left : least;
    }
    return least > INT_MAX ? INT_MAX : (int)least;
}

/* Fills `event` from the worker in this slot, if it has something to say or is out of time. */
static bool look(struct pool *pool, unsigned slot, bool ready, int64_t now, struct event *event)
{
    struct pool_worker *worker = &pool->workers[slot];
    bool late = pool->limit_ms > 0 && now - worker->since_ms >= pool->limit_ms;
    if (!ready && !late)
        return false;
    event->slot = slot;
    event->pid = worker->pid;
    event->seconds = (double)(now - worker->since_ms) / 1000;
    if (ready)
        answered(worker, event);
    else
        timed_out(pool, worker, event);
    return true;
}

int pool_wait(struct pool *pool, struct event *ret, struct err *e)
{
    for (;;) {
        /* Only those in use: poll() takes no more places than files may be open. */
        struct pollfd ready[POOL_MAX];
        unsigned slots[POOL_MAX];
        nfds_t count = 0;
        for (unsigned i = 0; i < POOL_MAX; i++) {
            if (!pool->workers[i].busy)
                continue;
            slots[count] = i;
            ready[count++] = (struct pollfd){.fd = pool->workers[i].answers, .events = POLLIN};
        }
        int number;
        int result =
            interrupt_poll(pool->interrupt, ready, count, time_left(pool, now_ms()), &number, e);
        if (result != 0)
            return result;
        if (number != 0) {
            ret->kind = EVENT_SIGNAL;
            ret->number = number;
            return 0;
        }
        int64_t now = now_ms();
        for (nfds_t i = 0; i < count; i++)
            if (look(pool, slots[i], ready[i].revents != 0, now, ret))
                return 0;
    }
}

void pool_release(struct pool *pool)
{
    if (!pool->open)
        return;
    for (unsigned i = 0; i < POOL_MAX; i++) {
        if (!pool->workers[i].pid)
            continue;
        (void)kill(pool->workers[i].pid, SIGKILL);
        (void)bury(&pool->workers[i]);
    }
    (void)sigaction(SIGPIPE, &pool->sigpipe, NULL);
    pool->open = false;
}
