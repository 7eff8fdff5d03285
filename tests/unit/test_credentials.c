/* SPDX-License-Identifier: Apache-2.0 */
/* When credentials are read, and which are used, in virtual time. */
#include "kube/credentials.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/compiler.h"

enum {
    START_MS = 1000,
    WALL_S = 1700000000,
    MINUTE_MS = 60000,
    TEN_MINUTES_MS = 600000,
    HOUR_MS = 3600000,
    CHECK_MS = 300000,
    TOKEN_MS = 50000,
    RETRY_MS = 800,
    DOUBT_MS = 5000
};

/* The digest 0 stands for credentials that cannot be read or used. */
enum { BAD = 0, OLD = 1, NEW = 2 };

static struct credentials all;
static uint64_t now_ms;
static bool is_news;

static void begin(struct credentials_params p)
{
    p.retry = (struct backoff_params){RETRY_MS, 30000, 2, 0};
    now_ms = START_MS;
    credentials_init(&all, &p, now_ms);
}

/* One source; every other one is not configured. */
static void begin_one(enum credentials_source source, enum credentials_how how)
{
    struct credentials_params p = {0};

    p.how[source] = how;
    begin(p);
}

static void expect_reading(enum credentials_source source)
{
    enum credentials_source taken = CREDENTIALS_SOURCES;

    assert_true(credentials_take(&all, now_ms, &taken));
    assert_int_equal(taken, source);
}

static void expect_rest(void)
{
    enum credentials_source taken;

    assert_false(credentials_take(&all, now_ms, &taken));
    assert_true(credentials_due_ms(&all) > now_ms);
}

static enum credentials_verdict judge_until(enum credentials_source source, uint64_t digest,
                                            uint64_t left_s)
{
    const struct credentials_reading r = {
        .is_good = digest != BAD,
        .digest = {digest, 0},
        .wall_s = WALL_S,
        .expires_s = left_s > 0 ? WALL_S + left_s : 0
    };

    is_news = false;
    return credentials_judge(&all, source, &r, now_ms, &is_news);
}

static enum credentials_verdict judge(enum credentials_source source, uint64_t digest)
{
    return judge_until(source, digest, 0);
}

/* The source is read now, with this result. */
static enum credentials_verdict read_one(enum credentials_source source, uint64_t digest)
{
    expect_reading(source);
    return judge(source, digest);
}

/* It is read for the first time, and used. */
static void use_one(enum credentials_source source, enum credentials_how how)
{
    begin_one(source, how);
    assert_int_equal(read_one(source, OLD), CREDENTIALS_USE);
    assert_false(is_news);
    expect_rest();
}

static void pass_to_due(void)
{
    assert_true(credentials_due_ms(&all) != UINT64_MAX);
    now_ms = credentials_due_ms(&all);
}

/* ---- The first reading */

static void test_all_sources_are_read_at_the_start(void **state)
{
    struct credentials_params p = {
        .how = {CREDENTIALS_FILES, CREDENTIALS_FIXED, CREDENTIALS_FILES}
    };

    (void)state;
    begin(p);
    assert_int_equal(credentials_due_ms(&all), now_ms);
    assert_false(credentials_has(&all, CREDENTIALS_CA, (struct digest){0}));
    expect_reading(CREDENTIALS_CA);
    expect_reading(CREDENTIALS_PAIR);
    expect_reading(CREDENTIALS_TOKEN);
    assert_int_equal(credentials_due_ms(&all), UINT64_MAX);
    assert_int_equal(judge(CREDENTIALS_PAIR, OLD), CREDENTIALS_USE);
    assert_int_equal(judge(CREDENTIALS_TOKEN, OLD), CREDENTIALS_USE);
    assert_false(credentials_are_usable(&all));
    assert_int_equal(judge(CREDENTIALS_CA, OLD), CREDENTIALS_USE);
    assert_true(credentials_are_usable(&all));
    expect_rest();
}

static void test_without_sources_all_is_usable(void **state)
{
    (void)state;
    begin((struct credentials_params){0});
    assert_true(credentials_are_usable(&all));
    assert_int_equal(credentials_due_ms(&all), UINT64_MAX);
}

static void test_a_first_failure_is_news_each_time_and_is_tried_again(void **state)
{
    uint64_t pause = RETRY_MS;

    (void)state;
    begin_one(CREDENTIALS_PAIR, CREDENTIALS_FILES);
    for (int i = 0; i < 4; i++, pause *= 2) {
        assert_int_equal(read_one(CREDENTIALS_PAIR, BAD), CREDENTIALS_LACK);
        assert_true(is_news);
        assert_false(credentials_are_usable(&all));
        expect_rest();
        assert_int_equal(credentials_due_ms(&all), now_ms + pause);
        pass_to_due();
    }
    assert_int_equal(read_one(CREDENTIALS_PAIR, OLD), CREDENTIALS_USE);
    assert_false(is_news);
    assert_true(credentials_are_usable(&all));
    /* The pauses begin anew. */
    credentials_changed(&all, CREDENTIALS_PAIR, now_ms);
    assert_int_equal(read_one(CREDENTIALS_PAIR, BAD), CREDENTIALS_KEEP);
    assert_int_equal(credentials_due_ms(&all), now_ms + RETRY_MS);
}

static void test_a_fixed_token_stands_in_until_the_file_can_be_used(void **state)
{
    struct credentials_params p = {.how = {[CREDENTIALS_TOKEN] = CREDENTIALS_FILES},
                                   .has_stand_in = {[CREDENTIALS_TOKEN] = true}};

    (void)state;
    begin(p);
    assert_int_equal(read_one(CREDENTIALS_TOKEN, BAD), CREDENTIALS_STAND_IN);
    assert_true(is_news);
    assert_true(credentials_are_usable(&all));
    pass_to_due();
    assert_int_equal(read_one(CREDENTIALS_TOKEN, BAD), CREDENTIALS_KEEP);
    assert_false(is_news);
    pass_to_due();
    assert_int_equal(read_one(CREDENTIALS_TOKEN, OLD), CREDENTIALS_USE);
    assert_true(is_news);
    /* The file counts from now on, even if it goes. */
    credentials_changed(&all, CREDENTIALS_TOKEN, now_ms);
    assert_int_equal(read_one(CREDENTIALS_TOKEN, BAD), CREDENTIALS_KEEP);
}

/* ---- The next readings */

static void test_fixed_sources_are_read_once(void **state)
{
    (void)state;
    use_one(CREDENTIALS_PAIR, CREDENTIALS_FIXED);
    credentials_refused(&all, now_ms);
    credentials_changed(&all, CREDENTIALS_PAIR, now_ms);
    assert_int_equal(credentials_due_ms(&all), UINT64_MAX);
}

static void test_files_are_checked_now_and_then(void **state)
{
    static const uint64_t every[CREDENTIALS_PLUGIN] = {CHECK_MS, CHECK_MS, TOKEN_MS};

    (void)state;
    for (enum credentials_source s = CREDENTIALS_CA; s < CREDENTIALS_PLUGIN; s++) {
        use_one(s, CREDENTIALS_FILES);
        for (int i = 0; i < 3; i++) {
            assert_int_equal(credentials_due_ms(&all), now_ms + every[s]);
            pass_to_due();
            assert_int_equal(read_one(s, OLD), CREDENTIALS_SAME);
            assert_false(is_news);
            expect_rest();
        }
        pass_to_due();
        assert_int_equal(read_one(s, NEW), CREDENTIALS_USE);
    }
}

static void test_a_token_with_an_expiry_is_read_before_that(void **state)
{
    /* Seconds that are left, and until the file is read again. */
    static const uint64_t cases[][2] = {
        {86400, 300},
        {3600,  300},
        {720,   72 }, /* an hour's token when the kubelet renews it */
        {600,   60 },
        {120,   12 }, /* a token of ten minutes, renewed in the same way */
        {30,    10 },
        {1,     10 },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        begin_one(CREDENTIALS_TOKEN, CREDENTIALS_FILES);
        expect_reading(CREDENTIALS_TOKEN);
        judge_until(CREDENTIALS_TOKEN, OLD, cases[i][0]);
        assert_int_equal(credentials_due_ms(&all), now_ms + cases[i][1] * 1000);
    }
}

/* Without events, a token that is renewed at 80 % of its life is in use well before the end. */
static void test_a_token_that_the_kubelet_renews_never_expires_in_use(void **state)
{
    static const uint64_t lives_s[] = {600, 3600, 86400};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(lives_s); i++) {
        uint64_t life_ms = lives_s[i] * 1000;

        begin_one(CREDENTIALS_TOKEN, CREDENTIALS_FILES);
        for (int n = 0; n < 1000; n++) {
            uint64_t number = (now_ms - START_MS) / (life_ms * 4 / 5); /* that is in the file */
            uint64_t end_ms = START_MS + number * (life_ms * 4 / 5) + life_ms;

            expect_reading(CREDENTIALS_TOKEN);
            judge_until(CREDENTIALS_TOKEN, number + 1, (end_ms - now_ms) / 1000);
            assert_true(credentials_due_ms(&all) < end_ms);
            pass_to_due();
        }
    }
}

static void test_a_wrong_clock_does_not_have_tokens_read_all_the_time(void **state)
{
    const struct credentials_reading r = {
        .is_good = true, .digest = {OLD, 0},
             .wall_s = WALL_S, .expires_s = 1
    };

    (void)state;
    begin_one(CREDENTIALS_TOKEN, CREDENTIALS_FILES);
    expect_reading(CREDENTIALS_TOKEN);
    credentials_judge(&all, CREDENTIALS_TOKEN, &r, now_ms, &is_news);
    assert_int_equal(credentials_due_ms(&all), now_ms + 10000);
}

static void test_a_program_runs_before_the_expiry_and_else_never(void **state)
{
    static const uint64_t cases[][2] = {
        {3600, 3300}, /* five minutes before */
        {1500, 1200},
        {1000, 800 }, /* a fifth is left */
        {100,  80  },
        {12,   10  },
        {8,    8   }, /* at the end */
        {1,    1   },
    };

    (void)state;
    use_one(CREDENTIALS_PLUGIN, CREDENTIALS_PROGRAM);
    assert_int_equal(credentials_due_ms(&all), UINT64_MAX);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        begin_one(CREDENTIALS_PLUGIN, CREDENTIALS_PROGRAM);
        expect_reading(CREDENTIALS_PLUGIN);
        judge_until(CREDENTIALS_PLUGIN, OLD, cases[i][0]);
        assert_int_equal(credentials_due_ms(&all), now_ms + cases[i][1] * 1000);
    }
}

static void test_a_program_that_gives_what_is_over_gets_a_pause(void **state)
{
    const struct credentials_reading r = {
        .is_good = true, .digest = {OLD, 0},
             .wall_s = WALL_S, .expires_s = WALL_S
    };

    (void)state;
    begin_one(CREDENTIALS_PLUGIN, CREDENTIALS_PROGRAM);
    expect_reading(CREDENTIALS_PLUGIN);
    assert_int_equal(credentials_judge(&all, CREDENTIALS_PLUGIN, &r, now_ms, &is_news),
                     CREDENTIALS_USE);
    assert_int_equal(credentials_due_ms(&all), now_ms + 10000);
}

/* It keeps what it got, and gives a new one at the end. */
static void test_a_program_with_a_cache_runs_a_few_times_before_the_end(void **state)
{
    int runs = 0;

    (void)state;
    begin_one(CREDENTIALS_PLUGIN, CREDENTIALS_PROGRAM);
    uint64_t end_ms = now_ms + HOUR_MS;
    for (; now_ms < end_ms; pass_to_due()) {
        expect_reading(CREDENTIALS_PLUGIN);
        judge_until(CREDENTIALS_PLUGIN, OLD, (end_ms - now_ms + 999) / 1000);
        runs++;
    }
    assert_in_range(runs, 3, 8);
    assert_in_range(now_ms, end_ms, end_ms + 1000);
}

static void test_the_failure_of_a_program_is_news_at_once(void **state)
{
    (void)state;
    use_one(CREDENTIALS_PLUGIN, CREDENTIALS_PROGRAM);
    credentials_refused(&all, now_ms);
    assert_int_equal(read_one(CREDENTIALS_PLUGIN, BAD), CREDENTIALS_KEEP);
    assert_true(is_news);
    assert_int_equal(credentials_due_ms(&all), now_ms + RETRY_MS);
    pass_to_due();
    assert_int_equal(read_one(CREDENTIALS_PLUGIN, BAD), CREDENTIALS_KEEP);
    assert_false(is_news);
    pass_to_due();
    assert_int_equal(read_one(CREDENTIALS_PLUGIN, OLD), CREDENTIALS_SAME);
    assert_true(is_news);
}

static void test_a_401_does_not_hurry_a_program_that_fails(void **state)
{
    (void)state;
    use_one(CREDENTIALS_PLUGIN, CREDENTIALS_PROGRAM);
    credentials_refused(&all, now_ms);
    read_one(CREDENTIALS_PLUGIN, BAD);
    credentials_refused(&all, now_ms);
    assert_int_equal(credentials_due_ms(&all), now_ms + RETRY_MS);
}

static void test_a_program_that_has_nothing_new_runs_ever_more_slowly(void **state)
{
    int runs = 0;

    (void)state;
    use_one(CREDENTIALS_PLUGIN, CREDENTIALS_PROGRAM);
    uint64_t end_ms = now_ms + TEN_MINUTES_MS;
    for (credentials_refused(&all, now_ms); now_ms < end_ms; pass_to_due()) {
        assert_int_equal(read_one(CREDENTIALS_PLUGIN, OLD), CREDENTIALS_SAME);
        credentials_refused(&all, now_ms);
        runs++;
    }
    assert_in_range(runs, 20, 30);
}

/* ---- Changes */

static void test_changed_files_are_read_at_once(void **state)
{
    (void)state;
    use_one(CREDENTIALS_PAIR, CREDENTIALS_FILES);
    now_ms += 10;
    credentials_changed(&all, CREDENTIALS_CA, now_ms); /* not configured */
    expect_rest();
    credentials_changed(&all, CREDENTIALS_PAIR, now_ms);
    assert_int_equal(credentials_due_ms(&all), now_ms);
    assert_int_equal(read_one(CREDENTIALS_PAIR, NEW), CREDENTIALS_USE);
    assert_true(credentials_has(&all, CREDENTIALS_PAIR, (struct digest){NEW, 0}));
    assert_false(credentials_has(&all, CREDENTIALS_PAIR, (struct digest){OLD, 0}));
    expect_rest();
}

static void test_a_change_during_a_reading_has_the_files_read_once_more(void **state)
{
    (void)state;
    use_one(CREDENTIALS_PAIR, CREDENTIALS_FILES);
    credentials_changed(&all, CREDENTIALS_PAIR, now_ms);
    expect_reading(CREDENTIALS_PAIR);
    credentials_changed(&all, CREDENTIALS_PAIR, now_ms);
    credentials_changed(&all, CREDENTIALS_PAIR, now_ms);
    assert_int_equal(credentials_due_ms(&all), UINT64_MAX);
    assert_int_equal(judge(CREDENTIALS_PAIR, OLD), CREDENTIALS_SAME);
    assert_int_equal(read_one(CREDENTIALS_PAIR, NEW), CREDENTIALS_USE);
    expect_rest();
}

static void test_credentials_that_came_back_are_used_again(void **state)
{
    (void)state;
    use_one(CREDENTIALS_CA, CREDENTIALS_FILES);
    credentials_changed(&all, CREDENTIALS_CA, now_ms);
    assert_int_equal(read_one(CREDENTIALS_CA, NEW), CREDENTIALS_USE);
    credentials_changed(&all, CREDENTIALS_CA, now_ms);
    assert_int_equal(read_one(CREDENTIALS_CA, OLD), CREDENTIALS_USE);
}

/* Certificate and key are replaced by two commands: nobody hears of it. */
static void test_a_pair_that_fits_in_time_is_no_news(void **state)
{
    (void)state;
    use_one(CREDENTIALS_PAIR, CREDENTIALS_FILES);
    credentials_changed(&all, CREDENTIALS_PAIR, now_ms);
    assert_int_equal(read_one(CREDENTIALS_PAIR, BAD), CREDENTIALS_KEEP);
    assert_false(is_news);
    assert_true(credentials_are_usable(&all));
    now_ms += DOUBT_MS - 1;
    credentials_changed(&all, CREDENTIALS_PAIR, now_ms);
    assert_int_equal(read_one(CREDENTIALS_PAIR, BAD), CREDENTIALS_KEEP);
    assert_false(is_news);
    credentials_changed(&all, CREDENTIALS_PAIR, now_ms);
    assert_int_equal(read_one(CREDENTIALS_PAIR, NEW), CREDENTIALS_USE);
    assert_false(is_news);
    assert_int_equal(credentials_due_ms(&all), now_ms + CHECK_MS);
}

/* Also when the pauses of retry are long. */
static void test_a_pair_that_does_not_fit_is_news_once(void **state)
{
    int told = 0;

    (void)state;
    for (uint64_t initial = 100; initial < HOUR_MS; initial *= 6) {
        struct credentials_params p = {.how = {[CREDENTIALS_PAIR] = CREDENTIALS_FILES}};

        begin(p);
        all.retry = (struct backoff_params){initial, HOUR_MS, 2, 1};
        read_one(CREDENTIALS_PAIR, OLD);
        credentials_changed(&all, CREDENTIALS_PAIR, now_ms);
        uint64_t since = now_ms;
        for (told = 0; now_ms < since + HOUR_MS; pass_to_due()) {
            assert_int_equal(read_one(CREDENTIALS_PAIR, BAD), CREDENTIALS_KEEP);
            told += is_news;
            assert_int_equal(told, now_ms >= since + DOUBT_MS);
            assert_true(!is_news || now_ms == since + DOUBT_MS);
        }
        assert_int_equal(told, 1);
        assert_int_equal(read_one(CREDENTIALS_PAIR, NEW), CREDENTIALS_USE);
        assert_true(is_news);
    }
}

static void test_the_end_of_a_failure_is_news_though_nothing_changed(void **state)
{
    (void)state;
    use_one(CREDENTIALS_CA, CREDENTIALS_FILES);
    credentials_changed(&all, CREDENTIALS_CA, now_ms);
    while (!is_news) {
        assert_int_equal(read_one(CREDENTIALS_CA, BAD), CREDENTIALS_KEEP);
        pass_to_due();
    }
    assert_int_equal(read_one(CREDENTIALS_CA, OLD), CREDENTIALS_SAME);
    assert_true(is_news);
    pass_to_due();
    assert_int_equal(read_one(CREDENTIALS_CA, OLD), CREDENTIALS_SAME);
    assert_false(is_news);
}

/* ---- 401 */

static void test_a_401_has_certificate_and_token_read_but_no_ca(void **state)
{
    struct credentials_params p = {
        .how = {CREDENTIALS_FILES, CREDENTIALS_FILES, CREDENTIALS_FILES}
    };

    (void)state;
    begin(p);
    for (enum credentials_source s = CREDENTIALS_CA; s < CREDENTIALS_PLUGIN; s++)
        assert_int_equal(read_one(s, OLD), CREDENTIALS_USE);
    now_ms += 1;
    credentials_refused(&all, now_ms);
    credentials_refused(&all, now_ms); /* another request */
    assert_int_equal(read_one(CREDENTIALS_PAIR, OLD), CREDENTIALS_SAME);
    assert_int_equal(read_one(CREDENTIALS_TOKEN, NEW), CREDENTIALS_USE);
    expect_rest();
}

static void test_each_401_has_the_same_token_read_at_once(void **state)
{
    (void)state;
    use_one(CREDENTIALS_TOKEN, CREDENTIALS_FILES);
    for (int i = 0; i < 5; i++) {
        now_ms += 1;
        credentials_refused(&all, now_ms);
        assert_int_equal(read_one(CREDENTIALS_TOKEN, OLD), CREDENTIALS_SAME);
        expect_rest();
    }
    credentials_refused(&all, now_ms);
    assert_int_equal(read_one(CREDENTIALS_TOKEN, NEW), CREDENTIALS_USE);
}

static void test_a_401_during_a_reading_asks_for_no_other(void **state)
{
    (void)state;
    use_one(CREDENTIALS_TOKEN, CREDENTIALS_FILES);
    credentials_refused(&all, now_ms);
    expect_reading(CREDENTIALS_TOKEN);
    credentials_refused(&all, now_ms);
    assert_int_equal(judge(CREDENTIALS_TOKEN, OLD), CREDENTIALS_SAME);
    expect_rest();
}

/* A plugin gives another token each time, and the server refuses all of them; a new one is tried at
 * once. */
static void test_tokens_that_are_all_refused_are_replaced_ever_more_slowly(void **state)
{
    uint64_t digest = NEW;
    int runs = 0;

    (void)state;
    use_one(CREDENTIALS_PLUGIN, CREDENTIALS_PROGRAM);
    uint64_t end_ms = now_ms + TEN_MINUTES_MS;
    for (credentials_refused(&all, now_ms); now_ms < end_ms; pass_to_due()) {
        assert_int_equal(read_one(CREDENTIALS_PLUGIN, digest++), CREDENTIALS_USE);
        credentials_refused(&all, now_ms);
        runs++;
    }
    assert_in_range(runs, 20, 30); /* 800 ms, 1.6 s, ... up to 30 s apart */
    now_ms += HOUR_MS;
    read_one(CREDENTIALS_PLUGIN, digest++);
    credentials_refused(&all, now_ms);
    assert_int_equal(credentials_due_ms(&all), now_ms + RETRY_MS);
}

static void test_a_401_soon_after_the_first_reading_is_not_held_back(void **state)
{
    (void)state;
    use_one(CREDENTIALS_TOKEN, CREDENTIALS_FILES);
    credentials_refused(&all, now_ms);
    assert_int_equal(credentials_due_ms(&all), now_ms);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_sources_are_read_at_the_start),
        cmocka_unit_test(test_without_sources_all_is_usable),
        cmocka_unit_test(test_a_first_failure_is_news_each_time_and_is_tried_again),
        cmocka_unit_test(test_a_fixed_token_stands_in_until_the_file_can_be_used),
        cmocka_unit_test(test_fixed_sources_are_read_once),
        cmocka_unit_test(test_files_are_checked_now_and_then),
        cmocka_unit_test(test_a_token_with_an_expiry_is_read_before_that),
        cmocka_unit_test(test_a_token_that_the_kubelet_renews_never_expires_in_use),
        cmocka_unit_test(test_a_wrong_clock_does_not_have_tokens_read_all_the_time),
        cmocka_unit_test(test_a_program_runs_before_the_expiry_and_else_never),
        cmocka_unit_test(test_a_program_that_gives_what_is_over_gets_a_pause),
        cmocka_unit_test(test_a_program_with_a_cache_runs_a_few_times_before_the_end),
        cmocka_unit_test(test_the_failure_of_a_program_is_news_at_once),
        cmocka_unit_test(test_a_401_does_not_hurry_a_program_that_fails),
        cmocka_unit_test(test_a_program_that_has_nothing_new_runs_ever_more_slowly),
        cmocka_unit_test(test_changed_files_are_read_at_once),
        cmocka_unit_test(test_a_change_during_a_reading_has_the_files_read_once_more),
        cmocka_unit_test(test_credentials_that_came_back_are_used_again),
        cmocka_unit_test(test_a_pair_that_fits_in_time_is_no_news),
        cmocka_unit_test(test_a_pair_that_does_not_fit_is_news_once),
        cmocka_unit_test(test_the_end_of_a_failure_is_news_though_nothing_changed),
        cmocka_unit_test(test_a_401_has_certificate_and_token_read_but_no_ca),
        cmocka_unit_test(test_each_401_has_the_same_token_read_at_once),
        cmocka_unit_test(test_a_401_during_a_reading_asks_for_no_other),
        cmocka_unit_test(test_tokens_that_are_all_refused_are_replaced_ever_more_slowly),
        cmocka_unit_test(test_a_401_soon_after_the_first_reading_is_not_held_back),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
