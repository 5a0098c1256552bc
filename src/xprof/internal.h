/* SPDX-License-Identifier: Apache-2.0 */
/* internal - what the files of this folder share and nobody else sees. */
#ifndef DEW_XPROF_INTERNAL_H
#define DEW_XPROF_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>

#include "xprof/converter.h"

/* The signature of 2.22.3 to 2.24.2: an error text or NULL is returned, the result is handed back
 * through the last three. Both texts are freed by FreeString. */
typedef char *xspace_to_tools_data_fn(const char **paths, size_t n_paths, const char *tool,
                                      const char **keys, const char **texts, int *numbers,
                                      bool *flags, int *types, int n_options, char **ret_data,
                                      size_t *ret_size, bool *ret_ok);
typedef void free_string_fn(void *text);

struct converter {
    char *library;
    char *version;
    xspace_to_tools_data_fn *convert;
    free_string_fn *free_string;
};

/* Fills e and returns ERR_UNSUPPORTED. */
int converter_too_old(const char *library, const char *version, struct err *e);

#endif
