/* SPDX-License-Identifier: Apache-2.0 */
/* line - a line's own fields, a survey of its events, and the events of unusual shape. */
#include "xplane/line.h"

#include "base/banned.h"

#define PS_PER_NS 1000

/* Fields of another wire type than the format's are damage: no version of the format changed one,
 * and guessing would turn a damaged file into wrong totals. */
static const char WRONG_TYPE[] = "a field has a wire type that its number does not have";

static int take_line_field(struct xline *line, const struct wire_field *field)
{
    enum wire_type expected = WIRE_VARINT;
    switch (field->number) {
    case XLINE_ID:
        line->id = (int64_t)field->value;
        break;
    case XLINE_TIMESTAMP_NS:
        line->timestamp_ns = (int64_t)field->value;
        break;
    case XLINE_DURATION_PS:
        line->duration_ps = (int64_t)field->value;
        break;
    case XLINE_DISPLAY_ID:
        line->display_id = (int64_t)field->value;
        break;
    case XLINE_NAME:
        expected = WIRE_BYTES;
        line->name = field->bytes;
        break;
    case XLINE_DISPLAY_NAME:
        expected = WIRE_BYTES;
        line->display_name = field->bytes;
        break;
    case XLINE_EVENTS:
        expected = WIRE_BYTES;
        line->events += !field->cut;
        break;
    default:
        return 0;
    }
    return field->type == expected ? 0 : ERR_DAMAGED;
}

static void open_line(struct xline *ret_line, const struct wire *part, int64_t base_ns, bool whole)
{
    struct xline line = {.wire = *part, .cut = part->cut};
    struct wire wire = *part;
    struct wire_field field;
    while (wire_next(&wire, &field) > 0) {
        if (!whole && field.number == XLINE_EVENTS)
            break;
        if (take_line_field(&line, &field) != 0)
            break; /* xline_next_any meets it again and says so */
        if (!whole && !field.cut)
            line.wire.pos = wire.pos;
    }
    int64_t ns;
    line.misdated = __builtin_sub_overflow(line.timestamp_ns, base_ns, &ns) ||
                    __builtin_mul_overflow(ns, PS_PER_NS, &line.base_ps);
    if (line.misdated) {
        (void)wire_refuse(&line.wire, part->pos, "a line's timestamp is out of range");
        line.events = 0;
    }
    *ret_line = line;
}

void xline_open(struct xline *ret_line, const struct wire *part, int64_t base_ns)
{
    open_line(ret_line, part, base_ns, true);
}

void xline_open_head(struct xline *ret_line, const struct wire *part, int64_t base_ns)
{
    open_line(ret_line, part, base_ns, false);
}

int xevent_decode_any(struct xline *line, const uint8_t *pos, const uint8_t *end,
                      struct xevent *ret_event)
{
    struct wire wire = wire_enter(&line->wire, view_of(pos, (size_t)(end - pos)), false);
    struct xevent event = {.stats = end, .end = end};
    struct wire_field field;
    int64_t offset_ps = 0;
    int more;
    for (const uint8_t *at = pos; (more = wire_next(&wire, &field)) > 0; at = wire.pos) {
        enum wire_type expected = field.number == XEVENT_STATS ? WIRE_BYTES : WIRE_VARINT;
        if (field.number >= XEVENT_METADATA_ID && field.number <= XEVENT_NUM_OCCURRENCES &&
            field.type != expected) {
            more = wire_refuse(&wire, at, WRONG_TYPE);
            break;
        }
        switch (field.number) {
        case XEVENT_METADATA_ID:
            event.metadata_id = (int64_t)field.value;
            break;
        case XEVENT_OFFSET_PS: /* one of two: the later of offset and occurrences counts */
            offset_ps = (int64_t)field.value;
            event.aggregated = false;
            break;
        case XEVENT_NUM_OCCURRENCES:
            event.occurrences = (int64_t)field.value;
            event.aggregated = true;
            offset_ps = 0;
            break;
        case XEVENT_DURATION_PS:
            event.duration_ps = (int64_t)field.value;
            break;
        case XEVENT_STATS:
            if (event.stats == end)
                event.stats = at;
            break;
        default:
            break;
        }
    }
    if (more < 0) {
        line->wire.damage = wire.damage;
        return more;
    }
    int code = xevent_place(line, pos, offset_ps, &event);
    if (code > 0)
        *ret_event = event;
    return code;
}

int xline_next_any(struct xline *line, struct xevent *ret_event)
{
    struct wire *wire = &line->wire;
    struct xline ignored = {0};
    struct wire_field field;
    int more;
    for (const uint8_t *at = wire->pos; (more = wire_next(wire, &field)) > 0; at = wire->pos) {
        if (take_line_field(&ignored, &field) != 0)
            return wire_refuse(wire, at, WRONG_TYPE);
        if (field.number != XLINE_EVENTS) {
            line->late |= field.number <= XLINE_TIMESTAMP_NS;
            continue;
        }
        if (field.cut)
            return wire->damage.code;
        return xevent_decode(line, field.bytes.data, field.bytes.data + field.bytes.size,
                             ret_event);
    }
    return more;
}

void xline_survey(const struct xline *line, struct xline_survey *ret_survey)
{
    struct xline walk = *line;
    struct xline_survey survey = {.ordered = true, .first_ps = INT64_MAX, .last_ps = INT64_MIN};
    struct xevent event;
    int64_t before = INT64_MIN;
    while (xline_next(&walk, &event) > 0) {
        survey.events++;
        survey.reversed += event.reversed;
        survey.aggregated += event.aggregated;
        if (event.aggregated)
            continue;
        int64_t end = event.start_ps + event.duration_ps;
        survey.ordered &= event.start_ps >= before;
        before = event.start_ps;
        if (event.start_ps < survey.first_ps)
            survey.first_ps = event.start_ps;
        if (end > survey.last_ps)
            survey.last_ps = end;
    }
    if (survey.events == survey.aggregated)
        survey.first_ps = survey.last_ps = 0;
    survey.late = walk.late;
    survey.damage = walk.wire.damage;
    *ret_survey = survey;
}
