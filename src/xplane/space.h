/* SPDX-License-Identifier: Apache-2.0 */
/* space - the planes of a capture file, one after the other.
 *
 * A cursor over a mapped file; it allocates nothing. A plane that the end of the file cuts is
 * handed out last, marked, and the next call reports the cut. A file cut exactly between two planes
 * cannot be told from a whole one by its framing; JAX writes the host's name behind the planes, so
 * a file in which `hostname` is empty at the end deserves a word to the user. */
#ifndef DEW_XPLANE_SPACE_H
#define DEW_XPLANE_SPACE_H

#include "xplane/plane.h"

struct xspace {
    struct wire wire; /* wire.damage says why the planes ended early: wire_error(&space.wire, e) */
    uint32_t planes;  /* handed out so far */
    uint32_t errors;  /* texts in which the producer reported what it could not collect */
    uint32_t warnings;
    struct view first_error; /* views of the map; complete once xspace_next() gave 0 */
    struct view first_warning;
    struct view hostname; /* the first */
};

void xspace_open(struct xspace *ret_space, struct view file);

/* The next plane, for xplane_open(): 1, or 0 at the end, or a negative code with wire.damage set.
 */
must_check int xspace_next(struct xspace *space, struct wire *ret_part);

#endif
