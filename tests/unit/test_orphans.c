/* SPDX-License-Identifier: Apache-2.0 */
/* The run that an orphan belongs to: read once, not before there is something to read, and
 * exactly. */
#include "helper/orphans.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "fake_proc.h"

enum { SELF = 50, PROGRAM = 60 };

static unsigned asked; /* how often is_program() was called */

static bool is_program(const void *arg, pid_t pid)
{
    assert_ptr_equal(arg, &asked);
    asked++;
    return pid == PROGRAM;
}

static struct orphans start(const char *children)
{
    struct orphans o;

    fake_proc_children(SELF, children);
    orphans_init(&o, fake_proc_create(), SELF);
    asked = 0;
    return o;
}

static void stop(struct orphans *o)
{
    orphans_fini(o);
    fake_proc_remove();
}

static void put(pid_t pid, const char *variable)
{
    fake_proc_process(pid, SELF, (uint64_t)pid);
    fake_proc_environ(pid, variable);
}

/* How many processes of a run live; *first = the number of the first. */
static size_t collect(const struct orphans *o, const char *run, pid_t *first)
{
    struct descent_set set = {0};

    assert_int_equal(orphans_collect(o, run, 0, &set), 0);
    size_t n = set.count;
    *first = n > 0 ? set.all[0].pid : 0;
    descent_set_free(&set);
    return n;
}

static void test_names_are_compared_exactly(void **state)
{
    pid_t first;

    (void)state;
    put(61, "INFORMERD_RUN=a-1");
    put(63, "INFORMERD_RUN=a-10");
    put(62, "XINFORMERD_RUN=a-1");
    put(64, "INFORMERD_RUN=");
    put(65, "INFORMERD_RUN=a-1");
    struct orphans o = start("61 60 63 62 65 64 ");
    assert_true(orphans_update(&o, 1, is_program, &asked));
    assert_int_equal(o.count, 5);
    assert_int_equal(collect(&o, "a-1", &first), 2);
    assert_int_equal(first, 61);
    assert_int_equal(collect(&o, "a-10", &first), 1);
    assert_int_equal(first, 63);
    assert_int_equal(collect(&o, "a", &first), 0);
    assert_int_equal(collect(&o, "", &first), 1);
    assert_int_equal(collect(&o, NULL, &first), 0);
    stop(&o);
}

static void test_each_is_read_once(void **state)
{
    pid_t first;

    (void)state;
    put(61, "INFORMERD_RUN=a");
    struct orphans o = start("60 61 ");
    assert_true(orphans_update(&o, 1, is_program, &asked));
    assert_int_equal(asked, 2);
    fake_proc_environ(61, "INFORMERD_RUN=b"); /* the process keeps the run that was read first */
    assert_true(orphans_update(&o, 1, is_program, &asked));
    assert_int_equal(asked, 2); /* the number of children shows that no child is new */
    assert_int_equal(collect(&o, "a", &first), 1);
    put(62, NULL);
    fake_proc_children(SELF, "60 61 62 ");
    assert_true(orphans_update(&o, 1, is_program, &asked));
    assert_int_equal(o.count, 2);
    orphans_forget(&o, 61); /* reaped: the number may come again */
    orphans_forget(&o, 61);
    orphans_forget(&o, PROGRAM);
    assert_int_equal(o.count, 1);
    assert_true(orphans_update(&o, 1, is_program, &asked));
    assert_int_equal(collect(&o, "b", &first), 1);
    stop(&o);
}

static void test_a_process_that_cannot_be_read_yet(void **state)
{
    static const char ending[] = "61 (sh) Z 50 7 7 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 61 0";
    pid_t first;

    (void)state;
    put(61, NULL);
    fake_proc_put(61, "stat", ending, strlen(ending));
    struct orphans o = start("60 61 ");
    assert_false(orphans_update(&o, 1, is_program, &asked));
    assert_false(orphans_update(&o, 1, is_program, &asked));
    assert_int_equal(collect(&o, "a", &first), 0);
    put(61, "INFORMERD_RUN=a");
    assert_true(orphans_update(&o, 1, is_program, &asked));
    assert_int_equal(collect(&o, "a", &first), 1);
    struct descent_set set = {0};
    fake_proc_put(61, "stat", ending, strlen(ending));
    assert_int_equal(orphans_collect(&o, "a", 0, &set),
                     1); /* a dead process is reported, and is not in the set */
    assert_int_equal(set.count, 0);
    put(62, NULL);
    fake_proc_put(62, "stat", ending, strlen(ending));
    fake_proc_children(SELF, "60 61 62 ");
    assert_false(orphans_update(&o, 1, is_program, &asked));
    orphans_forget(&o, 62); /* reaped before it was read */
    fake_proc_children(SELF, "60 61 ");
    assert_true(orphans_update(&o, 1, is_program, &asked));
    stop(&o);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names_are_compared_exactly),
        cmocka_unit_test(test_each_is_read_once),
        cmocka_unit_test(test_a_process_that_cannot_be_read_yet),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
