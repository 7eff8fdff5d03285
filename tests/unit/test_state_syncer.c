/* SPDX-License-Identifier: Apache-2.0 */
/*
 * state/syncer beside others who use the file: a person who reads it, and the writer. The test
 * plays SQLite's syncs and sleeps, so that both can come at the right moment.
 */
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>
#include <sqlite3.h>

#include "state/syncer.h"
#include "state_rig.h"

/* SQLite calls these in place of the C library's. */
int play_fdatasync(int fd) __asm__("fdatasync");
int play_usleep(useconds_t us) __asm__("usleep");
int play_nanosleep(const struct timespec *time, struct timespec *left) __asm__("nanosleep");

static unsigned log_syncs;
static unsigned sleeps;
static struct state_rig *commits_next; /* in the middle of the next checkpoint */

static void commit(struct state_rig *r, uint64_t told)
{
    state_rig_delivery(r, 5, "a", told);
    state_rig_apply(r);
}

static bool ends_with(const char *text, const char *end)
{
    size_t n = strlen(text);
    size_t m = strlen(end);

    return n >= m && strcmp(text + n - m, end) == 0;
}

int play_fdatasync(int fd)
{
    struct state_rig *r = commits_next;
    char number[32];
    char file[PATH_MAX] = "";

    snprintf(number, sizeof(number), "/proc/self/fd/%d", fd);
    assert_true(readlink(number, file, sizeof(file) - 1) > 0);
    log_syncs += ends_with(file, "/state.db-wal");
    if (r != NULL && ends_with(file, "/state.db")) {
        commits_next = NULL;
        commit(r, 77);
    }
    return (int)syscall(SYS_fdatasync, fd);
}

int play_usleep(useconds_t us)
{
    (void)us;
    sleeps++;
    return 0;
}

int play_nanosleep(const struct timespec *time, struct timespec *left)
{
    (void)time;
    (void)left;
    sleeps++;
    return 0;
}

static struct sqlite3 *begin_to_read(struct state_rig *r)
{
    struct sqlite3 *db;

    assert_int_equal(sqlite3_open(r->folder->db, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, "BEGIN; SELECT count(*) FROM mark", NULL, NULL, NULL),
                     SQLITE_OK);
    return db;
}

static void test_a_file_with_a_reader_is_synced_all_the_same(void **state)
{
    struct state_rig r;

    (void)state;
    state_rig_init(&r);
    commit(&r, 1);
    struct sqlite3 *reader = begin_to_read(&r);
    for (uint64_t i = 2; i < 5; i++) {
        commit(&r, i);
        log_syncs = 0;
        assert_int_equal(syncer_run(r.folder, true, &r.err), ERR_OK);
        assert_true(log_syncs > 0);
    }
    assert_int_equal(sqlite3_close(reader), SQLITE_OK);
    state_rig_fini(&r);
}

/* A syncer that waits for a reader to end keeps the writer waiting. */
static void test_the_syncer_does_not_wait_for_readers(void **state)
{
    struct state_rig r;

    (void)state;
    state_rig_init(&r);
    commit(&r, 1);
    struct sqlite3 *reader = begin_to_read(&r);
    commit(&r, 2);
    sleeps = 0;
    assert_int_equal(syncer_run(r.folder, true, &r.err), ERR_OK);
    assert_int_equal(sleeps, 0);
    assert_int_equal(sqlite3_close(reader), SQLITE_OK);
    state_rig_fini(&r);
}

static void test_a_commit_during_a_checkpoint_does_not_keep_the_log(void **state)
{
    struct writer_report report;
    struct state_rig r;

    (void)state;
    state_rig_init(&r);
    for (uint64_t i = 0; i < 50; i++)
        commit(&r, i);
    commits_next = &r;
    assert_int_equal(syncer_run(r.folder, true, &r.err), ERR_OK);
    assert_null(commits_next);
    state_rig_delivery(&r, 5, "a", 99);
    assert_int_equal(writer_apply(r.writer, &r.batch, &report, &r.err), ERR_OK);
    assert_true(report.wal_pages < 5);
    state_rig_fini(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_file_with_a_reader_is_synced_all_the_same),
        cmocka_unit_test(test_the_syncer_does_not_wait_for_readers),
        cmocka_unit_test(test_a_commit_during_a_checkpoint_does_not_keep_the_log),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
