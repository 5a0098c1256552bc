/* SPDX-License-Identifier: Apache-2.0 */
/* test_xprof - finding, opening, probing and calling, against a library that fails on request
 * (fake_converter.c, built twice: argv[1], and without FreeString: argv[2]). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "xprof/converter.h"
#include "xprof/scratch.h"
#include "xprof/tool.h"
#include "xprof/version.h"

#include "base/banned.h"

static const char *fake;
static const char *fake_without_free;

static char folder[] = "/tmp/dew-test-xprof-XXXXXX";
static char capture[sizeof(folder) + 32];
static char empty[sizeof(folder) + 32];

static void in_folder(char *path, size_t room, const char *name)
{
    (void)snprintf(path, room, "%s/%s", folder, name);
}

static int setup(void **unused)
{
    (void)unused;
    if (!mkdtemp(folder))
        return -1;
    in_folder(capture, sizeof(capture), "host.xplane.pb");
    in_folder(empty, sizeof(empty), "empty.xplane.pb");
    struct err e;
    if (file_replace(capture, view_text("x"), &e) != 0)
        return -1;
    return file_replace(empty, view_of(NULL, 0), &e);
}

static int teardown(void **unused)
{
    (void)unused;
    return dir_remove_all(folder, NULL);
}

static struct converter *opened(void)
{
    static struct converter *converter;
    struct err e;
    if (!converter &&
        converter_open(fake, "2.24.2", &(struct converter_how){.quiet = true}, &converter, &e) != 0)
        fail_msg("%s", e.text);
    return converter;
}

static void test_versions(void **unused)
{
    (void)unused;
    assert_true(version_compare("2.22.3", "2.22.3") == 0);
    assert_true(version_compare("2.22.10", "2.22.3") > 0);
    assert_true(version_compare("2.9", "2.22.3") < 0);
    assert_true(version_compare("2.22", "2.22.0") == 0);
    assert_true(version_compare("3", "2.99.99") > 0);
    assert_true(version_compare("2.22.3rc1", "2.22.3") < 0);
    assert_true(version_compare("2.22.3.dev5", "2.22.3") < 0);
    assert_true(version_compare("2.22.3.post1", "2.22.3") == 0);
    assert_true(version_compare("2.22.3+local", "2.22.3") == 0);
    assert_true(version_compare("99999999999999999999999.1", "2.22.3") > 0);
    assert_true(version_compare("", "0") == 0);
    assert_false(version_looks_right(""));
    assert_false(version_looks_right("x1"));
}

static int call(const char *path, const char *tool, struct converter_result *ret, struct err *e)
{
    return converter_call(opened(), &path, 1, tool, NULL, 0, ret, e);
}

static void test_results(void **unused)
{
    (void)unused;
    struct err e;
    CLEANUP(converter_result_release) struct converter_result result = {0};
    assert_int_equal(call(capture, "hello", &result, &e), 0);
    assert_int_equal(result.size, 5);
    assert_memory_equal(result.data, "hello", 5);
    converter_result_release(&result);
    assert_null(result.data);
    converter_result_release(&result);
}

static void expect_refusal(const char *path, const char *tool, int code, const char *words)
{
    struct err e;
    struct converter_result result = {.size = 77}; /* untouched on failure */
    assert_int_equal(call(path, tool, &result, &e), code);
    assert_int_equal(result.size, 77);
    assert_null(result.data);
    if (!strstr(e.text, words))
        fail_msg("'%s' does not say '%s'", e.text, words);
    if (code == ERR_FOREIGN && (!strstr(e.text, "xprof 2.24.2") || !strstr(e.text, path)))
        fail_msg("'%s' lacks the version or the path", e.text);
}

static void test_ways_of_saying_nothing(void **unused)
{
    (void)unused;
    expect_refusal(capture, "error", ERR_FOREIGN, "the library's own words");
    expect_refusal(capture, "null", ERR_FOREIGN, "success with nothing in it");
    expect_refusal(capture, "empty", ERR_FOREIGN, "success with nothing in it");
    expect_refusal(capture, "refused", ERR_FOREIGN, "refused, it says");
    expect_refusal(capture, "refused in silence", ERR_FOREIGN, "gave no reason");
    expect_refusal(empty, "hello", ERR_DAMAGED, "empty (0 bytes)");
    expect_refusal(folder, "hello", ERR_USAGE, "not a capture file");
    expect_refusal("/nonexistent/x.xplane.pb", "hello", ERR_IO, "cannot open");
    struct err e;
    struct converter_result result;
    assert_int_equal(converter_call(opened(), NULL, 0, "hello", NULL, 0, &result, &e), ERR_USAGE);
    assert_int_equal(converter_call(opened(), NULL, SIZE_MAX, "hello", NULL, 0, &result, &e),
                     ERR_LIMIT);
}

static void test_options_arrive(void **unused)
{
    (void)unused;
    const struct converter_option options[] = {
        {.key = "a", .type = OPTION_BOOL, .flag = true, .number = 9, .text = "no"},
        {.key = "b", .type = OPTION_INT, .flag = true, .number = -7, .text = "no"},
        {.key = "c", .type = OPTION_STRING, .flag = true, .number = 9, .text = "yes"},
    };
    const char *path = capture;
    struct err e;
    CLEANUP(converter_result_release) struct converter_result result = {0};
    assert_int_equal(converter_call(opened(), &path, 1, "options", options, 3, &result, &e), 0);
    static const char wanted[] = "a=0:1:0:-;b=1:0:-7:-;c=2:0:0:yes;";
    assert_int_equal(result.size, sizeof(wanted) - 1);
    assert_memory_equal(result.data, wanted, result.size);
}

static void expect_names(const char *script, const char *words)
{
    (void)setenv("DEW_FAKE_TOOL_NAMES", script, 1);
    struct converter_names names = {0};
    struct err e;
    const char *path = capture;
    assert_int_equal(converter_tool_names(opened(), &path, 1, &names, &e), ERR_FOREIGN);
    assert_null(names.names);
    assert_non_null(strstr(e.text, words));
    (void)unsetenv("DEW_FAKE_TOOL_NAMES");
}

static void test_tool_names(void **unused)
{
    (void)unused;
    CLEANUP(converter_names_release) struct converter_names names = {0};
    struct err e;
    const char *path = capture;
    (void)setenv("DEW_FAKE_TOOL_NAMES", ",a,,trace_viewer@,", 1);
    assert_int_equal(converter_tool_names(opened(), &path, 1, &names, &e), 0);
    (void)unsetenv("DEW_FAKE_TOOL_NAMES");
    assert_int_equal(names.count, 2);
    assert_string_equal(names.names[0], "a");
    assert_string_equal(names.names[1], "trace_viewer@");
    expect_names(",,,", "list of tools is empty");
    expect_names("null", "nothing in it");
    expect_names("error", "own words");
}

static int open_as(const char *library, const char *version, converter_probe_fn *probe,
                   struct err *e)
{
    static struct converter *kept[64]; /* one is never freed, but must stay findable */
    static size_t count;
    struct converter_how how = {.quiet = true, .probe = probe};
    return converter_open(library, version, &how, &kept[count++ % 64], e);
}

static int probe_never(const char *library, void *context, struct err *e)
{
    (void)library;
    (void)context;
    (void)e;
    fail_msg("a version that was seen is probed");
    return -1;
}

static void test_gate(void **unused)
{
    (void)unused;
    struct err e;
    assert_int_equal(open_as(fake, "2.22.2", probe_never, &e), ERR_UNSUPPORTED);
    assert_non_null(strstr(e.text, "pip install"));
    assert_int_equal(open_as(fake, CONVERTER_OLDEST, probe_never, &e), 0);
    assert_int_equal(open_as(fake, CONVERTER_NEWEST_SEEN, probe_never, &e), 0);
    assert_int_equal(open_as("/nonexistent.so", "2.24.2", NULL, &e), ERR_FOREIGN);
    assert_int_equal(open_as(capture, "2.24.2", NULL, &e), ERR_FOREIGN);
    assert_non_null(strstr(e.text, "cannot be opened"));
    assert_int_equal(open_as(fake_without_free, "2.24.2", NULL, &e), ERR_FOREIGN);
    assert_non_null(strstr(e.text, "no function FreeString"));
}

static void expect_probe(const char *script, const char *version, const char *words)
{
    struct err e = {0};
    (void)setenv("DEW_FAKE_TOOL_NAMES", script, 1);
    int code = open_as(fake, version, converter_probe_forked, &e);
    (void)unsetenv("DEW_FAKE_TOOL_NAMES");
    assert_int_equal(code, words ? ERR_FOREIGN : 0);
    if (words && (!strstr(e.text, words) || !strstr(e.text, "has not been seen")))
        fail_msg("'%s' does not say '%s'", e.text, words);
}

static void test_probe(void **unused)
{
    (void)unused;
    char place[512];
    in_folder(place, sizeof(place), "tmp");
    assert_int_equal(mkdir(place, 0700), 0);
    CLEANUP(cleanup_free) char *before = getenv("TMPDIR") ? strdup(getenv("TMPDIR")) : NULL;
    assert_int_equal(setenv("TMPDIR", place, 1), 0);
    expect_probe("overview_page", "9.0", NULL);
    expect_probe("x,overview_page", NULL, NULL);
    expect_probe("crash", "9.0", "crashed (Aborted)");
    expect_probe("vanish", "9.0", "without an answer");
    expect_probe("error", "9.0", "own words");
    expect_probe("something", NULL, "lacks 'overview_page'");
    expect_probe("null", "2.24.3", "nothing in it");
    assert_int_equal(before ? setenv("TMPDIR", before, 1) : unsetenv("TMPDIR"), 0);
    assert_int_equal(rmdir(place), 0); /* also the ones that crashed left nothing */
}

static void test_probe_spawned(void **unused)
{
    (void)unused;
    struct err e;
    char shell[] = "/bin/sh", option[] = "-c", good[] = "echo ok", bad[] = "kill -SEGV $$";
    char words[] = "printf 'its words'", gone[] = "/nonexistent/program";
    char *argv[] = {shell, option, good, NULL};
    assert_int_equal(converter_probe_spawned("lib", argv, &e), 0);
    argv[2] = bad;
    assert_int_equal(converter_probe_spawned("lib", argv, &e), ERR_FOREIGN);
    assert_non_null(strstr(e.text, "crashed"));
    argv[2] = words;
    assert_int_equal(converter_probe_spawned("lib", argv, &e), ERR_FOREIGN);
    assert_string_equal(e.text, "its words");
    argv[0] = gone;
    assert_int_equal(converter_probe_spawned("lib", argv, &e), ERR_IO);
}

/* folder/SITE with an xprof in it, as pip lays it out. */
static void make_site(const char *site, const char *dist_info, const char *version_file)
{
    char path[512];
    struct err e;
    (void)snprintf(path, sizeof(path), "%s/%s/xprof/convert", folder, site);
    assert_int_equal(dir_make_all(path, &e), 0);
    (void)snprintf(path, sizeof(path), "%s/%s/xprof/convert/profiler_plugin_c_api.abi3.so", folder,
                   site);
    assert_int_equal(file_replace(path, view_text("x"), &e), 0);
    if (dist_info) {
        (void)snprintf(path, sizeof(path), "%s/%s/%s", folder, site, dist_info);
        assert_int_equal(dir_make_all(path, &e), 0);
    }
    if (version_file) {
        (void)snprintf(path, sizeof(path), "%s/%s/xprof/version.py", folder, site);
        assert_int_equal(file_replace(path, view_text(version_file), &e), 0);
    }
}

static void expect_found(const char *hint, const char *site, const char *wanted_version)
{
    CLEANUP(cleanup_free) char *library = NULL;
    CLEANUP(cleanup_free) char *version = NULL;
    struct err e;
    if (converter_find(hint, &library, &version, &e) != 0)
        fail_msg("%s", e.text);
    assert_non_null(strstr(library, site));
    if (wanted_version)
        assert_string_equal(version, wanted_version);
    else
        assert_null(version);
}

static void test_find(void **unused)
{
    (void)unused;
    char path[512];
    make_site("by-dist-info", "xprof-2.24.2.dist-info", NULL);
    in_folder(path, sizeof(path), "by-dist-info");
    expect_found(path, "by-dist-info", "2.24.2");
    in_folder(path, sizeof(path), "by-dist-info/xprof");
    expect_found(path, "by-dist-info", "2.24.2");
    in_folder(path, sizeof(path), "by-dist-info/xprof/convert/profiler_plugin_c_api.abi3.so");
    expect_found(path, "by-dist-info", "2.24.2");
    (void)setenv("DEW_PROFILE_CONVERTER", path, 1);
    expect_found(NULL, "by-dist-info", "2.24.2");
    (void)unsetenv("DEW_PROFILE_CONVERTER");

    make_site("by-file", NULL, "# text\n__version__ = \"2.23.0\"\n");
    in_folder(path, sizeof(path), "by-file");
    expect_found(path, "by-file", "2.23.0");
    make_site("by-nothing", "xprof-.dist-info", "__version__ = 'x'");
    in_folder(path, sizeof(path), "by-nothing");
    expect_found(path, "by-nothing", NULL);
    make_site("nightly", "xprof_nightly-2.30.0a20260101.dist-info", NULL);
    in_folder(path, sizeof(path), "nightly");
    expect_found(path, "nightly", "2.30.0a20260101");
    make_site("env/lib/python3.12/site-packages", "xprof-2.24.1.dist-info", NULL);
    in_folder(path, sizeof(path), "env");
    (void)setenv("VIRTUAL_ENV", path, 1);
    expect_found(NULL, "env/lib/python3.12/site-packages", "2.24.1");
    (void)unsetenv("VIRTUAL_ENV");
}

static void test_find_refuses(void **unused)
{
    (void)unused;
    char *library = NULL, *version = NULL;
    char path[512];
    struct err e;
    make_site("old", "xprof-2.20.0.dist-info", NULL);
    in_folder(path, sizeof(path), "old");
    assert_int_equal(converter_find(path, &library, &version, &e), ERR_UNSUPPORTED);
    assert_non_null(strstr(e.text, "2.20.0 is too old"));
    assert_int_equal(converter_find(folder, &library, &version, &e), ERR_MISSING);
    assert_non_null(strstr(e.text, "pip install"));
    assert_null(library);
    assert_null(version);
}

static void test_scratch(void **unused)
{
    (void)unused;
    struct err e;
    struct scratch scratch = {0};
    const char *captures[] = {capture, empty};
    assert_int_equal(scratch_make(folder, captures, 2, &scratch, &e), 0);
    assert_int_equal(scratch.count, 2);
    assert_non_null(strstr(scratch.paths[0], "/host.xplane.pb"));
    struct stat st;
    assert_int_equal(stat(scratch.folder, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0700);
    char data;
    CLEANUP(cleanup_fclose) FILE *file = fopen(scratch.paths[0], "rb");
    assert_non_null(file);
    assert_int_equal(fread(&data, 1, 1, file), 1);
    CLEANUP(cleanup_free) char *kept = strdup(scratch.folder);
    scratch_release(&scratch);
    assert_int_not_equal(access(kept, F_OK), 0);
    assert_int_equal(access(capture, F_OK), 0); /* the link went, not what it led to */
    scratch_release(&scratch);

    const char *twice[] = {capture, capture};
    assert_int_equal(scratch_make(folder, twice, 2, &scratch, &e), ERR_USAGE);
    const char *gone = "/nonexistent/x.xplane.pb";
    assert_int_equal(scratch_make(folder, &gone, 1, &scratch, &e), ERR_IO);
    assert_int_equal(scratch_make("/nonexistent", captures, 1, &scratch, &e), ERR_IO);
    assert_null(scratch.folder);
}

/* As Python's tempfile: the first of the places that takes files. */
static void test_scratch_places(void **unused)
{
    (void)unused;
    struct err e;
    struct scratch scratch = {0};
    CLEANUP(cleanup_free) char *before = getenv("TMPDIR") ? strdup(getenv("TMPDIR")) : NULL;
    assert_int_equal(setenv("TMPDIR", "/nonexistent", 1), 0);
    assert_int_equal(setenv("TEMP", capture, 1), 0); /* a file */
    assert_int_equal(setenv("TMP", folder, 1), 0);
    assert_int_equal(scratch_make(NULL, NULL, 0, &scratch, &e), 0);
    CLEANUP(cleanup_free) char *real = realpath(folder, NULL);
    assert_int_equal(strncmp(scratch.folder, real, strlen(real)), 0);
    scratch_release(&scratch);
    assert_int_equal(setenv("TEMP", folder, 1), 0);
    assert_int_equal(setenv("TMP", "/nonexistent", 1), 0);
    assert_int_equal(scratch_make(NULL, NULL, 0, &scratch, &e), 0);
    assert_int_equal(strncmp(scratch.folder, real, strlen(real)), 0);
    scratch_release(&scratch);

    /* Folders can still be made, files no longer: as on a full disk. */
    struct rlimit limit;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
    const struct rlimit none = {0, limit.rlim_max};
    assert_true(signal(SIGXFSZ, SIG_IGN) != SIG_ERR);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &none), 0);
    int result = scratch_make(NULL, NULL, 0, &scratch, &e);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    assert_int_equal(result, ERR_IO);
    assert_non_null(strstr(e.text, "/nonexistent")); /* the first place is the one told */
    assert_non_null(strstr(e.text, "let TMPDIR name one"));
    assert_null(scratch.folder);
    assert_int_equal(unsetenv("TEMP") | unsetenv("TMP") | unsetenv("TMPDIR"), 0);
    if (before)
        assert_int_equal(setenv("TMPDIR", before, 1), 0);
}

static void test_tools(void **unused)
{
    (void)unused;
    assert_true(tool_find("memory_profile")->one_host);
    assert_true(tool_find("graph_viewer")->after_names);
    assert_true(tool_find("trace_viewer@")->interactive);
    assert_false(tool_find("overview_page")->interactive);
    assert_string_equal(tool_find("one of the future")->mime, MIME_JSON);
    assert_int_equal(tool_name_length("overview_page^"), strlen("overview_page"));
    assert_int_equal(tool_name_length(""), 0);
}

int main(int argc, char **argv)
{
    if (argc != 3)
        return 2;
    fake = argv[1];
    fake_without_free = argv[2];
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_versions),
        cmocka_unit_test(test_results),
        cmocka_unit_test(test_ways_of_saying_nothing),
        cmocka_unit_test(test_options_arrive),
        cmocka_unit_test(test_tool_names),
        cmocka_unit_test(test_gate),
        cmocka_unit_test(test_probe),
        cmocka_unit_test(test_probe_spawned),
        cmocka_unit_test(test_find),
        cmocka_unit_test(test_find_refuses),
        cmocka_unit_test(test_scratch),
        cmocka_unit_test(test_scratch_places),
        cmocka_unit_test(test_tools),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
