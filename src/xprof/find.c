/* SPDX-License-Identifier: Apache-2.0 */
/* find - where xprof's converter library is, by looking at folders only. */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "xprof/internal.h"
#include "xprof/version.h"

#include "base/banned.h"

#define LIBRARY_PREFIX "profiler_plugin_c_api"
#define VERSION_FILE_MAX 65536
#define PROGRAM_PATH_MAX 4096

struct found {
    char *library;
    char *version;
};

static void found_release(struct found *found)
{
    free(found->library);
    free(found->version);
    *found = (struct found){0};
}

static bool is_folder(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

static bool is_file(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISREG(st.st_mode);
}

static bool starts(const char *text, const char *prefix)
{
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

static bool ends(const char *text, const char *suffix)
{
    size_t size = strlen(text);
    size_t tail = strlen(suffix);
    return size >= tail && memcmp(text + size - tail, suffix, tail) == 0;
}

static void cleanup_closedir(DIR **folder)
{
    if (*folder)
        (void)closedir(*folder);
}

/* The folder above `path`, lexically, or NULL without memory. */
static char *parent_of(const char *path)
{
    size_t size = strlen(path);
    while (size > 1 && path[size - 1] == '/')
        size--;
    while (size > 0 && path[size - 1] != '/')
        size--;
    while (size > 1 && path[size - 1] == '/')
        size--;
    return size == 0 ? strdup(".") : strndup(path, size);
}

/* The first library by name, as xprof's own loader chooses; NULL where there is none. */
static char *library_in(const char *convert_folder)
{
    CLEANUP(cleanup_closedir) DIR *folder = opendir(convert_folder);
    if (!folder)
        return NULL;
    CLEANUP(cleanup_free) char *best = NULL;
    for (struct dirent *entry; (entry = readdir(folder)) != NULL;) {
        const char *name = entry->d_name;
        if (!starts(name, LIBRARY_PREFIX) || !(ends(name, ".so") || ends(name, ".dylib")))
            continue;
        if (best && strcmp(name, best) >= 0)
            continue;
        free(best);
        best = strdup(name);
    }
    return best ? path_join(convert_folder, best) : NULL;
}

/* From the name of a dist-info folder, "xprof-2.24.2.dist-info". An upgrade that was interrupted
 * can leave two of them; the newest is then the one that was being put in place. */
static char *version_from_dist_info(const char *site)
{
    static const char *const prefixes[] = {"xprof-", "xprof_nightly-"};
    CLEANUP(cleanup_closedir) DIR *folder = opendir(site);
    if (!folder)
        return NULL;
    CLEANUP(cleanup_free) char *best = NULL;
    for (struct dirent *entry; (entry = readdir(folder)) != NULL;) {
        if (!ends(entry->d_name, ".dist-info"))
            continue;
        for (size_t i = 0; i < sizeof(prefixes) / sizeof(*prefixes); i++) {
            if (!starts(entry->d_name, prefixes[i]))
                continue;
            const char *text = entry->d_name + strlen(prefixes[i]);
            CLEANUP(cleanup_free)
            char *version = strndup(text, strlen(text) - strlen(".dist-info"));
            if (!version || !version_looks_right(version) ||
                (best && version_compare(version, best) <= 0))
                continue;
            free(best);
            best = STEAL(version);
        }
    }
    return STEAL(best);
}

/* From the text of xprof/version.py, for installations without a dist-info folder. */
static char *version_from_source(const char *package)
{
    CLEANUP(cleanup_free) char *path = path_join(package, "version.py");
    CLEANUP(cleanup_free) char *text = NULL;
    size_t size;
    if (!path || file_read(path, VERSION_FILE_MAX, &text, &size, NULL) != 0)
        return NULL;
    const char *at = strstr(text, "__version__");
    if (!at)
        return NULL;
    at += strcspn(at, "\"'\n");
    if (*at != '"' && *at != '\'')
        return NULL;
    char quote[] = {*at, '\n', '\0'};
    const char *end = at + 1 + strcspn(at + 1, quote);
    return version_looks_right(at + 1) ? strndup(at + 1, (size_t)(end - at - 1)) : NULL;
}

static char *version_of(const char *library)
{
    CLEANUP(cleanup_free) char *convert = parent_of(library);
    CLEANUP(cleanup_free) char *package = convert ? parent_of(convert) : NULL;
    CLEANUP(cleanup_free) char *site = package ? parent_of(package) : NULL;
    if (!site)
        return NULL;
    char *version = version_from_dist_info(site);
    return version ? version : version_from_source(package);
}

/* `place`: a library file, an xprof package folder, or a folder that holds one. */
static bool look_at(const char *place, struct found *ret)
{
    static const char *const below[] = {"convert", "xprof/convert"};
    CLEANUP(cleanup_free) char *library = is_file(place) ? strdup(place) : NULL;
    for (size_t i = 0; !library && i < sizeof(below) / sizeof(*below); i++) {
        CLEANUP(cleanup_free) char *folder = path_join(place, below[i]);
        if (folder)
            library = library_in(folder);
    }
    if (!library)
        return false;
    /* A path with no slash would be searched for along the loader's own path. */
    char *absolute = realpath(library, NULL);
    ret->version = version_of(library);
    ret->library = absolute ? absolute : STEAL(library);
    return true;
}

/* One place after the other; the first one new enough ends the search. */
struct search {
    struct found best; /* new enough */
    struct found old;  /* the first that was not, for the message */
};

static void search_place(struct search *search, const char *place)
{
    struct found found = {0};
    if (search->best.library || !look_at(place, &found))
        return;
    if (!found.version || version_compare(found.version, CONVERTER_OLDEST) >= 0)
        search->best = found;
    else if (!search->old.library)
        search->old = found;
    else
        found_release(&found);
}

/* PREFIX/lib/python3*[/site-packages|dist-packages], as pip and Debian lay them out. */
static void search_prefix(struct search *search, const char *prefix)
{
    static const char *const kinds[] = {"site-packages", "dist-packages"};
    CLEANUP(cleanup_free) char *lib = path_join(prefix, "lib");
    CLEANUP(cleanup_closedir) DIR *folder = lib ? opendir(lib) : NULL;
    if (!folder)
        return;
    for (struct dirent *entry; (entry = readdir(folder)) != NULL;) {
        if (!starts(entry->d_name, "python3"))
            continue;
        CLEANUP(cleanup_free) char *python = path_join(lib, entry->d_name);
        for (size_t i = 0; python && i < sizeof(kinds) / sizeof(*kinds); i++) {
            CLEANUP(cleanup_free) char *place = path_join(python, kinds[i]);
            if (place && is_folder(place))
                search_place(search, place);
        }
    }
}

static void search_own_prefix(struct search *search)
{
    char program[PROGRAM_PATH_MAX];
    ssize_t size = readlink("/proc/self/exe", program, sizeof(program) - 1);
    if (size <= 0)
        return;
    program[size] = '\0';
    CLEANUP(cleanup_free) char *bin = parent_of(program);
    CLEANUP(cleanup_free) char *prefix = bin ? parent_of(bin) : NULL;
    if (prefix)
        search_prefix(search, prefix);
}

static void search_pythons_on_path(struct search *search)
{
    const char *path = getenv("PATH");
    CLEANUP(cleanup_free) char *copy = path ? strdup(path) : NULL;
    char *rest = NULL;
    for (char *bin = copy ? strtok_r(copy, ":", &rest) : NULL; bin;
         bin = strtok_r(NULL, ":", &rest)) {
        CLEANUP(cleanup_free) char *python = path_join(bin, "python3");
        if (!python || access(python, X_OK) != 0)
            continue;
        CLEANUP(cleanup_free) char *prefix = parent_of(bin);
        if (prefix)
            search_prefix(search, prefix);
    }
}

static void search_everywhere(struct search *search)
{
    static const char *const prefixes[] = {"VIRTUAL_ENV", "CONDA_PREFIX"};
    for (size_t i = 0; i < sizeof(prefixes) / sizeof(*prefixes); i++) {
        const char *prefix = getenv(prefixes[i]);
        if (prefix && *prefix)
            search_prefix(search, prefix);
    }
    search_own_prefix(search);
    search_pythons_on_path(search);
    search_prefix(search, "/usr/local");
    const char *home = getenv("HOME");
    CLEANUP(cleanup_free) char *local = home && *home ? path_join(home, ".local") : NULL;
    if (local)
        search_prefix(search, local);
}

int converter_too_old(const char *library, const char *version, struct err *e)
{
    return err_set(e, ERR_UNSUPPORTED,
                   "xprof %s is too old: " CONVERTER_OLDEST
                   " or newer is needed; upgrade it with: " CONVERTER_INSTALL " (found at '%s')",
                   version, library);
}

int converter_find(const char *hint, char **ret_library, char **ret_version, struct err *e)
{
    const char *named = getenv("DEW_PROFILE_CONVERTER");
    const char *source = "";
    if (!hint && named && *named) {
        hint = named;
        source = " (named by DEW_PROFILE_CONVERTER)";
    }
    struct search search = {0};
    if (hint)
        search_place(&search, hint);
    else
        search_everywhere(&search);
    if (search.best.library) {
        found_release(&search.old);
        *ret_library = search.best.library;
        *ret_version = search.best.version;
        return 0;
    }
    if (search.old.library) {
        (void)converter_too_old(search.old.library, search.old.version, e);
        found_release(&search.old);
        return ERR_UNSUPPORTED;
    }
    if (hint)
        return err_set(e, ERR_MISSING,
                       "no xprof converter library (" LIBRARY_PREFIX
                       "*.so) at '%s'%s; install xprof with: " CONVERTER_INSTALL,
                       hint, source);
    return err_set(
        e, ERR_MISSING,
        "xprof is not installed where this program looks (VIRTUAL_ENV, CONDA_PREFIX, "
        "its own prefix, every python3 on PATH, ~/.local); install it with: " CONVERTER_INSTALL
        ", or name its folder by DEW_PROFILE_CONVERTER");
}
