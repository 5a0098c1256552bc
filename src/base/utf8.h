/* SPDX-License-Identifier: Apache-2.0 */
/* utf8 - the characters of text that should be UTF-8 and may be anything.
 *
 * Names in captures come from programs and from damaged files. A byte that belongs to no character
 * is told apart from every character, so that callers can replace it or compare it as itself. */
#ifndef DEW_BASE_UTF8_H
#define DEW_BASE_UTF8_H

#include "base/view.h"

#define UTF8_NOT 0x110000U /* UTF8_NOT + byte: a byte that is no character */

/* The character at the front of `left` > 0 bytes, and its size; UTF8_NOT + byte and 1 where there
 * is none. Overlong forms, surrogates and what is above U+10FFFF are no characters. */
uint32_t utf8_first(const uint8_t *at, size_t left, size_t *ret_size);

#endif
