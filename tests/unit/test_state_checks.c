/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The four checks of the loader: each finds a kind of damage that the other three accept. To ask
 * one check alone, a test makes the damaged file right again for each of the others, so that only
 * this one has something to say.
 */
#include <inttypes.h>
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
#include <sqlite3.h>

#include "state/table_sum.h"
#include "state_rig.h"

enum { PAGE = 16384, ROWS = 3000 };

/* ---- The checks, and how a damaged file is made right for each */

enum check { ROW_SUM, TABLE_SUM, COMMIT_COUNTER, PAGES, CHECKS };

static struct str text_of(struct sqlite3_value *v)
{
    const char *p = sqlite3_value_blob(v);

    return str_of(p, (size_t)sqlite3_value_bytes(v));
}

static void fact_sum(struct sqlite3_context *call, int n, struct sqlite3_value **v)
{
    struct buf scratch = {0};

    (void)n;
    uint64_t sum = row_fact_sum(&scratch, (uint64_t)sqlite3_value_int64(v[0]), text_of(v[1]),
                                text_of(v[2]), text_of(v[3]));
    sqlite3_result_int64(call, (int64_t)sum);
    buf_free(&scratch);
}

static void run(struct sqlite3 *db, const char *sql)
{
    if (sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK)
        fail_msg("%s: %s", sql, sqlite3_errmsg(db));
}

static void set_table_sum(struct sqlite3 *db, uint64_t sum)
{
    char sql[100];

    snprintf(sql, sizeof(sql), "UPDATE total SET sum=%" PRId64, (int64_t)sum);
    run(db, sql);
}

/* Each fact gets the checksum of its present value. The sum over all rows follows, so a difference
 * between it and the rows stays. */
static void satisfy_row_sum(struct state_rig *r, struct sqlite3 *db)
{
    struct table_sum table_sum;

    assert_int_equal(table_sum_follow(db, &table_sum, &r->err), ERR_OK);
    sqlite3_create_function(db, "fact_sum", 4, SQLITE_UTF8, NULL, fact_sum, NULL, NULL);
    run(db, "UPDATE fact SET sum=fact_sum(item, what, key, value)");
    set_table_sum(db, table_sum.sum);
}

/* The sum over all rows becomes that of the checksums that are there. */
static void satisfy_table_sum(struct state_rig *r, struct sqlite3 *db)
{
    static const char all[] = "SELECT sum FROM item UNION ALL SELECT sum FROM fact"
                              " UNION ALL SELECT sum FROM object UNION ALL SELECT sum FROM mark";
    struct sqlite3_stmt *stmt;
    uint64_t sum = 0;

    (void)r;
    assert_int_equal(sqlite3_prepare_v2(db, all, -1, &stmt, NULL), SQLITE_OK);
    while (sqlite3_step(stmt) == SQLITE_ROW)
        sum += (uint64_t)sqlite3_column_int64(stmt, 0);
    sqlite3_finalize(stmt);
    set_table_sum(db, sum);
}

static void satisfy_commit_counter(struct state_rig *r, struct sqlite3 *db)
{
    (void)db;
    commit_counter_set(r->folder->commit_counter, 0);
}

static void satisfy_pages(struct state_rig *r, struct sqlite3 *db)
{
    (void)r;
    run(db, "REINDEX");
}

static void satisfy(struct state_rig *r, enum check check)
{
    static void (*const all[])(struct state_rig *, struct sqlite3 *) = {
        [ROW_SUM] = satisfy_row_sum,
        [TABLE_SUM] = satisfy_table_sum,
        [COMMIT_COUNTER] = satisfy_commit_counter,
        [PAGES] = satisfy_pages,
    };
    struct sqlite3 *db;

    assert_int_equal(sqlite3_open(r->folder->db, &db), SQLITE_OK);
    all[check](r, db);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

/* ---- Kinds of damage. `before` is the database file as it was before the last commit */

static void nothing(struct state_rig *r, const struct buf *before)
{
    (void)r;
    (void)before;
}

/* A bit on the disk changes, in the resourceVersion that a watch would resume from. */
static void change_a_bit(struct state_rig *r, const struct buf *before)
{
    static const char value[] = "resume from 2";
    struct buf file = {0};

    (void)before;
    state_rig_read_file(r->folder->db, &file);
    char *at = memmem(file.data, file.len, value, strlen(value));
    assert_non_null(at);
    at[strlen(value) - 1] ^= 1;
    state_rig_write_file(r->folder->db, &file);
    buf_free(&file);
}

/* The disk has lost the write of one page, so the page that was there before is there again. Small
 * tables and indexes have one page. */
static void lose_page(struct state_rig *r, const struct buf *before, const char *name)
{
    struct sqlite3_stmt *stmt;
    struct buf file = {0};
    struct sqlite3 *db;
    char sql[100];

    snprintf(sql, sizeof(sql), "SELECT rootpage-1 FROM sqlite_master WHERE name='%s'", name);
    assert_int_equal(sqlite3_open(r->folder->db, &db), SQLITE_OK);
    assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &stmt, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_step(stmt), SQLITE_ROW);
    size_t at = (size_t)sqlite3_column_int64(stmt, 0) * PAGE;
    sqlite3_finalize(stmt);
    sqlite3_close(db);
    state_rig_read_file(r->folder->db, &file);
    assert_memory_not_equal(file.data + at, before->data + at, PAGE);
    memcpy(file.data + at, before->data + at, PAGE);
    state_rig_write_file(r->folder->db, &file);
    buf_free(&file);
}

static void lose_page_of_deliveries(struct state_rig *r, const struct buf *before)
{
    lose_page(r, before, "mark");
}

static void lose_page_of_the_index(struct state_rig *r, const struct buf *before)
{
    lose_page(r, before, "sqlite_autoindex_object_1");
}

static void lose_page_of_the_table_sum(struct state_rig *r, const struct buf *before)
{
    lose_page(r, before, "total");
}

static void delete_a_row(struct state_rig *r, const struct buf *before)
{
    (void)before;
    state_rig_sql(r, "DELETE FROM mark WHERE key='a'");
}

static void put_back_an_older_file(struct state_rig *r, const struct buf *before)
{
    state_rig_write_file(r->folder->db, before);
}

/* After a kill the log is torn: to SQLite it is just a shorter log. */
static void tear_the_log(struct state_rig *r, const struct buf *before)
{
    struct stat st;

    (void)before;
    state_rig_delivery(r, 5, "a", 3);
    state_rig_apply(r);
    assert_int_equal(stat(r->folder->wal, &st), 0);
    state_rig_again(r, STATE_RIG_LIMIT);
    assert_int_equal(truncate(r->folder->wal, st.st_size - 1), 0);
}

/* ---- Each check by itself */

static const struct {
    const char *name;
    void (*make)(struct state_rig *r, const struct buf *before);
    bool found_by[CHECKS];
} kinds[] = {
    {"no damage",                    nothing,                 {0}                                          },
    {"a bit",                        change_a_bit,            {[ROW_SUM] = true}                           },
    {"a lost page of deliveries",    lose_page_of_deliveries, {[TABLE_SUM] = true}                         },
    {"a lost page of the index",     lose_page_of_the_index,  {[PAGES] = true}                             },
    {"a lost page of the table sum",
     lose_page_of_the_table_sum,                              {[TABLE_SUM] = true, [COMMIT_COUNTER] = true}},
    {"a deleted row",                delete_a_row,            {[TABLE_SUM] = true}                         },
    {"an older file",                put_back_an_older_file,  {[COMMIT_COUNTER] = true}                    },
    {"a torn log",                   tear_the_log,            {[COMMIT_COUNTER] = true}                    },
};

static void commit(struct state_rig *r, int n)
{
    char text[32];

    snprintf(text, sizeof(text), "resume from %d", n);
    const struct row_fact version = {3, ROW_VERSION, str_c(""), str_c(text)};
    batch_fact(&r->batch, &version);
    state_rig_delivery(r, 5, "a", (uint64_t)n);
    state_rig_object(r, 3, text, "{}");
    state_rig_apply(r);
    writer_close(r->writer);
}

/* Whether the loader sets aside a file with this damage that is right for all checks but one;
 * CHECKS: for all. */
static bool is_found(size_t kind, enum check alone)
{
    struct buf before = {0};
    enum loader_found found;
    struct state_rig r;

    state_rig_init(&r);
    commit(&r, 1);
    state_rig_read_file(r.folder->db, &before);
    commit(&r, 2);
    kinds[kind].make(&r, &before);
    for (enum check c = 0; c < CHECKS; c++)
        if (c != alone)
            satisfy(&r, c);
    free(state_rig_load(&r, &found));
    assert_true(found == LOADER_STATE || found == LOADER_ASIDE);
    buf_free(&before);
    state_rig_fini(&r);
    return found == LOADER_ASIDE;
}

/* Asks each check alone. Returns the one that finds the damage if all others accept it; else
 * CHECKS. */
static enum check only_finder(size_t kind)
{
    enum check finder = CHECKS;
    size_t n = 0;

    for (enum check c = 0; c < CHECKS; c++) {
        bool found = is_found(kind, c);

        if (found != kinds[kind].found_by[c])
            fail_msg("%s: check %d", kinds[kind].name, (int)c);
        finder = found ? c : finder;
        n += found;
    }
    return n == 1 ? finder : CHECKS;
}

/* No check is superfluous: each finds a kind of damage that no other one finds. */
static void test_what_each_check_finds(void **state)
{
    bool finds_alone[CHECKS + 1] = {false};

    (void)state;
    for (size_t kind = 0; kind < sizeof(kinds) / sizeof(kinds[0]); kind++) {
        assert_false(is_found(kind, CHECKS));
        finds_alone[only_finder(kind)] = true;
    }
    for (enum check c = 0; c < CHECKS; c++)
        assert_true(finds_alone[c]);
}

/* ---- All checks together */

/* Adds a row of each kind for every nth number, so that the rows of several calls lie between one
 * another. */
static void add_rows(struct state_rig *r, const char *name, int nth)
{
    char key[32];

    for (int i = 0; i < ROWS; i += nth) {
        snprintf(key, sizeof(key), "default/key-%d-%s", i, name);
        state_rig_item(r, (uint64_t)i + (uint64_t)nth, ROW_KIND_SOURCE, 5, key);
        state_rig_object(r, 3, key, NULL);
        state_rig_delivery(r, 5, key, (uint64_t)nth);
    }
    state_rig_apply(r);
    writer_close(r->writer);
}

/* A page that holds an older state is as sound as any other. In a page of an index this would hide
 * an object from a later delete. */
static void test_no_lost_page_goes_unnoticed(void **state)
{
    struct buf before = {0};
    struct buf after = {0};
    enum loader_found found;
    struct state_rig r;
    unsigned lost = 0;

    (void)state;
    state_rig_init(&r);
    add_rows(&r, "first", 1);
    state_rig_read_file(r.folder->db, &before);
    add_rows(&r, "second", 100);
    state_rig_read_file(r.folder->db, &after);
    for (size_t at = 0; at < before.len; at += PAGE) {
        char page[PAGE];

        if (memcmp(after.data + at, before.data + at, PAGE) == 0)
            continue;
        memcpy(page, after.data + at, PAGE);
        memcpy(after.data + at, before.data + at, PAGE);
        state_rig_write_file(r.folder->db, &after);
        free(state_rig_load(&r, &found));
        if (found != LOADER_ASIDE)
            fail_msg("page %zu", at / PAGE + 1);
        memcpy(after.data + at, page, PAGE);
        lost++;
    }
    assert_true(lost > 10);
    buf_free(&before);
    buf_free(&after);
    state_rig_fini(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_each_check_finds),
        cmocka_unit_test(test_no_lost_page_goes_unnoticed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
