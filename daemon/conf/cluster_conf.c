/* SPDX-License-Identifier: Apache-2.0 */
#include "conf/cluster_conf.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "conf/check.h"
#include "conf/conf.h"

/* Far longer than the name of any host. */
enum { URL_MAX = 2048 };

/* In the order of enum conf_watch_list. */
static const char *const watch_list_words[] = {"auto", "on", "off", NULL};

/* In the order of enum conf_compression. */
static const char *const compression_words[] = {"off", "gzip", NULL};

/* Colons separate the paths, as in KUBECONFIG; between two of them there may be nothing. */
static const char *check_paths(const char *text)
{
    size_t found = 0;

    for (; *text != '\0'; text += strcspn(text, ":")) {
        text += strspn(text, ":");
        if (*text != '\0' && *text != '/')
            return "must be an absolute path, or several with colons between them";
        found += *text != '\0' ? 1 : 0;
    }
    return found > 0 ? NULL : "names no file";
}

/* tests/lint/settings.py compares keys and defaults with config/informerd.conf. */
#define ROW_STRUCT struct conf_backoff
static const struct setting backoff_settings[] = {
    SETTING_ROW(MS, initial, SETTING_DEFAULT("\"800ms\""), SETTING_RANGE(1, SETTING_YEAR_MS)),
    SETTING_ROW(NUM, factor, SETTING_DEFAULT("2.0"), SETTING_RANGE(1, 100)),
    SETTING_ROW(MS, max, SETTING_DEFAULT("\"30s\""), SETTING_RANGE(1, SETTING_YEAR_MS)),
    SETTING_ROW(NUM, jitter, SETTING_DEFAULT("1.0"), SETTING_RANGE(0, 100)),
    SETTING_ROW(MS, reset_after, SETTING_DEFAULT("\"2min\""), SETTING_RANGE(1, SETTING_YEAR_MS)),
    {.key = NULL},
};
#undef ROW_STRUCT

#define ROW_STRUCT struct conf_tuning
static const struct setting tuning_settings[] = {
    SETTING_ROW(MS, connect_timeout, SETTING_DEFAULT("\"10s\""), SETTING_RANGE(1, SETTING_YEAR_MS)),
    SETTING_ROW(MS, tls_timeout, SETTING_DEFAULT("\"10s\""), SETTING_RANGE(1, SETTING_YEAR_MS)),
    SETTING_ROW(MS, response_timeout, SETTING_DEFAULT("\"30s\""),
                SETTING_RANGE(1, SETTING_YEAR_MS)),
    SETTING_ROW(MS, list_idle_timeout, SETTING_DEFAULT("\"60s\""),
                SETTING_RANGE(1, SETTING_YEAR_MS)),
    SETTING_ROW(MS, bookmark_timeout, SETTING_DEFAULT("\"150s\""),
                SETTING_RANGE(1, SETTING_YEAR_MS)),
    SETTING_ROW(SPAN, watch_timeout, SETTING_DEFAULT("[ \"5min\", \"10min\" ]"),
                SETTING_RANGE(1000, SETTING_YEAR_MS)),
    SETTING_ROW(INT, page_size, SETTING_DEFAULT("500"), SETTING_RANGE(1, 1000000),
                .written_counts = true),
    SETTING_ROW(INT, list_concurrency, SETTING_DEFAULT("4"), SETTING_RANGE(1, 1000)),
    SETTING_ROW(MS, start_jitter, SETTING_DEFAULT("\"0s\""), SETTING_RANGE(0, SETTING_YEAR_MS)),
    SETTING_ROW(MS, relist_jitter, SETTING_DEFAULT("\"0s\""), SETTING_RANGE(0, SETTING_YEAR_MS)),
    SETTING_ROW(WORD, watch_list, SETTING_DEFAULT("\"auto\""), .words = watch_list_words),
    SETTING_ROW(WORD, compression, SETTING_DEFAULT("\"off\""), .words = compression_words),
    SETTING_ROW(GROUP, backoff, .group = backoff_settings),
    {.key = NULL},
};
#undef ROW_STRUCT

#define ROW_STRUCT struct conf_server
static const struct setting server_settings[] = {
    SETTING_ROW(STR, url, SETTING_RANGE(1, URL_MAX)),
    SETTING_ROW(INT, tier, SETTING_DEFAULT("1"), SETTING_RANGE(1, 9)),
    SETTING_ROW(STR, ca_file, SETTING_DEFAULT("\"\""), .check = check_path),
    SETTING_ROW(STR, client_cert_file, SETTING_DEFAULT("\"\""), .check = check_path),
    SETTING_ROW(STR, client_key_file, SETTING_DEFAULT("\"\""), .check = check_path),
    SETTING_ROW(STR, token_file, SETTING_DEFAULT("\"\""), .check = check_path),
    SETTING_ROW(STR, tls_server_name, SETTING_DEFAULT("\"\"")),
    SETTING_ROW(BOOL, insecure_skip_tls_verify, SETTING_DEFAULT("false"), .written_counts = true),
    {.key = NULL},
};
#undef ROW_STRUCT

#define ROW_STRUCT struct conf_cluster
const struct setting cluster_conf_settings[] = {
    SETTING_ROW(STR, kubeconfig, SETTING_DEFAULT("\"\""), .check = check_paths),
    SETTING_ROW(STR, context, SETTING_DEFAULT("\"\"")),
    SETTING_ROW(BOOL, in_cluster, SETTING_DEFAULT("false")),
    SETTING_ROW(LIST, servers, SETTING_DEFAULT("[ ]"), SETTING_RANGE(0, CONF_SERVERS_MAX),
                .check = check_filled),
    SETTING_ROW(NAMED, server, .group = server_settings,
                .named = {sizeof(struct conf_server), offsetof(ROW_STRUCT, n_server)}),
    SETTING_ROW(STR, ca_file, SETTING_DEFAULT("\"\""), .check = check_path),
    SETTING_ROW(STR, client_cert_file, SETTING_DEFAULT("\"\""), .check = check_path),
    SETTING_ROW(STR, client_key_file, SETTING_DEFAULT("\"\""), .check = check_path),
    SETTING_ROW(STR, token_file, SETTING_DEFAULT("\"\""), .check = check_path),
    SETTING_ROW(STR, credential_owner, SETTING_DEFAULT("\"\"")),
    SETTING_ROW(STR, tls_server_name, SETTING_DEFAULT("\"\"")),
    SETTING_ROW(BOOL, insecure_skip_tls_verify, SETTING_DEFAULT("false")),
    /* No rule here: a message about a rule would show the password in the address. */
    SETTING_ROW(STR, proxy_url, SETTING_DEFAULT("\"\"")),
    SETTING_ROW(MS, stale_after, SETTING_DEFAULT("\"30s\""), SETTING_RANGE(1, SETTING_YEAR_MS)),
    SETTING_ROW(GROUP, tuning, .group = tuning_settings),
    {.key = NULL},
};
#undef ROW_STRUCT

static void refuse_beside(const struct conf_cluster *c, const char *key, const char *other,
                          struct where at, struct problems *p)
{
    problems_add(p, at, "clusters.%s.%s cannot stand beside %s: leave one of them out", c->name.v,
                 key, other);
}

static struct where first_server_at(const struct conf_cluster *c)
{
    return c->n_server > 0 ? c->server[0].name.at : (struct where){0};
}

/* Reports the plain settings of a cluster for which another setting says all of this itself. To mix
 * the two would leave open which one counts (docs/kubernetes-protocol.md "Kubeconfig fields").
 * credential_owner is about the files of both. */
static void refuse_plain(const struct conf_cluster *c, const char *other, struct problems *p)
{
    const struct {
        const char *key;
        struct where at;
        bool set;
    } plain[] = {
        {"servers",                  c->servers.at,                  c->servers.n > 0                },
        {"server",                   first_server_at(c),             c->n_server > 0                 },
        {"ca_file",                  c->ca_file.at,                  c->ca_file.v[0] != '\0'         },
        {"client_cert_file",         c->client_cert_file.at,         c->client_cert_file.v[0] != '\0'},
        {"client_key_file",          c->client_key_file.at,          c->client_key_file.v[0] != '\0' },
        {"token_file",               c->token_file.at,               c->token_file.v[0] != '\0'      },
        {"tls_server_name",          c->tls_server_name.at,          c->tls_server_name.v[0] != '\0' },
        {"insecure_skip_tls_verify", c->insecure_skip_tls_verify.at, c->insecure_skip_tls_verify.v   },
        {"proxy_url",                c->proxy_url.at,                c->proxy_url.v[0] != '\0'       },
    };

    for (size_t i = 0; i < ARRAY_LEN(plain); i++)
        if (plain[i].set)
            refuse_beside(c, plain[i].key, other, plain[i].at, p);
}

/* The settings of a cluster and of one of its servers that belong together; prefix is the dotted
 * name of the group that holds them. */
struct identity_settings {
    const struct conf_str *ca_file;
    const struct conf_bool *insecure;
    const struct conf_str *cert;
    const struct conf_str *key;
};

/* A client certificate is of no use without its key. If the other setting was refused, it is empty
 * for that reason, and its own message is enough. */
static void check_identity(const struct identity_settings *s, const char *prefix,
                           struct problems *p)
{
    bool cert = s->cert->v[0] != '\0';
    bool key = s->key->v[0] != '\0';

    if (cert && !key && !problems_has(p, s->key->at))
        problems_add(p, s->cert->at, "%s.client_cert_file needs client_key_file", prefix);
    if (key && !cert && !problems_has(p, s->cert->at))
        problems_add(p, s->key->at, "%s.client_key_file needs client_cert_file", prefix);
    if (s->insecure->v && s->ca_file->v[0] != '\0')
        problems_add(p, s->insecure->at,
                     "%s.insecure_skip_tls_verify cannot stand beside ca_file: leave one of them "
                     "out",
                     prefix);
}

static void check_server(const struct conf_cluster *c, size_t i, struct problems *p)
{
    const struct conf_server *s = &c->server[i];
    const struct identity_settings own = {&s->ca_file, &s->insecure_skip_tls_verify,
                                          &s->client_cert_file, &s->client_key_file};
    char *prefix = mem_printf("clusters.%s.server.%s", c->name.v, s->name.v);

    check_identity(&own, prefix, p);
    for (size_t k = 0; k < i; k++)
        if (s->url.v[0] != '\0' && strcmp(c->server[k].url.v, s->url.v) == 0)
            problems_add(p, s->url.at, "%s.url: \"%.80s\" is the address of server %s already",
                         prefix, s->url.v, c->server[k].name.v);
    free(prefix);
}

/* The rules for a cluster with plain settings. */
static void check_plain(const struct conf_cluster *c, struct problems *p)
{
    const struct identity_settings own = {&c->ca_file, &c->insecure_skip_tls_verify,
                                          &c->client_cert_file, &c->client_key_file};
    char *prefix = mem_printf("clusters.%s", c->name.v);
    char *list = mem_printf("clusters.%s.servers", c->name.v);

    check_identity(&own, prefix, p);
    check_distinct(&c->servers, list, p);
    if (c->servers.n > 0 && c->n_server > 0)
        refuse_beside(c, "servers", "server", c->servers.at, p);
    if (c->n_server > CONF_SERVERS_MAX)
        problems_add(p, c->server[CONF_SERVERS_MAX].name.at,
                     "clusters.%s.server: %d servers at most", c->name.v, CONF_SERVERS_MAX);
    for (size_t i = 0; i < c->n_server; i++)
        check_server(c, i, p);
    free(prefix);
    free(list);
}

/* Is one of the settings that say where the servers are refused? Then it is empty for that reason,
 * and its own message is enough. */
static bool is_refused(const struct conf_cluster *c, const struct problems *p)
{
    return problems_has(p, c->kubeconfig.at) || problems_has(p, c->in_cluster.at) ||
           problems_has(p, c->servers.at);
}

void cluster_conf_check(const struct conf_cluster *c, struct problems *p)
{
    const struct conf_backoff *backoff = &c->tuning.backoff;
    bool by_kubeconfig = c->kubeconfig.v[0] != '\0';
    char *what = mem_printf("clusters.%s.tuning.backoff", c->name.v);

    check_backoff(&backoff->initial, &backoff->max, what, p);
    free(what);
    if (by_kubeconfig && c->in_cluster.v)
        refuse_beside(c, "in_cluster", "kubeconfig", c->in_cluster.at, p);
    if (by_kubeconfig || c->in_cluster.v)
        refuse_plain(c, by_kubeconfig ? "kubeconfig" : "in_cluster", p);
    else
        check_plain(c, p);
    if (c->context.v[0] != '\0' && !by_kubeconfig)
        problems_add(p, c->context.at, "clusters.%s.context needs kubeconfig", c->name.v);
    if (!by_kubeconfig && !c->in_cluster.v && c->servers.n == 0 && c->n_server == 0 &&
        !is_refused(c, p))
        problems_add(p, c->name.at, "clusters.%s needs kubeconfig, servers, server or in_cluster",
                     c->name.v);
}
