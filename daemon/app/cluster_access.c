/* SPDX-License-Identifier: Apache-2.0 */
#include "app/cluster_access.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "app/identity.h"
#include "base/buf.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/panic.h"
#include "base/read_all.h"
#include "kube/resource.h"
#include "proto/proxy_env.h"
#include "proto/tls.h"
#include "proto/tls_identity.h"

/* If a cluster has no CA of its own, the system's CAs count
 * (docs/kubernetes-protocol.md "Certificates and CAs"). */
#define SYSTEM_CA "/etc/ssl/certs/ca-certificates.crt"

/* Where the kubelet puts the service account of a pod. */
#define POD_FOLDER "/var/run/secrets/kubernetes.io/serviceaccount"
#define POD_CA     POD_FOLDER "/ca.crt"

/* Far more than any kubeconfig or credential has. It keeps a wrong path (a device, a log) from
 * filling the memory. */
#define MAX_KUBECONFIG_BYTES ((size_t)1024 * 1024)

/* The length of a DNS subdomain name: Kubernetes takes no other name for a node. */
enum { NODE_NAME_MAX = 253 };

/* Reads a whole file, as root only one that may be trusted. */
static enum err_kind read_file(const struct helper_file *file, struct buf *out, struct err *err)
{
    int fd;

    if (path_trust_open(file->path, &file->path_trust, &fd, err) != ERR_OK)
        return err->kind;
    int error = read_all(fd, MAX_KUBECONFIG_BYTES, out);
    close(fd);
    if (error == EFBIG)
        return err_set(err, ERR_CONFIG, 0, "%s: larger than 1 MiB", file->path);
    if (error != 0)
        return err_set(err, ERR_CONFIG, error, "%s: %s", file->path, strerror(error));
    return ERR_OK;
}

/* The users besides root who may own the kubeconfig and the credentials of a cluster
 * (docs/design.md "Trusted files"). Without root every file is opened with the rights that
 * informerd has anyway. */
static struct path_trust path_trust_of(const struct file_set *files, const struct conf *conf,
                                       const struct conf_cluster *c)
{
    struct path_trust path_trust = {0};

    if (files != NULL && files->as_root) {
        path_trust.owners[0] = identity_uid(conf->user.v);
        path_trust.owners[1] = identity_uid(c->credential_owner.v);
    }
    return path_trust;
}

/* ---- Servers and their credentials */

/* The cluster whose servers are put together, and where files, problems and results go. */
struct builder {
    struct file_set *files; /* NULL = nothing is read, and the environment does not count */
    struct cluster_access_list *list;
    struct cluster_access *access;
    const struct conf_cluster *conf;
    struct path_trust path_trust;
    struct problems *problems;
};

/* The number of a file in the list that the helper gets. A file that several servers name is there
 * once. */
static uint32_t file_number(struct cluster_access_list *l, const char *path,
                            const struct path_trust *path_trust, struct where at)
{
    for (size_t i = 0; i < l->file_count; i++)
        if (strcmp(l->files[i].path, path) == 0 &&
            path_trust_equal(&l->files[i].path_trust, path_trust))
            return (uint32_t)i;
    l->files = mem_grow(l->files, l->file_count, sizeof(*l->files));
    l->places = mem_grow(l->places, l->file_count, sizeof(*l->places));
    l->files[l->file_count] = (struct helper_file){path, *path_trust};
    l->places[l->file_count] = at;
    return (uint32_t)l->file_count++;
}

/* Sets a credential: data, a file, or both (a token may have both). */
static void set_item(const struct builder *b, struct cred_source *item, const char *data,
                     const char *path, struct where at)
{
    *item = (struct cred_source){.data = data};
    if (path != NULL && path[0] != '\0') {
        item->path = path;
        item->file = file_number(b->list, path, &b->path_trust, at);
    }
}

static void set_system_ca(const struct builder *b, struct cluster_server *s, struct where at)
{
    struct builder root = *b;

    /* No path of the user: the file must be root's. */
    root.path_trust = (struct path_trust){0};
    /* The user has written nothing about a CA that a problem could point to. */
    set_item(&root, &s->items[CRED_CA], NULL, SYSTEM_CA, at.line > 0 ? at : b->conf->name.at);
    s->items[CRED_CA].name = SYSTEM_CA " (the CAs of the system: no CA is configured)";
}

/* Adds a server of tier 1 with nothing but its address; what is the setting that names it. The
 * result is valid until the next server is added. */
static struct cluster_server *add_server(const struct builder *b, const char *address,
                                         const char *what, struct where at)
{
    struct cluster_access *a = b->access;
    struct err err;

    a->servers = mem_grow(a->servers, a->server_count, sizeof(*a->servers));
    struct cluster_server *s = &a->servers[a->server_count++];
    *s = (struct cluster_server){
        .name = "", .address = mem_strdup(address), .tls_server_name = "", .tier = 1};
    if (url_parse(address, &s->url, &err) != ERR_OK)
        problems_add(b->problems, at, "clusters.%s.%s: %s", b->conf->name.v, what, err.text);
    return s;
}

/* ---- A kubeconfig */

/* The files that are one kubeconfig together; the set has them. */
struct kubeconfig_texts {
    const struct file_set_file **v;
    size_t n;
};

static bool is_loaded(const struct kubeconfig_texts *t, const char *path)
{
    for (size_t i = 0; i < t->n; i++)
        if (strcmp(t->v[i]->key.path, path) == 0)
            return true;
    return false;
}

/* Reads a file that the owners of the cluster's credentials may own, from the set. */
static const struct file_set_file *read_from_set(const struct builder *b, const char *path,
                                                 const struct path_trust *trust)
{
    const struct file_set_key key = {
        .path = path, .trusted = true, .owners = {trust->owners[0], trust->owners[1]}
    };

    return file_set_read(b->files, &key);
}

/* Takes one file, or passes it over if it does not exist. False after a report. */
static bool load_text(const struct builder *b, struct kubeconfig_texts *t, const char *path)
{
    const struct file_set_file *file = read_from_set(b, path, &b->path_trust);
    const struct where at = b->conf->kubeconfig.at;

    if (file->error == ENOENT || file->error == ENOTDIR)
        return true;
    if (file->error == EFBIG || file->text.len > MAX_KUBECONFIG_BYTES) {
        problems_add(b->problems, at, "kubeconfig: %s: larger than 1 MiB", path);
        return false;
    }
    if (file->error != 0) {
        problems_add(b->problems, at, "kubeconfig: %s", file->reason);
        return false;
    }
    t->v = mem_grow(t->v, t->n, sizeof(void *));
    t->v[t->n++] = file;
    return true;
}

/* None of the files exists: the cluster begins when one of them is there. */
static void await(const struct builder *b, const char *path)
{
    struct cluster_access *a = b->access;

    a->awaits = b->conf->kubeconfig.v;
    a->awaited = mem_grow(a->awaited, a->awaited_count, sizeof(*a->awaited));
    struct cluster_awaited *w = &a->awaited[a->awaited_count++];
    w->path = mem_strdup(path);
    w->file = file_number(b->list, w->path, &b->path_trust, b->conf->kubeconfig.at);
}

/* Takes the next path of the setting off *rest; empty names are passed over. The caller frees it; NULL =
 * there is none. */
static char *next_path(const char **rest)
{
    *rest += strspn(*rest, ":");
    size_t n = strcspn(*rest, ":");
    char *path = n > 0 ? mem_strndup(*rest, n) : NULL;

    *rest += n;
    return path;
}

/* Takes all files of the setting, as KUBECONFIG is read: missing files are passed over, unless all are
 * missing. False after a report, or if the cluster has to wait. */
static bool load_texts(const struct builder *b, struct kubeconfig_texts *t)
{
    const char *rest = b->conf->kubeconfig.v;
    bool ok = true;
    char *path;

    while ((path = next_path(&rest)) != NULL) {
        if (!is_loaded(t, path))
            ok = load_text(b, t, path) && ok;
        free(path);
    }
    rest = b->conf->kubeconfig.v;
    while (ok && t->n == 0 && (path = next_path(&rest)) != NULL) {
        await(b, path);
        free(path);
    }
    return ok && t->n > 0;
}

static bool parse_texts(const struct builder *b, const struct kubeconfig_texts *t)
{
    struct kubeconfig_file *files = mem_array(t->n, sizeof(*files));
    struct err err;

    for (size_t i = 0; i < t->n; i++)
        files[i] = (struct kubeconfig_file){t->v[i]->key.path, buf_str(&t->v[i]->text)};
    enum err_kind kind =
        kubeconfig_parse(files, t->n, b->conf->context.v, &b->access->kubeconfig, &err);
    if (kind != ERR_OK)
        problems_add(b->problems, b->conf->kubeconfig.at, "kubeconfig: %s", err.text);
    free(files);
    return kind == ERR_OK;
}

/* Notes for messages in which field of which entry of which file the path of a credential stands. */
static void note_field(const struct builder *b, struct cluster_server *s, enum cred_item item,
                       const char *from)
{
    static const char *const fields[CRED_ITEMS] = {"certificate-authority", "client-certificate",
                                                   "client-key", "tokenFile"};
    const struct kubeconfig *k = &b->access->kubeconfig;
    bool is_cluster = item == CRED_CA;

    if (s->items[item].path == NULL)
        return;
    b->access->named_by[item] =
        mem_printf("%s of %s \"%s\" in kubeconfig %s", fields[item],
                   is_cluster ? "cluster" : "user", is_cluster ? k->cluster : k->user, from);
    s->items[item].named_by = b->access->named_by[item];
}

/* A CA, certificate or key given as data wins over one given as a file; a token may have both
 * (docs/kubernetes-protocol.md "Kubeconfig fields"). The owner of a kubeconfig has chosen the paths in
 * it: see named_by of struct path_trust. */
static void use_kubeconfig(const struct builder *b, const struct kubeconfig_texts *t)
{
    const struct kubeconfig *k = &b->access->kubeconfig;
    const struct where at = b->conf->kubeconfig.at;
    struct builder by_cluster = *b;
    struct builder by_user = *b;
    struct cluster_server *s = add_server(b, k->server, "kubeconfig", at);

    by_cluster.path_trust.named_by = t->v[k->cluster_from]->owner;
    by_user.path_trust.named_by = t->v[k->user_from]->owner;
    b->access->exec_owner = t->v[k->user_from]->owner;
    if (k->tls_server_name != NULL)
        s->tls_server_name = k->tls_server_name;
    s->insecure = k->insecure_skip_tls_verify;
    if (k->ca_data != NULL || k->ca_file != NULL)
        set_item(&by_cluster, &s->items[CRED_CA], k->ca_data, k->ca_file, at);
    else if (!s->insecure)
        set_system_ca(b, s, at);
    set_item(&by_user, &s->items[CRED_CERT], k->client_cert_data, k->client_cert_file, at);
    set_item(&by_user, &s->items[CRED_KEY], k->client_key_data, k->client_key_file, at);
    set_item(&by_user, &s->items[CRED_TOKEN], k->token, k->token_file, at);
    if (k->ca_data == NULL && k->ca_file != NULL)
        note_field(b, s, CRED_CA, t->v[k->cluster_from]->key.path);
    for (enum cred_item item = CRED_CERT; item < CRED_ITEMS; item++)
        note_field(b, s, item, t->v[k->user_from]->key.path);
    if (k->username != NULL)
        b->access->basic = mem_printf("%s:%s", k->username, k->password);
}

static void from_kubeconfig(const struct builder *b)
{
    struct cluster_access *a = b->access;
    struct kubeconfig_texts texts = {0};
    struct buf headers = {0};

    if (load_texts(b, &texts) && parse_texts(b, &texts)) {
        use_kubeconfig(b, &texts);
        a->gzip = a->gzip && !a->kubeconfig.disable_compression;
        a->exec = a->kubeconfig.exec.command != NULL ? &a->kubeconfig.exec : NULL;
        /* kubeconfig_parse() has refused values that cannot be sent. */
        ensure(impersonation_put(&a->kubeconfig.impersonation, &headers, NULL) == ERR_OK);
        free(a->headers);
        a->headers = mem_strdup(buf_cstr(&headers));
    }
    buf_free(&headers);
    free(texts.v);
}

/* ---- Plain settings */

/* A setting of the server if it is written, else that of the cluster. */
static const struct conf_str *own_or(const struct conf_str *own, const struct conf_str *common)
{
    return own->v[0] != '\0' ? own : common;
}

/* Whom a server must be: the server's own choice between CA and insecure_skip_tls_verify, else that
 * of the cluster. */
static void set_verification(const struct builder *b, struct cluster_server *s,
                             const struct conf_server *own)
{
    const struct conf_str *ca = own_or(&own->ca_file, &b->conf->ca_file);

    if (own->insecure_skip_tls_verify.at.line > 0)
        s->insecure = own->insecure_skip_tls_verify.v;
    else
        s->insecure = own->ca_file.v[0] == '\0' && b->conf->insecure_skip_tls_verify.v;
    if (!s->insecure && ca->v[0] != '\0')
        set_item(b, &s->items[CRED_CA], NULL, ca->v, ca->at);
    else if (!s->insecure)
        set_system_ca(b, s, ca->at);
}

/* Certificate and key are one choice: those of the server, or those of the cluster. */
static void set_credentials(const struct builder *b, struct cluster_server *s,
                            const struct conf_server *own)
{
    const struct conf_cluster *c = b->conf;
    bool pair = own->client_cert_file.v[0] != '\0';
    const struct conf_str *cert = pair ? &own->client_cert_file : &c->client_cert_file;
    const struct conf_str *key = pair ? &own->client_key_file : &c->client_key_file;
    const struct conf_str *token = own_or(&own->token_file, &c->token_file);

    set_item(b, &s->items[CRED_CERT], NULL, cert->v, cert->at);
    set_item(b, &s->items[CRED_KEY], NULL, key->v, key->at);
    set_item(b, &s->items[CRED_TOKEN], NULL, token->v, token->at);
}

static void add_configured(const struct builder *b, const struct conf_server *own)
{
    struct cluster_server *s = add_server(b, own->url.v, "servers", own->url.at);

    s->name = own->name.v;
    s->tier = (unsigned)own->tier.v;
    s->tls_server_name = own_or(&own->tls_server_name, &b->conf->tls_server_name)->v;
    set_verification(b, s, own);
    set_credentials(b, s, own);
}

static void from_settings(const struct builder *b)
{
    static char none[] = "";
    const struct conf_cluster *c = b->conf;
    const struct conf_str unset = {.v = none};

    for (size_t i = 0; i < c->servers.n; i++)
        add_configured(b, &(struct conf_server){.name = unset,
                                                .url = c->servers.v[i],
                                                .tier.v = 1,
                                                .ca_file = unset,
                                                .client_cert_file = unset,
                                                .client_key_file = unset,
                                                .token_file = unset,
                                                .tls_server_name = unset});
    for (size_t i = 0; i < c->n_server; i++)
        add_configured(b, &c->server[i]);
}

/* ---- A pod */

static enum err_kind check_pod_ca(const struct builder *b, struct err *err)
{
    const struct file_set_file *file = read_from_set(b, POD_CA, &b->path_trust);
    const struct tls_ctx_params p = {.ca_pem = buf_str(&file->text), .ca_from = POD_CA};

    if (file->error != 0)
        return err_set(err, ERR_CONFIG, file->error, "%s", file->reason);
    return tls_check_ca(&p, err);
}

/* A CA that cannot be used is no error, as for client-go. A CA that root may not trust (EPERM) is an
 * error, and check_credentials() reports it. */
static void set_pod_ca(const struct builder *b, struct cluster_server *s, struct where at)
{
    struct err err;

    if (check_pod_ca(b, &err) == ERR_OK || err.code == EPERM) {
        set_item(b, &s->items[CRED_CA], NULL, POD_CA, at);
    } else {
        set_system_ca(b, s, at);
        b->access->pod_ca = err;
    }
}

/* The service account of the pod, as client-go finds it
 * (docs/kubernetes-protocol.md "Which credential counts"). */
static void from_pod(const struct builder *b)
{
    const char *host = getenv("KUBERNETES_SERVICE_HOST");
    const char *port = getenv("KUBERNETES_SERVICE_PORT");
    const struct where at = b->conf->in_cluster.at;

    if (host == NULL || host[0] == '\0' || port == NULL || port[0] == '\0') {
        problems_add(
            b->problems, at,
            "clusters.%s.in_cluster: KUBERNETES_SERVICE_HOST and "
            "KUBERNETES_SERVICE_PORT are not in the environment: informerd was not started "
            "in a pod; name a kubeconfig instead",
            b->conf->name.v);
        return;
    }
    char *address =
        mem_printf(strchr(host, ':') != NULL ? "https://[%s]:%s" : "https://%s:%s", host, port);
    struct cluster_server *s = add_server(b, address, "in_cluster", at);
    free(address);
    set_pod_ca(b, s, at);
    set_item(b, &s->items[CRED_TOKEN], NULL, POD_FOLDER "/token", at);
}

/* ---- Proxies */

/* A variable of the environment, which other programs know in both spellings; "" counts as not
 * set. */
static const char *variable(const char *upper, const char *lower)
{
    const char *value = getenv(upper);

    return value != NULL && value[0] != '\0' ? value : getenv(lower);
}

/* Finds the proxy for a server: that of the kubeconfig or setting, else the one that the environment
 * names (docs/kubernetes-protocol.md "HTTP proxies"). */
static enum err_kind find_proxy(const struct builder *b, struct cluster_server *s, struct err *err)
{
    const char *by_file = b->access->kubeconfig.proxy_url;
    const struct proxy_env env = {
        .https_proxy = variable("HTTPS_PROXY", "https_proxy"),
        .http_proxy = variable("HTTP_PROXY", "http_proxy"),
        .no_proxy = variable("NO_PROXY", "no_proxy"),
    };

    s->proxy_named_by = by_file != NULL                   ? "proxy-url"
                        : b->conf->proxy_url.v[0] != '\0' ? "proxy_url"
                        : s->url.tls                      ? "HTTPS_PROXY"
                                                          : "HTTP_PROXY";
    if (by_file != NULL)
        return proxy_parse(by_file, &s->proxy, err);
    if (b->conf->proxy_url.v[0] != '\0')
        return proxy_parse(b->conf->proxy_url.v, &s->proxy, err);
    return proxy_env_find(&env, &s->url, &s->proxy, err);
}

/* A proxy with TLS is checked against the CAs of the system, as the CA of the cluster has nothing to
 * do with it. */
static enum err_kind read_proxy_ca(const struct builder *b, struct err *err)
{
    static const struct path_trust roots_alone;
    const struct file_set_file *file = read_from_set(b, SYSTEM_CA, &roots_alone);

    if (file->error != 0)
        return err_set(err, ERR_CONFIG, file->error,
                       "the proxy has https://, which needs the CAs of the system: %s",
                       file->reason);
    b->access->proxy_ca = mem_printf("%.*s", STR_ARG(buf_str(&file->text)));
    return ERR_OK;
}

/* Finds the proxies of all servers. One mistake is reported for all of them; kubeconfig_parse() has
 * reported those of a kubeconfig. */
static void set_proxies(const struct builder *b)
{
    struct cluster_access *a = b->access;
    const struct conf_str *setting = &b->conf->proxy_url;
    enum err_kind kind = ERR_OK;
    struct err err;

    if (setting->v[0] != '\0' && proxy_check(setting->v, &err) != ERR_OK) {
        problems_add(b->problems, setting->at, "clusters.%s.proxy_url: %s", b->conf->name.v,
                     err.text);
        return;
    }
    for (size_t i = 0; b->files != NULL && i < a->server_count && kind == ERR_OK; i++) {
        struct cluster_server *s = &a->servers[i];

        if (s->url.host == NULL) /* reported already */
            continue;
        kind = find_proxy(b, s, &err);
        if (kind == ERR_OK && s->proxy.url.host != NULL && s->proxy.url.tls && a->proxy_ca == NULL)
            kind = read_proxy_ca(b, &err);
    }
    if (kind != ERR_OK)
        problems_add(b->problems, setting->at.line > 0 ? setting->at : b->conf->name.at,
                     "clusters.%s: %s", b->conf->name.v, err.text);
}

/* ---- All clusters */

static void load_cluster(const struct builder *b)
{
    const struct conf_cluster *c = b->conf;

    *b->access = (struct cluster_access){
        .headers = mem_strdup(""),
        .gzip = c->tuning.compression.v == CONF_COMPRESSION_GZIP,
    };
    if (c->kubeconfig.v[0] == '\0' && !c->in_cluster.v)
        from_settings(b);
    else if (b->files != NULL && c->in_cluster.v)
        from_pod(b);
    else if (b->files != NULL)
        from_kubeconfig(b);
    set_proxies(b);
}

void cluster_access_load(struct cluster_access_list *l, const struct conf *conf,
                         struct file_set *files, struct problems *p)
{
    *l = (struct cluster_access_list){.v = mem_array(conf->n_clusters + 1, sizeof(*l->v)),
                                      .n = conf->n_clusters};
    for (size_t i = 0; i < conf->n_clusters; i++)
        load_cluster(&(struct builder){.files = files,
                                       .list = l,
                                       .access = &l->v[i],
                                       .conf = &conf->clusters[i],
                                       .path_trust = path_trust_of(files, conf, &conf->clusters[i]),
                                       .problems = p});
}

static bool is_set(const struct cred_source *item)
{
    return item->data != NULL || item->path != NULL;
}

static bool has_credential(const struct cluster_access *a, const struct cluster_server *s)
{
    return a->exec != NULL || is_set(&s->items[CRED_CERT]) || is_set(&s->items[CRED_TOKEN]) ||
           a->basic != NULL;
}

void cluster_access_refuse_awaited(const struct cluster_access_list *l, const struct conf *conf,
                                   struct problems *p)
{
    for (size_t i = 0; i < l->n; i++)
        if (l->v[i].awaits != NULL)
            problems_add(p, conf->clusters[i].kubeconfig.at,
                         "kubeconfig: %s: there is no such file", l->v[i].awaits);
}

bool cluster_access_awaits_any(const struct cluster_access_list *l)
{
    for (size_t i = 0; i < l->n; i++)
        if (l->v[i].awaits != NULL)
            return true;
    return false;
}

bool cluster_access_is_insecure(const struct cluster_access *a)
{
    for (size_t i = 0; i < a->server_count; i++)
        if (a->servers[i].url.tls && a->servers[i].insecure)
            return true;
    return false;
}

static void warn_of_server(const struct cluster_access *a, const struct cluster_server *s,
                           const struct conf_cluster *c, cluster_access_warning *fn, void *arg)
{
    if (!s->url.tls && has_credential(a, s))
        fn(arg, c, "credentials are not sent to a server without TLS: write https://",
           KV_STR("server", s->address));
    if (s->url.tls && s->insecure)
        fn(arg, c,
           "server is not verified: anybody on the way can read the credentials and send objects; "
           "configure the CA in place of insecure_skip_tls_verify",
           KV_STR("server", s->address));
}

void cluster_access_warn(const struct cluster_access_list *l, const struct conf *conf,
                         cluster_access_warning *fn, void *arg)
{
    for (size_t i = 0; i < l->n; i++) {
        const struct conf_cluster *c = &conf->clusters[i];

        for (size_t k = 0; k < l->v[i].server_count; k++)
            warn_of_server(&l->v[i], &l->v[i].servers[k], c, fn, arg);
        if (l->v[i].awaits != NULL)
            fn(arg, c, "the kubeconfig does not exist yet: informerd waits for it",
               KV_STR("path", l->v[i].awaits));
        if (l->v[i].pod_ca.kind != ERR_OK)
            fn(arg, c,
               "the CA of the pod cannot be used: the certificate of the server must come from one "
               "of the system's CAs",
               KV_STR("err", l->v[i].pod_ca.text));
    }
}

enum err_kind cluster_access_read_item(const struct cluster_access_list *l,
                                       const struct cred_source *item, struct buf *out,
                                       struct err *err)
{
    size_t before = out->len;

    /* The file wins over data that came with it: a token in the kubeconfig serves only until its
     * file can be read. */
    if (item->path != NULL && read_file(&l->files[item->file], out, err) == ERR_OK)
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

/* An impersonation replaces the user of the certificate. */
char *cluster_access_node_of(const struct cluster_access_list *l, const struct cluster_access *a,
                             const struct cluster_server *s)
{
    const char *user = a->kubeconfig.impersonation.user;

    return user != NULL ? mem_strdup(node_of(user)) : name_in_certificate(l, &s->items[CRED_CERT]);
}

/* The name of the node as whose kubelet informerd works in this cluster, or that of the certificate if
 * it impersonates somebody else, or NULL; the caller frees it. */
static char *node_of_cluster(const struct cluster_access_list *l, const struct cluster_access *a)
{
    const char *user = a->kubeconfig.impersonation.user;
    const char *as = user != NULL ? node_of(user) : NULL;

    if (as != NULL)
        return mem_strdup(as);
    for (size_t i = 0; i < a->server_count; i++) {
        char *name = name_in_certificate(l, &a->servers[i].items[CRED_CERT]);

        if (name != NULL)
            return name;
    }
    return NULL;
}

char *cluster_access_node_name(const struct cluster_access_list *l, const struct conf *conf)
{
    char host[256] = "";

    if (conf->node_name.v[0] != '\0')
        return mem_strdup(conf->node_name.v);
    for (size_t i = 0; i < l->n; i++) {
        char *name = node_of_cluster(l, &l->v[i]);

        if (name != NULL)
            return name;
    }
    gethostname(host, sizeof(host) - 1);
    for (char *c = host; *c != '\0'; c++)
        *c = (char)tolower((unsigned char)*c);
    return mem_strdup(host);
}

static void free_access(struct cluster_access *a)
{
    for (size_t i = 0; i < a->server_count; i++) {
        url_fini(&a->servers[i].url);
        proxy_fini(&a->servers[i].proxy);
        free(a->servers[i].address);
    }
    free(a->servers);
    free(a->headers);
    mem_free_secret(a->basic);
    free(a->proxy_ca);
    for (size_t i = 0; i < CRED_ITEMS; i++)
        free(a->named_by[i]);
    for (size_t i = 0; i < a->awaited_count; i++)
        free(a->awaited[i].path);
    free(a->awaited);
    kubeconfig_fini(&a->kubeconfig);
}

void cluster_access_fini(struct cluster_access_list *l)
{
    for (size_t i = 0; i < l->n; i++)
        free_access(&l->v[i]);
    free(l->v);
    free(l->files);
    free(l->places);
    *l = (struct cluster_access_list){0};
}
