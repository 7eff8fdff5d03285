/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rbac - from the requests to an API server to the smallest roles and bindings that allow them, as
 * YAML; pure. The result depends on the grants only, not on their order or repetition
 * (docs/kubernetes-protocol.md "RBAC").
 */
#ifndef KUBE_RBAC_H
#define KUBE_RBAC_H

#include "base/buf.h"
#include "base/err.h"

enum rbac_kind { RBAC_USER, RBAC_GROUP, RBAC_SERVICE_ACCOUNT, RBAC_KINDS };

/* The user, group or service account that the roles are bound to. Views are borrowed. */
struct rbac_subject {
    enum rbac_kind kind;
    struct str ns;   /* namespace of a service account; else empty */
    struct str name; /* UTF-8, not empty */
};

/* Bits of rbac_grant.verbs. */
enum rbac_verb { RBAC_GET = 1, RBAC_LIST = 2, RBAC_WATCH = 4 };

/* A grant: these verbs on this resource are needed. */
struct rbac_grant {
    const char *ns;     /* "" = the whole cluster */
    const char *group;  /* "" = core */
    const char *plural; /* of the resource */
    const char *name;   /* "" = any; LIST and watch have fieldSelector metadata.name=NAME */
    unsigned verbs;
    const char *why; /* one line, a comment above the rule; "" = no comment */
};

struct rbac;

/* A collection without grants. Never NULL. */
struct rbac *rbac_create(void);

/* Frees *r and sets it to NULL. NULL is fine. */
void rbac_destroy(struct rbac **r);

/* Adds a grant; its texts are copied. */
void rbac_grant(struct rbac *r, const struct rbac_grant *g);

/* Appends a ClusterRole for the grants in the whole cluster, a Role for each namespace with
 * further grants, and a binding of each role to the subject. All have the same name, which is
 * made from the subject. Each document begins with "---". Grants that a wider grant covers are
 * left out. */
void rbac_put(struct rbac *r, const struct rbac_subject *subject, struct buf *out);

/* Parses User:NAME, Group:NAME or ServiceAccount:NAMESPACE:NAME, with the kind in any case. *out
 * borrows from text. ERR_CONFIG says what to write. */
enum err_kind rbac_parse_subject(const char *text, struct rbac_subject *out,
                                 struct err *err) MUST_CHECK;

/* Appends the subject in the form that rbac_parse_subject() takes, as a YAML string in double quotes:
 * in ASCII and without a line end whatever it holds, so that a YAML comment may hold it, too. */
void rbac_put_subject(const struct rbac_subject *subject, struct buf *out);

/* Appends s as a YAML string in double quotes, in ASCII whatever s holds. A YAML comment may hold
 * it as well, as there is no line end in it. */
void rbac_put_quoted(struct str s, struct buf *out);

#endif
