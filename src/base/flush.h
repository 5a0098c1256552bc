/* SPDX-License-Identifier: Apache-2.0 */
/* flush - brings a file to the disk while its writer goes on.
 *
 * A flush takes from half a millisecond to seconds, as the disk and its other users will. Errors
 * are not told: this is for what is written again later, when they come up again. */
#ifndef DEW_BASE_FLUSH_H
#define DEW_BASE_FLUSH_H

#include "base/file.h"

struct flush;

/* Takes the descriptors. Where no thread can be had the flush is done before the return, which is
 * then NULL. */
struct flush *flush_begin(struct file_unflushed unflushed);

/* Waits for the end, and releases; takes NULL too. In a forked child, to which the thread did not
 * come, it only releases. */
void flush_end(struct flush *flush);

#endif
