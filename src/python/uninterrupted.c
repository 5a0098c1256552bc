/* SPDX-License-Identifier: Apache-2.0 */
/* uninterrupted - a thread for one piece of work. */
#include "python/uninterrupted.h"

#include <pthread.h>
#include <signal.h>

#include "base/banned.h"

struct piece {
    void (*work)(void *context);
    void *context;
};

static void *run(void *argument)
{
    struct piece *piece = argument;
    PyGILState_STATE state = PyGILState_Ensure();
    piece->work(piece->context);
    PyGILState_Release(state);
    return NULL;
}

void uninterrupted(void (*work)(void *context), void *context)
{
    struct piece piece = {.work = work, .context = context};
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
    Py_BEGIN_ALLOW_THREADS(void)
    pthread_join(thread, NULL);
    Py_END_ALLOW_THREADS
}
