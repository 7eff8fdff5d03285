/* SPDX-License-Identifier: Apache-2.0 */
/* The answers of the control socket about hooks: runs, why, input; and the manual runs that it asks
 * for. */
#include "admin_world.h"

#include <stdio.h>
#include <string.h>

#include "admin/hook_call.h"

#define ENDED "\"2024-05-01T10:20:30.000000000Z\""

static void sync_services(struct admin_world *t, size_t n)
{
    struct buf list = {0};

    admin_world_put_list(&list, "42", n);
    admin_world_list(t, WORLD_SERVICES, 200, buf_cstr(&list));
    buf_free(&list);
}

static void sync_secrets(struct admin_world *t)
{
    admin_world_list(t, WORLD_PRIVATE, 200,
                     "{\"kind\":\"SecretList\",\"apiVersion\":\"v1\",\"metadata\":{"
                     "\"resourceVersion\":\"42\"},\"items\":[{\"metadata\":{\"namespace\":\"b\","
                     "\"name\":\"p\",\"uid\":\"u\",\"resourceVersion\":\"41\"}}]}");
}

static void expect_done(struct admin_world *t, const char *done)
{
    assert_string_equal(buf_cstr(&t->done), done);
    buf_clear(&t->done);
}

static void expect_body(struct admin_world *t, const char *target, const char *body)
{
    struct admin_response r = admin_world_ask(t, "GET", target, true);

    assert_int_equal(r.status, 200);
    assert_string_equal(buf_cstr(&r.body), body);
    buf_free(&r.body);
}

static void finish(struct admin_world *t, struct run *run, const char *out, const char *err)
{
    const struct run_result result = {
        .end = {.kind = RUN_END_SIGNALED, .value = 9, .cpu_us = 1000512, .memory_peak = 65536},
        .text = "killed by signal 9",
        .wall_ns = WORLD_STARTED_NS,
        .out = str_c(out),
        .err = str_c(err),
        .dropped = 77,
    };

    hooks_finish(&t->hooks, run, &result, t->now_ms + 12);
}

static void test_a_run_with_everything(void **state)
{
    struct admin_world *t = *state;

    expect_body(t, "/v1/runs", "[]\n");
    expect_body(t, "/v1/hooks/print/runs", "[]\n");
    sync_services(t, 1);
    finish(t, admin_world_start(t), "to stdout\n", "first\nlast\n \n\n");
    expect_body(t, "/v1/runs",
                "[{\"run\":\"i-1\",\"hook\":\"print\",\"program\":\"command\",\"ended\":" ENDED
                ",\"took_s\":0.012,"
                "\"source\":\"services\",\"key\":\"b/s0\",\"event\":\"ADDED\",\"events\":1,"
                "\"reason\":\"existing\",\"attempt\":1,\"outcome\":\"failed\","
                "\"result\":\"killed by signal 9\",\"hooks\":null,\"file\":null,\"became\":null,"
                "\"cpu_s\":1.000512,\"memory_peak_bytes\":65536,\"dropped_bytes\":77,"
                "\"last_line\":\"last\",\"stdout\":\"to stdout\\n\","
                "\"stderr\":\"first\\nlast\\n \\n\\n\"}]\n");
}

static void test_runs_of_all_hooks_the_newest_last(void **state)
{
    struct admin_world *t = *state;
    struct admin_response r;

    admin_world_add_hook(
        t, (struct world_hook){.name = "snap", .mode = HOOK_SNAPSHOT, .source_count = 1});
    sync_services(t, 2);
    admin_world_run(t, "");
    admin_world_run(t, "");
    admin_world_run(t, "oh no");
    r = admin_world_ask(t, "GET", "/v1/runs", false);
    const char *first = strstr(buf_cstr(&r.body), "\"run\":\"i-1\"");
    const char *second = strstr(buf_cstr(&r.body), "\"run\":\"i-2\"");
    const char *third = strstr(buf_cstr(&r.body), "\"run\":\"i-3\"");
    assert_true(first != NULL && first < second && second < third);
    buf_free(&r.body);
    admin_world_expect(t, "GET /v1/hooks/snap/runs", 200,
                       "\"source\":null,\"key\":null,\"event\":null,\"events\":2,"
                       "\"reason\":\"existing\",\"attempt\":1,\"outcome\":\"ok\","
                       "\"result\":\"exit status 0\"");
    admin_world_lacks(t, "GET /v1/hooks/snap/runs", "\"hook\":\"print\"");
    admin_world_lacks(t, "GET /v1/hooks/print/runs", "\"hook\":\"snap\"");
}

static void test_output_is_never_raw(void **state)
{
    struct admin_world *t = *state;
    struct admin_response r;

    sync_services(t, 1);
    finish(t, admin_world_start(t), "gr\xc3\xbc\xc3\x9f", "\x1b[31mred\x7f\xc2\x9bm\xff\xc2\r");
    r = admin_world_ask(t, "GET", "/v1/runs", false);
    assert_non_null(
        strstr(buf_cstr(&r.body),
               "\"last_line\":\"\\u001b[31mred\\u007f\\u009bm\xef\xbf\xbd\xef\xbf\xbd\""));
    assert_non_null(strstr(buf_cstr(&r.body), "\"stdout\":\"gr\xc3\xbc\xc3\x9f\""));
    for (size_t i = 0; i + 1 < r.body.len; i++)
        assert_in_range((unsigned char)r.body.data[i], 0x20, 0xff);
    buf_free(&r.body);
}

static void test_output_of_hooks_of_secrets_is_secret(void **state)
{
    struct admin_world *t = *state;

    admin_world_add_hook(t,
                         (struct world_hook){.name = "s", .mode = HOOK_BATCH, .source_count = 3});
    sync_services(t, 1);
    sync_secrets(t);
    finish(t, admin_world_start(t), "hush", "");
    finish(t, admin_world_start(t), "hush", "");
    admin_world_expect_poor(t, "GET /v1/hooks/print/runs", 200, "\"stdout\":\"hush\"");
    admin_world_expect(t, "GET /v1/hooks/s/runs", 200, "\"stdout\":\"hush\"");
    admin_world_expect_poor(t, "GET /v1/hooks/s/runs", 200,
                            "\"last_line\":null,\"stdout\":null,\"stderr\":null}]");
    admin_world_expect(t, "GET /v1/hooks/s/input", 200, "\"hook\":\"s\"");
    admin_world_expect_poor(t, "GET /v1/hooks/s/input", 403, "objects of Secrets");
}

static void test_digests_of_secrets_are_secret(void **state)
{
    struct admin_world *t = *state;

    admin_world_add_hook(t, (struct world_hook){.name = "s", .source_count = 3});
    sync_services(t, 1);
    sync_secrets(t);
    admin_world_lacks(t, "GET /v1/hooks/s/why/b/p", "\"digest\":null");
    admin_world_expect_poor(t, "GET /v1/hooks/s/why/b/p", 200, "\"digest\":null");
}

static void test_why_of_a_hook(void **state)
{
    struct admin_world *t = *state;

    expect_body(
        t, "/v1/hooks/print/why",
        "{\"hook\":\"print\",\"units\":[{\"program\":\"command\",\"source\":null,\"key\":null,"
        "\"reason\":\"not_synced\",\"of\":\"services\","
        "\"text\":\"source services not synced\",\"before_restart\":null,\"until\":null,"
        "\"failures\":0,"
        "\"event\":null,\"digest\":null,\"last_run\":null,"
        "\"advice\":\"informerctl watches says what keeps source services\"}],"
        "\"left_out\":0}\n");
    sync_services(t, 2);
    admin_world_run(t, "oh no");
    admin_world_expect(
        t, "GET /v1/hooks/print/why", 200,
        "[{\"program\":\"command\",\"source\":\"services\",\"key\":\"b/s0\",\"reason\":\"backoff\","
        "\"of\":null,\"text\":\"backoff\",\"before_restart\":null,"
        "\"until\":\"2024-05-01T10:20:34.500000000Z\",\"failures\":1,");
    admin_world_expect(t, "GET /v1/hooks/print/why", 200, "\"key\":\"b/s1\",\"reason\":\"slot\"");
    admin_world_run(t, "");
    t->now_ms += 1000;
    admin_world_run(t, "");
    admin_world_expect(
        t, "GET /v1/hooks/print/why", 200,
        "[{\"program\":\"command\",\"source\":null,\"key\":null,\"reason\":\"handled\",");
    admin_world_expect(t, "GET /v1/hooks/print/why", 200,
                       "\"event\":{\"type\":\"ADDED\",\"cause\":\"relist\",\"received\":");
}

static void test_why_of_a_key(void **state)
{
    struct admin_world *t = *state;
    char digest[64];
    struct digest d;

    admin_world_add_hook(t, (struct world_hook){.name = "two", .source_count = 2});
    sync_services(t, 1);
    admin_world_run(t, "");
    d = object_digest(store_get(watch_store(t->watches[WORLD_SERVICES].watch), str_c("b/s0")));
    snprintf(digest, sizeof(digest), "\"digest\":\"%016llx%016llx\"", (unsigned long long)d.hi,
             (unsigned long long)d.lo);
    admin_world_expect(t, "GET /v1/hooks/print/why/b/s0", 200, digest);
    admin_world_expect(t, "GET /v1/hooks/print/why/b%2fs0", 200,
                       "{\"hook\":\"print\",\"units\":[{\"program\":\"command\","
                       "\"source\":\"services\",\"key\":\"b/s0\","
                       "\"reason\":\"handled\",");
    admin_world_expect(t, "GET /v1/hooks/print/why/b/s0", 200,
                       "\"last_run\":{\"run\":\"i-1\",\"hook\":\"print\",");
    admin_world_lacks(t, "GET /v1/hooks/print/why/b/s0", "stdout");
    admin_world_expect(t, "GET /v1/hooks/print/why/b/none", 404, "has nothing under this key");
    admin_world_expect(t, "GET /v1/hooks/two/why/b/s0", 200,
                       "[{\"program\":\"command\",\"source\":\"services\",\"key\"");
    admin_world_expect(t, "GET /v1/hooks/two/why/b/s0", 200,
                       "},{\"program\":\"command\",\"source\":\"twin\",\"key\"");
}

static size_t count(const char *text, const char *what)
{
    size_t n = 0;

    for (const char *at = text; (at = strstr(at, what)) != NULL; at += strlen(what))
        n++;
    return n;
}

static void test_why_is_bounded(void **state)
{
    struct admin_world *t = *state;
    struct admin_response r;

    sync_services(t, HOOK_CALL_KEYS + 5);
    hook_pause(t->hooks.v[0], true);
    assert_null(hooks_next(&t->hooks, t->now_ms));
    r = admin_world_ask(t, "GET", "/v1/hooks/print/why", true);
    assert_int_equal(count(buf_cstr(&r.body), "\"source\":\"services\""), HOOK_CALL_KEYS);
    assert_int_equal(count(buf_cstr(&r.body), "\"reason\":\"paused\""), HOOK_CALL_KEYS + 1);
    assert_non_null(strstr(buf_cstr(&r.body), "],\"left_out\":5}\n"));
    buf_free(&r.body);
}

/* The input is complete but for the number of the run, which was not started yet. */
static void test_input_is_what_a_run_gets(void **state)
{
    struct admin_world *t = *state;
    struct buf given = {0};

    admin_world_expect(t, "GET /v1/hooks/print/input/b/s0", 409, "waits for its first run");
    sync_services(t, 2);
    admin_world_run(t, ""); /* b/s0 */
    struct admin_response named = admin_world_ask(t, "GET", "/v1/hooks/print/input/b/s1", true);
    struct admin_response due = admin_world_ask(t, "GET", "/v1/hooks/print/input", true);
    struct run *run = admin_world_start(t);

    run->id = 0;
    payload_put_json(&given, &t->context, run, t->now_ms, NULL);
    assert_string_equal(named.content_type, "application/json");
    assert_string_equal(buf_cstr(&named.body), buf_cstr(&given));
    assert_string_equal(buf_cstr(&due.body), buf_cstr(&given));
    assert_non_null(strstr(buf_cstr(&given), "\"reason\":\"existing\""));
    buf_free(&named.body);
    buf_free(&due.body);
    buf_free(&given);
}

static void test_input_of_a_handled_key_is_that_of_a_manual_run(void **state)
{
    struct admin_world *t = *state;

    sync_services(t, 1);
    admin_world_run(t, "");
    admin_world_expect(t, "GET /v1/hooks/print/input/b/s0", 200,
                       "{\"version\":1,\"hook\":\"print\",\"run\":\"i-0\",\"attempt\":1,"
                       "\"reason\":\"manual\",\"sources\":{\"services\":{");
    admin_world_expect(t, "GET /v1/hooks/print/input/b/s0", 200,
                       "\"event\":{\"type\":\"MODIFIED\",");
    admin_world_expect(t, "GET /v1/hooks/print/input", 404, "no key of the hook is due: name one");
    admin_world_expect(t, "GET /v1/hooks/print/input/b/none", 404, "has nothing under this key");
    admin_world_expect(t, "GET /v1/hooks/print/why/b/s0", 200, "\"reason\":\"handled\"");
}

static void test_input_in_each_mode(void **state)
{
    struct admin_world *t = *state;
    struct admin_response r;

    admin_world_add_hook(
        t, (struct world_hook){.name = "batch", .mode = HOOK_BATCH, .source_count = 1});
    admin_world_add_hook(
        t, (struct world_hook){.name = "snap", .mode = HOOK_SNAPSHOT, .source_count = 1});
    admin_world_add_hook(t, (struct world_hook){.name = "two", .source_count = 2});
    sync_services(t, 1);
    for (size_t i = 0; i < 5; i++)
        admin_world_run(t, "");
    admin_world_expect(t, "GET /v1/hooks/batch/input", 200, "\"reason\":\"manual\"");
    admin_world_expect(t, "GET /v1/hooks/batch/input", 200, "\"events\":[{\"type\":\"MODIFIED\",");
    admin_world_expect(t, "GET /v1/hooks/snap/input", 200, "\"changes\":[],\"snapshot\":{");
    admin_world_expect(t, "GET /v1/hooks/snap/input/b/s0", 400, "leave the key out");
    r = admin_world_ask(t, "GET", "/v1/hooks/two/input/b/s0", true);
    assert_string_equal(r.content_type, "application/x-ndjson");
    assert_int_equal(count(buf_cstr(&r.body), "\n"), 2);
    assert_int_equal(count(buf_cstr(&r.body), "\"source\":\"twin\""), 1);
    buf_free(&r.body);
}

static void test_each_of_several_inputs_is_a_line(void **state)
{
    struct admin_world *t = *state;
    struct admin_response r;

    admin_world_add_hook(t, (struct world_hook){.name = "two", .source_count = 2});
    admin_world_list(
        t, WORLD_SERVICES, 200,
        "{\"kind\":\"ServiceList\",\"apiVersion\":\"v1\",\"metadata\":{"
        "\"resourceVersion\":\"42\"},\"items\":[{\n\"metadata\":{\r\n\"namespace\":\"b\","
        "\"name\":\"s\",\"uid\":\"u\",\"resourceVersion\":\"41\"}}]}");
    for (size_t i = 0; i < 3; i++)
        admin_world_run(t, "");
    r = admin_world_ask(t, "GET", "/v1/hooks/two/input/b/s", true);
    assert_int_equal(count(buf_cstr(&r.body), "\n"), 2);
    assert_int_equal(count(buf_cstr(&r.body), "{\"version\":1,"), 2);
    buf_free(&r.body);
}

static void test_an_empty_batch_has_no_input(void **state)
{
    struct admin_world *t = *state;

    admin_world_add_hook(
        t, (struct world_hook){.name = "batch", .mode = HOOK_BATCH, .source_count = 1});
    sync_services(t, 0);
    assert_null(hooks_next(&t->hooks, t->now_ms));
    admin_world_expect(t, "GET /v1/hooks/batch/input", 404, "nothing is due for the hook");
}

static void test_manual_runs(void **state)
{
    struct admin_world *t = *state;

    admin_world_expect(t, "POST /v1/hooks/print/run", 409, "waits for its first run");
    admin_world_expect(t, "GET /v1/hooks/print/order/1", 404, "not remembered any more");
    admin_world_expect(t, "GET /v1/hooks/print/order/0", 404, "not remembered any more");
    sync_services(t, 2);
    admin_world_run(t, "");
    admin_world_run(t, "");
    expect_done(t, "");
    admin_world_expect(t, "POST /v1/hooks/print/run", 202, "{\"order\":1,\"units\":2}\n");
    expect_done(t, "kick;");
    admin_world_run(t, "oh no");
    static const char first[] = "{\"order\":1,\"units\":2,\"left\":1,\"failed\":1}\n";
    admin_world_expect(t, "GET /v1/hooks/print/order/1", 200, first);
    admin_world_expect(t, "POST /v1/hooks/print/run/b/s1", 202, "{\"order\":2,\"units\":1}\n");
    expect_done(t, "kick;");
    admin_world_expect(t, "GET /v1/hooks/print/order/1", 200, first);
    admin_world_expect(t, "GET /v1/hooks/print/order/2", 200,
                       "{\"order\":2,\"units\":1,\"left\":1,\"failed\":0}\n");
    admin_world_expect(t, "GET /v1/hooks/print/order/x", 404, "not remembered any more");
    admin_world_expect(t, "GET /v1/hooks/print/order/4294967297", 404, "not remembered any more");
    admin_world_expect(t, "POST /v1/hooks/print/run/b/none", 404, "under the key b/none");
    hook_pause(t->hooks.v[0], true);
    admin_world_expect(t, "POST /v1/hooks/print/run", 409, "is paused: informerctl resume print");
    expect_done(t, "");
}

static void test_manual_runs_of_keys_are_for_mode_object(void **state)
{
    struct admin_world *t = *state;

    admin_world_add_hook(
        t, (struct world_hook){.name = "batch", .mode = HOOK_BATCH, .source_count = 1});
    sync_services(t, 1);
    admin_world_run(t, "");
    admin_world_run(t, "");
    admin_world_expect(t, "POST /v1/hooks/batch/run/b/s0", 400, "leave the key out");
    admin_world_expect(t, "POST /v1/hooks/batch/run", 202, "{\"order\":1,\"units\":1}\n");
}

static void test_pauses(void **state)
{
    struct admin_world *t = *state;

    admin_world_add_hook(t, (struct world_hook){.name = "b", .source_count = 1});
    admin_world_expect(t, "POST /v1/hooks/b/pause", 200,
                       "{\"hooks\":{\"b\":{\"paused\":true,\"changed\":true,\"running\":0}},"
                       "\"kept\":false}\n");
    expect_done(t, "pause b;");
    t->model.state.kept = true;
    admin_world_expect(t, "GET /v1/hooks", 200, "\"paused\":true");
    admin_world_expect(t, "POST /v1/pause", 200,
                       "{\"hooks\":{\"print\":{\"paused\":true,\"changed\":true,\"running\":0},"
                       "\"b\":{\"paused\":true,\"changed\":false,\"running\":0}},\"kept\":true}\n");
    expect_done(t, "pause print;");
    t->model.state.trouble = "disk full";
    admin_world_expect(t, "POST /v1/hooks/b/resume", 200,
                       "{\"b\":{\"paused\":false,\"changed\":true,\"running\":0}}");
    expect_done(t, "resume b;");
    admin_world_expect(t, "POST /v1/resume", 200,
                       "\"b\":{\"paused\":false,\"changed\":false,\"running\":0}},"
                       "\"kept\":false}\n");
    expect_done(t, "resume print;");
}

static void test_actions_on_hooks_are_for_the_privileged(void **state)
{
    static const char *const requests[] = {
        "POST /v1/pause",
        "POST /v1/resume",
        "POST /v1/hooks/print/run",
        "POST /v1/hooks/print/run/b/s0",
        "POST /v1/hooks/print/pause",
        "POST /v1/hooks/print/resume",
    };
    struct admin_world *t = *state;

    sync_services(t, 1);
    admin_world_run(t, "");
    for (size_t i = 0; i < ARRAY_LEN(requests); i++)
        admin_world_expect_poor(t, requests[i], 403, "only root");
    t->model.stopping = true;
    for (size_t i = 0; i < ARRAY_LEN(requests); i++)
        admin_world_expect(t, requests[i], 503, "informerd is stopping");
    expect_done(t, "");
}

static void test_a_key_that_waits_too_long_is_degraded(void **state)
{
    struct admin_world *t = *state;

    sync_services(t, 1);
    admin_world_run(t, "oh no");
    t->now_ms += WORLD_PENDING_MS;
    admin_world_lacks(t, "GET /v1/status", "limits.pending");
    t->now_ms++;
    admin_world_expect(t, "GET /v1/status", 200,
                       "\"hook print: a key is pending for longer than limits.pending: 600 s: "
                       "informerctl why print\"]");
    admin_world_start(t);
    admin_world_expect(t, "GET /v1/hooks", 200, "\"pending\":0,\"running\":1,");
    admin_world_expect(t, "GET /v1/hooks", 200, "\"oldest_pending_s\":600.001,");
    admin_world_expect(t, "GET /v1/status", 200, "limits.pending");
}

static void test_events_are_the_journal(void **state)
{
    struct admin_world *t = *state;
    struct admin_response r;

    journal_hook(t->journal, WORLD_STARTED_NS, "print", str_c(""), "paused");
    r = admin_world_ask(t, "GET", "/v1/events", false);
    assert_string_equal(r.content_type, "application/x-ndjson");
    assert_non_null(strstr(buf_cstr(&r.body), "\"hook\":\"print\",\"state\":\"paused\"}\n"));
    buf_free(&r.body);
    r = admin_world_ask(t, "GET", "/v1/events/follow", false);
    assert_string_equal(admin_stream_name(r.stream), "events");
    admin_stream_destroy(&r.stream);
}

static void test_sources_can_be_followed(void **state)
{
    struct admin_world *t = *state;
    struct admin_response r = admin_world_ask(t, "GET", "/v1/sources/twin/stream", false);

    assert_string_equal(admin_stream_name(r.stream), "twin");
    admin_stream_destroy(&r.stream);
    admin_world_expect_poor(t, "GET /v1/sources/private/stream", 403, "objects of Secrets");
    r = admin_world_ask(t, "GET", "/v1/sources/private/stream", true);
    assert_int_equal(r.status, 200);
    admin_stream_destroy(&r.stream);
}

#define WITH_WORLD(test) \
    cmocka_unit_test_setup_teardown(test, admin_world_set_up, admin_world_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_WORLD(test_a_run_with_everything),
        WITH_WORLD(test_runs_of_all_hooks_the_newest_last),
        WITH_WORLD(test_output_is_never_raw),
        WITH_WORLD(test_output_of_hooks_of_secrets_is_secret),
        WITH_WORLD(test_digests_of_secrets_are_secret),
        WITH_WORLD(test_why_of_a_hook),
        WITH_WORLD(test_why_of_a_key),
        WITH_WORLD(test_why_is_bounded),
        WITH_WORLD(test_input_is_what_a_run_gets),
        WITH_WORLD(test_input_of_a_handled_key_is_that_of_a_manual_run),
        WITH_WORLD(test_input_in_each_mode),
        WITH_WORLD(test_each_of_several_inputs_is_a_line),
        WITH_WORLD(test_an_empty_batch_has_no_input),
        WITH_WORLD(test_manual_runs),
        WITH_WORLD(test_manual_runs_of_keys_are_for_mode_object),
        WITH_WORLD(test_pauses),
        WITH_WORLD(test_actions_on_hooks_are_for_the_privileged),
        WITH_WORLD(test_a_key_that_waits_too_long_is_degraded),
        WITH_WORLD(test_events_are_the_journal),
        WITH_WORLD(test_sources_can_be_followed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
