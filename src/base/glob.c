/* SPDX-License-Identifier: Apache-2.0 */
/* glob - characters one by one, and back to behind the last star where they differ. */
#include "base/glob.h"

#include "base/utf8.h"

#include "base/banned.h"

/* Takes the first character off the view, which must have one. */
static uint32_t take(struct view *text)
{
    size_t size;
    uint32_t code = utf8_first(text->data, text->size, &size);
    *text = view_of(text->data + size, text->size - size);
    return code;
}

static bool begins_with(struct view text, char byte)
{
    return text.size > 0 && text.data[0] == (uint8_t)byte;
}

/* `rest` is what follows a `[`. False where no `]` closes it; else what follows that. */
static bool set_holds(struct view rest, uint32_t code, bool *ret_holds, struct view *ret_rest)
{
    bool negated = begins_with(rest, '!') || begins_with(rest, '^'), holds = false;
    if (negated)
        (void)take(&rest);
    for (bool first = true; rest.size > 0; first = false) {
        if (begins_with(rest, ']') && !first) {
            (void)take(&rest);
            *ret_holds = holds != negated;
            *ret_rest = rest;
            return true;
        }
        if (begins_with(rest, '\\') && rest.size > 1)
            (void)take(&rest);
        uint32_t low = take(&rest), high = low;
        if (begins_with(rest, '-') && rest.size > 1 && rest.data[1] != ']') {
            (void)take(&rest);
            if (begins_with(rest, '\\') && rest.size > 1)
                (void)take(&rest);
            high = take(&rest);
        }
        holds |= code >= low && code <= high;
    }
    return false;
}

/* Whether the front of the pattern, which is no star, takes the character. */
static bool takes(struct view *pattern, uint32_t code)
{
    struct view rest = *pattern;
    bool holds;
    uint32_t wanted = take(&rest);
    if (wanted == '[' && set_holds(rest, code, &holds, &rest)) {
        *pattern = rest;
        return holds;
    }
    if (wanted == '\\' && rest.size > 0)
        holds = take(&rest) == code;
    else
        holds = wanted == '?' || wanted == code;
    *pattern = rest;
    return holds;
}

bool glob_matches(struct view pattern, struct view text)
{
    struct view behind_star = {0}, from = {0}; /* where to go on from if what follows differs */
    bool star = false;
    while (text.size > 0) {
        if (begins_with(pattern, '*')) {
            (void)take(&pattern);
            behind_star = pattern;
            from = text;
            star = true;
            continue;
        }
        if (pattern.size > 0 && takes(&pattern, take(&text)))
            continue;
        if (!star)
            return false;
        (void)take(&from);
        pattern = behind_star;
        text = from;
    }
    while (begins_with(pattern, '*'))
        (void)take(&pattern);
    return pattern.size == 0;
}
