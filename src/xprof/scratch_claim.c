/* SPDX-License-Identifier: Apache-2.0 */
/* scratch_claim - telling a scratch folder in use from one whose process was killed. */
#include "xprof/scratch_claim.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"

#include "base/banned.h"

#define BOOT_ID_FILE "/proc/sys/kernel/random/boot_id"
enum { BOOT_ID_SIZE = 36 };

/* ".<the id of this boot of this kernel>": what another host locks may not be seen here. */
static bool get_suffix(char ret[BOOT_ID_SIZE + 2])
{
    CLEANUP(cleanup_close) int fd = open(BOOT_ID_FILE, O_RDONLY | O_CLOEXEC);
    char id[BOOT_ID_SIZE + 1] = "";
    if (fd < 0 || read(fd, id, BOOT_ID_SIZE) != BOOT_ID_SIZE ||
        strspn(id, "0123456789abcdef-") != BOOT_ID_SIZE)
        return false;
    (void)snprintf(ret, BOOT_ID_SIZE + 2, ".%s", id);
    return true;
}

int scratch_claim(char **folder)
{
    char suffix[BOOT_ID_SIZE + 2];
    char *claimed = NULL;
    if (!get_suffix(suffix) || asprintf(&claimed, "%s%s", *folder, suffix) < 0)
        return -1;
    int fd = open(*folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    /* The name comes last: no folder ever bears it unlocked while its process lives. */
    if (fd >= 0 && (flock(fd, LOCK_EX | LOCK_NB) != 0 || rename(*folder, claimed) != 0)) {
        (void)close(fd);
        fd = -1;
    }
    if (fd >= 0) {
        free(*folder);
        *folder = STEAL(claimed);
    }
    free(claimed);
    return fd;
}

/* Where others may rename what lies there, a path may lead elsewhere from one call to the next. */
static bool names_stay(int parent)
{
    struct stat st;
    return fstat(parent, &st) == 0 &&
           ((st.st_mode & S_ISVTX) || !(st.st_mode & (S_IWGRP | S_IWOTH)));
}

static void remove_if_dead(DIR *parent, const char *parent_path, const char *name)
{
    CLEANUP(cleanup_close)
    int fd = openat(dirfd(parent), name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    struct stat st;
    if (fd < 0 || fstat(fd, &st) != 0 || st.st_uid != geteuid() ||
        flock(fd, LOCK_EX | LOCK_NB) != 0)
        return;
    CLEANUP(cleanup_free) char *path = path_join(parent_path, name);
    if (path)
        (void)!dir_remove_all(path, NULL);
}

static void cleanup_closedir(DIR **folder)
{
    if (*folder)
        (void)closedir(*folder);
}

void scratch_sweep(const char *folder)
{
    char suffix[BOOT_ID_SIZE + 2];
    const char *slash = strrchr(folder, '/');
    CLEANUP(cleanup_free)
    char *parent = slash && slash > folder ? strndup(folder, (size_t)(slash - folder)) : NULL;
    if (!parent || !get_suffix(suffix))
        return;
    CLEANUP(cleanup_closedir) DIR *open = opendir(parent);
    if (!open || !names_stay(dirfd(open)))
        return;
    for (struct dirent *entry; (entry = readdir(open)) != NULL;) {
        struct view name = view_text(entry->d_name);
        if (view_starts(name, SCRATCH_PREFIX) && view_ends(name, suffix))
            remove_if_dead(open, parent, entry->d_name);
    }
}
