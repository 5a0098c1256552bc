/* SPDX-License-Identifier: Apache-2.0 */
/* pool - fork, pipes, poll, signals. */
#include "cli/report/pool.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
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

static const int caught[POOL_SIGNALS] = {SIGINT, SIGTERM, SIGHUP, SIGPIPE};

/* Written to by the signal handler, which can be handed nothing; -1 while no pool is open. */
static int wake_up = -1;

static void note_signal(int number)
{
    int kept = errno;
    unsigned char byte = (unsigned char)number;
    (void)!write(wake_up, &byte, 1);
    errno = kept;
}

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

int pool_open(struct pool *pool, const struct worker_setup *setup, int64_t limit_ms, struct err *e)
{
    int ends[2];
    int result = make_pipe(ends, e);
    if (result != 0)
        return result;
    *pool = (struct pool){.setup = *setup, .limit_ms = limit_ms, .wake = ends[0]};
    wake_up = ends[1];
    for (int i = 0; i < POOL_SIGNALS; i++) {
        struct sigaction action = {.sa_handler = note_signal};
        (void)sigaction(caught[i], NULL, &pool->before[i]);
        /* A worker may be gone when it is given a job: that is noticed by its closed pipe. One who
         * had a signal ignored (nohup) wants it ignored here too. */
        if (caught[i] == SIGPIPE || pool->before[i].sa_handler == SIG_IGN)
            action.sa_handler = SIG_IGN;
        (void)sigaction(caught[i], &action, NULL);
    }
    return 0;
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
    (void)close(pool->wake);
    (void)close(wake_up);
}

static _Noreturn void child(const struct pool *pool, int jobs, int answers)
{
#ifdef __linux__
    /* A hung worker would not notice otherwise that its parent was killed. */
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
#endif
    for (int i = 0; i < POOL_SIGNALS; i++)
        (void)signal(caught[i], SIG_DFL);
    /* Ctrl-C reaches the whole process group; who ends when is the parent's decision. */
    (void)signal(SIGINT, SIG_IGN);
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

/* Fills `event` from the first worker that has something to say or is out of time. */
static bool look(struct pool *pool, const struct pollfd *ready, struct event *event)
{
    int64_t now = now_ms();
    for (unsigned i = 0; i < POOL_MAX; i++) {
        struct pool_worker *worker = &pool->workers[i];
        if (!worker->busy)
            continue;
        event->slot = i;
        event->pid = worker->pid;
        event->seconds = (double)(now - worker->since_ms) / 1000;
        if (ready[i].revents) {
            answered(worker, event);
            return true;
        }
        if (pool->limit_ms > 0 && now - worker->since_ms >= pool->limit_ms) {
            timed_out(pool, worker, event);
            return true;
        }
    }
    return false;
}

int pool_wait(struct pool *pool, struct event *ret, struct err *e)
{
    for (;;) {
        struct pollfd ready[POOL_MAX + 1];
        for (unsigned i = 0; i < POOL_MAX; i++)
            ready[i] = (struct pollfd){.fd = pool->workers[i].busy ? pool->workers[i].answers : -1,
                                       .events = POLLIN};
        ready[POOL_MAX] = (struct pollfd){.fd = pool->wake, .events = POLLIN};
        if (poll(ready, POOL_MAX + 1, time_left(pool, now_ms())) < 0 && errno != EINTR)
            return err_sys(e, errno, "cannot wait for the workers");
        unsigned char number;
        if (ready[POOL_MAX].revents && read(pool->wake, &number, 1) == 1) {
            ret->kind = EVENT_SIGNAL;
            ret->number = number;
            return 0;
        }
        if (look(pool, ready, ret))
            return 0;
    }
}

void pool_release(struct pool *pool)
{
    if (pool->wake < 0)
        return;
    for (unsigned i = 0; i < POOL_MAX; i++) {
        if (!pool->workers[i].pid)
            continue;
        (void)kill(pool->workers[i].pid, SIGKILL);
        (void)bury(&pool->workers[i]);
    }
    for (int i = 0; i < POOL_SIGNALS; i++)
        (void)sigaction(caught[i], &pool->before[i], NULL);
    (void)close(pool->wake);
    (void)close(wake_up);
    wake_up = -1;
    pool->wake = -1;
}
