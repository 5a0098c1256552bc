/* SPDX-License-Identifier: Apache-2.0 */
/* test_memory - what the system's files are understood to say. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>

#include "base/file.h"
#include "cli/report/memory.h"

#include "base/banned.h"

static char folder[] = "/tmp/memory-test-XXXXXX";

static char *put(const char *name, const char *text)
{
    struct err e = {0};
    char *path = path_join(folder, name);
    assert_non_null(path);
    assert_int_equal(file_replace(path, view_text(text), &e), 0);
    return path;
}

static void reads_what_is_available(void **state)
{
    (void)state;
    CLEANUP(cleanup_free)
    char *info = put("meminfo", "MemTotal: 9000 kB\nMemFree: 10 kB\nMemAvailable:    2000 kB\n");
    assert_int_equal(memory_available_in(info, "/nowhere"), 2000 * 1024);
    assert_true(memory_available_in("/nowhere", "/nowhere") == UINT64_MAX);
}

static void a_control_group_may_leave_less(void **state)
{
    (void)state;
    CLEANUP(cleanup_free) char *info = put("meminfo", "MemAvailable:    2000 kB\n");
    CLEANUP(cleanup_free) char *most = put("memory.max", "100000\n");
    CLEANUP(cleanup_free) char *used = put("memory.current", "30000\n");
    assert_int_equal(memory_available_in(info, folder), 70000);
    free(put("memory.current", "130000\n"));
    assert_int_equal(memory_available_in(info, folder), 0);
    free(put("memory.max", "max\n"));
    assert_int_equal(memory_available_in(info, folder), 2000 * 1024);
}

static void a_line_of_another_kind_is_no_limit(void **state)
{
    (void)state;
    CLEANUP(cleanup_free) char *info = put("meminfo", "MemAvailable: plenty\n");
    assert_true(memory_available_in(info, "/nowhere") == UINT64_MAX);
}

static int make_folder(void **state)
{
    (void)state;
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
    (void)state;
    struct err e = {0};
    return dir_remove_all(folder, &e);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_what_is_available),
        cmocka_unit_test(a_control_group_may_leave_less),
        cmocka_unit_test(a_line_of_another_kind_is_no_limit),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
