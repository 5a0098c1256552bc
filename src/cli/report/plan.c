/* SPDX-License-Identifier: Apache-2.0 */
/* plan - names, variants and order of the reports. */
#include "cli/report/plan.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/capture_path.h"
#include "xprof/tool.h"

#include "base/banned.h"

#define REPORTS_MAX 65536
#define MODULE_SUFFIX ".hlo_proto.pb"
#define NO_MODULE "NO_MODULE" /* the converter's mark for a capture without modules */

static bool is_one_of(const char *name, const char *const *names, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(names[i], name) == 0)
            return true;
    return false;
}

/* Tools that read the capture itself. All others, among them those that a newer xprof may bring,
 * are made from one intermediate result, which the first of them leaves in the scratch folder. */
static bool shares_result(const char *tool)
{
    static const char *const alone[] = {
        "graph_viewer",  "megascale_stats", "memory_profile",
        "memory_viewer", "trace_viewer",    "trace_viewer@",
    };
    return !is_one_of(tool, alone, sizeof(alone) / sizeof(*alone));
}

static bool is_plain(unsigned char byte)
{
    return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
           (byte >= '0' && byte <= '9') || strchr("._-@()+=,", byte) != NULL;
}

/* FNV-1a: tells two names apart that are the same up to where they are cut. */
static uint32_t hash(const char *text)
{
    uint32_t value = 2166136261u;
    for (; *text; text++)
        value = (value ^ (unsigned char)*text) * 16777619u;
    return value;
}

/* Appends `text` with every byte that is not plain as %XX, at most up to `limit` bytes in all. */
static bool escape(const char *text, char *buffer, size_t limit)
{
    size_t used = strlen(buffer);
    for (; *text; text++) {
        unsigned char byte = (unsigned char)*text;
        bool plain = is_plain(byte) && !(used == 0 && byte == '.');
        size_t size = plain ? 1 : 3;
        if (used + size > limit)
            return false;
        (void)snprintf(buffer + used, 4, plain ? "%c" : "%%%02X", byte);
        used += size;
    }
    return true;
}

static const char *suffix_of(const struct report *report)
{
    if (report->module && strcmp(report->tool, "graph_viewer") == 0)
        return ".txt"; /* the HLO text, which xprof serves as bytes to be saved */
    if (strcmp(report->mime, MIME_TEXT) == 0)
        return ".txt";
    if (strcmp(report->mime, MIME_HTML) == 0)
        return ".html";
    return strcmp(report->mime, MIME_JSON) == 0 ? ".json" : ".pb";
}

/* TOOL[.HOST|.MODULE].SUFFIX */
static char *file_name(const struct report *report)
{
    const char *part = report->host ? report->host : report->module;
    char name[REPORT_FILE_MAX + 32] = "";
    bool whole = escape(report->tool, name, REPORT_FILE_MAX / 2);
    if (part) {
        (void)snprintf(name + strlen(name), 2, ".");
        whole = escape(part, name, REPORT_FILE_MAX) && whole;
    }
    char cut[16] = "";
    if (!whole)
        (void)snprintf(cut, sizeof(cut), "-%08x", hash(part ? part : report->tool));
    size_t used = strlen(name);
    (void)snprintf(name + used, sizeof(name) - used, "%s%s", cut, suffix_of(report));
    return strdup(name);
}

static int add(struct plan *plan, const char *tool, struct report **ret, struct err *e)
{
    if (plan->count == REPORTS_MAX)
        return err_set(e, ERR_LIMIT, "more than %d reports of one capture", REPORTS_MAX);
    if (plan->count == plan->room) {
        size_t room = plan->room ? plan->room * 2 : 32;
        struct report *grown = realloc(plan->reports, room * sizeof(*grown));
        if (!grown)
            return err_nomem(e);
        plan->reports = grown;
        plan->room = room;
    }
    struct report *report = &plan->reports[plan->count];
    *report = (struct report){
        .mime = tool_find(tool)->mime,
        .capture = ALL_CAPTURES,
        .shares = shares_result(tool),
    };
    report->tool = strdup(tool);
    if (!report->tool)
        return err_nomem(e);
    plan->count++;
    *ret = report;
    return 0;
}

static int name_file(struct report *report, struct err *e)
{
    report->file = file_name(report);
    return report->file ? 0 : err_nomem(e);
}

static int add_interactive(struct plan *plan, const char *tool, const char *hint, struct err *e)
{
    struct report *report;
    int result = add(plan, tool, &report, e);
    if (result != 0)
        return result;
    report->status = REPORT_INTERACTIVE;
    report->note = strdup(hint);
    return report->note ? 0 : err_nomem(e);
}

static int add_whole(struct plan *plan, const char *tool, struct err *e)
{
    struct report *report;
    int result = add(plan, tool, &report, e);
    return result != 0 ? result : name_file(report, e);
}

/* A host is called what its file is called. */
static char *host_of(const char *capture)
{
    const char *slash = strrchr(capture, '/');
    const char *name = slash ? slash + 1 : capture;
    size_t size = strlen(name);
    size_t suffix = strlen(CAPTURE_SUFFIX);
    return strndup(name, size > suffix ? size - suffix : size);
}

static int add_per_host(struct plan *plan, const char *tool, const char *const *captures,
                        size_t n_captures, struct err *e)
{
    for (size_t i = 0; i < n_captures; i++) {
        struct report *report;
        int result = add(plan, tool, &report, e);
        if (result != 0)
            return result;
        report->capture = (int64_t)i;
        if (n_captures > 1 && !(report->host = host_of(captures[i])))
            return err_nomem(e);
        result = name_file(report, e);
        if (result != 0)
            return result;
    }
    return 0;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct report *)a)->module, ((const struct report *)b)->module);
}

static void cleanup_closedir(DIR **folder)
{
    if (*folder)
        (void)closedir(*folder);
}

static int add_module(struct plan *plan, const char *tool, const char *name, size_t size,
                      struct err *e)
{
    struct report *report;
    int result = add(plan, tool, &report, e);
    if (result != 0)
        return result;
    report->module = strndup(name, size);
    if (!report->module)
        return err_nomem(e);
    if (strcmp(tool, "graph_viewer") == 0)
        report->mime = MIME_BYTES; /* what xprof says of the text that we ask for */
    return name_file(report, e);
}

/* One for each HLO module that the converter found while it listed the tools. */
static int add_per_module(struct plan *plan, const char *tool, const char *scratch, struct err *e)
{
    CLEANUP(cleanup_closedir) DIR *folder = opendir(scratch);
    if (!folder)
        return err_sys(e, errno, "cannot read the scratch folder '%s'", scratch);
    size_t first = plan->count;
    for (struct dirent *entry; (entry = readdir(folder)) != NULL;) {
        struct view name = view_text(entry->d_name);
        if (!view_ends(name, MODULE_SUFFIX))
            continue;
        size_t size = name.size - strlen(MODULE_SUFFIX);
        if (view_is(view_of(name.data, size), NO_MODULE))
            continue;
        int result = add_module(plan, tool, entry->d_name, size, e);
        if (result != 0)
            return result;
    }
    if (plan->count > first)
        qsort(plan->reports + first, plan->count - first, sizeof(*plan->reports), by_name);
    return 0;
}

static bool is_wished(const char *tool, const struct plan_wishes *wishes)
{
    if (!wishes->tools)
        return true;
    for (size_t i = 0; wishes->tools[i]; i++)
        if (strcmp(wishes->tools[i], tool) == 0)
            return true;
    return false;
}

static int add_tool(struct plan *plan, const char *name, const char *const *captures,
                    size_t n_captures, const char *scratch, const struct plan_wishes *wishes,
                    struct err *e)
{
    const struct tool *tool = tool_find(name);
    if (tool->interactive && !wishes->all && !wishes->tools)
        return add_interactive(plan, name, wishes->open_hint, e);
    if (tool->one_host)
        return add_per_host(plan, name, captures, n_captures, e);
    return tool->after_names ? add_per_module(plan, name, scratch, e) : add_whole(plan, name, e);
}

static bool is_offered(struct view names, const char *tool)
{
    while (names.size > 0) {
        const uint8_t *comma = memchr(names.data, ',', names.size);
        size_t size = comma ? (size_t)(comma - names.data) : names.size;
        if (view_is(view_of(names.data, size), tool))
            return true;
        size_t skip = comma ? size + 1 : size;
        names = view_of(names.data + skip, names.size - skip);
    }
    return false;
}

int plan_make(struct view names, const char *const *captures, size_t n_captures,
              const char *scratch, const struct plan_wishes *wishes, struct plan *ret,
              struct err *e)
{
    for (size_t i = 0; wishes->tools && wishes->tools[i]; i++)
        if (!is_offered(names, wishes->tools[i]))
            return err_set(e, ERR_MISSING, "xprof has no '%s' for this capture; it has: %.*s",
                           wishes->tools[i], VIEW_ARG(names));
    CLEANUP(cleanup_free) char *text = strndup((const char *)names.data, names.size);
    if (!text)
        return err_nomem(e);
    CLEANUP(plan_release) struct plan plan = {0};
    char *rest = NULL;
    for (char *name = strtok_r(text, ",", &rest); name; name = strtok_r(NULL, ",", &rest)) {
        name[tool_name_length(name)] = '\0';
        if (!is_wished(name, wishes))
            continue;
        int result = add_tool(&plan, name, captures, n_captures, scratch, wishes, e);
        if (result != 0)
            return result;
    }
    *ret = plan;
    plan = (struct plan){0};
    return 0;
}

/* The shared result is there once one of the tools that share it was made. */
static bool must_wait(const struct plan *plan, enum shared shared)
{
    bool making = shared == SHARED_MAKING;
    if (shared == SHARED_MADE)
        return false;
    for (size_t i = 0; i < plan->count; i++) {
        const struct report *report = &plan->reports[i];
        if (!report->shares)
            continue;
        if (report->status == REPORT_OK || report->status == REPORT_EMPTY)
            return false;
        making = making || report->status == REPORT_RUNNING;
    }
    return making;
}

struct report *plan_next(struct plan *plan, enum shared shared)
{
    bool wait = must_wait(plan, shared);
    for (size_t i = 0; i < plan->count; i++) {
        struct report *report = &plan->reports[i];
        if (report->status == REPORT_WAITING && !(report->shares && wait))
            return report;
    }
    return NULL;
}

size_t plan_count(const struct plan *plan, enum report_status status)
{
    size_t count = 0;
    for (size_t i = 0; i < plan->count; i++)
        count += plan->reports[i].status == status;
    return count;
}

bool plan_done(const struct plan *plan)
{
    return plan_count(plan, REPORT_WAITING) + plan_count(plan, REPORT_RUNNING) == 0;
}

const char *report_status_name(enum report_status status)
{
    static const char *const names[] = {
        [REPORT_WAITING] = "waiting", [REPORT_RUNNING] = "running",
        [REPORT_OK] = "ok",           [REPORT_EMPTY] = "empty",
        [REPORT_FAILED] = "failed",   [REPORT_INTERACTIVE] = "interactive",
    };
    return names[status];
}

const char *report_label(const struct report *report, char *buffer, size_t room)
{
    const char *part = report->host ? report->host : report->module;
    (void)snprintf(buffer, room, part ? "%s (%s)" : "%s", report->tool, part);
    return buffer;
}

void plan_release(struct plan *plan)
{
    for (size_t i = 0; i < plan->count; i++) {
        struct report *report = &plan->reports[i];
        free(report->tool);
        free(report->host);
        free(report->module);
        free(report->file);
        free(report->note);
    }
    free(plan->reports);
    *plan = (struct plan){0};
}
