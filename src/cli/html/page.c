/* SPDX-License-Identifier: Apache-2.0 */
/* page - the parts of the page in a row, into a stream or, complete or not at all, into a file. */
#include "cli/html/page.h"

#include <errno.h>

#include "base/file.h"
#include "cli/output.h"
#include "cli/summary_write.h"

#include "base/banned.h"

void summary_print_html(FILE *file, const struct summary *summary, size_t top)
{
    struct html_page page = {.out = file, .summary = summary, .top = top};
    for (size_t i = 0; i < html_n_parts; i++) {
        (void)fwrite(html_parts[i].text, 1, html_parts[i].size, file);
        if (html_parts[i].slot)
            html_parts[i].slot(&page);
    }
}

int summary_write_html(const char *path, const struct summary *summary, size_t top, struct err *e)
{
    int r = output_check_target(path, "the page", summary->file, e);
    if (r < 0)
        return r;
    CLEANUP(cleanup_free) char *bytes = NULL;
    size_t size = 0;
    FILE *stream = open_memstream(&bytes, &size);
    if (!stream)
        return err_nomem(e);
    summary_print_html(stream, summary, top);
    bool failed = ferror(stream);
    if (fclose(stream) != 0 || failed)
        return err_nomem(e);
    return file_replace(path, view_of(bytes, size), e);
}
