/* SPDX-License-Identifier: Apache-2.0 */
/* shift - looks for the numbers to rewrite, outermost message first. */
#include "xplane/shift.h"

#include "xplane/space.h"

#include "base/banned.h"

#define PS_PER_NS 1000
#define TAG(field, type) ((uint64_t)(field) << 3 | (type))

struct planner {
    const struct xshift *shift;
    struct patches patches;
    struct view plane_name;
    int64_t start_id, stop_id; /* of the window's stats in the plane at hand */
    bool has_start, has_stop;
};

static int put(struct planner *planner, const struct wire *wire, const uint8_t *from,
               const uint8_t *to, uint64_t tag, uint64_t number, struct err *e)
{
    return patches_put(&planner->patches, wire_offset(wire, from), (size_t)(to - from), tag, number,
                       e);
}

/* Between the tag at `at` and the bytes of the field stands its length. */
static int enter(struct planner *planner, const struct wire *wire, const uint8_t *at,
                 const struct wire_field *field, struct patch_message *ret_message, struct err *e)
{
    uint64_t tag;
    const uint8_t *length = wire_varint(at, wire->end, &tag);
    return patches_enter(&planner->patches, wire_offset(wire, length),
                         (size_t)(field->bytes.data - length), field->bytes.size, ret_message, e);
}

static int moved(const struct planner *planner, const struct xline *line, int64_t *ret_ns,
                 struct err *e)
{
    int64_t by =
        line->timestamp_ns > XLINE_DATED_NS ? planner->shift->dated_ns : planner->shift->line_ns;
    int64_t ns, ps;
    if (__builtin_add_overflow(line->timestamp_ns, by, &ns) ||
        __builtin_mul_overflow(ns, PS_PER_NS, &ps))
        return err_set(e, ERR_LIMIT,
                       "the line '%.*s' of '%.*s' would lie out of range: %lld ns moved by %lld ns",
                       (int)(line->name.size < 64 ? line->name.size : 64), line->name.data,
                       (int)(planner->plane_name.size < 64 ? planner->plane_name.size : 64),
                       planner->plane_name.data, (long long)line->timestamp_ns, (long long)by);
    if (ns < 0)
        return err_set(e, ERR_LIMIT,
                       "the line '%.*s' of '%.*s' would begin %lld ns before the common axis does",
                       (int)(line->name.size < 64 ? line->name.size : 64), line->name.data,
                       (int)(planner->plane_name.size < 64 ? planner->plane_name.size : 64),
                       planner->plane_name.data, -(long long)ns);
    *ret_ns = ns;
    return 0;
}

/* The last timestamp counts. Where a line has none, as for 0, one is put in the order of numbers.
 */
static int plan_line(struct planner *planner, const struct wire *part, struct err *e)
{
    struct xline line;
    xline_open(&line, part, 0);
    int64_t ns = 0;
    int code = moved(planner, &line, &ns, e);
    if (code != 0)
        return code;
    struct wire wire = *part;
    struct wire_field field;
    const uint8_t *from = NULL, *to = NULL, *behind = wire.pos;
    int more;
    for (const uint8_t *at = wire.pos; (more = wire_next(&wire, &field)) > 0; at = wire.pos) {
        if (field.number == XLINE_TIMESTAMP_NS && field.type != WIRE_VARINT) {
            more = wire_refuse(&wire, at, "a line's timestamp has a wire type of another kind");
            break;
        }
        if (field.number == XLINE_TIMESTAMP_NS) {
            from = at;
            to = wire.pos;
        } else if (field.number < XLINE_TIMESTAMP_NS && behind == at) {
            behind = wire.pos;
        }
    }
    if (more < 0)
        return wire_error(&wire, e);
    if (ns == line.timestamp_ns)
        return 0;
    if (!from)
        from = to = behind;
    return put(planner, &wire, from, to, TAG(XLINE_TIMESTAMP_NS, WIRE_VARINT), (uint64_t)ns, e);
}

static int plan_stat(struct planner *planner, const struct wire *part, struct err *e)
{
    struct wire wire = *part;
    struct wire_field field;
    const uint8_t *from = NULL, *to = NULL;
    uint64_t tag = 0;
    int64_t id = 0;
    bool other = false;
    int more;
    for (const uint8_t *at = wire.pos; (more = wire_next(&wire, &field)) > 0; at = wire.pos) {
        if (field.number == XSTAT_METADATA_ID) {
            id = (int64_t)field.value;
        } else if (field.number == XSTAT_UINT64 || field.number == XSTAT_INT64) {
            from = at;
            to = wire.pos;
            tag = TAG(field.number, field.type);
            other = field.type != WIRE_VARINT;
        } else {
            other = true;
        }
    }
    if (more < 0)
        return wire_error(&wire, e);
    bool is_start = planner->has_start && id == planner->start_id;
    if (!is_start && !(planner->has_stop && id == planner->stop_id))
        return 0;
    if (!from || other)
        return err_at(e, ERR_UNSUPPORTED, wire_offset(part, part->pos),
                      "byte %llu: the window's times are not stored as integers",
                      (unsigned long long)wire_offset(part, part->pos));
    int64_t ns = is_start ? planner->shift->start_ns : planner->shift->stop_ns;
    return put(planner, part, from, to, tag, (uint64_t)ns, e);
}

static int plan_field(struct planner *planner, const struct wire *wire, const uint8_t *at,
                      const struct wire_field *field, bool environment, struct err *e)
{
    bool line = field->number == XPLANE_LINES;
    if (!line && !(environment && field->number == XPLANE_STATS))
        return 0;
    struct wire part = wire_enter(wire, field->bytes, field->cut);
    struct patch_message message;
    int code = enter(planner, wire, at, field, &message, e);
    if (code == 0)
        code = line ? plan_line(planner, &part, e) : plan_stat(planner, &part, e);
    if (code == 0)
        patches_leave(&planner->patches, &message);
    return code;
}

static int damage_error(const struct damage *damage, struct err *e)
{
    return err_at(e, damage->code, damage->offset, "byte %llu: %s",
                  (unsigned long long)damage->offset, damage->problem);
}

static int plan_plane(struct planner *planner, const struct wire *part, struct err *e)
{
    CLEANUP(xplane_release) struct xplane plane = {0};
    int code = xplane_open(&plane, part, e);
    if (code != 0)
        return code;
    if (plane.damage.code != 0)
        return damage_error(&plane.damage, e);
    planner->plane_name = plane.name;
    bool environment = planner->shift->sets_window && view_is(plane.name, XSHIFT_ENVIRONMENT);
    if (environment) {
        planner->has_start = xplane_stat_id(&plane, "profile_start_time", &planner->start_id);
        planner->has_stop = xplane_stat_id(&plane, "profile_stop_time", &planner->stop_id);
    }
    struct wire wire = *part;
    struct wire_field field;
    for (const uint8_t *at = wire.pos; code == 0 && wire_next(&wire, &field) > 0; at = wire.pos)
        code = plan_field(planner, &wire, at, &field, environment, e);
    return code;
}

static int plan_space(struct planner *planner, struct view file, struct err *e)
{
    struct wire wire = wire_file(file);
    struct wire_field field;
    int more, code = 0;
    const uint8_t *at = wire.pos;
    for (; code == 0 && (more = wire_next(&wire, &field)) > 0; at = wire.pos) {
        if (field.number != XSPACE_PLANES)
            continue;
        if (field.type != WIRE_BYTES)
            return (void)wire_refuse(&wire, at, "a plane has a wire type of another kind"),
                   wire_error(&wire, e);
        struct wire part = wire_enter(&wire, field.bytes, field.cut);
        struct patch_message message;
        code = enter(planner, &wire, at, &field, &message, e);
        if (code == 0)
            code = plan_plane(planner, &part, e);
        if (code == 0)
            patches_leave(&planner->patches, &message);
    }
    return code != 0 ? code : wire_error(&wire, e);
}

static void release_planner(struct planner *planner)
{
    patches_release(&planner->patches);
}

int xshift_plan(struct view file, const struct xshift *shift, struct patches *ret_patches,
                struct err *e)
{
    CLEANUP(release_planner) struct planner planner = {.shift = shift};
    int code = plan_space(&planner, file, e);
    if (code != 0)
        return code;
    *ret_patches = planner.patches;
    planner.patches = (struct patches){0};
    return 0;
}
