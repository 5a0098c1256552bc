/* SPDX-License-Identifier: Apache-2.0 */
/* glob - shell patterns over names of any length and any bytes.
 *
 * `*` is any text, `?` one character, `[a-z]` and `[!a-z]` one character of a set or of none, and a
 * backslash takes the next character as it is; all else stands for itself, and so does a `[` that
 * nothing closes. A slash or a dot is a character like any other. It is here instead of fnmatch()
 * because that wants a terminated string, and takes exponential time on some patterns; this takes
 * at most the product of both lengths. It leaves out named classes such as [:alpha:]. */
#ifndef DEW_BASE_GLOB_H
#define DEW_BASE_GLOB_H

#include "base/view.h"

bool glob_matches(struct view pattern, struct view text);

#endif
