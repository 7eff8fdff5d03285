/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/str.h"
#include "kube/kubeconfig.h"

static bool same_texts(char *const *a, size_t n, char *const *b, size_t m)
{
    bool same = n == m;

    for (size_t i = 0; same && i < n; i++)
        same = strcmp(a[i], b[i]) == 0;
    return same;
}

static bool same_impersonation(const struct impersonation *a, const struct impersonation *b)
{
    bool same = str_same(a->user, b->user) && str_same(a->uid, b->uid) &&
                same_texts(a->groups, a->group_count, b->groups, b->group_count) &&
                a->extra_count == b->extra_count;

    for (size_t i = 0; same && i < a->extra_count; i++) {
        const struct impersonation_extra *x = &a->extra[i];
        const struct impersonation_extra *y = &b->extra[i];

        same = strcmp(x->key, y->key) == 0 &&
               same_texts(x->values, x->value_count, y->values, y->value_count);
    }
    return same;
}

static bool same_exec(const struct kubeconfig_exec *a, const struct kubeconfig_exec *b)
{
    bool same = str_same(a->command, b->command) && str_same(a->api_version, b->api_version) &&
                same_texts(a->args, a->arg_count, b->args, b->arg_count) &&
                str_same(a->install_hint, b->install_hint) &&
                a->provide_cluster_info == b->provide_cluster_info &&
                str_same(a->cluster_config, b->cluster_config) && a->env_count == b->env_count;

    for (size_t i = 0; same && i < a->env_count; i++)
        same = strcmp(a->env[i].name, b->env[i].name) == 0 &&
               strcmp(a->env[i].value, b->env[i].value) == 0;
    return same;
}

static bool same_cluster(const struct kubeconfig *a, const struct kubeconfig *b)
{
    return str_same(a->server, b->server) && str_same(a->tls_server_name, b->tls_server_name) &&
           a->insecure_skip_tls_verify == b->insecure_skip_tls_verify &&
           str_same(a->ca_file, b->ca_file) && str_same(a->ca_data, b->ca_data) &&
           str_same(a->proxy_url, b->proxy_url) && a->disable_compression == b->disable_compression;
}

static bool same_user(const struct kubeconfig *a, const struct kubeconfig *b)
{
    return str_same(a->client_cert_file, b->client_cert_file) &&
           str_same(a->client_cert_data, b->client_cert_data) &&
           str_same(a->client_key_file, b->client_key_file) &&
           str_same(a->client_key_data, b->client_key_data) && str_same(a->token, b->token) &&
           str_same(a->token_file, b->token_file) && str_same(a->username, b->username) &&
           str_same(a->password, b->password) &&
           same_impersonation(&a->impersonation, &b->impersonation) &&
           same_exec(&a->exec, &b->exec);
}

bool kubeconfig_equal(const struct kubeconfig *a, const struct kubeconfig *b)
{
    return same_cluster(a, b) && same_user(a, b);
}
