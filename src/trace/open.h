/* SPDX-License-Identifier: Apache-2.0 */
/* open - what stands at the beginning of a pass: planes, lines, devices.
 *
 * open_planes() gathers the planes and what they say about the process; open_lines() takes the
 * lines whose events count. Where the file names its own window and the pass is not careful, lines
 * are trusted to be in order of time, so that only those left out are read here; else each line is
 * surveyed. open.c is the only one that knows which plane and which line mean what. */
#ifndef DEW_TRACE_OPEN_H
#define DEW_TRACE_OPEN_H

#include "trace/pass.h"

/* The capture's own word on its window, in ns since 1970. */
struct environment {
    int64_t start_ns, stop_ns;
    bool has;
};

/* From the first event to the last; only of lines that were surveyed. */
struct extent {
    int64_t first, last;
    bool has;
};

static inline void extent_add(struct extent *extent, int64_t first, int64_t last)
{
    if (!extent->has || first < extent->first)
        extent->first = first;
    if (!extent->has || last > extent->last)
        extent->last = last;
    extent->has = true;
}

must_check int open_planes(struct pass *pass, struct view bytes, struct summary *summary,
                           struct environment *environment, struct err *e);

must_check int open_lines(struct pass *pass, struct summary *summary,
                          const struct environment *environment, struct extent *extent,
                          struct err *e);

/* Devices that have planes of their own; those of the CPU show up with their ops. */
must_check int open_devices(struct pass *pass, struct err *e);

/* walk.c: all events. */
must_check int walk(struct pass *pass, struct summary *summary, struct err *e);

#endif
