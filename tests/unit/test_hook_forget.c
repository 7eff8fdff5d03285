/* SPDX-License-Identifier: Apache-2.0 */
/* hooks_forget(): a source shows another cluster by now, and its earlier deliveries count for nothing. */
#include "hook_rig.h"

#include <errno.h>

static void forget(struct hook *h)
{
    watch_forget(hook_rig.watches[0]);
    hooks_forget(&hook_rig.hooks, h, 0);
}

static struct hook *add(enum hook_mode mode, size_t sources)
{
    return hook_rig_add(&(struct hook_rig_hook){.rules = {.mode = mode}, .sources = sources});
}

/* Waiting, failed, parked or running: no run for its end comes, nor any other run. */
static void test_no_event_of_a_forgotten_source_comes(void **state)
{
    static const enum hook_mode modes[] = {HOOK_OBJECT, HOOK_BATCH, HOOK_SNAPSHOT};

    (void)state;
    for (size_t m = 0; m < ARRAY_LEN(modes); m++) {
        assert_int_equal(hook_rig_clean_up(NULL), 0);
        assert_int_equal(hook_rig_set_up(NULL), 0);
        struct hook *h = add(modes[m], 1);

        hook_rig_sync(0);
        hook_rig_change(0, DELTA_ADDED, "ns/a", "u1", "\"a\":1");
        hook_rig_end(hook_rig_next(), 1);
        hook_rig_change(0, DELTA_ADDED, "ns/b", "u2", "\"a\":1");
        forget(h);
        assert_int_equal(hook_pending(h), 0);
        assert_true(h->gate == GATE_CLOSED);
        hook_rig.now += 3600000;
        hook_rig_nothing();
    }
}

static void test_a_run_under_way_counts_for_nothing(void **state)
{
    (void)state;
    for (int status = 0; status <= 1; status++) {
        assert_int_equal(hook_rig_clean_up(NULL), 0);
        assert_int_equal(hook_rig_set_up(NULL), 0);
        struct hook *h = add(HOOK_OBJECT, 1);

        hook_rig_sync(0);
        hook_rig_change(0, DELTA_ADDED, "ns/a", "u1", "\"a\":1");
        struct run *run = hook_rig_starts(DELTA_ADDED, "u1");
        forget(h);
        hook_rig_end(run, status);
        hook_rig.now += 3600000;
        hook_rig_nothing();
        assert_null(delivery_queue_find(&h->queue, 0, str_c("ns/a")));
    }
}

static void end_not_started(struct run *run)
{
    const struct run_result refused = {
        .end = run_end_refused(RUN_PROGRAM_COMMAND, RUN_STAGE_FORK, EAGAIN), .text = "fork"};

    hooks_finish(&hook_rig.hooks, run, &refused, hook_rig.now);
}

/* The phase of the run for an outage when the source is forgotten. */
enum step { WAITS, RUNS, NOT_STARTED, FAILED, STEPS };

/* The source is stale before the hook sees it, so the outage is there from the beginning; it is
 * over before the source is listed again. */
static void pass_an_outage(struct hook *h, enum step step)
{
    hook_rig_sync(0);
    hook_rig_stale(0, true);
    hook_pause(h, step == WAITS);
    struct run *run = hooks_next(&hook_rig.hooks, hook_rig.now);
    assert_int_equal(run == NULL, step == WAITS);
    if (step == FAILED)
        hook_rig_end(run, 1);
    forget(h);
    hook_rig_stale(0, false);
    if (step == RUNS)
        hook_rig_end(run, 0);
    if (step == NOT_STARTED)
        end_not_started(run);
    hook_pause(h, false);
    hook_rig_sync(0);
}

/* Starts all runs that are due now or later; each of them succeeds. Returns how many FRESH they had;
 * no other event may come. */
static size_t count_fresh(void)
{
    struct run *run;
    size_t n = 0;

    for (int i = 0; i < 100; i++) {
        hook_rig.now += 60000;
        if ((run = hooks_next(&hook_rig.hooks, hook_rig.now)) == NULL)
            continue;
        for (size_t k = 0; k < run->event_count; k++)
            assert_int_equal(run->events[k].ev.type, DELTA_FRESH);
        n += run->event_count;
        hook_rig_end(run, 0);
    }
    return n;
}

/* A run that started with STALE may have had effects, so its end is told once. */
static void test_the_end_of_an_outage_while_its_source_is_forgotten_comes_once(void **state)
{
    static const enum hook_mode modes[] = {HOOK_OBJECT, HOOK_BATCH, HOOK_SNAPSHOT};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(modes) * STEPS; i++) {
        enum step step = (enum step)(i % STEPS);

        assert_int_equal(hook_rig_clean_up(NULL), 0);
        assert_int_equal(hook_rig_set_up(NULL), 0);
        struct hook *h = add(modes[i / STEPS], 1);

        pass_an_outage(h, step);
        assert_int_equal(count_fresh(), step == RUNS || step == FAILED);
        assert_int_equal(hook_pending(h), 0);
        assert_true(hook_first_ended(h));
    }
}

/* The source is stale whichever cluster it shows. The run has failed, so the hook gets STALE again. */
static void test_an_outage_outlives_the_objects_of_its_source(void **state)
{
    static const enum hook_mode modes[] = {HOOK_OBJECT, HOOK_BATCH, HOOK_SNAPSHOT};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(modes); i++) {
        assert_int_equal(hook_rig_clean_up(NULL), 0);
        assert_int_equal(hook_rig_set_up(NULL), 0);
        struct hook *h = add(modes[i], 1);

        hook_rig_sync(0);
        hook_rig_stale(0, true);
        hook_rig_end(hook_rig_starts(DELTA_STALE, ""), 1);
        forget(h);
        assert_int_equal(hook_pending(h), 0);
        hook_rig.now += 60000;
        hook_rig_nothing();
        hook_rig_sync(0);
        hook_rig_pass(DELTA_STALE, "");
        hook_rig_nothing();
    }
}

/* Its event goes back to the delivery, which was forgotten meanwhile. */
static void test_a_run_that_did_not_start_brings_no_forgotten_end_back(void **state)
{
    static const enum hook_mode modes[] = {HOOK_OBJECT, HOOK_BATCH, HOOK_SNAPSHOT};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(modes); i++) {
        assert_int_equal(hook_rig_clean_up(NULL), 0);
        assert_int_equal(hook_rig_set_up(NULL), 0);
        struct hook *h = add(modes[i], 1);

        hook_rig_sync(0);
        hook_rig_change(0, DELTA_ADDED, "ns/a", "u1", "\"a\":1");
        hook_rig_end(hook_rig_next(), 0);
        hook_rig_change(0, DELTA_DELETED, "ns/a", "u1", "\"a\":1");
        hook_rig.now += 60000;
        struct run *run = hook_rig_next();
        assert_int_equal(run->event_count, 1);
        forget(h);
        end_not_started(run);
        hook_rig_sync(0);
        hook_rig.now += 60000;
        run = hooks_next(&hook_rig.hooks, hook_rig.now);
        assert_true(run == NULL || run->event_count == 0);
        if (run != NULL) /* mode snapshot shows the objects of the other cluster */
            hook_rig_end(run, 0);
        assert_null(delivery_queue_find(&h->queue, 0, str_c("ns/a")));
    }
}

/* An object of the other cluster under the same name is no other incarnation of the one before. */
static void test_the_other_clusters_objects_are_new_as_at_a_first_start(void **state)
{
    struct hook *h = add(HOOK_OBJECT, 1);

    (void)state;
    hook_rig_sync(0);
    hook_rig_change(0, DELTA_ADDED, "ns/a", "u1", "\"a\":1");
    hook_rig_pass(DELTA_ADDED, "u1");
    forget(h);
    hook_rig_change(0, DELTA_ADDED, "ns/a", "u9", "\"a\":1");
    hook_rig_nothing(); /* the source is not synced */
    hook_rig_sync(0);
    struct run *run = hook_rig_starts(DELTA_ADDED, "u9");
    assert_int_equal(run->reason, RUN_EXISTING);
    hook_rig_end(run, 0);
    hook_rig_nothing();
}

/* The run that could not be started was one of the first cluster's object. */
static void test_a_run_that_did_not_start_leaves_the_next_first_run(void **state)
{
    struct hook *h = add(HOOK_OBJECT, 1);

    (void)state;
    hook_rig_change(0, DELTA_ADDED, "ns/a", "u1", "\"a\":1");
    hook_rig_sync(0);
    struct run *run = hook_rig_starts_as(DELTA_ADDED, "u1", RUN_EXISTING, 1);
    forget(h);
    hook_rig_change(0, DELTA_ADDED, "ns/a", "u9", "\"a\":1");
    hook_rig_sync(0);
    hook_rig_nothing(); /* the run of the key is under way */
    end_not_started(run);
    assert_false(hook_first_ended(h));
    hook_rig.now += SCHEDULER_NOT_STARTED_MS;
    hook_rig_end(hook_rig_starts_as(DELTA_ADDED, "u9", RUN_EXISTING, 1), 0);
    assert_true(hook_first_ended(h));
}

/* A snapshot with only half of its sources has no run: the hook waits as it did at the start, for
 * all sources. */
static void test_a_hook_with_other_sources_waits_for_the_first_list_again(void **state)
{
    struct hook *h = add(HOOK_SNAPSHOT, 2);

    (void)state;
    hook_rig_sync(0);
    hook_rig_sync(1);
    hook_rig_change(0, DELTA_ADDED, "ns/a", "u1", "\"a\":1");
    hook_rig_change(1, DELTA_ADDED, "ns/b", "u2", "\"a\":1");
    hook_rig_end(hook_rig_next(), 0);
    forget(h);
    hook_rig_change(1, DELTA_MODIFIED, "ns/b", "u2", "\"a\":2");
    hook_rig.now += 3600000;
    hook_rig_nothing();
    hook_rig_sync(0);
    hook_rig_end(hook_rig_next(), 0);
    hook_rig_nothing();
}

/* An earlier failure is no first run of the objects that come: hooks behind this one wait for it. */
static void test_first_runs_begin_anew_after_a_failure(void **state)
{
    static const enum hook_mode modes[] = {HOOK_BATCH, HOOK_SNAPSHOT};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(modes) * 3; i++) {
        bool fails_first = i % 3 == 0;
        bool fails_later = i % 3 == 2; /* when the source is forgotten already */

        assert_int_equal(hook_rig_clean_up(NULL), 0);
        assert_int_equal(hook_rig_set_up(NULL), 0);
        struct hook *h = add(modes[i / 3], 1);

        hook_rig_change(0, DELTA_ADDED, "ns/a", "u1", NULL);
        hook_rig_sync(0);
        if (!fails_first)
            hook_rig_end(hook_rig_next(), 0);
        hook_rig_change(0, DELTA_MODIFIED, "ns/a", "u1", "\"a\":1");
        struct run *run = hook_rig_next();
        if (!fails_later)
            hook_rig_end(run, 1);
        assert_true(hook_first_ended(h));
        forget(h);
        if (fails_later)
            hook_rig_end(run, 1);
        hook_rig_change(0, DELTA_ADDED, "ns/a", "u2", NULL);
        hook_rig_sync(0);
        hook_rig.now += 3600000;
        run = hook_rig_next();
        assert_false(hook_first_ended(h));
        hook_rig_end(run, 0);
        assert_true(hook_first_ended(h));
    }
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, hook_rig_set_up, hook_rig_clean_up)
    const struct CMUnitTest tests[] = {
        TEST(test_no_event_of_a_forgotten_source_comes),
        TEST(test_a_run_under_way_counts_for_nothing),
        TEST(test_the_end_of_an_outage_while_its_source_is_forgotten_comes_once),
        TEST(test_an_outage_outlives_the_objects_of_its_source),
        TEST(test_a_run_that_did_not_start_brings_no_forgotten_end_back),
        TEST(test_the_other_clusters_objects_are_new_as_at_a_first_start),
        TEST(test_a_run_that_did_not_start_leaves_the_next_first_run),
        TEST(test_a_hook_with_other_sources_waits_for_the_first_list_again),
        TEST(test_first_runs_begin_anew_after_a_failure),
    };
#undef TEST

    return cmocka_run_group_tests(tests, NULL, NULL);
}
