/* SPDX-License-Identifier: Apache-2.0 */
/* The answers of the control socket, over watches and hooks that were filled in memory. */
#include "admin_world.h"

#include <stdio.h>
#include <string.h>

#include "admin/report.h"
#include "admin/target.h"
#include "kube/expiry.h"

enum { STARTED_MS = WORLD_STARTED_MS, NOW_MS = WORLD_NOW_MS };

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

/* A server of which nothing is known. */
#define UNTRIED(url)                                                                               \
    "{\"url\":\"" url "\",\"in_use\":false,\"tier\":1,\"state\":\"untried\",\"state_age_s\":null," \
    "\"failed_age_s\":null,\"error\":null}"

/* The answer to GET has this status and this text somewhere. */
static void expect(struct admin_world *t, const char *target, int status, const char *text)
{
    char request[256];

    snprintf(request, sizeof(request), "GET %s", target);
    admin_world_expect_poor(t, request, status, text);
}

static void expect_body(struct admin_world *t, const char *target, const char *body)
{
    struct admin_response r = admin_world_ask(t, "GET", target, true);

    assert_int_equal(r.status, 200);
    assert_string_equal(buf_cstr(&r.body), body);
    buf_free(&r.body);
}

static void test_status_before_the_first_contact(void **state)
{
    struct admin_world *t = *state;

    list_watch_start(watch_list_watch(t->watches[0].watch, 0), STARTED_MS);
    list_watch_start(watch_list_watch(t->watches[1].watch, 0), STARTED_MS);
    expect(t, "/v1/status", 200,
           "{\"version\":\"1.2.3\",\"pid\":77,\"started\":\"2024-05-01T10:20:30Z\","
           "\"ready\":false,"
           "\"reload\":{\"result\":null,\"running\":false,\"ended\":null,\"failing_since\":null,"
           "\"problems\":[]},\"degraded\":[],"
           "\"state\":{\"dir\":null,\"kept\":false,\"writable\":true,\"reason\":null,"
           "\"since\":null,\"waiting\":0,\"commits\":0},\"memory\":{\"bytes\":0,\"limit\":null},"
           "\"clusters\":{\"prod\":{\"server\":\"https://10.0.0.1:6443\",\"contact_age_s\":0.25,"
           "\"trouble\":null,\"credential_expires\":null,\"servers\":[" UNTRIED(
               "https://10.0.0.1:6443") "]},"
                                        "\"test\":{\"server\":\"https://"
                                        "10.0.0.2:6443\",\"contact_age_s\":null,"
                                        "\"trouble\":null,\"credential_expires\":null,\"servers\":"
                                        "[" UNTRIED("https://10.0.0.2:6443") "]}},");
    expect(t, "/v1/status", 200,
           "\"services\":{\"cluster\":\"prod\",\"resource\":\"services\",\"state\":\"listing\","
           "\"synced\":false,\"stale\":false,\"incomplete\":false,\"held\":false,\"contact_age_s\":"
           "null,\"objects\":0,"
           "\"bytes\":0,"
           "\"skipped\":0,\"resource_version\":null,\"relists\":0,\"last_error\":null,"
           "\"held_reason\":null,\"held_deletes\":0,\"last_event_age_s\":null,"
           "\"last_bookmark_age_s\":null,\"relists_by\":{},\"events\":0,"
           "\"skipped_objects\":[],\"audit\":{\"state\":\"idle\",\"runs\":0,\"differences\":null},"
           "\"resumed\":null,\"past\":false}");
    expect(t, "/v1/status", 200,
           "\"hooks\":{\"print\":{\"pending\":0,\"running\":0,\"parked\":0,\"forgotten\":0,"
           "\"paused\":false,"
           "\"oldest_pending_s\":null,"
           "\"last_success\":null,\"last_error\":null,\"runs_ok\":0,\"runs_failed\":0,"
           "\"handled\":0,\"latency_p50_s\":null,\"latency_p99_s\":null}},"
           "\"left_files\":[]}\n");
}

static void test_status_of_a_synced_watch_and_a_hook_at_work(void **state)
{
    struct admin_world *t = *state;
    struct run *run;

    admin_world_list(t, WORLD_SERVICES, 200, services);
    run = hooks_next(&t->hooks, NOW_MS - 1500);
    assert_non_null(run);
    expect(t, "/v1/watches", 200,
           "\"synced\":true,\"stale\":false,\"incomplete\":false,\"held\":false,\"contact_age_s\":"
           "2.5,");
    expect(t, "/v1/watches", 200, "\"objects\":2,");
    expect(t, "/v1/watches", 200, "\"resource_version\":\"42\"");
    expect(t, "/v1/hooks", 200,
           "{\"hooks\":{\"print\":{\"pending\":1,\"running\":1,\"parked\":0,\"forgotten\":0,"
           "\"paused\":false,"
           "\"oldest_pending_s\":1.5,"
           "\"last_success\":null,");
    hooks_finish(&t->hooks, run, &(struct run_result){.text = "exit status 0"}, STARTED_MS + 2000);
    run = hooks_next(&t->hooks, NOW_MS);
    expect(t, "/v1/hooks", 200, "\"last_success\":\"2024-05-01T10:20:32Z\",\"last_error\":null");
    hooks_finish(&t->hooks, run, &(struct run_result){.end.value = 3, .text = "exit 3"}, NOW_MS);
    expect(t, "/v1/hooks", 200,
           "\"last_error\":\"exit "
           "3\",\"runs_ok\":1,\"runs_failed\":1,\"handled\":1,\"latency_p50_s\":");
}

static void test_a_refused_watch_is_degraded(void **state)
{
    struct admin_world *t = *state;

    admin_world_list(
        t, WORLD_SERVICES, 403,
        "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"status\":\"Failure\",\"code\":403,"
        "\"reason\":\"Forbidden\",\"message\":\"no list for you\"}");
    expect(t, "/v1/status", 200, "\"degraded\":[\"watch services: forbidden: ");
    expect(t, "/v1/watches", 200, "\"state\":\"forbidden\"");
    /* It stays so while the next try is under way. */
    list_watch_timer(watch_list_watch(t->watches[WORLD_SERVICES].watch, 0), t->now_ms);
    expect(t, "/v1/watches", 200, "\"state\":\"listing\"");
    expect(t, "/v1/status", 200, "\"degraded\":[\"watch services: forbidden: ");
    expect(t, "/v1/watches", 200, "no list for you");
}

static void test_watches_that_wait_for_discovery(void **state)
{
    struct admin_world *t = *state;
    struct err err = {0};

    expect(t, "/v1/watches", 200,
           "\"widgets\":{\"cluster\":\"prod\",\"resource\":\"widgets.example.com\","
           "\"state\":\"waiting\",\"synced\":false,\"stale\":false,\"incomplete\":false,\"held\":"
           "false,"
           "\"contact_age_s\":null,\"objects\":0,");
    expect(t, "/v1/status", 200, "\"degraded\":[],");
    expect_body(t, "/v1/sources/widgets/objects", "[]\n");
    err_set(&err, ERR_NOT_FOUND, 404, "the server has no resource widgets.example.com");
    watch_unresolved(t->watches[WORLD_WIDGETS].watch, &err);
    expect(t, "/v1/status", 200,
           "\"degraded\":[\"watch widgets: waiting: the server has no resource "
           "widgets.example.com\"],");
    expect(t, "/v1/watches", 200, "\"last_error\":\"the server has no resource");
}

/* A watch request begins, and brings an event and a bookmark, at these times. */
static void follow(struct admin_world *t)
{
    static const char change[] =
        "{\"type\":\"MODIFIED\",\"object\":{\"kind\":\"Service\",\"apiVersion\":\"v1\","
        "\"metadata\":{"
        "\"name\":\"web\",\"namespace\":\"b\",\"uid\":\"u1\",\"resourceVersion\":\"43\"}}}\n";
    static const char mark[] = "{\"type\":\"BOOKMARK\",\"object\":{\"kind\":\"Service\","
                               "\"apiVersion\":\"v1\",\"metadata\":{"
                               "\"resourceVersion\":\"50\",\"creationTimestamp\":null}}}\n";
    const struct http_head head = {
        .status = 200, .content_type = str_c("application/json"), .retry_after_s = -1};
    struct list_watch *f = watch_list_watch(t->watches[WORLD_SERVICES].watch, 0);

    list_watch_head(f, &head, NOW_MS - 2000);
    assert_true(list_watch_body(f, change, strlen(change), (struct now){NOW_MS - 1500, 0}));
    assert_true(list_watch_body(f, mark, strlen(mark), (struct now){NOW_MS - 500, 0}));
}

static void test_a_watch_shows_when_its_last_event_and_bookmark_came(void **state)
{
    struct admin_world *t = *state;

    admin_world_list(t, WORLD_SERVICES, 200, services);
    follow(t);
    expect(t, "/v1/watches", 200, "\"state\":\"watching\"");
    expect(t, "/v1/watches", 200, "\"resource_version\":\"50\"");
    expect(t, "/v1/watches", 200,
           "\"last_event_age_s\":1.5,\"last_bookmark_age_s\":0.5,\"relists_by\":{},\"events\":1,");
}

static void test_relists_are_counted_by_reason(void **state)
{
    struct admin_world *t = *state;

    admin_world_list(t, WORLD_SERVICES, 200, services);
    admin_world_list(t, WORLD_SERVICES, 200, services);
    expect(t, "/v1/watches", 200, "\"relists\":1,");
    expect(t, "/v1/watches", 200, "\"relists_by\":{\"manual\":1},");
}

static void test_all_names_of_a_watch_show_it(void **state)
{
    struct admin_world *t = *state;

    admin_world_list(t, WORLD_SERVICES, 403, "{}");
    expect(t, "/v1/watches", 200, "\"services\":{\"cluster\":\"prod\",\"resource\":\"services\",");
    expect(t, "/v1/watches", 200, "\"twin\":{\"cluster\":\"prod\",\"resource\":\"services\",");
    expect(t, "/v1/status", 200, "\"degraded\":[\"watch services: forbidden: ");
    expect(t, "/v1/status", 200, ",\"watch twin: forbidden: ");
    admin_world_list(t, WORLD_SERVICES, 200, services);
    expect(t, "/v1/sources/twin/objects/a/dns", 200, "\"u2\"");
}

/* The JWT {"sub":"a","iat":1714550000,"exp":1714560000}: it lives for 10 000 s, of which the last
 * tenth counts. */
#define TOKEN "h.eyJzdWIiOiJhIiwiaWF0IjoxNzE0NTUwMDAwLCJleHAiOjE3MTQ1NjAwMDB9.s"

static void expect_at(struct admin_world *t, uint64_t now_s, const char *degraded)
{
    t->now_ms = WORLD_STARTED_MS + (now_s - WORLD_STARTED_NS / 1000000000U) * 1000;
    expect(t, "/v1/status", 200, degraded);
    expect(t, "/v1/status", 200, "\"credential_expires\":\"2024-05-01T10:40:00Z\"");
}

static void test_credentials_that_expire_are_degraded(void **state)
{
    struct admin_world *t = *state;
    struct expiry expiry = {0};

    expiry_set(&expiry, EXPIRY_TOKEN, str_c(TOKEN), "/etc/token");
    t->logins[0].expiry = &expiry;
    t->logins[1].expiry = &expiry; /* servers that share a certificate share the sentence */
    t->model.credential_expiry_ms = 86400000;
    expect_at(t, 1714558999, "\"degraded\":[],");
    expect_at(t, 1714559000,
              "\"degraded\":[\"cluster prod: token (a) in /etc/token expires on "
              "2024-05-01 10:40:00 UTC; renew it\"],");
    expect(t, "/v1/doctor", 200,
           "UTC; renew it\",\"advice\":\"informerd reads the new file by itself\"}");
    expect_at(t, 1714560000,
              "\"degraded\":[\"cluster prod: token (a) in /etc/token expired on "
              "2024-05-01 10:40:00 UTC; renew it, or correct the clock\"],");
    expiry_fini(&expiry);
}

static void test_credentials_that_cannot_be_used_are_degraded(void **state)
{
    struct admin_world *t = *state;

    t->logins[1].trouble = "client key /k: Permission denied";
    expect(t, "/v1/status", 200,
           "\"degraded\":[\"cluster prod: credentials cannot be used: client key /k: Permission "
           "denied\"],");
    t->logins[1].trouble = NULL;
    t->clusters[1].is_insecure = true;
    expect(t, "/v1/status", 200,
           "\"degraded\":[\"cluster test: servers are not verified (insecure_skip_tls_verify)\"],");
}

static void test_held_lists_are_degraded(void **state)
{
    struct admin_world *t = *state;
    struct buf list = {0};

    admin_world_put_list(&list, "42", 20);
    admin_world_list(t, WORLD_SERVICES, 200, buf_cstr(&list));
    buf_clear(&list);
    admin_world_put_list(&list, "43", 8);
    admin_world_list(t, WORLD_SERVICES, 200, buf_cstr(&list));
    expect(t, "/v1/watches", 200, "\"held\":true,");
    expect(t, "/v1/watches", 200, "\"held_reason\":\"deletes\",\"held_deletes\":12,");
    expect(t, "/v1/watches", 200, "\"objects\":20,");
    expect(
        t, "/v1/status", 200,
        "\"degraded\":[\"watch services: a list that would delete 12 of 20 objects is held: "
        "informerctl guard accept services or informerctl guard reject services\",\"watch twin: a "
        "list");
    buf_clear(&list);
    admin_world_put_list(&list, "41", 20);
    admin_world_list(t, WORLD_SERVICES, 200, buf_cstr(&list));
    expect(t, "/v1/watches", 200, "\"held_reason\":\"backwards\",\"held_deletes\":0,");
    expect(t, "/v1/status", 200,
           "\"watch services: a list whose version went backwards is held: "
           "informerctl guard accept services or informerctl guard reject services\"");
    buf_free(&list);
}

static void test_skipped_objects_are_degraded(void **state)
{
    struct admin_world *t = *state;
    struct buf list = {0};

    buf_puts(&list, "{\"kind\":\"ServiceList\",\"apiVersion\":\"v1\",\"metadata\":{"
                    "\"resourceVersion\":\"42\"},\"items\":[{},7");
    for (int i = 0; i < 21; i++)
        buf_printf(&list, ",{\"metadata\":{\"namespace\":\"n\",\"name\":\"a/%d\"}}", i);
    buf_puts(&list, "]}");
    admin_world_list(t, WORLD_SERVICES, 200, buf_cstr(&list));
    expect(t, "/v1/watches", 200, "\"synced\":true,");
    expect(t, "/v1/watches", 200, "\"objects\":0,\"bytes\":0,\"skipped\":23,");
    expect(t, "/v1/watches", 200,
           "\"skipped_objects\":[{\"key\":null,\"why\":\"it is no JSON object\",\"objects\":2},"
           "{\"key\":\"n/a/0\",\"why\":\"its metadata.name is wrong\",\"objects\":1},");
    expect(t, "/v1/status", 200,
           "\"degraded\":[\"watch services: 23 objects are skipped, with the old state if there is "
           "one: 2 of which the name cannot be read (it is no JSON object), n/a/0 (its "
           "metadata.name is wrong), n/a/1 (");
    expect(t, "/v1/status", 200, "n/a/18 (its metadata.name is wrong), and 2 more\"");
    buf_clear(&list);
    admin_world_put_list(&list, "43", 1);
    admin_world_list(t, WORLD_SERVICES, 200, buf_cstr(&list));
    expect(t, "/v1/status", 200, "\"degraded\":[],");
    buf_free(&list);
}

static void test_the_status_lists_so_many_skipped_objects(void **state)
{
    struct admin_world *t = *state;
    struct buf list = {0};

    buf_puts(&list, "{\"kind\":\"ServiceList\",\"apiVersion\":\"v1\",\"metadata\":{"
                    "\"resourceVersion\":\"42\"},\"items\":[");
    for (int i = 0; i <= REPORT_SKIPS; i++)
        buf_printf(&list, "%s{\"metadata\":{\"namespace\":\"n\",\"name\":\"/%d\"}}",
                   i > 0 ? "," : "", i);
    buf_puts(&list, "]}");
    admin_world_list(t, WORLD_SERVICES, 200, buf_cstr(&list));
    expect(t, "/v1/watches", 200, "\"skipped\":101,");
    expect(t, "/v1/watches", 200,
           "{\"key\":\"n//99\",\"why\":\"its metadata.name is wrong\",\"objects\":1}],");
    buf_free(&list);
}

static void test_a_lost_watch_is_degraded_once_it_is_stale(void **state)
{
    struct admin_world *t = *state;

    admin_world_list(t, WORLD_SERVICES, 200, services);
    t->now_ms = STARTED_MS + 1000 + WORLD_STALE_MS - 1;
    expect(t, "/v1/status", 200, "\"degraded\":[],");
    t->now_ms++;
    expect(t, "/v1/status", 200, "\"degraded\":[\"watch services: stale\",\"watch twin: stale\"],");
    expect(t, "/v1/watches", 200, "\"stale\":true");
}

static void test_health(void **state)
{
    struct admin_world *t = *state;

    expect(t, "/livez", 200, "ok\n");
    expect(t, "/readyz", 503,
           "not ready\nhook print: waits for its first run until these sources are synced: "
           "services\n");
    admin_world_list(t, WORLD_SERVICES, 200, services);
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
    struct admin_world *t = *state;
    struct admin_response r;

    expect_body(t, "/v1/sources/services/objects", "[]\n");
    admin_world_list(t, WORLD_SERVICES, 200, services);
    r = admin_world_ask(t, "GET", "/v1/sources/services/objects", false);
    assert_non_null(strstr(buf_cstr(&r.body), dns));
    assert_true(strstr(buf_cstr(&r.body), "\"dns\"") < strstr(buf_cstr(&r.body), "\"web\""));
    assert_int_equal(r.body.data[0], '[');
    buf_free(&r.body);
    expect(t, "/v1/sources/services/objects/a/dns", 200, dns);
    expect(t, "/v1/sources/services/objects/a%2Fdns", 200, dns);
    expect(t, "/v1/sources/services/objects/%61/d%6Es?x=/y", 200, dns);
    expect(t, "/v1/sources/services/objects/a/none", 404,
           "{\"error\":\"there is no object with this key");
    expect(t, "/v1/sources/none/objects", 404, "{\"error\":\"there is no watch or view");
    expect(t, "/v1/sources/none/objects/a/dns", 404, "{\"error\":\"there is no watch or view");
}

static void test_secrets_are_for_the_privileged(void **state)
{
    struct admin_world *t = *state;
    struct admin_response r;

    admin_world_list(t, WORLD_PRIVATE, 200, secrets);
    expect(t, "/v1/sources/private/objects", 403, "{\"error\":\"objects of Secrets");
    expect(t, "/v1/sources/private/objects/a/s", 403, "{\"error\":\"objects of Secrets");
    expect(t, "/v1/sources/private/objects/a/none", 403, "{\"error\":\"objects of Secrets");
    expect(t, "/v1/watches", 200, "\"resource\":\"secrets\"");
    r = admin_world_ask(t, "GET", "/v1/sources/private/objects/a/s", true);
    assert_int_equal(r.status, 200);
    assert_non_null(strstr(buf_cstr(&r.body), "aHVzaA=="));
    buf_free(&r.body);
}

static void test_unknown_targets_are_not_found(void **state)
{
    static const char *const nothing[] = {"//",
                                          "/page",
                                          "/page.json/x",
                                          "/v1",
                                          "/v1/",
                                          "/v1/status/",
                                          "/v1/status/x",
                                          "/v1//status",
                                          "/v2/status",
                                          "/v1/watches/services",
                                          "/v1/sources/services/objects/",
                                          "/v1/sources//objects",
                                          "/metrics/x",
                                          "/livez/x"};
    static const char *const broken[] = {"",
                                         "v1/status",
                                         "*",
                                         "?x",
                                         "/v1/%",
                                         "/v1/%4",
                                         "/v1/%zz",
                                         "/v1/sources/%00/objects",
                                         "http://x/v1/status"};
    static const char *const methods[] = {"POST", "HEAD", "DELETE", "get"};

    for (size_t i = 0; i < ARRAY_LEN(nothing); i++)
        expect(*state, nothing[i], 404, "{\"error\":\"");
    for (size_t i = 0; i < ARRAY_LEN(broken); i++)
        expect(*state, broken[i], 400, "{\"error\":\"");
    for (size_t i = 0; i < ARRAY_LEN(methods); i++) {
        struct admin_response r = admin_world_ask(*state, methods[i], "/v1/status", true);

        assert_int_equal(r.status, 405);
        buf_free(&r.body);
    }
}

/* Each byte of a target may be missing: the parser reads nothing beyond its end (the sanitizers
 * watch). */
static void test_targets_cut_at_every_byte(void **state)
{
    static const char whole[] = "/v1/sources/a%2Fb/objects/%6e%2f/x?k=%";

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

#define WITH_WORLD(test) \
    cmocka_unit_test_setup_teardown(test, admin_world_set_up, admin_world_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_WORLD(test_status_before_the_first_contact),
        WITH_WORLD(test_status_of_a_synced_watch_and_a_hook_at_work),
        WITH_WORLD(test_a_refused_watch_is_degraded),
        WITH_WORLD(test_watches_that_wait_for_discovery),
        WITH_WORLD(test_a_watch_shows_when_its_last_event_and_bookmark_came),
        WITH_WORLD(test_relists_are_counted_by_reason),
        WITH_WORLD(test_all_names_of_a_watch_show_it),
        WITH_WORLD(test_credentials_that_expire_are_degraded),
        WITH_WORLD(test_credentials_that_cannot_be_used_are_degraded),
        WITH_WORLD(test_held_lists_are_degraded),
        WITH_WORLD(test_skipped_objects_are_degraded),
        WITH_WORLD(test_the_status_lists_so_many_skipped_objects),
        WITH_WORLD(test_a_lost_watch_is_degraded_once_it_is_stale),
        WITH_WORLD(test_health),
        WITH_WORLD(test_objects_come_sorted_and_byte_exact),
        WITH_WORLD(test_secrets_are_for_the_privileged),
        WITH_WORLD(test_unknown_targets_are_not_found),
        cmocka_unit_test(test_targets_cut_at_every_byte),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
