/* SPDX-License-Identifier: Apache-2.0 */
/* persist/persist: the state that the next process gets, and the rows that go into a file that begins
 * anew. */
#include "persist/persist.h"

#include "persist_rig.h"

static void test_a_state_without_identity_is_dropped(void **state)
{
    (void)state;
    persist_rig_begin();
    persist_rig_lists_all();
    hook_rig_pass(DELTA_ADDED, "u0");
    hook_rig_pass(DELTA_ADDED, "u2");
    persist_rig_expect_good(1, "Y");
    persist_rig_commit();
    assert_true(persist_rig_has("u0") && persist_rig_has("u1") && persist_rig_has("u2"));
    persist_rig_begin();
    assert_true(persist_rig_objects(0) == 0 && persist_rig_objects(1) == 0 &&
                persist_rig_objects(2) == 1);
    assert_false(persist_rig_has("u0") || persist_rig_has("u1"));
    assert_true(persist_rig_has("u2"));
    assert_int_equal(persist_rig.p->clusters[0].state, PERSIST_CLUSTER_EMPTY);
}

/* A first process, of whose clusters only this one has answered. The next one does not have h1, which is
 * of the second cluster. */
static void begin_without_h1(size_t answered)
{
    persist_rig_begin();
    persist_rig_lists_all();
    hook_rig_pass(DELTA_ADDED, "u0");
    hook_rig_pass(DELTA_ADDED, "u2");
    persist_rig_expect_good(answered, "X");
    persist_rig_commit();
    assert_true(persist_rig_has(" h1"));
    persist_rig.hook_count = 1;
    persist_rig_begin();
}

static void test_what_is_not_configured_goes_with_a_state_without_identity(void **state)
{
    (void)state;
    begin_without_h1(0);
    assert_false(persist_rig_has(" h1"));
}

static void test_what_is_not_configured_stays_if_its_cluster_has_an_identity(void **state)
{
    (void)state;
    begin_without_h1(1);
    assert_true(persist_rig_has(" h1"));
    assert_false(persist_rig_has("u0"));
}

/* The rows of the watch were dropped, as the file was too large. The object is known to be gone, so
 * no list has to show that. */
static void test_an_incarnation_that_has_ended_is_not_loaded_again(void **state)
{
    (void)state;
    persist_rig_knows("X", "Y");
    uint64_t scope = persist_rig.p->watches[0]->scopes[0].item;
    hook_rig_change(0, DELTA_DELETED, "ns/n", "u0", NULL);
    batch_clear_scope(&persist_rig.state.batch, scope);
    batch_drop_fact(&persist_rig.state.batch, scope, ROW_VERSION, str_c(""));
    persist_rig_commit();
    assert_true(persist_rig_has("ended"));
    persist_rig_begin();
    assert_int_equal(persist_rig_objects(0), 0);
    assert_int_equal(persist_rig.p->watches[0]->state, PERSIST_WATCH_EMPTY);
    hook_rig_sync(0);
    hook_rig_pass(DELTA_DELETED, "u0");
    hook_rig_nothing();
}

static void test_a_file_that_begins_anew_has_the_identities(void **state)
{
    (void)state;
    persist_rig_begin();
    persist_rig_expect_good(1, "");
    persist_rig_commit();
    batch_reset(&persist_rig.state.batch);
    persist_lost(persist_rig.p, persist_rig.now, &persist_rig.state.batch);
    persist_rig_commit();
    /* The second cluster was asked and cannot tell; the first one was not asked. */
    assert_true(persist_rig_has("fact 12 identity [] \n"));
    assert_false(persist_rig_has("fact 11 identity"));
    persist_rig_expect_good(0, "X");
    batch_reset(&persist_rig.state.batch);
    persist_lost(persist_rig.p, persist_rig.now, &persist_rig.state.batch);
    persist_rig_commit();
    assert_true(persist_rig_has("fact 11 identity [] uid:X\n"));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, persist_rig_set_up, persist_rig_clean_up)
    const struct CMUnitTest tests[] = {
        TEST(test_a_state_without_identity_is_dropped),
        TEST(test_what_is_not_configured_goes_with_a_state_without_identity),
        TEST(test_what_is_not_configured_stays_if_its_cluster_has_an_identity),
        TEST(test_an_incarnation_that_has_ended_is_not_loaded_again),
        TEST(test_a_file_that_begins_anew_has_the_identities),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
