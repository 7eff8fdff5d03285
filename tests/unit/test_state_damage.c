/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The state after its files were damaged: the loader gives the rows that were written, all of them,
 * or the file is set aside and begun anew; whatever is done to the bytes, no other row is ever
 * loaded and nothing crashes.
 */
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

#include "base/mem.h"
#include "base/rng.h"
#include "campaign.h"
#include "state_rig.h"

enum { COMMITS = 12, PAGE = 16384 };

/* Files as they were, and the texts that may be loaded from them: states[i] after commit i. */
struct image {
    struct buf db;
    struct buf wal;
    char *states[COMMITS + 1];
};

typedef void damager(struct buf *file, struct rng *rng);

static void change_something(struct state_rig *r, int commit)
{
    static char body[600];
    char key[32];

    memset(body, 'x', sizeof(body) - 1);
    for (int i = 0; i < 60; i++) {
        snprintf(key, sizeof(key), "default/key-%d", (i * 7 + commit * 13) % 400);
        state_rig_object(r, 3, key, body);
        state_rig_delivery(r, 5, key, (uint64_t)commit);
    }
    snprintf(key, sizeof(key), "default/key-%d", commit);
    batch_drop_object(&r->batch, 3, str_c(key));
    snprintf(key, sizeof(key), "%d", commit);
    const struct row_fact version = {3, ROW_VERSION, str_c(""), str_c(key)};
    batch_fact(&r->batch, &version);
    state_rig_item(r, 3, ROW_KIND_SCOPE, 2, key);
    state_rig_apply(r);
}

/* Six commits in the file, six more in the log. */
static void take_image(struct image *image)
{
    enum loader_found found;
    struct state_rig r;

    memset(image, 0, sizeof(*image));
    state_rig_init(&r);
    image->states[0] = mem_strdup("");
    for (int i = 1; i <= COMMITS; i++) {
        change_something(&r, i);
        image->states[i] = state_rig_load(&r, &found);
        assert_int_equal(found, LOADER_STATE);
        if (i == COMMITS / 2)
            writer_close(r.writer);
    }
    state_rig_read_file(r.folder->db, &image->db);
    state_rig_read_file(r.folder->wal, &image->wal);
    state_rig_fini(&r);
}

static void drop_image(struct image *image)
{
    buf_free(&image->db);
    buf_free(&image->wal);
    for (int i = 0; i <= COMMITS; i++)
        free(image->states[i]);
}

static void truncate_it(struct buf *file, struct rng *rng)
{
    file->len = rng_next(rng) % file->len;
}

static void zero_page(struct buf *file, struct rng *rng)
{
    size_t at = rng_next(rng) % (file->len / PAGE) * PAGE;

    memset(file->data + at, 0, file->len - at < PAGE ? file->len - at : PAGE);
}

static void scribble_page(struct buf *file, struct rng *rng)
{
    size_t at = rng_next(rng) % (file->len / PAGE) * PAGE;

    for (size_t i = at; i < at + PAGE && i < file->len; i++)
        file->data[i] = (char)rng_next(rng);
}

static void swap_pages(struct buf *file, struct rng *rng)
{
    size_t a = rng_next(rng) % (file->len / PAGE) * PAGE;
    size_t b = rng_next(rng) % (file->len / PAGE) * PAGE;
    char page[PAGE];

    memcpy(page, file->data + a, PAGE);
    memmove(file->data + a, file->data + b, PAGE);
    memcpy(file->data + b, page, PAGE);
}

/* Like a write that went to the wrong place, or was lost. */
static void copy_page(struct buf *file, struct rng *rng)
{
    size_t to = rng_next(rng) % (file->len / PAGE) * PAGE;
    size_t from = rng_next(rng) % (file->len / PAGE) * PAGE;

    memmove(file->data + to, file->data + from, PAGE);
}

static void flip_bit(char *byte, uint64_t bit)
{
    *byte = (char)((unsigned char)*byte ^ 1U << bit);
}

static void change_bytes(struct buf *file, struct rng *rng)
{
    for (uint64_t n = 1 + rng_next(rng) % 4; n > 0; n--)
        flip_bit(&file->data[rng_next(rng) % file->len], rng_next(rng) % 8);
}

static void shift_bytes(struct buf *file, struct rng *rng)
{
    size_t at = rng_next(rng) % file->len;

    memmove(file->data + at, file->data + at + 1, file->len - at - 1);
}

static bool is_one_of(const struct image *image, const char *text)
{
    for (int i = 0; i <= COMMITS; i++)
        if (strcmp(text, image->states[i]) == 0)
            return true;
    return false;
}

static void expect_afresh(struct state_rig *r)
{
    assert_non_null(strstr(r->err.text, "cannot be used, and is now "));
    assert_int_equal(access(r->folder->aside, F_OK), 0);
    assert_int_equal(access(r->folder->db, F_OK), -1);
}

/* The writer goes on working: on the loaded rows, or on none. */
static void expect_writable(struct state_rig *r)
{
    enum loader_found found;

    batch_clear(&r->batch);
    state_rig_delivery(r, 77, "new", 1);
    enum err_kind kind = state_rig_try(r);
    if (kind == ERR_PROTOCOL) {
        assert_int_equal(writer_start_over(r->writer, &r->err), ERR_OK);
        kind = state_rig_try(r);
    }
    if (kind != ERR_OK)
        fail_msg("%s", r->err.text);
    char *text = state_rig_load(r, &found);
    assert_int_equal(found, LOADER_STATE);
    assert_non_null(strstr(text, "mark 77 new u1 note 0 open told 1\n"));
    free(text);
}

enum log_end {
    LOG_END_UNKNOWN, /* after a power cut the end of the log may be missing */
    LOG_END_NOTED,   /* after a kill only the last commit will do */
};

static bool may_come_of(const struct image *image, const char *text, enum log_end log_end)
{
    return log_end == LOG_END_NOTED ? strcmp(text, image->states[COMMITS]) == 0
                                    : is_one_of(image, text);
}

struct damage {
    damager *db;
    damager *wal;
    enum log_end log_end;
};

static size_t rounds(void)
{
    return campaign_size(6, 60);
}

/* Counts the outcomes. */
static void try_damage(const struct image *image, const struct damage *d, unsigned came[4])
{
    for (uint64_t seed = 1; seed <= rounds(); seed++) {
        enum loader_found found;
        struct buf bytes = {0};
        struct state_rig r;
        struct rng rng;

        rng_seed(&rng, seed);
        state_rig_init(&r);
        buf_append_str(&bytes, buf_str(&image->db));
        if (d->db != NULL)
            d->db(&bytes, &rng);
        state_rig_write_file(r.folder->db, &bytes);
        buf_clear(&bytes);
        buf_append_str(&bytes, buf_str(&image->wal));
        if (d->wal != NULL)
            d->wal(&bytes, &rng);
        state_rig_write_file(r.folder->wal, &bytes);
        if (d->log_end == LOG_END_NOTED)
            commit_counter_set(r.folder->commit_counter, COMMITS);
        char *text = state_rig_load(&r, &found);
        came[found]++;
        if (found == LOADER_STATE)
            assert_true(may_come_of(image, text, d->log_end));
        else if (found == LOADER_ASIDE)
            expect_afresh(&r);
        else
            assert_true(found == LOADER_NOTHING && d->log_end == LOG_END_UNKNOWN);
        expect_writable(&r);
        free(text);
        buf_free(&bytes);
        state_rig_fini(&r);
    }
}

static void test_the_image_itself_is_sound(void **state)
{
    unsigned came[4] = {0};

    try_damage(*state, &(struct damage){.log_end = LOG_END_NOTED}, came);
    assert_int_equal(came[LOADER_STATE], rounds());
}

static void test_a_damaged_file(void **state)
{
    static damager *const all[] = {truncate_it, zero_page,    scribble_page, swap_pages,
                                   copy_page,   change_bytes, shift_bytes};
    unsigned came[4] = {0};

    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
        try_damage(*state, &(struct damage){.db = all[i]}, came);
    print_message("file: %u set aside, %u sound, %u empty\n", came[LOADER_ASIDE],
                  came[LOADER_STATE], came[LOADER_NOTHING]);
    assert_true(came[LOADER_ASIDE] > rounds());
}

static void damage_log(const struct image *image, enum log_end log_end, unsigned came[4])
{
    static damager *const all[] = {truncate_it, zero_page,    scribble_page, swap_pages,
                                   copy_page,   change_bytes, shift_bytes};

    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
        try_damage(image, &(struct damage){.wal = all[i], .log_end = log_end}, came);
    print_message("log: %u set aside, %u sound or older, %u empty\n", came[LOADER_ASIDE],
                  came[LOADER_STATE], came[LOADER_NOTHING]);
}

static void test_a_damaged_log_after_a_power_cut(void **state)
{
    unsigned came[4] = {0};

    damage_log(*state, LOG_END_UNKNOWN, came);
    assert_true(came[LOADER_STATE] > rounds());
}

/* Delivery records that were on disk must not be lost without a warning. */
static void test_a_damaged_log_after_a_kill(void **state)
{
    unsigned came[4] = {0};

    damage_log(*state, LOG_END_NOTED, came);
    assert_true(came[LOADER_ASIDE] > rounds());
}

/* Sums find damage that SQLite does not look at: bytes inside of a row. */
static void test_bytes_inside_of_rows(void **state)
{
    static const char *const changes[] = {
        "UPDATE object SET body=replace(body, 'x', 'y') WHERE key='default/key-77'",
        "UPDATE object SET key='default/other' WHERE key='default/key-77'",
        "UPDATE object SET rv='8' WHERE key='default/key-77'",
        "UPDATE object SET rv_at=NULL WHERE key='default/key-77'",
        "UPDATE object SET body=NULL WHERE key='default/key-77'",
        "UPDATE object SET stream=4 WHERE key='default/key-77'",
        "UPDATE mark SET open=0 WHERE key='default/key-77'",
        "UPDATE mark SET told=NULL WHERE key='default/key-77'",
        "UPDATE mark SET uid='u2' WHERE key='default/key-77'",
        "UPDATE fact SET value='99'",
        "UPDATE fact SET item=4",
        "UPDATE item SET name='99'",
        "UPDATE item SET id=99",
        "DROP TABLE mark",
        "ALTER TABLE object RENAME COLUMN body TO b",
        "DROP TABLE fact",
    };

    for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
        const struct image *image = *state;
        enum loader_found found;
        struct state_rig r;

        state_rig_init(&r);
        state_rig_write_file(r.folder->db, &image->db);
        state_rig_write_file(r.folder->wal, &image->wal);
        state_rig_sql(&r, changes[i]);
        free(state_rig_load(&r, &found));
        if (found != LOADER_ASIDE)
            fail_msg("%s was not noticed", changes[i]);
        expect_afresh(&r);
        expect_writable(&r);
        state_rig_fini(&r);
    }
}

static void expect_set_aside(struct state_rig *r, const char *why)
{
    enum loader_found found;
    char *text = state_rig_load(r, &found);

    assert_int_equal(found, LOADER_ASIDE);
    assert_string_equal(text, "");
    assert_non_null(strstr(r->err.text, why));
    expect_afresh(r);
    expect_writable(r);
    free(text);
    state_rig_fini(r);
}

#define INDEX_PAGE "SELECT rootpage FROM sqlite_master WHERE name='sqlite_autoindex_object_1'"

/* The place of the index of objects, which the loader does not use. */
static size_t index_at(const struct state_rig *r)
{
    struct sqlite3_stmt *stmt;
    struct sqlite3 *db;

    assert_int_equal(sqlite3_open(r->folder->db, &db), SQLITE_OK);
    assert_int_equal(sqlite3_prepare_v2(db, INDEX_PAGE, -1, &stmt, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_step(stmt), SQLITE_ROW);
    size_t page = (size_t)sqlite3_column_int64(stmt, 0);
    sqlite3_finalize(stmt);
    sqlite3_close(db);
    return (page - 1) * PAGE;
}

/* The check of the pages finds damage that the rows do not show. */
static void test_a_page_without_rows(void **state)
{
    const struct image *image = *state;
    enum loader_found found;
    struct buf bytes = {0};
    struct state_rig r;

    state_rig_init(&r);
    state_rig_write_file(r.folder->db, &image->db);
    size_t at = index_at(&r);
    buf_append_str(&bytes, buf_str(&image->db));
    memset(bytes.data + at, 0, PAGE);
    state_rig_write_file(r.folder->db, &bytes);
    free(state_rig_load(&r, &found));
    assert_int_equal(found, LOADER_ASIDE);
    assert_non_null(strstr(r.err.text, "it is damaged"));
    expect_afresh(&r);
    expect_writable(&r);
    buf_free(&bytes);
    state_rig_fini(&r);
}

static void test_files_that_are_not_ours(void **state)
{
    struct buf text = {0};
    struct state_rig r;

    (void)state;
    buf_puts(&text, "this is no database, but a text that somebody left here by mistake\n");
    state_rig_init(&r);
    state_rig_write_file(r.folder->db, &text);
    expect_set_aside(&r, "not an SQLite file");
    state_rig_init(&r);
    state_rig_sql(&r, "CREATE TABLE bookmarks(url TEXT)");
    expect_set_aside(&r, "file of another program");
    state_rig_init(&r);
    state_rig_sql(&r, "PRAGMA application_id=7");
    expect_set_aside(&r, "file of another program");
    state_rig_init(&r);
    assert_int_equal(mkdir(r.folder->db, 0700), 0);
    expect_set_aside(&r, "not a regular file");
    state_rig_init(&r);
    assert_int_equal(symlink("/dev/null", r.folder->db), 0);
    expect_set_aside(&r, "not a regular file");
    buf_free(&text);
}

/* The checksum of such a row is right, but no informerd writes it: uids and keys of objects have no control
 * characters. */
static void test_a_row_with_a_nul_in_its_key_or_uid(void **state)
{
    const struct str bad = {"u\0v", 3};
    const struct str good = str_c("u");
    const struct str pairs[][2] = {
        {good, bad },
        {bad,  good}
    };
    struct state_rig r;

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(pairs); i++) {
        const struct row_object o = {.key = pairs[i][0], .uid = pairs[i][1], .rv_at = ROW_NOWHERE};
        const struct row_delivery m = {.key = pairs[i][0], .uid = pairs[i][1]};
        state_rig_init(&r);
        batch_object(&r.batch, 1, &o, NULL);
        state_rig_apply(&r);
        state_rig_again(&r, STATE_RIG_LIMIT);
        expect_set_aside(&r, "has changed since it was written");
        state_rig_init(&r);
        batch_delivery(&r.batch, &m, NULL);
        state_rig_apply(&r);
        state_rig_again(&r, STATE_RIG_LIMIT);
        expect_set_aside(&r, "has changed since it was written");
    }
}

static void test_an_empty_file_is_a_new_one(void **state)
{
    enum loader_found found;
    struct buf nothing = {0};
    struct state_rig r;

    (void)state;
    state_rig_init(&r);
    state_rig_write_file(r.folder->db, &nothing);
    free(state_rig_load(&r, &found));
    assert_int_equal(found, LOADER_NOTHING);
    expect_writable(&r);
    state_rig_fini(&r);
}

static int set_up(void **state)
{
    struct image *image = mem_zalloc(sizeof(*image));

    take_image(image);
    *state = image;
    return 0;
}

static int tear_down(void **state)
{
    drop_image(*state);
    free(*state);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_image_itself_is_sound),
        cmocka_unit_test(test_a_damaged_file),
        cmocka_unit_test(test_a_damaged_log_after_a_power_cut),
        cmocka_unit_test(test_a_damaged_log_after_a_kill),
        cmocka_unit_test(test_bytes_inside_of_rows),
        cmocka_unit_test(test_a_page_without_rows),
        cmocka_unit_test(test_files_that_are_not_ours),
        cmocka_unit_test(test_a_row_with_a_nul_in_its_key_or_uid),
        cmocka_unit_test(test_an_empty_file_is_a_new_one),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
