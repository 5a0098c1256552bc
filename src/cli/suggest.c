/* SPDX-License-Identifier: Apache-2.0 */
/* suggest - edit distance over short names. */
#include "cli/suggest.h"

#include <string.h>

#include "base/banned.h"

#define NAME_MAX_LENGTH 40 /* longer ones are no typing slip of a name of ours */

/* Edits (insert, delete, replace) between the two; one row of the table at a time. */
static size_t edits(const char *a, const char *b)
{
    size_t row[NAME_MAX_LENGTH + 1];
    size_t length = strlen(b);
    for (size_t j = 0; j <= length; j++)
        row[j] = j;
    for (size_t i = 1; a[i - 1]; i++) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= length; j++) {
            size_t replaced = diagonal + (a[i - 1] != b[j - 1]);
            size_t shifted = (row[j] < row[j - 1] ? row[j] : row[j - 1]) + 1;
            diagonal = row[j];
            row[j] = replaced < shifted ? replaced : shifted;
        }
    }
    return row[length];
}

struct suggest suggest_for(const char *typed)
{
    return (struct suggest){.typed = typed};
}

void suggest_offer(struct suggest *suggest, const char *name)
{
    size_t typed = strlen(suggest->typed);
    size_t length = strlen(name);
    if (typed == 0 || typed > NAME_MAX_LENGTH || length > NAME_MAX_LENGTH)
        return;
    size_t distance = edits(suggest->typed, name);
    size_t longer = typed > length ? typed : length;
    if (distance * 3 > longer + 1)
        return;
    if (!suggest->best || distance < suggest->distance) {
        suggest->best = name;
        suggest->distance = distance;
    }
}
