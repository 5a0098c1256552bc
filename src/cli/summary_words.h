/* SPDX-License-Identifier: Apache-2.0 */
/* summary_words - what the headline of a summary says, for every writer that has one.
 *
 * Sums and choices only; each writer makes its own sentences and escapes the names in them. */
#ifndef DEW_CLI_SUMMARY_WORDS_H
#define DEW_CLI_SUMMARY_WORDS_H

#include "trace/summary.h"

/* The idle time of all devices together. */
uint64_t summary_idle(const struct summary *summary);

/* The region with the most idle time behind it; NULL where none has any. */
const struct summary_region *summary_most_idle_region(const struct summary *summary);

/* What goes behind "it waited": the cause of most of the idle time. */
const char *summary_idle_cause_words(const struct summary *summary);

#endif
