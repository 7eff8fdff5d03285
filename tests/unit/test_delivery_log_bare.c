/* SPDX-License-Identifier: Apache-2.0 */
/* hook/delivery_queue and hook/delivery_log: objects of which an earlier process has left no more
 * than the name (persist = "digest", docs/design.md "Missed deletes"), and deltas of a source
 * before it is open. */
#include "restarted_hook.h"

#include <stdlib.h>

static struct object *bare(const char *uid)
{
    return object_create(&(struct object_parts){.ns = str_c("ns"),
                                                .name = str_c("n"),
                                                .uid = str_c(uid),
                                                .rv_at = SIZE_MAX,
                                                .generation_at = SIZE_MAX});
}

static void tell_bare(enum delta_type type, const char *uid)
{
    struct object *o = bare(uid);
    const struct delta d = {
        .type = type, .cause = CAUSE_RESTART, .object = o, .now_ms = hook_rig.now};

    hooks_subscriber.on_delta(&hook_rig.hooks, (struct source){.watch = hook_rig.watches[0]}, &d);
    object_unref(&o);
}

static void change(enum delta_type type, const char *uid, const char *data)
{
    hook_rig_change(0, type, "ns/n", uid, data);
}

/* A hook that has handled u1, by a run or without one, and the next process, which has no more than
 * its name. */
static void begin(struct hook_rig_hook p)
{
    restarted_hook_add(p);
    change(DELTA_ADDED, "u1", "\"a\":1");
    hook_rig_sync(0);
    if (p.rules.existing == HOOK_EXISTING_RUN && (p.events == 0 || (p.events & 1U) != 0))
        hook_rig_pass(DELTA_ADDED, "u1");
    hook_rig_nothing();
    restarted_hook_keep();
    restarted_hook_restart();
    tell_bare(DELTA_ADDED, "u1");
}

static size_t snapshot_size(void)
{
    size_t n;
    struct object **all = delivery_queue_sorted(&restarted_hook.hook->queue, 0, &n);

    free(all);
    return n;
}

static void test_the_listed_state_replaces_a_bare_object_quietly(void **state)
{
    (void)state;
    begin((struct hook_rig_hook){0});
    change(DELTA_MODIFIED, "u1", "\"a\":1");
    hook_rig_sync(0);
    hook_rig_nothing();
    assert_true(hooks_ready(&hook_rig.hooks));
    change(DELTA_MODIFIED, "u1", "\"a\":2");
    hook_rig_pass(DELTA_MODIFIED, "u1");
}

static void test_a_listed_state_that_differs_is_delivered(void **state)
{
    (void)state;
    begin((struct hook_rig_hook){0});
    change(DELTA_MODIFIED, "u1", "\"a\":2");
    hook_rig_sync(0);
    struct run *run = hook_rig_starts(DELTA_MODIFIED, "u1");
    assert_int_equal(run->reason, RUN_CHANGE);
    assert_null(run->events[0].old);
    hook_rig_end(run, 0);
}

static void test_a_bare_object_that_vanished_is_deleted(void **state)
{
    (void)state;
    begin((struct hook_rig_hook){0});
    tell_bare(DELTA_DELETED, "u1");
    hook_rig_sync(0);
    struct run *run = hook_rig_starts(DELTA_DELETED, "u1");
    assert_true(object_is_bare(run->events[0].ev.object));
    hook_rig_end(run, 0);
    hook_rig_nothing();
}

/* A list skips an object that is too big: its old state stays, whatever that was. */
static void test_an_object_that_stays_is_neither_delivered_nor_deleted(void **state)
{
    struct err err;

    (void)state;
    begin((struct hook_rig_hook){0});
    hook_rig_sync(0);
    hook_rig_nothing();
    assert_int_equal(snapshot_size(), 0);
    assert_int_equal(hook_run_manually(restarted_hook.hook, str_c("ns/n"), &err), ERR_NOT_FOUND);
    restarted_hook_keep();
    assert_non_null(hook_disk_delivery(&restarted_hook.disk, "ns/n", "u1"));
    change(DELTA_MODIFIED, "u1", "\"a\":2");
    hook_rig_pass(DELTA_MODIFIED, "u1");
    assert_int_equal(snapshot_size(), 1);
    change(DELTA_DELETED, "u1", "\"a\":2");
    hook_rig_pass(DELTA_DELETED, "u1");
    hook_rig_nothing();
}

static void test_an_incarnation_without_a_known_state_ends_the_one_before(void **state)
{
    (void)state;
    begin((struct hook_rig_hook){0});
    tell_bare(DELTA_ADDED, "u2");
    hook_rig_sync(0);
    hook_rig_pass(DELTA_DELETED, "u1");
    hook_rig_nothing();
    change(DELTA_MODIFIED, "u2", "\"a\":1");
    hook_rig_pass(DELTA_ADDED, "u2");
    hook_rig_nothing();
}

static void test_an_object_without_a_known_state_is_not_skipped(void **state)
{
    (void)state;
    restarted_hook_add((struct hook_rig_hook){.rules = {.existing = HOOK_EXISTING_SKIP}});
    tell_bare(DELTA_ADDED, "u1");
    hook_rig_sync(0);
    hook_rig_nothing();
    change(DELTA_MODIFIED, "u1", "\"a\":2");
    hook_rig_pass(DELTA_ADDED, "u1");
}

static void test_an_unknown_state_is_not_handled_because_the_hook_ignores_it(void **state)
{
    (void)state;
    begin((struct hook_rig_hook){.events = 1U << DELTA_MODIFIED | 1U << DELTA_DELETED});
    hook_rig_sync(0);
    hook_rig_nothing();
    change(DELTA_MODIFIED, "u1", "\"a\":1");
    hook_rig_nothing();
}

/* changes_in: any path may differ from the name alone. */
static void test_a_path_selects_nothing_in_a_bare_object(void **state)
{
    (void)state;
    begin((struct hook_rig_hook){.path = "metadata.name"});
    assert_null(delivery_queue_find(&restarted_hook.hook->queue, 0, str_c("ns/n"))->handled.object);
    hook_rig_sync(0);
    hook_rig_nothing();
    change(DELTA_MODIFIED, "u1", "\"a\":5");
    hook_rig_nothing();
}

static void test_an_end_without_its_last_object_is_unknown(void **state)
{
    (void)state;
    begin((struct hook_rig_hook){0});
    change(DELTA_DELETED, "u1", "\"a\":1"); /* with its final state */
    restarted_hook_keep();
    struct hook_disk_row *row = &restarted_hook.disk.rows[0];
    object_unref(&row->delivery.last); /* the final state is not kept */
    row->delivery.last = bare("u1");
    restarted_hook_restart();
    hook_rig_sync(0);
    struct run *run = hook_rig_starts(DELTA_DELETED, "u1");
    assert_true(run->events[0].ev.final_state_unknown);
    hook_rig_end(run, 0);
}

/* ---- Before a source is open. */

static void test_deltas_of_another_cluster_are_forgotten(void **state)
{
    (void)state;
    begin((struct hook_rig_hook){0});
    change(DELTA_MODIFIED, "u1", "\"a\":2");
    hook_rig_change(0, DELTA_ADDED, "ns/m", "u5", "");
    delivery_log_forget(&restarted_hook.hook->queue, 0);
    restarted_hook_keep();
    assert_int_equal(restarted_hook.disk.row_count, 0);
    hook_rig_sync(0);
    hook_rig_nothing();
    assert_null(delivery_queue_find(&restarted_hook.hook->queue, 0, str_c("ns/m")));
    hook_rig_change(0, DELTA_ADDED, "ns/m", "u6", "");
    hook_rig_pass(DELTA_ADDED, "u6");
}

static void test_that_a_source_was_seen_goes_to_a_new_disk_before_it_is_open(void **state)
{
    (void)state;
    begin((struct hook_rig_hook){.rules = {.existing = HOOK_EXISTING_SKIP}});
    hook_disk_clear(&restarted_hook.disk);
    delivery_log_touch_all(&restarted_hook.hook->queue);
    restarted_hook_keep();
    assert_true(restarted_hook.disk.seen[0]);
    restarted_hook_restart();
    change(DELTA_ADDED, "u1", "\"a\":1");
    /* a new object of a source that was seen is not skipped */
    hook_rig_change(0, DELTA_ADDED, "ns/m", "u5", "");
    hook_rig_sync(0);
    hook_rig_pass(DELTA_ADDED, "u5");
    hook_rig_nothing();
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, hook_rig_set_up, restarted_hook_clean_up)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_the_listed_state_replaces_a_bare_object_quietly),
        TEST(test_a_listed_state_that_differs_is_delivered),
        TEST(test_a_bare_object_that_vanished_is_deleted),
        TEST(test_an_object_that_stays_is_neither_delivered_nor_deleted),
        TEST(test_an_incarnation_without_a_known_state_ends_the_one_before),
        TEST(test_an_object_without_a_known_state_is_not_skipped),
        TEST(test_an_unknown_state_is_not_handled_because_the_hook_ignores_it),
        TEST(test_a_path_selects_nothing_in_a_bare_object),
        TEST(test_an_end_without_its_last_object_is_unknown),
        TEST(test_deltas_of_another_cluster_are_forgotten),
        TEST(test_that_a_source_was_seen_goes_to_a_new_disk_before_it_is_open),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
