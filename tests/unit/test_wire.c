/* SPDX-License-Identifier: Apache-2.0 */
/* test_wire - every token, every refusal, every cut. */
#include "message.h"
#include "nth.h"
#include "test.h"
#include "wire/out.h"
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
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
