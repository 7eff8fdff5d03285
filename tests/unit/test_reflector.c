/* SPDX-License-Identifier: Apache-2.0 */
#include "objects.h"

#include <string.h>

#include "cache/reflector.h"

enum { INITIAL = 800, RESET_AFTER = 120000 };

static const struct reflector_params defaults = {
    .backoff = {.initial_ms = INITIAL, .max_ms = 30000, .factor = 2, .jitter = 0},
    .reset_after_ms = RESET_AFTER,
    .page_size = 500,
    .watch_min_s = 300,
    .watch_max_s = 600,
};

static struct reflector *r;
static struct reflector_action last;
static uint64_t now;

static int set_up(void **state)
{
    (void)state;
    now = 1000000;
    r = reflector_create(&defaults, 1);
    return 0;
}

static int clean_up(void **state)
{
    (void)state;
    reflector_destroy(&r);
    reflector_destroy(&r);
    assert_null(r);
    return 0;
}

static void use(const struct reflector_params *p)
{
    reflector_destroy(&r);
    r = reflector_create(p, 1);
}

/* ---- Inputs: each puts the answer in last. */

static void start(void)
{
    last = reflector_start(r, now);
}

static void listed(const char *rv, const char *next)
{
    last = reflector_listed(r, str_c(rv), str_c(next), now);
}

static void ended_after(uint64_t ms)
{
    now += ms;
    last = reflector_ended(r, now);
}

static void failed_asking(enum err_kind kind, uint64_t retry_after_ms)
{
    last = reflector_failed(r, &(struct err){.kind = kind}, retry_after_ms, now);
}

static void failed(enum err_kind kind)
{
    failed_asking(kind, 0);
}

static void timer(void)
{
    now += last.wait_ms;
    last = reflector_timer(r, now);
}

static void sync_at(const char *rv)
{
    start();
    listed(rv, "");
}

/* ---- Checks of the answer. */

static void assert_same_text(const char *got, const char *want)
{
    if (want == NULL)
        assert_null(got);
    else
        assert_string_equal(got != NULL ? got : "(none)", want);
}

static void assert_list(const char *rv, const char *next, unsigned limit)
{
    assert_int_equal(last.what, REFLECTOR_LIST);
    assert_int_equal(reflector_state(r), REFLECTOR_LISTING);
    assert_same_text(last.rv, rv);
    assert_same_text(last.next, next);
    assert_int_equal(last.limit, limit);
}

static void assert_watch(const char *rv)
{
    assert_int_equal(last.what, REFLECTOR_WATCH);
    assert_int_equal(reflector_state(r), REFLECTOR_WATCHING);
    assert_same_text(last.rv, rv);
    assert_same_text(reflector_rv(r), rv);
    assert_in_range(last.timeout_s, 300, 600);
    assert_null(last.next);
    assert_int_equal(last.limit, 0);
}

static void assert_wait(uint64_t ms)
{
    assert_int_equal(last.what, REFLECTOR_WAIT);
    assert_int_equal(reflector_state(r), REFLECTOR_BACKOFF);
    assert_int_equal(last.wait_ms, ms);
}

/* ---- Lists: versions, pages (PROTOCOL 1.3). */

static void test_the_first_list_asks_for_zero_in_pages(void **state)
{
    (void)state;
    assert_same_text(reflector_rv(r), "");
    start();
    assert_list("0", NULL, 500);
    assert_int_equal(reflector_lists(r), 1);
    listed("7", "");
    assert_watch("7");
    assert_int_equal(reflector_lists(r), 1);
}

static void test_pages_carry_the_token_and_the_version_of_page_one_counts(void **state)
{
    (void)state;
    start();
    listed("7", "t1");
    assert_list(NULL, "t1", 500);
    listed("8", "t2");
    assert_list(NULL, "t2", 500);
    assert_int_equal(reflector_lists(r), 1);
    listed("9", "");
    assert_watch("7");
}

static void test_a_server_that_paged_zero_is_asked_in_pages_from_then_on(void **state)
{
    (void)state;
    start();
    listed("7", "t1");
    listed("7", "");
    failed(ERR_EXPIRED);
    timer();
    assert_list("7", NULL, 500);
}

static void test_a_relist_from_a_known_version_has_no_limit(void **state)
{
    (void)state;
    sync_at("7");
    reflector_seen(r, str_c("8"));
    failed(ERR_EXPIRED);
    assert_wait(INITIAL);
    timer();
    assert_list("8", NULL, 0);
    listed("9", "");
    assert_watch("9");
}

static void test_page_always_pages_known_versions_too(void **state)
{
    struct reflector_params p = defaults;

    (void)state;
    p.page_always = true;
    p.page_size = 50;
    use(&p);
    sync_at("7");
    failed(ERR_SERVER);
    timer();
    assert_list("7", NULL, 50);
    listed("9", "t");
    assert_list(NULL, "t", 50);
    failed(ERR_EXPIRED);
    assert_list("7", NULL, 0);
}

static void test_without_a_page_size_there_is_no_limit(void **state)
{
    struct reflector_params p = defaults;

    (void)state;
    p.page_size = 0;
    use(&p);
    start();
    assert_list("0", NULL, 0);
    listed("7", "t"); /* some servers page unasked */
    assert_list(NULL, "t", 0);
    failed(ERR_EXPIRED);
    assert_list("0", NULL, 0);
    failed(ERR_EXPIRED);
    assert_list(NULL, NULL, 0);
}

static void test_expired_tokens_end_in_ever_larger_lists_then_in_a_wait(void **state)
{
    (void)state;
    sync_at("7");
    failed(ERR_SERVER);
    timer();
    assert_list("7", NULL, 0);
    failed(ERR_EXPIRED);
    assert_list(NULL, NULL, 500);
    listed("9", "t");
    failed(ERR_EXPIRED);
    assert_list(NULL, NULL, 0);
    failed(ERR_EXPIRED);
    assert_wait(INITIAL + INITIAL);
    timer();
    assert_list(NULL, NULL, 500); /* the mark stays until a list succeeds */
    listed("9", "");
    assert_watch("9");
    failed(ERR_EXPIRED);
    timer();
    assert_list("9", NULL, 0);
}

static void test_an_expired_token_without_a_known_version_lists_zero_whole(void **state)
{
    (void)state;
    start();
    listed("7", "t");
    failed(ERR_EXPIRED);
    assert_list("0", NULL, 0);
    assert_int_equal(reflector_lists(r), 2);
    listed("8", "");
    assert_watch("8"); /* not that of the page that was dropped */
}

static void test_a_whole_list_that_fails_is_tried_in_pages_again(void **state)
{
    (void)state;
    start();
    listed("7", "t");
    failed(ERR_EXPIRED);
    failed(ERR_SERVER);
    timer();
    assert_list("0", NULL, 500);
}

static void test_a_failed_page_begins_the_list_anew(void **state)
{
    (void)state;
    start();
    listed("7", "t");
    failed(ERR_CLOSED);
    assert_wait(INITIAL);
    timer();
    assert_list("0", NULL, 500);
    listed("8", "");
    assert_watch("8");
}

static void test_a_version_from_the_future_is_left_out_at_once(void **state)
{
    (void)state;
    sync_at("7");
    failed_asking(ERR_FUTURE, 0);
    assert_wait(INITIAL);
    timer();
    assert_list(NULL, NULL, 500);
    listed("3", "");
    assert_watch("3"); /* backwards is legal here (PROTOCOL 1.15) */
}

/* ---- Waits. */

static void test_the_server_may_ask_for_a_longer_wait(void **state)
{
    (void)state;
    start();
    failed_asking(ERR_BUSY, 5000);
    assert_wait(5000);
    timer();
    failed_asking(ERR_BUSY, 100);
    assert_wait(INITIAL + INITIAL); /* max(step, Retry-After) */
}

static void test_lists_and_watches_climb_one_ladder_to_its_top(void **state)
{
    static const uint64_t steps[] = {800, 1600, 3200, 6400, 12800, 25600, 30000, 30000};

    (void)state;
    sync_at("7");
    for (size_t i = 0; i < ARRAY_LEN(steps); i++) {
        failed(i % 2 == 0 ? ERR_REFUSED : ERR_SERVER);
        assert_wait(steps[i]);
        timer();
        if (i % 2 != 0)
            listed("7", "");
    }
}

/* Behind a proxy that ends streams each minute, a stream alone never lives long enough. */
static void test_streams_that_follow_each_other_are_healthy_together(void **state)
{
    (void)state;
    sync_at("7");
    failed(ERR_SERVER);
    timer();
    listed("7", "");
    ended_after(RESET_AFTER / 2);
    ended_after(RESET_AFTER / 2);
    assert_watch("7");
    failed(ERR_SERVER);
    assert_wait(INITIAL);
}

static void test_only_health_resets_the_ladder(void **state)
{
    (void)state;
    sync_at("7");
    failed(ERR_SERVER);
    timer();
    listed("8", ""); /* a list that works is no health yet */
    now += RESET_AFTER - 1;
    failed(ERR_SERVER);
    assert_wait(INITIAL + INITIAL);
    timer();
    listed("9", "");
    reflector_seen(r, str_c("10"));
    now += RESET_AFTER;
    failed(ERR_SERVER);
    assert_wait(INITIAL);
}

static void test_a_very_short_watch_waits_and_lists(void **state)
{
    (void)state;
    sync_at("7");
    ended_after(999);
    assert_wait(INITIAL);
    timer();
    assert_list("7", NULL, 0);
}

static void test_a_short_watch_with_an_event_or_an_empty_one_of_a_second_goes_on(void **state)
{
    (void)state;
    sync_at("7");
    reflector_seen(r, str_c("8"));
    ended_after(10);
    assert_watch("8");
    ended_after(1000);
    assert_watch("8");
    ended_after(999); /* the event was of another stream */
    assert_wait(INITIAL);
}

static void test_the_last_version_counts_not_the_largest(void **state)
{
    (void)state;
    sync_at("7");
    reflector_seen(r, str_c("55"));
    reflector_seen(r, str_c("32"));
    ended_after(5000);
    assert_watch("32");
}

static void test_watch_timeouts_are_spread_over_their_range(void **state)
{
    unsigned low = UINT32_MAX;
    unsigned high = 0;

    (void)state;
    sync_at("7");
    for (int i = 0; i < 20000; i++) {
        ended_after(2000);
        low = last.timeout_s < low ? last.timeout_s : low;
        high = last.timeout_s > high ? last.timeout_s : high;
    }
    assert_int_equal(low, 300);
    assert_int_equal(high, 600);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, clean_up)
    const struct CMUnitTest tests[] = {
        TEST(test_the_first_list_asks_for_zero_in_pages),
        TEST(test_pages_carry_the_token_and_the_version_of_page_one_counts),
        TEST(test_a_server_that_paged_zero_is_asked_in_pages_from_then_on),
        TEST(test_a_relist_from_a_known_version_has_no_limit),
        TEST(test_page_always_pages_known_versions_too),
        TEST(test_without_a_page_size_there_is_no_limit),
        TEST(test_expired_tokens_end_in_ever_larger_lists_then_in_a_wait),
        TEST(test_an_expired_token_without_a_known_version_lists_zero_whole),
        TEST(test_a_whole_list_that_fails_is_tried_in_pages_again),
        TEST(test_a_failed_page_begins_the_list_anew),
        TEST(test_a_version_from_the_future_is_left_out_at_once),
        TEST(test_the_server_may_ask_for_a_longer_wait),
        TEST(test_lists_and_watches_climb_one_ladder_to_its_top),
        TEST(test_streams_that_follow_each_other_are_healthy_together),
        TEST(test_only_health_resets_the_ladder),
        TEST(test_a_very_short_watch_waits_and_lists),
        TEST(test_a_short_watch_with_an_event_or_an_empty_one_of_a_second_goes_on),
        TEST(test_the_last_version_counts_not_the_largest),
        TEST(test_watch_timeouts_are_spread_over_their_range),
    };
#undef TEST

    return cmocka_run_group_tests(tests, NULL, NULL);
}
