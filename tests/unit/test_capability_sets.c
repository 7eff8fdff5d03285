/* SPDX-License-Identifier: Apache-2.0 */
/* The capability sets of a process, and of a program that it enters. */
#include "helper/capability_sets.h"

#include <errno.h>
#include <linux/capability.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/capability.h"

#define BIT(name) CAPABILITY_BIT(CAP_##name)

/* Runs a test in a child, which has the rights of the start. It exits with 0, or the line that failed. */
static void in_child(int (*test)(void))
{
    int status;

    if (getuid() != 0)
        skip();
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0)
        _exit(test());
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

#define EXPECT(what) \
    if (!(what))     \
        return __LINE__ % 256;

static int lower_and_raise(void)
{
    struct capability_sets before;
    struct capability_sets now;

    EXPECT(capability_sets_read(&before) == 0 && (before.effective & BIT(KILL)) != 0);
    EXPECT(capability_sets_limit(BIT(KILL) | BIT(CHOWN)) == 0 && capability_sets_read(&now) == 0);
    EXPECT(now.effective == (BIT(KILL) | BIT(CHOWN)) && now.permitted == before.permitted);
    EXPECT(capability_sets_raise(BIT(FOWNER)) == 0 && capability_sets_read(&now) == 0);
    EXPECT(now.effective == (BIT(KILL) | BIT(CHOWN) | BIT(FOWNER)));
    EXPECT(capability_sets_raise(CAPABILITY_ALL) == 0 && capability_sets_read(&now) == 0);
    EXPECT(now.effective == before.permitted);
    return 0;
}

static int settle(void)
{
    struct capability_sets now;

    EXPECT(capability_sets_limit(BIT(KILL)) == 0 && capability_sets_settle() == 0);
    EXPECT(capability_sets_raise(CAPABILITY_ALL) == 0 && capability_sets_read(&now) == 0);
    EXPECT(now.effective == BIT(KILL) && now.permitted == BIT(KILL));
    return 0;
}

static int become(void)
{
    struct capability_sets now;
    uint64_t wanted = BIT(KILL) | BIT(CHOWN);

    EXPECT(capability_sets_become(wanted) == 0 && capability_sets_read(&now) == 0);
    EXPECT(now.effective == wanted && now.permitted == wanted && now.inheritable == wanted);
    EXPECT(prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_IS_SET, CAP_KILL, 0, 0) == 1);
    EXPECT(prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_IS_SET, CAP_FOWNER, 0, 0) == 0);
    /* Fewer of them: the others are gone from each set. */
    EXPECT(capability_sets_become(BIT(KILL)) == 0 && capability_sets_read(&now) == 0);
    EXPECT(now.permitted == BIT(KILL) && now.inheritable == BIT(KILL));
    EXPECT(prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_IS_SET, CAP_CHOWN, 0, 0) == 0);
    EXPECT(capability_sets_become(wanted) == EPERM);
    return 0;
}

static void test_effective_goes_down_and_up(void **state)
{
    (void)state;
    in_child(lower_and_raise);
}

static void test_settled_is_for_good(void **state)
{
    (void)state;
    in_child(settle);
}

static void test_a_process_becomes_what_it_names(void **state)
{
    (void)state;
    in_child(become);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_effective_goes_down_and_up),
        cmocka_unit_test(test_settled_is_for_good),
        cmocka_unit_test(test_a_process_becomes_what_it_names),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
