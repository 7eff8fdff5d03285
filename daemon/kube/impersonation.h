/* SPDX-License-Identifier: Apache-2.0 */
/*
 * impersonation - requests in the name of another user: who that is, and the header lines that say
 * so (docs/kubernetes-protocol.md "Impersonation"); pure.
 */
#ifndef KUBE_IMPERSONATION_H
#define KUBE_IMPERSONATION_H

#include <stddef.h>

#include "base/buf.h"
#include "base/err.h"

struct impersonation_extra {
    char *key;
    char **values;
    size_t value_count;
};

/* The fields as, as-uid, as-groups and as-user-extra of a kubeconfig. Zeroed: nobody is
 * impersonated. */
struct impersonation {
    char *user; /* NULL = nobody is impersonated; then all other members are zero */
    char *uid;  /* NULL = none */
    char **groups;
    size_t group_count;
    struct impersonation_extra *extra;
    size_t extra_count;
};

/* Appends one line "NAME: VALUE\r\n" for each header that a request needs; nothing if nobody is
 * impersonated. ERR_CONFIG, with *out in any state, names the field of the kubeconfig whose value
 * cannot be sent in a header. */
enum err_kind impersonation_put(const struct impersonation *i, struct buf *out,
                                struct err *err) MUST_CHECK;

/* Frees the strings and zeroes *i. */
void impersonation_fini(struct impersonation *i);

#endif
