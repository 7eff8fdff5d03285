/* SPDX-License-Identifier: Apache-2.0 */
#include "io/job_end.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/compiler.h"

enum { EXIT_SIZE = 160 };

/* How a program ended that ran, or a child of the helper that wrote a file. */
static void put_exit(const struct run_end *end, char *out, size_t n)
{
    const char *limit = run_end_limit(end);

    if (end->kind == RUN_END_SIGNALED)
        snprintf(out, n, "killed by signal %d (%s)%s", end->value, strsignal(end->value), limit);
    else
        snprintf(out, n, "exit status %d%s", end->value, limit);
}

/* Advice for errors of output files whose errno does not tell what to do. */
static const char *advice(const struct run_end *end)
{
    static const struct {
        enum run_stage stage;
        int error;
        const char *text;
    } known[] = {
        {RUN_STAGE_FOLDER, ENOENT,
         ": make its folder; only those below a ${variable} are made here"              },
        {RUN_STAGE_FOLDER, ELOOP,
         ": the path has a symbolic link that others than root could have made"         },
        {RUN_STAGE_TARGET, EOPNOTSUPP, ": it is a device, fifo or socket"               },
        {RUN_STAGE_RENAME, ESTALE,     ": somebody has replaced or removed the new file"},
    };

    for (size_t i = 0; i < ARRAY_LEN(known); i++)
        if (end->stage == known[i].stage && end->value == known[i].error)
            return known[i].text;
    if (end->value == EROFS)
        return ": under systemd ReadWritePaths= has to name its folder";
    return "";
}

static void put_start(const char *program, const struct run_end *end, char *out, size_t n)
{
    snprintf(out, n, "%.200s could not be started: %s: %s", program, run_stage_name(end->stage),
             strerror(end->value));
}

/* The files of an object, with files_from; file is the one that failed, or NULL. */
static void put_files(const struct run_end *end, const char *file, char *out, size_t n)
{
    char exit[EXIT_SIZE];

    put_exit(end, exit, sizeof(exit));
    if (end->kind == RUN_END_REFUSED)
        snprintf(out, n, "output %.120s: %s: %s%s", file != NULL ? file : "of files_from",
                 run_stage_name(end->stage), strerror(end->value), advice(end));
    else if (run_end_file(end) != NULL && end->changed == 0)
        snprintf(out, n, "files %s", run_end_file(end));
    else if (run_end_file(end) != NULL)
        snprintf(out, n, "files %s: %" PRIu32, run_end_file(end), end->changed);
    else
        snprintf(out, n, "output of files_from: %s", exit);
}

static void put_check(const struct run_end *end, const struct runner_hook *hook, const char *file,
                      char *out, size_t n)
{
    const char *old = end->member > 0 ? "old files stay" : "old file stays";
    char what[160] = "";
    char exit[EXIT_SIZE];

    put_exit(end, exit, sizeof(exit));
    if (end->member > 0)
        snprintf(what, sizeof(what), "%.120s: ", file);
    if (end->kind == RUN_END_REFUSED)
        snprintf(out, n, "check: %s%.120s could not be started: %s: %s (the %s)", what, hook->check,
                 run_stage_name(end->stage), strerror(end->value), old);
    else
        snprintf(out, n, "check: %s%s (the %s)", what, exit, old);
}

/* The text without timeout and size limit. The limits of the parts let the whole text fit into
 * JOB_END_TEXT. */
static void put_how(const struct run_end *end, const struct runner_hook *hook, const char *file,
                    char *out, size_t n)
{
    bool refused = end->kind == RUN_END_REFUSED;
    char exit[EXIT_SIZE];

    put_exit(end, exit, sizeof(exit));
    switch (end->program) {
    case RUN_PROGRAM_OUTPUT:
    case RUN_PROGRAM_REMOVE:
        if (refused)
            snprintf(out, n, "output %.120s: %s: %s%s", file, run_stage_name(end->stage),
                     strerror(end->value), advice(end));
        else if (run_end_file(end) != NULL)
            snprintf(out, n, "file %s", run_end_file(end));
        else
            snprintf(out, n, "output %.120s: %s", file, exit);
        break;
    case RUN_PROGRAM_CHECK:
        put_check(end, hook, file, out, n);
        break;
    case RUN_PROGRAM_FILES:
        put_files(end, file, out, n);
        break;
    case RUN_PROGRAM_APPLY:
        n -= (size_t)snprintf(out, n, "apply: ");
        out += strlen(out);
        if (refused)
            put_start(hook->apply, end, out, n);
        else
            snprintf(out, n, "%s", exit);
        break;
    case RUN_PROGRAM_COMMAND:
    case RUN_PROGRAM_FINGERPRINT: /* no run of a hook */
    case RUN_PROGRAM_SWEEP:
        if (refused)
            put_start(hook->program, end, out, n);
        else
            snprintf(out, n, "%s", exit);
        break;
    }
}

void job_end_put(char text[JOB_END_TEXT], const struct run_end *end, const struct runner_hook *hook,
                 const char *file)
{
    int n = 0;

    text[0] = '\0';
    if (end->cut == RUN_CUT_FULL)
        n = snprintf(text, JOB_END_TEXT, "output over %d MiB: ", RUNNER_OUTPUT_MIB);
    else if (end->cut == RUN_CUT_MEMORY)
        n = snprintf(text, JOB_END_TEXT, "output larger than the memory that is left: ");
    else if (end->cut == RUN_CUT_TIMEOUT)
        n = snprintf(text, JOB_END_TEXT, "timeout after %" PRIu64 " ms: ", hook->timeout_ms);
    put_how(end, hook, file, text + n, JOB_END_TEXT - (size_t)n);
}
