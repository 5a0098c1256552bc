/* SPDX-License-Identifier: Apache-2.0 */
/* summary_words - what matters most, in sentences that agree with each other.
 *
 * One cause of waiting is told, the largest, and with it only what belongs to that cause: a region
 * is to blame where the next work had not been launched, and not where it had. */
#include "cli/summary_words.h"

#include <inttypes.h>

#include "cli/output.h"

#include "base/banned.h"

#define BUSY_PERCENT 5    /* who waited less was busy */
#define TOLD_PERCENT 25   /* of the waiting: a second cause or region that is told too */
#define SPREAD_PERCENT 10 /* of the waiting: a smaller region is not named */
#define UNUSED_NAMED 4

static bool at_least(uint64_t part, uint64_t whole, uint64_t percent)
{
    return (double)part * 100 >= (double)whole * (double)percent;
}

static void say(const struct summary_voice *voice, const char *words)
{
    (void)fputs(words, voice->out);
}

static void say_share(const struct summary_voice *voice, uint64_t part, uint64_t whole)
{
    char buffer[FORMAT_MAX];
    part = part < INT64_MAX ? part : INT64_MAX;
    whole = whole < INT64_MAX ? whole : INT64_MAX;
    say(voice, format_share(part, whole, buffer));
}

/* "behind input", "outside every region" */
static void say_where(const struct summary_voice *voice, const struct summary *summary,
                      uint32_t region)
{
    if (region == SUMMARY_NO_REGION) {
        say(voice, "outside every region");
        return;
    }
    say(voice, "behind ");
    voice->name(voice->out, summary->regions[region].name);
}

static enum idle_cause main_cause(const struct summary_waits *waits)
{
    enum idle_cause most = IDLE_HOST;
    for (int cause = 1; cause < IDLE_CAUSES; cause++)
        if (waits->all.by_cause[cause] > waits->all.by_cause[most])
            most = (enum idle_cause)cause;
    return most;
}

/* The part with most of this cause but for `not_this`; NULL where none has any. */
static const struct summary_region_idle *most_behind(const struct summary_waits *waits,
                                                     enum idle_cause cause,
                                                     const struct summary_region_idle *not_this)
{
    const struct summary_region_idle *most = NULL;
    for (size_t i = 0; i < waits->n_behind; i++) {
        const struct summary_region_idle *part = &waits->behind[i];
        if (part != not_this && part->by_cause[cause] &&
            (!most || part->by_cause[cause] > most->by_cause[cause]))
            most = part;
    }
    return most;
}

/* The largest part of what waited for a launch, where it is worth a name. */
static const struct summary_region_idle *culprit(const struct summary *summary)
{
    const struct summary_waits *waits = &summary->waits;
    const struct summary_region_idle *most =
        summary->n_regions ? most_behind(waits, IDLE_HOST, NULL) : NULL;
    return most && at_least(most->by_cause[IDLE_HOST], waits->all.idle_ps, SPREAD_PERCENT) ? most
                                                                                           : NULL;
}

static void say_host_wait(const struct summary_voice *voice, const struct summary *summary)
{
    const struct summary_waits *waits = &summary->waits;
    const struct summary_region_idle *most = culprit(summary);
    uint64_t idle = waits->all.idle_ps;
    if (!most) {
        say_share(voice, waits->all.by_cause[IDLE_HOST], idle);
        say(voice, " of that because the next work had not been launched yet");
        return;
    }
    const struct summary_region_idle *next = most_behind(waits, IDLE_HOST, most);
    say_share(voice, most->by_cause[IDLE_HOST], idle);
    say(voice, " of that ");
    say_where(voice, summary, most->region);
    if (next && at_least(next->by_cause[IDLE_HOST], idle, TOLD_PERCENT)) {
        say(voice, " and ");
        say_share(voice, next->by_cause[IDLE_HOST], idle);
        say(voice, " ");
        say_where(voice, summary, next->region);
    }
    say(voice, ", the next work not launched yet");
}

static void say_waited(const struct summary_voice *voice, const struct summary *summary)
{
    static const char *const words[IDLE_CAUSES] = {
        [IDLE_BETWEEN] = " of that between ops whose work was already launched",
        [IDLE_EDGE] = " of that before the first op and after the last",
        [IDLE_UNKNOWN] = " of that for a reason that the file does not tell",
    };
    const struct summary_waits *waits = &summary->waits;
    enum idle_cause cause = main_cause(waits);
    say(voice, waits->n_devices > 1 ? "devices waited " : "device waited ");
    say_share(voice, waits->all.idle_ps, waits->time_ps);
    say(voice, " of the time, ");
    if (cause == IDLE_HOST) {
        say_host_wait(voice, summary);
    } else {
        say_share(voice, waits->all.by_cause[cause], waits->all.idle_ps);
        say(voice, words[cause]);
    }
    say(voice, ".");
}

/* The module with most op time; NULL where the file names no module. */
static const char *main_module(const struct summary *summary, uint64_t *ret_ps)
{
    const char *module = NULL;
    uint64_t most = 0;
    /* ops are sorted by time, so the module with most is among the first ones' in any real capture;
     * few enough are tried that a file made for it costs nothing */
    size_t tries = summary->n_ops < 16 ? summary->n_ops : 16;
    for (size_t i = 0; i < tries; i++) {
        uint64_t sum = 0;
        for (size_t k = 0; k < summary->n_ops; k++)
            if (strcmp(summary->ops[k].module, summary->ops[i].module) == 0)
                add_saturated(&sum, summary->ops[k].total_ps);
        if (sum > most && *summary->ops[i].module) {
            module = summary->ops[i].module;
            most = sum;
        }
    }
    *ret_ps = most;
    return module;
}

static uint64_t all_op_time(const struct summary *summary)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < summary->n_ops; i++)
        add_saturated(&sum, summary->ops[i].total_ps);
    return sum;
}

static bool was_busy(const struct summary_waits *waits)
{
    return !at_least(waits->all.idle_ps, waits->time_ps, BUSY_PERCENT);
}

static void say_busy(const struct summary_voice *voice, const struct summary *summary)
{
    const struct summary_waits *waits = &summary->waits;
    uint64_t time;
    const char *module = main_module(summary, &time);
    say(voice, waits->n_devices > 1 ? "devices were busy " : "device was busy ");
    say_share(voice, waits->time_ps - waits->all.idle_ps, waits->time_ps);
    say(voice, " of the time");
    if (module) {
        say(voice, ", ");
        say_share(voice, time, all_op_time(summary));
        say(voice, waits->n_devices > 1 ? " of their op time in " : " of its op time in ");
        voice->name(voice->out, module);
    }
    say(voice, ".");
}

void summary_say_headline(const struct summary_voice *voice, const struct summary *summary)
{
    const struct summary_receipt *receipt = &summary->receipt;
    uint64_t ops = 0;
    for (size_t i = 0; i < summary->n_devices; i++)
        add_saturated(&ops, summary->devices[i].ops);
    if (receipt->damaged)
        (void)fprintf(voice->out,
                      "The file is damaged at byte %" PRIu64 ". In what is whole of it ",
                      receipt->damaged_at);
    if (summary->n_devices == 0) {
        say(voice, receipt->damaged          ? "there is no device work."
                   : !receipt->has_host_name ? "No device work is in this capture, which may have "
                                               "been cut short."
                                             : "No device work is in this capture.");
    } else if (ops == 0) {
        say(voice, receipt->damaged      ? "the devices have no op."
                   : summary->step_range ? "No device op began during these steps."
                                         : "The devices have no op in this capture.");
    } else if (summary->waits.time_ps == 0) {
        say(voice, receipt->damaged ? "the window has no length." : "The window has no length.");
    } else {
        say(voice, receipt->damaged ? "the " : "The ");
        (was_busy(&summary->waits) ? say_busy : say_waited)(voice, summary);
    }
}

static void advise_host(const struct summary_voice *voice, const struct summary *summary)
{
    const struct summary_region_idle *most = culprit(summary);
    say(voice, "Launch that work earlier");
    if (most && most->region != SUMMARY_NO_REGION) {
        say(voice, ", or make ");
        voice->name(voice->out, summary->regions[most->region].name);
        say(voice, " shorter");
    } else {
        say(voice, "; regions around what the program does meanwhile would tell what takes the "
                   "time");
    }
    say(voice, ".");
}

static void advise_between(const struct summary_voice *voice, const struct summary *summary)
{
    const struct summary_waits *waits = &summary->waits;
    const struct summary_region_idle *most = most_behind(waits, IDLE_BETWEEN, NULL);
    say(voice, "Launching earlier does not help there: look at ops that wait for each other, many "
               "small ones, and the runtime");
    if (summary->platform == PLATFORM_CPU) {
        say(voice, "; on a CPU, at what else runs on its cores");
        if (most && most->region != SUMMARY_NO_REGION &&
            at_least(most->by_cause[IDLE_BETWEEN], waits->all.by_cause[IDLE_BETWEEN], 50)) {
            say(voice, " (");
            say_share(voice, most->by_cause[IDLE_BETWEEN], waits->all.by_cause[IDLE_BETWEEN]);
            say(voice, " of it while the program was in ");
            voice->name(voice->out, summary->regions[most->region].name);
            say(voice, ")");
        }
    }
    say(voice, ".");
}

static void advise(const struct summary_voice *voice, const struct summary *summary,
                   enum idle_cause cause)
{
    switch (cause) {
    case IDLE_HOST:
        advise_host(voice, summary);
        break;
    case IDLE_BETWEEN:
        advise_between(voice, summary);
        break;
    case IDLE_EDGE:
        say(voice, "The window covers more than the work: ");
        say(voice, summary->steps.count ? "--step A:B looks at some of the steps alone."
                                        : "start the capture later, or stop it sooner.");
        break;
    default:
        say(voice, "Their launches are not in the file; the receipt has the count.");
        break;
    }
}

/* Another cause that is worth a sentence, or IDLE_CAUSES. */
static enum idle_cause second_cause(const struct summary_waits *waits, enum idle_cause first)
{
    enum idle_cause second = IDLE_CAUSES;
    for (int cause = 0; cause < IDLE_CAUSES; cause++) {
        uint64_t its = waits->all.by_cause[cause];
        if (cause != (int)first && at_least(its, waits->all.idle_ps, TOLD_PERCENT) &&
            (second == IDLE_CAUSES || its > waits->all.by_cause[second]))
            second = (enum idle_cause)cause;
    }
    return second;
}

static void say_second(const struct summary_voice *voice, const struct summary *summary,
                       enum idle_cause cause)
{
    static const char *const words[IDLE_CAUSES] = {
        [IDLE_HOST] = " of the waiting was for work not launched yet",
        [IDLE_BETWEEN] = " of the waiting was between ops already launched",
        [IDLE_EDGE] = " of the waiting was before the first op and after the last",
        [IDLE_UNKNOWN] = " of the waiting has a reason that the file does not tell",
    };
    const struct summary_waits *waits = &summary->waits;
    const struct summary_region_idle *most = culprit(summary);
    say(voice, " Another ");
    say_share(voice, waits->all.by_cause[cause], waits->all.idle_ps);
    say(voice, words[cause]);
    if (cause == IDLE_HOST && most &&
        at_least(most->by_cause[IDLE_HOST], waits->all.by_cause[IDLE_HOST], 50)) {
        say(voice, ", mostly ");
        say_where(voice, summary, most->region);
    }
    say(voice, ".");
}

/* The compilation of the Profiler's own `copy` cannot be avoided by its user. */
static bool compiled_much(const struct summary *summary)
{
    bool only_ours = summary->n_compiled == 1 && strcmp(summary->compiled[0], "copy") == 0;
    return !only_ours &&
           at_least(summary->receipt.compilation_ps, summary->window_ps, TOLD_PERCENT);
}

static void say_compilation(const struct summary_voice *voice, const struct summary *summary)
{
    say(voice, "Compilation took ");
    say_share(voice, summary->receipt.compilation_ps, summary->window_ps);
    say(voice, " of the time: run a step before the capture starts. ");
}

bool summary_say_advice(const struct summary_voice *voice, const struct summary *summary)
{
    const struct summary_waits *waits = &summary->waits;
    if (waits->time_ps == 0 || summary->n_ops == 0)
        return false;
    if (was_busy(waits)) {
        const struct summary_op *op = &summary->ops[0];
        say(voice, waits->n_devices > 1 ? "Their largest op is " : "Its largest op is ");
        voice->name(voice->out, op->op);
        say(voice, ", ");
        say_share(voice, op->total_ps, all_op_time(summary));
        say(voice, " of the op time.");
        return true;
    }
    if (compiled_much(summary))
        say_compilation(voice, summary);
    enum idle_cause cause = main_cause(waits), second = second_cause(waits, cause);
    advise(voice, summary, cause);
    if (second != IDLE_CAUSES)
        say_second(voice, summary, second);
    return true;
}

bool summary_say_unused(const struct summary_voice *voice, const struct summary *summary)
{
    size_t n = 0, named = 0;
    uint64_t busy = 0;
    for (size_t i = 0; i < summary->n_devices; i++) {
        n += !summary->devices[i].used;
        add_saturated(&busy, summary->devices[i].used ? 0 : summary->devices[i].busy_ps);
    }
    for (size_t i = 0; i < summary->n_devices && named < n && named < UNUSED_NAMED; i++) {
        if (summary->devices[i].used)
            continue;
        say(voice, named == 0 ? "" : named + 1 == n ? " and " : ", ");
        voice->name(voice->out, summary->devices[i].name);
        named++;
    }
    if (!n)
        return false;
    if (named < n)
        (void)fprintf(voice->out, " and %zu more", n - named);
    say(voice, n > 1 ? " were" : " was");
    if (busy) {
        say(voice, " hardly used (busy ");
        voice->time(voice->out, busy);
        say(voice, n > 1 ? " together) and are left out above." : ") and is left out above.");
    } else {
        say(voice,
            n > 1 ? " not used and are left out above." : " not used and is left out above.");
    }
    return true;
}

bool summary_say_steps(const struct summary_voice *voice, const struct summary *summary)
{
    const struct summary_steps *steps = &summary->steps;
    if (!steps->count)
        return false;
    voice->count(voice->out, steps->count);
    if (steps->count == 1) {
        say(voice, " step, ");
        voice->time(voice->out, steps->durations.max_ps);
    } else {
        say(voice, " steps, median ");
        voice->time(voice->out, steps->durations.p50_ps);
        say(voice, ", slowest ");
        voice->time(voice->out, steps->durations.max_ps);
    }
    say(voice, ".");
    return true;
}
