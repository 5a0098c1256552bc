/* SPDX-License-Identifier: Apache-2.0 */
/* test_base - errors, views, memory, names, files and maps, with every way each can fail. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/file.h"
#include "base/flush.h"
#include "base/glob.h"
#include "base/intern.h"
#include "base/map.h"
#include "base/utf8.h"
#include "nth.h"
#include "test.h"

#include "base/banned.h"

static char folder[] = "/tmp/dew-test-base-XXXXXX";

static int make_folder(void **state)
{
    (void)state;
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
    (void)state;
    return dir_remove_all(folder, NULL);
}

/* A path in the test's folder, in one of two buffers that take turns. */
static const char *at(const char *name)
{
    static char paths[2][PATH_MAX];
    static unsigned turn;
    char *path = paths[turn++ % 2];
    (void)snprintf(path, PATH_MAX, "%s/%s", folder, name);
    return path;
}

static unsigned entries_of_folder(void)
{
    unsigned count = 0;
    char command[64];
    (void)snprintf(command, sizeof(command), "ls -A %s | wc -l", folder);
    FILE *pipe = popen(command, "r");
    assert_non_null(pipe);
    assert_int_equal(fscanf(pipe, "%u", &count), 1);
    (void)pclose(pipe);
    return count;
}

static void errors_carry_their_parts(void **state)
{
    (void)state;
    struct err e = {0};
    assert_int_equal(err_set(&e, ERR_LIMIT, "%d too many", 3), ERR_LIMIT);
    assert_string_equal(e.text, "3 too many");
    assert_int_equal(e.offset, ERR_NO_OFFSET);
    assert_int_equal(err_context(&e, "file '%s'", "x"), ERR_LIMIT);
    assert_string_equal(e.text, "file 'x': 3 too many");
    assert_int_equal(err_at(&e, ERR_DAMAGED, 77, "bad"), ERR_DAMAGED);
    assert_int_equal(e.offset, 77);
    assert_int_equal(err_sys(&e, ENOENT, "cannot open"), ERR_IO);
    assert_int_equal(e.sys_errno, ENOENT);
    assert_string_equal(e.text, "cannot open: No such file or directory");
    assert_int_equal(err_nomem(&e), ERR_MEMORY);
    assert_int_equal(e.sys_errno, 0);
    assert_int_equal(err_set(NULL, ERR_USAGE, "x"), ERR_USAGE);
    assert_int_equal(err_at(NULL, ERR_USAGE, 1, "x"), ERR_USAGE);
    assert_int_equal(err_sys(NULL, ENOENT, "x"), ERR_IO);
    assert_int_equal(err_nomem(NULL), ERR_MEMORY);
    assert_true(err_context(NULL, "x") < 0);
}

static void long_errors_are_cut_at_their_bound(void **state)
{
    (void)state;
    struct err e = {0};
    char words[2 * ERR_TEXT_MAX];
    memset(words, 'w', sizeof(words) - 1);
    words[sizeof(words) - 1] = '\0';
    assert_int_equal(err_sys(&e, ENOENT, "%s", words), ERR_IO);
    assert_int_equal(strlen(e.text), ERR_TEXT_MAX - 1);
    assert_int_equal(err_set(&e, ERR_USAGE, "%s", words), ERR_USAGE);
    assert_int_equal(err_context(&e, "c"), ERR_USAGE);
    assert_int_equal(strlen(e.text), ERR_TEXT_MAX - 1);
    assert_int_equal(err_context(&e, "%s", words), ERR_USAGE);
    assert_int_equal(strlen(e.text), ERR_TEXT_MAX - 1);
}

static void views_compare(void **state)
{
    (void)state;
    struct view empty = view_of(NULL, 0);
    assert_true(view_equal(empty, view_text("")));
    assert_true(view_is(view_of("abc", 2), "ab"));
    assert_false(view_is(view_of("abc", 2), "abc"));
    assert_true(view_starts(view_text("abc"), "ab"));
    assert_false(view_starts(view_text("a"), "ab"));
    assert_true(view_ends(view_text("abc"), "bc"));
    assert_false(view_ends(view_text("c"), "bc"));
    assert_true(view_contains(view_text("abcd"), "bc"));
    assert_false(view_contains(view_text("abcd"), "bd"));
    assert_true(view_contains(empty, ""));
    assert_false(view_contains(empty, "x"));
    uint64_t sum = 5;
    assert_true(sum_u64(UINT64_MAX - 1, 1, &sum));
    assert_int_equal(sum, UINT64_MAX);
    assert_false(sum_u64(UINT64_MAX, 1, &sum));
    assert_int_equal(sum, UINT64_MAX);
    assert_true(product_u64(UINT64_C(1) << 32, (UINT64_C(1) << 32) - 1, &sum));
    assert_false(product_u64(UINT64_C(1) << 32, UINT64_C(1) << 32, &sum));
}

static void an_arena_gives_zeroed_aligned_memory(void **state)
{
    (void)state;
    struct arena arena = {0};
    uint8_t *before = NULL;
    for (size_t size = 0; size < 3000; size += 7) {
        uint8_t *memory = arena_alloc(&arena, size);
        assert_non_null(memory);
        assert_int_equal((uintptr_t)memory % _Alignof(max_align_t), 0);
        for (size_t i = 0; i < size; i++)
            assert_int_equal(memory[i], 0);
        memset(memory, 0xaa, size);
        before = memory;
    }
    assert_non_null(before);
    assert_non_null(arena_alloc(&arena, (size_t)1 << 20)); /* more than a block */
    assert_null(arena_alloc(&arena, SIZE_MAX));
    char *copy = arena_copy(&arena, view_of("abc", 2));
    assert_string_equal(copy, "ab");
    assert_string_equal(arena_copy(&arena, view_of(NULL, 0)), "");
    arena_release(&arena);
    arena_release(&arena);
    nth_fail(1);
    assert_null(arena_copy(&arena, view_text("x")));
    assert_true(nth_failed());
}

static void names_keep_their_numbers(void **state)
{
    (void)state;
    struct intern names = {0};
    uint32_t id;
    for (uint32_t i = 0; i < 1000; i++) {
        char name[16];
        (void)snprintf(name, sizeof(name), "name%u", i);
        assert_int_equal(intern_put(&names, view_text(name), &id, NULL), 0);
        assert_int_equal(id, i);
    }
    assert_int_equal(intern_put(&names, view_text("name7"), &id, NULL), 0);
    assert_int_equal(id, 7);
    assert_int_equal(intern_put(&names, view_of("a\0b", 3), &id, NULL), 0);
    assert_int_equal(id, 1000);
    assert_false(intern_find(&names, view_text("a"), &id));
    assert_true(intern_find(&names, view_of("a\0b", 3), &id));
    assert_int_equal(intern_put(&names, view_of(NULL, 0), &id, NULL), 0);
    assert_true(intern_find(&names, view_text(""), &id));
    assert_int_equal(id, 1001);
    assert_true(view_is(intern_name(&names, 999), "name999"));
    intern_release(&names);
    assert_false(intern_find(&names, view_text("name7"), &id));
}

static void without_memory_names_stay_as_they_were(void **state)
{
    (void)state;
    int failed = 1;
    unsigned n = 0;
    for (; failed; n++) {
        struct intern names = {0};
        struct err e = {0};
        int code = 0;
        nth_fail(n + 1);
        for (unsigned i = 0; code == 0 && i < 400; i++) {
            uint32_t id = 12345;
            char name[16];
            (void)snprintf(name, sizeof(name), "%u", i);
            code = intern_put(&names, view_text(name), &id, &e);
            assert_int_equal(id, code == 0 ? i : 12345);
        }
        failed = nth_failed();
        assert_int_equal(code, failed ? ERR_MEMORY : 0);
        intern_release(&names);
    }
    assert_in_range(n, 5, 100);
}

static void files_are_replaced_whole(void **state)
{
    (void)state;
    CLEANUP(cleanup_free) char *data = NULL;
    size_t size = 0;
    assert_int_equal(file_replace(at("f"), view_text("old"), NULL), 0);
    assert_int_equal(file_replace(at("f"), view_text("newer"), NULL), 0);
    assert_int_equal(file_read(at("f"), 5, &data, &size, NULL), 0);
    assert_int_equal(size, 5);
    assert_string_equal(data, "newer");
    assert_int_equal(file_replace(at("g"), view_of(NULL, 0), NULL), 0);
    assert_int_equal(entries_of_folder(), 2); /* no temporary file is left */
}

static void file_errors_name_the_path(void **state)
{
    (void)state;
    struct err e = {0};
    char *data = NULL;
    size_t size = 9;
    assert_int_equal(file_read(at("none"), 5, &data, &size, &e), ERR_IO);
    assert_int_equal(e.sys_errno, ENOENT);
    assert_non_null(strstr(e.text, at("none")));
    assert_int_equal(file_replace(at("big"), view_text("123456"), NULL), 0);
    assert_int_equal(file_read(at("big"), 5, &data, &size, &e), ERR_LIMIT);
    assert_int_equal(file_read(folder, 5, &data, &size, &e), ERR_USAGE);
    assert_int_equal(mkfifo(at("fifo"), 0600), 0);
    assert_int_equal(file_read(at("fifo"), 5, &data, &size, &e), ERR_USAGE);
    nth_fail(1);
    assert_int_equal(file_read(at("big"), 9, &data, &size, &e), ERR_MEMORY);
    assert_true(nth_failed());
    assert_null(data);
    assert_int_equal(size, 9);
    assert_int_equal(file_replace(at("none/f"), view_text("x"), &e), ERR_IO);
    assert_non_null(strstr(e.text, at("none/f")));
    assert_int_equal(dir_make_all(at("d"), NULL), 0);
    assert_int_equal(file_replace(at("d"), view_text("x"), &e), ERR_IO); /* a folder in its place */
    nth_fail(1);
    assert_int_equal(file_replace(at("h"), view_text("x"), &e), ERR_MEMORY);
    assert_true(nth_failed());
    assert_int_equal(access(at("h"), F_OK), -1);
}

static void without_memory_the_old_file_stays(void **state)
{
    (void)state;
    assert_int_equal(file_replace(at("tight"), view_text("old"), NULL), 0);
    unsigned before = entries_of_folder();
    int failed = 1;
    unsigned n = 0;
    while (failed) {
        CLEANUP(cleanup_free) char *data = NULL;
        size_t size = 0;
        nth_fail(++n);
        int code = file_replace(at("tight"), view_text("new"), NULL);
        failed = nth_failed();
        assert_int_equal(code, failed ? ERR_MEMORY : 0);
        assert_int_equal(file_read(at("tight"), 3, &data, &size, NULL), 0);
        assert_string_equal(data, failed ? "old" : "new");
        assert_int_equal(entries_of_folder(), before);
    }
    assert_in_range(n, 3, 10);
}

static void a_placed_file_stands_before_its_flush(void **state)
{
    (void)state;
    struct err e = {0};
    struct file_unflushed unflushed = {.file = -1, .folder = -1};
    CLEANUP(cleanup_free) char *data = NULL;
    size_t size = 0;
    unsigned before = entries_of_folder();
    assert_int_equal(file_place(at("placed"), view_text("now"), &unflushed, &e), 0);
    assert_int_equal(file_read(at("placed"), 3, &data, &size, &e), 0);
    assert_string_equal(data, "now");
    assert_int_equal(entries_of_folder(), before + 1);
    int file = unflushed.file, under = unflushed.folder;
    flush_end(flush_begin(unflushed));
    assert_int_equal(fcntl(file, F_GETFD), -1); /* both were closed */
    assert_int_equal(fcntl(under, F_GETFD), -1);
    flush_end(NULL);
    assert_int_equal(file_place(at("placed"), view_text("more"), NULL, &e), 0);
    assert_int_equal(file_place(at("none/f"), view_text("x"), &unflushed, &e), ERR_IO);
    assert_int_equal(unflushed.file, file);
    assert_int_equal(file_place(at("placed"), view_text("later"), &unflushed, &e), 0);
    nth_fail(1);
    assert_null(flush_begin(unflushed)); /* done here, for want of memory */
    assert_true(nth_failed());
    assert_int_equal(fcntl(unflushed.file, F_GETFD), -1);
}

/* A fork takes the descriptors along, and not the thread. */
static void a_forked_child_does_not_wait_for_a_flush(void **state)
{
    (void)state;
    struct file_unflushed unflushed;
    assert_int_equal(file_place(at("forked"), view_text("x"), &unflushed, NULL), 0);
    struct flush *flush = flush_begin(unflushed);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        (void)alarm(60);
        flush_end(flush);
        _exit(fcntl(unflushed.file, F_GETFD) == -1 ? 0 : 1);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    flush_end(flush);
}

/* Its entries could be written but not flushed. Root reads it all the same. */
static void an_unreadable_folder_is_refused_first(void **state)
{
    (void)state;
    struct err e = {0};
    if (geteuid() == 0)
        skip();
    assert_int_equal(mkdir(at("dark"), 0300), 0);
    assert_int_equal(file_replace(at("dark/f"), view_text("x"), &e), ERR_IO);
    assert_int_equal(e.sys_errno, EACCES);
    assert_non_null(strstr(e.text, at("dark/f")));
    assert_int_equal(access(at("dark/f"), F_OK), -1);
    assert_int_equal(chmod(at("dark"), 0700), 0); /* so that it can be removed */
}

/* RLIMIT_FSIZE stands for a full disk: a write stops half-way and the next one fails. */
static void a_write_that_fails_leaves_the_old_file(void **state)
{
    (void)state;
    struct err e = {0};
    struct rlimit old;
    CLEANUP(cleanup_free) char *data = NULL;
    size_t size = 0;
    char big[4096] = {0};
    assert_int_equal(file_replace(at("kept"), view_text("old"), NULL), 0);
    unsigned before = entries_of_folder();
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
    const struct rlimit small = {.rlim_cur = 1000, .rlim_max = old.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
    int code = file_replace(at("kept"), view_of(big, sizeof(big)), &e);
    (void)signal(SIGXFSZ, handler);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
    assert_int_equal(code, ERR_IO);
    assert_int_equal(e.sys_errno, EFBIG);
    assert_int_equal(entries_of_folder(), before);
    assert_int_equal(file_read(at("kept"), 3, &data, &size, NULL), 0);
    assert_string_equal(data, "old");
}

static void folders_are_made_and_removed(void **state)
{
    (void)state;
    struct err e = {0};
    assert_int_equal(dir_make_all(at("a/b//c/"), &e), 0);
    assert_int_equal(dir_make_all(at("a/b/c"), &e), 0);
    assert_int_equal(file_replace(at("a/b/c/file"), view_text("x"), &e), 0);
    assert_int_equal(dir_make_all(at("a/b/c/file/d"), &e), ERR_IO);
    assert_int_equal(e.sys_errno, ENOTDIR);
    assert_non_null(strstr(e.text, "file"));
    assert_int_equal(dir_make_all("", &e), ERR_USAGE);
    nth_fail(1);
    assert_int_equal(dir_make_all(at("x"), &e), ERR_MEMORY);
    assert_true(nth_failed());
    assert_int_equal(dir_sync(at("a"), &e), 0);
    assert_int_equal(dir_sync(at("none"), &e), ERR_IO);
    assert_int_equal(file_sync(at("a/b/c/file"), &e), 0);
    assert_int_equal(file_sync(at("none"), &e), ERR_IO);
    assert_non_null(strstr(e.text, at("none")));
    assert_int_equal(symlink(folder, at("a/b/out")), 0); /* not followed: it leads back up */
    assert_int_equal(dir_remove_all(at("a"), &e), 0);
    assert_int_equal(access(at("a"), F_OK), -1);
    assert_int_equal(access(folder, F_OK), 0);
    assert_int_equal(dir_remove_all(at("a"), &e), 0);
}

static void paths_are_joined(void **state)
{
    (void)state;
    CLEANUP(cleanup_free) char *plain = path_join("a", "b");
    CLEANUP(cleanup_free) char *slashed = path_join("a/", "b");
    CLEANUP(cleanup_free) char *bare = path_join("", "b");
    assert_string_equal(plain, "a/b");
    assert_string_equal(slashed, "a/b");
    assert_non_null(bare);
    nth_fail(1);
    assert_null(path_join("a", "b"));
    assert_true(nth_failed());
}

static void files_are_mapped(void **state)
{
    (void)state;
    struct err e = {0};
    struct map map = {0};
    assert_int_equal(file_replace(at("m"), view_text("mapped"), NULL), 0);
    assert_int_equal(map_open(&map, at("m"), &e), 0);
    assert_true(view_is(map.bytes, "mapped"));
    map_forget_before(&map, 6);
    map_forget_before(&map, 7);
    assert_true(view_is(map.bytes, "mapped"));
    map_release(&map);
    map_release(&map);
    assert_int_equal(map.bytes.size, 0);

    size_t size = (size_t)1 << 20;
    char *big = calloc(1, size);
    assert_non_null(big);
    big[0] = 'x';
    assert_int_equal(file_replace(at("big map"), view_of(big, size), NULL), 0);
    assert_int_equal(map_open(&map, at("big map"), &e), 0);
    map_forget_before(&map, size);
    assert_memory_equal(map.bytes.data, big, size); /* read again from the file */
    map_release(&map);
    free(big);

    assert_int_equal(file_replace(at("empty"), view_of(NULL, 0), NULL), 0);
    assert_int_equal(map_open(&map, at("empty"), &e), 0);
    assert_int_equal(map.bytes.size, 0);
    map_release(&map);
    assert_int_equal(map_open(&map, at("absent"), &e), ERR_IO);
    assert_non_null(strstr(e.text, at("absent")));
    assert_int_equal(map_open(&map, folder, &e), ERR_USAGE);
    assert_int_equal(mkfifo(at("map fifo"), 0600), 0);
    assert_int_equal(map_open(&map, at("map fifo"), &e), ERR_USAGE);
}

static bool globs(const char *pattern, const char *text)
{
    return glob_matches(view_text(pattern), view_text(text));
}

static void patterns_match_as_in_a_shell(void **state)
{
    (void)state;
    static const struct {
        const char *pattern, *text;
        bool matches;
    } cases[] = {
        {"", "", true},
        {"", "a", false},
        {"a", "", false},
        {"*", "", true},
        {"*", "a/.b", true},
        {"**a", "ba", true},
        {"in*", "input", true},
        {"in*", "pin", false},
        {"*.wait", "input.wait", true},
        {"a*b*c", "abbbc", true},
        {"a*b*c", "acb", false},
        {"*ab", "aab", true},
        {"?", "\xc3\xa9", true},
        {"??", "\xc3\xa9", false},
        {"?", "\xc3", true},
        {"[a-c]x", "bx", true},
        {"[a-c]x", "dx", false},
        {"[!a-c]", "d", true},
        {"[^a]", "a", false},
        {"[]x]", "]", true},
        {"[a-]", "-", true},
        {"[\xc3\xa0-\xc3\xb0]", "\xc3\xa9", true},
        {"[ab", "[ab", true},
        {"\\*", "*", true},
        {"\\*", "a", false},
        {"a\\", "a\\", true},
        {"[\\]]", "]", true},
        {"[a-\\]]", "]", false},
        {"[[-\\]]", "]", true},
        {"\xff*", "\xff", true},
        {"\xff", "\xfe", false},
        {"\xc3\xa9", "\xc3\xa9", true},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        if (globs(cases[i].pattern, cases[i].text) != cases[i].matches)
            fail_msg("'%s' and '%s'", cases[i].pattern, cases[i].text);
    }
}

/* fnmatch() would not come back from this one. */
static void patterns_take_bounded_time_on_any_length(void **state)
{
    (void)state;
    enum { N = 70000 };
    char *text = malloc(N + 1);
    assert_non_null(text);
    memset(text, 'a', N);
    text[N] = '\0';
    assert_true(globs("*a*a*a*a*a*a*a*a*a", text));
    assert_false(globs("*a*a*a*a*a*a*a*a*b", text));
    text[N / 2] = '\0'; /* any byte may stand in a name */
    assert_true(glob_matches(view_text("a*a"), view_of(text, N)));
    free(text);
}

static void text_is_taken_character_by_character(void **state)
{
    (void)state;
    static const struct {
        const char *bytes;
        size_t size, ret_size;
        uint32_t code;
    } cases[] = {
        {"a", 1, 1, 'a'},
        {"", 1, 1, 0},
        {"\xc3\xa9", 2, 2, 0xe9},
        {"\xe2\x82\xac", 3, 3, 0x20ac},
        {"\xf0\x9f\x98\x80", 4, 4, 0x1f600},
        {"\xc3", 1, 1, UTF8_NOT + 0xc3},
        {"\xc3\x41", 2, 1, UTF8_NOT + 0xc3},
        {"\xc0\x80", 2, 1, UTF8_NOT + 0xc0},
        {"\xed\xa0\x80", 3, 1, UTF8_NOT + 0xed},
        {"\xf4\x90\x80\x80", 4, 1, UTF8_NOT + 0xf4},
        {"\x80", 1, 1, UTF8_NOT + 0x80},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        size_t size;
        assert_int_equal(utf8_first((const uint8_t *)cases[i].bytes, cases[i].size, &size),
                         cases[i].code);
        assert_int_equal(size, cases[i].ret_size);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(files_are_replaced_whole), /* first: it counts what is in the folder */
        cmocka_unit_test(errors_carry_their_parts),
        cmocka_unit_test(long_errors_are_cut_at_their_bound),
        cmocka_unit_test(views_compare),
        cmocka_unit_test(an_arena_gives_zeroed_aligned_memory),
        cmocka_unit_test(names_keep_their_numbers),
        cmocka_unit_test(without_memory_names_stay_as_they_were),
        cmocka_unit_test(file_errors_name_the_path),
        cmocka_unit_test(without_memory_the_old_file_stays),
        cmocka_unit_test(a_placed_file_stands_before_its_flush),
        cmocka_unit_test(a_forked_child_does_not_wait_for_a_flush),
        cmocka_unit_test(an_unreadable_folder_is_refused_first),
        cmocka_unit_test(a_write_that_fails_leaves_the_old_file),
        cmocka_unit_test(folders_are_made_and_removed),
        cmocka_unit_test(paths_are_joined),
        cmocka_unit_test(files_are_mapped),
        cmocka_unit_test(patterns_match_as_in_a_shell),
        cmocka_unit_test(patterns_take_bounded_time_on_any_length),
        cmocka_unit_test(text_is_taken_character_by_character),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
