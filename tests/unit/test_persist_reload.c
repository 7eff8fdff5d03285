/* SPDX-License-Identifier: Apache-2.0 */
/* The rows of hooks that a reload adds, drops and replaces. */
#include "persist_rig.h"

#include "hook/reload.h"

static const struct digest_forms settings = {.now = {.lo = 1}, .former = {.hi = 1}};
static const struct digest_forms other_settings = {.now = {.lo = 2}, .former = {.hi = 2}};

static struct now now(void)
{
    return (struct now){.ms = hook_rig.now, .wall_ns = persist_rig.now.wall_ns};
}

static struct hook_params params_of(const char *name, const struct hook_source *sources, size_t n)
{
    struct hook_params p = {
        .name = name,
        .sources = sources,
        .source_count = n,
        .work_queue = {.concurrency = 8, .retry = {HOOK_RIG_INITIAL_MS, 8000, 2, 0}},
    };

    assert_int_equal(filter_init(&p.filter, HOOK_RIG_ALL, NULL, 0, NULL), ERR_OK);
    return p;
}

static struct hook_source source(size_t watch)
{
    return (struct hook_source){.name = watch_name(hook_rig.watches[watch]),
                                .of.watch = hook_rig.watches[watch]};
}

static struct hook *h0(void)
{
    return hooks_find(&hook_rig.hooks, str_c("h0"));
}

static void drop(void)
{
    struct hook *h = h0();

    hook_retire(h);
    persist_drop_hook(persist_rig.p, h, persist_rig.now, &persist_rig.state.batch);
    persist_rig_commit();
}

static struct hook *add(struct digest_forms is)
{
    const struct hook_source of = source(0);
    struct hook_params p = params_of("h0", &of, 1);
    const struct persist_hook_params params = {.hook = hooks_add(&hook_rig.hooks, &p),
                                               .settings = is};

    persist_add_hook(persist_rig.p, &params, persist_rig.now, &persist_rig.state.batch);
    hook_attach(params.hook, now());
    persist_rig_commit();
    return params.hook;
}

static struct hook *replace(const struct hook_source *sources, size_t n, struct digest_forms is)
{
    struct hook_params p = params_of("h0", sources, n);
    const struct persist_hook_params params = {.settings = is};

    hook_retire(h0());
    struct hook *h = persist_replace_hook(persist_rig.p, h0(), &p, &params, persist_rig.now,
                                          &persist_rig.state.batch);
    hook_attach(h, now());
    persist_rig_commit();
    return h;
}

/* The hook knows that it has handled this incarnation. */
static void expect_handled(const char *uid)
{
    const struct delivery *dl = delivery_queue_find(&h0()->queue, 0, str_c("ns/n"));

    assert_non_null(dl);
    assert_int_equal(dl->state, DELIVERED_HANDLED);
    assert_true(str_is(known_uid(&dl->delivered), uid));
}

/* A process whose hooks have handled all objects. */
static void begin(void)
{
    persist_rig_knows("x", "y");
    hook_rig_nothing();
}

static void test_a_hook_that_comes_back_runs_for_what_has_changed(void **state)
{
    (void)state;
    begin();
    drop();
    assert_null(h0());
    hook_rig_change(0, DELTA_DELETED, "ns/n", "u0", NULL);
    add(settings);
    hook_rig_nothing(); /* its watch still has the object */
    hook_rig_change(0, DELTA_DELETED, "ns/n", "u0", NULL);
    hook_rig_pass(DELTA_DELETED, "u0");
    hook_rig_nothing();
}

static void test_a_hook_that_an_earlier_process_had_comes_back(void **state)
{
    (void)state;
    begin();
    persist_rig.hook_count = 0;
    persist_rig_begin();
    add(settings);
    expect_handled("u0");
}

static void test_a_hook_that_comes_back_with_other_settings_is_renewed(void **state)
{
    (void)state;
    begin();
    drop();
    add(other_settings);
    hook_rig_end(hook_rig_starts_as(DELTA_ADDED, "u0", RUN_RENEW, 1), 0);
    hook_rig_nothing();
}

static void test_the_next_process_knows_the_hook_that_was_dropped(void **state)
{
    (void)state;
    begin();
    drop();
    persist_rig_begin();
    expect_handled("u0");
}

static void test_a_replaced_hook_goes_on(void **state)
{
    (void)state;
    begin();
    const struct hook_source of = source(0);
    replace(&of, 1, settings);
    hook_rig_nothing();
    hook_rig_change(0, DELTA_DELETED, "ns/n", "u0", NULL);
    hook_rig_pass(DELTA_DELETED, "u0");
    hook_rig_nothing();
}

static void test_a_replaced_hook_with_other_settings_is_renewed_once(void **state)
{
    (void)state;
    begin();
    const struct hook_source of = source(0);
    replace(&of, 1, other_settings);
    hook_rig_end(hook_rig_starts_as(DELTA_ADDED, "u0", RUN_RENEW, 1), 0);
    hook_rig_nothing();
    replace(&of, 1, other_settings);
    hook_rig_nothing();
}

static void test_a_source_that_comes_back_has_its_records(void **state)
{
    (void)state;
    begin();
    const struct hook_source first = source(0);
    const struct hook_source second = source(1);
    replace(&second, 1, settings);
    hook_rig_pass(DELTA_ADDED, "u1");
    hook_rig_nothing();
    replace(&first, 1, settings);
    hook_rig_nothing();
}

/* The name of a source is one of another cluster now. */
static void forget(const char *source)
{
    persist_forget_source(persist_rig.p, source, &persist_rig.state.batch);
    persist_rig_commit();
}

static void test_a_replaced_hook_begins_anew_with_a_source_of_another_cluster(void **state)
{
    (void)state;
    begin();
    const struct hook_source of[] = {source(0), source(1)};
    replace(of, 2, settings);
    hook_rig_pass(DELTA_ADDED, "u1");
    hook_retire(h0());
    forget("w0");
    replace(of, 2, settings);
    hook_rig_pass(DELTA_ADDED, "u0"); /* and not u1, which is of the other source */
    hook_rig_nothing();
}

static void test_a_dropped_hook_begins_anew_with_a_source_of_another_cluster(void **state)
{
    (void)state;
    begin();
    drop();
    forget("w0");
    add(settings);
    hook_rig_pass(DELTA_ADDED, "u0");
    drop();
    forget("w0");
    persist_rig_begin();
    assert_null(delivery_queue_find(&h0()->queue, 0, str_c("ns/n")));
}

static void test_a_source_that_comes_back_from_another_cluster_has_no_records(void **state)
{
    (void)state;
    begin();
    const struct hook_source first = source(0);
    const struct hook_source second = source(1);
    replace(&second, 1, settings);
    hook_rig_pass(DELTA_ADDED, "u1");
    forget("w0");
    replace(&first, 1, settings);
    hook_rig_pass(DELTA_ADDED, "u0");
}

/* While neither is configured, its watch is made equal to one of another cluster. */
static void test_a_hook_whose_watch_joined_another_cluster_comes_back_without_records(void **state)
{
    (void)state;
    begin();
    persist_rig.hook_count = 0;
    persist_rig.cluster_of[0] = 1;
    persist_rig.merge = PERSIST_RIG_W2_W0;
    persist_rig_begin();
    persist_rig_expect_good(1, "y");
    add(settings);
    const struct delivery *dl = delivery_queue_find(&h0()->queue, 0, str_c("ns/n"));
    assert_true(dl == NULL || dl->state == DELIVERED_NOTHING);
    hook_rig_nothing(); /* no end is due */
}

/* Another cluster answers under this name. */
static void drop_unused(const char *cluster)
{
    persist_drop_unused(persist_rig.p, cluster, &persist_rig.state.batch);
    persist_rig_commit();
}

static void test_records_of_a_dropped_hook_do_not_outlive_its_cluster(void **state)
{
    (void)state;
    begin();
    drop();
    drop_unused("c");
    persist_rig_begin();
    assert_null(delivery_queue_find(&h0()->queue, 0, str_c("ns/n")));
}

static void test_records_of_a_source_that_a_hook_has_lost_do_not_outlive_its_cluster(void **state)
{
    (void)state;
    begin();
    const struct hook_source second = source(1);
    replace(&second, 1, settings);
    drop_unused("c");
    persist_rig_begin();
    assert_null(delivery_queue_find(&h0()->queue, 0, str_c("ns/n")));
}

static void test_records_of_a_dropped_hook_outlive_another_cluster(void **state)
{
    (void)state;
    begin();
    drop();
    drop_unused("d");
    add(settings);
    expect_handled("u0");
    drop();
    drop_unused("d");
    persist_rig_begin();
    expect_handled("u0");
}

static void test_records_of_a_source_that_a_hook_has_lost_outlive_another_cluster(void **state)
{
    (void)state;
    begin();
    const struct hook_source second = source(1);
    replace(&second, 1, settings);
    drop_unused("d");
    persist_rig_begin();
    expect_handled("u0");
}

/* A reload finds it as a restart does. */
static void test_a_gone_hook_with_files_is_paused_when_it_comes_back(void **state)
{
    (void)state;
    begin();
    strays_restore(h0(), &(struct files_seen){
                             .path = str_c("/o/ns-n"),
                             .source_name = str_c("w0"),
                             .key = str_c("ns/n"),
                             .digest = {1, 2}
    });
    hook_pause(h0(), true);
    persist_rig_commit();
    drop();
    drop_unused("c");
    assert_true(add(settings)->paused);
}

static void test_nothing_is_kept_in_memory_of_a_hook_that_a_person_has_forgotten(void **state)
{
    (void)state;
    begin();
    drop();
    gone_forget(gone_find(&persist_rig.p->gone, str_c("h0")), &hook_rig.hooks, false);
    persist_rig_commit();
    assert_int_equal(persist_rig.p->rest.fact_count, 0);
    assert_int_equal(persist_rig.p->rest.delivery_count, 0);
    add(settings);
    hook_rig_pass(DELTA_ADDED, "u0");
}

/* The hook has left a file, and its rows are not kept in memory any more: a person had it forgotten and
 * the file could not be removed, or the state was lost. */
static void test_a_hook_that_comes_back_has_the_file_that_it_has_left(void **state)
{
    (void)state;
    begin();
    drop();
    persist_lost(persist_rig.p, persist_rig.now, &persist_rig.state.batch);
    gone_add_file(gone_find(&persist_rig.p->gone, str_c("h0")), &(struct files_seen){
                                                                    .path = str_c("/o/ns-n"),
                                                                    .source = SIZE_MAX,
                                                                    .source_name = str_c("w0"),
                                                                    .key = str_c("ns/n"),
                                                                    .digest = {1, 2}
    });
    add(settings);
    assert_int_equal(h0()->strays.left, 1); /* the hook has no output now */
    assert_true(persist_rig_has("/o/ns-n"));
    persist_rig_begin();
    assert_int_equal(h0()->strays.left, 1);
}

static void test_a_state_that_is_lost_knows_no_dropped_hook(void **state)
{
    (void)state;
    begin();
    drop();
    persist_lost(persist_rig.p, persist_rig.now, &persist_rig.state.batch);
    persist_rig_commit();
    add(settings);
    hook_rig_pass(DELTA_ADDED, "u0");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, persist_rig_set_up, persist_rig_clean_up)
    const struct CMUnitTest tests[] = {
        TEST(test_a_hook_that_comes_back_runs_for_what_has_changed),
        TEST(test_a_hook_that_an_earlier_process_had_comes_back),
        TEST(test_a_hook_that_comes_back_with_other_settings_is_renewed),
        TEST(test_the_next_process_knows_the_hook_that_was_dropped),
        TEST(test_a_replaced_hook_goes_on),
        TEST(test_a_replaced_hook_with_other_settings_is_renewed_once),
        TEST(test_a_source_that_comes_back_has_its_records),
        TEST(test_a_replaced_hook_begins_anew_with_a_source_of_another_cluster),
        TEST(test_a_dropped_hook_begins_anew_with_a_source_of_another_cluster),
        TEST(test_a_source_that_comes_back_from_another_cluster_has_no_records),
        TEST(test_a_hook_whose_watch_joined_another_cluster_comes_back_without_records),
        TEST(test_records_of_a_dropped_hook_do_not_outlive_its_cluster),
        TEST(test_records_of_a_source_that_a_hook_has_lost_do_not_outlive_its_cluster),
        TEST(test_records_of_a_dropped_hook_outlive_another_cluster),
        TEST(test_records_of_a_source_that_a_hook_has_lost_outlive_another_cluster),
        TEST(test_a_gone_hook_with_files_is_paused_when_it_comes_back),
        TEST(test_nothing_is_kept_in_memory_of_a_hook_that_a_person_has_forgotten),
        TEST(test_a_hook_that_comes_back_has_the_file_that_it_has_left),
        TEST(test_a_state_that_is_lost_knows_no_dropped_hook),
    };
#undef TEST

    return cmocka_run_group_tests(tests, NULL, NULL);
}
