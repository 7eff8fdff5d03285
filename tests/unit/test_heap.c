/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/compiler.h"
#include "base/heap.h"
#include "base/rng.h"

struct item {
    struct heap_node node;
    bool in;
    uint64_t push; /* its number, by our own count */
};

static struct item items[300];

static int reset(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(items); i++)
        items[i] = (struct item){0};
    return 0;
}

/* The model looks at all elements. */
static struct item *naive_first(void)
{
    struct item *first = NULL;

    for (size_t i = 0; i < ARRAY_LEN(items); i++) {
        struct item *it = &items[i];

        if (it->in && (first == NULL || it->node.due_ms < first->node.due_ms ||
                       (it->node.due_ms == first->node.due_ms && it->push < first->push)))
            first = it;
    }
    return first;
}

static void assert_first(const struct heap *h)
{
    struct item *first = naive_first();

    assert_ptr_equal(heap_peek(h), first != NULL ? &first->node : NULL);
}

static void test_equal_times_leave_as_they_came(void **state)
{
    struct heap h = {0};

    (void)state;
    assert_null(heap_peek(&h));
    for (size_t i = 0; i < ARRAY_LEN(items); i++)
        heap_push(&h, &items[i].node, 7);
    for (size_t i = 0; i < ARRAY_LEN(items); i++) {
        assert_ptr_equal(heap_peek(&h), &items[i].node);
        heap_remove(&h, &items[i].node);
    }
    assert_null(heap_peek(&h));
}

static void test_extreme_times(void **state)
{
    struct heap h = {0};

    (void)state;
    heap_push(&h, &items[0].node, UINT64_MAX);
    heap_push(&h, &items[1].node, 0);
    heap_push(&h, &items[2].node, UINT64_MAX);
    assert_ptr_equal(heap_peek(&h), &items[1].node);
    heap_remove(&h, &items[1].node);
    assert_ptr_equal(heap_peek(&h), &items[0].node);
    heap_remove(&h, &items[2].node);
    heap_remove(&h, &items[0].node);
    assert_null(heap_peek(&h));
}

static void pop_all(struct heap *h)
{
    while (heap_peek(h) != NULL) {
        struct item *it = naive_first();

        assert_ptr_equal(heap_peek(h), &it->node);
        heap_remove(h, &it->node);
        it->in = false;
    }
    assert_null(naive_first());
}

/* Pushes, pops and removals from the middle, with many equal times. */
static void random_program(uint64_t seed)
{
    uint64_t times = seed % 2 == 0 ? 10 : 1000000;
    struct heap h = {0};
    struct rng rng;

    rng_seed(&rng, seed);
    for (uint64_t step = 0; step < 4000; step++) {
        struct item *it = &items[rng_between(&rng, 0, ARRAY_LEN(items) - 1)];

        if (!it->in) {
            heap_push(&h, &it->node, rng_between(&rng, 0, times));
            it->in = true;
            it->push = step;
        } else {
            if (rng_between(&rng, 0, 1) == 0)
                it = naive_first();
            heap_remove(&h, &it->node);
            it->in = false;
        }
        assert_first(&h);
    }
    pop_all(&h);
}

static void test_random_programs(void **state)
{
    for (uint64_t seed = 0; seed < 20; seed++) {
        reset(state);
        random_program(seed);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_equal_times_leave_as_they_came, reset),
        cmocka_unit_test_setup(test_extreme_times, reset),
        cmocka_unit_test_setup(test_random_programs, reset),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
