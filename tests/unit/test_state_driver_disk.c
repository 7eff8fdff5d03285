/* SPDX-License-Identifier: Apache-2.0 */
/*
 * io/state_driver and state/ on disks that take no writes: too large a file anywhere; full and
 * read-only disks on file systems of the test's own, where the system allows those (else these
 * tests are skipped).
 */
#include <fcntl.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/mem.h"
#include "state_driver_rig.h"

enum { KEYS = 50, CHANGES = 20000 };

static bool may_mount; /* in a namespace of the test's own */
static char disk[32];

static void limit_files(rlim_t bytes)
{
    struct rlimit limit = {bytes, RLIM_INFINITY};

    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

/* Waits until a batch was refused. */
static void run_into_trouble(struct state_driver_rig *r, const char *why)
{
    char *body = mem_zalloc((3 << 20) + 1);

    memset(body, 'x', 3 << 20);
    state_driver_rig_object(r, "big", body, STATE_DRIVER_NOW);
    state_driver_rig_delivery(r, "later", 1);
    state_driver_rig_turn(r);
    state_driver_rig_delivery(r, "later", 2); /* comes while a worker has the first */
    assert_false(state_driver_rig_commit(r));
    struct state_driver_status s = state_driver_status(r->state_driver);
    assert_true(s.is_kept && !s.is_writable && s.failing_ms > 0);
    if (strstr(s.reason, why) == NULL)
        fail_msg("%s", s.reason);
    free(body);
}

/* Each commit is answered, though nothing is written; memory is bounded by the number of keys. */
static void change_a_lot(struct state_driver_rig *r)
{
    char key[16];

    for (int i = 1; i <= CHANGES; i++) {
        snprintf(key, sizeof(key), "k%d", i % KEYS);
        state_driver_rig_delivery(r, key, (uint64_t)i);
        state_driver_rig_object(r, key, "{x}", STATE_DRIVER_SOON);
        if (i % 100 == 0)
            assert_false(state_driver_rig_commit(r));
    }
    assert_true(r->held < CHANGES);
    /* Each change has put two rows. */
    assert_true(state_driver_status(r->state_driver).waiting < (size_t)2 * CHANGES);
    state_driver_rig_object(r, "big", "{small}", STATE_DRIVER_SOON);
}

static void expect_the_newest(struct state_driver_rig *r)
{
    enum loader_found found;
    char line[64];

    assert_true(state_driver_rig_commit(r));
    assert_true(state_driver_status(r->state_driver).is_writable);
    assert_int_equal(r->losses, 0);
    state_driver_rig_stop(r);
    assert_int_equal(r->held, 0);
    char *text = state_rig_load(&r->state, &found);
    assert_int_equal(found, LOADER_STATE);
    assert_non_null(strstr(text, "mark 5 first u note 0 told 1\n"));
    assert_non_null(strstr(text, "mark 5 later u note 0 told 2\n"));
    assert_non_null(strstr(text, "object 3 big  rv  gen  / at -1 -1 {small}\n"));
    for (int i = 0; i < KEYS; i++) {
        snprintf(line, sizeof(line), "mark 5 k%d u note 0 told %x\n", i,
                 (unsigned)(CHANGES - KEYS + (i > 0 ? i : KEYS)));
        assert_non_null(strstr(text, line));
    }
    free(text);
}

/* The disk takes the state again: nothing was lost. */
static void assert_recovers(struct state_driver_rig *r)
{
    state_driver_rig_until(r, true);
    expect_the_newest(r);
    state_driver_rig_fini(r);
}

static void open_folder(struct state_driver_rig *r)
{
    assert_int_equal(folder_open(r->state.path, &r->state.folder, &r->state.err), ERR_OK);
}

static void begin(struct state_driver_rig *r)
{
    state_driver_rig_init(r, true);
    state_driver_rig_delivery(r, "first", 1);
    assert_true(state_driver_rig_commit(r));
}

static void test_a_file_that_may_not_grow(void **state)
{
    struct state_driver_rig r;

    (void)state;
    begin(&r);
    limit_files(1 << 20);
    run_into_trouble(&r, "File too large");
    change_a_lot(&r);
    limit_files(RLIM_INFINITY);
    assert_recovers(&r);
}

/* SQLite does not give the reason when the commit fails. */
static void test_a_commit_that_fails_says_why(void **state)
{
    struct state_driver_rig r;
    struct stat st;

    (void)state;
    begin(&r);
    assert_int_equal(stat(r.state.folder->wal, &st), 0);
    limit_files((rlim_t)st.st_size);
    state_driver_rig_delivery(&r, "small", 1);
    assert_false(state_driver_rig_commit(&r));
    if (strstr(state_driver_status(r.state_driver).reason, "File too large") == NULL)
        fail_msg("%s", state_driver_status(r.state_driver).reason);
    limit_files(RLIM_INFINITY);
    state_driver_rig_until(&r, true);
    state_driver_rig_fini(&r);
}

static void test_a_flush_that_fails_says_so(void **state)
{
    struct state_driver_rig r;

    (void)state;
    begin(&r);
    limit_files(1 << 20);
    run_into_trouble(&r, "File too large");
    assert_false(state_driver_rig_flush(&r, 60000));
    limit_files(RLIM_INFINITY);
    state_driver_rig_until(&r, true);
    state_driver_rig_fini(&r);
}

/* The working directory is a file system of 2 MiB until unmount_it(). */
static void mount_it(void)
{
    if (!may_mount)
        skip();
    snprintf(disk, sizeof(disk), "state-disk-XXXXXX");
    assert_non_null(mkdtemp(disk));
    assert_int_equal(mount("none", disk, "tmpfs", 0, "size=2m"), 0);
    assert_int_equal(chdir(disk), 0);
}

static void unmount_it(void)
{
    assert_int_equal(chdir(".."), 0);
    assert_int_equal(umount(disk), 0);
    assert_int_equal(rmdir(disk), 0);
}

/* Takes all the space that is left. */
static void fill_it(void)
{
    int fd = open("ballast", O_WRONLY | O_CREAT, 0600);
    char zeros[4096] = {0};

    while (write(fd, zeros, sizeof(zeros)) > 0)
        continue;
    close(fd);
}

static void make_read_only(bool read_only)
{
    unsigned long flags = MS_REMOUNT | (read_only ? MS_RDONLY : 0);

    assert_int_equal(mount("none", ".", "tmpfs", flags, "size=2m"), 0);
}

/* The daemon stopped; the disk became read-only, and the folder is opened on it. */
static void reopen_read_only(struct state_driver_rig *r)
{
    folder_close(&r->state.folder);
    make_read_only(true);
    open_folder(r);
}

static void test_a_full_disk(void **state)
{
    struct state_driver_rig r;

    (void)state;
    mount_it();
    begin(&r);
    run_into_trouble(&r, "No space left on device: free some space");
    fill_it();
    change_a_lot(&r);
    assert_int_equal(unlink("ballast"), 0);
    assert_recovers(&r);
    unmount_it();
}

/* The rows on disk are read all the same, and changes are kept until there is space again. */
static void test_a_start_on_a_full_disk(void **state)
{
    struct state_driver_rig r;

    (void)state;
    mount_it();
    begin(&r);
    state_driver_rig_stop(&r);
    folder_close(&r.state.folder);
    assert_int_equal(unlinkat(AT_FDCWD, r.state.path, AT_REMOVEDIR), -1);
    fill_it();
    open_folder(&r);
    state_rig_expect(&r.state, "mark 5 first u note 0 told 1\n");
    state_driver_rig_start(&r, false);
    run_into_trouble(&r, "No space left on device");
    change_a_lot(&r);
    assert_int_equal(unlink("ballast"), 0);
    assert_recovers(&r);
    unmount_it();
}

static void test_a_disk_that_becomes_read_only(void **state)
{
    struct state_driver_rig r;

    (void)state;
    mount_it();
    begin(&r);
    state_driver_rig_stop(&r);
    reopen_read_only(&r);
    state_rig_expect(&r.state, "mark 5 first u note 0 told 1\n");
    state_driver_rig_start(&r, false);
    run_into_trouble(&r, "Read-only file system");
    change_a_lot(&r);
    make_read_only(false);
    assert_recovers(&r);
    unmount_it();
}

/* The same after an orderly end, which leaves no log. */
static void test_a_whole_file_on_a_read_only_disk(void **state)
{
    struct state_driver_rig r;

    (void)state;
    mount_it();
    begin(&r);
    state_driver_rig_stop(&r);
    writer_close(r.state.writer);
    enum err_kind kind = state_rig_try(&r.state);
    assert_int_equal(kind, ERR_OK);
    writer_close(r.state.writer);
    assert_int_equal(access(r.state.folder->wal, F_OK), -1);
    reopen_read_only(&r);
    state_rig_expect(&r.state, "mark 5 first u note 0 told 1\n");
    make_read_only(false);
    /* The number of commits that could not be written at first is written now. */
    state_rig_again(&r.state, STATE_RIG_LIMIT);
    state_rig_sql(&r.state, "PRAGMA application_id=7");
    enum loader_found found;
    free(state_rig_load(&r.state, &found));
    assert_int_equal(found, LOADER_ASIDE);
    state_rig_delivery(&r.state, 5, "anew", 1);
    state_rig_apply(&r.state);
    folder_close(&r.state.folder);
    open_folder(&r);
    state_rig_expect(&r.state, "mark 5 anew u1 note 0 open told 1\n");
    state_rig_again(&r.state, STATE_RIG_LIMIT);
    state_driver_rig_fini(&r);
    unmount_it();
}

/* A damaged file that cannot be set aside is not read, and is not written over before it can be set
 * aside. */
static void test_damage_on_a_read_only_disk(void **state)
{
    enum loader_found found;
    struct state_driver_rig r;

    (void)state;
    mount_it();
    begin(&r);
    state_driver_rig_stop(&r);
    int fd = open(r.state.folder->db, O_WRONLY);
    assert_int_equal(pwrite(fd, "garbage", 7, 0), 7);
    close(fd);
    assert_int_equal(truncate(r.state.folder->wal, 0), 0);
    reopen_read_only(&r);
    char *text = state_rig_load(&r.state, &found);
    assert_int_equal(found, LOADER_FAILED);
    free(text);
    state_driver_rig_start(&r, true);
    state_driver_rig_delivery(&r, "new", 1);
    assert_false(state_driver_rig_commit(&r));
    make_read_only(false);
    while (r.losses == 0)
        state_driver_rig_until(&r, true);
    assert_true(state_driver_rig_commit(&r));
    state_driver_rig_stop(&r);
    state_rig_expect(&r.state, "mark 5 again u note 0 told 1\n");
    state_driver_rig_fini(&r);
    unmount_it();
}

/* Without a folder that the daemon can use no state is kept. That is no error of the
 * configuration. */
static void test_a_folder_that_cannot_be_used(void **state)
{
    struct folder *f;
    struct err err;

    (void)state;
    mount_it();
    make_read_only(true);
    assert_int_equal(folder_open("state", &f, &err), ERR_IO);
    assert_non_null(strstr(err.text, "Read-only file system"));
    assert_null(f);
    make_read_only(false);
    unmount_it();
}

static bool write_text(const char *path, const char *text)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    bool done = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);

    if (fd >= 0)
        close(fd);
    return done;
}

/* An ordinary user is root in a namespace of its own. */
static bool become_root(void)
{
    char users[32];
    char groups[32];

    if (geteuid() == 0)
        return true;
    snprintf(users, sizeof(users), "0 %u 1", (unsigned)geteuid());
    snprintf(groups, sizeof(groups), "0 %u 1", (unsigned)getegid());
    return unshare(CLONE_NEWUSER) == 0 && write_text("/proc/self/setgroups", "deny") &&
           write_text("/proc/self/uid_map", users) && write_text("/proc/self/gid_map", groups);
}

/* Before any thread exists. */
static bool have_own_mounts(void)
{
    if (!become_root())
        return false;
    return unshare(CLONE_NEWNS) == 0 && mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_file_that_may_not_grow),
        cmocka_unit_test(test_a_commit_that_fails_says_why),
        cmocka_unit_test(test_a_flush_that_fails_says_so),
        cmocka_unit_test(test_a_full_disk),
        cmocka_unit_test(test_a_start_on_a_full_disk),
        cmocka_unit_test(test_a_disk_that_becomes_read_only),
        cmocka_unit_test(test_a_whole_file_on_a_read_only_disk),
        cmocka_unit_test(test_damage_on_a_read_only_disk),
        cmocka_unit_test(test_a_folder_that_cannot_be_used),
    };

    signal(SIGXFSZ, SIG_IGN);
    may_mount = have_own_mounts();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
