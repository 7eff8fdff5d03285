/* SPDX-License-Identifier: Apache-2.0 */
#include "base/memfile.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/mem.h"

enum { NOBODY = 65534, BIG = 5 * 1024 * 1024 };

static int make(const char *name, struct str data)
{
    struct stat st;
    int fd;

    assert_int_equal(memfile_create(name, data, &fd, NULL), ERR_OK);
    assert_int_equal(lseek(fd, 0, SEEK_CUR), 0);
    assert_int_equal(fstat(fd, &st), 0);
    assert_true((size_t)st.st_size == data.n && (st.st_mode & 07777) == 0444);
    assert_true((fcntl(fd, F_GETFD) & FD_CLOEXEC) != 0);
    return fd;
}

static int open_again(int fd, int flags)
{
    char path[64];

    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    return open(path, flags | O_CLOEXEC);
}

static void test_content(void **state)
{
    char *big = mem_alloc(BIG);
    char *back = mem_alloc(BIG);

    (void)state;
    close(make("", str_c("")));
    close(
        make("a name of 250 bytes or more is refused by the system, so it must be cut; this one is "
             "not that long yet, and needs some more words that say nothing, on and on, until the "
             "limit of 249 bytes that memfd_create() has is left behind, which is here or nearly.",
             str_c("x")));
    for (size_t i = 0; i < BIG; i++)
        big[i] = (char)(i * 2654435761U >> 24);
    int fd = make("big", str_of(big, BIG));
    for (size_t at = 0; at < BIG;) {
        ssize_t n = read(fd, back + at, BIG - at);
        assert_true(n > 0);
        at += (size_t)n;
    }
    assert_memory_equal(big, back, BIG);
    close(fd);
    free(big);
    free(back);
}

static void test_pieces_make_one_sealed_file(void **state)
{
    struct memfile m;
    char back[8] = "";
    int fd;

    (void)state;
    assert_int_equal(memfile_begin(&m, "doc", NULL), ERR_OK);
    memfile_append(&m, str_c("abc"));
    memfile_append(&m, str_c(""));
    memfile_append(&m, str_c("de"));
    assert_int_equal(memfile_end(&m, &fd, NULL), ERR_OK);
    assert_int_equal(lseek(fd, 0, SEEK_CUR), 0);
    assert_int_equal(read(fd, back, sizeof(back)), 5);
    assert_string_equal(back, "abcde");
    assert_true(pwrite(fd, "x", 1, 0) < 0 && errno == EPERM);
    close(fd);
}

static void test_a_piece_that_the_system_refuses_leaves_no_file(void **state)
{
    struct memfile m;
    struct err err = {0};
    int fd = -1;

    (void)state;
    assert_int_equal(memfile_begin(&m, "doc", NULL), ERR_OK);
    int file = m.fd;
    assert_int_equal(fcntl(file, F_ADD_SEALS, F_SEAL_GROW), 0);
    memfile_append(&m, str_c("abc"));
    memfile_append(&m, str_c("de"));
    assert_int_equal(memfile_end(&m, &fd, &err), ERR_IO);
    assert_int_equal(err.code, EPERM);
    assert_string_equal(err.text, "memory file of 5 bytes: Operation not permitted");
    assert_true(fd == -1 && fcntl(file, F_GETFD) < 0);
}

static void test_a_memory_file_cannot_be_changed(void **state)
{
    int fd = make("doc", str_c("abc"));

    (void)state;
    assert_true(write(fd, "x", 1) < 0 && errno == EPERM);
    assert_true(ftruncate(fd, 0) < 0 && errno == EPERM);
    int again = open_again(fd, O_RDWR);
    if (getuid() == 0) { /* modes do not stop root, seals do */
        assert_true(again >= 0);
        assert_true(write(again, "x", 1) < 0 && errno == EPERM);
        assert_true(ftruncate(again, 0) < 0 && errno == EPERM);
        assert_true(ftruncate(again, 9) < 0 && errno == EPERM);
        assert_true(fcntl(again, F_ADD_SEALS, F_SEAL_WRITE) < 0 && errno == EPERM);
        assert_true(mmap(NULL, 3, PROT_WRITE, MAP_SHARED, again, 0) == MAP_FAILED);
        close(again);
    } else {
        assert_true(again < 0 && errno == EACCES);
    }
    close(fd);
}

/* /dev/stdin of a hook that runs as another user than main. */
static void test_another_user_can_open_it(void **state)
{
    int fd = make("doc", str_c("abc"));
    int status;

    (void)state;
    if (getuid() != 0)
        skip();
    pid_t pid = fork();
    if (pid == 0) {
        if (setgid(NOBODY) < 0 || setuid(NOBODY) < 0)
            _exit(2);
        dup2(fd, STDIN_FILENO);
        execl(
            "/bin/sh", "sh", "-c",
            "[ \"$(cat)\" = abc ] && [ \"$(cat /dev/stdin)\" = abc ] && ! echo x 2>&- >/dev/stdin",
            NULL);
        _exit(3);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    close(fd);
}

static void test_too_many_open_files(void **state)
{
    struct err err = {0};
    int fd = -1;
    int status;

    (void)state;
    pid_t pid = fork();
    if (pid == 0) {
        for (int last = 0; last >= 0;)
            last = open("/dev/null", O_RDONLY | O_CLOEXEC);
        bool none = memfile_create("doc", str_c("x"), &fd, &err) == ERR_IO && err.code == EMFILE;
        close(3); /* one file is enough, and none is left behind */
        bool one = fd == -1 && memfile_create("doc", str_c("x"), &fd, &err) == ERR_OK && fd == 3;
        _exit(none && one && open("/dev/null", O_RDONLY) < 0 ? 0 : 1);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_content),
        cmocka_unit_test(test_pieces_make_one_sealed_file),
        cmocka_unit_test(test_a_piece_that_the_system_refuses_leaves_no_file),
        cmocka_unit_test(test_a_memory_file_cannot_be_changed),
        cmocka_unit_test(test_another_user_can_open_it),
        cmocka_unit_test(test_too_many_open_files),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
