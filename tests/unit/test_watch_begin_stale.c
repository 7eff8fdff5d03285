/* SPDX-License-Identifier: Apache-2.0 */
/* cache/watch: no server answers, and the objects that an earlier process has left are shown, stale
 * (docs/design.md "Stale start"). */
#include "identified.h"
#include "resume_rig.h"

#include <string.h>

enum { STALE_AFTER = 30000 };

static void begins(void)
{
    assert_true(watch_begin_stale(resume_rig.w, resume_rig.now, 0));
    resume_rig_hears("stale");
}

static void looks(const char *want)
{
    uint64_t ignored = watch_tick(resume_rig.w, resume_rig.now);

    (void)ignored;
    resume_rig_hears(want);
}

static void is_shown(bool stale)
{
    assert_true(watch_synced(resume_rig.w));
    assert_true(watch_status(resume_rig.w, resume_rig.now.ms).synced);
    assert_true(watch_stale(resume_rig.w) == stale);
    assert_true(watch_status(resume_rig.w, resume_rig.now.ms).stale == stale);
}

static void starts_from(enum resume_kind kind, const char *rv)
{
    resume_rig_start_from(kind, rv);
    begins();
}

static void test_restored_objects_are_synced_and_stale_at_once(void **state)
{
    (void)state;
    resume_rig_load("ns/a", "u1", "3");
    resume_rig_resume(RESUME_WHOLE, "10");
    assert_false(watch_synced(resume_rig.w));
    looks("");
    begins();
    is_shown(true);
    assert_false(watch_settled(resume_rig.w));
    assert_true(
        watch_begin_stale(resume_rig.w, resume_rig.now, 0)); /* a second call changes nothing */
    looks("");
    assert_int_equal(watch_tick(resume_rig.w, resume_rig.now), UINT64_MAX);
    resume_rig_keeps("");
    resume_rig_start();
    resume_rig_asks(WATCHES("10"));
}

static void test_a_watch_is_fresh_when_it_has_caught_up(void **state)
{
    (void)state;
    starts_from(RESUME_WHOLE, "10");
    resume_rig_head();
    assert_true(list_watch_status(resume_rig_list_watch()).connected);
    looks("");
    is_shown(true);
    resume_rig_body(EVENT("DELETED", "a", "u1", "11"));
    looks("-ns/a:u1:11(watch)");
    resume_rig_silence(500);
    looks("fresh");
    is_shown(false);
    assert_true(watch_settled(resume_rig.w));
}

static void test_a_bookmark_makes_a_watch_fresh(void **state)
{
    (void)state;
    starts_from(RESUME_WHOLE, "10");
    resume_rig_head();
    resume_rig_body(BOOKMARK("20"));
    looks("fresh");
}

static void test_a_list_reports_the_differences_first(void **state)
{
    (void)state;
    starts_from(RESUME_WHOLE, NULL);
    resume_rig_asks(LISTS_NEWEST);
    resume_rig_answer(PAGE("30", "", ITEM("b", "u2", "25", "")));
    looks("-ns/a:u1:3?(restart) ~ns/b:u2:25(restart) fresh");
    is_shown(false);
}

static void test_the_guard_judges_that_list_and_then_nothing_is_stale(void **state)
{
    (void)state;
    resume_rig.params.guard.relist_deletes = 50;
    resume_rig_make();
    starts_from(RESUME_WHOLE, NULL);
    resume_rig_answer(PAGE("30", "", ""));
    resume_rig_hears("");
    assert_int_not_equal(watch_status(resume_rig.w, resume_rig.now.ms).held, GUARD_NOTHING);
    assert_int_equal(store_count(watch_store(resume_rig.w)), 2);
    looks("fresh"); /* the cache differs only because the guard holds the list back */
    assert_true(watch_synced(resume_rig.w));
    resume_rig.now.ms += resume_rig.next.wait_ms;
    resume_rig.next = list_watch_timer(resume_rig_list_watch(), resume_rig.now.ms);
    looks("");
    resume_rig_answer(PAGE("30", "", ""));
    resume_rig_hears("-ns/a:u1:3?(restart) -ns/b:u2:4?(restart)");
}

static void test_errors_keep_a_watch_stale(void **state)
{
    (void)state;
    starts_from(RESUME_WHOLE, "10");
    for (int i = 0; i < 3; i++) {
        resume_rig.next = list_watch_end_identified(
            resume_rig_list_watch(), &(struct err){.kind = ERR_REFUSED}, resume_rig.now);
        resume_rig.now.ms += resume_rig.next.wait_ms;
        looks("");
        resume_rig.next = list_watch_timer(resume_rig_list_watch(), resume_rig.now.ms);
    }
    resume_rig_asks(WATCHES("10"));
    is_shown(true);
}

static void test_a_watch_that_has_been_fresh_is_like_any_other(void **state)
{
    (void)state;
    starts_from(RESUME_WHOLE, "10");
    resume_rig_head();
    resume_rig_silence(500);
    looks("fresh");
    resume_rig.now.ms += 2000;
    resume_rig.next = list_watch_end_identified(resume_rig_list_watch(), NULL, resume_rig.now);
    resume_rig.next = list_watch_end_identified(resume_rig_list_watch(),
                                                &(struct err){.kind = ERR_REFUSED}, resume_rig.now);
    assert_int_equal(watch_tick(resume_rig.w, resume_rig.now), resume_rig.now.ms + STALE_AFTER);
    resume_rig.now.ms += STALE_AFTER;
    looks("stale");
}

static void test_all_scopes_must_have_caught_up(void **state)
{
    static const char *const two[] = {"ns", "other"};

    (void)state;
    resume_rig.params.namespaces = two;
    resume_rig.params.namespace_count = 2;
    resume_rig_make();
    starts_from(RESUME_WHOLE, "10");
    resume_rig_head();
    resume_rig_silence(500);
    looks("");
    is_shown(true);
    list_watch_start(watch_list_watch(resume_rig.w, 1), resume_rig.now.ms);
    list_watch_head(watch_list_watch(resume_rig.w, 1),
                    &(struct http_head){.status = 200, .retry_after_s = -1}, resume_rig.now.ms);
    assert_true(list_watch_body(watch_list_watch(resume_rig.w, 1), BOOKMARK("20"),
                                strlen(BOOKMARK("20")), resume_rig.now));
    looks("fresh");
}

static void test_a_resource_that_discovery_has_not_found_is_shown(void **state)
{
    struct resource r;

    (void)state;
    resume_rig.params.resource = "widgets.example.com";
    resume_rig_make();
    assert_non_null(watch_wants(resume_rig.w));
    resume_rig_load("ns/a", "u1", "3");
    resume_rig_resume(RESUME_WHOLE, "10");
    begins();
    is_shown(true);
    looks("");
    assert_int_equal(resource_parse("configmaps", &r, NULL), ERR_OK);
    assert_int_equal(watch_resolve(resume_rig.w, &r, NULL), ERR_OK);
    resource_fini(&r);
    is_shown(true);
    looks("");
    resume_rig_start();
    resume_rig_asks(WATCHES("10"));
    resume_rig_head();
    resume_rig_silence(500);
    looks("fresh");
}

/* ---- States that a watch cannot begin with. */

static void refuses(void)
{
    assert_false(watch_begin_stale(resume_rig.w, resume_rig.now, 0));
    assert_false(watch_synced(resume_rig.w));
    looks("");
}

static void test_an_incomplete_state_is_not_shown(void **state)
{
    (void)state;
    refuses(); /* no earlier process has left anything */
    resume_rig_load("ns/a", "u1", "3");
    refuses();
    resume_rig_resume(RESUME_PARTIAL, "10");
    refuses();
    resume_rig_resume(RESUME_EDITED, "10");
    refuses();
    resume_rig_resume(RESUME_WHOLE, "10");
    watch_forget(resume_rig.w);
    refuses();
    resume_rig_load_bare("ns", "a", "u1");
    resume_rig_resume(RESUME_WHOLE, "10");
    refuses();
}

/* ---- Objects of which no more than the name was left. */

static void loads_bare(void)
{
    resume_rig_load_bare("ns", "a", "u1");
    resume_rig_load_bare("ns", "b", "u2");
    resume_rig_resume(RESUME_WHOLE, "10");
    resume_rig_start();
}

static void test_bare_objects_are_listed_and_get_deltas(void **state)
{
    struct object *a;

    (void)state;
    loads_bare();
    resume_rig_asks(LISTS_FROM("10"));
    resume_rig_answer(PAGE("30", "", ITEM("a", "u1", "3", "") "," ITEM("b", "u9", "26", "")));
    resume_rig_hears("-ns/b:u2:?(restart) ~ns/a:u1:3(restart) +ns/b:u9:26(restart)");
    a = store_get(watch_store(resume_rig.w), str_c("ns/a"));
    assert_false(object_is_bare(a));
}

static void test_a_bare_object_that_vanished_is_deleted_without_a_body(void **state)
{
    (void)state;
    loads_bare();
    resume_rig_answer(PAGE("30", "", ITEM("a", "u1", "3", "")));
    resume_rig_hears("-ns/b:u2:?(restart) ~ns/a:u1:3(restart)");
    resume_rig_keeps("0-ns/b 0+ns/a:3");
}

static void test_the_guard_counts_bare_objects(void **state)
{
    (void)state;
    resume_rig.params.guard.relist_deletes = 50;
    resume_rig_make();
    loads_bare();
    resume_rig_answer(PAGE("30", "", ""));
    resume_rig_hears("");
    assert_int_equal(watch_status(resume_rig.w, resume_rig.now.ms).held_deletes, 2);
}

static void test_bare_objects_are_in_the_way_of_their_own_scope_only(void **state)
{
    static const char *const two[] = {"ns", "other"};

    (void)state;
    resume_rig.params.namespaces = two;
    resume_rig.params.namespace_count = 2;
    resume_rig_make();
    resume_rig_load_bare("other", "x", "u7");
    resume_rig_start_from(RESUME_WHOLE, "10");
    assert_int_equal(resume_rig.next.what, LW_WATCH);
    assert_int_equal(list_watch_start(watch_list_watch(resume_rig.w, 1), resume_rig.now.ms).what,
                     LW_LIST);
}

/* ---- Ordered relists. */

static void test_a_relist_ordered_before_the_start_is_carried_out(void **state)
{
    (void)state;
    resume_rig_load("ns/a", "u1", "3");
    resume_rig_resume(RESUME_WHOLE, "10");
    watch_relist(resume_rig.w, RELIST_MANUAL);
    resume_rig_start();
    resume_rig_asks(LISTS_NEWEST);
    assert_false(list_watch_is_ordered(resume_rig_list_watch()));
    resume_rig_has_version(" 9"); /* no version to resume from: the next process lists as well */
    resume_rig_answer(PAGE("30", "", ITEM("a", "u1", "3", "")));
    resume_rig_has_version("30 30");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, resume_rig_set_up, resume_rig_clean_up)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_restored_objects_are_synced_and_stale_at_once),
        TEST(test_a_watch_is_fresh_when_it_has_caught_up),
        TEST(test_a_bookmark_makes_a_watch_fresh),
        TEST(test_a_list_reports_the_differences_first),
        TEST(test_the_guard_judges_that_list_and_then_nothing_is_stale),
        TEST(test_errors_keep_a_watch_stale),
        TEST(test_a_watch_that_has_been_fresh_is_like_any_other),
        TEST(test_all_scopes_must_have_caught_up),
        TEST(test_a_resource_that_discovery_has_not_found_is_shown),
        TEST(test_an_incomplete_state_is_not_shown),
        TEST(test_bare_objects_are_listed_and_get_deltas),
        TEST(test_a_bare_object_that_vanished_is_deleted_without_a_body),
        TEST(test_the_guard_counts_bare_objects),
        TEST(test_bare_objects_are_in_the_way_of_their_own_scope_only),
        TEST(test_a_relist_ordered_before_the_start_is_carried_out),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
