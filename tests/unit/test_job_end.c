/* SPDX-License-Identifier: Apache-2.0 */
#include "objects.h"

#include <errno.h>
#include <signal.h>
#include <string.h>

#include "io/job_end.h"

/* The end of the last program of a run in words. */

static const struct runner_hook hook = {
    .program = "/h/command", .check = "/h/check", .apply = "/h/apply", .timeout_ms = 300};

/* The text of the end of a program. */
static void is(struct run_end end, const char *text)
{
    char out[JOB_END_TEXT];

    job_end_put(out, &end, &hook, "/f/x.cfg");
    assert_string_equal(out, text);
}

static struct run_end exited(enum run_program program, enum run_cut cut, int status)
{
    return (struct run_end){.program = program, .cut = cut, .value = status};
}

static struct run_end signaled(enum run_program program, enum run_cut cut, int number)
{
    return (struct run_end){
        .program = program, .kind = RUN_END_SIGNALED, .cut = cut, .value = number};
}

static void test_commands(void **state)
{
    (void)state;
    is(exited(RUN_PROGRAM_COMMAND, RUN_CUT_NONE, 0), "exit status 0");
    is(exited(RUN_PROGRAM_COMMAND, RUN_CUT_NONE, 3), "exit status 3");
    is(signaled(RUN_PROGRAM_COMMAND, RUN_CUT_TIMEOUT, SIGTERM),
       "timeout after 300 ms: killed by signal 15 (Terminated)");
    is(signaled(RUN_PROGRAM_COMMAND, RUN_CUT_FULL, SIGTERM),
       "output over 64 MiB: killed by signal 15 (Terminated)");
    is(exited(RUN_PROGRAM_COMMAND, RUN_CUT_FULL, 0), "output over 64 MiB: exit status 0");
    is(exited(RUN_PROGRAM_COMMAND, RUN_CUT_TIMEOUT, 0), "timeout after 300 ms: exit status 0");
    is((struct run_end){.kind = RUN_END_SIGNALED, .value = SIGKILL, .limit = RUN_LIMIT_MEMORY},
       "killed by signal 9 (Killed), out of memory (memory_max of the hook, or MemoryMax= of the "
       "unit)");
    is((struct run_end){.value = 2, .limit = RUN_LIMIT_PIDS},
       "exit status 2, too many processes (pids_max of the hook, or TasksMax= of the unit)");
    is((struct run_end){.limit = RUN_LIMIT_PIDS}, "exit status 0");
    is(run_end_refused(RUN_PROGRAM_COMMAND, RUN_STAGE_EXEC, ENOENT),
       "/h/command could not be started: exec: No such file or directory");
    is(run_end_refused(RUN_PROGRAM_COMMAND, RUN_STAGE_FORK, EAGAIN),
       "/h/command could not be started: fork: Resource temporarily unavailable");
}

static void test_files(void **state)
{
    (void)state;
    is((struct run_end){.program = RUN_PROGRAM_OUTPUT, .stage = RUN_STAGE_SAME}, "file same");
    is((struct run_end){.program = RUN_PROGRAM_FILES, .stage = RUN_STAGE_SAME}, "files same");
    is((struct run_end){.program = RUN_PROGRAM_FILES, .stage = RUN_STAGE_WRITTEN, .changed = 3},
       "files written: 3");
    is(run_end_refused(RUN_PROGRAM_FILES, RUN_STAGE_RENAME, EIO),
       "output /f/x.cfg: rename: Input/output error");
    is(signaled(RUN_PROGRAM_FILES, RUN_CUT_TIMEOUT, SIGKILL),
       "timeout after 300 ms: output of files_from: killed by signal 9 (Killed)");
    is((struct run_end){.program = RUN_PROGRAM_CHECK, .value = 1, .member = 2},
       "check: /f/x.cfg: exit status 1 (the old files stay)");
    is((struct run_end){.program = RUN_PROGRAM_OUTPUT, .stage = RUN_STAGE_WRITTEN}, "file written");
    is((struct run_end){.program = RUN_PROGRAM_REMOVE, .stage = RUN_STAGE_REMOVED}, "file removed");
    is(exited(RUN_PROGRAM_CHECK, RUN_CUT_NONE, 75), "check: exit status 75 (the old file stays)");
    is(signaled(RUN_PROGRAM_CHECK, RUN_CUT_TIMEOUT, SIGKILL),
       "timeout after 300 ms: check: killed by signal 9 (Killed) (the old file stays)");
    is(signaled(RUN_PROGRAM_OUTPUT, RUN_CUT_TIMEOUT, SIGTERM),
       "timeout after 300 ms: output /f/x.cfg: killed by signal 15 (Terminated)");
    is(run_end_refused(RUN_PROGRAM_CHECK, RUN_STAGE_EXEC, EACCES),
       "check: /h/check could not be started: exec: Permission denied (the old file stays)");
    is(run_end_refused(RUN_PROGRAM_OUTPUT, RUN_STAGE_WRITE, ENOSPC),
       "output /f/x.cfg: write: No space left on device");
    is(run_end_refused(RUN_PROGRAM_REMOVE, RUN_STAGE_REMOVE, EACCES),
       "output /f/x.cfg: remove: Permission denied");
    is(run_end_refused(RUN_PROGRAM_OUTPUT, RUN_STAGE_TEMPLATE, EINVAL),
       "output /f/x.cfg: template: Invalid argument");
}

static void test_advice(void **state)
{
    (void)state;
    is(run_end_refused(RUN_PROGRAM_OUTPUT, RUN_STAGE_FOLDER, ENOENT),
       "output /f/x.cfg: folder: No such file or directory: make its folder; only "
       "those below a ${variable} are made here");
    is(run_end_refused(RUN_PROGRAM_OUTPUT, RUN_STAGE_CREATE, EROFS),
       "output /f/x.cfg: create: Read-only file system: under systemd "
       "ReadWritePaths= has to name its folder");
}

static void test_applies(void **state)
{
    (void)state;
    is(exited(RUN_PROGRAM_APPLY, RUN_CUT_NONE, 0), "apply: exit status 0");
    is(signaled(RUN_PROGRAM_APPLY, RUN_CUT_TIMEOUT, SIGTERM),
       "timeout after 300 ms: apply: killed by signal 15 (Terminated)");
    is(run_end_refused(RUN_PROGRAM_APPLY, RUN_STAGE_EXEC, ENOENT),
       "apply: /h/apply could not be started: exec: No such file or directory");
    is(run_end_refused(RUN_PROGRAM_APPLY, RUN_STAGE_FORK, EAGAIN),
       "apply: /h/apply could not be started: fork: Resource temporarily "
       "unavailable");
}

/* The reason stands behind the path. */
static void test_a_long_path_leaves_room_for_the_reason(void **state)
{
    char path[4096];
    const struct run_end end = run_end_refused(RUN_PROGRAM_OUTPUT, RUN_STAGE_WRITE, ENOSPC);
    char text[JOB_END_TEXT];

    (void)state;
    memset(path, 'x', sizeof(path));
    path[sizeof(path) - 1] = '\0';
    job_end_put(text, &end, &hook, path);
    assert_true(strlen(text) < 200); /* last_error has room for it */
    assert_non_null(strstr(text, ": write: No space left on device"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_commands),
        cmocka_unit_test(test_files),
        cmocka_unit_test(test_advice),
        cmocka_unit_test(test_applies),
        cmocka_unit_test(test_a_long_path_leaves_room_for_the_reason),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
