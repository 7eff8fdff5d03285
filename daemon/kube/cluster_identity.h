/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cluster_identity - which cluster is behind an address: the uid of its namespace kube-system, where that
 * may be read, and the keys of the authorities that its servers are trusted by
 * (docs/design.md "Cluster identity"); pure.
 */
#ifndef KUBE_CLUSTER_IDENTITY_H
#define KUBE_CLUSTER_IDENTITY_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/compiler.h"
#include "base/err.h"
#include "base/str.h"
#include "proto/tls_keys.h"

/* The LIST that asks for it. A list, not a GET of the one object: without a version a list has the
 * newest revision of etcd, which tells whether the server was restored from a backup. Only metadata
 * is asked for. */
#define CLUSTER_IDENTITY_TARGET "/api/v1/namespaces?fieldSelector=metadata.name%3Dkube-system"
#define CLUSTER_IDENTITY_ACCEPT \
    "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json"

enum { CLUSTER_IDENTITY_UID_MAX = 128, CLUSTER_IDENTITY_REVISION_MAX = 31 };

struct cluster_identity {
    char uid[CLUSTER_IDENTITY_UID_MAX + 1]; /* "" = not known */
    struct tls_keys authorities;            /* none: plain http, or too many to tell */
};

/* What a server said to the LIST. */
struct api_client_answer {
    struct cluster_identity id;                       /* only the uid; "" = it does not tell */
    char revision[CLUSTER_IDENTITY_REVISION_MAX + 1]; /* of etcd; "" = it does not tell */
};

/* Reads the answer to that LIST. Without the namespace, or with a uid that no server gives (longer
 * than CLUSTER_IDENTITY_UID_MAX, not printable ASCII), the uid is "". ERR_PROTOCOL: the answer is no JSON
 * object. */
enum err_kind cluster_identity_read(struct str body, struct api_client_answer *out,
                                    struct err *err) MUST_CHECK;

/* Is a server that refuses with this status not going to tell, ever? Else it is to be asked again. */
bool cluster_identity_is_secret(int status) MUST_CHECK;

/* Appends what is kept of it over restarts: lines "uid:UID" and "ca:DIGEST". */
void cluster_identity_put(const struct cluster_identity *id, struct buf *out);

/* Reads that. Lines of a later release, and what is broken, are passed over. */
void cluster_identity_parse(struct str text, struct cluster_identity *out);

enum cluster_identity_relation {
    CLUSTER_IDENTITY_SAME,
    CLUSTER_IDENTITY_OTHER,
    CLUSTER_IDENTITY_UNKNOWN, /* there is nothing that both have */
};

/* Are they one cluster? If both have a uid, it decides, whoever the authorities are: those are renewed,
 * and a cluster may be set up anew with the old ones. Else one key that both have is enough. */
enum cluster_identity_relation
cluster_identity_compare(const struct cluster_identity *known,
                         const struct cluster_identity *now) MUST_CHECK;

/* They are the same, or known was nobody: takes over all that now has; what it lacks stays. */
void cluster_identity_update(struct cluster_identity *known, const struct cluster_identity *now);

#endif
