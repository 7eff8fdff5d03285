/* SPDX-License-Identifier: Apache-2.0 */
#include "io/job_end.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Whether main cut the program short. A kill after the timeout only counts if the helper carried it
 * out: when main or the helper stood still for a while, the program may have ended in time
 * (docs/decisions.md "The helper says whether a timeout killed a run"). */
static bool is_cut(const struct job_end *end)
{
    return end->cut == JOB_CUT_FULL || (end->cut == JOB_CUT_TIMEOUT && end->exit->killed);
}

/* Whether the program is the helper's own, not one that the configuration names. */
static bool is_ours(const struct job_end *end)
{
    return end->program == WIRE_PROGRAM_OUTPUT || end->program == WIRE_PROGRAM_REMOVE;
}

/* Stages of the helper's own programs are WIRE_SAME and the like, or the step that failed. */
static bool stage_is(const struct job_end *end, const char *stage)
{
    return strcmp(end->exit->stage, stage) == 0;
}

bool job_end_is_good(const struct job_end *end)
{
    return end->exit->how == HELPER_LINK_EXITED && end->exit->value == 0 && !is_cut(end);
}

/* What the system was short of, so that the run counts as not started. Once the command has run
 * there was a run, even if its file could not be written then. */
static enum shortage lacking(const struct job_end *end)
{
    if (end->exit->how != HELPER_LINK_NOT_STARTED || end->program == WIRE_PROGRAM_OUTPUT)
        return SHORTAGE_NONE;
    return shortage_lacking(end->exit->stage, end->exit->value);
}

/* How the run counts for the schedule (enum run_end). */
static enum run_end judge(const struct job_end *end)
{
    bool exited = end->exit->how == HELPER_LINK_EXITED && !is_cut(end);

    if (lacking(end) != SHORTAGE_NONE)
        return RUN_NOT_STARTED;
    /* A path that cannot be made from these names cannot be made at the next try either: the key is
     * parked (docs/design.md "File paths"). */
    if (end->exit->how == HELPER_LINK_NOT_STARTED && is_ours(end) && stage_is(end, WIRE_TEMPLATE))
        return RUN_UNFIT;
    /* park_exit names statuses of the command, not of the check */
    if (is_ours(end) && stage_is(end, WIRE_CHECK))
        return RUN_FAILED;
    return exited ? RUN_EXITED : RUN_FAILED;
}

/* What became of the output file, as the helper says by its stage. */
static enum run_file became(const struct job_end *end)
{
    if (!is_ours(end) || end->exit->how != HELPER_LINK_EXITED)
        return RUN_FILE_NONE;
    if (stage_is(end, WIRE_SAME))
        return RUN_FILE_SAME;
    if (stage_is(end, WIRE_WRITTEN))
        return RUN_FILE_WRITTEN;
    return stage_is(end, WIRE_REMOVED) ? RUN_FILE_REMOVED : RUN_FILE_NONE;
}

/* ---- The text of the result */

/* Appends how a program ended that ran, or a child of the helper that wrote a file. */
static void put_end(const struct helper_link_exit *exit, char *out, size_t n)
{
    if (exit->how == HELPER_LINK_SIGNALED)
        snprintf(out, n, "killed by signal %d (%s)", exit->value, strsignal(exit->value));
    else
        snprintf(out, n, "exit status %d", exit->value);
}

/* Advice for errors of output files whose errno does not tell what to do. */
static const char *advice(const struct helper_link_exit *exit)
{
    static const struct {
        const char *stage;
        int error;
        const char *text;
    } known[] = {
        {"folder", ENOENT,     ": make its folder; only those below a ${variable} are made here"     },
        {"folder", ELOOP,      ": the path has a symbolic link that others than root could have made"},
        {"target", EOPNOTSUPP, ": it is a device, fifo or socket"                                    },
        {"rename", ESTALE,     ": somebody has replaced or removed the new file"                     },
    };

    for (size_t i = 0; i < ARRAY_LEN(known); i++)
        if (strcmp(exit->stage, known[i].stage) == 0 && exit->value == known[i].error)
            return known[i].text;
    if (exit->value == EROFS)
        return ": under systemd ReadWritePaths= has to name its folder";
    return "";
}

/* A step of the helper's own programs: "exec check" is a step of starting the check, any other one
 * concerns the file. The limits of the parts let the whole text fit into JOB_END_TEXT. */
static void put_not_started(const struct job_end *end, char *out, size_t n)
{
    const struct helper_link_exit *exit = end->exit;
    const char *check = strstr(exit->stage, " check");

    if (is_ours(end) && check != NULL && end->hook->check != NULL)
        snprintf(out, n, "check: %.120s could not be started: %.*s: %s (the old file stays)",
                 end->hook->check, (int)(check - exit->stage), exit->stage, strerror(exit->value));
    else if (is_ours(end))
        snprintf(out, n, "output %.120s: %s: %s%s", end->file, exit->stage, strerror(exit->value),
                 advice(exit));
    else
        snprintf(out, n, "%.200s could not be started: %s: %s",
                 end->program == WIRE_PROGRAM_APPLY ? end->hook->apply : end->hook->program,
                 exit->stage, strerror(exit->value));
}

/* The end of the program that writes or removes the file. */
static void put_file_end(const struct job_end *end, char *out, size_t n)
{
    char how[100];

    put_end(end->exit, how, sizeof(how));
    if (stage_is(end, WIRE_CHECK))
        snprintf(out, n, "check: %s (the old file stays)", how);
    else if (became(end) != RUN_FILE_NONE)
        snprintf(out, n, "file %s", end->exit->stage);
    else
        snprintf(out, n, "output %.120s: %s", end->file, how);
}

static void put_apply(const struct job_end *end, char *out, size_t n)
{
    char how[JOB_END_TEXT - 100];

    if (end->exit->how == HELPER_LINK_NOT_STARTED)
        put_not_started(end, how, sizeof(how));
    else
        put_end(end->exit, how, sizeof(how));
    snprintf(out, n, "apply: %s", how);
}

/* The text without timeout and size limit, by the program that ended last. */
static void put_how(const struct job_end *end, char *out, size_t n)
{
    if (end->program == WIRE_PROGRAM_APPLY)
        put_apply(end, out, n);
    else if (end->exit->how == HELPER_LINK_NOT_STARTED)
        put_not_started(end, out, n);
    else if (is_ours(end))
        put_file_end(end, out, n);
    else
        put_end(end->exit, out, n);
}

void job_end_judge(const struct job_end *end, char *text, struct run_result *result)
{
    char how[JOB_END_TEXT - 60];

    put_how(end, how, sizeof(how));
    /* Before the timeout: a command that prints too much is killed as at a timeout. */
    if (end->cut == JOB_CUT_FULL)
        snprintf(text, JOB_END_TEXT, "output over %d MiB: %s", RUNNER_OUTPUT_MIB, how);
    else if (is_cut(end))
        snprintf(text, JOB_END_TEXT, "timeout after %" PRIu64 " ms: %s", end->hook->timeout_ms,
                 how);
    else
        snprintf(text, JOB_END_TEXT, "%s", how);
    result->end = judge(end);
    result->status = end->exit->value;
    result->shortage = lacking(end);
    result->text = text;
    result->file = became(end);
}
