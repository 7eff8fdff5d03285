/* SPDX-License-Identifier: Apache-2.0 */
/* cache/reflector: how long it waits, and watches that end before their time
 * (docs/kubernetes-protocol.md "End of a watch", "Start of a watch", "Waiting"). */
#include "reflector_rig.h"

/* ---- Watches over before their time (docs/kubernetes-protocol.md "Very short watches",
 * "Hot loops"). */

static void test_s41_s43_empty_watches_list_with_growing_pauses(void **state)
{
    (void)state;
    reflector_rig_sync_at("7");
    for (unsigned ms = 800; ms <= 25600; ms *= 2) {
        reflector_rig_ended_after(0);
        reflector_rig_want_wait_then(ms, "L(7)");
        reflector_rig_listed("7", "");
        reflector_rig_want("W(7)");
    }
    assert_int_equal(reflector_rig_relists(RELIST_EMPTY), 6);
}

static void test_s42_a_short_watch_with_an_event_is_resumed_at_once(void **state)
{
    (void)state;
    reflector_rig_sync_at("7");
    reflector_rig_seen("8");
    reflector_rig_ended_after(0);
    reflector_rig_want("W(8)");
    assert_int_equal(reflector_rig_all_relists(), 0);
}

static void test_hasty_watches_are_resumed_at_once_five_times(void **state)
{
    (void)state;
    reflector_rig_sync_at("7");
    for (int i = 0; i < 5; i++) {
        reflector_rig_seen("8");
        reflector_rig_ended_after(4999);
        reflector_rig_want("W(8)");
    }
    reflector_rig_seen("8");
    reflector_rig_ended_after(4999);
    reflector_rig_want_wait_then(800, "W(8)");
    reflector_rig_seen("8");
    reflector_rig_ended_after(10);
    reflector_rig_want_wait_then(1600, "W(8)");
    reflector_rig_seen("8");
    reflector_rig_ended_after(5000); /* a watch that lives for longer is trusted again */
    reflector_rig_want("W(8)");
    reflector_rig_seen("8");
    reflector_rig_ended_after(0);
    reflector_rig_want("W(8)");
    assert_int_equal(reflector_rig_all_relists(), 0);
}

static void test_a_probe_behind_a_wait_begins_the_time_of_health(void **state)
{
    (void)state;
    reflector_rig_sync_at("7");
    reflector_rig_hasty_streams(5);
    reflector_rig_ended_after(1000);
    reflector_rig_want_wait_then(800, "W(8)");
    reflector_rig_ended_after(1000);
    reflector_rig.now += REFLECTOR_RIG_RESET_AFTER; /* the timer is late */
    reflector_rig_want_wait_then(1600, "P(-) limit=1");
    reflector_rig_listed("8", "");
    reflector_rig_seen("9");
    reflector_rig_ended_after(1000);
    reflector_rig_want("wait 3200");
}

static void test_silent_hasty_watches_wait_and_probe(void **state)
{
    (void)state;
    reflector_rig_sync_at("7");
    reflector_rig_hasty_streams(5);
    reflector_rig_ended_after(1000);
    reflector_rig_want_wait_then(800, "W(8)");
    reflector_rig_ended_after(1000);
    reflector_rig_want_wait_then(1600, "P(-) limit=1");
    reflector_rig_listed("8", "");
    reflector_rig_want("W(8)");
}

static void test_short_watches_that_were_asked_for_are_not_hasty(void **state)
{
    struct reflector_params p = reflector_rig_defaults;

    (void)state;
    p.watch_min_s = 2;
    p.watch_max_s = 2;
    reflector_rig_use(&p);
    reflector_rig_sync_at("7");
    for (uint64_t i = 0; i < 50; i++) {
        reflector_rig_seen("8");
        reflector_rig_ended_after(1000 + i * 20); /* a server may end it a little early */
        assert_int_equal(reflector_rig.last.what, REFLECTOR_WATCH);
    }
}

/* ---- Waits. */

static void test_s45_busy_twice_is_two_steps_of_one_backoff_and_no_list(void **state)
{
    (void)state;
    reflector_rig_sync_at("7");
    reflector_rig_failed(ERR_BUSY);
    reflector_rig_want_wait_then(800, "W(7)");
    reflector_rig_seen("8");
    reflector_rig_failed(ERR_BUSY);
    reflector_rig_want_wait_then(1600, "W(8)");
    assert_int_equal(reflector_rig_all_relists(), 0);
}

static void test_s46_retry_after_is_the_least_that_is_waited(void **state)
{
    (void)state;
    reflector_rig_sync_at("7");
    reflector_rig_failed_asking(ERR_BUSY, 7000);
    reflector_rig_want_wait_then(7000, "W(7)");
    reflector_rig_failed_asking(ERR_BUSY, 1000);
    reflector_rig_want_wait_then(1600, "W(7)");
}

static void test_s47_a_closed_port_steps_up_the_backoff_at_the_same_version(void **state)
{
    static const uint64_t steps[] = {800, 1600, 3200, 6400, 12800, 25600, 30000, 30000};

    (void)state;
    reflector_rig_sync_at("7");
    for (size_t i = 0; i < ARRAY_LEN(steps); i++) {
        reflector_rig_failed(ERR_REFUSED);
        reflector_rig_want_wait_then(steps[i], "W(7)");
    }
    assert_int_equal(reflector_rig_all_relists(), 0);
}

static void test_s48_the_backoff_is_as_configured(void **state)
{
    struct reflector_params p = reflector_rig_defaults;

    (void)state;
    p.backoff = (struct backoff_params){.initial_ms = 10, .max_ms = 100, .factor = 3};
    reflector_rig_use(&p);
    reflector_rig_sync_at("7");
    for (uint64_t ms = 10; ms < 100; ms *= 3) {
        reflector_rig_failed(ERR_REFUSED);
        reflector_rig_want_wait_then(ms, "W(7)");
    }
    reflector_rig_failed(ERR_REFUSED);
    reflector_rig_want_wait_then(100, "W(7)");
}

static void test_s49_health_of_two_minutes_begins_the_backoff_anew(void **state)
{
    (void)state;
    reflector_rig_sync_at("7");
    for (int i = 0; i < 8; i++) {
        reflector_rig_failed(ERR_REFUSED);
        reflector_rig_timer();
    }
    reflector_rig.now += REFLECTOR_RIG_RESET_AFTER - 1;
    reflector_rig_failed(ERR_REFUSED);
    reflector_rig_want("wait 30000");
    reflector_rig_timer();
    reflector_rig.now += REFLECTOR_RIG_RESET_AFTER;
    reflector_rig_failed(ERR_REFUSED);
    reflector_rig_want("wait 800");
}

static void test_start_jitter_delays_the_first_request_only(void **state)
{
    struct reflector_params p = reflector_rig_defaults;
    uint64_t longest = 0;

    (void)state;
    p.start_jitter_ms = 5000;
    for (uint64_t seed = 0; seed < 300; seed++) {
        struct reflector *r = reflector_create(&p, seed);
        struct reflector_action a = reflector_start(r, 1);

        assert_in_range(a.wait_ms, 0, 5000);
        longest = a.wait_ms > longest ? a.wait_ms : longest;
        if (a.what == REFLECTOR_WAIT)
            a = reflector_timer(r, 1 + a.wait_ms);
        assert_int_equal(a.what, REFLECTOR_LIST);
        assert_string_equal(a.rv, "0");
        assert_int_equal(reflector_listed(r, str_c("5"), str_c(""), 9).what, REFLECTOR_WATCH);
        reflector_destroy(&r);
    }
    assert_true(longest > 4000);
}

static void test_relist_jitter_lengthens_the_wait_before_later_lists_only(void **state)
{
    struct reflector_params p = reflector_rig_defaults;
    uint64_t longest = 0;

    (void)state;
    p.relist_jitter_ms = 5000;
    reflector_rig_use(&p);
    reflector_rig_start();
    reflector_rig_failed(ERR_SERVER);
    reflector_rig_want_wait_then(800, "L(0) limit=500");
    reflector_rig_listed("7", "");
    reflector_rig_failed(ERR_BUSY);
    reflector_rig_want_wait_then(1600, "W(7)");
    for (int i = 0; i < 300; i++) {
        reflector_rig.now += REFLECTOR_RIG_RESET_AFTER;
        reflector_rig_failed(ERR_EXPIRED);
        assert_in_range(reflector_rig.last.wait_ms, 800, 5800);
        longest = reflector_rig.last.wait_ms > longest ? reflector_rig.last.wait_ms : longest;
        reflector_rig_timer();
        reflector_rig_want("L(7)");
        reflector_rig_listed("7", "");
    }
    assert_true(longest > 4800);
}

int main(void)
{
#define TEST(name) \
    cmocka_unit_test_setup_teardown(name, reflector_rig_set_up, reflector_rig_clean_up)
    const struct CMUnitTest tests[] = {
        TEST(test_s41_s43_empty_watches_list_with_growing_pauses),
        TEST(test_s42_a_short_watch_with_an_event_is_resumed_at_once),
        TEST(test_hasty_watches_are_resumed_at_once_five_times),
        TEST(test_a_probe_behind_a_wait_begins_the_time_of_health),
        TEST(test_silent_hasty_watches_wait_and_probe),
        TEST(test_short_watches_that_were_asked_for_are_not_hasty),
        TEST(test_s45_busy_twice_is_two_steps_of_one_backoff_and_no_list),
        TEST(test_s46_retry_after_is_the_least_that_is_waited),
        TEST(test_s47_a_closed_port_steps_up_the_backoff_at_the_same_version),
        TEST(test_s48_the_backoff_is_as_configured),
        TEST(test_s49_health_of_two_minutes_begins_the_backoff_anew),
        TEST(test_start_jitter_delays_the_first_request_only),
        TEST(test_relist_jitter_lengthens_the_wait_before_later_lists_only),
    };
#undef TEST

    return cmocka_run_group_tests(tests, NULL, NULL);
}
