/* SPDX-License-Identifier: Apache-2.0 */
/* stats - the few stats of an event that some layout asks for, found by id.
 *
 * Most stats of a capture are of kinds that no one asks for; those are stepped over unread, which
 * is why this does not go through xstat_next() alone. */
#ifndef DEW_TRACE_STATS_H
#define DEW_TRACE_STATS_H

#include "xplane/plane.h"

enum stat_kind {
    STAT_UNKNOWN,
    STAT_OP,          /* hlo_op: the first three are texts */
    STAT_MODULE,      /* hlo_module */
    STAT_CATEGORY,    /* hlo_category */
    STAT_PRODUCER,    /* _p: from here on integers */
    STAT_CONSUMER,    /* _c */
    STAT_RUN,         /* run_id */
    STAT_DEVICE,      /* device_ordinal */
    STAT_STEP,        /* step_num */
    STAT_CORRELATION, /* correlation_id */
    STAT_KINDS,
};

#define STAT_NO_ID INT64_MIN /* ids are counted up from 0 or 1 */

/* Under which ids a plane stores them. */
struct stat_ids {
    int64_t of[STAT_KINDS];   /* STAT_NO_ID where the plane has none */
    uint8_t kind_of_low[256]; /* by id, for the small ids that nearly all are */
};

void stat_ids_find(struct stat_ids *ret_ids, const struct xplane *plane);

/* What one event has. Set are only those in `has`, and of a text that is a reference only that. */
struct event_stats {
    uint32_t has;
    int64_t integers[STAT_KINDS];
    struct xstat texts[STAT_PRODUCER];
};

static inline bool stats_has(const struct event_stats *stats, enum stat_kind kind)
{
    return stats->has >> kind & 1;
}

static inline int64_t stats_integer(const struct event_stats *stats, enum stat_kind kind,
                                    int64_t otherwise)
{
    return stats_has(stats, kind) ? stats->integers[kind] : otherwise;
}

/* The text of a kind; empty where the event has none. */
struct view stats_text(const struct event_stats *stats, const struct xplane *plane,
                       enum stat_kind kind);

void stats_read(struct event_stats *ret_stats, const struct stat_ids *ids, const struct xline *line,
                const struct xevent *event);

#endif
