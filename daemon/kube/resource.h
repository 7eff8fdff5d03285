/* SPDX-License-Identifier: Apache-2.0 */
/*
 * resource - the resource that a watch names: group, version, plural, scope and kind; pure.
 * Kubernetes' own resources are known from a table; the meaning of any other name only the server
 * knows (discovery.h).
 */
#ifndef KUBE_RESOURCE_H
#define KUBE_RESOURCE_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/err.h"

enum resource_scope { RESOURCE_NAMESPACED, RESOURCE_CLUSTER_SCOPED, RESOURCE_SCOPE_UNKNOWN };

/* Verbs that an API may lack. */
enum resource_verb { RESOURCE_LIST, RESOURCE_WATCH };

/* Strings are owned; release with resource_fini(). */
struct resource {
    char *text;    /* the name as it was written */
    char *plural;  /* "endpointslices"; NAME in small letters until it is known */
    char *group;   /* "" = core; NULL = not known: any */
    char *version; /* "v1"; NULL = not known: the one that the server prefers */
    char *kind;    /* "EndpointSlice"; NULL = not known */
    enum resource_scope scope;
};

/* Parses NAME, NAME.GROUP or NAME.VERSION.GROUP as kubectl takes it; NAME is a plural, singular,
 * short name or Kind in any case ("svc", "deployments.apps", "widgets.v1.example.com";
 * "services.v1." is of the core group). A resource of the table is complete then, any other one
 * is for discovery: resource_is_known() tells. ERR_CONFIG: text cannot be a name. Release with
 * resource_fini(). */
enum err_kind resource_parse(const char *text, struct resource *out, struct err *err) MUST_CHECK;

/* Are path, kind and scope known, so that no server has to be asked? */
bool resource_is_known(const struct resource *r);

/* Are group and version known, as resource_put_path() and resource_put_api_version() need them?
 * If the name was written NAME.VERSION.GROUP, plural need not be the plural, and kind and scope
 * are not known. */
bool resource_has_path(const struct resource *r);

/* Does a word look like a version: v1, v2beta3? */
bool resource_is_version(struct str s);

/* Is text this word of a resource (plural, singular, Kind), in any case? NULL = there is none. */
bool resource_is_word(struct str text, const char *word);

/* Is name one of these short names, which are separated by blanks, in any case? NULL = there are
 * none. */
bool resource_has_short(const char *shorts, struct str name);

/* May this word of a server stand in a path? It may if it has 1 to max small letters and digits,
 * and inside also bytes of punctuation ("-."), but no two points side by side. */
bool resource_is_dns(struct str s, const char *punctuation, size_t max);

/* Makes a copy with strings of its own; release with resource_fini(). */
void resource_copy(struct resource *out, const struct resource *r);

/* Frees the strings and zeroes *r. */
void resource_fini(struct resource *r);

/* Appends the path of the collection: "/apis/GROUP/VERSION[/namespaces/NS]/PLURAL". ns NULL or "" =
 * all namespaces. */
void resource_put_path(struct buf *out, const struct resource *r, const char *ns);

/* Appends apiVersion: "v1", "discovery.k8s.io/v1". */
void resource_put_api_version(struct buf *out, const struct resource *r);

/* Fills *err and returns ERR_NO_VERB: the API of r lacks this verb. r needs group, version and
 * plural. */
enum err_kind resource_no_verb(const struct resource *r, enum resource_verb verb, struct err *err);

/* Appends the name for people, as far as it is known: "endpointslices.discovery.k8s.io",
 * "services". */
void resource_put_name(struct buf *out, const struct resource *r);

#endif
