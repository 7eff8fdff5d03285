/* SPDX-License-Identifier: Apache-2.0 */
/* state/writer, loader, syncer: the rows that are written can be read, all rows of a batch or
 * none. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/rng.h"
#include "campaign.h"
#include "state/syncer.h"
#include "state_rig.h"

static void test_nothing_is_there_at_first(void **state)
{
    enum loader_found found;
    struct state_rig r;

    (void)state;
    state_rig_init(&r);
    char *text = state_rig_load(&r, &found);
    assert_true(found == LOADER_NOTHING && text[0] == '\0');
    free(text);
    assert_int_equal(access(r.folder->db, F_OK), -1);
    state_rig_apply(&r); /* an empty batch makes the tables */
    state_rig_expect(&r, "");
    state_rig_fini(&r);
}

static void test_rows_come_back_after_a_kill_and_after_an_end(void **state)
{
    static const char lines[] = "fact 2 cluster [] prod\n"
                                "fact 4 output [a/b] \n"
                                "item 2 kind 2 parent 0 pods\n"
                                "item 3 kind 3 parent 2 default\n"
                                "mark 5 a/b u1 note 0 open told 7\n"
                                "object 3 a/b u1 rv 7 gen  v1/K at 1 -1 {\"x\":1}\n"
                                "object 3 a/c u1 rv 7 gen  v1/K at 1 -1 digest abc\n";
    const struct row_fact cluster = {2, ROW_CLUSTER, str_c(""), str_c("prod")};
    const struct row_fact output = {4, ROW_OUTPUT, str_c("a/b"), str_c("")};
    struct state_rig r;

    (void)state;
    state_rig_init(&r);
    state_rig_item(&r, 2, ROW_KIND_WATCH, 0, "pods");
    state_rig_item(&r, 3, ROW_KIND_SCOPE, 2, "default");
    batch_fact(&r.batch, &cluster);
    batch_fact(&r.batch, &output);
    state_rig_object(&r, 3, "a/b", "{\"x\":1}");
    state_rig_object(&r, 3, "a/c", NULL);
    state_rig_delivery(&r, 5, "a/b", 7);
    state_rig_apply(&r);
    state_rig_again(&r, STATE_RIG_LIMIT);
    state_rig_expect(&r, lines);
    state_rig_apply(&r);
    writer_close(r.writer);
    assert_int_equal(access(r.folder->wal, F_OK), -1);
    state_rig_expect(&r, lines);
    state_rig_fini(&r);
}

static void test_rows_change_and_go(void **state)
{
    const struct row_fact fact = {2, ROW_VERSION, str_c(""), str_c("5")};
    const struct row_fact later = {2, ROW_VERSION, str_c(""), str_c("6")};
    struct state_rig r;

    (void)state;
    state_rig_init(&r);
    batch_fact(&r.batch, &fact);
    state_rig_object(&r, 3, "a", "{}1");
    state_rig_object(&r, 3, "b", "{}2");
    state_rig_delivery(&r, 5, "a", 1);
    state_rig_delivery(&r, 5, "b", 1);
    state_rig_apply(&r);
    batch_fact(&r.batch, &later);
    state_rig_object(&r, 3, "a", NULL);
    batch_drop_object(&r.batch, 3, str_c("b"));
    batch_drop_object(&r.batch, 3, str_c("never"));
    state_rig_delivery(&r, 5, "a", 2);
    batch_drop_delivery(&r.batch, 5, str_c("b"), str_c("other"));
    batch_drop_delivery(&r.batch, 5, str_c("b"), str_c("u1"));
    state_rig_apply(&r);
    state_rig_expect(&r, "fact 2 version [] 6\n"
                         "mark 5 a u1 note 0 open told 2\n"
                         "object 3 a u1 rv 7 gen  v1/K at 1 -1 digest abc\n");
    batch_drop_fact(&r.batch, 2, ROW_VERSION, str_c(""));
    batch_clear_scope(&r.batch, 3);
    state_rig_apply(&r);
    state_rig_expect(&r, "mark 5 a u1 note 0 open told 2\n");
    batch_reset(&r.batch);
    state_rig_apply(&r);
    state_rig_expect(&r, "");
    state_rig_fini(&r);
}

static void test_a_delivery_keeps_the_last_state_of_an_ended_incarnation(void **state)
{
    const struct row_object last = {
        .uid = str_c("u9"),
        .rv = str_c("4"),
        .rv_at = ROW_NOWHERE,
        .generation_at = ROW_NOWHERE,
        .body = str_c("{last}"),
        .whole = true,
    };
    struct row_delivery m = {
        .source = 5,
        .key = str_c("a"),
        .uid = str_c("u9"),
        .is_handled = true,
        .handled = {1, 0},
        .is_delivered = true,
        .delivered = {2, 0},
        .is_ended = true,
        .note = 3,
    };
    struct state_rig r;

    (void)state;
    m.last = last;
    struct row_delivery thin = m;
    thin.key = str_c("b");
    thin.last.whole = false;
    thin.last.digest.lo = 0xd;
    state_rig_init(&r);
    batch_delivery(&r.batch, &m, NULL);
    batch_delivery(&r.batch, &thin, NULL);
    state_rig_delivery(&r, 5, "a", 8); /* of the next incarnation */
    state_rig_apply(&r);
    state_rig_expect(
        &r, "mark 5 a u1 note 0 open told 8\n"
            "mark 5 a u9 note 3 handled 1 told 2 ended u9 rv 4 gen  / at -1 -1 {last}\n"
            "mark 5 b u9 note 3 handled 1 told 2 ended u9 rv 4 gen  / at -1 -1 digest d\n");
    state_rig_fini(&r);
}

/* The loader takes no key and no uid with a NUL; the writer can write and drop one. */
static void test_any_bytes_are_kept(void **state)
{
    char odd[] = "k\0e\xff'\"y";
    const struct str id = str_c("k\1e\xff'\"y");
    struct row_object o = {.key = id,
                           .uid = id,
                           .rv = str_of(odd, sizeof(odd) - 1),
                           .rv_at = 0,
                           .generation_at = 4,
                           .body = str_of(odd, sizeof(odd) - 1),
                           .whole = true};
    enum loader_found found;
    struct state_rig r;

    (void)state;
    state_rig_init(&r);
    batch_object(&r.batch, 3, &o, NULL);
    o.key = str_c("k");
    batch_object(&r.batch, 3, &o, NULL);
    state_rig_apply(&r);
    char *text = state_rig_load(&r, &found);
    assert_int_equal(found, LOADER_STATE); /* the sums of the rows agree */
    free(text);
    batch_drop_object(&r.batch, 3, str_c("k"));
    o.key = o.uid = str_of(odd, sizeof(odd) - 1);
    batch_object(&r.batch, 3, &o, NULL);
    state_rig_apply(&r);
    batch_drop_object(&r.batch, 3, o.key);
    batch_drop_object(&r.batch, 3, id);
    state_rig_apply(&r);
    state_rig_expect(&r, "");
    state_rig_fini(&r);
}

static void test_an_item_goes_with_all_below_it(void **state)
{
    const struct row_fact version = {3, ROW_VERSION, str_c(""), str_c("5")};
    struct state_rig r;

    (void)state;
    state_rig_init(&r);
    state_rig_item(&r, 2, ROW_KIND_WATCH, 0, "pods");
    state_rig_item(&r, 3, ROW_KIND_SCOPE, 2, "");
    state_rig_item(&r, 4, ROW_KIND_HOOK, 0, "h");
    state_rig_item(&r, 5, ROW_KIND_SOURCE, 4, "pods");
    batch_fact(&r.batch, &version);
    state_rig_object(&r, 3, "a", "{}");
    state_rig_delivery(&r, 5, "a", 1);
    state_rig_apply(&r);
    batch_drop_item(&r.batch, 2);
    state_rig_apply(&r);
    state_rig_expect(&r, "item 4 kind 4 parent 0 h\n"
                         "item 5 kind 5 parent 4 pods\n"
                         "mark 5 a u1 note 0 open told 1\n");
    batch_drop_item(&r.batch, 5); /* the statements behind the failing one, too */
    state_rig_apply(&r);
    state_rig_expect(&r, "item 4 kind 4 parent 0 h\n");
    state_rig_item(&r, 5, ROW_KIND_SOURCE, 4, "pods");
    state_rig_delivery(&r, 5, "a", 1);
    batch_drop_item(&r.batch, 4);
    state_rig_apply(&r);
    state_rig_expect(&r, "");
    state_rig_fini(&r);
}

/* One random operation on one of few rows, so that several operations meet on a row. */
static void put_random(struct batch *b, struct rng *rng)
{
    static const char *const bodies[] = {"{}", "{\"a\":1}", "{\"b\":2}"};
    char key[16];
    uint64_t dice = rng_next(rng) % 100;
    uint64_t id = 1 + rng_next(rng) % 3;

    snprintf(key, sizeof(key), "k%d", (int)(rng_next(rng) % 8));
    const struct row_object o = {.key = str_c(key),
                                 .rv_at = 0,
                                 .generation_at = ROW_NOWHERE,
                                 .body = str_c(bodies[rng_next(rng) % 3]),
                                 .whole = dice % 2 == 0};
    const struct row_delivery m = {.source = id,
                                   .key = str_c(key),
                                   .uid = str_c(dice % 3 ? "u" : "v"),
                                   .attempted = dice % 2 == 0,
                                   .note = (uint32_t)dice,
                                   .is_ended = dice % 5 == 0,
                                   .last = o};
    const struct row_fact f = {id, (enum row_what)(dice % ROW_WHATS), str_c(key), str_c(key)};
    const struct row_item i = {id, ROW_KIND_WATCH, 0, str_c(key), 0};

    if (dice < 30)
        batch_object(b, id, &o, NULL);
    else if (dice < 45)
        batch_drop_object(b, id, o.key);
    else if (dice < 65)
        batch_delivery(b, &m, NULL);
    else if (dice < 75)
        batch_drop_delivery(b, id, m.key, m.uid);
    else if (dice < 83)
        batch_fact(b, &f);
    else if (dice < 88)
        batch_drop_fact(b, f.item, f.what, f.key);
    else if (dice < 92)
        batch_item(b, &i);
    else if (dice < 95)
        batch_clear_scope(b, id);
    else if (dice < 98)
        batch_drop_item(b, id);
    else
        batch_reset(b);
}

/* One operation after the other, all at once, and compacted: the same state. */
static void test_batches_may_be_joined_and_compacted(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= campaign_size(5, 20); seed++) {
        struct state_rig single;
        struct state_rig joined;
        enum loader_found found;
        struct rng rng;

        state_rig_init(&single);
        state_rig_init(&joined);
        rng_seed(&rng, seed);
        for (int i = 0; i < 150; i++) {
            struct rng again = rng;
            struct batch one = {0};

            put_random(&single.batch, &rng);
            state_rig_apply(&single);
            put_random(&one, &again);
            batch_join(&joined.batch, &one);
            batch_fini(&one);
        }
        size_t before = joined.batch.count;
        batch_compact(&joined.batch);
        assert_true(joined.batch.count < before);
        state_rig_apply(&joined);
        char *want = state_rig_load(&single, &found);
        assert_int_equal(found, LOADER_STATE);
        state_rig_expect(&joined, want);
        free(want);
        state_rig_fini(&single);
        state_rig_fini(&joined);
    }
}

/* A limit on the size of files stands for a full disk. */
static void limit_files(rlim_t bytes)
{
    struct rlimit limit = {bytes, RLIM_INFINITY};

    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

static void test_a_batch_is_written_whole_or_not_at_all(void **state)
{
    char body[2000];
    struct state_rig r;

    (void)state;
    memset(body, 'x', sizeof(body) - 1);
    body[sizeof(body) - 1] = '\0';
    state_rig_init(&r);
    state_rig_delivery(&r, 5, "a", 1);
    state_rig_apply(&r);
    for (int i = 0; i < 2000; i++) {
        char key[16];

        snprintf(key, sizeof(key), "k%d", i);
        state_rig_object(&r, 3, key, body);
    }
    limit_files(1 << 20);
    assert_int_equal(state_rig_try(&r), ERR_IO);
    assert_non_null(strstr(r.err.text, "File too large"));
    limit_files(RLIM_INFINITY);
    state_rig_expect(&r, "mark 5 a u1 note 0 open told 1\n");
    assert_int_equal(r.batch.count, 2000);
    state_rig_apply(&r);
    batch_clear_scope(&r.batch, 3);
    state_rig_apply(&r);
    state_rig_expect(&r, "mark 5 a u1 note 0 open told 1\n");
    state_rig_fini(&r);
}

static void test_the_log_is_moved_into_the_file(void **state)
{
    struct writer_report report;
    struct state_rig r;
    struct stat st;

    (void)state;
    state_rig_init(&r);
    assert_int_equal(syncer_run(r.folder, false, &r.err), ERR_NOT_FOUND);
    for (int i = 0; i < 50; i++) {
        state_rig_delivery(&r, 5, "a", (uint64_t)i);
        assert_int_equal(writer_apply(r.writer, &r.batch, &report, &r.err), ERR_OK);
        batch_clear(&r.batch);
    }
    assert_true(report.wal_pages >= 50);
    assert_int_equal(syncer_run(r.folder, false, &r.err), ERR_OK);
    assert_int_equal(stat(r.folder->db, &st), 0);
    assert_int_equal(st.st_size, 16384); /* only the first page */
    assert_int_equal(syncer_run(r.folder, true, &r.err), ERR_OK);
    assert_int_equal(stat(r.folder->db, &st), 0);
    assert_true(st.st_size > 16384);
    state_rig_delivery(&r, 5, "a", 99);
    assert_int_equal(writer_apply(r.writer, &r.batch, &report, &r.err), ERR_OK);
    assert_true(report.wal_pages < 5); /* the log was begun anew */
    state_rig_again(&r, STATE_RIG_LIMIT);
    state_rig_expect(&r, "mark 5 a u1 note 0 open told 63\n");
    state_rig_fini(&r);
}

static void fill(struct state_rig *r, uint64_t stream, int n)
{
    static char body[7000]; /* the batch only borrows it */

    memset(body, 'x', sizeof(body) - 1);
    body[sizeof(body) - 1] = '\0';
    for (int i = 0; i < n; i++) {
        char key[16];

        snprintf(key, sizeof(key), "k%d", i);
        state_rig_object(r, stream, key, body);
    }
}

static unsigned count(const char *text, const char *word)
{
    unsigned n = 0;

    for (const char *p = text; (p = strstr(p, word)) != NULL; p++)
        n++;
    return n;
}

static void put_version(struct state_rig *r, uint64_t stream)
{
    const struct row_fact version = {stream, ROW_VERSION, str_c(""), str_c("1")};

    batch_fact(&r->batch, &version);
}

static struct writer_report apply_reported(struct state_rig *r)
{
    struct writer_report report;

    assert_int_equal(writer_apply(r->writer, &r->batch, &report, &r->err), ERR_OK);
    batch_clear(&r->batch);
    return report;
}

/* A scope of a watch that is not used, and two of others; many delivery records. */
static void fill_to_the_limit(struct state_rig *r)
{
    const struct row_item unused = {2, ROW_KIND_WATCH, 0, str_c("old"), 1000};

    batch_item(&r->batch, &unused);
    state_rig_item(r, 3, ROW_KIND_SCOPE, 2, "");
    fill(r, 3, 10);
    fill(r, 4, 40);
    fill(r, 5, 150);
    for (uint64_t stream = 3; stream <= 5; stream++)
        put_version(r, stream);
    for (int i = 0; i < 500; i++) {
        char key[16];

        snprintf(key, sizeof(key), "k%d", i);
        state_rig_delivery(r, 9, key, 1);
    }
}

static void test_over_the_limit_unused_rows_go_first_then_the_largest_scope(void **state)
{
    enum loader_found found;
    struct state_rig r;

    (void)state;
    state_rig_init(&r);
    state_rig_again(&r, 2000000);
    fill_to_the_limit(&r);
    struct writer_report report = apply_reported(&r);
    assert_true(report.dropped_items == 0 && report.dropped_scopes == 0);
    fill(&r, 6, 60);
    report = apply_reported(&r);
    assert_true(report.dropped_items == 1 && report.dropped_scopes == 1);
    fill(&r, 5, 1);
    put_version(&r, 5);
    state_rig_apply(&r);
    char *text = state_rig_load(&r, &found);
    assert_int_equal(found, LOADER_STATE);
    assert_int_equal(count(text, "item "), 0);
    assert_int_equal(count(text, "object 3 "), 0);
    assert_int_equal(count(text, "object 4 "), 40);
    assert_int_equal(count(text, "object 5 "), 0);
    assert_int_equal(count(text, "object 6 "), 60);
    assert_int_equal(count(text, "mark 9 "), 500);
    assert_int_equal(count(text, "fact 4 version"), 1);
    assert_int_equal(count(text, "fact 5 version"), 0);
    free(text);
    state_rig_fini(&r);
}

static void test_rows_that_could_not_be_dropped_are_kept(void **state)
{
    enum loader_found found;
    struct state_rig r;

    (void)state;
    state_rig_init(&r);
    state_rig_again(&r, 2000000);
    fill_to_the_limit(&r);
    state_rig_apply(&r);
    state_rig_sql(&r, "CREATE TRIGGER stays BEFORE DELETE ON object WHEN OLD.stream=5"
                      " BEGIN SELECT RAISE(FAIL, 'no'); END");
    fill(&r, 6, 60);
    struct writer_report report = apply_reported(&r);
    assert_true(report.dropped_items == 0 && report.dropped_scopes == 0);
    state_rig_sql(&r, "DROP TRIGGER stays");
    state_rig_object(&r, 5, "new", "{}");
    state_rig_apply(&r);
    char *text = state_rig_load(&r, &found);
    assert_int_equal(found, LOADER_STATE);
    assert_int_equal(count(text, "object 5 "), 151);
    free(text);
    state_rig_fini(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nothing_is_there_at_first),
        cmocka_unit_test(test_rows_come_back_after_a_kill_and_after_an_end),
        cmocka_unit_test(test_rows_change_and_go),
        cmocka_unit_test(test_a_delivery_keeps_the_last_state_of_an_ended_incarnation),
        cmocka_unit_test(test_any_bytes_are_kept),
        cmocka_unit_test(test_an_item_goes_with_all_below_it),
        cmocka_unit_test(test_batches_may_be_joined_and_compacted),
        cmocka_unit_test(test_a_batch_is_written_whole_or_not_at_all),
        cmocka_unit_test(test_the_log_is_moved_into_the_file),
        cmocka_unit_test(test_over_the_limit_unused_rows_go_first_then_the_largest_scope),
        cmocka_unit_test(test_rows_that_could_not_be_dropped_are_kept),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
