/* SPDX-License-Identifier: Apache-2.0 */
/* cache/store: the deltas of lists and events, case by case (docs/kubernetes-protocol.md
 * "Differences of a list", docs/design.md "Events", "Order"). */
#include "objects.h"

#include <stdlib.h>
#include <string.h>

#include "cache/store.h"

static struct store *store;
static struct buf heard;

/* "+a:uid:rv ~... -... x...": added, modified, deleted, left; "?" = final state unknown; "(...)" =
 * a cause other than relist. */
static void on_delta(void *arg, const struct delta *d)
{
    (void)arg;
    buf_printf(&heard, "%s%c%.*s:%.*s:%.*s%s", heard.len > 0 ? " " : "", "+~-x"[d->type],
               STR_ARG(object_key(d->object)), STR_ARG(object_uid(d->object)),
               STR_ARG(object_rv(d->object)), d -> final_state_unknown ? "?" : "");
    if (d->cause != CAUSE_RELIST)
        buf_printf(&heard, "(%s)", delta_cause_name(d->cause));
}

static int set_up(void **state)
{
    (void)state;
    store = store_create(2, on_delta, NULL);
    return 0;
}

static int clean_up(void **state)
{
    (void)state;
    store_destroy(&store);
    store_destroy(&store);
    assert_null(store);
    buf_free(&heard);
    return 0;
}

static void hears(const char *want)
{
    assert_string_equal(buf_cstr(&heard), want);
    buf_clear(&heard);
}

/* ---- Inputs; 'of' is "key:uid:rv". */

static struct object *object_of(const char *of)
{
    char text[64];
    char *save = NULL;

    assert_true(strlen(of) < sizeof(text));
    memcpy(text, of, strlen(of) + 1);
    const char *key = strtok_r(text, ":", &save);
    const char *uid = strtok_r(NULL, ":", &save);
    return objects_make(key, uid, strtok_r(NULL, ":", &save), NULL);
}

enum how { LISTED, EXISTING, NOT_SELECTED, APPLIED, LEFT, REMOVED };

static void give(enum how how, const char *of)
{
    struct object *o = object_of(of);

    switch (how) {
    case LISTED:
        store_stage(store, 0, o);
        break;
    case EXISTING:
        store_stage_existing(store, 0, o);
        break;
    case NOT_SELECTED:
        store_stage_left(store, 0, o);
        break;
    case APPLIED:
        store_apply(store, 0, o, (struct now){1, 1});
        break;
    case LEFT:
        store_leave(store, o, (struct now){1, 1});
        break;
    case REMOVED:
        store_remove(store, o, (struct now){1, 1});
        break;
    }
    object_unref(&o);
}

static void commit(void)
{
    store_commit(store, 0, CAUSE_RELIST, (struct now){1, 1});
}

/* a and b exist. */
static void fill(void)
{
    store_begin(store, 0);
    give(LISTED, "a:u1:3");
    give(LISTED, "b:u2:4");
    commit();
    hears("+a:u1:3 +b:u2:4");
    store_begin(store, 0);
}

/* ---- Lists. */

static void test_s34_deleted_comes_first_then_the_order_of_the_list(void **state)
{
    (void)state;
    fill();
    give(LISTED, "c:u3:9");
    give(LISTED, "a:u1:8");
    commit();
    hears("-b:u2:4? +c:u3:9 ~a:u1:8");
}

static void test_s36_unchanged_objects_have_no_delta(void **state)
{
    (void)state;
    fill();
    give(LISTED, "b:u2:4");
    give(LISTED, "a:u1:3");
    commit();
    hears("");
}

static void test_s37_another_uid_is_deleted_and_added(void **state)
{
    (void)state;
    fill();
    give(LISTED, "a:u9:3");
    give(LISTED, "b:u2:4");
    assert_int_equal(store_would_delete(store, 0), 1);
    commit();
    hears("-a:u1:3? +a:u9:3");
}

static void test_deltas_have_the_cause_of_the_list(void **state)
{
    (void)state;
    fill();
    give(LISTED, "a:u1:5");
    store_commit(store, 0, CAUSE_AUDIT, (struct now){1, 1});
    hears("-b:u2:4?(audit) ~a:u1:5(audit)");
}

static void test_a_list_replaces_its_own_scope_alone(void **state)
{
    struct object *other = objects_make("z", "u7", "7", NULL);

    (void)state;
    store_begin(store, 1);
    store_stage(store, 1, other);
    store_commit(store, 1, CAUSE_RELIST, (struct now){1, 1});
    object_unref(&other);
    hears("+z:u7:7");
    fill();
    assert_int_equal(store_would_delete(store, 0), 2);
    commit();
    assert_int_equal(store_count(store), 1);
    assert_non_null(store_get(store, str_c("z")));
}

/* ---- LEFT: no longer selected by match. */

static void test_an_item_that_is_not_selected_left(void **state)
{
    (void)state;
    fill();
    give(NOT_SELECTED, "a:u1:9");
    give(LISTED, "b:u2:4");
    assert_int_equal(store_would_delete(store, 0), 0);
    commit();
    hears("xa:u1:3");
    assert_null(store_get(store, str_c("a")));
}

static void test_an_item_that_is_not_selected_and_not_stored_is_nothing(void **state)
{
    (void)state;
    fill();
    give(LISTED, "a:u1:3");
    give(LISTED, "b:u2:4");
    give(NOT_SELECTED, "c:u3:9");
    commit();
    hears("");
    assert_int_equal(store_count(store), 2);
}

static void test_another_incarnation_that_is_not_selected_is_a_delete(void **state)
{
    (void)state;
    fill();
    give(NOT_SELECTED, "a:u9:9");
    give(LISTED, "b:u2:4");
    assert_int_equal(store_would_delete(store, 0), 1);
    commit();
    hears("-a:u1:3?");
}

static void test_the_later_item_of_a_list_counts(void **state)
{
    (void)state;
    fill();
    give(NOT_SELECTED, "a:u1:8");
    give(LISTED, "a:u1:9");
    give(LISTED, "b:u2:8");
    give(NOT_SELECTED, "b:u2:9");
    commit();
    hears("xb:u2:4 ~a:u1:9");
}

static void test_left_in_a_list_that_failed_is_forgotten(void **state)
{
    (void)state;
    fill();
    give(NOT_SELECTED, "a:u1:9");
    store_abort(store, 0);
    store_begin(store, 0);
    give(LISTED, "b:u2:4");
    commit();
    hears("-a:u1:3?");
}

static void test_an_event_that_is_not_selected_left_with_the_last_state_that_was(void **state)
{
    (void)state;
    fill();
    give(LEFT, "a:u1:9");
    give(LEFT, "a:u1:10"); /* the object is not stored any more */
    hears("xa:u1:3(watch)");
    assert_int_equal(store_count(store), 1);
}

static void test_an_event_of_another_incarnation_that_is_not_selected_is_a_delete(void **state)
{
    (void)state;
    fill();
    give(LEFT, "a:u9:9");
    hears("-a:u1:3?(watch)");
}

/* ---- Initial events of a streaming list. */

static void test_s67_an_initial_event_that_was_deleted_again_is_not_listed(void **state)
{
    (void)state;
    fill();
    give(LISTED, "a:u1:8");
    give(LISTED, "b:u2:4");
    give(LISTED, "c:u3:9");
    store_unstage(store, 0, str_c("c"));
    store_unstage(store, 0, str_c("a"));
    store_unstage(store, 0, str_c("unknown"));
    assert_int_equal(store_would_delete(store, 0), 1);
    commit();
    hears("-a:u1:3?");
}

static void test_an_object_that_left_and_was_deleted_then_is_a_delete(void **state)
{
    (void)state;
    fill();
    give(LISTED, "b:u2:4");
    give(NOT_SELECTED, "a:u1:8");
    store_unstage(store, 0, str_c("a"));
    assert_int_equal(store_would_delete(store, 0), 1);
    commit();
    hears("-a:u1:3?");
}

/* ---- Events. */

static void test_s28_s29_deletes_show_the_last_state_and_unknown_ones_nothing(void **state)
{
    (void)state;
    fill();
    give(REMOVED, "a:u1:9");
    give(REMOVED, "a:u1:10");
    hears("-a:u1:9(watch)");
    give(REMOVED, "b:u9:11"); /* of another incarnation: the known one is gone, too */
    hears("-b:u2:4?(watch)");
}

static void test_an_event_that_is_known_changes_nothing(void **state)
{
    (void)state;
    fill();
    give(APPLIED, "a:u1:3");
    hears("");
    give(APPLIED, "a:u1:5");
    give(APPLIED, "a:u8:5");
    hears("~a:u1:5(watch) -a:u1:5?(watch) +a:u8:5(watch)");
}

/* ---- Items without a version, items too big, walks. */

static void relist_without_rv(const char *data)
{
    struct object *o = object_create(&(struct object_parts){.name = str_c("a"),
                                                            .uid = str_c("u"),
                                                            .body = str_c(data),
                                                            .rv_at = SIZE_MAX,
                                                            .generation_at = SIZE_MAX});

    store_begin(store, 0);
    store_stage(store, 0, o);
    commit();
    object_unref(&o);
}

static void test_items_without_a_version_are_compared_by_their_bytes(void **state)
{
    (void)state;
    relist_without_rv("{\"a\":1}");
    relist_without_rv("{\"a\":1}");
    hears("+a:u:");
    relist_without_rv("{\"a\":2}");
    hears("~a:u:");
}

/* Objects of which an earlier process has left no more than the name. */
static void load_bare(const char *uid, const char *rv)
{
    struct object *o = object_create(&(struct object_parts){.name = str_c("a"),
                                                            .uid = str_c(uid),
                                                            .rv = str_c(rv),
                                                            .rv_at = SIZE_MAX,
                                                            .generation_at = SIZE_MAX});

    store_load(store, 0, o);
    object_unref(&o);
}

static void test_a_bare_object_is_replaced_whatever_its_version(void **state)
{
    (void)state;
    load_bare("u", "3");
    hears("");
    relist_without_rv("{\"a\":1}");
    hears("~a:u:");
    load_bare("u1", "3");
    store_begin(store, 0);
    give(LISTED, "a:u1:3");
    commit();
    hears("~a:u1:3");
    load_bare("u1", "4");
    give(APPLIED, "a:u1:4");
    hears("~a:u1:4(watch)");
}

static void keep(const char *key)
{
    store_stage_kept(store, 0,
                     &(struct unusable){.key = str_c(key), .name = str_c(key), .why = "it is odd"});
}

static void test_a_kept_item_that_is_not_stored_adds_nothing(void **state)
{
    (void)state;
    store_begin(store, 0);
    keep("a/b");
    commit();
    assert_int_equal(store_count(store), 0);
    hears("");
}

static void test_an_item_named_first_small_then_too_big_is_not_lost(void **state)
{
    (void)state;
    store_begin(store, 0);
    give(LISTED, "a:u:1");
    keep("a");
    commit();
    assert_int_equal(store_count(store), 1);
}

static void test_an_abort_without_a_list_is_fine(void **state)
{
    (void)state;
    store_abort(store, 0);
    store_begin(store, 0);
    give(LISTED, "a:u:1");
    store_abort(store, 0);
    store_abort(store, 0);
    assert_null(store_get(store, str_c("a")));
}

static void count_one(void *arg, struct object *o)
{
    size_t *n = arg;

    assert_non_null(o);
    ++*n;
}

static void test_staged_objects_are_seen_by_no_walk(void **state)
{
    size_t n = 0;

    (void)state;
    store_begin(store, 0);
    give(LISTED, "a:u:1");
    store_each(store, count_one, &n);
    assert_int_equal(n, 0);
    commit();
    store_each(store, count_one, &n);
    assert_int_equal(n, 1);
}

/* ---- Objects that an earlier process has left. */

static void load(size_t scope, const char *of)
{
    struct object *o = object_of(of);

    store_load(store, scope, o);
    object_unref(&o);
}

static void test_loaded_objects_have_no_delta_and_are_compared(void **state)
{
    (void)state;
    load(0, "a:u1:3");
    load(0, "b:u2:4");
    load(0, "b:u2:5");
    assert_int_equal(store_count(store), 2);
    store_begin(store, 0);
    give(LISTED, "b:u2:5");
    give(LISTED, "c:u3:6");
    assert_int_equal(store_would_delete(store, 0), 1);
    store_commit(store, 0, CAUSE_RESTART, (struct now){1, 1});
    hears("-a:u1:3?(restart) +c:u3:6(restart)");
}

static bool is_key(void *arg, struct object *o)
{
    return str_is(object_key(o), arg);
}

static void count(void *arg, struct object *o)
{
    (void)o;
    ++*(size_t *)arg;
}

/* An object that exists has LEFT. An object that may exist has LEFT if it is not selected any more,
 * and the guard counts it as a delete. */
static void test_a_loaded_object_that_a_list_lacks_is_left_only_if_it_exists(void **state)
{
    static char guessed[] = "c";
    size_t unknown = 0;

    (void)state;
    load(0, "a:u1:3");
    load(0, "b:u2:4");
    load(0, "c:u3:5");
    load(0, "d:u4:6");
    load(0, "e:u5:6");
    store_begin(store, 0);
    give(LISTED, "e:u5:6");
    give(EXISTING, "a:u1:9");
    give(EXISTING, "b:u9:9"); /* another incarnation by now */
    give(EXISTING, "e:u5:6"); /* listed */
    give(EXISTING, "z:u8:9"); /* not stored */
    assert_int_equal(store_would_delete(store, 0), 3);
    store_each_vanishing(store, 0, count, &unknown);
    assert_int_equal(unknown, 3);
    store_stage_guess(store, 0, is_key, guessed);
    assert_int_equal(store_would_delete(store, 0), 3);
    store_commit(store, 0, CAUSE_CONFIG, (struct now){1, 1});
    hears("xa:u1:3(config) -b:u2:4?(config) xc:u3:5(config) -d:u4:6?(config)");
    store_begin(store, 0); /* the next list is one like any other */
    assert_int_equal(store_would_delete(store, 0), 1);
    commit();
    hears("-e:u5:6?");
}

static void test_an_object_that_another_list_names_moves_to_its_scope(void **state)
{
    (void)state;
    load(1, "a:u1:3");
    load(1, "b:u2:4");
    store_begin(store, 0);
    give(LISTED, "a:u1:3");
    commit();
    hears("");
    store_begin(store, 1);
    assert_int_equal(store_would_delete(store, 1), 1);
    store_commit(store, 1, CAUSE_RELIST, (struct now){1, 1});
    hears("-b:u2:4?");
    store_unload(store, 1);
    assert_int_equal(store_count(store), 1);
    store_begin(store, 0);
    assert_int_equal(store_would_delete(store, 0), 1);
    commit();
    hears("-a:u1:3?");
}

static void test_a_scope_is_unloaded_with_its_list(void **state)
{
    (void)state;
    load(0, "a:u1:3");
    load(1, "z:u7:7");
    store_begin(store, 0);
    give(LISTED, "a:u1:4");
    give(LISTED, "c:u3:4");
    store_unload(store, 0);
    hears("");
    assert_int_equal(store_count(store), 1);
    assert_int_equal(store_bytes(store), object_bytes(store_get(store, str_c("z"))));
    assert_null(store_get(store, str_c("a")));
    give(APPLIED, "a:u1:4");
    hears("+a:u1:4(watch)");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, clean_up)
    const struct CMUnitTest tests[] = {
        TEST(test_s34_deleted_comes_first_then_the_order_of_the_list),
        TEST(test_s36_unchanged_objects_have_no_delta),
        TEST(test_s37_another_uid_is_deleted_and_added),
        TEST(test_deltas_have_the_cause_of_the_list),
        TEST(test_a_list_replaces_its_own_scope_alone),
        TEST(test_an_item_that_is_not_selected_left),
        TEST(test_an_item_that_is_not_selected_and_not_stored_is_nothing),
        TEST(test_another_incarnation_that_is_not_selected_is_a_delete),
        TEST(test_the_later_item_of_a_list_counts),
        TEST(test_left_in_a_list_that_failed_is_forgotten),
        TEST(test_an_event_that_is_not_selected_left_with_the_last_state_that_was),
        TEST(test_an_event_of_another_incarnation_that_is_not_selected_is_a_delete),
        TEST(test_s67_an_initial_event_that_was_deleted_again_is_not_listed),
        TEST(test_an_object_that_left_and_was_deleted_then_is_a_delete),
        TEST(test_s28_s29_deletes_show_the_last_state_and_unknown_ones_nothing),
        TEST(test_an_event_that_is_known_changes_nothing),
        TEST(test_items_without_a_version_are_compared_by_their_bytes),
        TEST(test_a_bare_object_is_replaced_whatever_its_version),
        TEST(test_a_kept_item_that_is_not_stored_adds_nothing),
        TEST(test_an_item_named_first_small_then_too_big_is_not_lost),
        TEST(test_an_abort_without_a_list_is_fine),
        TEST(test_staged_objects_are_seen_by_no_walk),
        TEST(test_loaded_objects_have_no_delta_and_are_compared),
        TEST(test_a_loaded_object_that_a_list_lacks_is_left_only_if_it_exists),
        TEST(test_an_object_that_another_list_names_moves_to_its_scope),
        TEST(test_a_scope_is_unloaded_with_its_list),
    };
#undef TEST

    return cmocka_run_group_tests(tests, NULL, NULL);
}
