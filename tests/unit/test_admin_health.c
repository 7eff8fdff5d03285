/* SPDX-License-Identifier: Apache-2.0 */
/* /livez, /readyz and /healthz, and the requests that a peer over TCP may send. */
#include "admin_world.h"

#include <stdio.h>
#include <string.h>

#include "admin/doctor.h"
#include "admin/health.h"
#include "kube/expiry.h"

enum { STARTED_MS = WORLD_STARTED_MS };

static struct admin_response ask_anonymously(struct admin_world *t, const char *method,
                                             const char *target)
{
    const struct admin_request req = {
        .method = str_c(method), .target = str_c(target), .anonymous = true};
    struct admin_response r;

    admin_handle(&t->model, &req, t->now_ms, &r);
    return r;
}

static void expect_body(struct admin_world *t, const char *target, int status, const char *body)
{
    struct admin_response r = admin_world_ask(t, "GET", target, false);

    assert_string_equal(buf_cstr(&r.body), body);
    assert_int_equal(r.status, status);
    buf_free(&r.body);
}

static void list_services(struct admin_world *t, size_t n)
{
    struct buf list = {0};

    admin_world_put_list(&list, "42", n);
    admin_world_list(t, WORLD_SERVICES, 200, buf_cstr(&list));
    buf_free(&list);
}

static void make_stale(struct admin_world *t)
{
    list_services(t, 1);
    t->now_ms = STARTED_MS + 1000 + WORLD_STALE_MS;
}

static void hold_a_list(struct admin_world *t)
{
    list_services(t, 20);
    list_services(t, 1);
}

static void refuse_a_watch(struct admin_world *t)
{
    admin_world_list(t, WORLD_SERVICES, 403,
                     "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"code\":403,\"message\":\"no\"}");
}

static void fail_a_watch(struct admin_world *t)
{
    admin_world_list(t, WORLD_SERVICES, 500,
                     "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"code\":500,\"message\":\"no\"}");
}

static void skip_an_object(struct admin_world *t)
{
    admin_world_list(t, WORLD_SERVICES, 200,
                     "{\"kind\":\"ServiceList\",\"apiVersion\":\"v1\",\"metadata\":{"
                     "\"resourceVersion\":\"42\"},\"items\":[{\"metadata\":{\"name\":\"/hush\","
                     "\"namespace\":\"b\",\"uid\":\"\"}}]}");
}

static void fill_the_memory(struct admin_world *t)
{
    static struct memory_limit memory;
    struct buf list = {0};
    struct list_watch *f = watch_list_watch(t->watches[WORLD_SERVICES].watch, 0);
    const struct now now = {STARTED_MS + 1000, WORLD_STARTED_NS};

    memory = (struct memory_limit){.bytes = 8};
    watch_limit_memory(t->watches[WORLD_SERVICES].watch, &memory);
    admin_world_put_list(&list, "42", 2);
    assert_int_equal(list_watch_start(f, STARTED_MS).what, LW_LIST);
    list_watch_head(f, &(struct http_head){.status = 200, .retry_after_s = -1}, now.ms);
    assert_false(list_watch_body(f, list.data, list.len, now));
    assert_int_equal(list_watch_end(f, NULL, 0, now).what, LW_WAIT);
    buf_free(&list);
}

static void let_a_key_wait(struct admin_world *t)
{
    list_services(t, 1);
    t->model.pending_ms = 100;
    assert_non_null(hooks_next(&t->hooks, t->now_ms));
    t->now_ms += 101;
}

static void lose_the_state(struct admin_world *t)
{
    t->model.state = (struct admin_state){.dir = "/s", .trouble = "disk full"};
}

static void trouble_a_cluster(struct admin_world *t)
{
    t->clusters[1].trouble = "cluster test: it is another one";
}

static void await_a_kubeconfig(struct admin_world *t)
{
    t->clusters[1].awaits = "/etc/kubernetes/kubelet.conf";
}

static void break_credentials(struct admin_world *t)
{
    t->logins[0].trouble = "client key /k: Permission denied";
}

static void verify_nothing(struct admin_world *t)
{
    t->clusters[1].is_insecure = true;
}

static void lose_the_textfile(struct admin_world *t)
{
    t->model.textfile_trouble = "/f: create: Permission denied";
}

/* A token of 2024-05-01T10:20:00Z to 10:25:00Z; the world begins at 10:20:30Z. */
static struct expiry token;

static void set_token(struct admin_world *t, uint64_t window_ms)
{
    static const char jwt[] = "e30.eyJpYXQiOjE3MTQ1NTg4MDAsImV4cCI6MTcxNDU1OTEwMH0.c2ln";

    expiry_set(&token, EXPIRY_TOKEN, str_c(jwt), "/etc/token");
    t->logins[0].expiry = &token;
    t->model.credential_expiry_ms = window_ms;
}

static void let_a_token_expire(struct admin_world *t)
{
    set_token(t, 60000);
    t->now_ms = STARTED_MS + 260000;
}

static void fail_a_reload(struct admin_world *t)
{
    t->model.reload = (struct admin_reload){
        .result = "invalid", .ended_ns = 1, .failing_ns = 1, .problems = "f:1: no\nf:2: no\n"};
}

/* How a test brings about each reason, but for "clock": test_a_certificate_that_is_not_valid_yet(). */
static const struct {
    const char *reason;
    const char *kind;
    const char *name;
    void (*break_it)(struct admin_world *t);
} reasons[] = {
    {"reload",      "reload",    "",         fail_a_reload     },
    {"state",       "state",     "",         lose_the_state    },
    {"cluster",     "cluster",   "test",     trouble_a_cluster },
    {"kubeconfig",  "cluster",   "test",     await_a_kubeconfig},
    {"credentials", "cluster",   "prod",     break_credentials },
    {"expires",     "cluster",   "prod",     let_a_token_expire},
    {"insecure",    "cluster",   "test",     verify_nothing    },
    {"forbidden",   "watch",     "services", refuse_a_watch    },
    {"stale",       "watch",     "services", make_stale        },
    {"watch_fails", "watch",     "services", fail_a_watch      },
    {"held",        "watch",     "services", hold_a_list       },
    {"memory",      "watch",     "services", fill_the_memory   },
    {"skipped",     "watch",     "services", skip_an_object    },
    {"pending",     "hook",      "print",    let_a_key_wait    },
    {"textfile",    "informerd", "",         lose_the_textfile },
};

static void test_livez_looks_at_nothing(void **state)
{
    struct admin_world *t = *state;

    make_stale(t);
    expect_body(t, "/livez", 200, "ok\n");
    expect_body(t, "/livez?format=json", 200, "{\"ok\":true,\"reasons\":[]}\n");
}

static void test_healthz_is_ok_while_nothing_is_wrong(void **state)
{
    expect_body(*state, "/healthz", 200, "ok\n");
    expect_body(*state, "/healthz?format=json", 200, "{\"ok\":true,\"reasons\":[]}\n");
}

/* Each runs in a world of its own. */
static void test_each_reason_makes_healthz_503(void **state)
{
    char text[160];

    for (size_t i = 0; i < ARRAY_LEN(reasons); i++) {
        struct admin_world *t = *state;

        reasons[i].break_it(t);
        snprintf(text, sizeof(text), "{\"reason\":\"%s\",\"kind\":\"%s\",\"name\":\"%s\",",
                 reasons[i].reason, reasons[i].kind, reasons[i].name);
        admin_world_expect_poor(t, "GET /healthz?format=json", 503, "{\"ok\":false,\"reasons\":[{");
        admin_world_expect_poor(t, "GET /healthz?format=json", 503, text);
        admin_world_expect_poor(t, "GET /healthz", 503, "not healthy\n");
        expiry_fini(&token);
        admin_world_tear_down(state);
        admin_world_set_up(state);
    }
}

/* /healthz reports the reasons in `degraded`: a new fault must be in the table above. */
static void test_the_table_of_reasons_is_complete(void **state)
{
    (void)state;
    for (enum finding_id id = FINDING_RELOAD; id < FINDING_PARKED; id++) {
        bool found = id == FINDING_CLOCK; /* the test below */

        for (size_t i = 0; i < ARRAY_LEN(reasons); i++)
            found = found || strcmp(reasons[i].reason, doctor_word(id)) == 0;
        if (!found)
            fail_msg("%s", doctor_word(id));
    }
}

static void test_a_certificate_that_is_not_valid_yet(void **state)
{
    struct admin_world *t = *state;
    struct expiry e = {0};
    const struct tls_dates later = {.from_s = 1714569000, .till_s = 1724569000};

    e.items[EXPIRY_CERT].v[0] = later;
    e.items[EXPIRY_CERT].n = 1;
    t->logins[0].expiry = &e;
    admin_world_expect_poor(t, "GET /healthz?format=json", 503, "{\"reason\":\"clock\",");
    t->logins[0].expiry = NULL;
}

static void test_the_text_has_a_line_for_each_reason(void **state)
{
    struct admin_world *t = *state;

    trouble_a_cluster(t);
    fail_a_reload(t);
    expect_body(
        t, "/healthz", 503,
        "not healthy\n"
        "the last reload was refused, and the configuration before it stays in use: f:1: no: "
        "mend the file, then informerctl reload\n"
        "cluster test: it is another one\n");
}

static void test_readyz_names_the_hooks_it_waits_for(void **state)
{
    static const char waits[] =
        "hook print: waits for its first run until these sources are synced: services";
    struct admin_world *t = *state;
    char text[256];

    snprintf(text, sizeof(text), "not ready\n%s\n", waits);
    expect_body(t, "/readyz", 503, text);
    snprintf(text, sizeof(text),
             "{\"ok\":false,\"reasons\":[{\"reason\":\"first_run\",\"kind\":\"hook\","
             "\"name\":\"print\",\"text\":\"%s\"}]}\n",
             waits);
    expect_body(t, "/readyz?format=json", 503, text);
    t->model.ready = true; /* ready_timeout has passed */
    expect_body(t, "/readyz", 200, "ok\n");
    expect_body(t, "/readyz?format=json", 200, "{\"ok\":true,\"reasons\":[]}\n");
}

/* READY does not wait for it either. */
static void test_readyz_names_no_paused_hook(void **state)
{
    struct admin_world *t = *state;

    hook_pause(t->hooks.v[0], true);
    expect_body(t, "/readyz?format=json", 503,
                "{\"ok\":false,\"reasons\":[{\"reason\":\"starting\",\"kind\":\"informerd\","
                "\"name\":\"\",\"text\":\"READY is about to be sent\"}]}\n");
    expect_body(t, "/readyz", 503, "not ready\nREADY is about to be sent\n");
    hook_pause(t->hooks.v[0], false);
    admin_world_expect_poor(t, "GET /readyz", 503, "hook print: waits for its first run");
}

static void test_the_form_is_chosen_by_the_query(void **state)
{
    static const char *const text[] = {"/livez?",
                                       "/livez?verbose",
                                       "/livez?format=jso",
                                       "/livez?format=jsons",
                                       "/livez?xformat=json",
                                       "/livez?format=text&x"};
    static const char *const json[] = {"/livez?x&format=json", "/livez?format=json&x=y",
                                       "/livez?x?&format=json"};

    for (size_t i = 0; i < ARRAY_LEN(text); i++)
        expect_body(*state, text[i], 200, "ok\n");
    for (size_t i = 0; i < ARRAY_LEN(json); i++)
        expect_body(*state, json[i], 200, "{\"ok\":true,\"reasons\":[]}\n");
}

static void test_anonymous_peers_only_probe(void **state)
{
    static const char *const probes[] = {"/livez",     "/readyz",   "/healthz", "/metrics", "/",
                                         "/page.json", "/page.css", "/page.js", "/page.svg"};
    static const char *const others[] = {
        "/v1/status", "/v1/doctor", "/v1/watches", "/v1/sources/services/objects", "/v1/hooks",
        "/v1/events", "/v1/runs",   "/v1/pause",   "/v1/watches/services/relist",  "/v1/reload",
        "/v1",        "/page",
    };
    static const char *const methods[] = {"GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS"};
    struct admin_world *t = *state;

    for (size_t m = 0; m < ARRAY_LEN(methods); m++) {
        for (size_t i = 0; i < ARRAY_LEN(probes); i++) {
            struct admin_response r = ask_anonymously(t, methods[m], probes[i]);

            assert_int_equal(r.status == 405, m >= 2);
            buf_free(&r.body);
        }
        for (size_t i = 0; i < ARRAY_LEN(others); i++) {
            struct admin_response r = ask_anonymously(t, methods[m], others[i]);

            assert_int_equal(r.status, 404);
            assert_null(r.stream);
            buf_free(&r.body);
        }
    }
    assert_int_equal(t->done.len, 0);
}

static void test_names_of_objects_can_be_hidden(void **state)
{
    struct admin_world *t = *state;

    skip_an_object(t);
    admin_world_expect_poor(t, "GET /healthz", 503, "b//hush");
    t->model.hides_keys = true;
    expect_body(t, "/healthz", 503,
                "not healthy\n"
                "watch services: 1 object is skipped, with the old state if there is one\n"
                "watch twin: 1 object is skipped, with the old state if there is one\n");
}

/* A setting such as `names` has them. */
static void test_the_problem_of_a_reload_is_hidden(void **state)
{
    struct admin_world *t = *state;

    fail_a_reload(t);
    admin_world_expect_poor(t, "GET /healthz", 503, "f:1: no");
    t->model.hides_keys = true;
    admin_world_lacks(t, "GET /healthz", "f:1");
    admin_world_expect_poor(t, "GET /healthz", 503, "informerctl status tells why");
}

/* The error may be about one object, or the server may name one. */
static void test_an_error_is_hidden_where_it_may_name_an_object(void **state)
{
    struct admin_world *t = *state;

    admin_world_list(
        t, WORLD_SERVICES, 500,
        "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"code\":500,\"message\":\"b/hush\"}");
    admin_world_expect_poor(t, "GET /healthz", 503, "b/hush");
    t->model.hides_keys = true;
    expect_body(t, "/healthz", 503,
                "not healthy\nwatch services: not synced: informerctl status tells why\n"
                "watch twin: not synced: informerctl status tells why\n");
}

#define WITH_WORLD(test) \
    cmocka_unit_test_setup_teardown(test, admin_world_set_up, admin_world_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_WORLD(test_livez_looks_at_nothing),
        WITH_WORLD(test_healthz_is_ok_while_nothing_is_wrong),
        WITH_WORLD(test_each_reason_makes_healthz_503),
        WITH_WORLD(test_the_table_of_reasons_is_complete),
        WITH_WORLD(test_a_certificate_that_is_not_valid_yet),
        WITH_WORLD(test_the_text_has_a_line_for_each_reason),
        WITH_WORLD(test_readyz_names_the_hooks_it_waits_for),
        WITH_WORLD(test_readyz_names_no_paused_hook),
        WITH_WORLD(test_the_form_is_chosen_by_the_query),
        WITH_WORLD(test_anonymous_peers_only_probe),
        WITH_WORLD(test_names_of_objects_can_be_hidden),
        WITH_WORLD(test_the_problem_of_a_reload_is_hidden),
        WITH_WORLD(test_an_error_is_hidden_where_it_may_name_an_object),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
