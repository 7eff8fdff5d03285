/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kubeconfig - the parts of a kubeconfig that a node agent uses, as data; pure
 * (docs/kubernetes-protocol.md "Kubeconfig fields"). The
 * only home of libyaml. YAML and JSON.
 */
#ifndef KUBE_KUBECONFIG_H
#define KUBE_KUBECONFIG_H

#include "base/err.h"
#include "base/str.h"

/* NULL = not given. *_file are resolved against the folder of the kubeconfig; *_data are decoded
 * PEM. */
struct kubeconfig {
    char *context; /* the one chosen */
    char *server;
    char *tls_server_name;
    char *ca_file;
    char *ca_data;
    char *client_cert_file;
    char *client_cert_data;
    char *client_key_file;
    char *client_key_data; /* secret */
    char *token;           /* secret */
    char *token_file;
};

/* Reads text, chooses context (NULL or "" = current-context). path is for messages ("PATH:LINE:
 * ...") and for relative file names. ERR_CONFIG: bad YAML, missing context, cluster or user, cert
 * without key, bad base64, and settings that would change who is asked or how but are not supported
 * in this release (exec, auth-provider, proxy-url, insecure-skip-tls-verify true, username, as):
 * named, never ignored. *out is released with kubeconfig_fini(). */
enum err_kind kubeconfig_parse(struct str text, const char *path, const char *context,
                               struct kubeconfig *out, struct err *err) MUST_CHECK;

/* Frees it, secrets wiped; *k is zeroed. */
void kubeconfig_fini(struct kubeconfig *k);

#endif
