/* SPDX-License-Identifier: Apache-2.0 */
/* cache/audit: which differences count, which keys watches touched meanwhile, results. */
#include "objects.h"

#include <stdio.h>

#include "base/compiler.h"
#include "base/rng.h"
#include "cache/audit.h"
#include "campaign.h"

static void ignore_delta(void *arg, const struct delta *d)
{
    (void)arg;
    (void)d;
}

struct rig {
    struct store *store;
    struct audit *audit;
};

static struct rig make(void)
{
    struct rig r = {.store = store_create(1, ignore_delta, NULL)};

    r.audit = audit_create(r.store, 1);
    return r;
}

static void drop(struct rig *r)
{
    audit_destroy(&r->audit);
    store_destroy(&r->store);
}

static void put_stored(struct rig *r, const char *key, const char *uid, const char *rv)
{
    struct object *o = objects_make(key, uid, rv, NULL);

    store_apply(r->store, 0, o, (struct now){0});
    object_unref(&o);
}

static void put_listed(struct rig *r, const char *key, const char *uid, const char *rv)
{
    struct object *o = objects_make(key, uid, rv, NULL);

    audit_item(r->audit, 0, o);
    object_unref(&o);
}

/* The store changed the key, by an event of this version. */
static void touch_at(struct rig *r, const char *key, enum delta_type type, const char *rv)
{
    struct object *o = objects_make(key, "u", rv, NULL);

    audit_touched(r->audit, 0, &(struct delta){.type = type, .object = o});
    object_unref(&o);
}

/* The store changed the key, by an event whose version is not known. */
static void touch(struct rig *r, const char *key)
{
    touch_at(r, key, DELTA_LEFT, "1");
}

static const struct audit_result *finish(struct rig *r)
{
    audit_listed(r->audit);
    assert_int_equal(audit_state(r->audit), AUDIT_GRACE);
    audit_finish(r->audit, 6000);
    assert_int_equal(audit_state(r->audit), AUDIT_IDLE);
    return audit_result(r->audit);
}

static void assert_found(const struct audit_result *r, size_t i, const char *key, const char *what)
{
    assert_true(i < r->n);
    assert_string_equal(r->v[i].key, key);
    assert_string_equal(r->v[i].what, what);
}

static void test_an_audit_is_idle_and_empty_at_first(void **state)
{
    struct rig r = make();
    const struct audit_result *result = audit_result(r.audit);

    (void)state;
    assert_int_equal(audit_state(r.audit), AUDIT_IDLE);
    assert_int_equal(result->done_ms, 0);
    assert_int_equal(result->runs, 0);
    assert_int_equal(result->err->kind, ERR_OK);
    touch(&r, "a/x");
    assert_int_equal(audit_state(r.audit), AUDIT_IDLE);
    drop(&r);
    assert_null(r.audit);
    audit_destroy(&r.audit);
}

static void put_listed_like(struct rig *r, const char *key, const char *rv, const char *data)
{
    struct object *o = objects_make(key, "u1", rv, data);

    audit_item(r->audit, 0, o);
    object_unref(&o);
}

static void test_bytes_count_where_versions_are_in_doubt(void **state)
{
    struct rig r = make();

    (void)state;
    put_stored(&r, "a/x", "u1", "1");
    put_stored(&r, "a/y", "u1", "1");
    audit_begin(r.audit, false);
    put_listed_like(&r, "a/x", "1", "\"other\":\"data\"");
    put_listed_like(&r, "a/y", "1", NULL);
    assert_int_equal(finish(&r)->differences, 0);
    audit_begin(r.audit, false);
    audit_doubt(r.audit);
    put_listed_like(&r, "a/x", "1", "\"other\":\"data\"");
    put_listed_like(&r, "a/y", "1", NULL);
    assert_int_equal(finish(&r)->differences, 1);
    assert_found(audit_result(r.audit), 0, "a/x", "different");
    drop(&r);
}

static void test_equal_caches_have_no_difference(void **state)
{
    struct rig r = make();

    (void)state;
    put_stored(&r, "a/x", "u1", "5");
    put_stored(&r, "a/y", "u2", "6");
    audit_begin(r.audit, true);
    put_listed(&r, "a/y", "u2", "6");
    put_listed(&r, "a/x", "u1", "5");
    const struct audit_result *result = finish(&r);
    assert_int_equal(result->differences, 0);
    assert_int_equal(result->n, 0);
    assert_int_equal(result->compared, 2);
    assert_int_equal(result->done_ms, 6000);
    assert_int_equal(result->runs, 1);
    assert_true(result->applied);
    drop(&r);
}

static void test_differences_are_named_and_sorted(void **state)
{
    struct rig r = make();

    (void)state;
    put_stored(&r, "a/extra", "u1", "5");
    put_stored(&r, "a/rv", "u2", "6");
    put_stored(&r, "a/uid", "u3", "7");
    put_stored(&r, "a/same", "u5", "7");
    audit_begin(r.audit, false);
    put_listed(&r, "a/uid", "u4", "7");
    put_listed(&r, "a/rv", "u2", "10");
    put_listed(&r, "a/missing", "u9", "9");
    put_listed(&r, "a/same", "u5", "7");
    const struct audit_result *result = finish(&r);
    assert_int_equal(result->differences, 4);
    assert_int_equal(result->compared, 5);
    assert_false(result->applied);
    assert_int_equal(result->n, 4);
    assert_found(result, 0, "a/extra", "extra");
    assert_found(result, 1, "a/missing", "missing");
    assert_found(result, 2, "a/rv", "different");
    assert_found(result, 3, "a/uid", "different");
    drop(&r);
}

static void test_a_newer_cache_is_no_difference(void **state)
{
    struct rig r = make();

    (void)state;
    put_stored(&r, "a/newer", "u1", "10");
    put_stored(&r, "a/reborn", "u2", "11");
    put_stored(&r, "a/words", "u3", "b");
    audit_begin(r.audit, false);
    put_listed(&r, "a/newer", "u1", "9");
    put_listed(&r, "a/reborn", "u1", "9");
    put_listed(&r, "a/words", "u3", "a");
    const struct audit_result *result = finish(&r);
    assert_int_equal(result->differences, 1);
    assert_found(result, 0, "a/words", "different");
    drop(&r);
}

static void test_keys_that_an_event_touched_are_left_out(void **state)
{
    struct rig r = make();

    (void)state;
    put_stored(&r, "a/extra", "u1", "1");
    put_stored(&r, "a/late", "u1", "1");
    audit_begin(r.audit, false);
    touch(&r, "a/before");
    put_listed(&r, "a/before", "u2", "2");
    put_listed(&r, "a/after", "u3", "3");
    touch(&r, "a/after");
    touch(&r, "a/extra");
    put_listed(&r, "a/late", "u1", "2");
    audit_listed(r.audit);
    touch(&r, "a/late");
    audit_finish(r.audit, 6000);
    assert_int_equal(audit_result(r.audit)->differences, 0);
    assert_int_equal(audit_result(r.audit)->compared, 0);
    assert_int_equal(audit_result(r.audit)->not_compared, 4);
    audit_begin(r.audit, false);
    assert_int_equal(finish(&r)->differences, 2);
    drop(&r);
}

static void test_a_key_that_changed_before_the_version_of_the_list_is_compared(void **state)
{
    struct rig r = make();

    (void)state;
    audit_begin(r.audit, false);
    touch_at(&r, "a/same", DELTA_MODIFIED, "12"); /* before the version of the list is known */
    touch_at(&r, "a/late", DELTA_MODIFIED, "8");
    put_stored(&r, "a/same", "u", "12");
    put_stored(&r, "a/late", "u", "8");
    put_listed(&r, "a/same", "u", "12");
    put_listed(&r, "a/late", "u", "11");
    put_listed(&r, "a/gone", "u", "7");
    put_listed(&r, "a/back", "u", "7");
    audit_version(r.audit, 0, str_c("12"));
    audit_listed(r.audit);
    touch_at(&r, "a/gone", DELTA_DELETED, "12");
    touch_at(&r, "a/back", DELTA_DELETED, "13");
    touch_at(&r, "a/over", DELTA_DELETED, "13"); /* not listed, and not in the store */
    touch_at(&r, "a/new", DELTA_ADDED, "13");
    put_stored(&r, "a/new", "u", "13");
    touch_at(&r, "a/extra", DELTA_ADDED, "9");
    put_stored(&r, "a/extra", "u", "9");
    audit_finish(r.audit, 6000);
    const struct audit_result *result = audit_result(r.audit);
    assert_int_equal(result->compared, 4);
    assert_int_equal(result->not_compared, 2);
    assert_int_equal(result->n, 3);
    assert_found(result, 0, "a/extra", "extra");
    assert_found(result, 1, "a/gone", "missing");
    assert_found(result, 2, "a/late", "different");
    drop(&r);
}

static void test_the_last_change_of_a_key_counts(void **state)
{
    struct rig r = make();

    (void)state;
    audit_begin(r.audit, false);
    put_stored(&r, "a/x", "u", "11");
    touch_at(&r, "a/x", DELTA_MODIFIED, "11");
    touch_at(&r, "a/x", DELTA_MODIFIED, "13");
    put_listed(&r, "a/x", "u", "12");
    put_listed(&r, "a/x", "u", "12"); /* one list may have an object twice */
    audit_version(r.audit, 0, str_c("12"));
    assert_int_equal(finish(&r)->compared, 0);
    assert_int_equal(audit_result(r.audit)->not_compared, 1);
    drop(&r);
}

static void test_unusable_items_are_counted_and_not_compared(void **state)
{
    struct rig r = make();

    (void)state;
    put_stored(&r, "a/x", "u", "1");
    audit_begin(r.audit, false);
    audit_unusable(r.audit, 0, str_c("a/x"));
    audit_unusable(r.audit, 0, str_c("a/y"));
    touch_at(&r, "a/y", DELTA_MODIFIED, "2");
    audit_version(r.audit, 0, str_c("12"));
    assert_int_equal(finish(&r)->compared, 0);
    assert_int_equal(audit_result(r.audit)->not_compared, 2);
    assert_int_equal(audit_result(r.audit)->differences, 0);
    audit_begin(r.audit, false);
    assert_int_equal(finish(&r)->not_compared, 0);
    drop(&r);
}

static void test_the_cache_passes_the_version_of_each_list(void **state)
{
    struct rig r = {.store = store_create(2, ignore_delta, NULL)};

    (void)state;
    r.audit = audit_create(r.store, 2);
    audit_begin(r.audit, false);
    audit_version(r.audit, 0, str_c("12"));
    audit_version(r.audit, 1, str_c("9"));
    audit_listed(r.audit);
    assert_false(audit_is_passed(r.audit, 0, str_c("11")));
    assert_true(audit_is_passed(r.audit, 0, str_c("12")));
    assert_true(audit_is_passed(r.audit, 0, str_c("100")));
    assert_true(audit_is_passed(r.audit, 1, str_c("11")));
    assert_false(audit_is_passed(r.audit, 1, str_c("")));
    audit_begin(r.audit, false);
    audit_listed(r.audit);
    /* the versions of the lists before do not count */
    assert_false(audit_is_passed(r.audit, 0, str_c("12")));
    drop(&r);
}

static void test_a_cache_agrees_when_nothing_differs_any_more(void **state)
{
    struct rig r = make();

    (void)state;
    put_stored(&r, "a/x", "u", "1");
    audit_begin(r.audit, false);
    put_listed(&r, "a/x", "u", "5");
    audit_listed(r.audit);
    assert_false(audit_agrees(r.audit));
    put_stored(&r, "a/x", "u", "5");
    assert_true(audit_agrees(r.audit));
    assert_int_equal(audit_state(r.audit), AUDIT_GRACE);
    audit_finish(r.audit, 6000);
    assert_int_equal(audit_result(r.audit)->compared, 1);
    drop(&r);
}

/* An item without a key may be any object: an object that the list lacks is no difference then. */
static void test_an_item_without_a_key_makes_nothing_extra(void **state)
{
    struct rig r = make();

    (void)state;
    put_stored(&r, "a/x", "u1", "5");
    put_stored(&r, "a/y", "u2", "5");
    audit_begin(r.audit, true);
    put_listed(&r, "a/x", "u1", "6");
    audit_unnamed(r.audit);
    const struct audit_result *result = finish(&r);
    assert_int_equal(result->differences, 1);
    assert_found(result, 0, "a/x", "different");
    audit_begin(r.audit, true);
    assert_int_equal(finish(&r)->differences, 2);
    drop(&r);
}

static void test_to_begin_anew_forgets_the_first_list(void **state)
{
    struct rig r = make();

    (void)state;
    audit_begin(r.audit, true);
    put_listed(&r, "a/x", "u1", "1");
    touch(&r, "a/y");
    audit_begin(r.audit, audit_applies(r.audit));
    put_listed(&r, "a/y", "u2", "2");
    put_listed(&r, "a/y", "u2", "3");
    put_stored(&r, "a/y", "u2", "3");
    const struct audit_result *result = finish(&r);
    assert_int_equal(result->differences, 0);
    assert_int_equal(result->compared, 1);
    assert_int_equal(result->runs, 1);
    assert_true(result->applied);
    drop(&r);
}

static void test_a_failure_is_a_run_without_findings(void **state)
{
    struct rig r = make();
    struct err err;

    (void)state;
    put_stored(&r, "a/x", "u1", "1");
    audit_begin(r.audit, true);
    assert_int_equal(finish(&r)->differences, 1);
    audit_begin(r.audit, true);
    put_listed(&r, "a/y", "u1", "1");
    err_set(&err, ERR_IO, 0, "no way");
    audit_failed(r.audit, &err, 7000);
    const struct audit_result *result = audit_result(r.audit);
    assert_int_equal(audit_state(r.audit), AUDIT_IDLE);
    assert_int_equal(result->err->kind, ERR_IO);
    assert_string_equal(result->err->text, "no way");
    assert_int_equal(result->done_ms, 7000);
    assert_int_equal(result->runs, 2);
    assert_int_equal(result->differences, 0);
    assert_int_equal(result->n, 0);
    assert_false(result->applied);
    assert_false(audit_applies(r.audit));
    audit_begin(r.audit, false);
    assert_int_equal(finish(&r)->err->kind, ERR_OK);
    drop(&r);
}

static void test_only_the_first_hundred_are_kept(void **state)
{
    struct rig r = make();
    char key[16];

    (void)state;
    audit_begin(r.audit, false);
    for (int i = 249; i >= 0; i--) {
        (void)snprintf(key, sizeof(key), "a/%03d", i);
        put_listed(&r, key, "u", "1");
    }
    const struct audit_result *result = finish(&r);
    assert_int_equal(result->differences, 250);
    assert_int_equal(result->n, AUDIT_KEYS);
    assert_found(result, 0, "a/000", "missing");
    assert_found(result, 99, "a/099", "missing");
    drop(&r);
}

enum { KEYS = 6 };

/* Key i of the store and of the list: rv 0 = not there. */
struct pair {
    unsigned stored;
    unsigned listed;
    bool touched;
};

static const char *verdict(const struct pair *p)
{
    if (p->touched || p->stored == p->listed)
        return NULL;
    if (p->stored == 0)
        return "missing";
    if (p->listed == 0)
        return "extra";
    return p->stored < p->listed ? "different" : NULL;
}

static void run_program(struct rng *rng)
{
    struct rig r = make();
    struct pair pairs[KEYS];
    char key[8];
    char rv[8];
    size_t n = 0;

    audit_begin(r.audit, false);
    for (int i = 0; i < KEYS; i++) {
        pairs[i] = (struct pair){(unsigned)rng_between(rng, 0, 12),
                                 (unsigned)rng_between(rng, 0, 12), rng_between(rng, 0, 3) == 0};
        (void)snprintf(key, sizeof(key), "a/%d", i);
        if (pairs[i].touched && rng_between(rng, 0, 1) == 0)
            touch(&r, key);
        (void)snprintf(rv, sizeof(rv), "%u", pairs[i].stored);
        if (pairs[i].stored > 0)
            put_stored(&r, key, "u", rv);
        (void)snprintf(rv, sizeof(rv), "%u", pairs[i].listed);
        if (pairs[i].listed > 0)
            put_listed(&r, key, "u", rv);
        if (pairs[i].touched)
            touch(&r, key);
    }
    const struct audit_result *result = finish(&r);
    for (int i = 0; i < KEYS; i++) {
        (void)snprintf(key, sizeof(key), "a/%d", i);
        if (verdict(&pairs[i]) != NULL)
            assert_found(result, n++, key, verdict(&pairs[i]));
    }
    assert_int_equal(result->n, n);
    assert_int_equal(result->differences, n);
    drop(&r);
}

static void test_random_caches_against_an_oracle(void **state)
{
    struct rng rng;

    (void)state;
    rng_seed(&rng, 3);
    for (size_t i = 0; i < campaign_size(600, 3000); i++)
        run_program(&rng);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_an_audit_is_idle_and_empty_at_first),
        cmocka_unit_test(test_bytes_count_where_versions_are_in_doubt),
        cmocka_unit_test(test_equal_caches_have_no_difference),
        cmocka_unit_test(test_differences_are_named_and_sorted),
        cmocka_unit_test(test_a_newer_cache_is_no_difference),
        cmocka_unit_test(test_keys_that_an_event_touched_are_left_out),
        cmocka_unit_test(test_a_key_that_changed_before_the_version_of_the_list_is_compared),
        cmocka_unit_test(test_the_last_change_of_a_key_counts),
        cmocka_unit_test(test_unusable_items_are_counted_and_not_compared),
        cmocka_unit_test(test_the_cache_passes_the_version_of_each_list),
        cmocka_unit_test(test_a_cache_agrees_when_nothing_differs_any_more),
        cmocka_unit_test(test_an_item_without_a_key_makes_nothing_extra),
        cmocka_unit_test(test_to_begin_anew_forgets_the_first_list),
        cmocka_unit_test(test_a_failure_is_a_run_without_findings),
        cmocka_unit_test(test_only_the_first_hundred_are_kept),
        cmocka_unit_test(test_random_caches_against_an_oracle),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
