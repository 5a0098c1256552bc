/* SPDX-License-Identifier: Apache-2.0 */
/* page - the summary as one HTML file: what fills each slot of page.html.
 *
 * page.html names a slot as {{name}}; tools/html_page.py turns the page, with the style and the
 * script in it, into `html_parts`: the bytes before each slot and the function html_slot_NAME that
 * fills it. A slot without its function does not link. Slots only write; a full disk or no memory
 * shows when the stream is closed. */
#ifndef DEW_CLI_HTML_PAGE_H
#define DEW_CLI_HTML_PAGE_H

#include "trace/summary.h"

struct html_page {
    FILE *out;
    const struct summary *summary;
    size_t top; /* rows that a table shows before one asks for more; 0: all */
};

typedef void html_slot(const struct html_page *page);

struct html_part {
    const char *text;
    size_t size;
    html_slot *slot; /* what follows the text; NULL at the end of the page */
};

/* Generated at build time from page.html, page.css and page.js. */
extern const struct html_part html_parts[];
extern const size_t html_n_parts;

html_slot html_slot_title, html_slot_headline, html_slot_facts, html_slot_alert;
html_slot html_slot_strip_none, html_slot_steps, html_slot_regions, html_slot_idle;
html_slot html_slot_devices, html_slot_ops, html_slot_host, html_slot_receipt, html_slot_notes;
html_slot html_slot_data;

#endif
