/* SPDX-License-Identifier: Apache-2.0 */
/* map - the one file that includes sys/mman.h. */
#include "base/map.h"

#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/file.h"

#include "base/banned.h"

int map_open(struct map *ret_map, const char *path, struct err *e)
{
    CLEANUP(cleanup_close) int fd = -1;
    uint64_t told;
    int result = file_open(path, &fd, &told, e);
    if (result != 0)
        return result;
    if (told == 0) {
        ret_map->bytes = view_of(NULL, 0);
        return 0;
    }
    if (told > SIZE_MAX / 2)
        return err_set(e, ERR_LIMIT, "'%s' is too large to map", path);
    size_t size = (size_t)told;
    void *memory = mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (memory == MAP_FAILED)
        return err_sys(e, errno, "cannot map '%s'", path);
    ret_map->bytes = view_of(memory, size);
    return 0;
}

void map_release(struct map *map)
{
    if (map->bytes.size > 0)
        (void)munmap((void *)(uintptr_t)map->bytes.data, map->bytes.size);
    map->bytes = view_of(NULL, 0);
}

void map_forget_before(const struct map *map, size_t position)
{
    long page = sysconf(_SC_PAGESIZE);
    if (page <= 0 || position > map->bytes.size)
        return;
    size_t whole = position - position % (size_t)page;
    if (whole > 0)
        (void)madvise((void *)(uintptr_t)map->bytes.data, whole, MADV_DONTNEED);
}
