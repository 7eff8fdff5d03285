/* SPDX-License-Identifier: Apache-2.0 */
/* cache/reflector: the versions and pages that its lists ask for, and how it goes on after a watch
 * request has ended; test_reflector_*.c have the rest. */
#include "reflector_rig.h"

#define INITIAL     REFLECTOR_RIG_INITIAL
#define RESET_AFTER REFLECTOR_RIG_RESET_AFTER

/* ---- Lists: versions, pages (docs/kubernetes-protocol.md "Version of a list", "Pages"). */

static void test_the_first_list_asks_for_zero_in_pages(void **state)
{
    (void)state;
    assert_string_equal(reflector_last_sync_rv(reflector_rig.r), "");
    reflector_rig_start();
    reflector_rig_want("L(0) limit=500");
    reflector_rig_listed("7", "");
    reflector_rig_want("W(7)");
}

static void test_s3_pages_carry_the_token_and_the_version_of_page_one_counts(void **state)
{
    (void)state;
    reflector_rig_start();
    reflector_rig_listed("7", "t1");
    reflector_rig_want("L continue=t1 limit=500");
    reflector_rig_listed("8", "t2");
    reflector_rig_want("L continue=t2 limit=500");
    reflector_rig_listed("9", "");
    reflector_rig_want("W(7)");
}

static void test_s5_a_server_that_paged_zero_is_asked_in_pages_from_then_on(void **state)
{
    (void)state;
    reflector_rig_start();
    reflector_rig_listed("7", "t1");
    reflector_rig_listed("7", "");
    reflector_rig_failed(ERR_EXPIRED);
    reflector_rig_timer();
    reflector_rig_want("L(7) limit=500");
}

static void test_s4_s6_a_relist_from_a_known_version_has_no_limit(void **state)
{
    (void)state;
    reflector_rig_sync_at("7");
    reflector_rig_seen("8");
    reflector_rig_failed(ERR_EXPIRED);
    reflector_rig_want("wait 800");
    reflector_rig_timer();
    reflector_rig_want("L(8)");
    reflector_rig_listed("9", "");
    reflector_rig_want("W(9)");
}

static void test_page_always_pages_known_versions_too(void **state)
{
    struct reflector_params p = reflector_rig_defaults;

    (void)state;
    p.page_always = true;
    p.page_size = 50;
    reflector_rig_use(&p);
    reflector_rig_sync_at("7");
    reflector_rig_failed(ERR_SERVER);
    reflector_rig_timer();
    reflector_rig_want("L(7) limit=50");
    reflector_rig_listed("9", "t");
    reflector_rig_want("L continue=t limit=50");
    reflector_rig_failed(ERR_EXPIRED);
    reflector_rig_want("L(7)");
}

static void test_without_a_page_size_there_is_no_limit(void **state)
{
    struct reflector_params p = reflector_rig_defaults;

    (void)state;
    p.page_size = 0;
    reflector_rig_use(&p);
    reflector_rig_start();
    reflector_rig_want("L(0)");
    reflector_rig_listed("7", "t"); /* some servers page unasked */
    reflector_rig_want("L continue=t");
    reflector_rig_failed(ERR_EXPIRED);
    reflector_rig_want("L(0)");
    reflector_rig_failed(ERR_EXPIRED);
    reflector_rig_want("L(-)");
}

static void test_expired_tokens_end_in_ever_larger_lists_then_in_a_wait(void **state)
{
    (void)state;
    reflector_rig_sync_at("7");
    reflector_rig_failed(ERR_SERVER);
    reflector_rig_timer();
    reflector_rig_want("L(7)");
    reflector_rig_failed(ERR_EXPIRED);
    reflector_rig_want("L(-) limit=500");
    reflector_rig_listed("9", "t");
    reflector_rig_failed(ERR_EXPIRED);
    reflector_rig_want("L(-)");
    reflector_rig_failed(ERR_EXPIRED);
    reflector_rig_want("wait 1600");
    reflector_rig_timer();
    reflector_rig_want("L(-) limit=500"); /* the list stays without a version until one succeeds */
    reflector_rig_listed("9", "");
    reflector_rig_want("W(9)");
    reflector_rig_failed(ERR_EXPIRED);
    reflector_rig_timer();
    reflector_rig_want("L(9)");
}

static void test_s8_an_expired_token_without_a_known_version_lists_zero_whole(void **state)
{
    (void)state;
    reflector_rig_start();
    reflector_rig_listed("7", "t");
    reflector_rig_failed(ERR_EXPIRED);
    reflector_rig_want("L(0)");
    reflector_rig_listed("8", "");
    reflector_rig_want("W(8)"); /* not the version of the page that was dropped */
}

static void test_a_whole_list_that_fails_is_tried_in_pages_again(void **state)
{
    (void)state;
    reflector_rig_start();
    reflector_rig_listed("7", "t");
    reflector_rig_failed(ERR_EXPIRED);
    reflector_rig_failed(ERR_SERVER);
    reflector_rig_timer();
    reflector_rig_want("L(0) limit=500");
}

static void test_a_failed_page_begins_the_list_anew(void **state)
{
    (void)state;
    reflector_rig_start();
    reflector_rig_listed("7", "t");
    reflector_rig_failed(ERR_CLOSED);
    reflector_rig_want("wait 800");
    reflector_rig_timer();
    reflector_rig_want("L(0) limit=500");
    reflector_rig_listed("8", "");
    reflector_rig_want("W(8)");
}

static void test_a_version_from_the_future_is_left_out_at_once(void **state)
{
    (void)state;
    reflector_rig_sync_at("7");
    reflector_rig_failed_asking(ERR_FUTURE, 0);
    reflector_rig_want("wait 800");
    reflector_rig_timer();
    reflector_rig_want("L(-) limit=500");
    reflector_rig_listed("3", "");
    reflector_rig_want("W(3)"); /* a list without a version may go backwards:
                          * docs/kubernetes-protocol.md "Order of versions" */
}

/* ---- Waits. */

static void test_the_server_may_ask_for_a_longer_wait(void **state)
{
    (void)state;
    reflector_rig_start();
    reflector_rig_failed_asking(ERR_BUSY, 5000);
    reflector_rig_want("wait 5000");
    reflector_rig_timer();
    reflector_rig_failed_asking(ERR_BUSY, 100);
    reflector_rig_want("wait 1600"); /* max(step, Retry-After) */
}

static void test_lists_and_watches_share_one_backoff_up_to_its_maximum(void **state)
{
    static const uint64_t steps[] = {800, 1600, 3200, 6400, 12800, 25600, 30000, 30000};

    (void)state;
    reflector_rig_sync_at("7");
    for (size_t i = 0; i < ARRAY_LEN(steps); i++) {
        reflector_rig_failed(i % 2 == 0 ? ERR_REFUSED : ERR_SERVER);
        assert_int_equal(reflector_rig.last.what, REFLECTOR_WAIT);
        assert_int_equal(reflector_rig.last.wait_ms, steps[i]);
        reflector_rig_timer();
        if (i % 2 != 0)
            reflector_rig_listed("7", "");
    }
}

/* Behind a proxy that ends watch requests each minute, no request alone lives for long enough. */
static void test_watches_that_follow_each_other_are_healthy_together(void **state)
{
    (void)state;
    reflector_rig_sync_at("7");
    reflector_rig_failed(ERR_SERVER);
    reflector_rig_timer();
    reflector_rig_listed("7", "");
    reflector_rig_seen("8");
    reflector_rig_ended_after(RESET_AFTER / 2);
    reflector_rig_ended_after(RESET_AFTER / 2);
    reflector_rig_want("W(8)");
    reflector_rig_failed(ERR_SERVER);
    reflector_rig_want("wait 800");
}

static void test_only_health_resets_the_backoff(void **state)
{
    (void)state;
    reflector_rig_sync_at("7");
    reflector_rig_failed(ERR_SERVER);
    reflector_rig_timer();
    reflector_rig_listed("8", ""); /* a list that works does not count as health yet */
    reflector_rig.now += RESET_AFTER - 1;
    reflector_rig_failed(ERR_SERVER);
    reflector_rig_want("wait 1600");
    reflector_rig_timer();
    reflector_rig_listed("9", "");
    reflector_rig_seen("10");
    reflector_rig.now += RESET_AFTER;
    reflector_rig_failed(ERR_SERVER);
    reflector_rig_want("wait 800");
}

static void test_a_very_short_watch_waits_and_lists(void **state)
{
    (void)state;
    reflector_rig_sync_at("7");
    reflector_rig_ended_after(999);
    reflector_rig_want("wait 800");
    reflector_rig_timer();
    reflector_rig_want("L(7)");
}

/* A reset says nothing about the version. If it comes again and again, the answer may be an empty
 * one that a proxy has spoilt. */
static void test_a_very_short_watch_that_was_cut_lists_only_after_five_of_them(void **state)
{
    (void)state;
    reflector_rig_sync_at("7");
    for (int cut = 0; cut < 5; cut++) {
        reflector_rig_cut_after(10);
        reflector_rig_want("W(7)");
    }
    reflector_rig_seen("8"); /* the sixth one had an event */
    reflector_rig_cut_after(10);
    reflector_rig_want_wait_then(800, "W(8)");
    for (int cut = 0; cut < 5; cut++) {
        reflector_rig_cut_after(10);
        reflector_rig_timer();
        reflector_rig_want("W(8)");
    }
    assert_int_equal(reflector_rig_all_relists(), 0);
    reflector_rig_cut_after(10);
    reflector_rig_timer();
    reflector_rig_want("L(8)");
}

static void test_a_short_watch_with_an_event_or_an_empty_one_of_a_second_goes_on(void **state)
{
    (void)state;
    reflector_rig_sync_at("7");
    reflector_rig_seen("8");
    reflector_rig_ended_after(10);
    reflector_rig_want("W(8)");
    reflector_rig_ended_after(1000);
    reflector_rig_want("W(8)");
    reflector_rig_ended_after(999); /* the event was of an earlier request */
    reflector_rig_want("wait 800");
}

static void test_the_last_version_counts_not_the_largest(void **state)
{
    (void)state;
    reflector_rig_sync_at("7");
    reflector_rig_seen("55");
    reflector_rig_seen("32");
    reflector_rig_ended_after(5000);
    reflector_rig_want("W(32)");
}

static void test_watch_timeouts_are_spread_over_their_range(void **state)
{
    unsigned low = UINT32_MAX;
    unsigned high = 0;

    (void)state;
    reflector_rig_sync_at("7");
    for (int i = 0; i < 20000; i++) {
        reflector_rig_seen("8");
        reflector_rig_ended_after(20000);
        low = reflector_rig.last.timeout_s < low ? reflector_rig.last.timeout_s : low;
        high = reflector_rig.last.timeout_s > high ? reflector_rig.last.timeout_s : high;
    }
    assert_int_equal(low, 300);
    assert_int_equal(high, 600);
}

int main(void)
{
#define TEST(name) \
    cmocka_unit_test_setup_teardown(name, reflector_rig_set_up, reflector_rig_clean_up)
    const struct CMUnitTest tests[] = {
        TEST(test_the_first_list_asks_for_zero_in_pages),
        TEST(test_s3_pages_carry_the_token_and_the_version_of_page_one_counts),
        TEST(test_s5_a_server_that_paged_zero_is_asked_in_pages_from_then_on),
        TEST(test_s4_s6_a_relist_from_a_known_version_has_no_limit),
        TEST(test_page_always_pages_known_versions_too),
        TEST(test_without_a_page_size_there_is_no_limit),
        TEST(test_expired_tokens_end_in_ever_larger_lists_then_in_a_wait),
        TEST(test_s8_an_expired_token_without_a_known_version_lists_zero_whole),
        TEST(test_a_whole_list_that_fails_is_tried_in_pages_again),
        TEST(test_a_failed_page_begins_the_list_anew),
        TEST(test_a_version_from_the_future_is_left_out_at_once),
        TEST(test_the_server_may_ask_for_a_longer_wait),
        TEST(test_lists_and_watches_share_one_backoff_up_to_its_maximum),
        TEST(test_watches_that_follow_each_other_are_healthy_together),
        TEST(test_only_health_resets_the_backoff),
        TEST(test_a_very_short_watch_waits_and_lists),
        TEST(test_a_very_short_watch_that_was_cut_lists_only_after_five_of_them),
        TEST(test_a_short_watch_with_an_event_or_an_empty_one_of_a_second_goes_on),
        TEST(test_the_last_version_counts_not_the_largest),
        TEST(test_watch_timeouts_are_spread_over_their_range),
    };
#undef TEST

    return cmocka_run_group_tests(tests, NULL, NULL);
}
