/* SPDX-License-Identifier: Apache-2.0 */
/* test_trace - percentiles, unions, the open regions and the rings of links. */
#include "test.h"

#include "trace/links.h"
#include "trace/sketch.h"
#include "trace/span.h"
#include "trace/timeline.h"

#include "base/banned.h"

static uint64_t pseudo_random(uint64_t *state)
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return *state >> 33;
}

static void sketch_is_exact_while_small(void **state)
{
    (void)state;
    struct sketch sketch = {0};
    assert_int_equal(sketch_quantile(&sketch, 0.5), 0);
    for (uint64_t i = SKETCH_EXACT_MAX; i > 0; i--)
        assert_int_equal(sketch_add(&sketch, i * 3, NULL), 0);
    assert_true(sketch_exact(&sketch));
    assert_int_equal(sketch_quantile(&sketch, 0.5), SKETCH_EXACT_MAX / 2 * 3);
    assert_int_equal(sketch_quantile(&sketch, 0), 3);
    assert_int_equal(sketch_quantile(&sketch, 1), SKETCH_EXACT_MAX * 3);
    assert_int_equal(sketch_add(&sketch, 0, NULL), 0);
    assert_false(sketch_exact(&sketch));
    assert_int_equal(sketch.count, SKETCH_EXACT_MAX + 1);
    assert_int_equal(sketch.min, 0);
    sketch_release(&sketch);
}

static int by_value(const void *a, const void *b)
{
    const uint64_t *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

static void sketch_is_within_one_percent(void **state)
{
    (void)state;
    enum { N = 50000 };
    static uint64_t values[N];
    struct sketch sketch = {0};
    uint64_t seed = 1;
    for (size_t i = 0; i < N; i++) {
        values[i] = pseudo_random(&seed) >> (pseudo_random(&seed) % 31);
        assert_int_equal(sketch_add(&sketch, values[i], NULL), 0);
    }
    qsort(values, N, sizeof(values[0]), by_value);
    for (int percent = 1; percent <= 100; percent++) {
        double truth = (double)values[(size_t)N * (size_t)percent / 100 - 1];
        double found = (double)sketch_quantile(&sketch, percent / 100.0);
        assert_true(found >= truth * 0.99 - 1 && found <= truth * 1.01 + 1);
    }
    sketch_release(&sketch);
}

static void merging_is_adding(void **state)
{
    (void)state;
    size_t sizes[] = {0, 10, 3000, 9000};
    for (size_t a = 0; a < 4; a++) {
        for (size_t b = 0; b < 4; b++) {
            struct sketch left = {0}, right = {0}, whole = {0};
            uint64_t seed = 7;
            for (size_t i = 0; i < sizes[a] + sizes[b]; i++) {
                uint64_t value = pseudo_random(&seed) % 1000000;
                assert_int_equal(sketch_add(i < sizes[a] ? &left : &right, value, NULL), 0);
                assert_int_equal(sketch_add(&whole, value, NULL), 0);
            }
            assert_int_equal(sketch_merge(&left, &right, NULL), 0);
            assert_int_equal(left.count, whole.count);
            assert_int_equal(left.total, whole.total);
            assert_int_equal(left.min, whole.min);
            assert_int_equal(left.max, whole.max);
            assert_int_equal(sketch_exact(&left), sketch_exact(&whole));
            for (int percent = 0; percent <= 100; percent++)
                assert_int_equal(sketch_quantile(&left, percent / 100.0),
                                 sketch_quantile(&whole, percent / 100.0));
            sketch_release(&left);
            sketch_release(&right);
            sketch_release(&whole);
        }
    }
}

static void sketch_holds_the_greatest_value(void **state)
{
    (void)state;
    struct sketch sketch = {0};
    for (size_t i = 0; i < 2 * SKETCH_EXACT_MAX; i++)
        assert_int_equal(sketch_add(&sketch, i % 2 ? UINT64_MAX : 0, NULL), 0);
    assert_int_equal(sketch_quantile(&sketch, 0.25), 0);
    assert_int_equal(sketch_quantile(&sketch, 1), UINT64_MAX);
    assert_int_equal(sketch.total, UINT64_MAX); /* saturated */
    sketch_release(&sketch);
}

static void span_is_the_union(void **state)
{
    (void)state;
    struct span span = {.until = 0};
    assert_int_equal(span_add(&span, 10, 20), 10);
    assert_int_equal(span_add(&span, 10, 15), 0);
    assert_int_equal(span_add(&span, 15, 25), 5);
    assert_int_equal(span_add(&span, 30, 30), 0);
    assert_int_equal(span_add(&span, 40, 41), 1);
    assert_int_equal(span.covered, 16);
    assert_int_equal(span.until, 41);
}

static void innermost_is_what_started_last(void **state)
{
    (void)state;
    struct timeline timeline = {0};
    struct timeline_end end;
    assert_int_equal(timeline_open_region(&timeline, 1, 100, NULL), 0);
    assert_int_equal(timeline_open_region(&timeline, 2, 50, NULL), 0);
    assert_int_equal(timeline_open_region(&timeline, 3, 70, NULL), 0);
    assert_int_equal(timeline_innermost(&timeline, 10), 3);
    assert_false(timeline_next_end(&timeline, 49, &end));
    assert_true(timeline_next_end(&timeline, 60, &end));
    assert_int_equal(end.region, 2);
    assert_int_equal(timeline_innermost(&timeline, 50), 3);
    assert_true(timeline_next_end(&timeline, 70, &end));
    assert_int_equal(end.region, 3);
    assert_int_equal(timeline_innermost(&timeline, 70), 1);
    assert_true(timeline_next_end(&timeline, 1000, &end));
    assert_int_equal(timeline_innermost(&timeline, 100), TIMELINE_NONE);
    assert_false(timeline_next_end(&timeline, 1000, &end));
    timeline_release(&timeline);
}

/* One region long open and a million short ones under it: memory stays by what is open. */
static void timeline_does_not_grow_with_events(void **state)
{
    (void)state;
    struct timeline timeline = {0};
    struct timeline_end end;
    assert_int_equal(timeline_open_region(&timeline, 0, INT64_MAX, NULL), 0);
    for (int64_t i = 0; i < 1000000; i++) {
        while (timeline_next_end(&timeline, i, &end))
            continue;
        assert_int_equal(timeline_open_region(&timeline, 1, i + 3, NULL), 0);
    }
    assert_true(timeline.stack_room <= 128 && timeline.ends_room <= 128);
    timeline_release(&timeline);
}

static void links_rings_forget_the_oldest(void **state)
{
    (void)state;
    struct links links = {0};
    uint64_t launch = 0;
    assert_int_equal(links_init(&links, NULL), 0);
    for (int64_t i = 0; i < 3 * LINKS_LAUNCHES_MAX; i++)
        assert_int_equal(links_add_launch(&links, LAUNCH_QUEUED, i, (uint32_t)(i % 7),
                                          (uint32_t)(i % 3), 0, &launch, NULL),
                         0);
    assert_null(links_launch(&links, 0));
    assert_non_null(links_launch(&links, launch));
    for (uint64_t id = 0; id < 3 * LINKS_IDS_MAX; id++)
        links_add_hop(&links, id, launch);
    assert_true(links_take_hop(&links, 0) == LINKS_NONE);
    assert_true(links_take_hop(&links, 3 * LINKS_IDS_MAX - 1) == launch);
    assert_true(links_take_hop(&links, 3 * LINKS_IDS_MAX - 1) == LINKS_NONE);
    const struct links_execution *execution;
    bool first;
    /* the oldest launch that is left of function 1 */
    assert_int_equal(
        links_execution(&links, 5, 0, 1 << 30, LINKS_NONE, 1, &execution, &first, NULL), 0);
    assert_true(first);
    assert_int_equal(execution->how, LINKED_BY_ORDER);
    assert_int_equal(execution->launch_start % 3, 1);
    assert_true(execution->launch_start >= 2 * LINKS_LAUNCHES_MAX &&
                execution->launch_start < 2 * LINKS_LAUNCHES_MAX + 3);
    for (int64_t run = 0; run < 3 * LINKS_EXECUTIONS_MAX; run++)
        assert_int_equal(
            links_execution(&links, run, 1, 1 << 30, LINKS_NONE, 2, &execution, &first, NULL), 0);
    assert_true(links.unmatched > 0 && links.ordered > 0);
    links_release(&links);
}

/* Ids made to share one place cost a bounded walk each: those beyond it are not remembered. */
static void links_ids_that_collide_stay_bounded(void **state)
{
    (void)state;
    struct links links = {0};
    assert_int_equal(links_init(&links, NULL), 0);
    uint64_t remembered = 0, n = LINKS_IDS_MAX / 2;
    for (uint64_t i = 0; i < n; i++)
        links_add_hop(&links, i * LINKS_IDS_MAX, i);
    links_add_hop(&links, 1, 77);
    for (uint64_t i = 0; i < n; i++) {
        uint64_t launch = links_take_hop(&links, i * LINKS_IDS_MAX);
        assert_true(launch == i || launch == LINKS_NONE);
        remembered += launch == i;
    }
    assert_true(remembered > 0 && remembered < 1024);
    assert_int_equal(links_take_hop(&links, 1), 77);
    links_add_hop(&links, n * LINKS_IDS_MAX, 5);
    assert_int_equal(links_take_hop(&links, n * LINKS_IDS_MAX), 5);
    links_release(&links);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sketch_is_exact_while_small),
        cmocka_unit_test(sketch_is_within_one_percent),
        cmocka_unit_test(merging_is_adding),
        cmocka_unit_test(sketch_holds_the_greatest_value),
        cmocka_unit_test(span_is_the_union),
        cmocka_unit_test(innermost_is_what_started_last),
        cmocka_unit_test(timeline_does_not_grow_with_events),
        cmocka_unit_test(links_rings_forget_the_oldest),
        cmocka_unit_test(links_ids_that_collide_stay_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
