/* SPDX-License-Identifier: Apache-2.0 */
/* tool - what xprof's own front end asks of the converter for each tool.
 *
 * The options and MIME types here are those of xprof.convert.raw_to_tool_data with no parameters
 * given, so that a report is the same bytes as xprof's own. A tool that is not in the table (a
 * newer xprof may have one) gets the default row. */
#ifndef DEW_XPROF_TOOL_H
#define DEW_XPROF_TOOL_H

#include <stdbool.h>
#include <stddef.h>

#include "xprof/converter.h"

#define TOOL_OPTIONS_MAX 3

#define MIME_JSON "application/json"
#define MIME_BYTES "application/octet-stream"
#define MIME_TEXT "text/plain"
#define MIME_HTML "text/html"

struct tool {
    const char *name; /* "" in the default row */
    const char *mime; /* of a result made with the options below */
    bool one_host;    /* takes one capture a call */
    bool interactive; /* made for a page that asks again and again, not for a file */
    bool after_names; /* gives nothing before "tool_names" was asked for in the same folder */
    size_t n_options;
    struct converter_option options[TOOL_OPTIONS_MAX];
};

/* Never NULL. A trailing '^', an old spelling that xprof still takes, is part of no row: cut it off
 * with tool_name_length(). */
const struct tool *tool_find(const char *name);

/* The length of the name without that trailing '^'. */
size_t tool_name_length(const char *name);

#endif
