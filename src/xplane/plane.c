/* SPDX-License-Identifier: Apache-2.0 */
/* plane - one pass over a plane's own fields, then look-ups. */
#include "xplane/plane.h"

#include <stdlib.h>

#include "base/banned.h"

#define FIRST_ROOM 16

static int add_line(struct xplane *plane, const struct wire_field *field, struct err *e)
{
    if (plane->line_count == XPLANE_LINES_MAX)
        return err_set(e, ERR_LIMIT, "a plane has more than %u lines", XPLANE_LINES_MAX);
    if (plane->line_count == plane->line_room) {
        uint32_t room = plane->line_room ? plane->line_room * 2 : FIRST_ROOM;
        struct xplane_part *grown = realloc(plane->lines, (size_t)room * sizeof(*grown));
        if (!grown)
            return err_nomem(e);
        plane->lines = grown;
        plane->line_room = room;
    }
    plane->lines[plane->line_count++] = (struct xplane_part){field->bytes, field->cut};
    return 0;
}

static void note_damage(struct xplane *plane, const struct wire *wire)
{
    if (plane->damage.code == 0)
        plane->damage = wire->damage;
}

static int add_metadata(struct xplane *plane, struct xtable *table, struct view bytes,
                        struct err *e)
{
    struct wire wire = wire_enter(&plane->wire, bytes, false);
    struct xtable_entry entry = {.bytes = {bytes.data + bytes.size, 0}};
    struct wire_field field;
    int more;
    for (const uint8_t *at = wire.pos; (more = wire_next(&wire, &field)) > 0; at = wire.pos) {
        enum wire_type expected = field.number == MAP_KEY ? WIRE_VARINT : WIRE_BYTES;
        if (field.number != MAP_KEY && field.number != MAP_VALUE)
            continue;
        if (field.type != expected) {
            more = wire_refuse(&wire, at, "a metadata entry has a wire type of another kind");
            break;
        }
        if (field.number == MAP_KEY)
            entry.id = (int64_t)field.value;
        else
            entry.bytes = field.bytes;
    }
    if (more < 0) {
        note_damage(plane, &wire);
        return 0;
    }
    return xtable_add(table, entry.id, entry.bytes, e);
}

static int take_field(struct xplane *plane, struct wire *wire, const uint8_t *at,
                      const struct wire_field *field, struct err *e)
{
    enum wire_type expected = field->number == XPLANE_ID ? WIRE_VARINT : WIRE_BYTES;
    if (field->number > XPLANE_STATS)
        return 0;
    if (field->type != expected) {
        (void)wire_refuse(wire, at, "a plane's field has a wire type of another kind");
        return 0;
    }
    if (field->cut && field->number != XPLANE_LINES)
        return 0; /* half a name or half a table entry says nothing */
    switch (field->number) {
    case XPLANE_ID:
        plane->id = (int64_t)field->value;
        return 0;
    case XPLANE_NAME:
        plane->name = field->bytes;
        return 0;
    case XPLANE_LINES:
        return add_line(plane, field, e);
    case XPLANE_EVENT_METADATA:
        return add_metadata(plane, &plane->event_metadata, field->bytes, e);
    case XPLANE_STAT_METADATA:
        return add_metadata(plane, &plane->stat_metadata, field->bytes, e);
    default:
        return 0;
    }
}

int xplane_open(struct xplane *ret_plane, const struct wire *part, struct err *e)
{
    CLEANUP(xplane_release) struct xplane plane = {.wire = *part};
    struct wire wire = *part;
    struct wire_field field;
    int code = 0;
    for (const uint8_t *at = wire.pos; code == 0 && wire_next(&wire, &field) > 0; at = wire.pos)
        code = take_field(&plane, &wire, at, &field, e);
    note_damage(&plane, &wire);
    if (code == 0)
        code = xtable_build(&plane.event_metadata, e);
    if (code == 0)
        code = xtable_build(&plane.stat_metadata, e);
    if (code != 0)
        return code;
    *ret_plane = plane;
    plane = (struct xplane){0};
    return 0;
}

void xplane_release(struct xplane *plane)
{
    free(plane->lines);
    xtable_release(&plane->event_metadata);
    xtable_release(&plane->stat_metadata);
    *plane = (struct xplane){0};
}

void xplane_line(const struct xplane *plane, uint32_t i, int64_t base_ns, struct xline *ret_line)
{
    struct wire part = wire_enter(&plane->wire, plane->lines[i].bytes, plane->lines[i].cut);
    xline_open(ret_line, &part, base_ns);
}

void xplane_line_head(const struct xplane *plane, uint32_t i, int64_t base_ns,
                      struct xline *ret_line)
{
    struct wire part = wire_enter(&plane->wire, plane->lines[i].bytes, plane->lines[i].cut);
    xline_open_head(ret_line, &part, base_ns);
}

static struct view first_text(const struct xplane *plane, struct view message, uint32_t number)
{
    struct wire wire = wire_enter(&plane->wire, message, false);
    struct view text = view_of(message.data, 0);
    struct wire_field field;
    while (wire_next(&wire, &field) > 0)
        if (field.number == number && field.type == WIRE_BYTES)
            text = field.bytes;
    return text;
}

void xplane_event_metadata(const struct xplane *plane, uint32_t index,
                           struct xevent_metadata *ret_metadata)
{
    struct view message = plane->event_metadata.entries[index].bytes;
    struct wire wire = wire_enter(&plane->wire, message, false);
    struct xevent_metadata metadata = {.stats = wire};
    struct wire_field field;
    while (wire_next(&wire, &field) > 0) {
        if (field.type != WIRE_BYTES)
            continue;
        if (field.number == XEVENT_METADATA_NAME)
            metadata.name = field.bytes;
        else if (field.number == XEVENT_METADATA_DISPLAY_NAME)
            metadata.display_name = field.bytes;
        else if (field.number == XEVENT_METADATA_METADATA)
            metadata.metadata = field.bytes;
    }
    *ret_metadata = metadata;
}

struct view xplane_event_name(const struct xplane *plane, int64_t metadata_id)
{
    uint32_t index = xplane_event_index(plane, metadata_id);
    if (index == XTABLE_NONE)
        return view_of(NULL, 0);
    return first_text(plane, plane->event_metadata.entries[index].bytes, XEVENT_METADATA_NAME);
}

struct view xplane_stat_name(const struct xplane *plane, int64_t metadata_id)
{
    uint32_t index = xtable_index(&plane->stat_metadata, metadata_id);
    if (index == XTABLE_NONE)
        return view_of(NULL, 0);
    return first_text(plane, plane->stat_metadata.entries[index].bytes, XSTAT_METADATA_NAME);
}

bool xplane_stat_id(const struct xplane *plane, const char *name, int64_t *ret_id)
{
    for (uint32_t i = 0; i < plane->stat_metadata.count; i++) {
        const struct xtable_entry *entry = &plane->stat_metadata.entries[i];
        if (!view_is(first_text(plane, entry->bytes, XSTAT_METADATA_NAME), name))
            continue;
        *ret_id = entry->id;
        return true;
    }
    return false;
}

bool xplane_stat_text(const struct xplane *plane, const struct xstat *stat, struct view *ret_text)
{
    if (stat->kind == XSTAT_KIND_TEXT) {
        *ret_text = stat->bytes;
        return true;
    }
    if (stat->kind != XSTAT_KIND_REF)
        return false;
    uint32_t index = xtable_index(&plane->stat_metadata, (int64_t)stat->integer);
    if (index == XTABLE_NONE)
        return false;
    *ret_text = first_text(plane, plane->stat_metadata.entries[index].bytes, XSTAT_METADATA_NAME);
    return true;
}
