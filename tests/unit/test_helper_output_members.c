/* SPDX-License-Identifier: Apache-2.0 */
/* The files of one object, written and removed by a real helper. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/buf.h"
#include "output_rig.h"

enum { SEALS = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE };

/* Adds a file to write; bytes NULL: to remove. */
static void put(struct buf *in, const char *key, const char *bytes)
{
    const struct wire_member head = {.size = bytes != NULL ? strlen(bytes) : 0,
                                     .length = (uint32_t)strlen(key),
                                     .goes = bytes == NULL};

    buf_append(in, &head, sizeof(head));
    buf_puts(in, key);
    buf_puts(in, bytes != NULL ? bytes : "");
}

/* Runs FILES of object shop/web with this input, which it frees. */
static void run_sealed(struct output_rig *o, struct buf *in, int seals)
{
    int fd = memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
    static const char env[] = "INFORMERD_NAMESPACE=shop\0INFORMERD_NAME=web";

    assert_int_equal(pwrite(fd, in->data, in->len, 0), in->len);
    assert_int_equal(fcntl(fd, F_ADD_SEALS, seals), 0);
    helper_link_run(o->w.link, helper_rig_asked(&o->w, ++o->id), OUTPUT_RIG_HOOK, RUN_PROGRAM_FILES,
                    str_of(env, sizeof(env)), (int[]){fd, null, dup(null)});
    output_rig_await(o);
    buf_free(in);
}

static void run(struct output_rig *o, struct buf *in)
{
    run_sealed(o, in, SEALS);
}

static void expect_changed(const struct output_rig *o, const char *stage, uint32_t changed)
{
    output_rig_expect(o, RUN_END_EXITED, 0, stage);
    assert_int_equal(o->w.end.changed, changed);
    assert_int_equal(o->w.end.member, 0);
}

static void test_written_same_and_removed(void **state)
{
    struct output_rig o;
    struct buf in = {0};

    (void)state;
    output_rig_open(&o, "/${namespace}/${key}.conf");
    put(&in, "a", "one");
    put(&in, "b", "");
    put(&in, "c", "three");
    run(&o, &in);
    expect_changed(&o, "written", 3);
    output_rig_expect_file(&o, "shop/a.conf", "one");
    output_rig_expect_file(&o, "shop/b.conf", "");
    output_rig_expect_file(&o, "shop/c.conf", "three");
    struct stat first = output_rig_stat(&o, "shop/a.conf");
    put(&in, "a", "one");
    put(&in, "b", "two");
    put(&in, "c", NULL);
    put(&in, "never", NULL);
    run(&o, &in);
    expect_changed(&o, "written", 2);
    assert_int_equal(output_rig_stat(&o, "shop/a.conf").st_ino, first.st_ino);
    output_rig_expect_file(&o, "shop/b.conf", "two");
    output_rig_expect_file(&o, "shop/c.conf", NULL);
    put(&in, "a", "one");
    put(&in, "b", "two");
    run(&o, &in);
    expect_changed(&o, "same", 0);
    put(&in, "a", NULL);
    put(&in, "b", NULL);
    run(&o, &in);
    expect_changed(&o, "removed", 2);
    assert_int_equal(output_rig_count(&o, ""), 0);
    put(&in, "a", NULL);
    run(&o, &in);
    expect_changed(&o, "same", 0);
    output_rig_close(&o);
}

static void test_members_in_folders_of_their_own(void **state)
{
    struct output_rig o;
    struct buf in = {0};

    (void)state;
    output_rig_open(&o, "/${key}/deep/${name}");
    put(&in, "a", "1");
    put(&in, "b", "2");
    run(&o, &in);
    expect_changed(&o, "written", 2);
    output_rig_expect_file(&o, "a/deep/web", "1");
    output_rig_expect_file(&o, "b/deep/web", "2");
    put(&in, "b", "2");
    put(&in, "a", NULL);
    run(&o, &in);
    expect_changed(&o, "written", 1);
    assert_int_equal(output_rig_count(&o, ""), 1);
    output_rig_close(&o);
}

static void test_one_that_fails_keeps_all(void **state)
{
    static const char *const check[] = {"/bin/grep", "-q", "good", "${file}", NULL};
    struct output_rig o;
    struct buf in = {0};

    (void)state;
    output_rig_init(&o, "/${namespace}/${key}");
    o.hook.check = check;
    output_rig_start(&o);
    put(&in, "a", "good");
    put(&in, "b", "bad");
    put(&in, "c", "good");
    run(&o, &in);
    output_rig_expect(&o, RUN_END_EXITED, 1, "check");
    assert_int_equal(o.w.end.member, 2);
    assert_int_equal(output_rig_count(&o, ""), 0); /* the new folder is gone, too */
    put(&in, "a", "good");
    put(&in, "b", "good");
    run(&o, &in);
    expect_changed(&o, "written", 2);
    put(&in, "b", "bad");
    put(&in, "a", NULL);
    run(&o, &in);
    assert_int_equal(o.w.end.member, 1);
    output_rig_expect_file(&o, "shop/a", "good");
    output_rig_expect_file(&o, "shop/b", "good");
    assert_int_equal(output_rig_count(&o, "shop"), 2);
    output_rig_close(&o);
}

/* The first check writes down how many descriptors its parent has, and the others compare. */
static void test_a_check_leaves_no_descriptor_open(void **state)
{
    static const char script[] =
        "n=$(ls /proc/$PPID/fd | wc -l); note=\"${1%/*}/note\"; "
        "[ -e \"$note\" ] || echo $n >\"$note\"; test $n = $(cat \"$note\")";
    static const char *const check[] = {"/bin/sh", "-c", script, "sh", "${file}", NULL};
    struct output_rig o;
    struct buf in = {0};

    (void)state;
    output_rig_init(&o, "/${key}");
    o.hook.check = check;
    output_rig_start(&o);
    put(&in, "a", "1");
    put(&in, "b", "2");
    put(&in, "c", "3");
    run(&o, &in);
    expect_changed(&o, "written", 3);
    output_rig_close(&o);
}

static void test_a_folder_in_the_place_of_one(void **state)
{
    struct output_rig o;
    struct buf in = {0};

    (void)state;
    output_rig_open(&o, "/${key}");
    assert_int_equal(mkdir(output_rig_path(&o, "b"), 0755), 0);
    put(&in, "a", "1");
    put(&in, "b", "2");
    run(&o, &in);
    output_rig_expect(&o, RUN_END_REFUSED, EISDIR, "target");
    assert_int_equal(o.w.end.member, 2);
    assert_int_equal(output_rig_count(&o, ""), 1);
    put(&in, "a", "1");
    put(&in, "c", NULL);
    put(&in, "b", NULL);
    run(&o, &in);
    output_rig_expect(&o, RUN_END_REFUSED, EISDIR, "target");
    assert_int_equal(o.w.end.member, 3);
    output_rig_expect_file(&o, "a", "1");
    output_rig_close(&o);
}

static void test_bad_names_write_nothing(void **state)
{
    static const char *const bad[] = {"..", ".", "", "a/b", "../b", ".informerd-x"};
    struct output_rig o;

    (void)state;
    output_rig_open(&o, "/${key}");
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        for (int goes = 0; goes < 2; goes++) {
            struct buf in = {0};

            put(&in, "a", "1");
            put(&in, bad[i], goes ? NULL : "2");
            run(&o, &in);
            output_rig_expect(&o, RUN_END_REFUSED, EINVAL, "template");
            assert_int_equal(o.w.end.member, 2);
            assert_int_equal(output_rig_count(&o, ""), goes || i > 0); /* "a" is written before */
        }
    output_rig_close(&o);
}

static void refuses_input(struct output_rig *o, struct buf *in, int seals)
{
    run_sealed(o, in, seals);
    output_rig_expect(o, RUN_END_REFUSED, EINVAL, "input");
    assert_int_equal(output_rig_count(o, ""), 0);
}

/* main never sends these, but it may have been broken into. */
static void test_a_bad_input_writes_nothing(void **state)
{
    /* size, length, goes */
    const struct wire_member heads[] = {
        {1,          1,          0}, /* no byte follows the name */
        {UINT64_MAX, 1,          0},
        {0,          2,          0},
        {0,          UINT32_MAX, 0},
        {0,          1,          2},
    };
    struct output_rig o;
    struct buf in = {0};

    (void)state;
    output_rig_open(&o, "/${key}");
    for (size_t i = 0; i < sizeof(heads) / sizeof(heads[0]); i++) {
        put(&in, "a", "1");
        buf_append(&in, &heads[i], sizeof(heads[i]));
        buf_puts(&in, "b");
        refuses_input(&o, &in, SEALS);
    }
    put(&in, "a", "1");
    buf_puts(&in, "b");
    refuses_input(&o, &in, SEALS);
    put(&in, "a", NULL); /* in the wrong order */
    put(&in, "b", "1");
    refuses_input(&o, &in, SEALS);
    put(&in, "a", "1");
    refuses_input(&o, &in, F_SEAL_GROW);
    output_rig_close(&o);
}

/* Else a main that was broken into could have the helper use up the memory. */
static void test_more_files_than_an_object_can_have(void **state)
{
    struct output_rig o;
    struct buf in = {0};

    (void)state;
    output_rig_open(&o, "/${key}");
    for (int i = 0; i < WIRE_FILES_MAX; i++)
        put(&in, "..", NULL);
    run(&o, &in);
    output_rig_expect(&o, RUN_END_REFUSED, EINVAL, "template"); /* the input was read */
    for (int i = 0; i <= WIRE_FILES_MAX; i++)
        put(&in, "..", NULL);
    refuses_input(&o, &in, SEALS);
    output_rig_close(&o);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_written_same_and_removed),
        cmocka_unit_test(test_members_in_folders_of_their_own),
        cmocka_unit_test(test_one_that_fails_keeps_all),
        cmocka_unit_test(test_a_check_leaves_no_descriptor_open),
        cmocka_unit_test(test_a_folder_in_the_place_of_one),
        cmocka_unit_test(test_bad_names_write_nothing),
        cmocka_unit_test(test_a_bad_input_writes_nothing),
        cmocka_unit_test(test_more_files_than_an_object_can_have),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
