/* SPDX-License-Identifier: Apache-2.0 */
/* ahead - a ring of batches between two threads. */
#include "xplane/ahead.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/banned.h"

#define BATCHES 8
#define BATCH_EVENTS 2048
#define BATCHES_TO_WAKE (BATCHES / 2) /* waking for each batch would cost more than decoding it */

struct batch {
    uint32_t count;
    struct xevent events[BATCH_EVENTS];
};

/* Batches [taken, made) are filled; the one before `taken` is the caller's until its next call. */
struct xahead {
    struct xmerge *merge;
    xahead_sift *sift;
    void *context;
    bool threaded;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t more;  /* the caller waits: batches or the end */
    pthread_cond_t space; /* the thread waits: room, or to be stopped */
    uint64_t made, taken;
    bool ended, stopping;
    bool wants_more, wants_space;
    struct batch batches[BATCHES];
};

static struct batch *batch_at(struct xahead *ahead, uint64_t number)
{
    return &ahead->batches[number % BATCHES];
}

/* Until half of the batch is full or the merge is at its end. */
static uint32_t fill(struct xahead *ahead, struct batch *batch)
{
    uint32_t count = 0, n;
    while (count <= BATCH_EVENTS / 2 &&
           (n = xmerge_take(ahead->merge, batch->events + count, BATCH_EVENTS - count)) > 0)
        count += ahead->sift ? ahead->sift(ahead->context, batch->events + count, n) : n;
    return count;
}

/* Waits for room; false where the caller stops. */
static bool wait_for_space(struct xahead *ahead)
{
    /* one batch is in the caller's hands */
    if (ahead->made - ahead->taken == BATCHES - 1) {
        while (!ahead->stopping && ahead->made - ahead->taken > BATCHES - 1 - BATCHES_TO_WAKE) {
            ahead->wants_space = true;
            (void)pthread_cond_wait(&ahead->space, &ahead->lock);
        }
        ahead->wants_space = false;
    }
    return !ahead->stopping;
}

static void *decode(void *argument)
{
    struct xahead *ahead = argument;
    (void)pthread_mutex_lock(&ahead->lock);
    while (wait_for_space(ahead)) {
        struct batch *batch = batch_at(ahead, ahead->made);
        (void)pthread_mutex_unlock(&ahead->lock);
        batch->count = fill(ahead, batch);
        (void)pthread_mutex_lock(&ahead->lock);
        if (batch->count == 0)
            break;
        ahead->made++;
        if (ahead->wants_more && ahead->made - ahead->taken >= BATCHES_TO_WAKE)
            (void)pthread_cond_signal(&ahead->more);
    }
    ahead->ended = true;
    (void)pthread_cond_signal(&ahead->more);
    (void)pthread_mutex_unlock(&ahead->lock);
    return NULL;
}

static unsigned cores(void)
{
#ifdef __linux__
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof(set), &set) == 0)
        return (unsigned)CPU_COUNT(&set);
#endif
    long n = sysconf(_SC_NPROCESSORS_ONLN);
    return n > 0 ? (unsigned)n : 1;
}

int xahead_start(struct xahead **ret_ahead, struct xmerge *merge, uint64_t bytes, xahead_sift *sift,
                 void *context, struct err *e)
{
    struct xahead *ahead = malloc(sizeof(*ahead));
    if (!ahead)
        return err_nomem(e);
    ahead->merge = merge;
    ahead->sift = sift;
    ahead->context = context;
    ahead->made = ahead->taken = 0;
    ahead->ended = ahead->stopping = ahead->wants_more = ahead->wants_space = false;
    ahead->threaded = false;
    *ret_ahead = ahead;
    if (bytes < XAHEAD_BYTES_MIN || cores() < 2)
        return 0;
    /* with default attributes neither fails on Linux or macOS */
    (void)pthread_mutex_init(&ahead->lock, NULL);
    (void)pthread_cond_init(&ahead->more, NULL);
    (void)pthread_cond_init(&ahead->space, NULL);
    ahead->threaded = pthread_create(&ahead->thread, NULL, decode, ahead) == 0;
    return 0;
}

static void wait_for_more(struct xahead *ahead)
{
    while (!ahead->ended && ahead->made - ahead->taken < BATCHES_TO_WAKE) {
        ahead->wants_more = true;
        (void)pthread_cond_wait(&ahead->more, &ahead->lock);
    }
    ahead->wants_more = false;
}

uint32_t xahead_next(struct xahead *ahead, const struct xevent **ret_events)
{
    if (!ahead->threaded) {
        *ret_events = ahead->batches[0].events;
        return fill(ahead, &ahead->batches[0]);
    }
    (void)pthread_mutex_lock(&ahead->lock);
    if (ahead->wants_space && ahead->made - ahead->taken <= BATCHES - 1 - BATCHES_TO_WAKE)
        (void)pthread_cond_signal(&ahead->space);
    if (ahead->made == ahead->taken)
        wait_for_more(ahead);
    struct batch *batch = batch_at(ahead, ahead->taken);
    uint32_t count = ahead->made > ahead->taken ? batch->count : 0;
    ahead->taken += count > 0;
    (void)pthread_mutex_unlock(&ahead->lock);
    *ret_events = batch->events;
    return count;
}

void xahead_stop(struct xahead *ahead)
{
    if (!ahead)
        return;
    if (ahead->threaded) {
        (void)pthread_mutex_lock(&ahead->lock);
        ahead->stopping = true;
        (void)pthread_cond_signal(&ahead->space);
        (void)pthread_mutex_unlock(&ahead->lock);
        (void)pthread_join(ahead->thread, NULL);
        (void)pthread_cond_destroy(&ahead->space);
        (void)pthread_cond_destroy(&ahead->more);
        (void)pthread_mutex_destroy(&ahead->lock);
    }
    free(ahead);
}
