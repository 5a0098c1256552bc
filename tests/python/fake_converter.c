/* SPDX-License-Identifier: Apache-2.0 */
/* fake_converter - a converter library that fails where the real one would not, when asked to.
 *
 * Offers FAKE_TOOLS. A tool named by FAKE_CRASH, FAKE_HANG, FAKE_EXIT or FAKE_ERROR does that;
 * every other result is {"tool": NAME}. */
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

char *XSpaceToToolsData(const char **paths, size_t n_paths, const char *tool, const char **keys,
                        const char **texts, int *numbers, bool *flags, int *types, int n_options,
                        char **ret_data, size_t *ret_size, bool *ret_ok);
void FreeString(void *text);

static bool asked(const char *variable, const char *tool)
{
    const char *value = getenv(variable);
    return value && strcmp(value, tool) == 0;
}

static char *text_of(const char *format, const char *value)
{
    char text[4096];
    snprintf(text, sizeof(text), format, value);
    return strdup(text);
}

char *XSpaceToToolsData(const char **paths, size_t n_paths, const char *tool, const char **keys,
                        const char **texts, int *numbers, bool *flags, int *types, int n_options,
                        char **ret_data, size_t *ret_size, bool *ret_ok)
{
    (void)paths, (void)n_paths, (void)keys, (void)texts, (void)numbers, (void)flags, (void)types,
        (void)n_options;
    printf("stdout of %s\n", tool);
    fflush(stdout);
    fprintf(stderr, "stderr of %s\n", tool);
    bool names = strcmp(tool, "tool_names") == 0;
    if (asked("FAKE_CRASH", tool))
        abort();
    if (asked("FAKE_EXIT", tool))
        _exit(7);
    while (asked("FAKE_HANG", tool))
        pause();
    if (asked("FAKE_ERROR", tool))
        return text_of("fake words about %s", tool);
    const char *tools = getenv("FAKE_TOOLS");
    *ret_data = names ? text_of("%s", tools ? tools : "overview_page,kernel_stats,hlo_stats")
                      : text_of("{\"tool\": \"%s\"}", tool);
    *ret_size = strlen(*ret_data);
    *ret_ok = true;
    return NULL;
}

void FreeString(void *text)
{
    free(text);
}
