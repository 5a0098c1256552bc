/* SPDX-License-Identifier: Apache-2.0 */
/* merge_programs - names, device time and fingerprints of what ran. */
#include "trace/merge_programs.h"

#include <stdlib.h>

#include "trace/fingerprint.h"

#include "base/banned.h"

#define PROGRAMS_AT_ONCE 64

/* "jit_f(123)" is a run or an entry of the module jit_f. */
static struct view module_of(struct view name)
{
    if (!view_ends(name, ")"))
        return name;
    for (size_t i = name.size - 1; i > 0; i--)
        if (name.data[i] == '(')
            return view_of(name.data, i);
    return name;
}

int merge_program_find(struct merge_facts *facts, struct view name, uint32_t *ret_id, struct err *e)
{
    struct view module = module_of(name);
    if (intern_find(&facts->names, module, ret_id))
        return 0;
    uint32_t n = facts->names.count;
    if (n == MERGE_PROGRAMS_MAX)
        return err_set(e, ERR_LIMIT, "more than %d programs in one capture", MERGE_PROGRAMS_MAX);
    if (n % PROGRAMS_AT_ONCE == 0) {
        struct merge_program *grown =
            realloc(facts->programs, (size_t)(n + PROGRAMS_AT_ONCE) * sizeof(*grown));
        if (!grown)
            return err_nomem(e);
        facts->programs = grown;
    }
    /* Before the name is known, for with it the program counts. */
    facts->programs[n] = (struct merge_program){.name = n};
    return intern_put(&facts->names, module, ret_id, e);
}

static int add_fingerprint(struct merge_program *program, uint64_t fingerprint, struct err *e)
{
    uint32_t at = 0;
    while (at < program->n && program->fingerprints[at] < fingerprint)
        at++;
    if (at < program->n && program->fingerprints[at] == fingerprint)
        return 0;
    if (program->n == program->room) {
        uint32_t room = program->room ? program->room * 2 : 2;
        uint64_t *grown = realloc(program->fingerprints, room * sizeof(*grown));
        if (!grown)
            return err_nomem(e);
        program->fingerprints = grown;
        program->room = room;
    }
    for (uint32_t i = program->n++; i > at; i--)
        program->fingerprints[i] = program->fingerprints[i - 1];
    program->fingerprints[at] = fingerprint;
    return 0;
}

int merge_programs_read(struct merge_facts *facts, const struct xplane *plane, struct err *e)
{
    int64_t proto_id;
    if (!xplane_stat_id(plane, "Hlo Proto", &proto_id) &&
        !xplane_stat_id(plane, "hlo_proto", &proto_id))
        return 0;
    int code = 0;
    for (uint32_t i = 0; code == 0 && i < plane->event_metadata.count; i++) {
        struct xevent_metadata metadata;
        struct xstat stat;
        uint32_t id;
        uint64_t fingerprint;
        xplane_event_metadata(plane, i, &metadata);
        while (code == 0 && xstat_next(&metadata.stats, XEVENT_METADATA_STATS, &stat) > 0) {
            if (stat.metadata_id != proto_id || stat.kind != XSTAT_KIND_BYTES ||
                !fingerprint_hlo(stat.bytes, &fingerprint))
                continue;
            code = merge_program_find(facts, metadata.name, &id, e);
            if (code == 0)
                code = add_fingerprint(&facts->programs[id], fingerprint, e);
        }
    }
    return code;
}

void merge_programs_release(struct merge_facts *facts)
{
    for (uint32_t i = 0; i < facts->names.count; i++)
        free(facts->programs[i].fingerprints);
    free(facts->programs);
    facts->programs = NULL;
    intern_release(&facts->names);
}
