/* SPDX-License-Identifier: Apache-2.0 */
/* The facts that a folder like /proc has of a process, with any content of its files; and signals that
 * hit no other process. */
#include "helper/process.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/compiler.h"
#include "base/mem.h"
#include "fake_proc.h"
#include "helper_rig.h"

static void test_stat_lines(void **state)
{
    static const struct {
        const char *line, *name;
        enum process_state state;
    } lines[] = {
        {"7 (sh) S 5 7 7 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 991 0",                  "sh",              PROCESS_ALIVE},
        {"7 (a) Z 1 (b) R 5 7 7 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 991 0",           "a) Z 1 (b",       PROCESS_ALIVE},
        {"7 (x\n\033[2J\200) D 5 7 7 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 991 0",      "x??[2J?",
         PROCESS_ALIVE                                                                                            },
        {"7 () Z 5 7 7 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 991 0",                    "",                PROCESS_DEAD },
        {"7 (sixteen-is-too-long) X 5 7 7 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 991 0", "sixteen-is-too-",
         PROCESS_DEAD                                                                                             },
        {"7 (sh) S",                                                              NULL,              PROCESS_ALIVE},
        {"",                                                                      NULL,              PROCESS_GONE },
        {"7 sh S 5",                                                              NULL,              PROCESS_GONE },
        {")(",                                                                    NULL,              PROCESS_GONE },
        {"7 (sh)",                                                                NULL,              PROCESS_GONE },
        {"7 (sh) ",                                                               NULL,              PROCESS_GONE },
    };
    struct process p;

    (void)state;
    const char *proc = fake_proc_create();
    for (size_t i = 0; i < ARRAY_LEN(lines); i++) {
        fake_proc_put(7, "stat", lines[i].line, strlen(lines[i].line));
        assert_int_equal(process_look(proc, 7, &p), lines[i].state);
        if (lines[i].name == NULL)
            continue;
        assert_string_equal(p.name, lines[i].name);
        assert_true(p.pid == 7 && p.parent == 5 && p.start == 991);
    }
    assert_int_equal(process_look(proc, 8, &p), PROCESS_GONE);
    fake_proc_remove();
}

static void expect_variable(const char *env, size_t n, enum process_variable result,
                            const char *expected)
{
    char *value;

    fake_proc_put(7, "environ", env, n);
    assert_int_equal(process_variable(fake_proc_create(), 7, "RUN", &value), result);
    if (expected != NULL)
        assert_string_equal(value, expected);
    else
        assert_null(value);
    free(value);
}

#define ENV(s) s, sizeof(s) - 1

static void test_variables(void **state)
{
    char *long_env = mem_zalloc(100000);

    (void)state;
    fake_proc_process(7, 1, 991);
    expect_variable(ENV("RUN=1\0"), PROCESS_VARIABLE_SET, "1");
    expect_variable(ENV("A=b\0RUN=1-2\0C=d\0"), PROCESS_VARIABLE_SET, "1-2");
    expect_variable(ENV("RUN=\0"), PROCESS_VARIABLE_SET, "");
    expect_variable(ENV("RUN=1"), PROCESS_VARIABLE_SET, "1");          /* cut off */
    expect_variable(ENV("RUN=1\0RUN=2\0"), PROCESS_VARIABLE_SET, "1"); /* like getenv() */
    expect_variable(ENV("\0\0\0RUN=1\0"), PROCESS_VARIABLE_SET, "1");
    expect_variable(ENV("XRUN=1\0RUNX=1\0RUN\0A=RUN=1\0"), PROCESS_VARIABLE_NONE, NULL);
    expect_variable(ENV("RU"), PROCESS_VARIABLE_NONE, NULL);
    memset(long_env, 'x', 99990);
    memcpy(long_env + 99991, "RUN=end", 8);
    expect_variable(long_env, 100000, PROCESS_VARIABLE_SET, "end");
    free(long_env);
    fake_proc_remove();
}

/* While a process replaces its program it has no environment, or that of neither program. */
static void test_no_environment(void **state)
{
    static const struct {
        unsigned code, start, end;
        char state;
        enum process_variable result;
    } cases[] = {
        {0, 0,   0,   'R', PROCESS_VARIABLE_LATER},
        {0, 100, 100, 'R', PROCESS_VARIABLE_LATER}, /* the bytes are being counted */
        {3, 100, 200, 'R', PROCESS_VARIABLE_LATER}, /* the environment was not there a moment ago */
        {3, 100, 100, 'S', PROCESS_VARIABLE_NONE }, /* cleared */
        {0, 0,   0,   'Z', PROCESS_VARIABLE_LATER},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        char *line =
            mem_printf("7 (x) %c 1 7 7 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 991 0 0 0 %u 2 3 4 5"
                       " 0 0 0 0 0 0 0 17 0 0 0 0 0 0 6 7 8 9 10 %u %u 0\n",
                       cases[i].state, cases[i].code, cases[i].start, cases[i].end);

        fake_proc_put(7, "stat", line, strlen(line));
        expect_variable("", 0, cases[i].result, NULL);
        free(line);
    }
    fake_proc_remove();
}

static void test_own_environment(void **state)
{
    char *value;

    (void)state;
    assert_int_equal(process_variable("/proc", getpid(), "NO_SUCH", &value), PROCESS_VARIABLE_NONE);
    assert_int_equal(process_variable("/proc", getpid(), "PATH", &value), PROCESS_VARIABLE_SET);
    assert_string_equal(value, getenv("PATH")); /* NOLINT(concurrency-mt-unsafe) */
    free(value);
}

static void test_without_descriptors(void **state)
{
    struct rlimit limit;
    struct process p;
    char *value;

    (void)state;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
    struct rlimit none = {0, limit.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    enum process_state seen = process_look("/proc", getpid(), &p);
    enum process_variable variable = process_variable("/proc", getpid(), "PATH", &value);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
    assert_int_equal(seen, PROCESS_HIDDEN);
    assert_int_equal(variable, PROCESS_VARIABLE_LATER);
    assert_null(value);
}

static void test_signal_hits_only_the_one_that_is_meant(void **state)
{
    pid_t pid = helper_rig_idle_child();
    struct process p;
    siginfo_t info;
    int status;

    (void)state;
    assert_int_equal(process_look("/proc", pid, &p), PROCESS_ALIVE);
    assert_true(p.pid == pid && p.parent == getpid());
    p.start++; /* another process with the same number */
    assert_int_equal(process_signal("/proc", &p, SIGKILL), PROCESS_WAS_GONE);
    assert_int_equal(waitpid(pid, &status, WNOHANG), 0);
    p.start--;
    assert_int_equal(process_signal("/proc", &p, SIGKILL), PROCESS_SIGNALED);
    assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
    assert_int_equal(info.si_status, SIGKILL);
    assert_int_equal(process_look("/proc", pid, &p), PROCESS_DEAD);
    assert_int_equal(process_signal("/proc", &p, SIGKILL), PROCESS_WAS_GONE);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(process_look("/proc", pid, &p), PROCESS_GONE);
    assert_int_equal(process_signal("/proc", &p, SIGKILL), PROCESS_WAS_GONE);
}

static void test_signal_is_refused(void **state)
{
    pid_t pid = helper_rig_idle_child();
    struct process p;

    (void)state;
    if (getuid() != 0)
        skip(); /* needs another user */
    assert_int_equal(process_look("/proc", pid, &p), PROCESS_ALIVE);
    assert_int_equal(setresuid(65534, 65534, 0), 0);
    enum process_sent sent = process_signal("/proc", &p, SIGKILL);
    assert_int_equal(setresuid(0, 0, 0), 0);
    assert_int_equal(sent, PROCESS_REFUSED);
    assert_int_equal(process_signal("/proc", &p, SIGKILL), PROCESS_SIGNALED);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_stat_lines),
        cmocka_unit_test(test_variables),
        cmocka_unit_test(test_no_environment),
        cmocka_unit_test(test_own_environment),
        cmocka_unit_test(test_without_descriptors),
        cmocka_unit_test(test_signal_hits_only_the_one_that_is_meant),
        cmocka_unit_test(test_signal_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
