/* SPDX-License-Identifier: Apache-2.0 */
/* summary_write - a summary as a page for people, on a terminal or in a browser, as JSON and as
 * CSV.
 *
 * Each writer only reads the result; what it means is in docs/summary.md. */
#ifndef DEW_CLI_SUMMARY_WRITE_H
#define DEW_CLI_SUMMARY_WRITE_H

#include <jansson.h>
#include <stdio.h>

#include "trace/summary.h"

/* The page; `top` rows of each table, 0 for all. */
must_check int summary_print_text(FILE *file, const struct summary *summary, size_t top,
                                  struct err *e);

/* Schema 1. NULL without memory. `top` rows of ops and host names, 0 for all; of the slowest steps
 * as many as the summary has. */
json_t *summary_to_json(const struct summary *summary, size_t top);

/* `top` rows of ops and host names, 0 for all; the other tables are whole. ERR_USAGE for a table of
 * another name. */
must_check int summary_print_csv(FILE *file, const struct summary *summary, const char *table,
                                 size_t top, bool header, struct err *e);

/* One HTML page that needs nothing beside itself; tables show `top` rows at first, 0 for all. What
 * goes wrong with `file` shows when it is flushed. */
void summary_print_html(FILE *file, const struct summary *summary, size_t top);

/* The same into a file, which is replaced only when the page is complete. ERR_USAGE where `path` is
 * no place for it: a folder, a device, the capture itself. */
must_check int summary_write_html(const char *path, const struct summary *summary, size_t top,
                                  struct err *e);

#define SUMMARY_CSV_TABLES "devices, idle, regions, steps, ops, host"

#endif
