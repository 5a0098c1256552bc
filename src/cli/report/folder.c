/* SPDX-License-Identifier: Apache-2.0 */
/* folder - making, locking and clearing it. */
#include "cli/report/folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "cli/report/kept.h"

#include "base/banned.h"

#define INDEX_MAX ((size_t)64 << 20)
#define LOG_MODE 0666
#define LOG_LINE_MAX 2048

static int lock(struct folder *folder, struct err *e)
{
    folder->lock = open(folder->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder->lock < 0)
        return err_sys(e, errno, "cannot open the folder of reports '%s'", folder->path);
    if (flock(folder->lock, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK)
        return 0; /* a file system without locks: then it is up to the user */
    return err_set(e, ERR_USAGE, "reports are being made in '%s' already; wait for it to end",
                   folder->path);
}

static int open_log(struct folder *folder, struct err *e)
{
    char name[64];
    (void)snprintf(name, sizeof(name), REPORTS_LOG ".%ld.tmp", (long)getpid());
    folder->log_path = path_join(folder->path, name);
    if (!folder->log_path)
        return err_nomem(e);
    folder->log =
        open(folder->log_path, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, LOG_MODE);
    if (folder->log >= 0)
        return 0;
    int number = errno;
    free(STEAL(folder->log_path));
    return err_sys(e, number, "cannot write reports into '%s' (name another folder with --output)",
                   folder->path);
}

/* The length of the longest start of the path that is there already. */
static size_t found_part(const char *path)
{
    CLEANUP(cleanup_free) char *part = strdup(path);
    size_t size = part ? strlen(part) : 0;
    struct stat st;
    while (size > 0 && stat(part, &st) != 0) {
        while (size > 0 && part[size - 1] == '/')
            part[--size] = '\0';
        while (size > 0 && part[size - 1] != '/')
            part[--size] = '\0';
    }
    return size;
}

/* Takes away what dir_make_all() made, as far as it is empty. */
static void unmake(struct folder *folder)
{
    for (size_t size = strlen(folder->path); size > folder->found;) {
        (void)rmdir(folder->path);
        while (size > folder->found && folder->path[size - 1] != '/')
            size--;
        while (size > folder->found && folder->path[size - 1] == '/')
            size--;
        folder->path[size] = '\0';
    }
}

int folder_open(const char *path, struct folder *ret, struct err *e)
{
    CLEANUP(folder_release) struct folder folder = FOLDER_EMPTY;
    folder.path = strdup(path);
    if (!folder.path)
        return err_nomem(e);
    folder.found = found_part(path);
    int result = dir_make_all(path, e);
    if (result != 0)
        return err_context(e, "reports need a folder (--output names another one)");
    result = lock(&folder, e);
    if (result == 0)
        result = open_log(&folder, e);
    if (result != 0)
        return result;
    *ret = folder;
    folder = (struct folder)FOLDER_EMPTY;
    return 0;
}

static void cleanup_json(json_t **json)
{
    json_decref(*json);
}

json_t *folder_index(const struct folder *folder)
{
    CLEANUP(cleanup_free) char *path = path_join(folder->path, REPORTS_INDEX);
    CLEANUP(cleanup_free) char *text = NULL;
    size_t size;
    if (!path || file_read(path, INDEX_MAX, &text, &size, NULL) != 0)
        return NULL;
    return json_loadb(text, size, 0, NULL);
}

bool folder_has_reports(const struct folder *folder)
{
    CLEANUP(cleanup_json) json_t *index = folder_index(folder);
    const char *state = json_string_value(json_object_get(index, "state"));
    return index && !(state && strcmp(state, "failed") == 0 &&
                      json_array_size(json_object_get(index, "reports")) == 0);
}

static void remove_old(const struct folder *folder, const json_t *kept)
{
    CLEANUP(cleanup_json) json_t *index = folder_index(folder);
    size_t i;
    json_t *entry;
    json_array_foreach(json_object_get(index, "reports"), i, entry)
    {
        const char *name = json_string_value(json_object_get(entry, "file"));
        if (name && index_own_name(name) && !kept_has(kept, name))
            (void)unlinkat(folder->lock, name, 0);
    }
    if (index)
        (void)unlinkat(folder->lock, REPORTS_INDEX, 0);
}

int folder_commit(struct folder *folder, const json_t *kept, struct err *e)
{
    remove_old(folder, kept);
    CLEANUP(cleanup_free) char *path = path_join(folder->path, REPORTS_LOG);
    if (!path)
        return err_nomem(e);
    if (rename(folder->log_path, path) != 0)
        return err_sys(e, errno, "cannot write '%s'", path);
    folder->committed = true;
    return 0;
}

static void cleanup_closedir(DIR **folder)
{
    if (*folder)
        (void)closedir(*folder);
}

void folder_tidy(const struct folder *folder, const char *file, pid_t worker)
{
    char prefix[320];
    (void)snprintf(prefix, sizeof(prefix), "%s.%ld.", file, (long)worker);
    CLEANUP(cleanup_closedir) DIR *open = opendir(folder->path);
    if (!open)
        return;
    for (struct dirent *entry; (entry = readdir(open)) != NULL;) {
        struct view name = view_text(entry->d_name);
        if (view_starts(name, prefix) && view_ends(name, ".tmp"))
            (void)unlinkat(folder->lock, entry->d_name, 0);
    }
}

static void write_line(int fd, const char *format, va_list args)
{
    char line[LOG_LINE_MAX];
    int used = vsnprintf(line, sizeof(line) - 1, format, args);
    if (used < 0)
        return;
    size_t size = (size_t)used < sizeof(line) - 1 ? (size_t)used : sizeof(line) - 2;
    line[size++] = '\n';
    /* A log that cannot be written must not fail what it is about. */
    (void)!write(fd, line, size);
}

void folder_log(const struct folder *folder, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    write_line(folder->log, format, args);
    va_end(args);
}

void folder_remark(const struct folder *folder, const char *format, ...)
{
    CLEANUP(cleanup_close)
    int fd = openat(folder->lock, REPORTS_LOG, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, LOG_MODE);
    if (fd < 0)
        return;
    va_list args;
    va_start(args, format);
    write_line(fd, format, args);
    va_end(args);
}

void folder_release(struct folder *folder)
{
    if (folder->log_path && !folder->committed)
        (void)unlink(folder->log_path);
    if (folder->path && !folder->committed)
        unmake(folder);
    if (folder->log >= 0)
        (void)close(folder->log);
    if (folder->lock >= 0)
        (void)close(folder->lock);
    free(folder->log_path);
    free(folder->path);
    *folder = (struct folder)FOLDER_EMPTY;
}
