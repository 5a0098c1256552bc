/* SPDX-License-Identifier: Apache-2.0 */
/* test - cmocka with the headers that it wants before it. */
#ifndef DEW_TESTS_TEST_H
#define DEW_TESTS_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#endif
