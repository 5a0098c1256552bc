/* SPDX-License-Identifier: Apache-2.0 */
/* map - the one file that includes sys/mman.h. */
#include "base/map.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/banned.h"

int map_open(struct map *ret_map, const char *path, struct err *e)
{
    /* O_NONBLOCK so that a fifo in the file's place is refused below instead of waited for. */
    CLEANUP(cleanup_close) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return err_sys(e, errno, "cannot open '%s'", path);
    struct stat st;
    if (fstat(fd, &st) != 0)
        return err_sys(e, errno, "cannot read the size of '%s'", path);
    if (!S_ISREG(st.st_mode))
        return err_set(e, ERR_USAGE, "'%s' is not a regular file", path);
    if (st.st_size == 0) {
        ret_map->bytes = view_of(NULL, 0);
        return 0;
    }
    if ((uint64_t)st.st_size > SIZE_MAX / 2)
        return err_set(e, ERR_LIMIT, "'%s' is too large to map", path);
    size_t size = (size_t)st.st_size;
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
