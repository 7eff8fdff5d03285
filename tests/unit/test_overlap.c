/* SPDX-License-Identifier: Apache-2.0 */
/* cache/overlap: which events of a second watch the first one has brought, for servers of every
 * kind. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cache/overlap.h"

static struct overlap o;

static int begin(void **state)
{
    (void)state;
    overlap_begin(&o, "10", "8");
    return 0;
}

static int end(void **state)
{
    (void)state;
    overlap_end(&o);
    return 0;
}

static void note(const char *rv, const char *key)
{
    overlap_note(&o, (struct overlap_event){.rv = str_c(rv), .key = str_c(key)});
}

static void note_end(const char *rv, const char *key)
{
    overlap_note(&o, (struct overlap_event){.rv = str_c(rv), .key = str_c(key), .deleted = true});
}

static enum overlap_verdict judge(const char *rv, const char *key)
{
    return overlap_judge(&o, (struct overlap_event){.rv = str_c(rv), .key = str_c(key)});
}

static enum overlap_verdict judge_end(const char *rv, const char *key)
{
    return overlap_judge(
        &o, (struct overlap_event){.rv = str_c(rv), .key = str_c(key), .deleted = true});
}

static bool bookmark(const char *rv, const char *collection_rv)
{
    return overlap_bookmark(&o, str_c(rv), collection_rv);
}

static void test_without_a_second_watch_every_event_and_bookmark_is_new(void **state)
{
    (void)state;
    overlap_end(&o);
    note("11", "a");
    assert_int_equal(judge("11", "a"), OVERLAP_NEW);
    assert_int_equal(judge("", "a"), OVERLAP_NEW);
    assert_true(bookmark("7", "8"));
    assert_true(bookmark("9", "8"));
}

static void test_nothing_is_repeated_if_the_first_watch_was_silent(void **state)
{
    (void)state;
    assert_int_equal(judge("11", "a"), OVERLAP_NEW);
    assert_int_equal(judge("5", "a"), OVERLAP_NEW);
}

static void test_events_up_to_the_last_one_are_repeated(void **state)
{
    (void)state;
    note("11", "a");
    note("13", "b");
    note("14", "a");
    assert_int_equal(judge("11", "a"), OVERLAP_REPEATED);
    assert_int_equal(judge("13", "b"), OVERLAP_REPEATED);
    assert_int_equal(judge("14", "a"), OVERLAP_REPEATED);
    assert_int_equal(judge("15", "a"), OVERLAP_NEW);
    assert_int_equal(judge("12", "a"), OVERLAP_NEW);
}

/* The server has put two events into one. */
static void test_a_newer_version_ends_the_repetition_where_versions_grow(void **state)
{
    (void)state;
    note("11", "a");
    note("11", "b"); /* of one transaction */
    note("13", "c");
    assert_int_equal(judge("11", "a"), OVERLAP_REPEATED);
    assert_int_equal(judge("15", "b"), OVERLAP_NEW);
    assert_int_equal(judge("16", "b"), OVERLAP_NEW);
}

static void test_opaque_versions_are_recognised(void **state)
{
    (void)state;
    note("x", "a");
    note("c", "b");
    note("k", "b");
    assert_int_equal(judge("x", "a"), OVERLAP_REPEATED);
    assert_int_equal(judge("c", "b"), OVERLAP_REPEATED);
    assert_int_equal(judge("k", "b"), OVERLAP_REPEATED);
    assert_int_equal(judge("a", "b"), OVERLAP_NEW);
}

/* Each object has a count of its own. So an old event may have a larger version than the last one,
 * and a new event a smaller one. */
static void test_versions_of_single_objects_are_recognised(void **state)
{
    (void)state;
    note("50", "a");
    note("51", "a");
    note("3", "b");
    assert_int_equal(judge("50", "a"), OVERLAP_REPEATED);
    assert_int_equal(judge("51", "a"), OVERLAP_REPEATED);
    assert_int_equal(judge("3", "b"), OVERLAP_REPEATED);
    assert_int_equal(judge("2", "c"), OVERLAP_NEW);
}

static void test_versions_that_went_down_once_do_not_grow(void **state)
{
    (void)state;
    note("60", "a");
    note("3", "b");
    note("4", "b");
    assert_int_equal(judge("60", "a"), OVERLAP_REPEATED);
    assert_int_equal(judge("3", "b"), OVERLAP_REPEATED);
    assert_int_equal(judge("4", "b"), OVERLAP_REPEATED);
    assert_int_equal(judge("61", "a"), OVERLAP_NEW);
}

static void test_the_last_event_is_known_by_its_key_too(void **state)
{
    (void)state;
    note("51", "a");
    note("7", "c");
    note("51", "b");
    assert_int_equal(judge("51", "a"), OVERLAP_REPEATED);
    assert_int_equal(judge("7", "c"), OVERLAP_REPEATED);
    assert_int_equal(judge("51", "b"), OVERLAP_REPEATED);
    assert_int_equal(judge("52", "a"), OVERLAP_NEW);
}

/* The server deletes with the last version of the object. */
static void test_a_delete_with_the_version_of_the_last_change_is_no_repetition_of_that(void **state)
{
    (void)state;
    note("11", "a");
    note("12", "a");
    assert_int_equal(judge("11", "a"), OVERLAP_REPEATED);
    assert_int_equal(judge("12", "a"), OVERLAP_REPEATED);
    assert_int_equal(judge_end("12", "a"), OVERLAP_NEW);
    begin(state);
    note("12", "a");
    note_end("12", "a");
    assert_int_equal(judge("12", "a"), OVERLAP_REPEATED);
    assert_int_equal(judge_end("12", "a"), OVERLAP_REPEATED);
    assert_int_equal(judge("13", "a"), OVERLAP_NEW);
}

/* Some servers send events twice. */
static void test_the_last_event_may_come_more_than_once(void **state)
{
    (void)state;
    note("11", "a");
    assert_int_equal(judge("11", "a"), OVERLAP_REPEATED);
    assert_int_equal(judge("11", "a"), OVERLAP_REPEATED);
    assert_int_equal(judge("12", "a"), OVERLAP_NEW);
}

static void test_no_more_events_are_skipped_than_were_sent(void **state)
{
    (void)state;
    note("x", "a");
    note("y", "a");
    assert_int_equal(judge("q", "b"), OVERLAP_REPEATED);
    assert_int_equal(judge("r", "b"), OVERLAP_MISFIT);
}

static void test_one_event_that_does_not_come_again_is_a_misfit_at_once(void **state)
{
    (void)state;
    note("12", "a");
    assert_int_equal(judge("11", "b"), OVERLAP_MISFIT);
}

static void test_an_event_without_a_version_among_the_repeated_ones_is_a_misfit(void **state)
{
    (void)state;
    note("12", "a");
    note("13", "a");
    note("14", "a");
    assert_int_equal(judge("", "a"), OVERLAP_MISFIT);
}

static void test_events_without_versions_cannot_be_recognised(void **state)
{
    (void)state;
    note("12", "a");
    assert_true(overlap_is_known(&o));
    note("", "a");
    note("13", "a");
    assert_false(overlap_is_known(&o));
    begin(state);
    assert_true(overlap_is_known(&o));
    note("0", "a");
    assert_false(overlap_is_known(&o));
}

static void test_bookmarks_of_the_common_time_tell_nothing(void **state)
{
    (void)state;
    note("11", "a");
    note("12", "a");
    assert_false(bookmark("11", "13")); /* 12 has not come again */
    assert_false(bookmark("12", "12")); /* the same */
    assert_int_equal(judge("11", "a"), OVERLAP_REPEATED);
    assert_int_equal(judge("12", "a"), OVERLAP_REPEATED);
    assert_false(bookmark("11", "12"));
    assert_false(bookmark("8", "12"));
    assert_true(bookmark("12", "12"));
    assert_true(bookmark("11", "12")); /* from now on it goes back */
}

/* The server does not repeat the event, or it was none of this server. */
static void test_a_newer_bookmark_ends_the_repetition_where_versions_grow(void **state)
{
    (void)state;
    note("12", "a");
    assert_true(bookmark("13", "8"));
    assert_int_equal(judge("11", "b"), OVERLAP_NEW);
    begin(state);
    note("12", "a");
    assert_false(bookmark("13", "14"));
    assert_int_equal(judge("11", "b"), OVERLAP_NEW);
}

/* The first watch has sent its last event twice, once before the request. */
static void test_an_event_with_the_version_of_the_request_is_not_repeated(void **state)
{
    (void)state;
    note("10", "a");
    assert_int_equal(judge("9", "b"), OVERLAP_NEW);
    begin(state);
    note("10", "a");
    note("11", "a");
    assert_int_equal(judge("11", "a"), OVERLAP_REPEATED);
    assert_int_equal(judge("12", "a"), OVERLAP_NEW);
}

static void test_a_bookmark_from_before_the_request_counts_as_it_goes_back(void **state)
{
    (void)state;
    note("11", "a");
    assert_true(bookmark("7", "12"));
}

static void test_bookmarks_without_an_order_count_once_the_events_are_over(void **state)
{
    (void)state;
    note("x", "a");
    assert_false(bookmark("q", "p"));
    assert_int_equal(judge("x", "a"), OVERLAP_REPEATED);
    assert_true(bookmark("q", "p"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_without_a_second_watch_every_event_and_bookmark_is_new),
        TEST(test_nothing_is_repeated_if_the_first_watch_was_silent),
        TEST(test_events_up_to_the_last_one_are_repeated),
        TEST(test_a_newer_version_ends_the_repetition_where_versions_grow),
        TEST(test_opaque_versions_are_recognised),
        TEST(test_versions_of_single_objects_are_recognised),
        TEST(test_versions_that_went_down_once_do_not_grow),
        TEST(test_the_last_event_is_known_by_its_key_too),
        TEST(test_a_delete_with_the_version_of_the_last_change_is_no_repetition_of_that),
        TEST(test_the_last_event_may_come_more_than_once),
        TEST(test_no_more_events_are_skipped_than_were_sent),
        TEST(test_one_event_that_does_not_come_again_is_a_misfit_at_once),
        TEST(test_an_event_without_a_version_among_the_repeated_ones_is_a_misfit),
        TEST(test_events_without_versions_cannot_be_recognised),
        TEST(test_bookmarks_of_the_common_time_tell_nothing),
        TEST(test_a_newer_bookmark_ends_the_repetition_where_versions_grow),
        TEST(test_an_event_with_the_version_of_the_request_is_not_repeated),
        TEST(test_a_bookmark_from_before_the_request_counts_as_it_goes_back),
        TEST(test_bookmarks_without_an_order_count_once_the_events_are_over),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
