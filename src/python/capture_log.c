/* SPDX-License-Identifier: Apache-2.0 */
/* capture_log - lines for Python's logging, so that a long stop gives signs of life. */
#include "python/capture.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/banned.h"

#define LINE_MAX_BYTES 4096

void capture_log(struct errors *errors, const char *format, ...)
{
    char line[LINE_MAX_BYTES];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(line, sizeof(line), format, args);
    va_end(args);
    OWNED get = py_import_attr("logging", "getLogger");
    OWNED logger = get ? PyObject_CallFunction(get, "s", "dew.telemetry.profile") : NULL;
    OWNED text = logger ? PyUnicode_DecodeFSDefault(line) : NULL;
    OWNED done = text ? py_call_method(logger, "info", "(sO)", "%s", text) : NULL;
    if (!done)
        errors_take(errors);
}
