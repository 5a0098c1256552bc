/* SPDX-License-Identifier: Apache-2.0 */
/* converter - xprof's native conversion library, called without Python.
 *
 * Owns the opened library and how its C functions are called; this folder is the only place that
 * includes <dlfcn.h>. Refuses xprof older than CONVERTER_OLDEST, and a version newer than
 * CONVERTER_NEWEST_SEEN until a child process has called it without harm. Leaves out where results
 * are written (the callers) and which options xprof's own front end sets for a tool (tool.h).
 *
 * The library writes files beside the captures that it reads and answers from them later: hand it
 * paths in a scratch folder (scratch.h), not the user's own. */
#ifndef DEW_XPROF_CONVERTER_H
#define DEW_XPROF_CONVERTER_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

#define CONVERTER_OLDEST "2.22.3"
#define CONVERTER_NEWEST_SEEN "2.24.2"
#define CONVERTER_INSTALL "python -m pip install 'xprof>=" CONVERTER_OLDEST "'"

/* An opened library. It is never closed: its threads and its exit handlers outlive any handle, so
 * unmapping it would pull the code from under them. There is therefore no converter_close(). */
struct converter;

/* Where the library is, without running Python. *ret_version is the version of the package it
 * belongs to, or NULL where nothing says. Both are owned by the caller.
 *
 * `hint` is a library file, an xprof package folder or a folder that holds one (site-packages); it
 * is then the only place looked at. Without a hint (NULL): $DEW_PROFILE_CONVERTER as a hint,
 * $VIRTUAL_ENV, $CONDA_PREFIX, the prefix of the running program, the prefix of every python3 on
 * PATH, /usr/local, ~/.local; the first one new enough wins.
 * ERR_MISSING: none. ERR_UNSUPPORTED: there, but too old. */
must_check int converter_find(const char *hint, char **ret_library, char **ret_version,
                              struct err *e);

/* Tries, in a process that may die of it, whether `library` can be called as we call it. */
typedef int converter_probe_fn(const char *library, void *context, struct err *e);

struct converter_how {
    bool quiet; /* keep the library's log off stderr; no effect where it was opened before */
    converter_probe_fn *probe; /* for versions not seen yet; NULL trusts any version */
    void *probe_context;
};

/* `version` may be NULL: not known, and so not seen yet.
 * ERR_UNSUPPORTED: too old. ERR_FOREIGN: does not open, lacks a function, or fails its probe. */
must_check int converter_open(const char *library, const char *version,
                              const struct converter_how *how, struct converter **ret,
                              struct err *e);

/* Both borrowed; the version is "unknown" where none was given. */
const char *converter_library(const struct converter *converter);
const char *converter_version(const struct converter *converter);

enum converter_option_type {
    OPTION_BOOL,
    OPTION_INT,
    OPTION_STRING,
};

struct converter_option {
    const char *key;
    enum converter_option_type type;
    bool flag;
    int number;
    const char *text;
};

struct converter_result {
    char *data; /* owned by the library; not terminated, may hold any byte */
    size_t size;
    void (*free_data)(void *data);
};

/* Safe from several threads at once. An input that is missing or has no bytes is refused here: for
 * an empty file the library returns reports that look full.
 * ERR_FOREIGN carries the path, the tool, the version and the library's own words. */
must_check int converter_call(const struct converter *converter, const char *const *paths,
                              size_t n_paths, const char *tool,
                              const struct converter_option *options, size_t n_options,
                              struct converter_result *ret, struct err *e);

/* Takes an empty (zeroed) result too. */
void converter_result_release(struct converter_result *result);

struct converter_names {
    char **names; /* owned; in the library's order */
    size_t count;
};

/* The tools that have something to say about these captures. An empty list is an error. */
must_check int converter_tool_names(const struct converter *converter, const char *const *paths,
                                    size_t n_paths, struct converter_names *ret, struct err *e);

void converter_names_release(struct converter_names *names);

/* Opens and calls the library on a tiny capture, in this process, which may die of it: so `folder`,
 * which takes the capture, is a scratch folder of the process that waits for this one. */
must_check int converter_probe_here(const char *library, const char *folder, struct err *e);

/* A converter_probe_fn (context unused): converter_probe_here() in a forked child. For programs of
 * one thread; a child forked from several may find any lock held for ever. */
int converter_probe_forked(const char *library, void *context, struct err *e);

/* For programs of many threads: runs `argv` (a program that calls converter_probe_here() and then
 * converter_probe_report()) as a fresh process and reads its verdict. */
must_check int converter_probe_spawned(const char *library, char *const argv[], struct err *e);

/* The child's side: writes the verdict to `fd` and returns the exit status. */
int converter_probe_report(int fd, int code, const struct err *e);

#endif
