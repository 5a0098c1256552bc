/* SPDX-License-Identifier: Apache-2.0 */
/* converter_arguments - paths and parameters of a conversion, from Python's objects. */
#ifndef DEW_PYTHON_CONVERTER_ARGUMENTS_H
#define DEW_PYTHON_CONVERTER_ARGUMENTS_H

#include "python/py.h"
#include "xprof/converter.h"
#include "xprof/tool.h"

#define PARAMS_MAX 128

/* File system paths as C strings, each borrowed from `keep`, which owns the bytes objects. */
struct capture_paths {
    PyObject *keep;
    const char **items;
    size_t count;
};

/* From a sequence of paths, at least one. 0, or -1 with TypeError or ValueError. */
must_check int capture_paths_read(struct capture_paths *paths, PyObject *sequence);

void capture_paths_release(struct capture_paths *paths);

/* Options for the library; the texts are borrowed from `keep`. */
struct tool_options {
    PyObject *keep;
    struct converter_option items[PARAMS_MAX];
    size_t count;
};

/* The tool's own options, changed by what xprof's front end would take from `params` (a mapping, or
 * NULL) for the tool of this name. 0, or -1 with TypeError, ValueError or OverflowError. */
must_check int tool_options_read(struct tool_options *options, const char *name,
                                 const struct tool *tool, PyObject *params);

void tool_options_release(struct tool_options *options);

/* The MIME type that xprof's front end gives for this tool with these options. */
const char *tool_options_mime(const char *name, const struct tool *tool,
                              const struct tool_options *options);

#endif
