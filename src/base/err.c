/* SPDX-License-Identifier: Apache-2.0 */
/* err - filling the error value. */
#include "base/err.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/banned.h"

static void fill(struct err *e, int code, int number, uint64_t offset)
{
    e->code = code;
    e->sys_errno = number;
    e->offset = offset;
}

int err_set(struct err *e, int code, const char *format, ...)
{
    if (!e)
        return code;
    fill(e, code, 0, ERR_NO_OFFSET);
    va_list args;
    va_start(args, format);
    (void)vsnprintf(e->text, sizeof(e->text), format, args);
    va_end(args);
    return code;
}

int err_at(struct err *e, int code, uint64_t offset, const char *format, ...)
{
    if (!e)
        return code;
    fill(e, code, 0, offset);
    va_list args;
    va_start(args, format);
    (void)vsnprintf(e->text, sizeof(e->text), format, args);
    va_end(args);
    return code;
}

int err_sys(struct err *e, int number, const char *format, ...)
{
    if (!e)
        return ERR_IO;
    fill(e, ERR_IO, number, ERR_NO_OFFSET);
    va_list args;
    va_start(args, format);
    int used = vsnprintf(e->text, sizeof(e->text), format, args);
    va_end(args);
    if (used < 0)
        used = 0;
    if ((size_t)used < sizeof(e->text)) {
        char buffer[128];
        const char *words = strerror_r(number, buffer, sizeof(buffer));
        (void)snprintf(e->text + used, sizeof(e->text) - (size_t)used, ": %s", words);
    }
    return ERR_IO;
}

int err_context(struct err *e, const char *format, ...)
{
    if (!e)
        return ERR_FOREIGN;
    char rest[ERR_TEXT_MAX];
    memcpy(rest, e->text, sizeof(rest));
    va_list args;
    va_start(args, format);
    int used = vsnprintf(e->text, sizeof(e->text), format, args);
    va_end(args);
    if (used >= 0 && (size_t)used < sizeof(e->text))
        (void)snprintf(e->text + used, sizeof(e->text) - (size_t)used, ": %s", rest);
    return e->code;
}

int err_nomem(struct err *e)
{
    return err_set(e, ERR_MEMORY, "out of memory");
}
