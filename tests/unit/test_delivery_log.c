/* SPDX-License-Identifier: Apache-2.0 */
#include "restarted_hook.h"

/* What a hook knows after a restart. */
static void load(const char *key, const char *uid, const char *data)
{
    hook_rig_change(0, DELTA_ADDED, key, uid, data);
}

static void changes(enum delta_type type, const char *uid, const char *data)
{
    hook_rig_change(0, type, "ns/n", uid, data);
}

/* It runs, as far as the disk knows. */
static struct run *starts(enum delta_type type, const char *uid)
{
    struct run *run = hook_rig_starts(type, uid);

    restarted_hook_keep();
    return run;
}

static void passes(enum delta_type type, const char *uid, enum run_reason reason)
{
    struct run *run = starts(type, uid);

    assert_int_equal(run->reason, reason);
    hook_rig_end(run, 0);
    restarted_hook_keep();
}

/* A hook that has handled u1. */
static void begin(struct hook_rig_hook p)
{
    restarted_hook_add(p);
    hook_rig_sync(0);
    load("ns/n", "u1", "\"a\":1");
    passes(DELTA_ADDED, "u1", RUN_EXISTING);
}

static void test_what_was_handled_is_quiet_and_ready_at_once(void **state)
{
    (void)state;
    begin((struct hook_rig_hook){0});
    restarted_hook_restart();
    load("ns/n", "u1", "\"a\":1");
    hook_rig_sync(0);
    hook_rig_nothing();
    assert_true(hooks_ready(&hook_rig.hooks));
    changes(DELTA_MODIFIED, "u1", "\"a\":2"); /* the handled state is whole again */
    struct run *run = hook_rig_starts(DELTA_MODIFIED, "u1");
    assert_non_null(run->events[0].old);
    assert_string_equal(buf_cstr(&run->events[0].changed), "data.a\n");
    hook_rig_end(run, 0);
}

/* Of the state that was handled no more than digests are known. */
static void test_what_was_handled_is_quiet_when_it_is_written_in_another_way(void **state)
{
    static const char *const other[] = {
        "\"b\":[1,2],\"a\":{\"x\":\"<\"}",
        "\"a\" : {\"x\" : \"\\u003c\"}, \"b\": [1, 2]",
        "\"a\":{\"creationTimestamp\":null,\"x\":\"<\"},\"b\":[1,2]",
    };

    (void)state;
    for (int paths = 0; paths < 2; paths++) {
        restarted_hook_add((struct hook_rig_hook){.path = paths ? "data.a" : NULL});
        hook_rig_sync(0);
        load("ns/n", "u1", "\"a\":{\"x\":\"<\"},\"b\":[1,2]");
        passes(DELTA_ADDED, "u1", RUN_EXISTING);
        size_t puts = restarted_hook.disk.puts;
        for (size_t i = 0; i < ARRAY_LEN(other); i++) {
            changes(DELTA_MODIFIED, "u1", other[i]);
            hook_rig_nothing();
            restarted_hook_keep();
            assert_int_equal(restarted_hook.disk.puts, puts);
            restarted_hook_restart();
            load("ns/n", "u1", other[i]);
            hook_rig_sync(0);
            hook_rig_nothing();
        }
        changes(DELTA_MODIFIED, "u1", "\"a\":{\"x\":\">\"}");
        passes(DELTA_MODIFIED, "u1", RUN_CHANGE);
        (void)restarted_hook_clean_up(NULL);
        (void)hook_rig_set_up(NULL);
    }
}

static void test_only_what_changes_in_sees_counts(void **state)
{
    (void)state;
    begin((struct hook_rig_hook){.path = "data.a"});
    restarted_hook_restart();
    load("ns/n", "u1", "\"a\":1,\"b\":7");
    hook_rig_sync(0);
    hook_rig_nothing();
}

static void test_a_change_while_nobody_looked_tells_that_all_may_differ(void **state)
{
    (void)state;
    begin((struct hook_rig_hook){0});
    restarted_hook_restart();
    load("ns/n", "u1", "\"a\":2");
    hook_rig_sync(0);
    struct run *run = hook_rig_starts(DELTA_MODIFIED, "u1");
    assert_int_equal(run->reason, RUN_CHANGE);
    assert_null(run->events[0].old);
    assert_string_equal(buf_cstr(&run->events[0].changed), "*\n");
    hook_rig_end(run, 0);
}

static void test_what_a_killed_run_may_have_done_is_told_again(void **state)
{
    (void)state;
    begin((struct hook_rig_hook){0});
    changes(DELTA_MODIFIED, "u1", "\"a\":2");
    starts(DELTA_MODIFIED, "u1");
    restarted_hook_restart();
    load("ns/n", "u1", "\"a\":1"); /* back to what was handled */
    hook_rig_sync(0);
    struct run *run = hook_rig_starts(DELTA_MODIFIED, "u1");
    assert_string_equal(buf_cstr(&run->events[0].changed), "*\n");
    assert_non_null(run->events[0].old); /* whole again */
    hook_rig_end(run, 0);
    hook_rig_nothing();
}

static void test_what_vanished_is_deleted_once(void **state)
{
    (void)state;
    begin((struct hook_rig_hook){0});
    restarted_hook_restart();
    hook_rig_sync(0);
    struct run *run = starts(DELTA_DELETED, "u1");
    const struct delivery_event *ev = &run->events[0].ev;
    assert_int_equal(run->reason, RUN_CHANGE);
    assert_int_equal(ev->cause, CAUSE_RESTART);
    assert_true(ev->final_state_unknown);
    assert_int_equal(ev->received_ns, 55);
    assert_true(str_is(object_key(ev->object), "ns/n") && str_is(object_name(ev->object), "n"));
    hook_rig_end(run, 0);
    restarted_hook_keep();
    assert_int_equal(restarted_hook.disk.row_count, 0);
    assert_null(delivery_queue_find(&restarted_hook.hook->queue, 0, str_c("ns/n")));
    restarted_hook_restart();
    hook_rig_sync(0);
    hook_rig_nothing();
}

static void test_an_end_that_was_not_told_keeps_its_last_object(void **state)
{
    (void)state;
    begin((struct hook_rig_hook){0});
    changes(DELTA_LEFT, "u1", "\"a\":9");
    restarted_hook_keep();
    restarted_hook_restart();
    hook_rig_sync(0);
    struct run *run = hook_rig_starts(DELTA_LEFT, "u1");
    struct object *last = objects_make("ns/n", "u1", "1", "\"a\":9");
    assert_int_equal(run->events[0].ev.cause, CAUSE_WATCH);
    assert_false(run->events[0].ev.final_state_unknown);
    assert_true(object_same(run->events[0].ev.object, last));
    object_unref(&last);
    hook_rig_end(run, 0);
}

static void test_another_life_is_told_after_the_end_of_the_first(void **state)
{
    (void)state;
    begin((struct hook_rig_hook){0});
    restarted_hook_restart();
    load("ns/n", "u2", "\"a\":1");
    hook_rig_sync(0);
    passes(DELTA_DELETED, "u1", RUN_CHANGE);
    passes(DELTA_ADDED, "u2", RUN_CHANGE);
    assert_non_null(hook_disk_delivery(&restarted_hook.disk, "ns/n", "u2"));
    assert_int_equal(restarted_hook.disk.row_count, 1);
}

static void test_both_lives_of_a_batch_are_known_again(void **state)
{
    (void)state;
    begin((struct hook_rig_hook){.rules.mode = HOOK_BATCH});
    changes(DELTA_DELETED, "u1", "\"a\":1");
    load("ns/n", "u2", "\"a\":1");
    struct run *run = hook_rig_next();
    assert_int_equal(run->event_count, 2);
    restarted_hook_keep();
    assert_int_equal(restarted_hook.disk.row_count, 2);
    restarted_hook_restart();
    hook_rig_sync(0); /* u2 has ended, too */
    run = hook_rig_next();
    assert_int_equal(run->event_count, 2);
    hook_rig_event_is(run, 0, DELTA_DELETED, "u1");
    hook_rig_event_is(run, 1, DELTA_DELETED, "u2");
    hook_rig_end(run, 0);
    restarted_hook_keep();
    assert_int_equal(restarted_hook.disk.row_count, 0);
}

static void test_skip_is_for_what_was_there_first(void **state)
{
    (void)state;
    restarted_hook_add((struct hook_rig_hook){.rules.existing = HOOK_EXISTING_SKIP});
    load("ns/n", "u1", "\"a\":1");
    load("ns/m", "u2", "\"a\":1");
    hook_rig_sync(0);
    hook_rig_nothing();
    restarted_hook_keep();
    assert_int_equal(restarted_hook.disk.row_count, 2);
    restarted_hook_restart();
    load("ns/n", "u1", "\"a\":2");
    load("ns/m", "u2", "\"a\":1");
    load("ns/o", "u3", "\"a\":1");
    hook_rig_sync(0);
    passes(DELTA_MODIFIED, "u1", RUN_CHANGE);
    passes(DELTA_ADDED, "u3", RUN_EXISTING);
    hook_rig_nothing();
}

static void test_skip_goes_on_where_it_was_not_kept(void **state)
{
    (void)state;
    restarted_hook_add((struct hook_rig_hook){.rules.existing = HOOK_EXISTING_SKIP});
    restarted_hook_restart();
    load("ns/n", "u1", "\"a\":1");
    hook_rig_sync(0);
    hook_rig_nothing();
}

static void test_what_is_parked_stays_parked_until_it_changes(void **state)
{
    (void)state;
    restarted_hook_add((struct hook_rig_hook){.park_exit = 75});
    load("ns/n", "u1", "\"a\":1");
    hook_rig_sync(0);
    hook_rig_end(starts(DELTA_ADDED, "u1"), 75);
    restarted_hook_keep();
    restarted_hook_restart();
    delivery_log_touch_all(&restarted_hook.hook->queue);
    restarted_hook_keep();
    restarted_hook_restart();
    load("ns/n", "u1", "\"a\" : 1");
    hook_rig_sync(0);
    hook_rig_nothing();
    assert_int_equal(hook_parked(restarted_hook.hook), 1);
    assert_true(hooks_ready(&hook_rig.hooks));
    restarted_hook_keep();
    changes(DELTA_MODIFIED, "u1", "\"a\":2");
    hook_rig_pass(DELTA_ADDED, "u1");
    restarted_hook_restart();
    load("ns/n", "u1", "\"a\":3"); /* or had changed before */
    hook_rig_sync(0);
    hook_rig_pass(DELTA_ADDED, "u1");
}

static void test_a_parked_end_gives_way_to_the_next_life(void **state)
{
    (void)state;
    begin((struct hook_rig_hook){.park_exit = 75});
    changes(DELTA_DELETED, "u1", "\"a\":1");
    hook_rig_end(starts(DELTA_DELETED, "u1"), 75);
    restarted_hook_keep();
    restarted_hook_restart();
    hook_rig_sync(0);
    hook_rig_nothing();
    restarted_hook_restart();
    load("ns/n", "u2", "\"a\":1");
    hook_rig_sync(0);
    hook_rig_pass(DELTA_ADDED, "u2");
    hook_rig_nothing();
}

static void test_renewal_runs_all_and_still_owes_ends(void **state)
{
    (void)state;
    begin((struct hook_rig_hook){0});
    load("ns/m", "u2", "\"a\":1");
    passes(DELTA_ADDED, "u2", RUN_CHANGE);
    restarted_hook_restart();
    hook_record_renew(restarted_hook.hook);
    restarted_hook_keep(); /* dies once more before any run */
    restarted_hook_restart();
    load("ns/n", "u1", "\"a\":1");
    hook_rig_sync(0);
    passes(DELTA_ADDED, "u1", RUN_RENEW);
    passes(DELTA_DELETED, "u2", RUN_RENEW);
    changes(DELTA_MODIFIED, "u1", "\"a\":2");
    passes(DELTA_MODIFIED, "u1", RUN_CHANGE);
}

/* It is not told again of what is there, and so must be told of what has changed. */
static void test_renewal_loses_no_change_for_who_does_not_hear_what_is_there(void **state)
{
    (void)state;
    restarted_hook_add((struct hook_rig_hook){.events = 1U << DELTA_MODIFIED});
    load("ns/m", "u1", "\"a\":1");
    load("ns/n", "u2", "\"a\":1");
    load("ns/o", "u3", "\"a\":1");
    hook_rig_sync(0);
    hook_rig_nothing();
    changes(DELTA_MODIFIED, "u2", "\"a\":2");
    starts(DELTA_MODIFIED, "u2");
    restarted_hook_restart();
    hook_record_renew(restarted_hook.hook);
    load("ns/m", "u1", "\"a\":1");
    load("ns/n", "u2", "\"a\":1"); /* what the run has done is to be undone */
    load("ns/o", "u3", "\"a\":3");
    hook_rig_sync(0);
    struct run *run = hook_rig_next();
    assert_int_equal(run->reason, RUN_RENEW);
    hook_rig_event_is(run, 0, DELTA_MODIFIED,
                      str_is(object_name(run->events[0].ev.object), "n") ? "u2" : "u3");
    hook_rig_end(run, 0);
    run = hook_rig_next();
    hook_rig_event_is(run, 0, DELTA_MODIFIED,
                      str_is(object_name(run->events[0].ev.object), "n") ? "u2" : "u3");
    hook_rig_end(run, 0);
    hook_rig_nothing();
}

static void test_renewal_tells_of_an_outage_again(void **state)
{
    (void)state;
    restarted_hook_add((struct hook_rig_hook){.events = 1U << DELTA_STALE | 1U << DELTA_FRESH});
    hook_rig_sync(0);
    hook_rig_nothing();
    hook_rig_stale(0, true);
    passes(DELTA_STALE, "", RUN_CHANGE);
    restarted_hook_restart();
    hook_rig_stale(0, true);
    hook_record_renew(restarted_hook.hook);
    hook_rig_sync(0);
    passes(DELTA_STALE, "", RUN_RENEW);
}

static void test_renewal_is_not_for_what_was_skipped(void **state)
{
    (void)state;
    restarted_hook_add((struct hook_rig_hook){.rules.existing = HOOK_EXISTING_SKIP});
    load("ns/n", "u1", "\"a\":1");
    hook_rig_sync(0);
    hook_rig_nothing();
    load("ns/m", "u2", "\"a\":1");
    passes(DELTA_ADDED, "u2", RUN_CHANGE);
    restarted_hook_restart();
    hook_record_renew(restarted_hook.hook);
    load("ns/n", "u1", "\"a\":1");
    load("ns/m", "u2", "\"a\":1");
    hook_rig_sync(0);
    passes(DELTA_ADDED, "u2", RUN_RENEW);
    hook_rig_nothing();
}

/* In each mode: before the run, while it runs, and when it has failed. */
static void test_a_renewal_is_one_until_a_run_for_it_has_succeeded(void **state)
{
    static const enum hook_mode modes[] = {HOOK_OBJECT, HOOK_BATCH, HOOK_SNAPSHOT};
    enum { BEFORE, UNDER_WAY, FAILED, PLACES };

    for (size_t i = 0; i < ARRAY_LEN(modes) * PLACES; i++) {
        size_t place = i % PLACES;

        begin((struct hook_rig_hook){.rules.mode = modes[i / PLACES]});
        restarted_hook_restart();
        hook_record_renew(restarted_hook.hook);
        restarted_hook_keep();
        if (place != BEFORE) {
            load("ns/n", "u1", "\"a\":1");
            hook_rig_sync(0);
            struct run *run = starts(DELTA_ADDED, "u1");
            if (place == FAILED)
                hook_rig_end(run, 1);
            restarted_hook_keep();
        }
        restarted_hook_restart();
        load("ns/n", "u1", "\"a\":1");
        hook_rig_sync(0);
        passes(DELTA_ADDED, "u1", RUN_RENEW);
        changes(DELTA_MODIFIED, "u1", "\"a\":2");
        hook_rig.now += restarted_hook.params.work_queue.settle_max_ms;
        passes(DELTA_MODIFIED, "u1", RUN_CHANGE);
        restarted_hook_restart();
        load("ns/n", "u1", "\"a\":3");
        hook_rig_sync(0);
        passes(DELTA_MODIFIED, "u1", RUN_CHANGE);
        restarted_hook_clean_up(state);
        hook_rig_set_up(state);
    }
}

/* It failed for good, and is told of when the object changes: what was done is still gone. */
static void test_a_renewal_that_was_parked_is_one_still(void **state)
{
    (void)state;
    begin((struct hook_rig_hook){.park_exit = 75});
    restarted_hook_restart();
    hook_record_renew(restarted_hook.hook);
    load("ns/n", "u1", "\"a\":1");
    hook_rig_sync(0);
    hook_rig_end(starts(DELTA_ADDED, "u1"), 75);
    for (int i = 0; i < 2; i++) {
        restarted_hook_keep();
        restarted_hook_restart();
        load("ns/n", "u1", "\"a\":1");
        hook_rig_sync(0);
        hook_rig_nothing();
    }
    changes(DELTA_MODIFIED, "u1", "\"a\":2");
    passes(DELTA_ADDED, "u1", RUN_RENEW);
}

/* A source without anything to tell comes first. */
static void test_a_renewal_waits_for_the_source_that_has_something_to_tell(void **state)
{
    static const enum hook_mode modes[] = {HOOK_BATCH, HOOK_SNAPSHOT};

    for (size_t i = 0; i < ARRAY_LEN(modes); i++) {
        restarted_hook_add((struct hook_rig_hook){
            .sources = 2, .rules = {.mode = modes[i], .require = HOOK_REQUIRE_ANY}
        });
        hook_rig_sync(0);
        load("ns/n", "u1", "\"a\":1");
        hook_rig_sync(1);
        hook_rig_end(hook_rig_next(), 0);
        restarted_hook_keep();
        restarted_hook_restart();
        hook_record_renew(restarted_hook.hook);
        restarted_hook_keep();
        restarted_hook_restart();
        hook_rig_sync(1);
        if (modes[i] == HOOK_BATCH)
            hook_rig_nothing();
        load("ns/n", "u1", "\"a\":1");
        hook_rig_sync(0);
        struct run *run = hook_rig_next();
        assert_int_equal(run->reason, RUN_RENEW);
        hook_rig_end(run, 0);
        restarted_hook_clean_up(state);
        hook_rig_set_up(state);
    }
}

/* Nothing that was done is there to be done again: what comes later is a change. */
static void test_a_renewal_of_nothing_is_over_at_once(void **state)
{
    (void)state;
    restarted_hook_add((struct hook_rig_hook){.rules.mode = HOOK_BATCH});
    hook_rig_sync(0);
    hook_rig_nothing();
    restarted_hook_keep();
    restarted_hook_restart();
    hook_record_renew(restarted_hook.hook);
    hook_rig_sync(0);
    hook_rig_nothing();
    restarted_hook_keep();
    changes(DELTA_ADDED, "u1", "\"a\":1");
    passes(DELTA_ADDED, "u1", RUN_CHANGE);
}

/* Over two restarts: the one without the second source has told of the first alone. */
static void test_a_snapshot_that_lacked_a_source_is_owed(void **state)
{
    (void)state;
    restarted_hook_add((struct hook_rig_hook){
        .sources = 2, .rules = {.mode = HOOK_SNAPSHOT, .require = HOOK_REQUIRE_ANY}
    });
    hook_rig_sync(0);
    hook_rig_sync(1);
    hook_rig_end(hook_rig_next(), 0);
    restarted_hook_keep();
    restarted_hook_restart();
    hook_rig_sync(0);
    hook_rig_nothing();
    load("ns/n", "u1", "\"a\":1");
    hook_rig_end(hook_rig_next(), 0);
    hook_rig_nothing();
    restarted_hook_keep();
    restarted_hook_restart();
    load("ns/n", "u1", "\"a\":1");
    hook_rig_sync(0);
    hook_rig_sync(1);
    hook_rig_end(hook_rig_next(), 0);
    hook_rig_nothing();
}

static void test_a_snapshot_runs_again_only_if_it_is_owed(void **state)
{
    (void)state;
    restarted_hook_add((struct hook_rig_hook){.rules.mode = HOOK_SNAPSHOT});
    hook_rig_sync(0);
    hook_rig_next(); /* of nothing */
    restarted_hook_keep();
    restarted_hook_restart();
    hook_rig_sync(0);
    struct run *run = hook_rig_next();
    assert_int_equal(run->event_count, 0);
    hook_rig_end(run, 0);
    restarted_hook_keep();
    restarted_hook_restart();
    hook_rig_sync(0);
    hook_rig_nothing();
    assert_true(hooks_ready(&hook_rig.hooks) && hooks_quiet(&hook_rig.hooks));
    restarted_hook_restart();
    hook_record_renew(restarted_hook.hook);
    hook_rig_sync(0);
    run = hook_rig_next();
    assert_int_equal(run->reason, RUN_RENEW);
    hook_rig_end(run, 0);
    hook_rig_nothing();
}

static void test_a_source_that_is_stale_no_more_is_fresh(void **state)
{
    (void)state;
    begin((struct hook_rig_hook){0});
    hook_rig_stale(0, true);
    passes(DELTA_STALE, "", RUN_CHANGE);
    restarted_hook_restart();
    load("ns/n", "u1", "\"a\":1");
    hook_rig_sync(0);
    struct run *run = starts(DELTA_FRESH, "");
    assert_false(run->events[0].ev.final_state_unknown);
    restarted_hook_restart();
    load("ns/n", "u1", "\"a\":1");
    hook_rig_stale(0, true); /* and here it is again */
    hook_rig_sync(0);
    passes(DELTA_STALE, "", RUN_CHANGE);
    hook_rig_nothing();
}

static void test_of_another_source_nothing_is_told(void **state)
{
    (void)state;
    begin((struct hook_rig_hook){0});
    restarted_hook_restart();
    delivery_log_forget(&restarted_hook.hook->queue, 0);
    restarted_hook_keep();
    assert_int_equal(restarted_hook.disk.row_count, 0);
    assert_null(delivery_queue_find(&restarted_hook.hook->queue, 0, str_c("ns/n")));
    hook_rig_sync(0);
    hook_rig_nothing();
    load("ns/n", "u1", "\"a\":1");
    hook_rig_pass(DELTA_ADDED, "u1");
}

/* Who answers now is no longer away, whoever that is. */
static void test_of_another_source_it_is_told_that_it_is_fresh(void **state)
{
    (void)state;
    begin((struct hook_rig_hook){0});
    hook_rig_stale(0, true);
    passes(DELTA_STALE, "", RUN_CHANGE);
    restarted_hook_restart();
    delivery_log_forget(&restarted_hook.hook->queue, 0);
    restarted_hook_keep();
    hook_rig_sync(0);
    passes(DELTA_FRESH, "", RUN_CHANGE);
    hook_rig_nothing();
}

static void test_all_is_put_again_when_the_disk_is_lost(void **state)
{
    (void)state;
    begin((struct hook_rig_hook){0});
    size_t puts = restarted_hook.disk.puts;
    restarted_hook_keep();
    changes(DELTA_MODIFIED, "u1", "\"a\":1"); /* nothing that counts */
    restarted_hook_keep();
    assert_int_equal(restarted_hook.disk.puts, puts);
    delivery_log_touch_all(&restarted_hook.hook->queue);
    restarted_hook_keep();
    assert_int_equal(restarted_hook.disk.puts, puts + 2); /* and that the source was seen */
}

static void test_skip_is_not_for_what_is_marked(void **state)
{
    const struct delivery_record m = {.key = str_c("k"), .uid = str_c("u1"), .is_delivered = true};

    (void)state;
    restarted_hook_add((struct hook_rig_hook){.rules.existing = HOOK_EXISTING_SKIP});
    assert_true(delivery_log_restore(&restarted_hook.hook->queue, 0, &m, 1));
    load("k", "u1", "\"a\":1");
    hook_rig_sync(0);
    hook_rig_pass(DELTA_ADDED, "u1");
    hook_rig_nothing();
}

static void test_a_third_mark_of_a_key_is_not_believed(void **state)
{
    struct delivery_record m = {.key = str_c("k"), .is_delivered = true};

    (void)state;
    restarted_hook_add((struct hook_rig_hook){.rules.existing = HOOK_EXISTING_SKIP});
    m.uid = str_c("u1");
    assert_true(delivery_log_restore(&restarted_hook.hook->queue, 0, &m, 1));
    m.uid = str_c("u2");
    m.note = DELIVERY_HAS_PREDECESSOR;
    assert_true(delivery_log_restore(&restarted_hook.hook->queue, 0, &m, 1));
    m.uid = str_c("u3");
    assert_false(delivery_log_restore(&restarted_hook.hook->queue, 0, &m, 1));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, hook_rig_set_up, restarted_hook_clean_up)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_what_was_handled_is_quiet_and_ready_at_once),
        TEST(test_what_was_handled_is_quiet_when_it_is_written_in_another_way),
        TEST(test_only_what_changes_in_sees_counts),
        TEST(test_a_change_while_nobody_looked_tells_that_all_may_differ),
        TEST(test_what_a_killed_run_may_have_done_is_told_again),
        TEST(test_what_vanished_is_deleted_once),
        TEST(test_an_end_that_was_not_told_keeps_its_last_object),
        TEST(test_another_life_is_told_after_the_end_of_the_first),
        TEST(test_both_lives_of_a_batch_are_known_again),
        TEST(test_skip_is_for_what_was_there_first),
        TEST(test_skip_goes_on_where_it_was_not_kept),
        TEST(test_what_is_parked_stays_parked_until_it_changes),
        TEST(test_a_parked_end_gives_way_to_the_next_life),
        TEST(test_renewal_runs_all_and_still_owes_ends),
        TEST(test_renewal_loses_no_change_for_who_does_not_hear_what_is_there),
        TEST(test_renewal_tells_of_an_outage_again),
        TEST(test_renewal_is_not_for_what_was_skipped),
        TEST(test_a_renewal_is_one_until_a_run_for_it_has_succeeded),
        TEST(test_a_renewal_that_was_parked_is_one_still),
        TEST(test_a_renewal_waits_for_the_source_that_has_something_to_tell),
        TEST(test_a_renewal_of_nothing_is_over_at_once),
        TEST(test_a_snapshot_that_lacked_a_source_is_owed),
        TEST(test_a_snapshot_runs_again_only_if_it_is_owed),
        TEST(test_a_source_that_is_stale_no_more_is_fresh),
        TEST(test_of_another_source_nothing_is_told),
        TEST(test_of_another_source_it_is_told_that_it_is_fresh),
        TEST(test_all_is_put_again_when_the_disk_is_lost),
        TEST(test_skip_is_not_for_what_is_marked),
        TEST(test_a_third_mark_of_a_key_is_not_believed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
