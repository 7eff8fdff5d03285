/* SPDX-License-Identifier: Apache-2.0 */
/* cache/watch and cache/list_watch: how a watch goes on from the objects that an earlier process
 * has left: by the watch alone, or by a list that is compared (docs/design.md "Events", "Synced",
 * "Missed deletes", "Edited selectors"). */
#include "identified.h"
#include "resume_rig.h"

#include <string.h>

/* ---- Resumed without a list. */

static void test_s106_the_watch_goes_on_and_reports_the_changes(void **state)
{
    (void)state;
    resume_rig_start_from(RESUME_WHOLE, "10");
    resume_rig_hears("");
    resume_rig_asks(WATCHES("10"));
    assert_int_equal(store_count(watch_store(resume_rig.w)), 2);
    resume_rig_head();
    resume_rig_body(EVENT("DELETED", "a", "u1", "11") EVENT("MODIFIED", "b", "u2", "12")
                        EVENT("ADDED", "c", "u3", "13"));
    resume_rig_hears("-ns/a:u1:11(watch) ~ns/b:u2:12(watch) +ns/c:u3:13(watch)");
}

static void test_a_watch_is_synced_when_it_was_silent_for_half_a_second(void **state)
{
    (void)state;
    resume_rig_start_from(RESUME_WHOLE, "10");
    assert_int_equal(list_watch_due_ms(resume_rig_list_watch()), UINT64_MAX);
    assert_false(watch_synced(resume_rig.w));
    resume_rig.now.ms += 5000; /* the watch request has no answer yet */
    resume_rig_head();
    assert_true(list_watch_status(resume_rig_list_watch()).connected);
    resume_rig_silence(499);
    assert_false(watch_synced(resume_rig.w));
    resume_rig_body(EVENT("MODIFIED", "b", "u2", "12"));
    resume_rig_silence(499);
    assert_false(watch_synced(resume_rig.w));
    resume_rig_silence(1);
    assert_true(watch_synced(resume_rig.w));
    assert_true(watch_settled(resume_rig.w));
    assert_true(list_watch_status(resume_rig_list_watch()).connected);
    assert_int_equal(list_watch_due_ms(resume_rig_list_watch()), UINT64_MAX);
}

static void test_a_watch_is_synced_at_its_first_bookmark(void **state)
{
    (void)state;
    resume_rig_start_from(RESUME_WHOLE, "10");
    resume_rig_head();
    resume_rig_body(EVENT("MODIFIED", "b", "u2", "12"));
    assert_false(watch_synced(resume_rig.w));
    resume_rig_body(BOOKMARK("20"));
    assert_true(watch_synced(resume_rig.w));
    assert_int_equal(list_watch_due_ms(resume_rig_list_watch()),
                     resume_rig.now.ms + 150000); /* a watch like any other */
    resume_rig_has_version("20 20");
}

static void test_a_bookmark_of_the_past_syncs_nothing(void **state)
{
    (void)state;
    resume_rig_start_from(RESUME_WHOLE, "10");
    resume_rig_head();
    assert_false(list_watch_body(resume_rig_list_watch(), BOOKMARK("8"), strlen(BOOKMARK("8")),
                                 resume_rig.now));
    assert_false(watch_synced(resume_rig.w));
    resume_rig.next = list_watch_end_identified(resume_rig_list_watch(), NULL, resume_rig.now);
    resume_rig.now.ms += resume_rig.next.wait_ms;
    resume_rig.next = list_watch_timer(resume_rig_list_watch(), resume_rig.now.ms);
    resume_rig_asks(LISTS_NEWEST);
    resume_rig_has_version(" 9"); /* the version to resume from is in doubt */
}

static void test_a_watch_that_ends_before_is_resumed_and_not_synced(void **state)
{
    (void)state;
    resume_rig_start_from(RESUME_WHOLE, "10");
    resume_rig_head();
    resume_rig.now.ms += 300;
    resume_rig_body(EVENT("MODIFIED", "b", "u2", "12"));
    resume_rig.next = list_watch_end_identified(resume_rig_list_watch(), NULL, resume_rig.now);
    resume_rig_asks(WATCHES("12"));
    assert_false(watch_synced(resume_rig.w));
    assert_int_equal(list_watch_status(resume_rig_list_watch()).follow_ms, 0);
    resume_rig_head();
    resume_rig_silence(500);
    assert_true(watch_synced(resume_rig.w));
    resume_rig.next = list_watch_end_identified(resume_rig_list_watch(), NULL, resume_rig.now);
    assert_int_equal(list_watch_status(resume_rig_list_watch()).follow_ms, resume_rig.now.ms);
    resume_rig_head(); /* from now on a watch request follows as soon as it is open */
    assert_int_equal(list_watch_due_ms(resume_rig_list_watch()), UINT64_MAX);
}

static void test_later_lists_are_relists(void **state)
{
    (void)state;
    resume_rig_start_from(RESUME_WHOLE, "10");
    resume_rig_head();
    resume_rig_silence(500);
    list_watch_order(resume_rig_list_watch(), RELIST_MANUAL);
    resume_rig.next = list_watch_restart(resume_rig_list_watch(), resume_rig.now);
    resume_rig_answer(PAGE("30", "", ITEM("a", "u1", "3", "")));
    resume_rig_hears("-ns/b:u2:4?(relist)");
}

/* ---- Resumed, and then listed. */

static void test_s109_differences_have_the_cause_restart(void **state)
{
    (void)state;
    resume_rig_start_from(RESUME_WHOLE, "10");
    resume_rig_answer(ERROR_EVENT("410", "Expired", "too old"));
    resume_rig_asks(LISTS_FROM("10"));
    resume_rig_has_version("10 9");
    resume_rig_answer(PAGE("30", "", ITEM("b", "u2", "25", "") "," ITEM("c", "u3", "26", "")));
    resume_rig_hears("-ns/a:u1:3?(restart) ~ns/b:u2:25(restart) +ns/c:u3:26(restart)");
    resume_rig_keeps("0-ns/a 0+ns/b:25 0+ns/c:26");
    resume_rig_asks(WATCHES("30"));
    assert_true(watch_synced(resume_rig.w));
    resume_rig_has_version("30 30");
}

static void test_objects_without_a_version_are_compared_with_the_newest(void **state)
{
    (void)state;
    resume_rig_start_from(RESUME_WHOLE, "");
    resume_rig_asks(LISTS_NEWEST);
    resume_rig_has_version("");
    resume_rig_answer(PAGE("30", "", ITEM("a", "u9", "25", "")));
    resume_rig_hears("-ns/b:u2:4?(restart) -ns/a:u1:3?(restart) +ns/a:u9:25(restart)");
}

static void test_lost_objects_are_added(void **state)
{
    (void)state;
    resume_rig_start_from(RESUME_PARTIAL, "10");
    resume_rig_asks(LISTS_FROM("10"));
    resume_rig_answer(
        PAGE("30", "",
             ITEM("a", "u1", "3", "") "," ITEM("b", "u2", "4", "") "," ITEM("c", "u3", "9", "")));
    resume_rig_hears("+ns/c:u3:9(restart)");
}

static void test_without_a_resume_point_there_is_a_first_list(void **state)
{
    (void)state;
    resume_rig_start();
    resume_rig_asks(PATH "?resourceVersion=0&limit=500");
    resume_rig_has_version("");
    resume_rig_answer(PAGE("30", "", ITEM("a", "u1", "3", "")));
    resume_rig_hears("+ns/a:u1:3(relist)");
}

/* ---- Edited selectors. */

/* A list of all objects that exist, whatever the watch selects. */
#define EXISTS(items) PAGE("40", "", items)
#define A             ITEM("a", "u1", "33", "")

static void test_an_object_that_an_edited_watch_does_not_list_has_left_if_it_exists(void **state)
{
    (void)state;
    resume_rig.params.label_selector = "new=x";
    resume_rig_make();
    resume_rig_start_from(RESUME_EDITED, "10");
    resume_rig_asks(LISTS_FROM("10") "&labelSelector=new%3Dx");
    resume_rig_has_version("");
    resume_rig_answer(PAGE("30", "", ITEM("c", "u3", "9", "")));
    resume_rig_hears("");
    resume_rig_asks(LISTS_NEWEST);
    resume_rig_answer(EXISTS(A "," ITEM("b", "u9", "34", "") "," ITEM("d", "u4", "5", "")));
    resume_rig_hears("xns/a:u1:3(config) -ns/b:u2:4?(config) +ns/c:u3:9(config)");
    resume_rig_keeps("0-ns/a 0-ns/b 0+ns/c:9");
    resume_rig_has_version("30 30");
}

static void test_the_list_of_all_objects_may_come_in_pages(void **state)
{
    (void)state;
    resume_rig_start_from(RESUME_EDITED, "10");
    resume_rig_answer(PAGE("30", "", ""));
    resume_rig_answer(PAGE("40", "next", ITEM("z", "u8", "1", "")));
    resume_rig_asks(PATH "?limit=500&continue=next");
    resume_rig_hears("");
    resume_rig_answer(EXISTS(A));
    resume_rig_hears("xns/a:u1:3(config) -ns/b:u2:4?(config)");
}

static void refuse(int status)
{
    list_watch_head(resume_rig_list_watch(),
                    &(struct http_head){.status = status, .retry_after_s = -1}, resume_rig.now.ms);
    resume_rig.next = list_watch_end_identified(resume_rig_list_watch(), NULL, resume_rig.now);
}

/* The server refuses the list of all objects: the selectors decide whether an object vanished
 * because of them. */
static void test_without_a_list_of_all_objects_the_selectors_decide(void **state)
{
    static const int statuses[] = {400, 403, 404, 405};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(statuses); i++) {
        resume_rig.params.field_selector = "metadata.name!=a";
        resume_rig_make();
        resume_rig_start_from(RESUME_EDITED, "10");
        resume_rig_answer(PAGE("30", "", ""));
        resume_rig_hears("");
        refuse(statuses[i]);
        resume_rig_hears("xns/a:u1:3(config) -ns/b:u2:4?(config)");
    }
}

static void test_a_server_that_may_list_all_objects_later_is_asked_again(void **state)
{
    static const int statuses[] = {401, 408, 429, 500, 503};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(statuses); i++) {
        resume_rig_make();
        resume_rig_start_from(RESUME_EDITED, "10");
        resume_rig_answer(PAGE("30", "", ""));
        refuse(statuses[i]);
        resume_rig_hears("");
        assert_int_equal(resume_rig.next.what, LW_WAIT);
        resume_rig.next = list_watch_timer(resume_rig_list_watch(), resume_rig.now.ms);
        resume_rig_asks(LISTS_FROM("10"));
        resume_rig_answer(PAGE("31", "", ""));
        resume_rig_answer(EXISTS(A));
        resume_rig_hears("xns/a:u1:3(config) -ns/b:u2:4?(config)");
    }
}

/* Only objects that are known to exist do not count as deletes. */
static void test_an_edit_does_not_switch_the_guard_off(void **state)
{
    (void)state;
    resume_rig.params.guard.relist_deletes = 40;
    resume_rig.params.field_selector = "metadata.name!=a";
    for (int refused = 0; refused <= 1; refused++) {
        resume_rig_make();
        resume_rig_start_from(RESUME_EDITED, "10");
        resume_rig_answer(PAGE("30", "", ""));
        if (refused)
            refuse(403);
        else
            resume_rig_answer(EXISTS(A));
        resume_rig_hears("");
        assert_int_equal(watch_status(resume_rig.w, resume_rig.now.ms).held, GUARD_DELETES);
        assert_int_equal(watch_status(resume_rig.w, resume_rig.now.ms).held_deletes,
                         refused ? 2 : 1);
    }
}

static void test_objects_of_an_edited_watch_differ_under_the_same_version(void **state)
{
    (void)state;
    resume_rig_start_from(RESUME_EDITED, "10");
    resume_rig_answer(
        PAGE("30", "", ITEM("a", "u1", "3", "\"k\":\"v\"") "," ITEM("b", "u9", "7", "")));
    resume_rig_hears("-ns/b:u2:4?(config) ~ns/a:u1:3(config) +ns/b:u9:7(config)");
}

static void test_a_reshaped_watch_has_lost_objects_that_it_does_not_list(void **state)
{
    (void)state;
    resume_rig_start_from(RESUME_RESHAPED, "10");
    resume_rig_asks(LISTS_FROM("10"));
    resume_rig_answer(PAGE("30", "", ITEM("a", "u1", "3", "\"k\":\"v\"")));
    resume_rig_hears("-ns/b:u2:4?(config) ~ns/a:u1:3(config)");
}

static void test_only_the_first_list_is_of_an_edited_watch(void **state)
{
    (void)state;
    resume_rig_start_from(RESUME_EDITED, "10");
    resume_rig_answer(PAGE("30", "", ITEM("a", "u1", "3", "")));
    resume_rig_answer(EXISTS(ITEM("b", "u2", "33", "")));
    resume_rig_hears("xns/b:u2:4(config)");
    list_watch_order(resume_rig_list_watch(), RELIST_MANUAL);
    resume_rig.next = list_watch_restart(resume_rig_list_watch(), resume_rig.now);
    resume_rig_answer(PAGE("31", "", ""));
    resume_rig_hears("-ns/a:u1:3?(relist)");
}

/* ---- The guard. */

static void test_the_guard_holds_the_first_list(void **state)
{
    (void)state;
    resume_rig.params.guard.relist_deletes = 50;
    resume_rig_make();
    resume_rig_start_from(RESUME_WHOLE, "10");
    resume_rig_answer(ERROR_EVENT("410", "Expired", "too old"));
    resume_rig_answer(PAGE("30", "", ""));
    resume_rig_hears("");
    assert_int_equal(watch_status(resume_rig.w, resume_rig.now.ms).held, GUARD_DELETES);
    assert_int_equal(store_count(watch_store(resume_rig.w)), 2);
    assert_false(watch_synced(resume_rig.w));
    resume_rig_has_version(" 9");
    assert_int_equal(resume_rig.next.what, LW_WAIT);
    resume_rig.now.ms += resume_rig.next.wait_ms;
    resume_rig.next = list_watch_timer(resume_rig_list_watch(), resume_rig.now.ms);
    resume_rig_asks(LISTS_NEWEST);
    resume_rig_answer(PAGE("31", "", ""));
    resume_rig_hears("-ns/a:u1:3?(restart) -ns/b:u2:4?(restart)");
    resume_rig_has_version("31 31");
}

static void test_the_guard_holds_a_list_older_than_that_of_the_earlier_process(void **state)
{
    static const enum resume_kind kinds[] = {RESUME_PARTIAL, RESUME_RESHAPED, RESUME_EDITED};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
        resume_rig_make();
        resume_rig_start_from(kinds[i], "");
        resume_rig_asks(LISTS_NEWEST);
        resume_rig_answer(PAGE("8", "", ITEM("a", "u1", "3", "")));
        if (kinds[i] == RESUME_EDITED)
            resume_rig_answer(EXISTS(ITEM("b", "u2", "4", "")));
        resume_rig_hears("");
        assert_int_equal(watch_status(resume_rig.w, resume_rig.now.ms).held, GUARD_BACKWARDS);
        resume_rig_has_version("");
    }
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, resume_rig_set_up, resume_rig_clean_up)
    const struct CMUnitTest tests[] = {
        TEST(test_s106_the_watch_goes_on_and_reports_the_changes),
        TEST(test_a_watch_is_synced_when_it_was_silent_for_half_a_second),
        TEST(test_a_watch_is_synced_at_its_first_bookmark),
        TEST(test_a_bookmark_of_the_past_syncs_nothing),
        TEST(test_a_watch_that_ends_before_is_resumed_and_not_synced),
        TEST(test_later_lists_are_relists),
        TEST(test_s109_differences_have_the_cause_restart),
        TEST(test_objects_without_a_version_are_compared_with_the_newest),
        TEST(test_lost_objects_are_added),
        TEST(test_without_a_resume_point_there_is_a_first_list),
        TEST(test_an_object_that_an_edited_watch_does_not_list_has_left_if_it_exists),
        TEST(test_the_list_of_all_objects_may_come_in_pages),
        TEST(test_without_a_list_of_all_objects_the_selectors_decide),
        TEST(test_a_server_that_may_list_all_objects_later_is_asked_again),
        TEST(test_an_edit_does_not_switch_the_guard_off),
        TEST(test_objects_of_an_edited_watch_differ_under_the_same_version),
        TEST(test_a_reshaped_watch_has_lost_objects_that_it_does_not_list),
        TEST(test_only_the_first_list_is_of_an_edited_watch),
        TEST(test_the_guard_holds_the_first_list),
        TEST(test_the_guard_holds_a_list_older_than_that_of_the_earlier_process),
    };
#undef TEST

    return cmocka_run_group_tests(tests, NULL, NULL);
}
