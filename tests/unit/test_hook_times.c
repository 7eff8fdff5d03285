/* SPDX-License-Identifier: Apache-2.0 */
/* The counters of a hook for the metrics: how runs ended, how long they took, and how long after the
 * change of an EndpointSlice it was handled. */
#include "hook_rig.h"

#include <stdio.h>
#include <string.h>

/* 2024-05-01T10:20:30Z: the wall clock when hook_rig.now is 0. */
#define WALL_MS INT64_C(1714558830000)

/* An EndpointSlice ns/a, for a change of that second of 10:20; -1 = it does not say. */
static struct object *slice(const char *uid, int second, const char *label)
{
    char body[256];

    snprintf(body, sizeof(body),
             "{\"metadata\":{\"annotations\":{\"%s\":\"2024-05-01T10:20:%02dZ\"},\"labels\":{\"l\":"
             "\"%s\"}}}",
             second >= 0 ? "endpoints.kubernetes.io/last-change-trigger-time" : "other",
             second >= 0 ? second : 0, label);
    return object_create(&(struct object_parts){.ns = str_c("ns"),
                                                .name = str_c("a"),
                                                .uid = str_c(uid),
                                                .rv = str_c("1"),
                                                .kind = str_c("EndpointSlice"),
                                                .api_version = str_c("discovery.k8s.io/v1"),
                                                .body = str_c(body),
                                                .rv_at = SIZE_MAX,
                                                .generation_at = SIZE_MAX});
}

static void change(enum delta_type type, enum delta_cause cause, int second, const char *label)
{
    struct object *o = slice("u1", second, label);

    hooks_subscriber.on_delta(
        &hook_rig.hooks, (struct source){.watch = hook_rig.watches[0]},
        &(struct delta){.type = type, .cause = cause, .object = o, .now_ms = hook_rig.now});
    object_unref(&o);
}

/* The run that is due ends at that time. */
static void run(uint64_t end_ms, struct run_end end)
{
    struct run *r = hook_rig_next();

    hook_rig.now = end_ms;
    hooks_finish(&hook_rig.hooks, r,
                 &(struct run_result){.end = end,
                                      .text = "",
                                      .wall_ns = (uint64_t)(WALL_MS + (int64_t)end_ms) * 1000000U},
                 end_ms);
}

static const struct run_end good;

static struct hook *add(void)
{
    struct hook *h = hook_rig_add(&(struct hook_rig_hook){0});

    hook_rig_sync(0);
    hook_rig_nothing(); /* opens the gate: objects that come now are new */
    return h;
}

static void test_runs_are_counted_by_their_end(void **state)
{
    struct hook *h = add();

    (void)state;
    change(DELTA_ADDED, CAUSE_WATCH, -1, "a");
    run(hook_rig.now + 30, (struct run_end){.value = 1});
    hook_rig.now += HOOK_RIG_INITIAL_MS;
    run(hook_rig.now + 400, (struct run_end){.cut = RUN_CUT_TIMEOUT});
    hook_rig.now += UINT64_C(2) * HOOK_RIG_INITIAL_MS;
    run(hook_rig.now + 7, good);
    assert_int_equal(h->figures.runs_ok, 1);
    assert_int_equal(h->figures.runs_failed, 2);
    assert_int_equal(h->figures.runs_timed_out, 1);
    assert_int_equal(h->figures.durations.total, 3);
    assert_int_equal(h->figures.durations.sum_ms, 437);
}

static void test_the_time_since_a_change_is_counted_when_it_is_handled(void **state)
{
    struct hook *h = add();

    (void)state;
    hook_rig.now = 5000;
    change(DELTA_ADDED, CAUSE_WATCH, 34, "a"); /* 4 s after 10:20:30 */
    run(5200, (struct run_end){.value = 1});
    assert_int_equal(h->figures.since_trigger.total, 0);
    hook_rig.now += HOOK_RIG_INITIAL_MS;
    run(6500, good);
    assert_int_equal(h->figures.since_trigger.total, 1);
    assert_int_equal(h->figures.since_trigger.sum_ms, 2500);
    change(DELTA_MODIFIED, CAUSE_WATCH, 36, "a");
    run(7000, good);
    assert_int_equal(h->figures.since_trigger.total, 2);
    assert_int_equal(h->figures.since_trigger.sum_ms, 3500);
}

/* The clock of the controller is ahead. */
static void test_a_change_of_the_future_took_no_time(void **state)
{
    struct hook *h = add();

    (void)state;
    change(DELTA_ADDED, CAUSE_WATCH, 59, "a");
    run(100, good);
    assert_int_equal(h->figures.since_trigger.total, 1);
    assert_int_equal(h->figures.since_trigger.sum_ms, 0);
}

static void test_what_tells_of_no_new_change_is_not_counted(void **state)
{
    struct hook *h = add();

    (void)state;
    hook_rig.now = 5000;
    change(DELTA_ADDED, CAUSE_RELIST, 30, "a"); /* when it was made, nobody knows */
    run(5100, good);
    assert_int_equal(h->figures.since_trigger.total, 0);
    change(DELTA_MODIFIED, CAUSE_WATCH, 30, "b"); /* another one has edited a label */
    run(5200, good);
    assert_int_equal(h->figures.since_trigger.total, 0);
    change(DELTA_MODIFIED, CAUSE_WATCH, -1, "c");
    run(5300, good);
    assert_int_equal(h->figures.since_trigger.total, 0);
    change(DELTA_DELETED, CAUSE_WATCH, 31, "c");
    run(5400, good);
    assert_int_equal(h->figures.since_trigger.total, 0);
    assert_int_equal(latency_all(&h->figures.latency).total, 4); /* all of them were handled */
}

#define WITH_RIG(test) cmocka_unit_test_setup_teardown(test, hook_rig_set_up, hook_rig_clean_up)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_RIG(test_runs_are_counted_by_their_end),
        WITH_RIG(test_the_time_since_a_change_is_counted_when_it_is_handled),
        WITH_RIG(test_a_change_of_the_future_took_no_time),
        WITH_RIG(test_what_tells_of_no_new_change_is_not_counted),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
