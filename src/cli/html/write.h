/* SPDX-License-Identifier: Apache-2.0 */
/* write - text, numbers and table cells as HTML.
 *
 * Everything that comes from a capture goes through html_text() or html_json_text(), which leave
 * nothing in it that HTML or JSON would read as its own. It takes valid UTF-8, as every string of a
 * summary is. */
#ifndef DEW_CLI_HTML_WRITE_H
#define DEW_CLI_HTML_WRITE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* A longer name is cut here, and says how long it was: a page has no use for 70,000 characters. */
#define HTML_TEXT_MAX 400 /* bytes */

/* Rows of one table. More are counted in words below it; --json and --csv have them all. */
#define HTML_ROWS_MAX 1000

/* Escaped, good between tags and within double quotes; control characters as \xHH. */
void html_text(FILE *out, const char *text);

/* A sentence of the summary's own, whole, in which `...` is code. Names in it are escaped too. */
void html_words(FILE *out, const char *words);

/* As html_text(), in an element of its own, so that right-to-left text cannot reorder what is
 * beside it.
 */
void html_name(FILE *out, const char *name);

/* A JSON string for a <script> element: ASCII only, and without '<'. */
void html_json_text(FILE *out, const char *text);

/* "12.34 ms", "12.3 %", "27,585" */
void html_ps(FILE *out, uint64_t ps);
void html_share(FILE *out, uint64_t part, uint64_t whole);
void html_count(FILE *out, uint64_t count);

struct html_column {
    const char *title;
    const char *meaning; /* shown on hover; may be NULL */
    bool number;
};

/* `id` is the table's; its caption is what assistive technology calls it. `top`: see page.h. */
void html_table_begin(FILE *out, const char *id, const char *caption,
                      const struct html_column *columns, size_t n_columns, size_t top);
/* `left` rows of `what` were not written. */
void html_table_end(FILE *out, size_t left, const char *what);

/* Why a table has no rows. */
void html_none(FILE *out, const char *why);

/* Cells carry the exact value as data-v, which sorting uses. */
void html_cell_head(FILE *out, const char *name);
void html_cell_name(FILE *out, const char *name);
void html_cell_ps(FILE *out, uint64_t ps);
void html_cell_count(FILE *out, uint64_t count);
void html_cell_share(FILE *out, uint64_t part, uint64_t whole);

/* A time with a bar below it, `ps` of `full`; `kind` is its CSS class. */
void html_cell_bar(FILE *out, uint64_t ps, uint64_t full, const char *kind);

#endif
