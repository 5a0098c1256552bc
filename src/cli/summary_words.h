/* SPDX-License-Identifier: Apache-2.0 */
/* summary_words - the sentences at the top of a summary, for every writer that has them.
 *
 * What is said is chosen here, once; how a name, a time or a count looks is the writer's, who also
 * makes names harmless. Each returns whether it had something to say. */
#ifndef DEW_CLI_SUMMARY_WORDS_H
#define DEW_CLI_SUMMARY_WORDS_H

#include <stdio.h>

#include "trace/summary.h"

struct summary_voice {
    FILE *out;
    void (*name)(FILE *out, const char *name);
    void (*time)(FILE *out, uint64_t ps);
    void (*count)(FILE *out, uint64_t count);
};

/* How much the devices waited and what for, or that they were busy and with what. */
void summary_say_headline(const struct summary_voice *voice, const struct summary *summary);

/* What to do about it. */
bool summary_say_advice(const struct summary_voice *voice, const struct summary *summary);

/* Which devices the sentences above leave out. */
bool summary_say_unused(const struct summary_voice *voice, const struct summary *summary);

bool summary_say_steps(const struct summary_voice *voice, const struct summary *summary);

#endif
