/* SPDX-License-Identifier: Apache-2.0 */
/* Output files of a root helper in folders that others own: the owners put links, files and folders
 * there, and gain nothing that they could not have done themselves. */
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
#include "output_rig.h"

#define ARGV(...) ((const char *const[]){__VA_ARGS__, NULL})

static void make_folder(const struct output_rig *o, const char *name, mode_t mode, uid_t owner)
{
    assert_int_equal(mkdir(output_rig_path(o, name), 0755), 0);
    assert_int_equal(chown(output_rig_path(o, name), owner, (gid_t)-1), 0);
    assert_int_equal(chmod(output_rig_path(o, name), mode), 0);
}

static void make_link(const struct output_rig *o, const char *to, const char *name, uid_t owner)
{
    assert_int_equal(symlink(to, output_rig_path(o, name)), 0);
    assert_int_equal(lchown(output_rig_path(o, name), owner, (gid_t)-1), 0);
}

/* ---- Folders before the first variable */

/* Root follows a link only if nobody else could have put it there. */
static void test_links_on_the_way(void **state)
{
    static const struct {
        mode_t mode; /* of the folder that the link is in */
        uid_t folder, link;
        int error;
    } ways[] = {
        {0755,  0,                 0,                 0    },
        {01777, 0,                 0,                 0    }, /* others cannot swap it */
        {01777, 0,                 HELPER_RIG_NOBODY, ELOOP},
        {0777,  0,                 0,                 ELOOP},
        {0775,  0,                 0,                 ELOOP},
        {0755,  HELPER_RIG_NOBODY, 0,                 ELOOP}, /* the owner of the folder may have moved it there */
        {01777, HELPER_RIG_NOBODY, 0,                 ELOOP}, /* a sticky folder does not stop its owner */
        {0755,  HELPER_RIG_NOBODY, HELPER_RIG_NOBODY, ELOOP},
        {0755,  0,                 HELPER_RIG_NOBODY, ELOOP},
    };

    (void)state;
    if (geteuid() != 0)
        skip(); /* only root can make folders of others */
    for (size_t i = 0; i < ARRAY_LEN(ways); i++) {
        struct output_rig o;

        output_rig_open(&o, "/a/b/c/f");
        make_folder(&o, "a", ways[i].mode, ways[i].folder);
        make_folder(&o, "other", 0755, 0);
        make_folder(&o, "other/c", 0755, 0);
        make_link(&o, "../other/./c/..", "a/b", ways[i].link);
        if (ways[i].error == 0) {
            output_rig_write(&o, "x", "written");
            output_rig_expect_file(&o, "other/c/f", "x");
            output_rig_remove(&o, "removed");
        } else {
            output_rig_refuse(&o, "x", "folder", ways[i].error);
            output_rig_put(&o, "other/c/f", "precious");
            output_rig_begin(&o, RUN_PROGRAM_REMOVE, "shop", "web", "");
            output_rig_await(&o);
            output_rig_expect(&o, RUN_END_REFUSED, ways[i].error, "folder");
            output_rig_expect_file(&o, "other/c/f", "precious");
        }
        output_rig_close(&o);
    }
}

/* Root's link leads into a folder of others, and a link there out of it. */
static void test_link_behind_a_link(void **state)
{
    struct output_rig o;

    (void)state;
    if (geteuid() != 0)
        skip(); /* only root can make folders of others */
    output_rig_open(&o, "/a/f");
    make_folder(&o, "theirs", 0755, HELPER_RIG_NOBODY);
    make_folder(&o, "precious", 0755, 0);
    make_link(&o, "theirs/conf", "a", 0);
    make_link(&o, output_rig_path(&o, "precious"), "theirs/conf", HELPER_RIG_NOBODY);
    output_rig_refuse(&o, "x", "folder", ELOOP);
    assert_int_equal(unlink(output_rig_path(&o, "theirs/conf")), 0);
    make_folder(&o, "theirs/conf", 0755,
                HELPER_RIG_NOBODY); /* without a link the folder is as good as any */
    output_rig_write(&o, "x", "written");
    output_rig_expect_file(&o, "theirs/conf/f", "x");
    assert_int_equal(unlink(output_rig_path(&o, "a")), 0);
    make_link(&o, output_rig_path(&o, "theirs/conf"), "a", 0); /* a path from the root folder */
    output_rig_write(&o, "x", "same");
    assert_int_equal(unlink(output_rig_path(&o, "a")), 0);
    make_link(&o, "a", "a", 0);
    output_rig_refuse(&o, "x", "folder", ELOOP);
    output_rig_close(&o);
}

/* The helper of an ordinary user follows every link that the user may follow. */
static void test_links_of_an_ordinary_user(void **state)
{
    struct output_rig o;
    uid_t before = geteuid();

    (void)state;
    output_rig_init(&o, "/a/b/f");
    make_folder(&o, "a", 0775, before == 0 ? HELPER_RIG_NOBODY : before);
    make_folder(&o, "real", 0755, before == 0 ? HELPER_RIG_NOBODY : before);
    make_link(&o, "../real", "a/b", before == 0 ? HELPER_RIG_NOBODY : before);
    if (before == 0)
        assert_int_equal(seteuid(HELPER_RIG_NOBODY), 0);
    output_rig_start(&o);
    assert_int_equal(seteuid(before), 0);
    output_rig_write(&o, "x", "written");
    output_rig_expect_file(&o, "real/f", "x");
    output_rig_close(&o);
}

/* ---- Files */

/* The user who put the file there may still have it open: it must not become root's. */
static void test_file_of_others_with_the_same_bytes(void **state)
{
    struct output_rig o;

    (void)state;
    if (geteuid() != 0)
        skip(); /* only root can make files of others */
    output_rig_open_owned(&o, 0, (gid_t)-1, 0644);
    output_rig_put(&o, "f", "x");
    assert_int_equal(chown(output_rig_path(&o, "f"), HELPER_RIG_NOBODY, (gid_t)-1), 0);
    int theirs = open(output_rig_path(&o, "f"), O_WRONLY | O_CLOEXEC);
    output_rig_write(&o, "x", "written");
    assert_int_equal(write(theirs, "evil", 4), 4);
    output_rig_expect_file(&o, "f", "x");
    struct stat st;
    assert_int_equal(fstat(theirs, &st), 0);
    assert_true(st.st_uid == HELPER_RIG_NOBODY && st.st_nlink == 0);
    assert_int_equal(output_rig_stat(&o, "f").st_uid, 0);
    close(theirs);
    output_rig_close(&o);
}

/* The new group could read the file, or hold it open for writing, before the new mode is set. */
static void test_owner_and_mode_change_together(void **state)
{
    struct output_rig o;

    (void)state;
    if (geteuid() != 0)
        skip(); /* only root gives files away */
    output_rig_open_owned(&o, (uid_t)-1, HELPER_RIG_NOBODY, 0600);
    output_rig_put(&o, "f", "x");
    assert_int_equal(chmod(output_rig_path(&o, "f"), 0660), 0);
    int old = open(output_rig_path(&o, "f"), O_RDONLY | O_CLOEXEC);
    output_rig_write(&o, "x", "written");
    struct stat st;
    assert_int_equal(fstat(old, &st), 0);
    assert_true(st.st_gid == 0 &&
                st.st_mode == (S_IFREG | 0660)); /* never the new group with the old mode */
    assert_int_equal(output_rig_stat(&o, "f").st_gid, HELPER_RIG_NOBODY);
    assert_int_equal(output_rig_stat(&o, "f").st_mode, S_IFREG | 0600);
    close(old);
    output_rig_close(&o);
}

/* ---- Folders behind the first variable */

/* Folders that an administrator has made do not get other rights. */
static void test_folder_that_was_there(void **state)
{
    struct output_rig o;

    (void)state;
    output_rig_init(&o, "/${namespace}/${name}/f");
    o.hook.check = ARGV("/bin/false");
    output_rig_start(&o);
    assert_int_equal(mkdir(output_rig_path(&o, "shop"), 0700), 0);
    output_rig_begin(&o, RUN_PROGRAM_OUTPUT, "shop", "web", "x");
    output_rig_await(&o);
    output_rig_expect(&o, RUN_END_EXITED, 1, "check");
    assert_int_equal(output_rig_stat(&o, "shop").st_mode, S_IFDIR | 0700);
    assert_int_equal(output_rig_count(&o, "shop"),
                     0); /* the folders that the helper made are gone */
    output_rig_close(&o);
}

/* ---- check */

/* The check has left a process, and a later step fails: the process must not stay. */
static void test_processes_of_a_check_when_a_later_step_fails(void **state)
{
    static const char script[] =
        "sh -c 'echo ready; touch \"$0.up\"; exec sleep 1000' \"$0\" & "
        "while [ ! -e \"$0.up\" ]; do sleep 0.01; done; rm \"$0\" \"$0.up\"";
    struct output_rig o;

    (void)state;
    assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 1),
                     0); /* the test reaps processes that outlive the helper */
    output_rig_init(&o, "/f");
    o.hook.check = ARGV("/bin/sh", "-c", script, "${file}");
    output_rig_start(&o);
    output_rig_begin(&o, RUN_PROGRAM_OUTPUT, "shop", "web", "x\n");
    helper_rig_expect_line(o.out, "ready\n");
    output_rig_await(&o);
    output_rig_expect(&o, RUN_END_REFUSED, ESTALE, "rename");
    helper_rig_expect_eof(o.out);
    o.out = -1;
    output_rig_close(&o);
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
        cmocka_unit_test(test_processes_of_a_check_when_a_later_step_fails),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
