/* SPDX-License-Identifier: Apache-2.0 */
/* kube/attempts: when a server is to blame for a request, and the error when no server is left. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/compiler.h"
#include "kube/attempts.h"

enum { NOW = 1000000, A = 0, B = 1, C = 2 };

static const struct err refused = {.kind = ERR_REFUSED, .code = 1, .text = "a:6443: refused"};
static const struct err status = {.kind = ERR_SERVER, .code = 503, .text = "b:6443: status 503"};
static const struct err lags = {.kind = ERR_BUSY, .text = "c:6443: lags behind"};

static struct servers servers;
static struct attempts attempts;

static int set_up(void **state)
{
    static const struct servers_entry v[] = {
        {"a", 1},
        {"b", 1},
        {"c", 1}
    };

    (void)state;
    servers_init(&servers, v, ARRAY_LEN(v), 1);
    return 0;
}

static int clean_up(void **state)
{
    (void)state;
    attempts_reset(&attempts);
    servers_fini(&servers);
    return 0;
}

static void failed(size_t i, const struct err *err, enum server_fault fault)
{
    attempts_failed(&attempts, &servers, i, err, fault, NOW);
}

static enum server_state state_of(size_t i)
{
    return servers.v[i].state;
}

static void test_a_server_that_cannot_be_reached_is_to_blame(void **state)
{
    (void)state;
    failed(A, &refused, FAULT_CERTAIN);
    assert_int_equal(state_of(A), SERVER_FAILED);
    assert_string_equal(servers.v[A].err.text, refused.text);
}

static void test_a_server_lags_if_another_one_does_not(void **state)
{
    (void)state;
    failed(C, &lags, FAULT_LAGS);
    failed(B, &status, FAULT_UNPROVEN);
    assert_int_equal(state_of(C), SERVER_UNTRIED);
    attempts_answered(&attempts, &servers, A, NOW);
    assert_int_equal(state_of(C), SERVER_LAGS);
    assert_int_equal(state_of(B), SERVER_FAILED);
}

static void test_a_refusal_counts_when_another_server_answers(void **state)
{
    (void)state;
    failed(B, &status, FAULT_UNPROVEN);
    assert_int_equal(state_of(B), SERVER_UNTRIED);
    attempts_answered(&attempts, &servers, A, NOW);
    assert_int_equal(state_of(B), SERVER_FAILED);
    assert_string_equal(servers.v[B].err.text, status.text);
    assert_int_equal(state_of(A), SERVER_GOOD);
    servers_answered(&servers, B, NOW + 1); /* it counts once */
    attempts_answered(&attempts, &servers, A, NOW + 2);
    assert_int_equal(state_of(B), SERVER_GOOD);
}

static void test_a_request_that_all_servers_refuse_is_no_fault_of_theirs(void **state)
{
    (void)state;
    failed(A, &status, FAULT_UNPROVEN);
    failed(B, &lags, FAULT_LAGS);
    failed(C, &status, FAULT_UNPROVEN);
    for (size_t i = A; i <= C; i++)
        assert_int_equal(state_of(i), SERVER_UNTRIED);
    assert_false(attempts_left(&attempts, &servers, SERVERS_NONE));
}

/* The connection could not be made after all. */
static void test_a_certain_failure_replaces_an_unproven_one(void **state)
{
    (void)state;
    failed(A, &lags, FAULT_LAGS);
    failed(A, &refused, FAULT_NONE);
    attempts_answered(&attempts, &servers, B, NOW);
    assert_int_equal(state_of(A), SERVER_UNTRIED);
}

static void test_which_servers_are_left(void **state)
{
    (void)state;
    assert_true(attempts_left(&attempts, &servers, A));
    failed(B, &status, FAULT_UNPROVEN);
    assert_true(attempts_left(&attempts, &servers, A)); /* C */
    failed(C, &lags, FAULT_LAGS);
    assert_false(attempts_left(&attempts, &servers, A));
    assert_true(attempts_left(&attempts, &servers, SERVERS_NONE));
    failed(A, &refused, FAULT_CERTAIN);
    assert_false(attempts_left(&attempts, &servers, SERVERS_NONE));
    attempts_reset(&attempts);
    assert_true(attempts_left(&attempts, &servers, A));
}

static void expect_sum(enum err_kind kind, int code, const char *text)
{
    struct err sum = attempts_sum(&attempts, &servers);

    assert_string_equal(sum.text, text);
    assert_int_equal(sum.kind, kind);
    assert_int_equal(sum.code, code);
}

static void test_the_error_of_one_server_stays_as_it_is(void **state)
{
    (void)state;
    failed(A, &refused, FAULT_CERTAIN);
    expect_sum(ERR_REFUSED, 1, "a:6443: refused");
}

/* Whichever was tried first: a log shows the same failure once. */
static void test_the_error_of_several_servers_names_them_in_their_order(void **state)
{
    (void)state;
    failed(C, &lags, FAULT_LAGS);
    failed(A, &refused, FAULT_CERTAIN);
    failed(B, &status, FAULT_UNPROVEN);
    expect_sum(ERR_REFUSED, 1,
               "3 servers were tried: a:6443: refused; b:6443: status 503; c:6443: lags behind");
}

/* ERR_SERVER would cost a list, which the one server that is well may not need. */
static void test_a_kind_that_keeps_the_version_goes_before_a_refusal(void **state)
{
    (void)state;
    failed(A, &status, FAULT_UNPROVEN);
    expect_sum(ERR_SERVER, 503, "b:6443: status 503");
    failed(B, &status, FAULT_UNPROVEN);
    assert_int_equal(attempts_sum(&attempts, &servers).kind, ERR_SERVER);
    failed(C, &refused, FAULT_CERTAIN);
    assert_int_equal(attempts_sum(&attempts, &servers).kind, ERR_REFUSED);
}

/* A newer credential may be in its file, and is read after this kind only. */
static void test_a_401_goes_before_all_other_kinds(void **state)
{
    static const struct err unauthorized = {.kind = ERR_UNAUTHORIZED, .code = 401, .text = "401"};

    (void)state;
    for (size_t i = A; i <= C; i++) {
        failed(A, &refused, FAULT_CERTAIN);
        failed(B, &status, FAULT_UNPROVEN);
        failed(C, &lags, FAULT_LAGS);
        failed(i, &unauthorized, FAULT_UNPROVEN);
        assert_int_equal(attempts_sum(&attempts, &servers).kind, ERR_UNAUTHORIZED);
    }
}

static void test_each_server_has_its_share_of_the_text(void **state)
{
    struct err long_one = {.kind = ERR_TLS};

    (void)state;
    memset(long_one.text, 'x', sizeof(long_one.text) - 1);
    for (size_t i = A; i <= C; i++)
        failed(i, &long_one, FAULT_CERTAIN);
    struct err sum = attempts_sum(&attempts, &servers);
    size_t n = 0;

    for (const char *c = sum.text; *c != '\0'; c++)
        n += *c == ';';
    assert_int_equal(n, 2);
    assert_in_range(strlen(sum.text), sizeof(sum.text) - 20, sizeof(sum.text) - 1);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, clean_up)
    const struct CMUnitTest tests[] = {
        TEST(test_a_server_that_cannot_be_reached_is_to_blame),
        TEST(test_a_server_lags_if_another_one_does_not),
        TEST(test_a_refusal_counts_when_another_server_answers),
        TEST(test_a_request_that_all_servers_refuse_is_no_fault_of_theirs),
        TEST(test_a_certain_failure_replaces_an_unproven_one),
        TEST(test_which_servers_are_left),
        TEST(test_the_error_of_one_server_stays_as_it_is),
        TEST(test_the_error_of_several_servers_names_them_in_their_order),
        TEST(test_a_kind_that_keeps_the_version_goes_before_a_refusal),
        TEST(test_a_401_goes_before_all_other_kinds),
        TEST(test_each_server_has_its_share_of_the_text),
    };
#undef TEST

    return cmocka_run_group_tests(tests, NULL, NULL);
}
