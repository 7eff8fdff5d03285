/* SPDX-License-Identifier: Apache-2.0 */
/* app/cluster_runtime on the loopback: the cluster is identified first, and watches with restored
 * objects wait for that. */
#include "app/cluster_runtime.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "cache/watch.h"
#include "campaign.h"
#include "io/loop.h"
#include "loop_until.h"
#include "objects.h"
#include "play_clock.h"
#include "server.h"

/* The timeout is an hour, so that a slow machine cannot make one of these requests fail. */
enum { WATCHES = 2, TIMEOUT_MS = 3600000, SLOWNESS = 20, SECOND_MS = 1000 };

#define HEAD(status) \
    "HTTP/1.1 " status "\r\nContent-Type: application/json\r\nConnection: close\r\n"
#define NAMESPACE \
    HEAD("200 OK") "\r\n{\"items\":[{\"metadata\":{\"name\":\"kube-system\",\"uid\":\"u-1\"}}]}"
#define TROUBLE HEAD("500 Oops") "Content-Length: 0\r\n\r\n"

/* Scripts of connections, of all requests in their order. */
static const struct server_step tells[] = SERVER_SAYS(NAMESPACE, SERVER_CLOSE);
static const struct server_step fails[] = SERVER_SAYS(TROUBLE, SERVER_CLOSE);
struct rig {
    struct loop *loop;
    struct server *server;
    struct cluster_runtime *cluster_runtime;
    struct watch *watches[WATCHES];
    char uid[CLUSTER_IDENTITY_UID_MAX + 1];
    int identified;
    unsigned requests_then; /* how many requests had come when the cluster was identified */
    const char *until;      /* the loop stops after a request for this path */
    bool stop;              /* the loop stops when the cluster is identified */
    int ready;              /* how often it was said that requests can be made */
};

/* How many requests were for this path. */
static unsigned asked(const struct rig *r, const char *path)
{
    char *line = mem_printf("GET %s", path);
    unsigned n = 0;

    for (unsigned i = 0; i < server_requests(r->server); i++)
        n += strncmp(server_request(r->server, i), line, strlen(line)) == 0;
    free(line);
    return n;
}

/* Runs after each list, which fails. */
static void on_progress(void *arg)
{
    const struct rig *r = arg;

    if (r->until != NULL && asked(r, r->until) > 0)
        loop_stop(r->loop);
}

static void on_credentials(void *arg, const struct err *err)
{
    struct rig *r = arg;

    assert_null(err); /* plain http */
    assert_non_null(cluster_runtime_discovery(r->cluster_runtime));
    assert_non_null(cluster_runtime_client(r->cluster_runtime));
    r->ready++;
}

static bool judge(void *arg, const struct cluster_identity *id, struct err *err)
{
    struct rig *r = arg;

    (void)err;
    r->identified++;
    r->requests_then = server_requests(r->server);
    memcpy(r->uid, id->uid, sizeof(r->uid));
    assert_int_equal(id->authorities.n, 0); /* plain http */
    for (size_t i = 0; i < WATCHES && !r->stop; i++)
        cluster_runtime_follow(r->cluster_runtime, r->watches[i]);
    if (r->stop)
        loop_stop(r->loop);
    return true;
}

static struct watch *make_watch(const char *resource)
{
    struct watch_params p = objects_patient_watch_params(resource);
    struct watch *w = NULL;

    p.name = resource;
    p.reflector.backoff = (struct backoff_params){1, 4, 2, 0};
    assert_int_equal(watch_create(&p, &w, NULL), ERR_OK);
    return w;
}

static struct conf_cluster conf;
static struct cluster_server server_to;
static struct cluster_access cluster_access_to = {.servers = &server_to, .server_count = 1};
static char name[] = "prod";

static void set_conf(void)
{
    conf = (struct conf_cluster){.name.v = name};
    conf.tuning = (struct conf_tuning){
        .connect_timeout.v = TIMEOUT_MS,
        .tls_timeout.v = TIMEOUT_MS,
        .response_timeout.v = TIMEOUT_MS,
        .list_idle_timeout.v = TIMEOUT_MS,
        .bookmark_timeout.v = TIMEOUT_MS,
        .page_size.v = 500,
        .list_concurrency.v = 4,
        .backoff = {.initial.v = 1, .max.v = 4, .factor.v = 2, .reset_after.v = 120000},
    };
}

/* Watches 0 (services) and 1 (configmaps) of a server with these scripts. */
static void set_up(struct rig *r, const struct server_step *const *scripts)
{
    static const struct cluster_runtime_events events = {on_progress, on_credentials};

    alarm(PATIENCE_S);
    play_clock_slow(SLOWNESS);
    *r = (struct rig){.loop = loop_create()};
    r->server = server_start(&(struct server_params){.scripts = scripts});
    char *url = mem_printf("http://127.0.0.1:%u", server_port(r->server));
    set_conf();
    server_to = (struct cluster_server){.address = url, .tls_server_name = ""};
    assert_int_equal(url_parse(url, &server_to.url, NULL), ERR_OK);
    const struct cluster_runtime_params p = {
        .loop = r->loop, .conf = &conf, .cluster_access = &cluster_access_to, .user_agent = "test"};
    r->cluster_runtime = cluster_runtime_create(&p, &events, r);
    r->watches[0] = make_watch("services");
    r->watches[1] = make_watch("configmaps");
    for (size_t i = 0; i < WATCHES; i++)
        cluster_runtime_add(r->cluster_runtime, r->watches[i], 0);
}

static void tear_down(struct rig *r)
{
    cluster_runtime_dispose(&r->cluster_runtime);
    loop_destroy(&r->loop); /* panics if a handle is left */
    for (size_t i = 0; i < WATCHES; i++)
        watch_destroy(&r->watches[i]);
    server_stop(&r->server);
    url_fini(&server_to.url);
    free(server_to.address);
    alarm(0);
    play_clock_go();
}

#define SCRIPTS(...) SERVER_SCRIPTS(__VA_ARGS__, fails)
#define SERVICES     "/api/v1/services?"
#define CONFIGMAPS   "/api/v1/configmaps?"

static void run_until(struct rig *r, const char *path)
{
    r->until = path;
    loop_run(r->loop);
    assert_true(asked(r, path) > 0);
}

/* Both watches wait until the identity of the cluster is known. */
static void identify_before_watching(struct rig *r)
{
    cluster_runtime_identify(r->cluster_runtime, judge, r);
    for (size_t i = 0; i < WATCHES; i++)
        cluster_runtime_hold_back(r->cluster_runtime, r->watches[i]);
}

static void test_watches_with_restored_objects_wait(void **state)
{
    struct rig r;

    (void)state;
    set_up(&r, SCRIPTS(fails, fails, tells));
    identify_before_watching(&r);
    while (r.identified == 0) { /* the runtime asks once a second at most */
        play_clock_pass(SECOND_MS);
        loop_turns(r.loop, 10);
    }
    run_until(&r, SERVICES);
    run_until(&r, CONFIGMAPS);
    assert_int_equal(r.identified, 1);
    assert_string_equal(r.uid, "u-1");
    assert_int_equal(r.requests_then, 3);
    assert_int_equal(asked(&r, CLUSTER_IDENTITY_TARGET), 3);
    tear_down(&r);
}

static void test_other_watches_do_not_wait(void **state)
{
    struct rig r;

    (void)state;
    set_up(&r, SCRIPTS(fails));
    cluster_runtime_identify(r.cluster_runtime, judge, &r);
    cluster_runtime_hold_back(r.cluster_runtime, r.watches[0]);
    run_until(&r, CONFIGMAPS);
    run_until(&r, CLUSTER_IDENTITY_TARGET);
    assert_true(cluster_runtime_poke(
        r.cluster_runtime,
        r.watches[0])); /* the watch belongs to this runtime, though it cannot act yet */
    assert_true(cluster_runtime_verify(r.cluster_runtime, r.watches[0]));
    assert_int_equal(asked(&r, SERVICES), 0);
    assert_int_equal(r.identified, 0);
    tear_down(&r);
}

static void test_without_restored_objects_no_identity_is_asked_for(void **state)
{
    struct rig r;

    (void)state;
    set_up(&r, SCRIPTS(fails));
    assert_null(cluster_runtime_discovery(r.cluster_runtime));
    run_until(&r, SERVICES);
    run_until(&r, CONFIGMAPS);
    assert_int_equal(asked(&r, CLUSTER_IDENTITY_TARGET), 0);
    assert_int_equal(r.ready, 1);
    tear_down(&r);
}

static void test_watches_that_do_not_wait_list_before_the_identity_is_asked_for(void **state)
{
    struct rig r;

    (void)state;
    set_up(&r, SCRIPTS(fails));
    cluster_runtime_identify(r.cluster_runtime, judge, &r);
    run_until(&r, SERVICES);
    run_until(&r, CONFIGMAPS);
    assert_int_equal(asked(&r, CLUSTER_IDENTITY_TARGET), 0); /* no watch has synced */
    tear_down(&r);
}

static void test_the_identity_callback_may_stop_the_daemon(void **state)
{
    struct rig r;

    (void)state;
    set_up(&r, SCRIPTS(tells));
    r.stop = true;
    identify_before_watching(&r);
    loop_run(r.loop);
    assert_int_equal(r.identified, 1);
    assert_int_equal(server_requests(r.server), 1);
    tear_down(&r);
}

/* The daemon stops while another cluster answers, which the runtime would ask again now and
 * then. */
static void test_a_stopped_runtime_does_not_ask_again(void **state)
{
    struct rig r;

    (void)state;
    set_up(&r, SCRIPTS(tells));
    r.stop = true;
    identify_before_watching(&r);
    loop_run(r.loop);
    cluster_runtime_stop(r.cluster_runtime);
    cluster_runtime_identify_again(r.cluster_runtime);
    tear_down(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_watches_with_restored_objects_wait),
        cmocka_unit_test(test_other_watches_do_not_wait),
        cmocka_unit_test(test_without_restored_objects_no_identity_is_asked_for),
        cmocka_unit_test(test_watches_that_do_not_wait_list_before_the_identity_is_asked_for),
        cmocka_unit_test(test_the_identity_callback_may_stop_the_daemon),
        cmocka_unit_test(test_a_stopped_runtime_does_not_ask_again),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
