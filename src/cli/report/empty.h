/* SPDX-License-Identifier: Apache-2.0 */
/* empty - whether a report, as the converter made it, has nothing to show.
 *
 * On a CPU most of xprof's pages come out well-formed with no rows in them. Reads the report, never
 * changes it. Leaves out tools that it has no rule for and text that is no JSON: those are full. */
#ifndef DEW_CLI_REPORT_EMPTY_H
#define DEW_CLI_REPORT_EMPTY_H

#include "base/view.h"

/* Why the report is empty, a static text, or NULL where it is not. */
const char *report_emptiness(const char *tool, struct view data);

#endif
