/* SPDX-License-Identifier: Apache-2.0 */
/*
 * resource - what a watch names: group, version, plural, scope and kind; pure. Short names come
 * from a table of Kubernetes' own resources; RESOURCE.VERSION.GROUP names any other.
 */
#ifndef KUBE_RESOURCE_H
#define KUBE_RESOURCE_H

#include "base/buf.h"
#include "base/err.h"

enum resource_scope { SCOPE_NAMESPACED, SCOPE_CLUSTER, SCOPE_UNKNOWN };

struct resource {
    char *plural;  /* "endpointslices" */
    char *group;   /* "" = core */
    char *version; /* "v1" */
    char *kind;    /* "EndpointSlice"; NULL = not known before the first list */
    enum resource_scope scope;
};

/* Takes plural, singular, short name or Kind of Kubernetes' own resources in any case ("svc",
 * "endpointslices"), RESOURCE.GROUP of those ("deployments.apps"), or RESOURCE.VERSION.GROUP of
 * anything ("widgets.v1.example.com", "services.v1."). ERR_CONFIG with a hint otherwise. Release
 * with resource_fini(). */
enum err_kind resource_parse(const char *text, struct resource *out, struct err *err) MUST_CHECK;

/* Frees what resource_parse() allocated; *r is zeroed. */
void resource_fini(struct resource *r);

/* Appends the path of the collection: "/apis/GROUP/VERSION[/namespaces/NS]/PLURAL". ns NULL or "" =
 * all namespaces. */
void resource_put_path(struct buf *out, const struct resource *r, const char *ns);

/* Appends apiVersion: "v1", "discovery.k8s.io/v1". */
void resource_put_api_version(struct buf *out, const struct resource *r);

/* Appends the name for people: "endpointslices.discovery.k8s.io", "services". */
void resource_put_name(struct buf *out, const struct resource *r);

#endif
