/* SPDX-License-Identifier: Apache-2.0 */
/* cache/pages: lists in pages that would never end. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>

#include "base/compiler.h"
#include "cache/pages.h"

static struct pages p;

static int clean_up(void **state)
{
    (void)state;
    pages_fini(&p);
    assert_null(p.continue_token);
    return 0;
}

static enum err_kind page(const char *next, size_t items)
{
    struct err err = {0};
    enum err_kind kind = pages_check(
        &p, &(struct list_page){.rv = str_c("1"), .next = str_c(next), .items = items}, &err);

    assert_int_equal(err.kind, kind);
    return kind;
}

/* Asks with tokens that come again after so many; returns the number of pages. */
static unsigned ask_in_a_circle(unsigned before, unsigned length)
{
    char token[32];
    unsigned n = 0;

    pages_ask(&p, NULL);
    for (;;) {
        unsigned at = n < before ? n : before + (n - before) % length;

        (void)snprintf(token, sizeof(token), "t%u", at);
        n++;
        if (page(token, 1) != ERR_OK)
            return n;
        pages_ask(&p, token);
        assert_true(n < 10 * (before + length));
    }
}

static void test_a_token_that_was_given_before_is_found_out(void **state)
{
    (void)state;
    assert_int_equal(ask_in_a_circle(0, 1), 2);
    assert_int_equal(ask_in_a_circle(0, 2), 3);
    for (unsigned before = 0; before < 40; before++)
        for (unsigned length = 1; length < 40; length++)
            assert_true(ask_in_a_circle(before, length) <= 1 + 4 * (before + length));
}

static void test_tokens_that_differ_go_on(void **state)
{
    char token[32];

    (void)state;
    pages_ask(&p, NULL);
    for (unsigned i = 0; i < 20000; i++) {
        (void)snprintf(token, sizeof(token), "t%u", i);
        assert_int_equal(page(token, 1), ERR_OK);
        pages_ask(&p, token);
    }
    assert_int_equal(page("", 1), ERR_OK);
}

static void test_a_new_list_may_have_the_tokens_of_the_last_one(void **state)
{
    (void)state;
    for (int i = 0; i < 3; i++) {
        pages_ask(&p, NULL);
        assert_int_equal(page("a", 1), ERR_OK);
        pages_ask(&p, "a");
        assert_int_equal(page("b", 1), ERR_OK);
    }
}

static void test_s14_empty_pages_are_fine_but_not_for_ever(void **state)
{
    char token[32];
    unsigned n = 0;

    (void)state;
    pages_ask(&p, NULL);
    do {
        (void)snprintf(token, sizeof(token), "t%u", n++);
        pages_ask(&p, token);
        assert_true(n <= 1000);
    } while (page("next", 0) == ERR_OK);
    assert_int_equal(n, 1000);
}

static void test_an_item_between_empty_pages_counts_them_anew(void **state)
{
    char token[32];

    (void)state;
    pages_ask(&p, NULL);
    for (unsigned i = 0; i < 5000; i++) {
        (void)snprintf(token, sizeof(token), "t%u", i);
        pages_ask(&p, token);
        assert_int_equal(page("next", i % 900 == 0), ERR_OK);
    }
    assert_int_equal(page("", 0), ERR_OK);
}

static void test_an_item_that_was_skipped_is_an_item(void **state)
{
    (void)state;
    pages_ask(&p, NULL);
    for (unsigned i = 0; i < 3000; i++)
        assert_int_equal(
            pages_check(&p,
                        &(struct list_page){.rv = str_c("1"), .next = str_c("n"), .skipped = i % 2},
                        NULL),
            ERR_OK);
}

static void test_a_nul_is_refused(void **state)
{
    struct list_page bad_rv = {.rv = str_of("1\0", 2), .items = 1};
    struct list_page bad_next = {.rv = str_c("1"), .next = str_of("\0", 1), .items = 1};

    (void)state;
    pages_ask(&p, NULL);
    assert_int_equal(pages_check(&p, &bad_rv, NULL), ERR_PROTOCOL);
    assert_int_equal(pages_check(&p, &bad_next, NULL), ERR_PROTOCOL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_a_token_that_was_given_before_is_found_out, clean_up),
        cmocka_unit_test_teardown(test_tokens_that_differ_go_on, clean_up),
        cmocka_unit_test_teardown(test_a_new_list_may_have_the_tokens_of_the_last_one, clean_up),
        cmocka_unit_test_teardown(test_s14_empty_pages_are_fine_but_not_for_ever, clean_up),
        cmocka_unit_test_teardown(test_an_item_between_empty_pages_counts_them_anew, clean_up),
        cmocka_unit_test_teardown(test_an_item_that_was_skipped_is_an_item, clean_up),
        cmocka_unit_test_teardown(test_a_nul_is_refused, clean_up),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
