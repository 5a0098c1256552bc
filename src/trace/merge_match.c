/* SPDX-License-Identifier: Apache-2.0 */
/* merge_match - one comparison a reason. */
#include "trace/merge_match.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/banned.h"

#define WORDS_MAX 1024
#define NAME_SHOWN 100
#define NS_PER_S 1e9

__attribute__((format(printf, 5, 6))) static int give(struct merge_reasons *reasons,
                                                      enum merge_reason_kind kind, size_t process,
                                                      struct err *e, const char *format, ...)
{
    if (reasons->n++ >= MERGE_REASONS_MAX)
        return 0;
    if (!reasons->all) {
        reasons->all = arena_alloc(&reasons->arena, MERGE_REASONS_MAX * sizeof(*reasons->all));
        if (!reasons->all)
            return err_nomem(e);
    }
    char words[WORDS_MAX];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(words, sizeof(words), format, args);
    va_end(args);
    const char *kept = arena_copy(&reasons->arena, view_text(words));
    if (!kept)
        return err_nomem(e);
    reasons->all[reasons->kept++] = (struct merge_reason){kind, process, kept};
    return 0;
}

static const char *jax_of(const struct merge_process *process)
{
    return process->facts->jax[0] ? process->facts->jax : process->jax;
}

static const char *jaxlib_of(const struct merge_process *process)
{
    return process->facts->jaxlib[0] ? process->facts->jaxlib : process->jaxlib;
}

static bool differ(const char *a, const char *b)
{
    return a[0] && b[0] && strcmp(a, b) != 0;
}

static int match_versions(const struct merge_process *all, size_t i, struct merge_reasons *reasons,
                          struct err *e)
{
    static const char *const names[] = {"jax", "jaxlib"};
    const char *left[] = {jax_of(&all[0]), jaxlib_of(&all[0])};
    const char *right[] = {jax_of(&all[i]), jaxlib_of(&all[i])};
    for (size_t k = 0; k < 2; k++) {
        if (!differ(left[k], right[k]))
            continue;
        int code = give(reasons, MERGE_OTHER_VERSION, i, e, "%s was made by %s %.64s, %s by %.64s",
                        all[i].path, names[k], right[k], all[0].path, left[k]);
        if (code != 0)
            return code;
    }
    if (differ(all[0].platform, all[i].platform))
        return give(reasons, MERGE_OTHER_PLATFORM, i, e, "%s ran on %.32s, %s on %.32s",
                    all[i].path, all[i].platform, all[0].path, all[0].platform);
    return 0;
}

static int match_count(const struct merge_process *all, size_t i, struct merge_reasons *reasons,
                       struct err *e)
{
    if (all[0].count < 0 || all[i].count < 0 || all[0].count == all[i].count)
        return 0;
    return give(reasons, MERGE_OTHER_COUNT, i, e,
                "%s is of a job of %" PRId64 " processes, %s of one of %" PRId64, all[i].path,
                all[i].count, all[0].path, all[0].count);
}

/* The same index, or the same process id on the same host at the same moment. */
static int match_process(const struct merge_process *all, size_t i, struct merge_reasons *reasons,
                         struct err *e)
{
    for (size_t k = 0; k < i; k++) {
        const struct merge_facts *left = all[k].facts, *right = all[i].facts;
        if (all[k].index >= 0 && all[k].index == all[i].index)
            return give(reasons, MERGE_SAME_PROCESS, i, e, "%s and %s are both of process %" PRId64,
                        all[k].path, all[i].path, all[i].index);
        if (left->has_window && right->has_window && left->pid == right->pid &&
            left->start_ns == right->start_ns && strcmp(left->host, right->host) == 0)
            return give(reasons, MERGE_SAME_PROCESS, i, e,
                        "%s and %s are the same capture (same host, process id and start)",
                        all[k].path, all[i].path);
    }
    return 0;
}

static const struct merge_program *find(const struct merge_facts *facts, struct view name)
{
    uint32_t id;
    return intern_find(&facts->names, name, &id) ? &facts->programs[id] : NULL;
}

static bool same_code(const struct merge_program *a, const struct merge_program *b)
{
    for (uint32_t i = 0, k = 0; i < a->n && k < b->n;) {
        if (a->fingerprints[i] == b->fingerprints[k])
            return true;
        if (a->fingerprints[i] < b->fingerprints[k])
            i++;
        else
            k++;
    }
    return a->n == 0 || b->n == 0;
}

/* Device time of `facts` in programs that `other` has not, and the one with most of it. Without
 * device time each program counts as much as another. */
static uint64_t strange_time(const struct merge_facts *facts, const struct merge_facts *other,
                             const struct merge_program **ret_worst)
{
    uint64_t sum = 0, most = 0;
    for (uint32_t i = 0; i < facts->names.count; i++) {
        const struct merge_program *program = &facts->programs[i];
        const struct merge_program *there = find(other, intern_name(&facts->names, i));
        uint64_t weight = facts->device_ps ? program->device_ps : 1;
        if (there && same_code(program, there))
            continue;
        sum += weight;
        if (weight > most) {
            most = weight;
            *ret_worst = program;
        }
    }
    return sum;
}

static int match_one_way(const struct merge_process *all, size_t of, size_t other,
                         struct merge_reasons *reasons, bool *ret_given, struct err *e)
{
    const struct merge_facts *facts = all[of].facts;
    const struct merge_program *worst = NULL;
    uint64_t all_time = facts->device_ps ? facts->device_ps : facts->names.count;
    uint64_t strange = strange_time(facts, all[other].facts, &worst);
    if (!worst || strange <= all_time / 2)
        return 0;
    *ret_given = true;
    struct view name = intern_name(&facts->names, worst->name);
    int shown = (int)(name.size < NAME_SHOWN ? name.size : NAME_SHOWN);
    const struct merge_program *there = find(all[other].facts, name);
    double percent = 100.0 * (double)strange / (double)all_time;
    size_t process = of ? of : other;
    if (!there)
        return give(reasons, MERGE_OTHER_PROGRAM, process, e,
                    "%s ran other programs than %s: %.0f %% of its device time is in such as "
                    "'%.*s', which is not there",
                    all[of].path, all[other].path, percent, shown, (const char *)name.data);
    return give(reasons, MERGE_OTHER_PROGRAM, process, e,
                "%s ran other programs than %s: '%.*s' (with others, %.0f %% of its device time) "
                "has the HLO fingerprint %016" PRIx64 " in one and %016" PRIx64 " in the other",
                all[of].path, all[other].path, shown, (const char *)name.data, percent,
                worst->fingerprints[0], there->fingerprints[0]);
}

static int match_programs(const struct merge_process *all, size_t i, struct merge_reasons *reasons,
                          struct err *e)
{
    if (all[0].facts->names.count == 0 || all[i].facts->names.count == 0)
        return 0;
    bool given = false;
    int code = match_one_way(all, i, 0, reasons, &given, e);
    return code == 0 && !given ? match_one_way(all, 0, i, reasons, &given, e) : code;
}

static int match_windows(const struct merge_process *all, size_t i, struct merge_reasons *reasons,
                         struct err *e)
{
    const struct merge_facts *left = all[0].facts, *right = all[i].facts;
    if (!right->has_window)
        return give(reasons, MERGE_NO_START, i, e,
                    "%s does not say when it began (no profile_start_time)", all[i].path);
    if (!left->has_window || (left->start_ns <= right->stop_ns && right->start_ns <= left->stop_ns))
        return 0;
    bool after = right->start_ns > left->stop_ns;
    double apart =
        (double)(after ? right->start_ns - left->stop_ns : left->start_ns - right->stop_ns);
    return give(reasons, MERGE_NO_OVERLAP, i, e, "%s %s %.3f s %s %s", all[i].path,
                after ? "began" : "ended", apart / NS_PER_S, after ? "after the end of" : "before",
                all[0].path);
}

int merge_match(const struct merge_process *processes, size_t i, struct merge_reasons *reasons,
                struct err *e)
{
    int (*const rules[])(const struct merge_process *all, size_t i, struct merge_reasons *reasons,
                         struct err *e) = {match_process, match_count, match_versions,
                                           match_programs, match_windows};
    int code = 0;
    if (i == 1 && !processes[0].facts->has_window)
        code = match_windows(processes, 0, reasons, e);
    for (size_t k = 0; code == 0 && k < sizeof(rules) / sizeof(rules[0]); k++)
        code = rules[k](processes, i, reasons, e);
    return code;
}

const char *merge_reason_name(enum merge_reason_kind kind)
{
    static const char *const names[] = {
        "same-process",  "other-process-count", "other-version", "other-platform",
        "other-program", "no-start-time",       "no-overlap",
    };
    return names[kind];
}

void merge_reasons_release(struct merge_reasons *reasons)
{
    arena_release(&reasons->arena);
    *reasons = (struct merge_reasons){0};
}
