/* SPDX-License-Identifier: Apache-2.0 */
/* A view beside its watches, as hooks, streams, the journal and the control socket see it. */
#include "cache/source.h"

#include <stdio.h>
#include <string.h>

#include "admin/admin.h"
#include "admin/journal.h"
#include "admin/stream.h"
#include "base/compiler.h"
#include "base/log.h"
#include "cache/view.h"
#include "hook/gate.h"
#include "hook/hook.h"
#include "hook/payload.h"
#include "hook/why.h"
#include "identified.h"
#include "objects.h"

enum { STALE_AFTER = 30000 };

#define SERVICE                                                                            \
    "{\"metadata\":{\"namespace\":\"s\",\"name\":\"a\",\"uid\":\"u\",\"resourceVersion\":" \
    "\"3\"},\"spec\":{\"ports\":[{\"port\":80}]}}"

#define CHANGED_SERVICE                                                                    \
    "{\"metadata\":{\"namespace\":\"s\",\"name\":\"a\",\"uid\":\"u\",\"resourceVersion\":" \
    "\"4\"},\"spec\":{\"ports\":[{\"port\":80},{\"name\":\"b\",\"port\":81}]}}"

static struct watch *services;
static struct watch *slices;
static struct view *view;
static struct hooks hooks;
static struct journal *journal;
static struct admin_streams *streams;
static struct now now;

static struct source from_view(void)
{
    return (struct source){.view = view};
}

static struct watch *make_watch(const char *resource)
{
    struct watch_params p = objects_watch_params();
    struct watch *w = NULL;

    p.name = resource;
    p.resource = resource;
    p.guard = (struct guard_params){.relist_deletes = 50, .at_least = 1, .hold_ms = 60000};
    p.stale_after_ms = STALE_AFTER;
    assert_int_equal(watch_create(&p, &w, NULL), ERR_OK);
    watch_subscribe(w, &journal_subscriber, journal);
    watch_subscribe(w, &admin_streams_subscriber, streams);
    watch_subscribe(w, &hooks_subscriber, &hooks);
    return w;
}

static int set_up(void **state)
{
    (void)state;
    log_set_level(LOG_LVL_ERROR);
    now = (struct now){1000000, 1700000000000000000U};
    hooks_init(&hooks, 8, 1);
    journal = journal_create();
    streams = admin_streams_create(journal);
    services = make_watch("services");
    slices = make_watch("endpointslices");
    view = view_create(&(struct view_params){
        .name = "v", .services = services, .slices = slices, .node_name = "n"});
    view_subscribe(view, &journal_subscriber, journal);
    view_subscribe(view, &admin_streams_subscriber, streams);
    view_subscribe(view, &hooks_subscriber, &hooks);
    return 0;
}

static int clean_up(void **state)
{
    (void)state;
    hooks_fini(&hooks);
    admin_streams_destroy(&streams);
    journal_destroy(&journal);
    view_destroy(&view);
    watch_destroy(&services);
    watch_destroy(&slices);
    return 0;
}

static struct hook *add_hook(const char *name, struct source of)
{
    const struct hook_source source = {.name = name, .of = of};
    struct filter filter;

    assert_int_equal(filter_init(&filter, 0x3f, NULL, 0, NULL), ERR_OK);
    hooks_add(&hooks, &(struct hook_params){
                          .name = name,
                          .sources = &source,
                          .source_count = 1,
                          .filter = filter,
                          .work_queue = {.concurrency = 1, .retry = {100, 100, 1, 0}}
    });
    return hooks.v[hooks.n - 1];
}

/* Answers the list; the watch begins then. */
static void list(struct watch *w, const char *items)
{
    const struct http_head head = {.status = 200, .retry_after_s = -1};
    struct list_watch *f = watch_list_watch(w, 0);
    char body[1024];

    if (list_watch_status(f).state == REFLECTOR_IDLE) {
        assert_int_equal(list_watch_start(f, now.ms).what, LW_LIST);
    } else {
        watch_relist(w, RELIST_MANUAL);
        assert_int_equal(list_watch_restart(f, now).what, LW_LIST);
    }
    list_watch_head(f, &head, now.ms);
    snprintf(body, sizeof(body),
             "{\"kind\":\"%sList\",\"apiVersion\":\"%s\",\"metadata\":{\"resourceVersion\":\"10\"},"
             "\"items\":[%s]}",
             w == slices ? "EndpointSlice" : "Service", w == slices ? "discovery.k8s.io/v1" : "v1",
             items);
    assert_true(list_watch_body(f, body, strlen(body), now));
    if (list_watch_end_identified(f, NULL, now).what == LW_WATCH)
        list_watch_head(f, &head, now.ms);
    view_tick(view, now);
    admin_streams_synced(streams);
}

static void sync_all(void)
{
    list(services, SERVICE);
    list(slices, "");
    assert_true(view_synced(view));
}

static void expect_in(struct str text, const char *part)
{
    struct buf copy = {0};

    buf_append_str(&copy, text);
    if (strstr(buf_cstr(&copy), part) == NULL)
        fail_msg("\"%s\" is not in\n%s", part, buf_cstr(&copy));
    buf_free(&copy);
}

static void test_a_view_is_another_source_than_its_watches(void **state)
{
    struct source a = {.watch = services};
    struct source b = {.watch = slices};

    (void)state;
    assert_true(source_equal(a, a) && source_equal(from_view(), from_view()));
    assert_false(source_equal(a, b) || source_equal(a, from_view()));
    assert_false(source_equal(from_view(), (struct source){.view = NULL}));
    assert_string_equal(source_name(a), "services");
    assert_string_equal(source_name(from_view()), "v");
    assert_string_equal(source_cluster(from_view()), "c");
    sync_all();
    assert_ptr_equal(source_store(a), watch_store(services));
    assert_int_equal(store_count(source_store(from_view())), 1);
    assert_int_equal(store_count(source_store(b)), 0);
}

static void test_a_view_is_as_good_as_the_worse_of_its_watches(void **state)
{
    struct source_status s = source_status(from_view(), now.ms);

    (void)state;
    assert_false(s.synced || s.stale || s.held || s.contact);
    list(slices, "");
    now.ms += 400;
    s = source_status(from_view(), now.ms);
    assert_false(s.synced || source_synced(from_view()) || s.contact);
    assert_int_equal(s.contact_age_ms, 0);
    list(services, SERVICE);
    now.ms += 100;
    s = source_status(from_view(), now.ms);
    assert_true(s.synced && s.contact && !s.stale && !s.held && source_synced(from_view()));
    assert_int_equal(s.contact_age_ms, 500);
    list(slices, "");
    assert_int_equal(source_status((struct source){.watch = slices}, now.ms).contact_age_ms, 0);
    assert_int_equal(source_status(from_view(), now.ms).contact_age_ms, 100);
    list(services, "");
    assert_true(source_status((struct source){.watch = services}, now.ms).held);
    s = source_status(from_view(), now.ms);
    assert_true(s.held && s.synced);
}

static void test_hooks_get_events_of_their_own_source_alone(void **state)
{
    const struct payload_context context = {.node = "n", .instance = "i"};
    struct hook *of_view = add_hook("of_view", from_view());
    struct hook *of_watch = add_hook("of_watch", (struct source){.watch = services});
    struct buf out = {0};

    (void)state;
    list(services, SERVICE);
    struct run *run = hooks_next(&hooks, now.ms);
    assert_non_null(run);
    assert_ptr_equal(run->hook, of_watch);
    assert_null(hooks_next(&hooks, now.ms));
    struct why why = why_hook(&hooks, of_view, now.ms);
    assert_int_equal(why.reason, WHY_NOT_SYNCED);
    assert_string_equal(why.of, "of_view");
    list(slices, "");
    run = hooks_next(&hooks, now.ms);
    assert_non_null(run);
    assert_ptr_equal(run->hook, of_view);
    payload_put_json(&out, &context, run, now.ms, NULL);
    expect_in(buf_str(&out), "\"sources\":{\"of_view\":{\"cluster\":\"c\",\"synced\":true,"
                             "\"stale\":false,\"age_s\":0,\"held\":false}}");
    expect_in(buf_str(&out), "\"cluster\":\"c\",\"source\":\"of_view\",\"api_version\":"
                             "\"informerd/v1\",\"kind\":\"ServiceEndpoints\",\"namespace\":\"s\"");
    assert_null(hooks_next(&hooks, now.ms));
    buf_free(&out);
}

static void test_a_stale_watch_makes_hooks_of_the_view_stale(void **state)
{
    const struct hook *of_view = add_hook("of_view", from_view());
    const struct hook *of_slices = add_hook("of_slices", (struct source){.watch = slices});

    (void)state;
    sync_all();
    list_watch_end_identified(watch_list_watch(services, 0), NULL, now);
    now.ms += STALE_AFTER;
    watch_tick(services, now);
    assert_false(of_view->sources[0].stale);
    view_tick(view, now);
    assert_true(of_view->sources[0].stale && !of_slices->sources[0].stale);
    assert_true(source_status(from_view(), now.ms).stale);
}

#define SLICE(name)                                                                                \
    "{\"kind\":\"EndpointSlice\",\"apiVersion\":\"discovery.k8s.io/v1\",\"metadata\":{"            \
    "\"namespace\":\"s\",\"name\":\"" name "\",\"uid\":\"" name "\",\"resourceVersion\":\"20\","   \
    "\"labels\":{\"kubernetes.io/service-name\":\"a\"}},\"addressType\":\"IPv4\",\"endpoints\":[{" \
    "\"addresses\":[\"10.0.0.1\"]}],\"ports\":[{\"name\":\"\",\"port\":80}]}"

/* Half of the backends of a Service would be worse than the old ones: the view sends nothing, and its hook
 * waits, also when the watch becomes stale. */
static void test_a_view_of_an_incomplete_watch_keeps_its_old_objects(void **state)
{
    static const char event[] = "{\"type\":\"ADDED\",\"object\":" SLICE("one") "}\n";
    static struct memory_limit memory; /* outlives the watch */
    struct hook *of_view = add_hook("of_view", from_view());
    struct hook *of_services = add_hook("of_services", (struct source){.watch = services});

    (void)state;
    watch_limit_memory(slices, &memory);
    sync_all();
    hooks_next(&hooks, now.ms);
    const struct object *old = store_get(view_store(view), str_c("s/a"));
    memory.bytes = 8;
    assert_false(list_watch_body(watch_list_watch(slices, 0), event, strlen(event), now));
    assert_int_equal(list_watch_end(watch_list_watch(slices, 0), NULL, 0, now).what, LW_WAIT);
    assert_true(view_incomplete(view) && source_incomplete(from_view()));
    assert_true(source_status(from_view(), now.ms).incomplete);
    assert_int_equal(why_hook(&hooks, of_view, now.ms).reason, WHY_INCOMPLETE);
    assert_null(gate_incomplete(of_services));
    list(services, CHANGED_SERVICE);
    now.ms += STALE_AFTER;
    watch_tick(slices, now);
    view_tick(view, now);
    assert_true(watch_stale(slices));
    assert_ptr_equal(store_get(view_store(view), str_c("s/a")), old);
    memory.bytes = 0;
    list(services, SERVICE);
    list(slices, SLICE("one") "," SLICE("two"));
    assert_false(view_incomplete(view) || source_incomplete(from_view()));
    assert_null(gate_incomplete(of_view));
    struct buf json = {0};
    object_put_json(&json, store_get(view_store(view), str_c("s/a")));
    expect_in(buf_str(&json), "10.0.0.1");
    buf_free(&json);
}

static struct buf ask(const char *target, int status)
{
    const struct admin_watch watches[] = {
        {"services", services},
        {"slices",   slices  }
    };
    const struct admin_model m = {
        .version = "1",
        .watches = watches,
        .watch_count = ARRAY_LEN(watches),
        .views = &view,
        .view_count = 1,
        .hooks = &hooks,
        .journal = journal,
        .streams = streams,
    };
    struct admin_response r;

    admin_handle(&m, &(struct admin_request){.method = str_c("GET"), .target = str_c(target)},
                 now.ms, &r);
    assert_int_equal(r.status, status);
    if (r.stream != NULL) {
        while (admin_stream_pull(r.stream, &r.body, 1000) == ADMIN_STREAM_MORE)
            continue;
        admin_stream_destroy(&r.stream);
    }
    return r.body;
}

static void expect(const char *target, int status, const char *part)
{
    struct buf body = ask(target, status);

    expect_in(buf_str(&body), part);
    buf_free(&body);
}

static void test_the_control_socket_shows_views(void **state)
{
    static const char object[] = "{\"cluster\":\"c\",\"namespace\":\"s\",\"name\":\"a\",";

    (void)state;
    expect(
        "/v1/status", 200,
        ",\"views\":{\"v\":{\"objects\":0,\"synced\":false,\"stale\":false,\"incomplete\":false}},"
        "\"hooks\":{");
    expect("/v1/sources/v/objects", 200, "[]");
    sync_all();
    expect(
        "/v1/watches", 200,
        "\"views\":{\"v\":{\"objects\":1,\"synced\":true,\"stale\":false,\"incomplete\":false}}}");
    expect("/v1/sources/v/objects", 200, object);
    expect("/v1/sources/v/objects/s/a", 200, object);
    expect("/v1/sources/v/objects/s/b", 404, "no object with this key");
    expect("/v1/sources/slices/objects", 200, "[]");
    expect("/v1/sources/w/objects", 404, "there is no watch or view of this name");
    expect("/v1/watches/v/verify", 404, "there is no watch of this name");
    expect("/v1/sources/v/stream", 200, object);
    expect(
        "/v1/sources/v/stream", 200,
        "{\"type\":\"SYNCED\",\"cluster\":\"c\",\"source\":\"v\",\"objects\":1,\"stale\":false}");
}

static void test_a_stream_has_lines_of_its_own_source_alone(void **state)
{
    struct admin_stream *s = admin_streams_follow(streams, "v", from_view());
    struct admin_stream *events = admin_streams_follow_journal(streams);
    struct buf out = {0};

    (void)state;
    list(services, SERVICE);
    assert_int_equal(admin_stream_pull(s, &out, 1), ADMIN_STREAM_EMPTY);
    list(slices, "");
    while (admin_stream_pull(s, &out, 1) == ADMIN_STREAM_MORE)
        continue;
    expect_in(buf_str(&out), "{\"type\":\"SYNCED\"");
    buf_clear(&out);
    list(services, SERVICE);
    admin_streams_subscriber.on_stale(streams, (struct source){.watch = services}, true, now);
    assert_int_equal(admin_stream_pull(s, &out, 1), ADMIN_STREAM_EMPTY);
    assert_int_equal(out.len, 0);
    admin_streams_subscriber.on_stale(streams, from_view(), true, now);
    admin_stream_pull(s, &out, 1);
    expect_in(buf_str(&out), "{\"type\":\"STALE\",\"cause\":\"watch\",\"cluster\":\"c\","
                             "\"source\":\"v\"");
    admin_stream_destroy(&s);
    admin_stream_destroy(&events);
    buf_free(&out);
}

static void test_the_journal_says_which_is_a_view(void **state)
{
    struct buf lines = {0};

    (void)state;
    sync_all();
    journal_subscriber.on_stale(journal, from_view(), true, now);
    journal_put_all(&lines, journal);
    expect_in(buf_str(&lines), "\"what\":\"change\",\"type\":\"ADDED\",\"cause\":\"relist\","
                               "\"cluster\":\"c\",\"watch\":\"services\",\"key\":\"s/a\"");
    expect_in(buf_str(&lines), "\"what\":\"change\",\"type\":\"ADDED\",\"cause\":\"relist\","
                               "\"cluster\":\"c\",\"view\":\"v\",\"key\":\"s/a\"");
    expect_in(buf_str(&lines), "\"what\":\"view\",\"cluster\":\"c\",\"view\":\"v\",\"state\":"
                               "\"stale\"}");
    buf_free(&lines);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_a_view_is_another_source_than_its_watches, set_up,
                                        clean_up),
        cmocka_unit_test_setup_teardown(test_a_view_is_as_good_as_the_worse_of_its_watches, set_up,
                                        clean_up),
        cmocka_unit_test_setup_teardown(test_hooks_get_events_of_their_own_source_alone, set_up,
                                        clean_up),
        cmocka_unit_test_setup_teardown(test_a_stale_watch_makes_hooks_of_the_view_stale, set_up,
                                        clean_up),
        cmocka_unit_test_setup_teardown(test_a_view_of_an_incomplete_watch_keeps_its_old_objects,
                                        set_up, clean_up),
        cmocka_unit_test_setup_teardown(test_the_control_socket_shows_views, set_up, clean_up),
        cmocka_unit_test_setup_teardown(test_a_stream_has_lines_of_its_own_source_alone, set_up,
                                        clean_up),
        cmocka_unit_test_setup_teardown(test_the_journal_says_which_is_a_view, set_up, clean_up),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
