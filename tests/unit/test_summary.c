/* SPDX-License-Identifier: Apache-2.0 */
/* test_summary FILE... - whole summaries: one allocation after another fails, files are cut at
 * every byte. */
#include "test.h"

#include <stdio.h>

#include "base/map.h"
#include "nth.h"
#include "trace/summary.h"

#include "base/banned.h"

static char **paths;
static int n_paths;

/* Every failure ends in the same clear error and leaves nothing behind; returns how many there
 * were. */
static unsigned fail_each(struct view bytes, const struct summary_options *options)
{
    for (unsigned n = 1;; n++) {
        struct summary summary = {0};
        struct err e = {0};
        long before = nth_live();
        nth_fail(n);
        int code = summary_run(bytes, options, &summary, &e);
        if (!nth_failed()) {
            assert_int_equal(code, 0);
            summary_release(&summary);
            assert_int_equal(nth_live(), before);
            return n - 1;
        }
        if (code != ERR_MEMORY || e.code != ERR_MEMORY)
            fail_msg("%s: allocation %u failed, and the code is %d", options->file, n, code);
        assert_non_null(strstr(e.text, "memory"));
        assert_null(summary.arena.blocks);
        assert_int_equal(nth_live(), before);
    }
}

static void no_allocation_may_fail_unnoticed(void **state)
{
    (void)state;
    static const char *const patterns[] = {"*"};
    static const char *const names[] = {"compute", "forward", "step.compute"};
    for (int i = 0; i < n_paths; i++) {
        struct map map = {0};
        struct summary_options plain = {.file = paths[i], .host = "host", .top = 3};
        struct summary_options matched = plain, named = plain, stepped = plain;
        matched.region_patterns = patterns;
        matched.n_region_patterns = 1;
        named.region_names = names;
        named.n_region_names = 3;
        stepped.has_step_range = true;
        stepped.step_last = 1;
        assert_int_equal(map_open(&map, paths[i], NULL), 0);
        assert_true(fail_each(map.bytes, &plain) > 20);
        assert_true(fail_each(map.bytes, &matched) > 20);
        assert_true(fail_each(map.bytes, &named) > 20);
        if (strstr(paths[i], "steps"))
            assert_true(fail_each(map.bytes, &stepped) > 20);
        map_release(&map);
    }
}

static void adds_up(const struct summary *summary)
{
    for (size_t i = 0; i < summary->n_devices; i++) {
        const struct summary_device *device = &summary->devices[i];
        uint64_t sum = device->busy_ps;
        for (size_t k = 0; k < device->n_idle_by_region; k++) {
            const struct summary_region_idle *part = &device->idle_by_region[k];
            uint64_t causes = 0;
            for (int cause = 0; cause < IDLE_CAUSES; cause++)
                causes += part->by_cause[cause];
            assert_true(causes == part->idle_ps);
            sum += part->idle_ps;
        }
        assert_true(sum == summary->window_ps);
    }
}

/* A file cut anywhere says that it is damaged, but for the cuts between two planes: those miss the
 * host's name, which comes last. */
static void no_cut_passes_for_whole(void **state)
{
    (void)state;
    for (int i = 0; i < n_paths; i++) {
        struct map map = {0};
        struct summary_options options = {.file = paths[i], .top = 3};
        assert_int_equal(map_open(&map, paths[i], NULL), 0);
        for (size_t size = 0; size <= map.bytes.size; size++) {
            struct summary summary = {0};
            struct err e = {0};
            int code = summary_run(view_of(map.bytes.data, size), &options, &summary, &e);
            assert_true(code == 0 || (code == ERR_DAMAGED && e.text[0]));
            const struct summary_receipt *receipt = &summary.receipt;
            if (code == 0) {
                assert_true(!receipt->damaged || receipt->damaged_at <= size);
                assert_true(receipt->damaged || !receipt->has_host_name || size == map.bytes.size);
                adds_up(&summary);
            }
            summary_release(&summary);
        }
        map_release(&map);
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_allocation_may_fail_unnoticed),
        cmocka_unit_test(no_cut_passes_for_whole),
    };
    paths = argv + 1;
    n_paths = argc - 1;
    return n_paths > 0 ? cmocka_run_group_tests(tests, NULL, NULL) : 1;
}
