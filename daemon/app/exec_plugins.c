/* SPDX-License-Identifier: Apache-2.0 */
#include "app/exec_plugins.h"

#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "app/identity.h"
#include "base/buf.h"
#include "base/compiler.h"
#include "base/log.h"
#include "base/mem.h"
#include "helper/path_trust.h"
#include "helper/program.h"
#include "kube/exec_credential.h"

/* Kubeconfigs that tools of clouds write name programs without a path, and some of these tools are
 * installed in /usr/local/bin (docs/decisions.md "Exec plugins are looked up in /usr/local, too"). */
#define PLUGIN_PATH "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

/* ENV_STRING_MAX: the kernel's MAX_ARG_STRLEN. PLUGIN_UMASK: credentials are made for the owner's eyes
 * only. RUNS_MAX: after a reload the plugin may run for the credentials in use and for the changed
 * ones, and a second reload kills the latter run and begins another one before the helper has reaped
 * it. */
enum { ENV_STRING_MAX = 128 * 1024, PLUGIN_UMASK = 077, RUNS_MAX = 3 };

static const struct kubeconfig_exec *plugin_of(const struct cluster_access_list *l, size_t cluster)
{
    return l->v[cluster].exec;
}

size_t exec_plugins_count(const struct cluster_access_list *l)
{
    size_t n = 0;

    for (size_t i = 0; i < l->n; i++)
        n += plugin_of(l, i) != NULL;
    return n;
}

uint32_t exec_plugins_number(const struct conf *conf, const struct cluster_access_list *l,
                             size_t cluster)
{
    size_t n = conf->n_hooks;

    for (size_t i = 0; i < cluster; i++)
        n += plugin_of(l, i) != NULL;
    return (uint32_t)n;
}

/* ---- The environment */

/* NAME=VALUE, ends with NULL. */
struct environment {
    char **v;
    size_t n;
};

/* Adds a variable, unless there is one with this name. */
static void add(struct environment *e, const char *name, const char *value)
{
    size_t length = strlen(name);

    for (size_t i = 0; i < e->n; i++)
        if (strncmp(e->v[i], name, length) == 0 && e->v[i][length] == '=')
            return;
    e->v = mem_realloc(e->v, (e->n + 2) * sizeof(*e->v));
    e->v[e->n++] = mem_printf("%s=%s", name, value);
    e->v[e->n] = NULL;
}

/* Appends the CA of the cluster, unless that is the system's. */
static enum err_kind read_ca(const struct cluster_access_list *l, size_t cluster, struct buf *out,
                             struct err *err)
{
    const struct cluster_access *a = &l->v[cluster];

    if (!a->exec->provide_cluster_info ||
        (a->kubeconfig.ca_data == NULL && a->kubeconfig.ca_file == NULL))
        return ERR_OK;
    return cluster_access_read_item(l, &a->servers[0].items[CRED_CA], out, err);
}

/* The value of KUBERNETES_EXEC_INFO; the caller frees it. If the CA cannot be read now, that is left
 * out, and *unread says why. */
static char *make_info(const struct cluster_access_list *l, size_t cluster, struct err *unread)
{
    const struct cluster_access *a = &l->v[cluster];
    struct buf ca = {0};
    struct buf out = {0};

    *unread = (struct err){0};
    (void)read_ca(l, cluster, &ca, unread);
    const struct exec_credential_cluster info = {
        .server = a->servers[0].address,
        .tls_server_name = a->servers[0].tls_server_name,
        .insecure_skip_tls_verify = a->servers[0].insecure,
        .ca_pem = buf_str(&ca),
        .proxy_url = a->kubeconfig.proxy_url,
        .disable_compression = a->kubeconfig.disable_compression,
        .config = a->exec->cluster_config,
    };
    exec_credential_put_info(a->exec->api_version, a->exec->provide_cluster_info ? &info : NULL,
                             &out);
    char *text = mem_strdup(buf_cstr(&out));
    buf_free(&ca);
    buf_free(&out);
    return text;
}

/* The kubeconfig's own variables go before all others but KUBERNETES_EXEC_INFO, and of several with
 * the same name the last one counts, as for client-go. */
static char **make_env(const struct conf *conf, const struct cluster_access_list *l, size_t cluster,
                       struct err *unread)
{
    static const char *const proxies[] = {"HTTPS_PROXY", "HTTP_PROXY", "NO_PROXY",
                                          "https_proxy", "http_proxy", "no_proxy"};
    const struct kubeconfig_exec *exec = plugin_of(l, cluster);
    struct environment e = {0};
    char *info = make_info(l, cluster, unread);
    char *home = identity_home(geteuid() == 0 ? conf->user.v : NULL);

    add(&e, "KUBERNETES_EXEC_INFO", info);
    for (size_t i = exec->env_count; i-- > 0;)
        add(&e, exec->env[i].name, exec->env[i].value);
    add(&e, "PATH", PLUGIN_PATH);
    add(&e, "HOME", home);
    add(&e, "LANG", "C.UTF-8");
    for (size_t i = 0; i < ARRAY_LEN(proxies); i++)
        if (getenv(proxies[i]) != NULL)
            add(&e, proxies[i], getenv(proxies[i]));
    mem_free_secret(info); /* the address of a proxy may have a password */
    free(home);
    return e.v;
}

/* The strings may be secret, so they are wiped. */
static void free_env(char **env)
{
    for (size_t i = 0; env[i] != NULL; i++)
        mem_free_secret(env[i]);
    free(env);
}

/* ---- The entry of the helper */

static const char **make_argv(const struct kubeconfig_exec *exec)
{
    const char **argv = mem_array(exec->arg_count + 2, sizeof(*argv));

    argv[0] = exec->command;
    for (size_t i = 0; i < exec->arg_count; i++)
        argv[i + 1] = exec->args[i];
    return argv;
}

enum err_kind exec_plugins_fill(const struct conf *conf, const struct cluster_access_list *l,
                                size_t cluster, struct helper_hook *out, struct err *err)
{
    const struct kubeconfig_exec *exec = plugin_of(l, cluster);
    struct identity id = {0};
    struct err unread;

    out->kind = HELPER_PLUGIN;
    out->name = conf->clusters[cluster].name.v;
    out->argv = make_argv(exec);
    out->env = (const char *const *)make_env(conf, l, cluster, &unread);
    if (unread.kind != ERR_OK)
        log_warn("exec plugin is not told the CA of its cluster", KV_STR("cluster", out->name),
                 KV_ERR(&unread));
    out->umask = PLUGIN_UMASK;
    out->kill_signal = SIGKILL;
    out->concurrency = RUNS_MAX;
    out->change_user = geteuid() == 0;
    if (!out->change_user)
        return ERR_OK;
    if (identity_find(conf->user.v, "", &id, err) != ERR_OK)
        return err_wrap(err, "exec plugin of cluster %s", out->name);
    out->uid = id.uid;
    out->gid = id.gid;
    out->groups = id.groups;
    out->group_count = id.group_count;
    const char **alone = mem_array(2, sizeof(*alone));
    alone[0] = exec->command;
    out->alone = alone;
    return ERR_OK;
}

/* ---- Checks */

static void problem(const struct conf *conf, size_t cluster, struct problems *p, const char *text)
{
    const struct conf_cluster *c = &conf->clusters[cluster];

    problems_add(p, c->kubeconfig.at, "clusters.%s: exec plugin: %s", c->name.v, text);
}

/* Finds the program; false: it is not installed. */
static bool find(const struct cluster_access_list *l, size_t cluster, char **env,
                 char path[PATH_MAX])
{
    return program_find(plugin_of(l, cluster)->command, (const char *const *)env, path, PATH_MAX) &&
           access(path, F_OK) == 0;
}

/* The plugin runs with the rights of main, which can have the helper open the credentials of other
 * clusters and run hooks. So no third user may choose the program, its arguments and its environment. */
static void check_author(const struct conf *conf, const struct cluster_access_list *l,
                         size_t cluster, struct problems *p)
{
    uid_t owner = l->v[cluster].exec_owner;

    if (owner == 0 || owner == identity_uid(conf->user.v))
        return;
    char *text = mem_printf("its kubeconfig belongs to uid %u, but the program would run as user "
                            "\"%s\": give the file to root or to that user",
                            (unsigned)owner, conf->user.v);
    problem(conf, cluster, p, text);
    free(text);
}

static void check_root(const struct conf *conf, const struct cluster_access_list *l, size_t cluster,
                       char **env, struct problems *p)
{
    char path[PATH_MAX];
    struct err err;

    if (identity_uid(conf->user.v) == 0)
        problem(conf, cluster, p, "it does not run as root: set `user` to another user");
    check_author(conf, l, cluster, p);
    if (find(l, cluster, env, path) && path_trust_check(path, NULL, &err) != ERR_OK)
        problem(conf, cluster, p, err.text);
}

void exec_plugins_check(const struct conf *conf, const struct cluster_access_list *l,
                        struct problems *p)
{
    struct err unread;

    for (size_t i = 0; i < l->n; i++) {
        if (plugin_of(l, i) == NULL)
            continue;
        char **env = make_env(conf, l, i, &unread);
        if (strlen(env[0]) >= ENV_STRING_MAX)
            problem(conf, i, p,
                    "KUBERNETES_EXEC_INFO would be larger than 128 KiB, which is more than a "
                    "program can get: set provideClusterInfo to false, or name a smaller CA");
        if (geteuid() == 0)
            check_root(conf, l, i, env, p);
        free_env(env);
    }
}

void exec_plugins_check_installed(const struct conf *conf, const struct cluster_access_list *l,
                                  struct problems *p)
{
    char path[PATH_MAX];
    struct err unread;

    for (size_t i = 0; i < l->n; i++) {
        const struct kubeconfig_exec *exec = plugin_of(l, i);

        if (exec == NULL)
            continue;
        char **env = make_env(conf, l, i, &unread);
        const char *hint = exec->install_hint != NULL ? exec->install_hint : "";
        char *text =
            mem_printf("%s is not installed%s%s", exec->command, hint[0] ? ": " : "", hint);
        if (!find(l, i, env, path))
            problem(conf, i, p, text);
        free(text);
        free_env(env);
    }
}
