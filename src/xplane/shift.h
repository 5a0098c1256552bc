/* SPDX-License-Identifier: Apache-2.0 */
/* shift - a capture moved in time: the edits that put its lines and its window elsewhere.
 *
 * An event's time is its line's timestamp plus an offset, so moving a capture rewrites one number a
 * line, and the window of the plane `Task Environment`; all else, and all metadata, stays byte for
 * byte (patch.h). Lines that count from the capture's start are moved by one distance, those with a
 * date by another, so that both come to count from the same instant. Refuses a damaged file, with
 * the byte, and a time that would be below 0 or out of range. Memory by the number of lines. */
#ifndef DEW_XPLANE_SHIFT_H
#define DEW_XPLANE_SHIFT_H

#include "wire/patch.h"
#include "xplane/plane.h"

/* A line's timestamp beyond this many ns (1973 as a date) is a date, not a distance. */
#define XLINE_DATED_NS INT64_C(100000000000000000)

/* The plane that says when the capture began and ended. */
#define XSHIFT_ENVIRONMENT "Task Environment"

struct xshift {
    int64_t line_ns;  /* added to the timestamps of lines that count from the capture's start */
    int64_t dated_ns; /* added to those that are dates */
    bool sets_window;
    int64_t start_ns, stop_ns; /* new profile_start_time and profile_stop_time, since 1970 */
};

/* The edits of `file`; nothing is owned on failure. */
must_check int xshift_plan(struct view file, const struct xshift *shift,
                           struct patches *ret_patches, struct err *e);

#endif
