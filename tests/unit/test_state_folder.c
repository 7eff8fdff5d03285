/* SPDX-License-Identifier: Apache-2.0 */
/* state/folder: the folder belongs to informerd alone, one process has it at a time, and files are
 * set aside inside it. */
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/mem.h"
#include "state/folder.h"
#include "state_rig.h"

enum { NOBODY = 65534 };

static mode_t mode_of(const char *path)
{
    struct stat st;

    assert_int_equal(stat(path, &st), 0);
    return st.st_mode & 07777;
}

static void write_file(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");

    assert_non_null(file);
    fputs(text, file);
    assert_int_equal(fclose(file), 0);
}

static void expect_file(const char *path, const char *text)
{
    char got[64] = "";
    FILE *file = fopen(path, "r");

    assert_non_null(file);
    assert_non_null(fgets(got, sizeof(got), file));
    fclose(file);
    assert_string_equal(got, text);
}

static void test_a_folder_is_made_for_us_alone(void **state)
{
    char top[] = "folder-test-XXXXXX";
    struct folder *f;
    struct err err;

    (void)state;
    assert_non_null(mkdtemp(top));
    char *path = mem_printf("%s/state", top);
    mode_t before = umask(0);
    assert_int_equal(folder_open(path, &f, &err), ERR_OK);
    assert_int_equal(mode_of(path), 0700);
    folder_close(&f);
    assert_null(f);
    assert_int_equal(chmod(path, 0755), 0);
    assert_int_equal(folder_open(path, &f, &err), ERR_OK);
    assert_int_equal(mode_of(path), 0700);
    char *lock = mem_printf("%s/lock", path);
    assert_int_equal(mode_of(lock), 0600);
    folder_close(&f);
    umask(before);
    free(lock);
    free(path);
    state_rig_remove(top);
}

static void test_files_are_readable_by_us_alone(void **state)
{
    struct state_rig r;
    mode_t before = umask(0);

    (void)state;
    state_rig_init(&r);
    state_rig_delivery(&r, 5, "a/b", 1);
    state_rig_apply(&r);
    assert_int_equal(mode_of(r.folder->db), 0600);
    assert_int_equal(mode_of(r.folder->wal), 0600);
    assert_int_equal(access(r.folder->shm, F_OK), -1);
    writer_close(r.writer);
    assert_int_equal(chmod(r.folder->db, 0644), 0);
    state_rig_expect(&r, "mark 5 a/b u1 note 0 open told 1\n");
    assert_int_equal(mode_of(r.folder->db), 0600);
    umask(before);
    state_rig_fini(&r);
}

static void test_a_second_process_gets_the_number_of_the_first(void **state)
{
    struct state_rig r;
    int status;

    (void)state;
    state_rig_init(&r);
    fflush(NULL);
    pid_t parent = getpid();
    pid_t child = fork();
    if (child == 0) {
        struct folder *f;
        struct err err;
        char want[32];

        snprintf(want, sizeof(want), "by process %ld:", (long)parent);
        enum err_kind kind = folder_open(r.path, &f, &err);
        _exit(kind == ERR_BUSY && f == NULL && strstr(err.text, want) != NULL &&
                      strstr(err.text, r.path) != NULL
                  ? 0
                  : 1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    folder_close(&r.folder);
    assert_int_equal(folder_open(r.path, &r.folder, &r.err), ERR_OK);
    state_rig_fini(&r);
}

static void test_the_lock_ends_with_the_process(void **state)
{
    char path[] = "folder-test-XXXXXX";
    struct folder *f;
    struct err err;
    int status;

    (void)state;
    assert_non_null(mkdtemp(path));
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        if (folder_open(path, &f, &err) != ERR_OK)
            _exit(1);
        kill(getpid(), SIGKILL);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(folder_open(path, &f, &err), ERR_OK);
    folder_close(&f);
    state_rig_remove(path);
}

static void test_a_path_that_cannot_be_a_folder_is_an_error(void **state)
{
    char top[] = "folder-test-XXXXXX";
    struct folder *f;
    struct err err;

    (void)state;
    assert_non_null(mkdtemp(top));
    char *path = mem_printf("%s/file", top);
    write_file(path, "x");
    assert_int_equal(folder_open(path, &f, &err), ERR_CONFIG);
    assert_non_null(strstr(err.text, "is not a folder"));
    char *deep = mem_printf("%s/none/state", top);
    assert_int_equal(folder_open(deep, &f, &err), ERR_CONFIG);
    assert_non_null(strstr(err.text, "does not exist"));
    assert_null(f);
    free(deep);
    deep = mem_printf("%s/state", path);
    assert_int_equal(folder_open(deep, &f, &err), ERR_CONFIG);
    assert_non_null(strstr(err.text, "its parent is not a folder"));
    free(deep);
    free(path);
    state_rig_remove(top);
}

static void test_the_folder_must_belong_to_us(void **state)
{
    char path[] = "folder-test-XXXXXX";
    struct folder *f;
    struct err err;
    struct stat st;

    (void)state;
    if (geteuid() != 0)
        skip();
    assert_non_null(mkdtemp(path));
    assert_int_equal(folder_prepare(path, NOBODY, NOBODY, &err), ERR_OK);
    assert_int_equal(stat(path, &st), 0);
    assert_true(st.st_uid == NOBODY && st.st_gid == NOBODY);
    assert_int_equal(folder_open(path, &f, &err), ERR_CONFIG);
    assert_non_null(strstr(err.text, "belongs to uid 65534"));
    /* A folder that belongs to another user is left alone. */
    assert_int_equal(folder_prepare(path, NOBODY - 1, NOBODY - 1, &err), ERR_OK);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_uid, NOBODY);
    state_rig_remove(path);
}

static uid_t owner_of(const char *folder, const char *name)
{
    char *path = mem_printf("%s/%s", folder, name);
    struct stat st;

    assert_int_equal(lstat(path, &st), 0);
    free(path);
    return st.st_uid;
}

static void make_in(const char *folder, const char *name, const char *text)
{
    char *path = mem_printf("%s/%s", folder, name);

    write_file(path, text);
    free(path);
}

/* The setting `user` was changed. */
static void test_the_files_in_a_folder_change_their_owner_as_well(void **state)
{
    char path[] = "folder-test-XXXXXX";
    struct err err;

    (void)state;
    if (geteuid() != 0)
        skip();
    assert_non_null(mkdtemp(path));
    make_in(path, "lock", "1");
    make_in(path, "state.db", "x");
    make_in(path, "notes", "of root");
    assert_int_equal(folder_prepare(path, NOBODY, NOBODY, &err), ERR_OK);
    assert_int_equal(owner_of(path, "lock"), NOBODY);
    assert_int_equal(owner_of(path, "state.db"), NOBODY);
    assert_int_equal(owner_of(path, "notes"), 0);
    state_rig_remove(path);
}

/* Where other users can write, a name proves nothing. */
static void test_a_folder_that_others_may_have_made_is_not_given_away(void **state)
{
    char top[] = "folder-test-XXXXXX";
    struct err err;

    (void)state;
    if (geteuid() != 0)
        skip();
    assert_non_null(mkdtemp(top));
    make_in(top, "treasure", "of root");
    for (int i = 0; i < 3; i++) {
        char *path = mem_printf("%s/state%d", top, i);
        char *file = mem_printf("%s/state.db", path);

        assert_int_equal(mkdir(path, 0700), 0);
        make_in(path, "lock", "1");
        char *treasure = mem_printf("%s/treasure", top);
        assert_int_equal(i == 0 ? symlink("../treasure", file) : link(treasure, file), 0);
        assert_int_equal(chmod(path, i == 2 ? 0777 : 0700), 0);
        assert_int_equal(folder_prepare(path, NOBODY, NOBODY, &err), ERR_OK);
        assert_int_equal(owner_of(top, "treasure"), 0);
        assert_int_equal(owner_of(path, "lock"), i == 2 ? 0 : NOBODY);
        free(treasure);
        free(file);
        free(path);
    }
    state_rig_remove(top);
}

/* state_dir = "/var/lib" must not close /var/lib to others, nor give it away. */
static void test_a_folder_of_other_things_is_left_as_it_is(void **state)
{
    char path[] = "folder-test-XXXXXX";
    struct folder *f;
    struct err err;

    (void)state;
    assert_non_null(mkdtemp(path));
    make_in(path, "passwd", "x");
    assert_int_equal(chmod(path, 0755), 0);
    assert_int_equal(folder_open(path, &f, &err), ERR_CONFIG);
    assert_non_null(strstr(err.text, "name a folder of its own"));
    assert_int_equal(mode_of(path), 0755);
    if (geteuid() == 0) {
        assert_int_equal(folder_prepare(path, NOBODY, NOBODY, &err), ERR_CONFIG);
        assert_int_equal(owner_of(path, "."), 0);
    }
    assert_int_equal(chmod(path, 0700), 0); /* nothing has to be changed */
    assert_int_equal(folder_open(path, &f, &err), ERR_OK);
    folder_close(&f);
    assert_int_equal(chmod(path, 0755), 0); /* now it is known to be informerd's folder */
    assert_int_equal(folder_open(path, &f, &err), ERR_OK);
    assert_int_equal(mode_of(path), 0700);
    folder_close(&f);
    state_rig_remove(path);
}

static void expect_in_use(const char *path)
{
    struct folder *f;
    struct err err;

    assert_int_equal(folder_open(path, &f, &err), ERR_BUSY);
    assert_null(f);
}

/* Somebody may make a second lock file: the folder itself is locked, too. */
static void test_a_folder_stays_locked_without_its_lock_file(void **state)
{
    struct state_rig r;

    (void)state;
    state_rig_init(&r);
    char *lock = mem_printf("%s/lock", r.path);
    assert_int_equal(unlink(lock), 0);
    expect_in_use(r.path);
    write_file(lock, "1");
    expect_in_use(r.path);
    free(lock);
    state_rig_fini(&r);
}

static void test_a_folder_is_locked_beside_an_odd_lock_file(void **state)
{
    (void)state;
    for (int i = 0; i < 3; i++) {
        char path[] = "folder-test-XXXXXX";
        struct folder *f;
        struct err err;

        assert_non_null(mkdtemp(path));
        char *lock = mem_printf("%s/lock", path);
        assert_int_equal(i == 0   ? mkfifo(lock, 0400)
                         : i == 1 ? mkdir(lock, 0700)
                                  : symlink("/dev/null", lock),
                         0);
        assert_int_equal(folder_open(path, &f, &err), ERR_OK);
        expect_in_use(path);
        folder_close(&f);
        free(lock);
        state_rig_remove(path);
    }
}

/* The old log would be taken for the log of the file that was set aside last. */
static void test_an_old_log_is_not_left_beside_a_file_that_is_set_aside(void **state)
{
    struct state_rig r;

    (void)state;
    state_rig_init(&r);
    write_file(r.folder->db, "one");
    write_file(r.folder->wal, "log of one");
    assert_int_equal(folder_set_aside(r.folder, &r.err), ERR_OK);
    write_file(r.folder->db, "two");
    assert_int_equal(folder_set_aside(r.folder, &r.err), ERR_OK);
    expect_file(r.folder->aside, "two");
    assert_int_equal(access(r.folder->aside_wal, F_OK), -1);
    state_rig_fini(&r);
}

static void test_files_are_set_aside(void **state)
{
    struct state_rig r;

    (void)state;
    state_rig_init(&r);
    assert_int_equal(folder_set_aside(r.folder, &r.err), ERR_OK);
    write_file(r.folder->db, "one");
    write_file(r.folder->wal, "log of one");
    write_file(r.folder->shm, "index");
    assert_int_equal(folder_set_aside(r.folder, &r.err), ERR_OK);
    expect_file(r.folder->aside, "one");
    expect_file(r.folder->aside_wal, "log of one");
    assert_int_equal(access(r.folder->db, F_OK), -1);
    assert_int_equal(access(r.folder->wal, F_OK), -1);
    assert_int_equal(access(r.folder->shm, F_OK), -1);
    write_file(r.folder->db, "two");
    assert_int_equal(folder_set_aside(r.folder, &r.err), ERR_OK);
    expect_file(r.folder->aside, "two");
    state_rig_fini(&r);
}

static void test_folders_in_the_place_of_files_are_set_aside(void **state)
{
    struct state_rig r;

    (void)state;
    state_rig_init(&r);
    write_file(r.folder->db, "one");
    assert_int_equal(folder_set_aside(r.folder, &r.err), ERR_OK);
    for (int i = 2; i <= 3; i++) {
        char *name = mem_printf("%s-%d", r.folder->aside, i);
        char *inside = mem_printf("%s/inside", name);
        char *file = mem_printf("%s/inside", r.folder->db);

        assert_int_equal(mkdir(r.folder->db, 0700), 0);
        write_file(file, "x");
        assert_int_equal(folder_set_aside(r.folder, &r.err), ERR_OK);
        expect_file(inside, "x");
        free(file);
        free(inside);
        free(name);
    }
    state_rig_fini(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_folder_is_made_for_us_alone),
        cmocka_unit_test(test_files_are_readable_by_us_alone),
        cmocka_unit_test(test_a_second_process_gets_the_number_of_the_first),
        cmocka_unit_test(test_the_lock_ends_with_the_process),
        cmocka_unit_test(test_a_path_that_cannot_be_a_folder_is_an_error),
        cmocka_unit_test(test_the_folder_must_belong_to_us),
        cmocka_unit_test(test_the_files_in_a_folder_change_their_owner_as_well),
        cmocka_unit_test(test_a_folder_that_others_may_have_made_is_not_given_away),
        cmocka_unit_test(test_a_folder_of_other_things_is_left_as_it_is),
        cmocka_unit_test(test_a_folder_stays_locked_without_its_lock_file),
        cmocka_unit_test(test_a_folder_is_locked_beside_an_odd_lock_file),
        cmocka_unit_test(test_an_old_log_is_not_left_beside_a_file_that_is_set_aside),
        cmocka_unit_test(test_files_are_set_aside),
        cmocka_unit_test(test_folders_in_the_place_of_files_are_set_aside),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
