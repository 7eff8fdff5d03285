/* SPDX-License-Identifier: Apache-2.0 */
/* app/cluster_runtime on the loopback while it runs: watches come and go, and the way to the cluster
 * becomes another one. */
#include "app/cluster_runtime.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/wire.h"
#include "cache/audit.h"
#include "cache/watch.h"
#include "campaign.h"
#include "io/helper_link.h"
#include "io/loop.h"
#include "io_probe.h"
#include "loop_until.h"
#include "objects.h"
#include "play_clock.h"
#include "server.h"
#include "silent_link.h"

/* Timeouts and pauses last an hour, so that a slow machine cannot make a request fail, and a failed
 * request is not tried again by itself. */
enum {
    HOUR_MS = 3600000,
    SLOWNESS = 20,
    WATCHES = 3,
    TAGS = CLUSTER_RUNTIME_TAGS,
    LATER_TAGS = 2 * TAGS
};

#define JSON(length) \
    "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: " length "\r\n\r\n"
#define META(name, rv)                                   \
    "\"metadata\":{\"namespace\":\"a\",\"name\":\"" name \
    "\",\"uid\":\"u1\",\"resourceVersion\":\"" rv "\"}"
#define LIST                                                           \
    JSON("162")                                                        \
    "{\"kind\":\"ConfigMapList\",\"apiVersion\":\"v1\",\"metadata\":{" \
    "\"resourceVersion\":\"9\"},\"items\":[{" META("x", "1") "}]}"
#define EVENT(name, rv)                                                                   \
    "{\"type\":\"ADDED\",\"object\":{\"kind\":\"ConfigMap\",\"apiVersion\":\"v1\"," META( \
        name, rv) "}}\n"
#define NAMESPACE(uid) \
    JSON("59") "{\"items\":[{\"metadata\":{\"name\":\"kube-system\",\"uid\":\"" uid "\"}}]}"

/* Answers the question which cluster it is. */
#define TELLS(uid)                                                                  \
    {SERVER_READ, NULL}, {SERVER_IF, "kube-system"}, {SERVER_SEND, NAMESPACE(uid)}, \
        {SERVER_AGAIN, NULL},                                                       \
    {                                                                               \
        SERVER_ELSE, NULL                                                           \
    }
/* Answers a watch with these events at once, and one more when the test lets it. */
#define WATCHES_THEN(events, more)                                                        \
    {SERVER_IF, "watch=true"}, {SERVER_SEND, SERVER_OK_HEAD events}, {SERVER_WAIT, NULL}, \
        {SERVER_SEND, more}, {SERVER_HOLD, NULL},                                         \
    {                                                                                     \
        SERVER_ELSE, NULL                                                                 \
    }

/* Scripts of servers, the same for each connection. */
static const struct server_step first[] = {
    TELLS("u-1"),
    WATCHES_THEN(EVENT("y", "10"), EVENT("late", "12")),
    {SERVER_SEND,  LIST},
    {SERVER_AGAIN, NULL}
};
static const struct server_step second[] = {
    TELLS("u-1"),
    WATCHES_THEN(EVENT("z", "11"), EVENT("later", "13")),
    {SERVER_SEND,  LIST},
    {SERVER_AGAIN, NULL}
};
static const struct server_step foreign[] = {
    TELLS("u-2"),
    WATCHES_THEN(EVENT("wrong", "11"), EVENT("wrong", "12")),
    {SERVER_SEND,  LIST},
    {SERVER_AGAIN, NULL}
};
static const struct server_step mute[] = {
    TELLS("u-1"), {SERVER_HOLD, NULL}
};
static const struct server_step broken[] = {
    TELLS("u-1"), {SERVER_SEND,  SERVER_EMPTY("500 Oops")},
     {SERVER_CLOSE, NULL                    }
};

struct rig {
    struct loop *loop;
    struct io_tls *tls;
    struct helper_link *link;
    int far; /* the helper's end of link */
    struct cluster_runtime *runtime;
    struct server *servers[3];
    struct watch *watches[WATCHES];
    struct buf deltas[WATCHES];
    int refused;         /* answers of another cluster */
    int identified;      /* all answers */
    const char *text;    /* for has_read() */
    size_t watch;        /* for has_read() and is_connected() */
    struct server *from; /* for has_asked() */
    const char *what;
    unsigned times;
    struct wire_request_image asked_for; /* the last request to the helper */
};

static struct conf_cluster conf;
static struct cluster_server server_to;
static struct cluster_access access_to = {.servers = &server_to, .server_count = 1};
static char name[] = "prod";

/* ---- The events so far */

/* How many requests of a server have this text in their heads. */
static unsigned asked(struct server *s, const char *text)
{
    unsigned n = 0;

    for (unsigned i = 0; i < server_requests(s); i++)
        n += strstr(server_request(s, i), text) != NULL;
    return n;
}

/* How many requests of watches without a selector came: LISTs, or all. */
static unsigned plain(struct server *s, bool lists)
{
    unsigned n = 0;

    for (unsigned i = 0; i < server_requests(s); i++) {
        const char *head = server_request(s, i);

        n += strstr(head, "/configmaps?") != NULL && strstr(head, "labelSelector") == NULL &&
             !(lists && strstr(head, "watch=true") != NULL);
    }
    return n;
}

static bool has_asked(void *arg)
{
    const struct rig *r = arg;

    return asked(r->from, r->what) >= r->times;
}

static void until_asked(struct rig *r, struct server *s, const char *text, unsigned times)
{
    r->from = s;
    r->what = text;
    r->times = times;
    loop_until(r->loop, has_asked, r);
}

static bool has_read(void *arg)
{
    struct rig *r = arg;

    return strstr(buf_cstr(&r->deltas[r->watch]), r->text) != NULL;
}

static void until_read(struct rig *r, size_t watch, const char *text)
{
    r->watch = watch;
    r->text = text;
    loop_until(r->loop, has_read, r);
}

static bool has_failed(void *arg)
{
    const struct rig *r = arg;

    return watch_status(r->watches[r->watch], loop_now_ms(r->loop)).err->kind != ERR_OK;
}

static void until_failed(struct rig *r, size_t watch)
{
    r->watch = watch;
    loop_until(r->loop, has_failed, r);
}

static bool has_refused(void *arg)
{
    const struct rig *r = arg;

    return r->refused > 0;
}

/* ---- Set-up. */

static void on_progress(void *arg)
{
    (void)arg;
}

static bool judge(void *arg, const struct cluster_identity *id, struct err *err)
{
    struct rig *r = arg;

    r->identified++;
    if (strcmp(id->uid, "u-1") == 0)
        return true;
    r->refused++;
    err_set(err, ERR_FOREIGN, 0, "another cluster answers");
    return false;
}

static void on_delta(void *arg, struct source from, const struct delta *d)
{
    struct buf *deltas = arg;

    (void)from;
    buf_printf(deltas, "%s %.*s;", delta_type_name(d->type), STR_ARG(object_key(d->object)));
}

/* A watch of ConfigMaps. The tests tell its requests from others by the selector. */
static void make_watch(struct rig *r, size_t i, const char *label)
{
    static const struct subscriber events = {.on_delta = on_delta};
    struct watch_params p = objects_patient_watch_params("configmaps");

    p.label_selector = label;
    p.reflector.watch_list = WATCH_LIST_OFF;
    assert_int_equal(watch_create(&p, &r->watches[i], NULL), ERR_OK);
    watch_subscribe(r->watches[i], &events, &r->deltas[i]);
}

static void set_conf(void)
{
    conf = (struct conf_cluster){.name.v = name};
    conf.tuning = (struct conf_tuning){
        .connect_timeout.v = HOUR_MS,
        .tls_timeout.v = HOUR_MS,
        .response_timeout.v = HOUR_MS,
        .list_idle_timeout.v = HOUR_MS,
        .bookmark_timeout.v = HOUR_MS,
        .page_size.v = 500,
        .list_concurrency.v = 4,
        .backoff = {.initial.v = HOUR_MS,
                    .max.v = HOUR_MS,
                    .factor.v = 2,
                    .reset_after.v = HOUR_MS},
    };
}

/* The configuration has this server and this token from now on; NULL = the file 7 has the token. */
static void use(const struct rig *r, size_t server, const char *token)
{
    url_fini(&server_to.url);
    free(server_to.address);
    server_to = (struct cluster_server){
        .address = mem_printf("https://127.0.0.1:%u", server_port(r->servers[server])),
        .tls_server_name = "api.test",
        .items[CRED_CA] = {.data = r->tls->ca.cert_pem},
        .items[CRED_TOKEN] = {.data = token}};
    if (token == NULL)
        server_to.items[CRED_TOKEN] = (struct cred_source){.path = "/token", .file = 7};
    assert_int_equal(url_parse(server_to.address, &server_to.url, NULL), ERR_OK);
}

static struct cluster_runtime_params params(const struct rig *r, uint64_t tag)
{
    return (struct cluster_runtime_params){.loop = r->loop,
                                           .link = r->link,
                                           .conf = &conf,
                                           .cluster_access = &access_to,
                                           .user_agent = "test",
                                           .tag = tag};
}

static void change(const struct rig *r, uint64_t tag)
{
    const struct cluster_runtime_params p = params(r, tag);

    cluster_runtime_change(r->runtime, &p);
}

/* A loop, a helper that never answers by itself, and servers with these scripts for all of their
 * connections. */
static void set_up(struct rig *r, struct io_tls *tls, const struct server_step *const *scripts)
{
    alarm(PATIENCE_S);
    play_clock_slow(SLOWNESS);
    *r = (struct rig){.loop = loop_create()};
    r->link = silent_link_create(r->loop, &r->far);
    for (size_t i = 0; scripts[i] != NULL; i++)
        r->servers[i] = server_start_two(scripts[i], NULL, &tls->server);
    set_conf();
    r->tls = tls;
    use(r, 0, "old");
}

static void begin(struct rig *r)
{
    static const struct cluster_runtime_events events = {.on_progress = on_progress};
    const struct cluster_runtime_params p = params(r, 0);

    r->runtime = cluster_runtime_create(&p, &events, r);
    cluster_runtime_identify(r->runtime, judge, r);
}

/* A cluster whose watch 0 (configmaps) follows the first server. */
static void begin_with_watch(struct rig *r)
{
    begin(r);
    make_watch(r, 0, "");
    cluster_runtime_add(r->runtime, r->watches[0], 0);
    until_read(r, 0, "a/y");
}

static void set_up_running(struct rig *r, struct io_tls *tls,
                           const struct server_step *const *scripts)
{
    set_up(r, tls, scripts);
    begin_with_watch(r);
}

static void tear_down(struct rig *r)
{
    cluster_runtime_dispose(&r->runtime);
    helper_link_dispose(&r->link);
    loop_destroy(&r->loop); /* panics if a handle is left */
    close(r->far);
    for (size_t i = 0; i < WATCHES; i++) {
        watch_destroy(&r->watches[i]);
        buf_free(&r->deltas[i]);
    }
    for (size_t i = 0; i < ARRAY_LEN(r->servers); i++)
        if (r->servers[i] != NULL)
            server_stop(&r->servers[i]);
    url_fini(&server_to.url);
    free(server_to.address);
    server_to = (struct cluster_server){0};
    alarm(0);
    play_clock_go();
}

/* ---- Watches come and go. */

static void expect_undisturbed(struct rig *r)
{
    unsigned requests = plain(r->servers[0], false);

    assert_int_equal(requests, 2); /* the LIST and the WATCH of the begin */
    assert_true(list_watch_status(watch_list_watch(r->watches[0], 0)).connected);
}

static void test_a_watch_can_be_added_while_another_one_runs(void **state)
{
    struct rig r;

    set_up_running(&r, *state, SERVER_SCRIPTS(first));
    make_watch(&r, 1, "role=b");
    cluster_runtime_add(r.runtime, r.watches[1], 0);
    until_read(&r, 1, "a/y");
    assert_int_equal(asked(r.servers[0], "labelSelector"), 2);
    expect_undisturbed(&r);
    tear_down(&r);
}

static void test_a_watch_can_be_added_before_the_credentials_are_there(void **state)
{
    struct rig r;

    set_up(&r, *state, SERVER_SCRIPTS(first));
    begin_with_watch(&r);
    expect_undisturbed(&r);
    tear_down(&r);
}

static void test_other_watches_do_not_notice_that_one_is_removed(void **state)
{
    struct rig r;

    set_up(&r, *state, SERVER_SCRIPTS(first));
    begin(&r);
    make_watch(&r, 1, "role=b");
    cluster_runtime_add(r.runtime, r.watches[1], HOUR_MS);
    make_watch(&r, 0, "");
    cluster_runtime_add(r.runtime, r.watches[0], HOUR_MS);
    until_read(&r, 0, "a/y");
    until_read(&r, 1, "a/y");
    cluster_runtime_remove(r.runtime, r.watches[1]);
    assert_false(cluster_runtime_poke(r.runtime, r.watches[1]));
    watch_destroy(&r.watches[1]);
    server_go(r.servers[0]);
    server_go(r.servers[0]); /* the one of the stream that has ended may come first */
    until_read(&r, 0, "a/late");
    expect_undisturbed(&r);
    assert_true(cluster_runtime_poke(r.runtime, r.watches[0]));
    tear_down(&r);
}

static void test_a_watch_can_be_removed_during_its_list(void **state)
{
    struct rig r;

    set_up(&r, *state, SERVER_SCRIPTS(mute));
    begin(&r);
    make_watch(&r, 0, "");
    cluster_runtime_add(r.runtime, r.watches[0], 0);
    until_asked(&r, r.servers[0], "/configmaps?", 1);
    cluster_runtime_remove(r.runtime, r.watches[0]);
    watch_destroy(&r.watches[0]);
    loop_turns(r.loop, 5);
    tear_down(&r);
}

static void test_a_watch_can_be_removed_during_its_backoff(void **state)
{
    struct rig r;

    set_up(&r, *state, SERVER_SCRIPTS(broken));
    begin(&r);
    make_watch(&r, 0, "");
    cluster_runtime_add(r.runtime, r.watches[0], 0);
    until_failed(&r, 0);
    cluster_runtime_remove(r.runtime, r.watches[0]);
    watch_destroy(&r.watches[0]);
    play_clock_pass(2 * (uint64_t)HOUR_MS);
    loop_turns(r.loop, 5);
    assert_int_equal(plain(r.servers[0], false), 1);
    tear_down(&r);
}

static void test_a_watch_can_be_removed_while_it_is_held_back(void **state)
{
    struct rig r;

    set_up(&r, *state, SERVER_SCRIPTS(first));
    begin(&r);
    make_watch(&r, 0, "");
    cluster_runtime_add(r.runtime, r.watches[0], 0);
    cluster_runtime_hold_back(r.runtime, r.watches[0]);
    until_asked(&r, r.servers[0], "kube-system", 1);
    cluster_runtime_remove(r.runtime, r.watches[0]);
    watch_destroy(&r.watches[0]);
    loop_turns(r.loop, 20);
    assert_int_equal(plain(r.servers[0], false), 0);
    tear_down(&r);
}

static void test_a_watch_that_is_added_can_be_held_back(void **state)
{
    struct rig r;

    set_up_running(&r, *state, SERVER_SCRIPTS(first));
    unsigned questions = asked(r.servers[0], "kube-system");
    make_watch(&r, 1, "role=b");
    cluster_runtime_add(r.runtime, r.watches[1], 0);
    cluster_runtime_hold_back(r.runtime, r.watches[1]);
    play_clock_pass(1000); /* a server is asked once a second */
    until_asked(&r, r.servers[0], "kube-system", questions + 1);
    loop_turns(r.loop, 20);
    assert_int_equal(asked(r.servers[0], "labelSelector"), 0);
    cluster_runtime_follow(r.runtime, r.watches[1]);
    until_read(&r, 1, "a/y");
    expect_undisturbed(&r);
    tear_down(&r);
}

/* Watch 1 takes the place of watch 0, with its objects. */
static void replace(struct rig *r)
{
    make_watch(r, 1, "");
    watch_inherit(r->watches[1], r->watches[0],
                  (struct now){.ms = loop_now_ms(r->loop), .wall_ns = loop_wall_ns()});
    cluster_runtime_replace(r->runtime, r->watches[0], r->watches[1], 0);
    watch_destroy(&r->watches[0]);
}

static void test_a_watch_that_replaces_another_one_resumes_without_a_list(void **state)
{
    struct rig r;

    set_up_running(&r, *state, SERVER_SCRIPTS(first));
    replace(&r);
    until_asked(&r, r.servers[0], "watch=true", 2);
    assert_int_equal(plain(r.servers[0], true), 1);
    assert_int_equal(asked(r.servers[0], "resourceVersion=10"), 1);
    tear_down(&r);
}

static void test_a_watch_that_replaces_a_held_back_one_is_held_back(void **state)
{
    struct rig r;

    set_up(&r, *state, SERVER_SCRIPTS(first));
    begin(&r);
    make_watch(&r, 0, "");
    cluster_runtime_add(r.runtime, r.watches[0], 0);
    cluster_runtime_hold_back(r.runtime, r.watches[0]);
    until_asked(&r, r.servers[0], "kube-system", 1);
    make_watch(&r, 1, "role=b");
    cluster_runtime_replace(r.runtime, r.watches[0], r.watches[1], 0);
    loop_turns(r.loop, 20);
    assert_int_equal(asked(r.servers[0], "labelSelector"), 0);
    cluster_runtime_follow(r.runtime, r.watches[1]);
    until_read(&r, 1, "a/x");
    tear_down(&r);
}

static void test_another_interval_of_audits_counts_at_once(void **state)
{
    struct rig r;

    set_up_running(&r, *state, SERVER_SCRIPTS(first));
    cluster_runtime_set_audit(r.runtime, r.watches[0], HOUR_MS / 60);
    loop_turns(r.loop, 2);
    play_clock_pass(HOUR_MS / 30);
    until_asked(&r, r.servers[0], "/configmaps?", 3);
    assert_int_equal(plain(r.servers[0], true), 2);
    tear_down(&r);
}

/* ---- Another way to the cluster. */

static void test_open_watches_move_to_other_servers_without_a_list(void **state)
{
    struct rig r;

    set_up_running(&r, *state, SERVER_SCRIPTS(first, second));
    use(&r, 1, "old");
    change(&r, TAGS);
    until_read(&r, 0, "a/z");
    server_go(r.servers[1]);
    until_read(&r, 0, "a/later");
    assert_string_equal(buf_cstr(&r.deltas[0]), "ADDED a/x;ADDED a/y;ADDED a/z;ADDED a/later;");
    assert_int_equal(plain(r.servers[1], true), 0);
    assert_int_equal(asked(r.servers[1], "resourceVersion=10"), 1);
    assert_int_equal(plain(r.servers[0], false), 2);
    assert_string_equal(cluster_runtime_servers(r.runtime)->v[0].name, server_to.address);
    tear_down(&r);
}

static void test_servers_are_asked_for_their_cluster_before_anything_else(void **state)
{
    static const struct server_step slow[] = {
        {SERVER_READ,  NULL            },
        {SERVER_IF,    "kube-system"   },
        {SERVER_WAIT,  NULL            },
        {SERVER_SEND,  NAMESPACE("u-1")},
        {SERVER_AGAIN, NULL            },
        {SERVER_ELSE,  NULL            },
        WATCHES_THEN(EVENT("z", "11"), EVENT("later", "13")),
        {SERVER_SEND,  LIST            },
        {SERVER_AGAIN, NULL            }
    };
    struct rig r;

    set_up_running(&r, *state, SERVER_SCRIPTS(first, slow));
    use(&r, 1, "old");
    change(&r, TAGS);
    until_asked(&r, r.servers[1], "kube-system", 1);
    make_watch(&r, 1, "role=b");
    cluster_runtime_add(r.runtime, r.watches[1], 0);
    loop_turns(r.loop, 50);
    assert_int_equal(server_requests(r.servers[1]), 1);
    server_go(r.servers[1]);
    until_asked(&r, r.servers[1], "labelSelector", 1);
    tear_down(&r);
}

static void test_another_cluster_behind_the_new_servers_is_refused(void **state)
{
    struct rig r;

    set_up_running(&r, *state, SERVER_SCRIPTS(first, foreign));
    use(&r, 1, "old");
    change(&r, TAGS);
    loop_until(r.loop, has_refused, &r);
    server_go(r.servers[0]);
    until_read(&r, 0, "a/late"); /* the old stream goes on */
    assert_int_equal(plain(r.servers[1], false), 0);
    assert_string_equal(buf_cstr(&r.deltas[0]), "ADDED a/x;ADDED a/y;ADDED a/late;");
    tear_down(&r);
}

static void test_a_scope_that_waits_tries_the_new_servers_at_once(void **state)
{
    struct rig r;

    set_up(&r, *state, SERVER_SCRIPTS(broken, second));
    begin(&r);
    make_watch(&r, 0, "");
    cluster_runtime_add(r.runtime, r.watches[0], 0);
    until_failed(&r, 0);
    use(&r, 1, "old");
    change(&r, TAGS);
    until_read(&r, 0, "a/z");
    tear_down(&r);
}

/* The LIST is of the old server; the requests after it go to the new one. */
static void test_a_list_under_way_ends_where_it_began(void **state)
{
    static const struct server_step slow[] = {
        TELLS("u-1"), {SERVER_WAIT,  NULL},
         {SERVER_SEND,  LIST},
         {SERVER_AGAIN, NULL}
    };
    struct rig r;

    set_up(&r, *state, SERVER_SCRIPTS(slow, second));
    begin(&r);
    make_watch(&r, 0, "");
    cluster_runtime_add(r.runtime, r.watches[0], 0);
    until_asked(&r, r.servers[0], "/configmaps?", 1);
    use(&r, 1, "old");
    change(&r, TAGS);
    until_asked(&r, r.servers[1], "kube-system", 1);
    server_go(r.servers[0]);
    until_read(&r, 0, "a/z");
    assert_int_equal(plain(r.servers[1], true), 0);
    assert_int_equal(asked(r.servers[0], "watch=true"), 0);
    tear_down(&r);
}

static void test_equal_settings_change_nothing(void **state)
{
    struct rig r;

    set_up_running(&r, *state, SERVER_SCRIPTS(first));
    unsigned requests = server_requests(r.servers[0]);
    use(&r, 0, "old");
    change(&r, TAGS);
    loop_turns(r.loop, 20);
    assert_int_equal(server_requests(r.servers[0]), requests);
    tear_down(&r);
}

static void test_before_the_credentials_are_there_the_new_settings_count_at_once(void **state)
{
    struct rig r;

    set_up(&r, *state, SERVER_SCRIPTS(first, second));
    begin(&r);
    make_watch(&r, 0, "");
    cluster_runtime_add(r.runtime, r.watches[0], 0);
    use(&r, 1, "old");
    change(&r, TAGS);
    until_read(&r, 0, "a/z");
    assert_int_equal(server_accepted(r.servers[0]), 0);
    tear_down(&r);
}

/* ---- Credentials. */

static void test_a_watch_moves_to_another_token_without_a_list(void **state)
{
    struct rig r;

    set_up_running(&r, *state, SERVER_SCRIPTS(first, second));
    use(&r, 1, "new");
    change(&r, TAGS);
    until_read(&r, 0, "a/z");
    assert_string_equal(buf_cstr(&r.deltas[0]), "ADDED a/x;ADDED a/y;ADDED a/z;");
    assert_int_equal(plain(r.servers[1], true), 0);
    assert_int_equal(asked(r.servers[0], "Bearer new"), 0);
    assert_int_equal(asked(r.servers[1], "Bearer old"), 0);
    assert_true(asked(r.servers[1], "Bearer new") > 0);
    tear_down(&r);
}

static bool has_trouble(void *arg)
{
    const struct rig *r = arg;

    for (size_t i = 0; i < cluster_runtime_login_count(r->runtime); i++)
        if (cluster_runtime_credential_trouble(r->runtime, i) != NULL)
            return true;
    return false;
}

static void test_credentials_that_cannot_be_used_leave_the_old_ones(void **state)
{
    struct rig r;

    set_up_running(&r, *state, SERVER_SCRIPTS(first, second));
    use(&r, 1, "two words");
    change(&r, TAGS);
    loop_until(r.loop, has_trouble, &r);
    assert_int_equal(cluster_runtime_login_count(r.runtime), 2);
    assert_null(cluster_runtime_credential_trouble(r.runtime, 0));
    assert_non_null(strstr(cluster_runtime_credential_trouble(r.runtime, 1), "white space"));
    assert_non_null(cluster_runtime_expiry(r.runtime, 1));
    make_watch(&r, 1, "role=b");
    cluster_runtime_add(r.runtime, r.watches[1], 0);
    until_read(&r, 1, "a/y");
    expect_undisturbed(&r);
    assert_int_equal(server_accepted(r.servers[1]), 0);
    use(&r, 1, "new"); /* the next reload mends it */
    change(&r, LATER_TAGS);
    until_read(&r, 0, "a/z");
    assert_int_equal(cluster_runtime_login_count(r.runtime), 1);
    assert_false(has_trouble(&r));
    tear_down(&r);
}

/* The second change waits for a file when the third one comes. */
static void test_the_newest_change_wins(void **state)
{
    struct rig r;

    set_up_running(&r, *state, SERVER_SCRIPTS(first, second, second));
    use(&r, 1, NULL);
    change(&r, TAGS);
    loop_turns(r.loop, 5);
    use(&r, 2, "newest");
    change(&r, LATER_TAGS);
    assert_false(cluster_runtime_opened(r.runtime, TAGS + CRED_TOKEN, -1, ENOENT));
    until_read(&r, 0, "a/z");
    assert_true(asked(r.servers[2], "Bearer newest") > 0);
    assert_int_equal(server_accepted(r.servers[1]), 0);
    tear_down(&r);
}

/* Has the helper been asked for a file? */
static bool has_opened(void *arg)
{
    struct rig *r = arg;

    return recv(r->far, &r->asked_for, sizeof(r->asked_for), MSG_DONTWAIT) > 0;
}

/* The helper gives the token that it was asked for first. */
static void give(const struct rig *r, const char *token)
{
    int ends[2];

    assert_int_equal(pipe(ends), 0);
    assert_int_equal(write(ends[1], token, strlen(token)), strlen(token));
    close(ends[1]);
    assert_true(cluster_runtime_opened(r->runtime, TAGS + CRED_TOKEN, ends[0], 0));
}

static void test_files_are_awaited_under_their_tags(void **state)
{
    struct rig r;

    set_up_running(&r, *state, SERVER_SCRIPTS(first, second));
    use(&r, 1, NULL);
    change(&r, TAGS);
    loop_until(r.loop, has_opened, &r);
    assert_int_equal(r.asked_for.number, 7);
    assert_int_equal(r.asked_for.id, TAGS + CRED_TOKEN);
    assert_false(cluster_runtime_opened(r.runtime, LATER_TAGS + CRED_TOKEN, -1, ENOENT));
    /* The next reload has the same settings, and another number of the file. */
    server_to.items[CRED_TOKEN].file = 8;
    change(&r, LATER_TAGS);
    give(&r, "new\n");
    until_read(&r, 0, "a/z");
    assert_true(asked(r.servers[1], "Bearer new") > 0);
    /* The helper says once after its commit that each file may have changed. */
    unsigned requests = server_requests(r.servers[1]);
    cluster_runtime_changed(r.runtime, 7);
    cluster_runtime_changed(r.runtime, 8);
    loop_until(r.loop, has_opened, &r);
    assert_int_equal(r.asked_for.number, 8);
    give(&r, "new\n");
    loop_turns(r.loop, 20);
    assert_int_equal(server_requests(r.servers[1]), requests);
    tear_down(&r);
}

static void test_a_cluster_that_changes_can_be_disposed(void **state)
{
    struct rig r;

    set_up_running(&r, *state, SERVER_SCRIPTS(first, second, second));
    use(&r, 1, "new");
    change(&r, TAGS); /* its credentials are not there yet */
    tear_down(&r);
    set_up_running(&r, *state, SERVER_SCRIPTS(first, second, mute));
    use(&r, 1, "new");
    change(&r, TAGS);
    until_asked(&r, r.servers[1], "kube-system", 1); /* the old stream goes on still */
    use(&r, 2, "newest");
    change(&r, LATER_TAGS);
    tear_down(&r);
}

static void test_a_stopped_cluster_is_not_changed(void **state)
{
    struct rig r;

    set_up_running(&r, *state, SERVER_SCRIPTS(first, second));
    cluster_runtime_stop(r.runtime);
    use(&r, 1, "old");
    change(&r, TAGS);
    loop_turns(r.loop, 20);
    assert_int_equal(server_accepted(r.servers[1]), 0);
    tear_down(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_watch_can_be_added_while_another_one_runs),
        cmocka_unit_test(test_a_watch_can_be_added_before_the_credentials_are_there),
        cmocka_unit_test(test_other_watches_do_not_notice_that_one_is_removed),
        cmocka_unit_test(test_a_watch_can_be_removed_during_its_list),
        cmocka_unit_test(test_a_watch_can_be_removed_during_its_backoff),
        cmocka_unit_test(test_a_watch_can_be_removed_while_it_is_held_back),
        cmocka_unit_test(test_a_watch_that_is_added_can_be_held_back),
        cmocka_unit_test(test_a_watch_that_replaces_another_one_resumes_without_a_list),
        cmocka_unit_test(test_a_watch_that_replaces_a_held_back_one_is_held_back),
        cmocka_unit_test(test_another_interval_of_audits_counts_at_once),
        cmocka_unit_test(test_open_watches_move_to_other_servers_without_a_list),
        cmocka_unit_test(test_servers_are_asked_for_their_cluster_before_anything_else),
        cmocka_unit_test(test_another_cluster_behind_the_new_servers_is_refused),
        cmocka_unit_test(test_a_scope_that_waits_tries_the_new_servers_at_once),
        cmocka_unit_test(test_a_list_under_way_ends_where_it_began),
        cmocka_unit_test(test_equal_settings_change_nothing),
        cmocka_unit_test(test_before_the_credentials_are_there_the_new_settings_count_at_once),
        cmocka_unit_test(test_a_watch_moves_to_another_token_without_a_list),
        cmocka_unit_test(test_credentials_that_cannot_be_used_leave_the_old_ones),
        cmocka_unit_test(test_the_newest_change_wins),
        cmocka_unit_test(test_files_are_awaited_under_their_tags),
        cmocka_unit_test(test_a_cluster_that_changes_can_be_disposed),
        cmocka_unit_test(test_a_stopped_cluster_is_not_changed),
    };

    return cmocka_run_group_tests(tests, io_tls_set_up, io_tls_clean_up);
}
