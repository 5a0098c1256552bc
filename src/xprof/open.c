/* SPDX-License-Identifier: Apache-2.0 */
/* open - the version gate, the loader, and the two functions that we call. */
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "xprof/internal.h"
#include "xprof/version.h"

#include "base/banned.h"

/* The library reads this once, while it is being loaded: a level of 3 keeps all but fatal lines. */
#define LOG_VARIABLE "TF_CPP_MIN_LOG_LEVEL"

extern char **environ;

static void *load(const char *library)
{
    /* Lazy: the library names one function of Python (PyModule_Create2) that is never called and
     * that a program without Python cannot supply. Local, and bound to itself first: a JAX process
     * already holds another copy of the same C++ runtime parts. */
    int mode = RTLD_LAZY | RTLD_LOCAL;
#ifdef RTLD_DEEPBIND
    /* A sanitizer's own malloc and a library bound to libc's would free each other's memory. */
    if (!dlsym(RTLD_DEFAULT, "__asan_init") && !dlsym(RTLD_DEFAULT, "__msan_init") &&
        !dlsym(RTLD_DEFAULT, "__tsan_init"))
        mode |= RTLD_DEEPBIND;
#endif
    return dlopen(library, mode);
}

/* Whether the library would log. JAX sets the variable to 1 for itself when it is imported, so
 * only 0, which nobody sets without meaning it, is a wish to see the log. */
static bool want_log(void)
{
    const char *level = getenv(LOG_VARIABLE);
    return level && strcmp(level, "0") == 0;
}

/* An environment that was lent: never freed, but findable, so that leak checkers know it is meant.
 */
struct lent {
    struct lent *older;
    char *entries[];
};

/* A copy of the environment in which the library stays quiet; NULL without memory. */
static char **quiet_environment(char **own)
{
    static char quiet[] = LOG_VARIABLE "=3";
    size_t count = 0;
    while (own[count])
        count++;
    struct lent *lent = malloc(sizeof(*lent) + (count + 2) * sizeof(*lent->entries));
    if (!lent)
        return NULL;
    static _Atomic(struct lent *) newest;
    lent->older = atomic_exchange(&newest, lent);
    size_t kept = 0;
    lent->entries[kept++] = quiet;
    for (size_t i = 0; i < count; i++)
        if (strncmp(own[i], quiet, sizeof(LOG_VARIABLE)) != 0) /* name and '=' */
            lent->entries[kept++] = own[i];
    lent->entries[kept] = NULL;
    return lent->entries;
}

/* Lends the process that environment for as long as the library loads, by swapping the pointer.
 * setenv() would do the same by reallocating the array under the feet of any other thread inside
 * getenv(); this way such a thread reads the old array or the new one, and both are whole: the lent
 * one is never freed. */
static void *load_quietly(const char *library)
{
    char **own = environ;
    char **lent = want_log() || !own ? NULL : quiet_environment(own);
    if (!lent)
        return load(library);
    const char *level = getenv(LOG_VARIABLE);
    environ = lent;
    void *handle = load(library);
    if (environ == lent)
        environ = own;
    else if (level) /* somebody set a variable meanwhile, in a copy of the lent array: theirs stays
                     */
        (void)setenv(LOG_VARIABLE, level, 1);
    else
        (void)unsetenv(LOG_VARIABLE);
    return handle;
}

static int symbol(void *handle, const char *name, const char *library, void *ret_function,
                  struct err *e)
{
    void *found = dlsym(handle, name);
    if (!found)
        return err_set(e, ERR_FOREIGN,
                       "xprof's library '%s' has no function %s: it is broken or of another kind; "
                       "reinstall it with: " CONVERTER_INSTALL,
                       library, name);
    memcpy(ret_function, &found, sizeof(found)); /* C has no cast from void * to a function */
    return 0;
}

static void converter_free(struct converter **converter)
{
    if (!*converter)
        return;
    free((*converter)->library);
    free((*converter)->version);
    free(*converter);
    *converter = NULL;
}

static int gate(const char *library, const char *version, const struct converter_how *how,
                struct err *e)
{
    if (version && version_compare(version, CONVERTER_OLDEST) < 0)
        return converter_too_old(library, version, e);
    if (!how->probe || (version && version_compare(version, CONVERTER_NEWEST_SEEN) <= 0))
        return 0;
    if (how->probe(library, how->probe_context, e) == 0)
        return 0;
    return err_context(e,
                       "xprof %s has not been seen by this version of dew-telemetry-profile "
                       "(" CONVERTER_OLDEST " to " CONVERTER_NEWEST_SEEN
                       " have), and a trial call of it in a process of its own failed",
                       version ? version : "of unknown version");
}

int converter_open(const char *library, const char *version, const struct converter_how *how,
                   struct converter **ret, struct err *e)
{
    int result = gate(library, version, how, e);
    if (result != 0)
        return result;
    CLEANUP(converter_free) struct converter *converter = calloc(1, sizeof(*converter));
    if (!converter)
        return err_nomem(e);
    converter->library = strdup(library);
    converter->version = strdup(version ? version : "unknown");
    if (!converter->library || !converter->version)
        return err_nomem(e);
    void *handle = how->quiet ? load_quietly(library) : load(library);
    if (!handle)
        return err_set(
            e, ERR_FOREIGN,
            "xprof's library cannot be opened: %s; reinstall it with: " CONVERTER_INSTALL,
            dlerror());
    result = symbol(handle, "XSpaceToToolsData", library, &converter->convert, e);
    if (result == 0)
        result = symbol(handle, "FreeString", library, &converter->free_string, e);
    if (result != 0)
        return result;
    *ret = STEAL(converter);
    return 0;
}

const char *converter_library(const struct converter *converter)
{
    return converter->library;
}

const char *converter_version(const struct converter *converter)
{
    return converter->version;
}
