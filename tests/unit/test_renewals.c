/* SPDX-License-Identifier: Apache-2.0 */
/* io/renewals: how many watches are renewed at a time, in which order, and how long they wait after
 * a failure. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/compiler.h"
#include "campaign.h"
#include "io/loop.h"
#include "io/renewals.h"
#include "loop_until.h"
#include "play_clock.h"

enum { WATCHES = 20, INITIAL_MS = 1000, MAX_MS = 8000 };

struct rig {
    struct loop *loop;
    struct renewals *renewals;
    struct renewals_watch watches[WATCHES];
    size_t started[10 * WATCHES]; /* the numbers of the watches, in their order */
    size_t count;
    bool leave; /* start() finds that nothing is to be renewed */
};

static struct rig rig;

static void start(void *arg)
{
    struct renewals_watch *w = arg;

    rig.started[rig.count++] = (size_t)(w - rig.watches);
    if (rig.leave)
        renewals_leave(rig.renewals, w);
}

static int set_up(void **state)
{
    (void)state;
    log_set_level(LOG_LVL_ERROR);
    play_clock_stop();
    rig = (struct rig){.loop = loop_create()};
    rig.renewals = renewals_create(&(struct renewals_params){
        .loop = rig.loop, .cluster = "prod", .retry = {INITIAL_MS, MAX_MS, 2, 0}
    });
    for (size_t i = 0; i < WATCHES; i++)
        renewals_init(&rig.watches[i], start, &rig.watches[i]);
    return 0;
}

static int clean_up(void **state)
{
    (void)state;
    for (size_t i = 0; i < WATCHES; i++)
        renewals_leave(rig.renewals, &rig.watches[i]);
    renewals_dispose(&rig.renewals);
    loop_destroy(&rig.loop);
    play_clock_go();
    return 0;
}

/* Timers that are due fire. */
static void turns(void)
{
    loop_turns(rig.loop, 3);
}

static void pass(uint64_t ms)
{
    play_clock_pass(ms);
    turns();
}

static void join(size_t n)
{
    for (size_t i = 0; i < n; i++)
        renewals_join(rig.renewals, &rig.watches[i]);
}

static void fails(size_t i, enum err_kind kind)
{
    const struct err err = {.kind = kind, .text = "no"};

    renewals_failed(rig.renewals, &rig.watches[i], &err, 0);
}

static void test_eight_at_a_time_in_their_order(void **state)
{
    (void)state;
    join(WATCHES);
    assert_int_equal(rig.count, 0); /* never inside the call */
    turns();
    assert_int_equal(rig.count, RENEWALS_AT_A_TIME);
    for (size_t i = 0; i < WATCHES; i++) {
        assert_int_equal(rig.started[i], i);
        renewals_done(rig.renewals, &rig.watches[i]);
        turns();
    }
    assert_int_equal(rig.count, WATCHES);
}

static void test_a_watch_that_waits_or_is_renewed_does_not_come_twice(void **state)
{
    (void)state;
    join(1);
    join(1);
    turns();
    join(1);
    turns();
    assert_int_equal(rig.count, 1);
    renewals_done(rig.renewals, &rig.watches[0]);
    turns();
    assert_int_equal(rig.count, 1);
    join(1); /* the next rotation */
    turns();
    assert_int_equal(rig.count, 2);
}

static void test_a_watch_that_leaves_makes_room(void **state)
{
    (void)state;
    join(RENEWALS_AT_A_TIME + 2);
    turns();
    renewals_leave(rig.renewals, &rig.watches[RENEWALS_AT_A_TIME]); /* it waits */
    renewals_leave(rig.renewals, &rig.watches[0]);                  /* it is under way */
    turns();
    assert_int_equal(rig.count, RENEWALS_AT_A_TIME + 1);
    assert_int_equal(rig.started[RENEWALS_AT_A_TIME], RENEWALS_AT_A_TIME + 1);
}

static void test_watches_that_need_no_renewal_leave_at_their_start(void **state)
{
    (void)state;
    rig.leave = true;
    join(WATCHES);
    turns();
    assert_int_equal(rig.count, WATCHES);
}

static void test_a_failure_of_one_watch_makes_only_this_one_wait(void **state)
{
    (void)state;
    join(3);
    turns();
    fails(0, ERR_FORBIDDEN);
    renewals_join(rig.renewals, &rig.watches[3]);
    turns();
    assert_int_equal(rig.count, 4);
    assert_int_equal(rig.started[3], 3);
    pass(INITIAL_MS - 1);
    assert_int_equal(rig.count, 4);
    pass(1);
    assert_int_equal(rig.started[4], 0);
    fails(0, ERR_FORBIDDEN);
    pass(2 * INITIAL_MS - 1);
    assert_int_equal(rig.count, 5);
    pass(1);
    assert_int_equal(rig.count, 6);
}

/* Eight fail together because the server is down: that is one failure, and then one tries. */
static void test_a_failure_for_all_makes_all_wait_and_one_try(void **state)
{
    (void)state;
    join(WATCHES);
    turns();
    for (size_t i = 0; i < RENEWALS_AT_A_TIME; i++)
        fails(i, ERR_REFUSED);
    pass(INITIAL_MS - 1);
    assert_int_equal(rig.count, RENEWALS_AT_A_TIME);
    pass(1);
    assert_int_equal(rig.count, RENEWALS_AT_A_TIME + 1);
    assert_int_equal(rig.started[RENEWALS_AT_A_TIME], RENEWALS_AT_A_TIME);
    fails(RENEWALS_AT_A_TIME, ERR_TLS);
    pass(2 * INITIAL_MS - 1);
    assert_int_equal(rig.count, RENEWALS_AT_A_TIME + 1);
    pass(1);
    assert_int_equal(rig.count, RENEWALS_AT_A_TIME + 2);
    renewals_done(rig.renewals, &rig.watches[RENEWALS_AT_A_TIME + 1]);
    turns();
    assert_int_equal(rig.count, 2 * RENEWALS_AT_A_TIME + 2);
    fails(rig.started[rig.count - 1], ERR_REFUSED); /* the backoff has begun anew */
    pass(INITIAL_MS);
    assert_int_equal(rig.count, 2 * RENEWALS_AT_A_TIME + 2); /* the others still try */
}

static void test_the_server_says_how_long_to_wait(void **state)
{
    const struct err busy = {.kind = ERR_BUSY, .text = "busy"};
    const struct err no = {.kind = ERR_SERVER, .text = "oops"};

    (void)state;
    join(2);
    turns();
    struct renewals_retry retry = renewals_failed(rig.renewals, &rig.watches[0], &no, 5000);
    assert_int_equal(retry.in_ms, 5000);
    assert_int_equal(retry.level, LOG_LVL_WARN);
    retry = renewals_failed(rig.renewals, &rig.watches[1], &busy, 7000);
    assert_int_equal(retry.in_ms, 7000);
    pass(6999);
    assert_int_equal(rig.count, 2);
    pass(1);
    assert_int_equal(rig.count, 3);
}

static void test_a_reason_is_worth_one_line(void **state)
{
    const struct err down = {.kind = ERR_REFUSED, .text = "down"};
    const struct err gone = {.kind = ERR_REFUSED, .text = "still down"};
    const struct err no = {.kind = ERR_FORBIDDEN, .text = "no"};

    (void)state;
    join(4);
    turns();
    assert_int_equal(renewals_failed(rig.renewals, &rig.watches[0], &down, 0).level, LOG_LVL_WARN);
    assert_int_equal(renewals_failed(rig.renewals, &rig.watches[1], &gone, 0).level, LOG_LVL_DEBUG);
    assert_int_equal(renewals_failed(rig.renewals, &rig.watches[2], &no, 0).level, LOG_LVL_WARN);
    assert_int_equal(renewals_failed(rig.renewals, &rig.watches[3], &no, 0).level, LOG_LVL_WARN);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, clean_up)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_eight_at_a_time_in_their_order),
        TEST(test_a_watch_that_waits_or_is_renewed_does_not_come_twice),
        TEST(test_a_watch_that_leaves_makes_room),
        TEST(test_watches_that_need_no_renewal_leave_at_their_start),
        TEST(test_a_failure_of_one_watch_makes_only_this_one_wait),
        TEST(test_a_failure_for_all_makes_all_wait_and_one_try),
        TEST(test_the_server_says_how_long_to_wait),
        TEST(test_a_reason_is_worth_one_line),
    };

    alarm(PATIENCE_S);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
