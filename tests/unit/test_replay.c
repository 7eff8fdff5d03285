/* SPDX-License-Identifier: Apache-2.0 */
/* cache/replay: recorded objects go through the selectors, match and keep of a watch, and come out
 * as the deltas that were recorded. */
#include "objects.h"

#include <string.h>

#include "base/log.h"
#include "cache/replay.h"

static struct watch *w;
static struct replay *r;
static struct buf heard;
static struct buf last; /* the object of the last delta */
static const struct now now = {1000000, 5};

/* "ADDED relist n/a, DELETED watch n/b?" */
static void on_delta(void *arg, struct source from, const struct delta *d)
{
    (void)arg;
    (void)from;
    assert_int_equal(d->received_ns, 5);
    buf_printf(&heard, "%s%s %s %.*s", heard.len > 0 ? ", " : "", delta_type_name(d->type),
               delta_cause_name(d->cause), STR_ARG(object_key(d->object)));
    if (d->final_state_unknown)
        buf_putc(&heard, '?');
    buf_clear(&last);
    object_put_json(&last, d->object);
}

static void on_stale(void *arg, struct source from, bool stale, struct now at)
{
    (void)arg;
    (void)from;
    (void)at;
    buf_printf(&heard, "%s%s", heard.len > 0 ? ", " : "", stale ? "STALE" : "FRESH");
}

static const struct subscriber events = {.on_delta = on_delta, .on_stale = on_stale};

static void assert_heard(const char *want)
{
    assert_string_equal(heard.len > 0 ? buf_cstr(&heard) : "", want);
    buf_clear(&heard);
}

static int set_up(void **state)
{
    (void)state;
    log_set_level(LOG_LVL_ERROR);
    return 0;
}

static int clean_up(void **state)
{
    (void)state;
    replay_destroy(&r);
    replay_destroy(&r);
    watch_destroy(&w);
    buf_free(&heard);
    buf_free(&last);
    return 0;
}

static void make(const struct watch_params *p, const struct object *example)
{
    assert_int_equal(watch_create(p, &w, NULL), ERR_OK);
    watch_subscribe(w, &events, NULL);
    r = replay_create(w, example);
}

static void item(const char *key, const char *uid, const char *data)
{
    struct object *o = objects_make(key, uid, "1", data);

    replay_item(r, o);
    object_unref(&o);
}

static void change(enum delta_type type, enum delta_cause cause, bool unknown, const char *key,
                   const char *uid, const char *data)
{
    const struct delta as = {.type = type, .cause = cause, .final_state_unknown = unknown};
    struct object *o = objects_make(key, uid, "1", data);
    struct err err;

    assert_int_equal(replay_change(r, o, as, now, &err), ERR_OK);
    object_unref(&o);
}

static void test_the_list_is_complete_at_once(void **state)
{
    struct watch_params p = objects_watch_params();

    (void)state;
    p.reflector.start_jitter_ms = 5000;
    make(&p, NULL);
    item("n/a", "u1", NULL);
    item("m/b", "u2", NULL);
    assert_heard("");
    assert_false(watch_synced(w));
    replay_listed(r, now);
    assert_true(watch_synced(w));
    assert_int_equal(watch_status(w, now.ms).state, WATCH_WATCHING);
    assert_heard("ADDED relist n/a, ADDED relist m/b");
}

static void test_changes_are_told_as_they_were_recorded(void **state)
{
    const struct watch_params p = objects_watch_params();

    (void)state;
    make(&p, NULL);
    item("n/a", "u1", NULL);
    replay_listed(r, now);
    assert_heard("ADDED relist n/a");
    change(DELTA_ADDED, CAUSE_WATCH, false, "n/b", "u2", NULL);
    assert_heard("ADDED watch n/b");
    change(DELTA_MODIFIED, CAUSE_AUDIT, false, "n/b", "u2", "\"k\":\"1\"");
    assert_heard("MODIFIED audit n/b");
    change(DELTA_DELETED, CAUSE_RELIST, true, "n/a", "u1", NULL);
    assert_heard("DELETED relist n/a?");
    change(DELTA_LEFT, CAUSE_WATCH, false, "n/b", "u2", NULL);
    assert_heard("LEFT watch n/b");
    change(DELTA_LEFT, CAUSE_WATCH, false, "n/b", "u2", NULL);
    assert_heard(""); /* it is not there */
    assert_int_equal(store_count(watch_store(w)), 0);
}

/* The server has told it, so it is not the state that is cached. */
static void test_a_deleted_object_has_its_final_state(void **state)
{
    const struct watch_params p = objects_watch_params();

    (void)state;
    make(&p, NULL);
    item("n/a", "u1", "\"k\":\"1\"");
    item("n/b", "u2", "\"k\":\"1\"");
    replay_listed(r, now);
    change(DELTA_DELETED, CAUSE_WATCH, false, "n/a", "u1", "\"k\":\"2\"");
    assert_non_null(strstr(buf_cstr(&last), "\"k\":\"2\""));
    change(DELTA_LEFT, CAUSE_WATCH, false, "n/b", "u2", "\"k\":\"2\"");
    assert_non_null(strstr(buf_cstr(&last), "\"k\":\"1\""));
}

/* A person who writes a recording does not count resourceVersions on. */
static void test_an_object_with_the_same_version_may_have_changed(void **state)
{
    const struct watch_params p = objects_watch_params();

    (void)state;
    make(&p, NULL);
    item("n/a", "u1", "\"k\":\"1\"");
    replay_listed(r, now);
    buf_clear(&heard);
    change(DELTA_MODIFIED, CAUSE_WATCH, false, "n/a", "u1", "\"k\":\"2\"");
    assert_heard("MODIFIED watch n/a");
}

static void test_namespaces_and_names_choose_the_scope(void **state)
{
    static const char *const namespaces[] = {"n", "m"};
    static const char *const names[] = {"a"};
    struct watch_params p = objects_watch_params();

    (void)state;
    p.namespaces = namespaces;
    p.namespace_count = 2;
    p.names = names;
    p.name_count = 1;
    make(&p, NULL);
    item("n/a", "u1", NULL);
    item("n/b", "u2", NULL);
    item("m/a", "u3", NULL);
    item("x/a", "u4", NULL);
    replay_listed(r, now);
    assert_heard("ADDED relist n/a, ADDED relist m/a");
    change(DELTA_ADDED, CAUSE_WATCH, false, "x/a", "u4", NULL);
    assert_heard("");
}

static void test_match_decides_about_changes_too(void **state)
{
    static const char *const match[] = {"data.on=yes"};
    struct watch_params p = objects_watch_params();

    (void)state;
    p.shape.match = match;
    p.shape.match_count = 1;
    make(&p, NULL);
    item("n/a", "u1", "\"on\":\"yes\"");
    item("n/b", "u2", "\"on\":\"no\"");
    replay_listed(r, now);
    assert_heard("ADDED relist n/a");
    change(DELTA_MODIFIED, CAUSE_WATCH, false, "n/b", "u2", "\"on\":\"yes\"");
    assert_heard("ADDED watch n/b");
    change(DELTA_MODIFIED, CAUSE_WATCH, false, "n/a", "u1", "\"on\":\"no\"");
    assert_heard("LEFT watch n/a");
}

static void test_selectors_and_keep_are_those_of_the_watch(void **state)
{
    static const char *const keep[] = {"data.k"};
    struct watch_params p = objects_watch_params();
    struct buf text = {0};

    (void)state;
    p.label_selector = "app=web";
    p.shape.keep = keep;
    p.shape.keep_count = 1;
    p.shape.label_selector = p.label_selector;
    make(&p, NULL);
    item("n/a", "u1", NULL); /* without labels */
    replay_listed(r, now);
    assert_heard("");
    p.label_selector = p.shape.label_selector = "";
    replay_destroy(&r);
    watch_destroy(&w);
    make(&p, NULL);
    replay_listed(r, now);
    change(DELTA_ADDED, CAUSE_WATCH, false, "n/a", "u1", "\"k\":\"1\",\"other\":\"2\"");
    object_put_json(&text, store_get(watch_store(w), str_c("n/a")));
    assert_non_null(strstr(buf_cstr(&text), "\"k\":\"1\""));
    assert_null(strstr(buf_cstr(&text), "other"));
    buf_free(&text);
}

static void test_stale_and_fresh_are_told_at_once(void **state)
{
    struct watch_params p = objects_watch_params();

    (void)state;
    p.stale_after_ms = 0;
    make(&p, NULL);
    replay_listed(r, now);
    for (int i = 0; i < 5; i++) { /* the reflector must not go to look for the reason */
        replay_stale(r, true, now);
        assert_heard("STALE");
        assert_true(watch_stale(w));
        replay_stale(r, false, now);
        assert_heard("FRESH");
    }
    change(DELTA_ADDED, CAUSE_WATCH, false, "n/a", "u1", NULL);
    assert_heard("ADDED watch n/a");
}

static void test_a_resource_that_only_a_server_knows_is_taken_from_an_object(void **state)
{
    struct watch_params p = objects_watch_params();
    struct object *o = objects_make("n/a", "u1", "1", NULL);

    (void)state;
    p.resource = "things";
    make(&p, o); /* as if a ConfigMap were a thing */
    replay_item(r, o);
    replay_listed(r, now);
    assert_heard("ADDED relist n/a");
    assert_string_equal(watch_target(w)->kind, "ConfigMap");
    object_unref(&o);
    replay_destroy(&r);
    watch_destroy(&w);
    make(&p, NULL);
    replay_listed(r, now);
    assert_true(watch_synced(w));
}

static void test_kinds_and_resources(void **state)
{
    static const struct {
        const char *resource;
        const char *api_version;
        const char *kind;
        bool fits;
    } rows[] = {
        {"cm",                    "v1",             "ConfigMap",  true },
        {"cm",                    "v2",             "ConfigMap",  false},
        {"cm",                    "v1",             "Secret",     false},
        {"deployments.apps",      "apps/v1",        "Deployment", true },
        {"widgets.example.com",   "example.com/v3", "Widget",     true },
        {"widget.example.com",    "example.com/v3", "Widget",     true },
        {"Widget.v1.example.com", "example.com/v3", "Widget",     false},
        {"widgets.example.com",   "example.org/v3", "Widget",     false},
        {"policies.example.com",  "example.com/v1", "Policy",     true },
        {"addresses.example.com", "example.com/v1", "Address",    true },
        {"widgets",               "example.org/v3", "Widget",     true },
        {"widgets",               "example.org/v3", "Gadget",     false},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const struct object_parts parts = {.name = str_c("a"),
                                           .api_version = str_c(rows[i].api_version),
                                           .kind = str_c(rows[i].kind),
                                           .body = str_c("{}"),
                                           .rv_at = SIZE_MAX,
                                           .generation_at = SIZE_MAX};
        struct object *o = object_create(&parts);
        struct resource of;

        assert_int_equal(resource_parse(rows[i].resource, &of, NULL), ERR_OK);
        if (replay_is_of(&of, o) != rows[i].fits)
            fail_msg("%s and %s", rows[i].resource, rows[i].kind);
        resource_fini(&of);
        object_unref(&o);
    }
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, clean_up)
    const struct CMUnitTest tests[] = {
        TEST(test_the_list_is_complete_at_once),
        TEST(test_changes_are_told_as_they_were_recorded),
        TEST(test_a_deleted_object_has_its_final_state),
        TEST(test_an_object_with_the_same_version_may_have_changed),
        TEST(test_namespaces_and_names_choose_the_scope),
        TEST(test_match_decides_about_changes_too),
        TEST(test_selectors_and_keep_are_those_of_the_watch),
        TEST(test_stale_and_fresh_are_told_at_once),
        TEST(test_a_resource_that_only_a_server_knows_is_taken_from_an_object),
        TEST(test_kinds_and_resources),
    };
#undef TEST

    return cmocka_run_group_tests(tests, NULL, NULL);
}
