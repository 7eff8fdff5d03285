/* SPDX-License-Identifier: Apache-2.0 */
/* Output files of a root helper in folders that others own: they put links, files and folders there, and
 * get nothing by it that they could not have done themselves. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/compiler.h"
#include "outbox.h"

#define ARGV(...) ((const char *const[]){__VA_ARGS__, NULL})

static void make_folder(const struct outbox *o, const char *name, mode_t mode, uid_t owner)
{
    assert_int_equal(mkdir(outbox_path(o, name), 0755), 0);
    assert_int_equal(chown(outbox_path(o, name), owner, (gid_t)-1), 0);
    assert_int_equal(chmod(outbox_path(o, name), mode), 0);
}

static void make_link(const struct outbox *o, const char *to, const char *name, uid_t owner)
{
    assert_int_equal(symlink(to, outbox_path(o, name)), 0);
    assert_int_equal(lchown(outbox_path(o, name), owner, (gid_t)-1), 0);
}

/* ---- Folders before the first variable */

/* Whether root goes by a link depends on who could have put it there. */
static void test_links_on_the_way(void **state)
{
    static const struct {
        mode_t mode; /* of the folder that the link is in */
        uid_t folder, link;
        int error;
    } ways[] = {
        {0755,  0,             0,             0    },
        {01777, 0,             0,             0    }, /* others cannot swap it */
        {01777, 0,             HELPED_NOBODY, ELOOP},
        {0777,  0,             0,             ELOOP},
        {0775,  0,             0,             ELOOP},
        {0755,  HELPED_NOBODY, 0,             ELOOP}, /* moved there */
        {01777, HELPED_NOBODY, 0,             ELOOP}, /* to who owns a folder sticky means nothing */
        {0755,  HELPED_NOBODY, HELPED_NOBODY, ELOOP},
        {0755,  0,             HELPED_NOBODY, ELOOP},
    };

    (void)state;
    if (geteuid() != 0)
        skip(); /* others' folders cannot be made */
    for (size_t i = 0; i < ARRAY_LEN(ways); i++) {
        struct outbox o;

        outbox_open(&o, "/a/b/c/f");
        make_folder(&o, "a", ways[i].mode, ways[i].folder);
        make_folder(&o, "other", 0755, 0);
        make_folder(&o, "other/c", 0755, 0);
        make_link(&o, "../other/./c/..", "a/b", ways[i].link);
        if (ways[i].error == 0) {
            outbox_write(&o, "x", WIRE_WRITTEN);
            outbox_expect_file(&o, "other/c/f", "x");
            outbox_remove(&o, WIRE_REMOVED);
        } else {
            outbox_refuse(&o, "x", "folder", ways[i].error);
            outbox_put(&o, "other/c/f", "precious");
            outbox_begin(&o, WIRE_PROGRAM_REMOVE, "shop", "web", "");
            outbox_await(&o);
            outbox_expect(&o, HELPER_LINK_NOT_STARTED, ways[i].error, "folder");
            outbox_expect_file(&o, "other/c/f", "precious");
        }
        outbox_close(&o);
    }
}

/* Root's link leads into a folder of others, and a link there out of it. */
static void test_link_behind_a_link(void **state)
{
    struct outbox o;

    (void)state;
    if (geteuid() != 0)
        skip(); /* as above */
    outbox_open(&o, "/a/f");
    make_folder(&o, "theirs", 0755, HELPED_NOBODY);
    make_folder(&o, "precious", 0755, 0);
    make_link(&o, "theirs/conf", "a", 0);
    make_link(&o, outbox_path(&o, "precious"), "theirs/conf", HELPED_NOBODY);
    outbox_refuse(&o, "x", "folder", ELOOP);
    assert_int_equal(unlink(outbox_path(&o, "theirs/conf")), 0);
    make_folder(&o, "theirs/conf", 0755, HELPED_NOBODY); /* without a link it is as good as any */
    outbox_write(&o, "x", WIRE_WRITTEN);
    outbox_expect_file(&o, "theirs/conf/f", "x");
    assert_int_equal(unlink(outbox_path(&o, "a")), 0);
    make_link(&o, outbox_path(&o, "theirs/conf"), "a", 0); /* from the root folder */
    outbox_write(&o, "x", WIRE_SAME);
    assert_int_equal(unlink(outbox_path(&o, "a")), 0);
    make_link(&o, "a", "a", 0);
    outbox_refuse(&o, "x", "folder", ELOOP);
    outbox_close(&o);
}

/* An ordinary user's helper goes wherever that user may. */
static void test_links_of_an_ordinary_user(void **state)
{
    struct outbox o;
    uid_t before = geteuid();

    (void)state;
    outbox_init(&o, "/a/b/f");
    make_folder(&o, "a", 0775, before == 0 ? HELPED_NOBODY : before);
    make_folder(&o, "real", 0755, before == 0 ? HELPED_NOBODY : before);
    make_link(&o, "../real", "a/b", before == 0 ? HELPED_NOBODY : before);
    if (before == 0)
        assert_int_equal(seteuid(HELPED_NOBODY), 0);
    outbox_start(&o);
    assert_int_equal(seteuid(before), 0);
    outbox_write(&o, "x", WIRE_WRITTEN);
    outbox_expect_file(&o, "real/f", "x");
    outbox_close(&o);
}

/* ---- Files */

/* Who has put it there may still have it open: it must not become root's. */
static void test_file_of_others_with_the_same_bytes(void **state)
{
    struct outbox o;

    (void)state;
    if (geteuid() != 0)
        skip(); /* nobody else's files */
    outbox_init(&o, "/f");
    o.output.set_owner = true;
    o.output.uid = 0;
    o.output.gid = (gid_t)-1;
    outbox_start(&o);
    outbox_put(&o, "f", "x");
    assert_int_equal(chown(outbox_path(&o, "f"), HELPED_NOBODY, (gid_t)-1), 0);
    int theirs = open(outbox_path(&o, "f"), O_WRONLY | O_CLOEXEC);
    outbox_write(&o, "x", WIRE_WRITTEN);
    assert_int_equal(write(theirs, "evil", 4), 4);
    outbox_expect_file(&o, "f", "x");
    struct stat st;
    assert_int_equal(fstat(theirs, &st), 0);
    assert_true(st.st_uid == HELPED_NOBODY && st.st_nlink == 0);
    assert_int_equal(outbox_stat(&o, "f").st_uid, 0);
    close(theirs);
    outbox_close(&o);
}

/* Its new group could read it, or hold it open for writing, before its new mode is set. */
static void test_owner_and_mode_change_together(void **state)
{
    struct outbox o;

    (void)state;
    if (geteuid() != 0)
        skip(); /* only root gives files away */
    outbox_init(&o, "/f");
    o.output.set_owner = true;
    o.output.uid = (uid_t)-1;
    o.output.gid = HELPED_NOBODY;
    o.output.mode = 0600;
    outbox_start(&o);
    outbox_put(&o, "f", "x");
    assert_int_equal(chmod(outbox_path(&o, "f"), 0660), 0);
    int old = open(outbox_path(&o, "f"), O_RDONLY | O_CLOEXEC);
    outbox_write(&o, "x", WIRE_WRITTEN);
    struct stat st;
    assert_int_equal(fstat(old, &st), 0);
    assert_true(st.st_gid == 0 && st.st_mode == (S_IFREG | 0660)); /* never both */
    assert_int_equal(outbox_stat(&o, "f").st_gid, HELPED_NOBODY);
    assert_int_equal(outbox_stat(&o, "f").st_mode, S_IFREG | 0600);
    close(old);
    outbox_close(&o);
}

/* ---- Folders behind the first variable */

/* What an administrator has set up is not made anew with other rights. */
static void test_folder_that_was_there(void **state)
{
    struct outbox o;

    (void)state;
    outbox_init(&o, "/${namespace}/${name}/f");
    o.hook.check = ARGV("/bin/false");
    outbox_start(&o);
    assert_int_equal(mkdir(outbox_path(&o, "shop"), 0700), 0);
    outbox_begin(&o, WIRE_PROGRAM_OUTPUT, "shop", "web", "x");
    outbox_await(&o);
    outbox_expect(&o, HELPER_LINK_EXITED, 1, WIRE_CHECK);
    assert_int_equal(outbox_stat(&o, "shop").st_mode, S_IFDIR | 0700);
    assert_int_equal(outbox_count(&o, "shop"), 0); /* what was made is gone */
    outbox_close(&o);
}

/* ---- check */

/* It has left the group, and does not stay for the steps behind it to fail. */
static void test_what_a_check_leaves_when_a_later_step_fails(void **state)
{
    static const char script[] =
        "setsid sh -c 'echo ready; touch \"$0.up\"; exec sleep 1000' \"$0\" & "
        "while [ ! -e \"$0.up\" ]; do sleep 0.01; done; rm \"$0\" \"$0.up\"";
    struct outbox o;

    (void)state;
    assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 1), 0); /* of what outlives the helper */
    outbox_init(&o, "/f");
    o.hook.check = ARGV("/bin/sh", "-c", script, "${file}");
    outbox_start(&o);
    outbox_begin(&o, WIRE_PROGRAM_OUTPUT, "shop", "web", "x\n");
    helped_expect_line(o.out, "ready\n");
    outbox_await(&o);
    outbox_expect(&o, HELPER_LINK_NOT_STARTED, ESTALE, "rename");
    helped_expect_eof(o.out);
    o.out = -1;
    outbox_close(&o);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_links_on_the_way),
        cmocka_unit_test(test_link_behind_a_link),
        cmocka_unit_test(test_links_of_an_ordinary_user),
        cmocka_unit_test(test_file_of_others_with_the_same_bytes),
        cmocka_unit_test(test_owner_and_mode_change_together),
        cmocka_unit_test(test_folder_that_was_there),
        cmocka_unit_test(test_what_a_check_leaves_when_a_later_step_fails),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
