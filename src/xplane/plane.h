/* SPDX-License-Identifier: Apache-2.0 */
/* plane - one plane of a capture: where its lines are, and its tables of names.
 *
 * The names of a plane's events stand behind its lines, so opening a plane is the first of two
 * passes: it steps over the lines without reading them and gathers the tables; xplane_line() then
 * opens lines in any order, as often as wanted. Owns the arrays and tables (memory by the number of
 * lines and metadata entries that are there, within the limits of fields.h), never an event. Names
 * are views of the map. Damage does not fail the opening: what was whole before it is kept and
 * `damage` says where it is. In a plane cut by the end of the file that is all lines up to the cut,
 * most often without names. */
#ifndef DEW_XPLANE_PLANE_H
#define DEW_XPLANE_PLANE_H

#include "xplane/line.h"
#include "xplane/stat.h"
#include "xplane/table.h"

struct xplane_part {
    struct view bytes;
    bool cut;
};

struct xplane {
    struct wire wire; /* the whole plane message, from its beginning */
    int64_t id;
    struct view name; /* view of the map */
    struct xplane_part *lines;
    uint32_t line_count;
    uint32_t line_room;
    struct xtable event_metadata;
    struct xtable stat_metadata;
    struct damage damage; /* the first; code 0 where the plane's own fields are whole */
};

struct xevent_metadata {
    struct view name;
    struct view display_name;
    struct view metadata; /* serialized, of the producer's own kind (an HLO proto, for one) */
    struct wire stats;    /* for xstat_next(&stats, XEVENT_METADATA_STATS, ...) */
};

/* Fails only without memory or above a limit; then nothing is owned. */
must_check int xplane_open(struct xplane *ret_plane, const struct wire *part, struct err *e);

/* Takes a zeroed plane too. */
void xplane_release(struct xplane *plane);

/* Line i in file order, its times from base_ns on. */
void xplane_line(const struct xplane *plane, uint32_t i, int64_t base_ns, struct xline *ret_line);

/* The same by xline_open_head(). */
void xplane_line_head(const struct xplane *plane, uint32_t i, int64_t base_ns,
                      struct xline *ret_line);

/* The index into the table of the event's metadata, 0 to event_metadata.count - 1, or XTABLE_NONE:
 * the key for what callers keep per name. */
static inline uint32_t xplane_event_index(const struct xplane *plane, int64_t metadata_id)
{
    return xtable_index(&plane->event_metadata, metadata_id);
}

/* Reads entry `index`, of xplane_event_index(). Empty where the entry is damaged. */
void xplane_event_metadata(const struct xplane *plane, uint32_t index,
                           struct xevent_metadata *ret_metadata);

/* The name of the event kind or of the stat kind; empty where the file has none. */
struct view xplane_event_name(const struct xplane *plane, int64_t metadata_id);
struct view xplane_stat_name(const struct xplane *plane, int64_t metadata_id);

/* The id under which stats of this name are stored in this plane; false where none is. */
bool xplane_stat_id(const struct xplane *plane, const char *name, int64_t *ret_id);

/* The text of a TEXT stat, or of a REF looked up in the stat metadata; false for other kinds and
 * for a reference to nothing. */
bool xplane_stat_text(const struct xplane *plane, const struct xstat *stat, struct view *ret_text);

/* For xstat_next(&stats, XPLANE_STATS, ...): the stats of the plane itself. */
static inline struct wire xplane_stats(const struct xplane *plane)
{
    return plane->wire;
}

#endif
