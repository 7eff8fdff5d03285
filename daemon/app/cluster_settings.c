/* SPDX-License-Identifier: Apache-2.0 */
#include "app/cluster_settings.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"

/* ---- Copies. */

static struct url copy_url(const struct url *u)
{
    return (struct url){.tls = u->tls,
                        .host = mem_strdup(u->host),
                        .port = u->port,
                        .prefix = mem_strdup(u->prefix)};
}

static struct cluster_settings_item copy_item(const struct cred_source *from)
{
    return (struct cluster_settings_item){.data = mem_strdup(from->data),
                                          .path = mem_strdup(from->path),
                                          .name = mem_strdup(from->name),
                                          .named_by = mem_strdup(from->named_by),
                                          .file = from->file};
}

static void copy_server(const struct cluster_server *from, struct cluster_settings_server *to)
{
    *to = (struct cluster_settings_server){
        .address = mem_strdup(from->address),
        .url = copy_url(&from->url),
        .tls_server_name = mem_strdup(from->tls_server_name),
        .insecure = from->insecure,
        .proxy = {.url = copy_url(&from->proxy.url),
                  .authorization = mem_strdup(from->proxy.authorization)},
        .proxy_named_by = mem_strdup(from->proxy_named_by),
        .tier = from->tier,
    };
    for (int i = 0; i < CRED_ITEMS; i++)
        to->items[i] = copy_item(&from->items[i]);
}

static struct cluster_settings_tuning copy_tuning(const struct conf_tuning *t)
{
    const struct conf_backoff *b = &t->backoff;

    return (struct cluster_settings_tuning){
        .connect_timeout_ms = t->connect_timeout.v,
        .tls_timeout_ms = t->tls_timeout.v,
        .response_timeout_ms = t->response_timeout.v,
        .list_idle_timeout_ms = t->list_idle_timeout.v,
        .start_jitter_ms = t->start_jitter.v,
        .reset_after_ms = b->reset_after.v,
        .page_size = (unsigned)t->page_size.v,
        .list_concurrency = (unsigned)t->list_concurrency.v,
        .asks_version = t->watch_list.v == CONF_WATCH_LIST_AUTO,
        .retry = {.initial_ms = b->initial.v,
                  .max_ms = b->max.v,
                  .factor = b->factor.v,
                  .jitter = b->jitter.v},
    };
}

/* ---- Digests. A digest takes each value in turn, so no copy of a secret is made for it. */

static void add(struct digest *d, const void *data, size_t n)
{
    const struct digest both[] = {*d, digest_of(data, n)};

    *d = digest_of(both, sizeof(both));
}

/* NULL is another text than "". */
static void add_text(struct digest *d, const char *text)
{
    add(d, text, text != NULL ? strlen(text) + 1 : 0);
}

static void add_number(struct digest *d, uint64_t number)
{
    add(d, &number, sizeof(number));
}

static void add_url(struct digest *d, const struct url *u)
{
    add_number(d, u->tls);
    add_text(d, u->host);
    add_number(d, u->port);
    add_text(d, u->prefix);
}

static void add_server(struct digest *d, const struct cluster_settings_server *s)
{
    add_text(d, s->address);
    add_url(d, &s->url);
    add_text(d, s->tls_server_name);
    add_number(d, s->insecure);
    add_url(d, &s->proxy.url);
    add_text(d, s->proxy.authorization);
    add_text(d, s->proxy_named_by);
    add_number(d, s->tier);
    for (int i = 0; i < CRED_ITEMS; i++) {
        add_text(d, s->items[i].data);
        add_text(d, s->items[i].path);
        add_text(d, s->items[i].name);
        add_text(d, s->items[i].named_by);
    }
}

static void add_tuning(struct digest *d, const struct cluster_settings_tuning *t)
{
    add_number(d, t->connect_timeout_ms);
    add_number(d, t->tls_timeout_ms);
    add_number(d, t->response_timeout_ms);
    add_number(d, t->list_idle_timeout_ms);
    add_number(d, t->start_jitter_ms);
    add_number(d, t->reset_after_ms);
    add_number(d, t->page_size);
    add_number(d, t->list_concurrency);
    add_number(d, t->asks_version);
    add_number(d, t->retry.initial_ms);
    add_number(d, t->retry.max_ms);
    add(d, &t->retry.factor, sizeof(t->retry.factor));
    add(d, &t->retry.jitter, sizeof(t->retry.jitter));
}

static struct digest exec_digest(const struct cluster_access *a)
{
    const struct kubeconfig_exec *x = a->exec;
    struct digest d = {0};

    if (x == NULL)
        return d;
    add_text(&d, x->command);
    add_text(&d, x->api_version);
    add_text(&d, x->install_hint);
    add_number(&d, x->arg_count);
    for (size_t i = 0; i < x->arg_count; i++)
        add_text(&d, x->args[i]);
    for (size_t i = 0; i < x->env_count; i++) {
        add_text(&d, x->env[i].name);
        add_text(&d, x->env[i].value);
    }
    add_number(&d, x->provide_cluster_info);
    add_text(&d, x->cluster_config);
    add_number(&d, a->exec_owner);
    return d;
}

static struct digest settings_digest(const struct cluster_settings *s)
{
    struct digest d = s->exec;

    add_text(&d, s->name);
    add_text(&d, s->user_agent);
    for (size_t i = 0; i < s->server_count; i++)
        add_server(&d, &s->servers[i]);
    add_text(&d, s->proxy_ca);
    add_text(&d, s->headers);
    add_text(&d, s->basic);
    add_number(&d, s->gzip);
    add_tuning(&d, &s->tuning);
    add_number(&d, s->credential_expiry_ms);
    return d;
}

/* ---- The interface. */

struct cluster_settings *cluster_settings_create(const struct conf_cluster *conf,
                                                 const struct cluster_access *access,
                                                 const char *user_agent, uint32_t plugin,
                                                 uint64_t credential_expiry_ms)
{
    const struct kubeconfig_exec *exec = access->exec;
    struct cluster_settings *s =
        MEM_NEW(struct cluster_settings, .name = mem_strdup(conf->name.v),
                .user_agent = mem_strdup(user_agent),
                .servers = mem_array(access->server_count, sizeof(struct cluster_settings_server)),
                .server_count = access->server_count, .proxy_ca = mem_strdup(access->proxy_ca),
                .headers = mem_strdup(access->headers), .basic = mem_strdup(access->basic),
                .gzip = access->gzip, .tuning = copy_tuning(&conf->tuning),
                .credential_expiry_ms = credential_expiry_ms, .exec = exec_digest(access),
                .plugin = plugin);

    for (size_t i = 0; i < s->server_count; i++)
        copy_server(&access->servers[i], &s->servers[i]);
    if (exec != NULL) {
        s->exec_command = mem_strdup(exec->command);
        s->exec_api_version = mem_strdup(exec->api_version);
        s->exec_install_hint = mem_strdup(exec->install_hint);
    }
    s->digest = settings_digest(s);
    return s;
}

bool cluster_settings_equal(const struct cluster_settings *a, const struct cluster_settings *b)
{
    return digest_eq(a->digest, b->digest);
}

static bool is_same_item(const struct cluster_settings_item *a,
                         const struct cluster_settings_item *b)
{
    return str_same(a->data, b->data) && str_same(a->path, b->path) && a->file == b->file;
}

bool cluster_settings_are_alike(const struct cluster_settings_server *a,
                                const struct cluster_settings_server *b)
{
    for (int i = 0; i < CRED_ITEMS; i++)
        if (!is_same_item(&a->items[i], &b->items[i]))
            return false;
    return a->url.tls == b->url.tls && a->insecure == b->insecure;
}

uint32_t cluster_settings_file(const struct cluster_settings *s, size_t server, enum cred_item item,
                               const char *path)
{
    if (server < s->server_count && str_same(s->servers[server].items[item].path, path))
        return s->servers[server].items[item].file;
    for (size_t i = 0; i < s->server_count; i++)
        for (int k = 0; k < CRED_ITEMS; k++)
            if (path != NULL && str_same(s->servers[i].items[k].path, path))
                return s->servers[i].items[k].file;
    return CRED_GONE;
}

struct cred_source cluster_settings_source(const struct cluster_settings_item *item)
{
    return (struct cred_source){.data = item->data,
                                .path = item->path,
                                .file = item->file,
                                .name = item->name,
                                .named_by = item->named_by};
}

static void free_server(struct cluster_settings_server *s)
{
    for (int i = 0; i < CRED_ITEMS; i++) {
        mem_free_secret(s->items[i].data);
        free(s->items[i].path);
        free(s->items[i].name);
        free(s->items[i].named_by);
    }
    free(s->address);
    url_fini(&s->url);
    free(s->tls_server_name);
    proxy_fini(&s->proxy);
    free(s->proxy_named_by);
}

void cluster_settings_destroy(struct cluster_settings **sp)
{
    struct cluster_settings *s = *sp;

    if (s == NULL)
        return;
    *sp = NULL;
    for (size_t i = 0; i < s->server_count; i++)
        free_server(&s->servers[i]);
    free(s->servers);
    free(s->name);
    free(s->user_agent);
    free(s->proxy_ca);
    free(s->headers);
    mem_free_secret(s->basic);
    free(s->exec_command);
    free(s->exec_api_version);
    free(s->exec_install_hint);
    free(s);
}
