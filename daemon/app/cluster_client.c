/* SPDX-License-Identifier: Apache-2.0 */
#include "app/cluster_client.h"

#include <stdlib.h>
#include <string.h>

#include "app/cluster_settings.h"
#include "base/base64.h"
#include "base/buf.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/panic.h"
#include "io/api_client.h"
#include "io/cred.h"
#include "io/server_identity.h"
#include "kube/servers.h"
#include "proto/tls.h"

_Static_assert((int)CONF_SERVERS_MAX <= (int)SERVERS_MAX, "each configured server has a place");

/* The credentials of servers that have the same ones. */
struct login {
    struct cluster_client *of;
    size_t like;      /* one of these servers */
    uint64_t servers; /* these servers, as a set */
    struct cred *cred;
    bool is_ready;       /* all that is configured is there */
    struct tls_ctx *ctx; /* counted; until is_ready, then NULL */
};

struct cluster_client {
    struct cluster_client_params params;
    struct api_client *api;
    struct login *logins;
    size_t n_logins;             /* 0 after cluster_client_retire() */
    struct tls_keys authorities; /* of the logins, from then on */
    const struct cluster_client_events *events;
    void *arg;
};

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
static struct tls_ctx *make_proxy_tls(const struct cluster_settings *a)
{
    const struct tls_ctx_params params = {.ca_pem = str_c(a->proxy_ca)};
    struct tls_ctx *ctx = NULL;
    struct err err;

    if (a->proxy_ca != NULL && tls_ctx_create(&params, &ctx, &err) != ERR_OK)
        log_error("the CAs of the system cannot be used: the proxy is not reached", KV_ERR(&err));
    return ctx;
}

/* People forget a proxy that the environment names, and then look for mistakes elsewhere. */
static void tell_proxy(const char *cluster, const struct cluster_settings_server *server)
{
    struct buf to = {0};

    url_put_host(&to, &server->proxy.url);
    log_info("server is reached through a proxy", KV_STR("cluster", cluster),
             KV_STR("server", server->address), KV_STR("proxy", buf_cstr(&to)),
             KV_STR("named_by", server->proxy_named_by));
    buf_free(&to);
}

static struct api_client_server client_server(const struct cluster_settings_server *s)
{
    return (struct api_client_server){.name = s->address,
                                      .url = &s->url,
                                      .proxy = s->proxy.url.host != NULL ? &s->proxy : NULL,
                                      .tls_server_name = s->tls_server_name,
                                      .tier = s->tier};
}

static bool on_judge(void *arg, const struct cluster_identity_answer *answer, int status,
                     struct err *err)
{
    struct cluster_client *c = arg;

    return c->events->judge(c->arg, c, answer, status, err);
}

static struct api_client *make_client(struct cluster_client *c)
{
    const struct cluster_settings *a = c->params.settings;
    const struct cluster_settings_tuning *t = &a->tuning;
    struct api_client_server servers[SERVERS_MAX];

    ensure(a->server_count <= SERVERS_MAX);
    for (size_t i = 0; i < a->server_count; i++) {
        servers[i] = client_server(&a->servers[i]);
        if (servers[i].proxy != NULL)
            tell_proxy(a->name, &a->servers[i]);
    }
    struct tls_ctx *proxy_tls = make_proxy_tls(a);
    const struct api_client_params params = {
        .name = a->name,
        .servers = servers,
        .server_count = a->server_count,
        .seed = c->params.seed,
        .proxy_tls = proxy_tls,
        .user_agent = a->user_agent,
        .headers = a->headers,
        .connect_timeout_ms = t->connect_timeout_ms,
        .tls_timeout_ms = t->tls_timeout_ms,
        .response_timeout_ms = t->response_timeout_ms,
        .list_idle_timeout_ms = t->list_idle_timeout_ms,
        .list_concurrency = t->list_concurrency,
        .gzip = a->gzip,
        .question_interval_ms = SERVER_IDENTITY_INTERVAL_MS,
        .is_wary = c->params.is_wary,
        .judge = on_judge,
        .judge_arg = c,
    };
    struct api_client *client = api_client_create(c->params.loop, &params);

    tls_ctx_unref(&proxy_tls); /* the client has its own reference */
    if (a->basic != NULL)
        set_basic(client, a->basic);
    return client;
}

/* ---- Logins. */

static bool is_of(const struct login *l, size_t server)
{
    return (l->servers >> server & 1) != 0;
}

static void set_tls(const struct login *l, struct tls_ctx *ctx)
{
    struct api_client *client = l->of->api;

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
        l->of->events->on_renewed(l->of->arg, l->of, true);
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

    for (size_t i = 0; i < api_client_servers(l->of->api)->n; i++)
        if (is_of(l, i))
            api_client_set_authorization(l->of->api, i, value);
    mem_free_secret(value);
    l->of->events->on_renewed(l->of->arg, l->of, false);
}

static void on_lack(void *arg, const struct err *err)
{
    const struct login *l = arg;

    l->of->events->on_lack(l->of->arg, l->of, err);
}

static void on_cred_ready(void *arg)
{
    struct login *l = arg;
    struct cluster_client *c = l->of;
    bool all = true;

    l->is_ready = true;
    if (l->ctx != NULL)
        set_tls(l, l->ctx);
    tls_ctx_unref(&l->ctx);
    for (size_t i = 0; i < c->n_logins; i++)
        all = all && c->logins[i].is_ready;
    c->events->on_login(c->arg, c, all);
}

static struct exec_plugin_params plugin_params(const struct cluster_client_params *p)
{
    const struct cluster_settings *s = p->settings;

    return (struct exec_plugin_params){.loop = p->loop,
                                       .link = p->link,
                                       .hook = s->plugin,
                                       .cluster = s->name,
                                       .command = s->exec_command,
                                       .api_version = s->exec_api_version,
                                       .install_hint = s->exec_install_hint};
}

static void add_login(struct cluster_client *c, size_t server)
{
    static const struct cred_events events = {on_tls, on_token, on_cred_ready, on_lack};
    const struct cluster_client_params *p = &c->params;
    const struct cluster_settings_server *from = &p->settings->servers[server];
    struct login *l = &c->logins[c->n_logins];
    struct cred_params cp = {
        .loop = p->loop,
        .link = p->link,
        .cluster = p->settings->name,
        .tls = from->url.tls,
        .retry = p->settings->tuning.retry,
        .seed = p->seed + c->n_logins,
        .tag = p->tag + c->n_logins * CRED_ITEMS,
        .insecure = from->insecure,
        .expiry_ms = p->settings->credential_expiry_ms,
        .plugin = plugin_params(p),
    };

    for (int i = 0; i < CRED_ITEMS; i++)
        cp.items[i] = cluster_settings_source(&from->items[i]);
    *l = (struct login){.of = c, .like = server, .servers = (uint64_t)1 << server};
    l->cred = cred_create(&cp, &events, l);
    c->n_logins++;
}

static void add_logins(struct cluster_client *c)
{
    const struct cluster_settings *s = c->params.settings;

    c->logins = mem_array(s->server_count, sizeof(*c->logins));
    for (size_t i = 0; i < s->server_count; i++) {
        size_t k = 0;

        while (k < c->n_logins &&
               !cluster_settings_are_alike(&s->servers[c->logins[k].like], &s->servers[i]))
            k++;
        if (k < c->n_logins)
            c->logins[k].servers |= (uint64_t)1 << i;
        else
            add_login(c, i);
    }
}

static void drop_logins(struct cluster_client *c)
{
    for (size_t i = 0; i < c->n_logins; i++) {
        cred_dispose(&c->logins[i].cred);
        tls_ctx_unref(&c->logins[i].ctx);
    }
    c->n_logins = 0;
}

/* ---- The interface. */

struct cluster_client *cluster_client_create(const struct cluster_client_params *params,
                                             const struct cluster_client_events *events, void *arg)
{
    struct cluster_client *c =
        MEM_NEW(struct cluster_client, .params = *params, .events = events, .arg = arg);

    c->api = make_client(c);
    add_logins(c);
    return c;
}

const struct cluster_settings *cluster_client_settings(const struct cluster_client *c)
{
    return c->params.settings;
}

struct api_client *cluster_client_api(const struct cluster_client *c)
{
    return c->api;
}

void cluster_client_renumber(struct cluster_client *c, const struct cluster_settings *settings)
{
    const struct cluster_settings *own = c->params.settings;
    uint32_t plugin = digest_eq(own->exec, settings->exec) ? settings->plugin : CRED_GONE;

    for (size_t i = 0; i < c->n_logins; i++) {
        size_t like = c->logins[i].like;
        uint32_t files[CRED_ITEMS];

        for (enum cred_item k = CRED_CA; k < CRED_ITEMS; k++)
            files[k] = cluster_settings_file(settings, like, k, own->servers[like].items[k].path);
        cred_renumber(c->logins[i].cred, files, plugin);
    }
}

bool cluster_client_opened(struct cluster_client *c, uint64_t tag, int fd, int error)
{
    if (tag < c->params.tag || tag - c->params.tag >= c->n_logins * CRED_ITEMS)
        return false;
    cred_opened(c->logins[(tag - c->params.tag) / CRED_ITEMS].cred, tag, fd, error);
    return true;
}

void cluster_client_changed(struct cluster_client *c, uint32_t file)
{
    for (size_t i = 0; i < c->n_logins; i++)
        cred_changed(c->logins[i].cred, file);
}

void cluster_client_unauthorized(struct cluster_client *c)
{
    for (size_t i = 0; i < c->n_logins; i++)
        cred_renew(c->logins[i].cred);
}

void cluster_client_put_authorities(const struct cluster_client *c, struct tls_keys *keys)
{
    tls_keys_add(keys, &c->authorities);
    for (size_t i = 0; i < c->n_logins; i++)
        tls_keys_add(keys, cred_authorities(c->logins[i].cred));
}

size_t cluster_client_login_count(const struct cluster_client *c)
{
    return c->n_logins;
}

const struct expiry *cluster_client_expiry(const struct cluster_client *c, size_t login)
{
    return cred_expiry(c->logins[login].cred);
}

const char *cluster_client_trouble(const struct cluster_client *c, size_t login)
{
    return cred_trouble(c->logins[login].cred);
}

static void on_empty(void *arg)
{
    struct cluster_client *c = arg;

    c->events->on_empty(c->arg, c);
}

/* Requests that go on have their credentials from the API client. */
void cluster_client_retire(struct cluster_client *c)
{
    cluster_client_put_authorities(c, &c->authorities);
    drop_logins(c);
    api_client_retire(c->api, on_empty, c);
}

void cluster_client_dispose(struct cluster_client **cp)
{
    struct cluster_client *c = *cp;

    if (c == NULL)
        return;
    *cp = NULL;
    drop_logins(c);
    free(c->logins);
    api_client_dispose(&c->api);
    cluster_settings_destroy(&c->params.settings); /* the API client borrows its proxies */
    free(c);
}
