/* SPDX-License-Identifier: Apache-2.0 */
/* What the control socket answers, over watches and hooks that were filled in memory. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "admin/admin.h"
#include "admin/target.h"
#include "cache/watch.h"
#include "hook/hook.h"
#include "proto/json_in.h"

/* 2024-05-01T10:20:30Z, when the monotonic clock stood at STARTED_MS. */
#define STARTED_NS (UINT64_C(1714558830) * 1000000000U)

enum { STARTED_MS = 5000, NOW_MS = 8500 };

struct world {
    struct watch *watches[2];
    struct hooks hooks;
    struct admin_cluster clusters[2];
    struct admin_model model;
};

static const char services[] =
    "{\"kind\":\"ServiceList\",\"apiVersion\":\"v1\",\"metadata\":{\"resourceVersion\":\"42\"},"
    "\"items\":["
    "{\"metadata\":{\"name\":\"web\",\"namespace\":\"b\",\"uid\":\"u1\",\"resourceVersion\":\"7\"}}"
    ","
    "{\"metadata\":{\"name\":\"dns\",\"namespace\":\"a\",\"uid\":\"u2\",\"resourceVersion\":\"9\"}}"
    "]}";

static const char secrets[] =
    "{\"kind\":\"SecretList\",\"apiVersion\":\"v1\",\"metadata\":{\"resourceVersion\":\"42\"},"
    "\"items\":[{\"metadata\":{\"name\":\"s\",\"namespace\":\"a\",\"uid\":\"u3\","
    "\"resourceVersion\":\"8\"},\"data\":{\"k\":\"aHVzaA==\"}}]}";

static void on_delta(void *arg, struct watch *w, const struct delta *d)
{
    struct world *t = arg;

    hooks_delta(&t->hooks, w, d, NOW_MS - 1500);
}

static const struct watch_events events = {on_delta};

static struct watch *new_watch(struct world *t, const char *name, const char *resource)
{
    static const char *const all[] = {"*"};
    struct watch_params p = {
        .name = name,
        .cluster = "prod",
        .resource = resource,
        .namespaces = all,
        .namespace_count = 1,
        .label_selector = "",
        .field_selector = "",
        .object_size = 1 << 20,
        .reflector = {.backoff = {1000, 30000, 2, 0},
                      .reset_after_ms = 120000,
                      .page_size = 500,
                      .watch_min_s = 300,
                      .watch_max_s = 300},
    };
    struct watch *w = NULL;
    struct err err = {0};

    if (watch_create(&p, &events, t, &w, &err) != ERR_OK)
        fail_msg("%s", err.text);
    return w;
}

/* One response to the list of a watch, then what follows. */
static void answer_list(struct watch *w, int status, const char *body)
{
    const struct http_head head = {
        .status = status, .content_type = str_c("application/json"), .retry_after_s = -1};
    const struct feed_now now = {STARTED_MS + 1000, STARTED_NS};
    struct feed *f = watch_feed(w, 0);

    assert_int_equal(feed_start(f, STARTED_MS).what, FEED_LIST);
    feed_head(f, &head, now.ms);
    assert_true(feed_body(f, body, strlen(body), now));
    feed_end(f, NULL, now);
}

static void add_hook(struct world *t, const char *name)
{
    struct hook_params p = {
        .name = name,
        .mode = HOOK_OBJECT,
        .sources = t->watches,
        .source_count = 1,
        .lane = {.concurrency = 1, .retry = {1000, 60000, 2, 0}},
    };
    struct err err = {0};

    assert_int_equal(filter_init(&p.filter, 0xf, NULL, 0, &err), ERR_OK);
    hooks_add(&t->hooks, &p);
}

static int set_up(void **state)
{
    static struct world world;
    struct world *t = &world;

    memset(t, 0, sizeof(*t));
    hooks_init(&t->hooks, 8, 1);
    t->watches[0] = new_watch(t, "services", "services");
    t->watches[1] = new_watch(t, "private", "secrets");
    add_hook(t, "print");
    t->clusters[0] = (struct admin_cluster){"prod", "https://10.0.0.1:6443", NOW_MS - 250};
    t->clusters[1] = (struct admin_cluster){"test", "https://10.0.0.2:6443", 0};
    t->model = (struct admin_model){
        .version = "1.2.3",
        .pid = 77,
        .started_ns = STARTED_NS,
        .started_ms = STARTED_MS,
        .clusters = t->clusters,
        .cluster_count = 2,
        .watches = t->watches,
        .watch_count = 2,
        .hooks = &t->hooks,
    };
    *state = t;
    return 0;
}

static int tear_down(void **state)
{
    struct world *t = *state;

    hooks_fini(&t->hooks);
    watch_destroy(&t->watches[0]);
    watch_destroy(&t->watches[1]);
    return 0;
}

static bool any_token(void *arg, const struct json_token *t)
{
    (void)arg;
    (void)t;
    return true;
}

static struct admin_response ask_as(struct world *t, const char *method, const char *target,
                                    bool privileged)
{
    const struct admin_request req = {str_c(method), str_c(target), privileged};
    struct admin_response r;
    struct err err = {0};

    admin_handle(&t->model, &req, NOW_MS, &r);
    if (strcmp(r.content_type, "application/json") == 0 &&
        json_in_scan(buf_str(&r.body), any_token, NULL, &err) != ERR_OK)
        fail_msg("%s: %s: %s", target, err.text, buf_cstr(&r.body));
    return r;
}

/* The answer to GET has this status and this text somewhere. */
static void expect(struct world *t, const char *target, int status, const char *text)
{
    struct admin_response r = ask_as(t, "GET", target, false);

    if (r.status != status || strstr(buf_cstr(&r.body), text) == NULL)
        fail_msg("%s: %d %s, wanted %d %s", target, r.status, buf_cstr(&r.body), status, text);
    buf_free(&r.body);
}

static void expect_body(struct world *t, const char *target, const char *body)
{
    struct admin_response r = ask_as(t, "GET", target, true);

    assert_int_equal(r.status, 200);
    assert_string_equal(buf_cstr(&r.body), body);
    buf_free(&r.body);
}

static void test_status_before_the_first_contact(void **state)
{
    struct world *t = *state;

    feed_start(watch_feed(t->watches[0], 0), STARTED_MS);
    feed_start(watch_feed(t->watches[1], 0), STARTED_MS);
    expect(t, "/v1/status", 200,
           "{\"version\":\"1.2.3\",\"pid\":77,\"started\":\"2024-05-01T10:20:30Z\","
           "\"ready\":false,\"degraded\":[],"
           "\"clusters\":{\"prod\":{\"server\":\"https://10.0.0.1:6443\",\"contact_age_s\":0.25},"
           "\"test\":{\"server\":\"https://10.0.0.2:6443\",\"contact_age_s\":null}},");
    expect(t, "/v1/status", 200,
           "\"services\":{\"cluster\":\"prod\",\"resource\":\"services\",\"state\":\"listing\","
           "\"synced\":false,\"stale\":false,\"held\":false,\"contact_age_s\":null,\"objects\":0,"
           "\"bytes\":0,"
           "\"skipped\":0,\"resource_version\":null,\"relists\":0,\"last_error\":null}");
    expect(t, "/v1/status", 200,
           "\"hooks\":{\"print\":{\"pending\":0,\"running\":0,\"parked\":0,\"paused\":false,"
           "\"oldest_pending_s\":null,"
           "\"last_success\":null,\"last_error\":null,\"runs_ok\":0,\"runs_failed\":0}}}\n");
}

static void test_status_of_a_synced_watch_and_a_hook_at_work(void **state)
{
    struct world *t = *state;
    struct run *run;

    answer_list(t->watches[0], 200, services);
    run = hooks_next(&t->hooks, NOW_MS);
    assert_non_null(run);
    expect(t, "/v1/watches", 200,
           "\"synced\":true,\"stale\":false,\"held\":false,\"contact_age_s\":2.5,");
    expect(t, "/v1/watches", 200, "\"objects\":2,");
    expect(t, "/v1/watches", 200, "\"resource_version\":\"42\"");
    expect(t, "/v1/hooks", 200,
           "{\"hooks\":{\"print\":{\"pending\":1,\"running\":1,\"parked\":0,\"paused\":false,"
           "\"oldest_pending_s\":1.5,"
           "\"last_success\":null,");
    hooks_finish(&t->hooks, run, &(struct run_result){.ok = true}, STARTED_MS + 2000);
    run = hooks_next(&t->hooks, NOW_MS);
    expect(t, "/v1/hooks", 200, "\"last_success\":\"2024-05-01T10:20:32Z\",\"last_error\":null");
    hooks_finish(&t->hooks, run, &(struct run_result){.text = "exit 3"}, NOW_MS);
    expect(t, "/v1/hooks", 200, "\"last_error\":\"exit 3\",\"runs_ok\":1,\"runs_failed\":1}");
}

static void test_a_refused_watch_is_degraded(void **state)
{
    struct world *t = *state;

    answer_list(t->watches[0], 403,
                "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"status\":\"Failure\",\"code\":403,"
                "\"reason\":\"Forbidden\",\"message\":\"no list for you\"}");
    expect(t, "/v1/status", 200, "\"degraded\":[\"watch services: forbidden: ");
    expect(t, "/v1/watches", 200, "\"state\":\"forbidden\"");
    expect(t, "/v1/watches", 200, "no list for you");
}

static void test_health(void **state)
{
    struct world *t = *state;

    expect(t, "/livez", 200, "ok\n");
    expect(t, "/readyz", 503,
           "not ready\nhook print: waits for its first run until these watches are synced: "
           "services\n");
    answer_list(t->watches[0], 200, services);
    assert_non_null(hooks_next(&t->hooks, NOW_MS));
    expect(t, "/readyz", 503, "hook print: its first run has not ended\n");
    t->model.ready = true;
    expect_body(t, "/readyz", "ok\n");
}

static void test_objects_come_sorted_and_byte_exact(void **state)
{
    static const char dns[] =
        "{\"kind\":\"Service\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"dns\","
        "\"namespace\":\"a\",\"uid\":\"u2\",\"resourceVersion\":\"9\"}}";
    struct world *t = *state;
    struct admin_response r;

    expect_body(t, "/v1/watches/services/objects", "[]\n");
    answer_list(t->watches[0], 200, services);
    r = ask_as(t, "GET", "/v1/watches/services/objects", false);
    assert_non_null(strstr(buf_cstr(&r.body), dns));
    assert_true(strstr(buf_cstr(&r.body), "\"dns\"") < strstr(buf_cstr(&r.body), "\"web\""));
    assert_int_equal(r.body.data[0], '[');
    buf_free(&r.body);
    expect(t, "/v1/watches/services/objects/a/dns", 200, dns);
    expect(t, "/v1/watches/services/objects/a%2Fdns", 200, dns);
    expect(t, "/v1/watches/services/objects/%61/d%6Es?x=/y", 200, dns);
    expect(t, "/v1/watches/services/objects/a/none", 404, "{\"error\":\"the watch has no object");
    expect(t, "/v1/watches/none/objects", 404, "{\"error\":\"there is no watch");
    expect(t, "/v1/watches/none/objects/a/dns", 404, "{\"error\":\"there is no watch");
}

static void test_secrets_are_for_the_privileged(void **state)
{
    struct world *t = *state;
    struct admin_response r;

    answer_list(t->watches[1], 200, secrets);
    expect(t, "/v1/watches/private/objects", 403, "{\"error\":\"objects of Secrets");
    expect(t, "/v1/watches/private/objects/a/s", 403, "{\"error\":\"objects of Secrets");
    expect(t, "/v1/watches/private/objects/a/none", 403, "{\"error\":\"objects of Secrets");
    expect(t, "/v1/watches", 200, "\"resource\":\"secrets\"");
    r = ask_as(t, "GET", "/v1/watches/private/objects/a/s", true);
    assert_int_equal(r.status, 200);
    assert_non_null(strstr(buf_cstr(&r.body), "aHVzaA=="));
    buf_free(&r.body);
}

static void test_what_is_not_there(void **state)
{
    static const char *const nothing[] = {"/",
                                          "//",
                                          "/v1",
                                          "/v1/",
                                          "/v1/status/",
                                          "/v1/status/x",
                                          "/v1//status",
                                          "/v2/status",
                                          "/v1/watches/services",
                                          "/v1/watches/services/objects/",
                                          "/v1/watches//objects",
                                          "/metrics",
                                          "/livez/x"};
    static const char *const broken[] = {"",
                                         "v1/status",
                                         "*",
                                         "?x",
                                         "/v1/%",
                                         "/v1/%4",
                                         "/v1/%zz",
                                         "/v1/watches/%00/objects",
                                         "http://x/v1/status"};
    static const char *const methods[] = {"POST", "HEAD", "DELETE", "get"};

    for (size_t i = 0; i < ARRAY_LEN(nothing); i++)
        expect(*state, nothing[i], 404, "{\"error\":\"");
    for (size_t i = 0; i < ARRAY_LEN(broken); i++)
        expect(*state, broken[i], 400, "{\"error\":\"");
    for (size_t i = 0; i < ARRAY_LEN(methods); i++) {
        struct admin_response r = ask_as(*state, methods[i], "/v1/status", true);

        assert_int_equal(r.status, 405);
        buf_free(&r.body);
    }
}

/* Each byte of a target may be missing: nothing is read beyond its end (the sanitizers watch). */
static void test_targets_cut_at_every_byte(void **state)
{
    static const char whole[] = "/v1/watches/a%2Fb/objects/%6e%2f/x?k=%";

    (void)state;
    for (size_t n = 0; n < sizeof(whole); n++) {
        char *copy = test_malloc(n + 1);
        struct target t;

        memcpy(copy, whole, n);
        if (target_parse(&t, str_of(copy, n))) {
            if (t.count == TARGET_PARTS && n == sizeof(whole) - 1)
                assert_true(str_is(t.part[4], "n//x") && str_is(t.part[2], "a/b"));
            target_fini(&t);
        }
        test_free(copy);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_status_before_the_first_contact, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_status_of_a_synced_watch_and_a_hook_at_work, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_a_refused_watch_is_degraded, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_health, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_objects_come_sorted_and_byte_exact, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_secrets_are_for_the_privileged, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_what_is_not_there, set_up, tear_down),
        cmocka_unit_test(test_targets_cut_at_every_byte),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
