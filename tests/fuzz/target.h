/* SPDX-License-Identifier: Apache-2.0 */
/* target - what every fuzz target defines: one input, no state kept, no output.
 *
 * libFuzzer calls it in a -Dfuzz=true build; replay.c calls it over files in every other build and
 * under AFL++ (tools/fuzz.sh). A property that does not hold is an abort. */
#ifndef DEW_TESTS_FUZZ_TARGET_H
#define DEW_TESTS_FUZZ_TARGET_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define HOLDS(property)                                                                            \
    do {                                                                                           \
        if (!(property)) {                                                                         \
            (void)fprintf(stderr, "%s:%d: does not hold: %s\n", __FILE__, __LINE__, #property);    \
            abort();                                                                               \
        }                                                                                          \
    } while (0)

#endif
