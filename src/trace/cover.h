/* SPDX-License-Identifier: Apache-2.0 */
/* cover - how much of a thread's time the events of one name cover, each moment once.
 *
 * A name that is nested in itself, as a recursive call is, would count its time again at each
 * depth. Events arrive by start, over all threads. A name is mostly open on one thread at a time,
 * and that one is kept with the name; the others are in a table that forgets what has ended, so
 * memory is by what is open at a time. */
#ifndef DEW_TRACE_COVER_H
#define DEW_TRACE_COVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Of one name; zeroed at first. Its address is its identity in the table. */
struct cover {
    int64_t quiet_at; /* on no thread is it open from here on */
    int64_t until;    /* on `thread` */
    uint32_t thread;
    bool seen;
};

struct cover_slot {
    const struct cover *cover; /* NULL: free */
    int64_t until;
    uint32_t thread;
};

/* Of all names of one reader; zeroed at first. */
struct cover_table {
    struct cover_slot *slots;
    size_t room, used;
    bool no_memory; /* what was added since is too much */
};

/* The length that [start, end) adds to what the name covers on this thread. */
uint64_t cover_add(struct cover *cover, struct cover_table *table, uint32_t thread, int64_t start,
                   int64_t end);

void cover_table_release(struct cover_table *table);

#endif
