/* SPDX-License-Identifier: Apache-2.0 */
/* table - the one file that includes libsmartcols, and how a table is made to fit.
 *
 * Names are shortened before columns are left out, but never so far that two of them look alike;
 * a table that does not fit even so is printed too wide. */
#include <libsmartcols.h>
#include <stdlib.h>
#include <string.h>

#include "cli/output.h"
#include "cli/width.h"

#include "base/banned.h"

#define COLUMNS_MAX 32
#define NAME_WIDTH_MIN 8 /* less says nothing, even where it tells names apart */

struct table {
    struct libscols_table *scols;
    size_t n_columns;
    struct table_column columns[COLUMNS_MAX];
    const char *const *spare; /* borrowed from the caller of table_spare() */
    size_t natural[COLUMNS_MAX], least[COLUMNS_MAX];
    bool hidden[COLUMNS_MAX];
    bool failed;
};

static bool add_columns(struct table *table)
{
    for (size_t i = 0; i < table->n_columns; i++) {
        int flags = table->columns[i].right ? SCOLS_FL_RIGHT : 0;
        if (!scols_table_new_column(table->scols, table->columns[i].title, 0, flags))
            return false;
    }
    return true;
}

struct table *table_new(const struct table_column *columns, size_t n_columns)
{
    CLEANUP(table_free) struct table *table = calloc(1, sizeof(*table));
    if (!table || n_columns > COLUMNS_MAX)
        return NULL;
    table->n_columns = n_columns;
    memcpy(table->columns, columns, n_columns * sizeof(*columns));
    table->scols = scols_new_table();
    if (!table->scols || !add_columns(table))
        return NULL;
    return STEAL(table);
}

void table_spare(struct table *table, const char *const *titles)
{
    if (table)
        table->spare = titles;
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

static const char *cell_at(const struct table *table, size_t row, size_t column)
{
    struct libscols_line *line = scols_table_get_line(table->scols, row);
    const char *text =
        line ? scols_line_get_column_data(line, scols_table_get_column(table->scols, column))
             : NULL;
    return text ? text : "";
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Of sorted texts neighbours have most in common. */
static bool measure_names(struct table *table, size_t column, size_t n_rows)
{
    CLEANUP(cleanup_free) const char **texts = calloc(n_rows + 1, sizeof(*texts));
    if (!texts)
        return false;
    for (size_t row = 0; row < n_rows; row++)
        texts[row] = cell_at(table, row, column);
    qsort(texts, n_rows, sizeof(*texts), by_text);
    size_t least = NAME_WIDTH_MIN;
    for (size_t row = 1; row < n_rows; row++) {
        if (strcmp(texts[row - 1], texts[row]) == 0)
            continue;
        size_t needed = width_to_differ(texts[row - 1], texts[row]) + 1; /* for the mark */
        least = needed > least ? needed : least;
    }
    table->least[column] = least < table->natural[column] ? least : table->natural[column];
    return true;
}

static bool measure(struct table *table)
{
    size_t n_rows = scols_table_get_nlines(table->scols);
    for (size_t i = 0; i < table->n_columns; i++) {
        size_t title = width_of(table->columns[i].title), widest = title;
        for (size_t row = 0; row < n_rows; row++) {
            size_t width = width_of(cell_at(table, row, i));
            widest = width > widest ? width : widest;
        }
        table->natural[i] = table->least[i] = widest;
        if (table->columns[i].cut && !measure_names(table, i, n_rows))
            return false;
        table->least[i] = table->least[i] > title ? table->least[i] : title;
    }
    return true;
}

static size_t width_with(const struct table *table, const size_t widths[COLUMNS_MAX])
{
    size_t sum = 0, shown = 0;
    for (size_t i = 0; i < table->n_columns; i++) {
        sum += table->hidden[i] ? 0 : widths[i];
        shown += !table->hidden[i];
    }
    return sum + (shown ? shown - 1 : 0);
}

static void hide(struct table *table, const char *title)
{
    for (size_t i = 0; i < table->n_columns; i++) {
        if (strcmp(table->columns[i].title, title) != 0)
            continue;
        struct libscols_column *column = scols_table_get_column(table->scols, i);
        table->hidden[i] = true;
        (void)scols_column_set_flags(column, scols_column_get_flags(column) | SCOLS_FL_HIDDEN);
    }
}

static bool shorten(struct table *table, size_t column, size_t width)
{
    size_t n_rows = scols_table_get_nlines(table->scols);
    for (size_t row = 0; row < n_rows; row++) {
        CLEANUP(cleanup_free) char *text = width_shorten(cell_at(table, row, column), width);
        if (!text || scols_line_set_data(scols_table_get_line(table->scols, row), column, text))
            return false;
    }
    return true;
}

/* Takes what is too much from the widest names. */
static bool shorten_names(struct table *table, size_t width)
{
    size_t widths[COLUMNS_MAX];
    memcpy(widths, table->natural, sizeof(widths));
    while (width_with(table, widths) > width) {
        size_t most = table->n_columns;
        for (size_t i = 0; i < table->n_columns; i++)
            if (!table->hidden[i] && widths[i] > table->least[i] &&
                (most == table->n_columns || widths[i] > widths[most]))
                most = i;
        if (most == table->n_columns)
            break;
        widths[most]--;
    }
    for (size_t i = 0; i < table->n_columns; i++)
        if (widths[i] < table->natural[i] && !shorten(table, i, widths[i]))
            return false;
    return true;
}

static bool fit(struct table *table, size_t width)
{
    if (!measure(table))
        return false;
    const char *const *spare = table->spare;
    for (; spare && *spare && width_with(table, table->least) > width; spare++)
        hide(table, *spare);
    return shorten_names(table, width);
}

static void tell_hidden(const struct table *table, FILE *file)
{
    const char *before = "  no room for ";
    size_t needed = table->n_columns - 1;
    for (size_t i = 0; i < table->n_columns; i++) {
        needed += table->least[i];
        if (!table->hidden[i])
            continue;
        (void)fprintf(file, "%s%s", before, table->columns[i].title);
        before = ", ";
    }
    if (*before == ',')
        (void)fprintf(file, "; %zu columns would do (COLUMNS=%zu)\n", needed, needed);
}

int table_print(struct table *table, FILE *file, struct err *e)
{
    if (!table || table->failed)
        return err_nomem(e);
    unsigned width = output_width(file);
    /* Into a file or pipe nothing is cut: who reads it there wants the whole name. */
    if (width && !fit(table, width))
        return err_nomem(e);
    int result = scols_table_set_stream(table->scols, file);
    if (result == 0)
        result = scols_table_set_termforce(table->scols, SCOLS_TERMFORCE_NEVER);
    if (result == 0)
        result = scols_print_table(table->scols);
    if (result == 0)
        tell_hidden(table, file);
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
