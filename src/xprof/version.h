/* SPDX-License-Identifier: Apache-2.0 */
/* version - comparing the versions of Python packages, as far as the converter's gate needs it.
 *
 * Reads the release numbers ("2.24.2"), and knows that a suffix such as rc1, a2 or .dev3 comes
 * before the release itself. Leaves out epochs and local versions: xprof uses neither. */
#ifndef DEW_XPROF_VERSION_H
#define DEW_XPROF_VERSION_H

#include <stdbool.h>

/* Less than, equal to or greater than 0, as strcmp(). */
int version_compare(const char *a, const char *b);

/* Whether text starts as a version does: with a digit. */
bool version_looks_right(const char *text);

#endif
