/* SPDX-License-Identifier: Apache-2.0 */
/* The reasons of `why` for keys and hooks that wait. */
#include "admin_world.h"

#include <errno.h>
#include <string.h>

#include "base/mem.h"
#include "hook/why.h"

static struct hook *add(struct admin_world *t, struct world_hook params)
{
    if (params.source_count == 0)
        params.source_count = 1;
    params.name = "h";
    return admin_world_add_hook(t, params);
}

static void sync_services(struct admin_world *t, size_t n)
{
    struct buf list = {0};

    admin_world_put_list(&list, "42", n);
    admin_world_list(t, WORLD_SERVICES, 200, buf_cstr(&list));
    buf_free(&list);
}

static struct delivery *entry(const struct hook *h, const char *key)
{
    struct delivery *dl = delivery_queue_find(&h->queue, 0, str_c(key));

    assert_non_null(dl);
    return dl;
}

static void expect(struct why w, const char *text, uint64_t until_ms)
{
    struct buf said = {0};

    why_put_text(&said, &w);
    assert_string_equal(buf_cstr(&said), text);
    assert_int_equal(w.until_ms, until_ms);
    assert_true((w.of != NULL) == (strcmp(text, why_reason_name(w.reason)) != 0));
    buf_free(&said);
}

static void expect_key(struct admin_world *t, struct hook *h, const char *key, const char *text,
                       uint64_t until_ms)
{
    expect(why_delivery(&t->hooks, h, entry(h, key), t->now_ms), text, until_ms);
}

static void expect_hook(struct admin_world *t, struct hook *h, const char *text, uint64_t until_ms)
{
    expect(why_hook(&t->hooks, h, t->now_ms), text, until_ms);
}

static void change(struct admin_world *t, const char *key, const char *uid, const char *data)
{
    struct object *o = objects_make(key, uid, "50", data);
    const struct delta d = {
        .type = DELTA_MODIFIED, .object = o, .received_ns = UINT64_MAX, .now_ms = t->now_ms};

    hooks_subscriber.on_delta(&t->hooks, (struct source){.watch = t->watches[WORLD_SERVICES].watch},
                              &d);
    object_unref(&o);
}

/* The run of h that is due; runs of other hooks are ended. */
static struct run *start_of(struct admin_world *t, const struct hook *h)
{
    struct run *run;

    while ((run = admin_world_start(t))->hook != h)
        hooks_finish(&t->hooks, run, &(struct run_result){.text = ""}, t->now_ms);
    return run;
}

static void finish(struct admin_world *t, struct run *run, int status)
{
    hooks_finish(&t->hooks, run, &(struct run_result){.end.value = status, .text = "exit"},
                 t->now_ms);
}

static void test_sources_that_are_not_synced(void **state)
{
    struct admin_world *t = *state;
    struct hook *h = add(t, (struct world_hook){.source_count = 3});

    expect_hook(t, h, "source services not synced", 0);
    sync_services(t, 1);
    expect_hook(t, h, "source private not synced", 0);
    expect_key(t, h, "b/s0", "source private not synced", 0);
    admin_world_list(t, WORLD_PRIVATE, 200,
                     "{\"kind\":\"SecretList\",\"apiVersion\":\"v1\","
                     "\"metadata\":{\"resourceVersion\":\"42\"},\"items\":[]}");
    assert_int_equal(start_of(t, h)->hook->gate, GATE_FIRST);
    expect_key(t, h, "b/s0", "running", 0);
}

static void test_a_source_that_comes_later(void **state)
{
    struct admin_world *t = *state;
    struct hook *h =
        add(t, (struct world_hook){.source_count = 3, .rules = {.require = HOOK_REQUIRE_ANY}});

    sync_services(t, 1);
    finish(t, start_of(t, h), 0);
    expect_key(t, h, "b/s0", "handled", 0);
    expect_hook(t, h, "source private not synced", 0);
}

static void test_other_hooks_come_first(void **state)
{
    struct admin_world *t = *state;
    char **first = mem_array(1, sizeof(*first)); /* t->hooks frees it */

    first[0] = mem_strdup("print");
    struct hook *h = add(t, (struct world_hook){
                                .rules = {.after = first, .after_count = 1}
    });

    sync_services(t, 1);
    expect_hook(t, h, "after print", 0);
    struct run *run = admin_world_start(t);
    assert_string_equal(run->hook->name, "print");
    expect_key(t, h, "b/s0", "after print", 0);
    finish(t, run, 0);
    run = admin_world_start(t);
    assert_ptr_equal(run->hook, h);
    finish(t, run, 0);
    expect_hook(t, h, "handled", 0);
}

static void test_a_hook_that_waits_while_its_source_is_stale(void **state)
{
    struct admin_world *t = *state;
    struct hook *h = add(t, (struct world_hook){.rules = {.when_stale = HOOK_STALE_WAIT}});

    sync_services(t, 1);
    finish(t, start_of(t, h), 0);
    hooks_subscriber.on_stale(&t->hooks, (struct source){.watch = t->watches[WORLD_SERVICES].watch},
                              true, (struct now){t->now_ms, 1});
    expect_key(t, h, "b/s0", "handled", 0);
    change(t, "b/s0", "u0", "\"a\":1");
    expect_key(t, h, "b/s0", "source services stale", 0);
    expect_hook(t, h, "source services stale", 0);
    hooks_subscriber.on_stale(&t->hooks, (struct source){.watch = t->watches[WORLD_SERVICES].watch},
                              false, (struct now){t->now_ms, 2});
    expect_key(t, h, "b/s0", "slot", 0);
}

static void test_settling_then_min_interval(void **state)
{
    struct admin_world *t = *state;
    struct hook *h = add(
        t, (struct world_hook){
               .work_queue = {.settle_ms = 100, .settle_max_ms = 500, .min_interval_ms = 3000}
    });

    sync_services(t, 1);
    finish(t, start_of(t, h), 0);
    change(t, "b/s0", "u0", "\"a\":1");
    expect_key(t, h, "b/s0", "settling", WORLD_NOW_MS + 100);
    t->now_ms += 100;
    change(t, "b/s0", "u0", "\"a\":2");
    expect_key(t, h, "b/s0", "settling", WORLD_NOW_MS + 200);
    t->now_ms += 100;
    hooks_next(&t->hooks, t->now_ms); /* the run of the other hook starts */
    expect_key(t, h, "b/s0", "min_interval", WORLD_NOW_MS + 3000);
    t->now_ms = WORLD_NOW_MS + 3000;
    expect_key(t, h, "b/s0", "slot", 0);
    start_of(t, h);
    expect_key(t, h, "b/s0", "running", 0);
}

static void test_backoff_has_its_failures_and_its_end(void **state)
{
    struct admin_world *t = *state;
    struct hook *h = add(t, (struct world_hook){0});

    sync_services(t, 1);
    finish(t, start_of(t, h), 3);
    expect_key(t, h, "b/s0", "backoff", WORLD_NOW_MS + 1000);
    t->now_ms += 1000;
    finish(t, start_of(t, h), 3);
    expect_key(t, h, "b/s0", "backoff", t->now_ms + 2000);
    struct why w = why_delivery(&t->hooks, h, entry(h, "b/s0"), t->now_ms);
    assert_int_equal(w.failures, 2);
    assert_int_equal(w.last_run->attempt, 2);
    assert_string_equal(w.last_run->text, "exit");
    assert_int_equal(w.event->type, DELTA_ADDED);
}

static void test_parked_whatever_else_holds(void **state)
{
    struct admin_world *t = *state;
    struct hook *h = add(t, (struct world_hook){.work_queue = {.attempts = 1}});

    sync_services(t, 1);
    finish(t, start_of(t, h), 3);
    expect_key(t, h, "b/s0", "parked", 0);
    hook_pause(h, true);
    expect_key(t, h, "b/s0", "parked", 0);
    expect_hook(t, h, "paused", 0);
}

static void test_too_few_slots(void **state)
{
    struct admin_world *t = *state;
    struct hook *h = add(t, (struct world_hook){0});

    sync_services(t, 2);
    struct run *run = start_of(t, h);
    const char *key = run_key(run);
    expect_key(t, h, key, "running", 0);
    expect_key(t, h, strcmp(key, "b/s0") == 0 ? "b/s1" : "b/s0", "slot", 0);
}

static void test_paused(void **state)
{
    struct admin_world *t = *state;
    struct hook *h = add(t, (struct world_hook){0});

    hook_pause(h, true);
    expect_hook(t, h, "paused", 0);
    sync_services(t, 1);
    hook_pause(h, false);
    finish(t, start_of(t, h), 0);
    hook_pause(h, true);
    expect_key(t, h, "b/s0", "handled", 0);
    change(t, "b/s0", "u0", "\"a\":1");
    expect_key(t, h, "b/s0", "paused", 0);
    hook_pause(h, false);
    expect_key(t, h, "b/s0", "slot", 0);
}

static void test_the_contents_of_a_held_list_are_not_known(void **state)
{
    struct admin_world *t = *state;
    struct hook *h = add(t, (struct world_hook){.mode = HOOK_SNAPSHOT});

    sync_services(t, 20);
    finish(t, start_of(t, h), 0);
    expect_key(t, h, "b/s7", "handled", 0);
    sync_services(t, 3);
    assert_true(watch_status(t->watches[WORLD_SERVICES].watch, t->now_ms).held != GUARD_NOTHING);
    expect_key(t, h, "b/s7", "guard of source services", 0);
    expect_hook(t, h, "guard of source services", 0);
    change(t, "b/s7", "u7", "\"a\":1");
    expect_key(t, h, "b/s7", "slot", 0);
}

static void test_work_items_that_are_whole_hooks(void **state)
{
    struct admin_world *t = *state;
    struct hook *h = add(t, (struct world_hook){.mode = HOOK_BATCH});

    sync_services(t, 2);
    struct run *run = start_of(t, h);
    expect_hook(t, h, "running", 0);
    expect_key(t, h, "b/s0", "running", 0);
    finish(t, run, 0);
    expect_hook(t, h, "handled", 0);
    change(t, "b/s0", "u0", "\"a\":1");
    finish(t, start_of(t, h), 3);
    expect_hook(t, h, "backoff", WORLD_NOW_MS + 1000);
    expect_key(t, h, "b/s0", "backoff", WORLD_NOW_MS + 1000);
    expect_key(t, h, "b/s1", "handled", 0);
    struct why w = why_hook(&t->hooks, h, t->now_ms);
    assert_int_equal(w.failures, 1);
    assert_int_equal(w.event->type, DELTA_MODIFIED);
    assert_int_equal(w.last_run->outcome, HISTORY_FAILED);
}

static void test_a_manual_run_is_due(void **state)
{
    struct admin_world *t = *state;
    struct hook *h = add(t, (struct world_hook){0});
    struct err err = {0};

    sync_services(t, 1);
    finish(t, start_of(t, h), 0);
    assert_int_equal(hook_run_manually(h, str_c("b/s0"), &err), ERR_OK);
    expect_key(t, h, "b/s0", "slot", 0);
    struct run *run = start_of(t, h);
    expect_key(t, h, "b/s0", "running", 0);
    finish(t, run, 0);
    expect_key(t, h, "b/s0", "handled", 0);
}

#define WITH_WORLD(test) \
    cmocka_unit_test_setup_teardown(test, admin_world_set_up, admin_world_tear_down)

/* ---- Each state, and its one reason */

static void test_nothing_starts_at_the_start_and_at_the_end_of_informerd(void **state)
{
    struct admin_world *t = *state;
    struct hook *h = add(t, (struct world_hook){
                                .work_queue = {.settle_ms = 100, .settle_max_ms = 200}
    });

    sync_services(t, 1);
    finish(t, start_of(t, h), 0);
    change(t, "b/s0", "u0", "\"a\":1");
    expect_key(t, h, "b/s0", "settling", t->now_ms + 100);
    t->hooks.phase = HOOKS_STARTING;
    expect_key(t, h, "b/s0", "starting", 0);
    t->hooks.phase = HOOKS_STOPPING;
    expect_key(t, h, "b/s0", "stopping", 0);
    hook_pause(h, true); /* a person must end it, whatever informerd does */
    expect_key(t, h, "b/s0", "paused", 0);
    hook_pause(h, false);
    t->hooks.phase = HOOKS_RUN;
    expect_key(t, h, "b/s0", "settling", t->now_ms + 100);
}

static void test_a_run_that_could_not_be_started_is_no_backoff(void **state)
{
    const struct run_result short_of_memory = {
        .end = run_end_refused(RUN_PROGRAM_COMMAND, RUN_STAGE_FORK, ENOMEM), .text = "no memory"};
    struct admin_world *t = *state;
    struct hook *h = add(t, (struct world_hook){0});

    sync_services(t, 1);
    hooks_finish(&t->hooks, start_of(t, h), &short_of_memory, t->now_ms);
    expect_key(t, h, "b/s0", "shortage", t->now_ms + SCHEDULER_NOT_STARTED_MS);
}

/* Only a reason that ends at a known time, or needs nothing, has no advice. */
static void test_each_reason_says_what_to_do_or_when_it_ends(void **state)
{
    static const char *const parts[WHY_REASONS] = {
        [WHY_RUNNING] = "at its timeout",
        [WHY_PARKED] = "informerctl run h",
        [WHY_GUARD] = "informerctl guard accept s",
        [WHY_NOT_SYNCED] = "source s",
        [WHY_INCOMPLETE] = "limits.memory",
        [WHY_STALE] = "source s",
        [WHY_AFTER] = "informerctl why s",
        [WHY_SLOT] = "hook h and limits.hook_concurrency",
        [WHY_HOLDING] = "hook h",
        [WHY_PAUSED] = "informerctl resume h",
        [WHY_STRAYS] = "hook h",
        [WHY_STARTING] = "hook h",
        [WHY_RELOAD] = "hook h",
        [WHY_STOPPING] = "hook h",
    };
    struct admin_world *t = *state;
    struct hook *h = add(t, (struct world_hook){0});

    for (int i = 0; i < WHY_REASONS; i++) {
        bool names = i == WHY_GUARD || i == WHY_NOT_SYNCED || i == WHY_INCOMPLETE ||
                     i == WHY_STALE || i == WHY_AFTER;
        struct why w = {.reason = (enum why_reason)i, .of = names ? "s" : NULL};
        struct buf said = {0};

        assert_non_null(why_reason_name(w.reason));
        why_put_advice(&said, &w, h);
        if (parts[i] == NULL)
            assert_int_equal(said.len, 0);
        else
            assert_non_null(strstr(buf_cstr(&said), parts[i]));
        buf_clear(&said);
        w.until_ms = 1;
        why_put_advice(&said, &w, h);
        assert_int_equal(said.len, 0);
        buf_free(&said);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_WORLD(test_sources_that_are_not_synced),
        WITH_WORLD(test_a_source_that_comes_later),
        WITH_WORLD(test_other_hooks_come_first),
        WITH_WORLD(test_a_hook_that_waits_while_its_source_is_stale),
        WITH_WORLD(test_settling_then_min_interval),
        WITH_WORLD(test_backoff_has_its_failures_and_its_end),
        WITH_WORLD(test_parked_whatever_else_holds),
        WITH_WORLD(test_too_few_slots),
        WITH_WORLD(test_paused),
        WITH_WORLD(test_the_contents_of_a_held_list_are_not_known),
        WITH_WORLD(test_work_items_that_are_whole_hooks),
        WITH_WORLD(test_a_manual_run_is_due),
        WITH_WORLD(test_nothing_starts_at_the_start_and_at_the_end_of_informerd),
        WITH_WORLD(test_a_run_that_could_not_be_started_is_no_backoff),
        WITH_WORLD(test_each_reason_says_what_to_do_or_when_it_ends),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
