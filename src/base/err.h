/* SPDX-License-Identifier: Apache-2.0 */
/* err - the one error value that every layer fills and none of the core layers prints.
 *
 * A function that can fail returns 0 or a negative `enum err_code` and, on failure, has filled the
 * caller's `struct err`. The text says what went wrong, with what, and what to do; it is one line,
 * always terminated, cut at its bound. The first failure of an operation is the one reported:
 * callers do not overwrite an err that they pass on, but may put context in front of it. */
#ifndef DEW_BASE_ERR_H
#define DEW_BASE_ERR_H

#include <stdint.h>

#include "base/cleanup.h"

enum err_code {
    ERR_OK = 0,
    ERR_USAGE = -1,       /* the caller asked for something that cannot be */
    ERR_DAMAGED = -2,     /* bytes that are not what the format says */
    ERR_TRUNCATED = -3,   /* the input ends in the middle of something */
    ERR_LIMIT = -4,       /* a count, size or depth above a named limit */
    ERR_IO = -5,          /* the operating system said no: see sys_errno */
    ERR_MEMORY = -6,      /* no memory */
    ERR_MISSING = -7,     /* what was asked for is not there */
    ERR_UNSUPPORTED = -8, /* there, but of a version or kind that cannot be used */
    ERR_FOREIGN = -9,     /* a foreign library or process failed; the text carries its words */
};

#define ERR_TEXT_MAX 1024
#define ERR_NO_OFFSET UINT64_MAX

struct err {
    int code;
    int sys_errno;   /* errno where code is ERR_IO, else 0 */
    uint64_t offset; /* byte in the input where it was noticed, or ERR_NO_OFFSET */
    char text[ERR_TEXT_MAX];
};

/* All three return `code`, so that a failing path is `return err_set(e, ERR_..., "...")`.
 * `e` may be NULL where a caller does not want the text. */
int err_set(struct err *e, int code, const char *format, ...) __attribute__((format(printf, 3, 4)));
int err_at(struct err *e, int code, uint64_t offset, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* Appends ": <strerror(number)>" and returns ERR_IO. */
int err_sys(struct err *e, int number, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Puts "<context>: " in front of the text of an err that is being passed on; returns e->code. */
int err_context(struct err *e, const char *format, ...) __attribute__((format(printf, 2, 3)));

int err_nomem(struct err *e);

#endif
