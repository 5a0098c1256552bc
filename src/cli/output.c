/* SPDX-License-Identifier: Apache-2.0 */
/* output - terminal, units, JSON. */
#include "cli/output.h"

#include <inttypes.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/banned.h"

#define WIDTH_MAX 10000

bool output_is_terminal(FILE *file)
{
    return isatty(fileno(file)) == 1;
}

unsigned output_width(FILE *file)
{
    const char *columns = getenv("COLUMNS");
    long named = columns ? strtol(columns, NULL, 10) : 0;
    if (named > 0 && named <= WIDTH_MAX)
        return (unsigned)named;
    struct winsize size;
    if (output_is_terminal(file) && ioctl(fileno(file), TIOCGWINSZ, &size) == 0)
        return size.ws_col;
    return 0;
}

bool output_colours(FILE *file)
{
    const char *no = getenv("NO_COLOR");
    const char *term = getenv("TERM");
    return !(no && *no) && term && strcmp(term, "dumb") != 0 && output_is_terminal(file);
}

const char *style_begin(FILE *file, enum style style)
{
    static const char *const codes[] = {
        [STYLE_PLAIN] = "",       [STYLE_BOLD] = "\033[1m",   [STYLE_FAINT] = "\033[2m",
        [STYLE_RED] = "\033[31m", [STYLE_GREEN] = "\033[32m", [STYLE_YELLOW] = "\033[33m",
    };
    return output_colours(file) ? codes[style] : "";
}

const char *style_end(FILE *file)
{
    return output_colours(file) ? "\033[0m" : "";
}

/* Three or four significant digits: 1.234, 12.34, 123.4. */
static int decimals_of(double value)
{
    double size = value < 0 ? -value : value;
    return size < 9.9995 ? 3 : size < 99.995 ? 2 : 1;
}

const char *format_ps(int64_t ps, char buffer[FORMAT_MAX])
{
    static const struct {
        double ps;
        const char *unit;
    } units[] = {{1e12, "s"}, {1e9, "ms"}, {1e6, "us"}, {1e3, "ns"}};
    double value = (double)ps;
    double size = value < 0 ? -value : value;
    for (size_t i = 0; i < sizeof(units) / sizeof(*units); i++) {
        /* A hair below a unit would round to "1000.0" of the next smaller one. */
        if (size < units[i].ps * 0.99995)
            continue;
        double scaled = value / units[i].ps;
        (void)snprintf(buffer, FORMAT_MAX, "%.*f %s", decimals_of(scaled), scaled, units[i].unit);
        return buffer;
    }
    (void)snprintf(buffer, FORMAT_MAX, ps == 0 ? "0" : "%" PRId64 " ps", ps);
    return buffer;
}

const char *format_bytes(uint64_t bytes, char buffer[FORMAT_MAX])
{
    static const char *const units[] = {"KiB", "MiB", "GiB", "TiB"};
    if (bytes < 1024) {
        (void)snprintf(buffer, FORMAT_MAX, "%" PRIu64 " B", bytes);
        return buffer;
    }
    double value = (double)bytes / 1024;
    size_t unit = 0;
    while (value >= 1023.95 && unit + 1 < sizeof(units) / sizeof(*units)) {
        value /= 1024;
        unit++;
    }
    (void)snprintf(buffer, FORMAT_MAX, "%.1f %s", value, units[unit]);
    return buffer;
}

const char *format_share(uint64_t part, uint64_t whole, char buffer[FORMAT_MAX])
{
    if (whole == 0)
        (void)snprintf(buffer, FORMAT_MAX, "-");
    else
        (void)snprintf(buffer, FORMAT_MAX, "%.1f %%", 100.0 * (double)part / (double)whole);
    return buffer;
}

void output_text(FILE *file, struct view text)
{
    for (size_t i = 0; i < text.size; i++) {
        uint8_t byte = text.data[i];
        if (byte < 0x20 || byte == 0x7f)
            (void)fprintf(file, "\\x%02x", byte);
        else
            (void)fputc(byte, file);
    }
}

/* The length of the UTF-8 sequence at the start of the bytes, 0 where there is none. */
static size_t utf8_length(const uint8_t *at, size_t left)
{
    if (at[0] < 0x80)
        return 1;
    size_t size = at[0] >= 0xf0 ? 4 : at[0] >= 0xe0 ? 3 : 2;
    if (at[0] < 0xc2 || at[0] > 0xf4 || left < size)
        return 0;
    for (size_t i = 1; i < size; i++)
        if ((at[i] & 0xc0) != 0x80)
            return 0;
    bool overlong = (at[0] == 0xe0 && at[1] < 0xa0) || (at[0] == 0xf0 && at[1] < 0x90);
    bool surrogate = at[0] == 0xed && at[1] >= 0xa0;
    bool beyond = at[0] == 0xf4 && at[1] >= 0x90;
    return overlong || surrogate || beyond ? 0 : size;
}

json_t *json_text(struct view text)
{
    static const char replacement[] = "\xef\xbf\xbd";
    json_t *whole = json_stringn(text.size ? (const char *)text.data : "", text.size);
    if (whole || text.size > SIZE_MAX / 4)
        return whole;
    CLEANUP(cleanup_free) char *mended = malloc(text.size * 3 + 1);
    if (!mended)
        return NULL;
    size_t used = 0;
    for (size_t i = 0; i < text.size;) {
        size_t size = utf8_length(text.data + i, text.size - i);
        const void *from = size ? (const void *)(text.data + i) : replacement;
        size_t put = size ? size : sizeof(replacement) - 1;
        memcpy(mended + used, from, put);
        used += put;
        i += size ? size : 1;
    }
    return json_stringn(mended, used);
}

/* jansson hands out token by token, and a big answer has millions. */
struct json_buffer {
    FILE *file;
    size_t used;
    char bytes[1 << 16];
};

static void buffer_flush(struct json_buffer *buffer)
{
    (void)fwrite(buffer->bytes, 1, buffer->used, buffer->file);
    buffer->used = 0;
}

static int buffer_add(const char *text, size_t size, void *context)
{
    struct json_buffer *buffer = context;
    if (size > sizeof(buffer->bytes) - buffer->used)
        buffer_flush(buffer);
    if (size > sizeof(buffer->bytes)) {
        (void)fwrite(text, 1, size, buffer->file);
        return 0;
    }
    memcpy(buffer->bytes + buffer->used, text, size);
    buffer->used += size;
    return 0;
}

int output_json(FILE *file, json_t *json, struct err *e)
{
    if (!json)
        return err_nomem(e);
    struct json_buffer buffer;
    buffer.file = file;
    buffer.used = 0;
    int result =
        json_dump_callback(json, buffer_add, &buffer, JSON_INDENT(1) | JSON_REAL_PRECISION(12));
    buffer_flush(&buffer);
    json_decref(json);
    (void)fputc('\n', file);
    /* What goes wrong with the file itself is reported when it is flushed (main.c). */
    return result == 0 || ferror(file) ? 0 : err_nomem(e);
}

int output_check_target(const char *path, const char *what, const char *source, struct err *e)
{
    struct stat target, from;
    if (stat(path, &target) < 0)
        return 0;
    if (S_ISDIR(target.st_mode))
        return err_set(e, ERR_USAGE, "cannot write %s to '%s': it is a folder; name a file in it",
                       what, path);
    if (!S_ISREG(target.st_mode))
        return err_set(e, ERR_USAGE,
                       "cannot write %s to '%s': it is no regular file; '-' is standard output",
                       what, path);
    if (stat(source, &from) == 0 && from.st_dev == target.st_dev && from.st_ino == target.st_ino)
        return err_set(e, ERR_USAGE, "%s would replace the capture '%s'; name another file", what,
                       path);
    return 0;
}
