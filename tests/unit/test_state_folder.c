/* SPDX-License-Identifier: Apache-2.0 */
/* state/folder: the folder is ours alone, one process has it, and files are set aside inside it. */
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

static void test_it_is_made_for_us_alone(void **state)
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
    state_rig_mark(&r, 5, "a/b", 1);
    state_rig_apply(&r);
    assert_int_equal(mode_of(r.folder->db), 0600);
    assert_int_equal(mode_of(r.folder->wal), 0600);
    assert_int_equal(mode_of(r.folder->shm), 0600);
    writer_close(r.writer);
    assert_int_equal(chmod(r.folder->db, 0644), 0);
    state_rig_expect(&r, "mark 5 a/b u1 note 0 open told 1\n");
    assert_int_equal(mode_of(r.folder->db), 0600);
    umask(before);
    state_rig_fini(&r);
}

static void test_a_second_process_is_told_which_one_has_it(void **state)
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

static void test_what_cannot_be_a_folder_is_said(void **state)
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
    free(path);
    state_rig_remove(top);
}

static void test_it_must_belong_to_us(void **state)
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
    /* What is another's already is left to it. */
    assert_int_equal(folder_prepare(path, NOBODY - 1, NOBODY - 1, &err), ERR_OK);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_uid, NOBODY);
    state_rig_remove(path);
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
        cmocka_unit_test(test_it_is_made_for_us_alone),
        cmocka_unit_test(test_files_are_readable_by_us_alone),
        cmocka_unit_test(test_a_second_process_is_told_which_one_has_it),
        cmocka_unit_test(test_the_lock_ends_with_the_process),
        cmocka_unit_test(test_what_cannot_be_a_folder_is_said),
        cmocka_unit_test(test_it_must_belong_to_us),
        cmocka_unit_test(test_files_are_set_aside),
        cmocka_unit_test(test_folders_in_the_place_of_files_are_set_aside),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
