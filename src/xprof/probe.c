/* SPDX-License-Identifier: Apache-2.0 */
/* probe - a trial call in a process that may die of it.
 *
 * A C function's signature cannot be asked for: a version that added one parameter would read
 * garbage and crash, or write through it. One trial in a child costs some tens of milliseconds,
 * once a process, and only for versions that this source does not name yet. The child's verdict
 * comes through a pipe, not through its exit status: the caller may have SIGCHLD ignored, and then
 * nobody can ask for that. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "xprof/converter.h"
#include "xprof/scratch.h"

#include "base/banned.h"

#define PROBE_SECONDS 60
#define VERDICT_OK "ok\n"

extern char **environ;

/* An XSpace with one plane of id 1, and nothing in it. */
static const unsigned char tiny_capture[] = {0x0a, 0x02, 0x08, 0x01};

static int tool_names_of(const char *library, const char *capture, struct err *e)
{
    struct converter *converter; /* not released: this process ends, or keeps the library anyway */
    int result =
        converter_open(library, NULL, &(struct converter_how){.quiet = true}, &converter, e);
    if (result != 0)
        return result;
    CLEANUP(converter_names_release) struct converter_names names = {0};
    result = converter_tool_names(converter, (const char *const *)&capture, 1, &names, e);
    if (result != 0)
        return result;
    /* Every version seen offers this one for every capture. */
    for (size_t i = 0; i < names.count; i++)
        if (strcmp(names.names[i], "overview_page") == 0)
            return 0;
    return err_set(e, ERR_FOREIGN, "its list of tools lacks 'overview_page'");
}

int converter_probe_here(const char *library, const char *folder, struct err *e)
{
    CLEANUP(cleanup_free) char *capture = path_join(folder, "probe.xplane.pb");
    if (!capture)
        return err_nomem(e);
    int result = file_replace(capture, view_of(tiny_capture, sizeof(tiny_capture)), e);
    return result != 0 ? result : tool_names_of(library, capture, e);
}

int converter_probe_report(int fd, int code, const struct err *e)
{
    const char *text = code == 0 ? VERDICT_OK : e->text;
    /* One write below PIPE_BUF: it is there whole or not at all. */
    ssize_t put = write(fd, text, strlen(text));
    return code == 0 && put == (ssize_t)strlen(text) ? 0 : 1;
}

static int64_t now_ms(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* All that the child says until it closes the pipe; -1 where that takes too long. */
static ssize_t read_verdict(int fd, char *text, size_t room)
{
    int64_t deadline = now_ms() + (int64_t)PROBE_SECONDS * 1000;
    size_t filled = 0;
    for (;;) {
        int64_t left = deadline - now_ms();
        struct pollfd ready = {.fd = fd, .events = POLLIN};
        int count = left > 0 ? poll(&ready, 1, (int)left) : 0;
        if (count < 0 && errno == EINTR)
            continue;
        if (count <= 0)
            return -1;
        ssize_t got = read(fd, text + filled, room - 1 - filled);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0 || filled + (size_t)got == room - 1) {
            filled += got > 0 ? (size_t)got : 0;
            text[filled] = '\0';
            return (ssize_t)filled;
        }
        filled += (size_t)got;
    }
}

/* Waits for the child, and makes its end a result. */
static int verdict(const char *library, pid_t child, int fd, struct err *e)
{
    char text[ERR_TEXT_MAX];
    ssize_t size = read_verdict(fd, text, sizeof(text));
    if (size < 0)
        (void)kill(child, SIGKILL);
    int status = 0;
    pid_t ended;
    do
        ended = waitpid(child, &status, 0);
    while (ended < 0 && errno == EINTR);
    if (size < 0)
        return err_set(e, ERR_FOREIGN, "'%s' did not answer in %d seconds", library, PROBE_SECONDS);
    if (strcmp(text, VERDICT_OK) == 0)
        return 0;
    if (size > 0)
        return err_set(e, ERR_FOREIGN, "%s", text);
    if (ended == child && WIFSIGNALED(status))
        return err_set(e, ERR_FOREIGN, "'%s' crashed (%s)", library, strsignal(WTERMSIG(status)));
    return err_set(e, ERR_FOREIGN, "'%s' ended its process without an answer", library);
}

static int open_pipe(int *ret_read, int *ret_write, struct err *e)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0)
        return err_sys(e, errno, "cannot make a pipe to try xprof's library");
    *ret_read = ends[0];
    *ret_write = ends[1];
    return 0;
}

static _Noreturn void probe_child(const char *library, const char *folder, int fd)
{
    /* The library's own log says nothing about the verdict. */
    int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
    if (null >= 0)
        (void)dup2(null, STDERR_FILENO);
    struct err e = {0};
    int code = converter_probe_here(library, folder, &e);
    /* Not exit(): handlers registered by the parent are none of the child's business. */
    _exit(converter_probe_report(fd, code, &e));
}

int converter_probe_forked(const char *library, void *context, struct err *e)
{
    (void)context;
    CLEANUP(scratch_release) struct scratch scratch = {0};
    CLEANUP(cleanup_close) int read_end = -1;
    CLEANUP(cleanup_close) int write_end = -1;
    int result = scratch_make(NULL, NULL, 0, &scratch, e);
    if (result == 0)
        result = open_pipe(&read_end, &write_end, e);
    if (result != 0)
        return result;
    pid_t child = fork();
    if (child < 0)
        return err_sys(e, errno, "cannot start a process to try xprof's library");
    if (child == 0)
        probe_child(library, scratch.folder, write_end);
    (void)close(write_end);
    write_end = -1;
    return verdict(library, child, read_end, e);
}

int converter_probe_spawned(const char *library, char *const argv[], struct err *e)
{
    CLEANUP(cleanup_close) int read_end = -1;
    CLEANUP(cleanup_close) int write_end = -1;
    int result = open_pipe(&read_end, &write_end, e);
    if (result != 0)
        return result;
    posix_spawn_file_actions_t actions;
    if (posix_spawn_file_actions_init(&actions) != 0)
        return err_nomem(e);
    pid_t child;
    int number = posix_spawn_file_actions_adddup2(&actions, write_end, STDOUT_FILENO);
    if (number == 0)
        number =
            posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    if (number == 0)
        number = posix_spawn(&child, argv[0], &actions, NULL, argv, environ);
    (void)posix_spawn_file_actions_destroy(&actions);
    if (number != 0)
        return err_sys(e, number, "cannot start '%s' to try xprof's library", argv[0]);
    (void)close(write_end);
    write_end = -1;
    return verdict(library, child, read_end, e);
}
