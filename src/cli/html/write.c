/* SPDX-License-Identifier: Apache-2.0 */
/* write - escaping, units and cells. */
#include "cli/html/write.h"

#include <inttypes.h>
#include <string.h>

#include "cli/output.h"

#include "base/banned.h"

/* The bytes of `text` that are shown: all, or as many whole characters as the bound allows. */
static size_t shown_bytes(const char *text, size_t size)
{
    if (size <= HTML_TEXT_MAX)
        return size;
    size_t shown = HTML_TEXT_MAX;
    while (shown && ((uint8_t)text[shown] & 0xc0) == 0x80)
        shown--;
    return shown;
}

static void escaped(FILE *out, char character)
{
    uint8_t byte = (uint8_t)character;
    switch (byte) {
    case '&':
        (void)fputs("&amp;", out);
        break;
    case '<':
        (void)fputs("&lt;", out);
        break;
    case '>':
        (void)fputs("&gt;", out);
        break;
    case '"':
        (void)fputs("&quot;", out);
        break;
    case '\'':
        (void)fputs("&#39;", out);
        break;
    default:
        if (byte < 0x20 || byte == 0x7f)
            (void)fprintf(out, "\\x%02x", byte);
        else
            (void)fputc(byte, out);
    }
}

void html_text(FILE *out, const char *text)
{
    size_t size = strlen(text), shown = shown_bytes(text, size);
    for (size_t i = 0; i < shown; i++)
        escaped(out, text[i]);
    if (shown < size)
        (void)fprintf(out, "… (%zu bytes)", size);
}

void html_words(FILE *out, const char *words)
{
    bool code = false;
    for (const char *at = words; *at; at++) {
        if (*at != '`' || (!code && !strchr(at + 1, '`'))) {
            escaped(out, *at);
            continue;
        }
        (void)fputs(code ? "</code>" : "<code>", out);
        code = !code;
    }
}

void html_name(FILE *out, const char *name)
{
    (void)fputs("<bdi class=\"name\">", out);
    if (*name)
        html_text(out, name);
    else
        (void)fputs("(empty name)", out);
    (void)fputs("</bdi>", out);
}

void html_json_text(FILE *out, const char *text)
{
    size_t size = strlen(text), shown = shown_bytes(text, size);
    json_t *string = json_stringn(text, shown);
    /* Without memory an empty name stands there; the page's tables have the real one. */
    char *dumped = string ? json_dumps(string, JSON_ENCODE_ANY | JSON_ENSURE_ASCII) : NULL;
    json_decref(string);
    for (const char *at = dumped ? dumped : "\"\""; *at; at++) {
        if (*at == '<' || *at == '>' || *at == '&')
            (void)fprintf(out, "\\u%04x", (unsigned)*at);
        else
            (void)fputc(*at, out);
    }
    free(dumped);
}

void html_ps(FILE *out, uint64_t ps)
{
    char buffer[FORMAT_MAX];
    const char *text = format_ps(ps > INT64_MAX ? INT64_MAX : (int64_t)ps, buffer);
    size_t size = strlen(text);
    if (size > 3 && strcmp(text + size - 3, " us") == 0)
        (void)fprintf(out, "%.*s µs", (int)(size - 3), text);
    else
        (void)fputs(text, out);
}

void html_share(FILE *out, uint64_t part, uint64_t whole)
{
    char buffer[FORMAT_MAX];
    (void)fputs(format_share(part, whole, buffer), out);
}

void html_count(FILE *out, uint64_t count)
{
    char digits[FORMAT_MAX];
    int n = snprintf(digits, sizeof(digits), "%" PRIu64, count);
    for (int i = 0; i < n; i++) {
        if (i && (n - i) % 3 == 0)
            (void)fputc(',', out);
        (void)fputc(digits[i], out);
    }
}

void html_table_begin(FILE *out, const char *id, const char *caption,
                      const struct html_column *columns, size_t n_columns, size_t top)
{
    (void)fprintf(
        out,
        "<div class=\"scroll\" role=\"region\" tabindex=\"0\" aria-labelledby=\"%s-caption\">"
        "<table id=\"%s\" data-top=\"%zu\"><caption id=\"%s-caption\">%s</caption>\n"
        "<thead><tr>",
        id, id, top, id, caption);
    for (size_t i = 0; i < n_columns; i++) {
        (void)fprintf(out, "<th scope=\"col\"%s", columns[i].number ? " class=\"n\"" : "");
        if (columns[i].meaning)
            (void)fprintf(out, " title=\"%s\"", columns[i].meaning);
        (void)fputs(">", out);
        html_text(out, columns[i].title);
        (void)fputs("</th>", out);
    }
    (void)fputs("</tr></thead>\n<tbody>\n", out);
}

void html_table_end(FILE *out, size_t left, const char *what)
{
    (void)fputs("</tbody></table></div>\n", out);
    if (!left)
        return;
    (void)fputs("<p class=\"more\">And ", out);
    html_count(out, left);
    (void)fprintf(out, " more %s, which <code>dew-profile summary --csv</code> lists.</p>\n", what);
}

void html_none(FILE *out, const char *why)
{
    (void)fputs("<p class=\"none\"><strong>None:</strong> ", out);
    html_words(out, why ? why : "the capture says nothing about it");
    (void)fputs(".</p>\n", out);
}

void html_cell_head(FILE *out, const char *name)
{
    (void)fputs("<th scope=\"row\">", out);
    html_name(out, name);
    (void)fputs("</th>", out);
}

void html_cell_name(FILE *out, const char *name)
{
    (void)fputs("<td>", out);
    if (*name)
        html_name(out, name);
    (void)fputs("</td>", out);
}

void html_cell_ps(FILE *out, uint64_t ps)
{
    (void)fprintf(out, "<td class=\"n\" data-v=\"%" PRIu64 "\">", ps);
    html_ps(out, ps);
    (void)fputs("</td>", out);
}

void html_cell_count(FILE *out, uint64_t count)
{
    (void)fprintf(out, "<td class=\"n\" data-v=\"%" PRIu64 "\">", count);
    html_count(out, count);
    (void)fputs("</td>", out);
}

void html_cell_share(FILE *out, uint64_t part, uint64_t whole)
{
    (void)fprintf(out, "<td class=\"n\" data-v=\"%" PRIu64 "\">", part);
    html_share(out, part, whole);
    (void)fputs("</td>", out);
}

void html_cell_bar(FILE *out, uint64_t ps, uint64_t full, const char *kind)
{
    (void)fprintf(out, "<td class=\"n\" data-v=\"%" PRIu64 "\">", ps);
    html_ps(out, ps);
    double width = full ? 100.0 * (double)ps / (double)full : 0;
    (void)fprintf(
        out,
        "<svg class=\"bar\" aria-hidden=\"true\"><rect class=\"rail\" width=\"100%%\" "
        "height=\"100%%\"/><rect class=\"%s\" width=\"%.2f%%\" height=\"100%%\"/></svg></td>",
        kind, width > 100 ? 100 : width);
}
