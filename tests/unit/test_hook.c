/* SPDX-License-Identifier: Apache-2.0 */
#include "objects.h"

#include "hook/hook.h"

/* Two watches and the hooks that a test adds; runs are started and ended by hand. */

enum { ALL = 0x3f, INITIAL_MS = 1000 };

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

static struct hook *add(enum hook_mode mode, unsigned events, enum hook_existing existing,
                        size_t sources)
{
    const struct hook_source both[] = {
        {.name = "one", .of.watch = watches[0]},
        {.name = "two", .of.watch = watches[1]}
    };
    struct filter filter;

    assert_int_equal(filter_init(&filter, events, NULL, 0, NULL), ERR_OK);
    hooks_add(&hooks,
              &(struct hook_params){
                  .name = "h",
                  .index = hooks.n,
                  .rules = {.mode = mode,     .existing = existing                          },
                  .sources = both,
                  .source_count = sources,
                  .filter = filter,
                  .work_queue = {.concurrency = 8,
                            .retry = {.initial_ms = INITIAL_MS, .max_ms = 8000, .factor = 2}},
    });
    return hooks.v[hooks.n - 1];
}

static struct hook *add_object(unsigned events)
{
    return add(HOOK_OBJECT, events, HOOK_EXISTING_RUN, 1);
}

static void sync_watch(size_t i)
{
    objects_sync(watches[i], "", "1", (struct list_watch_now){now, now});
}

static void change(enum delta_type type, const char *key, const char *uid, const char *data)
{
    struct object *o = objects_make(key, uid, "1", data);

    hooks_delta(&hooks, (struct source){.watch = watches[0]},
                &(struct delta){.type = type, .object = o}, now);
    object_unref(&o);
}

static void assert_nothing(void)
{
    assert_null(hooks_next(&hooks, now));
}

static struct run *starts(enum delta_type type, const char *uid)
{
    struct run *run = hooks_next(&hooks, now);

    assert_non_null(run);
    assert_int_equal(run->event_count, 1);
    assert_int_equal(run->events[0].ev.type, type);
    assert_true(str_is(object_uid(run->events[0].ev.object), uid));
    return run;
}

static uint64_t end(struct run *run, bool ok)
{
    const struct run_result result = {.status = ok ? 0 : 3, .text = "exit 3"};

    return hooks_finish(&hooks, run, &result, now).retry_ms;
}

static void pass(enum delta_type type, const char *uid)
{
    assert_int_equal(end(starts(type, uid), true), NEVER_MS);
}

static void fail_once(enum delta_type type, const char *uid)
{
    uint64_t retry = end(starts(type, uid), false);

    if (retry != NEVER_MS)
        now += retry;
}

static void test_nothing_runs_before_all_sources_are_synced(void **state)
{
    (void)state;
    struct hook *h = add(HOOK_OBJECT, ALL, HOOK_EXISTING_RUN, 2);
    change(DELTA_ADDED, "ns/a", "u1", NULL);
    change(DELTA_ADDED, "ns/b", "u2", NULL);
    assert_nothing();
    sync_watch(0);
    assert_nothing();
    assert_int_equal(h->gate, GATE_CLOSED);
    assert_int_equal(hooks_wake_ms(&hooks), NEVER_MS);
    change(DELTA_DELETED, "ns/b", "u2", NULL); /* nobody was told of it */
    sync_watch(1);
    struct run *run = starts(DELTA_ADDED, "u1");
    assert_int_equal(run->reason, RUN_EXISTING);
    assert_int_equal(run->attempt, 1);
    assert_nothing();
    assert_false(hooks_ready(&hooks));
    end(run, false); /* ready means: ended, well or not */
    assert_true(hooks_ready(&hooks));
}

static void test_reasons_are_existing_change_and_retry(void **state)
{
    (void)state;
    add_object(ALL);
    change(DELTA_ADDED, "ns/a", "u1", "\"a\":1");
    sync_watch(0);
    struct run *run = starts(DELTA_ADDED, "u1");
    assert_int_equal(run->reason, RUN_EXISTING);
    assert_int_equal(end(run, false), INITIAL_MS);
    assert_nothing();
    now += INITIAL_MS;
    run = starts(DELTA_ADDED, "u1");
    assert_int_equal(run->reason, RUN_RETRY);
    assert_int_equal(run->attempt, 2);
    assert_int_equal(end(run, true), NEVER_MS);
    change(DELTA_MODIFIED, "ns/a", "u1", "\"a\":2");
    run = starts(DELTA_MODIFIED, "u1");
    assert_int_equal(run->reason, RUN_CHANGE);
    assert_int_equal(run->attempt, 1);
    end(run, true);
}

static void test_an_empty_snapshot_runs_once(void **state)
{
    (void)state;
    struct hook *h = add(HOOK_SNAPSHOT, ALL, HOOK_EXISTING_RUN, 1);
    assert_nothing();
    sync_watch(0);
    struct run *run = hooks_next(&hooks, now);
    assert_non_null(run);
    assert_int_equal(run->event_count, 0);
    assert_int_equal(run->reason, RUN_EXISTING);
    assert_false(hooks_ready(&hooks));
    assert_int_equal(end(run, false), INITIAL_MS);
    assert_true(hooks_ready(&hooks));
    assert_int_equal(h->gate, GATE_FIRST); /* and it is still owed */
    change(DELTA_ADDED, "ns/a", "u1", NULL);
    change(DELTA_DELETED, "ns/a", "u1", NULL);
    now += INITIAL_MS;
    run = hooks_next(&hooks, now);
    assert_non_null(run);
    assert_int_equal(run->reason, RUN_RETRY);
    end(run, true);
    assert_int_equal(h->gate, GATE_OPEN);
    assert_nothing();
    assert_int_equal(hooks_wake_ms(&hooks), NEVER_MS);
}

static void test_existing_objects_are_skipped_when_asked(void **state)
{
    (void)state;
    add(HOOK_OBJECT, ALL, HOOK_EXISTING_SKIP, 1);
    add(HOOK_SNAPSHOT, ALL, HOOK_EXISTING_SKIP, 1);
    change(DELTA_ADDED, "ns/a", "u1", "\"a\":1");
    sync_watch(0);
    assert_nothing();
    assert_true(hooks_ready(&hooks));
    change(DELTA_MODIFIED, "ns/a", "u1", "\"a\":1");
    assert_nothing(); /* counts as handled */
    change(DELTA_DELETED, "ns/a", "u1", "\"a\":1");
    pass(DELTA_DELETED, "u1"); /* and as announced */
    pass(DELTA_DELETED, "u1");
    assert_nothing();
}

static void test_a_hook_for_deletes_hears_of_what_existed(void **state)
{
    (void)state;
    struct hook *h = add_object(1U << DELTA_DELETED);
    change(DELTA_ADDED, "ns/a", "u1", NULL);
    change(DELTA_ADDED, "ns/gone", "u9", NULL);
    change(DELTA_DELETED, "ns/gone", "u9", NULL);
    sync_watch(0);
    assert_nothing();
    assert_int_equal(h->gate, GATE_OPEN);
    change(DELTA_DELETED, "ns/a", "u1", NULL);
    pass(DELTA_DELETED, "u1");
    assert_nothing();
}

static void open_with(const char *uid)
{
    change(DELTA_ADDED, "ns/a", uid, NULL);
    sync_watch(0);
    pass(DELTA_ADDED, uid);
}

static void test_a_delete_that_failed_five_times_gives_way(void **state)
{
    (void)state;
    add_object(ALL);
    open_with("u1");
    change(DELTA_DELETED, "ns/a", "u1", NULL);
    change(DELTA_ADDED, "ns/a", "u2", NULL);
    for (int i = 0; i < 5; i++)
        fail_once(DELTA_DELETED, "u1");
    struct run *run = starts(DELTA_ADDED, "u2");
    assert_int_equal(run->reason, RUN_CHANGE);
    assert_int_equal(run->attempt, 1);
    end(run, true);
    assert_nothing();
}

static void test_a_left_that_failed_five_times_gives_way(void **state)
{
    (void)state;
    add_object(ALL);
    open_with("u1");
    change(DELTA_LEFT, "ns/a", "u1", NULL);
    change(DELTA_ADDED, "ns/a", "u2", NULL);
    for (int i = 0; i < 5; i++)
        fail_once(DELTA_LEFT, "u1");
    pass(DELTA_ADDED, "u2");
    assert_nothing();
}

static void test_a_delete_goes_on_failing_until_there_is_a_next_life(void **state)
{
    (void)state;
    add_object(ALL);
    open_with("u1");
    change(DELTA_DELETED, "ns/a", "u1", NULL);
    for (int i = 0; i < 7; i++)
        fail_once(DELTA_DELETED, "u1");
    now -= 100; /* in the middle of its wait */
    assert_nothing();
    change(DELTA_ADDED, "ns/a", "u2", NULL);
    pass(DELTA_ADDED, "u2");
    assert_nothing();
}

/* The failures were those of another matter. */
static void test_a_delete_behind_failed_changes_has_tries_of_its_own(void **state)
{
    (void)state;
    add_object(ALL);
    open_with("u1");
    change(DELTA_MODIFIED, "ns/a", "u1", "\"a\":2");
    for (int i = 0; i < 6; i++)
        fail_once(DELTA_MODIFIED, "u1");
    change(DELTA_DELETED, "ns/a", "u1", NULL);
    change(DELTA_ADDED, "ns/a", "u2", NULL);
    struct run *run = starts(DELTA_DELETED, "u1");
    assert_int_equal(run->attempt, 1);
    assert_int_equal(end(run, false), INITIAL_MS);
}

static void test_the_end_of_a_life_does_not_wait_for_its_backoff(void **state)
{
    (void)state;
    add_object(ALL);
    open_with("u1");
    change(DELTA_MODIFIED, "ns/a", "u1", "\"a\":2");
    for (int i = 0; i < 3; i++)
        fail_once(DELTA_MODIFIED, "u1");
    struct run *run = starts(DELTA_MODIFIED, "u1");
    change(DELTA_DELETED, "ns/a", "u1", NULL);
    assert_int_equal(end(run, false), NEVER_MS); /* not for that reason */
    pass(DELTA_DELETED, "u1");
}

static void test_a_change_brings_the_next_try_forward(void **state)
{
    (void)state;
    add_object(ALL);
    open_with("u1");
    change(DELTA_MODIFIED, "ns/a", "u1", "\"a\":2");
    for (int i = 0; i < 3; i++)
        fail_once(DELTA_MODIFIED, "u1");
    assert_int_equal(end(starts(DELTA_MODIFIED, "u1"), false), 8000);
    now += 100;
    change(DELTA_MODIFIED, "ns/a", "u1", "\"a\":3");
    assert_nothing();
    assert_int_equal(hooks_wake_ms(&hooks), now - 100 + INITIAL_MS);
    now += INITIAL_MS - 100;
    struct run *run = starts(DELTA_MODIFIED, "u1");
    assert_int_equal(run->attempt, 5); /* only success resets the ladder */
    end(run, true);
}

/* The last existing key goes away between the end of one run and the start of the next. */
static void test_a_hook_is_ready_when_its_last_existing_key_vanished(void **state)
{
    (void)state;
    struct hook *h = add_object(ALL);
    h->work_queue.params.concurrency = 1;
    change(DELTA_ADDED, "ns/a", "u1", NULL);
    change(DELTA_ADDED, "ns/b", "u2", NULL);
    sync_watch(0);
    pass(DELTA_ADDED, "u1");
    assert_false(hooks_ready(&hooks));
    change(DELTA_DELETED, "ns/b", "u2", NULL);
    assert_true(hooks_ready(&hooks));
    assert_nothing();
}

static void test_one_key_never_runs_twice_at_a_time(void **state)
{
    (void)state;
    add_object(ALL);
    open_with("u1");
    change(DELTA_MODIFIED, "ns/a", "u1", "\"a\":2");
    struct run *run = starts(DELTA_MODIFIED, "u1");
    change(DELTA_MODIFIED, "ns/a", "u1", "\"a\":3");
    change(DELTA_ADDED, "ns/b", "u2", NULL);
    struct run *other = starts(DELTA_ADDED, "u2");
    assert_nothing();
    end(run, true);
    pass(DELTA_MODIFIED, "u1");
    end(other, true);
    assert_nothing();
}

static void test_a_hanging_hook_leaves_the_others_their_slot(void **state)
{
    char key[] = "ns/0";

    (void)state;
    add_object(ALL);
    struct hook *other = add_object(ALL);
    sync_watch(0);
    for (; key[3] < '8'; key[3]++)
        change(DELTA_ADDED, key, "u", NULL);
    size_t others = 0;
    for (struct run *run; (run = hooks_next(&hooks, now)) != NULL;)
        others += run->hook == other;
    assert_int_equal(hooks.v[0]->work_queue.running + other->work_queue.running,
                     4); /* 2 own, 2 shared */
    assert_true(others >= 1);
}

static void test_a_failed_snapshot_tells_both_lives_again(void **state)
{
    (void)state;
    add(HOOK_SNAPSHOT, ALL, HOOK_EXISTING_RUN, 1);
    change(DELTA_ADDED, "ns/a", "u1", NULL);
    sync_watch(0);
    end(starts(DELTA_ADDED, "u1"), true);
    change(DELTA_DELETED, "ns/a", "u1", NULL);
    change(DELTA_ADDED, "ns/a", "u2", NULL);
    for (int i = 0; i < 3; i++) {
        struct run *run = hooks_next(&hooks, now);

        assert_non_null(run);
        assert_int_equal(run->event_count, 2);
        assert_int_equal(run->events[0].ev.type, DELTA_DELETED);
        assert_int_equal(run->events[1].ev.type, DELTA_ADDED);
        uint64_t retry = end(run, i == 2);
        now += i < 2 ? retry : 0;
    }
    assert_nothing();
    change(DELTA_DELETED, "ns/a", "u2", NULL);
    end(starts(DELTA_DELETED, "u2"), true);
    assert_nothing();
}

static void test_pending_counts_what_waits(void **state)
{
    (void)state;
    struct hook *h = add_object(ALL & ~(1U << DELTA_DELETED));
    h->work_queue.params.concurrency = 1;
    sync_watch(0);
    assert_nothing();
    assert_int_equal(hook_oldest_pending_ms(h, now), 0);
    change(DELTA_ADDED, "ns/a", "u1", NULL);
    now += 5;
    change(DELTA_ADDED, "ns/b", "u2", NULL);
    assert_int_equal(hook_pending(h), 2);
    struct run *run = starts(DELTA_ADDED, "u1");
    now += 10;
    assert_int_equal(hook_pending(h), 1);
    assert_int_equal(hook_oldest_pending_ms(h, now), 15); /* it runs, but it is not handled */
    change(DELTA_DELETED, "ns/a", "u1", NULL);            /* not asked for */
    assert_int_equal(hook_pending(h), 1);
    assert_int_equal(hook_oldest_pending_ms(h, now), 10);
    end(run, true);
    pass(DELTA_ADDED, "u2");
    assert_int_equal(hook_pending(h), 0);
}

static void test_results_are_kept_for_people(void **state)
{
    (void)state;
    struct hook *h = add_object(ALL);
    change(DELTA_ADDED, "ns/a", "u1", NULL);
    sync_watch(0);
    fail_once(DELTA_ADDED, "u1");
    assert_string_equal(h->last_error, "exit 3");
    assert_int_equal(h->runs_failed, 1);
    assert_int_equal(h->success_ms, 0);
    pass(DELTA_ADDED, "u1");
    assert_string_equal(h->last_error, "");
    assert_int_equal(h->runs_ok, 1);
    assert_int_equal(h->success_ms, now);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, clean_up)
    const struct CMUnitTest tests[] = {
        TEST(test_nothing_runs_before_all_sources_are_synced),
        TEST(test_reasons_are_existing_change_and_retry),
        TEST(test_an_empty_snapshot_runs_once),
        TEST(test_existing_objects_are_skipped_when_asked),
        TEST(test_a_hook_for_deletes_hears_of_what_existed),
        TEST(test_a_delete_that_failed_five_times_gives_way),
        TEST(test_a_left_that_failed_five_times_gives_way),
        TEST(test_a_delete_goes_on_failing_until_there_is_a_next_life),
        TEST(test_a_delete_behind_failed_changes_has_tries_of_its_own),
        TEST(test_the_end_of_a_life_does_not_wait_for_its_backoff),
        TEST(test_a_change_brings_the_next_try_forward),
        TEST(test_a_hook_is_ready_when_its_last_existing_key_vanished),
        TEST(test_one_key_never_runs_twice_at_a_time),
        TEST(test_a_hanging_hook_leaves_the_others_their_slot),
        TEST(test_a_failed_snapshot_tells_both_lives_again),
        TEST(test_pending_counts_what_waits),
        TEST(test_results_are_kept_for_people),
    };
#undef TEST

    return cmocka_run_group_tests(tests, NULL, NULL);
}
