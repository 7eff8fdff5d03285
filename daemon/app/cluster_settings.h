/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cluster_settings - the settings of a running cluster, copied so that a reload can free the configuration
 * that they come from; and whether those of two are equal; pure.
 */
#ifndef APP_CLUSTER_SETTINGS_H
#define APP_CLUSTER_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "app/cluster_access.h"
#include "base/backoff.h"
#include "base/compiler.h"
#include "base/digest.h"
#include "conf/conf.h"

/* Where a credential comes from, as in struct cred_source. */
struct cluster_settings_item {
    char *data; /* may be secret */
    char *path;
    char *name;
    char *named_by;
    uint32_t file;
};

struct cluster_settings_server {
    char *address;
    struct url url;
    char *tls_server_name;
    bool insecure;
    struct proxy proxy;   /* url.host NULL = none */
    char *proxy_named_by; /* NULL = no proxy */
    unsigned tier;
    struct cluster_settings_item items[CRED_ITEMS];
};

/* Times and sizes for the requests to a cluster. */
struct cluster_settings_tuning {
    uint64_t connect_timeout_ms;
    uint64_t tls_timeout_ms;
    uint64_t response_timeout_ms;
    uint64_t list_idle_timeout_ms;
    uint64_t start_jitter_ms;
    uint64_t reset_after_ms; /* of the backoff */
    unsigned page_size;
    unsigned list_concurrency;
    bool asks_version; /* watch_list = "auto" */
    struct backoff_params retry;
};

struct cluster_settings {
    char *name;
    char *user_agent;
    struct cluster_settings_server *servers;
    size_t server_count;
    char *proxy_ca; /* NULL = none */
    char *headers;
    char *basic; /* secret; NULL = none */
    bool gzip;
    struct cluster_settings_tuning tuning;
    uint64_t credential_expiry_ms;
    char *exec_command; /* NULL = there is no exec plugin */
    char *exec_api_version;
    char *exec_install_hint; /* NULL = none */
    struct digest exec;      /* of all that makes up the plugin */
    uint32_t plugin;         /* its number with the helper */
    struct digest digest;    /* of everything except for numbers with the helper */
};

/* Copies everything. plugin is the number of the exec plugin with the helper, if there is one. Never
 * NULL; release with cluster_settings_destroy(). */
struct cluster_settings *cluster_settings_create(const struct conf_cluster *conf,
                                                 const struct cluster_access *access,
                                                 const char *user_agent, uint32_t plugin,
                                                 uint64_t credential_expiry_ms);

/* Are both equal except for the numbers that files and plugin have with the helper? */
bool cluster_settings_equal(const struct cluster_settings *a,
                            const struct cluster_settings *b) MUST_CHECK;

/* Can both servers share one login? They can if they have the same credentials, and both or none use TLS and
 * verify the server. */
bool cluster_settings_are_alike(const struct cluster_settings_server *a,
                                const struct cluster_settings_server *b) MUST_CHECK;

/* The number that s has for a credential file with this path: that of the same item and server if the path is
 * the same there, else of any item with the path; CRED_GONE = s has no such file. */
uint32_t cluster_settings_file(const struct cluster_settings *s, size_t server, enum cred_item item,
                               const char *path) MUST_CHECK;

/* The item as io/cred takes it; borrowed from it. */
struct cred_source cluster_settings_source(const struct cluster_settings_item *item) MUST_CHECK;

/* Wipes secrets, frees everything, and sets *s to NULL. NULL is fine. */
void cluster_settings_destroy(struct cluster_settings **s);

#endif
