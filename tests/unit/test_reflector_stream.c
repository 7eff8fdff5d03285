/* SPDX-License-Identifier: Apache-2.0 */
/* cache/reflector: streaming lists, and servers that do not have them (docs/kubernetes-protocol.md
 * "Streaming lists", "Failed streaming lists"). */
#include "reflector_rig.h"

static void use(enum watch_list mode, bool can)
{
    struct reflector_params p = reflector_rig_defaults;

    p.watch_list = mode;
    reflector_rig_use(&p);
    reflector_can_stream(reflector_rig.r, can);
}

static void streamed(const char *rv)
{
    reflector_streamed(reflector_rig.r, str_c(rv), reflector_rig.now);
}

static void test_s65_the_stream_goes_on_as_the_watch(void **state)
{
    (void)state;
    use(WATCH_LIST_ON, false);
    reflector_rig_start();
    reflector_rig_want("S(-)");
    reflector_rig_seen("90");
    streamed("7");
    assert_int_equal(reflector_state(reflector_rig.r), REFLECTOR_WATCHING);
    assert_string_equal(reflector_last_sync_rv(reflector_rig.r), "7");
    reflector_rig_seen("8");
    reflector_rig_ended_after(300000);
    reflector_rig_want("W(8)");
}

static void test_versions_of_initial_events_are_not_remembered(void **state)
{
    (void)state;
    use(WATCH_LIST_ON, false);
    reflector_rig_start();
    reflector_rig_seen("90");
    reflector_rig_seen("3");
    assert_string_equal(reflector_last_sync_rv(reflector_rig.r), "");
    streamed("7");
    reflector_rig_failed(ERR_SERVER);
    reflector_rig_want_wait_then(800, "S(7)");
    reflector_rig_seen("200");
    assert_string_equal(reflector_last_sync_rv(reflector_rig.r), "7");
}

static void test_s72_the_version_is_none_then_the_last_then_none_where_it_is_unknown(void **state)
{
    (void)state;
    use(WATCH_LIST_ON, false);
    reflector_rig_start();
    reflector_rig_want("S(-)");
    streamed("10");
    reflector_rig_failed(ERR_EXPIRED);
    reflector_rig_want_wait_then(800, "S(10)");
    reflector_rig_failed(ERR_EXPIRED);
    reflector_rig_want("S(-)");
    reflector_rig_failed(ERR_FUTURE);
    reflector_rig_want_wait_then(1600, "S(-)");
    streamed("20");
    reflector_rig_failed(ERR_EXPIRED);
    reflector_rig_want_wait_then(3200, "S(20)");
    reflector_rig_failed(ERR_FUTURE);
    reflector_rig_want("S(-)");
}

static void test_s73_off_never_streams(void **state)
{
    (void)state;
    use(WATCH_LIST_OFF, true);
    reflector_rig_sync_at("7");
    reflector_rig_want("W(7)");
    reflector_rig_failed(ERR_EXPIRED);
    reflector_rig_want_wait_then(800, "L(7)");
    reflector_rig_failed(ERR_EXPIRED);
    reflector_rig_want("L(-) limit=500");
}

static void test_auto_lists_first_and_streams_later_if_the_server_can(void **state)
{
    (void)state;
    use(WATCH_LIST_AUTO, true);
    reflector_rig_start();
    reflector_rig_want("L(0) limit=500");
    reflector_rig_listed("7", "");
    reflector_rig_failed(ERR_EXPIRED);
    reflector_rig_want_wait_then(800, "S(7)");
    use(WATCH_LIST_AUTO, false);
    reflector_rig_sync_at("7");
    reflector_rig_failed(ERR_EXPIRED);
    reflector_rig_want_wait_then(800, "L(7)");
    reflector_can_stream(reflector_rig.r, true);
    reflector_rig_failed(ERR_SERVER);
    reflector_rig_want_wait_then(1600, "S(7)");
}

static void test_s68_a_refusal_falls_back_to_a_list_in_the_same_cycle(void **state)
{
    (void)state;
    use(WATCH_LIST_ON, false);
    reflector_rig_start();
    reflector_rig_refused(422);
    reflector_rig_want("L(0) limit=500");
    reflector_rig_listed("7", "t");
    reflector_rig_want("L continue=t limit=500");
    reflector_rig_listed("7", "");
    reflector_rig_want("W(7)");
}

static void test_the_list_in_its_place_stays_a_list_when_its_token_expires(void **state)
{
    (void)state;
    use(WATCH_LIST_ON, false);
    reflector_rig_start();
    reflector_rig_refused(422);
    reflector_rig_want("L(0) limit=500");
    reflector_rig_listed("7", "t");
    reflector_rig_failed(ERR_EXPIRED);
    reflector_rig_want("L(0)");
    reflector_rig_failed(ERR_EXPIRED);
    reflector_rig_want("L(-) limit=500");
    reflector_rig_listed("7", "");
    reflector_rig_ended_after(300000);
    reflector_rig_ended_after(300000);
    reflector_rig_want("P(-) limit=1");
    reflector_rig_listed("6", "");
    reflector_rig_want("S(-)"); /* the next cycle */
}

static void test_on_tries_the_stream_again_each_cycle(void **state)
{
    (void)state;
    use(WATCH_LIST_ON, false);
    reflector_rig_start();
    reflector_rig_refused(422);
    reflector_rig_listed("7", "");
    reflector_rig_failed(ERR_EXPIRED);
    reflector_rig_want_wait_then(800, "S(7)");
    reflector_rig_refused(400);
    reflector_rig_want("L(7)");
    reflector_rig_failed(ERR_SERVER);
    reflector_rig_want_wait_then(1600, "S(7)");
}

/* A server that never ends its initial events would else need three streams more to confirm the
 * list. */
static void test_a_held_list_is_confirmed_by_one_of_the_same_form(void **state)
{
    (void)state;
    use(WATCH_LIST_ON, false);
    reflector_rig_start();
    for (unsigned i = 0; i < 3; i++)
        reflector_rig_ended_after(300000);
    reflector_rig_want("L(0) limit=500");
    reflector_rig_held(60000);
    reflector_rig_want_wait_then(60000, "L(-) limit=500");
    reflector_rig_listed("7", "");
    reflector_rig_failed(ERR_SERVER);
    reflector_rig_want_wait_then(800, "S(7)");
    reflector_rig_held(60000);
    reflector_rig_want_wait_then(60000, "S(-)");
}

static void test_auto_remembers_a_refusal(void **state)
{
    static const int codes[] = {400, 405, 422, 499};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(codes); i++) {
        use(WATCH_LIST_AUTO, true);
        reflector_rig_sync_at("7");
        reflector_rig_failed(ERR_EXPIRED);
        reflector_rig_want_wait_then(800, "S(7)");
        reflector_rig_refused(codes[i]);
        reflector_rig_want("L(7)");
        reflector_rig_listed("8", "");
        reflector_rig_failed(ERR_EXPIRED);
        reflector_rig_want_wait_then(1600, "L(8)");
        reflector_can_stream(reflector_rig.r, true); /* the server was upgraded */
        reflector_rig_failed(ERR_SERVER);
        reflector_rig_want_wait_then(3200, "S(8)");
    }
}

/* A failure of the server does not say whether it has streaming lists. */
static void test_auto_forgets_other_failures(void **state)
{
    static const int codes[] = {500, 503, 399};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(codes); i++) {
        use(WATCH_LIST_AUTO, true);
        reflector_rig_sync_at("7");
        reflector_rig_failed(ERR_EXPIRED);
        reflector_rig_timer();
        reflector_rig_refused(codes[i]);
        reflector_rig_want("L(7)");
        reflector_rig_listed("8", "");
        reflector_rig_failed(ERR_EXPIRED);
        reflector_rig_want_wait_then(1600, "S(8)");
    }
}

static void test_s69_busy_and_refused_wait_and_try_the_stream_again(void **state)
{
    (void)state;
    use(WATCH_LIST_ON, false);
    reflector_rig_start();
    reflector_rig_failed(ERR_BUSY);
    reflector_rig_want_wait_then(800, "S(-)");
    reflector_rig_failed(ERR_REFUSED);
    reflector_rig_want_wait_then(1600, "S(-)");
    reflector_rig_failed_asking(ERR_BUSY, 9000);
    reflector_rig_want_wait_then(9000, "S(-)");
    streamed("7");
    assert_string_equal(reflector_last_sync_rv(reflector_rig.r), "7");
}

static void test_s70_a_stream_that_ends_before_its_list_is_asked_for_at_once(void **state)
{
    (void)state;
    use(WATCH_LIST_ON, false);
    reflector_rig_start();
    reflector_rig_seen("3");
    reflector_rig_ended_after(10);
    reflector_rig_want("S(-)");
    reflector_rig_ended_after(1000);
    reflector_rig_want("S(-)");
    streamed("7");
    reflector_rig_failed(ERR_SERVER);
    reflector_rig_want_wait_then(800, "S(7)");
    reflector_rig_ended_after(5000); /* counted anew */
    reflector_rig_want("S(7)");
    reflector_rig_ended_after(5000);
    reflector_rig_want("S(7)");
}

static void test_streams_that_keep_breaking_off_become_a_list(void **state)
{
    (void)state;
    use(WATCH_LIST_ON, false);
    reflector_rig_start();
    reflector_rig_ended_after(5000);
    reflector_rig_want("S(-)");
    reflector_rig_ended_after(5000);
    reflector_rig_want("S(-)");
    reflector_rig_ended_after(5000);
    reflector_rig_want("L(0) limit=500");
}

static void test_a_very_short_stream_becomes_a_list(void **state)
{
    (void)state;
    use(WATCH_LIST_ON, false);
    reflector_rig_start();
    reflector_rig_ended_after(999);
    reflector_rig_want("L(0) limit=500");
    reflector_rig_listed("7", "");
    reflector_rig_failed(ERR_EXPIRED);
    reflector_rig_want_wait_then(800, "S(7)"); /* the short stream is not remembered */
}

/* A refused version stays left out, whether the list comes as a stream or in pages. */
static void test_the_list_behind_a_refused_stream_asks_for_the_newest_too(void **state)
{
    (void)state;
    use(WATCH_LIST_ON, false);
    reflector_rig_start();
    streamed("7");
    reflector_rig_failed(ERR_EXPIRED);
    reflector_rig_want_wait_then(800, "S(7)");
    reflector_rig_failed(ERR_EXPIRED);
    reflector_rig_want("S(-)");
    reflector_rig_refused(422);
    reflector_rig_want("L(-) limit=500");
    reflector_rig_failed(ERR_SERVER);
    reflector_rig_want_wait_then(1600, "S(-)");
}

static void test_initial_events_count_as_contact(void **state)
{
    (void)state;
    use(WATCH_LIST_ON, false);
    reflector_rig_start();
    streamed("7");
    reflector_rig_ended_after(10); /* the initial events counted as events of this request */
    reflector_rig_want("W(7)");
}

int main(void)
{
#define TEST(name) \
    cmocka_unit_test_setup_teardown(name, reflector_rig_set_up, reflector_rig_clean_up)
    const struct CMUnitTest tests[] = {
        TEST(test_s65_the_stream_goes_on_as_the_watch),
        TEST(test_versions_of_initial_events_are_not_remembered),
        TEST(test_s72_the_version_is_none_then_the_last_then_none_where_it_is_unknown),
        TEST(test_s73_off_never_streams),
        TEST(test_auto_lists_first_and_streams_later_if_the_server_can),
        TEST(test_s68_a_refusal_falls_back_to_a_list_in_the_same_cycle),
        TEST(test_the_list_in_its_place_stays_a_list_when_its_token_expires),
        TEST(test_on_tries_the_stream_again_each_cycle),
        TEST(test_a_held_list_is_confirmed_by_one_of_the_same_form),
        TEST(test_auto_remembers_a_refusal),
        TEST(test_auto_forgets_other_failures),
        TEST(test_s69_busy_and_refused_wait_and_try_the_stream_again),
        TEST(test_s70_a_stream_that_ends_before_its_list_is_asked_for_at_once),
        TEST(test_streams_that_keep_breaking_off_become_a_list),
        TEST(test_a_very_short_stream_becomes_a_list),
        TEST(test_the_list_behind_a_refused_stream_asks_for_the_newest_too),
        TEST(test_initial_events_count_as_contact),
    };
#undef TEST

    return cmocka_run_group_tests(tests, NULL, NULL);
}
