/* SPDX-License-Identifier: Apache-2.0 */
/* summary_many - `summary` of several captures or of parts, and the making of parts. */
#ifndef DEW_CLI_SUMMARY_MANY_H
#define DEW_CLI_SUMMARY_MANY_H

#include <jansson.h>
#include <stdio.h>

#include "cli/summary_inputs.h"
#include "trace/verdict.h"

struct summary_request {
    bool json;
    const char *csv;     /* or NULL */
    const char *partial; /* or NULL; "-" for standard output */
    size_t top;          /* rows of each table; 0 for all */
    struct summary_options options;
};

/* Does the whole work; returns an exit_status. */
int summary_many(const struct summary_inputs *inputs, const struct summary_request *request);

/* What a failed summary means as an exit_status. */
int summary_exit_status(const struct err *e);

struct many_view {
    struct many_rows *rows;
    const struct verdict *verdict;
    size_t top;
};

/* The page, and its first lines. */
void summary_many_headline(FILE *file, const struct many_view *view);
must_check int summary_many_text(FILE *file, const struct many_view *view, struct err *e);

/* The value of "joined", and its rows of processes. NULL without memory. */
json_t *summary_many_json(const struct many_view *view);
json_t *summary_many_processes_json(const struct many_view *view);

#define NOTES_MAX 16
#define NOTE_MAX 512

/* What is odd about the group, in sentences. Returns how many. */
size_t summary_many_notes(const struct many_view *view, char notes[NOTES_MAX][NOTE_MAX]);

#endif
