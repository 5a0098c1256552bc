/* SPDX-License-Identifier: Apache-2.0 */
/* regions - which host events are regions, and what is known of each region name.
 *
 * A region is a name: exact names from a manifest, else patterns, else every name that no runtime
 * is known to write. It leaves out what is open when (timeline.h). */
#ifndef DEW_TRACE_REGIONS_H
#define DEW_TRACE_REGIONS_H

#include "base/intern.h"
#include "trace/summary.h"

#define REGIONS_MAX 65536

struct region_data {
    struct sketch calls;
    uint64_t launched_ps, launched_ops, launches;
    uint64_t ordered_ops; /* of launched_ops, by launch order alone */
    uint64_t overlap_ops;
};

struct regions {
    const struct summary_options *options;
    struct intern names;
    struct region_data *all; /* by interned number */
    uint32_t room;
};

/* Whether the name alone makes it a region; where neither names nor patterns were given that is
 * left to the caller, and `true` is returned. */
bool regions_want(const struct regions *regions, struct view name);

/* Words for where the names came from. */
const char *regions_source(const struct regions *regions);

static inline bool regions_by_name(const struct regions *regions)
{
    return regions->options->n_region_patterns || regions->options->region_names;
}

must_check int regions_number(struct regions *regions, struct view name, uint32_t *ret_region,
                              struct err *e);
must_check int regions_call(struct regions *regions, uint32_t region, uint64_t duration_ps,
                            struct err *e);
void regions_release(struct regions *regions);

#endif
