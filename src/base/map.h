/* SPDX-License-Identifier: Apache-2.0 */
/* map - a file as read-only memory.
 *
 * Owns the mapping. Refuses anything that is not a regular file. Views into a map are valid until
 * map_release(). A file that another process shortens while it is mapped ends the reader with
 * SIGBUS; the command-line program turns that signal into an error (src/cli). */
#ifndef DEW_BASE_MAP_H
#define DEW_BASE_MAP_H

#include "base/err.h"
#include "base/view.h"

struct map {
    struct view bytes;
};

must_check int map_open(struct map *ret_map, const char *path, struct err *e);

/* Takes an empty (zeroed) map too. */
void map_release(struct map *map);

/* Tells the kernel that everything before `position` will not be read again soon, so that a long
 * sequential read does not keep the whole file resident. */
void map_forget_before(const struct map *map, size_t position);

#endif
