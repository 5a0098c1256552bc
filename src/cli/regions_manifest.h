/* SPDX-License-Identifier: Apache-2.0 */
/* regions_manifest - the names of the regions that a capture's manifest.json lists.
 *
 * A manifest without such a list, or one that cannot be read, is no error: the names are then told
 * by what they are not (src/trace/names.h). */
#ifndef DEW_CLI_REGIONS_MANIFEST_H
#define DEW_CLI_REGIONS_MANIFEST_H

#include <jansson.h>

#define MANIFEST_BYTES_MAX (64U << 20)

/* NULL where there is none that is readable. Owned by the caller. */
json_t *manifest_read(const char *path);

/* Views of `manifest`'s strings; NULL and 0 where it has no list or an empty one. The array is the
 * caller's. */
const char **manifest_regions(const json_t *manifest, size_t *ret_n);

#endif
