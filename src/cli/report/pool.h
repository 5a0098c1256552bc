/* SPDX-License-Identifier: Apache-2.0 */
/* pool - the workers: started, given jobs, waited for, ended.
 *
 * Owns their processes and pipes. A signal that asks for an end (interrupt.h) comes out as an
 * event. A worker that dies or takes too long is an event too; it is never
 * waited for beyond that. Knows nothing of reports. */
#ifndef DEW_CLI_REPORT_POOL_H
#define DEW_CLI_REPORT_POOL_H

#include <signal.h>
#include <sys/types.h>

#include "base/err.h"
#include "cli/report/interrupt.h"
#include "cli/report/worker.h"

#define POOL_MAX 16

struct pool_worker {
    pid_t pid; /* 0: none */
    int jobs;
    int answers;
    bool busy;
    int64_t since_ms; /* when it got its job */
};

struct pool {
    struct worker_setup setup;
    int64_t limit_ms; /* for one job; 0: none */
    struct pool_worker workers[POOL_MAX];
    const struct interrupt *interrupt; /* borrowed: held while the pool is open */
    struct sigaction sigpipe;          /* before */
    bool open;
};

enum event_kind {
    EVENT_ANSWER,
    EVENT_DIED,   /* `text` says of what; the worker is gone */
    EVENT_SIGNAL, /* `number` says which; the workers are still there */
};

struct event {
    enum event_kind kind;
    unsigned slot;
    pid_t pid; /* of the worker */
    int number;
    double seconds;
    struct answer answer;
    char text[256];
};

void pool_open(struct pool *pool, const struct worker_setup *setup, int64_t limit_ms,
               const struct interrupt *interrupt);

/* Starts a worker in the slot if there is none, and gives it the job. It must not be busy. */
must_check int pool_give(struct pool *pool, unsigned slot, const struct job *job, struct err *e);

/* Waits until something happened to a busy worker, or a signal came. */
must_check int pool_wait(struct pool *pool, struct event *ret, struct err *e);

/* Ends all workers at once. Takes an empty (zeroed) pool, one that was never opened, too. */
void pool_release(struct pool *pool);

#endif
