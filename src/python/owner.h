/* SPDX-License-Identifier: Apache-2.0 */
/* owner - the process's one slot for a running capture.
 *
 * The only state of this extension that belongs to the process: JAX has one trace a process,
 * however many copies of this module are loaded. It owns two short texts for error messages and no
 * Python object. The slot remembers the process that took it; a forked child finds it empty. Every
 * function is safe from any thread and never calls into Python or JAX.
 *
 *     free -> starting -> capturing -> stopping -> free
 *                  \________________________________^   a start that failed
 */
#ifndef DEW_PYTHON_OWNER_H
#define DEW_PYTHON_OWNER_H

#include <stdatomic.h>
#include <stdbool.h>

#include "base/cleanup.h"
#include "base/err.h"

/* 0 while no capture of ours traces in this process, else its serial. Cleared in a forked child by
 * a pthread_atfork handler, which the first owner_take() installs. Regions read it without the
 * lock. */
extern atomic_uint owner_capturing;

enum owner_phase { OWNER_FREE, OWNER_STARTING, OWNER_CAPTURING, OWNER_STOPPING };

/* Makes the lock; called while the module is being made. */
must_check int owner_init(struct err *e);

/* Takes the slot. Refused (ERR_USAGE) where it is taken: the text names the owner's folder and
 * since when. The serial is never 0 and never used twice in a process. */
must_check int owner_take(unsigned *ret_serial, struct err *e);

/* What owner_take() of another caller will say of this capture. */
void owner_describe(unsigned serial, const char *folder, const char *since);

/* starting -> capturing; regions are recorded from here on. */
void owner_capture_on(unsigned serial);

/* capturing -> stopping: true for exactly one caller. */
bool owner_begin_stop(unsigned serial);

/* Regions are recorded no more. */
void owner_capture_off(unsigned serial);

void owner_release(unsigned serial);

/* OWNER_FREE where the slot is not this serial's, or is another process's. */
enum owner_phase owner_phase_of(unsigned serial);

/* The process that this one was forked from while it held the slot, or 0. */
long owner_forked_from(void);

#endif
