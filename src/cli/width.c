/* SPDX-License-Identifier: Apache-2.0 */
/* width - characters one by one, as the locale reads them. */
#include "cli/width.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#include "base/banned.h"

#define ESCAPED_BYTE 4 /* \xHH */

/* The bytes of the character at `text`, which is not at its end, and its columns. */
static size_t step(const char *text, size_t *ret_width)
{
    mbstate_t state = {0};
    wchar_t character;
    size_t size = mbrtowc(&character, text, strnlen(text, MB_LEN_MAX), &state);
    if (size == 0 || size == (size_t)-1 || size == (size_t)-2) {
        *ret_width = ESCAPED_BYTE;
        return 1;
    }
    int columns = wcwidth(character);
    *ret_width = columns < 0 ? ESCAPED_BYTE * size : (size_t)columns;
    return size;
}

size_t width_of(const char *text)
{
    size_t sum = 0, width;
    for (; *text; sum += width)
        text += step(text, &width);
    return sum;
}

size_t width_to_differ(const char *a, const char *b)
{
    size_t sum = 0, width_a, width_b;
    while (*a && *b) {
        size_t size_a = step(a, &width_a), size_b = step(b, &width_b);
        if (size_a != size_b || memcmp(a, b, size_a) != 0)
            return sum + (width_a > width_b ? width_a : width_b);
        sum += width_a;
        a += size_a;
        b += size_b;
    }
    if (*a || *b)
        (void)step(*a ? a : b, &width_a);
    return *a || *b ? sum + width_a : sum;
}

char *width_shorten(const char *text, size_t width)
{
    size_t used = 0, columns = 0, next;
    if (width_of(text) <= width)
        return strdup(text);
    while (text[used]) {
        size_t size = step(text + used, &next);
        if (columns + next + 1 > width)
            break;
        columns += next;
        used += size;
    }
    char *copy = malloc(used + sizeof(WIDTH_CUT));
    if (!copy)
        return NULL;
    memcpy(copy, text, used);
    memcpy(copy + used, WIDTH_CUT, sizeof(WIDTH_CUT));
    return copy;
}
