/* SPDX-License-Identifier: Apache-2.0 */
/* replay - runs a fuzz target over files and the files in folders, without a fuzzer.
 *
 *   fuzz_NAME_replay FILE|FOLDER...
 *
 * Each input is given in memory of just its size, so that a sanitizer sees one byte too far. That
 * no file at all was found is a failure. */
#include <ftw.h>
#include <string.h>

#include "base/file.h"
#include "target.h"

#include "base/banned.h"

#define INPUT_MAX ((size_t)64 << 20)
#define OPEN_FOLDERS_MAX 8

static unsigned inputs;

static int replay(const char *path, const struct stat *st, int kind)
{
    (void)st;
    if (kind != FTW_F)
        return 0;
    struct err e = {0};
    char *data = NULL;
    size_t size = 0;
    if (file_read(path, INPUT_MAX, &data, &size, &e) != 0) {
        (void)fprintf(stderr, "%s\n", e.text);
        return 1;
    }
    uint8_t *exact = malloc(size > 0 ? size : 1);
    if (!exact)
        abort();
    memcpy(exact, data, size);
    free(data);
    (void)LLVMFuzzerTestOneInput(exact, size);
    free(exact);
    inputs++;
    return 0;
}

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++)
        if (ftw(argv[i], replay, OPEN_FOLDERS_MAX) != 0) {
            (void)fprintf(stderr, "cannot replay '%s'\n", argv[i]);
            return 1;
        }
    printf("%u inputs\n", inputs);
    return inputs == 0;
}
