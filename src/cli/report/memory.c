/* SPDX-License-Identifier: Apache-2.0 */
/* memory - /proc/meminfo and the control group's own numbers. */
#include "cli/report/memory.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/file.h"

#include "base/banned.h"

/* false where no number stands: a control group without a limit says "max". */
static bool parse_number(const char *text, uint64_t *ret_number)
{
    char *end;
    errno = 0;
    unsigned long long number = strtoull(text, &end, 10);
    if (end == text || errno != 0)
        return false;
    *ret_number = number;
    return true;
}

/* "MemAvailable:   24117248 kB" */
static uint64_t free_of_system(const char *meminfo)
{
    CLEANUP(cleanup_fclose) FILE *file = fopen(meminfo, "re");
    if (!file)
        return UINT64_MAX;
    static const char key[] = "MemAvailable:";
    char line[256];
    while (fgets(line, sizeof(line), file)) {
        uint64_t kib;
        if (strncmp(line, key, strlen(key)) == 0 && parse_number(line + strlen(key), &kib))
            return kib < UINT64_MAX / 1024 ? kib * 1024 : UINT64_MAX;
    }
    return UINT64_MAX;
}

static bool read_number(const char *group, const char *name, uint64_t *ret_number)
{
    CLEANUP(cleanup_free) char *path = path_join(group, name);
    CLEANUP(cleanup_fclose) FILE *file = path ? fopen(path, "re") : NULL;
    char line[64];
    return file && fgets(line, sizeof(line), file) && parse_number(line, ret_number);
}

static uint64_t free_of_group(const char *group)
{
    uint64_t most;
    uint64_t used;
    if (!read_number(group, "memory.max", &most) || !read_number(group, "memory.current", &used))
        return UINT64_MAX;
    return most > used ? most - used : 0;
}

uint64_t memory_available_in(const char *meminfo, const char *group)
{
    uint64_t system = free_of_system(meminfo);
    uint64_t own = free_of_group(group);
    return system < own ? system : own;
}

uint64_t memory_available(void)
{
    return memory_available_in("/proc/meminfo", "/sys/fs/cgroup");
}
