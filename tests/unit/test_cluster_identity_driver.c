/* SPDX-License-Identifier: Apache-2.0 */
/* io/cluster_identity_driver on the loopback: its request, which answers are final, when it asks
 * again. */
#include "io/cluster_identity_driver.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "io/api_client.h"
#include "io/loop.h"
#include "io/server_identity.h"
#include "loop_until.h"
#include "play_clock.h"
#include "request_probe.h"
#include "server.h"

#define HEAD(status) \
    "HTTP/1.1 " status "\r\nContent-Type: application/json\r\nConnection: close\r\n"
#define BODY                                                                                 \
    "{\"kind\":\"NamespaceList\",\"metadata\":{},\"items\":[{\"metadata\":{\"name\":\"kube-" \
    "system\","                                                                              \
    "\"uid\":\"u-1\"}}]}"

static const struct server_step good[] = SERVER_SAYS(SERVER_OK_HEAD BODY, SERVER_CLOSE);
static const struct server_step nameless[] =
    SERVER_SAYS(SERVER_OK_HEAD "{\"metadata\":{}}", SERVER_CLOSE);
static const struct server_step forbidden[] =
    SERVER_SAYS(SERVER_EMPTY("403 Forbidden"), SERVER_CLOSE);
static const struct server_step missing[] =
    SERVER_SAYS(SERVER_EMPTY("404 Not Found"), SERVER_CLOSE);
static const struct server_step odd[] =
    SERVER_SAYS(SERVER_EMPTY("406 Not Acceptable"), SERVER_CLOSE);
static const struct server_step unauthorized[] =
    SERVER_SAYS(SERVER_EMPTY("401 Unauthorized"), SERVER_CLOSE);
static const struct server_step broken[] = SERVER_SAYS(SERVER_EMPTY("500 Oops"), SERVER_CLOSE);
static const struct server_step busy[] = SERVER_SAYS(
    "HTTP/1.1 429 Busy\r\nRetry-After: 100\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
    SERVER_CLOSE);
static const struct server_step no_json[] = SERVER_SAYS(SERVER_OK_HEAD "<html>", SERVER_CLOSE);
static const struct server_step cut[] = SERVER_SAYS(
    HEAD("200 OK") "Content-Length: 1000\r\n\r\n{\"metadata\":{\"uid\":\"u-0\"", SERVER_CLOSE);
static const struct server_step closes[] = {
    {SERVER_READ,  NULL},
    {SERVER_RESET, NULL}
};
static const struct server_step hold[] = {
    {SERVER_READ, NULL},
    {SERVER_HOLD, NULL}
};
static const struct server_step flood[] = {
    {SERVER_READ,  NULL          },
    {SERVER_SEND,  SERVER_OK_HEAD},
    {SERVER_FLOOD, "[1,2,3] "    },
    {SERVER_FLOOD, "[1,2,3] "    },
    {SERVER_FLOOD, "[1,2,3] "    },
    {SERVER_FLOOD, "[1,2,3] "    },
    {SERVER_FLOOD, "[1,2,3] "    },
    {SERVER_FLOOD, "[1,2,3] "    },
    {SERVER_FLOOD, "[1,2,3] "    },
    {SERVER_FLOOD, "[1,2,3] "    },
    {SERVER_FLOOD, "[1,2,3] "    },
    {SERVER_CLOSE, NULL          }
};

/* The Retry-After of a busy server. */
enum { BUSY_MS = 100000, TURNS = 20, NEVER_MS = 3600000 };

/* Less than the time after which a server that does not answer counts as one without an
 * identity. */
enum { SOME_MS = 2000 };

struct rig {
    struct client_probe on;
    unsigned requests; /* for has_asked_again() */
    struct server *server;
    struct cluster_identity_driver *cluster_identity_driver;
    int identified;
    int unauthorized;
    bool dispose_unauthorized;
    struct cluster_identity id;
    bool foreign; /* judge() knows another cluster */
    unsigned judged;
};

static bool judge(void *arg, const struct cluster_identity_answer *answer, int status,
                  struct err *err)
{
    struct rig *r = arg;

    r->judged++;
    r->id = answer->id;
    assert_true(status != 200 || answer->id.uid[0] != '\0' || r->id.uid[0] == '\0');
    if (r->foreign)
        err_set(err, ERR_FOREIGN, 0, "another one");
    return !r->foreign;
}

static void on_answered(void *arg)
{
    struct rig *r = arg;

    r->identified++;
    assert_int_equal(r->judged, 1);
    cluster_identity_driver_dispose(&r->cluster_identity_driver);
    loop_stop(r->on.loop);
}

static void on_unauthorized(void *arg)
{
    struct rig *r = arg;

    r->unauthorized++;
    if (!r->dispose_unauthorized)
        return;
    cluster_identity_driver_dispose(&r->cluster_identity_driver);
    loop_stop(r->on.loop);
}

static const struct cluster_identity_driver_events rig_events = {on_answered, on_unauthorized};

static bool has_asked_again(void *arg)
{
    const struct rig *r = arg;

    return r->identified > 0 || server_requests(r->server) > r->requests;
}

static bool knows_it_is_busy(void *arg)
{
    const struct rig *r = arg;
    const char *trouble = cluster_identity_driver_trouble(r->cluster_identity_driver);

    return trouble != NULL && strstr(trouble, "429") != NULL;
}

static void run_until(struct rig *r, bool (*is_true)(void *arg))
{
    loop_until(r->on.loop, is_true, r);
}

/* Asks, and after failures waits for retry_ms or a little longer. */
static void begin(struct rig *r, uint64_t retry_ms)
{
    const struct cluster_identity_driver_params p = {
        .is_awaited = true,
        .loop = r->on.loop,
        .client = r->on.client,
        .retry = {.initial_ms = retry_ms, .max_ms = 4 * retry_ms, .factor = 2, .jitter = 0},
    };

    r->cluster_identity_driver = cluster_identity_driver_create(&p, &rig_events, r);
}

static void set_up_judge(struct rig *r, const struct server_step *const *scripts, bool foreign)
{
    char url[64];

    *r = (struct rig){.id.uid = "nobody", .foreign = foreign};
    r->server = server_start(&(struct server_params){.scripts = scripts});
    client_probe_init(&r->on, "http", server_port(r->server), 1);
    api_client_dispose(&r->on.client);
    r->on.params.judge = judge;
    r->on.params.judge_arg = r;
    (void)snprintf(url, sizeof(url), "http://127.0.0.1:%u/pre", (unsigned)server_port(r->server));
    client_probe_make(&r->on, url);
    begin(r, 1);
}

static void set_up(struct rig *r, const struct server_step *const *scripts)
{
    set_up_judge(r, scripts, false);
}

static void tear_down(struct rig *r)
{
    cluster_identity_driver_dispose(&r->cluster_identity_driver);
    client_probe_fini(&r->on); /* fails if a handle leaked */
    server_stop(&r->server);
}

/* The scripts are the answers, one connection each, and end with the final one. */
static void expect(const struct server_step *const *scripts, unsigned requests, const char *uid)
{
    struct rig r;

    set_up(&r, scripts);
    loop_run(r.on.loop);
    assert_int_equal(r.identified, 1);
    assert_string_equal(r.id.uid, uid);
    assert_int_equal(r.id.authorities.n, 0);
    assert_int_equal(server_requests(r.server), requests);
    tear_down(&r);
}

static void test_the_request(void **state)
{
    struct rig r;

    (void)state;
    set_up(&r, SERVER_SCRIPTS(good));
    loop_run(r.on.loop);
    const char *head = server_request(r.server, 0);
    static const char line[] = "GET /pre" CLUSTER_IDENTITY_TARGET " HTTP/1.1\r\n";
    assert_int_equal(strncmp(head, line, strlen(line)), 0);
    assert_non_null(strstr(head, "as=PartialObjectMetadataList;g=meta.k8s.io"));
    tear_down(&r);
}

static void test_final_answers(void **state)
{
    (void)state;
    expect(SERVER_SCRIPTS(good), 1, "u-1");
    expect(SERVER_SCRIPTS(nameless), 1, "");
    expect(SERVER_SCRIPTS(forbidden), 1, "");
    expect(SERVER_SCRIPTS(missing), 1, "");
    expect(SERVER_SCRIPTS(odd), 1, "");
}

static void test_other_answers_are_not_final(void **state)
{
    (void)state;
    expect(SERVER_SCRIPTS(broken, good), 2, "u-1");
    expect(SERVER_SCRIPTS(no_json, good), 2, "u-1");
    expect(SERVER_SCRIPTS(cut, broken, cut, good), 4, "u-1");
    expect(SERVER_SCRIPTS(closes, closes, forbidden), 3, "");
    expect(SERVER_SCRIPTS(flood, good), 2, "u-1");
}

/* Such a server has no identity for good: a proxy in front of it may let only watches pass. */
static void test_a_server_that_never_answers_has_no_identity(void **state)
{
    static const struct server_step *const failing[] = {broken, no_json, cut, closes, flood};

    (void)state;
    for (size_t i = 0; i < sizeof(failing) / sizeof(failing[0]); i++) {
        struct rig r;

        set_up(&r, SERVER_SCRIPTS(failing[i]));
        r.requests = 1;
        run_until(&r, has_asked_again);
        while (r.identified == 0) {
            play_clock_pass(SOME_MS);
            r.requests = server_requests(r.server);
            run_until(&r, has_asked_again);
        }
        assert_int_equal(r.identified, 1);
        assert_string_equal(r.id.uid, "");
        tear_down(&r);
    }
}

/* The driver goes on asking: such answers do not say which cluster it is. */
static void test_busy_and_unauthorized_are_waited_for(void **state)
{
    struct rig r;

    (void)state;
    set_up(&r, SERVER_SCRIPTS(unauthorized, unauthorized, unauthorized, good));
    loop_run(r.on.loop);
    assert_string_equal(r.id.uid, "u-1");
    tear_down(&r);
    set_up(&r, SERVER_SCRIPTS(broken, busy, broken, good));
    run_until(&r, knows_it_is_busy);
    play_clock_pass(BUSY_MS);
    loop_run(r.on.loop);
    assert_string_equal(r.id.uid, "u-1");
    tear_down(&r);
}

static void test_another_cluster_is_an_answer(void **state)
{
    struct rig r;

    (void)state;
    set_up_judge(&r, SERVER_SCRIPTS(good), true);
    loop_run(r.on.loop);
    assert_int_equal(r.identified, 1);
    assert_string_equal(r.id.uid, "u-1");
    tear_down(&r);
}

static void test_unauthorized(void **state)
{
    struct rig r;

    (void)state;
    set_up(&r, SERVER_SCRIPTS(unauthorized, unauthorized, good));
    loop_run(r.on.loop);
    assert_int_equal(r.unauthorized, 2);
    assert_string_equal(r.id.uid, "u-1");
    tear_down(&r);
    set_up(&r, SERVER_SCRIPTS(unauthorized));
    r.dispose_unauthorized = true;
    loop_run(r.on.loop);
    assert_int_equal(r.unauthorized, 1);
    assert_int_equal(r.identified, 0);
    tear_down(&r);
}

static bool is_unauthorized(void *arg)
{
    const struct rig *r = arg;

    return r->unauthorized > 0;
}

static bool is_broken(void *arg)
{
    const struct rig *r = arg;

    return cluster_identity_driver_trouble(r->cluster_identity_driver) != NULL;
}

/* Other credentials end the wait after a 401, and after no other failure. */
static void test_other_credentials(void **state)
{
    struct rig r;

    (void)state;
    set_up(&r, SERVER_SCRIPTS(unauthorized, good));
    cluster_identity_driver_dispose(&r.cluster_identity_driver);
    begin(&r, NEVER_MS);
    cluster_identity_driver_reauthenticate(r.cluster_identity_driver); /* it asks already */
    run_until(&r, is_unauthorized);
    cluster_identity_driver_reauthenticate(r.cluster_identity_driver);
    loop_run(r.on.loop);
    assert_string_equal(r.id.uid, "u-1");
    assert_int_equal(server_requests(r.server), 2);
    tear_down(&r);
    set_up(&r, SERVER_SCRIPTS(broken, good));
    cluster_identity_driver_dispose(&r.cluster_identity_driver);
    begin(&r, NEVER_MS);
    run_until(&r, is_broken);
    cluster_identity_driver_reauthenticate(r.cluster_identity_driver);
    loop_turns(r.on.loop, TURNS);
    assert_int_equal(server_requests(r.server), 1);
    tear_down(&r);
}

/* Retry-After of the server counts, not the backoff of the driver. */
static void test_patience(void **state)
{
    struct rig r;

    (void)state;
    set_up(&r, SERVER_SCRIPTS(busy, good));
    run_until(&r, knows_it_is_busy);
    play_clock_stop();
    play_clock_pass(BUSY_MS / 2);
    loop_turns(r.on.loop, TURNS);
    assert_int_equal(server_requests(r.server), 1);
    play_clock_go();
    play_clock_pass(BUSY_MS);
    loop_run(r.on.loop);
    assert_string_equal(r.id.uid, "u-1");
    tear_down(&r);
}

static void test_disposed_while_it_waits(void **state)
{
    struct rig r;

    (void)state;
    set_up(&r, SERVER_SCRIPTS(hold));
    tear_down(&r);
    set_up(&r, SERVER_SCRIPTS(good));
    r.on.calling = true;
    tear_down(&r);
    assert_int_equal(r.identified, 0);
}

/* A fleet that starts at the same time does not ask at the same time. */
static void test_the_jitter_of_the_start_comes_first(void **state)
{
    struct rig r;

    (void)state;
    set_up(&r, SERVER_SCRIPTS(good));
    cluster_identity_driver_dispose(&r.cluster_identity_driver);
    const struct cluster_identity_driver_params p = {
        .loop = r.on.loop, .client = r.on.client, .start_jitter_ms = 3600000, .seed = 1};
    r.cluster_identity_driver = cluster_identity_driver_create(&p, &rig_events, &r);
    loop_turns(r.on.loop, TURNS);
    assert_int_equal(r.identified, 0);
    assert_int_equal(server_requests(r.server), 0);
    play_clock_pass(p.start_jitter_ms);
    loop_run(r.on.loop);
    assert_int_equal(r.identified, 1);
    tear_down(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_request),
        cmocka_unit_test(test_final_answers),
        cmocka_unit_test(test_other_answers_are_not_final),
        cmocka_unit_test(test_a_server_that_never_answers_has_no_identity),
        cmocka_unit_test(test_busy_and_unauthorized_are_waited_for),
        cmocka_unit_test(test_another_cluster_is_an_answer),
        cmocka_unit_test(test_unauthorized),
        cmocka_unit_test(test_other_credentials),
        cmocka_unit_test(test_patience),
        cmocka_unit_test(test_disposed_while_it_waits),
        cmocka_unit_test(test_the_jitter_of_the_start_comes_first),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
