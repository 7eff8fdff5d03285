/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cluster_access - how each cluster is reached: its server, the name to verify, and where its
 * credentials come from, as a kubeconfig or plain settings say.
 */
#ifndef APP_CLUSTER_ACCESS_H
#define APP_CLUSTER_ACCESS_H

#include "base/buf.h"
#include "conf/conf.h"
#include "helper/helper.h"
#include "io/cred.h"
#include "kube/kubeconfig.h"
#include "proto/url.h"

struct cluster_access {
    struct url url;
    char *server; /* as the user wrote it, for the status */
    /* The name in the certificate; "" = the host of the URL. */
    char *tls_server_name;
    struct kubeconfig kubeconfig;         /* owns the data of items; zeroed with plain settings */
    struct cred_source items[CRED_ITEMS]; /* .file is an index of the list's files */
};

/* All clusters, in the order of conf->clusters, and the files that the helper opens for them. */
struct cluster_access_list {
    struct cluster_access *v;
    size_t n;
    struct helper_file *files;
    size_t file_count;
};

/* Reads the kubeconfigs. Started as root it reads only those that root may trust: files of root, of
 * the user that main becomes, or of the owner that the cluster names for its credentials. Errors go
 * to p, with the line of the setting or of the kubeconfig. conf must outlive the list. Release with
 * cluster_access_fini(). */
void cluster_access_load(struct cluster_access_list *l, const struct conf *conf,
                         struct problems *p);

/* The name of this node: `node_name` of the configuration; else NAME of the first client
 * certificate that is issued to system:node:NAME; else the host name in lower case, as the kubelet
 * has it. The caller frees it. */
char *cluster_access_node_name(const struct cluster_access_list *l,
                               const struct conf *conf) MUST_CHECK;

/* Appends a credential, from the configuration or from its file as it is now; appends nothing if
 * there is none. The caller wipes the buffer. ERR_CONFIG: the file cannot be read. */
enum err_kind cluster_access_read_item(const struct cluster_access_list *l,
                                       const struct cred_source *item, struct buf *out,
                                       struct err *err) MUST_CHECK;

/* Frees everything, and wipes secrets. */
void cluster_access_fini(struct cluster_access_list *l);

#endif
