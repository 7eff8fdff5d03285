/* SPDX-License-Identifier: Apache-2.0 */
/* persist/cluster: which cluster the saved objects are from, and when hooks may have them. */
#include "persist/cluster.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "persist_rig.h"

/* A server of the first cluster does not tell its uid, and is trusted by the CA of this number. */
static enum persist_verdict answers_by_ca(uint64_t ca)
{
    const struct cluster_identity id = {
        .authorities = {.v = {{.lo = ca}}, .n = 1}
    };

    return persist_judge(persist_rig.p, 0, &id, persist_rig.now, &persist_rig.state.batch,
                         &persist_rig.err);
}

static void expect_held(const char *uid)
{
    assert_int_equal(persist_rig_answers(0, uid), PERSIST_VERDICT_HELD);
    assert_int_equal(persist_rig.err.kind, ERR_FOREIGN);
}

/* persist_rig_knows(); the process ends while the first hook runs for a change of its object. */
static void knows_and_is_cut_off(const char *x, const char *y)
{
    persist_rig_knows(x, y);
    hook_rig_change(0, DELTA_MODIFIED, "ns/n", "u0", "\"a\":2");
    (void)hook_rig_starts(DELTA_MODIFIED, "u0");
    persist_rig_commit();
}

static enum persist_cluster_state cluster_state(void)
{
    return persist_rig.p->clusters[0].state;
}

static uint64_t due_ms(void)
{
    return persist_rig.p->clusters[0].due_ms;
}

/* Time goes on to where the cluster has something to do. */
static bool ticks(void)
{
    assert_true(due_ms() > persist_rig.now.ms);
    persist_rig.now.ms = due_ms();
    hook_rig.now = persist_rig.now.ms;
    return persist_tick(persist_rig.p, 0, persist_rig.now);
}

/* A server of the first cluster answers the WATCH that goes on from the saved version. The first
 * bookmark makes the watch synced. */
static void resumes(size_t watch)
{
    static const struct http_head head = {.status = 200, .retry_after_s = -1};
    struct list_watch *lw = watch_list_watch(hook_rig.watches[watch], 0);
    struct buf bookmark = {0};

    assert_int_equal(list_watch_start(lw, persist_rig.now.ms).what, LW_WATCH);
    list_watch_head(lw, &head, persist_rig.now.ms);
    objects_put_event(&bookmark, "BOOKMARK", "ns/n", "", "8", NULL);
    assert_true(list_watch_body(
        lw, bookmark.data, bookmark.len,
        (struct now){.ms = persist_rig.now.ms, .wall_ns = persist_rig.now.wall_ns}));
    buf_free(&bookmark);
    assert_true(watch_synced(hook_rig.watches[watch]));
}

/* The first cluster has answered. The first hook has the object that knows_and_is_cut_off() left,
 * so it runs as soon as the watch is synced. */
static void expect_shown(void)
{
    assert_int_equal(cluster_state(), PERSIST_CLUSTER_KNOWN);
    assert_int_equal(persist_rig.p->watches[0]->state, PERSIST_WATCH_SHOWN);
    hook_rig_nothing();
    resumes(0);
    hook_rig_pass(DELTA_MODIFIED, "u0");
}

static void test_the_same_cluster_at_a_start_shows_its_objects(void **state)
{
    (void)state;
    knows_and_is_cut_off("X", "Y");
    persist_rig_begin();
    assert_int_equal(cluster_state(), PERSIST_CLUSTER_WAITING);
    assert_int_equal(persist_rig.p->watches[0]->state, PERSIST_WATCH_LOADED);
    assert_non_null(
        strstr(persist_trouble(persist_rig.p, 0, "refused"), "not answered yet: refused"));
    persist_rig_expect_good(0, "X");
    assert_null(persist_trouble(persist_rig.p, 0, NULL));
    expect_shown();
    /* The other cluster has not answered. */
    assert_int_equal(persist_rig.p->watches[2]->state, PERSIST_WATCH_LOADED);
    persist_rig_commit();
    assert_true(persist_rig_has("uid:X") && persist_rig_has("u0") && persist_rig_has("u1"));
}

static void test_another_cluster_at_a_start_is_forgotten(void **state)
{
    (void)state;
    persist_rig_knows("X", "Y");
    persist_rig_begin();
    persist_rig_expect_good(0, "Z");
    assert_true(persist_rig_objects(0) == 0 && persist_rig_objects(1) == 0 &&
                persist_rig_objects(2) == 1);
    persist_rig_commit();
    assert_false(persist_rig_has("uid:X") || persist_rig_has("u0") || persist_rig_has("u1"));
    assert_true(persist_rig_has("uid:Z") && persist_rig_has("uid:Y") && persist_rig_has("u2"));
    hook_rig_nothing();
    persist_rig_lists(0, "u0"); /* as at a first start */
    assert_int_equal(hook_rig_starts(DELTA_ADDED, "u0")->reason, RUN_EXISTING);
}

/* The hook may come back within days, and would be told DELETED for objects of the old cluster. */
static void test_what_is_not_configured_goes_with_another_cluster(void **state)
{
    (void)state;
    persist_rig_knows("X", "Y");
    persist_rig.hook_count = 1;
    persist_rig_begin();
    assert_true(persist_rig_has(" h1"));
    persist_rig_expect_good(1, "Y");
    persist_rig_commit();
    assert_true(persist_rig_has(" h1"));
    persist_rig_begin();
    persist_rig_expect_good(0, "Z"); /* not the cluster of h1 */
    persist_rig_commit();
    assert_true(persist_rig_has(" h1"));
    persist_rig_begin();
    persist_rig_expect_good(1, "Z");
    persist_rig_commit();
    assert_false(persist_rig_has(" h1"));
}

/* The same for a cluster that a person accepts. */
static void test_what_is_not_configured_goes_with_a_cluster_that_is_accepted(void **state)
{
    (void)state;
    persist_rig_knows("X", "Y");
    persist_rig.hook_count = 1;
    persist_rig_begin();
    persist_rig_expect_good(1, "Y");
    assert_int_equal(persist_rig_answers(1, "Z"), PERSIST_VERDICT_HELD);
    persist_rig_commit();
    assert_true(persist_rig_has(" h1"));
    persist_accept(persist_rig.p, 1, &persist_rig.state.batch);
    persist_rig_commit();
    assert_false(persist_rig_has(" h1"));
}

static void test_another_cluster_later_is_held(void **state)
{
    (void)state;
    persist_rig_knows("X", "Y");
    expect_held("Z");
    assert_non_null(strstr(persist_rig.err.text, "answers (kube-system uid Z) than the one that is "
                                                 "followed (kube-system uid X)"));
    assert_string_equal(persist_trouble(persist_rig.p, 0, NULL), persist_rig.err.text);
    assert_int_equal(persist_rig_objects(0), 1);
    persist_rig_commit();
    assert_true(persist_rig_has("uid:X") && persist_rig_has("u0"));
    assert_false(persist_rig_has("uid:Z"));
    hook_rig_nothing();
}

static void test_a_held_cluster_is_asked_again_every_five_seconds(void **state)
{
    (void)state;
    persist_rig_knows("X", "Y");
    for (int i = 0; i < 3; i++) {
        expect_held("Z");
        assert_int_equal(due_ms(), persist_rig.now.ms + 5000);
        assert_true(ticks());
        assert_int_equal(due_ms(), 0); /* until the answer */
    }
}

static void test_the_right_cluster_again_releases(void **state)
{
    (void)state;
    persist_rig_knows("X", "Y");
    expect_held("Z");
    assert_int_equal(persist_rig_answers(0, "X"), PERSIST_VERDICT_RELEASED);
    assert_null(persist_trouble(persist_rig.p, 0, NULL));
    assert_int_equal(due_ms(), 0);
    assert_int_equal(persist_rig_objects(0), 1);
    persist_rig_expect_good(0, "X");
}

static void test_an_answer_without_uid_does_not_end_a_hold(void **state)
{
    (void)state;
    persist_rig_knows("X", "Y");
    persist_rig_expect_good(0, ""); /* the right to tell may be lost */
    expect_held("Z");
    expect_held("");
    assert_non_null(strstr(persist_rig.err.text, "kube-system uid Z"));
    assert_int_equal(persist_rig_answers(0, "X"), PERSIST_VERDICT_RELEASED);
}

static void test_another_ca_is_another_cluster_where_no_server_tells_its_uid(void **state)
{
    (void)state;
    persist_rig_begin();
    persist_rig_lists_all();
    assert_int_equal(answers_by_ca(1), PERSIST_VERDICT_GOOD);
    assert_int_equal(answers_by_ca(2), PERSIST_VERDICT_HELD);
    assert_int_equal(persist_rig.err.kind, ERR_FOREIGN);
    assert_non_null(strstr(persist_rig.err.text,
                           "answers (known by its CA) than the one that is followed "
                           "(known by its CA)"));
    assert_int_equal(persist_rig_objects(0), 1);
    assert_int_equal(answers_by_ca(1), PERSIST_VERDICT_RELEASED);
    assert_null(persist_trouble(persist_rig.p, 0, NULL));
}

static void test_accept_forgets_the_old_cluster(void **state)
{
    (void)state;
    persist_rig_knows("X", "Y");
    expect_held("Z");
    persist_accept(persist_rig.p, 0, &persist_rig.state.batch);
    assert_int_equal(cluster_state(), PERSIST_CLUSTER_KNOWN);
    assert_int_equal(due_ms(), 0);
    assert_null(persist_trouble(persist_rig.p, 0, NULL));
    assert_true(persist_rig_objects(0) == 0 && persist_rig_objects(1) == 0 &&
                persist_rig_objects(2) == 1);
    assert_true(list_watch_is_ordered(watch_list_watch(hook_rig.watches[0], 0)));
    persist_rig_commit();
    assert_true(persist_rig_has("uid:Z") && persist_rig_has("u2"));
    assert_false(persist_rig_has("uid:X") || persist_rig_has("u0") || persist_rig_has("u1"));
    hook_rig_nothing();
    persist_rig_expect_good(0, "Z");
    expect_held("X");
}

static void test_runs_wait_a_second_at_most_for_the_first_answer(void **state)
{
    (void)state;
    persist_rig_begin();
    assert_false(
        persist_awaits(persist_rig.p, 0, true, persist_rig.now.ms)); /* there is no run yet */
    persist_rig_lists_all();
    assert_false(persist_awaits(persist_rig.p, 0, false, persist_rig.now.ms));
    assert_true(persist_awaits(persist_rig.p, 0, true, persist_rig.now.ms));
    assert_int_equal(due_ms(), persist_rig.now.ms + 1000);
    assert_true(persist_awaits(persist_rig.p, 0, true, persist_rig.now.ms + 500));
    assert_int_equal(due_ms(), persist_rig.now.ms + 1000);
    assert_null(persist_trouble(persist_rig.p, 0, NULL));
    assert_false(ticks());
    assert_false(persist_awaits(persist_rig.p, 0, true, persist_rig.now.ms));
    assert_non_null(persist_trouble(persist_rig.p, 0, NULL));
    persist_rig_expect_good(0, "X");
    assert_null(persist_trouble(persist_rig.p, 0, NULL));
}

static void test_the_answer_ends_the_wait_of_runs(void **state)
{
    (void)state;
    persist_rig_begin();
    persist_rig_lists_all();
    assert_true(persist_awaits(persist_rig.p, 0, true, persist_rig.now.ms));
    persist_rig_expect_good(0, "X");
    assert_false(persist_awaits(persist_rig.p, 0, true, persist_rig.now.ms));
    assert_int_equal(due_ms(), 0);
}

/* An identity that says nothing is one, too. */
static void test_a_cluster_that_cannot_tell_keeps_its_state(void **state)
{
    (void)state;
    knows_and_is_cut_off("", "Y");
    persist_rig_begin();
    assert_int_equal(cluster_state(), PERSIST_CLUSTER_WAITING);
    persist_rig_expect_good(0, "X"); /* now it can */
    expect_shown();
    persist_rig_commit();
    assert_true(persist_rig_has("uid:X"));
}

static void test_watches_begin_stale_if_no_server_answers(void **state)
{
    (void)state;
    knows_and_is_cut_off("X", "Y");
    persist_rig_begin();
    assert_int_equal(due_ms(), persist_rig.now.ms + PERSIST_RIG_AFTER_MS);
    hook_rig_nothing();
    assert_false(ticks());
    assert_int_equal(due_ms(), 0);
    assert_true(watch_synced(hook_rig.watches[0]));
    assert_int_equal(persist_rig.p->watches[0]->state, PERSIST_WATCH_SHOWN);
    hook_rig_pass(DELTA_MODIFIED, "u0");
    persist_rig_expect_good(0, "X");
    assert_int_equal(persist_rig_objects(0), 1);
}

static void test_another_cluster_after_a_stale_start_is_held(void **state)
{
    (void)state;
    persist_rig_knows("X", "Y");
    persist_rig_begin();
    assert_false(ticks());
    expect_held("Z");
    assert_int_equal(persist_rig_objects(0), 1);
}

static void test_a_cluster_that_answers_and_cannot_list_begins_stale(void **state)
{
    (void)state;
    knows_and_is_cut_off("X", "Y");
    persist_rig_begin();
    persist_rig_expect_good(0, "X");
    assert_false(watch_synced(hook_rig.watches[0]));
    hook_rig_nothing();
    assert_false(ticks());
    assert_true(watch_synced(hook_rig.watches[0]));
    hook_rig_pass(DELTA_MODIFIED, "u0");
}

static void test_a_watch_that_a_server_was_heard_of_does_not_begin_stale(void **state)
{
    static const struct http_head head = {.status = 200, .retry_after_s = -1};
    struct list_watch *lw;

    (void)state;
    persist_rig_knows("X", "Y");
    persist_rig_begin();
    persist_rig_expect_good(0, "X");
    lw = watch_list_watch(hook_rig.watches[0], 0);
    assert_int_equal(list_watch_start(lw, persist_rig.now.ms).what, LW_WATCH);
    list_watch_head(lw, &head, persist_rig.now.ms);
    assert_false(ticks());
    assert_false(watch_synced(hook_rig.watches[0]));
    assert_true(watch_synced(hook_rig.watches[1]));
}

/* No watch begins stale at the time for it. */
static void expect_no_stale_start(void)
{
    assert_false(ticks());
    assert_false(watch_synced(hook_rig.watches[0]));
    assert_int_equal(persist_rig.p->watches[0]->state, PERSIST_WATCH_LOADED);
    hook_rig_nothing();
}

static void test_an_incomplete_watch_does_not_begin_stale(void **state)
{
    (void)state;
    persist_rig.bytes = PERSIST_DIGEST;
    persist_rig_knows("X", "Y");
    persist_rig_begin();
    expect_no_stale_start();
}

static void test_a_watch_that_is_too_old_does_not_begin_stale(void **state)
{
    (void)state;
    persist_rig_knows("X", "Y");
    persist_rig.now.wall_ns += 61 * PERSIST_RIG_MINUTE_NS;
    persist_rig_begin();
    expect_no_stale_start();
    persist_rig.now.wall_ns -= 2 * PERSIST_RIG_MINUTE_NS;
    persist_rig_begin();
    assert_false(ticks());
    assert_true(watch_synced(hook_rig.watches[0]));
}

static void test_a_watch_of_unknown_age_does_not_begin_stale(void **state)
{
    (void)state;
    persist_rig_knows("X", "Y");
    persist_rig.now.wall_ns -= PERSIST_RIG_MINUTE_NS; /* the clock was set back */
    persist_rig_begin();
    expect_no_stale_start();
}

static void test_without_a_time_for_it_no_watch_begins_stale(void **state)
{
    (void)state;
    persist_rig_knows("X", "Y");
    persist_rig.stale_after_ms = 0;
    persist_rig_begin();
    assert_int_equal(due_ms(), 0);
}

static void test_a_watch_of_a_renamed_cluster_does_not_begin_stale(void **state)
{
    (void)state;
    knows_and_is_cut_off("X", "Y");
    persist_rig.names[0] = "new";
    persist_rig_begin();
    expect_no_stale_start();
    persist_rig_expect_good(0, "X"); /* the answer shows that it is the old cluster */
    expect_shown();
}

static void test_a_watch_that_was_moved_is_of_the_cluster_that_it_was_kept_under(void **state)
{
    (void)state;
    persist_rig_knows("X", "Y");
    persist_rig.cluster_of[2] = 0;
    persist_rig_begin();
    assert_false(ticks());
    assert_true(watch_synced(hook_rig.watches[1]));
    assert_false(watch_synced(hook_rig.watches[2]));
    persist_rig_begin();
    persist_rig_expect_good(0, "X");
    assert_true(persist_rig_objects(0) == 1 && persist_rig_objects(1) == 1 &&
                persist_rig_objects(2) == 0);
}

static void test_two_names_of_one_cluster_are_the_same_cluster(void **state)
{
    (void)state;
    persist_rig_knows("X", "X");
    persist_rig.cluster_of[2] = 0;
    persist_rig_begin();
    assert_false(ticks());
    assert_true(watch_synced(hook_rig.watches[2]));
}

/* While no process runs, w0 of cluster X is made equal to w2 of cluster Y. h0 has the objects of Y as at
 * a first start, as those that it knows did not end; h1 goes on. */
static void joins_the_watch_of_another_cluster(enum persist_rig_merge merge)
{
    persist_rig_knows("X", "Y");
    persist_rig.cluster_of[0] = 1;
    persist_rig.merge = merge;
    for (int process = 0; process < 2; process++) {
        persist_rig_begin();
        persist_rig_expect_good(1, "Y");
        assert_int_equal(persist_rig_objects(0), 1);
        resumes(0);
        if (process == 0)
            hook_rig_end(hook_rig_starts_as(DELTA_ADDED, "u2", RUN_EXISTING, 1), 0);
        hook_rig_nothing();
        persist_rig_commit();
    }
}

static void test_a_watch_that_joins_one_of_another_cluster_behind_it_ends_nothing(void **state)
{
    (void)state;
    joins_the_watch_of_another_cluster(PERSIST_RIG_W0_W2);
}

static void test_a_watch_that_joins_one_of_another_cluster_before_it_ends_nothing(void **state)
{
    (void)state;
    joins_the_watch_of_another_cluster(PERSIST_RIG_W2_W0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, persist_rig_set_up, persist_rig_clean_up)
    const struct CMUnitTest tests[] = {
        TEST(test_the_same_cluster_at_a_start_shows_its_objects),
        TEST(test_another_cluster_at_a_start_is_forgotten),
        TEST(test_what_is_not_configured_goes_with_another_cluster),
        TEST(test_what_is_not_configured_goes_with_a_cluster_that_is_accepted),
        TEST(test_another_cluster_later_is_held),
        TEST(test_a_held_cluster_is_asked_again_every_five_seconds),
        TEST(test_the_right_cluster_again_releases),
        TEST(test_an_answer_without_uid_does_not_end_a_hold),
        TEST(test_another_ca_is_another_cluster_where_no_server_tells_its_uid),
        TEST(test_accept_forgets_the_old_cluster),
        TEST(test_runs_wait_a_second_at_most_for_the_first_answer),
        TEST(test_the_answer_ends_the_wait_of_runs),
        TEST(test_a_cluster_that_cannot_tell_keeps_its_state),
        TEST(test_watches_begin_stale_if_no_server_answers),
        TEST(test_another_cluster_after_a_stale_start_is_held),
        TEST(test_a_cluster_that_answers_and_cannot_list_begins_stale),
        TEST(test_a_watch_that_a_server_was_heard_of_does_not_begin_stale),
        TEST(test_an_incomplete_watch_does_not_begin_stale),
        TEST(test_a_watch_that_is_too_old_does_not_begin_stale),
        TEST(test_a_watch_of_unknown_age_does_not_begin_stale),
        TEST(test_without_a_time_for_it_no_watch_begins_stale),
        TEST(test_a_watch_of_a_renamed_cluster_does_not_begin_stale),
        TEST(test_a_watch_that_was_moved_is_of_the_cluster_that_it_was_kept_under),
        TEST(test_two_names_of_one_cluster_are_the_same_cluster),
        TEST(test_a_watch_that_joins_one_of_another_cluster_behind_it_ends_nothing),
        TEST(test_a_watch_that_joins_one_of_another_cluster_before_it_ends_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
