/* SPDX-License-Identifier: Apache-2.0 */
/* cleanup - scope-bound release of what a function owns.
 *
 * `CLEANUP(fn)` runs fn(&variable) when the variable goes out of scope, on every path. A
 * destructor used here takes the address of the variable, accepts the empty value, and is safe on a
 * half-built object. STEAL(p) hands the value on and empties the variable. */
#ifndef DEW_BASE_CLEANUP_H
#define DEW_BASE_CLEANUP_H

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define CLEANUP(fn) __attribute__((cleanup(fn), unused))

#define must_check __attribute__((warn_unused_result))

#define STEAL(ptr)                                                                                 \
    __extension__({                                                                                \
        __typeof__(ptr) stolen_ = (ptr);                                                           \
        (ptr) = NULL;                                                                              \
        stolen_;                                                                                   \
    })

static inline void cleanup_free(void *ptr)
{
    free(*(void **)ptr);
}

static inline void cleanup_fclose(FILE **file)
{
    if (*file)
        (void)fclose(*file);
}

static inline void cleanup_close(int *fd)
{
    if (*fd >= 0)
        (void)close(*fd);
}

#endif
