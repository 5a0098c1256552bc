/* SPDX-License-Identifier: Apache-2.0 */
/* table - the one file that includes libsmartcols. */
#include <libsmartcols.h>
#include <stdlib.h>

#include "cli/output.h"

#include "base/banned.h"

struct table {
    struct libscols_table *scols;
    size_t n_columns;
    bool failed;
};

static bool add_columns(struct table *table, const struct table_column *columns)
{
    for (size_t i = 0; i < table->n_columns; i++) {
        int flags = (columns[i].right ? SCOLS_FL_RIGHT : 0) | (columns[i].cut ? SCOLS_FL_TRUNC : 0);
        if (!scols_table_new_column(table->scols, columns[i].title, 0, flags))
            return false;
    }
    return true;
}

struct table *table_new(const struct table_column *columns, size_t n_columns)
{
    CLEANUP(table_free) struct table *table = calloc(1, sizeof(*table));
    if (!table)
        return NULL;
    table->n_columns = n_columns;
    table->scols = scols_new_table();
    if (!table->scols || !add_columns(table, columns))
        return NULL;
    return STEAL(table);
}

void table_row(struct table *table, const char *const *cells)
{
    if (!table || table->failed)
        return;
    struct libscols_line *line = scols_table_new_line(table->scols, NULL);
    for (size_t i = 0; line && i < table->n_columns; i++)
        if (scols_line_set_data(line, i, cells[i]) != 0)
            line = NULL;
    table->failed = line == NULL;
}

int table_print(struct table *table, FILE *file, struct err *e)
{
    if (!table || table->failed)
        return err_nomem(e);
    unsigned width = output_width(file);
    /* Into a file or pipe nothing is cut: who reads it there wants the whole name. */
    int result = scols_table_set_stream(table->scols, file);
    if (result == 0)
        result = scols_table_set_termforce(table->scols,
                                           width ? SCOLS_TERMFORCE_ALWAYS : SCOLS_TERMFORCE_NEVER);
    if (result == 0 && width)
        result = scols_table_set_termwidth(table->scols, width);
    if (result == 0)
        result = scols_print_table(table->scols);
    return result == 0 || ferror(file) ? 0 : err_nomem(e);
}

void table_free(struct table **table)
{
    if (!*table)
        return;
    if ((*table)->scols)
        scols_unref_table((*table)->scols);
    free(*table);
    *table = NULL;
}
