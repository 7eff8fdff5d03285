/* SPDX-License-Identifier: Apache-2.0 */
/* io/watch_driver on the loopback: discovery before and after the requests of a scope, staleness,
 * several scopes, dispose anywhere. */
#include "objects.h"

#include <string.h>
#include <unistd.h>

#include "campaign.h"
#include "io/discovery_driver.h"
#include "io/loop.h"
#include "io/watch_driver.h"
#include "loop_until.h"
#include "play_clock.h"
#include "request_probe.h"
#include "server.h"

#define CORE                                                                         \
    SERVER_OK_HEAD                                                                   \
    "{\"kind\":\"APIGroupDiscoveryList\",\"apiVersion\":\"apidiscovery.k8s.io/v2\"," \
    "\"metadata\":{},\"items\":[]}"
#define GROUPS(version)                                                              \
    SERVER_OK_HEAD                                                                   \
    "{\"kind\":\"APIGroupDiscoveryList\",\"apiVersion\":\"apidiscovery.k8s.io/v2\"," \
    "\"metadata\":{},\"items\":[{\"metadata\":{\"name\":\"zeta.io\"},\"versions\":[" \
    "{\"version\":\"" version "\",\"resources\":[{\"resource\":\"widgets\","         \
    "\"responseKind\":{\"group\":\"zeta.io\",\"version\":\"" version "\",\"kind\":"  \
    "\"Widget\"},\"scope\":\"Namespaced\",\"singularResource\":\"widget\","          \
    "\"verbs\":[\"get\",\"list\",\"watch\"]}]}]}]}"
#define LIST(kind, version)                                                                   \
    SERVER_OK_HEAD "{\"kind\":\"" kind "List\",\"apiVersion\":\"" version "\",\"metadata\":{" \
                   "\"resourceVersion\":\"9\"},\"items\":[]}"
#define EVENT                                                                                      \
    "{\"type\":\"ADDED\",\"object\":{\"kind\":\"Widget\",\"apiVersion\":\"zeta.io/v1\","           \
    "\"metadata\":{\"namespace\":\"b\",\"name\":\"y\",\"uid\":\"u\",\"resourceVersion\":\"10\"}}}" \
    "\n"

#define BOOKMARK                                                                       \
    "{\"type\":\"BOOKMARK\",\"object\":{\"kind\":\"ConfigMap\",\"apiVersion\":\"v1\"," \
    "\"metadata\":{\"resourceVersion\":\"10\"}}}\n"

static const struct server_step silent[] = SERVER_SAYS("", SERVER_HOLD);
static const struct server_step no_entry[] =
    SERVER_SAYS(SERVER_EMPTY("401 Unauthorized"), SERVER_CLOSE);
static const struct server_step not_here[] =
    SERVER_SAYS(SERVER_EMPTY("404 Not Found"), SERVER_CLOSE);
static const struct server_step watch[] = SERVER_SAYS(SERVER_OK_HEAD, SERVER_HOLD);
static const struct server_step list[] = SERVER_SAYS(LIST("ConfigMap", "v1"), SERVER_CLOSE);
static const struct server_step core[] = SERVER_SAYS(CORE, SERVER_CLOSE);
static const struct server_step groups_v1[] = SERVER_SAYS(GROUPS("v1"), SERVER_CLOSE);
static const struct server_step groups_v2[] = SERVER_SAYS(GROUPS("v2"), SERVER_CLOSE);
static const struct server_step groups_later[] = {
    {SERVER_READ,  NULL        },
    {SERVER_WAIT,  NULL        },
    {SERVER_SEND,  GROUPS("v1")},
    {SERVER_CLOSE, NULL        }
};
static const struct server_step list_v1[] = SERVER_SAYS(LIST("Widget", "zeta.io/v1"), SERVER_CLOSE);
static const struct server_step list_v2[] = SERVER_SAYS(LIST("Widget", "zeta.io/v2"), SERVER_CLOSE);
static const struct server_step watch_adds[] = {
    {SERVER_READ, NULL          },
    {SERVER_SEND, SERVER_OK_HEAD},
    {SERVER_WAIT, NULL          },
    {SERVER_SEND, EVENT         },
    {SERVER_HOLD, NULL          }
};

static const struct server_step watch_bookmarks[] = {
    {SERVER_READ, NULL          },
    {SERVER_SEND, SERVER_OK_HEAD},
    {SERVER_WAIT, NULL          },
    {SERVER_SEND, BOOKMARK      },
    {SERVER_HOLD, NULL          }
};

/* The time between two rounds of discovery. PATIENT_RETRY_MS passes only when play_clock_pass()
 * moves the clock. */
enum { RETRY_MS = 20, PATIENT_RETRY_MS = 10000 };

enum heard { HEARD_NOTHING, HEARD_PROGRESS, HEARD_UNAUTHORIZED };

struct rig {
    struct client_probe probe;
    struct server *server;
    struct discovery_driver *discovery_driver;
    struct watch_params params;
    struct resume_point resume; /* of the watch's only scope */
    bool begins_stale;          /* the watch begins stale with that resume point */
    struct watch *watch;
    struct watch_driver *watch_driver;
    bool (*is_true)(struct rig *r);
    uint64_t retry_ms;
    unsigned requests; /* for is_true */
    unsigned heard[HEARD_UNAUTHORIZED + 1];
    enum heard dispose_at;
    bool was_synced; /* was the watch synced at the last on_progress? */
    bool calling;    /* inside a call of the test: no event may come */
    unsigned deltas;
    int stale; /* the last value of on_stale; -1 = never called */
};

static void on_delta(void *arg, struct source from, const struct delta *d)
{
    struct rig *r = arg;

    (void)from;
    (void)d;
    r->deltas++;
}

static void on_stale(void *arg, struct source from, bool stale, struct now now)
{
    struct rig *r = arg;

    (void)from;
    (void)now;
    r->stale = stale;
}

static void hear(struct rig *r, enum heard what)
{
    assert_non_null(r->watch_driver);
    assert_false(r->calling);
    r->heard[what]++;
    if (r->dispose_at != what)
        return;
    watch_driver_dispose(&r->watch_driver);
    loop_stop(r->probe.loop);
}

static void on_progress(void *arg)
{
    struct rig *r = arg;

    r->was_synced = watch_synced(r->watch);
    hear(r, HEARD_PROGRESS);
}

static void on_unauthorized(void *arg)
{
    hear(arg, HEARD_UNAUTHORIZED);
}

static bool is_true(void *arg)
{
    struct rig *r = arg;

    return r->is_true(r);
}

static void run_until(struct rig *r, bool (*condition)(struct rig *r))
{
    r->is_true = condition;
    loop_until(r->probe.loop, is_true, r);
}

static bool has_asked(struct rig *r)
{
    return server_requests(r->server) >= r->requests;
}

static void run_until_asked(struct rig *r, unsigned requests)
{
    r->requests = requests;
    run_until(r, has_asked);
}

static bool is_connected(struct rig *r)
{
    size_t n = watch_list_watch_count(r->watch);

    return n > 0 && list_watch_status(watch_list_watch(r->watch, n - 1)).connected;
}

static bool is_stale(struct rig *r)
{
    return r->stale == 1;
}

static bool is_fresh(struct rig *r)
{
    return r->stale == 0;
}

static bool has_deltas(struct rig *r)
{
    return r->deltas > 0;
}

/* The scripts are those of the connections, in their order; the list gate has one place; a scope
 * that fails waits for an hour, discovery for retry_ms. */
static void set_up_patient(struct rig *r, const char *resource,
                           const struct server_step *const *scripts, uint64_t retry_ms)
{
    static const char *const namespaces[] = {"a", "b"};

    *r = (struct rig){
        .retry_ms = retry_ms, .stale = -1, .params = objects_patient_watch_params(resource)};
    r->params.namespaces = namespaces;
    r->params.reflector.watch_list = WATCH_LIST_AUTO;
    r->server = server_start(&(struct server_params){.scripts = scripts});
    client_probe_init(&r->probe, "http", server_port(r->server), 1);
    r->discovery_driver = discovery_driver_create(&(struct discovery_driver_params){
        .loop = r->probe.loop, .client = r->probe.client, .retry = {retry_ms, retry_ms, 1, 0}
    });
}

static void set_up(struct rig *r, const char *resource, const struct server_step *const *scripts)
{
    set_up_patient(r, resource, scripts, RETRY_MS);
}

static void begin(struct rig *r)
{
    static const struct subscriber watch_events = {.on_delta = on_delta, .on_stale = on_stale};
    static const struct watch_driver_events events = {on_progress, on_unauthorized};
    struct err err;

    assert_int_equal(watch_create(&r->params, &r->watch, &err), ERR_OK);
    watch_subscribe(r->watch, &watch_events, r);
    if (r->resume.kind != RESUME_NONE)
        watch_resume(r->watch, 0, &r->resume);
    if (r->begins_stale)
        assert_true(watch_begin_stale(r->watch, (struct now){.ms = 1}, 0));
    r->watch_driver =
        watch_driver_create(&(struct watch_driver_params){.loop = r->probe.loop,
                                                          .client = r->probe.client,
                                                          .discovery_driver = r->discovery_driver,
                                                          .watch = r->watch},
                            &events, r);
}

static void tear_down(struct rig *r)
{
    watch_driver_dispose(&r->watch_driver);
    discovery_driver_dispose(&r->discovery_driver);
    client_probe_fini(&r->probe);
    watch_destroy(&r->watch);
    server_stop(&r->server);
}

static void relist(struct rig *r)
{
    watch_relist(r->watch, RELIST_MANUAL);
    r->calling = true;
    watch_driver_poke(r->watch_driver);
    r->calling = false;
}

static bool asks_for(struct rig *r, unsigned i, const char *path)
{
    const char *request = server_request(r->server, i);

    return strncmp(request, "GET /pre", 8) == 0 && strncmp(request + 8, path, strlen(path)) == 0;
}

/* Lets several times of retry_ms pass; timers that fall due in them fire. */
static void pass_rounds(struct rig *r)
{
    for (int i = 0; i < 5; i++) {
        play_clock_pass(r->retry_ms);
        loop_turns(r->probe.loop, 5);
    }
}

/* The watch_driver finds out by itself that the watch is stale: no callback of anybody else
 * comes. */
static void test_an_ordered_relist_that_gets_no_place_makes_the_watch_stale(void **state)
{
    struct rig r;

    (void)state;
    set_up(&r, "configmaps", SERVER_SCRIPTS(list, watch, silent, list, watch));
    r.params.stale_after_ms = 30;
    begin(&r);
    run_until(&r, is_connected);
    pass_rounds(&r); /* the driver has looked at the watch that began */
    client_probe_start(&r.probe, 0, true, "/other");
    run_until_asked(&r, 3);
    relist(&r);
    run_until(&r, is_stale);
    assert_int_equal(server_requests(r.server), 3);
    request_dispose(&r.probe.rq[0].r);
    run_until(&r, is_fresh);
    run_until_asked(&r, 5); /* the server has sent its answer, which the client may not have read */
    pass_rounds(&r);
    assert_int_equal(server_requests(r.server), 5);
    tear_down(&r);
}

static bool has_told_synced(struct rig *r)
{
    return r->was_synced;
}

static void test_silence_that_makes_a_watch_synced_is_reported(void **state)
{
    struct rig r;

    (void)state;
    set_up(&r, "configmaps", SERVER_SCRIPTS(watch));
    r.resume = (struct resume_point){.kind = RESUME_WHOLE, .rv = "9"};
    begin(&r);
    run_until(&r, has_told_synced);
    assert_int_equal(server_requests(r.server), 1);
    assert_non_null(strstr(server_request(r.server, 0), "resourceVersion=9"));
    tear_down(&r);
}

static bool is_synced(struct rig *r)
{
    return watch_synced(r->watch);
}

/* The watch request neither begins nor ends when the bookmark comes. The clock stands: no silence
 * makes the watch synced. */
static void test_a_bookmark_that_makes_a_watch_synced_makes_it_fresh(void **state)
{
    struct rig r;

    (void)state;
    set_up(&r, "configmaps", SERVER_SCRIPTS(watch_bookmarks));
    r.resume = (struct resume_point){.kind = RESUME_WHOLE, .rv = "9"};
    r.begins_stale = true;
    play_clock_stop();
    begin(&r);
    pass_rounds(&r);
    run_until(&r, is_connected);
    pass_rounds(&r); /* the driver has looked at the watch that began */
    assert_int_equal(r.stale, true);
    server_go(r.server);
    run_until(&r, is_synced);
    pass_rounds(&r); /* the driver may still have to look at the watch that began */
    assert_int_equal(r.stale, false);
    play_clock_go();
    tear_down(&r);
}

static void test_the_resource_is_found_before_the_watch_begins(void **state)
{
    struct rig r;

    (void)state;
    set_up(&r, "widgets.zeta.io", SERVER_SCRIPTS(core, groups_v1, list_v1, watch));
    begin(&r);
    watch_driver_verify(r.watch_driver); /* there is nothing to compare */
    relist(&r);
    run_until(&r, is_connected);
    assert_int_equal(server_requests(r.server), 4);
    assert_true(asks_for(&r, 2, "/apis/zeta.io/v1/namespaces/a/widgets?"));
    tear_down(&r);
}

static void test_a_version_that_is_gone_is_looked_for(void **state)
{
    struct rig r;

    (void)state;
    set_up(&r, "widgets.zeta.io",
           SERVER_SCRIPTS(core, groups_v1, not_here, core, groups_v2, list_v2, watch));
    begin(&r);
    run_until(&r, is_connected);
    assert_int_equal(server_requests(r.server), 7);
    assert_true(asks_for(&r, 2, "/apis/zeta.io/v1/namespaces/a/widgets?"));
    assert_true(asks_for(&r, 5, "/apis/zeta.io/v2/namespaces/a/widgets?"));
    tear_down(&r);
}

/* One scope is lost for good: discovery is asked about it once for each 404, however many events
 * the other scope has. */
static void test_events_of_other_scopes_do_not_ask_discovery_again(void **state)
{
    struct rig r;

    (void)state;
    set_up_patient(
        &r, "widgets.zeta.io",
        SERVER_SCRIPTS(core, groups_v1, not_here, list_v1, watch_adds, core, groups_v1, not_here),
        PATIENT_RETRY_MS);
    r.params.namespace_count = 2;
    begin(&r);
    run_until_asked(&r, 5); /* the other scope is watched before discovery is asked again */
    play_clock_pass(PATIENT_RETRY_MS);
    run_until_asked(&r, 7);
    pass_rounds(&r);
    server_go(r.server);
    run_until(&r, has_deltas);
    pass_rounds(&r);
    assert_int_equal(server_requests(r.server), 7);
    tear_down(&r);
}

/* No callback comes afterwards, and the gate has its place again. */
static void dispose_at(enum heard what, const char *resource,
                       const struct server_step *const *scripts)
{
    struct rig r;

    set_up(&r, resource, scripts);
    r.dispose_at = what;
    begin(&r);
    loop_run(r.probe.loop);
    assert_null(r.watch_driver);
    assert_int_equal(r.heard[what], 1);
    client_probe_do(&r.probe, 0, true, "/other");
    assert_true(r.probe.rq[0].complete);
    tear_down(&r);
}

static void test_dispose_inside_its_events(void **state)
{
    (void)state;
    dispose_at(HEARD_PROGRESS, "configmaps", SERVER_SCRIPTS(list, list));
    dispose_at(HEARD_PROGRESS, "configmaps", SERVER_SCRIPTS(not_here, list));
    dispose_at(HEARD_UNAUTHORIZED, "configmaps", SERVER_SCRIPTS(no_entry, list));
    dispose_at(HEARD_PROGRESS, "widgets.zeta.io", SERVER_SCRIPTS(core, groups_v1, list));
    dispose_at(HEARD_PROGRESS, "gadgets.zeta.io", SERVER_SCRIPTS(core, groups_v1, list));
    dispose_at(HEARD_UNAUTHORIZED, "widgets.zeta.io", SERVER_SCRIPTS(no_entry, no_entry, list));
}

static void dispose_when_asked(unsigned requests)
{
    struct rig r;

    set_up(&r, "widgets.zeta.io", SERVER_SCRIPTS(core, groups_later));
    begin(&r);
    if (requests > 0)
        run_until_asked(&r, requests);
    /* On a slow machine the first look of the driver at its watch (LOOK_MS) has come by now. */
    unsigned before = r.heard[HEARD_PROGRESS];
    watch_driver_dispose(&r.watch_driver);
    watch_driver_dispose(&r.watch_driver);
    server_go(r.server);
    pass_rounds(&r);
    assert_int_equal(r.heard[HEARD_PROGRESS], before);
    tear_down(&r);
}

static void test_dispose_during_discovery(void **state)
{
    (void)state;
    for (unsigned requests = 0; requests <= 2; requests++)
        dispose_when_asked(requests);
}

static void test_dispose_with_the_cluster_gone(void **state)
{
    struct rig r;

    (void)state;
    set_up(&r, "configmaps", SERVER_SCRIPTS(list, watch));
    begin(&r);
    run_until(&r, is_connected);
    api_client_dispose(&r.probe.client);
    r.dispose_at = HEARD_NOTHING;
    unsigned heard = r.heard[HEARD_PROGRESS];
    watch_driver_dispose(&r.watch_driver);
    assert_int_equal(r.heard[HEARD_PROGRESS], heard);
    tear_down(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_an_ordered_relist_that_gets_no_place_makes_the_watch_stale),
        cmocka_unit_test(test_silence_that_makes_a_watch_synced_is_reported),
        cmocka_unit_test(test_a_bookmark_that_makes_a_watch_synced_makes_it_fresh),
        cmocka_unit_test(test_the_resource_is_found_before_the_watch_begins),
        cmocka_unit_test(test_a_version_that_is_gone_is_looked_for),
        cmocka_unit_test(test_events_of_other_scopes_do_not_ask_discovery_again),
        cmocka_unit_test(test_dispose_inside_its_events),
        cmocka_unit_test(test_dispose_during_discovery),
        cmocka_unit_test(test_dispose_with_the_cluster_gone),
    };

    alarm(PATIENCE_S);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
