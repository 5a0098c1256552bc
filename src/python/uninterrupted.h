/* SPDX-License-Identifier: Apache-2.0 */
/* uninterrupted - work that has to be finished, whatever the program's signal handlers do.
 *
 * Python runs signal handlers in the main thread, in between any two steps of Python code, and what
 * a handler raises (KeyboardInterrupt, or the TimeoutError of a deadline) comes out of that code.
 * The program may also stand near its recursion limit. Neither reaches a thread of its own. */
#ifndef DEW_PYTHON_UNINTERRUPTED_H
#define DEW_PYTHON_UNINTERRUPTED_H

#include "python/py.h"

/* Runs work(context) in such a thread, with the interpreter lock, and waits for its end without.
 * Called with the lock and no exception set; `work` must leave none set. Where no thread can be had
 * it runs here. */
void uninterrupted(void (*work)(void *context), void *context);

/* For such work: runs part(context) in the thread that waits for it, with the interpreter lock, and
 * returns when it has ended. `part` runs no Python code, or it would be interrupted there.
 *
 * A new thread gets an arena of the allocator of its own, and none of the memory that the program
 * freed before. What allocates by the hundred MiB belongs into the thread that was there before. */
void uninterrupted_aside(void (*part)(void *context), void *context);

#endif
