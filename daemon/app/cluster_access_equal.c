/* SPDX-License-Identifier: Apache-2.0 */
#include "app/cluster_access.h"
#include "base/str.h"
#include "helper/path_trust.h"

static bool same_url(const struct url *a, const struct url *b)
{
    return a->tls == b->tls && str_same(a->host, b->host) && a->port == b->port &&
           str_same(a->prefix, b->prefix);
}

/* The number of a file may differ, as it counts the files of all clusters. */
static bool same_item(const struct cluster_access_list *in_a, const struct cred_source *a,
                      const struct cluster_access_list *in_b, const struct cred_source *b)
{
    if (!str_same(a->data, b->data) || !str_same(a->path, b->path))
        return false;
    return a->path == NULL ||
           path_trust_equal(&in_a->files[a->file].path_trust, &in_b->files[b->file].path_trust);
}

static bool same_server(const struct cluster_access_list *in_a, const struct cluster_server *a,
                        const struct cluster_access_list *in_b, const struct cluster_server *b)
{
    bool same = str_same(a->name, b->name) && str_same(a->address, b->address) &&
                same_url(&a->url, &b->url) && str_same(a->tls_server_name, b->tls_server_name) &&
                a->insecure == b->insecure && same_url(&a->proxy.url, &b->proxy.url) &&
                str_same(a->proxy.authorization, b->proxy.authorization) && a->tier == b->tier;

    for (size_t i = 0; same && i < CRED_ITEMS; i++)
        same = same_item(in_a, &a->items[i], in_b, &b->items[i]);
    return same;
}

bool cluster_access_equal(const struct cluster_access_list *in_a, size_t a,
                          const struct cluster_access_list *in_b, size_t b)
{
    const struct cluster_access *x = &in_a->v[a];
    const struct cluster_access *y = &in_b->v[b];
    bool same = x->server_count == y->server_count && str_same(x->proxy_ca, y->proxy_ca) &&
                x->gzip == y->gzip && str_same(x->headers, y->headers) &&
                str_same(x->basic, y->basic) && kubeconfig_equal(&x->kubeconfig, &y->kubeconfig) &&
                (x->exec == NULL || x->exec_owner == y->exec_owner);

    for (size_t i = 0; same && i < x->server_count; i++)
        same = same_server(in_a, &x->servers[i], in_b, &y->servers[i]);
    return same;
}
