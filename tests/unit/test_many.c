/* SPDX-License-Identifier: Apache-2.0 */
/* test_many - rows of several processes: joined, written, read and judged, also without memory. */
#include "test.h"

#include <stdio.h>

#include "nth.h"
#include "trace/part.h"
#include "trace/verdict.h"

#include "base/banned.h"

#define STEPS 4
#define MS UINT64_C(1000000000)

/* One process of two with STEPS steps of 10 ms, of which it waits `wait_ps` in a collective. */
static int make_rows(int64_t index, uint64_t wait_ps, struct many_rows *rows, struct err *e)
{
    struct many_process *process;
    struct many_region *region;
    struct many_step *step;
    struct many_op *op;
    int r = many_add_process(rows, &process, e);
    if (r < 0)
        return r;
    *process = (struct many_process){.host = view_text("node"),
                                     .file = view_text("node.xplane.pb"),
                                     .version = view_text("0.12"),
                                     .index = index,
                                     .count = 2,
                                     .pid = -1,
                                     .window_ps = 100 * MS,
                                     .steps = STEPS,
                                     .by_collectives = true,
                                     .step_stride = 1,
                                     .compared = STEPS,
                                     .compared_ps = STEPS * 10 * MS,
                                     .wait_ps = STEPS * wait_ps};
    process->runs = calloc(MANY_RUNS_MAX, sizeof(*process->runs));
    if (!process->runs)
        return err_nomem(e);
    process->runs[process->n_runs++] = (struct many_run){view_text("train"), 0, 1, STEPS};
    r = many_add_region(rows, &region, e);
    if (r < 0)
        return r;
    region->name = view_text("input");
    region->processes = 1;
    for (int i = 0; r == 0 && i < STEPS; i++)
        r = sketch_add(&region->calls, 10 * MS - wait_ps, e);
    if (r == 0)
        r = sketch_add(&region->means, 10 * MS - wait_ps, e);
    region->slowest_calls = STEPS;
    if (r == 0)
        r = many_add_op(rows, &op, e);
    if (r < 0)
        return r;
    *op = (struct many_op){.module = view_text("jit_f"),
                           .op = view_text("all-reduce"),
                           .kind = OP_COLLECTIVE,
                           .processes = 1,
                           .calls = STEPS,
                           .total_ps = STEPS * wait_ps,
                           .most_ps = STEPS * wait_ps,
                           .least_ps = STEPS * wait_ps};
    for (int i = 0; i < STEPS; i++) {
        r = many_add_step(rows, &step, e);
        if (r < 0)
            return r;
        *step = (struct many_step){.name = view_text("train"),
                                   .number = i,
                                   .processes = 1,
                                   .duration_ps = 10 * MS,
                                   .shortest_ps = 10 * MS,
                                   .waiting = 1,
                                   .wait_ps = wait_ps};
        many_extreme_start(&step->longest, false, 10 * MS, 0);
        many_extreme_start(&step->least, true, wait_ps, 0);
    }
    return sketch_add(&rows->step_durations, 10 * MS, e);
}

static void cleanup_out(struct wire_out *out)
{
    out_release(out);
}

static int make_part(int64_t index, uint64_t wait_ps, struct wire_out *out, struct err *e)
{
    CLEANUP(many_rows_release) struct many_rows rows = {0};
    CLEANUP(many_release) struct many many = {0};
    int r = make_rows(index, wait_ps, &rows, e);
    if (r == 0)
        r = many_join(&many, &rows, e);
    if (r == 0)
        r = many_settle(&many, e);
    return r == 0 ? part_write(&many.rows, out, e) : r;
}

static int join_part(struct many *many, const struct wire_out *part, struct err *e)
{
    CLEANUP(many_rows_release) struct many_rows rows = {0};
    int r = part_read(out_view(part), &rows, e);
    return r == 0 ? many_join(many, &rows, e) : r;
}

/* Everything there is, from the rows of two processes to the verdict about both. */
static int judge(bool second_first, struct wire_out *ret_part, struct err *e)
{
    CLEANUP(cleanup_out) struct wire_out quick = {0};
    CLEANUP(cleanup_out) struct wire_out slow = {0};
    CLEANUP(many_release) struct many many = {0};
    CLEANUP(verdict_release) struct verdict verdict = {0};
    int r = make_part(0, 6 * MS, &quick, e);
    if (r == 0)
        r = make_part(1, 1 * MS, &slow, e);
    if (r == 0)
        r = join_part(&many, second_first ? &slow : &quick, e);
    if (r == 0)
        r = join_part(&many, second_first ? &quick : &slow, e);
    if (r == 0)
        r = many_settle(&many, e);
    if (r == 0)
        r = verdict_make(&many.rows, &verdict, e);
    if (r < 0)
        return r;
    assert_int_equal(verdict.kind, VERDICT_STRAGGLER);
    assert_int_equal(verdict.process, 1);
    assert_int_equal(verdict.lost_ps, STEPS * 5 * MS);
    assert_int_equal(verdict.others, STEPS);
    assert_int_equal(verdict.processes[1].saved_ps, STEPS * 5 * MS);
    assert_ptr_equal(verdict.region, &many.rows.regions[0]);
    return part_write(&many.rows, ret_part, e);
}

static void order_makes_no_difference(void **state)
{
    (void)state;
    struct err e = {0};
    CLEANUP(cleanup_out) struct wire_out one = {0};
    CLEANUP(cleanup_out) struct wire_out other = {0};
    assert_int_equal(judge(false, &one, &e), 0);
    assert_int_equal(judge(true, &other, &e), 0);
    assert_true(view_equal(out_view(&one), out_view(&other)));
}

static void each_allocation_may_fail(void **state)
{
    (void)state;
    unsigned n = 1;
    for (; n < 10000; n++) {
        struct err e = {0};
        struct wire_out part = {0};
        long live = nth_live();
        nth_fail(n);
        int r = judge(false, &part, &e);
        bool failed = nth_failed();
        out_release(&part);
        assert_int_equal(nth_live(), live);
        if (!failed) {
            assert_int_equal(r, 0);
            break;
        }
        assert_int_equal(r, ERR_MEMORY);
        assert_int_equal(e.code, ERR_MEMORY);
    }
    assert_in_range(n, 50, 9999);
}

static void sums_stop_at_their_limit(void **state)
{
    (void)state;
    struct err e = {0};
    CLEANUP(many_release) struct many many = {0};
    for (int64_t i = 0; i < 3; i++) {
        CLEANUP(many_rows_release) struct many_rows rows = {0};
        assert_int_equal(make_rows(i, MS, &rows, &e), 0);
        rows.ops[0].total_ps = rows.ops[0].most_ps = rows.ops[0].least_ps = UINT64_MAX / 2;
        rows.totals[MANY_BUSY_PS] = UINT64_MAX / 2;
        assert_int_equal(many_join(&many, &rows, &e), 0);
    }
    assert_true(many.rows.ops[0].total_ps == UINT64_MAX);
    assert_true(many.rows.totals[MANY_BUSY_PS] == UINT64_MAX);
}

/* Of two that are equally slow it is the first one by index, whoever was joined first. */
static void ties_go_to_the_first_process(void **state)
{
    (void)state;
    struct err e = {0};
    for (int64_t first = 0; first < 2; first++) {
        CLEANUP(many_release) struct many many = {0};
        for (int64_t i = 0; i < 2; i++) {
            CLEANUP(many_rows_release) struct many_rows rows = {0};
            assert_int_equal(make_rows(i == first ? 0 : 1, MS, &rows, &e), 0);
            assert_int_equal(many_join(&many, &rows, &e), 0);
        }
        assert_int_equal(many_settle(&many, &e), 0);
        assert_true(many_settled(&many.rows));
        assert_int_equal(many.rows.regions[0].slowest, 0);
        assert_int_equal(many.rows.regions[0].fastest, 0);
        assert_int_equal(many.rows.ops[0].most, 0);
        for (int k = 0; k < STEPS; k++) {
            assert_int_equal(many.rows.steps[k].longest.process, 0);
            assert_int_equal(many.rows.steps[k].longest.second, 10 * MS);
            assert_int_equal(many.rows.steps[k].least.process, 0);
            assert_int_equal(many.rows.steps[k].least.second, MS);
        }
    }
}

static void the_same_process_twice_is_refused(void **state)
{
    (void)state;
    struct err e = {0};
    CLEANUP(many_release) struct many many = {0};
    for (int i = 0; i < 2; i++) {
        CLEANUP(many_rows_release) struct many_rows rows = {0};
        assert_int_equal(make_rows(1, MS, &rows, &e), 0);
        assert_int_equal(many_join(&many, &rows, &e), 0);
    }
    assert_int_equal(many_settle(&many, &e), ERR_USAGE);
    assert_non_null(strstr(e.text, "process 1 is there twice"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(order_makes_no_difference),
        cmocka_unit_test(each_allocation_may_fail),
        cmocka_unit_test(sums_stop_at_their_limit),
        cmocka_unit_test(ties_go_to_the_first_process),
        cmocka_unit_test(the_same_process_twice_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
