/* SPDX-License-Identifier: Apache-2.0 */
/* main - the table of commands, and what all of them share: options, help, errors, the way out. */
#include <errno.h>
#include <locale.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/command.h"
#include "cli/output.h"
#include "cli/suggest.h"

#include "base/banned.h"

#define ARGUMENTS_MAX 65536
#define COMPLAINT_MAX (4 * ERR_TEXT_MAX)

static const struct command *const commands[] = {
    &command_report, &command_list, &command_summary, &command_merge, NULL,
};

void complain(const char *format, ...)
{
    char text[COMPLAINT_MAX];
    va_list args;
    va_start(args, format);
    int size = vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    /* One line, whatever bytes a file's name holds, and not mixed with another process's. */
    char *line = NULL;
    size_t line_size = 0;
    FILE *whole = open_memstream(&line, &line_size);
    if (!whole)
        return;
    (void)fputs(PROGRAM_NAME ": ", whole);
    output_text(whole, size < 0 ? view_text(format) : view_text(text));
    (void)fputc('\n', whole);
    if (fclose(whole) == 0)
        (void)fwrite(line, 1, line_size, stderr);
    free(line);
}

int fail(int status, const struct err *e)
{
    complain("%s", e->text);
    return status;
}

/* Reading a mapped file that somebody shortens meanwhile raises this; nothing that the reader could
 * check beforehand prevents it. */
static void file_shrank(int number)
{
    (void)number;
    static const char text[] = PROGRAM_NAME ": the file was cut short while it was being read\n";
    (void)!write(STDERR_FILENO, text, sizeof(text) - 1);
    _exit(EXIT_UNREADABLE);
}

/* A reader of our output that has seen enough (head, a pager) is no error to talk about. A handler,
 * not SIG_IGN, because programs that we start would inherit the latter. */
static volatile sig_atomic_t reader_gone;

static void pipe_closed(int number)
{
    (void)number;
    reader_gone = 1;
}

static void print_help(FILE *to)
{
    (void)fprintf(to, "Usage: " PROGRAM_NAME " COMMAND [OPTIONS] ...\n\n"
                      "Reads JAX profiler captures (*.xplane.pb).\n\nCommands:\n");
    for (size_t i = 0; commands[i]; i++)
        (void)fprintf(to, "  %-10s %s\n", commands[i]->name, commands[i]->one_line);
    (void)fprintf(to, "\n'" PROGRAM_NAME " help COMMAND' explains one; '" PROGRAM_NAME
                      " --version' prints the version.\n");
}

static const struct command *find_command(const char *name)
{
    for (size_t i = 0; commands[i]; i++)
        if (strcmp(commands[i]->name, name) == 0)
            return commands[i];
    return NULL;
}

static int unknown_command(const char *name)
{
    struct suggest suggest = suggest_for(name);
    for (size_t i = 0; commands[i]; i++)
        suggest_offer(&suggest, commands[i]->name);
    if (suggest.best)
        complain("'%s' is not a command; did you mean '%s'?", name, suggest.best);
    else
        complain("'%.200s' is not a command; '" PROGRAM_NAME " --help' lists them", name);
    return EXIT_USAGE;
}

static void cleanup_popt(poptContext *context)
{
    if (*context)
        (void)poptFreeContext(*context);
}

static int help_asked;

static const struct poptOption help_option[] = {
    {"help", 'h', POPT_ARG_NONE, &help_asked, 0, "Show this help", NULL},
    POPT_TABLEEND,
};

/* Prints popt's description of the options without the usage line above it, which knows neither the
 * command nor its arguments. popt's own --help would exit from inside the library, without a look
 * at what stdout says. */
static bool print_options(poptContext context)
{
    CLEANUP(cleanup_free) char *text = NULL;
    size_t size;
    FILE *memory = open_memstream(&text, &size);
    if (!memory)
        return false;
    poptPrintHelp(context, memory, 0);
    if (fclose(memory) != 0)
        return false;
    const char *line = strchr(text, '\n');
    (void)fputs(line ? line : text, stdout);
    return true;
}

static int command_help(const struct command *command, poptContext context)
{
    (void)printf("Usage: " PROGRAM_NAME " %s [OPTIONS]%s%s\n\n%s\n", command->name,
                 command->arguments ? " " : "", command->arguments ? command->arguments : "",
                 command->help ? command->help : command->one_line);
    return print_options(context) ? EXIT_DONE : EXIT_FAILED;
}

static void offer_options(struct suggest *suggest, const struct poptOption *option)
{
    for (; option->longName || option->arg; option++)
        if (option->longName)
            suggest_offer(suggest, option->longName);
}

/* popt names the argument that it read last, which for a bad value is the value: "x" of "--top x".
 * The option stands before it. */
static const char *option_before(const char *given, int argc, const char **argv)
{
    for (int i = 2; i < argc; i++) {
        if (argv[i] == given && given[0] != '-' && argv[i - 1][0] == '-')
            return argv[i - 1];
    }
    return NULL;
}

static int wrong_option(const struct command *command, poptContext context, int code, int argc,
                        const char **argv)
{
    const char *given = poptBadOption(context, POPT_BADOPTION_NOALIAS);
    if (!given)
        given = "";
    const char *option = option_before(given, argc, argv);
    if (option) {
        complain("%s %s: %s ('" PROGRAM_NAME " %s --help' lists the options)", option, given,
                 poptStrerror(code), command->name);
        return EXIT_USAGE;
    }
    struct suggest suggest = suggest_for(given + strspn(given, "-"));
    if (code == POPT_ERROR_BADOPT && command->options)
        offer_options(&suggest, command->options);
    if (suggest.best)
        complain("%s: %s; did you mean '--%s'?", given, poptStrerror(code), suggest.best);
    else
        complain("%s: %s ('" PROGRAM_NAME " %s --help' lists the options)", given,
                 poptStrerror(code), command->name);
    return EXIT_USAGE;
}

/* The option whose value the last argument is; NULL where it is none. */
static const struct poptOption *option_that_took(const struct command *command, int argc,
                                                 const char **argv)
{
    const char *name = argc > 2 && argv[argc - 1][0] != '-' ? argv[argc - 2] : "";
    if (name[0] != '-' || strchr(name, '='))
        return NULL;
    for (const struct poptOption *option = command->options;
         option && (option->longName || option->arg); option++) {
        bool longer = name[1] == '-' && option->longName && strcmp(name + 2, option->longName) == 0;
        bool shorter = name[1] && name[1] == option->shortName && !name[2];
        if ((longer || shorter) && option->argDescrip)
            return option;
    }
    return NULL;
}

static int wrong_arguments(const struct command *command, int count, int argc, const char **argv)
{
    const struct poptOption *took =
        count < command->min_arguments ? option_that_took(command, argc, argv) : NULL;
    if (took) {
        complain("%s takes a %s, and took '%s' as that; nothing is left for %s ('" PROGRAM_NAME
                 " %s --help' explains it)",
                 argv[argc - 2], took->argDescrip, argv[argc - 1], command->arguments,
                 command->name);
        return EXIT_USAGE;
    }
    complain("usage: " PROGRAM_NAME " %s [OPTIONS] %s ('" PROGRAM_NAME " %s --help' explains it)",
             command->name, command->arguments ? command->arguments : "", command->name);
    return EXIT_USAGE;
}

static int run_command(const struct command *command, int argc, const char **argv)
{
    static const struct poptOption none[] = {POPT_TABLEEND};
    /* popt takes tables as void * that it does not write to. */
    const struct poptOption options[] = {
        {NULL, 0, POPT_ARG_INCLUDE_TABLE,
         (void *)(uintptr_t)(command->options ? command->options : none), 0, "Options:", NULL},
        {NULL, 0, POPT_ARG_INCLUDE_TABLE, (void *)(uintptr_t)help_option, 0, "Help:", NULL},
        POPT_TABLEEND,
    };
    unsigned flags = command->options_first ? POPT_CONTEXT_POSIXMEHARDER : 0;
    CLEANUP(cleanup_popt)
    poptContext context = poptGetContext(PROGRAM_NAME, argc, argv, options, flags);
    if (!context) {
        complain("out of memory");
        return EXIT_FAILED;
    }
    int code;
    while ((code = poptGetNextOpt(context)) > 0)
        continue;
    if (code < -1)
        return wrong_option(command, context, code, argc, argv);
    if (help_asked)
        return command_help(command, context);
    static const char *nothing[] = {NULL};
    const char **arguments = poptGetArgs(context);
    if (!arguments)
        arguments = nothing;
    int count = 0;
    while (arguments[count] && count < ARGUMENTS_MAX)
        count++;
    if (count < command->min_arguments ||
        (command->max_arguments != ARGUMENTS_ANY && count > command->max_arguments))
        return wrong_arguments(command, count, argc, argv);
    return command->run(arguments);
}

/* `help` alone, or `help COMMAND`, as COMMAND --help. */
static int help(int argc, const char **argv)
{
    if (argc < 2) {
        print_help(stdout);
        return EXIT_DONE;
    }
    const struct command *command = find_command(argv[1]);
    const char *asking[] = {argv[1], "--help", NULL};
    return command ? run_command(command, 2, asking) : unknown_command(argv[1]);
}

static int dispatch(int argc, const char **argv)
{
    const char *name = argc > 1 ? argv[1] : NULL;
    if (!name) {
        print_help(stderr);
        return EXIT_USAGE;
    }
    if (strcmp(name, "--version") == 0) {
        (void)puts(PROGRAM_NAME " " DEW_VERSION);
        return EXIT_DONE;
    }
    if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0)
        return help(1, argv + 1);
    if (strcmp(name, "help") == 0)
        return help(argc - 1, argv + 1);
    const struct command *command = find_command(name);
    return command ? run_command(command, argc - 1, argv + 1) : unknown_command(name);
}

int main(int argc, char **argv)
{
    /* For the width of characters in tables only: numbers are written the same way everywhere. */
    if (!setlocale(LC_CTYPE, "") || MB_CUR_MAX == 1)
        (void)setlocale(LC_CTYPE, "C.UTF-8"); /* names in captures are UTF-8 in any case */
    const struct sigaction shrank = {.sa_handler = file_shrank};
    (void)sigaction(SIGBUS, &shrank, NULL);
    const struct sigaction closed = {.sa_handler = pipe_closed};
    (void)sigaction(SIGPIPE, &closed, NULL);
    /* A file over the limit of its size then fails as one on a full disk does, and is cleared away.
     */
    const struct sigaction ignored = {.sa_handler = SIG_IGN};
    (void)sigaction(SIGXFSZ, &ignored, NULL);
    int status = dispatch(argc, (const char **)argv);
    /* A full disk is often noticed no earlier than here. */
    int flushed = fflush(stdout);
    int number = errno;
    if (flushed != 0 || ferror(stdout)) {
        if (!reader_gone)
            complain("cannot write the output: %s",
                     flushed != 0 ? strerror(number) : "write error");
        return EXIT_FAILED;
    }
    return status;
}
