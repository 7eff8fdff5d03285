/* SPDX-License-Identifier: Apache-2.0 */
/*
 * access_review - the question to an API server whether it would allow a request, and its answer
 * (SelfSubjectAccessReview; docs/kubernetes-protocol.md "Reviews of an access"); pure.
 */
#ifndef KUBE_ACCESS_REVIEW_H
#define KUBE_ACCESS_REVIEW_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/err.h"

/* The question is a POST to this target, and the answer has at most so many bytes. */
#define ACCESS_REVIEW_TARGET     "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
#define ACCESS_REVIEW_BODY_BYTES ((size_t)64 * 1024)

/* A request as an authorizer sees it. Texts are borrowed. */
struct access_review {
    const char *verb;  /* "get", "list", "watch" */
    const char *group; /* of the resource; "" = core */
    const char *version;
    const char *plural;
    bool namespaced;
    const char *ns;     /* "" = all namespaces, or none */
    const char *name;   /* of one object that is got; "" = any */
    const char *labels; /* the selectors of a list or watch, as its query has them; "" = none */
    const char *fields;
};

/* Appends the question as JSON. */
void access_review_put(struct buf *out, const struct access_review *r);

/* Appends the request in words: "list pods in namespace a (fieldSelector spec.nodeName=n)". */
void access_review_put_text(struct buf *out, const struct access_review *r);

struct access_answer {
    bool allowed;
    char why[256]; /* the reason that the server gives; may be hostile; "" = none */
};

/* Reads the answer. ERR_PROTOCOL: it is no review, and *out is left alone. */
enum err_kind access_review_read(struct str body, struct access_answer *out,
                                 struct err *err) MUST_CHECK;

/* Does this error of the POST mean that the server does not know such reviews? */
bool access_review_is_unknown(const struct err *err) MUST_CHECK;

#endif
