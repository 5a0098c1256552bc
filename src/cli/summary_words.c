/* SPDX-License-Identifier: Apache-2.0 */
/* summary_words - the headline's sums and choices. */
#include "cli/summary_words.h"

#include "base/banned.h"

uint64_t summary_idle(const struct summary *summary)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < summary->n_devices; i++)
        add_saturated(&sum, summary->devices[i].idle_ps);
    return sum;
}

const struct summary_region *summary_most_idle_region(const struct summary *summary)
{
    const struct summary_region *most = NULL;
    for (size_t i = 0; i < summary->n_regions; i++) {
        const struct summary_region *region = &summary->regions[i];
        if (region->idle_behind_ps && (!most || region->idle_behind_ps > most->idle_behind_ps))
            most = region;
    }
    return most;
}

const char *summary_idle_cause_words(const struct summary *summary)
{
    static const char *const words[IDLE_CAUSES] = {
        [IDLE_HOST] = "because the next work had not been launched yet",
        [IDLE_BETWEEN] = "between ops whose work was already launched",
        [IDLE_EDGE] = "before the first op and after the last",
        [IDLE_UNKNOWN] = "for a reason that the file does not tell",
    };
    uint64_t sums[IDLE_CAUSES] = {0};
    for (size_t i = 0; i < summary->n_devices; i++) {
        for (int cause = 0; cause < IDLE_CAUSES; cause++)
            add_saturated(&sums[cause], summary->devices[i].idle_by_cause[cause]);
    }
    int most = 0;
    for (int cause = 1; cause < IDLE_CAUSES; cause++)
        most = sums[cause] > sums[most] ? cause : most;
    return words[most];
}
