/* SPDX-License-Identifier: Apache-2.0 */
#include "conf/cluster_conf.h"

#include <stdlib.h>

#include "base/mem.h"
#include "conf/check.h"
#include "conf/conf.h"

/* In the order of enum conf_watch_list. */
static const char *const watch_list_words[] = {"auto", "on", "off", NULL};

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
    SETTING_ROW(GROUP, backoff, .group = backoff_settings),
    {.key = NULL},
};
#undef ROW_STRUCT

#define ROW_STRUCT struct conf_cluster
const struct setting cluster_conf_settings[] = {
    SETTING_ROW(STR, kubeconfig, SETTING_DEFAULT("\"\""), .check = check_path),
    SETTING_ROW(STR, context, SETTING_DEFAULT("\"\"")),
    SETTING_ROW(LIST, servers, SETTING_DEFAULT("[ ]"), SETTING_RANGE(0, 100),
                .check = check_filled),
    SETTING_ROW(STR, ca_file, SETTING_DEFAULT("\"\""), .check = check_path),
    SETTING_ROW(STR, client_cert_file, SETTING_DEFAULT("\"\""), .check = check_path),
    SETTING_ROW(STR, client_key_file, SETTING_DEFAULT("\"\""), .check = check_path),
    SETTING_ROW(STR, token_file, SETTING_DEFAULT("\"\""), .check = check_path),
    SETTING_ROW(STR, credential_owner, SETTING_DEFAULT("\"\"")),
    SETTING_ROW(STR, tls_server_name, SETTING_DEFAULT("\"\"")),
    SETTING_ROW(MS, stale_after, SETTING_DEFAULT("\"30s\""), SETTING_RANGE(1, SETTING_YEAR_MS)),
    SETTING_ROW(GROUP, tuning, .group = tuning_settings),
    {.key = NULL},
};
#undef ROW_STRUCT

/* A kubeconfig says all of this itself. To mix the two would leave open which one counts
 * (docs/kubernetes-protocol.md "Kubeconfig fields"). credential_owner is about the files of both,
 * and context chooses in the kubeconfig. */
static void refuse_beside_kubeconfig(const struct conf_cluster *c, struct problems *p)
{
    const struct {
        const char *key;
        struct where at;
        bool set;
    } plain[] = {
        {"servers",          c->servers.at,          c->servers.n > 0                },
        {"ca_file",          c->ca_file.at,          c->ca_file.v[0] != '\0'         },
        {"client_cert_file", c->client_cert_file.at, c->client_cert_file.v[0] != '\0'},
        {"client_key_file",  c->client_key_file.at,  c->client_key_file.v[0] != '\0' },
        {"token_file",       c->token_file.at,       c->token_file.v[0] != '\0'      },
        {"tls_server_name",  c->tls_server_name.at,  c->tls_server_name.v[0] != '\0' },
    };

    for (size_t i = 0; i < ARRAY_LEN(plain); i++)
        if (plain[i].set)
            problems_add(p, plain[i].at,
                         "clusters.%s.%s cannot stand beside kubeconfig: leave one of them out",
                         c->name.v, plain[i].key);
}

/* The rules for a cluster without kubeconfig. */
static void check_plain(const struct conf_cluster *c, struct problems *p)
{
    bool cert = c->client_cert_file.v[0] != '\0';
    bool key = c->client_key_file.v[0] != '\0';

    if (c->context.v[0] != '\0')
        problems_add(p, c->context.at, "clusters.%s.context needs kubeconfig", c->name.v);
    if (c->servers.n > 1)
        problems_add(p, c->servers.v[1].at,
                     "clusters.%s.servers: one server is supported in this release, not %zu",
                     c->name.v, c->servers.n);
    /* A client certificate is of no use without its key. If the other setting was refused, it is
     * empty for that reason, and its own message is enough. */
    if (cert && !key && !problems_has(p, c->client_key_file.at))
        problems_add(p, c->client_cert_file.at,
                     "clusters.%s.client_cert_file needs client_key_file", c->name.v);
    if (key && !cert && !problems_has(p, c->client_cert_file.at))
        problems_add(p, c->client_key_file.at, "clusters.%s.client_key_file needs client_cert_file",
                     c->name.v);
}

void cluster_conf_check(const struct conf_cluster *c, struct problems *p)
{
    const struct conf_backoff *backoff = &c->tuning.backoff;
    char *what = mem_printf("clusters.%s.tuning.backoff", c->name.v);

    check_backoff(&backoff->initial, &backoff->max, what, p);
    free(what);
    if (c->kubeconfig.v[0] != '\0')
        refuse_beside_kubeconfig(c, p);
    else
        check_plain(c, p);
    /* A refused kubeconfig or servers is empty, too, but then its own message is enough. */
    if (c->kubeconfig.v[0] == '\0' && c->servers.n == 0 && !problems_has(p, c->kubeconfig.at) &&
        !problems_has(p, c->servers.at))
        problems_add(p, c->name.at, "clusters.%s needs kubeconfig or servers", c->name.v);
}
