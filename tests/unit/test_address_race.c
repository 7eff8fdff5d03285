/* SPDX-License-Identifier: Apache-2.0 */
/* proto/address_race in virtual time: the order of addresses, when each attempt begins, and what the
 * error says when all have failed. */
#include <arpa/inet.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "proto/address_race.h"

enum { BEGIN_MS = 1000000, TIMEOUT_MS = 10000 };

static struct address address_of(const char *literal)
{
    struct address a = {0};

    if (inet_pton(AF_INET, literal, &a.to.v4.sin_addr) == 1) {
        a.to.v4.sin_family = AF_INET;
    } else {
        assert_int_equal(inet_pton(AF_INET6, literal, &a.to.v6.sin6_addr), 1);
        a.to.v6.sin6_family = AF_INET6;
    }
    return a;
}

/* Literals with blanks between them; "!N/" in front of one: it failed N ms before BEGIN_MS. */
static struct addresses list_of(const char *text)
{
    struct addresses list = {0};
    char *copy = mem_strdup(text), *save = NULL;

    for (char *one = strtok_r(copy, " ", &save); one != NULL; one = strtok_r(NULL, " ", &save)) {
        uint64_t before_ms = 0;

        if (one[0] == '!') {
            before_ms = strtoull(one + 1, &one, 10);
            one++;
        }
        struct address a = address_of(one);
        assert_true(addresses_add(&list, &a.to.any));
        if (before_ms > 0)
            addresses_note(&list, &a, BEGIN_MS - before_ms);
    }
    free(copy);
    return list;
}

static struct address_race race_of(const char *text, uint64_t timeout_ms)
{
    struct addresses list = list_of(text);
    struct address_race r;

    address_race_init(&r, &list, timeout_ms, BEGIN_MS);
    return r;
}

static void test_the_order_of_addresses(void **state)
{
    static const struct {
        const char *found;
        const char *order;
    } cases[] = {
        {"10.0.0.1",                                  "10.0.0.1"                        },
        {"fd00::1 10.0.0.1",                          "fd00::1 10.0.0.1"                },
        {"fd00::1 fd00::2 fd00::3 10.0.0.1",          "fd00::1 10.0.0.1 fd00::2 fd00::3"},
        {"10.0.0.1 10.0.0.2 fd00::1",                 "10.0.0.1 fd00::1 10.0.0.2"       },
        {"10.0.0.3 10.0.0.2 10.0.0.1",                "10.0.0.3 10.0.0.2 10.0.0.1"      },
 /* an address that failed lately comes last, whatever its family is */
        {"!1/fd00::1 10.0.0.1 10.0.0.2",              "10.0.0.1 10.0.0.2 fd00::1"       },
        {"!1/fd00::1 fd00::2 10.0.0.1",               "fd00::2 10.0.0.1 fd00::1"        },
        {"!5/fd00::1 !9/fd00::2 10.0.0.1 !7/fd00::3", "10.0.0.1 fd00::2 fd00::3 fd00::1"},
        {"!5/fd00::1 !5/fd00::2",                     "fd00::1 fd00::2"                 },
 /* after a minute it has its place again */
        {"!59999/fd00::1 10.0.0.1",                   "10.0.0.1 fd00::1"                },
        {"!60000/fd00::1 10.0.0.1",                   "fd00::1 10.0.0.1"                },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct address_race r = race_of(cases[i].found, TIMEOUT_MS);
        struct buf order = {0};

        for (size_t k = 0; k < r.n; k++) {
            buf_puts(&order, k > 0 ? " " : "");
            address_put(&order, &r.v[k].address);
        }
        assert_string_equal(buf_cstr(&order), cases[i].order);
        buf_free(&order);
    }
}

static void test_at_most_sixteen_are_tried_those_that_failed_last(void **state)
{
    struct addresses list = {0};
    struct address_race r;

    (void)state;
    for (unsigned i = 0; i < ADDRESSES_MAX + 8; i++) {
        char text[32];

        (void)snprintf(text, sizeof(text), "10.0.0.%u", i);
        struct address a = address_of(text);
        assert_int_equal(addresses_add(&list, &a.to.any), i < ADDRESSES_MAX);
        assert_false(addresses_add(&list, &a.to.any)); /* no address twice */
        addresses_note(&list, &a, i < 56 ? BEGIN_MS - 1 : 0);
    }
    address_race_init(&r, &list, TIMEOUT_MS, BEGIN_MS);
    assert_int_equal(r.n, ADDRESS_RACE_MAX);
    for (size_t i = 0; i < r.n; i++)
        assert_int_equal(ntohl(r.v[i].address.to.v4.sin_addr.s_addr) & 0xff,
                         i < 8 ? 56 + i : i - 8);
}

static void test_an_attempt_begins_every_250_ms_until_one_connects(void **state)
{
    struct address_race r = race_of("fd00::1 10.0.0.1 fd00::2", TIMEOUT_MS);

    (void)state;
    assert_int_equal(address_race_next(&r, BEGIN_MS), 0);
    assert_int_equal(address_race_next(&r, BEGIN_MS), ADDRESS_RACE_NONE);
    assert_int_equal(address_race_due_ms(&r), BEGIN_MS + 250);
    assert_int_equal(address_race_next(&r, BEGIN_MS + 249), ADDRESS_RACE_NONE);
    assert_int_equal(address_race_next(&r, BEGIN_MS + 250), 1);
    assert_int_equal(address_race_due_ms(&r), BEGIN_MS + 500);
    address_race_connected(&r, 1);
    assert_int_equal(address_race_next(&r, BEGIN_MS + 500), ADDRESS_RACE_NONE);
    assert_false(address_race_is_lost(&r));
    assert_true(address_race_was_bad(&r, 0)); /* it was silent for too long */
    assert_false(address_race_was_bad(&r, 1));
    assert_false(address_race_was_bad(&r, 2)); /* it was not tried */
}

static void test_an_attempt_that_began_after_the_winner_is_not_bad(void **state)
{
    struct address_race r = race_of("fd00::1 10.0.0.1", TIMEOUT_MS);

    (void)state;
    assert_int_equal(address_race_next(&r, BEGIN_MS), 0);
    assert_int_equal(address_race_next(&r, BEGIN_MS + 250), 1);
    address_race_connected(&r, 0);
    assert_false(address_race_was_bad(&r, 0));
    assert_false(address_race_was_bad(&r, 1));
}

static void test_a_failure_starts_the_next_attempt_at_once(void **state)
{
    struct address_race r = race_of("10.0.0.1 10.0.0.2 10.0.0.3", TIMEOUT_MS);

    (void)state;
    assert_int_equal(address_race_next(&r, BEGIN_MS), 0);
    address_race_failed(&r, 0, ERR_REFUSED, -111, "connection refused");
    assert_int_equal(address_race_next(&r, BEGIN_MS + 1), 1);
    assert_int_equal(address_race_next(&r, BEGIN_MS + 1), ADDRESS_RACE_NONE);
    assert_int_equal(address_race_due_ms(&r), BEGIN_MS + 251);
    assert_false(address_race_is_lost(&r));
    address_race_failed(&r, 1, ERR_REFUSED, -111, "connection refused");
    assert_int_equal(address_race_next(&r, BEGIN_MS + 2), 2);
    /* none is left: only the end can come */
    assert_int_equal(address_race_due_ms(&r), BEGIN_MS + TIMEOUT_MS);
    assert_true(address_race_was_bad(&r, 0) && address_race_was_bad(&r, 1));
    address_race_failed(&r, 2, ERR_REFUSED, -111, "connection refused");
    assert_true(address_race_is_lost(&r));
}

static void test_the_timeout_bounds_all_attempts(void **state)
{
    struct address_race r = race_of("10.0.0.1 10.0.0.2", TIMEOUT_MS);
    struct err err;

    (void)state;
    assert_int_equal(address_race_next(&r, BEGIN_MS), 0);
    assert_int_equal(address_race_next(&r, BEGIN_MS + 250), 1);
    address_race_time_out(&r, BEGIN_MS + TIMEOUT_MS - 1);
    assert_false(address_race_is_lost(&r));
    address_race_time_out(&r, BEGIN_MS + TIMEOUT_MS);
    assert_true(address_race_is_lost(&r));
    assert_true(address_race_was_bad(&r, 1));
    address_race_explain(&r, "api.test", &err);
    assert_int_equal(err.kind, ERR_TIMEOUT);
    assert_string_equal(err.text, "no answer within 10000 ms (10.0.0.1, 10.0.0.2)");
}

static void test_with_a_short_timeout_all_addresses_still_get_an_attempt(void **state)
{
    struct address_race r = race_of("10.0.0.1 10.0.0.2 10.0.0.3 10.0.0.4", 400);
    uint64_t now_ms = BEGIN_MS;
    unsigned began = 0;

    (void)state;
    while (now_ms < r.end_ms) {
        began += address_race_next(&r, now_ms) != ADDRESS_RACE_NONE;
        now_ms = address_race_due_ms(&r) > now_ms ? address_race_due_ms(&r) : now_ms + 1;
    }
    assert_int_equal(began, 4);
    /* but the attempts are at least 10 ms apart */
    r = race_of("10.0.0.1 10.0.0.2 10.0.0.3", 15);
    assert_int_equal(address_race_next(&r, BEGIN_MS), 0);
    assert_int_equal(address_race_due_ms(&r), BEGIN_MS + 10);
}

static void fail_each(struct address_race *r, const int refused[4])
{
    assert_in_range(r->n, 1, 4);
    for (size_t i = 0; i < r->n && i < 4; i++) {
        assert_int_equal(address_race_next(r, BEGIN_MS + i), i);
        if (refused[i] > 0)
            address_race_failed(r, i, ERR_REFUSED, -111, "connection refused");
        else
            address_race_failed(r, i, ERR_IO, -101, "network is unreachable");
    }
}

static void test_the_error_names_each_reason_with_its_addresses(void **state)
{
    static const struct {
        const char *found;
        int refused[4];
        enum err_kind kind;
        int code;
        const char *text;
    } cases[] = {
        {"10.0.0.1",                   {1},    ERR_REFUSED, -111, "connection refused (10.0.0.1)"              },
        {"fd00::1 10.0.0.1",
         {0, 1},
         ERR_REFUSED,                                       -111,
         "connection refused (10.0.0.1), network is unreachable (fd00::1)"                                     },
        {"10.0.0.1 10.0.0.2 10.0.0.3",
         {0, 1, 0},
         ERR_REFUSED,                                       -111,
         "connection refused (10.0.0.2), network is unreachable (10.0.0.1, 10.0.0.3)"                          },
        {"10.0.0.1 10.0.0.2",          {0, 0}, ERR_IO,      -101, "network is unreachable (10.0.0.1, 10.0.0.2)"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct address_race r = race_of(cases[i].found, TIMEOUT_MS);
        struct err err;

        fail_each(&r, cases[i].refused);
        address_race_explain(&r, "api.test", &err);
        assert_string_equal(err.text, cases[i].text);
        assert_int_equal(err.kind, cases[i].kind);
        assert_int_equal(err.code, cases[i].code);
    }
}

static void test_the_error_names_no_address_that_is_the_host_itself(void **state)
{
    struct address_race r = race_of("10.0.0.1", TIMEOUT_MS);
    struct err err;

    (void)state;
    fail_each(&r, (const int[4]){1});
    address_race_explain(&r, "10.0.0.1", &err);
    assert_string_equal(err.text, "connection refused");
}

static void test_a_silent_and_a_refusing_address(void **state)
{
    struct address_race r = race_of("fd00::1 10.0.0.1", TIMEOUT_MS);
    struct err err;

    (void)state;
    assert_int_equal(address_race_next(&r, BEGIN_MS), 0);
    assert_int_equal(address_race_next(&r, BEGIN_MS + 250), 1);
    address_race_failed(&r, 1, ERR_REFUSED, -111, "connection refused");
    assert_false(address_race_is_lost(&r)); /* the silent one may still answer */
    address_race_time_out(&r, BEGIN_MS + TIMEOUT_MS);
    address_race_explain(&r, "api.test", &err);
    assert_string_equal(err.text,
                        "connection refused (10.0.0.1), no answer within 10000 ms (fd00::1)");
    assert_int_equal(err.kind, ERR_REFUSED);
}

static void test_failures_are_remembered_over_a_new_answer(void **state)
{
    struct addresses before = list_of("!5/fd00::1 10.0.0.1 !7/fd00::2");
    struct addresses now = list_of("fd00::3 fd00::1 10.0.0.1");
    struct address worked = address_of("fd00::1");

    (void)state;
    addresses_remember(&now, &before);
    assert_int_equal(now.n, 3);
    assert_int_equal(now.v[0].failed_ms, 0);
    assert_int_equal(now.v[1].failed_ms, BEGIN_MS - 5);
    assert_int_equal(now.v[2].failed_ms, 0);
    addresses_note(&now, &worked, 0);
    assert_int_equal(now.v[1].failed_ms, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_order_of_addresses),
        cmocka_unit_test(test_at_most_sixteen_are_tried_those_that_failed_last),
        cmocka_unit_test(test_an_attempt_begins_every_250_ms_until_one_connects),
        cmocka_unit_test(test_an_attempt_that_began_after_the_winner_is_not_bad),
        cmocka_unit_test(test_a_failure_starts_the_next_attempt_at_once),
        cmocka_unit_test(test_the_timeout_bounds_all_attempts),
        cmocka_unit_test(test_with_a_short_timeout_all_addresses_still_get_an_attempt),
        cmocka_unit_test(test_the_error_names_each_reason_with_its_addresses),
        cmocka_unit_test(test_the_error_names_no_address_that_is_the_host_itself),
        cmocka_unit_test(test_a_silent_and_a_refusing_address),
        cmocka_unit_test(test_failures_are_remembered_over_a_new_answer),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
