/* SPDX-License-Identifier: Apache-2.0 */
/*
 * exec_credential - the ExecCredential that an exec plugin gets in its environment and the one that
 * it prints (docs/kubernetes-protocol.md "Exec plugins"); pure.
 */
#ifndef KUBE_EXEC_CREDENTIAL_H
#define KUBE_EXEC_CREDENTIAL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"

/* More output than this is no credential. */
#define EXEC_CREDENTIAL_MAX ((size_t)1024 * 1024)

/* The cluster as the plugin gets to know it. NULL or "" = the field is left out. */
struct exec_credential_cluster {
    const char *server;
    const char *tls_server_name;
    bool insecure_skip_tls_verify;
    struct str ca_pem;
    const char *proxy_url;
    bool disable_compression;
    const char *config; /* JSON */
};

/* Appends the value of KUBERNETES_EXEC_INFO: there is no terminal. cluster NULL = the kubeconfig
 * does not provide it. */
void exec_credential_put_info(const char *api_version,
                              const struct exec_credential_cluster *cluster, struct buf *out);

/* The credential that a plugin printed. An empty member = it gave none. */
struct exec_credential {
    struct buf token;    /* secret */
    struct buf cert_pem; /* both or none of cert_pem and key_pem */
    struct buf key_pem;  /* secret */
    bool expires;
    int64_t expires_ms; /* with expires: milliseconds since 1970 */
};

/* Reads the whole stdout of a plugin, which must have this apiVersion. ERR_CREDENTIAL: the text says
 * what is wrong with it, and has no part of a credential; ERR_TOO_BIG: more than
 * EXEC_CREDENTIAL_MAX. After an error *out may have a token or key as well, so that these can be
 * masked elsewhere. Release with exec_credential_fini(). */
enum err_kind exec_credential_read(struct str text, const char *api_version,
                                   struct exec_credential *out, struct err *err) MUST_CHECK;

/* Wipes and frees everything; *c is zeroed. */
void exec_credential_fini(struct exec_credential *c);

#endif
