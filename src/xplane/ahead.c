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
#define ROOM_TO_WAKE (BATCHES / 2) /* waking for each batch would cost more than decoding it */

struct batch {
    uint32_t count;
    struct xevent events[BATCH_EVENTS];
};

/* Batches [taken, made) are filled; the one before `taken` is the caller's until its next call.
 * Whoever decodes holds `decoding` instead of the lock. */
struct xahead {
    struct xmerge *merge;
    xahead_sift *sift;
    void *context;
    bool threaded;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t decoded; /* the caller waits for the batch that the thread is at */
    pthread_cond_t turn;    /* the thread waits: room, the caller's decoding, or to be stopped */
    uint64_t made, taken;
    bool decoding, ended, stopping;
    bool caller_waits, thread_waits;
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

/* The lock is held before and after, not meanwhile. */
static void decode_batch(struct xahead *ahead)
{
    struct batch *batch = batch_at(ahead, ahead->made);
    ahead->decoding = true;
    (void)pthread_mutex_unlock(&ahead->lock);
    batch->count = fill(ahead, batch);
    (void)pthread_mutex_lock(&ahead->lock);
    ahead->decoding = false;
    ahead->ended = batch->count == 0;
    ahead->made += !ahead->ended;
}

static bool has_room(const struct xahead *ahead, uint64_t batches)
{
    /* one batch is in the caller's hands */
    return ahead->made - ahead->taken + batches <= BATCHES - 1;
}

/* False where there is nothing left to do. */
static bool wait_for_turn(struct xahead *ahead)
{
    uint64_t wanted = 1;
    while (!ahead->stopping && !ahead->ended && (ahead->decoding || !has_room(ahead, wanted))) {
        wanted = ROOM_TO_WAKE;
        ahead->thread_waits = true;
        (void)pthread_cond_wait(&ahead->turn, &ahead->lock);
    }
    ahead->thread_waits = false;
    return !ahead->stopping && !ahead->ended;
}

static void *run(void *argument)
{
    struct xahead *ahead = argument;
    (void)pthread_mutex_lock(&ahead->lock);
    while (wait_for_turn(ahead)) {
        decode_batch(ahead);
        if (ahead->caller_waits)
            (void)pthread_cond_signal(&ahead->decoded);
    }
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
    ahead->decoding = ahead->ended = ahead->stopping = false;
    ahead->caller_waits = ahead->thread_waits = false;
    /* with default attributes none of these fails on Linux or macOS */
    (void)pthread_mutex_init(&ahead->lock, NULL);
    (void)pthread_cond_init(&ahead->decoded, NULL);
    (void)pthread_cond_init(&ahead->turn, NULL);
    ahead->threaded = bytes >= XAHEAD_BYTES_MIN && cores() > 1 &&
                      pthread_create(&ahead->thread, NULL, run, ahead) == 0;
    *ret_ahead = ahead;
    return 0;
}

uint32_t xahead_next(struct xahead *ahead, const struct xevent **ret_events)
{
    (void)pthread_mutex_lock(&ahead->lock);
    while (ahead->made == ahead->taken && !ahead->ended) {
        if (!ahead->decoding) {
            decode_batch(ahead); /* the thread is not there, or has not got a core yet */
            continue;
        }
        ahead->caller_waits = true;
        (void)pthread_cond_wait(&ahead->decoded, &ahead->lock);
        ahead->caller_waits = false;
    }
    const struct batch *batch = batch_at(ahead, ahead->taken);
    uint32_t count = ahead->made > ahead->taken ? batch->count : 0;
    ahead->taken += count > 0;
    /* now, so that it does not arrive while the caller decodes */
    if (ahead->thread_waits && has_room(ahead, ROOM_TO_WAKE))
        (void)pthread_cond_signal(&ahead->turn);
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
        (void)pthread_cond_signal(&ahead->turn);
        (void)pthread_mutex_unlock(&ahead->lock);
        (void)pthread_join(ahead->thread, NULL);
    }
    (void)pthread_cond_destroy(&ahead->turn);
    (void)pthread_cond_destroy(&ahead->decoded);
    (void)pthread_mutex_destroy(&ahead->lock);
    free(ahead);
}
