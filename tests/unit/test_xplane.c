/* SPDX-License-Identifier: Apache-2.0 */
/* test_xplane - cursors over captures written by hand: fields, damage, cuts, names. */
#include <stdlib.h>

#include "planes.h"
#include "test.h"
#include "xplane/space.h"

#include "base/banned.h"

/* Two planes of two lines of three events, names behind them, then the host's name. */
static void put_capture(struct message *space)
{
    for (uint64_t p = 0; p < 2; p++) {
        struct message plane = {0};
        put_integer(&plane, XPLANE_ID, p);
        put_text(&plane, XPLANE_NAME, p == 0 ? "/host:CPU" : "/device:GPU:0");
        for (uint64_t l = 0; l < 2; l++) {
            struct message line = {0};
            put_integer(&line, XLINE_ID, l);
            put_text(&line, XLINE_NAME, "line");
            put_integer(&line, XLINE_TIMESTAMP_NS, 100 * (l + 1));
            for (int64_t i = 0; i < 3; i++)
                put_event(&line, (uint64_t)i + 1, i * 1000, 400 + i);
            put_integer(&line, XLINE_DURATION_PS, 9);
            put_text(&line, XLINE_DISPLAY_NAME, "shown");
            put_message(&plane, XPLANE_LINES, &line);
        }
        for (int64_t id = 1; id <= 3; id++)
            put_metadata(&plane, XPLANE_EVENT_METADATA, id, "name");
        put_message(space, XSPACE_PLANES, &plane);
    }
    put_text(space, XSPACE_HOSTNAMES, "host");
}

struct seen {
    int64_t starts[64];
    uint32_t events;
    uint32_t named;
    uint32_t whole_planes;
    int damage; /* of the file */
    struct view hostname;
};

static void see_plane(struct seen *seen, const struct wire *part)
{
    struct err e = {0};
    struct xplane plane;
    assert_int_equal(xplane_open(&plane, part, &e), 0);
    seen->whole_planes += !part->cut && plane.damage.code == 0;
    for (uint32_t i = 0; i < plane.line_count; i++) {
        struct xline line;
        struct xevent event;
        xplane_line(&plane, i, 0, &line);
        uint64_t before = seen->events;
        while (xline_next(&line, &event) > 0) {
            assert_in_range(seen->events, 0, 63);
            seen->starts[seen->events++] = event.start_ps;
            seen->named += xplane_event_name(&plane, event.metadata_id).size > 0;
        }
        assert_int_equal(seen->events - before, line.events);
    }
    xplane_release(&plane);
}

static struct seen see(struct view file)
{
    struct seen seen = {0};
    struct xspace space;
    struct wire part;
    xspace_open(&space, file);
    while (xspace_next(&space, &part) > 0)
        see_plane(&seen, &part);
    seen.damage = space.wire.damage.code;
    seen.hostname = space.hostname;
    return seen;
}

static void a_whole_capture_is_read(void **state)
{
    (void)state;
    struct message m = {0};
    put_capture(&m);
    struct seen seen = see(message_view(&m));
    assert_int_equal(seen.events, 12);
    assert_int_equal(seen.named, 12);
    assert_int_equal(seen.whole_planes, 2);
    assert_int_equal(seen.damage, 0);
    assert_int_equal(seen.starts[4], 201000);
    assert_true(view_is(seen.hostname, "host"));
}

static void a_cut_anywhere_keeps_what_is_whole(void **state)
{
    (void)state;
    struct message m = {0};
    put_capture(&m);
    struct seen whole = see(message_view(&m));
    uint32_t before = 0;
    for (size_t size = 0; size < m.size; size++) {
        uint8_t *exact =
            malloc(size > 0 ? size : 1); /* so that a sanitizer sees one byte too far */
        assert_non_null(exact);
        memcpy(exact, m.bytes, size);
        struct seen cut = see(view_of(exact, size));
        assert_in_range(cut.events, before, before + 1);
        assert_memory_equal(cut.starts, whole.starts, cut.events * sizeof(cut.starts[0]));
        /* Only between two fields of the outermost message is there no sign of the cut. */
        if (cut.damage == 0)
            assert_true(cut.events == 6 * cut.whole_planes && cut.hostname.size == 0);
        else
            assert_int_equal(cut.damage, ERR_TRUNCATED);
        before = cut.events;
        free(exact);
    }
    assert_int_equal(before, 12);
}

static void any_byte_changed_is_no_crash(void **state)
{
    (void)state;
    struct message m = {0};
    put_capture(&m);
    for (size_t at = 0; at < m.size; at++) {
        for (unsigned bit = 0; bit < 8; bit++) {
            uint8_t *exact = malloc(m.size);
            assert_non_null(exact);
            memcpy(exact, m.bytes, m.size);
            exact[at] ^= (uint8_t)(1U << bit);
            struct xspace space;
            struct wire part;
            xspace_open(&space, view_of(exact, m.size));
            while (xspace_next(&space, &part) > 0) {
                struct xplane plane;
                assert_int_equal(xplane_open(&plane, &part, NULL), 0);
                for (uint32_t i = 0; i < plane.line_count; i++) {
                    struct xline line;
                    struct xline_survey survey;
                    xplane_line(&plane, i, 0, &line);
                    xline_survey(&line, &survey);
                    assert_in_range(survey.events, 0, line.events);
                }
                xplane_release(&plane);
            }
            free(exact);
        }
    }
}

static void a_lines_fields_count_wherever_they_stand(void **state)
{
    (void)state;
    struct message m = {0};
    put_event(&m, 1, 5, 6);
    put_integer(&m, XLINE_TIMESTAMP_NS, 3);
    put_integer(&m, XLINE_TIMESTAMP_NS, 4);
    put_text(&m, XLINE_NAME, "n");
    put_text(&m, XLINE_DISPLAY_NAME, "d");
    put_integer(&m, XLINE_DISPLAY_ID, 77);
    put_integer(&m, XLINE_DURATION_PS, 88);
    put_integer(&m, XLINE_ID, (uint64_t)INT64_MIN);
    put_integer(&m, 100, 1); /* of a later version of the format */
    struct xline line = line_of(&m, 1);
    struct xevent event;
    assert_int_equal(line.id, INT64_MIN);
    assert_int_equal(line.display_id, 77);
    assert_int_equal(line.duration_ps, 88);
    assert_int_equal(line.timestamp_ns, 4);
    assert_true(view_is(line.name, "n") && view_is(line.display_name, "d"));
    assert_int_equal(line.events, 1);
    assert_int_equal(xline_next(&line, &event), 1);
    assert_int_equal(event.start_ps, 3005);
    assert_int_equal(event.duration_ps, 6);
    assert_int_equal(xline_next(&line, &event), 0);
}

static void an_events_fields_count_in_any_order(void **state)
{
    (void)state;
    struct message m = {0}, event = {0}, stat = {0};
    put_integer(&stat, XSTAT_METADATA_ID, 4);
    put_integer(&stat, XSTAT_INT64, 9);
    put_message(&event, XEVENT_STATS, &stat);
    put_integer(&event, XEVENT_DURATION_PS, 2);
    put_integer(&event, 19, 0);
    put_message(&event, XEVENT_STATS, &stat);
    put_integer(&event, XEVENT_NUM_OCCURRENCES, 7);
    put_integer(&event, XEVENT_OFFSET_PS, 3);
    put_integer(&event, XEVENT_METADATA_ID, 1);
    put_message(&m, XLINE_EVENTS, &event);
    struct xline line = line_of(&m, 0);
    struct xevent got;
    struct xstat value;
    assert_int_equal(xline_next(&line, &got), 1);
    assert_int_equal(got.metadata_id, 1);
    assert_int_equal(got.start_ps, 3);
    assert_int_equal(got.duration_ps, 2);
    assert_false(got.aggregated); /* the offset came later and is the other side of the oneof */
    struct wire stats = xevent_stats(&line, &got);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(xstat_next(&stats, XEVENT_STATS, &value), 1);
        assert_int_equal(value.metadata_id, 4);
        assert_int_equal(value.kind, XSTAT_KIND_SIGNED);
        assert_int_equal(value.integer, 9);
    }
    assert_int_equal(xstat_next(&stats, XEVENT_STATS, &value), 0);
}

static void odd_events_are_marked(void **state)
{
    (void)state;
    struct message m = {0}, event = {0};
    put_event(&m, 1, 50, -5);
    put_event(&m, 1, -20, 5);
    put_integer(&event, XEVENT_NUM_OCCURRENCES, 12);
    put_integer(&event, XEVENT_DURATION_PS, 300);
    put_message(&m, XLINE_EVENTS, &event);
    put_bytes(&m, XLINE_EVENTS, "", 0);
    struct xline line = line_of(&m, 0);
    struct xline_survey survey;
    struct xevent got;
    xline_survey(&line, &survey);
    assert_int_equal(survey.events, 4);
    assert_int_equal(survey.aggregated, 1);
    assert_int_equal(survey.reversed, 1);
    assert_false(survey.ordered);
    assert_int_equal(survey.first_ps, -20);
    assert_int_equal(survey.last_ps, 50);
    assert_int_equal(xline_next(&line, &got), 1);
    assert_true(got.reversed);
    assert_int_equal(got.duration_ps, 0);
    assert_int_equal(xline_next(&line, &got), 1);
    assert_int_equal(xline_next(&line, &got), 1);
    assert_true(got.aggregated);
    assert_int_equal(got.occurrences, 12);
    assert_int_equal(got.duration_ps, 300);
    assert_int_equal(xline_next(&line, &got), 1);
    assert_int_equal(got.metadata_id, 0);
    assert_int_equal(xline_next(&line, &got), 0);
}

static void times_that_do_not_fit_are_damage(void **state)
{
    (void)state;
    const int64_t starts[] = {INT64_MAX - 10, INT64_MAX, 0};
    const int64_t durations[] = {11, 1, INT64_MAX};
    for (size_t i = 0; i < 2; i++) {
        struct message m = {0};
        put_event(&m, 1, 0, 1);
        put_event(&m, 1, starts[i], durations[i]);
        put_event(&m, 1, 5, 1);
        struct xline line = line_of(&m, 0);
        struct xevent event;
        assert_int_equal(xline_next(&line, &event), 1);
        assert_int_equal(xline_next(&line, &event), ERR_DAMAGED);
        assert_int_equal(xline_next(&line, &event), ERR_DAMAGED);
        assert_non_null(strstr(line.wire.damage.problem, "64 bits"));
    }
    struct message m = {0};
    put_event(&m, 1, starts[2], durations[2]);
    struct xline line = line_of(&m, 0);
    struct xevent event;
    assert_int_equal(xline_next(&line, &event), 1);

    m = (struct message){0};
    put_integer(&m, XLINE_TIMESTAMP_NS, INT64_MAX / 2);
    put_event(&m, 1, 0, 1);
    line = line_of(&m, 0);
    assert_true(line.misdated);
    assert_int_equal(line.events, 0);
    assert_int_equal(xline_next(&line, &event), ERR_DAMAGED);
    line = line_of(&m, INT64_MAX / 2); /* beside a base that suits it, it is fine */
    assert_false(line.misdated);
    assert_int_equal(xline_next(&line, &event), 1);
    line = line_of(&m, INT64_MIN);
    assert_true(line.misdated);
}

static void wrong_types_are_damage_where_they_stand(void **state)
{
    (void)state;
    struct message m = {0}, event = {0};
    struct xevent got;
    put_event(&m, 1, 0, 1);
    size_t bad_at = m.size;
    put_integer(&m, XLINE_NAME, 1);
    put_event(&m, 1, 0, 1);
    struct xline line = line_of(&m, 0);
    assert_int_equal(xline_next(&line, &got), 1);
    assert_int_equal(xline_next(&line, &got), ERR_DAMAGED);
    assert_int_equal(line.wire.damage.offset, bad_at);

    m = (struct message){0};
    put_text(&event, XEVENT_DURATION_PS, "x");
    put_message(&m, XLINE_EVENTS, &event);
    line = line_of(&m, 0);
    assert_int_equal(xline_next(&line, &got), ERR_DAMAGED);
    assert_int_equal(line.wire.damage.offset, 2);

    m = (struct message){0};
    put_integer(&m, XLINE_EVENTS, 3);
    line = line_of(&m, 0);
    assert_int_equal(xline_next(&line, &got), ERR_DAMAGED);

    m = (struct message){0};
    put_integer(&m, XSPACE_PLANES, 3);
    struct xspace space;
    struct wire part;
    xspace_open(&space, message_view(&m));
    assert_int_equal(xspace_next(&space, &part), ERR_DAMAGED);

    m = (struct message){0};
    put_metadata(&m, XPLANE_EVENT_METADATA, 1, "kept");
    bad_at = m.size;
    put_integer(&m, XPLANE_LINES, 3);
    part = (struct wire){.pos = m.bytes, .end = m.bytes + m.size, .start = m.bytes};
    struct xplane plane;
    assert_int_equal(xplane_open(&plane, &part, NULL), 0);
    assert_int_equal(plane.damage.code, ERR_DAMAGED);
    assert_int_equal(plane.damage.offset, bad_at);
    assert_true(view_is(xplane_event_name(&plane, 1), "kept"));
    xplane_release(&plane);
}

static struct xstat stat_of(uint32_t field, const struct message *value)
{
    struct message m = {0}, stat = {0};
    put_integer(&stat, XSTAT_METADATA_ID, 300);
    put_raw(&stat, value->bytes, value->size);
    put_message(&m, field, &stat);
    struct wire wire = {.pos = m.bytes, .end = m.bytes + m.size, .start = m.bytes};
    struct xstat got;
    assert_int_equal(xstat_next(&wire, field, &got), 1);
    assert_int_equal(got.metadata_id, 300);
    assert_int_equal(xstat_next(&wire, field, &got), 0);
    got.bytes = view_of(NULL, got.bytes.size); /* the message is gone */
    return got;
}

static struct xstat integer_stat(uint32_t kind, uint64_t value)
{
    struct message m = {0};
    put_integer(&m, kind, value);
    return stat_of(XEVENT_STATS, &m);
}

static void every_kind_of_stat_is_read(void **state)
{
    (void)state;
    struct xstat stat = integer_stat(XSTAT_UINT64, UINT64_MAX);
    int64_t number = 5;
    assert_int_equal(stat.kind, XSTAT_KIND_UNSIGNED);
    assert_int_equal(stat.integer, UINT64_MAX);
    assert_false(xstat_integer(&stat, &number));
    stat = integer_stat(XSTAT_INT64, (uint64_t)-3);
    assert_int_equal(stat.kind, XSTAT_KIND_SIGNED);
    assert_true(xstat_integer(&stat, &number));
    assert_int_equal(number, -3);
    stat = integer_stat(XSTAT_REF, 12);
    assert_int_equal(stat.kind, XSTAT_KIND_REF);
    assert_int_equal(stat.integer, 12);
    assert_false(xstat_integer(&stat, &number));

    struct message m = {0};
    double real = -2.5;
    put_raw(&m, &(uint8_t){XSTAT_DOUBLE << 3 | WIRE_FIXED64}, 1);
    put_raw(&m, &real, sizeof(real)); /* the format and these machines are little-endian */
    stat = stat_of(XPLANE_STATS, &m);
    assert_int_equal(stat.kind, XSTAT_KIND_REAL);
    assert_true(stat.real == real && stat.integer == 0);

    const uint32_t fields[] = {XSTAT_STR, XSTAT_BYTES, XSTAT_COMPRESSED_STR};
    const int kinds[] = {XSTAT_KIND_TEXT, XSTAT_KIND_BYTES, XSTAT_KIND_COMPRESSED};
    for (size_t i = 0; i < 3; i++) {
        m = (struct message){0};
        put_integer(&m, XSTAT_INT64, 1);
        put_text(&m, fields[i], "four"); /* the later alternative counts */
        stat = stat_of(XEVENT_METADATA_STATS, &m);
        assert_int_equal(stat.kind, kinds[i]);
        assert_int_equal(stat.bytes.size, 4);
        assert_int_equal(stat.integer, 0);
    }
    m = (struct message){0};
    assert_int_equal(stat_of(XEVENT_STATS, &m).kind, XSTAT_KIND_NONE);
}

static void texts_of_digits_are_integers(void **state)
{
    (void)state;
    const struct {
        const char *text;
        bool is;
        int64_t value;
    } cases[] = {
        {"0", true, 0},
        {"-0", true, 0},
        {"12", true, 12},
        {"9223372036854775807", true, INT64_MAX},
        {"-9223372036854775808", true, INT64_MIN},
        {"9223372036854775808", false, 0},
        {"-9223372036854775809", false, 0},
        {"", false, 0},
        {"-", false, 0},
        {"1x", false, 0},
        {" 1", false, 0},
        {"+1", false, 0},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct xstat stat = {.kind = XSTAT_KIND_TEXT, .bytes = view_text(cases[i].text)};
        int64_t value = 77;
        assert_int_equal(xstat_integer(&stat, &value), cases[i].is);
        assert_int_equal(value, cases[i].is ? cases[i].value : 77);
    }
}

static void damaged_stats_are_refused(void **state)
{
    (void)state;
    const uint8_t cases[][8] = {
        {0x22, 0x02, 0x12, 0x01, 0x00, 0x00, 0x00, 0x00}, /* bytes where a double belongs */
        {0x22, 0x02, 0x21, 0x01, 0x00, 0x00, 0x00, 0x00}, /* fixed64 where an integer belongs */
        {0x22, 0x03, 0x08, 0x01, 0x18, 0x80, 0x80, 0x80}, /* a varint past the stat's end */
        {0x22, 0x7f, 0x08, 0x01, 0x18, 0x01, 0x00, 0x00}, /* longer than what holds it */
        {0x20, 0x01, 0x08, 0x01, 0x18, 0x01, 0x00, 0x00}, /* no message at all */
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct wire wire = {.pos = cases[i], .end = cases[i] + 8, .start = cases[i]};
        struct xstat stat;
        assert_int_equal(xstat_next(&wire, XEVENT_STATS, &stat), ERR_DAMAGED);
        assert_int_equal(xstat_next(&wire, XEVENT_STATS, &stat), ERR_DAMAGED);
        assert_non_null(wire.damage.problem);
    }
}

static void ids_near_and_far_are_found(void **state)
{
    (void)state;
    const int64_t near[] = {7, 5, 6, 9, 5};
    const int64_t far[] = {INT64_MAX, INT64_MIN, 0, -1, 1, INT64_MAX};
    const uint8_t places[8] = {0};
    struct xtable table = {0};
    for (size_t i = 0; i < 5; i++)
        assert_int_equal(xtable_add(&table, near[i], view_of(places + i, i), NULL), 0);
    assert_int_equal(xtable_build(&table, NULL), 0);
    assert_non_null(table.dense);
    assert_int_equal(table.count, 4);
    assert_int_equal(table.entries[xtable_index(&table, 5)].bytes.size, 4); /* the later one */
    assert_int_equal(table.entries[xtable_index(&table, 9)].bytes.size, 3);
    assert_int_equal(xtable_index(&table, 4), XTABLE_NONE);
    assert_int_equal(xtable_index(&table, 8), XTABLE_NONE);
    assert_int_equal(xtable_index(&table, INT64_MIN), XTABLE_NONE);
    xtable_release(&table);
    for (size_t i = 0; i < 6; i++)
        assert_int_equal(xtable_add(&table, far[i], view_of(places + i, i), NULL), 0);
    assert_int_equal(xtable_build(&table, NULL), 0);
    assert_null(table.dense);
    assert_int_equal(table.count, 5);
    assert_int_equal(table.entries[xtable_index(&table, INT64_MAX)].bytes.size, 5);
    assert_int_equal(table.entries[xtable_index(&table, INT64_MIN)].bytes.size, 1);
    assert_int_equal(xtable_index(&table, 2), XTABLE_NONE);
    xtable_release(&table);
    assert_int_equal(xtable_build(&table, NULL), 0);
    assert_int_equal(xtable_index(&table, 0), XTABLE_NONE);
    xtable_release(&table);
}

static void names_are_looked_up(void **state)
{
    (void)state;
    struct message m = {0}, entry = {0}, value = {0}, stat = {0};
    put_metadata(&m, XPLANE_STAT_METADATA, 3, "run_id");
    put_metadata(&m, XPLANE_STAT_METADATA, 4, "jit_step");
    put_text(&value, XEVENT_METADATA_NAME, "fusion");
    put_text(&value, XEVENT_METADATA_DISPLAY_NAME, "shown");
    put_text(&value, XEVENT_METADATA_METADATA, "proto");
    put_integer(&stat, XSTAT_METADATA_ID, 3);
    put_integer(&stat, XSTAT_REF, 4);
    put_message(&value, XEVENT_METADATA_STATS, &stat);
    put_message(&entry, MAP_VALUE, &value); /* value before key, which is left out: 0 */
    put_message(&m, XPLANE_EVENT_METADATA, &entry);
    put_bytes(&m, XPLANE_EVENT_METADATA, "\x08\x05", 2); /* an entry without a value */
    struct wire part = {.pos = m.bytes, .end = m.bytes + m.size, .start = m.bytes};
    struct xplane plane;
    assert_int_equal(xplane_open(&plane, &part, NULL), 0);
    assert_int_equal(plane.damage.code, 0);
    struct xevent_metadata got;
    xplane_event_metadata(&plane, xplane_event_index(&plane, 0), &got);
    assert_true(view_is(got.name, "fusion") && view_is(got.display_name, "shown"));
    assert_true(view_is(got.metadata, "proto"));
    struct xstat shared;
    struct view text = {0};
    assert_int_equal(xstat_next(&got.stats, XEVENT_METADATA_STATS, &shared), 1);
    assert_true(xplane_stat_text(&plane, &shared, &text));
    assert_true(view_is(text, "jit_step"));
    assert_true(view_is(xplane_stat_name(&plane, shared.metadata_id), "run_id"));
    assert_int_equal(xplane_event_name(&plane, 5).size, 0);
    assert_int_equal(xplane_event_name(&plane, 6).size, 0);
    assert_int_equal(xplane_stat_name(&plane, 6).size, 0);
    int64_t id = 0;
    assert_true(xplane_stat_id(&plane, "run_id", &id));
    assert_int_equal(id, 3);
    assert_false(xplane_stat_id(&plane, "absent", &id));
    shared.integer = 99;
    assert_false(xplane_stat_text(&plane, &shared, &text));
    shared.kind = XSTAT_KIND_SIGNED;
    assert_false(xplane_stat_text(&plane, &shared, &text));
    xplane_release(&plane);
}

static void damaged_names_cost_only_themselves(void **state)
{
    (void)state;
    struct message m = {0};
    put_bytes(&m, XPLANE_EVENT_METADATA, "\x08", 1);     /* cut short */
    put_bytes(&m, XPLANE_EVENT_METADATA, "\x0a\x00", 2); /* a key that is no integer */
    put_metadata(&m, XPLANE_EVENT_METADATA, 2, "two");
    struct wire part = {.pos = m.bytes, .end = m.bytes + m.size, .start = m.bytes};
    struct xplane plane;
    assert_int_equal(xplane_open(&plane, &part, NULL), 0);
    assert_int_equal(plane.damage.code, ERR_DAMAGED);
    assert_int_equal(plane.damage.offset, 2);
    assert_int_equal(plane.event_metadata.count, 1);
    assert_true(view_is(xplane_event_name(&plane, 2), "two"));
    xplane_release(&plane);
}

static void too_many_lines_are_a_limit(void **state)
{
    (void)state;
    size_t size = ((size_t)XPLANE_LINES_MAX + 1) * 2;
    uint8_t *bytes = malloc(size);
    assert_non_null(bytes);
    for (size_t i = 0; i < size; i += 2) {
        bytes[i] = XPLANE_LINES << 3 | WIRE_BYTES;
        bytes[i + 1] = 0;
    }
    struct wire part = {.pos = bytes, .end = bytes + size, .start = bytes};
    struct xplane plane;
    struct err e = {0};
    assert_int_equal(xplane_open(&plane, &part, &e), ERR_LIMIT);
    assert_non_null(strstr(e.text, "lines"));
    free(bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_whole_capture_is_read),
        cmocka_unit_test(a_cut_anywhere_keeps_what_is_whole),
        cmocka_unit_test(any_byte_changed_is_no_crash),
        cmocka_unit_test(a_lines_fields_count_wherever_they_stand),
        cmocka_unit_test(an_events_fields_count_in_any_order),
        cmocka_unit_test(odd_events_are_marked),
        cmocka_unit_test(times_that_do_not_fit_are_damage),
        cmocka_unit_test(wrong_types_are_damage_where_they_stand),
        cmocka_unit_test(every_kind_of_stat_is_read),
        cmocka_unit_test(texts_of_digits_are_integers),
        cmocka_unit_test(damaged_stats_are_refused),
        cmocka_unit_test(ids_near_and_far_are_found),
        cmocka_unit_test(names_are_looked_up),
        cmocka_unit_test(damaged_names_cost_only_themselves),
        cmocka_unit_test(too_many_lines_are_a_limit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
