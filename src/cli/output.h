/* SPDX-License-Identifier: Apache-2.0 */
/* output - how results look: terminal or not, colours, units, tables, JSON.
 *
 * Colours appear only on a terminal, never with NO_COLOR set or TERM=dumb. Leaves out what a
 * command says; foreign text (names from a file) goes through output_text() or a table, which make
 * it harmless to a terminal. */
#ifndef DEW_CLI_OUTPUT_H
#define DEW_CLI_OUTPUT_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/err.h"
#include "base/view.h"

bool output_is_terminal(FILE *file);

/* Columns of the terminal; $COLUMNS where that is set; 0 where there is no limit (a file or pipe).
 */
unsigned output_width(FILE *file);

bool output_colours(FILE *file);

enum style {
    STYLE_PLAIN,
    STYLE_BOLD,
    STYLE_FAINT,
    STYLE_RED,
    STYLE_GREEN,
    STYLE_YELLOW,
};

/* The escape sequences to begin and end a style; "" where `file` takes no colours. */
const char *style_begin(FILE *file, enum style style);
const char *style_end(FILE *file);

#define FORMAT_MAX 32

/* "1.234 ms", in the unit that leaves 1 to 999 in front; both return `buffer`. */
const char *format_ps(int64_t ps, char buffer[FORMAT_MAX]);
const char *format_bytes(uint64_t bytes, char buffer[FORMAT_MAX]);

/* "12.3 %" of part in whole; "-" where whole is 0. */
const char *format_share(uint64_t part, uint64_t whole, char buffer[FORMAT_MAX]);

/* Writes foreign text: control characters as \xHH. */
void output_text(FILE *file, struct view text);

/* A string value: bytes that are not UTF-8 become U+FFFD. NULL without memory. */
json_t *json_text(struct view text);

/* Writes and releases `json` (stolen). NULL, the sign that making it ran out of memory, is an
 * error. */
must_check int output_json(FILE *file, json_t *json, struct err *e);

/* Whether `what` ("the page") may be written to `path` (ERR_USAGE). Replacing goes by rename, which
 * would put a file in the place of a device, or of `source`, what it is made from. */
must_check int output_check_target(const char *path, const char *what, const char *source,
                                   struct err *e);

struct table_column {
    const char *title;
    bool right; /* numbers */
    bool cut;   /* may be shortened to fit the terminal, as far as texts still differ */
};

struct table;

/* NULL without memory, here and below: a command that only then gives up checks once. */
struct table *table_new(const struct table_column *columns, size_t n_columns);

/* The titles of columns that may be left out where room is short, the first ones first, ended by
 * NULL; borrowed until it is printed. What was left out is told below the table. */
void table_spare(struct table *table, const char *const *titles);

/* One cell a column, copied. A NULL table is left alone. */
void table_row(struct table *table, const char *const *cells);

/* Prints to `file` what was added; ERR_MEMORY where any step before had none. */
must_check int table_print(struct table *table, FILE *file, struct err *e);

void table_free(struct table **table);

#endif
