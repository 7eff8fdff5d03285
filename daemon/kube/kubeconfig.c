/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/kubeconfig.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/base64.h"
#include "base/buf.h"
#include "base/mem.h"
#include "kube/yaml_tree.h"
#include "proto/proxy.h"
#include "proto/url.h"

struct source {
    const char *path;
    struct yaml_tree *tree;
};

/* The files, read. The first error stays in *err, as reading ends with it. */
struct reader {
    struct source *v;
    size_t n;
    struct err *err;
};

/* A mapping in one of the files; node 0 = none. */
struct place {
    size_t from;
    int node;
};

/* A name of a context, cluster or user, and the node that mentions it, for errors. */
struct named {
    struct str name;
    struct place at;
};

/* The mapping of a file that is read just now. */
struct map {
    const struct yaml_tree *tree;
    int node;
    const char *path;
    struct err *err;
};

static struct map map_at(const struct reader *r, struct place at)
{
    return (struct map){r->v[at.from].tree, at.node, r->v[at.from].path, r->err};
}

/* Each fills the error with the line of the fault; the value of the expression is ERR_CONFIG. */
#define fail_at(m, at, ...) yaml_tree_fail((m)->tree, (at), (m)->err, __VA_ARGS__)
#define fail(m, ...)        fail_at(m, (m)->node, __VA_ARGS__)

static enum err_kind copy_text(const struct map *m, const char *key, char **out)
{
    return yaml_tree_copy_text(m->tree, m->node, key, out, m->err);
}

static enum err_kind find_bool(const struct map *m, const char *key, bool *out)
{
    return yaml_tree_find_bool(m->tree, m->node, key, out, m->err);
}

/* Puts the folder of the kubeconfig in front of a relative file name, as client-go does. */
static void resolve(const struct map *m, char **name)
{
    const char *slash = strrchr(m->path, '/');

    if (*name == NULL || (*name)[0] == '/' || slash == NULL)
        return;
    char *whole = mem_printf("%.*s/%s", (int)(slash - m->path), m->path, *name);
    free(*name);
    *name = whole;
}

static enum err_kind copy_file(const struct map *m, const char *key, char **out)
{
    enum err_kind kind = copy_text(m, key, out);

    resolve(m, out);
    return kind;
}

/* Decodes a base64 value to *out. It may be a private key, so every copy of it is wiped. */
static enum err_kind copy_data(const struct map *m, const char *key, char **out)
{
    int node;
    struct buf data = {0};
    enum err_kind kind = yaml_tree_find_text(m->tree, m->node, key, &node, m->err);

    if (kind != ERR_OK || node == 0)
        return kind;
    struct str text = yaml_tree_bytes(m->tree, node);
    /* Decoded data is smaller than its text: with this room no realloc() leaves a copy of a key in
     * freed memory. */
    (void)!buf_reserve(&data, text.n);
    if (base64_decode(text, &data) && data.len > 0 && memchr(data.data, '\0', data.len) == NULL)
        *out = mem_strndup(data.data, data.len);
    else
        kind = fail_at(m, node, "%s is not base64 of a PEM text", key);
    mem_wipe(data.data, data.len);
    buf_free(&data);
    return kind;
}

/* Reads KEY-data or else KEY, so that at most one of *file and *data is set: the data wins
 * (docs/kubernetes-protocol.md "Kubeconfig fields"). */
static enum err_kind copy_file_or_data(const struct map *m, const char *key, char **file,
                                       char **data)
{
    char data_key[64];

    snprintf(data_key, sizeof(data_key), "%s-data", key);
    enum err_kind kind = copy_data(m, data_key, data);
    if (kind == ERR_OK && *data == NULL)
        kind = copy_file(m, key, file);
    return kind;
}

/* Copies the strings of a list, which may be empty ones. *v and *n are the caller's, after an error,
 * too. */
static enum err_kind copy_list(const struct map *m, const char *key, int list, char ***v, size_t *n)
{
    size_t count = yaml_tree_count(m->tree, list);

    *v = mem_array(count + 1, sizeof(**v));
    for (*n = 0; *n < count; (*n)++) {
        int item = yaml_tree_item(m->tree, list, *n);
        struct str text = yaml_tree_bytes(m->tree, item);

        if (text.p == NULL || memchr(text.p, '\0', text.n) != NULL)
            return fail_at(m, item, "%s must hold strings only", key);
        (*v)[*n] = mem_strndup(text.p, text.n);
    }
    return ERR_OK;
}

static enum err_kind copy_strings(const struct map *m, const char *key, char ***v, size_t *n)
{
    int list;
    enum err_kind kind = yaml_tree_find_list(m->tree, m->node, key, &list, m->err);

    return kind == ERR_OK ? copy_list(m, key, list, v, n) : kind;
}

/* ---- The cluster */

static enum err_kind copy_json(const struct map *m, int node, char **out)
{
    struct buf json = {0};
    enum err_kind kind = yaml_tree_put_json(m->tree, node, &json, m->err);

    if (kind == ERR_OK)
        *out = mem_strdup(buf_cstr(&json));
    buf_free(&json);
    return kind;
}

/* The extension of the cluster that is meant for exec plugins, as JSON. */
static enum err_kind copy_cluster_config(const struct map *m, char **out)
{
    static const char wanted[] = "client.authentication.k8s.io/exec";
    int list;
    enum err_kind kind = yaml_tree_find_list(m->tree, m->node, "extensions", &list, m->err);

    for (size_t i = 0; kind == ERR_OK && i < yaml_tree_count(m->tree, list); i++) {
        int entry = yaml_tree_item(m->tree, list, i);
        int name;
        int extension;

        kind = yaml_tree_find_text(m->tree, entry, "name", &name, m->err);
        if (kind == ERR_OK)
            kind = yaml_tree_find(m->tree, entry, "extension", &extension, m->err);
        if (kind != ERR_OK || !str_is(yaml_tree_bytes(m->tree, name), wanted) || extension == 0)
            continue;
        if (*out != NULL)
            return fail_at(m, entry, "the extension \"%s\" is there twice", wanted);
        kind = copy_json(m, extension, out);
    }
    return kind;
}

/* Checks an address; the error gets the line of its value. */
static enum err_kind check_url(const struct map *m, const char *key, const char *url,
                               enum err_kind (*check)(const char *text, struct err *err))
{
    int node;
    struct err err;

    if (url == NULL || check(url, &err) == ERR_OK)
        return ERR_OK;
    if (yaml_tree_find_text(m->tree, m->node, key, &node, m->err) != ERR_OK)
        return ERR_CONFIG;
    return fail_at(m, node, "%s: %s", key, err.text);
}

static enum err_kind check_server(const char *text, struct err *err)
{
    struct url url = {0};
    enum err_kind kind = url_parse(text, &url, err);

    url_fini(&url);
    return kind;
}

static enum err_kind check_cluster(const struct map *m, const struct kubeconfig *k)
{
    if (k->server == NULL)
        return fail(m, "the cluster has no server");
    if (k->insecure_skip_tls_verify && (k->ca_file != NULL || k->ca_data != NULL))
        return fail(m, "insecure-skip-tls-verify cannot stand beside certificate-authority: leave "
                       "one of them out");
    if (check_url(m, "server", k->server, check_server) != ERR_OK)
        return ERR_CONFIG;
    return check_url(m, "proxy-url", k->proxy_url, proxy_check);
}

static enum err_kind read_cluster(const struct map *m, struct kubeconfig *k)
{
    enum err_kind kind = copy_text(m, "server", &k->server);

    if (kind == ERR_OK)
        kind = copy_text(m, "tls-server-name", &k->tls_server_name);
    if (kind == ERR_OK)
        kind = find_bool(m, "insecure-skip-tls-verify", &k->insecure_skip_tls_verify);
    if (kind == ERR_OK)
        kind = copy_file_or_data(m, "certificate-authority", &k->ca_file, &k->ca_data);
    if (kind == ERR_OK)
        kind = copy_text(m, "proxy-url", &k->proxy_url);
    if (kind == ERR_OK)
        kind = find_bool(m, "disable-compression", &k->disable_compression);
    return kind == ERR_OK ? check_cluster(m, k) : kind;
}

/* ---- The exec plugin of a user */

static enum err_kind check_exec_version(const struct map *m, const struct kubeconfig_exec *e)
{
    if (e->api_version == NULL)
        return fail(m, "exec needs apiVersion: client.authentication.k8s.io/v1 or v1beta1, "
                       "whichever the plugin knows");
    if (strcmp(e->api_version, "client.authentication.k8s.io/v1") != 0 &&
        strcmp(e->api_version, "client.authentication.k8s.io/v1beta1") != 0)
        return fail(m,
                    "exec.apiVersion \"%.60s\" is not supported: "
                    "client.authentication.k8s.io/v1 and v1beta1 are; newer releases of the "
                    "plugin know them",
                    e->api_version);
    return ERR_OK;
}

/* Of the modes only Always has an effect: such a plugin asks a person something. v1beta1 has a
 * default, IfAvailable. */
static enum err_kind check_exec_mode(const struct map *m, const struct kubeconfig_exec *e)
{
    int node;
    enum err_kind kind = yaml_tree_find_text(m->tree, m->node, "interactiveMode", &node, m->err);
    struct str mode = yaml_tree_bytes(m->tree, node);

    if (kind != ERR_OK)
        return kind;
    if (node == 0 && strcmp(e->api_version, "client.authentication.k8s.io/v1") == 0)
        return fail(m, "exec needs interactiveMode: Never, or IfAvailable");
    if (str_is(mode, "Always"))
        return fail_at(m, node,
                       "interactiveMode Always needs a terminal, which a daemon does not have: "
                       "write Never if the plugin can do without, else use a token or certificate");
    if (node != 0 && !str_is(mode, "Never") && !str_is(mode, "IfAvailable"))
        return fail_at(m, node, "interactiveMode must be Never or IfAvailable");
    return ERR_OK;
}

static enum err_kind copy_exec_env(const struct map *m, struct kubeconfig_exec *e)
{
    int list;
    enum err_kind kind = yaml_tree_find_list(m->tree, m->node, "env", &list, m->err);
    size_t n = yaml_tree_count(m->tree, list);

    e->env = mem_array(n + 1, sizeof(*e->env));
    for (size_t i = 0; i < n && kind == ERR_OK; i++) {
        int item = yaml_tree_item(m->tree, list, i);
        const struct map entry = {m->tree, item, m->path, m->err};
        struct kubeconfig_env *env = &e->env[e->env_count++];

        kind = copy_text(&entry, "name", &env->name);
        if (kind == ERR_OK)
            kind = copy_text(&entry, "value", &env->value);
        if (kind == ERR_OK && (env->name == NULL || strchr(env->name, '=') != NULL))
            kind = fail(&entry, "each variable in exec.env needs a name without \"=\"");
        if (env->value == NULL)
            env->value = mem_strdup("");
    }
    return kind;
}

/* Only a command with a slash is a file name; others are looked up in PATH. */
static enum err_kind copy_command(const struct map *m, struct kubeconfig_exec *e)
{
    enum err_kind kind = copy_text(m, "command", &e->command);

    if (kind != ERR_OK)
        return kind;
    if (e->command == NULL)
        return fail(m, "exec needs command: the program that gives the credentials");
    if (strchr(e->command, '/') != NULL)
        resolve(m, &e->command);
    return ERR_OK;
}

static enum err_kind read_exec(const struct map *m, struct kubeconfig_exec *e)
{
    enum err_kind kind = copy_text(m, "apiVersion", &e->api_version);

    if (kind == ERR_OK)
        kind = check_exec_version(m, e);
    if (kind == ERR_OK)
        kind = check_exec_mode(m, e);
    if (kind == ERR_OK)
        kind = copy_command(m, e);
    if (kind == ERR_OK)
        kind = copy_strings(m, "args", &e->args, &e->arg_count);
    if (kind == ERR_OK)
        kind = copy_exec_env(m, e);
    if (kind == ERR_OK)
        kind = copy_text(m, "installHint", &e->install_hint);
    if (kind == ERR_OK)
        kind = find_bool(m, "provideClusterInfo", &e->provide_cluster_info);
    return kind;
}

/* ---- The user */

/* Reads the lists of as-user-extra: KEY: [VALUE, ...]. */
static enum err_kind copy_extra(const struct map *m, struct impersonation *i)
{
    static const char key[] = "as-user-extra";
    int map;
    enum err_kind kind = yaml_tree_find(m->tree, m->node, key, &map, m->err);

    if (kind != ERR_OK || map == 0)
        return kind;
    if (!yaml_tree_is_map(m->tree, map))
        return fail_at(m, map, "%s must be a mapping of lists", key);
    size_t n = yaml_tree_count(m->tree, map);
    i->extra = mem_array(n + 1, sizeof(*i->extra));
    while (i->extra_count < n && kind == ERR_OK) {
        struct impersonation_extra *extra = &i->extra[i->extra_count];
        int name;
        int list;

        yaml_tree_entry(m->tree, map, i->extra_count++, &name, &list);
        struct str text = yaml_tree_bytes(m->tree, name);
        extra->key = mem_strndup(text.n > 0 ? text.p : "", text.n);
        if (yaml_tree_is_map(m->tree, list) || yaml_tree_bytes(m->tree, list).n > 0)
            return fail_at(m, list, "%s: each key needs a list of strings", key);
        kind = copy_list(m, key, list, &extra->values, &extra->value_count);
    }
    return kind;
}

static enum err_kind check_impersonation(const struct map *m, const struct impersonation *i)
{
    struct buf lines = {0};
    struct err err;

    if (i->user == NULL && (i->uid != NULL || i->group_count > 0 || i->extra_count > 0))
        return fail(m, "as-uid, as-groups and as-user-extra need as: the user to impersonate");
    enum err_kind kind = impersonation_put(i, &lines, &err);
    buf_free(&lines);
    return kind == ERR_OK ? ERR_OK : fail(m, "%s: that cannot be sent to a server", err.text);
}

static enum err_kind read_impersonation(const struct map *m, struct impersonation *i)
{
    enum err_kind kind = copy_text(m, "as", &i->user);

    if (kind == ERR_OK)
        kind = copy_text(m, "as-uid", &i->uid);
    if (kind == ERR_OK)
        kind = copy_strings(m, "as-groups", &i->groups, &i->group_count);
    if (kind == ERR_OK)
        kind = copy_extra(m, i);
    return kind == ERR_OK ? check_impersonation(m, i) : kind;
}

/* A certificate is of no use without its key, nor a key without its certificate. The rest is as in
 * docs/kubernetes-protocol.md "Which credential counts". */
static enum err_kind check_user(const struct map *m, const struct kubeconfig *k)
{
    bool cert = k->client_cert_file != NULL || k->client_cert_data != NULL;
    bool key = k->client_key_file != NULL || k->client_key_data != NULL;

    if (cert && !key)
        return fail(m, "client-certificate needs client-key");
    if (key && !cert)
        return fail(m, "client-key needs client-certificate");
    if (k->username != NULL && k->password == NULL)
        return fail(m, "username needs password");
    if (k->password != NULL && k->username == NULL)
        return fail(m, "password needs username");
    if (k->username != NULL && (k->token != NULL || k->token_file != NULL))
        return fail(m, "username and password cannot stand beside token or tokenFile: leave one of "
                       "the two out");
    if (k->username != NULL && strchr(k->username, ':') != NULL)
        return fail(m, "username holds a colon, which Basic authentication cannot send");
    return ERR_OK;
}

/* White space around a token does not count. Inside, it could add a header of its own to requests. */
static enum err_kind check_token(const struct map *m, const char *token)
{
    static const char space[] = " \t\n\v\f\r";
    const char *first = token + strspn(token, space);
    const char *end = first;
    int node;

    while (*end > ' ' && *end < 0x7f)
        end++;
    if (end > first && end[strspn(end, space)] == '\0')
        return ERR_OK;
    if (yaml_tree_find_text(m->tree, m->node, "token", &node, m->err) != ERR_OK)
        return ERR_CONFIG;
    return fail_at(m, node, "token holds white space or control bytes: one token is expected");
}

static enum err_kind read_credentials(const struct map *m, struct kubeconfig *k)
{
    enum err_kind kind =
        copy_file_or_data(m, "client-certificate", &k->client_cert_file, &k->client_cert_data);

    if (kind == ERR_OK)
        kind = copy_file_or_data(m, "client-key", &k->client_key_file, &k->client_key_data);
    if (kind == ERR_OK)
        kind = copy_text(m, "token", &k->token);
    if (kind == ERR_OK && k->token != NULL)
        kind = check_token(m, k->token);
    if (kind == ERR_OK)
        kind = copy_file(m, "tokenFile", &k->token_file);
    if (kind == ERR_OK)
        kind = copy_text(m, "username", &k->username);
    if (kind == ERR_OK)
        kind = copy_text(m, "password", &k->password);
    return kind == ERR_OK ? check_user(m, k) : kind;
}

/* Reads the plugin, unless another credential goes before it: then client-go does not start it, and its
 * errors do no harm. */
static enum err_kind read_plugin(const struct map *m, const struct map *cluster,
                                 struct kubeconfig *k)
{
    int provider = 0;
    int exec = 0;
    enum err_kind kind = yaml_tree_find(m->tree, m->node, "auth-provider", &provider, m->err);

    if (kind == ERR_OK)
        kind = yaml_tree_find(m->tree, m->node, "exec", &exec, m->err);
    if (kind != ERR_OK)
        return kind;
    if (provider != 0 && exec != 0)
        return fail_at(m, provider, "auth-provider cannot stand beside exec: leave it out");
    if (provider != 0)
        return fail_at(m, provider,
                       "auth-provider is not supported, as exec plugins have replaced it: use an "
                       "exec plugin, a token or a client certificate");
    if (exec == 0 || k->token != NULL || k->token_file != NULL || k->username != NULL ||
        k->client_cert_file != NULL || k->client_cert_data != NULL)
        return ERR_OK;
    const struct map inner = {m->tree, exec, m->path, m->err};
    kind = read_exec(&inner, &k->exec);
    return kind == ERR_OK ? copy_cluster_config(cluster, &k->exec.cluster_config) : kind;
}

/* ---- Contexts, clusters and users by their names */

/* Looks at one entry {name, FIELD} of a list: gives its FIELD if it has the wanted name, and
 * leaves *out alone otherwise. */
static enum err_kind match_entry(const struct map *entry, const char *field, struct str wanted,
                                 int *out)
{
    int name;
    enum err_kind kind = yaml_tree_find_text(entry->tree, entry->node, "name", &name, entry->err);

    if (kind != ERR_OK || name == 0 || !str_eq(yaml_tree_bytes(entry->tree, name), wanted))
        return kind;
    if (*out != 0)
        return fail(entry, "%s \"%.*s\" is there twice", field, STR_ARG(wanted));
    kind = yaml_tree_find(entry->tree, entry->node, field, out, entry->err);
    if (kind == ERR_OK && !yaml_tree_is_map(entry->tree, *out))
        return fail(entry, "the entry \"%.*s\" has no %s", STR_ARG(wanted), field);
    return kind;
}

/* Finds the entry of the wanted name in a list of {name, FIELD} of one file and gives its FIELD, 0
 * if there is none. All entries are looked at, so that a name that is there twice is noticed. */
static enum err_kind find_in_file(const struct reader *r, size_t from, const char *list_key,
                                  const char *field, struct str wanted, int *out)
{
    const struct yaml_tree *t = r->v[from].tree;
    int list;
    enum err_kind kind = yaml_tree_find_list(t, yaml_tree_root(t), list_key, &list, r->err);

    *out = 0;
    for (size_t i = 0; kind == ERR_OK && i < yaml_tree_count(t, list); i++) {
        const struct map entry = map_at(r, (struct place){from, yaml_tree_item(t, list, i)});

        kind = match_entry(&entry, field, wanted, out);
    }
    return kind;
}

/* The same over all files: the first that has the entry wins, whatever the others say. */
static enum err_kind find_entry(const struct reader *r, const char *list_key, const char *field,
                                const struct named *wanted, struct place *out)
{
    for (size_t i = 0; i < r->n; i++) {
        *out = (struct place){.from = i};
        enum err_kind kind = find_in_file(r, i, list_key, field, wanted->name, &out->node);

        if (kind != ERR_OK || out->node != 0)
            return kind;
    }
    const struct map at = map_at(r, wanted->at);
    return fail(&at, "there is no %s \"%.*s\" in %s", field, STR_ARG(wanted->name), list_key);
}

/* Chooses the context: the wanted one, else the first current-context. A context from the caller
 * has no node, so an error names line 1 of the first file. */
static enum err_kind choose_context(const struct reader *r, const char *wanted, struct named *out)
{
    *out = (struct named){.name = str_c(wanted)};
    for (size_t i = 0; i < r->n && out->name.n == 0; i++) {
        const struct yaml_tree *t = r->v[i].tree;

        out->at.from = i;
        if (yaml_tree_find_text(t, yaml_tree_root(t), "current-context", &out->at.node, r->err) !=
            ERR_OK)
            return ERR_CONFIG;
        out->name = yaml_tree_bytes(t, out->at.node);
    }
    if (out->name.n > 0)
        return ERR_OK;
    const struct map root = map_at(r, (struct place){0, yaml_tree_root(r->v[0].tree)});
    return fail(&root, "there is no current-context: name a context");
}

/* Finds the cluster or user (field) that the context names. */
static enum err_kind follow(const struct reader *r, struct place context, const char *list_key,
                            const char *field, struct named *out)
{
    const struct map m = map_at(r, context);
    int name;
    enum err_kind kind = yaml_tree_find_text(m.tree, m.node, field, &name, m.err);

    if (kind != ERR_OK)
        return kind;
    if (name == 0)
        return fail(&m, "the context names no %s", field);
    const struct named wanted = {
        yaml_tree_bytes(m.tree, name), {context.from, name}
    };
    out->name = wanted.name;
    return find_entry(r, list_key, field, &wanted, &out->at);
}

/* Follows the references: context, then cluster and user, then their fields. Entries of other
 * contexts are not looked at, so unsupported fields there do no harm. */
static enum err_kind read_files(const struct reader *r, const char *wanted, struct kubeconfig *k)
{
    struct named name = {0};
    struct place context = {0};
    struct named cluster = {0};
    struct named user = {0};
    enum err_kind kind = choose_context(r, wanted, &name);

    if (kind == ERR_OK)
        kind = find_entry(r, "contexts", "context", &name, &context);
    if (kind == ERR_OK)
        kind = follow(r, context, "clusters", "cluster", &cluster);
    if (kind == ERR_OK)
        kind = follow(r, context, "users", "user", &user);
    const struct map cluster_map = map_at(r, cluster.at);
    const struct map user_map = map_at(r, user.at);
    if (kind == ERR_OK)
        kind = read_cluster(&cluster_map, k);
    if (kind == ERR_OK)
        kind = read_credentials(&user_map, k);
    if (kind == ERR_OK)
        kind = read_impersonation(&user_map, &k->impersonation);
    if (kind == ERR_OK)
        kind = read_plugin(&user_map, &cluster_map, k);
    k->context = mem_strndup(name.name.n > 0 ? name.name.p : "", name.name.n);
    k->cluster = mem_strndup(cluster.name.n > 0 ? cluster.name.p : "", cluster.name.n);
    k->cluster_from = cluster.at.from;
    k->user = mem_strndup(user.name.n > 0 ? user.name.p : "", user.name.n);
    k->user_from = user.at.from;
    return kind;
}

enum err_kind kubeconfig_parse(const struct kubeconfig_file *files, size_t n, const char *context,
                               struct kubeconfig *out, struct err *err)
{
    struct reader r = {.v = mem_array(n, sizeof(*r.v)), .err = err};
    enum err_kind kind = ERR_OK;

    *out = (struct kubeconfig){0};
    for (; r.n < n && kind == ERR_OK; r.n++) {
        r.v[r.n].path = files[r.n].path;
        kind = yaml_tree_read(files[r.n].text, files[r.n].path, &r.v[r.n].tree, err);
    }
    if (kind == ERR_OK)
        kind = read_files(&r, context, out);
    for (size_t i = 0; i < r.n; i++)
        yaml_tree_destroy(&r.v[i].tree);
    free(r.v);
    if (kind != ERR_OK)
        kubeconfig_fini(out);
    return kind;
}

/* ---- The end */

/* Arguments and environment of a plugin may be secret: all of them are wiped. */
static void exec_fini(struct kubeconfig_exec *e)
{
    free(e->command);
    free(e->api_version);
    for (size_t i = 0; i < e->arg_count; i++)
        mem_free_secret(e->args[i]);
    free(e->args);
    for (size_t i = 0; i < e->env_count; i++) {
        free(e->env[i].name);
        mem_free_secret(e->env[i].value);
    }
    free(e->env);
    free(e->install_hint);
    mem_free_secret(e->cluster_config);
}

void kubeconfig_fini(struct kubeconfig *k)
{
    free(k->context);
    free(k->cluster);
    free(k->user);
    free(k->server);
    free(k->tls_server_name);
    free(k->ca_file);
    free(k->ca_data);
    mem_free_secret(k->proxy_url);
    free(k->client_cert_file);
    free(k->client_cert_data);
    free(k->client_key_file);
    mem_free_secret(k->client_key_data);
    mem_free_secret(k->token);
    free(k->token_file);
    free(k->username);
    mem_free_secret(k->password);
    impersonation_fini(&k->impersonation);
    exec_fini(&k->exec);
    *k = (struct kubeconfig){0};
}
