/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kubeconfig - the parts of a kubeconfig that a node agent uses, as data; pure. Reads YAML and JSON
 * (docs/kubernetes-protocol.md "Kubeconfig fields").
 */
#ifndef KUBE_KUBECONFIG_H
#define KUBE_KUBECONFIG_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/str.h"
#include "kube/impersonation.h"

/* One of the files that are one kubeconfig together. */
struct kubeconfig_file {
    const char *path; /* for messages ("PATH:LINE: ...") and for relative file names */
    struct str text;
};

struct kubeconfig_env {
    char *name;
    char *value; /* may be secret */
};

/* A program that gives credentials (docs/kubernetes-protocol.md "Exec plugins"). It never gets a
 * terminal: interactiveMode is Never or IfAvailable. */
struct kubeconfig_exec {
    char *command;     /* NULL = there is no plugin; without a slash it is looked up in PATH */
    char *api_version; /* "client.authentication.k8s.io/v1" or ".../v1beta1" */
    char **args;
    size_t arg_count;
    struct kubeconfig_env *env;
    size_t env_count;
    char *install_hint; /* NULL = none */
    bool provide_cluster_info;
    char *cluster_config; /* JSON text for spec.cluster.config; NULL = none */
};

/* NULL = not given. The *_file names are resolved against the folder of the file that they stand
 * in; the *_data are decoded PEM. */
struct kubeconfig {
    char *context; /* names of the entries that were chosen */
    char *cluster;
    char *user;

    size_t cluster_from; /* index of the file that the members of this group stand in */
    char *server;        /* url_parse() takes it */
    char *tls_server_name;
    bool insecure_skip_tls_verify; /* false if there is a CA */
    char *ca_file;
    char *ca_data;
    char *proxy_url; /* proxy_parse() takes it; may be secret */
    bool disable_compression;

    size_t user_from; /* index of the file that the members of this group stand in */
    char *client_cert_file;
    char *client_cert_data;
    char *client_key_file;
    char *client_key_data; /* secret */
    char *token;           /* secret */
    char *token_file;
    char *username; /* with a password, and without a token */
    char *password; /* secret */
    struct impersonation impersonation;
    struct kubeconfig_exec exec; /* none beside a token, password or certificate */
};

/* Reads n > 0 files, merges them as kubectl merges those of KUBECONFIG, and chooses context (NULL
 * or "" = the first current-context): of entries with the same name, that of the first file counts.
 * ERR_CONFIG: bad YAML; missing context, cluster or user; fields that contradict each other or that
 * lack another one; auth-provider and socks5 proxies, which informerd does not support. The text
 * names file and line. *out is released with kubeconfig_fini(). */
enum err_kind kubeconfig_parse(const struct kubeconfig_file *files, size_t n, const char *context,
                               struct kubeconfig *out, struct err *err) MUST_CHECK;

/* Do two kubeconfigs lead to the same server in the same way, with the same credentials? The names of
 * their entries, and the files that these stand in, make no difference. */
bool kubeconfig_equal(const struct kubeconfig *a, const struct kubeconfig *b) MUST_CHECK;

/* Frees the strings and zeroes *k. Secrets are wiped before. */
void kubeconfig_fini(struct kubeconfig *k);

#endif
