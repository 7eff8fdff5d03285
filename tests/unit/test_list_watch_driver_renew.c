/* SPDX-License-Identifier: Apache-2.0 */
/* io/list_watch_driver over TLS: another TLS context moves an open watch to another connection. */
#include "objects.h"

#include <string.h>
#include <unistd.h>

#include "base/compiler.h"
#include "campaign.h"
#include "io/list_watch_driver.h"
#include "io/loop.h"
#include "io/renewals.h"
#include "io_probe.h"
#include "loop_until.h"
#include "play_clock.h"
#include "proto/tls.h"
#include "request_probe.h"
#include "server.h"
#include "tls_pair.h"

#define META(name, rv)                                   \
    "\"metadata\":{\"namespace\":\"a\",\"name\":\"" name \
    "\",\"uid\":\"u1\",\"resourceVersion\":\"" rv "\"}"
#define LIST                                                                          \
    SERVER_OK_HEAD "{\"kind\":\"ConfigMapList\",\"apiVersion\":\"v1\",\"metadata\":{" \
                   "\"resourceVersion\":\"9\"},\"items\":[{" META("x", "1") "}]}"
#define EVENT(name, rv)                                                                   \
    "{\"type\":\"ADDED\",\"object\":{\"kind\":\"ConfigMap\",\"apiVersion\":\"v1\"," META( \
        name, rv) "}}\n"

enum { HOUR_MS = 3600000 };

static const struct server_step list[] = SERVER_SAYS(LIST, SERVER_CLOSE);
static const struct server_step watch[] = SERVER_SAYS(SERVER_OK_HEAD, SERVER_HOLD);
static const struct server_step half_watch[] =
    SERVER_SAYS(SERVER_OK_HEAD EVENT("y", "10") "{\"type\":\"ADDED\",\"obj", SERVER_HOLD);
static const struct server_step second[] =
    SERVER_SAYS(SERVER_OK_HEAD EVENT("z", "11"), SERVER_HOLD);
static const struct server_step refused[] = SERVER_SAYS(SERVER_EMPTY("403 No"), SERVER_CLOSE);
static const struct server_step silent[] = SERVER_SAYS("", SERVER_HOLD);

struct rig {
    struct client_probe probe;
    struct io_tls *tls;
    struct tls_ctx *other; /* the next TLS context */
    struct server *server;
    struct watch *watch;
    struct renewals *renewals;
    struct list_watch_driver *source;
    unsigned requests; /* for has_asked() */
    unsigned failures;
    enum err_kind why;
    bool calling;         /* inside a call of the test: no event may come */
    bool dispose_at_data; /* the next on_data() disposes the driver */
    struct buf deltas;
};

static void on_delta(void *arg, struct source from, const struct delta *d)
{
    struct rig *r = arg;

    (void)from;
    buf_printf(&r->deltas, "%s %.*s;", delta_type_name(d->type), STR_ARG(object_key(d->object)));
}

static void on_data(void *arg)
{
    struct rig *r = arg;

    assert_false(r->calling);
    if (r->dispose_at_data)
        list_watch_driver_dispose(&r->source);
}

static void on_failed(void *arg, enum err_kind why)
{
    struct rig *r = arg;

    r->failures++;
    r->why = why;
}

static struct list_watch_status status(const struct rig *r)
{
    return list_watch_status(watch_list_watch(r->watch, 0));
}

static bool is_connected(void *arg)
{
    return status(arg).connected;
}

static bool has_asked(void *arg)
{
    struct rig *r = arg;

    return server_requests(r->server) >= r->requests;
}

static bool has_read_y(void *arg)
{
    struct rig *r = arg;

    return strstr(buf_cstr(&r->deltas), "a/y") != NULL;
}

static bool has_read_z(void *arg)
{
    struct rig *r = arg;

    return strstr(buf_cstr(&r->deltas), "a/z") != NULL;
}

static void until_asked(struct rig *r, unsigned requests)
{
    r->requests = requests;
    loop_until(r->probe.loop, has_asked, r);
}

/* The scripts are those of the connections, in their order; a renewal that failed waits for an
 * hour. */
static void set_up(struct rig *r, struct io_tls *tls, const struct server_step *const *scripts)
{
    static const struct subscriber watch_events = {.on_delta = on_delta};
    static const struct list_watch_driver_events events = {on_data, on_data, on_failed};
    struct watch_params params = objects_patient_watch_params("configmaps");

    *r = (struct rig){.tls = tls, .other = tls_pair_ctx(&tls->ca, NULL)};
    params.reflector.watch_list = WATCH_LIST_OFF;
    params.stale_after_ms = 0;
    r->server = server_start(&(struct server_params){.scripts = scripts, .tls = &tls->server});
    client_probe_init(&r->probe, "https", server_port(r->server), 1);
    client_probe_set_tls(&r->probe, tls->ctx);
    assert_int_equal(watch_create(&params, &r->watch, NULL), ERR_OK);
    watch_subscribe(r->watch, &watch_events, r);
    r->renewals = renewals_create(&(struct renewals_params){
        .loop = r->probe.loop, .cluster = "prod", .retry = {HOUR_MS, HOUR_MS, 1, 0}
    });
    r->source = list_watch_driver_create(
        &(struct list_watch_driver_params){.loop = r->probe.loop,
                                           .client = r->probe.client,
                                           .renewals = r->renewals,
                                           .watch = r->watch,
                                           .list_watch = watch_list_watch(r->watch, 0)},
        &events, r);
    loop_until(r->probe.loop, is_connected, r);
}

static void tear_down(struct rig *r)
{
    list_watch_driver_dispose(&r->source);
    renewals_dispose(&r->renewals);
    client_probe_fini(&r->probe);
    watch_destroy(&r->watch);
    server_stop(&r->server);
    tls_ctx_unref(&r->other);
    buf_free(&r->deltas);
}

static void rotate(struct rig *r)
{
    r->calling = true;
    client_probe_set_tls(&r->probe, r->other);
    list_watch_driver_renew(r->source);
    r->calling = false;
}

static void test_without_another_context_nothing_is_renewed(void **state)
{
    struct rig r;

    set_up(&r, *state, SERVER_SCRIPTS(list, watch, second));
    list_watch_driver_renew(r.source);
    loop_turns(r.probe.loop, 5);
    assert_int_equal(server_accepted(r.server), 2);
    tear_down(&r);
}

static void test_the_second_stream_takes_over_at_its_first_event(void **state)
{
    struct rig r;

    set_up(&r, *state, SERVER_SCRIPTS(list, half_watch, second, watch));
    loop_until(r.probe.loop, has_read_y, &r);
    rotate(&r);
    assert_true(status(&r).connected);
    loop_until(r.probe.loop, has_read_z, &r);
    assert_string_equal(buf_cstr(&r.deltas), "ADDED a/x;ADDED a/y;ADDED a/z;");
    assert_int_equal(server_requests(r.server), 3);
    assert_non_null(strstr(server_request(r.server, 2), "watch=true"));
    assert_non_null(strstr(server_request(r.server, 2), "resourceVersion=10"));
    list_watch_driver_renew(r.source); /* it is renewed already */
    loop_turns(r.probe.loop, 5);
    assert_int_equal(server_accepted(r.server), 3);
    tear_down(&r);
}

static void test_the_second_stream_takes_over_when_its_trial_is_over(void **state)
{
    struct rig r;

    set_up(&r, *state, SERVER_SCRIPTS(list, watch, watch));
    play_clock_stop();
    rotate(&r);
    until_asked(&r, 3);
    loop_turns(r.probe.loop, 20);
    uint64_t contact_ms = status(&r).contact_ms;
    /* The head may be on its way still, and the trial begin later. */
    do {
        play_clock_pass(RENEWAL_TRIAL_MS);
        loop_turns(r.probe.loop, 20);
    } while (status(&r).contact_ms == contact_ms);
    assert_true(status(&r).connected);
    play_clock_go();
    tear_down(&r);
}

static void test_a_refused_second_stream_leaves_the_first_alone(void **state)
{
    struct rig r;

    set_up(&r, *state, SERVER_SCRIPTS(list, half_watch, refused, second));
    play_clock_stop();
    loop_until(r.probe.loop, has_read_y, &r);
    rotate(&r);
    until_asked(&r, 3);
    while (server_requests(r.server) < 4) { /* the refusal may be on its way still */
        assert_true(status(&r).connected);
        play_clock_pass(HOUR_MS);
        loop_turns(r.probe.loop, 20);
    }
    loop_until(r.probe.loop, has_read_z, &r);
    assert_string_equal(buf_cstr(&r.deltas), "ADDED a/x;ADDED a/y;ADDED a/z;");
    assert_int_equal(r.failures, 0);
    play_clock_go();
    tear_down(&r);
}

static void test_a_relist_drops_the_second_stream(void **state)
{
    struct rig r;

    set_up(&r, *state, SERVER_SCRIPTS(list, watch, silent, list, watch));
    rotate(&r);
    until_asked(&r, 3);
    watch_relist(r.watch, RELIST_MANUAL);
    list_watch_driver_poke(r.source);
    until_asked(&r, 5);
    loop_until(r.probe.loop, is_connected, &r);
    assert_null(strstr(server_request(r.server, 3), "watch=true"));
    list_watch_driver_renew(r.source); /* the new watch has the new credentials */
    loop_turns(r.probe.loop, 5);
    assert_int_equal(server_accepted(r.server), 5);
    tear_down(&r);
}

/* The watch is on its way on a connection with the old context: it is renewed when it is there. */
static void test_a_watch_that_is_being_asked_for_is_renewed_when_it_is_there(void **state)
{
    static const struct server_step late[] = {
        {SERVER_READ, NULL          },
        {SERVER_WAIT, NULL          },
        {SERVER_SEND, SERVER_OK_HEAD},
        {SERVER_HOLD, NULL          }
    };
    struct rig r;

    set_up(&r, *state, SERVER_SCRIPTS(list, watch, list, late, second));
    watch_relist(r.watch, RELIST_MANUAL);
    list_watch_driver_poke(r.source);
    until_asked(&r, 4);
    rotate(&r);
    loop_turns(r.probe.loop, 5);
    assert_int_equal(server_accepted(r.server), 4);
    server_go(r.server);
    loop_until(r.probe.loop, has_read_z, &r);
    tear_down(&r);
}

static void test_dispose_at_any_step_of_a_renewal(void **state)
{
    struct rig r;

    set_up(&r, *state, SERVER_SCRIPTS(list, watch, silent));
    rotate(&r);
    tear_down(&r);
    set_up(&r, *state, SERVER_SCRIPTS(list, watch, silent));
    rotate(&r);
    until_asked(&r, 3);
    tear_down(&r);
    set_up(&r, *state, SERVER_SCRIPTS(list, watch, watch)); /* on trial */
    rotate(&r);
    until_asked(&r, 3);
    loop_turns(r.probe.loop, 10);
    tear_down(&r);
    set_up(&r, *state, SERVER_SCRIPTS(list, watch, second));
    r.dispose_at_data = true;
    rotate(&r);
    loop_until(r.probe.loop, has_read_z, &r);
    loop_turns(r.probe.loop, 2);
    assert_null(r.source);
    tear_down(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_without_another_context_nothing_is_renewed),
        cmocka_unit_test(test_the_second_stream_takes_over_at_its_first_event),
        cmocka_unit_test(test_the_second_stream_takes_over_when_its_trial_is_over),
        cmocka_unit_test(test_a_refused_second_stream_leaves_the_first_alone),
        cmocka_unit_test(test_a_relist_drops_the_second_stream),
        cmocka_unit_test(test_a_watch_that_is_being_asked_for_is_renewed_when_it_is_there),
        cmocka_unit_test(test_dispose_at_any_step_of_a_renewal),
    };

    alarm(PATIENCE_S);
    return cmocka_run_group_tests(tests, io_tls_set_up, io_tls_clean_up);
}
