/* SPDX-License-Identifier: Apache-2.0 */
#include "base/log_levels.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static const struct kv none[] = {{.type = KV_TYPE_END}};

static bool about_watch(const struct log_levels *l, enum log_level level, const char *watch)
{
    return log_levels_admit(l, level,
                            LOG_FIELDS(KV_STR("cluster", "prod"), KV_STR("watch", watch)));
}

static bool about_hook(const struct log_levels *l, enum log_level level, const char *hook)
{
    return log_levels_admit(l, level, LOG_FIELDS(KV_STR("hook", hook), KV_INT("attempt", 1)));
}

static void test_one_level_for_all_lines(void **state)
{
    struct log_levels l = {0};

    (void)state;
    assert_true(log_levels_admit(&l, LOG_LVL_ERROR, none));
    assert_false(log_levels_admit(&l, LOG_LVL_WARN, none));
    log_levels_set(&l, LOG_SUBJECT_ALL, NULL, LOG_LVL_DEBUG);
    assert_true(about_watch(&l, LOG_LVL_DEBUG, "w"));
    assert_false(about_watch(&l, LOG_LVL_TRACE, "w"));
}

static void test_a_watch_and_a_hook_of_the_same_name_have_levels_of_their_own(void **state)
{
    struct log_levels l = {.all = LOG_LVL_INFO};

    (void)state;
    log_levels_set(&l, LOG_SUBJECT_WATCH, "x", LOG_LVL_DEBUG);
    log_levels_set(&l, LOG_SUBJECT_HOOK, "x", LOG_LVL_ERROR);
    assert_true(about_watch(&l, LOG_LVL_DEBUG, "x"));
    assert_false(about_watch(&l, LOG_LVL_TRACE, "x"));
    assert_false(about_watch(&l, LOG_LVL_DEBUG, "xx"));
    assert_true(about_hook(&l, LOG_LVL_ERROR, "x"));
    assert_false(about_hook(&l, LOG_LVL_WARN, "x")); /* also less than all others */
    assert_true(about_hook(&l, LOG_LVL_INFO, "y"));
    assert_true(log_levels_admit(&l, LOG_LVL_INFO, none));
    log_levels_unset(&l, LOG_SUBJECT_ALL, NULL);
}

static void test_of_two_levels_the_more_talkative_one_counts(void **state)
{
    struct log_levels l = {.all = LOG_LVL_WARN};
    const struct kv both[] = {KV_STR("hook", "h"), KV_STR("watch", "w"), {.type = KV_TYPE_END}};

    (void)state;
    log_levels_set(&l, LOG_SUBJECT_HOOK, "h", LOG_LVL_TRACE);
    log_levels_set(&l, LOG_SUBJECT_WATCH, "w", LOG_LVL_ERROR);
    assert_true(log_levels_admit(&l, LOG_LVL_TRACE, both));
    log_levels_set(&l, LOG_SUBJECT_HOOK, "h", LOG_LVL_ERROR);
    log_levels_set(&l, LOG_SUBJECT_WATCH, "w", LOG_LVL_TRACE);
    assert_true(log_levels_admit(&l, LOG_LVL_TRACE, both));
    log_levels_unset(&l, LOG_SUBJECT_WATCH, "w");
    assert_false(log_levels_admit(&l, LOG_LVL_WARN, both));
    log_levels_unset(&l, LOG_SUBJECT_ALL, NULL);
}

/* A hook may be called like a file, and a number is no name. */
static void test_other_fields_with_the_name_do_not_count(void **state)
{
    struct log_levels l = {.all = LOG_LVL_INFO};

    (void)state;
    log_levels_set(&l, LOG_SUBJECT_HOOK, "h", LOG_LVL_DEBUG);
    assert_false(log_levels_admit(&l, LOG_LVL_DEBUG, LOG_FIELDS(KV_STR("file", "h"))));
    assert_false(log_levels_admit(&l, LOG_LVL_DEBUG, LOG_FIELDS(KV_U64("hook", 1))));
    log_levels_unset(&l, LOG_SUBJECT_ALL, NULL);
}

static void test_levels_end_one_by_one_or_all_at_once(void **state)
{
    struct log_levels l = {.all = LOG_LVL_INFO};

    (void)state;
    for (int i = 0; i < 3; i++) /* set again is one level, not three */
        log_levels_set(&l, LOG_SUBJECT_WATCH, "a", LOG_LVL_DEBUG);
    log_levels_set(&l, LOG_SUBJECT_WATCH, "b", LOG_LVL_DEBUG);
    log_levels_set(&l, LOG_SUBJECT_HOOK, "c", LOG_LVL_DEBUG);
    log_levels_unset(&l, LOG_SUBJECT_WATCH, "a");
    log_levels_unset(&l, LOG_SUBJECT_WATCH, "none");
    assert_false(about_watch(&l, LOG_LVL_DEBUG, "a"));
    assert_true(about_watch(&l, LOG_LVL_DEBUG, "b"));
    log_levels_unset(&l, LOG_SUBJECT_ALL, NULL);
    assert_null(l.special);
    assert_int_equal(l.all, LOG_LVL_INFO);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_level_for_all_lines),
        cmocka_unit_test(test_a_watch_and_a_hook_of_the_same_name_have_levels_of_their_own),
        cmocka_unit_test(test_of_two_levels_the_more_talkative_one_counts),
        cmocka_unit_test(test_other_fields_with_the_name_do_not_count),
        cmocka_unit_test(test_levels_end_one_by_one_or_all_at_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
