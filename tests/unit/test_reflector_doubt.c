/* SPDX-License-Identifier: Apache-2.0 */
/* cache/reflector: its actions when it cannot trust its version or the server: silence, probes, versions
 * of the future or the past, held lists; and the count of relists (docs/kubernetes-protocol.md "Versions
 * of the future"). */
#include "reflector_rig.h"

/* ---- docs/kubernetes-protocol.md "Too large resource version". */

static void test_s9_too_large_is_followed_by_a_list_without_a_version(void **state)
{
    (void)state;
    reflector_rig_start();
    reflector_rig_listed("20", "");
    reflector_rig_failed(ERR_SERVER);
    reflector_rig_want_wait_then(800, "L(20)");
    reflector_rig_failed(ERR_FUTURE);
    reflector_rig_want("L(-) limit=500");
    reflector_rig_listed("30", "");
    reflector_rig_failed(ERR_SERVER);
    reflector_rig_want_wait_then(1600, "L(30)");
    reflector_rig_failed(ERR_FUTURE);
    reflector_rig_want("L(-) limit=500");
}

static void test_s11_too_large_is_never_repeated_whatever_retry_after_says(void **state)
{
    (void)state;
    reflector_rig_sync_at("20");
    reflector_rig_failed(ERR_SERVER);
    reflector_rig_timer();
    reflector_rig_want("L(20)");
    reflector_rig_failed_asking(ERR_FUTURE, 1000);
    reflector_rig_want("L(-) limit=500");
}

static void test_too_large_without_a_version_waits(void **state)
{
    (void)state;
    reflector_rig_sync_at("20");
    reflector_rig_failed(ERR_SERVER);
    reflector_rig_timer();
    reflector_rig_failed(ERR_FUTURE);
    reflector_rig_failed_asking(ERR_FUTURE, 1000);
    reflector_rig_want_wait_then(1600, "L(-) limit=500");
    reflector_rig_failed_asking(ERR_FUTURE, 7000);
    reflector_rig_want_wait_then(7000, "L(-) limit=500");
}

static void test_a_watch_from_the_future_lists_the_newest(void **state)
{
    (void)state;
    reflector_rig_sync_at("20");
    reflector_rig_failed(ERR_FUTURE);
    assert_int_equal(reflector_rig_relists(RELIST_FUTURE), 1);
    reflector_rig_want_wait_then(800, "L(-) limit=500");
}

static void test_s7_expired_is_followed_by_a_list_without_a_version_at_once(void **state)
{
    (void)state;
    reflector_rig_sync_at("10");
    reflector_rig_failed(ERR_SERVER);
    reflector_rig_want_wait_then(800, "L(10)");
    reflector_rig_failed(ERR_EXPIRED);
    reflector_rig_want("L(-) limit=500");
    reflector_rig_listed("30", "");
    reflector_rig_want("W(30)");
}

/* ---- Watches without an event or bookmark
 * (docs/kubernetes-protocol.md "Versions of the future"). */

static void make_silent(void)
{
    reflector_rig_sync_at("50");
    reflector_rig_ended_after(300000);
    reflector_rig_want("W(50)");
    reflector_rig_ended_after(300000);
    reflector_rig_want("P(-) limit=1");
}

static void test_two_silent_watches_are_followed_by_a_probe(void **state)
{
    (void)state;
    make_silent();
    assert_int_equal(reflector_rig_all_relists(), 0);
}

static void test_a_version_between_silent_watches_counts_them_anew(void **state)
{
    (void)state;
    reflector_rig_sync_at("50");
    reflector_rig_ended_after(300000);
    reflector_rig_seen("51");
    reflector_rig_ended_after(300000);
    reflector_rig_want("W(51)");
    assert_true(reflector_bookmark(reflector_rig.r, str_c("52")));
    reflector_rig_ended_after(300000);
    reflector_rig_want("W(52)");
    reflector_rig_ended_after(300000);
    reflector_rig_want("W(52)");
    reflector_rig_ended_after(300000);
    reflector_rig_want("P(-) limit=1");
}

static void test_silence_before_a_list_does_not_count(void **state)
{
    (void)state;
    reflector_rig_sync_at("50");
    reflector_rig_ended_after(300000);
    reflector_rig_failed(ERR_SERVER);
    reflector_rig_want_wait_then(800, "L(50)");
    reflector_rig_listed("50", "");
    reflector_rig_ended_after(300000);
    reflector_rig_want("W(50)");
}

static void test_a_probe_that_is_not_older_watches_on(void **state)
{
    static const char *const fine[] = {"50", "51", "1000", "not-a-number", "0", "050"};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(fine); i++) {
        reflector_rig_set_up(NULL);
        make_silent();
        reflector_rig_listed(fine[i], "");
        reflector_rig_want("W(50)");
        reflector_rig_ended_after(300000);
        reflector_rig_want("W(50)"); /* the count of silent watches begins anew */
        reflector_rig_ended_after(300000);
        reflector_rig_want("P(-) limit=1");
        assert_int_equal(reflector_rig_all_relists(), 0);
    }
}

static void test_a_probe_that_is_older_lists_the_newest_at_once(void **state)
{
    (void)state;
    make_silent();
    reflector_rig_listed("49", "");
    reflector_rig_want("L(-) limit=500");
    assert_true(reflector_is_newest(reflector_rig.r));
    assert_true(reflector_goes_back(reflector_rig.r, str_c("49")));
    assert_int_equal(reflector_why(reflector_rig.r), RELIST_FUTURE);
    assert_int_equal(reflector_rig_relists(RELIST_FUTURE), 1);
}

/* A single refusal may come from a server that is not ready yet. */
static void test_a_probe_that_is_refused_three_times_in_a_row_watches(void **state)
{
    (void)state;
    make_silent();
    reflector_rig_failed(ERR_FORBIDDEN);
    reflector_rig_want_wait_then(800, "P(-) limit=1");
    reflector_rig_failed(ERR_FORBIDDEN);
    reflector_rig_want_wait_then(1600, "P(-) limit=1");
    reflector_rig_failed(ERR_IO);
    reflector_rig_want_wait_then(3200, "P(-) limit=1");
    reflector_rig_failed(ERR_FORBIDDEN);
    reflector_rig_want_wait_then(6400, "P(-) limit=1");
    reflector_rig_failed(ERR_FORBIDDEN);
    reflector_rig_want_wait_then(12800, "P(-) limit=1");
    reflector_rig_failed(ERR_FORBIDDEN);
    reflector_rig_want_wait_then(25600, "W(50)");
    assert_int_equal(reflector_rig_all_relists(), 0);
    reflector_rig_ended_after(50000); /* the silence goes on: one more watch is enough */
    reflector_rig_want("P(-) limit=1");
}

/* A proxy cuts off silent watches each minute; the probe between them does not count as a wait. */
static void test_a_probe_is_no_wait_between_healthy_watches(void **state)
{
    (void)state;
    reflector_rig_sync_at("50");
    reflector_rig_failed(ERR_BUSY);
    reflector_rig_want_wait_then(800, "W(50)");
    reflector_rig_ended_after(50000);
    reflector_rig_ended_after(50000);
    reflector_rig_want("P(-) limit=1");
    reflector_rig_listed("50", "");
    reflector_rig_ended_after(50000);
    reflector_rig_failed(ERR_BUSY);
    reflector_rig_want("wait 800");
}

/* ---- Versions of the past. */

static void test_a_bookmark_that_goes_back_is_not_believed(void **state)
{
    (void)state;
    reflector_rig_sync_at("50");
    assert_true(reflector_bookmark(reflector_rig.r, str_c("60")));
    assert_true(reflector_bookmark(reflector_rig.r, str_c("60")));
    assert_false(reflector_bookmark(reflector_rig.r, str_c("59")));
    assert_string_equal(reflector_last_sync_rv(reflector_rig.r), "60");
    reflector_rig_relist(RELIST_BACKWARDS);
    assert_int_equal(reflector_rig_relists(RELIST_BACKWARDS), 1);
    reflector_rig_want_wait_then(800, "L(-) limit=500");
}

static void test_a_bookmark_behind_an_event_moves_nothing_back(void **state)
{
    (void)state;
    reflector_rig_sync_at("50");
    reflector_rig_seen("70");
    assert_true(reflector_bookmark(reflector_rig.r, str_c("60")));
    assert_string_equal(reflector_last_sync_rv(reflector_rig.r), "70");
    assert_false(reflector_bookmark(reflector_rig.r, str_c("59")));
    assert_true(reflector_bookmark(reflector_rig.r, str_c("71")));
    assert_string_equal(reflector_last_sync_rv(reflector_rig.r), "71");
}

static void test_s20_an_event_that_goes_back_is_an_event(void **state)
{
    (void)state;
    reflector_rig_sync_at("7");
    reflector_rig_seen("55");
    reflector_rig_seen("32");
    reflector_rig_ended_after(5000);
    reflector_rig_want("W(32)");
    assert_int_equal(reflector_rig_all_relists(), 0);
}

/* A watch without a version would begin with whatever the server has. */
static void test_zero_is_no_version_to_resume_from(void **state)
{
    (void)state;
    reflector_rig_sync_at("7");
    reflector_rig_seen("0");
    assert_true(reflector_bookmark(reflector_rig.r, str_c("0")));
    reflector_rig_ended_after(5000);
    reflector_rig_want("W(7)");
}

static void test_versions_that_cannot_be_compared_never_go_back(void **state)
{
    (void)state;
    reflector_rig_sync_at("z");
    assert_true(reflector_bookmark(reflector_rig.r, str_c("a")));
    assert_false(reflector_goes_back(reflector_rig.r, str_c("1")));
}

static void test_s18_the_version_that_a_list_brings_is_the_one_to_resume_from(void **state)
{
    (void)state;
    reflector_rig_sync_at("50");
    reflector_rig_relist(RELIST_MANUAL);
    reflector_rig_want("L(-) limit=500");
    reflector_rig_listed("30", "");
    reflector_rig_want("W(30)");
    assert_false(reflector_goes_back(reflector_rig.r, str_c("30")));
    assert_true(reflector_goes_back(reflector_rig.r, str_c("29")));
}

static void test_backwards_versions_step_up_the_backoff(void **state)
{
    (void)state;
    reflector_rig_sync_at("50");
    for (unsigned i = 0, ms = 800; i < 4; i++, ms *= 2) {
        reflector_rig_relist(RELIST_BACKWARDS);
        reflector_rig_want_wait_then(ms, "L(-) limit=500");
        reflector_rig_listed("50", "");
    }
}

/* ---- Held lists (docs/design.md "Guard"). */

static void test_a_held_list_is_asked_for_again_without_a_version(void **state)
{
    (void)state;
    reflector_rig_sync_at("50");
    reflector_rig_failed(ERR_EXPIRED);
    reflector_rig_want_wait_then(800, "L(50)");
    reflector_rig_held(60000);
    assert_int_equal(reflector_state(reflector_rig.r), REFLECTOR_HELD);
    reflector_rig_want_wait_then(60000, "L(-) limit=500");
}

static void test_a_held_page_list_begins_anew(void **state)
{
    (void)state;
    reflector_rig_sync_at("50");
    reflector_rig_relist(RELIST_MANUAL);
    reflector_rig_listed("40", "t");
    reflector_rig_held(60000);
    reflector_rig_want_wait_then(60000, "L(-) limit=500");
}

static void test_holds_of_no_time_become_slower(void **state)
{
    (void)state;
    reflector_rig_sync_at("50");
    reflector_rig_relist(RELIST_MANUAL);
    reflector_rig_held(0);
    reflector_rig_want_wait_then(0, "L(-) limit=500");
    reflector_rig_held(0);
    reflector_rig_want_wait_then(800, "L(-) limit=500");
    reflector_rig_held(0);
    reflector_rig_want_wait_then(1600, "L(-) limit=500");
    reflector_rig_listed("51", "");
    reflector_rig_relist(RELIST_MANUAL);
    reflector_rig_held(0);
    reflector_rig_want_wait_then(0, "L(-) limit=500");
}

/* ---- The count of relists. */

static void test_the_first_list_is_no_relist_however_often_it_fails(void **state)
{
    (void)state;
    reflector_rig_start();
    reflector_rig_failed(ERR_SERVER);
    reflector_rig_timer();
    reflector_rig_failed(ERR_FUTURE);
    reflector_rig_failed(ERR_EXPIRED);
    reflector_rig_timer();
    assert_int_equal(reflector_why(reflector_rig.r), RELIST_REASONS);
    reflector_rig_listed("7", "");
    assert_int_equal(reflector_rig_all_relists(), 0);
}

static void test_a_list_that_is_tried_again_counts_once_by_its_first_reason(void **state)
{
    (void)state;
    reflector_rig_sync_at("7");
    reflector_rig_failed(ERR_EXPIRED);
    reflector_rig_timer();
    reflector_rig_failed(ERR_SERVER);
    reflector_rig_timer();
    reflector_rig_failed(ERR_FUTURE);
    reflector_rig_failed(ERR_CLOSED);
    reflector_rig_timer();
    reflector_rig_relist(RELIST_MANUAL);
    assert_int_equal(reflector_why(reflector_rig.r), RELIST_EXPIRED);
    reflector_rig_held(1000);
    reflector_rig_timer();
    reflector_rig_listed("9", "");
    assert_int_equal(reflector_why(reflector_rig.r), RELIST_REASONS);
    assert_int_equal(reflector_rig_all_relists(), 1);
    assert_int_equal(reflector_rig_relists(RELIST_EXPIRED), 1);
    reflector_rig_relist(RELIST_MANUAL);
    assert_int_equal(reflector_rig_relists(RELIST_MANUAL), 1);
}

static void test_each_end_of_a_watch_has_its_reason(void **state)
{
    (void)state;
    reflector_rig_sync_at("7");
    reflector_rig_failed(ERR_PROTOCOL);
    reflector_rig_timer();
    reflector_rig_listed("7", "");
    reflector_rig_failed(ERR_TOO_BIG);
    reflector_rig_timer();
    reflector_rig_listed("7", "");
    reflector_rig_failed(ERR_EXPIRED);
    reflector_rig_timer();
    reflector_rig_listed("7", "");
    reflector_rig_ended_after(0);
    reflector_rig_timer();
    reflector_rig_listed("7", "");
    reflector_rig_relist(RELIST_AUDIT);
    assert_int_equal(reflector_rig_relists(RELIST_ERROR), 2);
    assert_int_equal(reflector_rig_relists(RELIST_EXPIRED), 1);
    assert_int_equal(reflector_rig_relists(RELIST_EMPTY), 1);
    assert_int_equal(reflector_rig_relists(RELIST_AUDIT), 1);
    assert_int_equal(reflector_rig_all_relists(), 5);
}

static void test_reasons_have_names(void **state)
{
    (void)state;
    for (int i = 0; i < RELIST_REASONS; i++)
        assert_true(*relist_reason_name((enum relist_reason)i) != '\0');
    assert_string_equal(relist_reason_name(RELIST_EXPIRED), "expired");
    assert_string_equal(relist_reason_name(RELIST_AUDIT), "audit");
}

static void test_a_relist_ordered_before_the_first_list_is_that_list(void **state)
{
    (void)state;
    reflector_rig_start();
    reflector_rig_relist(RELIST_MANUAL);
    reflector_rig_want("L(0) limit=500");
    assert_int_equal(reflector_rig_all_relists(), 0);
}

int main(void)
{
#define TEST(name) \
    cmocka_unit_test_setup_teardown(name, reflector_rig_set_up, reflector_rig_clean_up)
    const struct CMUnitTest tests[] = {
        TEST(test_s9_too_large_is_followed_by_a_list_without_a_version),
        TEST(test_s11_too_large_is_never_repeated_whatever_retry_after_says),
        TEST(test_too_large_without_a_version_waits),
        TEST(test_a_watch_from_the_future_lists_the_newest),
        TEST(test_s7_expired_is_followed_by_a_list_without_a_version_at_once),
        TEST(test_two_silent_watches_are_followed_by_a_probe),
        TEST(test_a_version_between_silent_watches_counts_them_anew),
        TEST(test_silence_before_a_list_does_not_count),
        TEST(test_a_probe_that_is_not_older_watches_on),
        TEST(test_a_probe_that_is_older_lists_the_newest_at_once),
        TEST(test_a_probe_that_is_refused_three_times_in_a_row_watches),
        TEST(test_a_probe_is_no_wait_between_healthy_watches),
        TEST(test_a_bookmark_that_goes_back_is_not_believed),
        TEST(test_a_bookmark_behind_an_event_moves_nothing_back),
        TEST(test_s20_an_event_that_goes_back_is_an_event),
        TEST(test_zero_is_no_version_to_resume_from),
        TEST(test_versions_that_cannot_be_compared_never_go_back),
        TEST(test_s18_the_version_that_a_list_brings_is_the_one_to_resume_from),
        TEST(test_backwards_versions_step_up_the_backoff),
        TEST(test_a_held_list_is_asked_for_again_without_a_version),
        TEST(test_a_held_page_list_begins_anew),
        TEST(test_holds_of_no_time_become_slower),
        TEST(test_the_first_list_is_no_relist_however_often_it_fails),
        TEST(test_a_list_that_is_tried_again_counts_once_by_its_first_reason),
        TEST(test_each_end_of_a_watch_has_its_reason),
        TEST(test_reasons_have_names),
        TEST(test_a_relist_ordered_before_the_first_list_is_that_list),
    };
#undef TEST

    return cmocka_run_group_tests(tests, NULL, NULL);
}
