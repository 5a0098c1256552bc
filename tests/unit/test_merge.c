/* SPDX-License-Identifier: Apache-2.0 */
/* test_merge FILE... - what merge reads and moves: one allocation after another fails, and files of
 * more than 4 GiB. */
#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/map.h"
#include "nth.h"
#include "planes.h"
#include "trace/merge_align.h"
#include "trace/merge_match.h"
#include "xplane/shift.h"

#include "base/banned.h"

#define HOLE_BYTES ((size_t)5 << 30)
#define HOLE_EDGE 4096
#define UNKNOWN_FIELD 15

static char **paths;
static int n_paths;

static int match_itself(const struct merge_facts *facts, struct err *e)
{
    const struct merge_process twice[] = {{facts, "a", -1, -1, "", "1", "1"},
                                          {facts, "b", -1, -1, "", "2", "1"}};
    struct merge_reasons reasons = {0};
    int code = merge_match(twice, 1, &reasons, e);
    merge_reasons_release(&reasons);
    return code;
}

/* All that merge does with a capture but for writing it. */
static int work(struct view file, struct err *e)
{
    const struct xshift shift = {.line_ns = 300, .sets_window = true, .start_ns = 1, .stop_ns = 2};
    struct merge_facts facts = {0};
    struct patches patches = {0};
    struct align_place place;
    int code = merge_facts_read(file, &facts, e);
    if (code == 0)
        code = match_itself(&facts, e);
    if (code == 0)
        code = merge_align(&facts, &facts, true, &place, e);
    if (code == 0)
        code = xshift_plan(file, &shift, &patches, e);
    patches_release(&patches);
    merge_facts_release(&facts);
    return code;
}

static void no_allocation_may_fail_unnoticed(void **state)
{
    (void)state;
    for (int i = 0; i < n_paths; i++) {
        struct map map = {0};
        assert_int_equal(map_open(&map, paths[i], NULL), 0);
        for (unsigned n = 1;; n++) {
            struct err e = {0};
            long before = nth_live();
            nth_fail(n);
            int code = work(map.bytes, &e);
            bool failed = nth_failed();
            assert_int_equal(nth_live(), before);
            assert_int_equal(code, failed ? ERR_MEMORY : 0);
            assert_int_equal(e.code, code);
            if (!failed) {
                assert_true(n > 10);
                break;
            }
        }
        map_release(&map);
    }
}

static void put_all(int fd, struct view bytes)
{
    assert_int_equal(write(fd, bytes.data, bytes.size), (ssize_t)bytes.size);
}

/* One plane with a field of 5 GiB, of which nothing is on the disk, before its line. */
static void write_huge(int fd)
{
    struct message before = {0}, line = {0}, event = {0}, behind = {0}, head = {0};
    put_text(&before, XPLANE_NAME, "/host:CPU");
    put_varint(&before, UNKNOWN_FIELD << 3 | 2);
    put_varint(&before, HOLE_BYTES);
    put_text(&line, XLINE_NAME, "python");
    put_integer(&line, XLINE_TIMESTAMP_NS, 100);
    put_integer(&event, XEVENT_METADATA_ID, 1);
    put_integer(&event, XEVENT_OFFSET_PS, 7);
    put_integer(&event, XEVENT_DURATION_PS, 3);
    put_message(&line, XLINE_EVENTS, &event);
    put_message(&behind, XPLANE_LINES, &line);
    put_metadata(&behind, XPLANE_EVENT_METADATA, 1, "event");
    put_varint(&head, XSPACE_PLANES << 3 | 2);
    put_varint(&head, before.size + HOLE_BYTES + behind.size);
    put_all(fd, message_view(&head));
    put_all(fd, message_view(&before));
    assert_true(lseek(fd, (off_t)HOLE_BYTES, SEEK_CUR) > 0);
    put_all(fd, message_view(&behind));
}

/* Writes no zeros of the hole. */
static int write_edges(void *context, struct view piece, struct err *e)
{
    int fd = *(int *)context;
    (void)e;
    if (piece.size < HOLE_BYTES) {
        put_all(fd, piece);
        return 0;
    }
    put_all(fd, view_of(piece.data, HOLE_EDGE));
    assert_true(lseek(fd, (off_t)(piece.size - 2 * (size_t)HOLE_EDGE), SEEK_CUR) > 0);
    put_all(fd, view_of(piece.data + piece.size - HOLE_EDGE, HOLE_EDGE));
    return 0;
}

static int fresh_file(char *path, size_t size)
{
    const char *folder = getenv("TMPDIR");
    (void)snprintf(path, size, "%s/dew-merge-XXXXXX", folder ? folder : "/tmp");
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    return fd;
}

static void a_line_behind_4_gib_is_moved(void **state)
{
    (void)state;
    char from[256], to[256];
    int in = fresh_file(from, sizeof(from)), out = fresh_file(to, sizeof(to));
    write_huge(in);
    struct map map = {0};
    struct err e = {0};
    struct patches patches = {0};
    struct merge_facts facts = {0};
    const struct xshift shift = {.line_ns = INT64_C(1) << 40};
    assert_int_equal(map_open(&map, from, &e), 0);
    assert_int_equal(xshift_plan(map.bytes, &shift, &patches, &e), 0);
    assert_int_equal(patches.growth, 5); /* 100 has one byte, 2^40 + 100 six */
    assert_int_equal(patches_write(&patches, map.bytes, write_edges, &out, &e), 0);
    size_t size = map.bytes.size;
    map_release(&map);
    assert_int_equal(map_open(&map, to, &e), 0);
    assert_int_equal(map.bytes.size, size + 5);
    assert_int_equal(merge_facts_read(map.bytes, &facts, &e), 0);
    assert_int_equal(facts.events, 1);
    assert_int_equal(facts.first_ps, ((INT64_C(1) << 40) + 100) * 1000 + 7);
    merge_facts_release(&facts);
    patches_release(&patches);
    map_release(&map);
    assert_int_equal(close(in) | close(out) | unlink(from) | unlink(to), 0);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_allocation_may_fail_unnoticed),
        cmocka_unit_test(a_line_behind_4_gib_is_moved),
    };
    paths = argv + 1;
    n_paths = argc - 1;
    return n_paths > 0 ? cmocka_run_group_tests(tests, NULL, NULL) : 1;
}
