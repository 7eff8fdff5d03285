/* SPDX-License-Identifier: Apache-2.0 */
/* persist/restore: all rows of the state, item by item. */
#include "persist/restore.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "state_rig.h"

enum { SCOPES = 300, OF_EACH = 3, LAST = SCOPES + 1 };

static struct state_rig rig;

static int set_up(void **state)
{
    (void)state;
    state_rig_init(&rig);
    return 0;
}

static int clean_up(void **state)
{
    (void)state;
    state_rig_fini(&rig);
    return 0;
}

static enum loader_found read_all(struct restore *r)
{
    struct err err = {0};

    return restore_read(r, rig.folder, &err);
}

static void put_fact(uint64_t item, enum row_what what, const char *key, const char *value)
{
    batch_fact(
        &rig.batch,
        &(struct row_fact){.item = item, .what = what, .key = str_c(key), .value = str_c(value)});
}

/* A watch with many scopes, the highest id first. */
static void fill(void)
{
    char name[16];

    state_rig_item(&rig, 1, ROW_KIND_WATCH, 0, "w");
    for (uint64_t id = LAST; id > 1; id--) {
        snprintf(name, sizeof(name), "s%u", (unsigned)id);
        state_rig_item(&rig, id, ROW_KIND_SCOPE, 1, name);
        put_fact(id, ROW_VERSION, "", name);
        put_fact(id, ROW_CONTACT, "", "5");
        for (int k = 0; k < OF_EACH; k++) {
            const char key[] = {'n', '/', (char)('a' + k), '\0'};

            state_rig_object(&rig, id, key, k > 0 ? "{}" : NULL);
            state_rig_delivery(&rig, id, key, id);
        }
    }
    state_rig_apply(&rig);
}

static void check_scope(const struct restore *r, uint64_t id)
{
    char name[16];
    size_t n;

    snprintf(name, sizeof(name), "s%u", (unsigned)id);
    assert_true(str_is(restore_value(r, id, ROW_VERSION), name));
    assert_true(str_is(restore_value(r, id, ROW_CONTACT), "5"));
    assert_null(restore_value(r, id, ROW_SETTINGS).p);
    const struct restore_object *objects = restore_objects(r, id, &n);
    assert_int_equal(n, OF_EACH);
    for (size_t i = 0; i < n; i++)
        assert_int_equal(objects[i].scope, id);
    const struct restore_delivery *deliveries = restore_deliveries(r, id, &n);
    assert_int_equal(n, OF_EACH);
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(deliveries[i].delivery.delivered.lo, id);
        assert_true(str_is(deliveries[i].delivery.uid, "u1"));
        assert_int_equal(deliveries[i].delivery.key.n, 3);
    }
    (void)restore_facts(r, id, &n);
    assert_int_equal(n, 2);
}

static void test_each_item_has_its_own_rows(void **state)
{
    struct restore r;
    size_t n;

    (void)state;
    fill();
    assert_int_equal(read_all(&r), LOADER_STATE);
    for (uint64_t id = 2; id <= LAST; id++)
        check_scope(&r, id);
    const struct restore_item *parts = restore_children(&r, 1, &n);
    assert_int_equal(n, SCOPES);
    for (size_t i = 0; i < n; i++)
        assert_true(parts[i].parent == 1 && parts[i].kind == ROW_KIND_SCOPE);
    assert_int_equal(ids_find(r.ids, ROW_KIND_WATCH, 0, str_c("w")), 1);
    restore_fini(&r);
}

static void test_items_that_are_not_there_are_empty(void **state)
{
    static const uint64_t ids[] = {0, 1, LAST + 1, UINT64_MAX};
    struct restore r;
    size_t n;

    (void)state;
    fill();
    assert_int_equal(read_all(&r), LOADER_STATE);
    for (size_t i = 0; i < ARRAY_LEN(ids); i++) {
        (void)restore_objects(&r, ids[i], &n);
        assert_int_equal(n, 0);
        (void)restore_deliveries(&r, ids[i], &n);
        assert_int_equal(n, 0);
        assert_null(restore_value(&r, ids[i], ROW_VERSION).p);
    }
    (void)restore_children(&r, 2, &n);
    assert_int_equal(n, 0);
    restore_fini(&r);
}

static void test_an_empty_value_is_there(void **state)
{
    struct restore r;

    (void)state;
    state_rig_item(&rig, 1, ROW_KIND_HOOK, 0, "h");
    put_fact(1, ROW_PAUSED, "", "");
    state_rig_apply(&rig);
    assert_int_equal(read_all(&r), LOADER_STATE);
    assert_non_null(restore_value(&r, 1, ROW_PAUSED).p);
    assert_int_equal(restore_value(&r, 1, ROW_PAUSED).n, 0);
    restore_fini(&r);
}

static void check_empty(struct restore *r)
{
    size_t n;

    assert_non_null(r->ids);
    assert_null(restore_value(r, 1, ROW_VERSION).p);
    (void)restore_facts(r, 1, &n);
    assert_int_equal(n, 0);
    (void)restore_children(r, 0, &n);
    assert_int_equal(n, 0);
    restore_fini(r);
}

static void test_without_a_state_there_is_nothing(void **state)
{
    struct restore r;
    struct err err;

    (void)state;
    assert_int_equal(restore_read(&r, NULL, &err), LOADER_NOTHING);
    check_empty(&r);
    assert_int_equal(read_all(&r), LOADER_NOTHING);
    check_empty(&r);
}

static void test_nothing_of_a_damaged_state_is_restored(void **state)
{
    struct restore r;

    (void)state;
    fill();
    state_rig_again(&rig, STATE_RIG_LIMIT);
    state_rig_sql(&rig, "DELETE FROM object WHERE rowid % 7 = 0");
    assert_int_not_equal(read_all(&r), LOADER_STATE);
    check_empty(&r);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, clean_up)
    const struct CMUnitTest tests[] = {
        TEST(test_each_item_has_its_own_rows),
        TEST(test_items_that_are_not_there_are_empty),
        TEST(test_an_empty_value_is_there),
        TEST(test_without_a_state_there_is_nothing),
        TEST(test_nothing_of_a_damaged_state_is_restored),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
