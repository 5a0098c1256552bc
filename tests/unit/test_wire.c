/* SPDX-License-Identifier: Apache-2.0 */
/* test_wire - every token, every refusal, every cut. */
#include "message.h"
#include "nth.h"
#include "test.h"
#include "wire/out.h"
#include "wire/patch.h"
#include "wire/wire.h"

#include "base/banned.h"

static struct wire over(const uint8_t *bytes, size_t size, bool cut)
{
    return (struct wire){.pos = bytes, .end = bytes + size, .start = bytes, .cut = cut};
}

#define OVER(cut, ...)                                                                             \
    over((const uint8_t[]){__VA_ARGS__}, sizeof((const uint8_t[]){__VA_ARGS__}), cut)

static void varints_of_every_length(void **state)
{
    (void)state;
    for (unsigned bit = 0; bit < 64; bit++) {
        for (int delta = -1; delta <= 1; delta++) {
            struct message m = {0};
            uint64_t value = (UINT64_C(1) << bit) + (uint64_t)(int64_t)delta;
            uint64_t got = ~value;
            put_varint(&m, value);
            assert_ptr_equal(wire_varint(m.bytes, m.bytes + m.size, &got), m.bytes + m.size);
            assert_int_equal(got, value);
            for (size_t cut = 0; cut < m.size; cut++)
                assert_null(wire_varint(m.bytes, m.bytes + cut, &got));
        }
    }
}

static void every_type_is_read(void **state)
{
    (void)state;
    struct wire wire = OVER(false, 0x08, 0x96, 0x01,                 /* 1: varint 150 */
                            0x12, 0x03, 'a', 'b', 'c',               /* 2: bytes */
                            0x1d, 0x01, 0x00, 0x00, 0x80,            /* 3: fixed32 */
                            0x21, 1, 2, 3, 4, 5, 6, 7, 8,            /* 4: fixed64 */
                            0x80, 0x01, 0x05,                        /* 16: varint 5 */
                            0xfa, 0xff, 0xff, 0xff, 0x0f, 0x01, 'z', /* 2^29-1: bytes */
                            0x12, 0x00);                             /* 2: no bytes */
    struct wire_field f;
    assert_int_equal(wire_next(&wire, &f), 1);
    assert_int_equal(f.number, 1);
    assert_int_equal(f.type, WIRE_VARINT);
    assert_int_equal(f.value, 150);
    assert_int_equal(wire_next(&wire, &f), 1);
    assert_int_equal(f.number, 2);
    assert_true(view_is(f.bytes, "abc"));
    assert_int_equal(wire_next(&wire, &f), 1);
    assert_int_equal(f.type, WIRE_FIXED32);
    assert_int_equal(f.value, 0x80000001);
    assert_int_equal(wire_next(&wire, &f), 1);
    assert_int_equal(f.type, WIRE_FIXED64);
    assert_int_equal(f.value, UINT64_C(0x0807060504030201));
    assert_int_equal(wire_next(&wire, &f), 1);
    assert_int_equal(f.number, 16);
    assert_int_equal(f.value, 5);
    assert_int_equal(wire_next(&wire, &f), 1);
    assert_int_equal(f.number, (1 << 29) - 1);
    assert_true(view_is(f.bytes, "z"));
    assert_int_equal(wire_next(&wire, &f), 1);
    assert_int_equal(f.bytes.size, 0);
    assert_int_equal(wire_next(&wire, &f), 0);
    assert_int_equal(wire_next(&wire, &f), 0);
    struct err e = {0};
    assert_int_equal(wire_error(&wire, &e), 0);
    assert_string_equal(e.text, "");
}

/* One good field of two bytes, then the bad token: it is reported at byte 2, and again if asked. */
static void refuses(struct wire wire, int code, const char *words)
{
    struct wire_field f;
    struct err e = {0};
    assert_int_equal(wire_next(&wire, &f), 1);
    assert_int_equal(wire_next(&wire, &f), code);
    assert_int_equal(wire_next(&wire, &f), code);
    assert_int_equal(wire.damage.offset, 2);
    assert_int_equal(wire_error(&wire, &e), code);
    assert_int_equal(e.offset, 2);
    assert_non_null(strstr(e.text, words));
    assert_non_null(strstr(e.text, "byte 2"));
}

static void wrong_tokens_are_refused(void **state)
{
    (void)state;
    refuses(OVER(false, 0x08, 0x01, 0x0b), ERR_DAMAGED, "group");
    refuses(OVER(false, 0x08, 0x01, 0x0c), ERR_DAMAGED, "group");
    refuses(OVER(false, 0x08, 0x01, 0x0e), ERR_DAMAGED, "wire type");
    refuses(OVER(false, 0x08, 0x01, 0x0f), ERR_DAMAGED, "wire type");
    refuses(OVER(false, 0x08, 0x01, 0x00, 0x01), ERR_DAMAGED, "field number");
    refuses(OVER(false, 0x08, 0x01, 0x80, 0x80, 0x80, 0x80, 0x10, 0x01), ERR_DAMAGED,
            "field number");
    refuses(
        OVER(false, 0x08, 0x01, 0x08, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x02),
        ERR_DAMAGED, "64 bits");
    refuses(OVER(true, 0x08, 0x01, 0x08, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80,
                 0x01),
            ERR_DAMAGED, "64 bits");
    refuses(
        OVER(true, 0x08, 0x01, 0x12, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f),
        ERR_DAMAGED, "64 bits");
}

static void running_out_is_damage_or_a_cut(void **state)
{
    (void)state;
    for (int cut = 0; cut < 2; cut++) {
        int code = cut ? ERR_TRUNCATED : ERR_DAMAGED;
        const char *words = cut ? "file ends" : "past the end";
        refuses(OVER(cut, 0x08, 0x01, 0x08), code, words);
        refuses(OVER(cut, 0x08, 0x01, 0x08, 0x80), code, words);
        refuses(OVER(cut, 0x08, 0x01, 0x80), code, words);
        refuses(OVER(cut, 0x08, 0x01, 0x12), code, words);
        refuses(OVER(cut, 0x08, 0x01, 0x12, 0x80), code, words);
        refuses(OVER(cut, 0x08, 0x01, 0x1d, 1, 2, 3), code, words);
        refuses(OVER(cut, 0x08, 0x01, 0x21, 1, 2, 3, 4, 5, 6, 7), code, words);
    }
    refuses(OVER(false, 0x08, 0x01, 0x12, 0x03, 'a', 'b'), ERR_DAMAGED, "past the end");
    refuses(OVER(false, 0x08, 0x01, 0x12, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
                 0x01, 'a'),
            ERR_DAMAGED, "past the end");
}

static void what_is_left_of_a_cut_field_is_handed_out(void **state)
{
    (void)state;
    struct wire wire = OVER(true, 0x12, 0x05, 'a', 'b');
    struct wire_field f;
    assert_int_equal(wire_next(&wire, &f), 1);
    assert_true(f.cut);
    assert_true(view_is(f.bytes, "ab"));
    assert_int_equal(wire_next(&wire, &f), ERR_TRUNCATED);
    assert_int_equal(wire.damage.offset, 0);
}

static void limits_nest(void **state)
{
    (void)state;
    /* an inner message whose field claims bytes that only the outer one has */
    struct wire wire = OVER(true, 0x0a, 0x03, 0x12, 0x04, 'a', 0x10, 0x01);
    struct wire_field f, g;
    assert_int_equal(wire_next(&wire, &f), 1);
    struct wire inner = wire_enter(&wire, f.bytes, f.cut);
    assert_int_equal(wire_next(&inner, &g), ERR_DAMAGED);
    assert_int_equal(inner.damage.offset, 2);
    assert_int_equal(wire_next(&wire, &f), 1);
    assert_int_equal(f.number, 2);
    assert_int_equal(wire_next(&wire, &f), 0);
}

static void an_empty_file_has_no_fields(void **state)
{
    (void)state;
    struct wire wire = wire_file(view_of(NULL, 0));
    struct wire_field f;
    assert_int_equal(wire_next(&wire, &f), 0);
}

static void what_is_written_is_read_back(void **state)
{
    (void)state;
    struct wire_out out = {0};
    for (unsigned bit = 0; bit < 64; bit++)
        out_varint(&out, bit + 1, UINT64_C(1) << bit);
    size_t outer = out_begin(&out, 70), inner = out_begin(&out, 1);
    for (int i = 0; i < 100; i++) /* long enough for a length of two bytes */
        out_bytes(&out, 2, view_text("abc"));
    out_end(&out, inner);
    out_signed(&out, 3, INT64_MIN);
    out_signed(&out, 3, -1);
    out_end(&out, outer);
    out_bytes(&out, 71, view_of(NULL, 0));
    assert_int_equal(out_check(&out, NULL), 0);

    struct wire wire = wire_file(out_view(&out));
    struct wire_field f, g;
    for (unsigned bit = 0; bit < 64; bit++) {
        assert_int_equal(wire_next(&wire, &f), 1);
        assert_int_equal(f.number, bit + 1);
        assert_int_equal(f.value, UINT64_C(1) << bit);
    }
    assert_int_equal(wire_next(&wire, &f), 1);
    assert_int_equal(f.number, 70);
    struct wire in = wire_enter(&wire, f.bytes, f.cut);
    assert_int_equal(wire_next(&in, &g), 1);
    assert_int_equal(g.bytes.size, 500);
    assert_int_equal(wire_next(&in, &g), 1);
    assert_int_equal(wire_unzigzag(g.value), INT64_MIN);
    assert_int_equal(wire_next(&in, &g), 1);
    assert_int_equal(wire_unzigzag(g.value), -1);
    assert_int_equal(wire_next(&in, &g), 0);
    assert_int_equal(wire_next(&wire, &f), 1);
    assert_int_equal(f.bytes.size, 0);
    assert_int_equal(wire_next(&wire, &f), 0);
    out_release(&out);
}

static void writing_without_memory_is_told_at_the_end(void **state)
{
    (void)state;
    for (unsigned n = 1; n <= 2; n++) {
        struct wire_out out = {0};
        nth_fail(n);
        size_t place = out_begin(&out, 1);
        for (int i = 0; i < 300; i++)
            out_varint(&out, 2, 1);
        out_end(&out, place);
        assert_true(nth_failed());
        assert_int_equal(out_check(&out, NULL), ERR_MEMORY);
        out_release(&out);
    }
}

struct written {
    uint8_t bytes[4096];
    size_t size, pieces;
};

static int keep(void *context, struct view piece, struct err *e)
{
    struct written *written = context;
    (void)e;
    assert_true(piece.size > 0 && piece.size <= sizeof(written->bytes) - written->size);
    memcpy(written->bytes + written->size, piece.data, piece.size);
    written->size += piece.size;
    written->pieces++;
    return 0;
}

/* Message 1 holds message 2, which holds `value` between two texts; `filler` sets how near the
 * lengths are to the next size of a varint. */
static struct message nested(uint64_t value, size_t filler)
{
    struct message inner = {0}, middle = {0}, outer = {0};
    char text[256] = {0};
    put_text(&inner, 1, "before");
    put_integer(&inner, 3, value);
    memset(text, 'x', filler);
    put_text(&inner, 4, text);
    put_message(&middle, 2, &inner);
    put_integer(&middle, 5, 9);
    put_message(&outer, 1, &middle);
    put_text(&outer, 4, "host");
    return outer;
}

static int descend(struct patches *patches, struct wire *wire, uint64_t value, struct err *e)
{
    struct wire_field field;
    int more;
    for (const uint8_t *at = wire->pos; (more = wire_next(wire, &field)) > 0; at = wire->pos) {
        if (field.number == 3)
            return patches_put(patches, wire_offset(wire, at), (size_t)(wire->pos - at), 3 << 3,
                               value, e);
        if (field.number > 2 || field.type != WIRE_BYTES || field.bytes.size < 10)
            continue;
        struct patch_message message;
        struct wire in = wire_enter(wire, field.bytes, false);
        int code =
            patches_enter(patches, wire_offset(wire, at) + 1, (size_t)(field.bytes.data - at) - 1,
                          field.bytes.size, &message, e);
        if (code == 0)
            code = descend(patches, &in, value, e);
        if (code != 0)
            return code;
        patches_leave(patches, &message);
    }
    return more;
}

static void a_patched_message_is_the_one_written_anew(void **state)
{
    (void)state;
    static const uint64_t values[] = {0, 1, 127, 128, 1 << 14, UINT64_C(1) << 35, UINT64_MAX};
    for (size_t filler = 90; filler < 130; filler++) {
        for (size_t i = 0; i < 49; i++) {
            struct message from = nested(values[i / 7], filler), to = nested(values[i % 7], filler);
            struct patches patches = {0};
            struct written written = {0};
            struct wire wire = wire_file(message_view(&from));
            struct err e = {0};
            assert_int_equal(descend(&patches, &wire, values[i % 7], &e), 0);
            assert_int_equal(patches_write(&patches, message_view(&from), keep, &written, &e), 0);
            assert_int_equal(written.size, to.size);
            assert_int_equal(patches.growth, (int64_t)to.size - (int64_t)from.size);
            assert_memory_equal(written.bytes, to.bytes, to.size);
            patches_release(&patches);
        }
    }
}

static void no_edits_are_the_input_in_one_piece(void **state)
{
    (void)state;
    struct message m = nested(5, 100);
    struct patches patches = {0};
    struct written written = {0};
    assert_int_equal(patches_write(&patches, message_view(&m), keep, &written, NULL), 0);
    assert_int_equal(written.pieces, 1);
    assert_memory_equal(written.bytes, m.bytes, m.size);
}

static void patching_without_memory_fails(void **state)
{
    (void)state;
    struct patches patches = {0};
    nth_fail(1);
    assert_int_equal(patches_put(&patches, 0, 0, 0, 1, NULL), ERR_MEMORY);
    assert_true(nth_failed());
    patches_release(&patches);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(varints_of_every_length),
        cmocka_unit_test(every_type_is_read),
        cmocka_unit_test(wrong_tokens_are_refused),
        cmocka_unit_test(running_out_is_damage_or_a_cut),
        cmocka_unit_test(what_is_left_of_a_cut_field_is_handed_out),
        cmocka_unit_test(limits_nest),
        cmocka_unit_test(an_empty_file_has_no_fields),
        cmocka_unit_test(what_is_written_is_read_back),
        cmocka_unit_test(writing_without_memory_is_told_at_the_end),
        cmocka_unit_test(a_patched_message_is_the_one_written_anew),
        cmocka_unit_test(no_edits_are_the_input_in_one_piece),
        cmocka_unit_test(patching_without_memory_fails),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
