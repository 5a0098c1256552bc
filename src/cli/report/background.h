/* SPDX-License-Identifier: Apache-2.0 */
/* background - the rest of the program in a process of its own, in a session of its own.
 *
 * Neither Ctrl-C nor a closed terminal ends it then, and it says nothing more. */
#ifndef DEW_CLI_REPORT_BACKGROUND_H
#define DEW_CLI_REPORT_BACKGROUND_H

#include "base/err.h"

/* Returns in the new process. This one ends, with status 0 and nothing released: what it holds is
 * the new one's. On failure it goes on. */
must_check int background_go(struct err *e);

#endif
