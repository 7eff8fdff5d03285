/* SPDX-License-Identifier: Apache-2.0 */
/* cache/watch: the scopes of a watch, their requests, and the status of the watch. */
#include "objects.h"

#include <string.h>

#include "base/log.h"
#include "identified.h"
#include "list_watch_script.h"

static struct watch *w;
static struct now now;
static size_t deltas;

static void on_delta(void *arg, struct source from, const struct delta *d)
{
    assert_ptr_equal(from.watch, w);
    assert_ptr_equal(arg, &deltas);
    assert_non_null(store_get(watch_store(from.watch), object_key(d->object)));
    deltas++;
}

static void on_stale(void *arg, struct source from, bool stale, struct now at)
{
    (void)arg;
    (void)from;
    (void)stale;
    (void)at;
    fail(); /* no test ticks here: see test_watch_stale.c */
}

static const struct subscriber events = {.on_delta = on_delta, .on_stale = on_stale};

static int set_up(void **state)
{
    (void)state;
    log_set_level(LOG_LVL_ERROR);
    now = (struct now){1000000, 1};
    deltas = 0;
    w = objects_watch("w", &events, &deltas);
    return 0;
}

static int clean_up(void **state)
{
    (void)state;
    watch_destroy(&w);
    watch_destroy(&w);
    assert_null(w);
    return 0;
}

/* ---- Requests. */

struct scope {
    const char *resource;
    const char *namespaces[3];
    const char *names[3];
    const char *labels;
    const char *fields;
};

static size_t count(const char *const *v)
{
    size_t n = 0;

    while (n < 3 && v[n] != NULL)
        n++;
    return n;
}

static enum err_kind create(const struct scope *s, struct watch **out, struct err *err)
{
    struct watch_params p = objects_watch_params();

    p.name = "n";
    p.resource = s->resource;
    p.namespaces = s->namespaces;
    p.namespace_count = count(s->namespaces);
    p.names = s->names;
    p.name_count = count(s->names);
    p.label_selector = s->labels ? s->labels : "";
    p.field_selector = s->fields ? s->fields : "";
    return watch_create(&p, out, err);
}

/* Checks the targets of the first lists of the watch, in order. */
static void check_targets(const struct scope *s, const char *const *want, size_t n)
{
    struct watch *made = NULL;

    assert_int_equal(create(s, &made, NULL), ERR_OK);
    assert_int_equal(watch_list_watch_count(made), n);
    for (size_t i = 0; i < n; i++) {
        struct list_watch_action a = list_watch_start(watch_list_watch(made, i), 1);

        assert_int_equal(a.what, LW_LIST);
        assert_string_equal(a.target, want[i]);
    }
    watch_destroy(&made);
}

#define TARGETS(which, ...)                                         \
    do {                                                            \
        static const char *const want[] = {__VA_ARGS__};            \
        check_targets(&(struct scope)which, want, ARRAY_LEN(want)); \
    } while (0)
#define SCOPE(...)  \
    {               \
        __VA_ARGS__ \
    }
#define FIRST "resourceVersion=0&limit=500"

static void test_each_namespace_and_name_has_its_scope(void **state)
{
    (void)state;
    TARGETS(SCOPE(.resource = "svc", .namespaces = {"*"}), "/api/v1/services?" FIRST);
    TARGETS(SCOPE(.resource = "svc", .namespaces = {"a", "b"}),
            "/api/v1/namespaces/a/services?" FIRST, "/api/v1/namespaces/b/services?" FIRST);
    TARGETS(SCOPE(.resource = "svc", .namespaces = {"a", "b"}, .names = {"x", "y"}),
            "/api/v1/namespaces/a/services?" FIRST "&fieldSelector=metadata.name%3Dx",
            "/api/v1/namespaces/a/services?" FIRST "&fieldSelector=metadata.name%3Dy",
            "/api/v1/namespaces/b/services?" FIRST "&fieldSelector=metadata.name%3Dx",
            "/api/v1/namespaces/b/services?" FIRST "&fieldSelector=metadata.name%3Dy");
    TARGETS(SCOPE(.resource = "nodes"), "/api/v1/nodes?" FIRST);
    TARGETS(SCOPE(.resource = "nodes", .namespaces = {"*"}, .names = {"me"}),
            "/api/v1/nodes?" FIRST "&fieldSelector=metadata.name%3Dme");
}

static void test_selectors_are_escaped_and_joined(void **state)
{
    (void)state;
    TARGETS(SCOPE(.resource = "pods", .namespaces = {"*"}, .labels = "app in (a, b),!x,t=&?#+%/",
                  .fields = "spec.nodeName=n-1,status.phase!=Failed"),
            "/api/v1/pods?" FIRST
            "&labelSelector=app%20in%20%28a%2C%20b%29%2C%21x%2Ct%3D%26%3F%23%2B%25%2F"
            "&fieldSelector=spec.nodeName%3Dn-1%2Cstatus.phase%21%3DFailed");
    TARGETS(SCOPE(.resource = "pods", .namespaces = {"*"}, .names = {"p"}, .fields = "a=\xc3\xa4"),
            "/api/v1/pods?" FIRST "&fieldSelector=metadata.name%3Dp%2Ca%3D%C3%A4");
}

static void test_selectors_stay_in_every_request(void **state)
{
    static const struct scope scope = {.resource = "cm", .namespaces = {"*"}, .labels = "a=b"};
    struct watch *made = NULL;

    (void)state;
    assert_int_equal(create(&scope, &made, NULL), ERR_OK);
    list_watch_start(watch_list_watch(made, 0), 1);
    struct list_watch_action a = objects_answer(watch_list_watch(made, 0), PAGE("1", "t", ""), now);
    assert_string_equal(a.target, PATH "?limit=500&continue=t&labelSelector=a%3Db");
    a = objects_answer(watch_list_watch(made, 0), PAGE("1", "", ""), now);
    assert_string_equal(a.target, PATH "?watch=true&allowWatchBookmarks=true&timeoutSeconds=300"
                                       "&resourceVersion=1&labelSelector=a%3Db");
    watch_destroy(&made);
}

static void test_scopes_that_do_not_fit_are_refused(void **state)
{
    static const struct scope bad[] = {
        {.resource = "nodes",       .namespaces = {"a"}},
        {.resource = "pods"       },
        {.resource = "pods", .namespaces = {"a", "*"}                   },
        {.resource = "widgets.v1.example.com", .namespaces = {"*", "a"}},
        {.resource = "",      .namespaces = {"*"}                   },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        struct watch *made = NULL;
        struct err err = {0};

        assert_int_equal(create(&bad[i], &made, &err), ERR_CONFIG);
        assert_true(strlen(err.text) > 10);
        assert_null(made);
    }
}

/* ---- The status. */

static struct list_watch *list_watch(void)
{
    return watch_list_watch(w, 0);
}

static struct watch_status status(void)
{
    return watch_status(w, now.ms);
}

static void assert_state(const char *want)
{
    assert_string_equal(watch_state_name(status().state), want);
}

static void head(int code, const char *type)
{
    list_watch_head(
        list_watch(),
        &(struct http_head){.status = code, .content_type = str_c(type), .retry_after_s = -1},
        now.ms);
}

static struct list_watch_action refuse(int code, const char *body)
{
    head(code, "application/json");
    assert_true(list_watch_body(list_watch(), body, strlen(body), now));
    return list_watch_end_identified(list_watch(), NULL, now);
}

static void test_the_state_of_a_watch(void **state)
{
    (void)state;
    assert_state("waiting");
    assert_false(status().synced || status().stale || status().contact);
    list_watch_start(list_watch(), now.ms);
    assert_state("listing");
    refuse(403, STATUS("403", "Forbidden", "no"));
    assert_state("forbidden");
    assert_int_equal(status().err->kind, ERR_FORBIDDEN);
    list_watch_timer(list_watch(), now.ms);
    refuse(500, STATUS("500", "InternalError", "no"));
    assert_state("backoff");
    assert_false(watch_synced(w));
    list_watch_timer(list_watch(), now.ms);
    objects_sync(w, ITEM("a", "u", "1", ""), "9", now);
    assert_true(watch_synced(w));
    assert_int_equal(deltas, 1);
    assert_state("watching");
    assert_int_equal(status().err->kind, ERR_OK);
    assert_string_equal(status().rv, "9");
    assert_int_equal(status().relists, 0);
    refuse(405, STATUS("405", "MethodNotAllowed", "no"));
    assert_state("waiting");
}

static void test_events_and_skipped_ones_are_counted(void **state)
{
    (void)state;
    objects_sync(w, "", "9", now);
    objects_answer(list_watch(),
                   EVENT("ADDED", "a", "u", "10") BOOKMARK("11")
                       EVENT_OF("ADDED", "Pod", "b", "u", "12", ""),
                   now);
    assert_int_equal(status().events, 1);
    assert_int_equal(status().skipped, 1);
    assert_string_equal(status().rv, "11");
}

/* A quiet watch request brings no bytes for a long time, and ends now and then. */
static void test_the_end_of_a_quiet_request_is_not_stale(void **state)
{
    (void)state;
    objects_sync(w, "", "9", now);
    head(200, "application/json");
    now.ms += 310000;
    assert_false(status().stale);
    list_watch_end_identified(list_watch(), NULL, now);
    assert_state("watching");
    assert_false(status().stale);
    now.ms += 29999;
    assert_false(status().stale);
    now.ms++;
    assert_true(status().stale);
    head(200, "application/json");
    assert_false(status().stale);
}

static void test_a_watch_that_is_lost_becomes_stale(void **state)
{
    const struct err lost = {.kind = ERR_CLOSED};

    (void)state;
    objects_sync(w, "", "9", now);
    head(200, "application/json");
    now.ms += 5000;
    list_watch_end_identified(list_watch(), &lost, now);
    for (int i = 0; i < 10; i++) {
        now.ms += 3001;
        assert_int_equal(list_watch_end_identified(list_watch(), &lost, now).what, LW_WAIT);
        list_watch_timer(list_watch(), now.ms);
    }
    assert_true(status().stale);
}

/* The answer does not come from an API server, but is a login page or a maintenance page. */
static void test_answers_without_meaning_do_not_keep_a_watch_fresh(void **state)
{
    static const char page[] = "<html>";

    (void)state;
    objects_sync(w, "", "9", now);
    for (int i = 0; i < 2; i++) {
        now.ms += 15001;
        head(200, i == 0 ? "" : "text/html");
        assert_false(list_watch_body(list_watch(), page, sizeof(page) - 1, now));
        assert_int_equal(list_watch_end_identified(list_watch(), NULL, now).what, LW_WAIT);
        list_watch_timer(list_watch(), now.ms);
    }
    assert_true(status().stale);
    assert_int_equal(status().contact_age_ms, 15001);
}

static void test_a_request_that_begins_with_its_error_does_not_keep_a_watch_fresh(void **state)
{
    static const char error[] = ERROR_EVENT("429", "TooManyRequests", "x");

    (void)state;
    objects_sync(w, "", "9", now);
    for (int i = 0; i < 3; i++) {
        now.ms += 10001;
        head(200, "application/json");
        assert_true(list_watch_status(list_watch()).connected);
        assert_false(list_watch_body(list_watch(), error, sizeof(error) - 1, now));
        assert_false(list_watch_status(list_watch()).connected);
        assert_int_equal(list_watch_end_identified(list_watch(), NULL, now).what, LW_WAIT);
        assert_int_equal(list_watch_timer(list_watch(), now.ms).what, LW_WATCH);
    }
    assert_true(status().stale);
}

/* A watch of the namespaces a and b. */
static struct watch *two_scopes(void)
{
    static const struct scope scope = {
        .resource = "cm", .namespaces = {"a", "b"}
    };
    struct watch *made = NULL;

    assert_int_equal(create(&scope, &made, NULL), ERR_OK);
    return made;
}

static void test_the_worst_scope_decides_the_state(void **state)
{
    struct watch *made = two_scopes();

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        list_watch_start(watch_list_watch(made, i), now.ms);
        assert_false(watch_synced(made));
        objects_answer(watch_list_watch(made, i), PAGE("5", "", ""), now);
    }
    assert_true(watch_synced(made));
    list_watch_end_identified(watch_list_watch(made, 1),
                              &(struct err){.kind = ERR_REFUSED, .text = "gone"}, now);
    assert_int_equal(watch_status(made, now.ms).state, WATCH_BACKOFF);
    assert_int_equal(watch_status(made, now.ms).err->kind, ERR_REFUSED);
    assert_true(watch_synced(made)); /* a watch stays synced */
    assert_string_equal(list_watch_scope_name(watch_list_watch(made, 1)), "b");
    watch_destroy(&made);
}

static void sync_stream(struct list_watch *f)
{
    assert_int_equal(objects_answer(f, PAGE("10", "", ""), now).what, LW_WATCH);
}

static void test_a_watch_is_settled_when_each_scope_is(void **state)
{
    struct watch *made = two_scopes();

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        assert_false(watch_settled(made));
        assert_int_equal(list_watch_start(watch_list_watch(made, i), now.ms).what, LW_LIST);
        sync_stream(watch_list_watch(made, i));
    }
    assert_true(watch_settled(made));
    list_watch_order(watch_list_watch(made, 1), RELIST_MANUAL);
    assert_int_equal(list_watch_restart(watch_list_watch(made, 1), now).what, LW_LIST);
    assert_false(watch_settled(made));
    assert_true(watch_synced(made));
    sync_stream(watch_list_watch(made, 1));
    assert_true(watch_settled(made));
    watch_destroy(&made);
}

static void test_names_are_those_of_the_settings(void **state)
{
    (void)state;
    assert_string_equal(watch_name(w), "w");
    assert_string_equal(watch_cluster(w), "c");
    assert_string_equal(watch_resource(w), "configmaps");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, clean_up)
    const struct CMUnitTest tests[] = {
        TEST(test_each_namespace_and_name_has_its_scope),
        TEST(test_selectors_are_escaped_and_joined),
        TEST(test_selectors_stay_in_every_request),
        TEST(test_scopes_that_do_not_fit_are_refused),
        TEST(test_the_state_of_a_watch),
        TEST(test_events_and_skipped_ones_are_counted),
        TEST(test_the_end_of_a_quiet_request_is_not_stale),
        TEST(test_a_watch_that_is_lost_becomes_stale),
        TEST(test_answers_without_meaning_do_not_keep_a_watch_fresh),
        TEST(test_a_request_that_begins_with_its_error_does_not_keep_a_watch_fresh),
        TEST(test_the_worst_scope_decides_the_state),
        TEST(test_a_watch_is_settled_when_each_scope_is),
        TEST(test_names_are_those_of_the_settings),
    };
#undef TEST

    return cmocka_run_group_tests(tests, NULL, NULL);
}
