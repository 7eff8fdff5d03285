/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/map.h"
#include "base/rng.h"

struct item {
    char key[16];
    size_t n;
    bool in;
    uint64_t put; /* the number of the put that brought the value */
    struct map_node node;
};

static struct str item_key(const struct item *i)
{
    return str_of(i->key, i->n);
}

static void test_empty(void **state)
{
    struct map m = {0};

    (void)state;
    assert_null(map_get(&m, str_c("a")));
    assert_null(map_get(&m, (struct str){0}));
    assert_null(map_first(&m));
    assert_int_equal(map_count(&m), 0);
}

static void test_keys_are_bytes(void **state)
{
    struct item items[] = {
        {.key = "ab",  .n = 2},
        {.key = "ab",  .n = 3},
        {.key = "abc", .n = 3},
        {.key = "",    .n = 0},
        {.key = "\0a", .n = 2},
        {.key = "\0b", .n = 2}
    };
    struct map m = {0};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(items); i++)
        map_put(&m, &items[i].node, item_key(&items[i]));
    assert_int_equal(map_count(&m), ARRAY_LEN(items));
    for (size_t i = 0; i < ARRAY_LEN(items); i++) {
        assert_ptr_equal(map_get(&m, item_key(&items[i])), &items[i].node);
        assert_true(str_eq(map_key(&items[i].node), item_key(&items[i])));
        assert_ptr_equal(map_entry(&items[i].node, struct item, node), &items[i]);
    }
    for (size_t i = 0; i < ARRAY_LEN(items); i++)
        map_remove(&m, &items[i].node);
    assert_int_equal(map_count(&m), 0);
    assert_null(map_first(&m));
}

/* The order of a walk is that of insertion. */
static size_t count_in_order(const struct map *m)
{
    uint64_t before = 0;
    size_t n = 0;

    for (struct map_node *node = map_first(m); node != NULL; node = map_next(node), n++) {
        const struct item *i = map_entry(node, struct item, node);

        assert_true(i->in);
        assert_true(i->put > before);
        before = i->put;
    }
    return n;
}

static void test_a_key_may_move(void **state)
{
    char first[] = "a/b";
    const char second[] = "a/b";
    struct map m = {0};
    struct map_node node;

    (void)state;
    map_put(&m, &node, str_c(first));
    map_move_key(&node, str_c(second));
    memset(first, 'x', sizeof(first) - 1);
    assert_ptr_equal(map_get(&m, str_c("a/b")), &node);
    assert_null(map_get(&m, str_c("xxx")));
    assert_ptr_equal(map_key(&node).p, second);
    map_remove(&m, &node);
    assert_int_equal(map_count(&m), 0);
}

static void test_random_program(void **state)
{
    static struct item items[500];
    struct map m = {0};
    struct rng rng;
    size_t count = 0;

    (void)state;
    rng_seed(&rng, 1);
    for (size_t i = 0; i < ARRAY_LEN(items); i++)
        items[i].n = (size_t)snprintf(items[i].key, sizeof(items[i].key), "ns/%zu", i);
    for (uint64_t step = 1; step < 20000; step++) {
        struct item *i = &items[rng_between(&rng, 0, ARRAY_LEN(items) - 1)];

        assert_ptr_equal(map_get(&m, item_key(i)), i->in ? &i->node : NULL);
        if (i->in) {
            map_remove(&m, &i->node);
            count--;
        } else {
            map_put(&m, &i->node, item_key(i));
            i->put = step;
            count++;
        }
        i->in = !i->in;
        assert_int_equal(map_count(&m), count);
        if (step % 500 == 0)
            assert_int_equal(count_in_order(&m), count);
    }
    for (struct map_node *node = map_first(&m), *next; node != NULL; node = next) {
        next = map_next(node);
        map_remove(&m, node);
    }
    assert_int_equal(map_count(&m), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_empty),
        cmocka_unit_test(test_keys_are_bytes),
        cmocka_unit_test(test_a_key_may_move),
        cmocka_unit_test(test_random_program),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
