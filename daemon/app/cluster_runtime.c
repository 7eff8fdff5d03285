/* SPDX-License-Identifier: Apache-2.0 */
#include "app/cluster_runtime.h"

#include <stdlib.h>
#include <string.h>

#include "base/base64.h"
#include "base/buf.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/panic.h"
#include "io/api_client.h"
#include "io/cluster_identity_driver.h"
#include "io/cred.h"
#include "io/deadline.h"
#include "io/discovery_driver.h"
#include "io/loop.h"
#include "io/renewals.h"
#include "io/server_identity.h"
#include "io/watch_driver.h"
#include "proto/tls.h"

/* From Kubernetes 1.34 on servers can stream lists without a feature gate
 * (docs/kubernetes-protocol.md "Streaming lists"). */
enum { STREAM_MAJOR = 1, STREAM_MINOR = 34 };

/* Reading credentials takes some ms. */
enum { LATECOMERS_MS = 1000 };

_Static_assert((int)CONF_SERVERS_MAX <= (int)SERVERS_MAX, "each configured server has a place");

/* A watch of this cluster. */
struct followed {
    struct watch *watch;
    uint64_t audit_ms;
    bool held_back; /* waits until the cluster has said which one it is */
    /* NULL until the credentials are there, and while the watch is held back */
    struct watch_driver *watch_driver;
};

/* The credentials of servers that have the same ones. */
struct login {
    struct cluster_runtime *of;
    const struct cluster_server *like; /* one of these servers */
    uint64_t servers;                  /* these servers, as a set */
    struct cred *cred;
    bool is_ready;       /* all that is configured is there */
    struct tls_ctx *ctx; /* counted; until is_ready, then NULL */
};

struct cluster_runtime {
    struct cluster_runtime_params params;
    struct api_client *client;
    struct login *logins;
    size_t n_logins;
    struct renewals *renewals;
    struct discovery_driver *discovery_driver; /* NULL until the credentials are there */
    struct deadline *ask_version;
    struct deadline *latecomers; /* LATECOMERS_MS for the credentials of other servers */
    /* NULL: no question is under way, apart from those on connections of watches. */
    struct cluster_identity_driver *cluster_identity_driver;
    cluster_runtime_judge_cb *judge; /* NULL = all answers are good */
    void *judge_arg;
    int said; /* status of the last answer; 0: servers did not answer; -1: none was asked yet */
    bool can_stream; /* servers are known to stream lists */
    bool stopped;
    struct followed *v;
    size_t n;
    const struct cluster_runtime_events *events;
    void *arg;
};

static struct backoff_params retry_params(const struct conf_backoff *b)
{
    return (struct backoff_params){.initial_ms = b->initial.v,
                                   .max_ms = b->max.v,
                                   .factor = b->factor.v,
                                   .jitter = b->jitter.v};
}

/* A server has answered 401: the token may have expired, and a newer one may be in its file. */
static void on_unauthorized(void *arg)
{
    struct cluster_runtime *s = arg;

    for (size_t i = 0; i < s->n_logins; i++)
        cred_renew(s->logins[i].cred);
    s->events->on_progress(s->arg);
}

/* Logs that the server does not tell the uid of its cluster. The line comes once for each new
 * status, not for each connection. */
static void tell_secret(struct cluster_runtime *s, const char *why, int status)
{
    if (s->said == status)
        return;
    s->said = status;
    log_emit(status == 0 ? LOG_LVL_WARN : LOG_LVL_INFO, why,
             LOG_FIELDS(KV_STR("cluster", s->params.conf->name.v),
                        status > 0 ? KV_INT("status", status) : (struct kv){.type = KV_TYPE_NONE}));
}

/* Logs why the uid is not known. The cluster is then known by its CA at most. A person can mend
 * this where a right is missing. */
static void tell_answer(struct cluster_runtime *s, const struct cluster_identity_answer *answer,
                        int status)
{
    if (status == 0)
        tell_secret(s,
                    "cluster identity unknown: the LIST of namespace kube-system fails, the "
                    "cluster is identified by its CA at most",
                    status);
    else if (status == 404 || (status == 200 && answer->id.uid[0] == '\0'))
        tell_secret(s,
                    "cluster identity unknown: there is no namespace kube-system, the cluster is "
                    "identified by its CA at most",
                    status);
    else if (status != 200)
        tell_secret(
            s,
            "cluster identity unknown: the LIST of namespace kube-system is refused, the cluster "
            "is identified by its CA at most; informerd --print-rbac prints the missing right",
            status);
    else
        s->said = status;
}

/* A server has answered the question, or failed so long that this counts as an answer (status 0).
 * The CAs come from our credentials, not from the answer: those of all servers, as each of them is of
 * this cluster. */
static bool on_judge(void *arg, const struct cluster_identity_answer *answer, int status,
                     struct err *err)
{
    struct cluster_runtime *s = arg;
    struct cluster_identity id = answer->id;

    tell_answer(s, answer, status);
    if (s->judge == NULL)
        return true;
    for (size_t i = 0; i < s->n_logins; i++)
        tls_keys_add(&id.authorities, cred_authorities(s->logins[i].cred));
    bool good = s->judge(s->judge_arg, &id, err);
    log_debug("cluster identity known", KV_STR("cluster", s->params.conf->name.v),
              KV_STR("uid", id.uid), KV_STR("revision", answer->revision));
    s->events->on_progress(s->arg);
    return good;
}

/* A token goes before a password (docs/kubernetes-protocol.md "Which credential counts"): on_token()
 * replaces it. */
static void set_basic(struct api_client *client, const char *user_password)
{
    struct buf value = {0};

    /* With this room no realloc() leaves a copy in freed memory. */
    (void)!buf_reserve(&value, 2 * strlen(user_password) + 16);
    buf_puts(&value, "Basic ");
    base64_encode(str_c(user_password), &value);
    for (size_t i = 0; i < api_client_servers(client)->n; i++)
        api_client_set_authorization(client, i, buf_cstr(&value));
    mem_wipe(value.data, value.cap);
    buf_free(&value);
}

/* The CAs for the TLS of the proxy; NULL = it has no TLS, or they cannot be used. */
static struct tls_ctx *make_proxy_tls(const struct cluster_access *a)
{
    const struct tls_ctx_params params = {.ca_pem = str_c(a->proxy_ca)};
    struct tls_ctx *ctx = NULL;
    struct err err;

    if (a->proxy_ca != NULL && tls_ctx_create(&params, &ctx, &err) != ERR_OK)
        log_error("the CAs of the system cannot be used: the proxy is not reached", KV_ERR(&err));
    return ctx;
}

/* People forget a proxy that the environment names, and then look for mistakes elsewhere. */
static void tell_proxy(const char *cluster, const struct cluster_server *server)
{
    struct buf to = {0};

    url_put_host(&to, &server->proxy.url);
    log_info("server is reached through a proxy", KV_STR("cluster", cluster),
             KV_STR("server", server->address), KV_STR("proxy", buf_cstr(&to)),
             KV_STR("named_by", server->proxy_named_by));
    buf_free(&to);
}

static struct api_client_server client_server(const struct cluster_server *s)
{
    return (struct api_client_server){.name = s->address,
                                      .url = &s->url,
                                      .proxy = s->proxy.url.host != NULL ? &s->proxy : NULL,
                                      .tls_server_name = s->tls_server_name,
                                      .tier = s->tier};
}

static struct api_client *make_client(struct cluster_runtime *s)
{
    const struct cluster_runtime_params *p = &s->params;
    const struct conf_tuning *t = &p->conf->tuning;
    const struct cluster_access *a = p->cluster_access;
    struct api_client_server servers[SERVERS_MAX];

    ensure(a->server_count >= 1 && a->server_count <= SERVERS_MAX);
    for (size_t i = 0; i < a->server_count; i++) {
        servers[i] = client_server(&a->servers[i]);
        if (servers[i].proxy != NULL)
            tell_proxy(p->conf->name.v, &a->servers[i]);
    }
    struct tls_ctx *proxy_tls = make_proxy_tls(a);
    const struct api_client_params params = {
        .name = p->conf->name.v,
        .servers = servers,
        .server_count = a->server_count,
        .seed = p->seed,
        .proxy_tls = proxy_tls,
        .user_agent = p->user_agent,
        .headers = a->headers,
        .connect_timeout_ms = t->connect_timeout.v,
        .tls_timeout_ms = t->tls_timeout.v,
        .response_timeout_ms = t->response_timeout.v,
        .list_idle_timeout_ms = t->list_idle_timeout.v,
        .list_concurrency = (unsigned)t->list_concurrency.v,
        .gzip = p->cluster_access->gzip,
        .question_interval_ms = SERVER_IDENTITY_INTERVAL_MS,
        .judge = on_judge,
        .judge_arg = s,
    };

    struct api_client *client = api_client_create(p->loop, &params);

    tls_ctx_unref(&proxy_tls); /* the client has its own reference */
    if (a->basic != NULL)
        set_basic(client, a->basic);
    return client;
}

/* The judge has decided. Further questions come from connections of watches, not from this
 * driver. */
static void on_answered(void *arg)
{
    struct cluster_runtime *s = arg;

    cluster_identity_driver_dispose(&s->cluster_identity_driver);
}

static bool any_held_back(const struct cluster_runtime *s)
{
    for (size_t i = 0; i < s->n; i++)
        if (s->v[i].held_back)
            return true;
    return false;
}

/* Asks the servers which cluster they are, with a request of its own. is_awaited: watches wait for
 * the answer, so failures are worth a log line. */
static void identify(struct cluster_runtime *s, uint64_t jitter_ms)
{
    static const struct cluster_identity_driver_events events = {on_answered, on_unauthorized};
    const struct cluster_identity_driver_params p = {
        .loop = s->params.loop,
        .client = s->client,
        .retry = retry_params(&s->params.conf->tuning.backoff),
        .start_jitter_ms = jitter_ms,
        .seed = s->params.seed,
        .is_awaited = any_held_back(s),
    };

    s->cluster_identity_driver = cluster_identity_driver_create(&p, &events, s);
}

static void on_progress(void *arg)
{
    struct cluster_runtime *s = arg;

    s->events->on_progress(s->arg);
}

static void follow(struct cluster_runtime *s, struct followed *f)
{
    static const struct watch_driver_events events = {on_progress, on_unauthorized};
    const struct watch_driver_params p = {
        .loop = s->params.loop,
        .client = s->client,
        .renewals = s->renewals,
        .discovery_driver = s->discovery_driver,
        .watch = f->watch,
        .audit_ms = f->audit_ms,
        .page_size = (unsigned)s->params.conf->tuning.page_size.v,
        /* Watches must not wait for the same random times. */
        .seed = s->params.seed + (uint64_t)(f - s->v),
    };

    f->held_back = false;
    f->watch_driver = watch_driver_create(&p, &events, s);
    watch_driver_can_stream(f->watch_driver, s->can_stream);
}

/* v NULL: there was no good answer, so ask again later. Until then lists are not streamed. */
static void on_version(void *arg, const struct version *v)
{
    struct cluster_runtime *s = arg;
    bool can = v != NULL &&
               (v->major > STREAM_MAJOR || (v->major == STREAM_MAJOR && v->minor >= STREAM_MINOR));

    if (v == NULL)
        deadline_start(s->ask_version, s->params.conf->tuning.backoff.reset_after.v);
    s->can_stream = can;
    for (size_t i = 0; i < s->n; i++)
        if (s->v[i].watch_driver != NULL)
            watch_driver_can_stream(s->v[i].watch_driver, can);
}

/* The version is of use to later lists only
 * (docs/decisions.md "watch_list auto lists first and streams later"), so it is asked for when the
 * first lists are long done. */
static void on_ask_version(void *arg)
{
    struct cluster_runtime *s = arg;

    discovery_driver_version(s->discovery_driver, on_version, s);
}

/* The credentials are there: the watches may begin. Watches that are held back wait for the answer
 * which cluster it is, and that question gets the start jitter in their place. */
static void begin(struct cluster_runtime *s)
{
    if (s->discovery_driver != NULL)
        return;
    s->discovery_driver = discovery_driver_create(&(struct discovery_driver_params){
        .loop = s->params.loop,
        .client = s->client,
        .retry = retry_params(&s->params.conf->tuning.backoff),
        .seed = s->params.seed,
    });
    if (any_held_back(s))
        identify(s, s->params.conf->tuning.start_jitter.v);
    for (size_t i = 0; i < s->n; i++)
        if (!s->v[i].held_back)
            follow(s, &s->v[i]);
    if (s->params.conf->tuning.watch_list.v == CONF_WATCH_LIST_AUTO && s->n > 0)
        deadline_start(s->ask_version, s->params.conf->tuning.backoff.reset_after.v);
    if (s->events->on_credentials != NULL)
        s->events->on_credentials(s->arg, NULL);
}

/* Requests that failed because of the old credentials are tried again at once. Before begin() there
 * are none. */
static void reauthenticate(struct cluster_runtime *s)
{
    if (s->discovery_driver == NULL)
        return;
    if (s->cluster_identity_driver != NULL)
        cluster_identity_driver_reauthenticate(s->cluster_identity_driver);
    discovery_driver_reauthenticate(s->discovery_driver);
    for (size_t i = 0; i < s->n; i++)
        if (s->v[i].watch_driver != NULL)
            watch_driver_reauthenticate(s->v[i].watch_driver);
}

/* Open watches get new connections, and the old ones go on until then. All other requests have the
 * new credentials from their next connection on. */
static void renew(struct cluster_runtime *s)
{
    for (size_t i = 0; i < s->n; i++)
        if (s->v[i].watch_driver != NULL)
            watch_driver_renew(s->v[i].watch_driver);
}

/* ---- Logins. */

static bool is_text(const char *a, const char *b)
{
    return a == b || (a != NULL && b != NULL && strcmp(a, b) == 0);
}

static bool is_same_source(const struct cred_source *a, const struct cred_source *b)
{
    return is_text(a->data, b->data) && is_text(a->path, b->path) && a->file == b->file;
}

/* Do both servers get the same credentials? */
static bool is_alike(const struct cluster_server *a, const struct cluster_server *b)
{
    for (int i = 0; i < CRED_ITEMS; i++)
        if (!is_same_source(&a->items[i], &b->items[i]))
            return false;
    return a->url.tls == b->url.tls && a->insecure == b->insecure;
}

static bool is_of(const struct login *l, size_t server)
{
    return (l->servers >> server & 1) != 0;
}

static void set_tls(const struct login *l, struct tls_ctx *ctx)
{
    struct api_client *client = l->of->client;

    for (size_t i = 0; i < api_client_servers(client)->n; i++)
        if (is_of(l, i))
            api_client_set_tls(client, i, ctx);
}

/* Requests go to the servers of a login when all of its credentials are there: without its token
 * they would be refused. */
static void on_tls(void *arg, struct tls_ctx *ctx)
{
    struct login *l = arg;

    if (l->is_ready) {
        set_tls(l, ctx);
        reauthenticate(l->of);
        renew(l->of);
        return;
    }
    tls_ctx_unref(&l->ctx);
    l->ctx = tls_ctx_ref(ctx);
}

/* The copy made for the header is as secret as the token. */
static void on_token(void *arg, const char *token)
{
    const struct login *l = arg;
    char *value = token != NULL ? mem_printf("Bearer %s", token) : NULL;

    for (size_t i = 0; i < api_client_servers(l->of->client)->n; i++)
        if (is_of(l, i))
            api_client_set_authorization(l->of->client, i, value);
    if (value != NULL)
        mem_wipe(value, strlen(value));
    free(value);
    reauthenticate(l->of);
}

static void on_lack(void *arg, const struct err *err)
{
    const struct login *l = arg;

    if (l->of->events->on_credentials != NULL)
        l->of->events->on_credentials(l->of->arg, err);
}

static void on_latecomers(void *arg)
{
    begin(arg);
}

/* Watches begin when all servers have their credentials, so that the best tier is there; or a
 * moment after the first one has them, as the credentials of another one may be broken. */
static void on_cred_ready(void *arg)
{
    struct login *l = arg;
    struct cluster_runtime *s = l->of;
    bool all = true;

    l->is_ready = true;
    if (l->ctx != NULL)
        set_tls(l, l->ctx);
    tls_ctx_unref(&l->ctx);
    for (size_t i = 0; i < s->n_logins; i++)
        all = all && s->logins[i].is_ready;
    if (s->stopped)
        return;
    if (all)
        begin(s);
    else if (s->discovery_driver == NULL)
        deadline_start(s->latecomers, LATECOMERS_MS);
}

static struct exec_plugin_params plugin_params(const struct cluster_runtime_params *p)
{
    const struct kubeconfig_exec *exec = p->cluster_access->exec;

    if (exec == NULL)
        return (struct exec_plugin_params){0};
    return (struct exec_plugin_params){.loop = p->loop,
                                       .link = p->link,
                                       .hook = p->plugin,
                                       .cluster = p->conf->name.v,
                                       .command = exec->command,
                                       .api_version = exec->api_version,
                                       .install_hint = exec->install_hint};
}

static void add_login(struct cluster_runtime *s, const struct cluster_server *server, size_t i)
{
    static const struct cred_events events = {on_tls, on_token, on_cred_ready, on_lack};
    const struct cluster_runtime_params *p = &s->params;
    struct login *l = &s->logins[s->n_logins];
    struct cred_params cp = {
        .loop = p->loop,
        .link = p->link,
        .cluster = p->conf->name.v,
        .tls = server->url.tls,
        .retry = retry_params(&p->conf->tuning.backoff),
        .seed = p->seed + s->n_logins,
        .tag = p->tag + s->n_logins * CRED_ITEMS,
        .insecure = server->insecure,
        .expiry_ms = p->credential_expiry_ms,
        .plugin = plugin_params(p),
    };

    memcpy(cp.items, server->items, sizeof(cp.items));
    *l = (struct login){.of = s, .like = server, .servers = (uint64_t)1 << i};
    l->cred = cred_create(&cp, &events, l);
    s->n_logins++;
}

static void add_logins(struct cluster_runtime *s)
{
    const struct cluster_access *a = s->params.cluster_access;

    s->logins = mem_array(a->server_count, sizeof(*s->logins));
    for (size_t i = 0; i < a->server_count; i++) {
        size_t k = 0;

        while (k < s->n_logins && !is_alike(s->logins[k].like, &a->servers[i]))
            k++;
        if (k < s->n_logins)
            s->logins[k].servers |= (uint64_t)1 << i;
        else
            add_login(s, &a->servers[i], i);
    }
}

struct cluster_runtime *cluster_runtime_create(const struct cluster_runtime_params *params,
                                               const struct cluster_runtime_events *events,
                                               void *arg)
{
    struct cluster_runtime *s =
        MEM_NEW(struct cluster_runtime, .params = *params, .events = events, .arg = arg);

    s->said = -1;
    s->client = make_client(s);
    s->ask_version = deadline_create(params->loop, on_ask_version, s);
    s->latecomers = deadline_create(params->loop, on_latecomers, s);
    s->renewals = renewals_create(
        &(struct renewals_params){.loop = params->loop,
                                  .cluster = params->conf->name.v,
                                  .retry = retry_params(&params->conf->tuning.backoff),
                                  .seed = params->seed});
    add_logins(s);
    return s;
}

void cluster_runtime_add(struct cluster_runtime *s, struct watch *w, uint64_t audit_ms)
{
    s->v = mem_realloc(s->v, (s->n + 1) * sizeof(*s->v));
    s->v[s->n++] = (struct followed){.watch = w, .audit_ms = audit_ms};
}

void cluster_runtime_identify(struct cluster_runtime *s, cluster_runtime_judge_cb *judge, void *arg)
{
    s->judge = judge;
    s->judge_arg = arg;
}

void cluster_runtime_identify_again(struct cluster_runtime *s)
{
    /* The discovery driver exists as soon as the credentials are there. */
    ensure(s->judge != NULL && (s->discovery_driver != NULL || s->stopped));
    if (s->cluster_identity_driver == NULL && !s->stopped)
        identify(s, 0);
}

const char *cluster_runtime_identity_trouble(const struct cluster_runtime *s)
{
    return s->cluster_identity_driver != NULL
               ? cluster_identity_driver_trouble(s->cluster_identity_driver)
               : NULL;
}

void cluster_runtime_changed(struct cluster_runtime *s, uint32_t file)
{
    for (size_t i = 0; i < s->n_logins; i++)
        cred_changed(s->logins[i].cred, file);
}

void cluster_runtime_opened(struct cluster_runtime *s, uint64_t tag, int fd, int error)
{
    size_t i = (size_t)((tag - s->params.tag) / CRED_ITEMS);

    ensure(i < s->n_logins);
    cred_opened(s->logins[i].cred, tag, fd, error);
}

static struct followed *find(struct cluster_runtime *s, const struct watch *w)
{
    for (size_t i = 0; i < s->n; i++)
        if (s->v[i].watch == w)
            return &s->v[i];
    return NULL;
}

void cluster_runtime_hold_back(struct cluster_runtime *s, const struct watch *w)
{
    struct followed *f = find(s, w);

    ensure(f != NULL && s->judge != NULL);
    f->held_back = true;
}

void cluster_runtime_follow(struct cluster_runtime *s, const struct watch *w)
{
    struct followed *f = find(s, w);

    ensure(f != NULL && s->discovery_driver != NULL);
    if (f->held_back && !s->stopped)
        follow(s, f);
}

bool cluster_runtime_poke(struct cluster_runtime *s, struct watch *w)
{
    struct followed *f = find(s, w);

    if (f != NULL && f->watch_driver != NULL)
        watch_driver_poke(f->watch_driver);
    return f != NULL;
}

void cluster_runtime_retry(struct cluster_runtime *s)
{
    for (size_t i = 0; i < s->n; i++)
        if (s->v[i].watch_driver != NULL)
            watch_driver_retry(s->v[i].watch_driver);
}

bool cluster_runtime_verify(struct cluster_runtime *s, struct watch *w)
{
    struct followed *f = find(s, w);

    if (f != NULL && f->watch_driver != NULL)
        watch_driver_verify(f->watch_driver);
    return f != NULL;
}

const struct servers *cluster_runtime_servers(const struct cluster_runtime *s)
{
    return api_client_servers(s->client);
}

struct api_client *cluster_runtime_client(const struct cluster_runtime *s)
{
    return s->client;
}

struct discovery_driver *cluster_runtime_discovery(const struct cluster_runtime *s)
{
    return s->discovery_driver;
}

uint64_t cluster_runtime_contact_ms(const struct cluster_runtime *s)
{
    return api_client_last_contact_ms(s->client);
}

size_t cluster_runtime_login_count(const struct cluster_runtime *s)
{
    return s->n_logins;
}

const struct expiry *cluster_runtime_expiry(const struct cluster_runtime *s, size_t login)
{
    return cred_expiry(s->logins[login].cred);
}

const char *cluster_runtime_credential_trouble(const struct cluster_runtime *s, size_t login)
{
    return cred_trouble(s->logins[login].cred);
}

/* Order: the drivers of watches ask the discovery driver, so they go first. */
void cluster_runtime_stop(struct cluster_runtime *s)
{
    s->stopped = true;
    deadline_dispose(&s->ask_version);
    deadline_dispose(&s->latecomers);
    cluster_identity_driver_dispose(&s->cluster_identity_driver);
    for (size_t i = 0; i < s->n; i++)
        watch_driver_dispose(&s->v[i].watch_driver);
    discovery_driver_dispose(&s->discovery_driver);
}

void cluster_runtime_dispose(struct cluster_runtime **sp)
{
    struct cluster_runtime *s = *sp;

    if (s == NULL)
        return;
    *sp = NULL;
    /* Requests go before the client whose connections they use. */
    cluster_runtime_stop(s);
    for (size_t i = 0; i < s->n_logins; i++) {
        cred_dispose(&s->logins[i].cred);
        tls_ctx_unref(&s->logins[i].ctx);
    }
    free(s->logins);
    renewals_dispose(&s->renewals);
    api_client_dispose(&s->client);
    free(s->v);
    free(s);
}
