/* SPDX-License-Identifier: Apache-2.0 */
/* state/batch: operations come out in their order, and only the last one for a row has to stay. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/rng.h"
#include "state/batch.h"

static int held; /* bodies that were not released */

static void release(void *hold)
{
    int *n = hold;

    (*n)--;
}

static struct batch_op at(const struct batch *b, size_t index)
{
    struct batch_op op;
    size_t pos = 0;

    for (size_t i = 0; i <= index; i++)
        assert_true(batch_next(b, &pos, &op));
    return op;
}

static struct row_object object(const char *key, const char *body)
{
    return (struct row_object){
        .key = str_c(key),
        .uid = str_c("uid"),
        .rv = str_c("12"),
        .generation = str_c("3"),
        .api_version = str_c("v1"),
        .kind = str_c("Pod"),
        .rv_at = 7,
        .generation_at = ROW_NOWHERE,
        .digest = {1, 2},
        .body = str_c(body),
        .whole = body != NULL,
    };
}

static void expect_object(const struct row_object *got, const struct row_object *want)
{
    assert_true(str_eq(got->uid, want->uid) && str_eq(got->rv, want->rv));
    assert_true(str_eq(got->generation, want->generation) && str_eq(got->kind, want->kind));
    assert_true(str_eq(got->api_version, want->api_version));
    assert_true(got->rv_at == want->rv_at && got->generation_at == want->generation_at);
    assert_true(digest_eq(got->digest, want->digest) && got->whole == want->whole);
    assert_true(str_eq(got->body, want->body));
}

static void test_items_and_facts_come_out_as_they_went_in(void **state)
{
    const struct row_item item = {7, ROW_KIND_SCOPE, 3, str_c("default"), 99};
    const struct row_fact fact = {7, ROW_OUTPUT, str_c("a/b"), str_of("\0x", 2)};
    struct batch b = {0};

    (void)state;
    batch_reset(&b);
    batch_item(&b, &item);
    batch_fact(&b, &fact);
    batch_drop_fact(&b, 8, ROW_PAUSED, str_c(""));
    batch_drop_item(&b, 9);
    batch_clear_scope(&b, 10);
    assert_int_equal(b.count, 6);
    assert_int_equal(at(&b, 0).what, BATCH_RESET);
    struct batch_op op = at(&b, 1);
    assert_true(op.what == BATCH_ITEM && op.u.item.id == 7 && op.u.item.parent == 3);
    assert_true(op.u.item.kind == ROW_KIND_SCOPE && op.u.item.unused_since_s == 99);
    assert_true(str_is(op.u.item.name, "default"));
    op = at(&b, 2);
    assert_true(op.what == BATCH_FACT && op.u.fact.item == 7 && op.u.fact.what == ROW_OUTPUT);
    assert_true(str_eq(op.u.fact.key, fact.key) && str_eq(op.u.fact.value, fact.value));
    op = at(&b, 3);
    assert_true(op.what == BATCH_DROP_FACT && op.u.fact.item == 8);
    assert_true(op.u.fact.what == ROW_PAUSED && op.u.fact.key.n == 0);
    op = at(&b, 4);
    assert_true(op.what == BATCH_DROP_ITEM && op.id == 9);
    op = at(&b, 5);
    assert_true(op.what == BATCH_CLEAR && op.id == 10);
    batch_fini(&b);
}

static void test_objects_and_deliveries_come_out_as_they_went_in(void **state)
{
    const struct row_object o = object("ns/a", "body");
    const struct row_object thin = object("ns/b", NULL);
    const struct row_delivery m = {
        .source = 4,
        .key = str_c("ns/a"),
        .uid = str_c("uid"),
        .is_handled = true,
        .handled = {5, 6},
        .attempted = true,
        .is_ended = true,
        .note = 77,
        .last = o,
    };
    struct batch b = {0};

    (void)state;
    batch_object(&b, 3, &o, NULL);
    batch_object(&b, 3, &thin, NULL);
    batch_drop_object(&b, 3, str_c("ns/c"));
    batch_delivery(&b, &m, NULL);
    batch_drop_delivery(&b, 4, str_c("ns/d"), str_c("u2"));
    struct batch_op op = at(&b, 0);
    assert_true(op.what == BATCH_OBJECT && op.id == 3 && str_is(op.u.object.key, "ns/a"));
    expect_object(&op.u.object, &o);
    op = at(&b, 1);
    expect_object(&op.u.object, &thin);
    op = at(&b, 2);
    assert_true(op.what == BATCH_DROP_OBJECT && op.id == 3 && str_is(op.u.object.key, "ns/c"));
    op = at(&b, 3);
    assert_true(op.what == BATCH_DELIVERY && op.u.delivery.source == 4 &&
                str_is(op.u.delivery.key, "ns/a"));
    assert_true(str_is(op.u.delivery.uid, "uid") && op.u.delivery.is_handled &&
                !op.u.delivery.is_delivered);
    assert_true(digest_eq(op.u.delivery.handled, m.handled) && op.u.delivery.note == 77);
    assert_true(op.u.delivery.attempted && op.u.delivery.is_ended);
    expect_object(&op.u.delivery.last, &o);
    op = at(&b, 4);
    assert_true(op.what == BATCH_DROP_DELIVERY && str_is(op.u.delivery.uid, "u2"));
    batch_fini(&b);
}

static void hold_object(struct batch *b, uint64_t stream, const char *key, const char *body)
{
    const struct row_object o = object(key, body);

    held++;
    batch_object(b, stream, &o, &held);
}

static void test_bodies_are_held_until_the_batch_is_cleared(void **state)
{
    struct batch a = {.release = release};
    struct batch b = {.release = release};

    (void)state;
    hold_object(&a, 1, "x", "one");
    hold_object(&b, 1, "x", "two");
    hold_object(&b, 1, "y", "three");
    batch_join(&a, &b);
    assert_true(a.count == 3 && b.count == 0 && a.body_bytes == 11);
    assert_true(str_is(at(&a, 2).u.object.body, "three"));
    batch_clear(&b);
    assert_int_equal(held, 3);
    batch_clear(&a);
    assert_int_equal(held, 0);
    size_t pos = 0;
    struct batch_op op;
    assert_false(batch_next(&a, &pos, &op));
    batch_fini(&a);
    batch_fini(&b);
}

static void test_compacting_keeps_the_last_of_each_row_in_order(void **state)
{
    struct batch b = {.release = release};

    (void)state;
    hold_object(&b, 1, "a", "old");
    hold_object(&b, 2, "a", "other stream");
    batch_clear_scope(&b, 1);
    hold_object(&b, 1, "a", "new");
    hold_object(&b, 1, "b", "b");
    batch_drop_object(&b, 1, str_c("b"));
    batch_compact(&b);
    assert_int_equal(b.count, 4);
    assert_int_equal(held, 2);
    assert_int_equal(at(&b, 0).id, 2);
    assert_int_equal(at(&b, 1).what, BATCH_CLEAR);
    assert_true(str_is(at(&b, 2).u.object.body, "new"));
    assert_int_equal(at(&b, 3).what, BATCH_DROP_OBJECT);
    batch_fini(&b);
    assert_int_equal(held, 0);
}

static void test_a_later_range_stays_behind_the_rows_it_covers(void **state)
{
    struct batch b = {0};
    const struct row_object o = object("a", "x");

    (void)state;
    batch_clear_scope(&b, 1);
    batch_object(&b, 1, &o, NULL);
    batch_clear_scope(&b, 1);
    batch_compact(&b);
    assert_int_equal(b.count, 2);
    assert_int_equal(at(&b, 0).what, BATCH_OBJECT);
    assert_int_equal(at(&b, 1).what, BATCH_CLEAR);
    batch_fini(&b);
}

static void test_a_batch_is_bounded_by_the_number_of_rows(void **state)
{
    struct batch b = {.release = release};
    struct rng rng;
    char key[16];
    size_t most = 0;

    (void)state;
    rng_seed(&rng, 5);
    for (int i = 0; i < 200000; i++) {
        snprintf(key, sizeof(key), "key-%d", (int)(rng_next(&rng) % 100));
        hold_object(&b, 1, key, "0123456789");
        batch_trim(&b);
        most = b.buf.len > most ? b.buf.len : most;
    }
    assert_true(most < (3 << 20));
    assert_true(held < 20000);
    batch_fini(&b);
    assert_int_equal(held, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_items_and_facts_come_out_as_they_went_in),
        cmocka_unit_test(test_objects_and_deliveries_come_out_as_they_went_in),
        cmocka_unit_test(test_bodies_are_held_until_the_batch_is_cleared),
        cmocka_unit_test(test_compacting_keeps_the_last_of_each_row_in_order),
        cmocka_unit_test(test_a_later_range_stays_behind_the_rows_it_covers),
        cmocka_unit_test(test_a_batch_is_bounded_by_the_number_of_rows),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
