/* SPDX-License-Identifier: Apache-2.0 */
/* test_xplane_merge - lines in one order of time, read here or by a second thread. */
#include <stdlib.h>

#include "nth.h"
#include "planes.h"
#include "test.h"
#include "xplane/ahead.h"
#include "xplane/merge.h"

#include "base/banned.h"

static void merged_lines_come_in_order(void **state)
{
    (void)state;
    struct message m[3] = {0};
    put_event(&m[0], 1, 10, 5);
    put_event(&m[0], 2, 20, 5);
    put_event(&m[1], 3, 30, 1); /* out of order, with an aggregated event between */
    put_bytes(&m[1], XLINE_EVENTS, "\x28\x02", 2);
    put_event(&m[1], 4, 10, 5);
    put_event(&m[1], 5, 10, 9);
    put_event(&m[1], 6, 5, 0);
    struct xline lines[3];
    for (size_t i = 0; i < 3; i++)
        lines[i] = line_of(&m[i], 0);
    const int64_t ids[] = {6, 5, 1, 4, 2, 3};
    const uint32_t from[] = {1, 1, 0, 1, 0, 1};
    struct xmerge merge;
    const struct xevent *event;
    uint32_t line;
    assert_int_equal(xmerge_open(&merge, lines, 3, XMERGE_SURVEY, NULL), 0);
    assert_int_equal(merge.sorted, 1);
    for (size_t i = 0; i < 6; i++) {
        assert_true(xmerge_next(&merge, &event, &line));
        assert_int_equal(event->metadata_id, ids[i]);
        assert_int_equal(line, from[i]);
    }
    assert_false(xmerge_next(&merge, &event, &line));
    assert_false(xmerge_next(&merge, &event, &line));
    xmerge_release(&merge);
    assert_int_equal(xmerge_open(&merge, NULL, 0, XMERGE_SURVEY, NULL), 0);
    assert_false(xmerge_next(&merge, &event, &line));
    xmerge_release(&merge);
    struct err e = {0};
    assert_int_equal(xmerge_open(&merge, lines, XMERGE_LINES_MAX + 1, XMERGE_SURVEY, &e),
                     ERR_LIMIT);
}

static void a_merge_that_trusts_says_when_it_should_not(void **state)
{
    (void)state;
    struct message m[2] = {0};
    put_integer(&m[0], XLINE_ID, 7);
    put_event(&m[0], 1, 10, 5);
    put_bytes(&m[0], XLINE_EVENTS, "\x28\x02", 2); /* aggregated */
    put_event(&m[0], 2, 20, 5);
    put_event(&m[1], 3, 15, 5);
    struct xline lines[2];
    for (size_t i = 0; i < 2; i++)
        lines[i] = head_of(&m[i]);
    struct xmerge merge;
    struct xmerge_count count;
    const struct xevent *event;
    uint32_t line;
    assert_int_equal(xmerge_open(&merge, lines, 2, XMERGE_TRUST, NULL), 0);
    for (int64_t start_ps = 10; start_ps <= 20; start_ps += 5) {
        assert_true(xmerge_next(&merge, &event, &line));
        assert_int_equal(event->start_ps, start_ps);
    }
    assert_false(xmerge_next(&merge, &event, &line));
    assert_false(merge.betrayed);
    xmerge_count(&merge, &count);
    assert_int_equal(count.events, 4);
    assert_int_equal(count.aggregated, 1);
    xmerge_release(&merge);

    put_event(&m[1], 4, 14, 5); /* back in time */
    lines[1] = head_of(&m[1]);
    assert_int_equal(xmerge_open(&merge, lines, 2, XMERGE_TRUST, NULL), 0);
    while (xmerge_next(&merge, &event, &line))
        continue;
    assert_true(merge.betrayed);
    xmerge_release(&merge);

    put_text(&m[0], XLINE_NAME, "late"); /* where nobody looked for it */
    lines[0] = head_of(&m[0]);
    assert_int_equal(lines[0].name.size, 0);
    assert_int_equal(xmerge_open(&merge, lines, 1, XMERGE_TRUST, NULL), 0);
    while (xmerge_next(&merge, &event, &line))
        continue;
    assert_true(merge.betrayed);
    xmerge_release(&merge);

    m[1].size -= 1; /* a damaged event: what stands behind it is not known */
    lines[1] = head_of(&m[1]);
    assert_int_equal(xmerge_open(&merge, &lines[1], 1, XMERGE_TRUST, NULL), 0);
    while (xmerge_next(&merge, &event, &line))
        continue;
    assert_true(merge.betrayed);
    xmerge_release(&merge);
}

static void many_lines_merge_as_sorting_would(void **state)
{
    (void)state;
    enum { LINES = 37, EVENTS = 11 };
    static struct message m[LINES];
    static struct xline lines[LINES];
    for (int64_t l = 0; l < LINES; l++) {
        m[l].size = 0;
        for (int64_t i = 0; i < EVENTS; i++)
            put_event(&m[l], 1, (i * 100 + l * 37) % 700, 1); /* wraps: most lines are unordered */
        lines[l] = line_of(&m[l], 0);
    }
    struct xmerge merge;
    const struct xevent *event;
    uint32_t line, count = 0;
    int64_t before = INT64_MIN;
    assert_int_equal(xmerge_open(&merge, lines, LINES, XMERGE_SURVEY, NULL), 0);
    while (xmerge_next(&merge, &event, &line)) {
        assert_true(event->start_ps >= before);
        before = event->start_ps;
        count++;
    }
    assert_int_equal(count, LINES * EVENTS);
    xmerge_release(&merge);
}

/* One event, over and over: enough for the ring to go round several times. */
#define AHEAD_EVENTS 20000

static uint8_t *many_events(struct xline *ret_line)
{
    struct message one = {0};
    put_event(&one, 1, 300, 5);
    size_t size = one.size * AHEAD_EVENTS;
    uint8_t *bytes = malloc(size);
    assert_non_null(bytes);
    for (size_t i = 0; i < size; i += one.size)
        memcpy(bytes + i, one.bytes, one.size);
    struct wire part = {.pos = bytes, .end = bytes + size, .start = bytes};
    xline_open_head(ret_line, &part, 0);
    return bytes;
}

static void ahead_gives_what_the_merge_has(void **state)
{
    (void)state;
    struct xline lines[2];
    uint8_t *bytes[2] = {many_events(&lines[0]), many_events(&lines[1])};
    for (int threaded = 0; threaded < 2; threaded++) {
        for (uint64_t until = 1; until <= 4 * AHEAD_EVENTS; until *= 20) { /* left early, too */
            struct xmerge merge;
            struct xahead *ahead;
            const struct xevent *events;
            uint64_t count[2] = {0};
            uint32_t n = 1;
            assert_int_equal(xmerge_open(&merge, lines, 2, XMERGE_TRUST, NULL), 0);
            assert_int_equal(
                xahead_start(&ahead, &merge, threaded ? UINT64_MAX : 0, NULL, NULL, NULL), 0);
            while (count[0] + count[1] < until && (n = xahead_next(ahead, &events)) > 0) {
                for (uint32_t i = 0; i < n; i++) {
                    assert_int_equal(events[i].start_ps, 300);
                    assert_in_range(events[i].line, 0, 1);
                    count[events[i].line]++;
                }
            }
            if (until > 2 * AHEAD_EVENTS) {
                assert_int_equal(count[0], AHEAD_EVENTS);
                assert_int_equal(count[1], AHEAD_EVENTS);
                assert_int_equal(xahead_next(ahead, &events), 0);
            }
            xahead_stop(ahead);
            xmerge_release(&merge);
        }
    }
    xahead_stop(NULL);
    free(bytes[0]);
    free(bytes[1]);
}

static void without_memory_nothing_is_kept(void **state)
{
    (void)state;
    struct message m = {0}, line = {0};
    for (int64_t i = 0; i < 200; i++)
        put_metadata(&m, i % 2 ? XPLANE_EVENT_METADATA : XPLANE_STAT_METADATA, i, "n");
    put_event(&line, 1, 9, 1);
    put_event(&line, 1, 3, 1);
    for (int i = 0; i < 40; i++)
        put_message(&m, XPLANE_LINES, &line);
    struct wire part = {.pos = m.bytes, .end = m.bytes + m.size, .start = m.bytes};
    struct xline lines[2];
    unsigned n = 0;
    for (int failed = 1; failed; n++) {
        struct xplane plane = {0};
        struct xmerge merge = {0};
        struct err e = {0};
        nth_fail(n + 1);
        int code = xplane_open(&plane, &part, &e);
        for (uint32_t i = 0; code == 0 && i < 2; i++)
            xplane_line(&plane, i, 0, &lines[i]);
        if (code == 0)
            code = xmerge_open(&merge, lines, 2, XMERGE_SURVEY, &e);
        struct xahead *ahead = NULL;
        if (code == 0)
            code = xahead_start(&ahead, &merge, 0, NULL, NULL, &e);
        failed = nth_failed();
        assert_int_equal(code, failed ? ERR_MEMORY : 0);
        assert_int_equal(e.code, code);
        xahead_stop(ahead);
        xmerge_release(&merge);
        xplane_release(&plane);
    }
    assert_in_range(n, 8, 40); /* there were such paths */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(merged_lines_come_in_order),
        cmocka_unit_test(a_merge_that_trusts_says_when_it_should_not),
        cmocka_unit_test(many_lines_merge_as_sorting_would),
        cmocka_unit_test(ahead_gives_what_the_merge_has),
        cmocka_unit_test(without_memory_nothing_is_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
