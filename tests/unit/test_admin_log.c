/* SPDX-License-Identifier: Apache-2.0 */
/* The level of the log through the control socket. */
#include "admin_world.h"

#include <stdio.h>

#include "admin/log_call.h"

static void expect_done(struct admin_world *t, const char *done)
{
    assert_string_equal(buf_cstr(&t->done), done);
    buf_clear(&t->done);
}

static void test_the_levels_are_shown_to_everybody(void **state)
{
    struct admin_world *t = *state;
    static struct log_levels levels = {.all = LOG_LVL_WARN};

    t->model.log_levels = &levels;
    t->model.log_configured = LOG_LVL_INFO;
    admin_world_expect_poor(
        t, "GET /v1/log-level", 200,
        "{\"level\":\"warn\",\"configured\":\"info\",\"watches\":{},\"hooks\":{}}\n");
    log_levels_set(&levels, LOG_SUBJECT_WATCH, "services", LOG_LVL_TRACE);
    log_levels_set(&levels, LOG_SUBJECT_HOOK, "print", LOG_LVL_ERROR);
    admin_world_expect_poor(
        t, "GET /v1/log-level", 200,
        "\"watches\":{\"services\":\"trace\"},\"hooks\":{\"print\":\"error\"}}");
    log_levels_unset(&levels, LOG_SUBJECT_ALL, NULL);
}

static void test_a_level_is_set_and_ended(void **state)
{
    static const char *const paths[][2] = {
        {"debug",                "log all - 3;"          },
        {"default",              "log all - -1;"         },
        {"error/watch/services", "log watch services 0;" },
        {"trace/watch/twin",     "log watch services 4;" }, /* its lines have the first name */
        {"default/watch/twin",   "log watch services -1;"},
        {"debug/hook/print",     "log hook print 3;"     },
    };
    struct admin_world *t = *state;
    static struct log_levels levels = {.all = LOG_LVL_INFO};

    t->model.log_levels = &levels;
    for (size_t i = 0; i < ARRAY_LEN(paths); i++) {
        char request[80];

        snprintf(request, sizeof(request), "POST /v1/log-level/%s", paths[i][0]);
        admin_world_expect_poor(t, request, 403, "only root");
        expect_done(t, "");
        admin_world_expect(t, request, 200, "{\"level\":\"info\"");
        expect_done(t, paths[i][1]);
    }
}

static void test_levels_and_names_that_are_not_there(void **state)
{
    struct admin_world *t = *state;

    admin_world_expect(t, "POST /v1/log-level/loud", 404,
                       "error, warn, info, debug, trace, default");
    admin_world_expect(t, "POST /v1/log-level/debug/watch/none", 404, "informerctl watches");
    admin_world_expect(t, "POST /v1/log-level/debug/hook/none", 404, "informerctl hooks");
    admin_world_expect(t, "POST /v1/log-level/debug/view/none", 404, "nothing under this path");
    admin_world_expect(t, "GET /v1/log-level/debug", 405, "POST");
    expect_done(t, "");
}

#define WITH_WORLD(f) cmocka_unit_test_setup_teardown(f, admin_world_set_up, admin_world_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_WORLD(test_the_levels_are_shown_to_everybody),
        WITH_WORLD(test_a_level_is_set_and_ended),
        WITH_WORLD(test_levels_and_names_that_are_not_there),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
