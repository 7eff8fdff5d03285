/* SPDX-License-Identifier: Apache-2.0 */
/* Capabilities and limits of hooks that this process can give, and those that it cannot. */
#include "app/check.h"

#include <linux/capability.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/capability.h"
#include "base/mem.h"
#include "conf_files.h"
#include "helper/capability_sets.h"

#define NOT_OURS(i, name)                                                                        \
    "main.conf:3: hooks.h.capabilities[" #i "]: informerd itself does not have " name ": leave " \
    "it in CapabilityBoundingSet= of the unit, and start informerd as root or with it in "       \
    "AmbientCapabilities=\n"
#define OF_ROOT                                                                      \
    "main.conf:3: hooks.h.capabilities: a program of root has all others, too: set " \
    "no_new_privileges = true, or name another user\n"

/* Does check_rights() say this of a hook with these settings? */
static bool says(const char *settings, const char *problems)
{
    struct problems p = {0};
    struct buf out = {0};
    char *text =
        mem_printf(CONF_FILES_WATCH "hooks : { h : { " CONF_FILES_HOOK " %s }; };", settings);

    conf_files_write("main.conf", text);
    struct conf *c = conf_files_read("main.conf");
    check_rights(c, &p);
    problems_put(&p, &out);
    bool same = strcmp(buf_cstr(&out), problems) == 0;
    if (!same)
        print_error("%s\n", buf_cstr(&out));
    buf_free(&out);
    problems_free(&p);
    conf_destroy(&c);
    free(text);
    return same;
}

static void test_root_needs_no_new_privileges(void **state)
{
    (void)state;
    if (getuid() != 0)
        skip();
    assert_true(says("capabilities = [ \"CAP_KILL\" ];", ""));
    assert_true(says("capabilities = [ \"CAP_KILL\" ]; user = \"root\";", OF_ROOT));
    assert_true(
        says("capabilities = [ \"CAP_KILL\" ]; user = \"root\"; no_new_privileges = true;", ""));
    assert_true(says("user = \"root\";", ""));
}

/* With few rights, as in a unit with CapabilityBoundingSet= and LimitNOFILE=. */
static bool with_few(void)
{
    const uint64_t few = CAPABILITY_BIT(CAP_KILL);
    const struct rlimit limit = {100, 200};

    if (getuid() == 0 && capability_sets_write(&(struct capability_sets){few, few, 0}) != 0)
        return false;
    const char *problems =
        getuid() == 0 ? NOT_OURS(1, "CAP_CHOWN") : NOT_OURS(0, "CAP_KILL") NOT_OURS(1, "CAP_CHOWN");
    return setrlimit(RLIMIT_NOFILE, &limit) == 0 &&
           says("capabilities = [ \"CAP_KILL\", \"CAP_CHOWN\" ];", problems) &&
           says("rlimits : { nofile = \"100:200\"; };", "") &&
           says("rlimits : { nofile = \"100:201\"; };",
                "main.conf:3: hooks.h.rlimits.nofile: \"100:201\" is above the hard limit of "
                "informerd, 200: raise the limit of its unit (systemd.exec(5))\n");
}

static void test_what_informerd_does_not_have_is_a_problem(void **state)
{
    int status;

    (void)state;
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0)
        _exit(with_few() ? 0 : 1);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_root_needs_no_new_privileges, conf_files_enter,
                                        conf_files_leave),
        cmocka_unit_test_setup_teardown(test_what_informerd_does_not_have_is_a_problem,
                                        conf_files_enter, conf_files_leave),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
