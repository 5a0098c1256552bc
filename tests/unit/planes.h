/* SPDX-License-Identifier: Apache-2.0 */
/* planes - parts of a capture written by hand, and lines opened on them. */
#ifndef DEW_TESTS_PLANES_H
#define DEW_TESTS_PLANES_H

#include "message.h"
#include "xplane/line.h"
#include "xplane/space.h"

static inline void put_event(struct message *line, uint64_t id, int64_t offset, int64_t duration)
{
    struct message event = {0};
    put_integer(&event, XEVENT_METADATA_ID, id);
    put_integer(&event, XEVENT_OFFSET_PS, (uint64_t)offset);
    put_integer(&event, XEVENT_DURATION_PS, (uint64_t)duration);
    put_message(line, XLINE_EVENTS, &event);
}

static inline void put_metadata(struct message *plane, uint32_t field, int64_t id, const char *name)
{
    struct message entry = {0}, value = {0};
    put_integer(&value, 1, (uint64_t)id);
    put_text(&value, 2, name);
    put_integer(&entry, MAP_KEY, (uint64_t)id);
    put_message(&entry, MAP_VALUE, &value);
    put_message(plane, field, &entry);
}

static inline struct xline line_of(const struct message *m, int64_t base_ns)
{
    struct xline line;
    struct wire part = {
        .pos = m->bytes, .end = m->bytes + m->size, .start = m->bytes, .cut = false};
    xline_open(&line, &part, base_ns);
    return line;
}

static inline struct xline head_of(const struct message *m)
{
    struct xline line;
    struct wire part = {.pos = m->bytes, .end = m->bytes + m->size, .start = m->bytes};
    xline_open_head(&line, &part, 0);
    return line;
}

#endif
