/* SPDX-License-Identifier: Apache-2.0 */
/* nth - the wrapped allocators. */
#include "nth.h"

#include <stddef.h>

static unsigned left;
static int failed;
static long live;

void nth_fail(unsigned n)
{
    left = n;
    failed = 0;
}

int nth_failed(void)
{
    left = 0;
    return failed;
}

long nth_live(void)
{
    return live;
}

static int fails_now(void)
{
    if (left == 0 || --left > 0)
        return 0;
    failed = 1;
    return 1;
}

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *old, size_t size);
void __real_free(void *memory);
char *__real_strdup(const char *text);
char *__real_strndup(const char *text, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *old, size_t size);
void __wrap_free(void *memory);
char *__wrap_strdup(const char *text);
char *__wrap_strndup(const char *text, size_t size);

static void *counted(void *memory)
{
    live += memory != NULL;
    return memory;
}

void *__wrap_malloc(size_t size)
{
    return fails_now() ? NULL : counted(__real_malloc(size));
}

void *__wrap_calloc(size_t count, size_t size)
{
    return fails_now() ? NULL : counted(__real_calloc(count, size));
}

void *__wrap_realloc(void *old, size_t size)
{
    if (fails_now())
        return NULL;
    void *memory = __real_realloc(old, size);
    return old ? memory : counted(memory);
}

void __wrap_free(void *memory)
{
    live -= memory != NULL;
    __real_free(memory);
}

char *__wrap_strdup(const char *text)
{
    return fails_now() ? NULL : counted(__real_strdup(text));
}

char *__wrap_strndup(const char *text, size_t size)
{
    return fails_now() ? NULL : counted(__real_strndup(text, size));
}
