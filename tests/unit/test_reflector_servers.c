/* SPDX-License-Identifier: Apache-2.0 */
/* cache/reflector with several servers: no wait and no list when another server is there, and only
 * as often in a row as there are other servers (docs/kubernetes-protocol.md "Hot loops"). */
#include "reflector_rig.h"

/* The watch under way is cut off after ms, and n other servers can be tried. */
static void cut_after(uint64_t ms, unsigned others)
{
    reflector_rig.others = others;
    reflector_rig_ended_after(ms);
    reflector_rig.others = 0;
}

static void fails(enum err_kind kind, unsigned others)
{
    reflector_rig.others = others;
    reflector_rig_failed(kind);
    reflector_rig.others = 0;
}

static void test_a_watch_whose_server_died_at_once_goes_on_elsewhere(void **state)
{
    (void)state;
    reflector_rig_sync_at("7");
    cut_after(0, 2);
    reflector_rig_want("W(7)");
    cut_after(0, 1);
    reflector_rig_want("W(7)");
    assert_int_equal(reflector_rig_all_relists(), 0);
    cut_after(0, 0); /* no server is left: this is a very short watch */
    reflector_rig_want_wait_then(800, "L(7)");
}

/* With any health of the servers it waits after a series of one try for each other server. */
static void test_a_series_is_bounded_by_the_number_of_servers(void **state)
{
    (void)state;
    for (unsigned others = 1; others < 6; others++) {
        reflector_rig_set_up(NULL);
        reflector_rig_sync_at("7");
        for (unsigned i = 0; i < others; i++) {
            fails(ERR_CLOSED, others);
            reflector_rig_want("W(7)");
        }
        fails(ERR_CLOSED, others);
        reflector_rig_want_wait_then(800, "W(7)");
        fails(ERR_CLOSED, others); /* the wait has ended the series */
        reflector_rig_want("W(7)");
    }
}

static void test_a_watch_that_lasted_ends_a_series(void **state)
{
    (void)state;
    reflector_rig_sync_at("7");
    for (int i = 0; i < 20; i++) {
        cut_after(5000, 1);
        reflector_rig_want("W(7)");
        reflector_rig_seen("7");
    }
    cut_after(4999, 1);
    reflector_rig_want("W(7)");
    reflector_rig_seen("7");
    cut_after(4999, 1); /* it counts as one that ended early, of which five are resumed at once */
    reflector_rig_want("W(7)");
    assert_int_equal(reflector_rig_all_relists(), 0);
}

static void test_a_watch_that_lasted_and_failed_ends_a_series(void **state)
{
    (void)state;
    reflector_rig_sync_at("7");
    for (int i = 0; i < 3; i++) {
        reflector_rig.now += 5000;
        fails(ERR_CLOSED, 1);
        reflector_rig_want("W(7)");
    }
    reflector_rig.now += 4999;
    fails(ERR_CLOSED, 1);
    reflector_rig_want_wait_then(800, "W(7)");
}

static void test_servers_that_die_make_no_watch_hasty(void **state)
{
    (void)state;
    reflector_rig_sync_at("7");
    reflector_rig_seen("8");
    for (unsigned others = 30; others > 0; others--) {
        cut_after(10, others);
        reflector_rig_want("W(8)");
    }
    reflector_rig_hasty_streams(5);
    reflector_rig_want("W(8)"); /* only these five were hasty */
}

static void test_servers_that_die_make_no_watch_silent(void **state)
{
    (void)state;
    reflector_rig_sync_at("7");
    for (unsigned others = 5; others > 0; others--) {
        cut_after(1000, others);
        reflector_rig_want("W(7)");
    }
    cut_after(300000, 3); /* a silent watch counts even if its server died then */
    reflector_rig_want("W(7)");
    cut_after(300000, 3); /* its version may be one of the future */
    reflector_rig_want("P(-) limit=1");
}

static void test_a_list_that_breaks_off_is_asked_for_elsewhere(void **state)
{
    (void)state;
    reflector_rig_start();
    reflector_rig_want("L(0) limit=500");
    fails(ERR_CLOSED, 2);
    reflector_rig_want("L(0) limit=500");
    reflector_rig_listed("5", "t");
    reflector_rig_want("L continue=t limit=500");
    fails(ERR_TIMEOUT, 1); /* a list begins with page 1 again */
    reflector_rig_want("L(0) limit=500");
    fails(ERR_CLOSED, 1);
    reflector_rig_want_wait_then(800, "L(0) limit=500");
    reflector_rig_listed("9", "");
    reflector_rig_want("W(9)");
    assert_int_equal(reflector_rig_all_relists(), 0);
}

static void test_a_relist_keeps_asking_for_the_newest(void **state)
{
    (void)state;
    reflector_rig_sync_at("7");
    reflector_rig_relist(RELIST_MANUAL);
    reflector_rig_want("L(-) limit=500");
    fails(ERR_IO, 1);
    reflector_rig_want("L(-) limit=500");
}

static void test_a_streaming_list_that_breaks_off_is_streamed_elsewhere(void **state)
{
    struct reflector_params p = reflector_rig_defaults;

    (void)state;
    p.watch_list = WATCH_LIST_ON;
    reflector_rig_use(&p);
    reflector_rig_start();
    reflector_rig_want("S(-)");
    cut_after(0, 2); /* not a very short stream, which would become a LIST */
    reflector_rig_want("S(-)");
    fails(ERR_REFUSED, 1);
    reflector_rig_want("S(-)");
    fails(ERR_REFUSED, 1);
    reflector_rig_want_wait_then(800, "S(-)");
}

static void test_a_probe_that_fails_goes_elsewhere(void **state)
{
    (void)state;
    reflector_rig_sync_at("50");
    reflector_rig_ended_after(300000);
    reflector_rig_ended_after(300000);
    reflector_rig_want("P(-) limit=1");
    fails(ERR_CLOSED, 1);
    reflector_rig_want("P(-) limit=1");
    fails(ERR_CLOSED, 1);
    reflector_rig_want_wait_then(800, "P(-) limit=1");
}

/* The wait that a server asks for is for its good. */
static void test_retry_after_is_honoured_all_the_same(void **state)
{
    (void)state;
    reflector_rig_sync_at("7");
    reflector_rig.others = 2;
    reflector_rig_failed_asking(ERR_BUSY, 5000);
    reflector_rig_want_wait_then(5000, "W(7)");
    reflector_rig_relist(RELIST_MANUAL);
    reflector_rig_failed_asking(ERR_BUSY, 7000);
    reflector_rig_want_wait_then(7000, "L(-) limit=500");
}

/* Only the server can say that a version is too old or too large, and then a list is needed. */
static void test_a_version_that_is_refused_costs_a_list(void **state)
{
    (void)state;
    reflector_rig_sync_at("7");
    fails(ERR_EXPIRED, 2);
    reflector_rig_want_wait_then(800, "L(7)");
    assert_int_equal(reflector_rig_relists(RELIST_EXPIRED), 1);
}

int main(void)
{
#define TEST(name) \
    cmocka_unit_test_setup_teardown(name, reflector_rig_set_up, reflector_rig_clean_up)
    const struct CMUnitTest tests[] = {
        TEST(test_a_watch_whose_server_died_at_once_goes_on_elsewhere),
        TEST(test_a_series_is_bounded_by_the_number_of_servers),
        TEST(test_a_watch_that_lasted_ends_a_series),
        TEST(test_a_watch_that_lasted_and_failed_ends_a_series),
        TEST(test_servers_that_die_make_no_watch_hasty),
        TEST(test_servers_that_die_make_no_watch_silent),
        TEST(test_a_list_that_breaks_off_is_asked_for_elsewhere),
        TEST(test_a_relist_keeps_asking_for_the_newest),
        TEST(test_a_streaming_list_that_breaks_off_is_streamed_elsewhere),
        TEST(test_a_probe_that_fails_goes_elsewhere),
        TEST(test_retry_after_is_honoured_all_the_same),
        TEST(test_a_version_that_is_refused_costs_a_list),
    };
#undef TEST

    return cmocka_run_group_tests(tests, NULL, NULL);
}
