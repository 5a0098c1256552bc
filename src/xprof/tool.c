/* SPDX-License-Identifier: Apache-2.0 */
/* tool - the table. */
#include "xprof/tool.h"

#include <string.h>

#include "base/banned.h"

#define SAVED                                                                                      \
    {                                                                                              \
        .key = "use_saved_result", .type = OPTION_BOOL, .flag = true                               \
    }
#define OFF(name)                                                                                  \
    {                                                                                              \
        .key = (name), .type = OPTION_BOOL, .flag = false                                          \
    }
#define TEXT(name, value)                                                                          \
    {                                                                                              \
        .key = (name), .type = OPTION_STRING, .text = (value)                                      \
    }

static const struct tool tools[] = {
    {
        /* Without {"format": "pb"} xprof's Python turns this protobuf into JSON itself; that is no
         * work of the converter's. "trace_viewer@" is the same trace as JSON from the library. */
        .name = "trace_viewer",
        .mime = MIME_BYTES,
        .interactive = true,
        .n_options = 1,
        .options = {SAVED},
    },
    {
        .name = "trace_viewer@",
        .mime = MIME_JSON,
        .interactive = true,
        .n_options = 1,
        .options = {SAVED},
    },
    {
        .name = "memory_profile",
        .mime = MIME_JSON,
        .one_host = true,
        .n_options = 1,
        .options = {SAVED},
    },
    {
        .name = "op_profile",
        .mime = MIME_JSON,
        .n_options = 2,
        .options = {SAVED, TEXT("group_by", "program")},
    },
    {
        .name = "hlo_op_profile",
        .mime = MIME_JSON,
        .n_options = 2,
        .options = {SAVED, TEXT("group_by", "program")},
    },
    {
        .name = "graph_viewer",
        .mime = MIME_TEXT,
        .interactive = true,
        .after_names = true,
        .n_options = 1,
        .options = {SAVED},
    },
    {
        .name = "memory_viewer",
        .mime = MIME_JSON,
        .interactive = true,
        .after_names = true,
        .n_options = 2,
        .options = {OFF("view_memory_allocation_timeline"), TEXT("memory_space", "")},
    },
    {
        .name = "megascale_stats",
        .mime = MIME_JSON,
        .n_options = 1,
        .options = {OFF("perfetto")},
    },
    {
        .name = "smart_suggestion",
        .mime = MIME_JSON,
        .n_options = 2,
        .options = {SAVED, OFF("refresh_suggestion")},
    },
    {
        .name = "",
        .mime = MIME_JSON,
        .n_options = 1,
        .options = {SAVED},
    },
};

const struct tool *tool_find(const char *name)
{
    const struct tool *tool = tools;
    while (*tool->name && strcmp(tool->name, name) != 0)
        tool++;
    return tool;
}

size_t tool_name_length(const char *name)
{
    size_t size = strlen(name);
    return size > 0 && name[size - 1] == '^' ? size - 1 : size;
}
