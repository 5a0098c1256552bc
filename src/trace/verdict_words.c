/* SPDX-License-Identifier: Apache-2.0 */
/* verdict_words - what the JSON and the page call things. */
#include <inttypes.h>
#include <stdio.h>

#include "trace/verdict.h"

#include "base/banned.h"

const char *verdict_kind_name(enum verdict_kind kind)
{
    static const char *const words[] = {"cannot tell", "even", "straggler", "hiccup", "mixed"};
    return words[kind];
}

const char *verdict_basis_name(enum verdict_basis basis)
{
    static const char *const words[] = {"none", "collectives", "step lengths"};
    return words[basis];
}

const char *verdict_role_name(enum verdict_role role)
{
    static const char *const words[] = {"cannot tell", "even", "straggler", "slow", "waits"};
    return words[role];
}

const char *verdict_clock_name(enum verdict_clock clock)
{
    static const char *const words[] = {"unknown",       "agrees",        "clock off",
                                        "clock or late", "one clock off", "starts apart",
                                        "ends apart"};
    return words[clock];
}

const char *verdict_label(const struct many_process *process, char *buffer, size_t size)
{
    if (process->index >= 0)
        (void)snprintf(buffer, size, "process %" PRId64, process->index);
    else if (process->pid >= 0)
        (void)snprintf(buffer, size, "%.*s (pid %" PRId64 ")", VIEW_ARG(process->host),
                       process->pid);
    else
        (void)snprintf(buffer, size, "%.*s", VIEW_ARG(process->file));
    return buffer;
}
