/* SPDX-License-Identifier: Apache-2.0 */
/* summary_inputs - what the arguments of `summary` stand for: files of captures, and parts.
 *
 * A file that begins as a part does is one; everything else is a capture, its folder or a root, and
 * of a root with process-NNNNN folders each process's newest capture. Who a process is comes from
 * its manifest.json, else from the name of its process-NNNNN folder or of a merged run's file, else
 * only from what the file says. */
#ifndef DEW_CLI_SUMMARY_INPUTS_H
#define DEW_CLI_SUMMARY_INPUTS_H

#include "trace/many.h"
#include "trace/summary.h"

struct summary_input {
    char *path;
    char *manifest; /* or NULL */
    bool part;
};

struct summary_inputs {
    struct summary_input *all;
    size_t count, room;
    size_t parts; /* of them */
};

must_check int summary_inputs_find(const char *const *arguments, struct summary_inputs *ret,
                                   struct err *e);

/* Takes zeroed ones too. */
void summary_inputs_release(struct summary_inputs *inputs);

/* The summary of one capture file, by the options and its manifest's region names. */
must_check int summary_of_input(const struct summary_input *input,
                                const struct summary_options *options, struct summary *ret,
                                struct err *e);

/* The same as rows of one process: its own copies, to be joined and released. */
must_check int summary_join_input(const struct summary_input *input, const struct summary *summary,
                                  struct many *into, struct err *e);

#endif
