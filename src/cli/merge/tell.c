/* SPDX-License-Identifier: Apache-2.0 */
/* tell - what was merged, how far apart the clocks were, and how well that is known. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli/capture_path.h"
#include "cli/merge/merge.h"
#include "cli/output.h"

#include "base/banned.h"

#define PS_PER_NS 1000
#define SCHEMA 1
#define MISSING_SHOWN 16
#define MISSING_MAX 64 /* named; a job can have thousands */
#define PLAIN_NAMES                                                                                \
    "a process without shared steps is placed by its own clock alone, and how good that is "       \
    "cannot be told"

/* The worst process counts; -1 where one is not known. */
static int64_t residual_of(const struct merge_job *job)
{
    int64_t residual = job->n > 1 ? 0 : -1;
    for (size_t i = 1; i < job->n; i++) {
        int64_t own = job->inputs[i].place.residual_ns;
        if (own < 0)
            return -1;
        residual = own > residual ? own : residual;
    }
    return residual;
}

/* The same of what the order of collectives allows. */
static int64_t bound_of(const struct merge_job *job)
{
    int64_t bound = -1;
    for (size_t i = 1; i < job->n; i++) {
        int64_t own = job->inputs[i].place.bound_ns;
        if (own < 0)
            return -1;
        bound = own > bound ? own : bound;
    }
    return bound;
}

/* How many processes the job had, by the manifests; -1 where none says it, or they differ. */
static int64_t count_of(const struct merge_job *job)
{
    int64_t count = -1;
    for (size_t i = 0; i < job->n; i++) {
        int64_t own = job->inputs[i].count;
        if (own < 0 || (count >= 0 && own != count))
            return -1;
        count = own;
    }
    return count;
}

/* The next process of the job behind `after` that is not among the inputs, which are in the order
 * of their indices; -1 for none. */
static int64_t next_missing(const struct merge_job *job, int64_t after)
{
    int64_t count = count_of(job), wanted = after + 1;
    for (size_t i = 0; i < job->n; i++) {
        if (job->inputs[i].index < 0)
            return -1;
        wanted += job->inputs[i].index == wanted;
    }
    return wanted < count ? wanted : -1;
}

static json_t *number_or_null(int64_t value)
{
    return value < 0 ? json_null() : json_integer(value);
}

static json_t *file_name(const struct merge_input *input)
{
    char name[512];
    (void)snprintf(name, sizeof(name), "%s" CAPTURE_SUFFIX, input->name);
    return json_text(view_text(name));
}

static json_t *process_json(const struct merge_input *input)
{
    const struct align_place *place = &input->place;
    const struct merge_facts *facts = &input->facts;
    const char *why = align_why_words(place->why);
    return json_pack(
        "{s:o, s:o, s:o, s:{s:o, s:o}, s:I, s:I, s:I, s:I, s:I, s:I, s:s, s:o, s:i, s:o, s:o, s:o, "
        "s:o}",
        "file", file_name(input), "input", json_text(view_text(input->path)), "host",
        json_text(view_text(facts->host)), "process", "index", number_or_null(input->index),
        "count", number_or_null(input->count), "planes", (json_int_t)input->written.planes, "lines",
        (json_int_t)input->written.lines, "events_before", (json_int_t)input->facts.events,
        "events_after", (json_int_t)input->written.events, "shift_ns", (json_int_t)input->shift_ns,
        "correction_ns", (json_int_t)place->correction_ns, "placed_by", align_by_name(place->by),
        "why_not_refined", *why ? json_string(why) : json_null(), "shared_steps",
        (int)place->shared, "residual_ns", number_or_null(place->residual_ns), "worst_ns",
        number_or_null(place->worst_ns), "error_bound_ns", number_or_null(place->bound_ns),
        "capture_start_unix_ns", facts->has_window ? json_integer(place->start_ns) : json_null());
}

static json_t *processes_json(const struct merge_job *job)
{
    json_t *list = json_array();
    for (size_t i = 0; list && i < job->n; i++)
        if (json_array_append_new(list, process_json(&job->inputs[i])) != 0) {
            json_decref(list);
            return NULL;
        }
    return list;
}

static json_t *texts(char *const *all, size_t n)
{
    json_t *list = json_array();
    for (size_t i = 0; i < n; i++)
        (void)json_array_append_new(list, json_text(view_text(all[i])));
    return list;
}

static json_t *missing_json(const struct merge_job *job)
{
    json_t *list = json_array();
    size_t n = 0;
    for (int64_t i = next_missing(job, -1); i >= 0 && n < MISSING_MAX; n++) {
        (void)json_array_append_new(list, json_integer(i));
        i = next_missing(job, i);
    }
    return list;
}

static json_t *reasons_json(const struct merge_reasons *reasons)
{
    json_t *list = json_array();
    for (size_t i = 0; i < reasons->kept; i++)
        (void)json_array_append_new(
            list, json_pack("{s:s, s:i, s:o}", "reason", merge_reason_name(reasons->all[i].kind),
                            "process", (int)reasons->all[i].process, "words",
                            json_text(view_text(reasons->all[i].words))));
    return list;
}

json_t *merge_to_json(const struct merge_job *job)
{
    uint64_t before = 0, after = 0;
    for (size_t i = 0; i < job->n; i++) {
        before += job->inputs[i].facts.events;
        after += job->inputs[i].written.events;
    }
    return json_pack(
        "{s:i, s:b, s:o, s:o, s:I, s:I, s:I, s:o, s:o, s:o, s:o, s:o, s:o}", "schema", SCHEMA,
        "merged", job->run != NULL, "run", job->run ? json_text(view_text(job->run)) : json_null(),
        "processes", processes_json(job), "axis_start_unix_ns", (json_int_t)job->axis_ns,
        "events_before", (json_int_t)before, "events_after", (json_int_t)after, "residual_ns",
        number_or_null(residual_of(job)), "error_bound_ns", number_or_null(bound_of(job)),
        job->run ? "overruled" : "refused", reasons_json(&job->reasons),
        "processes_without_capture", texts(job->without_capture, job->n_without),
        "processes_missing", missing_json(job), "units", json_string("nanoseconds"));
}

/* The regions of all processes, so that `summary` knows them in the run too. */
static json_t *regions_json(const struct merge_job *job)
{
    json_t *list = json_array(), *seen = json_object();
    for (size_t i = 0; i < job->n; i++) {
        size_t k;
        json_t *name;
        json_array_foreach(json_object_get(job->inputs[i].manifest, "regions"), k, name)
        {
            const char *text = json_string_value(name);
            if (!text || json_object_get(seen, text))
                continue;
            (void)json_object_set_new(seen, text, json_true());
            (void)json_array_append(list, name);
        }
    }
    json_decref(seen);
    return list;
}

json_t *merge_manifest(const struct merge_job *job)
{
    json_t *manifest =
        json_pack("{s:i, s:s, s:o, s:I, s:o}", "schema", SCHEMA, "state", "captured", "merged",
                  processes_json(job), "axis_start_unix_ns", (json_int_t)job->axis_ns, "overruled",
                  reasons_json(&job->reasons));
    /* Without a list the names tell which events are regions; an empty one would say "none". */
    json_t *regions = regions_json(job);
    if (manifest && json_array_size(regions) > 0)
        (void)json_object_set(manifest, "regions", regions);
    json_decref(regions);
    static const char *const shared[] = {"versions", "backend"};
    for (size_t i = 0; manifest && i < sizeof(shared) / sizeof(shared[0]); i++) {
        json_t *value = json_object_get(job->inputs[0].manifest, shared[i]);
        if (value)
            (void)json_object_set(manifest, shared[i], value);
    }
    return manifest;
}

static const char *signed_ns(int64_t ns, char buffer[FORMAT_MAX])
{
    char text[FORMAT_MAX];
    bool below = ns < 0;
    int64_t ps;
    if (__builtin_mul_overflow(below ? -ns : ns, PS_PER_NS, &ps))
        ps = INT64_MAX;
    (void)snprintf(buffer, FORMAT_MAX, "%s%.30s", below ? "-" : "", format_ps(ps, text));
    return buffer;
}

static const char *known_ns(int64_t ns, char buffer[FORMAT_MAX])
{
    return ns < 0 ? "?" : signed_ns(ns, buffer);
}

static int print_table(const struct merge_job *job, struct err *e)
{
    static const struct table_column columns[] = {
        {"file", false, true},          {"events", true, false},     {"moved by", true, false},
        {"of it refined", true, false}, {"placed by", false, false}, {"shared steps", true, false},
        {"residual", true, false},      {"worst", true, false},
    };
    CLEANUP(table_free)
    struct table *table = table_new(columns, sizeof(columns) / sizeof(columns[0]));
    for (size_t i = 0; i < job->n; i++) {
        const struct merge_input *input = &job->inputs[i];
        char events[FORMAT_MAX], moved[FORMAT_MAX], refined[FORMAT_MAX], steps[FORMAT_MAX],
            residual[FORMAT_MAX], worst[FORMAT_MAX], name[512];
        (void)snprintf(name, sizeof(name), "%s" CAPTURE_SUFFIX, input->name);
        (void)snprintf(events, sizeof(events), "%" PRIu64, input->written.events);
        (void)snprintf(steps, sizeof(steps), "%" PRIu32, input->place.shared);
        bool reference = input->place.why == ALIGN_WHY_REFERENCE;
        table_row(table, (const char *const[]){
                             name, events, signed_ns(input->shift_ns, moved),
                             signed_ns(input->place.correction_ns, refined),
                             reference ? "reference" : align_by_name(input->place.by),
                             reference ? "" : steps,
                             reference ? "" : known_ns(input->place.residual_ns, residual),
                             reference ? "" : known_ns(input->place.worst_ns, worst)});
    }
    return table_print(table, stdout, e);
}

static void print_whys(const struct merge_job *job)
{
    for (size_t i = 1; i < job->n; i++) {
        const struct align_place *place = &job->inputs[i].place;
        if (place->why == ALIGN_WHY_NONE && place->by == ALIGN_COLLECTIVES)
            continue;
        (void)fputs("  ", stdout);
        output_text(stdout, view_text(job->inputs[i].name));
        if (place->why == ALIGN_WHY_NONE)
            (void)puts(": refined by the ends of steps, for want of collectives; a process that "
                       "is always late by as much would look the same");
        else
            (void)printf(": by the clock: %s\n", align_why_words(place->why));
    }
}

static void print_residual(const struct merge_job *job)
{
    char text[FORMAT_MAX];
    int64_t residual = residual_of(job);
    if (job->n == 1)
        (void)puts("One capture is its own time axis: the file is the same, byte for byte.");
    else if (residual < 0)
        (void)puts("Residual error: unknown; " PLAIN_NAMES ".");
    else
        (void)printf("Residual error: %s (how far the same moment of a shared step lies from the "
                     "reference's, median, worst process)\n",
                     signed_ns(residual, text));
    int64_t bound = bound_of(job);
    if (bound >= 0)
        (void)printf("No clock is off by more than %s, by the order in which collectives began and "
                     "ended.\n",
                     signed_ns(bound, text));
}

static void print_missing(const struct merge_job *job)
{
    int64_t i = next_missing(job, -1);
    if (i < 0)
        return;
    (void)printf("  of the job's %" PRId64 " processes these are not here:", count_of(job));
    for (size_t n = 0; i >= 0 && n < MISSING_SHOWN; n++) {
        (void)printf(" %" PRId64, i);
        i = next_missing(job, i);
    }
    (void)fputs(i < 0 ? "" : " ...", stdout);
    (void)putchar('\n');
}

int merge_print_text(const struct merge_job *job, struct err *e)
{
    uint64_t before = 0, after = 0;
    for (size_t i = 0; i < job->n; i++) {
        before += job->inputs[i].facts.events;
        after += job->inputs[i].written.events;
    }
    (void)printf("%sMerged %zu process%s into ", style_begin(stdout, STYLE_BOLD), job->n,
                 job->n == 1 ? "" : "es");
    output_text(stdout, view_text(job->run));
    (void)printf("%s\n%" PRIu64 " events read, %" PRIu64 " in the run\n\n", style_end(stdout),
                 before, after);
    int code = print_table(job, e);
    if (code != 0)
        return code;
    (void)putchar('\n');
    print_residual(job);
    print_whys(job);
    print_missing(job);
    for (size_t i = 0; i < job->n_without; i++) {
        (void)fputs("  without a capture: ", stdout);
        output_text(stdout, view_text(job->without_capture[i]));
        (void)putchar('\n');
    }
    (void)fputs("\nSee it with: xprof --logdir ", stdout);
    output_text(stdout, view_text(job->out));
    (void)putchar('\n');
    return 0;
}
