/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cluster_access - how each cluster is reached: its servers, the names to verify, and where its
 * credentials come from, as kubeconfigs, plain settings or the pod say.
 */
#ifndef APP_CLUSTER_ACCESS_H
#define APP_CLUSTER_ACCESS_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/file_set.h"
#include "base/log.h"
#include "conf/conf.h"
#include "helper/helper.h"
#include "io/cred.h"
#include "kube/kubeconfig.h"
#include "proto/proxy.h"
#include "proto/url.h"

/* An API server of a cluster. */
struct cluster_server {
    const char *name; /* of its group in the configuration; "" = it has none */
    char *address;    /* as the user wrote it, for the status */
    struct url url;
    const char *tls_server_name; /* the name in the certificate; "" = the host of url */
    bool insecure;               /* its certificate is not verified; then items has no CA */
    struct proxy proxy;          /* on the way to it; url.host NULL = none */
    const char *proxy_named_by;  /* "proxy_url", "proxy-url" or a variable; NULL = no proxy */
    unsigned tier;               /* servers of the lowest tier are used first; 1 .. 9 */
    struct cred_source items[CRED_ITEMS]; /* .file is an index of the list's files */
};

/* A kubeconfig that does not exist yet. */
struct cluster_awaited {
    char *path;
    uint32_t file; /* an index of the list's files */
};

struct cluster_access {
    /* in the order of the configuration; none after an error, and while kubeconfigs are awaited */
    struct cluster_server *servers;
    size_t server_count;
    const char *awaits;              /* `kubeconfig`, if none of its files exists yet; else NULL */
    struct cluster_awaited *awaited; /* these files */
    size_t awaited_count;
    char *proxy_ca;    /* PEM that proxies with https:// are checked against; NULL = none has it */
    struct err pod_ca; /* why the pod's CA is not used; ERR_OK: it is, or there is no pod */
    bool gzip;         /* servers are asked to compress lists */
    char *headers;     /* header lines for every request, each with its CRLF; "" = none */
    const struct kubeconfig_exec *exec; /* a plugin that gives credentials; NULL = none */
    uid_t exec_owner;                   /* with exec: of the file that names the plugin */
    struct kubeconfig kubeconfig;       /* owns the data of items; zeroed with plain settings */
    char *named_by[CRED_ITEMS];         /* owns those of items; NULL with plain settings */
    char *basic;                        /* secret: USER:PASSWORD; NULL = none */
};

/* All clusters, in the order of conf->clusters, and the files that the helper opens for them. */
struct cluster_access_list {
    struct cluster_access *v;
    size_t n;
    struct helper_file *files;
    struct where *places; /* of files: the line that a problem with that file is told with */
    size_t file_count;
};

/* Reads the kubeconfigs out of a set of files, and the environment for in_cluster and proxies. A cluster
 * whose kubeconfig does not exist yet is no error: it gets no servers, and awaits its files. Kubeconfigs
 * are asked for as files that root may trust: files of root, of the user that main becomes, or of the
 * owner that the cluster names for its credentials. files NULL: only the settings are checked; a cluster
 * with a kubeconfig or in_cluster gets no servers, and no server a proxy. Errors go to p, with the line
 * of the setting or of the kubeconfig. conf must outlive the list; the set need not. Release with
 * cluster_access_fini(). */
void cluster_access_load(struct cluster_access_list *l, const struct conf *conf,
                         struct file_set *files, struct problems *p);

/* Adds a problem for each cluster whose kubeconfig does not exist, for commands that do not wait for it. */
void cluster_access_refuse_awaited(const struct cluster_access_list *l, const struct conf *conf,
                                   struct problems *p);

/* Whether a cluster awaits its kubeconfig. */
bool cluster_access_awaits_any(const struct cluster_access_list *l) MUST_CHECK;

/* Whether at least one server is reached by TLS and not verified. */
bool cluster_access_is_insecure(const struct cluster_access *a) MUST_CHECK;

/* A text about a cluster, and the server or file that it is about. */
typedef void cluster_access_warning(void *arg, const struct conf_cluster *c, const char *text,
                                    struct kv about);

/* Calls fn for all that informerd does in another way than the user may expect: servers that are not
 * verified, credentials that are not sent to a server without TLS, a pod whose CA cannot be used, a
 * kubeconfig that does not exist yet. */
void cluster_access_warn(const struct cluster_access_list *l, const struct conf *conf,
                         cluster_access_warning *fn, void *arg);

/* The name of this node: `node_name` of the configuration; else NAME of the first cluster where
 * informerd is the user system:node:NAME, by impersonation or client certificate; else the host
 * name in lower case, as the kubelet has it. The caller frees it. */
char *cluster_access_node_name(const struct cluster_access_list *l,
                               const struct conf *conf) MUST_CHECK;

/* The name of the node as whose kubelet informerd works at this server of a: by impersonation, or by the
 * client certificate as it is now; NULL = none, or not known. The caller frees it. */
char *cluster_access_node_of(const struct cluster_access_list *l, const struct cluster_access *a,
                             const struct cluster_server *s) MUST_CHECK;

/* Appends a credential, from the configuration or from its file as it is now; appends nothing if
 * there is none. The caller wipes the buffer. ERR_CONFIG: the file cannot be read. */
enum err_kind cluster_access_read_item(const struct cluster_access_list *l,
                                       const struct cred_source *item, struct buf *out,
                                       struct err *err) MUST_CHECK;

/* Is cluster a of one list reached in the same way, with the same credentials, as cluster b of
 * another? The contents of credential files make no difference, as whoever uses them follows their
 * changes; nor do texts for messages. The runtime compares by cluster_settings_equal(), which leaves out
 * who may own a file: a new number with the helper is enough for that. */
bool cluster_access_equal(const struct cluster_access_list *in_a, size_t a,
                          const struct cluster_access_list *in_b, size_t b) MUST_CHECK;

/* Frees everything, and wipes secrets. */
void cluster_access_fini(struct cluster_access_list *l);

#endif
