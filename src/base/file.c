/* SPDX-License-Identifier: Apache-2.0 */
/* file - whole files and folders on POSIX. */
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/banned.h"

#define DIR_MODE 0777 /* the umask decides */
#define FILE_MODE 0666
#define OPEN_FOLDERS_MAX 16

char *path_join(const char *directory, const char *name)
{
    size_t head = strlen(directory);
    const char *slash = head > 0 && directory[head - 1] == '/' ? "" : "/";
    size_t room = head + strlen(name) + 2;
    char *path = malloc(room);
    if (path)
        (void)snprintf(path, room, "%s%s%s", directory, slash, name);
    return path;
}

int file_open(const char *path, int *ret_fd, uint64_t *ret_size, struct err *e)
{
    /* O_NONBLOCK so that a fifo in the file's place is refused below instead of waited for. */
    CLEANUP(cleanup_close) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return err_sys(e, errno, "cannot open '%s'", path);
    struct stat st;
    if (fstat(fd, &st) != 0)
        return err_sys(e, errno, "cannot read the size of '%s'", path);
    if (!S_ISREG(st.st_mode))
        return err_set(e, ERR_USAGE, "'%s' is not a regular file", path);
    *ret_size = (uint64_t)st.st_size;
    *ret_fd = fd;
    fd = -1;
    return 0;
}

int file_read(const char *path, size_t limit, char **ret_data, size_t *ret_size, struct err *e)
{
    CLEANUP(cleanup_close) int fd = -1;
    uint64_t told;
    int result = file_open(path, &fd, &told, e);
    if (result != 0)
        return result;
    if (told > limit)
        return err_set(e, ERR_LIMIT, "'%s' has %llu bytes, more than the %zu expected", path,
                       (unsigned long long)told, limit);
    size_t size = (size_t)told;
    CLEANUP(cleanup_free) char *data = malloc(size + 1);
    if (!data)
        return err_nomem(e);
    size_t filled = 0;
    while (filled < size) {
        ssize_t got = read(fd, data + filled, size - filled);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return err_sys(e, errno, "cannot read '%s'", path);
        if (got == 0)
            break;
        filled += (size_t)got;
    }
    data[filled] = '\0';
    *ret_size = filled;
    *ret_data = STEAL(data);
    return 0;
}

static int write_all(int fd, struct view bytes)
{
    /* Linux writes at most 2 GiB - 4 KiB a call and macOS refuses more than INT_MAX. */
    const size_t chunk_max = (size_t)1 << 30;
    size_t done = 0;
    while (done < bytes.size) {
        size_t chunk = bytes.size - done < chunk_max ? bytes.size - done : chunk_max;
        ssize_t put = write(fd, bytes.data + done, chunk);
        if (put < 0 && errno == EINTR)
            continue;
        if (put < 0)
            return errno;
        done += (size_t)put;
    }
    return 0;
}

/* A fresh file beside `path`, by the process's umask (mkstemp would leave it unreadable to others,
 * and umask() cannot be asked without changing it for every thread). */
static int open_beside(const char *path, char **ret_name)
{
    static atomic_uint serial;
    size_t room = strlen(path) + 48;
    char *name = malloc(room);
    *ret_name = name;
    if (!name)
        return -1;
    int fd;
    do {
        (void)snprintf(name, room, "%s.%ld.%u.tmp", path, (long)getpid(),
                       atomic_fetch_add(&serial, 1));
        fd = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, FILE_MODE);
    } while (fd < 0 && errno == EEXIST);
    return fd;
}

static int flush_folder(int fd, const char *path, struct err *e)
{
    /* Some network file systems cannot flush a folder and say EINVAL: nothing is lost by that. */
    if (fsync(fd) != 0 && errno != EINVAL && errno != ENOTSUP)
        return err_sys(e, errno, "cannot flush the folder '%s'", path);
    return 0;
}

static char *folder_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    if (!slash)
        return strdup(".");
    return strndup(path, slash == path ? 1 : (size_t)(slash - path));
}

static int steal_fd(int *fd)
{
    int stolen = *fd;
    *fd = -1;
    return stolen;
}

/* The bytes under a temporary name, flushed if that is asked for, then renamed. *ret_fd is open on
 * the file where it is asked for. */
static int place(const char *path, struct view bytes, bool flushed, int *ret_fd, struct err *e)
{
    CLEANUP(cleanup_free) char *temporary = NULL;
    CLEANUP(cleanup_close) int fd = open_beside(path, &temporary);
    if (!temporary)
        return err_nomem(e);
    if (fd < 0)
        return err_sys(e, errno, "cannot write '%s'", path);
    int number = write_all(fd, bytes);
    if (number == 0 && flushed && fsync(fd) != 0)
        number = errno;
    if (number == 0 && !ret_fd && close(steal_fd(&fd)) != 0)
        number = errno;
    if (number == 0 && rename(temporary, path) != 0)
        number = errno;
    if (number != 0) {
        (void)unlink(temporary);
        return err_sys(e, number, "cannot write %zu bytes to '%s'", bytes.size, path);
    }
    if (ret_fd)
        *ret_fd = steal_fd(&fd);
    return 0;
}

static int open_folder_of(const char *path, int *ret_fd, char **ret_folder, struct err *e)
{
    CLEANUP(cleanup_free) char *folder = folder_of(path);
    if (!folder)
        return err_nomem(e);
    int fd = open(folder, O_RDONLY | O_CLOEXEC | O_DIRECTORY);
    if (fd < 0)
        return err_sys(e, errno, "cannot write '%s': cannot open its folder", path);
    *ret_fd = fd;
    *ret_folder = STEAL(folder);
    return 0;
}

int file_replace(const char *path, struct view bytes, struct err *e)
{
    /* All that the last step needs is at hand before the first, so that only the disk itself can
     * fail once the new file stands in its place. */
    CLEANUP(cleanup_free) char *folder = NULL;
    CLEANUP(cleanup_close) int folder_fd = -1;
    int code = open_folder_of(path, &folder_fd, &folder, e);
    if (code == 0)
        code = place(path, bytes, true, NULL, e);
    return code == 0 ? flush_folder(folder_fd, folder, e) : code;
}

int file_place(const char *path, struct view bytes, struct file_unflushed *ret, struct err *e)
{
    CLEANUP(cleanup_free) char *folder = NULL;
    CLEANUP(cleanup_close) int folder_fd = -1;
    int file_fd = -1;
    int code = open_folder_of(path, &folder_fd, &folder, e);
    if (code == 0)
        code = place(path, bytes, false, ret ? &file_fd : NULL, e);
    if (code == 0 && ret)
        *ret = (struct file_unflushed){.file = file_fd, .folder = steal_fd(&folder_fd)};
    return code;
}

int dir_make_all(const char *path, struct err *e)
{
    if (*path == '\0')
        return err_set(e, ERR_USAGE, "the empty path names no folder");
    CLEANUP(cleanup_free) char *part = strdup(path);
    if (!part)
        return err_nomem(e);
    for (char *end = part + 1;; end++) {
        if (*end != '/' && *end != '\0')
            continue;
        char kept = *end;
        *end = '\0';
        if (mkdir(part, DIR_MODE) != 0 && errno != EEXIST) {
            /* A read-only or foreign parent says EROFS or EACCES for folders that are there. */
            int number = errno;
            struct stat st;
            if (stat(part, &st) != 0 || !S_ISDIR(st.st_mode))
                return err_sys(e, number, "cannot make the folder '%s'", part);
        }
        struct stat st;
        if (stat(part, &st) != 0)
            return err_sys(e, errno, "cannot make the folder '%s'", part);
        if (!S_ISDIR(st.st_mode))
            return err_sys(e, ENOTDIR, "cannot make the folder '%s': a file stands in its place",
                           part);
        if (kept == '\0')
            return 0;
        *end = kept;
    }
}

int file_sync(const char *path, struct err *e)
{
    CLEANUP(cleanup_close) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return err_sys(e, errno, "cannot open '%s'", path);
    return fsync(fd) == 0 ? 0 : err_sys(e, errno, "cannot flush '%s'", path);
}

int dir_sync(const char *path, struct err *e)
{
    CLEANUP(cleanup_close) int fd = open(path, O_RDONLY | O_CLOEXEC | O_DIRECTORY);
    if (fd < 0)
        return err_sys(e, errno, "cannot open the folder '%s'", path);
    return flush_folder(fd, path, e);
}

static int remove_entry(const char *path, const struct stat *st, int kind, struct FTW *walk)
{
    (void)st;
    (void)kind;
    (void)walk;
    return remove(path) != 0 && errno != ENOENT ? -1 : 0;
}

int dir_remove_all(const char *path, struct err *e)
{
    if (nftw(path, remove_entry, OPEN_FOLDERS_MAX, FTW_DEPTH | FTW_PHYS) != 0 && errno != ENOENT)
        return err_sys(e, errno, "cannot remove the folder '%s'", path);
    return 0;
}
