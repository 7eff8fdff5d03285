/* SPDX-License-Identifier: Apache-2.0 */
/* io/audit_driver on the loopback: its requests, pages, second attempts, failures, the interval. */
#include "objects.h"

#include <stdio.h>
#include <string.h>

#include "base/compiler.h"
#include "cache/audit.h"
#include "identified.h"
#include "io/audit_driver.h"
#include "io/deadline.h"
#include "io/loop.h"
#include "request_probe.h"
#include "server.h"

#define DAY_MS ((uint64_t)24 * 3600 * 1000)

#define ITEM(name, rv)                                    \
    "{\"metadata\":{\"namespace\":\"a\",\"name\":\"" name \
    "\",\"uid\":\"u1\",\"resourceVersion\":\"" rv "\"}}"
#define LIST(more, items)                                                             \
    SERVER_OK_HEAD "{\"kind\":\"ConfigMapList\",\"apiVersion\":\"v1\",\"metadata\":{" \
                   "\"resourceVersion\":\"9\"" more "},\"items\":[" items "]}"

#define EQUAL_ITEMS ITEM("x", "1") "," ITEM("y", "2")

static const struct server_step equal[] = SERVER_SAYS(LIST("", EQUAL_ITEMS), SERVER_CLOSE);
static const struct server_step differs[] =
    SERVER_SAYS(LIST("", ITEM("x", "5") "," ITEM("z", "3")), SERVER_CLOSE);
static const struct server_step page_1[] =
    SERVER_SAYS(LIST(",\"continue\":\"t/1\"", ITEM("x", "1")), SERVER_CLOSE);
static const struct server_step page_2[] = SERVER_SAYS(LIST("", ITEM("y", "2")), SERVER_CLOSE);
static const struct server_step expired[] = SERVER_SAYS(SERVER_EMPTY("410 Gone"), SERVER_CLOSE);
static const struct server_step broken[] = SERVER_SAYS(SERVER_EMPTY("500 Oops"), SERVER_CLOSE);
static const struct server_step unauthorized[] =
    SERVER_SAYS(SERVER_EMPTY("401 Unauthorized"), SERVER_CLOSE);
static const struct server_step no_list[] =
    SERVER_SAYS(SERVER_OK_HEAD "{\"kind\":\"Pod\"}", SERVER_CLOSE);

/* Waits for server_go() before it answers. */
static const struct server_step later[] = {
    {SERVER_READ, NULL   },
    {SERVER_WAIT, NULL   },
    {SERVER_SEND, LIST("", EQUAL_ITEMS)},
    {SERVER_CLOSE,           NULL      }
};

struct rig {
    struct client_probe probe;
    struct server *server;
    struct watch *watch;
    struct audit_driver *audit_driver;
    struct deadline *poll;
    unsigned poll_for; /* requests */
    void (*polled)(struct rig *r);
    unsigned done;
    unsigned stop_at; /* the loop stops with so many done */
    unsigned unauthorized;
    bool dispose_when_done;
};

static void on_done(void *arg)
{
    struct rig *r = arg;

    if (++r->done == r->stop_at)
        loop_stop(r->probe.loop);
    if (r->dispose_when_done)
        audit_driver_dispose(&r->audit_driver);
}

static void on_unauthorized(void *arg)
{
    struct rig *r = arg;

    r->unauthorized++;
    on_done(r);
}

/* The test goes on as soon as the server has read so many requests. */
static void on_poll(void *arg)
{
    struct rig *r = arg;

    if (server_requests(r->server) >= r->poll_for)
        r->polled(r);
    else
        deadline_start(r->poll, 1);
}

static void when_asked(struct rig *r, unsigned requests, void (*polled)(struct rig *r))
{
    r->poll_for = requests;
    r->polled = polled;
    deadline_start(r->poll, 1);
}

static struct now now(const struct rig *r)
{
    return (struct now){.ms = loop_now_ms(r->probe.loop), .wall_ns = 1};
}

static struct list_watch *list_watch(const struct rig *r)
{
    return watch_list_watch(r->watch, 0);
}

static void connect_stream(struct rig *r)
{
    list_watch_head(list_watch(r), &(struct http_head){.status = 200, .retry_after_s = -1},
                    now(r).ms);
}

/* The watch request ends; after a bookmark the next one begins at once. */
static void lose_stream(struct rig *r)
{
    static const char bookmark[] = "{\"type\":\"BOOKMARK\",\"object\":{\"kind\":\"ConfigMap\","
                                   "\"apiVersion\":\"v1\",\"metadata\":{\"resourceVersion\":"
                                   "\"2\"}}}";

    assert_true(list_watch_body(list_watch(r), bookmark, strlen(bookmark), now(r)));
    assert_int_equal(list_watch_end_identified(list_watch(r), NULL, now(r)).what, LW_WATCH);
}

static void sync_watch(struct rig *r)
{
    objects_sync(r->watch, EQUAL_ITEMS, "2", now(r));
    connect_stream(r);
}

static void set_up_with(struct rig *r, const struct server_step *const *scripts,
                        uint64_t interval_ms, uint64_t grace_ms)
{
    static const struct audit_driver_events events = {on_done, on_unauthorized};

    memset(r, 0, sizeof(*r));
    r->server = server_start(&(struct server_params){.scripts = scripts});
    client_probe_init(&r->probe, "http", server_port(r->server), 1);
    r->watch = objects_watch("w", NULL, NULL);
    r->poll = deadline_create(r->probe.loop, on_poll, r);
    r->stop_at = 1;
    r->audit_driver = audit_driver_create(&(struct audit_driver_params){.loop = r->probe.loop,
                                                                        .client = r->probe.client,
                                                                        .watch = r->watch,
                                                                        .interval_ms = interval_ms,
                                                                        .page_size = 500,
                                                                        .grace_ms = grace_ms,
                                                                        .seed = 1},
                                          &events, r);
}

static void set_up(struct rig *r, const struct server_step *const *scripts, uint64_t interval_ms)
{
    set_up_with(r, scripts, interval_ms, 5);
}

static void tear_down(struct rig *r)
{
    audit_driver_dispose(&r->audit_driver);
    deadline_dispose(&r->poll);
    watch_destroy(&r->watch);
    client_probe_fini(&r->probe);
    server_stop(&r->server);
}

static const struct audit_result *result(const struct rig *r)
{
    return audit_result(watch_audit(r->watch));
}

static void verify(struct rig *r)
{
    audit_driver_verify(r->audit_driver);
    assert_int_equal(audit_state(watch_audit(r->watch)), AUDIT_LISTING);
    loop_run(r->probe.loop);
    assert_int_equal(r->done, 1);
    assert_int_equal(audit_state(watch_audit(r->watch)), AUDIT_IDLE);
}

static void assert_equal_caches(const struct rig *r, size_t compared)
{
    if (result(r)->err->kind != ERR_OK)
        fail_msg("%s", result(r)->err->text);
    assert_int_equal(result(r)->runs, 1);
    assert_int_equal(result(r)->compared, compared);
    assert_int_equal(result(r)->differences, 0);
}

static void assert_asked(const struct rig *r, unsigned i, const char *query)
{
    char line[160];

    (void)snprintf(line, sizeof(line), "GET /pre/api/v1/configmaps%s HTTP/1.1\r\n", query);
    if (strncmp(server_request(r->server, i), line, strlen(line)) != 0)
        fail_msg("%s", server_request(r->server, i));
}

static void test_verify_finds_differences_and_applies_nothing(void **state)
{
    struct rig r;

    (void)state;
    set_up(&r, SERVER_SCRIPTS(differs), 0);
    sync_watch(&r);
    verify(&r);
    assert_asked(&r, 0, "?limit=500");
    assert_int_equal(result(&r)->err->kind, ERR_OK);
    assert_false(result(&r)->applied);
    assert_int_equal(result(&r)->n, 3);
    assert_string_equal(result(&r)->v[0].key, "a/x");
    assert_string_equal(result(&r)->v[0].what, "different");
    assert_string_equal(result(&r)->v[1].key, "a/y");
    assert_string_equal(result(&r)->v[1].what, "extra");
    assert_string_equal(result(&r)->v[2].key, "a/z");
    assert_string_equal(result(&r)->v[2].what, "missing");
    assert_int_equal(store_count(watch_store(r.watch)), 2);
    tear_down(&r);
}

/* The grace is a day, and the audit ends without it. */
static void test_caches_that_agree_end_the_audit_at_once(void **state)
{
    struct rig r;

    (void)state;
    set_up_with(&r, SERVER_SCRIPTS(page_1, page_2), 0, DAY_MS);
    sync_watch(&r);
    verify(&r);
    assert_equal_caches(&r, 2);
    tear_down(&r);
}

static void say_version(struct rig *r, const char *rv)
{
    struct buf bookmark = {0};

    buf_printf(&bookmark,
               "{\"type\":\"BOOKMARK\",\"object\":{\"kind\":\"ConfigMap\",\"apiVersion\":"
               "\"v1\",\"metadata\":{\"resourceVersion\":\"%s\"}}}",
               rv);
    assert_true(list_watch_body(list_watch(r), bookmark.data, bookmark.len, now(r)));
    buf_free(&bookmark);
    audit_driver_kick(r->audit_driver);
}

/* Once the lists are complete, the watch passes their version. */
static void pass_when_listed(struct rig *r)
{
    if (audit_state(watch_audit(r->watch)) == AUDIT_LISTING) {
        when_asked(r, 1, pass_when_listed);
        return;
    }
    say_version(r, "8");
    assert_int_equal(audit_state(watch_audit(r->watch)), AUDIT_GRACE);
    say_version(r, "9");
}

static void test_a_cache_that_has_passed_the_list_ends_the_audit(void **state)
{
    struct rig r;

    (void)state;
    set_up_with(&r, SERVER_SCRIPTS(differs), 0, DAY_MS);
    sync_watch(&r);
    when_asked(&r, 1, pass_when_listed);
    verify(&r);
    assert_int_equal(result(&r)->n, 3);
    tear_down(&r);
}

static void test_lists_come_in_pages(void **state)
{
    struct rig r;

    (void)state;
    set_up(&r, SERVER_SCRIPTS(page_1, page_2), 0);
    sync_watch(&r);
    verify(&r);
    assert_asked(&r, 1, "?limit=500&continue=t%2F1");
    assert_equal_caches(&r, 2);
    tear_down(&r);
}

static void test_an_expired_token_begins_anew_without_pages(void **state)
{
    struct rig r;

    (void)state;
    set_up(&r, SERVER_SCRIPTS(page_1, expired, equal), 0);
    sync_watch(&r);
    verify(&r);
    assert_asked(&r, 2, "");
    assert_equal_caches(&r, 2);
    tear_down(&r);
    set_up(&r, SERVER_SCRIPTS(page_1, expired, expired), 0);
    sync_watch(&r);
    verify(&r);
    assert_int_equal(result(&r)->err->kind, ERR_EXPIRED);
    assert_int_equal(server_requests(r.server), 3);
    tear_down(&r);
}

static void assert_fails(const struct server_step *script, enum err_kind kind)
{
    struct rig r;

    set_up(&r, SERVER_SCRIPTS(script), 0);
    sync_watch(&r);
    verify(&r);
    assert_int_equal(result(&r)->err->kind, kind);
    assert_int_equal(result(&r)->runs, 1);
    assert_int_equal(server_requests(r.server), 1);
    assert_int_equal(r.unauthorized, kind == ERR_UNAUTHORIZED);
    tear_down(&r);
}

static void test_failures_are_results(void **state)
{
    (void)state;
    assert_fails(broken, ERR_SERVER);
    assert_fails(unauthorized, ERR_UNAUTHORIZED);
    assert_fails(no_list, ERR_PROTOCOL);
}

static void assert_cannot(struct rig *r, const char *text)
{
    uint64_t runs = result(r)->runs;

    audit_driver_verify(r->audit_driver);
    assert_int_equal(audit_state(watch_audit(r->watch)), AUDIT_IDLE);
    assert_int_equal(result(r)->runs, runs + 1);
    assert_int_equal(result(r)->err->kind, ERR_CLOSED);
    assert_non_null(strstr(result(r)->err->text, text));
    assert_int_equal(r->done, 0);
}

static void test_only_a_watch_in_sync_is_compared(void **state)
{
    struct rig r;

    (void)state;
    set_up(&r, SERVER_SCRIPTS(equal), 0);
    assert_cannot(&r, "not synced");
    objects_sync(r.watch, EQUAL_ITEMS, "2", now(&r));
    assert_cannot(&r, "not connected");
    assert_int_equal(server_requests(r.server), 0);
    tear_down(&r);
}

static void touch_and_go(struct rig *r)
{
    struct buf event = {0};

    objects_put_event(&event, "MODIFIED", "a/x", "u1", "b", NULL);
    assert_true(list_watch_body(list_watch(r), event.data, event.len, now(r)));
    buf_free(&event);
    audit_driver_verify(r->audit_driver); /* the audit under way answers this one, too */
    server_go(r->server);
}

static void test_keys_that_the_watch_touches_are_left_out(void **state)
{
    struct rig r;

    (void)state;
    set_up(&r, SERVER_SCRIPTS(later), 0);
    sync_watch(&r);
    when_asked(&r, 1, touch_and_go);
    verify(&r);
    assert_equal_caches(&r, 1);
    assert_int_equal(server_requests(r.server), 1);
    tear_down(&r);
}

static void reconnect_and_go(struct rig *r)
{
    connect_stream(r);
    server_go(r->server);
}

static void test_a_lost_watch_begins_the_audit_anew(void **state)
{
    struct rig r;

    (void)state;
    set_up(&r, SERVER_SCRIPTS(equal, later), 0);
    sync_watch(&r);
    audit_driver_verify(r.audit_driver);
    lose_stream(&r);
    when_asked(&r, 2, reconnect_and_go);
    loop_run(r.probe.loop);
    assert_equal_caches(&r, 2);
    tear_down(&r);
}

static void test_a_watch_that_stays_lost_fails_the_audit(void **state)
{
    struct rig r;

    (void)state;
    set_up(&r, SERVER_SCRIPTS(equal, equal), 0);
    sync_watch(&r);
    audit_driver_verify(r.audit_driver);
    lose_stream(&r);
    loop_run(r.probe.loop);
    assert_int_equal(result(&r)->err->kind, ERR_CLOSED);
    assert_non_null(strstr(result(&r)->err->text, "lost its server"));
    assert_int_equal(server_requests(r.server), 2);
    assert_int_equal(result(&r)->runs, 1);
    tear_down(&r);
}

static void relist_and_go(struct rig *r)
{
    watch_relist(r->watch, RELIST_MANUAL);
    assert_int_equal(list_watch_restart(list_watch(r), now(r)).what, LW_LIST);
    sync_watch(r);
    server_go(r->server);
}

static void test_a_relist_meanwhile_begins_the_audit_anew(void **state)
{
    struct rig r;

    (void)state;
    set_up(&r, SERVER_SCRIPTS(later, equal), 0);
    sync_watch(&r);
    when_asked(&r, 1, relist_and_go);
    verify(&r);
    assert_int_equal(server_requests(r.server), 2);
    assert_equal_caches(&r, 2);
    tear_down(&r);
}

static void test_the_interval_repeats_and_applies(void **state)
{
    struct rig r;

    (void)state;
    set_up(&r, SERVER_SCRIPTS(differs), 10);
    r.stop_at = 3;
    sync_watch(&r);
    loop_run(r.probe.loop);
    assert_int_equal(r.done, 3);
    assert_int_equal(result(&r)->runs, 3);
    assert_true(result(&r)->applied);
    assert_int_equal(result(&r)->differences, 3);
    tear_down(&r);
}

static void sync_now(void *arg)
{
    struct rig *r = arg;

    assert_int_equal(server_requests(r->server), 0);
    assert_int_equal(result(r)->runs, 0);
    sync_watch(r);
}

/* Several intervals pass before the watch is synced. */
static void test_the_interval_waits_for_a_watch_in_sync(void **state)
{
    struct rig r;
    struct deadline *d;

    (void)state;
    set_up(&r, SERVER_SCRIPTS(equal), 10);
    d = deadline_create(r.probe.loop, sync_now, &r);
    deadline_start(d, 60);
    loop_run(r.probe.loop);
    assert_equal_caches(&r, 2);
    assert_true(result(&r)->applied);
    deadline_dispose(&d);
    tear_down(&r);
}

static void dispose_and_stop(struct rig *r)
{
    audit_driver_dispose(&r->audit_driver);
    loop_stop(r->probe.loop);
}

static void test_dispose_with_a_list_under_way(void **state)
{
    struct rig r;

    (void)state;
    set_up(&r, SERVER_SCRIPTS(later), 0);
    sync_watch(&r);
    audit_driver_verify(r.audit_driver);
    when_asked(&r, 1, dispose_and_stop);
    loop_run(r.probe.loop);
    assert_int_equal(r.done, 0);
    assert_int_equal(audit_state(watch_audit(r.watch)), AUDIT_IDLE);
    assert_int_equal(result(&r)->err->kind, ERR_CLOSED);
    server_go(r.server);
    tear_down(&r);
}

static void dispose_when_done(const struct server_step *script)
{
    struct rig r;

    set_up(&r, SERVER_SCRIPTS(script), 0);
    sync_watch(&r);
    r.dispose_when_done = true;
    verify(&r);
    assert_null(r.audit_driver);
    tear_down(&r);
}

static void test_dispose_inside_its_events(void **state)
{
    (void)state;
    dispose_when_done(equal);
    dispose_when_done(unauthorized);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_verify_finds_differences_and_applies_nothing),
        cmocka_unit_test(test_caches_that_agree_end_the_audit_at_once),
        cmocka_unit_test(test_a_cache_that_has_passed_the_list_ends_the_audit),
        cmocka_unit_test(test_lists_come_in_pages),
        cmocka_unit_test(test_an_expired_token_begins_anew_without_pages),
        cmocka_unit_test(test_failures_are_results),
        cmocka_unit_test(test_only_a_watch_in_sync_is_compared),
        cmocka_unit_test(test_keys_that_the_watch_touches_are_left_out),
        cmocka_unit_test(test_a_lost_watch_begins_the_audit_anew),
        cmocka_unit_test(test_a_watch_that_stays_lost_fails_the_audit),
        cmocka_unit_test(test_a_relist_meanwhile_begins_the_audit_anew),
        cmocka_unit_test(test_the_interval_repeats_and_applies),
        cmocka_unit_test(test_the_interval_waits_for_a_watch_in_sync),
        cmocka_unit_test(test_dispose_with_a_list_under_way),
        cmocka_unit_test(test_dispose_inside_its_events),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
