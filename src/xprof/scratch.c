/* SPDX-License-Identifier: Apache-2.0 */
/* scratch - a temporary folder of links. */
#include "xprof/scratch.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "xprof/scratch_claim.h"

#include "base/banned.h"

#define FOLDER_TEMPLATE SCRATCH_PREFIX "XXXXXX"

/* A full disk takes folders and no files, and the converter writes files. */
static bool takes_files(const char *folder)
{
    CLEANUP(cleanup_free) char *path = path_join(folder, "try");
    int fd = path ? open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600) : -1;
    if (fd < 0)
        return false;
    bool took = write(fd, "try", 3) == 3;
    took = close(fd) == 0 && took;
    int number = errno;
    (void)unlink(path);
    errno = number;
    return took;
}

static int make_folder_in(const char *parent, struct scratch *ret, struct err *e)
{
    CLEANUP(cleanup_free) char *folder = path_join(parent, FOLDER_TEMPLATE);
    if (!folder)
        return err_nomem(e);
    if (!mkdtemp(folder))
        return err_sys(e, errno, "cannot make a scratch folder for the converter in '%s'", parent);
    CLEANUP(cleanup_close) int lock = scratch_claim(&folder);
    /* Absolute, so that a change of the working folder meanwhile does no harm. */
    CLEANUP(cleanup_free) char *absolute = takes_files(folder) ? realpath(folder, NULL) : NULL;
    int number = errno;
    if (!absolute) {
        (void)rmdir(folder);
        return err_sys(e, number, "cannot use the scratch folder '%s'", folder);
    }
    ret->folder = STEAL(absolute);
    ret->locked = lock >= 0;
    ret->lock = lock;
    lock = -1;
    return 0;
}

static int make_folder(const char *parent, struct scratch *ret, struct err *e)
{
    if (parent)
        return make_folder_in(parent, ret, e);
    static const char *const variables[] = {"TMPDIR", "TEMP", "TMP"};
    static const char *const folders[] = {"/tmp", "/var/tmp", "/usr/tmp", "."};
    enum { N_VARIABLES = sizeof(variables) / sizeof(*variables) };
    enum { N_PLACES = N_VARIABLES + sizeof(folders) / sizeof(*folders) };
    /* The first failure is the one told: it is about the place that the user named. */
    struct err first = {0};
    struct err later = {0};
    for (size_t i = 0; i < N_PLACES; i++) {
        const char *place = i < N_VARIABLES ? getenv(variables[i]) : folders[i - N_VARIABLES];
        if (!place || !*place)
            continue;
        int result = make_folder_in(place, ret, first.code ? &later : &first);
        if (result == 0)
            return 0;
    }
    if (!e)
        return first.code;
    *e = first;
    return err_context(e, "no folder for temporary files can be written to (of $TMPDIR, $TEMP, "
                          "$TMP, /tmp, /var/tmp, /usr/tmp and the current one); let TMPDIR name "
                          "one that can");
}

static int add_link(struct scratch *scratch, const char *capture, struct err *e)
{
    CLEANUP(cleanup_free) char *target = realpath(capture, NULL);
    if (!target)
        return err_sys(e, errno, "cannot open the capture '%s'", capture);
    const char *slash = strrchr(capture, '/');
    CLEANUP(cleanup_free) char *path = path_join(scratch->folder, slash ? slash + 1 : capture);
    if (!path)
        return err_nomem(e);
    if (symlink(target, path) != 0) {
        if (errno == EEXIST)
            return err_set(e, ERR_USAGE,
                           "two captures share the file name of '%s': the converter tells hosts "
                           "apart by it, so each needs its own",
                           capture);
        return err_sys(e, errno, "cannot link '%s' into the scratch folder", capture);
    }
    scratch->paths[scratch->count++] = STEAL(path);
    return 0;
}

int scratch_make(const char *parent, const char *const *captures, size_t n_captures,
                 struct scratch *ret, struct err *e)
{
    CLEANUP(scratch_release) struct scratch scratch = {0};
    int result = make_folder(parent, &scratch, e);
    if (result != 0)
        return result;
    scratch.paths = calloc(n_captures ? n_captures : 1, sizeof(*scratch.paths));
    if (!scratch.paths)
        return err_nomem(e);
    for (size_t i = 0; i < n_captures; i++) {
        result = add_link(&scratch, captures[i], e);
        if (result != 0)
            return result;
    }
    *ret = scratch;
    scratch = (struct scratch){0};
    return 0;
}

void scratch_release(struct scratch *scratch)
{
    if (scratch->folder)
        /* What cannot be removed from a private temporary folder harms nobody's result. */
        (void)!dir_remove_all(scratch->folder, NULL);
    if (scratch->locked)
        (void)close(scratch->lock);
    for (size_t i = 0; i < scratch->count; i++)
        free(scratch->paths[i]);
    free(scratch->paths);
    free(scratch->folder);
    *scratch = (struct scratch){0};
}
