/* SPDX-License-Identifier: Apache-2.0 */
/* The conditions of `informerctl wait`, as answers and as streams that end with the condition. */
#include "admin_world.h"

#include <string.h>

/* Only the services and the hook "print" count. */
static int set_up(void **state)
{
    admin_world_set_up(state);
    struct admin_world *t = *state;

    t->model.watch_count = 1;
    return 0;
}

static void list_services(struct admin_world *t, size_t n)
{
    struct buf list = {0};

    admin_world_put_list(&list, "42", n);
    admin_world_list(t, WORLD_SERVICES, 200, buf_cstr(&list));
    buf_free(&list);
}

static void test_synced_names_each_watch_that_is_not(void **state)
{
    struct admin_world *t = *state;

    t->model.watch_count = 2;
    admin_world_expect_poor(t, "GET /v1/wait/synced", 200,
                            "{\"for\":\"synced\",\"done\":false,\"waits_for\":["
                            "\"watch services: waiting\",\"watch private: waiting\"]}\n");
    list_services(t, 1);
    admin_world_expect(t, "GET /v1/wait/synced", 200,
                       "\"done\":false,\"waits_for\":[\"watch private: waiting\"]");
    t->model.watch_count = 1;
    admin_world_expect(t, "GET /v1/wait/synced", 200,
                       "{\"for\":\"synced\",\"done\":true,\"waits_for\":[]}\n");
}

static void test_synced_tells_the_error_of_the_watch(void **state)
{
    struct admin_world *t = *state;

    admin_world_list(t, WORLD_SERVICES, 403, "{\"kind\":\"Status\",\"message\":\"no, thanks\"}");
    admin_world_expect(t, "GET /v1/wait/synced", 200, "\"watch services: forbidden: ");
    admin_world_expect(t, "GET /v1/wait/synced", 200, "no, thanks");
}

static void test_ready_is_what_was_sent_to_systemd(void **state)
{
    struct admin_world *t = *state;

    admin_world_expect(
        t, "GET /v1/wait/ready", 200,
        "{\"for\":\"ready\",\"done\":false,\"waits_for\":[\"hook print: waits for its "
        "first run until these sources are synced: services\"]}\n");
    hook_pause(t->hooks.v[0], true); /* nobody waits for a paused hook: READY is due */
    admin_world_expect(t, "GET /v1/wait/ready", 200, "\"done\":false");
    t->model.ready = true;
    admin_world_expect(t, "GET /v1/wait/ready", 200, "\"done\":true,\"waits_for\":[]");
}

static void test_idle_needs_the_sources_and_the_end_of_all_runs(void **state)
{
    struct admin_world *t = *state;

    admin_world_expect(t, "GET /v1/wait/idle", 200, "[\"watch services: waiting\",\"hook print: ");
    list_services(t, 2);
    admin_world_expect(t, "GET /v1/wait/idle", 200,
                       "\"done\":false,\"waits_for\":[\"hook print: its first runs are due\"]");
    admin_world_run(t, "");
    admin_world_expect(t, "GET /v1/wait/idle", 200, "[\"hook print: 1 pending, 0 running\"]");
    struct run *last = admin_world_start(t);
    admin_world_expect(t, "GET /v1/wait/idle", 200,
                       "\"done\":false,\"waits_for\":[\"hook print: 0 pending, 1 running\"]");
    const struct run_result ok = {.text = "exit status 0", .wall_ns = WORLD_STARTED_NS};
    hooks_finish(&t->hooks, last, &ok, t->now_ms);
    t->model.compares_programs = true;
    admin_world_expect(t, "GET /v1/wait/idle", 200,
                       "\"done\":false,\"waits_for\":[\"programs and files of hooks: ");
    t->model.compares_programs = false;
    admin_world_expect(t, "GET /v1/wait/idle", 200, "\"done\":true,\"waits_for\":[]");
}

static void test_idle_waits_for_no_paused_hook(void **state)
{
    struct admin_world *t = *state;

    list_services(t, 2);
    hook_pause(t->hooks.v[0], true);
    admin_world_expect(t, "GET /v1/wait/idle", 200, "\"done\":true");
}

static void test_other_conditions_are_404(void **state)
{
    struct admin_world *t = *state;

    admin_world_expect(t, "GET /v1/wait/happy", 404, "synced, ready, idle");
    admin_world_expect(t, "GET /v1/wait/happy/follow", 404, "synced, ready, idle");
    admin_world_expect(t, "POST /v1/wait/idle", 405, "GET");
}

static void on_ready(void *arg)
{
    ++*(unsigned *)arg;
}

static void test_a_stream_wakes_once_when_the_condition_holds_and_ends(void **state)
{
    struct admin_world *t = *state;
    struct admin_response r = admin_world_ask(t, "GET", "/v1/wait/synced/follow", false);
    struct buf out = {0};
    unsigned woken = 0;

    assert_non_null(r.stream);
    assert_true(admin_streams_waits(t->streams));
    admin_stream_on_ready(r.stream, on_ready, &woken);
    assert_int_equal(admin_stream_pull(r.stream, &out, 1000), ADMIN_STREAM_EMPTY);
    admin_streams_look(t->streams, &t->model, t->now_ms);
    admin_streams_synced(t->streams);
    assert_int_equal(woken, 0);
    list_services(t, 1);
    admin_streams_look(t->streams, &t->model, t->now_ms);
    admin_streams_look(t->streams, &t->model, t->now_ms);
    assert_int_equal(woken, 1);
    assert_false(admin_streams_waits(t->streams));
    assert_int_equal(admin_stream_pull(r.stream, &out, 1000), ADMIN_STREAM_ENDED);
    assert_string_equal(buf_cstr(&out), "{\"for\":\"synced\",\"done\":true,\"waits_for\":[]}\n");
    assert_null(admin_stream_complaint(r.stream));
    admin_stream_destroy(&r.stream);
    buf_free(&out);
}

static void test_a_stream_ends_at_once_if_the_condition_holds_already(void **state)
{
    struct admin_world *t = *state;
    struct buf out = {0};

    list_services(t, 1);
    struct admin_response r = admin_world_ask(t, "GET", "/v1/wait/synced/follow", false);
    assert_false(admin_streams_waits(t->streams));
    assert_int_equal(admin_stream_pull(r.stream, &out, 1000), ADMIN_STREAM_ENDED);
    assert_non_null(strstr(buf_cstr(&out), "\"done\":true"));
    admin_stream_destroy(&r.stream);
    buf_free(&out);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, admin_world_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_synced_names_each_watch_that_is_not),
        TEST(test_synced_tells_the_error_of_the_watch),
        TEST(test_ready_is_what_was_sent_to_systemd),
        TEST(test_idle_needs_the_sources_and_the_end_of_all_runs),
        TEST(test_idle_waits_for_no_paused_hook),
        TEST(test_other_conditions_are_404),
        TEST(test_a_stream_wakes_once_when_the_condition_holds_and_ends),
        TEST(test_a_stream_ends_at_once_if_the_condition_holds_already),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
