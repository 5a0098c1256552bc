/* SPDX-License-Identifier: Apache-2.0 */
/* banned - libc calls that this project does not use, each with what to use in its place.
 *
 * Included last by every .c file; a use fails to compile. Left out on purpose: calls that the
 * compiler's own warnings already catch. */
#ifndef DEW_BASE_BANNED_H
#define DEW_BASE_BANNED_H

#pragma GCC poison strcpy strcat strncpy strncat stpcpy /* snprintf, or memcpy with a known size   \
                                                         */
#pragma GCC poison sprintf vsprintf                     /* snprintf, vsnprintf */
#pragma GCC poison gets strtok                          /* getline, strtok_r */
#pragma GCC poison atoi atol atoll atof           /* strtol and friends, which report errors */
#pragma GCC poison gmtime localtime ctime asctime /* the _r forms */
#pragma GCC poison tmpnam mktemp                  /* mkstemp, mkdtemp */

#endif
