/* SPDX-License-Identifier: Apache-2.0 */
/* fields - the field numbers of the XPlane format, and the limits that its reader keeps.
 *
 * The numbers are those of XLA's xplane.proto (docs/xplane.md). The limits bound what a damaged or
 * hostile file can make the reader do; real captures stay orders of magnitude below them. */
#ifndef DEW_XPLANE_FIELDS_H
#define DEW_XPLANE_FIELDS_H

enum {
    XSPACE_PLANES = 1,
    XSPACE_ERRORS = 2,
    XSPACE_WARNINGS = 3,
    XSPACE_HOSTNAMES = 4,

    XPLANE_ID = 1,
    XPLANE_NAME = 2,
    XPLANE_LINES = 3,
    XPLANE_EVENT_METADATA = 4,
    XPLANE_STAT_METADATA = 5,
    XPLANE_STATS = 6,

    MAP_KEY = 1,
    MAP_VALUE = 2,

    XLINE_ID = 1,
    XLINE_NAME = 2,
    XLINE_TIMESTAMP_NS = 3,
    XLINE_EVENTS = 4,
    XLINE_DURATION_PS = 9,
    XLINE_DISPLAY_ID = 10,
    XLINE_DISPLAY_NAME = 11,

    XEVENT_METADATA_ID = 1,
    XEVENT_OFFSET_PS = 2,
    XEVENT_DURATION_PS = 3,
    XEVENT_STATS = 4,
    XEVENT_NUM_OCCURRENCES = 5,

    XSTAT_METADATA_ID = 1,
    XSTAT_DOUBLE = 2,
    XSTAT_UINT64 = 3,
    XSTAT_INT64 = 4,
    XSTAT_STR = 5,
    XSTAT_BYTES = 6,
    XSTAT_REF = 7,
    XSTAT_COMPRESSED_STR = 8,

    XEVENT_METADATA_NAME = 2,
    XEVENT_METADATA_METADATA = 3,
    XEVENT_METADATA_DISPLAY_NAME = 4,
    XEVENT_METADATA_STATS = 5,

    XSTAT_METADATA_NAME = 2,
};

#define XPLANE_LINES_MAX (UINT32_C(1) << 18)
#define XPLANE_METADATA_MAX (UINT32_C(1) << 23)
/* An id that is at most this many times the number of entries away from the lowest one is looked up
 * in an array, else by bisection. */
#define XPLANE_DENSE_FACTOR 4
#define XMERGE_LINES_MAX (UINT32_C(1) << 20)
#define XMERGE_SORTED_EVENTS_MAX (UINT32_C(1) << 28)

#endif
