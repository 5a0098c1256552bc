/* SPDX-License-Identifier: Apache-2.0 */
/* links - rings, with hash chains over them. */
#include "trace/links.h"

#include <stdlib.h>

#include "base/banned.h"

#define HEADS LINKS_EXECUTIONS_MAX
#define NO_SLOT UINT32_MAX
#define NUMBERS_APART_MAX 4096  /* launches of one function that may be in flight */
#define NUMBERS_ONE_MAX 1048576 /* launches of one executable in a capture; see note_run() */

struct map_slot {
    uint64_t id, value;
    uint32_t next; /* 1 + slot, 0 none */
    bool used;
};

struct links_map {
    struct map_slot slots[LINKS_IDS_MAX];
    uint32_t heads[LINKS_IDS_MAX]; /* 1 + slot, 0 none */
    uint32_t cursor;
    uint32_t count; /* in use */
    bool wrapped;   /* before, slots are not looked at: reading fresh memory costs a fault apart */
};

/* The profiler counts its ids up, thread by thread (the high half): neighbours share a cache line.
 */
static uint32_t *map_head(struct links_map *map, uint64_t id)
{
    uint32_t thread = (uint32_t)(id >> 32) * UINT32_C(2654435761);
    return &map->heads[((uint32_t)id + (thread >> 8)) % LINKS_IDS_MAX];
}

/* What leads to the slot of the id; where it leads nowhere, the id is not in, and *ret_length is
 * how many are in its place. */
static uint32_t *map_link(struct links_map *map, uint64_t id, uint32_t *ret_length)
{
    uint32_t *link = map_head(map, id);
    for (*ret_length = 0; *link && map->slots[*link - 1].id != id; (*ret_length)++)
        link = &map->slots[*link - 1].next;
    return link;
}

static void map_unlink(struct links_map *map, uint32_t *link)
{
    struct map_slot *slot = &map->slots[*link - 1];
    *link = slot->next;
    slot->used = false;
    map->count--;
}

static void map_remove(struct links_map *map, uint64_t id)
{
    uint32_t length;
    uint32_t *link = map_link(map, id, &length);
    if (*link)
        map_unlink(map, link);
}

static void map_put(struct links_map *map, uint64_t id, uint64_t value)
{
    uint32_t length;
    uint32_t *link = map_link(map, id, &length);
    if (*link)
        map_unlink(map, link);
    else if (length == LINKS_CHAIN_MAX)
        return;
    uint32_t at = map->cursor;
    struct map_slot *slot = &map->slots[at];
    if (map->wrapped && slot->used)
        map_remove(map, slot->id);
    uint32_t *head = map_head(map, id);
    *slot = (struct map_slot){.id = id, .value = value, .next = *head, .used = true};
    *head = at + 1;
    map->count++;
    map->cursor = (at + 1) % LINKS_IDS_MAX;
    map->wrapped |= map->cursor == 0;
}

static uint64_t map_get(struct links_map *map, uint64_t id)
{
    uint32_t length;
    if (map->count == 0) /* most captures use one map or two */
        return LINKS_NONE;
    uint32_t at = *map_link(map, id, &length);
    return at ? map->slots[at - 1].value : LINKS_NONE;
}

/* Zero pages that are never touched cost nothing, so a small capture pays for little of this. */
int links_init(struct links *links, struct err *e)
{
    links->first_launch = INT64_MAX;
    links->last_claimed_launch = INT64_MIN;
    links->launches = calloc(LINKS_LAUNCHES_MAX, sizeof(*links->launches));
    links->executions = calloc(LINKS_EXECUTIONS_MAX, sizeof(*links->executions));
    links->execution_heads = malloc(HEADS * sizeof(*links->execution_heads));
    links->hops = calloc(1, sizeof(struct links_map));
    links->runs = calloc(1, sizeof(struct links_map));
    links->calls = calloc(1, sizeof(struct links_map));
    if (!links->launches || !links->executions || !links->execution_heads || !links->hops ||
        !links->runs || !links->calls)
        return err_nomem(e);
    memset(links->execution_heads, 0xff, HEADS * sizeof(*links->execution_heads));
    return 0;
}

struct links_launch *links_launch(struct links *links, uint64_t id)
{
    if (id == LINKS_NONE || id >= links->n_launches || links->n_launches - id > LINKS_LAUNCHES_MAX)
        return NULL;
    return &links->launches[id % LINKS_LAUNCHES_MAX];
}

static int queue_of(struct links *links, uint32_t function, struct links_queue **ret_queue,
                    struct err *e)
{
    uint32_t at = function == LINKS_ANY_FUNCTION ? 0 : function + 1;
    if (at >= links->queues_room) {
        uint32_t room = links->queues_room ? links->queues_room : 16;
        while (room <= at)
            room *= 2;
        struct links_queue *grown = realloc(links->queues, room * sizeof(*grown));
        if (!grown)
            return err_nomem(e);
        for (uint32_t i = links->queues_room; i < room; i++)
            grown[i] = (struct links_queue){
                .first = LINKS_NONE,
                .last = LINKS_NONE,
                .numbers = i < links->n_given ? links->given[i] : (struct links_numbers){0}};
        links->queues = grown;
        links->queues_room = room;
    }
    *ret_queue = &links->queues[at];
    return 0;
}

int links_add_launch(struct links *links, enum links_launch_kind kind, int64_t start,
                     uint32_t region, uint32_t function, int64_t run, uint64_t *ret_launch,
                     struct err *e)
{
    struct links_queue *queue = NULL;
    int r = queue_of(links, function, &queue, e);
    if (r < 0)
        return r;
    uint64_t id = links->n_launches++;
    const struct links_launch *old = &links->launches[id % LINKS_LAUNCHES_MAX];
    if (id >= LINKS_LAUNCHES_MAX) { /* pushed out of the ring: the oldest, so first if queued */
        struct links_queue *its =
            &links->queues[old->function == LINKS_ANY_FUNCTION ? 0 : old->function + 1];
        if (its->first == old->id)
            its->first = old->next;
    }
    links->launches[id % LINKS_LAUNCHES_MAX] =
        (struct links_launch){.id = id,
                              .start = start,
                              .region = region,
                              .function = function,
                              .next = LINKS_NONE,
                              .apart = kind != LAUNCH_QUEUED};
    if (start < links->first_launch)
        links->first_launch = start;
    if (kind == LAUNCH_RUN) {
        map_put(links->runs, (uint64_t)run, id);
    } else if (kind == LAUNCH_QUEUED) {
        struct links_launch *last = links_launch(links, queue->last);
        if (last && queue->first != LINKS_NONE)
            last->next = id;
        else
            queue->first = id;
        queue->last = id;
        links->launches[id % LINKS_LAUNCHES_MAX].serial = queue->n++;
    }
    *ret_launch = id;
    return 0;
}

bool links_knows_run(struct links *links, int64_t run)
{
    return links_launch(links, map_get(links->runs, (uint64_t)run)) != NULL;
}

void links_add_hop(struct links *links, uint64_t id, uint64_t launch)
{
    map_put(links->hops, id, launch);
}

uint64_t links_take_hop(struct links *links, uint64_t id)
{
    uint64_t launch = map_get(links->hops, id);
    if (launch != LINKS_NONE)
        map_remove(links->hops, id);
    return launch;
}

void links_add_call(struct links *links, uint64_t correlation, uint64_t launch)
{
    map_put(links->calls, correlation, launch);
}

const struct links_launch *links_call(struct links *links, uint64_t correlation)
{
    return links_launch(links, map_get(links->calls, correlation));
}

void links_claim(struct links *links, struct links_launch *launch)
{
    if (!launch->claimed)
        links->claimed++;
    launch->claimed = true;
    if (launch->start > links->last_claimed_launch) {
        links->last_claimed_launch = launch->start;
        links->late = links->n_launches - 1 - launch->id;
    }
}

static struct links_queue *queue_at(struct links *links, uint32_t function)
{
    uint32_t at = function == LINKS_ANY_FUNCTION ? 0 : function + 1;
    return at < links->queues_room ? &links->queues[at] : NULL;
}

/* The oldest launch in the function's queue that has no execution yet; what was claimed meanwhile
 * leaves the queue. */
static struct links_launch *oldest_unclaimed(struct links *links, uint32_t function)
{
    struct links_queue *queue = queue_at(links, function);
    struct links_launch *launch;
    while (queue && (launch = links_launch(links, queue->first))) {
        if (!launch->claimed)
            return launch;
        queue->first = launch->next;
    }
    if (queue)
        queue->first = queue->last = LINKS_NONE;
    return NULL;
}

enum number_says { NUMBER_NOTHING, NUMBER_LAUNCH, NUMBER_BEFORE };

/* The launch that the number of the execution tells, where it has no other execution. */
static enum number_says ask_number(struct links *links, int64_t run, uint32_t function,
                                   struct links_launch **ret_launch)
{
    struct links_queue *queue = function == LINKS_ANY_FUNCTION ? NULL : queue_at(links, function);
    if (!queue || !queue->numbers.known || queue->numbers.several)
        return NUMBER_NOTHING;
    uint64_t serial = (uint64_t)run - queue->numbers.base;
    if (-serial <= NUMBERS_APART_MAX && serial != 0)
        return NUMBER_BEFORE; /* of the first launch in the file */
    struct links_launch *launch = oldest_unclaimed(links, function);
    if (!launch || serial < launch->serial || serial - launch->serial > NUMBERS_APART_MAX)
        return NUMBER_NOTHING;
    while (launch && launch->serial != serial)
        launch = links_launch(links, launch->next);
    if (!launch || launch->claimed)
        return NUMBER_NOTHING;
    *ret_launch = launch;
    return NUMBER_LAUNCH;
}

/* Numbers far apart are of executables that have a name in common. */
static struct links_queue *note_run(struct links *links, int64_t run, uint32_t function)
{
    struct links_queue *queue = function == LINKS_ANY_FUNCTION ? NULL : queue_at(links, function);
    if (!queue)
        return NULL;
    if (!queue->has_run) {
        queue->has_run = true;
        queue->some_run = run;
    }
    uint64_t apart = (uint64_t)run - (uint64_t)queue->some_run;
    if (apart > NUMBERS_ONE_MAX && -apart > NUMBERS_ONE_MAX)
        queue->numbers.several = true;
    return queue;
}

static bool same_numbers(uint64_t base, uint64_t other)
{
    return base - other <= NUMBERS_APART_MAX || other - base <= NUMBERS_APART_MAX;
}

static void note_linked(struct links *links, int64_t run, const struct links_launch *launch)
{
    struct links_queue *queue = note_run(links, run, launch->function);
    if (!queue || queue->numbers.several)
        return;
    uint64_t base = (uint64_t)run - launch->serial;
    if (queue->has_ordered && base != queue->ordered_base &&
        same_numbers(base, queue->ordered_base))
        links->contradicted = true;
    queue->numbers.base = base;
    queue->numbers.known = true;
}

static void note_ordered(struct links *links, int64_t run, const struct links_launch *launch)
{
    struct links_queue *queue = note_run(links, run, launch->function);
    if (!queue)
        return;
    queue->ordered_base = (uint64_t)run - launch->serial;
    queue->has_ordered = true;
}

static struct links_launch *queued_launch(struct links *links, uint32_t function)
{
    struct links_launch *launch = NULL;
    if (function != LINKS_ANY_FUNCTION)
        launch = oldest_unclaimed(links, function);
    return launch ? launch : oldest_unclaimed(links, LINKS_ANY_FUNCTION);
}

static bool names_agree(const struct links_launch *launch, uint32_t function)
{
    return launch->function == LINKS_ANY_FUNCTION || function == LINKS_ANY_FUNCTION ||
           launch->function == function;
}

static struct links_launch *match(struct links *links, int64_t run, uint64_t candidate,
                                  uint32_t function, enum links_how *ret_how)
{
    struct links_launch *launch = links_launch(links, map_get(links->runs, (uint64_t)run));
    *ret_how = LINKED_BY_IDS;
    if (launch)
        return launch;
    struct links_launch *by_hops = links_launch(links, candidate);
    if (by_hops && !by_hops->apart && !by_hops->claimed && names_agree(by_hops, function)) {
        note_linked(links, run, by_hops);
        return by_hops;
    }
    (void)note_run(links, run, function);
    enum number_says says = ask_number(links, run, function, &launch);
    *ret_how = says == NUMBER_LAUNCH ? LINKED_BY_NUMBER : LINKED_NOT;
    links->early += says == NUMBER_BEFORE;
    if (says != NUMBER_NOTHING)
        return launch;
    launch = queued_launch(links, function);
    if (launch) {
        *ret_how = LINKED_BY_ORDER;
        note_ordered(links, run, launch);
    }
    return launch;
}

/* Runs are counted up, too. */
static uint32_t *execution_head(struct links *links, int64_t run, uint32_t device)
{
    return &links->execution_heads[((uint32_t)run + device * UINT32_C(2654435761)) % HEADS];
}

int links_execution(struct links *links, int64_t run, uint32_t device, int64_t start,
                    uint64_t candidate, uint32_t function,
                    const struct links_execution **ret_execution, bool *ret_first, struct err *e)
{
    (void)e;
    const struct links_execution *last = &links->executions[links->last_execution];
    if (last->used && last->run == run && last->device == device) {
        *ret_execution = last;
        *ret_first = false;
        return 0;
    }
    uint32_t *head = execution_head(links, run, device);
    uint32_t length = 0, oldest = NO_SLOT;
    for (uint32_t at = *head; at != NO_SLOT; at = links->executions[at].hash_next) {
        length++;
        oldest = at;
        const struct links_execution *execution = &links->executions[at];
        if (execution->run == run && execution->device == device) {
            links->last_execution = at;
            *ret_execution = execution;
            *ret_first = false;
            return 0;
        }
    }
    bool crowded = length >= LINKS_CHAIN_MAX, wrapped = links->n_executions >= LINKS_EXECUTIONS_MAX;
    uint32_t at = crowded ? oldest : (uint32_t)(links->n_executions++ % LINKS_EXECUTIONS_MAX);
    struct links_execution *fresh = &links->executions[at];
    if (crowded || wrapped) {
        uint32_t *link = execution_head(links, fresh->run, fresh->device);
        while (*link != at)
            link = &links->executions[*link].hash_next;
        *link = fresh->hash_next;
    }
    enum links_how how;
    uint64_t early = links->early;
    struct links_launch *launch = match(links, run, candidate, function, &how);
    *fresh = (struct links_execution){.run = run,
                                      .device = device,
                                      .hash_next = *head,
                                      .how = how,
                                      .launch_start = launch ? launch->start : 0,
                                      .region = launch ? launch->region : 0,
                                      .used = true};
    *head = at;
    links->last_execution = at;
    if (launch)
        links_claim(links, launch);
    links->linked += how == LINKED_BY_IDS;
    links->numbered += how == LINKED_BY_NUMBER;
    links->ordered += how == LINKED_BY_ORDER;
    links->unmatched += how == LINKED_NOT;
    if (links->early == early)
        links->early += how == LINKED_NOT && start < links->first_launch;
    *ret_execution = fresh;
    *ret_first = true;
    return 0;
}

int links_take_numbers(const struct links *links, struct links_numbers **ret_numbers,
                       uint32_t *ret_n, struct err *e)
{
    uint32_t n = links->queues_room;
    struct links_numbers *numbers = calloc((size_t)n + 1, sizeof(*numbers));
    if (!numbers)
        return err_nomem(e);
    for (uint32_t i = 0; i < n; i++)
        numbers[i] = links->queues[i].numbers;
    *ret_numbers = numbers;
    *ret_n = n;
    return 0;
}

void links_release(struct links *links)
{
    free(links->launches);
    free(links->queues);
    free(links->executions);
    free(links->execution_heads);
    free(links->hops);
    free(links->runs);
    free(links->calls);
    *links = (struct links){0};
}
