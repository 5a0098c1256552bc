/* SPDX-License-Identifier: Apache-2.0 */
/* merge_align - pairs of steps, medians of their differences, and when to believe them. */
#include "trace/merge_align.h"

#include <stdlib.h>
#include <string.h>

#include "base/banned.h"

#define PS_PER_NS 1000
/* Scatter is measured by the median distance from the median; this many of them are 3 sigma. */
#define SCATTER_FACTOR 4
/* One in so many pairs may contradict the others. */
#define OUTLIERS 20

struct pair {
    int64_t end_ps; /* difference to the reference */
    int64_t together_ps;
    /* What the difference of the clocks lies between: no process leaves a collective before the
     * other one has joined it. */
    int64_t low_ps, high_ps;
    bool has_together, has_bounds;
};

struct pairs {
    struct pair *all;
    int64_t *scratch;
    uint32_t n, together;
};

struct bounds {
    bool known;
    int64_t low_ps, high_ps;
};

static void pairs_release(struct pairs *pairs)
{
    free(pairs->all);
    free(pairs->scratch);
}

static int by_value(const void *a, const void *b)
{
    int64_t left = *(const int64_t *)a, right = *(const int64_t *)b;
    return left < right ? -1 : left > right;
}

static int64_t median(int64_t *values, uint32_t n)
{
    qsort(values, n, sizeof(*values), by_value);
    return n % 2 ? values[n / 2] : values[n / 2 - 1] / 2 + values[n / 2] / 2;
}

static int compare(const struct merge_step *a, const struct merge_step *b)
{
    if (a->key != b->key)
        return a->key < b->key ? -1 : 1;
    return a->number < b->number ? -1 : a->number > b->number;
}

/* A number that a process used twice cannot be told apart. */
static bool is_repeated(const struct merge_facts *facts, uint32_t i)
{
    return (i > 0 && compare(&facts->steps[i - 1], &facts->steps[i]) == 0) ||
           (i + 1 < facts->n_steps && compare(&facts->steps[i + 1], &facts->steps[i]) == 0);
}

/* false where the difference is beyond 64 bits, as of a hostile file. */
static bool difference(int64_t a, int64_t b, int64_t apart_ps, int64_t *ret)
{
    int64_t d;
    return !__builtin_sub_overflow(a, b, &d) && !__builtin_add_overflow(d, apart_ps, ret) &&
           *ret > INT64_MIN / 4 && *ret < INT64_MAX / 4;
}

static void pair_collectives(const struct merge_step *left, const struct merge_step *right,
                             int64_t apart_ps, struct pair *pair)
{
    if (left->together_ps == MERGE_NEVER || right->together_ps == MERGE_NEVER)
        return;
    pair->has_together =
        difference(right->together_ps, left->together_ps, apart_ps, &pair->together_ps);
    if (left->joined_ps != MERGE_NEVER && right->joined_ps != MERGE_NEVER)
        pair->has_bounds =
            difference(right->joined_ps, left->together_ps, apart_ps, &pair->low_ps) &&
            difference(right->together_ps, left->joined_ps, apart_ps, &pair->high_ps);
}

static int pair_steps(const struct merge_facts *reference, const struct merge_facts *facts,
                      int64_t apart_ps, struct pairs *pairs, struct err *e)
{
    uint32_t room = reference->n_steps < facts->n_steps ? reference->n_steps : facts->n_steps;
    pairs->all = calloc((size_t)room + 1, sizeof(*pairs->all));
    pairs->scratch = calloc((size_t)room + 1, sizeof(*pairs->scratch));
    if (!pairs->all || !pairs->scratch)
        return err_nomem(e);
    for (uint32_t i = 0, k = 0; i < reference->n_steps && k < facts->n_steps;) {
        const struct merge_step *left = &reference->steps[i], *right = &facts->steps[k];
        int order = compare(left, right);
        if (order != 0) {
            i += order < 0;
            k += order > 0;
            continue;
        }
        struct pair pair = {0};
        if (!is_repeated(reference, i) && !is_repeated(facts, k) &&
            difference(right->end_ps, left->end_ps, apart_ps, &pair.end_ps)) {
            pair_collectives(left, right, apart_ps, &pair);
            pairs->together += pair.has_together;
            pairs->all[pairs->n++] = pair;
        }
        i++;
        k++;
    }
    return 0;
}

static int64_t median_of(struct pairs *pairs, bool together, int64_t from, bool distance,
                         uint32_t *ret_n)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < pairs->n; i++) {
        const struct pair *pair = &pairs->all[i];
        if (together && !pair->has_together)
            continue;
        int64_t d = (together ? pair->together_ps : pair->end_ps) - from;
        pairs->scratch[n++] = distance && d < 0 ? -d : d;
    }
    *ret_n = n;
    return n ? median(pairs->scratch, n) : 0;
}

/* From one step's end to the next one's. */
static int64_t period_of(const struct merge_facts *facts, int64_t *scratch)
{
    uint32_t n = 0;
    for (uint32_t i = 1; i < facts->n_steps; i++) {
        const struct merge_step *before = &facts->steps[i - 1], *step = &facts->steps[i];
        if (before->key == step->key && before->number + 1 == step->number &&
            step->end_ps > before->end_ps)
            scratch[n++] = step->end_ps - before->end_ps;
    }
    return n ? median(scratch, n) : INT64_MAX;
}

static int64_t magnitude(int64_t value)
{
    return value < 0 ? -value : value;
}

/* The narrowest that nearly all steps allow; not known where they contradict each other, as where
 * a clock drifts or the last collectives of a step are not the same one. */
static struct bounds bounds_of(struct pairs *pairs)
{
    struct bounds bounds = {0};
    int64_t *values = pairs->scratch;
    uint32_t n = 0;
    for (uint32_t i = 0; i < pairs->n; i++)
        if (pairs->all[i].has_bounds)
            values[n++] = pairs->all[i].low_ps;
    if (n < ALIGN_STEPS_MIN)
        return bounds;
    qsort(values, n, sizeof(*values), by_value);
    bounds.low_ps = values[n - 1 - n / OUTLIERS];
    n = 0;
    for (uint32_t i = 0; i < pairs->n; i++)
        if (pairs->all[i].has_bounds)
            values[n++] = pairs->all[i].high_ps;
    qsort(values, n, sizeof(*values), by_value);
    bounds.high_ps = values[n / OUTLIERS];
    bounds.known = bounds.low_ps <= bounds.high_ps;
    return bounds;
}

/* One machine has one clock, so there a difference needs proof. */
static bool is_one_clock(const struct merge_facts *a, const struct merge_facts *b,
                         const struct bounds *bounds)
{
    return a->host[0] && strcmp(a->host, b->host) == 0 &&
           !(bounds->known &&
             (bounds->low_ps > ALIGN_NOISE_PS || bounds->high_ps < -ALIGN_NOISE_PS));
}

static enum align_why judge(struct pairs *pairs, const struct bounds *bounds, bool one_clock,
                            int64_t period_ps, struct align_place *place, int64_t *ret_ps)
{
    uint32_t n;
    int64_t ends = median_of(pairs, false, 0, false, &n);
    int64_t apart = median_of(pairs, place->by_collectives, 0, false, &place->shared);
    if (place->shared < ALIGN_STEPS_MIN)
        return one_clock ? ALIGN_WHY_ONE_CLOCK : ALIGN_WHY_FEW;
    int64_t scatter = median_of(pairs, place->by_collectives, apart, true, &n);
    if (bounds->known)
        apart = apart < bounds->low_ps    ? bounds->low_ps
                : apart > bounds->high_ps ? bounds->high_ps
                                          : apart;
    if (one_clock)
        return ALIGN_WHY_ONE_CLOCK;
    if (magnitude(apart) <= ALIGN_NOISE_PS || magnitude(apart) / SCATTER_FACTOR <= scatter)
        return ALIGN_WHY_CLOSE;
    /* Collectives of neighbouring steps are told apart by the steps around them. */
    int64_t doubt = place->by_collectives ? apart - ends : apart;
    if (magnitude(doubt) >= period_ps / 2)
        return ALIGN_WHY_UNCLEAR;
    *ret_ps = -apart;
    return ALIGN_WHY_NONE;
}

static void measure_residual(struct pairs *pairs, const struct bounds *bounds,
                             struct align_place *place)
{
    uint32_t n;
    int64_t from = -place->correction_ns * PS_PER_NS;
    int64_t residual = median_of(pairs, place->by_collectives, from, true, &n);
    if (n == 0)
        return;
    place->residual_ns = residual / PS_PER_NS;
    place->worst_ns = pairs->scratch[n - 1] / PS_PER_NS; /* sorted by the median */
    if (bounds->known) {
        int64_t low = magnitude(bounds->low_ps - from), high = magnitude(bounds->high_ps - from);
        place->bound_ns = (low > high ? low : high) / PS_PER_NS;
    }
}

static int refine_place(const struct merge_facts *reference, const struct merge_facts *facts,
                        int64_t apart_ps, bool refine, struct align_place *place, struct err *e)
{
    CLEANUP(pairs_release) struct pairs pairs = {0};
    CLEANUP(cleanup_free)
    int64_t *scratch = calloc((size_t)reference->n_steps + 1, sizeof(*scratch));
    if (!scratch)
        return err_nomem(e);
    int64_t correction_ps = 0;
    int code = pair_steps(reference, facts, apart_ps, &pairs, e);
    if (code != 0)
        return code;
    place->by_collectives = pairs.together >= ALIGN_STEPS_MIN && pairs.together * 2 >= pairs.n;
    struct bounds bounds = place->by_collectives ? bounds_of(&pairs) : (struct bounds){0};
    bool one_clock = is_one_clock(reference, facts, &bounds);
    place->why =
        judge(&pairs, &bounds, one_clock, period_of(reference, scratch), place, &correction_ps);
    if (!refine) {
        place->why = ALIGN_WHY_ASKED;
        correction_ps = 0;
    }
    if (place->why == ALIGN_WHY_NONE)
        place->by = place->by_collectives ? ALIGN_COLLECTIVES : ALIGN_STEPS;
    place->correction_ns = correction_ps / PS_PER_NS;
    place->start_ns += place->correction_ns;
    measure_residual(&pairs, &bounds, place);
    return 0;
}

struct align_place merge_align_reference(const struct merge_facts *reference)
{
    return (struct align_place){.start_ns = reference->start_ns,
                                .why = ALIGN_WHY_REFERENCE,
                                .residual_ns = -1,
                                .worst_ns = -1,
                                .bound_ns = -1};
}

int merge_align(const struct merge_facts *reference, const struct merge_facts *facts, bool refine,
                struct align_place *ret_place, struct err *e)
{
    struct align_place place = merge_align_reference(facts->has_window ? facts : reference);
    int64_t apart_ns, apart_ps;
    int code = 0;
    place.too_far = __builtin_sub_overflow(place.start_ns, reference->start_ns, &apart_ns) ||
                    __builtin_mul_overflow(apart_ns, PS_PER_NS, &apart_ps);
    if (!place.too_far)
        code = refine_place(reference, facts, apart_ps, refine, &place, e);
    if (code == 0)
        *ret_place = place;
    return code;
}

const char *align_by_name(enum align_by by)
{
    static const char *const names[] = {"clock", "collectives", "steps"};
    return names[by];
}

const char *align_why_words(enum align_why why)
{
    static const char *const words[] = {
        "",
        "the reference",
        "fewer than 3 shared steps to check the clock by",
        "one host has one clock, and no collective proves it wrong",
        "the clocks agree within the scatter of the shared steps",
        "apart by half a step or more: a wrong clock or a late process, which steps cannot tell",
        "not refined, as asked",
    };
    return words[why];
}
