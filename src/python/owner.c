/* SPDX-License-Identifier: Apache-2.0 */
/* owner - the one slot, its lock, and what a fork does to both. */
#include "python/owner.h"

#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

#include "python/py.h"

#include "base/banned.h"

#define FOLDER_MAX 512
#define SINCE_MAX 64

atomic_uint owner_capturing;

static struct {
    PyThread_type_lock lock;
    bool fork_handlers;
    enum owner_phase phase;
    unsigned serial; /* of the capture in the slot */
    unsigned last_serial;
    pid_t pid;         /* of the process that took the slot */
    pid_t forked_from; /* set in a child that was forked while the slot was taken */
    char folder[FOLDER_MAX];
    char since[SINCE_MAX];
} slot;

static void lock_slot(void)
{
    (void)PyThread_acquire_lock(slot.lock, WAIT_LOCK);
}

static void unlock_slot(void)
{
    PyThread_release_lock(slot.lock);
}

/* The lock is held over fork(), so that the child's copy is in a known state. */
static void before_fork(void)
{
    lock_slot();
}

static void after_fork_in_parent(void)
{
    unlock_slot();
}

static void clear_locked(void)
{
    slot.phase = OWNER_FREE;
    slot.serial = 0;
    slot.pid = 0;
    slot.folder[0] = '\0';
    slot.since[0] = '\0';
    atomic_store(&owner_capturing, 0);
}

static void after_fork_in_child(void)
{
    if (slot.phase != OWNER_FREE)
        slot.forked_from = slot.pid;
    clear_locked();
    unlock_slot();
}

/* A child made by a bare clone() has run no handler. */
static void check_process_locked(void)
{
    if (slot.phase != OWNER_FREE && slot.pid != getpid()) {
        slot.forked_from = slot.pid;
        clear_locked();
    }
}

int owner_init(struct err *e)
{
    if (!slot.lock)
        slot.lock = PyThread_allocate_lock();
    return slot.lock ? 0 : err_nomem(e);
}

static int take_locked(unsigned *ret_serial, struct err *e)
{
    check_process_locked();
    if (slot.phase != OWNER_FREE) {
        const char *doing = slot.phase == OWNER_STARTING    ? "is starting"
                            : slot.phase == OWNER_CAPTURING ? "is running"
                                                            : "is being stopped";
        if (slot.folder[0] == '\0')
            return err_set(e, ERR_USAGE,
                           "a capture of this process %s already; one can run at a time", doing);
        return err_set(e, ERR_USAGE,
                       "a capture of this process %s already, into '%s', since %s; stop it before "
                       "starting another",
                       doing, slot.folder, slot.since);
    }
    if (!slot.fork_handlers) {
        int number = pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
        if (number != 0)
            return err_sys(e, number, "cannot prepare for fork()");
        slot.fork_handlers = true;
    }
    if (++slot.last_serial == 0)
        slot.last_serial = 1;
    slot.phase = OWNER_STARTING;
    slot.serial = slot.last_serial;
    slot.pid = getpid();
    *ret_serial = slot.serial;
    return 0;
}

int owner_take(unsigned *ret_serial, struct err *e)
{
    lock_slot();
    int code = take_locked(ret_serial, e);
    unlock_slot();
    return code;
}

static bool holds_locked(unsigned serial)
{
    check_process_locked();
    return serial != 0 && slot.phase != OWNER_FREE && slot.serial == serial;
}

void owner_describe(unsigned serial, const char *folder, const char *since)
{
    lock_slot();
    if (holds_locked(serial)) {
        (void)snprintf(slot.folder, sizeof(slot.folder), "%s", folder);
        (void)snprintf(slot.since, sizeof(slot.since), "%s", since);
    }
    unlock_slot();
}

void owner_capture_on(unsigned serial)
{
    lock_slot();
    if (holds_locked(serial)) {
        slot.phase = OWNER_CAPTURING;
        atomic_store(&owner_capturing, serial);
    }
    unlock_slot();
}

bool owner_begin_stop(unsigned serial)
{
    lock_slot();
    bool won = holds_locked(serial) && slot.phase == OWNER_CAPTURING;
    if (won)
        slot.phase = OWNER_STOPPING;
    unlock_slot();
    return won;
}

void owner_capture_off(unsigned serial)
{
    lock_slot();
    if (holds_locked(serial))
        atomic_store(&owner_capturing, 0);
    unlock_slot();
}

void owner_release(unsigned serial)
{
    lock_slot();
    if (holds_locked(serial))
        clear_locked();
    unlock_slot();
}

enum owner_phase owner_phase_of(unsigned serial)
{
    lock_slot();
    enum owner_phase phase = holds_locked(serial) ? slot.phase : OWNER_FREE;
    unlock_slot();
    return phase;
}

long owner_forked_from(void)
{
    lock_slot();
    long pid = (long)slot.forked_from;
    unlock_slot();
    return pid;
}
