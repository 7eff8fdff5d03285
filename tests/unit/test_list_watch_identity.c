/* SPDX-License-Identifier: Apache-2.0 */
/* cache/list_watch: nothing is taken from another cluster that answers (DESIGN 1.6). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "cache/list_watch.h"
#include "resumed.h"
#include "talk.h"

static const struct err foreign = {.kind = ERR_FOREIGN, .text = "another cluster answers"};

/* The answer of a server that was not asked yet. */
static void answer(const char *body)
{
    resumed_head();
    assert_true(list_watch_body(resumed_feed(), body, strlen(body), resumed.now));
    resumed.next = list_watch_end(resumed_feed(), NULL, resumed.now);
}

static void identify(const struct err *err)
{
    assert_int_equal(resumed.next.what, LW_IDENTIFY);
    resumed.next = list_watch_identified(resumed_feed(), err, resumed.now);
}

/* It knows a and b, and watches. */
static void follow(void)
{
    resumed_start();
    answer(PAGE("10", "", ITEM("a", "u1", "3", "") "," ITEM("b", "u2", "4", "")));
    assert_int_equal(resumed.next.what, LW_WATCH);
    resumed_hears("+ns/a:u1:3(relist) +ns/b:u2:4(relist)");
}

static void relist(void)
{
    list_watch_order(resumed_feed(), RELIST_MANUAL);
    resumed.next = list_watch_restart(resumed_feed(), resumed.now);
    resumed_asks(LISTS_NEWEST);
}

static const char *held(void)
{
    return watch_status(resumed.w, resumed.now.ms).held;
}

static void test_a_list_that_changes_nothing_asks_nothing(void **state)
{
    (void)state;
    follow();
    relist();
    answer(PAGE("12", "", ITEM("a", "u1", "3", "") "," ITEM("b", "u2", "4", "")));
    assert_int_equal(resumed.next.what, LW_WATCH);
}

static void test_any_change_by_a_list_waits_for_the_answer(void **state)
{
    static const char *const pages[] = {
        PAGE("12", "", ITEM("a", "u1", "3", "")),
        PAGE("12", "", ITEM("a", "u1", "3", "") "," ITEM("b", "u9", "11", "")),
        PAGE("12", "", ITEM("a", "u1", "9", "\"k\":\"v\"") "," ITEM("b", "u2", "4", "")),
        PAGE("12", "",
             ITEM("a", "u1", "3", "") "," ITEM("b", "u2", "4", "") "," ITEM("c", "u3", "5", "")),
    };
    static const char *const heard[] = {
        "-ns/b:u2:4?(relist)",
        "-ns/b:u2:4?(relist) +ns/b:u9:11(relist)",
        "~ns/a:u1:9(relist)",
        "+ns/c:u3:5(relist)",
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(pages); i++) {
        resumed_make();
        follow();
        relist();
        answer(pages[i]);
        resumed_hears("");
        identify(NULL);
        resumed_hears(heard[i]);
        resumed_asks(WATCHES("12"));
    }
}

static void test_a_list_of_another_cluster_is_dropped_and_held(void **state)
{
    (void)state;
    follow();
    relist();
    answer(PAGE("99", "", ITEM("z", "u7", "98", "")));
    identify(&foreign);
    resumed_hears("");
    assert_int_equal(resumed.next.what, LW_WAIT);
    assert_string_equal(held(), "identity");
    assert_false(watch_guard(resumed.w, true)); /* that is for the cluster, not for the list */
    assert_false(watch_guard(resumed.w, false));
    assert_int_equal(store_count(watch_store(resumed.w)), 2);
    resumed.next = list_watch_timer(resumed_feed(), resumed.now.ms);
    resumed_asks(LISTS_NEWEST);
    answer(PAGE("13", "", ITEM("a", "u1", "3", "") "," ITEM("b", "u2", "4", "")));
    assert_null(held());
    assert_int_equal(resumed.next.what, LW_WATCH);
}

/* The request was not sent: the version stands, and nothing is listed when the right one is back. */
static void test_a_watch_that_meets_another_cluster_keeps_its_version(void **state)
{
    (void)state;
    follow();
    resumed.next = list_watch_end(resumed_feed(), &foreign, resumed.now);
    assert_int_equal(resumed.next.what, LW_WAIT);
    assert_string_equal(held(), "identity");
    resumed_has_version("10 10");
    resumed.next = list_watch_timer(resumed_feed(), resumed.now.ms);
    resumed_asks(WATCHES("10"));
    resumed_head();
    assert_null(held());
}

static void test_without_an_answer_it_is_listed_again(void **state)
{
    const struct err busy = {.kind = ERR_BUSY, .text = "no answer"};

    (void)state;
    follow();
    relist();
    answer(PAGE("12", "", ITEM("a", "u1", "3", "")));
    identify(&busy);
    resumed_hears("");
    assert_null(held());
    assert_int_equal(resumed.next.what, LW_WAIT);
    resumed.next = list_watch_timer(resumed_feed(), resumed.now.ms);
    resumed_asks(LISTS_NEWEST);
    answer(PAGE("14", "", ITEM("a", "u1", "3", "")));
    identify(NULL);
    resumed_hears("-ns/b:u2:4?(relist)");
}

/* Servers number all resources by their etcd; one that is behind may have been restored. */
static void
test_a_watch_from_beyond_the_revision_of_etcd_asks_for_the_newest_version_first(void **state)
{
    (void)state;
    follow();
    assert_false(list_watch_is_ahead(resumed_feed(), ""));
    assert_false(list_watch_is_ahead(resumed_feed(), "10"));
    assert_false(list_watch_is_ahead(resumed_feed(), "11"));
    assert_true(list_watch_is_ahead(resumed_feed(), "9"));
    resumed.next = list_watch_doubted(resumed_feed(), resumed.now.ms);
    resumed_asks(PATH "?limit=1");
    assert_false(list_watch_is_ahead(resumed_feed(), "9")); /* that is no watch */
    answer(PAGE("10", "", ""));                             /* its own numbers: all is well */
    resumed_asks(WATCHES("10"));
    resumed.next = list_watch_doubted(resumed_feed(), resumed.now.ms);
    answer(PAGE("8", "", ""));
    resumed_asks(LISTS_NEWEST);
}

static void test_what_is_accepted_is_learned_as_at_a_first_start(void **state)
{
    (void)state;
    follow();
    resumed.next = list_watch_end(resumed_feed(), &foreign, resumed.now);
    watch_forget(resumed.w);
    resumed_hears("");
    assert_int_equal(store_count(watch_store(resumed.w)), 0);
    assert_false(watch_synced(resumed.w));
    assert_null(held());
    assert_true(list_watch_is_ordered(resumed_feed()));
    resumed.next = list_watch_restart(resumed_feed(), resumed.now);
    resumed_asks(PATH "?resourceVersion=0&limit=500");
    answer(PAGE("2", "", ITEM("z", "u7", "1", "")));
    resumed_hears("+ns/z:u7:1(relist)");
    assert_true(watch_synced(resumed.w));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, resumed_set_up, resumed_clean_up)
    const struct CMUnitTest tests[] = {
        TEST(test_a_list_that_changes_nothing_asks_nothing),
        TEST(test_any_change_by_a_list_waits_for_the_answer),
        TEST(test_a_list_of_another_cluster_is_dropped_and_held),
        TEST(test_a_watch_that_meets_another_cluster_keeps_its_version),
        TEST(test_without_an_answer_it_is_listed_again),
        TEST(test_a_watch_from_beyond_the_revision_of_etcd_asks_for_the_newest_version_first),
        TEST(test_what_is_accepted_is_learned_as_at_a_first_start),
    };
#undef TEST

    return cmocka_run_group_tests(tests, NULL, NULL);
}
