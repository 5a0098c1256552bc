/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_merge - any bytes as a capture to merge: it is refused with a reason, or moved in time with
 * nothing lost; moved by nothing it is the same bytes; beside itself it is the same process and
 * lies where it lay. */
#include <string.h>

#include "target.h"
#include "trace/merge_align.h"
#include "trace/merge_match.h"
#include "xplane/shift.h"

#include "base/banned.h"

static int collect(void *context, struct view piece, struct err *e)
{
    struct view *to = context;
    (void)e;
    memcpy((void *)(uintptr_t)(to->data + to->size), piece.data, piece.size);
    to->size += piece.size;
    return 0;
}

/* Any two can be put on one axis, or lie too far apart for one. */
static void beside(const struct merge_facts *one, const struct merge_facts *other)
{
    struct align_place place = {0};
    struct err e = {0};
    HOLDS(merge_align(one, other, true, &place, &e) == 0);
    HOLDS(place.too_far || place.residual_ns <= place.worst_ns);
    HOLDS(place.by == ALIGN_CLOCK || place.correction_ns != 0);
}

static void same_counts(struct view moved, const struct merge_facts *before)
{
    struct merge_facts after = {0};
    struct err e = {0};
    int code = merge_facts_read(moved, &after, &e);
    /* A time can be moved out of range, which the program then refuses. */
    HOLDS(code == 0 || (e.code == code && e.text[0] != '\0'));
    if (code == 0) {
        beside(before, &after);
        beside(&after, before);
        HOLDS(after.planes == before->planes && after.lines == before->lines &&
              after.events == before->events && after.names_stored == before->names_stored &&
              after.steps_seen == before->steps_seen && after.device_ps == before->device_ps);
    }
    merge_facts_release(&after);
}

static void move(struct view file, const struct xshift *shift, const struct merge_facts *facts)
{
    struct patches patches = {0};
    struct err e = {0};
    int code = xshift_plan(file, shift, &patches, &e);
    HOLDS(code == 0 || (e.code == code && e.text[0] != '\0'));
    if (code == 0) {
        size_t size = (size_t)((int64_t)file.size + patches.growth);
        uint8_t *bytes = malloc(size + 1);
        struct view moved = view_of(bytes, 0);
        HOLDS(bytes);
        HOLDS(patches_write(&patches, file, collect, &moved, &e) == 0);
        HOLDS(moved.size == size);
        if (shift->line_ns == 0 && shift->dated_ns == 0 && !shift->sets_window)
            HOLDS(size == file.size && memcmp(bytes, file.data, size) == 0);
        same_counts(moved, facts);
        free(bytes);
    }
    patches_release(&patches);
}

static void beside_itself(const struct merge_facts *facts)
{
    const struct merge_process twice[] = {
        {facts, "a", -1, -1, "cpu", "1", "1"},
        {facts, "b", -1, -1, "cpu", "1", "1"},
    };
    struct merge_reasons reasons = {0};
    struct err e = {0};
    HOLDS(merge_match(twice, 1, &reasons, &e) == 0);
    HOLDS(reasons.n > 0); /* the same capture, or one that does not say when it began */
    for (size_t i = 0; i < reasons.kept; i++)
        HOLDS(reasons.all[i].kind == MERGE_SAME_PROCESS || reasons.all[i].kind == MERGE_NO_START);
    merge_reasons_release(&reasons);
    struct align_place reference = merge_align_reference(facts), place;
    HOLDS(merge_align(facts, facts, true, &place, &e) == 0);
    HOLDS(!place.too_far && place.correction_ns == 0 && place.start_ns == reference.start_ns);
    HOLDS(place.residual_ns <= 0 && place.worst_ns <= 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct xshift shifts[] = {
        {0},
        {.line_ns = 1000,
         .dated_ns = -1000,
         .sets_window = true,
         .start_ns = 1,
         .stop_ns = INT64_MAX},
        {.line_ns = INT64_C(1) << 52, .dated_ns = -XLINE_DATED_NS, .sets_window = true},
        {.line_ns = -1},
    };
    struct view file = view_of(data, size);
    struct merge_facts facts = {0};
    struct err e = {0};
    int code = merge_facts_read(file, &facts, &e);
    HOLDS(code == 0 || (e.code == code && e.text[0] != '\0'));
    if (code == 0) {
        for (size_t i = 0; i < sizeof(shifts) / sizeof(shifts[0]); i++)
            move(file, &shifts[i], &facts);
        beside_itself(&facts);
    }
    merge_facts_release(&facts);
    return 0;
}
