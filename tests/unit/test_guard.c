/* SPDX-License-Identifier: Apache-2.0 */
/* cache/guard: which lists it holds, for how long, and the events that end the hold (docs/design.md
 * "Guard"). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/compiler.h"
#include "cache/guard.h"

enum { HOLD = 60000, START = 1000000 };

static struct guard g;
static struct guard_window window;
static uint64_t now;

static int set_up(void **state)
{
    (void)state;
    g = (struct guard){
        .params = {.relist_deletes = 50, .at_least = 10, .hold_ms = HOLD}
    };
    window = (struct guard_window){0};
    now = START;
    return 0;
}

static enum guard_verdict list_of(struct guard *of, size_t objects, size_t deletes)
{
    return guard_judge(of, &window, &(struct guard_case){.objects = objects, .deletes = deletes},
                       now);
}

static void passes(size_t objects, size_t deletes)
{
    assert_int_equal(list_of(&g, objects, deletes), GUARD_PASS);
    assert_false(guard_holds(&g));
    assert_null(guard_reason_name(g.reason));
    assert_int_equal(g.deletes, 0);
}

static void holds(size_t objects, size_t deletes)
{
    assert_int_equal(list_of(&g, objects, deletes), GUARD_HOLD);
    assert_true(guard_holds(&g));
    assert_string_equal(guard_reason_name(g.reason), "deletes");
    assert_int_equal(g.deletes, deletes);
}

static enum guard_verdict backwards(size_t deletes)
{
    return guard_judge(&g, &window,
                       &(struct guard_case){.objects = 5, .deletes = deletes, .backwards = true},
                       now);
}

static void test_percent_and_at_least_say_what_is_held(void **state)
{
    static const struct {
        unsigned percent;
        size_t at_least;
        size_t objects;
        size_t deletes;
        enum guard_verdict verdict;
    } table[] = {
        {50,        10, 10,      5,       GUARD_PASS},
        {50,        10, 10,      6,       GUARD_HOLD},
        {50,        10, 9,       9,       GUARD_PASS},
        {50,        0,  1,       1,       GUARD_HOLD},
        {50,        0,  0,       0,       GUARD_PASS},
        {0,         10, 10,      0,       GUARD_PASS},
        {0,         10, 10,      1,       GUARD_HOLD},
        {100,       10, 1000,    1000,    GUARD_PASS},
        {99,        10, 1000,    1000,    GUARD_HOLD},
        {99,        10, 1000,    990,     GUARD_PASS},
        {99,        10, 1000,    991,     GUARD_HOLD},
        {33,        10, 1000000, 330000,  GUARD_PASS},
        {33,        10, 1000000, 330001,  GUARD_HOLD},
        {GUARD_OFF, 0,  1000000, 1000000, GUARD_PASS},
    };

    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        set_up(state);
        g.params.relist_deletes = table[i].percent;
        g.params.at_least = table[i].at_least;
        assert_int_equal(list_of(&g, table[i].objects, table[i].deletes), table[i].verdict);
    }
}

/* Two scopes of one watch, each with its own guard. */
static void test_many_small_deletes_within_a_minute_are_a_large_one(void **state)
{
    struct guard other = g;

    (void)state;
    passes(100, 30);
    now += 1000;
    assert_int_equal(list_of(&other, 70, 20), GUARD_PASS); /* 50 of 100 */
    now += 1000;
    holds(50, 1);
}

static void test_deletes_are_forgotten_after_a_minute(void **state)
{
    (void)state;
    passes(100, 50);
    now += 59999;
    holds(50, 25);
    set_up(NULL);
    passes(100, 50);
    now += 60000;
    passes(50, 25);
}

/* Else the minute would begin at a list that deleted nothing. */
static void test_the_minute_begins_at_its_first_delete(void **state)
{
    (void)state;
    passes(100, 0);
    now += 59000;
    passes(100, 40);
    now += 2000;
    holds(60, 20);
}

static void test_a_list_without_deletes_passes_whatever_was_before(void **state)
{
    (void)state;
    passes(100, 50);
    g.params.relist_deletes = 10;
    passes(50, 0);
}

static void test_held_deletes_are_never_counted(void **state)
{
    (void)state;
    passes(100, 10);
    holds(90, 60);
    assert_int_equal(window.deletes, 10);
    now += HOLD;
    passes(90, 60);
    assert_int_equal(window.deletes, 0);
}

static void test_s19_a_second_list_after_the_hold_confirms(void **state)
{
    (void)state;
    holds(100, 100);
    assert_int_equal(guard_wait_ms(&g, now), HOLD);
    now += HOLD - 1;
    holds(100, 100);
    assert_int_equal(guard_wait_ms(&g, now), 1);
    now += 1;
    assert_int_equal(guard_wait_ms(&g, now), 0);
    passes(100, 100);
}

static void test_confirmed_deletes_do_not_count_any_more(void **state)
{
    (void)state;
    holds(100, 80);
    now += HOLD;
    passes(100, 80);
    now += 1000;
    passes(20, 5);
}

/* The hold has ended, but no second list has confirmed these deletes. */
static void test_deletes_of_a_list_that_looks_well_again_are_counted(void **state)
{
    (void)state;
    holds(100, 60);
    now += 1000;
    passes(100, 40);
    assert_int_equal(window.deletes, 40);
    now += 1000;
    holds(60, 20);
}

static void test_a_second_list_that_looks_well_ends_the_hold(void **state)
{
    (void)state;
    holds(100, 100);
    now += 10;
    passes(100, 1);
    now += HOLD;
    holds(100, 100); /* a new hold, for its whole time */
    assert_int_equal(guard_wait_ms(&g, now), HOLD);
}

static void test_a_list_that_is_held_for_another_reason_waits_anew(void **state)
{
    (void)state;
    holds(100, 100);
    now += HOLD;
    assert_int_equal(backwards(0), GUARD_HOLD);
    assert_string_equal(guard_reason_name(g.reason), "backwards");
    assert_int_equal(guard_wait_ms(&g, now), HOLD);
    now += HOLD;
    assert_int_equal(backwards(0), GUARD_PASS);
}

static void test_a_version_that_goes_back_is_held_whatever_it_deletes(void **state)
{
    (void)state;
    g.params.relist_deletes = GUARD_OFF;
    g.params.at_least = 1000;
    assert_int_equal(backwards(0), GUARD_HOLD);
    assert_string_equal(guard_reason_name(g.reason), "backwards");
}

static void test_accepted_the_next_list_passes_whatever_it_says(void **state)
{
    (void)state;
    holds(100, 60);
    assert_true(guard_accept(&g));
    assert_true(guard_holds(&g));
    assert_int_equal(backwards(5), GUARD_PASS);
    assert_false(guard_holds(&g));
    holds(100, 100); /* once */
}

static void test_rejected_only_a_list_that_looks_well_passes(void **state)
{
    (void)state;
    holds(100, 100);
    assert_true(guard_reject(&g));
    for (int i = 0; i < 5; i++) {
        now += HOLD;
        holds(100, 100);
        assert_int_equal(guard_wait_ms(&g, now), HOLD);
    }
    passes(100, 3);
}

static void test_rejected_can_still_be_accepted(void **state)
{
    (void)state;
    holds(100, 100);
    assert_true(guard_reject(&g));
    assert_true(guard_accept(&g));
    passes(100, 100);
}

static void test_nothing_held_is_nothing_to_decide(void **state)
{
    (void)state;
    assert_false(guard_accept(&g));
    assert_false(guard_reject(&g));
    passes(100, 1);
    assert_false(guard_accept(&g));
    holds(100, 100);
}

static void test_a_hold_of_no_time_wants_a_second_list_all_the_same(void **state)
{
    (void)state;
    g.params.hold_ms = 0;
    holds(100, 100);
    assert_int_equal(guard_wait_ms(&g, now), 0);
    passes(100, 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_percent_and_at_least_say_what_is_held, set_up),
        cmocka_unit_test_setup(test_many_small_deletes_within_a_minute_are_a_large_one, set_up),
        cmocka_unit_test_setup(test_deletes_are_forgotten_after_a_minute, set_up),
        cmocka_unit_test_setup(test_the_minute_begins_at_its_first_delete, set_up),
        cmocka_unit_test_setup(test_a_list_without_deletes_passes_whatever_was_before, set_up),
        cmocka_unit_test_setup(test_held_deletes_are_never_counted, set_up),
        cmocka_unit_test_setup(test_s19_a_second_list_after_the_hold_confirms, set_up),
        cmocka_unit_test_setup(test_confirmed_deletes_do_not_count_any_more, set_up),
        cmocka_unit_test_setup(test_deletes_of_a_list_that_looks_well_again_are_counted, set_up),
        cmocka_unit_test_setup(test_a_second_list_that_looks_well_ends_the_hold, set_up),
        cmocka_unit_test_setup(test_a_list_that_is_held_for_another_reason_waits_anew, set_up),
        cmocka_unit_test_setup(test_a_version_that_goes_back_is_held_whatever_it_deletes, set_up),
        cmocka_unit_test_setup(test_accepted_the_next_list_passes_whatever_it_says, set_up),
        cmocka_unit_test_setup(test_rejected_only_a_list_that_looks_well_passes, set_up),
        cmocka_unit_test_setup(test_rejected_can_still_be_accepted, set_up),
        cmocka_unit_test_setup(test_nothing_held_is_nothing_to_decide, set_up),
        cmocka_unit_test_setup(test_a_hold_of_no_time_wants_a_second_list_all_the_same, set_up),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
