/* SPDX-License-Identifier: Apache-2.0 */
#include "objects.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "io/job_end.h"

/* The helper's report of the last program of a run, in words and as a result. */

static const struct runner_hook hook = {
    .program = "/h/command", .check = "/h/check", .apply = "/h/apply", .timeout_ms = 300};

struct wanted {
    enum run_end end;
    enum run_file file;
    const char *text;
};

/* The result of the end of a program; cut: why main had the program killed. */
static void is(enum wire_program program, enum job_cut cut, struct helper_link_exit exit,
               struct wanted want)
{
    const struct job_end end = {program, &hook, "/f/x.cfg", cut, &exit};
    struct run_result result = {0};
    char text[JOB_END_TEXT];

    job_end_judge(&end, text, &result);
    assert_string_equal(result.text, want.text);
    assert_int_equal(result.end, want.end);
    assert_int_equal(result.file, want.file);
    assert_int_equal(job_end_is_good(&end), strcmp(want.text, "exit status 0") == 0 ||
                                                strncmp(want.text, "file ", 5) == 0 ||
                                                strcmp(want.text, "apply: exit status 0") == 0);
}

static struct helper_link_exit exited(int status, const char *stage)
{
    struct helper_link_exit e = {.how = HELPER_LINK_EXITED, .value = status};

    snprintf(e.stage, sizeof(e.stage), "%s", stage);
    return e;
}

static struct helper_link_exit signaled(int number, const char *stage)
{
    struct helper_link_exit e = {.how = HELPER_LINK_SIGNALED, .value = number, .killed = true};

    snprintf(e.stage, sizeof(e.stage), "%s", stage);
    return e;
}

static struct helper_link_exit refused(const char *stage, int error)
{
    struct helper_link_exit e = {.how = HELPER_LINK_NOT_STARTED, .value = error};

    snprintf(e.stage, sizeof(e.stage), "%s", stage);
    return e;
}

static void test_commands(void **state)
{
    struct helper_link_exit late = exited(0, "");

    (void)state;
    is(WIRE_PROGRAM_COMMAND, JOB_CUT_NONE, exited(0, ""),
       (struct wanted){RUN_EXITED, RUN_FILE_NONE, "exit status 0"});
    is(WIRE_PROGRAM_COMMAND, JOB_CUT_NONE, exited(3, ""),
       (struct wanted){RUN_EXITED, RUN_FILE_NONE, "exit status 3"});
    is(WIRE_PROGRAM_COMMAND, JOB_CUT_TIMEOUT, signaled(SIGTERM, ""),
       (struct wanted){RUN_FAILED, RUN_FILE_NONE,
                       "timeout after 300 ms: killed by signal 15 (Terminated)"});
    is(WIRE_PROGRAM_COMMAND, JOB_CUT_FULL, signaled(SIGTERM, ""),
       (struct wanted){RUN_FAILED, RUN_FILE_NONE,
                       "output over 64 MiB: killed by signal 15 (Terminated)"});
    is(WIRE_PROGRAM_COMMAND, JOB_CUT_FULL, exited(0, ""),
       (struct wanted){RUN_FAILED, RUN_FILE_NONE, "output over 64 MiB: exit status 0"});
    is(WIRE_PROGRAM_COMMAND, JOB_CUT_TIMEOUT, late, /* the program had ended by then */
       (struct wanted){RUN_EXITED, RUN_FILE_NONE, "exit status 0"});
    late.killed = true;
    is(WIRE_PROGRAM_COMMAND, JOB_CUT_TIMEOUT, late,
       (struct wanted){RUN_FAILED, RUN_FILE_NONE, "timeout after 300 ms: exit status 0"});
    is(WIRE_PROGRAM_COMMAND, JOB_CUT_NONE, refused("exec", ENOENT),
       (struct wanted){RUN_FAILED, RUN_FILE_NONE,
                       "/h/command could not be started: exec: No such file or directory"});
    is(WIRE_PROGRAM_COMMAND, JOB_CUT_NONE, refused("fork", EAGAIN),
       (struct wanted){RUN_NOT_STARTED, RUN_FILE_NONE,
                       "/h/command could not be started: fork: Resource temporarily unavailable"});
}

static void test_files(void **state)
{
    (void)state;
    is(WIRE_PROGRAM_OUTPUT, JOB_CUT_NONE, exited(0, WIRE_SAME),
       (struct wanted){RUN_EXITED, RUN_FILE_SAME, "file same"});
    is(WIRE_PROGRAM_OUTPUT, JOB_CUT_NONE, exited(0, WIRE_WRITTEN),
       (struct wanted){RUN_EXITED, RUN_FILE_WRITTEN, "file written"});
    is(WIRE_PROGRAM_REMOVE, JOB_CUT_NONE, exited(0, WIRE_REMOVED),
       (struct wanted){RUN_EXITED, RUN_FILE_REMOVED, "file removed"});
    is(WIRE_PROGRAM_OUTPUT, JOB_CUT_NONE, exited(75, WIRE_CHECK), /* not in park_exit */
       (struct wanted){RUN_FAILED, RUN_FILE_NONE, "check: exit status 75 (the old file stays)"});
    is(WIRE_PROGRAM_OUTPUT, JOB_CUT_TIMEOUT, signaled(SIGKILL, WIRE_CHECK),
       (struct wanted){
           RUN_FAILED, RUN_FILE_NONE,
           "timeout after 300 ms: check: killed by signal 9 (Killed) (the old file stays)"});
    is(WIRE_PROGRAM_OUTPUT, JOB_CUT_TIMEOUT, signaled(SIGTERM, ""),
       (struct wanted){RUN_FAILED, RUN_FILE_NONE,
                       "timeout after 300 ms: output /f/x.cfg: killed by signal 15 (Terminated)"});
    is(WIRE_PROGRAM_OUTPUT, JOB_CUT_NONE, refused("exec check", EACCES),
       (struct wanted){
           RUN_FAILED, RUN_FILE_NONE,
           "check: /h/check could not be started: exec: Permission denied (the old file stays)"});
    is(WIRE_PROGRAM_OUTPUT, JOB_CUT_NONE, refused("write", ENOSPC),
       (struct wanted){RUN_FAILED, RUN_FILE_NONE,
                       "output /f/x.cfg: write: No space left on device"});
    is(WIRE_PROGRAM_REMOVE, JOB_CUT_NONE, refused("remove", EACCES),
       (struct wanted){RUN_FAILED, RUN_FILE_NONE, "output /f/x.cfg: remove: Permission denied"});
    is(WIRE_PROGRAM_OUTPUT, JOB_CUT_NONE, refused(WIRE_TEMPLATE, EINVAL),
       (struct wanted){RUN_UNFIT, RUN_FILE_NONE, "output /f/x.cfg: template: Invalid argument"});
}

static void test_advice(void **state)
{
    (void)state;
    is(WIRE_PROGRAM_OUTPUT, JOB_CUT_NONE, refused("folder", ENOENT),
       (struct wanted){RUN_FAILED, RUN_FILE_NONE,
                       "output /f/x.cfg: folder: No such file or directory: make its folder; only "
                       "those below a ${variable} are made here"});
    is(WIRE_PROGRAM_OUTPUT, JOB_CUT_NONE, refused("create", EROFS),
       (struct wanted){RUN_FAILED, RUN_FILE_NONE,
                       "output /f/x.cfg: create: Read-only file system: under systemd "
                       "ReadWritePaths= has to name its folder"});
}

/* The command has run: that was an attempt. */
static void test_a_shortage_behind_the_command_is_a_failure(void **state)
{
    (void)state;
    is(WIRE_PROGRAM_OUTPUT, JOB_CUT_NONE, refused("fork", EAGAIN),
       (struct wanted){RUN_FAILED, RUN_FILE_NONE,
                       "output /f/x.cfg: fork: Resource temporarily unavailable"});
    is(WIRE_PROGRAM_REMOVE, JOB_CUT_NONE, refused("fork", EAGAIN),
       (struct wanted){RUN_NOT_STARTED, RUN_FILE_NONE,
                       "output /f/x.cfg: fork: Resource temporarily unavailable"});
}

static void test_applies(void **state)
{
    (void)state;
    is(WIRE_PROGRAM_APPLY, JOB_CUT_NONE, exited(0, ""),
       (struct wanted){RUN_EXITED, RUN_FILE_NONE, "apply: exit status 0"});
    is(WIRE_PROGRAM_APPLY, JOB_CUT_TIMEOUT, signaled(SIGTERM, ""),
       (struct wanted){RUN_FAILED, RUN_FILE_NONE,
                       "timeout after 300 ms: apply: killed by signal 15 (Terminated)"});
    is(WIRE_PROGRAM_APPLY, JOB_CUT_NONE, refused("exec", ENOENT),
       (struct wanted){RUN_FAILED, RUN_FILE_NONE,
                       "apply: /h/apply could not be started: exec: No such file or directory"});
    is(WIRE_PROGRAM_APPLY, JOB_CUT_NONE, refused("fork", EAGAIN),
       (struct wanted){RUN_NOT_STARTED, RUN_FILE_NONE,
                       "apply: /h/apply could not be started: fork: Resource temporarily "
                       "unavailable"});
}

/* The reason stands behind the path. */
static void test_a_long_path_leaves_room_for_the_reason(void **state)
{
    char path[4096];
    struct helper_link_exit exit = refused("write", ENOSPC);
    const struct job_end end = {WIRE_PROGRAM_OUTPUT, &hook, path, JOB_CUT_NONE, &exit};
    struct run_result result = {0};
    char text[JOB_END_TEXT];

    (void)state;
    memset(path, 'x', sizeof(path));
    path[sizeof(path) - 1] = '\0';
    job_end_judge(&end, text, &result);
    assert_true(strlen(text) < 200); /* last_error has room for it */
    assert_non_null(strstr(text, ": write: No space left on device"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_commands),
        cmocka_unit_test(test_files),
        cmocka_unit_test(test_advice),
        cmocka_unit_test(test_a_shortage_behind_the_command_is_a_failure),
        cmocka_unit_test(test_applies),
        cmocka_unit_test(test_a_long_path_leaves_room_for_the_reason),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
