/* SPDX-License-Identifier: Apache-2.0 */
/*
 * state/table_sum, commit_counter: a file in which each row is sound is not used either if rows are
 * missing, if its end is lost, or if it is another file than the one that was written; and nothing
 * is written into such a file as if the rest were there.
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/mem.h"
#include "state/syncer.h"
#include "state_rig.h"

static void commit(struct state_rig *r, uint64_t told)
{
    state_rig_delivery(r, 5, "a", told);
    state_rig_apply(r);
}

/* Three commits; the first is in the file, and a copy is made of that. */
static char *begin(struct state_rig *r)
{
    state_rig_init(r);
    commit(r, 1);
    writer_close(r->writer);
    char *copy = mem_printf("%s/copy", r->path);
    state_rig_copy_file(r->folder->db, copy);
    commit(r, 2);
    commit(r, 3);
    return copy;
}

static void end(struct state_rig *r, char *copy)
{
    free(copy);
    state_rig_fini(r);
}

/* The process is killed, and the next one begins. */
static void die(struct state_rig *r)
{
    state_rig_again(r, STATE_RIG_LIMIT);
    folder_close(&r->folder);
    assert_int_equal(folder_open(r->path, &r->folder, &r->err), ERR_OK);
    state_rig_again(r, STATE_RIG_LIMIT);
}

static void expect_found(struct state_rig *r, enum loader_found want, const char *why)
{
    enum loader_found found;
    char *text = state_rig_load(r, &found);

    assert_int_equal(found, want);
    if (why != NULL && strstr(r->err.text, why) == NULL)
        fail_msg("%s", r->err.text);
    if (want == LOADER_STATE)
        assert_string_equal(text, "mark 5 a u1 note 0 open told 3\n");
    free(text);
}

/* The file that was begun anew is a state like any other. */
static void expect_fresh(struct state_rig *r)
{
    batch_clear(&r->batch);
    commit(r, 3);
    die(r);
    expect_found(r, LOADER_STATE, NULL);
}

static void test_a_kill_loses_nothing(void **state)
{
    struct state_rig r;
    char *copy = begin(&r);

    (void)state;
    die(&r);
    expect_found(&r, LOADER_STATE, NULL);
    commit(&r, 3);
    writer_close(r.writer);
    die(&r);
    expect_found(&r, LOADER_STATE, NULL);
    end(&r, copy);
}

#define DELIVERY_BUT_UID                                                                   \
    " handled, told, open, ended, note, sum, last_uid, rv, generation, api_version, kind," \
    " rv_at, generation_at, digest, body"

static void test_missing_rows_are_noticed(void **state)
{
    static const char twice[] = "INSERT INTO mark(source, key, uid," DELIVERY_BUT_UID ")"
                                " SELECT source, key, 'u9'," DELIVERY_BUT_UID " FROM mark";
    static const char *const changes[] = {
        "DELETE FROM mark",
        "DELETE FROM mark WHERE key='b'",
        "DELETE FROM item",
        "DELETE FROM fact",
        "DELETE FROM object",
        "DELETE FROM total",
        twice,
    };
    const struct row_fact fact = {2, ROW_CLUSTER, str_c(""), str_c("prod")};

    (void)state;
    for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
        struct state_rig r;

        state_rig_init(&r);
        state_rig_item(&r, 2, ROW_KIND_WATCH, 0, "pods");
        state_rig_object(&r, 3, "a", "{}");
        state_rig_delivery(&r, 5, "a", 1);
        state_rig_delivery(&r, 5, "b", 1);
        batch_fact(&r.batch, &fact);
        state_rig_apply(&r);
        writer_close(r.writer);
        state_rig_sql(&r, changes[i]);
        expect_found(&r, LOADER_ASIDE, "damaged");
        expect_fresh(&r);
        state_rig_fini(&r);
    }
}

static void test_a_log_that_lost_its_end_is_noticed(void **state)
{
    struct state_rig r;
    struct stat st;
    char *copy = begin(&r);

    (void)state;
    assert_int_equal(stat(r.folder->wal, &st), 0);
    die(&r);
    assert_int_equal(truncate(r.folder->wal, st.st_size - 1), 0);
    expect_found(&r, LOADER_ASIDE, "older than the last write");
    expect_fresh(&r);
    assert_int_equal(unlink(r.folder->wal), 0);
    expect_found(&r, LOADER_ASIDE, "");
    expect_fresh(&r);
    end(&r, copy);
}

static void test_a_copy_from_before_is_not_taken_for_the_state(void **state)
{
    struct state_rig r;
    char *copy = begin(&r);

    (void)state;
    writer_close(r.writer);
    die(&r);
    state_rig_copy_file(copy, r.folder->db);
    expect_found(&r, LOADER_ASIDE, "an older copy");
    expect_fresh(&r);
    end(&r, copy);
}

static void test_an_empty_file_and_a_missing_one_are_noticed(void **state)
{
    struct state_rig r;
    char *copy = begin(&r);

    (void)state;
    writer_close(r.writer);
    assert_int_equal(truncate(r.folder->db, 0), 0);
    die(&r);
    expect_found(&r, LOADER_ASIDE, "it is empty");
    expect_found(&r, LOADER_NOTHING, NULL);
    expect_fresh(&r);
    assert_int_equal(unlink(r.folder->db), 0);
    expect_found(&r, LOADER_ASIDE, "somebody deleted it");
    assert_int_equal(access(r.folder->wal, F_OK), -1);
    expect_found(&r, LOADER_NOTHING, NULL);
    expect_fresh(&r);
    end(&r, copy);
}

static void overwrite_boot(struct state_rig *r)
{
    char *path = mem_printf("%s/lock", r->path);
    int fd = open(path, O_WRONLY | O_CLOEXEC);

    assert_int_equal(pwrite(fd, "01234567-89ab", 13, 13), 13);
    close(fd);
    free(path);
}

/* A power cut may take the commits of the last second. */
static void test_a_commit_number_of_before_the_boot_does_not_count(void **state)
{
    enum loader_found found;
    struct state_rig r;
    char *copy = begin(&r);

    (void)state;
    writer_close(r.writer);
    state_rig_copy_file(copy, r.folder->db);
    overwrite_boot(&r);
    die(&r);
    char *text = state_rig_load(&r, &found);
    assert_int_equal(found, LOADER_STATE);
    assert_string_equal(text, "mark 5 a u1 note 0 open told 1\n");
    free(text);
    die(&r); /* from here on the commits count again */
    assert_int_equal(truncate(r.folder->db, 0), 0);
    expect_found(&r, LOADER_ASIDE, "it is empty");
    end(&r, copy);
}

static void test_a_damaged_lock_file_has_no_commit_number(void **state)
{
    static const char *const texts[] = {"", "x", "12345678901\n\377\377\377\377\377",
                                        "1           \n01234567-89ab-cdef-0123-456789abcdef -1\n"};

    (void)state;
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        struct state_rig r;
        char *copy = begin(&r);
        char *path = mem_printf("%s/lock", r.path);
        FILE *file = fopen(path, "w");

        fputs(texts[i], file);
        fclose(file);
        die(&r);
        expect_found(&r, LOADER_STATE, NULL);
        free(path);
        end(&r, copy);
    }
}

/* The head of the file has no sum, and SQLite obeys it. */
static void test_a_file_that_forbids_writing_begins_anew(void **state)
{
    struct state_rig r;
    char *copy = begin(&r);

    (void)state;
    writer_close(r.writer);
    die(&r);
    int fd = open(r.folder->db, O_WRONLY | O_CLOEXEC);
    assert_int_equal(pwrite(fd, "\t", 1, 18), 1);
    close(fd);
    expect_found(&r, LOADER_STATE, NULL);
    state_rig_delivery(&r, 5, "a", 4);
    assert_int_equal(state_rig_try(&r), ERR_PROTOCOL);
    assert_int_equal(writer_start_over(r.writer, &r.err), ERR_OK);
    expect_fresh(&r);
    end(&r, copy);
}

/* The rows could not be read before the reset, and so were not checked. */
static void test_a_reset_does_not_trust_the_table_sum(void **state)
{
    struct state_rig r;
    char *copy = begin(&r);

    (void)state;
    writer_close(r.writer);
    state_rig_sql(&r, "UPDATE total SET sum=12345");
    batch_reset(&r.batch);
    commit(&r, 3);
    expect_found(&r, LOADER_STATE, NULL);
    end(&r, copy);
}

/* The daemon was started by hand as root, and then as the service, which cannot read root's
 * file. */
static void test_a_file_of_another_user_is_set_aside(void **state)
{
    (void)state;
    if (geteuid() != 0)
        skip();
    for (int i = 0; i < 2; i++) {
        struct state_rig r;
        char *copy = begin(&r);

        die(&r);
        assert_int_equal(chown(i == 0 ? r.folder->db : r.folder->wal, 65534, 65534), 0);
        expect_found(&r, LOADER_ASIDE, "belongs to uid 65534, and informerd runs as uid 0");
        expect_fresh(&r);
        end(&r, copy);
    }
}

typedef void taker(struct state_rig *r, const char *copy);

static void delete_it(struct state_rig *r, const char *copy)
{
    (void)copy;
    assert_int_equal(unlink(r->folder->db), 0);
}

static void rename_it(struct state_rig *r, const char *copy)
{
    (void)copy;
    char *mine = mem_printf("%s/mine", r->path);
    assert_int_equal(rename(r->folder->db, mine), 0);
    free(mine);
}

static void replace_it(struct state_rig *r, const char *copy)
{
    assert_int_equal(rename(copy, r->folder->db), 0);
}

/* When a commit is reported as done, the delivery record is in the file of that name. */
static void test_a_commit_to_a_file_that_lost_its_name_fails(void **state)
{
    static taker *const takers[] = {delete_it, rename_it, replace_it};

    (void)state;
    for (size_t i = 0; i < sizeof(takers) / sizeof(takers[0]); i++) {
        struct state_rig r;
        char *copy = begin(&r);

        takers[i](&r, copy);
        state_rig_delivery(&r, 5, "a", 4);
        assert_int_equal(state_rig_try(&r), ERR_NOT_FOUND);
        assert_non_null(strstr(r.err.text, "somebody deleted state.db"));
        assert_int_equal(writer_start_over(r.writer, &r.err), ERR_OK);
        expect_fresh(&r);
        end(&r, copy);
    }
}

/* In another file the rows of one change would look like the whole table. */
static void test_a_change_is_not_written_into_another_file(void **state)
{
    static taker *const takers[] = {delete_it, rename_it, replace_it};

    (void)state;
    for (size_t i = 0; i < sizeof(takers) / sizeof(takers[0]); i++) {
        struct state_rig r;
        char *copy = begin(&r);

        writer_close(r.writer);
        die(&r);
        expect_found(&r, LOADER_STATE, NULL);
        takers[i](&r, copy);
        state_rig_delivery(&r, 5, "a", 4);
        assert_int_equal(state_rig_try(&r), ERR_PROTOCOL);
        assert_non_null(strstr(r.err.text, "not the file that was written before"));
        assert_int_equal(writer_start_over(r.writer, &r.err), ERR_OK);
        expect_fresh(&r);
        end(&r, copy);
    }
}

static void test_a_log_that_is_taken_away_is_noticed_by_the_sync(void **state)
{
    struct state_rig r;
    char *copy = begin(&r);

    (void)state;
    assert_int_equal(syncer_run(r.folder, false, &r.err), ERR_OK);
    assert_int_equal(truncate(r.folder->wal, 0), 0);
    commit(&r, 4);
    assert_int_equal(syncer_run(r.folder, false, &r.err), ERR_NOT_FOUND);
    assert_int_equal(unlink(r.folder->wal), 0);
    assert_int_equal(syncer_run(r.folder, false, &r.err), ERR_NOT_FOUND);
    assert_int_equal(writer_start_over(r.writer, &r.err), ERR_OK);
    expect_fresh(&r);
    end(&r, copy);
}

static void make_odd(const char *path, int kind)
{
    unlink(path);
    if (kind == 0)
        assert_int_equal(mkdir(path, 0700), 0);
    else if (kind == 1)
        assert_int_equal(mkfifo(path, 0600), 0);
    else
        assert_int_equal(symlink("/dev/null", path), 0);
}

/* The loader does not hang on any kind of file, and the file does not stay in the way for ever. */
static void test_odd_things_beside_the_file_are_set_aside(void **state)
{
    (void)state;
    for (int i = 0; i < 6; i++) {
        struct state_rig r;
        char *copy = begin(&r);

        die(&r);
        for (int again = 0; again < 3; again++) {
            make_odd(i < 3 ? r.folder->wal : r.folder->shm, i % 3);
            expect_found(&r, LOADER_ASIDE, "is not a regular file");
            expect_fresh(&r);
            state_rig_again(&r, STATE_RIG_LIMIT);
        }
        end(&r, copy);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_kill_loses_nothing),
        cmocka_unit_test(test_missing_rows_are_noticed),
        cmocka_unit_test(test_a_log_that_lost_its_end_is_noticed),
        cmocka_unit_test(test_a_copy_from_before_is_not_taken_for_the_state),
        cmocka_unit_test(test_an_empty_file_and_a_missing_one_are_noticed),
        cmocka_unit_test(test_a_commit_number_of_before_the_boot_does_not_count),
        cmocka_unit_test(test_a_damaged_lock_file_has_no_commit_number),
        cmocka_unit_test(test_a_file_that_forbids_writing_begins_anew),
        cmocka_unit_test(test_a_reset_does_not_trust_the_table_sum),
        cmocka_unit_test(test_a_file_of_another_user_is_set_aside),
        cmocka_unit_test(test_a_commit_to_a_file_that_lost_its_name_fails),
        cmocka_unit_test(test_a_change_is_not_written_into_another_file),
        cmocka_unit_test(test_a_log_that_is_taken_away_is_noticed_by_the_sync),
        cmocka_unit_test(test_odd_things_beside_the_file_are_set_aside),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
