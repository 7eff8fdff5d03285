/* SPDX-License-Identifier: Apache-2.0 */
#include "hook_rig.h"

/* Hooks that take outages: the events of whole sources. Each hook has two sources. */

enum {
    ALL = HOOK_RIG_ALL,
    OUTAGES = 1U << DELTA_STALE | 1U << DELTA_FRESH,
    INITIAL_MS = HOOK_RIG_INITIAL_MS
};

static struct hook *add_with(enum hook_mode mode, unsigned events, enum hook_existing existing)
{
    return hook_rig_add(&(struct hook_rig_hook){
        .rules = {.mode = mode, .existing = existing},
          .events = events, .sources = 2
    });
}

static struct hook *add(enum hook_mode mode, unsigned events)
{
    return add_with(mode, events, HOOK_EXISTING_RUN);
}

static void sync_all(void)
{
    hook_rig_sync(0);
    hook_rig_sync(1);
}

static void assert_event(const struct run *run, size_t i, enum delta_type type, size_t source)
{
    const struct run_event *e = &run->events[i];

    assert_int_equal(e->ev.type, type);
    assert_int_equal(e->delivery->source, source);
    assert_string_equal(e->delivery->key, "");
    assert_int_equal(e->ev.cause, CAUSE_WATCH);
    assert_int_equal(e->ev.received_ns, 77);
    assert_false(e->ev.final_state_unknown);
}

static struct run *starts(enum delta_type type, size_t source)
{
    struct run *run = hook_rig_next();

    assert_int_equal(run->event_count, 1);
    assert_event(run, 0, type, source);
    return run;
}

/* The run ends, and its next try is so many ms away. */
static uint64_t end(struct run *run, bool ok)
{
    return hook_rig_end(run, ok ? 0 : 3).retry_ms;
}

static void pass(enum delta_type type, size_t source)
{
    assert_int_equal(end(starts(type, source), true), NEVER_MS);
}

static void test_stale_and_fresh_are_runs_of_their_source(void **state)
{
    (void)state;
    struct hook *h = add(HOOK_OBJECT, ALL);
    add(HOOK_OBJECT, 0xf); /* this one does not take outages */
    sync_all();
    hook_rig_nothing();
    hook_rig_stale(1, true);
    assert_int_equal(hook_pending(h), 1);
    pass(DELTA_STALE, 1);
    hook_rig_nothing();
    assert_int_equal(map_count(&h->queue.sources[1].by_key), 1);
    assert_int_equal(map_count(&hook_rig.hooks.v[1]->queue.sources[1].by_key), 0);
    hook_rig_stale(1, false);
    struct run *run = starts(DELTA_FRESH, 1);
    assert_int_equal(run->reason, RUN_CHANGE);
    assert_int_equal(end(run, true), NEVER_MS);
    hook_rig_nothing();
    assert_int_equal(map_count(&h->queue.sources[1].by_key), 0);
}

static void test_each_source_has_its_own_outage(void **state)
{
    (void)state;
    add(HOOK_OBJECT, OUTAGES);
    sync_all();
    hook_rig_stale(0, true);
    hook_rig_stale(1, true);
    struct run *one = starts(DELTA_STALE, 0);
    struct run *two = starts(DELTA_STALE, 1);
    hook_rig_stale(0, false);
    hook_rig_nothing(); /* never two runs at once for one source */
    end(one, true);
    pass(DELTA_FRESH, 0);
    end(two, true);
    hook_rig_nothing();
}

static void test_an_outage_that_was_never_delivered_cancels_out(void **state)
{
    (void)state;
    struct hook *h = add(HOOK_OBJECT, OUTAGES);
    h->work_queue.params.settle_ms = 100;
    h->work_queue.params.settle_max_ms = 1000;
    sync_all();
    hook_rig_nothing();
    hook_rig_stale(0, true);
    hook_rig.now += 50;
    hook_rig_stale(0, false);
    assert_int_equal(hooks_wake_ms(&hook_rig.hooks), NEVER_MS);
    hook_rig.now += 1000;
    hook_rig_nothing();
    assert_int_equal(hook_pending(h), 0);
}

static void test_a_failed_stale_is_tried_again_as_long_as_it_is_true(void **state)
{
    (void)state;
    add(HOOK_OBJECT, OUTAGES);
    sync_all();
    hook_rig_stale(0, true);
    assert_int_equal(end(starts(DELTA_STALE, 0), false), INITIAL_MS);
    hook_rig_nothing();
    hook_rig.now += INITIAL_MS;
    struct run *run = starts(DELTA_STALE, 0);
    assert_int_equal(run->reason, RUN_RETRY);
    assert_int_equal(run->attempt, 2);
    hook_rig_stale(0, false);
    assert_int_equal(end(run, false), NEVER_MS); /* the retry is for another event now */
    assert_int_equal(end(starts(DELTA_FRESH, 0), false), INITIAL_MS);
    hook_rig.now += INITIAL_MS;
    pass(DELTA_FRESH, 0);
    hook_rig_nothing();
}

/* However often FRESH has failed, it is not superseded: no other event says that the outage is
 * over. */
static void test_fresh_is_never_superseded(void **state)
{
    (void)state;
    add(HOOK_OBJECT, ALL);
    sync_all();
    hook_rig_stale(0, true);
    pass(DELTA_STALE, 0);
    hook_rig_stale(0, false);
    for (int i = 0; i < 8; i++)
        hook_rig.now += end(starts(DELTA_FRESH, 0), false);
    hook_rig_stale(0, true);
    pass(DELTA_STALE, 0);
    hook_rig_stale(0, false);
    pass(DELTA_FRESH, 0);
    hook_rig_nothing();
}

/* The next outage counts as handled at once: nothing is left that could be superseded. */
static void test_a_failed_fresh_is_forgotten_when_the_source_is_stale_again(void **state)
{
    (void)state;
    struct hook *h = add(HOOK_OBJECT, ALL & ~(1U << DELTA_STALE));
    sync_all();
    hook_rig_stale(0, true);
    hook_rig_nothing();
    hook_rig_stale(0, false);
    for (int i = 0; i < 8; i++)
        hook_rig.now += end(starts(DELTA_FRESH, 0), false);
    hook_rig_stale(0, true);
    assert_true(delivery_is_legal(&h->queue, delivery_queue_find(&h->queue, 0, str_c(""))));
    hook_rig_waits_until(NEVER_MS);
    hook_rig_stale(0, false);
    pass(DELTA_FRESH, 0);
    hook_rig_nothing();
}

static void check_gate(enum hook_existing existing)
{
    struct hook *h = add_with(HOOK_OBJECT, ALL, existing);

    hook_rig_sync(0);
    hook_rig_stale(0, true);
    hook_rig_stale(0, false);
    hook_rig_nothing();
    hook_rig_stale(0, true);
    hook_rig_nothing();
    assert_int_equal(h->gate, GATE_CLOSED);
    hook_rig_sync(1);
    struct run *run = starts(DELTA_STALE, 0);
    assert_int_equal(run->reason, RUN_EXISTING);
    end(run, true);
    assert_true(hooks_ready(&hook_rig.hooks));
    hook_rig_nothing();
    hook_rig_stale(0, false);
    pass(DELTA_FRESH, 0);
}

static void test_a_source_that_is_stale_when_the_gate_opens_is_delivered_once(void **state)
{
    (void)state;
    check_gate(HOOK_EXISTING_RUN);
}

/* The objects are skipped, but the outage is news. */
static void test_skipping_what_exists_does_not_skip_stale(void **state)
{
    (void)state;
    check_gate(HOOK_EXISTING_SKIP);
}

static void test_a_snapshot_hook_that_skips_runs_for_stale(void **state)
{
    (void)state;
    add_with(HOOK_SNAPSHOT, ALL, HOOK_EXISTING_SKIP);
    hook_rig_stale(0, true);
    sync_all();
    pass(DELTA_STALE, 0);
    hook_rig_nothing();
}

static void test_in_mode_snapshot_outages_are_among_the_changes(void **state)
{
    (void)state;
    struct hook *h = add(HOOK_SNAPSHOT, ALL);
    sync_all();
    end(hook_rig_next(), true);
    hook_rig_change(0, DELTA_ADDED, "ns/a", "u1", NULL);
    hook_rig_stale(0, true);
    struct run *run = hook_rig_next();
    assert_int_equal(run->event_count, 2);
    assert_int_equal(run->events[0].ev.type, DELTA_ADDED);
    assert_event(run, 1, DELTA_STALE, 0);
    hook_rig_stale(0, false);
    hook_rig.now += end(run, false);
    run = hook_rig_next();
    assert_int_equal(run->event_count, 2);
    assert_event(run, 1, DELTA_FRESH, 0);
    end(run, true);
    hook_rig_nothing();
    assert_int_equal(hook_pending(h), 0);
}

/* Two names of the configuration for one watch. */
static void test_a_watch_may_be_several_sources(void **state)
{
    const struct hook_source both[] = {
        {.name = "one", .of.watch = hook_rig.watches[0]},
        {.name = "two", .of.watch = hook_rig.watches[0]}
    };
    (void)state;
    struct hook *h = hook_rig_add(
        &(struct hook_rig_hook){.rules = {.mode = HOOK_SNAPSHOT}, .sources = 2, .of = both});
    assert_string_equal(h->sources[0].name, "one");
    assert_string_equal(h->sources[1].name, "two");
    assert_ptr_not_equal(h->sources[1].name, both[1].name);
    hook_rig_sync(0);
    end(hook_rig_next(), true);
    hook_rig_change(0, DELTA_ADDED, "ns/a", "u1", NULL);
    hook_rig_stale(0, true);
    struct run *run = hook_rig_next();
    assert_int_equal(run->event_count, 4);
    assert_int_equal(run->events[0].delivery->source, 0);
    assert_int_equal(run->events[1].delivery->source, 1);
    assert_event(run, 2, DELTA_STALE, 0);
    assert_event(run, 3, DELTA_STALE, 1);
    end(run, true);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, hook_rig_set_up, hook_rig_clean_up)
    const struct CMUnitTest tests[] = {
        TEST(test_stale_and_fresh_are_runs_of_their_source),
        TEST(test_each_source_has_its_own_outage),
        TEST(test_an_outage_that_was_never_delivered_cancels_out),
        TEST(test_a_failed_stale_is_tried_again_as_long_as_it_is_true),
        TEST(test_fresh_is_never_superseded),
        TEST(test_a_failed_fresh_is_forgotten_when_the_source_is_stale_again),
        TEST(test_a_source_that_is_stale_when_the_gate_opens_is_delivered_once),
        TEST(test_skipping_what_exists_does_not_skip_stale),
        TEST(test_a_snapshot_hook_that_skips_runs_for_stale),
        TEST(test_in_mode_snapshot_outages_are_among_the_changes),
        TEST(test_a_watch_may_be_several_sources),
    };
#undef TEST

    return cmocka_run_group_tests(tests, NULL, NULL);
}
