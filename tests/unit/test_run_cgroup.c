/* SPDX-License-Identifier: Apache-2.0 */
/* The files of the cgroup of a run, in a folder that stands for it: the limits that are written, and the
 * figures that are read. tests/unit/test_helper_escape.c has runs in real cgroups. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/compiler.h"
#include "base/mem.h"
#include "helper/cgroup_file.h"
#include "helper/cgroup_tree.h"
#include "helper/run_cgroup.h"

static void test_the_own_cgroup_is_found(void **state)
{
    static const struct {
        const char *text;
        const char *path;
    } cases[] = {
        {"0::/system.slice/informerd.service\n",         "/system.slice/informerd.service"},
        {"12:memory:/a\n1:name=systemd:/b\n0::/c d/e\n", "/c d/e"                         },
        {"0::/\n",                                       "/"                              },
        {"0::/",                                         "/"                              },
        {"10::/a\n",                                     NULL                             },
        {"4:memory:/0::/x\n",                            NULL                             },
        {"",                                             NULL                             },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        char *path = cgroup_tree_parse(cases[i].text);

        if (cases[i].path == NULL)
            assert_null(path);
        else
            assert_string_equal(path, cases[i].path);
        free(path);
    }
}

static void test_values_have_whole_names(void **state)
{
    static const char events[] = "low 1\noom 2\noom_kill 3\noom_group_kill 4\n";

    (void)state;
    assert_int_equal(cgroup_file_value(events, "oom"), 2);
    assert_int_equal(cgroup_file_value(events, "oom_kill"), 3);
    assert_int_equal(cgroup_file_value(events, "kill"), 0);
    assert_int_equal(cgroup_file_value("", "low"), 0);
    assert_int_equal(cgroup_file_value("low", "low"), 0);
    assert_int_equal(cgroup_file_value("populated 1", "populated"), 1);
    assert_int_equal(cgroup_file_value("n 18446744073709551615\n", "n"), UINT64_MAX);
}

/* A folder that stands for a tree, with the cgroup of run r. */
struct rig {
    char path[64];
    struct cgroup_tree tree;
    struct run_cgroups all;
};

static void put(struct rig *rig, const char *file, const char *text)
{
    char *path = mem_printf("%s/run-r/%s", rig->path, file);
    FILE *f = fopen(path, "we");

    assert_non_null(f);
    fputs(text, f);
    fclose(f);
    free(path);
}

static void expect(struct rig *rig, const char *file, const char *text)
{
    char *path = mem_printf("%s/run-r/%s", rig->path, file);
    char found[64] = "";
    FILE *f = fopen(path, "re");

    assert_non_null(f);
    assert_non_null(fgets(found, sizeof(found), f));
    assert_string_equal(found, text);
    fclose(f);
    free(path);
}

static void open_rig(struct rig *rig)
{
    snprintf(rig->path, sizeof(rig->path), "/tmp/test_run_cgroup.XXXXXX");
    assert_non_null(mkdtemp(rig->path));
    rig->tree = (struct cgroup_tree){.path = rig->path, .fd = -1};
    int fd = open(rig->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_true(fd >= 0);
    run_cgroups_open(&rig->all, &rig->tree, fd);
    assert_int_equal(mkdirat(fd, "run-r", 0700), 0);
}

static void close_rig(struct rig *rig)
{
    char *command = mem_printf("rm -r %s", rig->path);

    run_cgroups_close(&rig->all);
    assert_int_equal(system(command), 0); /* NOLINT(cert-env33-c,concurrency-mt-unsafe) */
    free(command);
}

static void test_limits_are_written_as_the_kernel_reads_them(void **state)
{
    const struct run_limits limits = {
        .memory_max = UINT64_C(5) << 30, .pids_max = 7, .cpu_max = 150, .cpu_weight = 300};
    struct run_cgroup c;
    struct rig rig;

    (void)state;
    open_rig(&rig);
    for (const char *const *file = (const char *const[]){"memory.max", "memory.oom.group",
                                                         "pids.max", "cpu.max", "cpu.weight", NULL};
         *file != NULL; file++)
        put(&rig, *file, "");
    assert_int_equal(run_cgroup_make(&rig.all, "r", "hook", &limits, &c), 0);
    expect(&rig, "memory.max", "5368709120");
    expect(&rig, "memory.oom.group", "1");
    expect(&rig, "pids.max", "7");
    expect(&rig, "cpu.max", "150000 100000");
    expect(&rig, "cpu.weight", "300");
    run_cgroup_leave(&rig.all, &c, false);
    close_rig(&rig);
}

static void test_limits_that_are_not_set_are_not_written(void **state)
{
    struct run_cgroup c;
    struct rig rig;

    (void)state;
    open_rig(&rig);
    put(&rig, "memory.max", "max");
    put(&rig, "cpu.weight", "100");
    assert_int_equal(run_cgroup_make(&rig.all, "r", "hook", &(struct run_limits){0}, &c), 0);
    expect(&rig, "memory.max", "max");
    expect(&rig, "cpu.weight", "100");
    run_cgroup_leave(&rig.all, &c, false);
    close_rig(&rig);
}

/* The cgroup may have had another program of the run before. */
static void test_usage_is_that_of_this_program(void **state)
{
    struct run_end end = {0};
    struct run_cgroup c;
    struct rig rig;

    (void)state;
    open_rig(&rig);
    put(&rig, "cpu.stat", "usage_usec 1000\nuser_usec 600\n");
    put(&rig, "memory.events", "oom 5\noom_kill 5\n");
    put(&rig, "pids.events", "max 2\n");
    assert_int_equal(run_cgroup_make(&rig.all, "r", "hook", &(struct run_limits){0}, &c), 0);
    put(&rig, "cpu.stat", "usage_usec 4500\nuser_usec 600\n");
    put(&rig, "memory.peak", "65536\n");
    run_cgroup_tell_usage(&c, &end);
    assert_int_equal(end.cpu_us, 3500);
    assert_int_equal(end.memory_peak, 65536);
    assert_int_equal(end.limit, RUN_LIMIT_NONE);
    put(&rig, "pids.events", "max 3\n");
    run_cgroup_tell_usage(&c, &end);
    assert_int_equal(end.limit, RUN_LIMIT_PIDS);
    put(&rig, "memory.events", "oom 6\noom_kill 6\n");
    run_cgroup_tell_usage(&c, &end);
    assert_int_equal(end.limit, RUN_LIMIT_MEMORY);
    run_cgroup_leave(&rig.all, &c, false);
    close_rig(&rig);
}

/* wait4(2) has told the time before. */
static void test_the_time_stays_if_the_cgroup_does_not_tell_it(void **state)
{
    struct run_end end = {.cpu_us = 7};
    struct run_cgroup c;
    struct rig rig;

    (void)state;
    open_rig(&rig);
    put(&rig, "cpu.stat", "usage_usec 1000\n");
    assert_int_equal(run_cgroup_make(&rig.all, "r", "hook", &(struct run_limits){0}, &c), 0);
    assert_int_equal(unlinkat(c.fd, "cpu.stat", 0), 0);
    run_cgroup_tell_usage(&c, &end);
    assert_int_equal(end.cpu_us, 7);
    run_cgroup_leave(&rig.all, &c, false);
    close_rig(&rig);
}

/* The list of its processes is longer than the 1 MiB that informerd reads. */
static void test_a_cgroup_with_very_many_processes(void **state)
{
    enum { COUNT = 200000 };
    char *procs = mem_alloc(COUNT * strlen("999999\n") + 1);
    struct run_end end = {0};
    struct run_cgroup c;
    struct rig rig;
    char *at = procs;

    (void)state;
    for (size_t i = 0; i < COUNT; i++)
        at = stpcpy(at, "999999\n");
    open_rig(&rig);
    put(&rig, "cgroup.events", "populated 1\n");
    put(&rig, "cgroup.procs", procs);
    assert_int_equal(run_cgroup_make(&rig.all, "r", "hook", &(struct run_limits){0}, &c), 0);
    run_cgroup_kill(&c);
    run_cgroup_tell_left(&c, &end);
    assert_true(end.left > COUNT / 2);
    assert_int_equal(end.left_pid, 999999);
    run_cgroup_leave(&rig.all, &c, false);
    close_rig(&rig);
    free(procs);
}

/* Else the run would end well while its processes go on. */
static void test_without_a_free_descriptor_processes_are_not_forgotten(void **state)
{
    struct rlimit before;
    struct run_cgroup c;
    struct rig rig;

    (void)state;
    open_rig(&rig);
    put(&rig, "cgroup.events", "populated 1\n");
    assert_int_equal(run_cgroup_make(&rig.all, "r", "hook", &(struct run_limits){0}, &c), 0);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &(struct rlimit){0, before.rlim_max}), 0);
    assert_true(run_cgroup_is_populated(&c));
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    assert_int_equal(unlinkat(c.fd, "cgroup.events", 0), 0);
    assert_false(run_cgroup_is_populated(&c));
    run_cgroup_leave(&rig.all, &c, false);
    close_rig(&rig);
}

/* A later start spares processes of good runs only; those of a run that failed may have outlived even
 * SIGKILL until then. */
static void test_only_a_good_run_marks_the_processes_that_it_leaves(void **state)
{
    struct run_cgroup c;
    struct rig rig;
    char mark;

    (void)state;
    for (int is_spared = 0; is_spared < 2; is_spared++) {
        open_rig(&rig);
        put(&rig, "stays", ""); /* so that the folder cannot be removed */
        assert_int_equal(run_cgroup_make(&rig.all, "r", "hook", &(struct run_limits){0}, &c), 0);
        int fd = dup(c.fd);
        assert_true(fd >= 0);
        run_cgroup_leave(&rig.all, &c, is_spared);
        assert_int_equal(fgetxattr(fd, "user.informerd.kept", &mark, 1) == 1, is_spared);
        close(fd);
        close_rig(&rig);
    }
}

/* Main may be broken into: the name of a run does not lead out of the tree. */
static void test_a_slash_in_the_name_of_a_run_leads_nowhere(void **state)
{
    struct run_cgroup c;
    struct rig rig;

    (void)state;
    open_rig(&rig);
    assert_int_equal(run_cgroup_make(&rig.all, "x/../../y", "hook", &(struct run_limits){0}, &c),
                     0);
    assert_string_equal(c.name, "run-x_.._.._y");
    run_cgroup_leave(&rig.all, &c, false);
    assert_false(run_cgroup_find(&rig.all, "/../run-r", &c));
    assert_true(run_cgroup_find(&rig.all, "r", &c));
    run_cgroup_leave(&rig.all, &c, false);
    close_rig(&rig);
}

static void test_without_a_tree_a_run_has_no_cgroup(void **state)
{
    struct run_cgroups none;
    struct run_cgroup c;

    (void)state;
    run_cgroups_open(&none, NULL, -1);
    assert_int_equal(run_cgroup_make(&none, "r", "hook", &(struct run_limits){.pids_max = 1}, &c),
                     0);
    assert_int_equal(c.fd, -1);
    assert_false(run_cgroup_find(&none, "r", &c));
    assert_false(run_cgroup_is_populated(&c));
    run_cgroup_kill(&c);
    run_cgroup_leave(&none, &c, false);
    run_cgroups_tidy(&none);
    run_cgroups_close(&none);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_own_cgroup_is_found),
        cmocka_unit_test(test_values_have_whole_names),
        cmocka_unit_test(test_limits_are_written_as_the_kernel_reads_them),
        cmocka_unit_test(test_limits_that_are_not_set_are_not_written),
        cmocka_unit_test(test_usage_is_that_of_this_program),
        cmocka_unit_test(test_the_time_stays_if_the_cgroup_does_not_tell_it),
        cmocka_unit_test(test_a_cgroup_with_very_many_processes),
        cmocka_unit_test(test_without_a_free_descriptor_processes_are_not_forgotten),
        cmocka_unit_test(test_only_a_good_run_marks_the_processes_that_it_leaves),
        cmocka_unit_test(test_a_slash_in_the_name_of_a_run_leads_nowhere),
        cmocka_unit_test(test_without_a_tree_a_run_has_no_cgroup),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
