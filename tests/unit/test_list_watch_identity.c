/* SPDX-License-Identifier: Apache-2.0 */
/* cache/list_watch: it takes nothing from another cluster that answers (docs/design.md "Cluster
 * identity"). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "cache/list_watch.h"
#include "list_watch_script.h"
#include "resume_rig.h"

static const struct err foreign = {.kind = ERR_FOREIGN, .text = "another cluster answers"};

/* The answer of a server that was not asked for its identity yet. */
static void answer(const char *body)
{
    resume_rig_head();
    assert_true(list_watch_body(resume_rig_list_watch(), body, strlen(body), resume_rig.now));
    resume_rig.next = list_watch_end(resume_rig_list_watch(), NULL, 0, resume_rig.now);
}

static void identify(const struct err *err)
{
    assert_int_equal(resume_rig.next.what, LW_IDENTIFY);
    resume_rig.next = list_watch_identified(resume_rig_list_watch(), err, 0, resume_rig.now);
}

/* The list_watch knows a and b, and watches. */
static void follow(void)
{
    resume_rig_start();
    answer(PAGE("10", "", ITEM("a", "u1", "3", "") "," ITEM("b", "u2", "4", "")));
    assert_int_equal(resume_rig.next.what, LW_WATCH);
    resume_rig_hears("+ns/a:u1:3(relist) +ns/b:u2:4(relist)");
}

static void relist(void)
{
    list_watch_order(resume_rig_list_watch(), RELIST_MANUAL);
    resume_rig.next = list_watch_restart(resume_rig_list_watch(), resume_rig.now);
    resume_rig_asks(LISTS_NEWEST);
}

static enum guard_reason held(void)
{
    return watch_status(resume_rig.w, resume_rig.now.ms).held;
}

/* From the version of another cluster's list the watch would go on, and miss the changes before it. */
static void test_a_list_that_changes_nothing_waits_for_the_answer(void **state)
{
    static const char page[] =
        PAGE("12", "", ITEM("a", "u1", "3", "") "," ITEM("b", "u2", "4", ""));

    (void)state;
    follow();
    relist();
    answer(page);
    identify(NULL);
    resume_rig_asks(WATCHES("12"));
    relist();
    answer(PAGE("99", "", ITEM("a", "u1", "3", "") "," ITEM("b", "u2", "4", "")));
    identify(&foreign);
    resume_rig_has_version(" 12"); /* not 99; the next list says from where to watch */
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
        resume_rig_make();
        follow();
        relist();
        answer(pages[i]);
        resume_rig_hears("");
        identify(NULL);
        resume_rig_hears(heard[i]);
        resume_rig_asks(WATCHES("12"));
    }
}

static void test_a_list_of_another_cluster_is_dropped_and_held(void **state)
{
    (void)state;
    follow();
    relist();
    answer(PAGE("99", "", ITEM("z", "u7", "98", "")));
    identify(&foreign);
    resume_rig_hears("");
    assert_int_equal(resume_rig.next.what, LW_WAIT);
    assert_int_equal(held(), GUARD_IDENTITY);
    assert_false(
        watch_guard(resume_rig.w, true)); /* the error counts for the cluster, not for the list */
    assert_false(watch_guard(resume_rig.w, false));
    assert_int_equal(store_count(watch_store(resume_rig.w)), 2);
    resume_rig.next = list_watch_timer(resume_rig_list_watch(), resume_rig.now.ms);
    resume_rig_asks(LISTS_NEWEST);
    answer(PAGE("13", "", ITEM("a", "u1", "3", "") "," ITEM("b", "u2", "4", "")));
    identify(NULL);
    assert_int_equal(held(), GUARD_NOTHING);
    assert_int_equal(resume_rig.next.what, LW_WATCH);
}

/* The request was not sent: the version still holds, and there is no list when the right cluster is
 * back. */
static void test_a_watch_that_meets_another_cluster_keeps_its_version(void **state)
{
    (void)state;
    follow();
    resume_rig.next = list_watch_end(resume_rig_list_watch(), &foreign, 0, resume_rig.now);
    assert_int_equal(resume_rig.next.what, LW_WAIT);
    assert_int_equal(held(), GUARD_IDENTITY);
    resume_rig_has_version("10 10");
    resume_rig.next = list_watch_timer(resume_rig_list_watch(), resume_rig.now.ms);
    resume_rig_asks(WATCHES("10"));
    resume_rig_head();
    assert_int_equal(held(), GUARD_NOTHING);
}

static void test_a_list_without_an_identity_is_asked_for_again(void **state)
{
    const struct err busy = {.kind = ERR_BUSY, .text = "no answer"};

    (void)state;
    follow();
    relist();
    answer(PAGE("12", "", ITEM("a", "u1", "3", "")));
    identify(&busy);
    resume_rig_hears("");
    assert_int_equal(held(), GUARD_NOTHING);
    assert_int_equal(resume_rig.next.what, LW_WAIT);
    resume_rig.next = list_watch_timer(resume_rig_list_watch(), resume_rig.now.ms);
    resume_rig_asks(LISTS_NEWEST);
    answer(PAGE("14", "", ITEM("a", "u1", "3", "")));
    identify(NULL);
    resume_rig_hears("-ns/b:u2:4?(relist)");
}

/* A server numbers all resources by its etcd; a server that is behind may have been restored from a
 * backup. */
static void
test_a_watch_from_beyond_the_revision_of_etcd_asks_for_the_newest_version_first(void **state)
{
    (void)state;
    follow();
    assert_false(list_watch_is_ahead(resume_rig_list_watch(), ""));
    assert_false(list_watch_is_ahead(resume_rig_list_watch(), "10"));
    assert_false(list_watch_is_ahead(resume_rig_list_watch(), "11"));
    assert_true(list_watch_is_ahead(resume_rig_list_watch(), "9"));
    resume_rig.next = list_watch_doubted(resume_rig_list_watch(), resume_rig.now.ms);
    resume_rig_asks(PATH "?limit=1");
    assert_false(list_watch_is_ahead(resume_rig_list_watch(), "9")); /* that request is no watch */
    answer(PAGE("10", "", ""));                                      /* the cluster's own numbers */
    resume_rig_asks(WATCHES("10"));
    resume_rig.next = list_watch_doubted(resume_rig_list_watch(), resume_rig.now.ms);
    answer(PAGE("8", "", ""));
    resume_rig_asks(LISTS_NEWEST);
}

static void test_an_accepted_cluster_is_listed_as_at_a_first_start(void **state)
{
    (void)state;
    follow();
    resume_rig.next = list_watch_end(resume_rig_list_watch(), &foreign, 0, resume_rig.now);
    watch_forget(resume_rig.w);
    resume_rig_hears("");
    assert_int_equal(store_count(watch_store(resume_rig.w)), 0);
    assert_false(watch_synced(resume_rig.w));
    assert_int_equal(held(), GUARD_NOTHING);
    assert_true(list_watch_is_ordered(resume_rig_list_watch()));
    resume_rig.next = list_watch_restart(resume_rig_list_watch(), resume_rig.now);
    resume_rig_asks(PATH "?resourceVersion=0&limit=500");
    answer(PAGE("2", "", ITEM("z", "u7", "1", "")));
    resume_rig_hears("+ns/z:u7:1(relist)");
    assert_true(watch_synced(resume_rig.w));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, resume_rig_set_up, resume_rig_clean_up)
    const struct CMUnitTest tests[] = {
        TEST(test_a_list_that_changes_nothing_waits_for_the_answer),
        TEST(test_any_change_by_a_list_waits_for_the_answer),
        TEST(test_a_list_of_another_cluster_is_dropped_and_held),
        TEST(test_a_watch_that_meets_another_cluster_keeps_its_version),
        TEST(test_a_list_without_an_identity_is_asked_for_again),
        TEST(test_a_watch_from_beyond_the_revision_of_etcd_asks_for_the_newest_version_first),
        TEST(test_an_accepted_cluster_is_listed_as_at_a_first_start),
    };
#undef TEST

    return cmocka_run_group_tests(tests, NULL, NULL);
}
