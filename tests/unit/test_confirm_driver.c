/* SPDX-License-Identifier: Apache-2.0 */
/* io/confirm_driver on the loopback: its requests, the meaning of the answers, one GET at a time,
 * retries. The clock stands while the test waits for an answer, so that no answer is too late. */
#include "objects.h"

#include <string.h>

#include "base/compiler.h"
#include "cache/confirm.h"
#include "io/confirm_driver.h"
#include "io/loop.h"
#include "loop_until.h"
#include "play_clock.h"
#include "request_probe.h"
#include "server.h"

#define FULL_UID(u) "{\"metadata\":{\"name\":\"x\",\"uid\":\"" u "\"},\"data\":{\"uid\":\"u9\"}}"

static const struct server_step gone[] = SERVER_SAYS(SERVER_EMPTY("404 Not Found"), SERVER_CLOSE);
static const struct server_step same[] = SERVER_SAYS(SERVER_OK_HEAD FULL_UID("u1"), SERVER_CLOSE);
static const struct server_step other[] = SERVER_SAYS(SERVER_OK_HEAD FULL_UID("u2"), SERVER_CLOSE);
static const struct server_step forbidden[] =
    SERVER_SAYS(SERVER_EMPTY("403 Forbidden"), SERVER_CLOSE);
static const struct server_step unauthorized[] =
    SERVER_SAYS(SERVER_EMPTY("401 Unauthorized"), SERVER_CLOSE);
static const struct server_step broken[] = SERVER_SAYS(SERVER_EMPTY("500 Oops"), SERVER_CLOSE);
static const struct server_step a_status[] =
    SERVER_SAYS(SERVER_OK_HEAD "{\"kind\":\"Status\",\"metadata\":{}}", SERVER_CLOSE);
static const struct server_step wrong_uid[] =
    SERVER_SAYS(SERVER_OK_HEAD "{\"metadata\":{\"uid\":[\"u1\"]}}", SERVER_CLOSE);
static const struct server_step no_json[] = SERVER_SAYS(SERVER_OK_HEAD "<html>", SERVER_CLOSE);
static const struct server_step cut[] =
    SERVER_SAYS(SERVER_OK_HEAD "{\"metadata\":{\"uid\":\"u1\"", SERVER_CLOSE);
static const struct server_step nothing[] = SERVER_SAYS(SERVER_OK_HEAD, SERVER_CLOSE);
static const struct server_step decoys[] = SERVER_SAYS(
    SERVER_OK_HEAD "{\"uid\":\"u1\",\"spec\":{\"uid\":\"u1\"},\"metadata\":{\"ownerReferences\":[{"
                   "\"uid\":\"u1\"}],\"uid\":\"u2\",\"labels\":{\"uid\":\"u1\"},\"name\":\"u1\"},"
                   "\"status\":{\"uid\":\"u1\"}}",
    SERVER_CLOSE);

static const struct server_step hold[] = {
    {SERVER_READ, NULL},
    {SERVER_HOLD, NULL}
};

struct rig {
    struct client_probe probe;
    struct server *server;
    struct watch *watch;
    struct resource resource;
    struct confirm_driver *confirm_driver;
    struct buf said;
    struct loop_task later;
    unsigned progress;
    unsigned unauthorized;
    bool until_unauthorized;
};

static void on_delta(void *arg, struct source from, const struct delta *d)
{
    struct rig *r = arg;

    assert_ptr_equal(from.watch, r->watch);
    if (d->type != DELTA_ADDED)
        buf_printf(&r->said, "%s %.*s;", delta_type_name(d->type), STR_ARG(object_key(d->object)));
}

/* Runs behind the work of confirm_driver in this turn: the driver may ask again now. */
static void on_later(struct loop_task *task)
{
    struct rig *r = container_of(task, struct rig, later);

    play_clock_pass(CONFIRM_RETRY_MAX_MS);
    loop_update_now(r->probe.loop); /* else the loop sleeps first */
}

static void on_progress(void *arg)
{
    struct rig *r = arg;

    r->progress++;
    loop_defer(r->probe.loop, &r->later);
    if (confirm_count(watch_confirm(r->watch)) == 0)
        loop_stop(r->probe.loop);
}

static void on_unauthorized(void *arg)
{
    struct rig *r = arg;

    r->unauthorized++;
    loop_defer(r->probe.loop, &r->later);
    if (r->until_unauthorized)
        loop_stop(r->probe.loop);
}

static struct watch *make_watch(struct rig *r)
{
    static const struct subscriber events = {.on_delta = on_delta};
    struct watch_params p = objects_watch_params();
    struct watch *w = NULL;

    p.label_selector = "app=x";
    p.confirm_deletes = true;
    assert_int_equal(watch_create(&p, &w, NULL), ERR_OK);
    watch_subscribe(w, &events, r);
    return w;
}

/* A watch of a/x and a/y, both of uid u1, and a server that answers by these scripts. */
static void set_up(struct rig *r, const struct server_step *const *scripts)
{
    static const struct confirm_driver_events events = {on_progress, on_unauthorized};
    struct buf items = {0};

    memset(r, 0, sizeof(*r));
    loop_task_init(&r->later, on_later);
    r->server = server_start(&(struct server_params){.scripts = scripts});
    client_probe_init(&r->probe, "http", server_port(r->server), 1);
    r->watch = make_watch(r);
    objects_put_item(&items, "a/x", "u1", "1", NULL);
    buf_putc(&items, ',');
    objects_put_item(&items, "a/y", "u1", "2", NULL);
    objects_sync(r->watch, buf_cstr(&items), "2",
                 (struct now){.ms = loop_now_ms(r->probe.loop), .wall_ns = 1});
    buf_free(&items);
    list_watch_head(watch_list_watch(r->watch, 0),
                    &(struct http_head){.status = 200, .retry_after_s = -1},
                    loop_now_ms(r->probe.loop));
    assert_int_equal(resource_parse("configmaps", &r->resource, NULL), ERR_OK);
    r->confirm_driver =
        confirm_driver_create(&(struct confirm_driver_params){.loop = r->probe.loop,
                                                              .client = r->probe.client,
                                                              .watch = r->watch,
                                                              .resource = &r->resource},
                              &events, r);
}

static void tear_down(struct rig *r)
{
    confirm_driver_dispose(&r->confirm_driver);
    assert_null(r->confirm_driver);
    loop_cancel(&r->later);
    watch_destroy(&r->watch);
    resource_fini(&r->resource);
    client_probe_fini(&r->probe);
    server_stop(&r->server);
    buf_free(&r->said);
}

static void delete_object(struct rig *r, const char *key)
{
    struct buf event = {0};

    objects_put_event(&event, "DELETED", key, "u1", "9", NULL);
    assert_true(list_watch_body(watch_list_watch(r->watch, 0), event.data, event.len,
                                (struct now){.ms = loop_now_ms(r->probe.loop), .wall_ns = 2}));
    buf_free(&event);
    confirm_driver_kick(r->confirm_driver);
}

static void assert_said(struct rig *r, const char *text)
{
    assert_string_equal(buf_cstr(&r->said), text);
}

/* a/x is deleted; the scripts are the answers, one connection each, and end with the final one. */
static void assert_becomes(const struct server_step *const *scripts, unsigned requests,
                           const char *text)
{
    struct rig r;

    set_up(&r, scripts);
    delete_object(&r, "a/x");
    assert_said(&r, "");
    loop_run(r.probe.loop);
    assert_said(&r, text);
    assert_int_equal(server_requests(r.server), requests);
    assert_true(r.progress >= requests);
    tear_down(&r);
}

static void test_the_request(void **state)
{
    struct rig r;

    (void)state;
    set_up(&r, SERVER_SCRIPTS(gone));
    delete_object(&r, "a/x");
    loop_run(r.probe.loop);
    assert_int_equal(strncmp(server_request(r.server, 0),
                             "GET /pre/api/v1/namespaces/a/configmaps/x HTTP/1.1\r\n", 52),
                     0);
    assert_non_null(strstr(server_request(r.server, 0), "as=PartialObjectMetadata;g=meta.k8s.io"));
    tear_down(&r);
}

static void test_an_object_that_is_gone_is_deleted(void **state)
{
    (void)state;
    assert_becomes(SERVER_SCRIPTS(gone), 1, "DELETED a/x;");
    assert_becomes(SERVER_SCRIPTS(other), 1, "DELETED a/x;");
    assert_becomes(SERVER_SCRIPTS(decoys), 1, "DELETED a/x;");
}

static void test_an_object_that_is_there_has_left(void **state)
{
    (void)state;
    assert_becomes(SERVER_SCRIPTS(same), 1, "LEFT a/x;");
}

static void test_a_get_without_a_usable_answer_is_repeated(void **state)
{
    (void)state;
    assert_becomes(SERVER_SCRIPTS(broken, same), 2, "LEFT a/x;");
    assert_becomes(SERVER_SCRIPTS(forbidden, same), 2, "LEFT a/x;");
    assert_becomes(SERVER_SCRIPTS(a_status, same), 2, "LEFT a/x;");
    assert_becomes(SERVER_SCRIPTS(wrong_uid, gone), 2, "DELETED a/x;");
    assert_becomes(SERVER_SCRIPTS(no_json, same), 2, "LEFT a/x;");
    assert_becomes(SERVER_SCRIPTS(cut, gone), 2, "DELETED a/x;");
    assert_becomes(SERVER_SCRIPTS(nothing, gone), 2, "DELETED a/x;");
}

static void test_unauthorized_is_reported(void **state)
{
    struct rig r;

    (void)state;
    set_up(&r, SERVER_SCRIPTS(unauthorized, gone));
    r.until_unauthorized = true;
    delete_object(&r, "a/x");
    loop_run(r.probe.loop);
    assert_int_equal(r.unauthorized, 1);
    assert_said(&r, "");
    assert_int_equal(confirm_count(watch_confirm(r.watch)), 1);
    loop_run(r.probe.loop);
    assert_said(&r, "DELETED a/x;");
    tear_down(&r);
}

/* The second GET waits until the first has its answer, and then uses its connection. */
static void test_one_get_at_a_time(void **state)
{
    static const struct server_step one_by_one[] = {
        {SERVER_READ,  NULL                                                 },
        {SERVER_SEND,  "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"},
        {SERVER_AGAIN, NULL                                                 }
    };
    struct rig r;

    (void)state;
    set_up(&r, SERVER_SCRIPTS(one_by_one));
    delete_object(&r, "a/x");
    delete_object(&r, "a/y");
    loop_run(r.probe.loop);
    assert_said(&r, "DELETED a/x;DELETED a/y;");
    assert_int_equal(server_requests(r.server), 2);
    assert_int_equal(server_accepted(r.server), 1);
    tear_down(&r);
}

static bool has_asked(void *arg)
{
    const struct rig *r = arg;

    return server_requests(r->server) > 0;
}

static void run_until_asked(struct rig *r)
{
    loop_until(r->probe.loop, has_asked, r);
}

static void test_dispose_with_a_get_under_way(void **state)
{
    struct rig r;

    (void)state;
    set_up(&r, SERVER_SCRIPTS(hold));
    delete_object(&r, "a/x");
    run_until_asked(&r);
    confirm_driver_dispose(&r.confirm_driver);
    assert_said(&r, "");
    assert_int_equal(confirm_count(watch_confirm(r.watch)), 1);
    assert_non_null(
        confirm_next(watch_confirm(r.watch), loop_now_ms(r.probe.loop) + CONFIRM_RETRY_MAX_MS));
    tear_down(&r);
}

/* The object comes back before the answer: the answer does not count any more. */
static void test_a_late_answer_changes_nothing(void **state)
{
    static const struct server_step late[] = {
        {SERVER_READ,  NULL                         },
        {SERVER_WAIT,  NULL                         },
        {SERVER_SEND,  SERVER_EMPTY("404 Not Found")},
        {SERVER_CLOSE, NULL                         }
    };
    struct rig r;
    struct buf event = {0};

    (void)state;
    set_up(&r, SERVER_SCRIPTS(late));
    delete_object(&r, "a/x");
    run_until_asked(&r);
    objects_put_event(&event, "ADDED", "a/x", "u1", "10", NULL);
    assert_true(list_watch_body(watch_list_watch(r.watch, 0), event.data, event.len,
                                (struct now){.ms = loop_now_ms(r.probe.loop), .wall_ns = 2}));
    buf_free(&event);
    confirm_driver_kick(r.confirm_driver);
    assert_said(&r, "LEFT a/x;");
    server_go(r.server);
    loop_run(r.probe.loop);
    assert_said(&r, "LEFT a/x;");
    tear_down(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_request),
        cmocka_unit_test(test_an_object_that_is_gone_is_deleted),
        cmocka_unit_test(test_an_object_that_is_there_has_left),
        cmocka_unit_test(test_a_get_without_a_usable_answer_is_repeated),
        cmocka_unit_test(test_unauthorized_is_reported),
        cmocka_unit_test(test_one_get_at_a_time),
        cmocka_unit_test(test_dispose_with_a_get_under_way),
        cmocka_unit_test(test_a_late_answer_changes_nothing),
    };

    play_clock_stop();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
