/* SPDX-License-Identifier: Apache-2.0 */
/* persist/cluster: which cluster the saved objects are from, and when hooks may have them. */
#include "persist/cluster.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hook_rig.h"
#include "persist/persist.h"
#include "state_rig.h"

#define MINUTE_NS UINT64_C(60000000000)

enum { AFTER_MS = 10000, MAX_AGE_MS = 3600000 };

/* The processes of a test, one after the other. Watches w0 and w1 are of the first cluster, w2 of
 * the second one, unless a test moves them; hook h0 has w0 as its source, h1 has w2. */
struct rig {
    struct state_rig state;
    const char *names[2]; /* of the clusters */
    size_t cluster_of[HOOK_RIG_WATCHES];
    uint64_t stale_after_ms;
    enum persist_bytes bytes;
    size_t hook_count;
    struct persist_now now;
    struct persist *p;
    struct err err; /* of the last answer */
};

static struct rig rig;

static void on_delta(void *arg, struct source from, const struct delta *d)
{
    (void)from;
    persist_watch_delta(arg, d, &rig.state.batch);
}

static void make_watches(void)
{
    static const char *const names[HOOK_RIG_WATCHES] = {"w0", "w1", "w2"};
    struct watch_params p = objects_watch_params();

    hook_rig_init(4, NULL);
    for (size_t i = 0; i < HOOK_RIG_WATCHES; i++) {
        watch_destroy(&hook_rig.watches[i]);
        p.name = names[i];
        p.cluster = rig.names[rig.cluster_of[i]];
        assert_int_equal(watch_create(&p, &hook_rig.watches[i], NULL), ERR_OK);
        watch_subscribe(hook_rig.watches[i], &hooks_subscriber, &hook_rig.hooks);
    }
}

static void make_hooks(struct persist_hook_params *by_hook)
{
    for (size_t i = 0; i < rig.hook_count; i++) {
        const struct hook_source of = {.name = i == 0 ? "w0" : "w2",
                                       .of.watch = hook_rig.watches[2 * i]};

        by_hook[i] = (struct persist_hook_params){
            .hook = hook_rig_add(&(struct hook_rig_hook){.of = &of, .sources = 1}
               ),
            .settings = {.hi = 1,   .lo = 1     }
        };
    }
}

/* Like a kill: the batch is lost. */
static void die(void)
{
    if (rig.p == NULL)
        return;
    batch_clear(&rig.state.batch);
    persist_destroy(&rig.p);
    hook_rig_clean_up(NULL);
}

static void commit(void)
{
    persist_put_versions(rig.p, rig.now, &rig.state.batch);
    (void)persist_put_hooks(rig.p, &rig.state.batch);
    state_rig_apply(&rig.state);
}

/* The next process begins. */
static void begin(void)
{
    static const struct subscriber subscriber = {.on_delta = on_delta};
    struct persist_hook_params by_hook[2];
    struct persist_watch_params watches[HOOK_RIG_WATCHES];
    struct persist_cluster_params clusters[2];
    struct restore r;
    struct err err;

    die();
    make_watches();
    make_hooks(by_hook);
    for (size_t i = 0; i < HOOK_RIG_WATCHES; i++)
        watches[i] = (struct persist_watch_params){
            .watch = hook_rig.watches[i],
            .name = watch_name(hook_rig.watches[i]),
            .settings = {.hi = 1, .lo = 1},
            .bytes = rig.bytes,
            .cluster = rig.cluster_of[i]
        };
    for (size_t i = 0; i < 2; i++)
        clusters[i] = (struct persist_cluster_params){rig.names[i], rig.stale_after_ms, MAX_AGE_MS};
    const struct persist_params params = {.clusters = clusters,
                                          .cluster_count = 2,
                                          .watches = watches,
                                          .watch_count = HOOK_RIG_WATCHES,
                                          .hooks = &hook_rig.hooks,
                                          .by_hook = by_hook};
    (void)restore_read(&r, rig.state.folder, &err);
    rig.p = persist_create(&params, &r, rig.now, &rig.state.batch);
    restore_fini(&r);
    for (size_t i = 0; i < HOOK_RIG_WATCHES; i++)
        watch_subscribe(hook_rig.watches[i], &subscriber, &rig.p->watches[i]);
    commit();
}

static int set_up(void **state)
{
    (void)state;
    rig = (struct rig){
        .names = {"c",                         "d"          },
        .cluster_of = { 0,                          0,             1},
        .stale_after_ms = AFTER_MS,
        .hook_count = 2,
        .now = { .ms = 100000, .wall_ns = 100 * MINUTE_NS, .boot_id = ""}
    };
    state_rig_init(&rig.state);
    rig.state.batch.release = persist_row_release;
    return 0;
}

static int clean_up(void **state)
{
    (void)state;
    die();
    state_rig_fini(&rig.state);
    return 0;
}

/* A watch is listed: one object, ns/n. */
static void lists(size_t watch, const char *uid)
{
    struct buf items = {0};

    objects_put_item(&items, "ns/n", uid, "3", "\"a\":1");
    objects_sync(hook_rig.watches[watch], buf_cstr(&items), "7",
                 (struct now){.ms = rig.now.ms, .wall_ns = rig.now.wall_ns});
    buf_free(&items);
}

static void lists_all(void)
{
    lists(0, "u0");
    lists(1, "u1");
    lists(2, "u2");
}

/* A server of the cluster says that it is of the cluster with this uid; "" = it does not tell. */
static enum persist_verdict answers(size_t cluster, const char *uid)
{
    struct cluster_identity id = {0};

    snprintf(id.uid, sizeof(id.uid), "%s", uid);
    return persist_judge(rig.p, cluster, &id, rig.now, &rig.state.batch, &rig.err);
}

/* A server of the first cluster does not tell its uid, and is trusted by the CA of this number. */
static enum persist_verdict answers_by_ca(uint64_t ca)
{
    const struct cluster_identity id = {
        .authorities = {.v = {{.lo = ca}}, .n = 1}
    };

    return persist_judge(rig.p, 0, &id, rig.now, &rig.state.batch, &rig.err);
}

static void expect_good(size_t cluster, const char *uid)
{
    assert_int_equal(answers(cluster, uid), PERSIST_VERDICT_GOOD);
}

static void expect_held(const char *uid)
{
    assert_int_equal(answers(0, uid), PERSIST_VERDICT_HELD);
    assert_int_equal(rig.err.kind, ERR_FOREIGN);
}

/* A first process, which has listed all watches and handled their objects, of clusters X and Y. */
static void knows(const char *x, const char *y)
{
    begin();
    lists_all();
    expect_good(0, x);
    expect_good(1, y);
    hook_rig_pass(DELTA_ADDED, "u0");
    hook_rig_pass(DELTA_ADDED, "u2");
    commit();
}

/* A first process, as above, that ends while the first hook runs for a change of its object. */
static void knows_and_is_cut_off(const char *x, const char *y)
{
    knows(x, y);
    hook_rig_change(0, DELTA_MODIFIED, "ns/n", "u0", "\"a\":2");
    (void)hook_rig_starts(DELTA_MODIFIED, "u0");
    commit();
}

static size_t objects(size_t watch)
{
    return store_count(watch_store(hook_rig.watches[watch]));
}

static bool has(const char *part)
{
    return state_rig_has(&rig.state, part);
}

static enum persist_cluster_state cluster_state(void)
{
    return rig.p->clusters[0].state;
}

static uint64_t due_ms(void)
{
    return rig.p->clusters[0].due_ms;
}

/* Time goes on to where the cluster has something to do. */
static bool ticks(void)
{
    assert_true(due_ms() > rig.now.ms);
    rig.now.ms = due_ms();
    hook_rig.now = rig.now.ms;
    return persist_tick(rig.p, 0, rig.now);
}

/* A server of the first cluster answers the WATCH that goes on from the saved version. The first
 * bookmark makes the watch synced. */
static void resumes(size_t watch)
{
    static const struct http_head head = {.status = 200, .retry_after_s = -1};
    struct list_watch *lw = watch_list_watch(hook_rig.watches[watch], 0);
    struct buf bookmark = {0};

    assert_int_equal(list_watch_start(lw, rig.now.ms).what, LW_WATCH);
    list_watch_head(lw, &head, rig.now.ms);
    objects_put_event(&bookmark, "BOOKMARK", "ns/n", "", "8", NULL);
    assert_true(list_watch_body(lw, bookmark.data, bookmark.len,
                                (struct now){.ms = rig.now.ms, .wall_ns = rig.now.wall_ns}));
    buf_free(&bookmark);
    assert_true(watch_synced(hook_rig.watches[watch]));
}

/* The first cluster has answered. The first hook has the object that knows_and_is_cut_off() left,
 * so it runs as soon as the watch is synced. */
static void expect_shown(void)
{
    assert_int_equal(cluster_state(), PERSIST_CLUSTER_KNOWN);
    assert_int_equal(rig.p->watches[0].state, PERSIST_WATCH_SHOWN);
    hook_rig_nothing();
    resumes(0);
    hook_rig_pass(DELTA_MODIFIED, "u0");
}

static void test_the_same_cluster_at_a_start_shows_its_objects(void **state)
{
    (void)state;
    knows_and_is_cut_off("X", "Y");
    begin();
    assert_int_equal(cluster_state(), PERSIST_CLUSTER_WAITING);
    assert_int_equal(rig.p->watches[0].state, PERSIST_WATCH_LOADED);
    assert_non_null(strstr(persist_trouble(rig.p, 0, "refused"), "not answered yet: refused"));
    expect_good(0, "X");
    assert_null(persist_trouble(rig.p, 0, NULL));
    expect_shown();
    assert_int_equal(rig.p->watches[2].state, PERSIST_WATCH_LOADED); /* of the other cluster */
    commit();
    assert_true(has("uid:X") && has("u0") && has("u1"));
}

static void test_another_cluster_at_a_start_is_forgotten(void **state)
{
    (void)state;
    knows("X", "Y");
    begin();
    expect_good(0, "Z");
    assert_true(objects(0) == 0 && objects(1) == 0 && objects(2) == 1);
    commit();
    assert_false(has("uid:X") || has("u0") || has("u1"));
    assert_true(has("uid:Z") && has("uid:Y") && has("u2"));
    hook_rig_nothing();
    lists(0, "u0"); /* as at a first start */
    assert_int_equal(hook_rig_starts(DELTA_ADDED, "u0")->reason, RUN_EXISTING);
}

/* The hook may come back within days, and would be told DELETED for objects of the old cluster. */
static void test_what_is_not_configured_goes_with_another_cluster(void **state)
{
    (void)state;
    knows("X", "Y");
    rig.hook_count = 1;
    begin();
    assert_true(has(" h1"));
    expect_good(0, "X");
    commit();
    assert_true(has(" h1"));
    begin();
    expect_good(0, "Z");
    commit();
    assert_false(has(" h1"));
}

/* The same for a cluster that a person accepts. */
static void test_what_is_not_configured_goes_with_a_cluster_that_is_accepted(void **state)
{
    (void)state;
    knows("X", "Y");
    rig.hook_count = 1;
    begin();
    expect_good(0, "X");
    expect_held("Z");
    commit();
    assert_true(has(" h1"));
    persist_accept(rig.p, 0, &rig.state.batch);
    commit();
    assert_false(has(" h1"));
}

static void test_another_cluster_later_is_held(void **state)
{
    (void)state;
    knows("X", "Y");
    expect_held("Z");
    assert_non_null(strstr(rig.err.text, "answers (kube-system uid Z) than the one that is "
                                         "followed (kube-system uid X)"));
    assert_string_equal(persist_trouble(rig.p, 0, NULL), rig.err.text);
    assert_int_equal(objects(0), 1);
    commit();
    assert_true(has("uid:X") && has("u0"));
    assert_false(has("uid:Z"));
    hook_rig_nothing();
}

static void test_a_held_cluster_is_asked_again_every_five_seconds(void **state)
{
    (void)state;
    knows("X", "Y");
    for (int i = 0; i < 3; i++) {
        expect_held("Z");
        assert_int_equal(due_ms(), rig.now.ms + 5000);
        assert_true(ticks());
        assert_int_equal(due_ms(), 0); /* until the answer */
    }
}

static void test_the_right_cluster_again_releases(void **state)
{
    (void)state;
    knows("X", "Y");
    expect_held("Z");
    assert_int_equal(answers(0, "X"), PERSIST_VERDICT_RELEASED);
    assert_null(persist_trouble(rig.p, 0, NULL));
    assert_int_equal(due_ms(), 0);
    assert_int_equal(objects(0), 1);
    expect_good(0, "X");
}

static void test_an_answer_without_uid_does_not_end_a_hold(void **state)
{
    (void)state;
    knows("X", "Y");
    expect_good(0, ""); /* the right to tell may be lost */
    expect_held("Z");
    expect_held("");
    assert_non_null(strstr(rig.err.text, "kube-system uid Z"));
    assert_int_equal(answers(0, "X"), PERSIST_VERDICT_RELEASED);
}

static void test_another_ca_is_another_cluster_where_no_server_tells_its_uid(void **state)
{
    (void)state;
    begin();
    lists_all();
    assert_int_equal(answers_by_ca(1), PERSIST_VERDICT_GOOD);
    assert_int_equal(answers_by_ca(2), PERSIST_VERDICT_HELD);
    assert_int_equal(rig.err.kind, ERR_FOREIGN);
    assert_non_null(strstr(rig.err.text, "answers (known by its CA) than the one that is followed "
                                         "(known by its CA)"));
    assert_int_equal(objects(0), 1);
    assert_int_equal(answers_by_ca(1), PERSIST_VERDICT_RELEASED);
    assert_null(persist_trouble(rig.p, 0, NULL));
}

static void test_accept_forgets_the_old_cluster(void **state)
{
    (void)state;
    knows("X", "Y");
    expect_held("Z");
    persist_accept(rig.p, 0, &rig.state.batch);
    assert_int_equal(cluster_state(), PERSIST_CLUSTER_KNOWN);
    assert_int_equal(due_ms(), 0);
    assert_null(persist_trouble(rig.p, 0, NULL));
    assert_true(objects(0) == 0 && objects(1) == 0 && objects(2) == 1);
    assert_true(list_watch_is_ordered(watch_list_watch(hook_rig.watches[0], 0)));
    commit();
    assert_true(has("uid:Z") && has("u2"));
    assert_false(has("uid:X") || has("u0") || has("u1"));
    hook_rig_nothing();
    expect_good(0, "Z");
    expect_held("X");
}

static void test_runs_wait_a_second_at_most_for_the_first_answer(void **state)
{
    (void)state;
    begin();
    assert_false(persist_awaits(rig.p, 0, true, rig.now.ms)); /* there is no run yet */
    lists_all();
    assert_false(persist_awaits(rig.p, 0, false, rig.now.ms));
    assert_true(persist_awaits(rig.p, 0, true, rig.now.ms));
    assert_int_equal(due_ms(), rig.now.ms + 1000);
    assert_true(persist_awaits(rig.p, 0, true, rig.now.ms + 500));
    assert_int_equal(due_ms(), rig.now.ms + 1000);
    assert_null(persist_trouble(rig.p, 0, NULL));
    assert_false(ticks());
    assert_false(persist_awaits(rig.p, 0, true, rig.now.ms));
    assert_non_null(persist_trouble(rig.p, 0, NULL));
    expect_good(0, "X");
    assert_null(persist_trouble(rig.p, 0, NULL));
}

static void test_the_answer_ends_the_wait_of_runs(void **state)
{
    (void)state;
    begin();
    lists_all();
    assert_true(persist_awaits(rig.p, 0, true, rig.now.ms));
    expect_good(0, "X");
    assert_false(persist_awaits(rig.p, 0, true, rig.now.ms));
    assert_int_equal(due_ms(), 0);
}

static void test_a_state_without_identity_is_dropped(void **state)
{
    (void)state;
    begin();
    lists_all();
    hook_rig_pass(DELTA_ADDED, "u0");
    hook_rig_pass(DELTA_ADDED, "u2");
    expect_good(1, "Y");
    commit();
    assert_true(has("u0") && has("u1") && has("u2"));
    begin();
    assert_true(objects(0) == 0 && objects(1) == 0 && objects(2) == 1);
    assert_false(has("u0") || has("u1"));
    assert_true(has("u2"));
    assert_int_equal(cluster_state(), PERSIST_CLUSTER_EMPTY);
}

static void test_what_is_not_configured_goes_with_a_state_without_identity(void **state)
{
    (void)state;
    begin();
    expect_good(1, "Y");
    commit();
    rig.hook_count = 1;
    begin();
    begin(); /* nothing was saved of the first cluster, so this is no such state */
    assert_true(has(" h1"));
    lists(0, "u0");
    commit();
    begin();
    assert_false(has(" h1"));
}

/* The rows of the watch were dropped, as the file was too large. The object is known to be gone, so
 * no list has to show that. */
static void test_an_incarnation_that_has_ended_is_not_loaded_again(void **state)
{
    (void)state;
    knows("X", "Y");
    hook_rig_change(0, DELTA_DELETED, "ns/n", "u0", NULL);
    batch_clear_scope(&rig.state.batch, rig.p->watches[0].scopes[0].item);
    batch_drop_fact(&rig.state.batch, rig.p->watches[0].scopes[0].item, ROW_VERSION, str_c(""));
    commit();
    assert_true(has("ended"));
    begin();
    assert_int_equal(objects(0), 0);
    assert_int_equal(rig.p->watches[0].state, PERSIST_WATCH_EMPTY);
}

/* An identity that says nothing is one, too. */
static void test_a_cluster_that_cannot_tell_keeps_its_state(void **state)
{
    (void)state;
    knows_and_is_cut_off("", "Y");
    begin();
    assert_int_equal(cluster_state(), PERSIST_CLUSTER_WAITING);
    expect_good(0, "X"); /* now it can */
    expect_shown();
    commit();
    assert_true(has("uid:X"));
}

static void test_watches_begin_stale_if_no_server_answers(void **state)
{
    (void)state;
    knows_and_is_cut_off("X", "Y");
    begin();
    assert_int_equal(due_ms(), rig.now.ms + AFTER_MS);
    hook_rig_nothing();
    assert_false(ticks());
    assert_int_equal(due_ms(), 0);
    assert_true(watch_synced(hook_rig.watches[0]));
    assert_int_equal(rig.p->watches[0].state, PERSIST_WATCH_SHOWN);
    hook_rig_pass(DELTA_MODIFIED, "u0");
    expect_good(0, "X");
    assert_int_equal(objects(0), 1);
}

static void test_another_cluster_after_a_stale_start_is_held(void **state)
{
    (void)state;
    knows("X", "Y");
    begin();
    assert_false(ticks());
    expect_held("Z");
    assert_int_equal(objects(0), 1);
}

static void test_a_cluster_that_answers_and_cannot_list_begins_stale(void **state)
{
    (void)state;
    knows_and_is_cut_off("X", "Y");
    begin();
    expect_good(0, "X");
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
    knows("X", "Y");
    begin();
    expect_good(0, "X");
    lw = watch_list_watch(hook_rig.watches[0], 0);
    assert_int_equal(list_watch_start(lw, rig.now.ms).what, LW_WATCH);
    list_watch_head(lw, &head, rig.now.ms);
    assert_false(ticks());
    assert_false(watch_synced(hook_rig.watches[0]));
    assert_true(watch_synced(hook_rig.watches[1]));
}

/* No watch begins stale at the time for it. */
static void expect_no_stale_start(void)
{
    assert_false(ticks());
    assert_false(watch_synced(hook_rig.watches[0]));
    assert_int_equal(rig.p->watches[0].state, PERSIST_WATCH_LOADED);
    hook_rig_nothing();
}

static void test_an_incomplete_watch_does_not_begin_stale(void **state)
{
    (void)state;
    rig.bytes = PERSIST_DIGEST;
    knows("X", "Y");
    begin();
    expect_no_stale_start();
}

static void test_a_watch_that_is_too_old_does_not_begin_stale(void **state)
{
    (void)state;
    knows("X", "Y");
    rig.now.wall_ns += 61 * MINUTE_NS;
    begin();
    expect_no_stale_start();
    rig.now.wall_ns -= 2 * MINUTE_NS;
    begin();
    assert_false(ticks());
    assert_true(watch_synced(hook_rig.watches[0]));
}

static void test_a_watch_of_unknown_age_does_not_begin_stale(void **state)
{
    (void)state;
    knows("X", "Y");
    rig.now.wall_ns -= MINUTE_NS; /* the clock was set back */
    begin();
    expect_no_stale_start();
}

static void test_without_a_time_for_it_no_watch_begins_stale(void **state)
{
    (void)state;
    knows("X", "Y");
    rig.stale_after_ms = 0;
    begin();
    assert_int_equal(due_ms(), 0);
}

static void test_a_watch_of_a_renamed_cluster_does_not_begin_stale(void **state)
{
    (void)state;
    knows_and_is_cut_off("X", "Y");
    rig.names[0] = "new";
    begin();
    expect_no_stale_start();
    expect_good(0, "X"); /* the answer shows that it is the old cluster */
    expect_shown();
}

static void test_a_watch_that_was_moved_is_of_the_cluster_that_it_was_kept_under(void **state)
{
    (void)state;
    knows("X", "Y");
    rig.cluster_of[2] = 0;
    begin();
    assert_false(ticks());
    assert_true(watch_synced(hook_rig.watches[1]));
    assert_false(watch_synced(hook_rig.watches[2]));
    begin();
    expect_good(0, "X");
    assert_true(objects(0) == 1 && objects(1) == 1 && objects(2) == 0);
}

static void test_two_names_of_one_cluster_are_the_same_cluster(void **state)
{
    (void)state;
    knows("X", "X");
    rig.cluster_of[2] = 0;
    begin();
    assert_false(ticks());
    assert_true(watch_synced(hook_rig.watches[2]));
}

static void test_a_file_that_begins_anew_has_the_identities(void **state)
{
    (void)state;
    begin();
    expect_good(1, "");
    commit();
    batch_reset(&rig.state.batch);
    persist_lost(rig.p, rig.now, &rig.state.batch);
    commit();
    /* The second cluster was asked and cannot tell; the first one was not asked. */
    assert_true(has("fact 12 identity [] \n"));
    assert_false(has("fact 11 identity"));
    expect_good(0, "X");
    batch_reset(&rig.state.batch);
    persist_lost(rig.p, rig.now, &rig.state.batch);
    commit();
    assert_true(has("fact 11 identity [] uid:X\n"));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, clean_up)
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
        TEST(test_a_state_without_identity_is_dropped),
        TEST(test_what_is_not_configured_goes_with_a_state_without_identity),
        TEST(test_an_incarnation_that_has_ended_is_not_loaded_again),
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
        TEST(test_a_file_that_begins_anew_has_the_identities),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
