/* SPDX-License-Identifier: Apache-2.0 */
/* summary_csv - one table as comma-separated values, as RFC 4180 has them: times in picoseconds.
 *
 * docs/summary.md describes each column; new ones come last. */
#include <inttypes.h>

#include "cli/summary_write.h"

#include "base/banned.h"

static void quoted(FILE *file, const char *text)
{
    (void)fputc('"', file);
    for (; *text; text++) {
        if (*text == '"')
            (void)fputc('"', file);
        (void)fputc(*text, file);
    }
    (void)fputc('"', file);
}

static void heading(FILE *file, bool header, const char *columns)
{
    if (header)
        (void)fprintf(file, "file,%s\r\n", columns);
}

static void numbers(FILE *file, const uint64_t *values, size_t n)
{
    for (size_t i = 0; i < n; i++)
        (void)fprintf(file, ",%" PRIu64, values[i]);
}

#define NUMBERS(file, ...)                                                                         \
    numbers(file, (const uint64_t[]){__VA_ARGS__},                                                 \
            sizeof((const uint64_t[]){__VA_ARGS__}) / sizeof(uint64_t))

static void begin(FILE *file, const struct summary *summary, const char *name)
{
    quoted(file, summary->file);
    (void)fputc(',', file);
    quoted(file, name);
}

#define CAUSE_COLUMNS "idle_host_ps,idle_between_ps,idle_edge_ps,idle_unknown_ps"

static void causes(FILE *file, const uint64_t by_cause[IDLE_CAUSES])
{
    NUMBERS(file, by_cause[IDLE_HOST], by_cause[IDLE_BETWEEN], by_cause[IDLE_EDGE],
            by_cause[IDLE_UNKNOWN]);
}

static size_t rows(size_t n, size_t top)
{
    return top && n > top ? top : n;
}

static void csv_devices(FILE *file, const struct summary *summary, size_t top, bool header)
{
    heading(file, header,
            "device,ops,op_time_ps,busy_ps,idle_ps," CAUSE_COLUMNS
            ",collective_ps,collective_exposed_ps,async_ops,async_ps,used");
    (void)top;
    for (size_t i = 0; i < summary->n_devices; i++) {
        const struct summary_device *d = &summary->devices[i];
        begin(file, summary, d->name);
        NUMBERS(file, d->ops, d->op_time_ps, d->busy_ps, d->idle_ps);
        causes(file, d->idle_by_cause);
        NUMBERS(file, d->collective_ps, d->collective_exposed_ps, d->async_ops, d->async_ps,
                d->used);
        (void)fputs("\r\n", file);
    }
}

static void csv_idle(FILE *file, const struct summary *summary, size_t top, bool header)
{
    heading(file, header, "device,region,idle_ps," CAUSE_COLUMNS);
    (void)top;
    for (size_t i = 0; i < summary->n_devices; i++) {
        const struct summary_device *device = &summary->devices[i];
        for (size_t k = 0; k < device->n_idle_by_region; k++) {
            const struct summary_region_idle *part = &device->idle_by_region[k];
            begin(file, summary, device->name);
            (void)fputc(',', file);
            quoted(file, part->region == SUMMARY_NO_REGION ? SUMMARY_NO_REGION_NAME
                                                           : summary->regions[part->region].name);
            NUMBERS(file, part->idle_ps);
            causes(file, part->by_cause);
            (void)fputs("\r\n", file);
        }
    }
}

static void csv_regions(FILE *file, const struct summary *summary, size_t top, bool header)
{
    heading(file, header,
            "region,calls,total_ps,mean_ps,min_ps,p50_ps,p90_ps,p99_ps,max_ps,launched_ps,"
            "launched_ops,idle_behind_ps,launched_by,launches,exact," CAUSE_COLUMNS
            ",launched_ordered_ops");
    (void)top;
    for (size_t i = 0; i < summary->n_regions; i++) {
        const struct summary_region *r = &summary->regions[i];
        const struct summary_spread *s = &r->calls;
        begin(file, summary, r->name);
        NUMBERS(file, s->count, s->total_ps, s->mean_ps, s->min_ps, s->p50_ps, s->p90_ps, s->p99_ps,
                s->max_ps, r->launched_ps, r->launched_ops, r->idle_behind_ps);
        (void)fprintf(file, ",%s", summary_launched_name(r->launched_by));
        NUMBERS(file, r->launches, s->exact);
        causes(file, r->idle_behind_by_cause);
        NUMBERS(file, r->launched_ordered_ops);
        (void)fputs("\r\n", file);
    }
}

static void csv_steps(FILE *file, const struct summary *summary, size_t top, bool header)
{
    heading(file, header,
            "name,start_ps,duration_ps,busy_ps,idle_ps,cut,step,collective_ps,"
            "collective_exposed_ps");
    (void)top;
    for (size_t i = 0; i < summary->steps.n_samples; i++) {
        const struct summary_step *step = &summary->steps.samples[i];
        begin(file, summary, step->name);
        NUMBERS(file, step->start_ps, step->duration_ps, step->busy_ps, step->idle_ps, step->cut);
        (void)fprintf(file, ",%" PRId64, step->number);
        NUMBERS(file, step->collective_ps, step->exposed_ps);
        (void)fputs("\r\n", file);
    }
}

static void csv_ops(FILE *file, const struct summary *summary, size_t top, bool header)
{
    heading(file, header, "module,op,calls,total_ps,kind");
    for (size_t i = 0; i < rows(summary->n_ops, top); i++) {
        const struct summary_op *op = &summary->ops[i];
        begin(file, summary, op->module);
        (void)fputc(',', file);
        quoted(file, op->op);
        NUMBERS(file, op->calls, op->total_ps);
        (void)fprintf(file, ",%s\r\n", summary_kind_name(op->kind));
    }
}

static void csv_host(FILE *file, const struct summary *summary, size_t top, bool header)
{
    heading(file, header, "name,calls,total_ps");
    for (size_t i = 0; i < rows(summary->n_host_names, top); i++) {
        const struct summary_host_name *name = &summary->host_names[i];
        begin(file, summary, name->name);
        NUMBERS(file, name->calls, name->total_ps);
        (void)fputs("\r\n", file);
    }
}

int summary_print_csv(FILE *file, const struct summary *summary, const char *table, size_t top,
                      bool header, struct err *e)
{
    static const struct {
        const char *name;
        void (*print)(FILE *file, const struct summary *summary, size_t top, bool header);
    } tables[] = {{"devices", csv_devices}, {"idle", csv_idle}, {"regions", csv_regions},
                  {"steps", csv_steps},     {"ops", csv_ops},   {"host", csv_host}};
    for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++) {
        if (strcmp(tables[i].name, table) == 0) {
            tables[i].print(file, summary, top, header);
            return 0;
        }
    }
    return err_set(e, ERR_USAGE, "--csv takes one of %s; not '%s'", SUMMARY_CSV_TABLES, table);
}
