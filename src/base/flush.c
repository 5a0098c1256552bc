/* SPDX-License-Identifier: Apache-2.0 */
/* flush - fsync in a thread of its own. */
#include "base/flush.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/banned.h"

struct flush {
    struct file_unflushed unflushed;
    pthread_t thread;
    pid_t process; /* that the thread runs in */
};

static void flush_now(struct file_unflushed unflushed)
{
    (void)fsync(unflushed.file);
    (void)fsync(unflushed.folder);
}

static void release(struct file_unflushed unflushed)
{
    (void)close(unflushed.file);
    (void)close(unflushed.folder);
}

static void *flush_run(void *flush)
{
    flush_now(((struct flush *)flush)->unflushed);
    return NULL;
}

/* Signals are for the program's own threads. */
static int start_thread(struct flush *flush)
{
    sigset_t all, before;
    (void)sigfillset(&all);
    if (pthread_sigmask(SIG_SETMASK, &all, &before) != 0)
        return -1;
    int number = pthread_create(&flush->thread, NULL, flush_run, flush);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    return number == 0 ? 0 : -1;
}

struct flush *flush_begin(struct file_unflushed unflushed)
{
    CLEANUP(cleanup_free) struct flush *flush = malloc(sizeof(*flush));
    if (flush) {
        *flush = (struct flush){.unflushed = unflushed, .process = getpid()};
        if (start_thread(flush) == 0)
            return STEAL(flush);
    }
    flush_now(unflushed);
    release(unflushed);
    return NULL;
}

void flush_end(struct flush *flush)
{
    if (!flush)
        return;
    if (flush->process == getpid())
        (void)pthread_join(flush->thread, NULL);
    release(flush->unflushed);
    free(flush);
}
