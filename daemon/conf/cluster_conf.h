/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cluster_conf - one cluster as it is configured: how to reach it, and how long to wait for it;
 * with the table of its settings; pure.
 */
#ifndef CONF_CLUSTER_CONF_H
#define CONF_CLUSTER_CONF_H

#include "conf/problems.h"
#include "conf/setting.h"
#include "conf/where.h"

struct conf;

struct conf_backoff {
    struct conf_ms initial;
    struct conf_num factor; /* >= 1 */
    struct conf_ms max;     /* >= initial */
    struct conf_num jitter; /* a wait of d lasts from d to d * (1 + jitter), chosen at random */

    /* After so long without a wait the backoff begins with initial again (docs/decisions.md "The
     * backoff resets after two minutes without a wait"). */
    struct conf_ms reset_after;
};

/* How informerd asks for a list: by LIST, or as a streaming list (docs/kubernetes-protocol.md
 * "Streaming lists"). AUTO: docs/decisions.md "watch_list auto lists first and streams later". */
enum conf_watch_list { CONF_WATCH_LIST_AUTO, CONF_WATCH_LIST_ON, CONF_WATCH_LIST_OFF };

/* The responses that the server may compress: none, or lists (docs/kubernetes-protocol.md "Compression"). */
enum conf_compression { CONF_COMPRESSION_OFF, CONF_COMPRESSION_GZIP };

/* The most servers of a cluster. */
enum { CONF_SERVERS_MAX = 64 };

struct conf_tuning {
    struct conf_ms connect_timeout;
    struct conf_ms tls_timeout;
    struct conf_ms response_timeout;
    struct conf_ms list_idle_timeout;
    struct conf_ms bookmark_timeout;
    struct conf_span watch_timeout;
    struct conf_int page_size;
    struct conf_int list_concurrency;
    struct conf_ms start_jitter;  /* 0 = none */
    struct conf_ms relist_jitter; /* 0 = none */
    struct conf_word watch_list;  /* enum conf_watch_list */
    struct conf_word compression; /* enum conf_compression */
    struct conf_backoff backoff;
};

/* One server of several that serve the same cluster. A setting that is left out is as in the cluster.
 * Two pairs count as one choice each: certificate and key; CA and insecure_skip_tls_verify. */
struct conf_server {
    struct conf_str name;
    struct conf_str url;
    struct conf_int tier; /* servers of a higher number are used only if all of lower ones fail */
    struct conf_str ca_file;
    struct conf_str client_cert_file;
    struct conf_str client_key_file;
    struct conf_str token_file;
    struct conf_str tls_server_name;
    struct conf_bool insecure_skip_tls_verify;
};

/* One of kubeconfig (and context), in_cluster, servers and server is set; with the last two, as
 * needed, the credentials and names below them. Paths are absolute. */
struct conf_cluster {
    struct conf_str name;
    struct conf_str kubeconfig; /* one path, or several with colons between them */
    struct conf_str context;    /* "" = the current context of the kubeconfig */
    struct conf_bool in_cluster;
    struct conf_list servers;   /* URLs */
    struct conf_server *server; /* in the order of the file */
    size_t n_server;
    struct conf_str ca_file;
    struct conf_str client_cert_file;
    struct conf_str client_key_file;
    struct conf_str token_file;
    struct conf_str credential_owner; /* a user who may own credential files, beside root and the
                                       * daemon's user; "" = nobody else */
    struct conf_str tls_server_name;
    struct conf_bool insecure_skip_tls_verify;
    struct conf_str proxy_url; /* may hold a password; not checked here */
    struct conf_ms stale_after;
    struct conf_tuning tuning;
};

/* The table that fills a struct conf_cluster. */
extern const struct setting cluster_conf_settings[];

/* Reports problems that only several settings of the cluster together show. */
void cluster_conf_check(const struct conf_cluster *cluster, struct problems *p);

#endif
