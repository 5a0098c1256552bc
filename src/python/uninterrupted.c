/* SPDX-License-Identifier: Apache-2.0 */
/* uninterrupted - a thread for one piece of work. */
#include "python/uninterrupted.h"

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>

#include "base/banned.h"

struct piece {
    void (*work)(void *context);
    void *context;
    pthread_mutex_t lock;
    pthread_cond_t turn;
    void (*part)(void *context); /* for the waiting thread; NULL when it is done */
    void *part_context;
    bool ended;
};

/* What this thread is at, where it is one of ours. */
static _Thread_local struct piece *at;

static void *run(void *argument)
{
    struct piece *piece = at = argument;
    PyGILState_STATE state = PyGILState_Ensure();
    piece->work(piece->context);
    PyGILState_Release(state);
    (void)pthread_mutex_lock(&piece->lock);
    piece->ended = true;
    (void)pthread_cond_signal(&piece->turn);
    (void)pthread_mutex_unlock(&piece->lock);
    return NULL;
}

/* Without the interpreter lock, but for what is to be done here. */
static void wait_for(struct piece *piece, PyThreadState *ours)
{
    (void)pthread_mutex_lock(&piece->lock);
    while (!piece->ended) {
        if (!piece->part) {
            (void)pthread_cond_wait(&piece->turn, &piece->lock);
            continue;
        }
        (void)pthread_mutex_unlock(&piece->lock);
        PyEval_RestoreThread(ours);
        piece->part(piece->part_context);
        ours = PyEval_SaveThread();
        (void)pthread_mutex_lock(&piece->lock);
        piece->part = NULL;
        (void)pthread_cond_signal(&piece->turn);
    }
    (void)pthread_mutex_unlock(&piece->lock);
}

void uninterrupted_aside(void (*part)(void *context), void *context)
{
    struct piece *piece = at;
    if (!piece) {
        part(context);
        return;
    }
    Py_BEGIN_ALLOW_THREADS(void)
    pthread_mutex_lock(&piece->lock);
    piece->part_context = context;
    piece->part = part;
    (void)pthread_cond_signal(&piece->turn);
    while (piece->part)
        (void)pthread_cond_wait(&piece->turn, &piece->lock);
    (void)pthread_mutex_unlock(&piece->lock);
    Py_END_ALLOW_THREADS
}

void uninterrupted(void (*work)(void *context), void *context)
{
    struct piece piece = {
        .work = work,
        .context = context,
        .lock = PTHREAD_MUTEX_INITIALIZER,
        .turn = PTHREAD_COND_INITIALIZER,
    };
    pthread_t thread;
    sigset_t all, before;
    (void)sigfillset(&all);
    /* The system's signals stay with the program's own threads too. */
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    int number = pthread_create(&thread, NULL, run, &piece);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (number != 0) {
        work(context);
        return;
    }
    PyThreadState *ours = PyEval_SaveThread();
    wait_for(&piece, ours);
    (void)pthread_join(thread, NULL);
    PyEval_RestoreThread(ours);
}
