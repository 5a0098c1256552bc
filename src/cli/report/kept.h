/* SPDX-License-Identifier: Apache-2.0 */
/* kept - reports of an earlier export that this one leaves as they are. */
#ifndef DEW_CLI_REPORT_KEPT_H
#define DEW_CLI_REPORT_KEPT_H

#include <jansson.h>

#include "cli/report/folder.h"
#include "cli/report/index.h"

/* Those entries of the index in `folder` that are about the same captures and about no tool of the
 * plan, each with "xprof" where another version than this one made it: a new array, empty where
 * there is no such index, or NULL without memory. */
json_t *kept_read(const struct folder *folder, const struct plan *plan,
                  const struct index_source *source);

/* Whether one of the entries is about the file of this name. */
bool kept_has(const json_t *kept, const char *file);

#endif
