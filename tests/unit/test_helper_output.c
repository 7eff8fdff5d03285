/* SPDX-License-Identifier: Apache-2.0 */
/* Output files, written and removed by a real helper: bytes, mode, owner, folders, links and
 * whatever else may stand in their place. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/mem.h"
#include "campaign.h"
#include "output_rig.h"

static bool is_same_file(const struct stat *a, const struct stat *b)
{
    return a->st_ino == b->st_ino && memcmp(&a->st_mtim, &b->st_mtim, sizeof(a->st_mtim)) == 0;
}

static void test_new_changed_same(void **state)
{
    struct output_rig o;

    (void)state;
    output_rig_open(&o, "/f.cfg");
    output_rig_write(&o, "one", "written");
    output_rig_expect_file(&o, "f.cfg", "one");
    struct stat first = output_rig_stat(&o, "f.cfg");
    assert_int_equal(first.st_mode, S_IFREG | 0644);
    assert_int_equal(first.st_uid, geteuid());
    output_rig_write(&o, "one", "same");
    struct stat second = output_rig_stat(&o, "f.cfg");
    assert_true(is_same_file(&first, &second));
    assert_memory_equal(&first.st_ctim, &second.st_ctim, sizeof(first.st_ctim));
    output_rig_write(&o, "two", "written"); /* as many bytes */
    output_rig_expect_file(&o, "f.cfg", "two");
    output_rig_write(&o, "", "written");
    output_rig_expect_file(&o, "f.cfg", "");
    output_rig_write(&o, "", "same");
    assert_int_equal(output_rig_count(&o, ""), 1);
    output_rig_remove(&o, "removed");
    output_rig_remove(&o, "same");
    assert_int_equal(output_rig_count(&o, ""), 0);
    helper_rig_expect_eof(o.out);
    o.out = -1;
    output_rig_close(&o);
}

/* A file larger than any buffer on the way, with the difference at the very end. */
static void test_big(void **state)
{
    enum { SIZE = 3 * 1024 * 1024 + 17 };
    char *bytes = mem_alloc(SIZE + 1);
    struct output_rig o;

    (void)state;
    for (size_t i = 0; i < SIZE; i++)
        bytes[i] = (char)('a' + i * 7 % 26);
    bytes[SIZE] = '\0';
    output_rig_open(&o, "/f");
    output_rig_write(&o, bytes, "written");
    assert_int_equal(output_rig_stat(&o, "f").st_size, SIZE);
    output_rig_write(&o, bytes, "same");
    bytes[SIZE - 1] = '!';
    output_rig_write(&o, bytes, "written");
    output_rig_write(&o, bytes, "same");
    int fd = open(output_rig_path(&o, "f"), O_RDONLY | O_CLOEXEC);
    char *back = mem_alloc(SIZE);
    assert_int_equal(read(fd, back, SIZE), SIZE);
    assert_memory_equal(back, bytes, SIZE);
    close(fd);
    free(back);
    free(bytes);
    output_rig_close(&o);
}

static void test_mode(void **state)
{
    struct output_rig o;

    (void)state;
    output_rig_init(&o, "/f");
    o.output.mode = 0660;
    output_rig_start(&o);
    output_rig_write(&o, "x", "written");
    struct stat first = output_rig_stat(&o, "f");
    assert_int_equal(first.st_mode, S_IFREG | 0660);
    assert_int_equal(chmod(output_rig_path(&o, "f"), 0604), 0);
    output_rig_write(&o, "x", "same");
    struct stat second = output_rig_stat(&o, "f");
    assert_true(is_same_file(&first, &second)); /* the mode is set in place */
    assert_int_equal(second.st_mode, S_IFREG | 0660);
    output_rig_close(&o);
}

static void test_owner(void **state)
{
    struct output_rig o;

    (void)state;
    if (geteuid() != 0)
        skip(); /* only root gives files away */
    output_rig_open_owned(&o, HELPER_RIG_NOBODY, (gid_t)-1, 0640);
    output_rig_write(&o, "x", "written");
    struct stat first = output_rig_stat(&o, "f");
    assert_true(first.st_uid == HELPER_RIG_NOBODY && first.st_gid == getegid());
    assert_int_equal(first.st_mode, S_IFREG | 0640);
    assert_int_equal(chown(output_rig_path(&o, "f"), 0, HELPER_RIG_NOBODY), 0);
    output_rig_write(&o, "x", "written"); /* the file is not given away in place */
    struct stat second = output_rig_stat(&o, "f");
    assert_false(is_same_file(&first, &second));
    assert_true(second.st_uid == HELPER_RIG_NOBODY && second.st_gid == getegid());
    output_rig_write(&o, "x", "same");
    output_rig_close(&o);
    output_rig_open(&o, "/f"); /* no owner is set: the owner of the file does not count */
    output_rig_put(&o, "f", "x");
    assert_int_equal(chown(output_rig_path(&o, "f"), HELPER_RIG_NOBODY, HELPER_RIG_NOBODY), 0);
    output_rig_write(&o, "x", "same");
    assert_int_equal(output_rig_stat(&o, "f").st_uid, HELPER_RIG_NOBODY);
    output_rig_write(&o, "y", "written");
    assert_int_equal(output_rig_stat(&o, "f").st_uid, 0);
    output_rig_close(&o);
}

/* A link in the target's place is removed; the file that it points to is not touched, whatever it
 * is. */
static void test_link_as_target(void **state)
{
    static const char *const to[] = {"other", "no-such", "folder", "/etc/passwd", "f"};
    struct output_rig o;

    (void)state;
    output_rig_open(&o, "/f");
    output_rig_put(&o, "other", "x"); /* the same bytes */
    assert_int_equal(mkdir(output_rig_path(&o, "folder"), 0755), 0);
    struct stat other = output_rig_stat(&o, "other");
    for (size_t i = 0; i < sizeof(to) / sizeof(to[0]); i++) {
        assert_int_equal(symlink(to[i], output_rig_path(&o, "f")), 0);
        output_rig_write(&o, "x", "written");
        assert_true(S_ISREG(output_rig_stat(&o, "f").st_mode));
        output_rig_expect_file(&o, "f", "x");
        assert_int_equal(unlink(output_rig_path(&o, "f")), 0);
        assert_int_equal(symlink(to[i], output_rig_path(&o, "f")), 0);
        output_rig_remove(&o, "removed");
        assert_int_equal(output_rig_count(&o, ""), 2);
    }
    struct stat now = output_rig_stat(&o, "other");
    assert_true(is_same_file(&other, &now));
    output_rig_close(&o);
}

/* A file with a second name elsewhere is replaced even if it is the same: the helper must not
 * change its owner and mode there. */
static void test_second_name(void **state)
{
    struct output_rig o;

    (void)state;
    output_rig_init(&o, "/f");
    o.output.mode = 0600;
    output_rig_start(&o);
    output_rig_put(&o, "other", "x");
    assert_int_equal(link(output_rig_path(&o, "other"), output_rig_path(&o, "f")), 0);
    output_rig_write(&o, "x", "written");
    assert_int_equal(output_rig_stat(&o, "other").st_mode, S_IFREG | 0644);
    assert_int_equal(output_rig_stat(&o, "f").st_mode, S_IFREG | 0600);
    assert_int_equal(output_rig_stat(&o, "f").st_nlink, 1);
    output_rig_close(&o);
}

static void expect_target_refused(struct output_rig *o, int error)
{
    output_rig_refuse(o, "x", "target", error);
    output_rig_begin(o, RUN_PROGRAM_REMOVE, "shop", "web", "");
    output_rig_await(o);
    output_rig_expect(o, RUN_END_REFUSED, error, "target");
    assert_int_equal(output_rig_count(o, ""), 1);
}

static void test_targets_that_are_no_files(void **state)
{
    struct output_rig o;

    (void)state;
    output_rig_open(&o, "/f");
    assert_int_equal(mkdir(output_rig_path(&o, "f"), 0755), 0);
    expect_target_refused(&o, EISDIR);
    assert_int_equal(rmdir(output_rig_path(&o, "f")), 0);
    assert_int_equal(mkfifo(output_rig_path(&o, "f"), 0644), 0);
    expect_target_refused(&o, EOPNOTSUPP);
    output_rig_close(&o);
}

static void test_fixed_folders(void **state)
{
    struct output_rig o;

    (void)state;
    output_rig_open(&o, "/sub/f");
    output_rig_refuse(&o, "x", "folder", ENOENT);
    assert_int_equal(output_rig_count(&o, ""), 0); /* the folder is not made */
    output_rig_remove(&o, "same");
    output_rig_put(&o, "sub", "no folder");
    output_rig_refuse(&o, "x", "folder", ENOTDIR);
    assert_int_equal(unlink(output_rig_path(&o, "sub")), 0);
    assert_int_equal(mkdir(output_rig_path(&o, "real"), 0755), 0);
    assert_int_equal(symlink("real", output_rig_path(&o, "sub")), 0); /* root's own link is fine */
    output_rig_write(&o, "x", "written");
    output_rig_expect_file(&o, "real/f", "x");
    output_rig_remove(&o, "removed");
    assert_int_equal(output_rig_count(&o, "real"), 0);
    output_rig_close(&o);
}

static void test_variable_folders(void **state)
{
    struct output_rig o;

    (void)state;
    output_rig_open(&o, "/${namespace}/x/${name}.d/${cluster}-${name}");
    output_rig_write(&o, "x", "written");
    output_rig_expect_file(&o, "shop/x/web.d/prod-web", "x");
    assert_int_equal(output_rig_stat(&o, "shop").st_mode, S_IFDIR | 0755);
    assert_int_equal(output_rig_stat(&o, "shop/x/web.d").st_mode, S_IFDIR | 0755);
    output_rig_begin(&o, RUN_PROGRAM_OUTPUT, "shop", "api", "y");
    output_rig_await(&o);
    output_rig_write(&o, "x", "same");
    output_rig_remove(&o, "removed");
    assert_int_equal(output_rig_count(&o, "shop/x"), 1); /* the folder of the other file stays */
    output_rig_expect_file(&o, "shop/x/api.d/prod-api", "y");
    output_rig_remove(&o, "same");
    output_rig_put(&o, "shop/x/mine", "z");
    output_rig_begin(&o, RUN_PROGRAM_REMOVE, "shop", "api", "");
    output_rig_await(&o);
    output_rig_expect(&o, RUN_END_EXITED, 0, "removed");
    assert_int_equal(output_rig_count(&o, "shop/x"), 1); /* only empty folders are removed */
    assert_int_equal(unlink(output_rig_path(&o, "shop/x/mine")), 0);
    output_rig_remove(&o, "same"); /* like after a crash in between: the folders are still there */
    assert_int_equal(output_rig_count(&o, ""), 0);
    output_rig_close(&o);
}

/* A user who may write in a folder must not lead the helper out of it. */
static void test_links_as_variable_folders(void **state)
{
    struct output_rig o;

    (void)state;
    output_rig_open(&o, "/in/${namespace}/${name}/f");
    assert_int_equal(mkdir(output_rig_path(&o, "in"), 0755), 0);
    assert_int_equal(mkdir(output_rig_path(&o, "out"), 0755), 0);
    assert_int_equal(mkdir(output_rig_path(&o, "out/web"), 0755), 0);
    output_rig_put(&o, "out/web/f", "precious");
    assert_int_equal(symlink("../out", output_rig_path(&o, "in/shop")), 0);
    output_rig_refuse(&o, "x", "folder", ELOOP);
    output_rig_begin(&o, RUN_PROGRAM_REMOVE, "shop", "web", "");
    output_rig_await(&o);
    output_rig_expect(&o, RUN_END_REFUSED, ELOOP, "folder");
    assert_int_equal(unlink(output_rig_path(&o, "in/shop")), 0);
    assert_int_equal(mkdir(output_rig_path(&o, "in/shop"), 0755), 0);
    assert_int_equal(symlink("../../out/web", output_rig_path(&o, "in/shop/web")), 0);
    output_rig_refuse(&o, "x", "folder", ELOOP);
    assert_int_equal(unlink(output_rig_path(&o, "in/shop/web")), 0);
    assert_int_equal(symlink("/proc/self/cwd", output_rig_path(&o, "in/shop/web")), 0);
    output_rig_refuse(&o, "x", "folder", ELOOP);
    output_rig_expect_file(&o, "out/web/f", "precious");
    assert_int_equal(output_rig_count(&o, "out/web"), 1);
    output_rig_close(&o);
}

/* The same while the folder is swapped for a link over and over. */
static void test_swapped_folder(void **state)
{
    const size_t runs = campaign_size(60, 200);
    struct output_rig o;

    (void)state;
    output_rig_open(&o, "/in/${namespace}/f");
    assert_int_equal(mkdir(output_rig_path(&o, "in"), 0755), 0);
    assert_int_equal(mkdir(output_rig_path(&o, "in/shop"), 0755), 0);
    assert_int_equal(mkdir(output_rig_path(&o, "out"), 0755), 0);
    assert_int_equal(symlink("../out", output_rig_path(&o, "in/link")), 0);
    char *folder = mem_strdup(output_rig_path(&o, "in/shop"));
    char *other = mem_strdup(output_rig_path(&o, "in/link"));
    pid_t swapper = fork();
    if (swapper == 0)
        prctl(PR_SET_PDEATHSIG, SIGKILL); /* whatever becomes of the test */
    if (swapper == 0)
        for (;;)
            if (renameat2(AT_FDCWD, folder, AT_FDCWD, other, RENAME_EXCHANGE) < 0)
                _exit(1);
    for (size_t i = 0; i < runs; i++) {
        char bytes[16];

        snprintf(bytes, sizeof(bytes), "%u", (unsigned)i);
        output_rig_begin(&o, RUN_PROGRAM_OUTPUT, "shop", "web", bytes);
        output_rig_await(&o);
        assert_int_equal(output_rig_count(&o, "out"), 0);
    }
    kill(swapper, SIGKILL);
    int status;
    assert_int_equal(waitpid(swapper, &status, 0), swapper);
    assert_true(WIFSIGNALED(status));
    free(folder);
    free(other);
    output_rig_close(&o);
}

static void expect_unfit(struct output_rig *o, enum run_program program, const char *namespace,
                         const char *name, int error)
{
    output_rig_begin(o, program, namespace, name, "x");
    output_rig_await(o);
    output_rig_expect(o, RUN_END_REFUSED, error, "template");
}

static void test_bad_names(void **state)
{
    static const char *const bad[] = {"", ".", "..", "a/b", "../../etc", "/"};
    char big[257];
    struct output_rig o;

    (void)state;
    memset(big, 'a', sizeof(big) - 1);
    big[sizeof(big) - 1] = '\0';
    output_rig_open(&o, "/${namespace}/${name}");
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        expect_unfit(&o, RUN_PROGRAM_OUTPUT, "shop", bad[i], EINVAL);
        expect_unfit(&o, RUN_PROGRAM_OUTPUT, bad[i], "web", EINVAL);
        expect_unfit(&o, RUN_PROGRAM_REMOVE, bad[i], "web", EINVAL);
    }
    expect_unfit(&o, RUN_PROGRAM_OUTPUT, "shop", big, ENAMETOOLONG);
    expect_unfit(&o, RUN_PROGRAM_REMOVE, big, "web", ENAMETOOLONG);
    assert_int_equal(output_rig_count(&o, ""), 0);
    output_rig_close(&o);
}

static void test_leftover(void **state)
{
    struct output_rig o;
    char temp[64];

    (void)state;
    output_rig_init(&o, "/f.cfg");
    o.hook.check = (const char *const[]){"/bin/sh", "-c", "basename \"$1\"", "sh", "${file}", NULL};
    output_rig_start(&o);
    output_rig_write(&o, "one", "written");
    snprintf(temp, sizeof(temp), "%s", helper_rig_read(o.out, true));
    temp[strcspn(temp, "\n")] = '\0';
    assert_int_equal(strlen(temp), strlen(".informerd-0123456789abcdef.cfg"));
    assert_int_equal(strncmp(temp, ".informerd-", 11), 0);
    assert_string_equal(temp + strlen(temp) - 4, ".cfg");
    output_rig_put(&o, temp, "a half");
    output_rig_write(&o, "two", "written");
    assert_int_equal(output_rig_count(&o, ""), 1);
    assert_int_equal(symlink("f.cfg", output_rig_path(&o, temp)), 0); /* the link is not followed */
    output_rig_write(&o, "three", "written");
    output_rig_expect_file(&o, "f.cfg", "three");
    assert_int_equal(output_rig_count(&o, ""), 1);
    output_rig_put(&o, temp, "a half");
    output_rig_write(&o, "three", "same");
    assert_int_equal(output_rig_count(&o, ""), 1);
    output_rig_put(&o, temp, "a half");
    output_rig_remove(&o, "removed");
    assert_int_equal(output_rig_count(&o, ""), 0);
    assert_int_equal(mkdir(output_rig_path(&o, temp), 0755), 0);
    output_rig_refuse(&o, "four", "create", EISDIR);
    output_rig_close(&o);
}

static void expect_input_refused(struct output_rig *o, int in, int error)
{
    int null = open("/dev/null", O_WRONLY | O_CLOEXEC);

    helper_link_run(o->w.link, helper_rig_asked(&o->w, ++o->id), OUTPUT_RIG_HOOK,
                    RUN_PROGRAM_OUTPUT, str_c(NULL),
                    (int[]){in, null, fcntl(null, F_DUPFD_CLOEXEC, 3)});
    output_rig_await(o);
    output_rig_expect(o, RUN_END_REFUSED, error, "input");
    assert_int_equal(output_rig_count(o, ""), 0);
}

/* A memory file of a given size that takes no memory. */
static int memfile_of(off_t size, int seals)
{
    int fd = memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING);

    assert_int_equal(ftruncate(fd, size), 0);
    assert_int_equal(fcntl(fd, F_ADD_SEALS, seals), 0);
    return fd;
}

/* A compromised main cannot have the helper read a file, send one that changes, or fill the
 * disk. */
static void test_bad_input(void **state)
{
    enum { FIXED = F_SEAL_SHRINK | F_SEAL_GROW };
    struct output_rig o;
    int in[2];

    (void)state;
    output_rig_open(&o, "/f");
    assert_int_equal(pipe2(in, O_CLOEXEC), 0);
    expect_input_refused(&o, in[0], EINVAL);
    expect_input_refused(&o, open("/etc/passwd", O_RDONLY | O_CLOEXEC), EINVAL);
    expect_input_refused(&o, memfile_of(1, FIXED), EINVAL);
    expect_input_refused(&o, memfile_of(1, F_SEAL_SHRINK | F_SEAL_WRITE), EINVAL);
    expect_input_refused(&o, memfile_of(WIRE_OUTPUT_MAX + 1, FIXED | F_SEAL_WRITE), EFBIG);
    close(in[1]);
    output_rig_close(&o);
}

static void test_apply(void **state)
{
    struct output_rig o;

    (void)state;
    output_rig_init(&o, "/f");
    o.hook.apply =
        (const char *const[]){"/bin/sh", "-c", "cat; echo $INFORMERD_NAME; exit 3", NULL};
    output_rig_start(&o);
    output_rig_begin(&o, RUN_PROGRAM_APPLY, "", "", "told\n");
    assert_string_equal(helper_rig_read(o.out, true), "told\n");
    assert_string_equal(helper_rig_read(o.out, true), "\n");
    output_rig_await(&o);
    output_rig_expect(&o, RUN_END_EXITED, 3, "");
    assert_int_equal(output_rig_count(&o, ""), 0);
    output_rig_close(&o);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_new_changed_same),
        cmocka_unit_test(test_big),
        cmocka_unit_test(test_mode),
        cmocka_unit_test(test_owner),
        cmocka_unit_test(test_link_as_target),
        cmocka_unit_test(test_second_name),
        cmocka_unit_test(test_targets_that_are_no_files),
        cmocka_unit_test(test_fixed_folders),
        cmocka_unit_test(test_variable_folders),
        cmocka_unit_test(test_links_as_variable_folders),
        cmocka_unit_test(test_swapped_folder),
        cmocka_unit_test(test_bad_names),
        cmocka_unit_test(test_leftover),
        cmocka_unit_test(test_bad_input),
        cmocka_unit_test(test_apply),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
