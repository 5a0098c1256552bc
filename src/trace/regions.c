/* SPDX-License-Identifier: Apache-2.0 */
/* regions - names and their distributions. */
#include "trace/regions.h"

#include <stdlib.h>

#include "base/glob.h"

#include "base/banned.h"

static bool matches_pattern(const struct summary_options *options, struct view name)
{
    for (size_t i = 0; i < options->n_region_patterns; i++) {
        if (glob_matches(view_text(options->region_patterns[i]), name))
            return true;
    }
    return false;
}

bool regions_want(const struct regions *regions, struct view name)
{
    const struct summary_options *options = regions->options;
    if (options->n_region_patterns)
        return matches_pattern(options, name);
    if (!options->region_names)
        return true;
    for (size_t i = 0; i < options->n_region_names; i++) {
        if (view_is(name, options->region_names[i]))
            return true;
    }
    return false;
}

const char *regions_source(const struct regions *regions)
{
    return regions->options->n_region_patterns ? "--region"
           : regions->options->region_names    ? "the manifest"
                                               : "names";
}

int regions_number(struct regions *regions, struct view name, uint32_t *ret_region, struct err *e)
{
    uint32_t region;
    int r = intern_put(&regions->names, name, &region, e);
    if (r < 0)
        return r;
    if (region >= REGIONS_MAX)
        return err_set(e, ERR_LIMIT,
                       "the capture has more than %d region names; pick some with --region",
                       REGIONS_MAX);
    if (region >= regions->room) {
        uint32_t room = regions->room ? regions->room * 2 : 32;
        struct region_data *grown = realloc(regions->all, room * sizeof(*grown));
        if (!grown)
            return err_nomem(e);
        memset(grown + regions->room, 0, (room - regions->room) * sizeof(*grown));
        regions->all = grown;
        regions->room = room;
    }
    *ret_region = region;
    return 0;
}

int regions_call(struct regions *regions, uint32_t region, uint64_t duration_ps, struct err *e)
{
    return sketch_add(&regions->all[region].calls, duration_ps, e);
}

void regions_release(struct regions *regions)
{
    for (uint32_t i = 0; i < regions->room; i++)
        sketch_release(&regions->all[i].calls);
    free(regions->all);
    intern_release(&regions->names);
    *regions = (struct regions){0};
}
