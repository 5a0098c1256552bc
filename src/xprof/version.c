/* SPDX-License-Identifier: Apache-2.0 */
/* version - release numbers, then whether it is a release at all. */
#include "xprof/version.h"

#include <stdlib.h>
#include <string.h>

#include "base/banned.h"

#define PARTS_MAX 8

struct release {
    unsigned long parts[PARTS_MAX];
    bool early; /* a pre-release or a development version */
};

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static struct release parse(const char *text)
{
    struct release release = {.early = false};
    for (size_t i = 0; i < PARTS_MAX && is_digit(*text); i++) {
        char *end;
        release.parts[i] = strtoul(text, &end, 10);
        text = end;
        if (text[0] != '.' || !is_digit(text[1]))
            break;
        text++;
    }
    release.early = *text != '\0' && *text != '+' && strncmp(text, ".post", 5) != 0;
    return release;
}

int version_compare(const char *a, const char *b)
{
    struct release left = parse(a);
    struct release right = parse(b);
    for (size_t i = 0; i < PARTS_MAX; i++)
        if (left.parts[i] != right.parts[i])
            return left.parts[i] < right.parts[i] ? -1 : 1;
    return (int)right.early - (int)left.early;
}

bool version_looks_right(const char *text)
{
    return is_digit(*text);
}
