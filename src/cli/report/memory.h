/* SPDX-License-Identifier: Apache-2.0 */
/* memory - how much of it another worker may take.
 *
 * Asks the system: what Linux calls available, and what is left to the control group (a container).
 * Elsewhere, and where nothing can be read, it knows no limit. */
#ifndef DEW_CLI_REPORT_MEMORY_H
#define DEW_CLI_REPORT_MEMORY_H

#include <stdint.h>

/* What a worker takes for each byte of a capture: a million events in 29 MB took 960 MB with xprof
 * 2.24.2. */
#define MEMORY_PER_BYTE 36

uint64_t memory_available(void);

/* The same from the files named: /proc/meminfo and a control group's folder. */
uint64_t memory_available_in(const char *meminfo, const char *group);

#endif
