/* SPDX-License-Identifier: Apache-2.0 */
/* suggest - the known name that a mistyped one most likely meant.
 *
 * Owns nothing: names offered must outlive it. It answers only when the names are close; a bad
 * guess is worse than none. */
#ifndef DEW_CLI_SUGGEST_H
#define DEW_CLI_SUGGEST_H

#include <stddef.h>

struct suggest {
    const char *typed;
    const char *best; /* NULL while no offer is close enough */
    size_t distance;
};

struct suggest suggest_for(const char *typed);
void suggest_offer(struct suggest *suggest, const char *name);

#endif
