/* SPDX-License-Identifier: Apache-2.0 */
/*
 * resource - what a watch names: group, version, plural, scope and kind; pure. Kubernetes' own
 * resources are known from a table; what else a name means only the server knows (discovery.h).
 */
#ifndef KUBE_RESOURCE_H
#define KUBE_RESOURCE_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/err.h"

enum resource_scope { RESOURCE_NAMESPACED, RESOURCE_CLUSTER_SCOPED, RESOURCE_SCOPE_UNKNOWN };

/* What an API may or may not be able to do. */
enum resource_verb { RESOURCE_LIST, RESOURCE_WATCH };

struct resource {
    char *text;    /* as it was written */
    char *plural;  /* "endpointslices"; until it is known the NAME in small letters */
    char *group;   /* "" = core; NULL = not known: any */
    char *version; /* "v1"; NULL = not known: what the server prefers */
    char *kind;    /* "EndpointSlice"; NULL = not known */
    enum resource_scope scope;
};

/* Takes NAME, NAME.GROUP or NAME.VERSION.GROUP as kubectl does; NAME is a plural, singular, short
 * name or Kind in any case ("svc", "deployments.apps", "widgets.v1.example.com"; "services.v1." is
 * of the core group). What the table has is complete then, anything else is for discovery: see
 * resource_is_known(). ERR_CONFIG: it cannot be a name. Release with resource_fini(). */
enum err_kind resource_parse(const char *text, struct resource *out, struct err *err) MUST_CHECK;

/* Are path, kind and scope known, so that nobody need be asked? */
bool resource_is_known(const struct resource *r);

/* Are group and version known? resource_put_path() and resource_put_api_version() need them. Was
 * it written NAME.VERSION.GROUP, NAME need not be the plural, and kind and scope are not known. */
bool resource_has_path(const struct resource *r);

/* Does a word look like a version: v1, v2beta3? */
bool resource_is_version(struct str s);

/* Is text this word of a resource (plural, singular, Kind), in any case? NULL = there is none. */
bool resource_is_word(struct str text, const char *word);

/* The like for its short names, separated by blanks. */
bool resource_has_short(const char *shorts, struct str name);

/* Can a word that a server gave stand in a path: 1 to max small letters, digits, and inside also
 * the bytes of punctuation ("-."), but no two points side by side? */
bool resource_is_dns(struct str s, const char *punctuation, size_t max);

/* A copy of its own; release with resource_fini(). */
void resource_copy(struct resource *out, const struct resource *r);

/* Frees its strings; *r is zeroed. */
void resource_fini(struct resource *r);

/* Appends the path of the collection: "/apis/GROUP/VERSION[/namespaces/NS]/PLURAL". ns NULL or "" =
 * all namespaces. */
void resource_put_path(struct buf *out, const struct resource *r, const char *ns);

/* Appends apiVersion: "v1", "discovery.k8s.io/v1". */
void resource_put_api_version(struct buf *out, const struct resource *r);

/* ERR_NO_VERB: the API does not have this verb, said in a sentence. */
enum err_kind resource_no_verb(const struct resource *r, enum resource_verb verb, struct err *err);

/* Appends the name for people: "endpointslices.discovery.k8s.io", "services"; as far as it is
 * known. */
void resource_put_name(struct buf *out, const struct resource *r);

#endif
