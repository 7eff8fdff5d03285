/* SPDX-License-Identifier: Apache-2.0 */
/* The actions that the control socket carries out, for whom, and its answers about comparisons. */
#include "admin_world.h"

#include <stdio.h>
#include <string.h>

#include "cache/audit.h"

static void expect_done(struct admin_world *t, const char *done)
{
    assert_string_equal(buf_cstr(&t->done), done);
    buf_clear(&t->done);
}

/* Lists n services. */
static void sync_services(struct admin_world *t, const char *rv, size_t n)
{
    struct buf list = {0};

    admin_world_put_list(&list, rv, n);
    admin_world_list(t, WORLD_SERVICES, 200, buf_cstr(&list));
    buf_free(&list);
}

static void test_relist(void **state)
{
    struct admin_world *t = *state;

    admin_world_expect(t, "POST /v1/watches/services/relist", 202, "{\"started\":true}\n");
    expect_done(t, "relist services;");
    admin_world_expect(t, "POST /v1/watches/twin/relist?x=y", 202, "{\"started\":true}\n");
    expect_done(t, "relist services;");
    admin_world_expect(t, "POST /v1/watches/private/relist", 202, "{\"started\":true}\n");
    expect_done(t, "relist private;");
}

static void test_guard(void **state)
{
    struct admin_world *t = *state;

    admin_world_expect(t, "POST /v1/watches/services/guard/accept", 409,
                       "{\"error\":\"the guard holds no list of this watch\"}\n");
    expect_done(t, "accept services;");
    t->guard_holds = true;
    admin_world_expect(t, "POST /v1/watches/services/guard/accept", 202, "{\"started\":true}\n");
    expect_done(t, "accept services;");
    admin_world_expect(t, "POST /v1/watches/twin/guard/reject", 202, "{\"started\":true}\n");
    expect_done(t, "reject services;");
}

static void test_verify_answers_with_the_number_of_its_result(void **state)
{
    struct admin_world *t = *state;

    admin_world_expect(t, "POST /v1/watches/services/verify", 409, "not synced yet");
    expect_done(t, "");
    sync_services(t, "42", 3);
    admin_world_expect(
        t, "GET /v1/watches/services/verify", 200,
        "{\"number\":0,\"state\":\"idle\",\"done_age_s\":null,\"applied\":false,"
        "\"compared\":0,\"not_compared\":0,\"differences\":0,\"keys\":[],\"error\":null}\n");
    admin_world_expect(t, "POST /v1/watches/services/verify", 202,
                       "{\"started\":true,\"number\":1}\n");
    expect_done(t, "verify services;");
}

static void add_item(struct audit *a, const char *key, const char *uid, const char *rv)
{
    struct object *o = objects_make(key, uid, rv, NULL);

    audit_item(a, 0, o);
    object_unref(&o);
}

/* While the comparison is under way, the last result stays. */
static void expect_under_way(struct admin_world *t, const char *state)
{
    char text[64];

    snprintf(text, sizeof(text), "{\"number\":0,\"state\":\"%s\",\"done_age_s\":null,", state);
    admin_world_expect(t, "GET /v1/watches/services/verify", 200, text);
    admin_world_expect(t, "POST /v1/watches/services/verify", 202,
                       "{\"started\":true,\"number\":1}\n");
    expect_done(t, "verify services;");
}

static void test_verify_shows_what_differs(void **state)
{
    struct admin_world *t = *state;
    struct audit *a = watch_audit(t->watches[WORLD_SERVICES].watch);

    sync_services(t, "42", 3);
    audit_begin(a, false);
    expect_under_way(t, "listing");
    add_item(a, "b/s0", "u0", "1");
    add_item(a, "b/s1", "u1", "60");
    add_item(a, "b/new", "u9", "61");
    audit_listed(a);
    expect_under_way(t, "grace");
    audit_finish(a, WORLD_NOW_MS - 2000);
    admin_world_expect(t, "GET /v1/watches/services/verify", 200,
                       "{\"number\":1,\"state\":\"idle\",\"done_age_s\":2,\"applied\":false,"
                       "\"compared\":4,\"not_compared\":0,\"differences\":3,\"keys\":["
                       "{\"key\":\"b/new\",\"what\":\"missing\"},"
                       "{\"key\":\"b/s1\",\"what\":\"different\"},"
                       "{\"key\":\"b/s2\",\"what\":\"extra\"}],\"error\":null}\n");
    admin_world_expect(t, "GET /v1/watches", 200,
                       "\"audit\":{\"state\":\"idle\",\"runs\":1,\"differences\":3}");
    admin_world_expect(t, "POST /v1/watches/twin/verify", 202, "\"number\":2}");
}

static void test_a_comparison_that_failed_says_why(void **state)
{
    struct admin_world *t = *state;
    struct audit *a = watch_audit(t->watches[WORLD_SERVICES].watch);
    struct err err = {0};

    sync_services(t, "42", 3);
    audit_begin(a, false);
    err_set(&err, ERR_FORBIDDEN, 403, "no list for you");
    audit_failed(a, &err, WORLD_NOW_MS - 2000);
    admin_world_expect(t, "GET /v1/watches/services/verify", 200,
                       "{\"number\":1,\"state\":\"idle\",\"done_age_s\":2,");
    admin_world_expect(t, "GET /v1/watches/services/verify", 200,
                       "\"error\":\"no list for you\"}\n");
    admin_world_expect(t, "GET /v1/watches", 200,
                       "\"audit\":{\"state\":\"idle\",\"runs\":1,\"differences\":null}");
}

static void test_nothing_begins_while_the_daemon_stops(void **state)
{
    static const char *const actions[] = {"relist", "verify", "guard/accept", "guard/reject"};
    struct admin_world *t = *state;
    char request[80];

    sync_services(t, "42", 3);
    t->model.stopping = true;
    for (size_t i = 0; i < ARRAY_LEN(actions); i++) {
        snprintf(request, sizeof(request), "POST /v1/watches/services/%s", actions[i]);
        admin_world_expect(t, request, 503,
                           "{\"error\":\"informerd is stopping: it starts nothing new\"}\n");
    }
    expect_done(t, "");
    admin_world_expect(t, "GET /v1/watches/services/verify", 200, "{\"number\":0,");
}

static void test_actions_are_for_the_privileged(void **state)
{
    static const char *const requests[] = {
        "POST /v1/watches/services/relist",       "POST /v1/watches/services/verify",
        "POST /v1/watches/services/guard/accept", "POST /v1/watches/services/guard/reject",
        "POST /v1/watches/none/relist",
    };
    struct admin_world *t = *state;

    sync_services(t, "42", 3);
    t->guard_holds = true;
    for (size_t i = 0; i < ARRAY_LEN(requests); i++)
        admin_world_expect_poor(t, requests[i], 403,
                                "{\"error\":\"only root and the user that informerd was started "
                                "as may do this\"}\n");
    expect_done(t, "");
    admin_world_expect_poor(t, "GET /v1/watches/services/verify", 200, "{\"number\":0,");
    admin_world_expect_poor(t, "GET /v1/watches/private/verify", 403, "objects of Secrets");
    admin_world_expect(t, "GET /v1/watches/private/verify", 200, "{\"number\":0,");
}

static void test_watches_that_wait_for_discovery_cannot_be_acted_on(void **state)
{
    static const char *const requests[] = {
        "POST /v1/watches/widgets/relist",
        "POST /v1/watches/widgets/verify",
        "POST /v1/watches/widgets/guard/accept",
        "POST /v1/watches/widgets/guard/reject",
    };
    struct admin_world *t = *state;

    for (size_t i = 0; i < ARRAY_LEN(requests); i++)
        admin_world_expect(t, requests[i], 409, "{\"error\":\"the server has not told yet");
    expect_done(t, "");
}

/* The watches may have objects of an earlier process, but there is no server to ask. */
static void test_a_cluster_that_waits_for_its_kubeconfig_cannot_be_acted_on(void **state)
{
    static const char *const requests[] = {
        "POST /v1/watches/services/relist",
        "POST /v1/watches/services/verify",
        "POST /v1/watches/services/guard/accept",
    };
    struct admin_world *t = *state;

    sync_services(t, "42", 3);
    t->clusters[0].awaits = "/etc/kubernetes/kubelet.conf";
    for (size_t i = 0; i < ARRAY_LEN(requests); i++)
        admin_world_expect(t, requests[i], 409,
                           "{\"error\":\"cluster prod waits for its kubeconfig "
                           "/etc/kubernetes/kubelet.conf\"}\n");
    expect_done(t, "");
}

static void test_names_that_are_not_there(void **state)
{
    static const char *const requests[] = {
        "POST /v1/watches/none/relist",
        "POST /v1/watches/none/verify",
        "POST /v1/watches/none/guard/accept",
        "GET /v1/watches/none/verify",
        "POST /v1/watches/services/guard",
        "POST /v1/watches/services/guard/drop",
        "POST /v1/watches/services/relist/x",
        "POST /v1/watches/services/guard/accept/x",
        "POST /v1/watches//relist",
        "POST /v1/watches/services/verify/",
        "POST /v1/watches/services",
        "GET /v1/sources/none/stream",
        "GET /v1/hooks/none/runs",
        "GET /v1/hooks/none/why",
        "GET /v1/hooks/none/input/b/s0",
        "GET /v1/hooks/none/order/1",
        "POST /v1/hooks/none/run",
        "POST /v1/hooks/none/pause",
        "POST /v1/hooks/none/resume",
        "GET /v1/hooks/print/why/",
        "POST /v1/hooks/print/pause/b/s0",
        "GET /v1/runs/print",
        "POST /v1/pause/print",
        "GET /v1/events/x",
    };

    for (size_t i = 0; i < ARRAY_LEN(requests); i++)
        admin_world_expect(*state, requests[i], 404, "{\"error\":\"there is no");
}

static void test_each_path_has_its_methods(void **state)
{
    static const struct {
        const char *path;
        const char *methods;
    } paths[] = {
        {"/livez",                            "GET and HEAD"},
        {"/readyz",                           "GET and HEAD"},
        {"/healthz",                          "GET and HEAD"},
        {"/v1/status",                        "GET"         },
        {"/v1/watches",                       "GET"         },
        {"/v1/sources/services/objects",      "GET"         },
        {"/v1/sources/services/objects/b/s0", "GET"         },
        {"/v1/hooks",                         "GET"         },
        {"/v1/runs",                          "GET"         },
        {"/v1/pause",                         "POST"        },
        {"/v1/resume",                        "POST"        },
        {"/v1/hooks/print/runs",              "GET"         },
        {"/v1/hooks/print/why",               "GET"         },
        {"/v1/hooks/print/why/b/s0",          "GET"         },
        {"/v1/hooks/print/input",             "GET"         },
        {"/v1/hooks/print/input/b/s0",        "GET"         },
        {"/v1/hooks/print/order/1",           "GET"         },
        {"/v1/hooks/print/run",               "POST"        },
        {"/v1/hooks/print/run/b/s0",          "POST"        },
        {"/v1/hooks/print/pause",             "POST"        },
        {"/v1/hooks/print/resume",            "POST"        },
        {"/v1/events",                        "GET"         },
        {"/v1/events/follow",                 "GET"         },
        {"/v1/sources/services/stream",       "GET"         },
        {"/v1/watches/services/relist",       "POST"        },
        {"/v1/watches/services/verify",       "GET and POST"},
        {"/v1/watches/services/guard/accept", "POST"        },
        {"/v1/watches/services/guard/reject", "POST"        },
    };
    static const char *const methods[] = {"GET",    "POST", "HEAD", "PUT",
                                          "DELETE", "get",  "GETX", ""};
    char text[128];

    for (size_t i = 0; i < ARRAY_LEN(paths); i++) {
        snprintf(text, sizeof(text), "{\"error\":\"%s is all that is understood here\"}\n",
                 paths[i].methods);
        for (size_t m = 0; m < ARRAY_LEN(methods); m++) {
            bool known = m < 3 && strstr(paths[i].methods, methods[m]) != NULL;
            struct admin_response r = admin_world_ask(*state, methods[m], paths[i].path, true);

            assert_int_equal(r.status == 405, !known);
            if (!known)
                assert_string_equal(buf_cstr(&r.body), text);
            buf_free(&r.body);
            admin_stream_destroy(&r.stream);
        }
    }
}

#define WITH_WORLD(test) \
    cmocka_unit_test_setup_teardown(test, admin_world_set_up, admin_world_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_WORLD(test_relist),
        WITH_WORLD(test_guard),
        WITH_WORLD(test_verify_answers_with_the_number_of_its_result),
        WITH_WORLD(test_verify_shows_what_differs),
        WITH_WORLD(test_a_comparison_that_failed_says_why),
        WITH_WORLD(test_nothing_begins_while_the_daemon_stops),
        WITH_WORLD(test_actions_are_for_the_privileged),
        WITH_WORLD(test_watches_that_wait_for_discovery_cannot_be_acted_on),
        WITH_WORLD(test_a_cluster_that_waits_for_its_kubeconfig_cannot_be_acted_on),
        WITH_WORLD(test_names_that_are_not_there),
        WITH_WORLD(test_each_path_has_its_methods),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
