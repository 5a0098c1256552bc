/* SPDX-License-Identifier: Apache-2.0 */
/* words - what the page says in sentences and lists: headline, facts, alert, receipt, notes. */
#include <inttypes.h>
#include <time.h>

#include "cli/html/page.h"
#include "cli/html/write.h"
#include "cli/summary_words.h"

#include "base/banned.h"

#define NS_PER_SECOND 1000000000

void html_slot_title(const struct html_page *page)
{
    html_text(page->out, page->summary->host);
}

void html_slot_headline(const struct html_page *page)
{
    FILE *out = page->out;
    const struct summary *summary = page->summary;
    const struct summary_voice voice = {out, html_name, html_ps, html_count};
    (void)fputs("<h1>", out);
    summary_say_headline(&voice, summary);
    (void)fputs("</h1>\n<p class=\"lede\">", out);
    if (summary_say_advice(&voice, summary))
        (void)fputs(" ", out);
    if (summary_say_unused(&voice, summary))
        (void)fputs(" ", out);
    (void)summary_say_steps(&voice, summary);
    (void)fputs("</p>", out);
}

static void fact_begin(FILE *out, const char *term)
{
    (void)fprintf(out, "<div><dt>%s</dt><dd>", term);
}

static void fact_end(FILE *out)
{
    (void)fputs("</dd></div>\n", out);
}

static void fact_text(FILE *out, const char *term, const char *text)
{
    fact_begin(out, term);
    html_name(out, text);
    fact_end(out);
}

static void fact_date(FILE *out, int64_t unix_ns)
{
    time_t seconds = (time_t)(unix_ns / NS_PER_SECOND);
    struct tm parts;
    char text[64];
    if (unix_ns <= 0 || !gmtime_r(&seconds, &parts) ||
        strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S UTC", &parts) == 0)
        return;
    fact_begin(out, "Captured");
    (void)fputs(text, out);
    fact_end(out);
}

void html_slot_facts(const struct html_page *page)
{
    FILE *out = page->out;
    const struct summary *summary = page->summary;
    fact_begin(out, "Window");
    html_ps(out, summary->window_ps);
    if (summary->step_range)
        (void)fputs(" (chosen by --step)", out);
    fact_end(out);
    fact_text(out, "Platform", summary_platform_name(summary->platform));
    fact_begin(out, "Events");
    html_count(out, summary->events);
    fact_end(out);
    fact_date(out, summary->start_unix_ns);
    if (*summary->host)
        fact_text(out, "Host", summary->host);
    if (summary->process >= 0) {
        fact_begin(out, "Process");
        (void)fprintf(out, "%" PRId64, summary->process);
        fact_end(out);
    }
    if (summary->jax_version)
        fact_text(out, "JAX", summary->jax_version);
    fact_text(out, "File", summary->file);
}

void html_slot_alert(const struct html_page *page)
{
    FILE *out = page->out;
    const struct summary *summary = page->summary;
    if (summary->receipt.damaged) {
        (void)fputs("<p class=\"alert\" role=\"alert\"><strong>The file is damaged at byte ", out);
        html_count(out, summary->receipt.damaged_at);
        (void)fputs(".</strong> This page holds only what is whole.</p>\n", out);
    }
    if (summary->n_warnings)
        (void)fprintf(out,
                      "<p class=\"hint\"><a href=\"#notes\">%zu note%s on this capture</a></p>\n",
                      summary->n_warnings, summary->n_warnings > 1 ? "s" : "");
}

static void receipt_row(FILE *out, const char *what, uint64_t value, const char *key)
{
    (void)fprintf(out,
                  "<tr><th scope=\"row\">%s</th><td class=\"n\" id=\"receipt-%s\" data-v=\"%" PRIu64
                  "\">",
                  what, key, value);
    html_count(out, value);
    (void)fputs("</td></tr>\n", out);
}

void html_slot_receipt(const struct html_page *page)
{
    const struct summary_receipt *receipt = &page->summary->receipt;
    const struct {
        const char *what, *key;
        uint64_t value;
    } rows[] = {
        {"Launch calls", "launches", receipt->launches},
        {"Launch calls without device ops", "launches_unmatched", receipt->launches_unmatched},
        {"Executions with device ops", "executions", receipt->executions},
        {"… followed through the file's links", "executions_linked", receipt->executions_linked},
        {"… queued, their launch told by number", "executions_numbered",
         receipt->executions_numbered},
        {"… queued, matched by launch order alone", "executions_ordered",
         receipt->executions_ordered - receipt->executions_numbered},
        {"… unmatched, given to no region", "executions_unmatched", receipt->executions_unmatched},
        {"In flight at the window's start", "in_flight_start", receipt->in_flight_start},
        {"In flight at the window's end", "in_flight_end", receipt->in_flight_end},
        {"Compilations inside the window", "compilations", receipt->compilations},
        {"Steps cut by the window", "steps_cut", receipt->steps_cut},
        {"Events outside the window", "events_outside", receipt->events_outside},
        {"Python-tracer events", "python_tracer_events", receipt->python_tracer_events},
        {"Planes", "planes", receipt->planes},
        {"Lines", "lines", receipt->lines},
    };
    FILE *out = page->out;
    (void)fputs(
        "<table id=\"receipt-table\" class=\"plain\"><caption>What of the file is accounted for"
        "</caption><tbody>\n",
        out);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        receipt_row(out, rows[i].what, rows[i].value, rows[i].key);
    (void)fputs("</tbody></table>\n", out);
}

void html_slot_notes(const struct html_page *page)
{
    FILE *out = page->out;
    const struct summary *summary = page->summary;
    (void)fputs("<div id=\"notes\"><h3>Notes</h3>\n", out);
    if (!summary->n_warnings) {
        (void)fputs("<p class=\"none\">Nothing odd about this capture.</p></div>\n", out);
        return;
    }
    (void)fputs("<ul>\n", out);
    for (size_t i = 0; i < summary->n_warnings; i++) {
        (void)fputs("<li>", out);
        html_words(out, summary->warnings[i]);
        (void)fputs("</li>\n", out);
    }
    (void)fputs("</ul></div>\n", out);
}
