/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rbac - from what is asked of an API server to the smallest roles and bindings that allow it, as
 * YAML; pure. The result depends on what was granted only, not on order or repetition.
 */
#ifndef KUBE_RBAC_H
#define KUBE_RBAC_H

#include "base/buf.h"
#include "base/err.h"

enum rbac_kind { RBAC_USER, RBAC_GROUP, RBAC_SERVICE_ACCOUNT, RBAC_KINDS };

/* Who is bound. Views are borrowed. */
struct rbac_subject {
    enum rbac_kind kind;
    struct str ns;   /* of a service account; else empty */
    struct str name; /* UTF-8, not empty */
};

/* Bits of rbac_grant.verbs. */
enum rbac_verb { RBAC_GET = 1, RBAC_LIST = 2, RBAC_WATCH = 4 };

/* What requests need: these verbs on this resource. */
struct rbac_grant {
    const char *ns;     /* "" = the whole cluster */
    const char *group;  /* "" = core */
    const char *plural; /* of the resource */
    const char *name;   /* "" = any; a list or watch has one by fieldSelector metadata.name=NAME */
    unsigned verbs;
    const char *why; /* "" = nothing; else a comment above its rule, one line */
};

struct rbac;

/* Without grants. Never NULL. */
struct rbac *rbac_create(void);

/* Frees *r and sets it to NULL. NULL is fine. */
void rbac_destroy(struct rbac **r);

/* Adds one; the texts are copied. */
void rbac_grant(struct rbac *r, const struct rbac_grant *g);

/* Appends a ClusterRole for what is granted in the whole cluster, a Role for each namespace with
 * more, and a binding of each to the subject, all of one name that stems from the subject. Each
 * document begins with "---". What a wider grant covers is left out. */
void rbac_put(struct rbac *r, const struct rbac_subject *subject, struct buf *out);

/* Takes User:NAME, Group:NAME or ServiceAccount:NAMESPACE:NAME, the kind in any case. *out borrows
 * from text. ERR_CONFIG says what is wrong with it. */
enum err_kind rbac_parse_subject(const char *text, struct rbac_subject *out,
                                 struct err *err) MUST_CHECK;

/* Appends the subject as rbac_parse_subject() takes it, quoted as rbac_put_quoted() does. */
void rbac_put_subject(const struct rbac_subject *subject, struct buf *out);

/* Appends a YAML string in double quotes, ASCII whatever s holds; a comment may have it, too. */
void rbac_put_quoted(struct str s, struct buf *out);

#endif
