/* SPDX-License-Identifier: Apache-2.0 */
/* scratch - a private folder in which the converter may write what it likes.
 *
 * The converter leaves caches beside each capture that it reads and answers from them later, it
 * fails in a folder that cannot be written, and it takes the host's name from the file's name. So
 * it is given a fresh folder of mode 0700 with one symbolic link a capture, under the capture's own
 * name: no bytes are copied, any file system will do, and the user's folder stays as it was.
 * Refuses two captures of one name. What a killed process leaves has a name that says whose it is
 * (dew-profile-scratch-...) and goes when a later one sweeps: scratch_claim.h. */
#ifndef DEW_XPROF_SCRATCH_H
#define DEW_XPROF_SCRATCH_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

struct scratch {
    char *folder; /* owned, absolute */
    char **paths; /* owned: the links, in the order of the captures */
    size_t count;
    bool locked;
    int lock; /* the folder, open, where it is locked */
};

/* `parent` is where the folder is made. NULL: where Python's tempfile would make it, in the first
 * of $TMPDIR, $TEMP, $TMP, /tmp, /var/tmp, /usr/tmp and the current folder that takes files. */
must_check int scratch_make(const char *parent, const char *const *captures, size_t n_captures,
                            struct scratch *ret, struct err *e);

/* Removes the folder and all in it. Takes an empty (zeroed) scratch too. */
void scratch_release(struct scratch *scratch);

#endif
