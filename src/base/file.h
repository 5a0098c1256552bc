/* SPDX-License-Identifier: Apache-2.0 */
/* file - whole files and folders: read, replace atomically, make, remove.
 *
 * What replaces a file is complete or absent: written beside it under a temporary name, flushed to
 * the disk, then renamed. Every error names the path. */
#ifndef DEW_BASE_FILE_H
#define DEW_BASE_FILE_H

#include <stdint.h>

#include "base/err.h"
#include "base/view.h"

/* "<directory>/<name>", owned by the caller, or NULL without memory. */
char *path_join(const char *directory, const char *name);

/* Opens a regular file for reading, and tells its size. Anything else under that name is refused,
 * and not waited for. The caller closes. */
must_check int file_open(const char *path, int *ret_fd, uint64_t *ret_size, struct err *e);

/* Reads a regular file of at most `limit` bytes; *ret_data is NUL-terminated and owned by the
 * caller. */
must_check int file_read(const char *path, size_t limit, char **ret_data, size_t *ret_size,
                         struct err *e);

/* Replaces `path`: temporary file beside it, fsync, rename, fsync of the folder, which must be
 * readable for that. On failure nothing is left behind and an old file of that name is as it was,
 * but for one case: the disk fails at the last fsync, and the new file may not last. */
must_check int file_replace(const char *path, struct view bytes, struct err *e);

/* What stands in its place but is not on the disk yet: open descriptors of the file and its folder.
 */
struct file_unflushed {
    int file;
    int folder;
};

/* As file_replace(), with the two flushes left to the caller (see flush.h, file_sync): a power cut
 * before them may leave an empty file. `ret` may be NULL: nothing is kept open. */
must_check int file_place(const char *path, struct view bytes, struct file_unflushed *ret,
                          struct err *e);

/* Makes the folder and those above it that are missing; one that is there already is fine. */
must_check int dir_make_all(const char *path, struct err *e);

/* Flushes a file, or a folder's entries, to the disk. */
must_check int file_sync(const char *path, struct err *e);
must_check int dir_sync(const char *path, struct err *e);

/* Removes a folder and all below it, without following links. A missing one is fine. */
must_check int dir_remove_all(const char *path, struct err *e);

#endif
