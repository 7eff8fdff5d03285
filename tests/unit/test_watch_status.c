/* SPDX-License-Identifier: Apache-2.0 */
/* How the status of a watch follows from that of its scopes. */
#include "cache/watch_status.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cache/list_watch_status.h"

static const uint64_t zeros[64];

/* A scope without events and errors, in this state. */
static struct list_watch_status scope_in(enum reflector_state state, const struct err *err)
{
    static const struct guard guard;
    static const struct buffering buffering;

    _Static_assert(sizeof(zeros) / sizeof(zeros[0]) >= (size_t)ERR_KINDS, "of all kinds");
    return (struct list_watch_status){.state = state,
                                      .relists = zeros,
                                      .guard = &guard,
                                      .buffering = &buffering,
                                      .events_by = zeros,
                                      .errors_by = zeros,
                                      .err = err};
}

static enum watch_state state_of(enum reflector_state state, enum err_kind kind)
{
    const struct err err = {.kind = kind};
    struct list_watch_status scope = scope_in(state, &err);
    struct watch_status sum = {.state = WATCH_WATCHING, .err = &err};

    watch_status_add(&sum, &scope, 1);
    return sum.state;
}

static void test_a_scope_that_fails_counts_until_its_watch_is_established(void **state)
{
    (void)state;
    assert_int_equal(state_of(REFLECTOR_WATCHING, ERR_OK), WATCH_WATCHING);
    assert_int_equal(state_of(REFLECTOR_WATCHING, ERR_REFUSED), WATCH_BACKOFF);
    assert_int_equal(state_of(REFLECTOR_BACKOFF, ERR_FORBIDDEN), WATCH_FORBIDDEN);
    assert_int_equal(state_of(REFLECTOR_BACKOFF, ERR_UNAUTHORIZED), WATCH_FORBIDDEN);
    assert_int_equal(state_of(REFLECTOR_BACKOFF, ERR_NO_VERB), WATCH_WAITING);
    assert_int_equal(state_of(REFLECTOR_COMPARING, ERR_OK), WATCH_LISTING);
    assert_int_equal(state_of(REFLECTOR_HELD, ERR_OK), WATCH_WAITING);
}

static void test_the_worst_scope_speaks_for_the_watch(void **state)
{
    const struct err none = {0};
    const struct err refused = {.kind = ERR_FORBIDDEN};
    const struct list_watch_status scopes[] = {scope_in(REFLECTOR_LISTING, &none),
                                               scope_in(REFLECTOR_BACKOFF, &refused),
                                               scope_in(REFLECTOR_WATCHING, &none)};
    struct watch_status sum = {.state = WATCH_WATCHING, .err = &none};

    (void)state;
    for (size_t i = 0; i < 3; i++)
        watch_status_add(&sum, &scopes[i], 1);
    assert_int_equal(sum.state, WATCH_FORBIDDEN);
    assert_ptr_equal(sum.err, &refused);
    assert_string_equal(watch_state_name(sum.state), "forbidden");
}

static void test_a_watch_without_a_resource_waits_for_it(void **state)
{
    (void)state;
    assert_int_equal(watch_state_unresolved(&(struct err){0}), WATCH_WAITING);
    assert_int_equal(watch_state_unresolved(&(struct err){.kind = ERR_FORBIDDEN}), WATCH_FORBIDDEN);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_scope_that_fails_counts_until_its_watch_is_established),
        cmocka_unit_test(test_the_worst_scope_speaks_for_the_watch),
        cmocka_unit_test(test_a_watch_without_a_resource_waits_for_it),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
