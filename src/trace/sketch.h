/* SPDX-License-Identifier: Apache-2.0 */
/* sketch - percentiles of a stream in bounded memory, mergeable in any order.
 *
 * Keeps the samples themselves up to SKETCH_EXACT_MAX, so that small distributions are exact; then
 * counts in buckets whose bounds grow by a constant factor, which bounds the relative error of
 * every percentile by SKETCH_ERROR. The scheme is the one of C. Masson, J. E. Rim, H. K. Lee,
 * "DDSketch: A fast and fully-mergeable quantile sketch with relative-error guarantees", VLDB 2019.
 * Merging two sketches gives the same buckets as adding all samples to one.
 *
 * Owns its arrays. A zeroed struct is an empty sketch. */
#ifndef DEW_TRACE_SKETCH_H
#define DEW_TRACE_SKETCH_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/view.h"

#define SKETCH_EXACT_MAX 4096
#define SKETCH_ERROR 0.005

struct sketch {
    uint64_t count, total, min, max; /* exact always; total saturates */
    uint64_t *samples;               /* while count <= SKETCH_EXACT_MAX */
    uint32_t room;
    bool sorted;
    uint64_t *buckets; /* afterwards: bucket i counts key first_key + i */
    int32_t first_key;
    uint32_t n_buckets;
};

must_check int sketch_add(struct sketch *sketch, uint64_t value, struct err *e);

/* Adds all of `other` to `sketch`. */
must_check int sketch_merge(struct sketch *sketch, const struct sketch *other, struct err *e);

static inline bool sketch_exact(const struct sketch *sketch)
{
    return !sketch->buckets;
}

/* Nearest rank: the smallest sample that at least `fraction` of them do not exceed; 0 where there
 * is none. Sorts the samples in place. */
uint64_t sketch_quantile(struct sketch *sketch, double fraction);

void sketch_release(struct sketch *sketch);

#endif
