/* SPDX-License-Identifier: Apache-2.0 */
/* command - a command of the program is data and one function.
 *
 * To add one: write cmd_NAME.c with a `const struct command command_NAME` at its end, declare it
 * below, and add it to the table in main.c and to meson.build. Its options are a popt table over
 * static variables of that file; main.c parses them, prints the help and checks how many arguments
 * there are, before it calls run(). Describe it in man/dew-profile.1.scd too.
 *
 * Only commands print and exit: everything below returns errors. A command never calls exit(); what
 * it returns is one of the statuses below. Results go to stdout, whose write errors main.c reports;
 * errors and progress go to stderr. */
#ifndef DEW_CLI_COMMAND_H
#define DEW_CLI_COMMAND_H

#include <popt.h>
#include <stdbool.h>

#include "base/err.h"

#define PROGRAM_NAME "dew-profile"

enum exit_status {
    EXIT_DONE = 0,
    EXIT_FAILED = 1,       /* the work failed, or a difference was found */
    EXIT_USAGE = 2,        /* the command line makes no sense */
    EXIT_UNREADABLE = 3,   /* the capture is missing or damaged */
    EXIT_NO_CONVERTER = 4, /* xprof is missing, too old or broken */
    EXIT_NOTHING = 5,      /* it worked and the answer is empty */
};

#define ARGUMENTS_ANY (-1)

struct command {
    const char *name;
    const char *arguments; /* what stands behind the options in the usage line: "CAPTURE" */
    const char *one_line;  /* for the list of commands */
    const char *help;      /* what `--help` says above the options; may be NULL */
    const struct poptOption *options; /* ended by POPT_TABLEEND; NULL where it takes none */
    int min_arguments;
    int max_arguments;  /* or ARGUMENTS_ANY */
    bool options_first; /* everything from the first argument on belongs to somebody else */
    /* `arguments` ends with NULL. Returns an exit_status. */
    int (*run)(const char *const *arguments);
};

extern const struct command command_list;
extern const struct command command_merge;
extern const struct command command_report;
extern const struct command command_summary;

/* Prints "dew-profile: ..." to stderr. */
void complain(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Complains with the error's text and returns `status`. */
must_check int fail(int status, const struct err *e);

#endif
