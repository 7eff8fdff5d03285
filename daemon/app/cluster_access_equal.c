/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "app/cluster_access.h"

/* NULL is equal to NULL only. */
static bool same_text(const char *a, const char *b)
{
    return a == NULL || b == NULL ? a == b : strcmp(a, b) == 0;
}

static bool same_url(const struct url *a, const struct url *b)
{
    return a->tls == b->tls && same_text(a->host, b->host) && a->port == b->port &&
           same_text(a->prefix, b->prefix);
}

static bool same_trust(const struct path_trust *a, const struct path_trust *b)
{
    return a->owners[0] == b->owners[0] && a->owners[1] == b->owners[1] &&
           a->named_by == b->named_by;
}

/* The number of a file may differ, as it counts the files of all clusters. */
static bool same_item(const struct cluster_access_list *in_a, const struct cred_source *a,
                      const struct cluster_access_list *in_b, const struct cred_source *b)
{
    if (!same_text(a->data, b->data) || !same_text(a->path, b->path))
        return false;
    return a->path == NULL ||
           same_trust(&in_a->files[a->file].path_trust, &in_b->files[b->file].path_trust);
}

static bool same_server(const struct cluster_access_list *in_a, const struct cluster_server *a,
                        const struct cluster_access_list *in_b, const struct cluster_server *b)
{
    bool same = same_text(a->name, b->name) && same_text(a->address, b->address) &&
                same_url(&a->url, &b->url) && same_text(a->tls_server_name, b->tls_server_name) &&
                a->insecure == b->insecure && same_url(&a->proxy.url, &b->proxy.url) &&
                same_text(a->proxy.authorization, b->proxy.authorization) && a->tier == b->tier;

    for (size_t i = 0; same && i < CRED_ITEMS; i++)
        same = same_item(in_a, &a->items[i], in_b, &b->items[i]);
    return same;
}

bool cluster_access_equal(const struct cluster_access_list *in_a, size_t a,
                          const struct cluster_access_list *in_b, size_t b)
{
    const struct cluster_access *x = &in_a->v[a];
    const struct cluster_access *y = &in_b->v[b];
    bool same = x->server_count == y->server_count && same_text(x->proxy_ca, y->proxy_ca) &&
                x->gzip == y->gzip && same_text(x->headers, y->headers) &&
                same_text(x->basic, y->basic) && kubeconfig_equal(&x->kubeconfig, &y->kubeconfig) &&
                (x->exec == NULL || x->exec_owner == y->exec_owner);

    for (size_t i = 0; same && i < x->server_count; i++)
        same = same_server(in_a, &x->servers[i], in_b, &y->servers[i]);
    return same;
}
