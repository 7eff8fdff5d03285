/* SPDX-License-Identifier: Apache-2.0 */
/* io/list_watch_driver on the loopback: a relist ordered in every state, silence, the list gate,
 * dispose anywhere. */
#include "objects.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/compiler.h"
#include "campaign.h"
#include "io/deadline.h"
#include "io/list_watch_driver.h"
#include "io/loop.h"
#include "loop_until.h"
#include "play_clock.h"
#include "request_probe.h"
#include "server.h"

#define META(name, rv)                                   \
    "\"metadata\":{\"namespace\":\"a\",\"name\":\"" name \
    "\",\"uid\":\"u1\",\"resourceVersion\":\"" rv "\"}"
#define LIST_HEAD                                                                     \
    SERVER_OK_HEAD "{\"kind\":\"ConfigMapList\",\"apiVersion\":\"v1\",\"metadata\":{" \
                   "\"resourceVersion\":\"9\"},\"items\":["
#define LIST LIST_HEAD "{" META("x", "1") "}]}"
#define EVENT(type, meta) \
    "{\"type\":\"" type "\",\"object\":{\"kind\":\"ConfigMap\",\"apiVersion\":\"v1\"," meta "}}\n"
#define BOOKMARK(rv, more) \
    EVENT("BOOKMARK", "\"metadata\":{\"resourceVersion\":\"" rv "\"" more "}")
#define ALL_SENT ",\"annotations\":{\"k8s.io/initial-events-end\":\"true\"}"

static const struct server_step silent[] = SERVER_SAYS("", SERVER_HOLD);
static const struct server_step list[] = SERVER_SAYS(LIST, SERVER_CLOSE);
static const struct server_step half_list[] = SERVER_SAYS(LIST_HEAD, SERVER_HOLD);
static const struct server_step broken[] = SERVER_SAYS(SERVER_EMPTY("500 Oops"), SERVER_CLOSE);
static const struct server_step refused[] =
    SERVER_SAYS(SERVER_EMPTY("401 Unauthorized"), SERVER_CLOSE);
static const struct server_step watch[] = SERVER_SAYS(SERVER_OK_HEAD, SERVER_HOLD);
static const struct server_step watch_bookmarks[] =
    SERVER_SAYS(SERVER_OK_HEAD BOOKMARK("12", ""), SERVER_HOLD);
static const struct server_step stream_begins[] =
    SERVER_SAYS(SERVER_OK_HEAD EVENT("ADDED", META("x", "1")), SERVER_HOLD);
static const struct server_step stream_ends[] =
    SERVER_SAYS(SERVER_OK_HEAD EVENT("ADDED", META("x", "1")) BOOKMARK("9", ALL_SENT), SERVER_HOLD);
static const struct server_step watch_adds[] = {
    {SERVER_READ, NULL          },
    {SERVER_SEND, SERVER_OK_HEAD},
    {SERVER_WAIT, NULL          },
    {SERVER_SEND, EVENT("ADDED",  META("y", "10"))},
    {SERVER_HOLD,     NULL                  }
};

/* Passes only when play_clock_pass() moves the clock, and is shorter than the other timers. */
enum { LATER_MS = 60000, TURNS = 20 };

enum heard { HEARD_NOTHING, HEARD_DATA, HEARD_CHANGE, HEARD_FAILED };

struct rig {
    struct client_probe probe;
    struct server *server;
    struct watch_params params;
    struct watch *watch;
    struct list_watch_driver *source;
    struct deadline *poll;
    bool (*is_true)(struct rig *r);
    unsigned requests; /* for is_true */
    unsigned heard[HEARD_FAILED + 1];
    enum err_kind why;
    enum heard dispose_at;
    unsigned dispose_nth;
    bool calling; /* inside a call of the test: no event may come */
    struct buf deltas;
};

static void on_delta(void *arg, struct source from, const struct delta *d)
{
    struct rig *r = arg;

    (void)from;
    buf_printf(&r->deltas, "%s %.*s;", delta_type_name(d->type), STR_ARG(object_key(d->object)));
}

static void hear(struct rig *r, enum heard what)
{
    assert_non_null(r->source);
    assert_false(r->calling);
    r->heard[what]++;
    if (r->dispose_at != what || r->heard[what] < r->dispose_nth)
        return;
    list_watch_driver_dispose(&r->source);
    loop_stop(r->probe.loop);
}

static void on_data(void *arg)
{
    hear(arg, HEARD_DATA);
}

static void on_change(void *arg)
{
    hear(arg, HEARD_CHANGE);
}

static void on_failed(void *arg, enum err_kind why)
{
    struct rig *r = arg;

    r->why = why;
    hear(r, HEARD_FAILED);
}

static void on_poll(void *arg)
{
    struct rig *r = arg;

    if (r->is_true(r))
        loop_stop(r->probe.loop);
    else
        deadline_start(r->poll, 1);
}

static void run_until(struct rig *r, bool (*is_true)(struct rig *r))
{
    r->is_true = is_true;
    deadline_start(r->poll, 1);
    loop_run(r->probe.loop);
}

static struct list_watch *list_watch(const struct rig *r)
{
    return watch_list_watch(r->watch, 0);
}

static bool has_asked(struct rig *r)
{
    return server_requests(r->server) >= r->requests;
}

static bool is_connected(struct rig *r)
{
    return list_watch_status(list_watch(r)).connected;
}

static bool has_failed(struct rig *r)
{
    return r->heard[HEARD_FAILED] > 0;
}

static bool has_data(struct rig *r)
{
    return r->heard[HEARD_DATA] > 0;
}

static void run_until_asked(struct rig *r, unsigned requests)
{
    r->requests = requests;
    run_until(r, has_asked);
}

/* The scripts are those of the connections, in their order; the list gate has one place; a failure
 * waits for an hour. */
static void set_up(struct rig *r, const struct server_step *const *scripts)
{
    *r = (struct rig){.params = objects_patient_watch_params("configmaps")};
    r->params.reflector.watch_list = WATCH_LIST_OFF;
    r->params.stale_after_ms = 0;
    r->server = server_start(&(struct server_params){.scripts = scripts});
    client_probe_init(&r->probe, "http", server_port(r->server), 1);
    r->poll = deadline_create(r->probe.loop, on_poll, r);
}

static void begin(struct rig *r)
{
    static const struct subscriber watch_events = {.on_delta = on_delta};
    static const struct list_watch_driver_events events = {on_data, on_change, on_failed};
    struct err err;

    assert_int_equal(watch_create(&r->params, &r->watch, &err), ERR_OK);
    watch_subscribe(r->watch, &watch_events, r);
    r->source =
        list_watch_driver_create(&(struct list_watch_driver_params){.loop = r->probe.loop,
                                                                    .client = r->probe.client,
                                                                    .watch = r->watch,
                                                                    .list_watch = list_watch(r)},
                                 &events, r);
}

static void tear_down(struct rig *r)
{
    list_watch_driver_dispose(&r->source);
    deadline_dispose(&r->poll);
    client_probe_fini(&r->probe);
    watch_destroy(&r->watch);
    server_stop(&r->server);
    buf_free(&r->deltas);
}

static bool asks_for(struct rig *r, unsigned i, const char *text)
{
    return strstr(server_request(r->server, i), text) != NULL;
}

static void relist(struct rig *r)
{
    watch_relist(r->watch, RELIST_MANUAL);
    r->calling = true;
    list_watch_driver_poke(r->source);
    r->calling = false;
    list_watch_driver_poke(r->source); /* the order was carried out: there is nothing left to do */
    assert_false(r->source != NULL && list_watch_is_ordered(list_watch(r)));
}

/* The order was carried out: the list came and was taken in once, and a watch follows it. */
static void assert_in_sync(struct rig *r, unsigned requests)
{
    run_until(r, is_connected);
    assert_int_equal(server_requests(r->server), requests);
    assert_true(asks_for(r, requests - 2, "/configmaps"));
    assert_false(asks_for(r, requests - 2, "watch=true"));
    assert_true(asks_for(r, requests - 1, "watch=true"));
    assert_true(asks_for(r, requests - 1, "resourceVersion=9"));
    assert_string_equal(buf_cstr(&r->deltas), "ADDED a/x;");
}

static void test_a_relist_ordered_before_the_start_is_the_first_list(void **state)
{
    struct rig r;

    (void)state;
    set_up(&r, SERVER_SCRIPTS(broken, list, watch));
    r.params.reflector.backoff = (struct backoff_params){1, 1, 1, 0};
    begin(&r);
    watch_relist(r.watch, RELIST_MANUAL);
    list_watch_driver_poke(r.source);
    assert_in_sync(&r, 3);
    assert_false(list_watch_is_ordered(list_watch(&r)));
    tear_down(&r);
}

static bool is_over(struct rig *r)
{
    (void)r;
    return true;
}

static void test_a_relist_ordered_in_the_start_jitter(void **state)
{
    struct rig r;

    (void)state;
    set_up(&r, SERVER_SCRIPTS(list, watch));
    r.params.reflector.start_jitter_ms = 3600000;
    begin(&r);
    run_until(&r, is_over); /* timers fire in order: the driver waits for its jitter now */
    assert_int_equal(server_requests(r.server), 0);
    relist(&r);
    assert_in_sync(&r, 2);
    tear_down(&r);
}

static void test_a_relist_ordered_in_the_gate(void **state)
{
    struct rig r;

    (void)state;
    set_up(&r, SERVER_SCRIPTS(silent, list, watch));
    client_probe_start(&r.probe, 0, true, "/other");
    run_until_asked(&r, 1);
    begin(&r);
    run_until(&r, is_over);
    relist(&r);
    run_until(&r, is_over);
    assert_int_equal(server_requests(r.server), 1);
    request_dispose(&r.probe.rq[0].r);
    assert_in_sync(&r, 3);
    tear_down(&r);
}

static void test_a_relist_ordered_while_connecting(void **state)
{
    struct rig r;
    char url[64];
    int fds[3];

    (void)state;
    set_up(&r, SERVER_SCRIPTS(silent));
    api_client_dispose(&r.probe.client);
    snprintf(url, sizeof(url), "http://127.0.0.1:%u",
             (unsigned)server_dead_port("127.0.0.1", 0, fds));
    r.probe.params.connect_timeout_ms = LATER_MS;
    client_probe_make(&r.probe, url);
    begin(&r);
    run_until(&r, is_over);
    relist(&r);
    run_until(&r, is_over);
    play_clock_pass(LATER_MS);
    run_until(&r, has_failed);
    assert_int_equal(r.why, ERR_TIMEOUT);
    assert_int_equal(r.heard[HEARD_FAILED], 1);
    tear_down(&r);
    for (size_t i = 0; i < ARRAY_LEN(fds); i++)
        close(fds[i]);
}

static void order_when(bool (*is_true)(struct rig *r), const struct server_step *first)
{
    struct rig r;

    set_up(&r, SERVER_SCRIPTS(first, list, watch));
    r.params.reflector.backoff = (struct backoff_params){LATER_MS, LATER_MS, 1, 0};
    begin(&r);
    r.requests = 1;
    run_until(&r, is_true);
    relist(&r);
    play_clock_pass(LATER_MS); /* the backoff that the relist ended would be over, too */
    assert_in_sync(&r, 3);
    assert_int_equal(r.heard[HEARD_FAILED], first == broken);
    tear_down(&r);
}

static void test_a_relist_ordered_before_the_head_in_the_body_and_in_the_backoff(void **state)
{
    (void)state;
    order_when(has_asked, silent);
    order_when(has_data, half_list);
    order_when(has_failed, broken);
}

static void test_a_relist_ordered_while_watching(void **state)
{
    struct rig r;

    (void)state;
    set_up(&r, SERVER_SCRIPTS(list, watch, list, watch));
    begin(&r);
    run_until(&r, is_connected);
    relist(&r);
    assert_false(is_connected(&r));
    assert_in_sync(&r, 4);
    assert_false(asks_for(&r, 2, "resourceVersion="));
    tear_down(&r);
}

/* Other credentials end the backoff after a 401, and after no other failure. */
static void test_other_credentials(void **state)
{
    static const struct server_step *const firsts[] = {refused, broken};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(firsts); i++) {
        struct rig r;

        set_up(&r, SERVER_SCRIPTS(firsts[i], list, watch));
        r.params.reflector.backoff = (struct backoff_params){LATER_MS, LATER_MS, 1, 0};
        begin(&r);
        list_watch_driver_reauthenticate(r.source); /* before the start */
        r.requests = 1;
        run_until(&r, has_failed);
        list_watch_driver_reauthenticate(r.source);
        list_watch_driver_reauthenticate(r.source);
        loop_turns(r.probe.loop, TURNS);
        if (firsts[i] == broken) {
            assert_int_equal(server_requests(r.server), 1);
            play_clock_pass(LATER_MS);
        }
        assert_in_sync(&r, 3);
        tear_down(&r);
    }
}

static void test_events_of_a_steady_watch_are_data(void **state)
{
    struct rig r;

    (void)state;
    set_up(&r, SERVER_SCRIPTS(list, watch_adds));
    begin(&r);
    run_until(&r, is_connected);
    unsigned changes = r.heard[HEARD_CHANGE];
    r.heard[HEARD_DATA] = 0;
    server_go(r.server);
    run_until(&r, has_data);
    assert_string_equal(buf_cstr(&r.deltas), "ADDED a/x;ADDED a/y;");
    assert_int_equal(r.heard[HEARD_CHANGE], changes);
    tear_down(&r);
}

/* A streaming list holds the only place until its end bookmark has come: then others may list. */
static void test_a_streaming_list_leaves_the_gate_at_its_end_bookmark(void **state)
{
    struct rig r;

    (void)state;
    set_up(&r, SERVER_SCRIPTS(stream_ends, list));
    r.params.reflector.watch_list = WATCH_LIST_ON;
    begin(&r);
    run_until_asked(&r, 1);
    client_probe_do(&r.probe, 0, true, "/other");
    assert_true(r.probe.rq[0].complete);
    assert_true(is_connected(&r));
    assert_true(watch_synced(r.watch));
    assert_true(asks_for(&r, 0, "sendInitialEvents=true"));
    assert_string_equal(buf_cstr(&r.deltas), "ADDED a/x;");
    tear_down(&r);
}

/* No byte came for list_idle_timeout: a plain list follows, and the list gate has a place for
 * it. */
static void test_a_streaming_list_stuck_in_its_initial_events_becomes_a_list(void **state)
{
    struct rig r;

    (void)state;
    set_up(&r, SERVER_SCRIPTS(stream_begins, list, watch));
    r.params.reflector.watch_list = WATCH_LIST_ON;
    r.params.list_idle_timeout_ms = LATER_MS;
    begin(&r);
    run_until(&r, has_data);
    play_clock_pass(LATER_MS);
    assert_in_sync(&r, 3);
    assert_true(asks_for(&r, 0, "sendInitialEvents=true"));
    tear_down(&r);
}

/* The watch is resumed bookmark_timeout after its last event. The next watch has had no bookmark,
 * so it cannot miss one. */
static void test_a_watch_that_misses_its_bookmarks_is_resumed(void **state)
{
    struct rig r;

    (void)state;
    set_up(&r, SERVER_SCRIPTS(list, watch_bookmarks, watch));
    r.params.bookmark_timeout_ms = 30;
    begin(&r);
    run_until_asked(&r, 3);
    assert_true(asks_for(&r, 2, "watch=true"));
    assert_true(asks_for(&r, 2, "resourceVersion=12"));
    run_until(&r, is_connected);
    assert_int_equal(r.heard[HEARD_FAILED], 0);
    tear_down(&r);
}

static void dispose_at(enum heard what, unsigned nth, const struct server_step *const *scripts)
{
    struct rig r;

    set_up(&r, scripts);
    r.dispose_at = what;
    r.dispose_nth = nth;
    begin(&r);
    loop_run(r.probe.loop);
    assert_null(r.source);
    assert_int_equal(r.heard[what], nth);
    client_probe_do(&r.probe, 0, true, "/other"); /* the list gate has its place again */
    assert_true(r.probe.rq[0].complete);
    tear_down(&r);
}

static void test_dispose_inside_its_events(void **state)
{
    (void)state;
    dispose_at(HEARD_DATA, 1, SERVER_SCRIPTS(list, list));
    dispose_at(HEARD_CHANGE, 1, SERVER_SCRIPTS(list));
    dispose_at(HEARD_CHANGE, 2, SERVER_SCRIPTS(half_list, list));
    dispose_at(HEARD_FAILED, 1, SERVER_SCRIPTS(broken, list));
}

static void test_dispose_before_the_start(void **state)
{
    struct rig r;

    (void)state;
    set_up(&r, SERVER_SCRIPTS(silent));
    begin(&r);
    list_watch_driver_dispose(&r.source);
    run_until(&r, is_over);
    tear_down(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_relist_ordered_before_the_start_is_the_first_list),
        cmocka_unit_test(test_a_relist_ordered_in_the_start_jitter),
        cmocka_unit_test(test_a_relist_ordered_before_the_head_in_the_body_and_in_the_backoff),
        cmocka_unit_test(test_a_relist_ordered_in_the_gate),
        cmocka_unit_test(test_a_relist_ordered_while_connecting),
        cmocka_unit_test(test_a_relist_ordered_while_watching),
        cmocka_unit_test(test_other_credentials),
        cmocka_unit_test(test_events_of_a_steady_watch_are_data),
        cmocka_unit_test(test_a_streaming_list_leaves_the_gate_at_its_end_bookmark),
        cmocka_unit_test(test_a_streaming_list_stuck_in_its_initial_events_becomes_a_list),
        cmocka_unit_test(test_a_watch_that_misses_its_bookmarks_is_resumed),
        cmocka_unit_test(test_dispose_inside_its_events),
        cmocka_unit_test(test_dispose_before_the_start),
    };

    alarm(PATIENCE_S);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
