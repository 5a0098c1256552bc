/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_part - any bytes as a part's body, which a checksum would hide: it is read or refused, what
 * was read is written to the same bytes again and again, and a verdict about it can be made. */
#include <string.h>

#include "target.h"
#include "trace/part.h"
#include "trace/verdict.h"

#include "base/banned.h"

/* Settled rows as bytes; false where they are refused, as the same process twice is. */
static bool written(const struct many_rows *rows, bool twice, struct wire_out *ret)
{
    struct many many = {0};
    struct verdict verdict = {0};
    struct err e = {0};
    int r = many_join(&many, rows, &e);
    if (r == 0 && twice)
        r = many_join(&many, rows, &e);
    HOLDS(r == 0);
    r = many_settle(&many, &e);
    HOLDS(r == 0 || e.code == ERR_USAGE);
    if (r == 0) {
        HOLDS(verdict_make(&many.rows, &verdict, &e) == 0);
        HOLDS(part_write(&many.rows, ret, &e) == 0);
    }
    verdict_release(&verdict);
    many_release(&many);
    return r == 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct many_rows rows = {0}, again = {0};
    struct wire_out first = {0}, second = {0}, unused = {0};
    struct err e = {0};
    int code = part_read_body(view_of(data, size), view_of(data, size), &rows, &e);
    HOLDS(code == 0 || (e.code == code && e.text[0] != '\0'));
    if (code == 0 && written(&rows, false, &first)) {
        HOLDS(part_read(out_view(&first), &again, &e) == 0);
        HOLDS(written(&again, false, &second));
        HOLDS(view_equal(out_view(&first), out_view(&second)));
        HOLDS(!written(&rows, true, &unused));
    }
    out_release(&first);
    out_release(&second);
    out_release(&unused);
    many_rows_release(&rows);
    many_rows_release(&again);
    return 0;
}
