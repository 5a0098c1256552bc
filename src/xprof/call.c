/* SPDX-License-Identifier: Apache-2.0 */
/* call - packing options, calling, and turning each way of saying nothing into an error. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "xprof/internal.h"

#include "base/banned.h"

#define PATHS_MAX 65536
#define OPTIONS_MAX 256
#define NAMES_MAX 1024
#define WORDS_SHOWN 600 /* of the library's text */
#define PATH_SHOWN 200  /* the end of a path tells more than its start */

/* The library's five parallel arrays; a slot of a type that an option does not have stays 0. */
struct packed {
    const char **keys;
    const char **texts;
    int *numbers;
    bool *flags;
    int *types;
};

static void packed_release(struct packed *packed)
{
    free(packed->keys);
    free(packed->texts);
    free(packed->numbers);
    free(packed->flags);
    free(packed->types);
}

static int pack(const struct converter_option *options, size_t n, struct packed *packed,
                struct err *e)
{
    size_t room = n ? n : 1;
    packed->keys = calloc(room, sizeof(*packed->keys));
    packed->texts = calloc(room, sizeof(*packed->texts));
    packed->numbers = calloc(room, sizeof(*packed->numbers));
    packed->flags = calloc(room, sizeof(*packed->flags));
    packed->types = calloc(room, sizeof(*packed->types));
    if (!packed->keys || !packed->texts || !packed->numbers || !packed->flags || !packed->types)
        return err_nomem(e);
    for (size_t i = 0; i < n; i++) {
        packed->keys[i] = options[i].key;
        packed->texts[i] = options[i].type == OPTION_STRING ? options[i].text : NULL;
        packed->numbers[i] = options[i].type == OPTION_INT ? options[i].number : 0;
        packed->flags[i] = options[i].type == OPTION_BOOL && options[i].flag;
        packed->types[i] = (int)options[i].type;
    }
    return 0;
}

static int check_input(const char *given, struct err *e)
{
    /* Callers hand in links in a scratch folder; the user knows the file behind one. */
    CLEANUP(cleanup_free) char *real = realpath(given, NULL);
    const char *path = real ? real : given;
    struct stat st;
    if (stat(path, &st) != 0)
        return err_sys(e, errno, "cannot open the capture '%s'", path);
    if (!S_ISREG(st.st_mode))
        return err_set(e, ERR_USAGE, "'%s' is not a capture file", path);
    if (st.st_size == 0)
        return err_set(e, ERR_DAMAGED,
                       "the capture '%s' is empty (0 bytes): JAX writes such a file, and reports "
                       "success, when a capture grows past 2 GiB",
                       path);
    return 0;
}

static int check_call(const char *const *paths, size_t n_paths, const char *tool, size_t n_options,
                      struct err *e)
{
    if (n_paths == 0)
        return err_set(e, ERR_USAGE, "tool '%s' was asked for with no capture", tool);
    if (n_paths > PATHS_MAX)
        return err_set(e, ERR_LIMIT, "%zu captures in one call, more than %d", n_paths, PATHS_MAX);
    if (n_options > OPTIONS_MAX)
        return err_set(e, ERR_LIMIT, "%zu options in one call, more than %d", n_options,
                       OPTIONS_MAX);
    for (size_t i = 0; i < n_paths; i++) {
        int result = check_input(paths[i], e);
        if (result != 0)
            return result;
    }
    return 0;
}

static const char *path_end(const char *path)
{
    size_t size = strlen(path);
    return size > PATH_SHOWN ? path + (size - PATH_SHOWN) : path;
}

/* "xprof 2.24.2 gave no 'overview_page' for '...h.xplane.pb' and 3 more: <words>" */
static int no_result(const struct converter *converter, const char *const *paths, size_t n_paths,
                     const char *tool, const char *words, size_t size, struct err *e)
{
    CLEANUP(cleanup_free) char *real = realpath(paths[0], NULL);
    const char *path = real ? real : paths[0];
    const char *shown = path_end(path);
    char more[48] = "";
    if (n_paths > 1)
        (void)snprintf(more, sizeof(more), " and %zu more", n_paths - 1);
    return err_set(e, ERR_FOREIGN, "xprof %s gave no '%s' for '%s%s'%s: %.*s", converter->version,
                   tool, shown == path ? "" : "...", shown, more,
                   (int)(size < WORDS_SHOWN ? size : WORDS_SHOWN), words);
}

int converter_call(const struct converter *converter, const char *const *paths, size_t n_paths,
                   const char *tool, const struct converter_option *options, size_t n_options,
                   struct converter_result *ret, struct err *e)
{
    int result = check_call(paths, n_paths, tool, n_options, e);
    if (result != 0)
        return result;
    CLEANUP(packed_release) struct packed packed = {0};
    result = pack(options, n_options, &packed, e);
    if (result != 0)
        return result;

    CLEANUP(converter_result_release)
    struct converter_result got = {.free_data = converter->free_string};
    bool ok = false;
    /* The library takes the paths as const char **, and does not write to them. */
    char *error = converter->convert((const char **)paths, n_paths, tool, packed.keys, packed.texts,
                                     packed.numbers, packed.flags, packed.types, (int)n_options,
                                     &got.data, &got.size, &ok);
    if (error) {
        (void)no_result(converter, paths, n_paths, tool, error, strlen(error), e);
        converter->free_string(error);
        return ERR_FOREIGN;
    }
    if (!ok && got.data && got.size > 0)
        return no_result(converter, paths, n_paths, tool, got.data, got.size, e);
    if (!ok || !got.data || got.size == 0) {
        const char *words = ok ? "it reported success with nothing in it" : "it gave no reason";
        return no_result(converter, paths, n_paths, tool, words, strlen(words), e);
    }
    *ret = got;
    got = (struct converter_result){0};
    return 0;
}

void converter_result_release(struct converter_result *result)
{
    if (result->data)
        result->free_data(result->data);
    *result = (struct converter_result){0};
}

static int split_names(const char *text, size_t size, struct converter_names *names, struct err *e)
{
    names->names = calloc(NAMES_MAX, sizeof(*names->names));
    if (!names->names)
        return err_nomem(e);
    const char *end = text + size;
    while (text < end) {
        const char *comma = memchr(text, ',', (size_t)(end - text));
        const char *stop = comma ? comma : end;
        if (names->count == NAMES_MAX)
            return err_set(e, ERR_LIMIT, "more than %d tool names", NAMES_MAX);
        if (stop > text) {
            names->names[names->count] = strndup(text, (size_t)(stop - text));
            if (!names->names[names->count])
                return err_nomem(e);
            names->count++;
        }
        text = comma ? comma + 1 : end;
    }
    return 0;
}

int converter_tool_names(const struct converter *converter, const char *const *paths,
                         size_t n_paths, struct converter_names *ret, struct err *e)
{
    CLEANUP(converter_result_release) struct converter_result result = {0};
    int code = converter_call(converter, paths, n_paths, "tool_names", NULL, 0, &result, e);
    if (code != 0)
        return code;
    CLEANUP(converter_names_release) struct converter_names names = {0};
    code = split_names(result.data, result.size, &names, e);
    if (code != 0)
        return code;
    if (names.count == 0) {
        static const char words[] = "the list of tools is empty";
        return no_result(converter, paths, n_paths, "tool_names", words, sizeof(words) - 1, e);
    }
    *ret = names;
    names = (struct converter_names){0};
    return 0;
}

void converter_names_release(struct converter_names *names)
{
    for (size_t i = 0; i < names->count; i++)
        free(names->names[i]);
    free(names->names);
    *names = (struct converter_names){0};
}
