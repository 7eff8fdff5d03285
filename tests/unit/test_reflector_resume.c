/* SPDX-License-Identifier: Apache-2.0 */
/* cache/reflector: how it goes on from the state that an earlier process has left (docs/design.md
 * "Synced", docs/kubernetes-protocol.md "Version of a list"). */
#include "reflector_rig.h"

static void resume(enum resume_kind kind, const char *rv, const char *collection_rv)
{
    reflector_resume(reflector_rig.r, &(struct resume_point){
                                          .kind = kind, .rv = rv, .collection_rv = collection_rv});
}

static void resume_at_20(void)
{
    resume(RESUME_WHOLE, "20", "18");
    reflector_rig_start();
}

static void test_s106_a_watch_goes_on_from_the_version_without_a_list(void **state)
{
    (void)state;
    resume_at_20();
    reflector_rig_want("W(20)");
    assert_string_equal(reflector_collection_rv(reflector_rig.r), "18");
    reflector_rig_seen("21");
    reflector_rig_ended_after(5000);
    reflector_rig_want("W(21)");
}

static void test_a_resumed_watch_starts_without_jitter(void **state)
{
    struct reflector_params p = reflector_rig_defaults;

    (void)state;
    p.start_jitter_ms = 1000;
    reflector_rig_use(&p);
    resume_at_20();
    reflector_rig_want("W(20)"); /* first the cluster must be identified */
}

static void test_a_partly_resumed_watch_starts_without_jitter(void **state)
{
    struct reflector_params p = reflector_rig_defaults;

    (void)state;
    p.start_jitter_ms = 3600000;
    reflector_rig_use(&p);
    reflector_resume(reflector_rig.r, &(struct resume_point){.kind = RESUME_PARTIAL, .rv = "20"});
    reflector_rig_start();
    reflector_rig_want("L(20)");
}

static void test_s109_a_version_that_is_too_old_is_listed_from_at_once_then_left_out(void **state)
{
    (void)state;
    resume_at_20();
    reflector_rig_failed(ERR_EXPIRED);
    reflector_rig_want("L(20)");
    reflector_rig_failed(ERR_EXPIRED);
    reflector_rig_want("L(-) limit=500");
    assert_int_equal(reflector_rig_relists(RELIST_EXPIRED), 1);
    reflector_rig_listed("90", "");
    reflector_rig_want("W(90)");
}

static void test_s109_a_version_that_is_too_large_is_left_out_at_once(void **state)
{
    (void)state;
    resume_at_20();
    reflector_rig_failed(ERR_FUTURE);
    reflector_rig_want("L(-) limit=500");
    assert_int_equal(reflector_rig_relists(RELIST_FUTURE), 1);
}

static void test_a_watch_that_could_not_begin_is_tried_again_and_then_refused_at_once(void **state)
{
    static const enum err_kind kinds[] = {ERR_REFUSED, ERR_TIMEOUT, ERR_UNAUTHORIZED};

    (void)state;
    resume_at_20();
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
        reflector_rig_failed(kinds[i]);
        assert_int_equal(reflector_rig.last.what, REFLECTOR_WAIT);
        reflector_rig_timer();
        reflector_rig_want("W(20)");
    }
    reflector_rig_failed(ERR_EXPIRED);
    reflector_rig_want("L(20)");
}

static void test_behind_the_first_watch_a_refusal_waits_as_ever(void **state)
{
    (void)state;
    resume_at_20();
    reflector_rig_ended_after(5000);
    reflector_rig_want("W(20)");
    reflector_rig_failed(ERR_EXPIRED);
    reflector_rig_want_wait_then(800, "L(20)");
}

static void test_behind_a_list_a_refusal_waits_as_ever(void **state)
{
    (void)state;
    resume_at_20();
    reflector_rig_failed(ERR_EXPIRED);
    reflector_rig_listed("30", "");
    reflector_rig_failed(ERR_EXPIRED);
    reflector_rig_want_wait_then(800, "L(30)");
}

static void test_other_errors_wait_before_the_list(void **state)
{
    (void)state;
    resume_at_20();
    reflector_rig_failed(ERR_SERVER);
    reflector_rig_want_wait_then(800, "L(20)");
    assert_int_equal(reflector_rig_relists(RELIST_ERROR), 1);
}

static void test_a_watch_that_ends_at_once_lists(void **state)
{
    (void)state;
    resume_at_20();
    reflector_rig_ended_after(10);
    reflector_rig_want_wait_then(800, "L(20)");
    assert_int_equal(reflector_rig_relists(RELIST_EMPTY), 1);
}

static void test_two_silent_watches_ask_whether_the_version_is_of_the_future(void **state)
{
    (void)state;
    resume_at_20();
    reflector_rig_ended_after(300000);
    reflector_rig_want("W(20)");
    reflector_rig_ended_after(300000);
    reflector_rig_want("P(-) limit=1");
    reflector_rig_listed("15", "");
    reflector_rig_want("L(-) limit=500");
    assert_true(reflector_goes_back(reflector_rig.r, str_c("15")));
}

static void test_objects_of_a_known_version_are_not_compared_with_an_older_list(void **state)
{
    static const enum resume_kind kinds[] = {RESUME_PARTIAL, RESUME_EDITED};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
        reflector_rig_use(&reflector_rig_defaults);
        resume(kinds[i], "20", "18");
        reflector_rig_start();
        reflector_rig_want("L(20)");
        reflector_rig_failed(ERR_FUTURE);
        reflector_rig_want("L(-) limit=500");
    }
}

static void test_objects_of_no_version_are_compared_with_the_newest_list(void **state)
{
    (void)state;
    resume(RESUME_PARTIAL, NULL, "18");
    reflector_rig_start();
    reflector_rig_want("L(-) limit=500");
    assert_true(reflector_goes_back(reflector_rig.r, str_c("17")));
    reflector_rig_failed(ERR_SERVER);
    reflector_rig_want_wait_then(800, "L(-) limit=500");
    reflector_rig_relist(RELIST_MANUAL);
    reflector_rig_want("L(-) limit=500");
}

static void test_a_relist_ordered_during_the_first_list_begins_it_again(void **state)
{
    (void)state;
    reflector_rig_start();
    reflector_rig_want("L(0) limit=500");
    reflector_rig_relist(RELIST_MANUAL);
    reflector_rig_want("L(0) limit=500");
}

static void test_a_forgotten_resume_point_does_not_count(void **state)
{
    (void)state;
    resume(RESUME_WHOLE, "20", "18");
    resume(RESUME_NONE, NULL, NULL);
    reflector_rig_start();
    reflector_rig_want("L(0) limit=500");
    assert_string_equal(reflector_collection_rv(reflector_rig.r), "");
    assert_false(reflector_goes_back(reflector_rig.r, str_c("3")));
}

int main(void)
{
#define TEST(name) \
    cmocka_unit_test_setup_teardown(name, reflector_rig_set_up, reflector_rig_clean_up)
    const struct CMUnitTest tests[] = {
        TEST(test_s106_a_watch_goes_on_from_the_version_without_a_list),
        TEST(test_a_resumed_watch_starts_without_jitter),
        TEST(test_a_partly_resumed_watch_starts_without_jitter),
        TEST(test_s109_a_version_that_is_too_old_is_listed_from_at_once_then_left_out),
        TEST(test_s109_a_version_that_is_too_large_is_left_out_at_once),
        TEST(test_a_watch_that_could_not_begin_is_tried_again_and_then_refused_at_once),
        TEST(test_behind_the_first_watch_a_refusal_waits_as_ever),
        TEST(test_behind_a_list_a_refusal_waits_as_ever),
        TEST(test_other_errors_wait_before_the_list),
        TEST(test_a_watch_that_ends_at_once_lists),
        TEST(test_two_silent_watches_ask_whether_the_version_is_of_the_future),
        TEST(test_objects_of_a_known_version_are_not_compared_with_an_older_list),
        TEST(test_objects_of_no_version_are_compared_with_the_newest_list),
        TEST(test_a_relist_ordered_during_the_first_list_begins_it_again),
        TEST(test_a_forgotten_resume_point_does_not_count),
    };
#undef TEST

    return cmocka_run_group_tests(tests, NULL, NULL);
}
