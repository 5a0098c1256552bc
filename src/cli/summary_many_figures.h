/* SPDX-License-Identifier: Apache-2.0 */
/* summary_many_figures - sums of 64 bits as words; each returns `buffer`. */
#ifndef DEW_CLI_SUMMARY_MANY_FIGURES_H
#define DEW_CLI_SUMMARY_MANY_FIGURES_H

#include <inttypes.h>

#include "cli/output.h"

static inline const char *many_ps(uint64_t value, char buffer[FORMAT_MAX])
{
    return format_ps(value > INT64_MAX ? INT64_MAX : (int64_t)value, buffer);
}

/* Clocks may be further apart than 64 bits of picoseconds hold. */
static inline const char *many_ns(uint64_t ns, char buffer[FORMAT_MAX])
{
    if (ns <= INT64_MAX / 1000)
        return format_ps((int64_t)ns * 1000, buffer);
    (void)snprintf(buffer, FORMAT_MAX, "%.1f s", (double)ns / 1e9);
    return buffer;
}

static inline const char *many_count(uint64_t value, char buffer[FORMAT_MAX])
{
    (void)snprintf(buffer, FORMAT_MAX, "%" PRIu64, value);
    return buffer;
}

static inline uint64_t many_per(uint64_t sum, uint64_t n)
{
    return n ? sum / n : 0;
}

#endif
