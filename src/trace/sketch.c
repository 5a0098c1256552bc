/* SPDX-License-Identifier: Apache-2.0 */
/* sketch - the samples, then buckets at powers of (1 + SKETCH_ERROR) / (1 - SKETCH_ERROR).
 *
 * Key k holds the values in (gamma^(k-1), gamma^k]; key -1 the zeros. A 64-bit value needs at most
 * about 4440 keys, so the buckets are one dense array over the keys seen. */
#include "trace/sketch.h"

#include <math.h>
#include <string.h>

#include "base/banned.h"

#define ZERO_KEY (-1)
#define KEYS_MAX 4600

static double log_gamma_factor(void)
{
    return log((1.0 + SKETCH_ERROR) / (1.0 - SKETCH_ERROR));
}

static int32_t key_of(uint64_t value)
{
    if (value == 0)
        return ZERO_KEY;
    return (int32_t)ceil(log((double)value) / log_gamma_factor());
}

/* The value whose distance to both bounds of the bucket is the same share of them. */
static double value_of(int32_t key)
{
    if (key == ZERO_KEY)
        return 0;
    double gamma = (1.0 + SKETCH_ERROR) / (1.0 - SKETCH_ERROR);
    return 2.0 * exp(key * log_gamma_factor()) / (gamma + 1.0);
}

static int buckets_cover(struct sketch *sketch, int32_t low, int32_t high, struct err *e)
{
    int32_t old_low = sketch->first_key;
    int32_t old_high = sketch->first_key + (int32_t)sketch->n_buckets - 1;
    if (sketch->buckets && low >= old_low && high <= old_high)
        return 0;
    if (sketch->buckets) {
        low = low < old_low ? low : old_low;
        high = high > old_high ? high : old_high;
    }
    /* some room on both sides, so that a slowly widening range does not copy each time */
    low = low - 32 < ZERO_KEY ? ZERO_KEY : low - 32;
    high = high + 32 > KEYS_MAX ? KEYS_MAX : high + 32;
    uint32_t n = (uint32_t)(high - low + 1);
    uint64_t *fresh = calloc(n, sizeof(*fresh));
    if (!fresh)
        return err_nomem(e);
    if (sketch->buckets)
        memcpy(fresh + (old_low - low), sketch->buckets, sketch->n_buckets * sizeof(*fresh));
    free(sketch->buckets);
    sketch->buckets = fresh;
    sketch->first_key = low;
    sketch->n_buckets = n;
    return 0;
}

static int bucket_add(struct sketch *sketch, int32_t key, uint64_t count, struct err *e)
{
    int r = buckets_cover(sketch, key, key, e);
    if (r < 0)
        return r;
    sketch->buckets[key - sketch->first_key] += count;
    return 0;
}

static uint64_t samples_held(const struct sketch *sketch)
{
    return sketch->buckets ? 0 : sketch->count;
}

/* Pours the samples into buckets. */
static int samples_to_buckets(struct sketch *sketch, struct err *e)
{
    uint64_t n = samples_held(sketch);
    int r = buckets_cover(sketch, key_of(sketch->min), key_of(sketch->max), e);
    if (r < 0)
        return r;
    for (uint64_t i = 0; i < n; i++)
        sketch->buckets[key_of(sketch->samples[i]) - sketch->first_key]++;
    free(sketch->samples);
    sketch->samples = NULL;
    sketch->room = 0;
    return 0;
}

static int samples_reserve(struct sketch *sketch, uint64_t n, struct err *e)
{
    if (n <= sketch->room)
        return 0;
    uint32_t room = sketch->room ? sketch->room : 16;
    while (room < n)
        room *= 2;
    uint64_t *fresh = realloc(sketch->samples, room * sizeof(*fresh));
    if (!fresh)
        return err_nomem(e);
    sketch->samples = fresh;
    sketch->room = room;
    return 0;
}

static void note_range(struct sketch *sketch, uint64_t min, uint64_t max, uint64_t count,
                       uint64_t total)
{
    if (sketch->count == 0 || min < sketch->min)
        sketch->min = min;
    if (sketch->count == 0 || max > sketch->max)
        sketch->max = max;
    sketch->count += count;
    add_saturated(&sketch->total, total);
    sketch->sorted = false;
}

int sketch_add(struct sketch *sketch, uint64_t value, struct err *e)
{
    int r;
    if (!sketch->buckets && sketch->count >= SKETCH_EXACT_MAX) {
        r = samples_to_buckets(sketch, e);
        if (r < 0)
            return r;
    }
    if (sketch->buckets) {
        r = bucket_add(sketch, key_of(value), 1, e);
    } else {
        r = samples_reserve(sketch, sketch->count + 1, e);
        if (r == 0)
            sketch->samples[sketch->count] = value;
    }
    if (r < 0)
        return r;
    note_range(sketch, value, value, 1, value);
    return 0;
}

/* The buckets' own bounds where there are any: another machine's log() may round the keys of the
 * extremes another way. */
static void keys_of(const struct sketch *sketch, int32_t *ret_low, int32_t *ret_high)
{
    if (!sketch->buckets) {
        *ret_low = key_of(sketch->min);
        *ret_high = key_of(sketch->max);
        return;
    }
    uint32_t first = 0, last = sketch->n_buckets - 1;
    while (first < last && !sketch->buckets[first])
        first++;
    while (last > first && !sketch->buckets[last])
        last--;
    *ret_low = sketch->first_key + (int32_t)first;
    *ret_high = sketch->first_key + (int32_t)last;
}

int sketch_merge(struct sketch *sketch, const struct sketch *other, struct err *e)
{
    if (other->count == 0)
        return 0;
    int r;
    if (!sketch->buckets && !other->buckets && sketch->count + other->count <= SKETCH_EXACT_MAX) {
        r = samples_reserve(sketch, sketch->count + other->count, e);
        if (r < 0)
            return r;
        memcpy(sketch->samples + sketch->count, other->samples,
               other->count * sizeof(*other->samples));
        note_range(sketch, other->min, other->max, other->count, other->total);
        return 0;
    }
    if (!sketch->buckets && sketch->count > 0) {
        r = samples_to_buckets(sketch, e);
        if (r < 0)
            return r;
    }
    int32_t low, high;
    keys_of(other, &low, &high);
    r = buckets_cover(sketch, low, high, e);
    if (r < 0)
        return r;
    for (uint64_t i = 0; i < samples_held(other); i++)
        sketch->buckets[key_of(other->samples[i]) - sketch->first_key]++;
    for (uint32_t i = 0; i < other->n_buckets; i++) {
        if (other->buckets[i])
            sketch->buckets[other->first_key + (int32_t)i - sketch->first_key] += other->buckets[i];
    }
    note_range(sketch, other->min, other->max, other->count, other->total);
    return 0;
}

static int compare_u64(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

uint64_t sketch_quantile(struct sketch *sketch, double fraction)
{
    if (sketch->count == 0)
        return 0;
    uint64_t rank = (uint64_t)ceil(fraction * (double)sketch->count);
    rank = rank < 1 ? 1 : rank > sketch->count ? sketch->count : rank;
    if (!sketch->buckets) {
        if (!sketch->sorted)
            qsort(sketch->samples, sketch->count, sizeof(*sketch->samples), compare_u64);
        sketch->sorted = true;
        return sketch->samples[rank - 1];
    }
    uint64_t seen = 0;
    uint32_t i = 0;
    for (; i < sketch->n_buckets; i++) {
        seen += sketch->buckets[i];
        if (seen >= rank)
            break;
    }
    double value = value_of(sketch->first_key + (int32_t)i);
    if (value <= (double)sketch->min)
        return sketch->min;
    if (value >= (double)sketch->max)
        return sketch->max;
    return (uint64_t)value;
}

void sketch_release(struct sketch *sketch)
{
    free(sketch->samples);
    free(sketch->buckets);
    *sketch = (struct sketch){0};
}
