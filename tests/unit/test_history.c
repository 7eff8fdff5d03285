/* SPDX-License-Identifier: Apache-2.0 */
#include "hook_rig.h"

#include <stdio.h>

/* The last runs of a hook, as `informerctl runs` shows them. */

static struct hooks_verdict end_with(struct run *run, const struct run_result *result)
{
    return hooks_finish(&hook_rig.hooks, run, result, hook_rig.now);
}

static struct hook *add_key(enum hook_mode mode)
{
    struct hook *h =
        hook_rig_add(&(struct hook_rig_hook){.rules = {.mode = mode}, .park_exit = 75});

    hook_rig_sync(0);
    hook_rig_change(0, DELTA_ADDED, "ns/a", "u1", NULL);
    return h;
}

static void test_a_run_is_kept_with_all_that_is_known(void **state)
{
    static const char out[] = "a\0b";
    const struct run_result result = {
        .end = {.value = 3, .cpu_us = 1500},
        .text = "exit status 3",
        .wall_ns = 77,
        .out = {out,        3             },
        .err = {"no",       2             },
        .dropped = 9
    };

    (void)state;
    struct hook *h = add_key(HOOK_OBJECT);
    struct run *run = hook_rig_next();
    hook_rig.now += 250;
    end_with(run, &result);
    assert_int_equal(h->history.n, 1);
    const struct history_run *r = history_get(&h->history, 0);
    assert_int_equal(r->id, 1);
    assert_string_equal(r->source, "one");
    assert_string_equal(r->key, "ns/a");
    assert_int_equal(r->type, DELTA_ADDED);
    assert_int_equal(r->event_count, 1);
    assert_int_equal(r->reason, RUN_EXISTING);
    assert_int_equal(r->attempt, 1);
    assert_int_equal(r->outcome, HISTORY_FAILED);
    assert_string_equal(r->text, "exit status 3");
    assert_int_equal(r->ended_ns, 77);
    assert_int_equal(r->took_ms, 250);
    assert_int_equal(r->end.cpu_us, 1500);
    assert_int_equal(r->dropped, 9);
    assert_true(str_eq(buf_str(&r->out), str_of(out, 3)));
    assert_true(str_is(buf_str(&r->err), "no"));
}

static void test_outcomes_are_those_of_the_work_item(void **state)
{
    (void)state;
    struct hook *h = add_key(HOOK_OBJECT);
    hook_rig_end(hook_rig_next(), 1);
    hook_rig.now += HOOK_RIG_INITIAL_MS;
    hook_rig_end(hook_rig_next(), 75);
    assert_int_equal(history_get(&h->history, 0)->outcome, HISTORY_PARKED);
    assert_int_equal(history_get(&h->history, 0)->attempt, 2);
    assert_int_equal(history_get(&h->history, 1)->outcome, HISTORY_FAILED);
    hook_rig.now += HOOK_RIG_INITIAL_MS;
    hook_rig_change(0, DELTA_MODIFIED, "ns/a", "u1", "\"a\":1");
    hook_rig_end(hook_rig_next(), 0);
    assert_int_equal(history_get(&h->history, 0)->outcome, HISTORY_OK);
    assert_string_equal(history_outcome_name(HISTORY_OK), "ok");
    assert_string_equal(history_outcome_name(HISTORY_FAILED), "failed");
    assert_string_equal(history_outcome_name(HISTORY_PARKED), "parked");
}

static void test_a_run_for_a_whole_hook_has_no_key(void **state)
{
    (void)state;
    struct hook *h = add_key(HOOK_BATCH);
    hook_rig_change(0, DELTA_ADDED, "ns/b", "u2", NULL);
    hook_rig_end(hook_rig_next(), 0);
    const struct history_run *r = history_get(&h->history, 0);
    assert_string_equal(r->source, "");
    assert_string_equal(r->key, "");
    assert_int_equal(r->event_count, 2);
    assert_ptr_equal(history_of_key(&h->history, "", ""), r);
    assert_null(history_of_key(&h->history, "one", "ns/a"));
}

/* 40 runs, alternately of two keys. */
static void test_the_oldest_goes_and_the_newest_comes_first(void **state)
{
    char data[16];

    (void)state;
    struct hook *h = add_key(HOOK_OBJECT);
    for (unsigned i = 0; i < 40; i++) {
        snprintf(data, sizeof(data), "\"a\":%u", i);
        hook_rig_change(0, DELTA_MODIFIED, i % 2 == 0 ? "ns/a" : "ns/b", "u1", data);
        hook_rig_end(hook_rig_next(), 0);
        assert_int_equal(h->history.n, i < HISTORY_RUNS ? i + 1 : HISTORY_RUNS);
    }
    for (size_t i = 0; i < HISTORY_RUNS; i++) {
        assert_int_equal(history_get(&h->history, i)->id, 40 - i);
        assert_string_equal(history_get(&h->history, i)->key, i % 2 == 0 ? "ns/b" : "ns/a");
    }
    assert_int_equal(history_of_key(&h->history, "one", "ns/a")->id, 39);
    assert_int_equal(history_of_key(&h->history, "one", "ns/b")->id, 40);
    assert_null(history_of_key(&h->history, "two", "ns/b"));
    assert_null(history_of_key(&h->history, "one", "ns/c"));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, hook_rig_set_up, hook_rig_clean_up)
    const struct CMUnitTest tests[] = {
        TEST(test_a_run_is_kept_with_all_that_is_known),
        TEST(test_outcomes_are_those_of_the_work_item),
        TEST(test_a_run_for_a_whole_hook_has_no_key),
        TEST(test_the_oldest_goes_and_the_newest_comes_first),
    };
#undef TEST

    return cmocka_run_group_tests(tests, NULL, NULL);
}
