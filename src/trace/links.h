/* SPDX-License-Identifier: Apache-2.0 */
/* links - from an op back to the call that launched it, by the ids that the file holds.
 *
 * A launch is a call on a host thread; it remembers the innermost region of that thread. Work is
 * tied to it in one of these ways, tried in this order:
 *   1. the launch event carries the execution's run_id;
 *   2. the op began on the launching thread inside the call, or on a pool thread whose task leads
 *      back to the call, over any number of hops (producer id, consumer id);
 *   3. an execution that waited in a queue is released by the completion of another one, so its
 * hops end in a call that already has its execution on that device, or nowhere, and its launch has
 *      no id at all. But the runtime numbers the launches of an executable: run_id counts up by
 * one. So one execution that was matched by ids tells the launch of each number before and after,
 * or that it lies before the capture;
 *   4. where that tells nothing (no execution of the function was matched by ids yet, or several
 *      executables have its name), launch order: it gets the oldest launch that has no execution
 * yet and calls a function of the module's name. Where a number that is found later contradicts
 *      that, as work in flight at the start makes it do, the file is read again with the numbers
 *      known;
 *   5. on a GPU, the correlation id of the call that launched the kernel.
 *
 * Memory is by work in flight: launches, executions and ids live in rings of the sizes below, and
 * what is pushed out counts as unmatched. Nothing is guessed beyond these rules. */
#ifndef DEW_TRACE_LINKS_H
#define DEW_TRACE_LINKS_H

#include "base/err.h"
#include "base/view.h"

#ifdef DEW_SMALL_RINGS /* the fuzzers: small inputs then push out what is oldest */
#define LINKS_LAUNCHES_MAX 16
#define LINKS_EXECUTIONS_MAX 8
#define LINKS_IDS_MAX 32
#define LINKS_CHAIN_MAX 3
#else
#define LINKS_LAUNCHES_MAX 32768
#define LINKS_EXECUTIONS_MAX 16384
#define LINKS_IDS_MAX 65536
#define LINKS_CHAIN_MAX 256 /* of one hash; only a file made for it has as many */
#endif

#define LINKS_NONE UINT64_MAX
#define LINKS_ANY_FUNCTION UINT32_MAX

struct links_launch {
    uint64_t id; /* serial; LINKS_NONE where the slot is free */
    int64_t start;
    uint32_t region;
    uint32_t function; /* interned, or LINKS_ANY_FUNCTION */
    uint64_t next;     /* the next launch of the same function */
    uint64_t serial;   /* how many of the function came before */
    bool claimed;
    bool apart; /* never matched by order or hops to an execution: LAUNCH_RUN, LAUNCH_CALL */
};

enum links_how { LINKED_NOT, LINKED_BY_IDS, LINKED_BY_NUMBER, LINKED_BY_ORDER };

struct links_execution {
    int64_t run;
    uint32_t device;
    uint32_t hash_next;
    enum links_how how;
    int64_t launch_start;
    uint32_t region;
    bool used;
};

struct links_map; /* id -> value, the oldest pushed out at LINKS_IDS_MAX */

/* The numbers of a function's launches: run_id less serial is the same for all. */
struct links_numbers {
    uint64_t base;
    bool known;   /* from an execution that was matched by ids */
    bool several; /* executables have the name, each with its own numbers: they tell nothing */
};

/* The launches of a function that may be matched by number or order. */
struct links_queue {
    uint64_t first, last;
    uint64_t n; /* launches so far */
    struct links_numbers numbers;
    int64_t some_run;
    uint64_t ordered_base; /* the base that the last match by order would mean */
    bool has_run, has_ordered;
};

struct links {
    struct links_launch *launches; /* ring by id */
    uint64_t n_launches;
    struct links_queue *queues; /* by function; [0] is LINKS_ANY_FUNCTION's */
    uint32_t queues_room;
    const struct links_numbers *given; /* of functions, from an earlier reading; borrowed */
    uint32_t n_given;
    bool contradicted;                  /* something was matched by order that its number denies */
    struct links_execution *executions; /* ring */
    uint64_t n_executions;
    uint32_t last_execution; /* most ops follow one of their own execution */
    uint32_t *execution_heads;
    struct links_map *hops;  /* producer id -> launch */
    struct links_map *runs;  /* run_id of a launch -> launch */
    struct links_map *calls; /* correlation id -> launch */
    int64_t first_launch, last_claimed_launch;
    uint64_t claimed, linked, numbered, ordered, unmatched, early, late;
};

/* Takes a zeroed one, with or without numbers given. */
must_check int links_init(struct links *links, struct err *e);

enum links_launch_kind {
    LAUNCH_QUEUED, /* may be matched by order */
    LAUNCH_RUN,    /* names its run_id, which `run` is */
    LAUNCH_CALL,   /* found by correlation id or hops alone */
};

must_check int links_add_launch(struct links *links, enum links_launch_kind kind, int64_t start,
                                uint32_t region, uint32_t function, int64_t run,
                                uint64_t *ret_launch, struct err *e);

/* Whether a launch with this run_id is known. */
bool links_knows_run(struct links *links, int64_t run);

/* A producer's id, and where a consumer's leads: a launch, or LINKS_NONE. */
void links_add_hop(struct links *links, uint64_t id, uint64_t launch);
uint64_t links_take_hop(struct links *links, uint64_t id);

/* The GPU's way. A launch found stays: one call may launch several kernels. */
void links_add_call(struct links *links, uint64_t correlation, uint64_t launch);
const struct links_launch *links_call(struct links *links, uint64_t correlation);

/* The launch of that id where it is still in the ring. */
struct links_launch *links_launch(struct links *links, uint64_t id);

/* The execution (run, device) at one of its ops. `candidate` is where the hops led. *ret_first is
 * true where this is its first op. */
must_check int links_execution(struct links *links, int64_t run, uint32_t device, int64_t start,
                               uint64_t candidate, uint32_t function,
                               const struct links_execution **ret_execution, bool *ret_first,
                               struct err *e);

/* Marks that the launch has work on the device timeline. */
void links_claim(struct links *links, struct links_launch *launch);

/* What was learned of the functions' numbers, for another reading; owned by the caller. */
must_check int links_take_numbers(const struct links *links, struct links_numbers **ret_numbers,
                                  uint32_t *ret_n, struct err *e);

void links_release(struct links *links);

#endif
