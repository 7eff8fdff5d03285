/* SPDX-License-Identifier: Apache-2.0 */
#include "objects.h"

#include "hook/hook.h"

/* Hooks that hear of outages: the events of whole sources. */

enum { ALL = 0x3f, OUTAGES = 1U << DELTA_STALE | 1U << DELTA_FRESH, INITIAL_MS = 1000 };

static struct hooks hooks;
static struct watch *watches[2];
static uint64_t now;

static void ignore(void *arg, struct watch *w, const struct delta *d)
{
    (void)arg, (void)w, (void)d;
}

static const struct watch_events watch_events = {.on_delta = ignore};

static int set_up(void **state)
{
    (void)state;
    now = 100000;
    hooks_init(&hooks, 2, 1);
    watches[0] = objects_watch("w0", &watch_events, NULL);
    watches[1] = objects_watch("w1", &watch_events, NULL);
    return 0;
}

static int clean_up(void **state)
{
    (void)state;
    hooks_fini(&hooks);
    watch_destroy(&watches[0]);
    watch_destroy(&watches[1]);
    return 0;
}

static struct hook *add_with(enum hook_mode mode, unsigned events, enum hook_existing existing,
                             const struct hook_source *sources)
{
    struct hook_params p = {
        .name = "h",
        .index = hooks.n,
        .rules = {.mode = mode,     .existing = existing                          },
        .sources = sources,
        .source_count = 2,
        .work_queue = {.concurrency = 8,
                  .retry = {.initial_ms = INITIAL_MS, .max_ms = 8000, .factor = 2}}
    };

    assert_int_equal(filter_init(&p.filter, events, NULL, 0, NULL), ERR_OK);
    hooks_add(&hooks, &p);
    return hooks.v[hooks.n - 1];
}

static struct hook *add(enum hook_mode mode, unsigned events)
{
    const struct hook_source both[] = {
        {.name = "one", .of.watch = watches[0]},
        {.name = "two", .of.watch = watches[1]}
    };

    return add_with(mode, events, HOOK_EXISTING_RUN, both);
}

static void sync_all(void)
{
    objects_sync(watches[0], "", "1", (struct list_watch_now){now, now});
    objects_sync(watches[1], "", "1", (struct list_watch_now){now, now});
}

static void stale(size_t watch, bool is)
{
    hooks_stale(&hooks, (struct source){.watch = watches[watch]}, is, 77, now);
}

static void assert_nothing(void)
{
    assert_null(hooks_next(&hooks, now));
}

static void assert_event(const struct run *run, size_t i, enum delta_type type, size_t source)
{
    const struct run_event *e = &run->events[i];

    assert_int_equal(e->ev.type, type);
    assert_int_equal(e->entry->source, source);
    assert_string_equal(e->entry->key, "");
    assert_int_equal(e->ev.cause, CAUSE_WATCH);
    assert_int_equal(e->ev.received_ns, 77);
    assert_false(e->ev.final_state_unknown);
}

static struct run *starts(enum delta_type type, size_t source)
{
    struct run *run = hooks_next(&hooks, now);

    assert_non_null(run);
    assert_int_equal(run->event_count, 1);
    assert_event(run, 0, type, source);
    return run;
}

static uint64_t end(struct run *run, bool ok)
{
    const struct run_result result = {.status = ok ? 0 : 3, .text = "exit 3"};

    return hooks_finish(&hooks, run, &result, now).retry_ms;
}

static void pass(enum delta_type type, size_t source)
{
    assert_int_equal(end(starts(type, source), true), NEVER_MS);
}

static void test_stale_and_fresh_are_runs_of_their_source(void **state)
{
    (void)state;
    struct hook *h = add(HOOK_OBJECT, ALL);
    add(HOOK_OBJECT, 0xf); /* hears of nothing */
    sync_all();
    assert_nothing();
    stale(1, true);
    assert_int_equal(hook_pending(h), 1);
    pass(DELTA_STALE, 1);
    assert_nothing();
    assert_int_equal(map_count(&h->queue.sources[1].by_key), 1);
    assert_int_equal(map_count(&hooks.v[1]->queue.sources[1].by_key), 0);
    stale(1, false);
    struct run *run = starts(DELTA_FRESH, 1);
    assert_int_equal(run->reason, RUN_CHANGE);
    assert_int_equal(end(run, true), NEVER_MS);
    assert_nothing();
    assert_int_equal(map_count(&h->queue.sources[1].by_key), 0);
}

static void test_each_source_has_its_own_outage(void **state)
{
    (void)state;
    add(HOOK_OBJECT, OUTAGES);
    sync_all();
    stale(0, true);
    stale(1, true);
    struct run *one = starts(DELTA_STALE, 0);
    struct run *two = starts(DELTA_STALE, 1);
    stale(0, false);
    assert_nothing(); /* never two runs at once for one source */
    end(one, true);
    pass(DELTA_FRESH, 0);
    end(two, true);
    assert_nothing();
}

static void test_an_outage_that_nobody_heard_of_cancels_out(void **state)
{
    (void)state;
    struct hook *h = add(HOOK_OBJECT, OUTAGES);
    h->work_queue.params.settle_ms = 100;
    h->work_queue.params.settle_max_ms = 1000;
    sync_all();
    assert_nothing();
    stale(0, true);
    now += 50;
    stale(0, false);
    assert_int_equal(hooks_wake_ms(&hooks), NEVER_MS);
    now += 1000;
    assert_nothing();
    assert_int_equal(hook_pending(h), 0);
}

static void test_a_failed_stale_is_tried_again_as_long_as_it_is_true(void **state)
{
    (void)state;
    add(HOOK_OBJECT, OUTAGES);
    sync_all();
    stale(0, true);
    assert_int_equal(end(starts(DELTA_STALE, 0), false), INITIAL_MS);
    assert_nothing();
    now += INITIAL_MS;
    struct run *run = starts(DELTA_STALE, 0);
    assert_int_equal(run->reason, RUN_RETRY);
    assert_int_equal(run->attempt, 2);
    stale(0, false);
    assert_int_equal(end(run, false), NEVER_MS); /* it is another matter now */
    assert_int_equal(end(starts(DELTA_FRESH, 0), false), INITIAL_MS);
    now += INITIAL_MS;
    pass(DELTA_FRESH, 0);
    assert_nothing();
}

/* However often FRESH has failed: nothing else tells the hook that the outage is over. */
static void test_fresh_never_gives_way(void **state)
{
    (void)state;
    add(HOOK_OBJECT, ALL);
    sync_all();
    stale(0, true);
    pass(DELTA_STALE, 0);
    stale(0, false);
    for (int i = 0; i < 8; i++)
        now += end(starts(DELTA_FRESH, 0), false);
    stale(0, true);
    pass(DELTA_STALE, 0);
    stale(0, false);
    pass(DELTA_FRESH, 0);
    assert_nothing();
}

static void check_gate(enum hook_existing existing)
{
    const struct hook_source both[] = {
        {.name = "one", .of.watch = watches[0]},
        {.name = "two", .of.watch = watches[1]}
    };
    struct hook *h = add_with(HOOK_OBJECT, ALL, existing, both);

    objects_sync(watches[0], "", "1", (struct list_watch_now){now, now});
    stale(0, true);
    stale(0, false);
    assert_nothing();
    stale(0, true);
    assert_nothing();
    assert_int_equal(h->gate, GATE_CLOSED);
    objects_sync(watches[1], "", "1", (struct list_watch_now){now, now});
    struct run *run = starts(DELTA_STALE, 0);
    assert_int_equal(run->reason, RUN_EXISTING);
    end(run, true);
    assert_true(hooks_ready(&hooks));
    assert_nothing();
    stale(0, false);
    pass(DELTA_FRESH, 0);
}

static void test_a_source_that_is_stale_when_the_gate_opens_is_told_once(void **state)
{
    (void)state;
    check_gate(HOOK_EXISTING_RUN);
}

/* The objects are skipped; that they are not up to date is news. */
static void test_skipping_what_exists_does_not_skip_stale(void **state)
{
    (void)state;
    check_gate(HOOK_EXISTING_SKIP);
}

static void test_a_snapshot_hook_that_skips_runs_for_stale(void **state)
{
    const struct hook_source both[] = {
        {.name = "one", .of.watch = watches[0]},
        {.name = "two", .of.watch = watches[1]}
    };

    (void)state;
    add_with(HOOK_SNAPSHOT, ALL, HOOK_EXISTING_SKIP, both);
    stale(0, true);
    sync_all();
    pass(DELTA_STALE, 0);
    assert_nothing();
}

static void test_in_mode_snapshot_outages_are_among_the_changes(void **state)
{
    struct object *o = objects_make("ns/a", "u1", "1", NULL);

    (void)state;
    struct hook *h = add(HOOK_SNAPSHOT, ALL);
    sync_all();
    end(hooks_next(&hooks, now), true);
    hooks_delta(&hooks, (struct source){.watch = watches[0]},
                &(struct delta){.type = DELTA_ADDED, .object = o}, now);
    stale(0, true);
    struct run *run = hooks_next(&hooks, now);
    assert_non_null(run);
    assert_int_equal(run->event_count, 2);
    assert_int_equal(run->events[0].ev.type, DELTA_ADDED);
    assert_event(run, 1, DELTA_STALE, 0);
    stale(0, false);
    now += end(run, false);
    run = hooks_next(&hooks, now);
    assert_non_null(run);
    assert_int_equal(run->event_count, 2);
    assert_event(run, 1, DELTA_FRESH, 0);
    end(run, true);
    assert_nothing();
    assert_int_equal(hook_pending(h), 0);
    object_unref(&o);
}

/* Two names of the configuration for one watch. */
static void test_a_watch_may_be_several_sources(void **state)
{
    const struct hook_source both[] = {
        {.name = "one", .of.watch = watches[0]},
        {.name = "two", .of.watch = watches[0]}
    };
    struct object *o = objects_make("ns/a", "u1", "1", NULL);

    (void)state;
    struct hook *h = add_with(HOOK_SNAPSHOT, ALL, HOOK_EXISTING_RUN, both);
    assert_string_equal(h->sources[0].name, "one");
    assert_string_equal(h->sources[1].name, "two");
    assert_ptr_not_equal(h->sources[1].name, both[1].name);
    objects_sync(watches[0], "", "1", (struct list_watch_now){now, now});
    end(hooks_next(&hooks, now), true);
    hooks_delta(&hooks, (struct source){.watch = watches[0]},
                &(struct delta){.type = DELTA_ADDED, .object = o}, now);
    stale(0, true);
    struct run *run = hooks_next(&hooks, now);
    assert_non_null(run);
    assert_int_equal(run->event_count, 4);
    assert_int_equal(run->events[0].entry->source, 0);
    assert_int_equal(run->events[1].entry->source, 1);
    assert_event(run, 2, DELTA_STALE, 0);
    assert_event(run, 3, DELTA_STALE, 1);
    end(run, true);
    object_unref(&o);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, clean_up)
    const struct CMUnitTest tests[] = {
        TEST(test_stale_and_fresh_are_runs_of_their_source),
        TEST(test_each_source_has_its_own_outage),
        TEST(test_an_outage_that_nobody_heard_of_cancels_out),
        TEST(test_a_failed_stale_is_tried_again_as_long_as_it_is_true),
        TEST(test_fresh_never_gives_way),
        TEST(test_a_source_that_is_stale_when_the_gate_opens_is_told_once),
        TEST(test_skipping_what_exists_does_not_skip_stale),
        TEST(test_a_snapshot_hook_that_skips_runs_for_stale),
        TEST(test_in_mode_snapshot_outages_are_among_the_changes),
        TEST(test_a_watch_may_be_several_sources),
    };
#undef TEST

    return cmocka_run_group_tests(tests, NULL, NULL);
}
