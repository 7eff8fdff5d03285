/* SPDX-License-Identifier: Apache-2.0 */
/* The check of an output file: its surroundings, the meaning of its end, and that it ends with its
 * run. */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/mem.h"
#include "output_rig.h"

#define ARGV(...) ((const char *const[]){__VA_ARGS__, NULL})

/* A hook whose check is a script; the new file is $1. */
static void open_with(struct output_rig *o, const char *script)
{
    output_rig_init(o, "/${namespace}/${name}.cfg");
    o->hook.check = ARGV("/bin/sh", "-c", script, "sh", "${file}");
    output_rig_start(o);
}

static void expect_line(const struct output_rig *o, const char *line)
{
    assert_string_equal(helper_rig_read(o->out, true), line);
}

static void test_good_and_bad(void **state)
{
    struct output_rig o;

    (void)state;
    open_with(&o, "read x < \"$1\"; echo \"sees $x\"; echo told >&2; test \"$x\" = good");
    output_rig_write(&o, "good\n", "written");
    expect_line(&o, "sees good\n");
    helper_rig_expect_line(o.out, "told\n");
    output_rig_write(&o, "good\n", "same"); /* the file is not checked again */
    helper_rig_expect_eof(o.out);
    o.out = -1;
    output_rig_begin(&o, RUN_PROGRAM_OUTPUT, "shop", "web", "bad\n");
    output_rig_await(&o);
    output_rig_expect(&o, RUN_END_EXITED, 1, "check");
    expect_line(&o, "sees bad\n");
    output_rig_expect_file(&o, "shop/web.cfg", "good\n");
    assert_int_equal(output_rig_count(&o, "shop"), 1);
    output_rig_begin(&o, RUN_PROGRAM_OUTPUT, "other", "web", "bad\n");
    output_rig_await(&o);
    output_rig_expect(&o, RUN_END_EXITED, 1, "check");
    assert_int_equal(output_rig_count(&o, ""),
                     1); /* no folder is left of a file that was never written */
    output_rig_close(&o);
}

static const char show_all[] =
    "stat -c %a \"$1\"; dirname \"$1\"; echo \"$2\"; cat \"${1%/*}/web.cfg\"; "
    "echo $INFORMERD_NAME $PATH; umask; cat; ls /proc/self/fd | wc -l";

/* The place, mode and name of the new file while the old one stands. */
static void test_the_surroundings_of_a_check(void **state)
{
    struct output_rig o;

    (void)state;
    output_rig_init(&o, "/${namespace}/${name}.cfg");
    o.output.mode = 0640;
    o.hook.check = ARGV("/bin/sh", "-c", show_all, "sh", "${file}", "--file=${file},${file}");
    output_rig_start(&o);
    output_rig_write(&o, "old\n", "written");
    output_rig_write(&o, "new\n", "written");
    char *folder = mem_printf("%s/shop\n", o.folder);
    expect_line(&o, "640\n");
    expect_line(&o, folder);
    char *twice = mem_strdup(helper_rig_read(o.out, true));
    char *comma = strchr(twice, ',');
    assert_non_null(comma);
    assert_memory_equal(twice, "--file=", 7);
    assert_int_equal(comma - twice - 7, strlen(comma + 1) - 1);
    assert_memory_equal(twice + 7, comma + 1, (size_t)(comma - twice - 7));
    assert_memory_equal(twice + 7, folder, strlen(folder) - 1);
    expect_line(&o, "old\n");
    expect_line(&o, "web /usr/bin:/bin\n");
    expect_line(&o, "0077\n"); /* the hook's environment, and nothing on stdin */
    expect_line(&o, "4\n");
    free(twice);
    free(folder);
    output_rig_close(&o);
}

static void test_as_the_user(void **state)
{
    struct output_rig o;

    (void)state;
    if (geteuid() != 0)
        skip(); /* only root can become another user */
    output_rig_init(&o, "/f");
    o.hook.check = ARGV("/bin/sh", "-c", "id -u; id -g; cat \"$1\"", "sh", "${file}");
    o.hook.change_user = true;
    o.hook.uid = HELPER_RIG_NOBODY;
    o.hook.gid = HELPER_RIG_NOBODY;
    output_rig_start(&o);
    output_rig_write(&o, "x\n", "written");
    expect_line(&o, "65534\n");
    expect_line(&o, "65534\n");
    expect_line(&o, "x\n");
    assert_int_equal(output_rig_stat(&o, "f").st_uid, 0); /* the file is root's all the same */
    output_rig_close(&o);
}

static void test_not_executable(void **state)
{
    static const struct {
        const char *program;
        int error;
    } bad[] = {
        {"/no/such/program", ENOENT},
        {"/etc/passwd",      EACCES},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct output_rig o;

        output_rig_init(&o, "/f");
        o.hook.check = ARGV(bad[i].program, "${file}");
        output_rig_start(&o);
        output_rig_put(&o, "f", "old");
        output_rig_refuse(&o, "x", "exec check", bad[i].error);
        output_rig_expect_file(&o, "f", "old");
        assert_int_equal(output_rig_count(&o, ""), 1);
        output_rig_close(&o);
    }
}

static void test_killed(void **state)
{
    struct output_rig o;

    (void)state;
    open_with(&o, "kill -9 $$");
    output_rig_begin(&o, RUN_PROGRAM_OUTPUT, "shop", "web", "x");
    output_rig_await(&o);
    output_rig_expect(&o, RUN_END_SIGNALED, SIGKILL, "check");
    assert_int_equal(output_rig_count(&o, ""), 0);
    output_rig_close(&o);
}

/* Like at a timeout: a signal to the group, which both are in. */
static void test_ended_by_signal(void **state)
{
    struct output_rig o;

    (void)state;
    open_with(&o, "echo ready; sleep 100");
    output_rig_begin(&o, RUN_PROGRAM_OUTPUT, "shop", "web", "x");
    expect_line(&o, "ready\n");
    assert_int_equal(output_rig_count(&o, "shop"), 1);
    helper_link_kill(o.w.link, helper_rig_asked(&o.w, o.id), SIGTERM);
    output_rig_await(&o);
    output_rig_expect(&o, RUN_END_SIGNALED, SIGTERM, "check");
    assert_int_equal(output_rig_count(&o, ""), 0);
    helper_rig_expect_eof(o.out); /* the check and all its processes are gone */
    o.out = -1;
    output_rig_close(&o);
}

/* A check that does not fail for the signal: its run has failed all the same, and the file must not
 * come. */
static void test_signal_ignored(void **state)
{
    struct output_rig o;

    (void)state;
    open_with(&o, "trap 'exit 0' TERM; echo ready; while :; do sleep 0.01; done");
    output_rig_begin(&o, RUN_PROGRAM_OUTPUT, "shop", "web", "x");
    expect_line(&o, "ready\n");
    helper_link_kill(o.w.link, helper_rig_asked(&o.w, o.id), SIGTERM);
    output_rig_await(&o);
    output_rig_expect(&o, RUN_END_SIGNALED, SIGTERM, "");
    assert_int_equal(output_rig_count(&o, ""), 0);
    output_rig_close(&o);
}

/* SIGKILL leaves a file, which the next write and the removal take away. */
static void test_killed_hard(void **state)
{
    struct output_rig o;

    (void)state;
    open_with(&o, "echo ready; read x < \"$1\"; test \"$x\" = fast || sleep 100");
    output_rig_begin(&o, RUN_PROGRAM_OUTPUT, "shop", "web", "slow\n");
    expect_line(&o, "ready\n");
    helper_link_kill(o.w.link, helper_rig_asked(&o.w, o.id), SIGKILL);
    output_rig_await(&o);
    output_rig_expect(&o, RUN_END_SIGNALED, SIGKILL, "");
    output_rig_expect_file(&o, "shop/web.cfg", NULL);
    assert_int_equal(output_rig_count(&o, "shop"), 1);
    helper_rig_expect_eof(o.out); /* the check is gone with the writer */
    o.out = -1;
    output_rig_write(&o, "fast\n", "written");
    output_rig_expect_file(&o, "shop/web.cfg", "fast\n");
    assert_int_equal(output_rig_count(&o, "shop"), 1);
    output_rig_close(&o);
}

/* The writer dies with the helper, and the check with the writer. */
static void test_helper_killed(void **state)
{
    struct output_rig o;

    (void)state;
    open_with(&o, "echo ready; exec sleep 100");
    output_rig_begin(&o, RUN_PROGRAM_OUTPUT, "shop", "web", "x");
    expect_line(&o, "ready\n");
    assert_int_equal(kill(o.w.helper, SIGKILL), 0);
    assert_int_equal(helper_rig_wait(&o.w), -SIGKILL);
    helper_rig_expect_eof(o.out);
    o.out = -1;
    o.w.helper = -1;
    output_rig_expect_file(&o, "shop/web.cfg", NULL);
    output_rig_close(&o);
}

/* A user who may write in the folder changes the new file during the check. */
static void test_replaced_meanwhile(void **state)
{
    struct output_rig o;

    (void)state;
    open_with(&o, "rm \"$1\"; echo evil > \"$1\"");
    output_rig_refuse(&o, "x", "rename", ESTALE);
    output_rig_expect_file(&o, "shop/web.cfg", NULL);
    output_rig_close(&o);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_good_and_bad),   cmocka_unit_test(test_the_surroundings_of_a_check),
        cmocka_unit_test(test_as_the_user),    cmocka_unit_test(test_not_executable),
        cmocka_unit_test(test_killed),         cmocka_unit_test(test_ended_by_signal),
        cmocka_unit_test(test_signal_ignored), cmocka_unit_test(test_killed_hard),
        cmocka_unit_test(test_helper_killed),  cmocka_unit_test(test_replaced_meanwhile),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
