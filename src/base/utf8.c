/* SPDX-License-Identifier: Apache-2.0 */
/* utf8 - decoding that never fails. */
#include "base/utf8.h"

#include "base/banned.h"

uint32_t utf8_first(const uint8_t *at, size_t left, size_t *ret_size)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    size_t n = at[0] < 0x80             ? 1
               : (at[0] & 0xe0) == 0xc0 ? 2
               : (at[0] & 0xf0) == 0xe0 ? 3
               : (at[0] & 0xf8) == 0xf0 ? 4
                                        : 0;
    *ret_size = 1;
    if (n == 0 || n > left)
        return UTF8_NOT + at[0];
    uint32_t code = n == 1 ? at[0] : at[0] & (0x7fU >> n);
    for (size_t i = 1; i < n; i++) {
        if ((at[i] & 0xc0) != 0x80)
            return UTF8_NOT + at[0];
        code = code << 6 | (at[i] & 0x3f);
    }
    if (code < least[n] || code > 0x10ffff || (code >= 0xd800 && code < 0xe000))
        return UTF8_NOT + at[0];
    *ret_size = n;
    return code;
}
