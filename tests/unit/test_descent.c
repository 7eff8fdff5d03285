/* SPDX-License-Identifier: Apache-2.0 */
/* Families of processes: real ones by the kernel's lists and by looking at all, and made-up ones
 * that change while they are looked at. */
#include "helper/descent.h"

#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/compiler.h"
#include "fake_proc.h"

enum { FAMILY = 5, SELF = 50 };

static bool has(const struct descent_set *set, pid_t pid)
{
    for (size_t i = 0; i < set->count; i++)
        if (set->all[i].pid == pid)
            return true;
    return false;
}

static void add(struct descent_set *set, const char *proc, pid_t pid)
{
    struct process p;

    assert_int_equal(process_look(proc, pid, &p), PROCESS_ALIVE);
    descent_add(set, &p);
}

/* ---- Real processes */

NORETURN static void stay(int out)
{
    pid_t self = getpid();

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (write(out, &self, sizeof(self)) != (ssize_t)sizeof(self))
        _exit(1);
    for (;;)
        pause();
}

static void *fork_in_thread(void *arg)
{
    int out = *(int *)arg;

    if (fork() == 0)
        stay(out);
    for (;;)
        pause();
    return NULL;
}

/* A program, two children, of which one has a child, and one of another thread. */
NORETURN static void raise_family(int out)
{
    pthread_t thread;

    if (fork() == 0) {
        if (fork() == 0)
            stay(out);
        stay(out);
    }
    if (fork() == 0)
        stay(out);
    if (pthread_create(&thread, NULL, fork_in_thread, &out) != 0)
        _exit(1);
    stay(out);
}

static void kill_family(const struct descent_set *set)
{
    for (size_t i = 0; i < set->count; i++)
        process_signal("/proc", &set->all[i], SIGKILL);
    while (wait(NULL) > 0)
        continue;
}

static void expect_family(struct descent *d, const pid_t pids[FAMILY], struct descent_set *set)
{
    struct descent_pids children = {0};

    descent_children(d, &children);
    assert_int_equal(children.count, 1);
    add(set, "/proc", children.all[0]);
    descent_pids_free(&children);
    for (int twice = 0; twice < 2; twice++) {
        descent_extend(d, set);
        assert_int_equal(set->count, FAMILY);
        for (size_t n = 0; n < FAMILY; n++)
            assert_true(has(set, pids[n]));
    }
}

/* With lists and without. */
static void test_real_families(void **state)
{
    struct descent search = {.proc = "/proc", .self = getpid(), .list_fd = -1};
    struct descent lists;
    struct descent_set set = {0};
    pid_t pids[FAMILY];
    int ends[2];

    (void)state;
    assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
    assert_int_equal(pipe(ends), 0);
    if (fork() == 0)
        raise_family(ends[1]);
    for (size_t i = 0; i < FAMILY; i++)
        assert_int_equal(read(ends[0], &pids[i], sizeof(pids[i])), sizeof(pids[i]));
    descent_open(&lists, "/proc", getpid());
    expect_family(&lists, pids, &set);
    descent_close(&lists);
    descent_set_free(&set);
    expect_family(&search, pids, &set);
    kill_family(&set);
    descent_set_free(&set);
    close(ends[0]);
    close(ends[1]);
}

/* ---- Made-up processes */

static void test_a_long_list(void **state)
{
    enum { N = 3000 };
    struct buf list = {0};
    struct descent_pids children = {0};
    struct descent d;

    (void)state;
    for (int i = 0; i < N; i++)
        buf_printf(&list, "%d ", 1000 + i);
    fake_proc_children(SELF, buf_cstr(&list));
    descent_open(&d, fake_proc_create(), SELF);
    for (int twice = 0; twice < 2; twice++) {
        descent_children(&d, &children);
        assert_int_equal(children.count, N);
        for (int i = 0; i < N; i++)
            assert_int_equal(children.all[i], 1000 + i);
    }
    fake_proc_children(SELF, ""); /* the open list of children shows that at once */
    descent_children(&d, &children);
    assert_int_equal(children.count, 0);
    descent_pids_free(&children);
    descent_close(&d);
    buf_free(&list);
    fake_proc_remove();
}

/* The list of children is older than the table that it is compared with. */
static void test_only_children_at_the_time(void **state)
{
    struct descent_set set = {0};
    struct descent d;

    (void)state;
    fake_proc_children(SELF, "");
    fake_proc_process(10, SELF, 5);
    fake_proc_children(10, "11 12 13 ");
    fake_proc_process(11, 10, 6);
    fake_proc_process(12, SELF, 6); /* the child of another process by now */
    descent_open(&d, fake_proc_create(), SELF);
    add(&set, d.proc, 10);
    descent_extend(&d, &set);
    assert_int_equal(set.count, 2);
    assert_true(has(&set, 11));

    descent_set_free(&set);
    add(&set, d.proc, 10);
    fake_proc_process(
        10, 1, 7); /* the number is that of another process by now, and so are its children */
    descent_extend(&d, &set);
    assert_int_equal(set.count, 1);
    descent_set_free(&set);
    descent_close(&d);
    fake_proc_remove();
}

static void test_sets_have_a_limit(void **state)
{
    struct descent_set set = {0};
    struct process p = {.pid = 10, .start = 1};

    (void)state;
    descent_add(&set, &p);
    descent_add(&set, &p);
    assert_int_equal(set.count, 1);
    p.start = 2; /* another process */
    descent_add(&set, &p);
    assert_int_equal(set.count, 2);
    for (p.pid = 1000; p.pid < 1000 + DESCENT_SET_MAX; p.pid++)
        descent_add(&set, &p);
    assert_int_equal(set.count, DESCENT_SET_MAX);
    descent_set_free(&set);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_real_families),
        cmocka_unit_test(test_a_long_list),
        cmocka_unit_test(test_only_children_at_the_time),
        cmocka_unit_test(test_sets_have_a_limit),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
