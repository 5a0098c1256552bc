/* SPDX-License-Identifier: Apache-2.0 */
/* nth - fails the nth allocation, so that each path without memory can be walked.
 *
 * Programs that link nth.c are linked with --wrap for the allocating calls (see meson.build). */
#ifndef DEW_TESTS_NTH_H
#define DEW_TESTS_NTH_H

/* The nth allocation from now on fails, 1 being the next; 0 lets all succeed. */
void nth_fail(unsigned n);

/* Whether the failure armed by nth_fail() has happened. Disarms. */
int nth_failed(void);

/* How many allocations of the program's own code are not freed: to be compared, for what a library
 * allocates and the program frees counts below 0. */
long nth_live(void);

#endif
