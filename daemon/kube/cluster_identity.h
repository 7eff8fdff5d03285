/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cluster_identity - which cluster is behind an address: the uid of its namespace kube-system,
 * where that may be read, and the keys of the certificate authorities that its servers are trusted
 * by (docs/design.md "Cluster identity"); pure.
 */
#ifndef KUBE_CLUSTER_IDENTITY_H
#define KUBE_CLUSTER_IDENTITY_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/compiler.h"
#include "base/err.h"
#include "base/str.h"
#include "proto/tls_keys.h"

/* The LIST that asks for the uid. It is a LIST and not a GET of the one object, because a LIST
 * without a version has the newest revision of etcd, which shows whether the server was restored
 * from a backup (docs/kubernetes-protocol.md "Server identity"). Only metadata is asked for. */
#define CLUSTER_IDENTITY_TARGET "/api/v1/namespaces?fieldSelector=metadata.name%3Dkube-system"
#define CLUSTER_IDENTITY_ACCEPT \
    "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json"

enum { CLUSTER_IDENTITY_UID_MAX = 128, CLUSTER_IDENTITY_REVISION_MAX = 31 };

struct cluster_identity {
    char uid[CLUSTER_IDENTITY_UID_MAX + 1]; /* "" = not known */
    struct tls_keys authorities;            /* n = 0: plain http, or too many CAs to tell */
};

/* The answer of a server to that LIST. */
struct cluster_identity_answer {
    struct cluster_identity id; /* only the uid; "" = the server does not tell */
    char revision[CLUSTER_IDENTITY_REVISION_MAX + 1]; /* of etcd; "" = the server does not tell */
};

/* Reads the answer to that LIST. The uid is "" if the namespace is missing, or if its uid is one
 * that no server gives (longer than CLUSTER_IDENTITY_UID_MAX, not printable ASCII). ERR_PROTOCOL:
 * the answer is not a JSON object; *out is then left alone. */
enum err_kind cluster_identity_read(struct str body, struct cluster_identity_answer *out,
                                    struct err *err) MUST_CHECK;

/* Does a server that refuses the LIST with this HTTP status never tell its uid? True for a 4xx
 * other than 401, 408 and 429: these three, a 5xx and the like may pass, so that server is to be
 * asked again. */
bool cluster_identity_is_secret(int status) MUST_CHECK;

/* Appends the identity in the form that is kept over restarts: lines "uid:UID" and "ca:DIGEST". */
void cluster_identity_put(const struct cluster_identity *id, struct buf *out);

/* Reads such lines. Lines of a later release and broken lines are passed over. */
void cluster_identity_parse(struct str text, struct cluster_identity *out);

enum cluster_identity_relation {
    CLUSTER_IDENTITY_SAME,
    CLUSTER_IDENTITY_OTHER,
    CLUSTER_IDENTITY_UNKNOWN, /* nothing of one can be compared with the other */
};

/* Are both identities of one cluster? If both have a uid, the uid decides, whatever the
 * authorities are: those are renewed, and a cluster may be set up anew with the old ones.
 * Otherwise one key that both have is enough. */
enum cluster_identity_relation
cluster_identity_compare(const struct cluster_identity *known,
                         const struct cluster_identity *now) MUST_CHECK;

/* For two identities of one cluster, or if known is empty: known takes over everything that now has. It
 * keeps the fields that now lacks. */
void cluster_identity_update(struct cluster_identity *known, const struct cluster_identity *now);

#endif
