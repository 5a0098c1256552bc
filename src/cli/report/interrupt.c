/* SPDX-License-Identifier: Apache-2.0 */
/* interrupt - a mask, a handler that notes, ppoll. */
#include "cli/report/interrupt.h"

#include <errno.h>
#include <time.h>

#include "base/banned.h"

static const int numbers[INTERRUPTS] = {SIGINT, SIGTERM, SIGHUP};

static volatile sig_atomic_t came;

static void note_signal(int number)
{
    came = number;
}

void interrupt_hold(struct interrupt *ret)
{
    sigset_t mask;
    (void)sigemptyset(&mask);
    for (int i = 0; i < INTERRUPTS; i++)
        (void)sigaddset(&mask, numbers[i]);
    (void)sigprocmask(SIG_BLOCK, &mask, &ret->mask);
    came = 0;
    for (int i = 0; i < INTERRUPTS; i++) {
        const struct sigaction action = {.sa_handler = note_signal};
        (void)sigaction(numbers[i], NULL, &ret->actions[i]);
        if (ret->actions[i].sa_handler != SIG_IGN)
            (void)sigaction(numbers[i], &action, NULL);
    }
    ret->held = true;
}

int interrupt_poll(const struct interrupt *interrupt, struct pollfd *files, nfds_t count,
                   int timeout_ms, int *ret_signal, struct err *e)
{
    const struct timespec timeout = {.tv_sec = timeout_ms / 1000,
                                     .tv_nsec = (long)(timeout_ms % 1000) * 1000000};
    int ready = ppoll(files, count, timeout_ms < 0 ? NULL : &timeout, &interrupt->mask);
    if (ready < 0 && errno != EINTR)
        return err_sys(e, errno, "cannot wait for the workers");
    for (nfds_t i = 0; ready < 0 && i < count; i++)
        files[i].revents = 0; /* not filled where a signal came */
    *ret_signal = came;
    came = 0;
    return 0;
}

void interrupt_release(struct interrupt *interrupt)
{
    if (!interrupt->held)
        return;
    for (int i = 0; i < INTERRUPTS; i++)
        (void)sigaction(numbers[i], &interrupt->actions[i], NULL);
    (void)sigprocmask(SIG_SETMASK, &interrupt->mask, NULL);
    interrupt->held = false;
}
