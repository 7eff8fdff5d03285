/* SPDX-License-Identifier: Apache-2.0 */
#include "restarted_hook.h"

/* The deliveries of a hook after a restart. */

static void load(const char *key, const char *uid, const char *data)
{
    hook_rig_change(0, DELTA_ADDED, key, uid, data);
}

static void changes(enum delta_type type, const char *uid, const char *data)
{
    hook_rig_change(0, type, "ns/n", uid, data);
}

/* The run that starts has this one event, and the disk has it as started. */
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

static void test_handled_objects_are_quiet_and_the_hook_is_ready_at_once(void **state)
{
    (void)state;
    begin((struct hook_rig_hook){0});
    restarted_hook_restart();
    load("ns/n", "u1", "\"a\":1");
    hook_rig_sync(0);
    hook_rig_nothing();
    assert_true(hooks_ready(&hook_rig.hooks));
    changes(DELTA_MODIFIED, "u1", "\"a\":2"); /* the handled state is complete again */
    struct run *run = hook_rig_starts(DELTA_MODIFIED, "u1");
    assert_non_null(run->events[0].old);
    assert_string_equal(buf_cstr(&run->events[0].changed), "data.a\n");
    hook_rig_end(run, 0);
}

/* After a restart the hook knows the handled state only by its digests. */
static void test_a_handled_object_is_quiet_when_it_is_written_in_another_way(void **state)
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

static void test_only_paths_of_changes_in_count(void **state)
{
    (void)state;
    begin((struct hook_rig_hook){.path = "data.a"});
    restarted_hook_restart();
    load("ns/n", "u1", "\"a\":1,\"b\":7");
    hook_rig_sync(0);
    hook_rig_nothing();
}

static void test_after_a_change_between_processes_any_path_may_differ(void **state)
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

static void test_an_object_of_a_killed_run_is_delivered_again(void **state)
{
    (void)state;
    begin((struct hook_rig_hook){0});
    changes(DELTA_MODIFIED, "u1", "\"a\":2");
    starts(DELTA_MODIFIED, "u1");
    restarted_hook_restart();
    load("ns/n", "u1", "\"a\":1"); /* back to the handled state */
    hook_rig_sync(0);
    struct run *run = hook_rig_starts(DELTA_MODIFIED, "u1");
    assert_string_equal(buf_cstr(&run->events[0].changed), "*\n");
    assert_non_null(run->events[0].old); /* loading made the handled state complete again */
    hook_rig_end(run, 0);
    hook_rig_nothing();
}

/* The hook was told a state, the run failed, and the record of the run that was cut off shows an end
 * only. The object is back, and the hook has not handled that. */
static void test_an_object_that_returns_after_a_killed_end_is_modified_without_added(void **state)
{
    (void)state;
    restarted_hook_add(
        (struct hook_rig_hook){.events = 1U << DELTA_MODIFIED | 1U << DELTA_DELETED});
    hook_rig_sync(0);
    load("ns/n", "u1", "\"a\":1");
    hook_rig_nothing();
    changes(DELTA_MODIFIED, "u1", "\"a\":2");
    hook_rig_end(starts(DELTA_MODIFIED, "u1"), 1);
    changes(DELTA_DELETED, "u1", "\"a\":2");
    starts(DELTA_DELETED, "u1");
    restarted_hook_restart();
    load("ns/n", "u1", "\"a\":1");
    hook_rig_sync(0);
    struct run *run = hook_rig_starts(DELTA_MODIFIED, "u1");
    assert_null(run->events[0].old);
    assert_string_equal(buf_cstr(&run->events[0].changed), "*\n");
    hook_rig_end(run, 0);
    hook_rig_nothing();
}

static void test_an_object_that_vanished_is_deleted_once(void **state)
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

static void test_an_end_that_was_not_delivered_keeps_its_last_object(void **state)
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

static void test_the_next_incarnation_comes_after_the_end_of_the_first(void **state)
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

static void test_both_incarnations_of_a_batch_are_restored(void **state)
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

static void test_skip_is_for_objects_of_the_first_process(void **state)
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

static void test_skip_is_for_the_next_process_if_the_first_never_synced(void **state)
{
    (void)state;
    restarted_hook_add((struct hook_rig_hook){.rules.existing = HOOK_EXISTING_SKIP});
    restarted_hook_restart();
    load("ns/n", "u1", "\"a\":1");
    hook_rig_sync(0);
    hook_rig_nothing();
}

static void test_a_parked_key_stays_parked_until_it_changes(void **state)
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
    load("ns/n", "u1", "\"a\":3"); /* the object changed while no process ran */
    hook_rig_sync(0);
    hook_rig_pass(DELTA_ADDED, "u1");
}

static void test_a_parked_end_is_superseded_by_the_next_incarnation(void **state)
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

static void test_renewal_runs_for_all_objects_and_for_ends(void **state)
{
    (void)state;
    begin((struct hook_rig_hook){0});
    load("ns/m", "u2", "\"a\":1");
    passes(DELTA_ADDED, "u2", RUN_CHANGE);
    restarted_hook_restart();
    hook_record_renew(restarted_hook.hook);
    restarted_hook_keep(); /* the process dies once more before any run */
    restarted_hook_restart();
    load("ns/n", "u1", "\"a\":1");
    hook_rig_sync(0);
    passes(DELTA_ADDED, "u1", RUN_RENEW);
    passes(DELTA_DELETED, "u2", RUN_RENEW);
    changes(DELTA_MODIFIED, "u1", "\"a\":2");
    passes(DELTA_MODIFIED, "u1", RUN_CHANGE);
}

/* The hook does not get the existing objects again, and so must get those that have changed. */
static void test_renewal_loses_no_change_for_a_hook_without_added(void **state)
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
    load("ns/n", "u2", "\"a\":1"); /* the effects of the run are to be undone */
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

static void test_renewal_delivers_an_outage_again(void **state)
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

static void test_renewal_is_not_for_skipped_objects(void **state)
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
static void test_a_renewal_lasts_until_a_run_for_it_has_succeeded(void **state)
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

/* The run failed for good, and the hook runs when the object changes: the effects are still
 * gone. */
static void test_a_renewal_outlives_a_parked_run(void **state)
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

/* A source without any event comes first. */
static void test_a_renewal_waits_for_the_source_that_has_objects(void **state)
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

/* There is no object whose effects could be made again: a later object is just a change. */
static void test_a_renewal_without_objects_is_over_at_once(void **state)
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

/* Over two restarts: in the process without the second source, only objects of the first source
 * were delivered. */
static void test_a_snapshot_that_lacked_a_source_is_due(void **state)
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

static void test_a_snapshot_runs_again_only_if_it_is_due(void **state)
{
    (void)state;
    restarted_hook_add((struct hook_rig_hook){.rules.mode = HOOK_SNAPSHOT});
    hook_rig_sync(0);
    hook_rig_next(); /* it has no event, and does not end */
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
    hook_rig_stale(0, true); /* the outage has begun again before FRESH was handled */
    hook_rig_sync(0);
    passes(DELTA_STALE, "", RUN_CHANGE);
    hook_rig_nothing();
}

static void test_objects_of_another_cluster_are_forgotten(void **state)
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

/* The outage is over, whichever cluster answers now. */
static void test_a_source_of_another_cluster_becomes_fresh(void **state)
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
    changes(DELTA_MODIFIED, "u1", "\"a\":1"); /* not a change that counts */
    restarted_hook_keep();
    assert_int_equal(restarted_hook.disk.puts, puts);
    delivery_log_touch_all(&restarted_hook.hook->queue);
    restarted_hook_keep();
    /* the delivery record, and that the source was seen */
    assert_int_equal(restarted_hook.disk.puts, puts + 2);
}

static void test_skip_is_not_for_objects_with_a_delivery_record(void **state)
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

static void test_a_third_delivery_record_of_a_key_is_not_believed(void **state)
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
        TEST(test_handled_objects_are_quiet_and_the_hook_is_ready_at_once),
        TEST(test_a_handled_object_is_quiet_when_it_is_written_in_another_way),
        TEST(test_only_paths_of_changes_in_count),
        TEST(test_after_a_change_between_processes_any_path_may_differ),
        TEST(test_an_object_of_a_killed_run_is_delivered_again),
        TEST(test_an_object_that_returns_after_a_killed_end_is_modified_without_added),
        TEST(test_an_object_that_vanished_is_deleted_once),
        TEST(test_an_end_that_was_not_delivered_keeps_its_last_object),
        TEST(test_the_next_incarnation_comes_after_the_end_of_the_first),
        TEST(test_both_incarnations_of_a_batch_are_restored),
        TEST(test_skip_is_for_objects_of_the_first_process),
        TEST(test_skip_is_for_the_next_process_if_the_first_never_synced),
        TEST(test_a_parked_key_stays_parked_until_it_changes),
        TEST(test_a_parked_end_is_superseded_by_the_next_incarnation),
        TEST(test_renewal_runs_for_all_objects_and_for_ends),
        TEST(test_renewal_loses_no_change_for_a_hook_without_added),
        TEST(test_renewal_delivers_an_outage_again),
        TEST(test_renewal_is_not_for_skipped_objects),
        TEST(test_a_renewal_lasts_until_a_run_for_it_has_succeeded),
        TEST(test_a_renewal_outlives_a_parked_run),
        TEST(test_a_renewal_waits_for_the_source_that_has_objects),
        TEST(test_a_renewal_without_objects_is_over_at_once),
        TEST(test_a_snapshot_that_lacked_a_source_is_due),
        TEST(test_a_snapshot_runs_again_only_if_it_is_due),
        TEST(test_a_source_that_is_stale_no_more_is_fresh),
        TEST(test_objects_of_another_cluster_are_forgotten),
        TEST(test_a_source_of_another_cluster_becomes_fresh),
        TEST(test_all_is_put_again_when_the_disk_is_lost),
        TEST(test_skip_is_not_for_objects_with_a_delivery_record),
        TEST(test_a_third_delivery_record_of_a_key_is_not_believed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
