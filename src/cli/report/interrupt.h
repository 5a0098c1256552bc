/* SPDX-License-Identifier: Apache-2.0 */
/* interrupt - the signals that ask a run to end: SIGINT, SIGTERM, SIGHUP.
 *
 * They are held back all the time but while the run waits, so that none of them can come between
 * making something temporary and remembering it, nor while it is cleared away. One that came
 * meanwhile is noticed at the next wait, or takes its effect when they are let go. A signal that
 * was ignored before (nohup) stays ignored. One of these at a time in a process. */
#ifndef DEW_CLI_REPORT_INTERRUPT_H
#define DEW_CLI_REPORT_INTERRUPT_H

#include <poll.h>
#include <signal.h>
#include <stdbool.h>

#include "base/err.h"

#define INTERRUPTS 3

struct interrupt {
    bool held;
    sigset_t mask; /* before */
    struct sigaction actions[INTERRUPTS];
};

void interrupt_hold(struct interrupt *ret);

/* As poll(), and the signals come through meanwhile. *ret_signal is the one that came, or 0. */
must_check int interrupt_poll(const struct interrupt *interrupt, struct pollfd *files, nfds_t count,
                              int timeout_ms, int *ret_signal, struct err *e);

/* Everything as before; a signal that was held back now takes its effect. Takes an empty (zeroed)
 * one too. Also what a child does first. */
void interrupt_release(struct interrupt *interrupt);

#endif
