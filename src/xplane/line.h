/* SPDX-License-Identifier: Apache-2.0 */
/* line - one timeline of a plane and the events on it, in the order of the file.
 *
 * A line is a view of the map; nothing is allocated. Times are picoseconds from a base that the
 * caller chooses (see xline_open), since picoseconds since 1970 do not fit in 64 bits. Every time
 * handed out is checked: start, and start + duration, fit in an int64_t. It refuses events whose
 * times do not. It leaves out names (plane.h has them) and does not assume that events nest or come
 * in order of time. Fuzzed by tests/fuzz/fuzz_xplane.c. */
#ifndef DEW_XPLANE_LINE_H
#define DEW_XPLANE_LINE_H

#include "wire/wire.h"
#include "xplane/fields.h"

struct xline {
    struct wire wire; /* the events still to come; wire.damage says why they ended early */
    int64_t id;
    int64_t display_id;
    struct view name; /* views of the map, not NUL-terminated */
    struct view display_name;
    int64_t timestamp_ns;
    int64_t duration_ps; /* as the file claims; 0 where it does not */
    int64_t base_ps;     /* what offset_ps is added to: (timestamp_ns - base_ns) * 1000 */
    uint64_t events;     /* that the line holds whole, by their framing */
    bool cut;            /* the file ends inside this line */
    bool late;           /* an id, a name or a timestamp was met among what was still to come */
    bool misdated;       /* the timestamp does not fit beside the base: no event is handed out */
};

struct xevent {
    int64_t metadata_id;
    union {
        int64_t start_ps;    /* from the base */
        int64_t occurrences; /* where aggregated, which has no start */
    };
    int64_t duration_ps;  /* never below 0: see `reversed` */
    const uint8_t *stats; /* the first stat of the event, or its end where it has none */
    const uint8_t *end;
    uint32_t line; /* for a merge to fill in; this struct is copied by the million */
    bool aggregated;
    bool reversed; /* the file said a negative duration; 0 was put in its place */
};

/* What one pass over a line's events finds. Valid as far as `damage` lets it be. */
struct xline_survey {
    uint64_t events;
    uint64_t aggregated; /* of them */
    uint64_t reversed;
    int64_t first_ps; /* least start; events - aggregated > 0, else 0 */
    int64_t last_ps;  /* greatest end */
    bool ordered;     /* starts never go back */
    bool late;        /* of the line, once all is read */
    struct damage damage;
};

/* Reads the line's own fields, which may stand before and after its events, and stands before the
 * first event. `part` is the line message (xplane_line() opens it). Damage to the framing of the
 * line ends the events where it is; it is in line->wire.damage only once they have been read up to
 * it. */
void xline_open(struct xline *ret_line, const struct wire *part, int64_t base_ns);

/* The same without looking behind the first event, where JAX writes nothing that matters for
 * reading: `events`, `duration_ps` and the display fields stay 0. If line->late is set once the
 * events have been read, what was opened is not to be relied on. */
void xline_open_head(struct xline *ret_line, const struct wire *part, int64_t base_ns);

void xline_survey(const struct xline *line, struct xline_survey *ret_survey);

/* Decodes the event in [pos, end) of the line. On damage returns its code and sets
 * line->wire.damage. */
int xevent_decode_any(struct xline *line, const uint8_t *pos, const uint8_t *end,
                      struct xevent *ret_event);

int xline_next_any(struct xline *line, struct xevent *ret_event);

static inline int xevent_place(struct xline *line, const uint8_t *at, int64_t offset_ps,
                               struct xevent *event)
{
    int64_t start, end;
    if (event->duration_ps < 0) {
        event->reversed = true;
        event->duration_ps = 0;
    }
    if (__builtin_add_overflow(line->base_ps, offset_ps, &start) ||
        __builtin_add_overflow(start, event->duration_ps, &end))
        return wire_refuse(&line->wire, at, "an event's time does not fit in 64 bits");
    if (!event->aggregated)
        event->start_ps = start;
    return 1;
}

/* The bytes behind an event's first that xevent_decode() may look at before it knows whether they
 * are the event's: three tags, three varints. */
#define XEVENT_HEAD_MAX (3 * (1 + WIRE_WIDE) + WIRE_WIDE)

/* [pos, end) is one event. Events have few fields, each nearly always written once and in order, so
 * this looks for just that and leaves the rest to xevent_decode_any. It may read past the event
 * (never past the line): what it read counts only if all of it turns out to end at `end`. */
static inline int xevent_decode(struct xline *line, const uint8_t *pos, const uint8_t *end,
                                struct xevent *ret_event)
{
    const uint8_t *at = pos;
    uint64_t id = 0, offset = 0, duration = 0;
    if (line->wire.end - pos < XEVENT_HEAD_MAX)
        return xevent_decode_any(line, at, end, ret_event);
    if (*pos == (XEVENT_METADATA_ID << 3 | WIRE_VARINT)) {
        id = pos[1];
        pos = id < 0x80 ? pos + 2 : wire_varint_wide(pos + 1, &id);
    }
    if (pos && *pos == (XEVENT_OFFSET_PS << 3 | WIRE_VARINT))
        pos = wire_varint_wide(pos + 1, &offset);
    if (pos && *pos == (XEVENT_DURATION_PS << 3 | WIRE_VARINT))
        pos = wire_varint_wide(pos + 1, &duration);
    const uint8_t *stats = pos;
    /* a stat's size is nearly always one byte */
    while (pos && end - pos >= 2 && pos[0] == (XEVENT_STATS << 3 | WIRE_BYTES) && pos[1] < 0x80 &&
           pos[1] <= end - pos - 2)
        pos += 2 + pos[1];
    if (pos != end)
        return xevent_decode_any(line, at, end, ret_event);
    *ret_event = (struct xevent){
        .metadata_id = (int64_t)id, .duration_ps = (int64_t)duration, .stats = stats, .end = end};
    return xevent_place(line, at, (int64_t)offset, ret_event);
}

/* The next event: 1, or 0 at the end, or a negative code with line->wire.damage set, after which
 * the line gives no more. */
must_check static inline int xline_next(struct xline *line, struct xevent *ret_event)
{
    struct wire *wire = &line->wire;
    const uint8_t *pos = wire->pos;
    if (pos == wire->end || wire->damage.code != 0)
        return wire->damage.code;
    uint64_t size;
    if (*pos != (XLINE_EVENTS << 3 | WIRE_BYTES) ||
        !(pos = wire_varint(pos + 1, wire->end, &size)) || size > (uint64_t)(wire->end - pos))
        return xline_next_any(line, ret_event);
    int code = xevent_decode(line, pos, pos + size, ret_event);
    if (code > 0)
        wire->pos = pos + size;
    return code;
}

/* Where the event's stats are read from: xstat_next(&stats, XEVENT_STATS, ...). */
static inline struct wire xevent_stats(const struct xline *line, const struct xevent *event)
{
    return (struct wire){.pos = event->stats, .end = event->end, .start = line->wire.start};
}

#endif
