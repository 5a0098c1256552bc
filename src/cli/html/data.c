/* SPDX-License-Identifier: Apache-2.0 */
/* data - what the script draws from: the devices' strips and the steps, as one JSON block.
 *
 * Written number by number rather than through a JSON tree: a strip has thousands of numbers, and
 * names are the only part that needs care. */
#include <inttypes.h>

#include "cli/html/page.h"
#include "cli/html/write.h"

#include "base/banned.h"

static void device_data(FILE *out, const struct summary_device *device, size_t n_strip)
{
    (void)fputs("{\"name\":", out);
    html_json_text(out, device->name);
    (void)fputs(",\"busy\":[", out);
    for (size_t i = 0; device->strip_busy_ps && i < n_strip; i++)
        (void)fprintf(out, "%s%" PRIu64, i ? "," : "", device->strip_busy_ps[i]);
    (void)fputs("]}", out);
}

static void step_data(FILE *out, const struct summary_step *step)
{
    (void)fprintf(out, "[%" PRId64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%d]",
                  step->number, step->start_ps, step->duration_ps, step->busy_ps, step->idle_ps,
                  step->cut);
}

/* Steps in a row that have one name are one group, so a long name is not repeated. */
static void steps_data(FILE *out, const struct summary_step *steps, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        bool first = i == 0 || strcmp(steps[i].name, steps[i - 1].name) != 0;
        if (first) {
            (void)fputs(i ? "]},{\"name\":" : "{\"name\":", out);
            html_json_text(out, steps[i].name);
            (void)fputs(",\"rows\":[", out);
        }
        (void)fputs(first ? "" : ",", out);
        step_data(out, &steps[i]);
    }
    (void)fputs(n ? "]}" : "", out);
}

void html_slot_data(const struct html_page *page)
{
    FILE *out = page->out;
    const struct summary *summary = page->summary;
    const struct summary_steps *steps = &summary->steps;
    (void)fprintf(out, "{\"window_ps\":%" PRIu64 ",\"n_strip\":%zu,\"devices\":[",
                  summary->window_ps, summary->n_strip);
    for (size_t i = 0; i < summary->n_devices; i++) {
        (void)fputs(i ? ",\n" : "", out);
        device_data(out, &summary->devices[i], summary->n_strip);
    }
    (void)fprintf(out,
                  "],\n\"steps\":{\"count\":%" PRIu64 ",\"stride\":%" PRIu64 ",\"p50_ps\":%" PRIu64
                  ",\"p90_ps\":%" PRIu64 ",\n\"slowest\":[",
                  steps->count, steps->sample_stride, steps->durations.p50_ps,
                  steps->durations.p90_ps);
    steps_data(out, steps->slowest, steps->n_slowest ? 1 : 0);
    (void)fputs("],\n\"groups\":[", out);
    steps_data(out, steps->samples, steps->n_samples);
    (void)fputs("]}}", out);
}

void html_slot_strip_none(const struct html_page *page)
{
    if (!page->summary->n_devices)
        html_none(page->out, page->summary->no_devices);
}
