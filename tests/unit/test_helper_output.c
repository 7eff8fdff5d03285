/* SPDX-License-Identifier: Apache-2.0 */
/* Output files, written and removed by a real helper: bytes, mode, owner, folders, links and whatever else
 * may stand in their place. */
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
#include "outbox.h"

static bool is_same_file(const struct stat *a, const struct stat *b)
{
    return a->st_ino == b->st_ino && memcmp(&a->st_mtim, &b->st_mtim, sizeof(a->st_mtim)) == 0;
}

static void test_new_changed_same(void **state)
{
    struct outbox o;

    (void)state;
    outbox_open(&o, "/f.cfg");
    outbox_write(&o, "one", WIRE_WRITTEN);
    outbox_expect_file(&o, "f.cfg", "one");
    struct stat first = outbox_stat(&o, "f.cfg");
    assert_int_equal(first.st_mode, S_IFREG | 0644);
    assert_int_equal(first.st_uid, geteuid());
    outbox_write(&o, "one", WIRE_SAME);
    struct stat second = outbox_stat(&o, "f.cfg");
    assert_true(is_same_file(&first, &second));
    assert_memory_equal(&first.st_ctim, &second.st_ctim, sizeof(first.st_ctim));
    outbox_write(&o, "two", WIRE_WRITTEN); /* as many bytes */
    outbox_expect_file(&o, "f.cfg", "two");
    outbox_write(&o, "", WIRE_WRITTEN);
    outbox_expect_file(&o, "f.cfg", "");
    outbox_write(&o, "", WIRE_SAME);
    assert_int_equal(outbox_count(&o, ""), 1);
    outbox_remove(&o, WIRE_REMOVED);
    outbox_remove(&o, WIRE_SAME);
    assert_int_equal(outbox_count(&o, ""), 0);
    helped_expect_eof(o.out);
    o.out = -1;
    outbox_close(&o);
}

/* More than any buffer on the way, and the difference at the very end. */
static void test_big(void **state)
{
    enum { SIZE = 3 * 1024 * 1024 + 17 };
    char *bytes = mem_alloc(SIZE + 1);
    struct outbox o;

    (void)state;
    for (size_t i = 0; i < SIZE; i++)
        bytes[i] = (char)('a' + i * 7 % 26);
    bytes[SIZE] = '\0';
    outbox_open(&o, "/f");
    outbox_write(&o, bytes, WIRE_WRITTEN);
    assert_int_equal(outbox_stat(&o, "f").st_size, SIZE);
    outbox_write(&o, bytes, WIRE_SAME);
    bytes[SIZE - 1] = '!';
    outbox_write(&o, bytes, WIRE_WRITTEN);
    outbox_write(&o, bytes, WIRE_SAME);
    int fd = open(outbox_path(&o, "f"), O_RDONLY | O_CLOEXEC);
    char *back = mem_alloc(SIZE);
    assert_int_equal(read(fd, back, SIZE), SIZE);
    assert_memory_equal(back, bytes, SIZE);
    close(fd);
    free(back);
    free(bytes);
    outbox_close(&o);
}

static void test_mode(void **state)
{
    struct outbox o;

    (void)state;
    outbox_init(&o, "/f");
    o.output.mode = 0660;
    outbox_start(&o);
    outbox_write(&o, "x", WIRE_WRITTEN);
    struct stat first = outbox_stat(&o, "f");
    assert_int_equal(first.st_mode, S_IFREG | 0660);
    assert_int_equal(chmod(outbox_path(&o, "f"), 0604), 0);
    outbox_write(&o, "x", WIRE_SAME);
    struct stat second = outbox_stat(&o, "f");
    assert_true(is_same_file(&first, &second)); /* set in place */
    assert_int_equal(second.st_mode, S_IFREG | 0660);
    outbox_close(&o);
}

static void test_owner(void **state)
{
    struct outbox o;

    (void)state;
    if (geteuid() != 0)
        skip(); /* only root gives files away */
    outbox_init(&o, "/f");
    o.output.set_owner = true;
    o.output.uid = HELPED_NOBODY;
    o.output.gid = (gid_t)-1;
    o.output.mode = 0640;
    outbox_start(&o);
    outbox_write(&o, "x", WIRE_WRITTEN);
    struct stat first = outbox_stat(&o, "f");
    assert_true(first.st_uid == HELPED_NOBODY && first.st_gid == getegid());
    assert_int_equal(first.st_mode, S_IFREG | 0640);
    assert_int_equal(chown(outbox_path(&o, "f"), 0, HELPED_NOBODY), 0);
    outbox_write(&o, "x", WIRE_WRITTEN); /* not given away in place */
    struct stat second = outbox_stat(&o, "f");
    assert_false(is_same_file(&first, &second));
    assert_true(second.st_uid == HELPED_NOBODY && second.st_gid == getegid());
    outbox_write(&o, "x", WIRE_SAME);
    outbox_close(&o);
    outbox_open(&o, "/f"); /* no owner set: whose it is does not count */
    outbox_put(&o, "f", "x");
    assert_int_equal(chown(outbox_path(&o, "f"), HELPED_NOBODY, HELPED_NOBODY), 0);
    outbox_write(&o, "x", WIRE_SAME);
    assert_int_equal(outbox_stat(&o, "f").st_uid, HELPED_NOBODY);
    outbox_write(&o, "y", WIRE_WRITTEN);
    assert_int_equal(outbox_stat(&o, "f").st_uid, 0);
    outbox_close(&o);
}

/* A link in the target's place goes; where it points to is not touched, whatever is there. */
static void test_link_as_target(void **state)
{
    static const char *const to[] = {"other", "no-such", "folder", "/etc/passwd", "f"};
    struct outbox o;

    (void)state;
    outbox_open(&o, "/f");
    outbox_put(&o, "other", "x"); /* the same bytes */
    assert_int_equal(mkdir(outbox_path(&o, "folder"), 0755), 0);
    struct stat other = outbox_stat(&o, "other");
    for (size_t i = 0; i < sizeof(to) / sizeof(to[0]); i++) {
        assert_int_equal(symlink(to[i], outbox_path(&o, "f")), 0);
        outbox_write(&o, "x", WIRE_WRITTEN);
        assert_true(S_ISREG(outbox_stat(&o, "f").st_mode));
        outbox_expect_file(&o, "f", "x");
        assert_int_equal(unlink(outbox_path(&o, "f")), 0);
        assert_int_equal(symlink(to[i], outbox_path(&o, "f")), 0);
        outbox_remove(&o, WIRE_REMOVED);
        assert_int_equal(outbox_count(&o, ""), 2);
    }
    struct stat now = outbox_stat(&o, "other");
    assert_true(is_same_file(&other, &now));
    outbox_close(&o);
}

/* A file with a second name elsewhere is replaced even if it is the same: its owner and mode are not
 * for us to change there. */
static void test_second_name(void **state)
{
    struct outbox o;

    (void)state;
    outbox_init(&o, "/f");
    o.output.mode = 0600;
    outbox_start(&o);
    outbox_put(&o, "other", "x");
    assert_int_equal(link(outbox_path(&o, "other"), outbox_path(&o, "f")), 0);
    outbox_write(&o, "x", WIRE_WRITTEN);
    assert_int_equal(outbox_stat(&o, "other").st_mode, S_IFREG | 0644);
    assert_int_equal(outbox_stat(&o, "f").st_mode, S_IFREG | 0600);
    assert_int_equal(outbox_stat(&o, "f").st_nlink, 1);
    outbox_close(&o);
}

static void expect_target_refused(struct outbox *o, int error)
{
    outbox_refuse(o, "x", "target", error);
    outbox_begin(o, WIRE_PROGRAM_REMOVE, "shop", "web", "");
    outbox_await(o);
    outbox_expect(o, HELPER_LINK_NOT_STARTED, error, "target");
    assert_int_equal(outbox_count(o, ""), 1);
}

static void test_what_is_no_file(void **state)
{
    struct outbox o;

    (void)state;
    outbox_open(&o, "/f");
    assert_int_equal(mkdir(outbox_path(&o, "f"), 0755), 0);
    expect_target_refused(&o, EISDIR);
    assert_int_equal(rmdir(outbox_path(&o, "f")), 0);
    assert_int_equal(mkfifo(outbox_path(&o, "f"), 0644), 0);
    expect_target_refused(&o, EOPNOTSUPP);
    outbox_close(&o);
}

static void test_fixed_folders(void **state)
{
    struct outbox o;

    (void)state;
    outbox_open(&o, "/sub/f");
    outbox_refuse(&o, "x", "folder", ENOENT);
    assert_int_equal(outbox_count(&o, ""), 0); /* it is not made */
    outbox_remove(&o, WIRE_SAME);
    outbox_put(&o, "sub", "no folder");
    outbox_refuse(&o, "x", "folder", ENOTDIR);
    assert_int_equal(unlink(outbox_path(&o, "sub")), 0);
    assert_int_equal(mkdir(outbox_path(&o, "real"), 0755), 0);
    assert_int_equal(symlink("real", outbox_path(&o, "sub")), 0); /* root's own link is fine */
    outbox_write(&o, "x", WIRE_WRITTEN);
    outbox_expect_file(&o, "real/f", "x");
    outbox_remove(&o, WIRE_REMOVED);
    assert_int_equal(outbox_count(&o, "real"), 0);
    outbox_close(&o);
}

static void test_variable_folders(void **state)
{
    struct outbox o;

    (void)state;
    outbox_open(&o, "/${namespace}/x/${name}.d/${cluster}-${name}");
    outbox_write(&o, "x", WIRE_WRITTEN);
    outbox_expect_file(&o, "shop/x/web.d/prod-web", "x");
    assert_int_equal(outbox_stat(&o, "shop").st_mode, S_IFDIR | 0755);
    assert_int_equal(outbox_stat(&o, "shop/x/web.d").st_mode, S_IFDIR | 0755);
    outbox_begin(&o, WIRE_PROGRAM_OUTPUT, "shop", "api", "y");
    outbox_await(&o);
    outbox_write(&o, "x", WIRE_SAME);
    outbox_remove(&o, WIRE_REMOVED);
    assert_int_equal(outbox_count(&o, "shop/x"), 1); /* the other's stays */
    outbox_expect_file(&o, "shop/x/api.d/prod-api", "y");
    outbox_remove(&o, WIRE_SAME);
    outbox_put(&o, "shop/x/mine", "z");
    outbox_begin(&o, WIRE_PROGRAM_REMOVE, "shop", "api", "");
    outbox_await(&o);
    outbox_expect(&o, HELPER_LINK_EXITED, 0, WIRE_REMOVED);
    assert_int_equal(outbox_count(&o, "shop/x"), 1); /* only what is empty goes */
    assert_int_equal(unlink(outbox_path(&o, "shop/x/mine")), 0);
    outbox_remove(&o, WIRE_SAME); /* as after a crash in between: the folders are still there */
    assert_int_equal(outbox_count(&o, ""), 0);
    outbox_close(&o);
}

/* Who may write in a folder must not lead the helper out of it. */
static void test_links_as_variable_folders(void **state)
{
    struct outbox o;

    (void)state;
    outbox_open(&o, "/in/${namespace}/${name}/f");
    assert_int_equal(mkdir(outbox_path(&o, "in"), 0755), 0);
    assert_int_equal(mkdir(outbox_path(&o, "out"), 0755), 0);
    assert_int_equal(mkdir(outbox_path(&o, "out/web"), 0755), 0);
    outbox_put(&o, "out/web/f", "precious");
    assert_int_equal(symlink("../out", outbox_path(&o, "in/shop")), 0);
    outbox_refuse(&o, "x", "folder", ELOOP);
    outbox_begin(&o, WIRE_PROGRAM_REMOVE, "shop", "web", "");
    outbox_await(&o);
    outbox_expect(&o, HELPER_LINK_NOT_STARTED, ELOOP, "folder");
    assert_int_equal(unlink(outbox_path(&o, "in/shop")), 0);
    assert_int_equal(mkdir(outbox_path(&o, "in/shop"), 0755), 0);
    assert_int_equal(symlink("../../out/web", outbox_path(&o, "in/shop/web")), 0);
    outbox_refuse(&o, "x", "folder", ELOOP);
    assert_int_equal(unlink(outbox_path(&o, "in/shop/web")), 0);
    assert_int_equal(symlink("/proc/self/cwd", outbox_path(&o, "in/shop/web")), 0);
    outbox_refuse(&o, "x", "folder", ELOOP);
    outbox_expect_file(&o, "out/web/f", "precious");
    assert_int_equal(outbox_count(&o, "out/web"), 1);
    outbox_close(&o);
}

/* The same while the folder is swapped for a link all the time. */
static void test_swapped_folder(void **state)
{
    const size_t runs = campaign_size(60, 200);
    struct outbox o;

    (void)state;
    outbox_open(&o, "/in/${namespace}/f");
    assert_int_equal(mkdir(outbox_path(&o, "in"), 0755), 0);
    assert_int_equal(mkdir(outbox_path(&o, "in/shop"), 0755), 0);
    assert_int_equal(mkdir(outbox_path(&o, "out"), 0755), 0);
    assert_int_equal(symlink("../out", outbox_path(&o, "in/link")), 0);
    char *folder = mem_strdup(outbox_path(&o, "in/shop"));
    char *other = mem_strdup(outbox_path(&o, "in/link"));
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
        outbox_begin(&o, WIRE_PROGRAM_OUTPUT, "shop", "web", bytes);
        outbox_await(&o);
        assert_int_equal(outbox_count(&o, "out"), 0);
    }
    kill(swapper, SIGKILL);
    int status;
    assert_int_equal(waitpid(swapper, &status, 0), swapper);
    assert_true(WIFSIGNALED(status));
    free(folder);
    free(other);
    outbox_close(&o);
}

static void expect_unfit(struct outbox *o, enum wire_program program, const char *namespace,
                         const char *name, int error)
{
    outbox_begin(o, program, namespace, name, "x");
    outbox_await(o);
    outbox_expect(o, HELPER_LINK_NOT_STARTED, error, WIRE_TEMPLATE);
}

static void test_bad_names(void **state)
{
    static const char *const bad[] = {"", ".", "..", "a/b", "../../etc", "/"};
    char big[257];
    struct outbox o;

    (void)state;
    memset(big, 'a', sizeof(big) - 1);
    big[sizeof(big) - 1] = '\0';
    outbox_open(&o, "/${namespace}/${name}");
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        expect_unfit(&o, WIRE_PROGRAM_OUTPUT, "shop", bad[i], EINVAL);
        expect_unfit(&o, WIRE_PROGRAM_OUTPUT, bad[i], "web", EINVAL);
        expect_unfit(&o, WIRE_PROGRAM_REMOVE, bad[i], "web", EINVAL);
    }
    expect_unfit(&o, WIRE_PROGRAM_OUTPUT, "shop", big, ENAMETOOLONG);
    expect_unfit(&o, WIRE_PROGRAM_REMOVE, big, "web", ENAMETOOLONG);
    assert_int_equal(outbox_count(&o, ""), 0);
    outbox_close(&o);
}

static void test_leftover(void **state)
{
    struct outbox o;
    char temp[64];

    (void)state;
    outbox_init(&o, "/f.cfg");
    o.hook.check = (const char *const[]){"/bin/sh", "-c", "basename \"$1\"", "sh", "${file}", NULL};
    outbox_start(&o);
    outbox_write(&o, "one", WIRE_WRITTEN);
    snprintf(temp, sizeof(temp), "%s", helped_read(o.out, true));
    temp[strcspn(temp, "\n")] = '\0';
    assert_int_equal(strlen(temp), strlen(".informerd-0123456789abcdef.cfg"));
    assert_int_equal(strncmp(temp, ".informerd-", 11), 0);
    assert_string_equal(temp + strlen(temp) - 4, ".cfg");
    outbox_put(&o, temp, "a half");
    outbox_write(&o, "two", WIRE_WRITTEN);
    assert_int_equal(outbox_count(&o, ""), 1);
    assert_int_equal(symlink("f.cfg", outbox_path(&o, temp)), 0); /* is not followed */
    outbox_write(&o, "three", WIRE_WRITTEN);
    outbox_expect_file(&o, "f.cfg", "three");
    assert_int_equal(outbox_count(&o, ""), 1);
    outbox_put(&o, temp, "a half");
    outbox_write(&o, "three", WIRE_SAME);
    assert_int_equal(outbox_count(&o, ""), 1);
    outbox_put(&o, temp, "a half");
    outbox_remove(&o, WIRE_REMOVED);
    assert_int_equal(outbox_count(&o, ""), 0);
    assert_int_equal(mkdir(outbox_path(&o, temp), 0755), 0);
    outbox_refuse(&o, "four", "create", EISDIR);
    outbox_close(&o);
}

static void expect_input_refused(struct outbox *o, int in, int error)
{
    int null = open("/dev/null", O_WRONLY | O_CLOEXEC);

    helper_link_run(o->w.link, ++o->id, OUTBOX_HOOK, WIRE_PROGRAM_OUTPUT, str_c(NULL),
                    (int[]){in, null, fcntl(null, F_DUPFD_CLOEXEC, 3)});
    outbox_await(o);
    outbox_expect(o, HELPER_LINK_NOT_STARTED, error, "input");
    assert_int_equal(outbox_count(o, ""), 0);
}

/* Of a given size, without a byte of it being there. */
static int persist_of(off_t size, int seals)
{
    int fd = memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING);

    assert_int_equal(ftruncate(fd, size), 0);
    assert_int_equal(fcntl(fd, F_ADD_SEALS, seals), 0);
    return fd;
}

/* A main that is not itself any more has no file read, nor one that changes, nor the disk filled. */
static void test_bad_input(void **state)
{
    enum { FIXED = F_SEAL_SHRINK | F_SEAL_GROW };
    struct outbox o;
    int in[2];

    (void)state;
    outbox_open(&o, "/f");
    assert_int_equal(pipe2(in, O_CLOEXEC), 0);
    expect_input_refused(&o, in[0], EINVAL);
    expect_input_refused(&o, open("/etc/passwd", O_RDONLY | O_CLOEXEC), EINVAL);
    expect_input_refused(&o, persist_of(1, FIXED), EINVAL);
    expect_input_refused(&o, persist_of(1, F_SEAL_SHRINK | F_SEAL_WRITE), EINVAL);
    expect_input_refused(&o, persist_of(WIRE_OUTPUT_MAX + 1, FIXED | F_SEAL_WRITE), EFBIG);
    close(in[1]);
    outbox_close(&o);
}

static void test_apply(void **state)
{
    struct outbox o;

    (void)state;
    outbox_init(&o, "/f");
    o.hook.apply =
        (const char *const[]){"/bin/sh", "-c", "cat; echo $INFORMERD_NAME; exit 3", NULL};
    outbox_start(&o);
    outbox_begin(&o, WIRE_PROGRAM_APPLY, "", "", "told\n");
    assert_string_equal(helped_read(o.out, true), "told\n");
    assert_string_equal(helped_read(o.out, true), "\n");
    outbox_await(&o);
    outbox_expect(&o, HELPER_LINK_EXITED, 3, "");
    assert_int_equal(outbox_count(&o, ""), 0);
    outbox_close(&o);
}

/* Main asks for no program that a hook does not have. */
static void test_no_such_program(void **state)
{
    static const enum wire_program programs[] = {WIRE_PROGRAM_OUTPUT, WIRE_PROGRAM_REMOVE,
                                                 WIRE_PROGRAM_APPLY};

    (void)state;
    for (size_t i = 0; i < sizeof(programs) / sizeof(programs[0]); i++) {
        struct outbox o;
        int null = open("/dev/null", O_RDWR | O_CLOEXEC);

        outbox_open(&o, "/f");
        helper_link_run(
            o.w.link, 1, OUTBOX_HOOK - 1, programs[i], str_c(NULL),
            (int[]){null, fcntl(null, F_DUPFD_CLOEXEC, 3), fcntl(null, F_DUPFD_CLOEXEC, 3)});
        HELPED_AWAIT(&o.w, o.w.lost == 1);
        assert_int_equal(helped_wait(&o.w), 1);
        o.w.helper = -1;
        outbox_close(&o);
    }
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
        cmocka_unit_test(test_what_is_no_file),
        cmocka_unit_test(test_fixed_folders),
        cmocka_unit_test(test_variable_folders),
        cmocka_unit_test(test_links_as_variable_folders),
        cmocka_unit_test(test_swapped_folder),
        cmocka_unit_test(test_bad_names),
        cmocka_unit_test(test_leftover),
        cmocka_unit_test(test_bad_input),
        cmocka_unit_test(test_apply),
        cmocka_unit_test(test_no_such_program),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
