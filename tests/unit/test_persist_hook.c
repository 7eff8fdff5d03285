/* SPDX-License-Identifier: Apache-2.0 */
/* persist/hook: the rows of a hook on disk, and how the next process uses them. */
#include "persist/hook.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "hook_rig.h"
#include "persist/row.h"
#include "state_rig.h"

/* The processes of a test, one after the other, all in one turn of a loop that does not run. */
struct rig {
    struct state_rig state;
    struct ids *ids;
    enum persist_bytes bytes;
    struct persist_hook_params params;
    struct hook_rules rules;
    const char *boot_id;
    struct persist_hook mh;
    bool lives;
};

static struct rig rig;

static void keep(void)
{
    (void)persist_hook_put(&rig.mh, &rig.state.batch);
    state_rig_apply(&rig.state);
}

static void die(void)
{
    if (!rig.lives)
        return;
    rig.lives = false;
    persist_hook_fini(&rig.mh);
    ids_destroy(&rig.ids);
    hook_rig_clean_up(NULL);
}

static void begin(void)
{
    struct restore r;
    struct err err;

    die();
    hook_rig_set_up(NULL);
    (void)restore_read(&r, rig.state.folder, &err);
    rig.ids = r.ids;
    const struct persist_source_params source = {rig.bytes, "c"};
    rig.params.hook = hook_rig_add(&(struct hook_rig_hook){.rules = rig.rules});
    persist_hook_load(
        &rig.mh, &rig.params, &source, &r,
        (struct persist_now){.ms = hook_rig.now, .wall_ns = 1, .boot_id = rig.boot_id},
        &rig.state.batch);
    r.ids = NULL;
    restore_fini(&r);
    rig.lives = true;
    keep();
}

static struct digest_forms settings_of(uint64_t now, uint64_t former)
{
    return (struct digest_forms){
        .now = {.hi = 1, .lo = now   },
          .former = {.hi = 2, .lo = former}
    };
}

static int set_up(void **state)
{
    (void)state;
    memset(&rig, 0, sizeof(rig));
    state_rig_init(&rig.state);
    rig.params.settings = settings_of(1, 1);
    rig.boot_id = "boot-1";
    return 0;
}

static int clean_up(void **state)
{
    (void)state;
    die();
    state_rig_fini(&rig.state);
    return 0;
}

static bool has(const char *part)
{
    return state_rig_has(&rig.state, part);
}

static void adds(const char *uid)
{
    hook_rig_change(0, DELTA_ADDED, "ns/n", uid, "\"a\":1");
}

/* The object is there, and the source is listed. */
static void sees(void)
{
    adds("u1");
    hook_rig_sync(0);
}

/* A first process whose hook has handled the object. */
static void handle(void)
{
    begin();
    sees();
    hook_rig_pass(DELTA_ADDED, "u1");
    keep();
}

/* In the next process the handled object is quiet. */
static void expect_quiet(void)
{
    begin();
    sees();
    hook_rig_nothing();
    keep();
}

static void expect_renewed(void)
{
    struct run *run;

    sees();
    run = hook_rig_starts(DELTA_ADDED, "u1");
    assert_int_equal(run->reason, RUN_RENEW);
    hook_rig_end(run, 0);
    keep();
}

static void test_a_handled_object_is_quiet(void **state)
{
    (void)state;
    handle();
    assert_true(has("mark 2 ns/n u1"));
    assert_true(has("fact 2 seen"));
    expect_quiet();
    expect_quiet();
}

static void test_only_changed_rows_are_put(void **state)
{
    (void)state;
    handle();
    assert_false(persist_hook_put(&rig.mh, &rig.state.batch));
    assert_int_equal(rig.state.batch.count, 0);
    begin();
    sees();
    hook_rig_nothing();
    assert_false(persist_hook_put(&rig.mh, &rig.state.batch));
    assert_int_equal(rig.state.batch.count, 0);
}

static void test_a_run_that_was_cut_off_runs_again(void **state)
{
    (void)state;
    begin();
    sees();
    (void)hook_rig_starts(DELTA_ADDED, "u1");
    keep();
    assert_true(has(" open"));
    begin();
    sees();
    hook_rig_pass(DELTA_ADDED, "u1");
    keep();
    assert_false(has(" open"));
}

static void test_other_settings_renew_once(void **state)
{
    (void)state;
    handle();
    rig.params.settings = settings_of(2, 2);
    begin();
    begin(); /* the process before was killed before the run started */
    expect_renewed();
    expect_quiet();
}

/* The next process runs the hook only because the process before it has not. */
static void test_a_renewal_survives_a_process_that_has_not_run_it(void **state)
{
    static const enum hook_mode modes[] = {HOOK_OBJECT, HOOK_BATCH, HOOK_SNAPSHOT};

    (void)state;
    handle();
    for (size_t i = 0; i < ARRAY_LEN(modes); i++) {
        rig.rules.mode = modes[i]; /* the effect is a setting */
        rig.params.settings.now.lo++;
        begin();
        begin();
        sees();
        struct run *run = hook_rig_next();
        assert_int_equal(run->reason, RUN_RENEW);
        keep();
        begin();
        sees();
        run = hook_rig_next();
        assert_int_equal(run->reason, RUN_RENEW);
        hook_rig_end(run, 0);
        keep();
        assert_false(has("owed [renewal]"));
        expect_quiet();
    }
}

static void test_a_boot_renews_effects_that_end_with_it(void **state)
{
    (void)state;
    handle();
    rig.boot_id = "boot-2";
    expect_quiet();
    rig.params.effect = PERSIST_EFFECT_BOOT; /* in truth the settings would differ, too */
    expect_quiet();
    rig.boot_id = "boot-3";
    begin();
    expect_renewed();
    expect_quiet();
}

static void test_each_process_renews_effects_that_end_with_it(void **state)
{
    (void)state;
    rig.params.effect = PERSIST_EFFECT_PROCESS;
    handle();
    for (int i = 0; i < 2; i++) {
        begin();
        expect_renewed();
    }
}

static void takes_programs(uint64_t now, uint64_t former)
{
    const struct digest_forms d = {.now = {.lo = now}, .former = {.lo = former}};

    persist_hook_program(&rig.mh, &d, &rig.state.batch);
}

static void takes_program(uint64_t n)
{
    takes_programs(n, n);
}

static void test_another_program_renews_and_the_first_one_does_not(void **state)
{
    (void)state;
    begin();
    takes_program(1);
    sees();
    hook_rig_pass(DELTA_ADDED, "u1");
    keep();
    begin(); /* the program of the hook could not be read this time */
    sees();
    hook_rig_nothing();
    keep();
    begin();
    takes_program(1);
    keep();
    assert_true(has("program [] 00000000000000000000000000000001"));
    sees();
    hook_rig_nothing();
    begin();
    takes_program(2);
    keep();
    begin(); /* the process is killed before the run starts */
    takes_program(2);
    keep();
    expect_renewed();
    expect_quiet();
}

/* The rows that a release before has left of a hook whose object it has handled. */
static void left_by_the_release_before(struct digest_forms settings, uint64_t program)
{
    struct buf text = {0};

    rig.params.settings = settings;
    handle();
    if (program > 0)
        takes_program(program);
    batch_drop_fact(&rig.state.batch, rig.mh.item, ROW_RENEWING, str_of(NULL, 0));
    batch_drop_fact(&rig.state.batch, rig.mh.item, ROW_CONTENT, str_of(NULL, 0));
    persist_row_put_digest(&text, settings.former);
    batch_fact(
        &rig.state.batch,
        &(struct row_fact){.item = rig.mh.item, .what = ROW_SETTINGS, .value = buf_str(&text)});
    buf_free(&text);
    state_rig_apply(&rig.state);
}

static void test_settings_that_do_not_renew_may_change(void **state)
{
    (void)state;
    handle();
    rig.params.settings = settings_of(1, 2);
    expect_quiet();
    rig.params.settings = settings_of(1, 3);
    expect_quiet();
}

static void test_an_upgrade_renews_nothing(void **state)
{
    (void)state;
    left_by_the_release_before(settings_of(1, 1), 7);
    assert_false(has("renewing"));
    begin();
    takes_programs(8, 7); /* with another list of files the new digest is another one */
    sees();
    hook_rig_nothing();
    keep();
    assert_true(has("renewing") && has("content"));
    rig.params.settings = settings_of(1, 2);
    begin();
    takes_programs(8, 9); /* a program of the system was updated */
    sees();
    hook_rig_nothing();
    keep();
    begin();
    takes_programs(10, 9);
    expect_renewed();
}

/* Nobody can tell which setting it was. */
static void test_a_change_together_with_the_upgrade_renews(void **state)
{
    (void)state;
    left_by_the_release_before(settings_of(1, 1), 0);
    rig.params.settings = settings_of(1, 2);
    begin();
    expect_renewed();
    expect_quiet();
}

static void test_a_program_that_changes_with_the_upgrade_renews_if_any_counts(void **state)
{
    (void)state;
    left_by_the_release_before(settings_of(1, 1), 7);
    begin();
    takes_programs(8, 9);
    expect_renewed();
}

static void test_a_program_of_the_system_that_changes_with_the_upgrade_does_not_renew(void **state)
{
    (void)state;
    left_by_the_release_before(settings_of(1, 1), 7);
    begin();
    const struct digest_forms none = {.now = digest_of("", 0), .former = {.lo = 9}};
    persist_hook_program(&rig.mh, &none, &rig.state.batch);
    sees();
    hook_rig_nothing();
}

/* The release before has run since, with other settings, and then the first settings came back: the
 * effects of the hook with the other ones are not those that it would have now. */
static void test_digests_from_before_a_downgrade_do_not_count(void **state)
{
    (void)state;
    handle();
    takes_programs(1, 1);
    keep();
    assert_true(has("fact 1 settings [] 00000000000000020000000000000001"));
    struct buf text = {0};
    persist_row_put_digest(&text, settings_of(2, 2).former);
    batch_fact(
        &rig.state.batch,
        &(struct row_fact){.item = rig.mh.item, .what = ROW_SETTINGS, .value = buf_str(&text)});
    state_rig_apply(&rig.state);
    buf_free(&text);
    begin();
    expect_renewed();
    expect_quiet();
}

static void test_a_pause_lasts(void **state)
{
    (void)state;
    begin();
    hook_pause(rig.mh.hook, true);
    assert_true(persist_hook_put(&rig.mh, &rig.state.batch)); /* it must be on disk at once */
    keep();
    assert_true(has("fact 1 paused"));
    begin();
    assert_true(rig.mh.hook->paused);
    sees();
    hook_rig_nothing();
    hook_pause(rig.mh.hook, false);
    keep();
    assert_false(has("fact 1 paused"));
    begin();
    assert_false(rig.mh.hook->paused);
}

static void test_a_snapshot_that_is_due_is_made(void **state)
{
    (void)state;
    rig.rules.mode = HOOK_SNAPSHOT;
    begin();
    hook_rig_sync(0);
    (void)hook_rig_next();
    keep();
    assert_true(has("fact 1 owed [snapshot]"));
    begin(); /* the process is killed during the run */
    hook_rig_sync(0);
    hook_rig_end(hook_rig_next(), 0);
    keep();
    assert_false(has("owed"));
    begin();
    hook_rig_sync(0);
    hook_rig_nothing();
}

static void test_a_hook_that_is_not_persisted_is_new(void **state)
{
    (void)state;
    handle();
    rig.bytes = PERSIST_NONE;
    for (int i = 0; i < 2; i++) {
        begin();
        assert_false(has("mark"));
        assert_false(has("seen"));
        sees();
        struct run *run = hook_rig_starts(DELTA_ADDED, "u1");
        assert_int_equal(run->reason, RUN_EXISTING);
        hook_rig_end(run, 0);
        keep();
        assert_false(has("mark"));
    }
}

/* The object is gone, and no run has had its end. */
static void test_the_last_state_of_a_deleted_object_leaves_the_disk(void **state)
{
    (void)state;
    handle();
    hook_pause(rig.mh.hook, true);
    hook_rig_change(0, DELTA_DELETED, "ns/n", "u1", "\"a\":1");
    keep();
    assert_true(has("ended"));
    assert_true(has("{\"kind\":\"ConfigMap\""));
    rig.bytes = PERSIST_DIGEST;
    begin();
    assert_true(has("ended"));
    assert_false(has("{\"kind\""));
    hook_pause(rig.mh.hook, false);
    hook_rig_sync(0);
    hook_rig_pass(DELTA_DELETED, "u1");
    keep();
    assert_false(has("mark"));
}

static void test_another_clusters_deliveries_are_forgotten(void **state)
{
    (void)state;
    handle();
    begin();
    hooks_forget(&hook_rig.hooks, rig.mh.hook, 0);
    persist_hook_forget(&rig.mh, 0, &rig.state.batch);
    keep();
    assert_false(has("mark"));
    assert_false(has("seen"));
    hook_rig_sync(0);
    hook_rig_nothing(); /* the object does not exist in this cluster, and no end of it is due */
}

static void test_a_file_that_begins_anew_gets_all(void **state)
{
    enum loader_found found;

    (void)state;
    handle();
    takes_program(1);
    hook_pause(rig.mh.hook, true);
    keep();
    for (int i = 0; i < 2; i++) {
        char *before = state_rig_load(&rig.state, &found);
        struct batch *b = &rig.state.batch;

        batch_reset(b);
        ids_put_all(rig.ids, b);
        persist_hook_lost(&rig.mh, b);
        keep();
        state_rig_expect(&rig.state, before);
        free(before);
        begin();
    }
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, clean_up)
    const struct CMUnitTest tests[] = {
        TEST(test_a_handled_object_is_quiet),
        TEST(test_only_changed_rows_are_put),
        TEST(test_a_run_that_was_cut_off_runs_again),
        TEST(test_other_settings_renew_once),
        TEST(test_a_renewal_survives_a_process_that_has_not_run_it),
        TEST(test_a_boot_renews_effects_that_end_with_it),
        TEST(test_each_process_renews_effects_that_end_with_it),
        TEST(test_another_program_renews_and_the_first_one_does_not),
        TEST(test_settings_that_do_not_renew_may_change),
        TEST(test_an_upgrade_renews_nothing),
        TEST(test_a_change_together_with_the_upgrade_renews),
        TEST(test_a_program_that_changes_with_the_upgrade_renews_if_any_counts),
        TEST(test_a_program_of_the_system_that_changes_with_the_upgrade_does_not_renew),
        TEST(test_digests_from_before_a_downgrade_do_not_count),
        TEST(test_a_pause_lasts),
        TEST(test_a_snapshot_that_is_due_is_made),
        TEST(test_a_hook_that_is_not_persisted_is_new),
        TEST(test_the_last_state_of_a_deleted_object_leaves_the_disk),
        TEST(test_another_clusters_deliveries_are_forgotten),
        TEST(test_a_file_that_begins_anew_gets_all),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
