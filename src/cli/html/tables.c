/* SPDX-License-Identifier: Apache-2.0 */
/* tables - regions, steps, devices, ops and host names, complete without the script. */
#include <inttypes.h>

#include "cli/html/page.h"
#include "cli/html/write.h"

#include "base/banned.h"

#define COLUMNS(columns) (columns), sizeof(columns) / sizeof((columns)[0])

static size_t rows_of(size_t n)
{
    return n > HTML_ROWS_MAX ? HTML_ROWS_MAX : n;
}

static uint64_t larger(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static void region_row(FILE *out, const struct summary_region *region, uint64_t full)
{
    (void)fputs("<tr>", out);
    html_cell_head(out, region->name);
    html_cell_count(out, region->calls.count);
    html_cell_bar(out, region->calls.total_ps, full, "host");
    html_cell_bar(out, region->launched_ps, full, "busy");
    html_cell_bar(out, region->idle_behind_ps, full, "idle");
    html_cell_ps(out, region->calls.mean_ps);
    html_cell_ps(out, region->calls.p50_ps);
    html_cell_ps(out, region->calls.p99_ps);
    html_cell_ps(out, region->calls.max_ps);
    html_cell_count(out, region->launched_ops);
    (void)fputs("</tr>\n", out);
}

void html_slot_regions(const struct html_page *page)
{
    static const struct html_column columns[] = {
        {"Region", NULL, false},
        {"Calls", NULL, true},
        {"On the host", "time that the program spent inside, all calls together", true},
        {"Launched", "device time of the work that it launched, whenever that ran", true},
        {"Idle behind", "time that devices idled while it was the innermost open region", true},
        {"Mean", "of one call on the host", true},
        {"p50", "half of the calls were no longer", true},
        {"p99", "99 of 100 calls were no longer", true},
        {"Max", "the longest call", true},
        {"Ops", "device ops that it launched", true}};
    FILE *out = page->out;
    const struct summary *summary = page->summary;
    if (!summary->n_regions) {
        html_none(out, summary->no_regions);
        return;
    }
    uint64_t full = 0;
    for (size_t i = 0; i < summary->n_regions; i++) {
        const struct summary_region *r = &summary->regions[i];
        full = larger(full, larger(r->calls.total_ps, larger(r->launched_ps, r->idle_behind_ps)));
    }
    html_table_begin(out, "regions-table", "Regions, by their time on the host", COLUMNS(columns),
                     page->top);
    size_t n = rows_of(summary->n_regions);
    for (size_t i = 0; i < n; i++)
        region_row(out, &summary->regions[i], full);
    html_table_end(out, summary->n_regions - n, "regions");
    if (summary->n_devices && !summary->has_links)
        (void)fputs(
            "<p class=\"more\">Launched is by overlap in time here, a guess, for want of links "
            "in the file.</p>\n",
            out);
}

static void step_row(FILE *out, const struct summary_step *step)
{
    (void)fprintf(out,
                  "<tr data-start=\"%" PRIu64 "\" data-duration=\"%" PRIu64
                  "\"><th scope=\"row\" data-v=\"%" PRId64 "\">%" PRId64 "</th>",
                  step->start_ps, step->duration_ps, step->number, step->number);
    html_cell_name(out, step->name);
    html_cell_ps(out, step->duration_ps);
    html_cell_ps(out, step->busy_ps);
    html_cell_ps(out, step->idle_ps);
    (void)fprintf(out, "<td>%s</td></tr>\n", step->cut ? "cut by the window" : "");
}

void html_slot_steps(const struct html_page *page)
{
    static const struct html_column columns[] = {
        {"Step", NULL, true},
        {"Name", NULL, false},
        {"Duration", NULL, true},
        {"Device busy", "mean over the devices, inside the step", true},
        {"Device idle", NULL, true},
        {"", NULL, false}};
    FILE *out = page->out;
    const struct summary_steps *steps = &page->summary->steps;
    if (!steps->count) {
        html_none(out, page->summary->no_steps);
        return;
    }
    const struct {
        const char *term;
        uint64_t ps;
    } figures[] = {{"Mean", steps->durations.mean_ps},
                   {"p50", steps->durations.p50_ps},
                   {"p90", steps->durations.p90_ps},
                   {"Slowest", steps->durations.max_ps}};
    (void)fputs("<dl class=\"facts\" id=\"steps-facts\">\n<div><dt>Steps</dt><dd>", out);
    html_count(out, steps->count);
    if (steps->cut) {
        (void)fputs(", ", out);
        html_count(out, steps->cut);
        (void)fputs(" cut", out);
    }
    (void)fputs("</dd></div>\n", out);
    for (size_t i = 0; i < sizeof(figures) / sizeof(figures[0]); i++) {
        (void)fprintf(out, "<div><dt>%s</dt><dd data-v=\"%" PRIu64 "\">", figures[i].term,
                      figures[i].ps);
        html_ps(out, figures[i].ps);
        (void)fputs("</dd></div>\n", out);
    }
    if (page->summary->n_devices) {
        (void)fputs("<div><dt>Device busy in steps</dt><dd>", out);
        html_share(out, steps->busy_ps, steps->durations.total_ps);
        (void)fputs("</dd></div>\n", out);
    }
    (void)fputs("</dl>\n", out);
    html_table_begin(out, "steps-table", "The slowest steps", COLUMNS(columns), page->top);
    size_t n = rows_of(steps->n_slowest);
    for (size_t i = 0; i < n; i++)
        step_row(out, &steps->slowest[i]);
    html_table_end(out, steps->n_slowest - n, "steps");
}

void html_slot_devices(const struct html_page *page)
{
    static const struct html_column columns[] = {
        {"Device", NULL, false},
        {"Busy", "length of the union of its ops", true},
        {"Share", "of the window", true},
        {"Idle", "the window less busy", true},
        {"Not launched", "idle while the next work had not been launched", true},
        {"Between", "idle although the next work was launched", true},
        {"Edge", "idle before the first op and after the last", true},
        {"Unknown", "idle before work whose launch was not found", true},
        {"Ops", NULL, true}};
    FILE *out = page->out;
    const struct summary *summary = page->summary;
    if (!summary->n_devices) {
        html_none(out, summary->no_devices);
        return;
    }
    html_table_begin(out, "devices-table", "Devices: busy, and idle by cause", COLUMNS(columns), 0);
    size_t n = rows_of(summary->n_devices);
    for (size_t i = 0; i < n; i++) {
        const struct summary_device *device = &summary->devices[i];
        (void)fputs("<tr>", out);
        html_cell_head(out, device->name);
        html_cell_ps(out, device->busy_ps);
        html_cell_share(out, device->busy_ps, summary->window_ps);
        html_cell_ps(out, device->idle_ps);
        html_cell_ps(out, device->idle_by_cause[IDLE_HOST]);
        html_cell_ps(out, device->idle_by_cause[IDLE_BETWEEN]);
        html_cell_ps(out, device->idle_by_cause[IDLE_EDGE]);
        html_cell_ps(out, device->idle_by_cause[IDLE_UNKNOWN]);
        html_cell_count(out, device->ops);
        (void)fputs("</tr>\n", out);
    }
    html_table_end(out, summary->n_devices - n, "devices");
}

/* "Op time by kind: fusion 98.1 %, copy 1.9 %. " Ops overlap, so it is of their sum, not of busy.
 */
static void kinds_words(FILE *out, const struct summary *summary)
{
    uint64_t kinds[OP_KINDS] = {0}, all = 0, collective = 0, exposed = 0;
    for (size_t i = 0; i < summary->n_ops; i++) {
        add_saturated(&kinds[summary->ops[i].kind], summary->ops[i].total_ps);
        add_saturated(&all, summary->ops[i].total_ps);
    }
    const char *between = "<p>Op time by kind: ";
    for (int kind = 0; kind < OP_KINDS; kind++) {
        if (!kinds[kind])
            continue;
        (void)fprintf(out, "%s%s ", between, summary_kind_name((enum op_kind)kind));
        html_share(out, kinds[kind], all);
        between = ", ";
    }
    (void)fputs(*between == ',' ? "." : "<p>", out);
    for (size_t i = 0; i < summary->n_devices; i++) {
        add_saturated(&collective, summary->devices[i].collective_ps);
        add_saturated(&exposed, summary->devices[i].collective_exposed_ps);
    }
    if (collective) {
        (void)fputs(" Collectives took ", out);
        html_ps(out, collective);
        (void)fputs(", of which ", out);
        html_share(out, collective - exposed, collective);
        (void)fputs(" ran hidden behind other ops.", out);
    }
    (void)fputs("</p>\n", out);
}

void html_slot_ops(const struct html_page *page)
{
    static const struct html_column columns[] = {
        {"Op", NULL, false},
        {"Total", NULL, true},
        {"Share", "of all devices' busy time", true},
        {"Calls", NULL, true},
        {"Mean", NULL, true},
        {"Kind", NULL, false},
        {"Module", NULL, false},
    };
    FILE *out = page->out;
    const struct summary *summary = page->summary;
    if (!summary->n_ops) {
        html_none(out, summary->no_ops);
        return;
    }
    uint64_t busy = 0;
    for (size_t i = 0; i < summary->n_devices; i++)
        add_saturated(&busy, summary->devices[i].busy_ps);
    kinds_words(out, summary);
    html_table_begin(out, "ops-table", "Device ops, by their time on all devices", COLUMNS(columns),
                     page->top);
    size_t n = rows_of(summary->n_ops);
    for (size_t i = 0; i < n; i++) {
        const struct summary_op *op = &summary->ops[i];
        (void)fputs("<tr>", out);
        html_cell_head(out, op->op);
        html_cell_bar(out, op->total_ps, summary->ops[0].total_ps, "busy");
        html_cell_share(out, op->total_ps, busy);
        html_cell_count(out, op->calls);
        html_cell_ps(out, op->calls ? op->total_ps / op->calls : 0);
        (void)fprintf(out, "<td>%s</td>", summary_kind_name(op->kind));
        html_cell_name(out, op->module);
        (void)fputs("</tr>\n", out);
    }
    html_table_end(out, summary->n_ops - n, "ops");
}

void html_slot_host(const struct html_page *page)
{
    static const struct html_column columns[] = {
        {"Name", NULL, false}, {"Total", NULL, true}, {"Calls", NULL, true}};
    FILE *out = page->out;
    const struct summary *summary = page->summary;
    if (!summary->n_host_names) {
        html_none(out, summary->no_host);
        return;
    }
    html_table_begin(out, "host-table",
                     "Host events by name; a name's time holds that of the names inside it",
                     COLUMNS(columns), page->top);
    size_t n = rows_of(summary->n_host_names);
    for (size_t i = 0; i < n; i++) {
        const struct summary_host_name *name = &summary->host_names[i];
        (void)fputs("<tr>", out);
        html_cell_head(out, name->name);
        html_cell_bar(out, name->total_ps, summary->host_names[0].total_ps, "host");
        html_cell_count(out, name->calls);
        (void)fputs("</tr>\n", out);
    }
    html_table_end(out, summary->n_host_names - n, "names");
}
