/* SPDX-License-Identifier: Apache-2.0 */
/* state/commit_counter: the number of commits in the lock file outlives the process, and a disk
 * that takes no writes for a while. */
#include "state/commit_counter.h"

#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cmocka.h>

struct lock {
    char folder[32];
    int dir;
    int fd;
};

static int set_up(void **state)
{
    static struct lock lock;

    lock = (struct lock){.folder = "/tmp/informerd-test-XXXXXX"};
    assert_non_null(mkdtemp(lock.folder));
    lock.dir = open(lock.folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    lock.fd = openat(lock.dir, "lock", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    assert_true(lock.dir >= 0 && lock.fd >= 0);
    *state = &lock;
    return 0;
}

static int clean_up(void **state)
{
    struct lock *lock = *state;

    assert_int_equal(unlinkat(lock->dir, "lock", 0), 0);
    close(lock->fd);
    close(lock->dir);
    return rmdir(lock->folder);
}

/* The number that the next process will find. */
static uint64_t found(const struct lock *lock)
{
    struct commit_counter *w = commit_counter_create(lock->dir, lock->fd);
    uint64_t commits = commit_counter_commits(w);

    commit_counter_destroy(&w);
    return commits;
}

/* A file may have so many bytes, as on a disk that is full. */
static void limit_files(rlim_t bytes)
{
    struct rlimit limit;

    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
    limit.rlim_cur = bytes < limit.rlim_max ? bytes : limit.rlim_max;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

static void test_the_next_process_finds_the_number(void **state)
{
    const struct lock *lock = *state;
    struct commit_counter *w = commit_counter_create(lock->dir, lock->fd);

    assert_int_equal(commit_counter_commits(w), 0);
    commit_counter_set(w, 1000);
    commit_counter_set(w, 7);
    assert_int_equal(found(lock), 7);
    commit_counter_destroy(&w);
}

static void test_a_lock_that_was_opened_for_reading_is_opened_again(void **state)
{
    struct lock *lock = *state;
    int reader = openat(lock->dir, "lock", O_RDONLY | O_CLOEXEC);
    struct commit_counter *w = commit_counter_create(lock->dir, reader);

    commit_counter_set(w, 7);
    assert_int_equal(found(lock), 7);
    commit_counter_set(w, 8);
    assert_int_equal(found(lock), 8);
    commit_counter_destroy(&w);
    close(reader);
}

static void test_the_number_is_written_once_the_disk_takes_it(void **state)
{
    const struct lock *lock = *state;
    struct commit_counter *w = commit_counter_create(lock->dir, lock->fd);

    signal(SIGXFSZ, SIG_IGN);
    limit_files(0);
    commit_counter_set(w, 7);
    commit_counter_set(w, 8);
    assert_int_equal(found(lock), 0);
    limit_files(RLIM_INFINITY);
    commit_counter_set(w, 9);
    assert_int_equal(found(lock), 9);
    commit_counter_destroy(&w);
}

static void test_a_number_of_another_boot_is_of_no_use(void **state)
{
    static const char line[] = "00000000-0000-0000-0000-000000000000 7                   \n";
    const struct lock *lock = *state;

    assert_int_equal(pwrite(lock->fd, line, sizeof(line) - 1, 13), sizeof(line) - 1);
    assert_int_equal(found(lock), 0);
}

static void test_the_same_number_is_not_written_again(void **state)
{
    const struct lock *lock = *state;
    struct commit_counter *w = commit_counter_create(lock->dir, lock->fd);

    commit_counter_set(w, 7);
    assert_int_equal(ftruncate(lock->fd, 0), 0);
    commit_counter_set(w, 7);
    assert_int_equal(found(lock), 0);
    commit_counter_destroy(&w);
    commit_counter_destroy(&w);
    assert_null(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_the_next_process_finds_the_number, set_up, clean_up),
        cmocka_unit_test_setup_teardown(test_a_lock_that_was_opened_for_reading_is_opened_again,
                                        set_up, clean_up),
        cmocka_unit_test_setup_teardown(test_the_number_is_written_once_the_disk_takes_it, set_up,
                                        clean_up),
        cmocka_unit_test_setup_teardown(test_a_number_of_another_boot_is_of_no_use, set_up,
                                        clean_up),
        cmocka_unit_test_setup_teardown(test_the_same_number_is_not_written_again, set_up,
                                        clean_up),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
