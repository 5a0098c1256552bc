/* SPDX-License-Identifier: Apache-2.0 */
/* width - how much room texts take in a table, and the least that tells them apart.
 *
 * In columns of a terminal, as the table shows them: what is no printable character of the locale
 * stands there as \xHH, byte by byte. */
#ifndef DEW_CLI_WIDTH_H
#define DEW_CLI_WIDTH_H

#include <stddef.h>

/* Stands where a text was shortened; one column. */
#define WIDTH_CUT "\xe2\x80\xa6"

size_t width_of(const char *text);

/* How much of two different texts, from the start, shows that they differ. */
size_t width_to_differ(const char *a, const char *b);

/* A copy in at most `width` columns, with WIDTH_CUT at its end if it is shorter; the caller frees.
 * NULL without memory. */
char *width_shorten(const char *text, size_t width);

#endif
