/* SPDX-License-Identifier: Apache-2.0 */
/* state/ids: ids by name; an item that no configuration has any more goes after its time. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "state/ids.h"

#define DAY ((uint64_t)86400)
#define NOW (1000 * DAY)

static struct batch_op only(struct batch *b)
{
    struct batch_op op;
    size_t at = 0;

    assert_int_equal(b->count, 1);
    assert_true(batch_next(b, &at, &op));
    return op;
}

static void test_ids_are_given_once(void **state)
{
    struct ids *r = ids_create();
    struct batch b = {0};

    (void)state;
    uint64_t watch = ids_use(r, &b, ROW_KIND_WATCH, 0, str_c("pods"));
    uint64_t hook = ids_use(r, &b, ROW_KIND_HOOK, 0, str_c("pods"));
    uint64_t stream = ids_use(r, &b, ROW_KIND_SCOPE, watch, str_c(""));
    assert_true(watch != 0 && hook != watch && stream != hook && stream != watch);
    assert_int_equal(b.count, 3);
    assert_int_equal(ids_use(r, &b, ROW_KIND_WATCH, 0, str_c("pods")), watch);
    assert_int_equal(b.count, 3);
    assert_int_equal(ids_find(r, ROW_KIND_SCOPE, watch, str_c("")), stream);
    assert_int_equal(ids_find(r, ROW_KIND_SCOPE, hook, str_c("")), 0);
    batch_clear(&b);
    ids_put_all(r, &b);
    assert_int_equal(b.count, 3);
    batch_fini(&b);
    ids_destroy(&r);
    assert_null(r);
}

static void test_ids_go_on_behind_those_from_disk(void **state)
{
    const struct row_item old = {.id = 40, .kind = ROW_KIND_WATCH, .name = str_c("old")};
    struct ids *r = ids_create();
    struct batch b = {0};

    (void)state;
    ids_add(r, &old);
    ids_add(r, &old);
    assert_int_equal(ids_use(r, &b, ROW_KIND_WATCH, 0, str_c("old")), 40);
    assert_int_equal(b.count, 0);
    assert_int_equal(ids_use(r, &b, ROW_KIND_WATCH, 0, str_c("new")), 41);
    assert_int_equal(only(&b).u.item.id, 41);
    batch_fini(&b);
    ids_destroy(&r);
}

static void test_an_unused_item_goes_after_its_time(void **state)
{
    const struct row_item old = {.id = 4, .kind = ROW_KIND_HOOK, .name = str_c("old")};
    struct ids *r = ids_create();
    struct batch b = {0};

    (void)state;
    ids_add(r, &old);
    ids_sweep(r, &b, NOW, 7 * DAY);
    assert_int_equal(only(&b).what, BATCH_ITEM);
    assert_int_equal(only(&b).u.item.unused_since_s, NOW);
    batch_clear(&b);
    ids_sweep(r, &b, NOW + 7 * DAY, 7 * DAY);
    assert_int_equal(b.count, 0);
    ids_sweep(r, &b, NOW + 7 * DAY + 1, 7 * DAY);
    assert_int_equal(only(&b).what, BATCH_DROP_ITEM);
    assert_int_equal(only(&b).id, 4);
    assert_int_equal(ids_find(r, ROW_KIND_HOOK, 0, str_c("old")), 0);
    batch_fini(&b);
    ids_destroy(&r);
}

static bool goes_with_all(void *arg, const struct row_item *item)
{
    (void)arg;
    (void)item;
    return true;
}

static void test_a_kept_item_stays_without_its_children(void **state)
{
    const struct row_item items[] = {
        {.id = 4,                  .kind = ROW_KIND_HOOK, .name = str_c("old")},
        { .id = 5, .kind = ROW_KIND_SOURCE,    .name = str_c("s"),          .parent = 4},
    };
    struct ids *r = ids_create();
    struct batch b = {0};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(items); i++)
        ids_add(r, &items[i]);
    ids_keep(r, 4);
    ids_sweep(r, &b, NOW, 7 * DAY);
    batch_clear(&b);
    ids_sweep(r, &b, NOW + 8 * DAY, 7 * DAY);
    assert_int_equal(only(&b).what, BATCH_DROP_ITEM);
    assert_int_equal(only(&b).id, 5);
    batch_clear(&b);
    ids_drop_unused(r, &b, goes_with_all, NULL);
    assert_int_equal(b.count, 0);
    assert_int_equal(ids_find(r, ROW_KIND_HOOK, 0, str_c("old")), 4);
    ids_use(r, &b, ROW_KIND_SOURCE, 4, str_c("t"));
    batch_clear(&b);
    ids_forget(r, &b, 4);
    assert_int_equal(only(&b).what, BATCH_DROP_ITEM);
    assert_int_equal(only(&b).id, 4);
    assert_int_equal(ids_find(r, ROW_KIND_HOOK, 0, str_c("old")), 0);
    assert_int_equal(ids_find(r, ROW_KIND_SOURCE, 4, str_c("t")), 0);
    batch_fini(&b);
    ids_destroy(&r);
}

static void test_an_unused_item_goes_at_once_if_it_has_to(void **state)
{
    const struct row_item items[] = {
        {.id = 4, .kind = ROW_KIND_HOOK,   .name = str_c("old")},
        {.id = 5, .kind = ROW_KIND_SOURCE, .name = str_c("s"),   .parent = 4},
        {.id = 6,       .kind = ROW_KIND_CLUSTER,                        .name = str_c("c")             },
        {.id = 7,       .kind = ROW_KIND_HOOK,                        .name = str_c("new")   },
    };
    struct ids *r = ids_create();
    struct batch b = {0};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(items); i++)
        ids_add(r, &items[i]);
    ids_use(r, &b, ROW_KIND_HOOK, 0, str_c("new"));
    ids_sweep(r, &b, NOW, 7 * DAY);
    batch_clear(&b);
    ids_drop_unused(r, &b, goes_with_all, NULL);
    assert_int_equal(b.count, 2);
    assert_int_equal(ids_find(r, ROW_KIND_HOOK, 0, str_c("old")), 0);
    assert_int_equal(ids_find(r, ROW_KIND_SOURCE, 4, str_c("s")), 0);
    assert_int_equal(ids_find(r, ROW_KIND_CLUSTER, 0, str_c("c")), 6);
    assert_int_equal(ids_find(r, ROW_KIND_HOOK, 0, str_c("new")), 7);
    batch_fini(&b);
    ids_destroy(&r);
}

/* The hook "old" has id 4; no configuration uses it since NOW. */
static struct ids *with_an_unused_hook(void)
{
    const struct row_item old = {
        .id = 4, .kind = ROW_KIND_HOOK, .name = str_c("old"), .unused_since_s = NOW};
    struct ids *r = ids_create();

    ids_add(r, &old);
    return r;
}

static void test_an_item_that_comes_back_is_in_use_again(void **state)
{
    struct ids *r = with_an_unused_hook();
    struct batch b = {0};

    (void)state;
    assert_int_equal(ids_use(r, &b, ROW_KIND_HOOK, 0, str_c("old")), 4);
    assert_int_equal(only(&b).u.item.unused_since_s, 0);
    batch_clear(&b);
    ids_sweep(r, &b, NOW + 100 * DAY, 7 * DAY);
    assert_int_equal(b.count, 0);
    /* The next configuration has to use it itself. */
    ids_sweep(r, &b, NOW + 101 * DAY, 7 * DAY);
    assert_int_equal(only(&b).u.item.unused_since_s, NOW + 101 * DAY);
    batch_fini(&b);
    ids_destroy(&r);
}

static void test_an_item_that_is_left_goes_as_one_that_a_start_did_not_find(void **state)
{
    struct ids *r = ids_create();
    struct batch b = {0};

    (void)state;
    uint64_t hook = ids_use(r, &b, ROW_KIND_HOOK, 0, str_c("h"));
    batch_clear(&b);
    ids_keep(r, hook);
    ids_leave(r, &b, hook, NOW);
    assert_int_equal(only(&b).u.item.unused_since_s, NOW);
    batch_clear(&b);
    ids_sweep(r, &b, NOW + 7 * DAY, 7 * DAY);
    assert_int_equal(b.count, 0);
    ids_sweep(r, &b, NOW + 7 * DAY + 1, 7 * DAY);
    assert_int_equal(ids_find(r, ROW_KIND_HOOK, 0, str_c("h")), 0);
    ids_leave(r, &b, hook, NOW); /* it does not exist any more */
    batch_fini(&b);
    ids_destroy(&r);
}

static void test_the_items_of_a_parent_come_one_after_the_other(void **state)
{
    struct ids *r = ids_create();
    struct batch b = {0};
    uint64_t ids[3];

    (void)state;
    for (size_t i = 0; i < 3; i++)
        ids[i] = ids_use(r, &b, ROW_KIND_HOOK, 0, str_c((const char *[]){"z", "y", "x"}[i]));
    uint64_t source = ids_use(r, &b, ROW_KIND_SOURCE, ids[1], str_c("s"));
    ids_use(r, &b, ROW_KIND_WATCH, 0, str_c("w"));
    assert_int_equal(ids_next(r, ROW_KIND_HOOK, 0, 0), ids[0]);
    assert_int_equal(ids_next(r, ROW_KIND_HOOK, 0, ids[0]), ids[1]);
    ids_forget(r, &b, ids[1]);
    assert_int_equal(ids_next(r, ROW_KIND_HOOK, 0, ids[1]), ids[2]);
    assert_int_equal(ids_next(r, ROW_KIND_HOOK, 0, ids[2]), 0);
    assert_int_equal(ids_next(r, ROW_KIND_SOURCE, ids[1], 0), 0);
    assert_int_not_equal(source, 0);
    batch_fini(&b);
    ids_destroy(&r);
}

static void test_a_clock_that_went_back_begins_the_time_anew(void **state)
{
    struct ids *r = with_an_unused_hook();
    struct batch b = {0};

    (void)state;
    ids_sweep(r, &b, NOW - 100 * DAY, 7 * DAY);
    assert_int_equal(only(&b).what, BATCH_ITEM);
    assert_int_equal(only(&b).u.item.unused_since_s, NOW - 100 * DAY);
    batch_fini(&b);
    ids_destroy(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ids_are_given_once),
        cmocka_unit_test(test_ids_go_on_behind_those_from_disk),
        cmocka_unit_test(test_an_unused_item_goes_after_its_time),
        cmocka_unit_test(test_a_kept_item_stays_without_its_children),
        cmocka_unit_test(test_an_unused_item_goes_at_once_if_it_has_to),
        cmocka_unit_test(test_an_item_that_comes_back_is_in_use_again),
        cmocka_unit_test(test_an_item_that_is_left_goes_as_one_that_a_start_did_not_find),
        cmocka_unit_test(test_the_items_of_a_parent_come_one_after_the_other),
        cmocka_unit_test(test_a_clock_that_went_back_begins_the_time_anew),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
