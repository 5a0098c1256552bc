/* SPDX-License-Identifier: Apache-2.0 */
/* background - fork, setsid, /dev/null. */
#include "cli/report/background.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/banned.h"

int background_go(struct err *e)
{
    pid_t pid = fork();
    if (pid < 0)
        return err_sys(e, errno, "cannot start a process");
    if (pid > 0)
        _exit(0);
    (void)setsid();
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    for (int fd = STDIN_FILENO; null >= 0 && fd <= STDERR_FILENO; fd++)
        (void)dup2(null, fd);
    if (null > STDERR_FILENO)
        (void)close(null);
    return 0;
}
