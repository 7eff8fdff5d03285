/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kubeconfig - the parts of a kubeconfig that a node agent uses, as data; pure. The only home of
 * libyaml. Reads YAML and JSON (docs/kubernetes-protocol.md "Kubeconfig fields").
 */
#ifndef KUBE_KUBECONFIG_H
#define KUBE_KUBECONFIG_H

#include "base/err.h"
#include "base/str.h"

/* NULL = not given. The *_file names are resolved against the folder of the kubeconfig, the
 * *_data are decoded PEM. */
struct kubeconfig {
    char *context; /* name of the context that was chosen */
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

/* Reads text and chooses context (NULL or "" = current-context). path is for messages
 * ("PATH:LINE: ...") and for relative file names. ERR_CONFIG: bad YAML, missing context, cluster
 * or user, certificate without key or key without certificate, bad base64, or a setting that
 * would change who is asked, or how, and is not supported in this release (exec, auth-provider,
 * proxy-url, insecure-skip-tls-verify true, username, password, as, as-uid, as-groups,
 * as-user-extra): such a setting is named, never ignored. *out is released with
 * kubeconfig_fini(). */
enum err_kind kubeconfig_parse(struct str text, const char *path, const char *context,
                               struct kubeconfig *out, struct err *err) MUST_CHECK;

/* Frees the strings and zeroes *k. Secrets are wiped before. */
void kubeconfig_fini(struct kubeconfig *k);

#endif
