/* SPDX-License-Identifier: Apache-2.0 */
/* The rights of programs that a helper of root starts, and those that it keeps for itself. */
#include "helper/capability_needs.h"

#include <errno.h>
#include <linux/capability.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/capability.h"
#include "base/compiler.h"
#include "base/mem.h"
#include "helper/capability_sets.h"
#include "helper_rig.h"

#define BIT(name) CAPABILITY_BIT(CAP_##name)

static const char *const env[] = {"PATH=/usr/sbin:/usr/bin:/sbin:/bin", NULL};
static const char *const shell[] = {"/bin/sh", "-c", "eval \"$INFORMERD_SCRIPT\"", NULL};

static struct helper_hook as_user(uid_t uid)
{
    return (struct helper_hook){.name = "h",
                                .argv = shell,
                                .env = env,
                                .uid = uid,
                                .gid = uid,
                                .kill_signal = SIGTERM,
                                .change_user = true};
}

static uint64_t permitted(void)
{
    struct capability_sets sets;

    assert_int_equal(capability_sets_read(&sets), 0);
    return sets.permitted;
}

/* The text that the script prints as this hook; valid until the next call. The run must end well. */
static const char *run(struct helper_hook hook, const char *script)
{
    static char text[4096];
    struct helper_rig w;

    helper_rig_open_with(&w, &hook, 1);
    int fd = helper_rig_run(&w, 1, 0, script);
    snprintf(text, sizeof(text), "%s", helper_rig_read(fd, false));
    close(fd);
    HELPER_RIG_AWAIT(&w, w.exited == 1);
    assert_true(run_end_is_good(&w.end));
    helper_rig_close(&w);
    return text;
}

/* The number behind a name in the text of a status file. */
static uint64_t number(const char *text, const char *name)
{
    const char *at = strstr(text, name);

    assert_non_null(at);
    return strtoull(at + strlen(name) + strlen(":\t"), NULL, 16);
}

static const char show[] = "cat /proc/self/status";

static void test_programs_have_the_capabilities_that_are_named(void **state)
{
    struct helper_hook hook = as_user(HELPER_RIG_NOBODY);

    (void)state;
    if (getuid() != 0)
        skip();
    hook.capabilities = BIT(NET_ADMIN) | BIT(KILL);
    const char *text = run(hook, show);
    assert_int_equal(number(text, "CapPrm"), hook.capabilities);
    assert_int_equal(number(text, "CapEff"), hook.capabilities);
    assert_int_equal(number(text, "CapAmb"), hook.capabilities);
    assert_int_equal(number(text, "NoNewPrivs"), 0);
    hook.capabilities = 0;
    text = run(hook, show);
    assert_int_equal(number(text, "CapPrm") | number(text, "CapInh") | number(text, "CapAmb"), 0);
}

static void test_programs_of_root_have_all_or_those_that_are_named(void **state)
{
    struct helper_hook hook = as_user(0);

    (void)state;
    if (getuid() != 0)
        skip();
    assert_int_equal(number(run(hook, show), "CapEff"), permitted());
    hook.no_new_privileges = true;
    assert_int_equal(number(run(hook, show), "CapEff"), permitted());
    hook.capabilities = BIT(KILL);
    assert_int_equal(number(run(hook, show), "CapPrm"), BIT(KILL));
}

static void test_no_new_privileges_is_set(void **state)
{
    struct helper_hook hook = as_user(HELPER_RIG_NOBODY);

    (void)state;
    if (getuid() != 0)
        skip();
    hook.no_new_privileges = true;
    assert_int_equal(number(run(hook, show), "NoNewPrivs"), 1);
}

static void test_programs_have_their_limits(void **state)
{
    const struct helper_rlimit limits[] = {
        {RLIMIT_NOFILE, 20, 30  },
        {RLIMIT_CORE,   0,  4096}
    };
    struct helper_hook hook = as_user(HELPER_RIG_NOBODY);

    (void)state;
    hook.change_user = getuid() == 0;
    hook.rlimits = limits;
    hook.rlimit_count = ARRAY_LEN(limits);
    assert_string_equal(run(hook, "ulimit -Sn; ulimit -Hn; ulimit -Sc; ulimit -Hc"),
                        "20\n30\n0\n8\n"); /* core: blocks of 512 bytes */
}

static void expect_refused(struct helper_hook hook, enum run_stage stage, int error)
{
    struct helper_rig w;

    helper_rig_open_with(&w, &hook, 1);
    close(helper_rig_run(&w, 1, 0, "true"));
    HELPER_RIG_AWAIT(&w, w.exited == 1);
    assert_int_equal(w.end.kind, RUN_END_REFUSED);
    assert_int_equal(w.end.stage, stage);
    assert_int_equal(w.end.value, error);
    helper_rig_close(&w);
}

static void test_a_right_that_cannot_be_given_is_a_stage(void **state)
{
    const struct helper_rlimit bad = {RLIMIT_NOFILE, 2, 1};
    struct helper_hook hook = as_user(HELPER_RIG_NOBODY);

    (void)state;
    if (getuid() != 0)
        skip();
    hook.capabilities = CAPABILITY_BIT(63); /* the kernel has no such capability */
    expect_refused(hook, RUN_STAGE_CAPABILITIES, EINVAL);
    hook.capabilities = 0;
    hook.rlimits = &bad;
    hook.rlimit_count = 1;
    expect_refused(hook, RUN_STAGE_LIMITS, EINVAL);
}

/* ---- The helper itself */

static uint64_t effective(const struct helper_rig *w)
{
    char path[64];
    char text[4096] = "";

    snprintf(path, sizeof(path), "/proc/%d/status", (int)w->helper);
    FILE *f = fopen(path, "re");
    assert_non_null(f);
    assert_true(fread(text, 1, sizeof(text) - 1, f) > 0);
    fclose(f);
    return number(text, "CapEff");
}

/* A helper_build_cb. The text for main has the capabilities of the process that reads. */
static bool build(void *arg, struct helper_params *p, struct buf *bundle, struct buf *problems)
{
    struct capability_sets sets;

    (void)problems;
    *p = *(const struct helper_params *)arg;
    if (capability_sets_read(&sets) == 0)
        buf_printf(bundle, "%llx", (unsigned long long)sets.effective);
    return true;
}

/* Waits until the helper has handled all that was asked before. */
static void settle(struct helper_rig *w)
{
    size_t before = w->exited;

    close(helper_rig_run(w, 100 + before, 0, "true"));
    HELPER_RIG_AWAIT(w, w->exited > before);
}

static void test_the_helper_keeps_what_its_parameters_need(void **state)
{
    const struct helper_output output = {.path = "/nowhere/f", .set_owner = true};
    struct helper_hook before = as_user(HELPER_RIG_NOBODY);
    struct helper_hook after = before;
    struct helper_params first = {.hooks = &before, .hook_count = 1, .shared_runs = 1};
    struct helper_params second = {.hooks = &after, .hook_count = 1, .shared_runs = 1};
    const struct helper_reload how = {build, &second};
    struct helper_rig w;
    char all[32];

    (void)state;
    if (getuid() != 0)
        skip();
    before.concurrency = after.concurrency = 1;
    after.output = &output;
    helper_rig_open_params(&w, &first, &how);
    settle(&w);
    assert_int_equal(effective(&w), capability_needs(&first, permitted()));
    assert_int_equal(effective(&w) & BIT(DAC_OVERRIDE), 0);
    helper_link_reload(w.link);
    HELPER_RIG_AWAIT(&w, w.reloaded == 1);
    assert_true(w.reload_ok);
    snprintf(all, sizeof(all), "%llx", (unsigned long long)permitted());
    assert_string_equal(w.reload_text, all);
    assert_int_equal(effective(&w) & BIT(DAC_OVERRIDE), 0); /* not before the commit */
    helper_link_commit(w.link);
    settle(&w);
    assert_int_equal(effective(&w), capability_needs(&second, permitted()));
    assert_int_equal(effective(&w) & BIT(CHOWN), BIT(CHOWN));
    helper_rig_close(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_programs_have_the_capabilities_that_are_named),
        cmocka_unit_test(test_programs_of_root_have_all_or_those_that_are_named),
        cmocka_unit_test(test_no_new_privileges_is_set),
        cmocka_unit_test(test_programs_have_their_limits),
        cmocka_unit_test(test_a_right_that_cannot_be_given_is_a_stage),
        cmocka_unit_test(test_the_helper_keeps_what_its_parameters_need),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
