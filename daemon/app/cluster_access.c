/* SPDX-License-Identifier: Apache-2.0 */
#include "app/cluster_access.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "app/identity.h"
#include "base/buf.h"
#include "base/mem.h"
#include "kube/resource.h"
#include "proto/tls_identity.h"

/* If a cluster has no CA of its own, the system's CAs count
 * (docs/kubernetes-protocol.md "Certificates and CAs"). */
#define SYSTEM_CA "/etc/ssl/certs/ca-certificates.crt"

/* Far more than any kubeconfig or credential has. It keeps a wrong path (a device, a log) from
 * filling the memory. */
#define MAX_KUBECONFIG_BYTES ((size_t)1024 * 1024)

/* The length of a DNS subdomain name, which is what Kubernetes takes as the name of a node. */
enum { NODE_NAME_MAX = 253 };

/* Reads all of fd. Returns 0 or an errno. Stops when there is more than MAX_KUBECONFIG_BYTES, which
 * the caller sees by the length. */
static int read_all(int fd, struct buf *out)
{
    ssize_t n = 1;

    while (n > 0 && out->len <= MAX_KUBECONFIG_BYTES) {
        n = read(fd, buf_reserve(out, 4096), 4096);
        if (n < 0)
            return errno;
        out->len += (size_t)n;
    }
    return 0;
}

/* Reads a whole file, as root only one that may be trusted. *owner (unless NULL) is set to the
 * owner of the file. */
static enum err_kind read_file(const struct helper_file *file, struct buf *out, uid_t *owner,
                               struct err *err)
{
    struct stat st = {0};
    int fd;

    if (path_trust_open(file->path, &file->path_trust, &fd, err) != ERR_OK)
        return err->kind;
    int error = fstat(fd, &st) == 0 ? read_all(fd, out) : errno;
    close(fd);
    if (owner != NULL)
        *owner = st.st_uid;
    if (error != 0)
        return err_set(err, ERR_CONFIG, error, "%s: %s", file->path, strerror(error));
    if (out->len > MAX_KUBECONFIG_BYTES)
        return err_set(err, ERR_CONFIG, 0, "%s: larger than 1 MiB", file->path);
    return ERR_OK;
}

/* The users besides root who may own the kubeconfig and the credentials of a cluster
 * (docs/design.md "Trusted files"). Without root every file is opened with the rights that
 * informerd has anyway. */
static struct path_trust path_trust_of(const struct conf *conf, const struct conf_cluster *c)
{
    struct path_trust path_trust = {0};

    if (geteuid() == 0) {
        path_trust.owners[0] = identity_uid(conf->user.v);
        path_trust.owners[1] = identity_uid(c->credential_owner.v);
    }
    return path_trust;
}

/* Sets a credential: data, a file, or both (a token may have both). A file is added to the list
 * that the helper gets, and known by its index there. */
static void set_item(struct cluster_access_list *l, struct cred_source *item, const char *data,
                     const char *path, struct path_trust path_trust)
{
    *item = (struct cred_source){.data = data};
    if (path != NULL && path[0] != '\0') {
        item->path = path;
        item->file = (uint32_t)l->file_count;
        l->files = mem_realloc(l->files, (l->file_count + 1) * sizeof(*l->files));
        l->files[l->file_count++] = (struct helper_file){path, path_trust};
    }
}

static void set_server(struct cluster_access *a, const char *server, struct where at,
                       struct problems *p)
{
    struct err err;

    if (url_parse(server, &a->url, &err) != ERR_OK)
        problems_add(p, at, "server: %s", err.text);
    a->server = mem_strdup(server);
}

/* Fields that would change who is asked, or how: to ignore them would send requests to the wrong
 * server or as the wrong user. */
static void refuse_unsupported(const struct kubeconfig *k, struct where at, struct problems *p)
{
    const struct {
        const char *field;
        bool set;
    } fields[] = {
        {"exec",                     k->exec.command != NULL      },
        {"proxy-url",                k->proxy_url != NULL         },
        {"insecure-skip-tls-verify", k->insecure_skip_tls_verify  },
        {"username",                 k->username != NULL          },
        {"as",                       k->impersonation.user != NULL},
    };

    for (size_t i = 0; i < ARRAY_LEN(fields); i++)
        if (fields[i].set)
            problems_add(p, at, "kubeconfig: %s is not supported in this release", fields[i].field);
}

/* A CA, certificate or key given as data wins over one given as a file; a token may have both
 * (docs/kubernetes-protocol.md "Kubeconfig fields"). Paths in a kubeconfig are the word of its
 * owner, so read_file() notes the owner in path_trust.named_by before any of these paths is
 * used. */
static void from_kubeconfig(struct cluster_access_list *l, struct cluster_access *a,
                            const struct conf_cluster *c, struct path_trust path_trust,
                            struct problems *p)
{
    const struct helper_file file = {c->kubeconfig.v, path_trust};
    struct kubeconfig *k = &a->kubeconfig;
    struct buf text = {0};
    struct err err;

    if (read_file(&file, &text, &path_trust.named_by, &err) != ERR_OK ||
        kubeconfig_parse(&(struct kubeconfig_file){c->kubeconfig.v, buf_str(&text)}, 1,
                         c->context.v, k, &err) != ERR_OK) {
        problems_add(p, c->kubeconfig.at, "kubeconfig: %s", err.text);
    } else {
        refuse_unsupported(k, c->kubeconfig.at, p);
        set_server(a, k->server, c->kubeconfig.at, p);
        a->tls_server_name = mem_strdup(k->tls_server_name != NULL ? k->tls_server_name : "");
        if (k->ca_data == NULL && k->ca_file == NULL)
            /* No path of the user: the file must be root's. */
            set_item(l, &a->items[CRED_CA], NULL, SYSTEM_CA, (struct path_trust){0});
        else
            set_item(l, &a->items[CRED_CA], k->ca_data, k->ca_data == NULL ? k->ca_file : NULL,
                     path_trust);
        set_item(l, &a->items[CRED_CERT], k->client_cert_data,
                 k->client_cert_data == NULL ? k->client_cert_file : NULL, path_trust);
        set_item(l, &a->items[CRED_KEY], k->client_key_data,
                 k->client_key_data == NULL ? k->client_key_file : NULL, path_trust);
        set_item(l, &a->items[CRED_TOKEN], k->token, k->token_file, path_trust);
    }
    /* The text has keys and tokens in it. */
    mem_wipe(text.data, text.cap);
    buf_free(&text);
}

static void from_settings(struct cluster_access_list *l, struct cluster_access *a,
                          const struct conf_cluster *c, struct path_trust path_trust,
                          struct problems *p)
{
    if (c->servers.n == 0)
        return; /* conf_read() has reported it */
    set_server(a, c->servers.v[0].v, c->servers.v[0].at, p);
    a->tls_server_name = mem_strdup(c->tls_server_name.v);
    set_item(l, &a->items[CRED_CA], NULL, c->ca_file.v[0] != '\0' ? c->ca_file.v : SYSTEM_CA,
             path_trust);
    set_item(l, &a->items[CRED_CERT], NULL, c->client_cert_file.v, path_trust);
    set_item(l, &a->items[CRED_KEY], NULL, c->client_key_file.v, path_trust);
    set_item(l, &a->items[CRED_TOKEN], NULL, c->token_file.v, path_trust);
}

void cluster_access_load(struct cluster_access_list *l, const struct conf *conf, struct problems *p)
{
    *l = (struct cluster_access_list){.v = mem_array(conf->n_clusters + 1, sizeof(*l->v)),
                                      .n = conf->n_clusters};
    for (size_t i = 0; i < conf->n_clusters; i++) {
        const struct conf_cluster *c = &conf->clusters[i];

        if (c->kubeconfig.v[0] != '\0')
            from_kubeconfig(l, &l->v[i], c, path_trust_of(conf, c), p);
        else
            from_settings(l, &l->v[i], c, path_trust_of(conf, c), p);
    }
}

enum err_kind cluster_access_read_item(const struct cluster_access_list *l,
                                       const struct cred_source *item, struct buf *out,
                                       struct err *err)
{
    size_t before = out->len;

    /* The file wins over data that came with it: a token in the kubeconfig serves only until its
     * file can be read. */
    if (item->path != NULL && read_file(&l->files[item->file], out, NULL, err) == ERR_OK)
        return ERR_OK;
    if (item->path != NULL && item->data == NULL)
        return err->kind;
    out->len = before;
    if (item->data != NULL)
        buf_puts(out, item->data);
    return ERR_OK;
}

/* The name of the node whose kubelet this user is, or NULL. */
static const char *node_of(const char *user)
{
    static const char prefix[] = "system:node:";
    const char *name = user + sizeof(prefix) - 1;

    if (strncmp(user, prefix, sizeof(prefix) - 1) != 0)
        return NULL;
    return resource_is_dns(str_c(name), "-.", NODE_NAME_MAX) ? name : NULL;
}

/* The name of the node that a client certificate was issued to, or NULL; the caller frees it. A
 * file that cannot be read is no error here: that is reported when the certificate is needed. */
static char *name_in_certificate(const struct cluster_access_list *l,
                                 const struct cred_source *cert)
{
    struct tls_identity identity = {0};
    struct buf pem = {0};
    char *name = NULL;
    struct err err;

    if (cluster_access_read_item(l, cert, &pem, &err) == ERR_OK && pem.len > 0 &&
        tls_identity_read(buf_str(&pem), &identity))
        name = mem_strdup(node_of(identity.user));
    tls_identity_fini(&identity);
    mem_wipe(pem.data, pem.cap); /* the file of a kubelet holds the key, too */
    buf_free(&pem);
    return name;
}

char *cluster_access_node_name(const struct cluster_access_list *l, const struct conf *conf)
{
    char host[256] = "";

    if (conf->node_name.v[0] != '\0')
        return mem_strdup(conf->node_name.v);
    for (size_t i = 0; i < l->n; i++) {
        char *name = name_in_certificate(l, &l->v[i].items[CRED_CERT]);

        if (name != NULL)
            return name;
    }
    gethostname(host, sizeof(host) - 1);
    for (char *c = host; *c != '\0'; c++)
        *c = (char)tolower((unsigned char)*c);
    return mem_strdup(host);
}

void cluster_access_fini(struct cluster_access_list *l)
{
    for (size_t i = 0; i < l->n; i++) {
        url_fini(&l->v[i].url);
        kubeconfig_fini(&l->v[i].kubeconfig);
        free(l->v[i].server);
        free(l->v[i].tls_server_name);
    }
    free(l->v);
    free(l->files);
    *l = (struct cluster_access_list){0};
}
