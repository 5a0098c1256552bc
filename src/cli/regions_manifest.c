/* SPDX-License-Identifier: Apache-2.0 */
/* regions_manifest - key "regions": a list of names. */
#include "cli/regions_manifest.h"

#include <stdlib.h>

#include "base/file.h"

#include "base/banned.h"

json_t *manifest_read(const char *path)
{
    CLEANUP(cleanup_free) char *data = NULL;
    size_t size;
    if (!path || file_read(path, MANIFEST_BYTES_MAX, &data, &size, NULL) < 0)
        return NULL;
    return json_loadb(data, size, 0, NULL);
}

const char **manifest_regions(const json_t *manifest, size_t *ret_n)
{
    json_t *list = manifest ? json_object_get(manifest, "regions") : NULL;
    size_t room = json_is_array(list) ? json_array_size(list) : 0, n = 0;
    *ret_n = 0;
    if (!room)
        return NULL;
    const char **names = calloc(room, sizeof(*names));
    for (size_t i = 0; names && i < room; i++) {
        const char *name = json_string_value(json_array_get(list, i));
        if (name)
            names[n++] = name;
    }
    *ret_n = n;
    return names;
}
