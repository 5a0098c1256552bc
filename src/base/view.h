/* SPDX-License-Identifier: Apache-2.0 */
/* view - a borrowed range of bytes, and sums that cannot wrap.
 *
 * A view never owns. Whoever hands one out says how long it lives; most are views of a map and live
 * until map_release(). Views are not NUL-terminated and may hold any byte. */
#ifndef DEW_BASE_VIEW_H
#define DEW_BASE_VIEW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct view {
    const uint8_t *data; /* may be NULL only where size is 0 */
    size_t size;
};

/* printf("%.*s", VIEW_ARG(v)): only for names already bounded to INT_MAX */
#define VIEW_ARG(v) (int)(v).size, (const char *)(v).data

static inline struct view view_of(const void *data, size_t size)
{
    return (struct view){.data = (const uint8_t *)data, .size = size};
}

static inline struct view view_text(const char *text)
{
    return view_of(text, strlen(text));
}

static inline bool view_equal(struct view a, struct view b)
{
    return a.size == b.size && (a.size == 0 || memcmp(a.data, b.data, a.size) == 0);
}

static inline bool view_is(struct view v, const char *text)
{
    return view_equal(v, view_text(text));
}

static inline bool view_starts(struct view v, const char *prefix)
{
    size_t size = strlen(prefix);
    return v.size >= size && memcmp(v.data, prefix, size) == 0;
}

static inline bool view_ends(struct view v, const char *suffix)
{
    size_t size = strlen(suffix);
    return v.size >= size && memcmp(v.data + (v.size - size), suffix, size) == 0;
}

static inline bool view_contains(struct view v, const char *text)
{
    size_t size = strlen(text);
    return size == 0 || (v.size >= size && memmem(v.data, v.size, text, size) != NULL);
}

/* false where the sum does not fit; *ret_sum is then untouched */
static inline bool sum_u64(uint64_t a, uint64_t b, uint64_t *ret_sum)
{
    uint64_t sum;
    if (__builtin_add_overflow(a, b, &sum))
        return false;
    *ret_sum = sum;
    return true;
}

/* Sums that stand still at UINT64_MAX: for totals of a file's own numbers, where a limit that can
 * be seen is better than no answer. */
static inline uint64_t saturated_sum(uint64_t a, uint64_t b)
{
    return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

static inline void add_saturated(uint64_t *sum, uint64_t more)
{
    *sum = saturated_sum(*sum, more);
}

static inline bool product_u64(uint64_t a, uint64_t b, uint64_t *ret_product)
{
    uint64_t product;
    if (__builtin_mul_overflow(a, b, &product))
        return false;
    *ret_product = product;
    return true;
}

#endif
