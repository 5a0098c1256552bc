/* SPDX-License-Identifier: Apache-2.0 */
/* stats - one loop over the bytes of an event's stats; shapes that are not usual go the long way.
 */
#include "trace/stats.h"

#include "base/banned.h"

void stat_ids_find(struct stat_ids *ret_ids, const struct xplane *plane)
{
    static const char *const names[STAT_KINDS] = {[STAT_OP] = "hlo_op",
                                                  [STAT_MODULE] = "hlo_module",
                                                  [STAT_CATEGORY] = "hlo_category",
                                                  [STAT_PRODUCER] = "_p",
                                                  [STAT_CONSUMER] = "_c",
                                                  [STAT_RUN] = "run_id",
                                                  [STAT_DEVICE] = "device_ordinal",
                                                  [STAT_STEP] = "step_num",
                                                  [STAT_CORRELATION] = "correlation_id"};
    *ret_ids = (struct stat_ids){.of = {STAT_NO_ID}};
    for (unsigned kind = 1; kind < STAT_KINDS; kind++) {
        int64_t id;
        ret_ids->of[kind] = STAT_NO_ID;
        if (!xplane_stat_id(plane, names[kind], &id))
            continue;
        ret_ids->of[kind] = id;
        if (id >= 0 && id < (int64_t)sizeof(ret_ids->kind_of_low))
            ret_ids->kind_of_low[id] = (uint8_t)kind;
    }
}

static enum stat_kind kind_of(const struct stat_ids *ids, int64_t id)
{
    if (id >= 0 && id < (int64_t)sizeof(ids->kind_of_low))
        return ids->kind_of_low[id];
    for (unsigned kind = 1; kind < STAT_KINDS; kind++) {
        if (ids->of[kind] == id)
            return (enum stat_kind)kind;
    }
    return STAT_UNKNOWN;
}

static void take(struct event_stats *stats, enum stat_kind kind, const struct xstat *stat)
{
    if (kind < STAT_PRODUCER)
        stats->texts[kind] = *stat;
    else if (!xstat_integer(stat, &stats->integers[kind]))
        return;
    stats->has |= 1U << kind;
}

/* Field, size and id of one byte each, as in nearly every stat: 0x22 SIZE 0x08 ID. */
#define USUAL_BYTES 4

static uint32_t little_endian(const uint8_t *pos)
{
    uint32_t word;
    memcpy(&word, pos, sizeof(word));
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    word = __builtin_bswap32(word);
#endif
    return word;
}

/* The value of a stat in [pos, end): false where it is no integer or reference of at most WIRE_WIDE
 * bytes, which must be readable behind the first. */
static bool take_usual(struct event_stats *stats, enum stat_kind kind, const uint8_t *pos,
                       const uint8_t *end)
{
    unsigned tag = *pos++;
    uint64_t value = *pos;
    if ((value < 0x80 ? pos + 1 : wire_varint_wide(pos, &value)) != end)
        return false;
    if (kind < STAT_PRODUCER) {
        if (tag != (XSTAT_REF << 3 | WIRE_VARINT))
            return false;
        stats->texts[kind].kind = XSTAT_KIND_REF;
        stats->texts[kind].integer = value;
    } else {
        if (tag != (XSTAT_INT64 << 3 | WIRE_VARINT) && tag != (XSTAT_UINT64 << 3 | WIRE_VARINT))
            return false;
        stats->integers[kind] = (int64_t)value; /* of at most 56 bits */
    }
    stats->has |= 1U << kind;
    return true;
}

/* Takes the stats of the usual shape from the front of [pos, end) and returns where they end.
 * Behind `end` there must be room for what is read before it is known where it ends. */
static const uint8_t *read_usual(struct event_stats *stats, const struct stat_ids *ids,
                                 const uint8_t *pos, const uint8_t *end)
{
    while (pos < end) {
        uint32_t word = little_endian(pos), size = word >> 8 & 0xff;
        if ((word & UINT32_C(0x80ff80ff)) != UINT32_C(0x00080022) || size <= 2 ||
            (ptrdiff_t)size > end - pos - 2)
            break;
        enum stat_kind kind = ids->kind_of_low[word >> 24];
        const uint8_t *next = pos + 2 + size;
        if (kind != STAT_UNKNOWN && !take_usual(stats, kind, pos + USUAL_BYTES, next))
            break;
        pos = next;
    }
    return pos;
}

/* Stats of any shape. Apart, so that events of the usual shape pay nothing for it. */
__attribute__((noinline)) static void read_any(struct event_stats *stats,
                                               const struct stat_ids *ids, struct wire wire)
{
    struct xstat stat;
    while (wire.pos < wire.end && xstat_next(&wire, XEVENT_STATS, &stat) > 0) {
        enum stat_kind kind = kind_of(ids, stat.metadata_id);
        if (kind != STAT_UNKNOWN)
            take(stats, kind, &stat);
    }
}

void stats_read(struct event_stats *ret_stats, const struct stat_ids *ids, const struct xline *line,
                const struct xevent *event)
{
    const uint8_t *pos = event->stats;
    ret_stats->has = 0;
    if (line->wire.end - event->end >= USUAL_BYTES + 1 + WIRE_WIDE)
        pos = read_usual(ret_stats, ids, pos, event->end);
    if (pos < event->end)
        read_any(ret_stats, ids,
                 (struct wire){.pos = pos, .end = event->end, .start = line->wire.start});
}

struct view stats_text(const struct event_stats *stats, const struct xplane *plane,
                       enum stat_kind kind)
{
    struct view text = view_of("", 0);
    if (stats_has(stats, kind))
        (void)xplane_stat_text(plane, &stats->texts[kind], &text);
    return text;
}
