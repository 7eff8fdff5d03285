/* SPDX-License-Identifier: Apache-2.0 */
/* kube/servers in virtual time: the sticky choice, tiers, holds, and the way back. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/compiler.h"
#include "base/rng.h"
#include "kube/servers.h"

enum { SECOND = 1000, MINUTE = 60000, A = 0, B = 1, C = 2 };

static const struct err down = {.kind = ERR_REFUSED, .text = "it is down"};
static const struct err old = {.kind = ERR_BUSY, .text = "it is old"};

static struct servers servers;
static uint64_t now;

static void use(const unsigned *tiers, size_t n, uint64_t seed)
{
    static const char *const names[] = {"a", "b", "c", "d", "e"};
    struct servers_entry v[ARRAY_LEN(names)];

    for (size_t i = 0; i < n; i++)
        v[i] = (struct servers_entry){names[i], tiers != NULL ? tiers[i] : 1};
    servers_fini(&servers);
    servers_init(&servers, v, n, seed);
    now = 1000000;
}

static int set_up(void **state)
{
    (void)state;
    use(NULL, 3, 1);
    return 0;
}

static int clean_up(void **state)
{
    (void)state;
    servers_fini(&servers);
    return 0;
}

static size_t choose(void)
{
    return servers_choose(&servers, 0, now);
}

/* A request for which all servers but this one were tried. */
static size_t choose_only(size_t i)
{
    return servers_choose(&servers, ~((uint64_t)1 << i), now);
}

static void answers(size_t i)
{
    servers_answered(&servers, i, now);
}

static void fails(size_t i)
{
    servers_failed(&servers, i, &down, now);
}

static enum server_state state_of(size_t i)
{
    return servers.v[i].state;
}

/* The servers in the order in which they are chosen if each one fails. */
static void go_through(size_t *order)
{
    for (size_t i = 0; i < servers.n; i++) {
        order[i] = choose();
        fails(order[i]);
        now++;
    }
}

static void test_the_choice_is_sticky(void **state)
{
    (void)state;
    size_t first = choose();

    for (int i = 0; i < 100; i++) {
        answers(first);
        now += MINUTE;
        assert_int_equal(choose(), first);
    }
    fails(first);
    size_t second = choose();
    assert_int_not_equal(second, first);
    answers(second);
    assert_int_equal(servers.in_use, second);
    now += SERVERS_HOLD_MAX_MS; /* the first one may be used again, but nothing needs that */
    assert_int_equal(choose(), second);
    assert_int_equal(state_of(first), SERVER_FAILED);
}

/* It may have answered a request that was under way. */
static void test_a_server_that_is_good_again_is_not_returned_to(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 20; seed++) {
        use(NULL, 3, seed);
        size_t first = choose();
        fails(first);
        size_t second = choose();
        answers(second);
        answers(first);
        assert_int_equal(state_of(first), SERVER_GOOD);
        assert_int_equal(choose(), second);
        assert_int_equal(servers.in_use, second);
    }
}

static void test_a_server_that_is_well_goes_before_one_whose_hold_is_over(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 20; seed++) {
        use(NULL, 3, seed);
        for (size_t i = C + 1; i-- > 0; now++)
            fails(i);
        answers(A); /* it failed later than the others, and is well again */
        now += SERVERS_HOLD_MS;
        assert_int_equal(choose(), A);
    }
}

static void test_nothing_is_in_use_before_the_first_answer(void **state)
{
    (void)state;
    assert_int_equal(servers.in_use, SERVERS_NONE);
    size_t first = choose();
    assert_int_equal(servers.in_use, SERVERS_NONE);
    assert_int_equal(state_of(first), SERVER_UNTRIED);
    answers(first);
    assert_int_equal(servers.in_use, first);
    assert_int_equal(state_of(first), SERVER_GOOD);
}

static void test_processes_begin_with_different_servers(void **state)
{
    unsigned count[3][3] = {{0}};
    size_t order[3];

    (void)state;
    for (uint64_t seed = 0; seed < 900; seed++) {
        use(NULL, 3, seed);
        go_through(order);
        for (size_t i = 0; i < 3; i++)
            count[i][order[i]]++;
    }
    for (size_t i = 0; i < 3; i++)
        for (size_t k = 0; k < 3; k++)
            assert_in_range(count[i][k], 200, 400);
}

static void test_a_request_goes_to_each_server_once(void **state)
{
    uint64_t tried = 0;

    (void)state;
    use(NULL, 5, 7);
    for (size_t i = 0; i < 5; i++) {
        size_t next = servers_choose(&servers, tried, now);
        assert_in_range(next, 0, 4);
        assert_false(tried >> next & 1);
        tried |= (uint64_t)1 << next;
    }
    assert_int_equal(servers_choose(&servers, tried, now), SERVERS_NONE);
    assert_int_equal(servers_choose(&servers, UINT64_MAX, now), SERVERS_NONE);
}

/* A request that one server alone has failed is no reason for others to go elsewhere. */
static void test_what_one_request_tried_does_not_move_the_choice(void **state)
{
    (void)state;
    size_t first = choose();
    size_t other = servers_choose(&servers, (uint64_t)1 << first, now);

    assert_int_not_equal(other, first);
    answers(other);
    assert_int_equal(servers.in_use, SERVERS_NONE);
    assert_int_equal(choose(), first);
}

static void test_if_all_have_failed_the_oldest_failure_is_tried(void **state)
{
    size_t order[3];

    (void)state;
    go_through(order);
    for (int round = 0; round < 3; round++)
        for (size_t i = 0; i < 3; i++) {
            assert_int_equal(choose(), order[i]);
            fails(order[i]);
            now += SECOND;
        }
    answers(order[1]); /* the first one that is back is the choice */
    assert_int_equal(choose(), order[1]);
    assert_int_equal(servers.in_use, order[1]);
}

static void test_holds_grow_and_are_bounded(void **state)
{
    static const uint64_t want[] = {10, 20, 40, 80, 160, 300, 300, 300};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(want); i++) {
        servers_failed(&servers, A, &down, now);
        assert_int_equal(servers.v[A].hold_until_ms, now + want[i] * SECOND);
        now = servers.v[A].hold_until_ms;
    }
}

/* A thousand streams break within a moment: that is one failure. */
static void test_one_failure_that_is_reported_often_counts_once(void **state)
{
    (void)state;
    for (int i = 0; i < 1000; i++)
        fails(A);
    assert_int_equal(servers.v[A].failures, 1);
    assert_int_equal(servers.v[A].hold_until_ms, now + SERVERS_HOLD_MS);
    now += SECOND;
    fails(A);
    assert_int_equal(servers.v[A].hold_until_ms, now - SECOND + SERVERS_HOLD_MS);
    assert_int_equal(servers.v[A].failed_ms, now);
    assert_int_equal(servers.v[A].since_ms, now - SECOND);
}

static void test_a_server_that_was_good_for_long_begins_with_the_shortest_hold(void **state)
{
    (void)state;
    fails(A);
    now += MINUTE;
    fails(A);
    answers(A);
    now += SERVERS_HOLD_MAX_MS - 1;
    fails(A);
    assert_int_equal(servers.v[A].failures, 3); /* it had not been good for long enough */
    answers(A);
    now += SERVERS_HOLD_MAX_MS;
    fails(A);
    assert_int_equal(servers.v[A].failures, 1);
}

/* ---- Tiers. */

static const unsigned tiers[] = {1, 2, 2};

static void test_the_best_tier_is_used_whatever_the_seed(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 50; seed++) {
        use(tiers, 3, seed);
        assert_int_equal(choose(), A);
        fails(A);
        assert_in_range(choose(), B, C);
    }
}

static void test_a_server_of_a_better_tier_is_used_again_after_its_hold(void **state)
{
    (void)state;
    use(tiers, 3, 1);
    fails(A);
    size_t stand_in = choose();
    answers(stand_in);
    now += SERVERS_HOLD_MS - 1;
    assert_int_equal(choose(), stand_in);
    now++;
    assert_int_equal(choose(), A); /* one request finds out */
    assert_int_equal(state_of(A), SERVER_RETURNING);
    assert_int_equal(choose(), stand_in);
    assert_int_equal(servers.in_use, stand_in);
    answers(A);
    assert_int_equal(choose(), A);
    assert_int_equal(servers.in_use, A);
}

static void test_a_server_that_is_not_back_is_held_for_longer(void **state)
{
    (void)state;
    use(tiers, 3, 1);
    fails(A);
    uint64_t since_ms = now;
    size_t stand_in = choose();
    answers(stand_in);
    now += SERVERS_HOLD_MS;
    assert_int_equal(choose(), A);
    now += SECOND;
    fails(A);
    assert_int_equal(servers.v[A].hold_until_ms, now + 2 * SERVERS_HOLD_MS);
    assert_int_equal(servers.v[A].since_ms, since_ms);
    assert_int_equal(choose(), stand_in);
}

/* The request that was to find out has ended without an answer, for example as it was dropped. */
static void test_another_request_finds_out_when_the_first_one_did_not(void **state)
{
    (void)state;
    use(tiers, 3, 1);
    fails(A);
    answers(choose());
    now += SERVERS_HOLD_MS;
    assert_int_equal(choose(), A);
    now += SERVERS_HOLD_MS - 1;
    assert_int_not_equal(choose(), A);
    now++;
    assert_int_equal(choose(), A);
}

/* Then the way back has no use for the other ones, and each request may try. */
static void test_without_a_stand_in_every_request_tries(void **state)
{
    size_t order[3];

    (void)state;
    use(tiers, 3, 1);
    go_through(order);
    now += SERVERS_HOLD_MS;
    assert_int_equal(choose(), A);
    assert_int_equal(choose(), A);
    assert_int_equal(state_of(A), SERVER_FAILED);
}

static void test_stickiness_holds_within_a_tier_only(void **state)
{
    static const unsigned two[] = {1, 1, 2};

    (void)state;
    use(two, 3, 1);
    size_t first = choose();
    answers(first);
    fails(first);
    size_t second = choose();
    assert_in_range(second, A, B);
    answers(second);
    now += MINUTE;
    assert_int_equal(choose(), second);
    fails(second);
    assert_int_equal(choose(), first); /* its hold is over, and the tier is better */
    fails(first);
    assert_int_equal(choose(), C);
    answers(C);
    now += MINUTE;
    size_t back = choose();
    assert_in_range(back, A, B);
}

static void test_if_all_have_failed_no_tier_is_better(void **state)
{
    (void)state;
    use(tiers, 3, 1);
    fails(C);
    now++;
    fails(A);
    now++;
    fails(B);
    assert_int_equal(choose(), C);
}

/* ---- Servers that lag. */

static void test_a_server_that_lags_is_left(void **state)
{
    (void)state;
    size_t first = choose();
    servers_lags(&servers, first, &old, now);
    assert_int_equal(state_of(first), SERVER_LAGS);
    assert_int_not_equal(choose(), first);
    answers(first); /* to a request that was under way */
    assert_int_equal(state_of(first), SERVER_LAGS);
    assert_int_not_equal(choose(), first);
}

static void test_if_all_lag_an_answer_is_good(void **state)
{
    (void)state;
    for (size_t i = 0; i < 3; i++)
        servers_lags(&servers, i, &old, now + i);
    assert_int_equal(choose(), A);
    answers(A);
    assert_int_equal(state_of(A), SERVER_GOOD);
    assert_int_equal(choose(), A);
}

static void test_new_credentials_end_a_hold(void **state)
{
    (void)state;
    use(tiers, 3, 1);
    fails(A);
    answers(choose());
    servers_renewed(&servers, A);
    assert_int_equal(choose(), A);
    answers(A);
    servers_renewed(&servers, A);
    assert_int_equal(state_of(A), SERVER_GOOD);
}

/* ---- Are there other servers? */

static unsigned others(size_t i, uint64_t tried)
{
    return servers_others(&servers, i, tried, now);
}

static void test_how_many_other_servers_can_be_tried(void **state)
{
    (void)state;
    assert_int_equal(others(A, 0), 0); /* it has not failed, so it is used again */
    fails(A);
    assert_int_equal(others(A, 0), 2);
    assert_int_equal(others(A, (uint64_t)1 << B), 1);
    fails(B);
    assert_int_equal(others(A, 0), 1);
    assert_int_equal(others(B, 0), 1);
    fails(C);
    assert_int_equal(others(C, 0), 0);
    now += SERVERS_HOLD_MS;
    assert_int_equal(others(A, 0), 0);
    use(NULL, 1, 1);
    fails(A);
    assert_int_equal(others(A, 0), 0);
}

static void test_one_server_is_always_the_choice(void **state)
{
    (void)state;
    use(NULL, 1, 1);
    assert_int_equal(choose(), A);
    fails(A);
    assert_int_equal(choose(), A);
    servers_lags(&servers, A, &old, now);
    assert_int_equal(choose(), A);
    answers(A);
    assert_int_equal(state_of(A), SERVER_GOOD);
    assert_string_equal(servers.v[A].err.text, "it is old"); /* for the status */
    assert_int_equal(choose_only(A), A);
}

static void test_sixty_four_servers(void **state)
{
    struct servers_entry v[SERVERS_MAX];
    uint64_t tried = 0;

    (void)state;
    for (size_t i = 0; i < SERVERS_MAX; i++)
        v[i] = (struct servers_entry){"x", 1};
    servers_fini(&servers);
    servers_init(&servers, v, SERVERS_MAX, 3);
    for (size_t i = 0; i < SERVERS_MAX; i++)
        tried |= (uint64_t)1 << servers_choose(&servers, tried, now);
    assert_true(tried == UINT64_MAX);
    assert_int_equal(servers_choose(&servers, tried, now), SERVERS_NONE);
}

/* In every state a server is chosen, it is none that was tried, and a worse one is never chosen while a
 * better tier has a server that is well. */
static void test_random_histories(void **state)
{
    static const unsigned mixed[] = {2, 1, 2, 1, 3};
    struct rng rng;

    (void)state;
    rng_seed(&rng, 5);
    use(mixed, 5, 5);
    for (int step = 0; step < 20000; step++) {
        uint64_t tried = rng_between(&rng, 0, 31);
        size_t i = servers_choose(&servers, tried, now);

        now += rng_between(&rng, 0, 1) * rng_between(&rng, 0, 20000);
        if (tried == 31) {
            assert_int_equal(i, SERVERS_NONE);
            continue;
        }
        assert_in_range(i, 0, 4);
        assert_false(tried >> i & 1);
        for (size_t k = 0; k < 5; k++)
            if (!(tried >> k & 1) && state_of(k) == SERVER_GOOD)
                assert_true(servers.v[i].tier <= servers.v[k].tier);
        if (rng_between(&rng, 0, 2) == 0)
            fails(i);
        else if (rng_between(&rng, 0, 4) == 0)
            servers_lags(&servers, i, &old, now);
        else
            answers(i);
    }
}

/* A request that was sent at second 1000.9 and whose answer was read at 1090.1. */
static int64_t ahead_with(int64_t date_s)
{
    servers_dated(&servers, A, date_s, UINT64_C(1000900000000), UINT64_C(1090100000000));
    return servers.v[A].clock_ahead_s;
}

static void test_a_date_outside_of_its_request_shows_another_clock(void **state)
{
    (void)state;
    assert_int_equal(ahead_with(1000), 0);
    assert_int_equal(ahead_with(1090), 0);
    assert_int_equal(ahead_with(1091), 1);
    assert_int_equal(ahead_with(4690), 3600);
    assert_int_equal(ahead_with(0), 3600); /* no Date: the one before counts */
    assert_int_equal(ahead_with(999), -1);
    assert_int_equal(ahead_with(1050), 0);
    assert_int_equal(servers.v[B].clock_ahead_s, 0);
}

static void test_states_have_names(void **state)
{
    (void)state;
    for (int i = SERVER_UNTRIED; i <= SERVER_RETURNING; i++)
        assert_true(*server_state_name((enum server_state)i) != '\0');
    assert_string_equal(server_state_name(SERVER_LAGS), "lags");
    assert_string_equal(server_state_name(SERVER_RETURNING), "returning");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, clean_up)
    const struct CMUnitTest tests[] = {
        TEST(test_the_choice_is_sticky),
        TEST(test_a_server_that_is_good_again_is_not_returned_to),
        TEST(test_a_server_that_is_well_goes_before_one_whose_hold_is_over),
        TEST(test_nothing_is_in_use_before_the_first_answer),
        TEST(test_processes_begin_with_different_servers),
        TEST(test_a_request_goes_to_each_server_once),
        TEST(test_what_one_request_tried_does_not_move_the_choice),
        TEST(test_if_all_have_failed_the_oldest_failure_is_tried),
        TEST(test_holds_grow_and_are_bounded),
        TEST(test_one_failure_that_is_reported_often_counts_once),
        TEST(test_a_server_that_was_good_for_long_begins_with_the_shortest_hold),
        TEST(test_the_best_tier_is_used_whatever_the_seed),
        TEST(test_a_server_of_a_better_tier_is_used_again_after_its_hold),
        TEST(test_a_server_that_is_not_back_is_held_for_longer),
        TEST(test_another_request_finds_out_when_the_first_one_did_not),
        TEST(test_without_a_stand_in_every_request_tries),
        TEST(test_stickiness_holds_within_a_tier_only),
        TEST(test_if_all_have_failed_no_tier_is_better),
        TEST(test_a_server_that_lags_is_left),
        TEST(test_if_all_lag_an_answer_is_good),
        TEST(test_new_credentials_end_a_hold),
        TEST(test_how_many_other_servers_can_be_tried),
        TEST(test_one_server_is_always_the_choice),
        TEST(test_sixty_four_servers),
        TEST(test_random_histories),
        TEST(test_a_date_outside_of_its_request_shows_another_clock),
        TEST(test_states_have_names),
    };
#undef TEST

    return cmocka_run_group_tests(tests, NULL, NULL);
}
