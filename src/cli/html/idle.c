/* SPDX-License-Identifier: Apache-2.0 */
/* idle - what each device's window is made of: busy, then idle behind each region.
 *
 * One bar a device, stacked to the window, and the table that is the bars' key. The regions with
 * most idle time have a part of their own, the others share one, so a part's colour is never the
 * only thing that tells it: its number stands in the bar and in the table. */
#include <inttypes.h>

#include "cli/html/page.h"
#include "cli/html/write.h"

#include "base/banned.h"

#define OWN_PARTS 6           /* regions with a part of their own */
#define PARTS (OWN_PARTS + 3) /* busy, these, other regions, no region */
#define PART_BUSY 0
#define PART_OTHER (OWN_PARTS + 1)
#define PART_NONE (OWN_PARTS + 2)
#define BARS_MAX 32       /* devices with a bar */
#define COLUMNS_MAX 8     /* devices with a column in the table */
#define LABEL_PERCENT 2.5 /* a narrower part has no room for its number */

struct parts {
    uint32_t regions[OWN_PARTS]; /* indices into summary.regions */
    size_t n_own;
    size_t n_other;
};

static void choose(const struct summary *summary, struct parts *ret)
{
    *ret = (struct parts){0};
    for (size_t i = 0; i < summary->n_regions; i++) {
        uint64_t idle = summary->regions[i].idle_behind_ps;
        if (!idle)
            continue;
        size_t at = ret->n_own;
        while (at && summary->regions[ret->regions[at - 1]].idle_behind_ps < idle)
            at--;
        bool full = ret->n_own == OWN_PARTS;
        ret->n_other += full;
        if (at == OWN_PARTS)
            continue;
        ret->n_own += !full;
        for (size_t j = ret->n_own - 1; j > at; j--)
            ret->regions[j] = ret->regions[j - 1];
        ret->regions[at] = (uint32_t)i;
    }
}

static size_t part_of(const struct parts *parts, uint32_t region)
{
    if (region == SUMMARY_NO_REGION)
        return PART_NONE;
    for (size_t i = 0; i < parts->n_own; i++)
        if (parts->regions[i] == region)
            return i + 1;
    return PART_OTHER;
}

static void measure(const struct summary_device *device, const struct parts *parts,
                    uint64_t ret_ps[PARTS])
{
    for (size_t i = 0; i < PARTS; i++)
        ret_ps[i] = 0;
    ret_ps[PART_BUSY] = device->busy_ps;
    for (size_t i = 0; i < device->n_idle_by_region; i++) {
        const struct summary_region_idle *idle = &device->idle_by_region[i];
        add_saturated(&ret_ps[part_of(parts, idle->region)], idle->idle_ps);
    }
}

/* A part's idle time by cause, over all devices. */
static void measure_causes(const struct summary *summary, const struct parts *parts, size_t part,
                           uint64_t ret_ps[IDLE_CAUSES])
{
    for (int cause = 0; cause < IDLE_CAUSES; cause++)
        ret_ps[cause] = 0;
    for (size_t i = 0; i < summary->n_devices; i++) {
        const struct summary_device *device = &summary->devices[i];
        for (size_t k = 0; k < device->n_idle_by_region; k++) {
            const struct summary_region_idle *idle = &device->idle_by_region[k];
            for (int cause = 0; part_of(parts, idle->region) == part && cause < IDLE_CAUSES;
                 cause++)
                add_saturated(&ret_ps[cause], idle->by_cause[cause]);
        }
    }
}

static void part_name(FILE *out, const struct summary *summary, const struct parts *parts,
                      size_t part)
{
    if (part == PART_BUSY)
        (void)fputs("busy", out);
    else if (part == PART_NONE)
        (void)fputs("idle, no region open", out);
    else if (part == PART_OTHER)
        (void)fprintf(out, "idle behind %zu other region%s", parts->n_other,
                      parts->n_other > 1 ? "s" : "");
    else {
        (void)fputs("idle behind ", out);
        html_text(out, summary->regions[parts->regions[part - 1]].name);
    }
}

static void bar_label(FILE *out, const struct summary *summary, const struct parts *parts,
                      const uint64_t ps[PARTS])
{
    const char *between = "";
    for (size_t i = 0; i < PARTS; i++) {
        if (!ps[i])
            continue;
        (void)fputs(between, out);
        part_name(out, summary, parts, i);
        (void)fputs(" ", out);
        html_ps(out, ps[i]);
        (void)fputs(" (", out);
        html_share(out, ps[i], summary->window_ps);
        (void)fputs(")", out);
        between = "; ";
    }
}

static void bar(FILE *out, const struct summary *summary, const struct parts *parts,
                const struct summary_device *device, const size_t key[PARTS])
{
    uint64_t ps[PARTS];
    measure(device, parts, ps);
    (void)fputs("<div class=\"stack\"><span class=\"stack-name\">", out);
    html_name(out, device->name);
    (void)fputs("</span><svg role=\"img\" aria-label=\"", out);
    html_text(out, device->name);
    (void)fputs(": ", out);
    bar_label(out, summary, parts, ps);
    (void)fputs("\">", out);
    double at = 0, whole = summary->window_ps ? (double)summary->window_ps : 1;
    for (size_t i = 0; i < PARTS; i++) {
        double width = 100.0 * (double)ps[i] / whole;
        if (!ps[i])
            continue;
        (void)fprintf(out,
                      "<rect class=\"part p%zu\" data-v=\"%" PRIu64
                      "\" x=\"%.3f%%\" width=\"%.3f%%\" height=\"100%%\"><title>",
                      i, ps[i], at, width);
        part_name(out, summary, parts, i);
        (void)fputs(": ", out);
        html_ps(out, ps[i]);
        (void)fputs(", ", out);
        html_share(out, ps[i], summary->window_ps);
        (void)fputs("</title></rect>", out);
        if (width >= LABEL_PERCENT)
            (void)fprintf(out, "<text class=\"t%zu\" x=\"%.3f%%\" y=\"50%%\">%zu</text>", i,
                          at + width / 2, key[i]);
        at += width;
    }
    (void)fputs("</svg></div>\n", out);
}

static void table_row(FILE *out, const struct summary *summary, const struct parts *parts,
                      size_t part, size_t key, const uint64_t (*ps)[PARTS], uint64_t all)
{
    (void)fprintf(out,
                  "<tr><td class=\"n\">%zu <svg class=\"swatch\" aria-hidden=\"true\"><rect "
                  "class=\"p%zu\" width=\"100%%\" height=\"100%%\"/></svg></td>",
                  key, part);
    (void)fputs("<th scope=\"row\"><bdi class=\"name\">", out);
    part_name(out, summary, parts, part);
    (void)fputs("</bdi></th>", out);
    html_cell_ps(out, all);
    uint64_t windows;
    if (!product_u64(summary->window_ps, summary->n_devices, &windows))
        windows = UINT64_MAX;
    html_cell_share(out, all, windows);
    if (summary->n_devices > 1 && summary->n_devices <= COLUMNS_MAX)
        for (size_t i = 0; i < summary->n_devices; i++)
            html_cell_ps(out, ps[i][part]);
    uint64_t causes[IDLE_CAUSES];
    measure_causes(summary, parts, part, causes);
    for (int cause = 0; cause < IDLE_CAUSES; cause++)
        html_cell_ps(out, causes[cause]);
    (void)fputs("</tr>\n", out);
}

static void table(FILE *out, const struct summary *summary, const struct parts *parts,
                  const size_t key[PARTS], const uint64_t sums[PARTS])
{
    uint64_t ps[COLUMNS_MAX][PARTS];
    static const struct html_column by_cause[IDLE_CAUSES] = {
        [IDLE_HOST] = {"Not launched", "of all devices, while the next work was not launched",
                       true},
        [IDLE_BETWEEN] = {"Between", "of all devices, although the next work was launched", true},
        [IDLE_EDGE] = {"Edge", "of all devices, before the first op and after the last", true},
        [IDLE_UNKNOWN] = {"Unknown", "of all devices, before work of unknown launch", true}};
    struct html_column columns[4 + COLUMNS_MAX + IDLE_CAUSES] = {
        {"Key", NULL, true},
        {"What", NULL, false},
        {summary->n_devices > 1 ? "All devices" : "Time", NULL, true},
        {"Share", "of the window", true}};
    size_t n = 4;
    if (summary->n_devices > 1 && summary->n_devices <= COLUMNS_MAX)
        for (size_t i = 0; i < summary->n_devices; i++) {
            measure(&summary->devices[i], parts, ps[i]);
            columns[n++] = (struct html_column){summary->devices[i].name, NULL, true};
        }
    for (int cause = 0; cause < IDLE_CAUSES; cause++)
        columns[n++] = by_cause[cause];
    html_table_begin(out, "idle-table", "What the window is made of", columns, n, 0);
    for (size_t i = 0; i < PARTS; i++)
        if (key[i])
            table_row(out, summary, parts, i, key[i], (const uint64_t(*)[PARTS])ps, sums[i]);
    html_table_end(out, 0, "");
}

void html_slot_idle(const struct html_page *page)
{
    FILE *out = page->out;
    const struct summary *summary = page->summary;
    if (!summary->n_devices) {
        html_none(out, summary->no_devices);
        return;
    }
    struct parts parts;
    uint64_t sums[PARTS] = {0};
    size_t key[PARTS] = {0}, n_keys = 0;
    choose(summary, &parts);
    for (size_t i = 0; i < summary->n_devices; i++) {
        uint64_t ps[PARTS];
        measure(&summary->devices[i], &parts, ps);
        for (size_t j = 0; j < PARTS; j++)
            add_saturated(&sums[j], ps[j]);
    }
    for (size_t i = 0; i < PARTS; i++)
        key[i] = sums[i] || i == PART_BUSY ? ++n_keys : 0;
    (void)fputs("<div class=\"stacks\">\n", out);
    size_t bars = summary->n_devices < BARS_MAX ? summary->n_devices : BARS_MAX;
    for (size_t i = 0; i < bars; i++)
        bar(out, summary, &parts, &summary->devices[i], key);
    (void)fputs("</div>\n", out);
    if (bars < summary->n_devices)
        (void)fprintf(out,
                      "<p class=\"more\">And %zu more devices, which <code>--csv idle</code> lists."
                      "</p>\n",
                      summary->n_devices - bars);
    table(out, summary, &parts, key, sums);
}
