/* SPDX-License-Identifier: Apache-2.0 */
/* summary_many - one input after the other is joined and forgotten, then all are judged. */
#include "cli/summary_many.h"

#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/map.h"
#include "cli/command.h"
#include "cli/output.h"
#include "cli/summary_write.h"
#include "trace/part.h"

#include "base/banned.h"

int summary_exit_status(const struct err *e)
{
    return e->code == ERR_USAGE                            ? EXIT_USAGE
           : e->code == ERR_MISSING                        ? EXIT_NOTHING
           : e->code == ERR_MEMORY || e->code == ERR_LIMIT ? EXIT_FAILED
                                                           : EXIT_UNREADABLE;
}

struct work {
    const struct summary_request *request;
    struct many many;
    json_t *full;   /* each capture's own summary, for --json of captures */
    size_t printed; /* tables, for --csv */
};

static void work_release(struct work *work)
{
    many_release(&work->many);
    json_decref(work->full);
}

static int join_part(const struct summary_input *input, struct work *work, struct err *e)
{
    CLEANUP(map_release) struct map map = {0};
    CLEANUP(many_rows_release) struct many_rows rows = {0};
    int r = map_open(&map, input->path, e);
    if (r < 0)
        return r;
    r = part_read(map.bytes, &rows, e);
    return r < 0 ? err_context(e, "'%s'", input->path) : many_join(&work->many, &rows, e);
}

static int join_capture(const struct summary_input *input, struct work *work, struct err *e)
{
    CLEANUP(summary_release) struct summary summary = {0};
    const struct summary_request *request = work->request;
    int r = summary_of_input(input, &request->options, &summary, e);
    if (r < 0)
        return r;
    if (summary.receipt.damaged)
        complain("%s is damaged at byte %llu: the summary holds only what is whole", summary.file,
                 (unsigned long long)summary.receipt.damaged_at);
    if (request->csv)
        r = summary_print_csv(stdout, &summary, request->csv, request->top, work->printed++ == 0,
                              e);
    if (r == 0)
        r = summary_join_input(input, &summary, &work->many, e);
    if (work->full)
        (void)json_array_append_new(work->full, summary_to_json(&summary, request->top));
    return r;
}

static void cleanup_out(struct wire_out *out)
{
    out_release(out);
}

static int write_part(struct work *work, struct err *e)
{
    CLEANUP(cleanup_out) struct wire_out out = {0};
    const char *path = work->request->partial;
    char size[FORMAT_MAX];
    int r = part_write(&work->many.rows, &out, e);
    if (r < 0)
        return r;
    if (strcmp(path, "-") == 0) {
        (void)fwrite(out.data, 1, out.size, stdout);
        return 0;
    }
    r = file_replace(path, out_view(&out), e);
    if (r == 0)
        (void)printf("%s: %u process%s, %s\n", path, work->many.rows.n_processes,
                     work->many.rows.n_processes == 1 ? "" : "es", format_bytes(out.size, size));
    return r;
}

static int print_joined(struct work *work, struct err *e)
{
    CLEANUP(verdict_release) struct verdict verdict = {0};
    int r = verdict_make(&work->many.rows, &verdict, e);
    if (r < 0)
        return r;
    const struct many_view view = {&work->many.rows, &verdict, work->request->top};
    if (!work->request->json)
        return summary_many_text(stdout, &view, e);
    json_t *all = json_object();
    (void)json_object_set_new(all, "schema", json_integer(1));
    (void)json_object_set_new(all, "processes",
                              work->full ? json_incref(work->full)
                                         : summary_many_processes_json(&view));
    (void)json_object_set_new(all, "joined", summary_many_json(&view));
    return output_json(stdout, all, e);
}

static int finish(struct work *work, struct err *e)
{
    int r = many_settle(&work->many, e);
    if (r < 0)
        return r;
    return work->request->partial ? write_part(work, e) : print_joined(work, e);
}

static int status_of(const struct many_rows *rows)
{
    bool damaged = false;
    for (uint32_t i = 0; i < rows->n_processes; i++)
        damaged |= rows->processes[i].damaged;
    if (damaged)
        return EXIT_UNREADABLE;
    if (rows->totals[MANY_EVENTS])
        return EXIT_DONE;
    complain("the captures hold no event");
    return EXIT_NOTHING;
}

int summary_many(const struct summary_inputs *inputs, const struct summary_request *request)
{
    struct err e = {0};
    CLEANUP(work_release) struct work work = {.request = request};
    if (request->json && !inputs->parts)
        work.full = json_array();
    for (size_t i = 0; i < inputs->count; i++) {
        const struct summary_input *input = &inputs->all[i];
        if ((input->part ? join_part : join_capture)(input, &work, &e) < 0)
            return fail(summary_exit_status(&e), &e);
    }
    if (!request->csv && finish(&work, &e) < 0)
        return fail(e.code == ERR_IO ? EXIT_FAILED : summary_exit_status(&e), &e);
    return status_of(&work.many.rows);
}
