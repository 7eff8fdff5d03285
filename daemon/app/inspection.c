/* SPDX-License-Identifier: Apache-2.0 */
#include "app/inspection.h"

#include <limits.h>
#include <linux/magic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/vfs.h>

#include "admin/admin.h"
#include "app/other_daemon.h"
#include "app/process_stat.h"
#include "app/programs.h"
#include "app/sandbox.h"
#include "app/unit_order.h"
#include "base/buf.h"
#include "base/compiler.h"
#include "cache/skips.h"
#include "cache/store.h"
#include "cache/watch.h"
#include "conf/watch_conf.h"
#include "kube/resource.h"

/* Where the findings go. */
struct inspection {
    finding_cb *cb;
    void *arg;
};

static void tell(const struct inspection *to, enum finding_id id, const char *kind,
                 const char *name, const char *sentence)
{
    const struct finding f = {id, kind, name, sentence};

    to->cb(to->arg, &f);
}

/* Only the helper can see a program below a folder that only root may open. */
static void look_at_program(const struct inspection *to, const struct conf_hook *h,
                            const struct conf_list *command)
{
    struct err err;
    enum err_kind kind = command->n > 0 ? programs_check(command->v[0].v, &err) : ERR_OK;

    if (kind == ERR_CONFIG || kind == ERR_NOT_FOUND)
        tell(to, FINDING_PROGRAM, "hook", h->name.v, err.text);
}

static void look_at_order(const struct inspection *to, const struct conf_hook *h,
                          const struct conf_list *command)
{
    struct buf text = {0};
    const char *unit = unit_order_waits(command, "");

    if (unit != NULL) {
        buf_printf(
            &text,
            "waits for systemctl and %s, which systemd starts after informerd: at a boot each "
            "waits for the other",
            unit);
        tell(to, FINDING_UNIT_ORDER, "hook", h->name.v, buf_cstr(&text));
    }
    buf_free(&text);
}

static void look_at_fields(const struct inspection *to, const struct conf *conf,
                           const struct conf_hook *h)
{
    struct buf text = {0};
    const char *field = hook_conf_secret_field(conf, h);

    if (field != NULL) {
        buf_printf(&text, "fields: %s " HOOK_CONF_SECRET_FIELD, field);
        tell(to, FINDING_SECRET_FIELD, "hook", h->name.v, buf_cstr(&text));
    }
    buf_free(&text);
}

static void look_at_hook(const struct inspection *to, const struct conf *conf,
                         const struct conf_hook *h)
{
    const struct conf_list *const all[] = {&h->command, &h->check, &h->apply};

    for (size_t i = 0; i < ARRAY_LEN(all); i++) {
        look_at_program(to, h, all[i]);
        look_at_order(to, h, all[i]);
    }
    look_at_fields(to, conf, h);
}

static void look_at_state(const struct inspection *to, const struct conf *conf)
{
    const char *folder = conf_state_folder(conf);
    struct statfs fs;
    struct buf text = {0};

    if (folder == NULL || statfs(folder, &fs) != 0 ||
        (fs.f_type != TMPFS_MAGIC && fs.f_type != RAMFS_MAGIC))
        return;
    buf_printf(&text, "%s is in memory (tmpfs): a boot loses the record of handled objects",
               folder);
    tell(to, FINDING_STATE_IN_RAM, "state", "", buf_cstr(&text));
    buf_free(&text);
}

static void look_at_descriptors(const struct inspection *to)
{
    struct rlimit limit;
    size_t n = process_stat_descriptors();
    struct buf text = {0};

    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY ||
        n < limit.rlim_cur - limit.rlim_cur / 10)
        return;
    buf_printf(&text, "%zu of %llu file descriptors are in use: new connections will fail", n,
               (unsigned long long)limit.rlim_cur);
    tell(to, FINDING_DESCRIPTORS, "informerd", "", buf_cstr(&text));
    buf_free(&text);
}

static void look_at_others(const struct inspection *to)
{
    struct buf config = {0};
    struct buf text = {0};
    pid_t pid = other_daemon_find(&config);

    if (pid > 0) {
        buf_printf(&text, "another daemon, pid %ld, was started with the same configuration %s",
                   (long)pid, buf_cstr(&config));
        tell(to, FINDING_TWO_DAEMONS, "informerd", "", buf_cstr(&text));
    }
    buf_free(&text);
    buf_free(&config);
}

/* Something does not work, or somebody else works in main. */
static void look_at_sandbox(const struct inspection *to)
{
    struct buf text = {0};
    char *name;

    for (size_t i = 0; (name = sandbox_refused(i)) != NULL; i++) {
        buf_printf(&text, "%s%s", i > 0 ? ", " : "the sandbox has refused system calls: ", name);
        free(name);
    }
    if (text.len > 0)
        tell(to, FINDING_SANDBOX, "informerd", "", buf_cstr(&text));
    buf_free(&text);
}

static const char by_node[] = "${node_name}";

static bool selects_by_node(const struct conf_watch *w)
{
    bool selects = strstr(w->field_selector.v, by_node) != NULL ||
                   strstr(w->label_selector.v, by_node) != NULL;

    for (size_t i = 0; i < w->match.n; i++)
        selects = selects || strstr(w->match.v[i].v, by_node) != NULL;
    return selects;
}

/* Does the watch know for sure that its cluster has no Node of this name? It does if its cache has all
 * objects as the server has them, and if it selects all Nodes, or the one with this name. */
static bool lacks_node(const struct conf_watch *w, const struct watch *live, const char *node_name)
{
    const struct resource *r = watch_target(live);
    const struct store *store = watch_store(live);
    bool is_narrow = w->names.n > 0 || w->match.n > 0 || w->label_selector.v[0] != '\0';
    bool is_one = strcmp(w->field_selector.v, "metadata.name=${node_name}") == 0;

    if (r == NULL || r->group == NULL || r->group[0] != '\0' || strcmp(r->plural, "nodes") != 0)
        return false;
    if (!watch_settled(live) || watch_stale(live) || skips_count(store_skips(store)) > 0)
        return false;
    if (is_narrow || (!is_one && w->field_selector.v[0] != '\0'))
        return false;
    return (is_one || store_count(store) > 0) && store_get(store, str_c(node_name)) == NULL;
}

/* A machine that is no Node of the cluster, such as a load balancer, may watch all Nodes. So the name
 * counts only if a watch of the same cluster selects by it. A watch of Pods says nothing: there are
 * Nodes without Pods. */
static void look_at_node_name(const struct inspection *to, const struct conf *conf, size_t at,
                              const struct watch *live, const char *node_name)
{
    const struct conf_watch *w = &conf->watches[at];
    const struct conf_watch *user = NULL;
    struct buf text = {0};

    for (size_t i = 0; i < conf->n_watches && user == NULL; i++)
        if (strcmp(conf->watches[i].cluster.v, w->cluster.v) == 0 &&
            selects_by_node(&conf->watches[i]))
            user = &conf->watches[i];
    if (user == NULL || !lacks_node(w, live, node_name))
        return;
    buf_printf(
        &text,
        "watch %s selects by node_name, and no Node is called \"%s\": node_name is wrong, or "
        "the Node is gone",
        user->name.v, node_name);
    tell(to, FINDING_NODE_NAME, "watch", w->name.v, buf_cstr(&text));
    buf_free(&text);
}

void inspection_run(const struct conf *conf, const struct admin_watch *watches,
                    const char *node_name, finding_cb *cb, void *arg)
{
    const struct inspection to = {cb, arg};

    look_at_others(&to);
    for (size_t i = 0; i < conf->n_watches; i++)
        look_at_node_name(&to, conf, i, watches[i].watch, node_name);
    look_at_state(&to, conf);
    look_at_descriptors(&to);
    look_at_sandbox(&to);
    for (size_t i = 0; i < conf->n_hooks; i++)
        look_at_hook(&to, conf, &conf->hooks[i]);
}
