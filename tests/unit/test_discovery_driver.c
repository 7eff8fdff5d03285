/* SPDX-License-Identifier: Apache-2.0 */
/* io/discovery_driver against a server on the loopback: how often it asks, when it asks again, and
 * which callbacks it calls. */
#include "io/discovery_driver.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/panic.h"
#include "discovery_probe.h"
#include "io/loop.h"
#include "loop_until.h"
#include "play_clock.h"
#include "request_probe.h"
#include "server.h"

/* RETRY_MS passes only when the test moves the clock; a connection that is idle lives for
 * longer. */
enum { WANTS = 50, STEPS = 64, RETRY_MS = 20000, TURNS = 20 };

/* A user of the driver, who wants a resource. */
struct who {
    struct rig *of;
    struct resource found; /* plural NULL = not found so far */
    int missing;
    struct err err;
    uint64_t retry_ms;
    void (*then)(struct who *w); /* called inside the next event; NULL = no call */
};

struct rig {
    struct client_probe on; /* loop and cluster */
    struct discovery_driver *discovery_driver;
    struct server *server;
    struct server_step steps[STEPS];
    struct buf texts[STEPS];
    int n_steps;
    bool calling;    /* inside a call of the test: no callback may run */
    unsigned events; /* so far */
    unsigned until;  /* the loop stops after so many */
    struct who who[WANTS];
    int versions;
    struct version version; /* major 0 = not known */
};

static void step(struct rig *r, enum server_do what)
{
    ensure(r->n_steps + 1 < STEPS);
    r->steps[r->n_steps++] = (struct server_step){what, NULL};
}

static void say(struct rig *r, int code, struct str body)
{
    struct buf *b = &r->texts[r->n_steps];

    buf_printf(b, "HTTP/1.1 %d X\r\nContent-Type: application/json\r\nContent-Length: %zu\r\n\r\n",
               code, body.n);
    buf_append_str(b, body);
    ensure(r->n_steps + 1 < STEPS);
    r->steps[r->n_steps] = (struct server_step){SERVER_SEND, buf_cstr(b)};
    r->n_steps++;
}

/* The script reads one request and answers it. */
static void answer(struct rig *r, int code, const char *body)
{
    const struct page p = {"", code, body};
    struct buf text = {0};

    step(r, SERVER_READ);
    discovery_probe_body(&p, &text);
    say(r, code, buf_str(&text));
    buf_free(&text);
}

#define NO_CORE "@v2\n"
#define WIDGETS                                 \
    "@v2\n"                                     \
    "zeta.io v1 widgets Widget Namespaced wd\n" \
    "zeta.io v1 gadgets Gadget Cluster\n"
#define OTHERS "@v2\nzeta.io v1 others Other Cluster\n"

/* The answers of a whole round. */
static void answer_round(struct rig *r, const char *groups)
{
    answer(r, 200, NO_CORE);
    answer(r, 200, groups);
}

static void event(struct who *w)
{
    struct rig *r = w->of;
    void (*then)(struct who * w) = w->then;

    ensure(!r->calling);
    if (++r->events == r->until)
        loop_stop(r->on.loop);
    w->then = NULL;
    if (then != NULL)
        then(w);
}

static void on_found(void *arg, const struct resource *found)
{
    struct who *w = arg;

    ensure(w->found.plural == NULL);
    resource_copy(&w->found, found);
    event(w);
}

static void on_missing(void *arg, const struct err *err, uint64_t retry_ms)
{
    struct who *w = arg;

    w->missing++;
    w->err = *err;
    w->retry_ms = retry_ms;
    event(w);
}

static void on_version(void *arg, const struct version *v)
{
    struct rig *r = arg;

    ensure(!r->calling);
    r->versions++;
    r->version = v != NULL ? *v : (struct version){0};
    loop_stop(r->on.loop);
}

static void rig_init(struct rig *r)
{
    *r = (struct rig){.n_steps = 0};
    for (int i = 0; i < WANTS; i++)
        r->who[i].of = r;
}

/* The script is complete: the server and the driver are started. first_ms: the first step of the
 * backoff. */
static void rig_start(struct rig *r, uint64_t first_ms)
{
    static const struct server_step *scripts[2];

    scripts[0] = r->steps;
    step(r, SERVER_HOLD);
    r->server = server_start(&(struct server_params){.scripts = scripts});
    client_probe_init(&r->on, "http", server_port(r->server), 2);
    r->discovery_driver = discovery_driver_create(&(struct discovery_driver_params){
        .loop = r->on.loop,
        .client = r->on.client,
        .retry = {.initial_ms = first_ms, .max_ms = 600000, .factor = 2},
    });
}

static void rig_fini(struct rig *r)
{
    r->calling = true;
    discovery_driver_dispose(&r->discovery_driver);
    client_probe_fini(&r->on);
    server_stop(&r->server);
    for (int i = 0; i < STEPS; i++)
        buf_free(&r->texts[i]);
    for (int i = 0; i < WANTS; i++)
        resource_fini(&r->who[i].found);
}

static void resolve(struct rig *r, int who, const char *name)
{
    static const struct discovery_driver_events events = {on_found, on_missing};
    struct resource want;

    assert_int_equal(resource_parse(name, &want, NULL), ERR_OK);
    bool was = r->calling;
    r->calling = true;
    discovery_driver_resolve(r->discovery_driver, &want, &events, &r->who[who]);
    r->calling = was;
    resource_fini(&want);
}

/* Runs the loop until so many more events have come. */
static void run(struct rig *r, unsigned events)
{
    r->until = r->events + events;
    loop_run(r->on.loop);
}

static void assert_asked(const struct rig *r, const char *targets)
{
    struct buf all = {0};

    for (unsigned i = 0; i < server_requests(r->server); i++) {
        const char *head = server_request(r->server, i) + strlen("GET /pre");

        buf_append_str(&all, str_of(head, strcspn(head, " ")));
        buf_putc(&all, ' ');
    }
    assert_string_equal(buf_cstr(&all), targets);
    buf_free(&all);
}

static void test_many_wants_share_one_discovery(void **state)
{
    struct rig r;

    (void)state;
    rig_init(&r);
    answer_round(&r, WIDGETS);
    rig_start(&r, RETRY_MS);
    for (int i = 0; i < WANTS; i++)
        resolve(&r, i, i % 2 == 0 ? "wd" : "gadgets.zeta.io");
    run(&r, WANTS);
    for (int i = 0; i < WANTS; i++) {
        assert_string_equal(r.who[i].found.plural, i % 2 == 0 ? "widgets" : "gadgets");
        assert_int_equal(r.who[i].found.scope,
                         i % 2 == 0 ? RESOURCE_NAMESPACED : RESOURCE_CLUSTER_SCOPED);
        assert_int_equal(r.who[i].missing, 0);
    }
    assert_asked(&r, "/api /apis ");
    assert_non_null(strstr(server_request(r.server, 0), "as=APIGroupDiscoveryList"));
    rig_fini(&r);
}

static void test_known_resources_are_not_asked_for_again(void **state)
{
    struct rig r;

    (void)state;
    rig_init(&r);
    answer_round(&r, WIDGETS);
    rig_start(&r, 600000);
    resolve(&r, 0, "wd");
    run(&r, 1);
    resolve(&r, 1, "Gadget");
    run(&r, 1);
    assert_string_equal(r.who[1].found.kind, "Gadget");
    assert_asked(&r, "/api /apis ");
    rig_fini(&r);
}

/* A CRD that is installed later is found for each name that waits. */
static void test_a_late_resource_is_found(void **state)
{
    struct rig r;

    (void)state;
    rig_init(&r);
    answer_round(&r, OTHERS);
    answer_round(&r, OTHERS);
    answer_round(&r, WIDGETS);
    rig_start(&r, RETRY_MS);
    resolve(&r, 0, "widgets");
    resolve(&r, 1, "others");
    run(&r, 2);
    assert_string_equal(r.who[1].found.plural, "others");
    assert_int_equal(r.who[0].err.kind, ERR_NOT_FOUND);
    assert_in_range(r.who[0].retry_ms, RETRY_MS / 2, RETRY_MS);
    play_clock_pass(RETRY_MS);
    run(&r, 1);
    assert_int_equal(r.who[0].missing, 2);
    assert_in_range(r.who[0].retry_ms, RETRY_MS + 1, 2 * RETRY_MS);
    play_clock_pass((uint64_t)2 * RETRY_MS);
    run(&r, 1);
    assert_string_equal(r.who[0].found.plural, "widgets");
    assert_asked(&r, "/api /apis /api /apis /api /apis ");
    rig_fini(&r);
}

/* The backoff ends when there are other credentials, but rounds stay apart. */
static void test_other_credentials_end_the_backoff(void **state)
{
    struct rig r;

    (void)state;
    rig_init(&r);
    answer_round(&r, OTHERS);
    answer_round(&r, OTHERS);
    answer_round(&r, WIDGETS);
    rig_start(&r, RETRY_MS);
    discovery_driver_reauthenticate(r.discovery_driver); /* nothing is wanted yet */
    resolve(&r, 0, "widgets");
    run(&r, 1);
    play_clock_pass(RETRY_MS);
    run(&r, 1);
    assert_in_range(r.who[0].retry_ms, RETRY_MS + 1, 2 * RETRY_MS);
    discovery_driver_reauthenticate(r.discovery_driver);
    loop_turns(r.on.loop, TURNS);
    assert_asked(&r, "/api /apis /api /apis ");
    play_clock_pass(RETRY_MS);
    run(&r, 1);
    assert_string_equal(r.who[0].found.plural, "widgets");
    rig_fini(&r);
}

/* A new name makes the driver ask again soon, not only when the backoff of another name ends. */
static void test_an_unknown_name_asks_again(void **state)
{
    struct rig r;

    (void)state;
    rig_init(&r);
    answer_round(&r, OTHERS);
    answer_round(&r, WIDGETS);
    rig_start(&r, RETRY_MS);
    resolve(&r, 0, "others");
    run(&r, 1);
    resolve(&r, 1, "widgets");
    loop_turns(r.on.loop, TURNS);
    assert_asked(&r, "/api /apis "); /* soon, not at once */
    play_clock_pass(RETRY_MS);
    run(&r, 1);
    assert_string_equal(r.who[1].found.plural, "widgets");
    assert_int_equal(r.who[1].missing, 0);
    assert_asked(&r, "/api /apis /api /apis ");
    rig_fini(&r);
}

static void test_refresh_asks_again(void **state)
{
    struct rig r;

    (void)state;
    rig_init(&r);
    answer_round(&r, WIDGETS);
    answer_round(&r, "@v2\nzeta.io v2 widgets Widget Cluster\n");
    rig_start(&r, RETRY_MS);
    resolve(&r, 0, "widgets");
    run(&r, 1);
    assert_string_equal(r.who[0].found.version, "v1");
    discovery_driver_refresh(r.discovery_driver);
    resolve(&r, 1, "widgets");
    play_clock_pass(RETRY_MS);
    run(&r, 1);
    assert_string_equal(r.who[1].found.version, "v2");
    assert_int_equal(r.who[1].found.scope, RESOURCE_CLUSTER_SCOPED);
    rig_fini(&r);
}

static void test_a_forgotten_want_gets_no_callback(void **state)
{
    struct rig r;

    (void)state;
    rig_init(&r);
    answer_round(&r, WIDGETS);
    rig_start(&r, RETRY_MS);
    resolve(&r, 0, "widgets");
    resolve(&r, 1, "widgets");
    resolve(&r, 2, "gadgets");
    resolve(&r, 2, "widgets"); /* the second want takes the place of the first */
    discovery_driver_forget(r.discovery_driver, &r.who[0]);
    discovery_driver_forget(r.discovery_driver, &r.who[7]);
    run(&r, 2);
    assert_null(r.who[0].found.plural);
    assert_string_equal(r.who[1].found.plural, "widgets");
    assert_string_equal(r.who[2].found.plural, "widgets");
    rig_fini(&r);
}

static void forget_all(struct who *w)
{
    for (int i = 0; i < WANTS; i++)
        discovery_driver_forget(w->of->discovery_driver, &w->of->who[i]);
    loop_stop(w->of->on.loop);
}

static void dispose(struct who *w)
{
    discovery_driver_dispose(&w->of->discovery_driver);
    loop_stop(w->of->on.loop);
}

static void look_for_gadgets(struct who *w)
{
    discovery_driver_refresh(w->of->discovery_driver);
    resolve(w->of, 1, "gadgets");
}

/* A callback may forget every want, or dispose the driver: no other callback comes then. */
static void test_callbacks_may_do_anything(void **state)
{
    void (*const then[])(struct who *) = {forget_all, dispose};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(then); i++) {
        for (int missing = 0; missing < 2; missing++) {
            struct rig r;

            rig_init(&r);
            answer_round(&r, missing ? OTHERS : WIDGETS);
            rig_start(&r, 600000);
            for (int k = 0; k < WANTS; k++)
                resolve(&r, k, "widgets");
            r.who[0].then = then[i];
            run(&r, WANTS);
            assert_int_equal(r.events, 1);
            rig_fini(&r);
        }
    }
}

static void test_a_refresh_between_two_callbacks(void **state)
{
    struct rig r;

    (void)state;
    rig_init(&r);
    answer_round(&r, WIDGETS);
    answer_round(&r, WIDGETS);
    rig_start(&r, RETRY_MS);
    r.who[0].then = look_for_gadgets;
    resolve(&r, 0, "widgets");
    resolve(&r, 2, "widgets");
    run(&r, 1);
    loop_turns(r.on.loop, TURNS);
    play_clock_pass(RETRY_MS);
    run(&r, 3 - r.events);
    assert_string_equal(r.who[1].found.plural, "gadgets");
    assert_string_equal(r.who[2].found.plural, "widgets");
    assert_int_equal(r.who[2].missing, 0);
    assert_asked(&r, "/api /apis /api /apis ");
    rig_fini(&r);
}

static void test_a_server_that_is_lost(void **state)
{
    struct rig r;

    (void)state;
    rig_init(&r);
    step(&r, SERVER_READ);
    step(&r, SERVER_CLOSE);
    rig_start(&r, 600000);
    resolve(&r, 0, "widgets.v1.zeta.io");
    run(&r, 1);
    assert_int_equal(r.who[0].err.kind, ERR_CLOSED);
    assert_non_null(strstr(r.who[0].err.text, "cannot be looked up: GET /api: "));
    assert_in_range(r.who[0].retry_ms, 300000, 600000);
    rig_fini(&r);
}

static void test_a_server_that_refuses(void **state)
{
    struct rig r;

    (void)state;
    rig_init(&r);
    answer(&r, 401, "{}");
    answer(&r, 401, "{}");
    rig_start(&r, 600000);
    resolve(&r, 0, "widgets.v1.zeta.io");
    resolve(&r, 1, "widgets.zeta.io");
    run(&r, 2);
    assert_string_equal(r.who[0].found.plural, "widgets");
    assert_null(r.who[0].found.kind);
    assert_int_equal(r.who[0].found.scope, RESOURCE_SCOPE_UNKNOWN);
    assert_int_equal(r.who[1].err.kind, ERR_UNAUTHORIZED);
    rig_fini(&r);
}

/* No server's discovery has more than 16 MiB. */
static void test_a_body_without_end(void **state)
{
    struct rig r;

    (void)state;
    rig_init(&r);
    answer(&r, 200, NO_CORE);
    step(&r, SERVER_READ);
    buf_puts(&r.texts[0], "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
                          "Content-Length: 99999999999\r\n\r\n");
    r.steps[r.n_steps++] = (struct server_step){SERVER_SEND, buf_cstr(&r.texts[0])};
    for (int i = 0; i < 20; i++) /* 1 MiB each */
        r.steps[r.n_steps++] = (struct server_step){SERVER_FLOOD, "                "};
    rig_start(&r, 600000);
    resolve(&r, 0, "widgets");
    run(&r, 1);
    assert_int_equal(r.who[0].err.kind, ERR_TOO_BIG);
    assert_non_null(strstr(r.who[0].err.text, "GET /apis: the answer is larger than 16777216"));
    rig_fini(&r);
}

static void test_the_version_is_asked_once(void **state)
{
    struct rig r;

    (void)state;
    rig_init(&r);
    answer(&r, 500, "{}");
    answer(&r, 200, "{\"major\":\"1\",\"minor\":\"34+\"}");
    rig_start(&r, RETRY_MS);
    for (int i = 0; i < 3; i++) {
        r.calling = true;
        discovery_driver_version(r.discovery_driver, on_version, &r);
        r.calling = false;
        loop_run(r.on.loop);
        assert_int_equal(r.versions, i + 1);
        assert_int_equal(r.version.major, i == 0 ? 0 : 1);
        assert_int_equal(r.version.minor, i == 0 ? 0 : 34);
    }
    assert_asked(&r, "/version /version ");
    /* the driver is disposed: no callback comes */
    discovery_driver_version(r.discovery_driver, on_version, &r);
    rig_fini(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_many_wants_share_one_discovery),
        cmocka_unit_test(test_known_resources_are_not_asked_for_again),
        cmocka_unit_test(test_a_late_resource_is_found),
        cmocka_unit_test(test_other_credentials_end_the_backoff),
        cmocka_unit_test(test_an_unknown_name_asks_again),
        cmocka_unit_test(test_refresh_asks_again),
        cmocka_unit_test(test_a_forgotten_want_gets_no_callback),
        cmocka_unit_test(test_callbacks_may_do_anything),
        cmocka_unit_test(test_a_refresh_between_two_callbacks),
        cmocka_unit_test(test_a_server_that_is_lost),
        cmocka_unit_test(test_a_server_that_refuses),
        cmocka_unit_test(test_a_body_without_end),
        cmocka_unit_test(test_the_version_is_asked_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
