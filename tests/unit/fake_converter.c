/* SPDX-License-Identifier: Apache-2.0 */
/* fake_converter - a library with the converter's two functions that fails on request.
 *
 * Only for failures that the real library does not produce when asked. The tool's name is the
 * script; DEW_FAKE_TOOL_NAMES is the script of "tool_names", so that a probe can be made to fail.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/banned.h"

#define EXPORT __attribute__((visibility("default")))

EXPORT char *XSpaceToToolsData(const char **paths, size_t n_paths, const char *tool,
                               const char **keys, const char **texts, int *numbers, bool *flags,
                               int *types, int n_options, char **ret_data, size_t *ret_size,
                               bool *ret_ok);

static void give(const char *text, char **ret_data, size_t *ret_size)
{
    *ret_data = strdup(text);
    *ret_size = strlen(text);
}

/* Every option as "key=type:value;", so that a test can see what arrived. */
static void show_options(const char **keys, const char **texts, const int *numbers,
                         const bool *flags, const int *types, int n, char *shown, size_t room)
{
    size_t used = 0;
    for (int i = 0; i < n && used < room; i++)
        used += (size_t)snprintf(shown + used, room - used, "%s=%d:%d:%d:%s;", keys[i], types[i],
                                 (int)flags[i], numbers[i], texts[i] ? texts[i] : "-");
}

char *XSpaceToToolsData(const char **paths, size_t n_paths, const char *tool, const char **keys,
                        const char **texts, int *numbers, bool *flags, int *types, int n_options,
                        char **ret_data, size_t *ret_size, bool *ret_ok)
{
    const char *script = tool;
    if (strcmp(tool, "tool_names") == 0) {
        const char *named = getenv("DEW_FAKE_TOOL_NAMES");
        script = named ? named : "overview_page,op_profile";
    }
    *ret_ok = true;
    if (strcmp(script, "crash") == 0)
        abort();
    if (strcmp(script, "vanish") == 0)
        _exit(0);
    if (strcmp(script, "error") == 0)
        return strdup("the library's own words");
    if (strcmp(script, "null") == 0)
        return NULL;
    if (strcmp(script, "empty") == 0) {
        give("", ret_data, ret_size);
        return NULL;
    }
    if (strcmp(script, "refused") == 0) {
        *ret_ok = false;
        give("refused, it says", ret_data, ret_size);
        return NULL;
    }
    if (strcmp(script, "refused in silence") == 0) {
        *ret_ok = false;
        return NULL;
    }
    if (strcmp(script, "options") == 0) {
        char shown[512] = "none";
        show_options(keys, texts, numbers, flags, types, n_options, shown, sizeof(shown));
        give(shown, ret_data, ret_size);
        return NULL;
    }
    if (strcmp(script, "paths") == 0) {
        give(paths[n_paths - 1], ret_data, ret_size);
        return NULL;
    }
    give(script, ret_data, ret_size);
    return NULL;
}

#ifndef FAKE_WITHOUT_FREE
EXPORT void FreeString(void *text);

void FreeString(void *text)
{
    free(text);
}
#endif
