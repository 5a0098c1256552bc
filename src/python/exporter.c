/* SPDX-License-Identifier: Apache-2.0 */
/* exporter - starting the child, waiting for it, ending it. */
#include "python/exporter.h"

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

#include "base/banned.h"

extern char **environ;

#define LOOK_EVERY_MS 50     /* at the signals, while the child runs */
#define END_PATIENCE_MS 2000 /* between SIGTERM and SIGKILL */
#define WORDS_MAX 2048       /* the last of what the child says is kept */

struct child {
    pid_t pid;
    int stderr_fd;
    int status; /* as waitpid() gave it, once it ended */
    bool status_known;
    size_t size;
    char words[WORDS_MAX];
};

static int raise_sys(int number, const char *what)
{
    struct err e;
    (void)err_sys(&e, number, "%s", what);
    exception_from_err(PyExc_OSError, &e);
    return -1;
}

/* The program ignores and blocks what suits it; the child starts with nothing of that. */
static int set_attributes(posix_spawnattr_t *attributes)
{
    sigset_t none, fresh;
    (void)sigemptyset(&none);
    (void)sigemptyset(&fresh);
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGPIPE, SIGCHLD, SIGQUIT};
    for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
        (void)sigaddset(&fresh, signals[i]);
    int number = posix_spawnattr_setflags(
        attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    if (number == 0)
        number = posix_spawnattr_setpgroup(attributes, 0);
    if (number == 0)
        number = posix_spawnattr_setsigmask(attributes, &none);
    return number ? number : posix_spawnattr_setsigdefault(attributes, &fresh);
}

static int set_actions(posix_spawn_file_actions_t *actions, int stderr_fd)
{
    int number = posix_spawn_file_actions_addopen(actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    if (number == 0)
        number = posix_spawn_file_actions_addopen(actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    if (number == 0)
        number = posix_spawn_file_actions_adddup2(actions, stderr_fd, STDERR_FILENO);
#ifdef HAVE_SPAWN_CLOSEFROM
    if (number == 0)
        number = posix_spawn_file_actions_addclosefrom_np(actions, STDERR_FILENO + 1);
#endif
    return number;
}

static int spawn_with(char *const argv[], int stderr_fd, pid_t *ret_pid)
{
    posix_spawnattr_t attributes;
    posix_spawn_file_actions_t actions;
    int number = posix_spawnattr_init(&attributes);
    if (number != 0)
        return number;
    number = posix_spawn_file_actions_init(&actions);
    if (number == 0) {
        number = set_attributes(&attributes);
        if (number == 0)
            number = set_actions(&actions, stderr_fd);
        if (number == 0)
            number = posix_spawn(ret_pid, argv[0], &actions, &attributes, argv, environ);
        (void)posix_spawn_file_actions_destroy(&actions);
    }
    (void)posix_spawnattr_destroy(&attributes);
    return number;
}

static int start(struct child *child, char *const argv[])
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0)
        return raise_sys(errno, "cannot make a pipe for the report program");
    (void)fcntl(ends[0], F_SETFL, O_NONBLOCK);
    int number = spawn_with(argv, ends[1], &child->pid);
    (void)close(ends[1]);
    if (number == 0) {
        child->stderr_fd = ends[0];
        return 0;
    }
    (void)close(ends[0]);
    struct err e;
    (void)err_sys(&e, number, "cannot start '%s'", argv[0]);
    exception_from_err(PyExc_OSError, &e);
    return -1;
}

/* Keeps the tail: the last lines say why it ended. */
static void hear(struct child *child)
{
    char chunk[1024];
    ssize_t got;
    while ((got = read(child->stderr_fd, chunk, sizeof(chunk))) > 0) {
        size_t size = (size_t)got;
        size_t room = sizeof(child->words) - child->size;
        if (size > room) {
            size_t drop = size - room;
            memmove(child->words, child->words + drop, child->size - drop);
            child->size -= drop;
        }
        memcpy(child->words + child->size, chunk, size);
        child->size += size;
    }
    if (got == 0) {
        (void)close(child->stderr_fd);
        child->stderr_fd = -1;
    }
}

static void sleep_ms(long ms)
{
    struct timespec time = {.tv_sec = ms / 1000, .tv_nsec = (ms % 1000) * 1000000};
    (void)nanosleep(&time, NULL);
}

/* Waits a moment for words or the end of the child; true once it ended. */
static bool look(struct child *child)
{
    if (child->stderr_fd >= 0) {
        struct pollfd fd = {.fd = child->stderr_fd, .events = POLLIN};
        if (poll(&fd, 1, LOOK_EVERY_MS) > 0)
            hear(child);
    } else {
        sleep_ms(1);
    }
    pid_t ended = waitpid(child->pid, &child->status, WNOHANG);
    if (ended == 0 || (ended < 0 && errno == EINTR))
        return false;
    /* Where the program has somebody else reap children, how this one ended stays unknown. */
    child->status_known = ended == child->pid;
    if (child->stderr_fd >= 0)
        hear(child);
    return true;
}

static void end_child(struct child *child)
{
    (void)kill(-child->pid, SIGTERM);
    for (int waited = 0; waited < END_PATIENCE_MS; waited += LOOK_EVERY_MS) {
        pid_t ended = waitpid(child->pid, &child->status, WNOHANG);
        if (ended != 0) {
            /* Workers that outlived it. */
            (void)kill(-child->pid, SIGKILL);
            return;
        }
        sleep_ms(LOOK_EVERY_MS);
    }
    (void)kill(-child->pid, SIGKILL);
    while (waitpid(child->pid, &child->status, 0) < 0 && errno == EINTR)
        continue;
}

static int wait_for(struct child *child)
{
    bool ended = false;
    while (!ended) {
        Py_BEGIN_ALLOW_THREADS
        ended = look(child);
        Py_END_ALLOW_THREADS
        if (!ended && PyErr_CheckSignals() < 0) {
            OWNED exception = exception_take();
            Py_BEGIN_ALLOW_THREADS
            end_child(child);
            Py_END_ALLOW_THREADS
            exception_raise(STEAL(exception));
            return -1;
        }
    }
    return 0;
}

static PyObject *words_of(const struct child *child)
{
    OWNED text = PyUnicode_DecodeUTF8(child->words, (Py_ssize_t)child->size, "replace");
    OWNED stripped = text ? py_call_method(text, "strip", "()") : NULL;
    if (stripped && PyUnicode_GetLength(stripped) == 0)
        return PyUnicode_FromString("it said nothing");
    return STEAL(stripped);
}

static bool has_index(const char *folder)
{
    CLEANUP(cleanup_free) char *path = path_join(folder, "reports/reports.json");
    return path && access(path, R_OK) == 0;
}

static int judge(const struct child *child, const char *program, const char *folder)
{
    if (child->status_known && WIFEXITED(child->status) && WEXITSTATUS(child->status) == 0)
        return 0;
    /* Then its words and its work tell how it ended. */
    if (!child->status_known && child->size == 0 && has_index(folder))
        return 0;
    OWNED words = words_of(child);
    if (!words)
        return -1;
    if (!child->status_known)
        PyErr_Format(PyExc_RuntimeError,
                     "'%s' ended in a way that this program hides (it ignores SIGCHLD, or waits "
                     "for every child): %U",
                     program, words);
    else if (WIFSIGNALED(child->status))
        PyErr_Format(PyExc_RuntimeError, "'%s' was ended by signal %d (%s): %U", program,
                     WTERMSIG(child->status), strsignal(WTERMSIG(child->status)), words);
    else
        PyErr_Format(PyExc_RuntimeError, "'%s' ended with status %d: %U", program,
                     WEXITSTATUS(child->status), words);
    return -1;
}

enum export_end exporter_run(const char *folder, PyObject *library, bool background)
{
    OWNED program = exporter_program();
    OWNED library_bytes = program && library ? PyUnicode_EncodeFSDefault(library) : NULL;
    if (!program || (library && !library_bytes))
        return EXPORT_FAILED;
    char report[] = "report", quiet[] = "--quiet", detach[] = "--detach", by[] = "--converter";
    char *argv[8] = {PyBytes_AsString(program), report, (char *)folder, quiet};
    size_t n = 4;
    if (background)
        argv[n++] = detach;
    if (library) {
        argv[n++] = by;
        argv[n++] = PyBytes_AsString(library_bytes);
    }
    struct child child = {.stderr_fd = -1};
    if (start(&child, argv) < 0)
        return EXPORT_FAILED;
    int code = wait_for(&child);
    if (child.stderr_fd >= 0)
        (void)close(child.stderr_fd);
    if (code < 0)
        return EXPORT_INTERRUPTED;
    return judge(&child, argv[0], folder) == 0 ? EXPORT_DONE : EXPORT_FAILED;
}
