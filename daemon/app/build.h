/* SPDX-License-Identifier: Apache-2.0 */
/*
 * build - copies the settings that each layer needs from the configuration into the parameters of
 * that layer. No layer below app/ sees struct conf (ARCHITECTURE.md "Layers").
 */
#ifndef APP_BUILD_H
#define APP_BUILD_H

#include "app/cluster_access.h"
#include "base/digest.h"
#include "cache/view.h"
#include "cache/watch.h"
#include "conf/conf.h"
#include "helper/helper.h"
#include "hook/hook.h"
#include "io/api_client.h"
#include "io/runner.h"
#include "persist/persist.h"

struct hooks;
struct sources;

/* The user that a hook runs as: its own setting, else the user of the daemon. Borrowed from
 * conf. */
const char *build_hook_user(const struct conf *conf, const struct conf_hook *h);

/* The capabilities that a hook names, as a set (base/capability.h). */
uint64_t build_hook_capabilities(const struct conf_hook *h) MUST_CHECK;

/* Makes the watch of w in *out, and sets *settings to the digest of its settings (watch_digest()).
 * app/reload_plan compares all that this reads. Errors as watch_create(). */
enum err_kind build_watch(const struct conf *conf, const struct conf_watch *w,
                          const char *node_name, struct watch **out, struct digest *settings,
                          struct err *err) MUST_CHECK;

/* The parameters of one view of these two watches; its strings are borrowed from v. */
struct view_params build_view(const struct conf_view *v, struct watch *services,
                              struct watch *slices, const char *node_name);

/* Fills in *p, the parameters of the hook conf->hooks[index]. hooks_add() takes the filter and the
 * rules, and copies the array at p->sources and p->output; build_hook_fini() frees these two.
 * ERR_CONFIG as filter_init(); nothing is left to free then. */
enum err_kind build_hook(const struct conf *conf, size_t index, const struct sources *sources,
                         const char *node_name, struct hook_params *p, struct err *err) MUST_CHECK;

/* Frees what hooks_add() has copied. */
void build_hook_fini(struct hook_params *p);

/* The parameters of a cluster for persist/, as the next two. Strings are borrowed from conf. */
struct persist_cluster_params build_persist_cluster(const struct conf *conf,
                                                    const struct conf_cluster *c);
/* Of the watch conf->watches[i], which is the first of equal ones. */
struct persist_watch_params build_persist_watch(const struct conf *conf, size_t i,
                                                const struct sources *sources);
/* Of the hook conf->hooks[i]. */
struct persist_hook_params build_persist_hook(const struct conf *conf, size_t i, struct hook *h,
                                              const char *node_name);

/* The parameters of persist_create(). Strings are borrowed from conf. Release with
 * build_persist_fini() when persist_create() has returned. */
struct persist_params build_persist(const struct conf *conf, const struct sources *sources,
                                    struct hooks *hooks, const char *node_name);

/* Frees the arrays that build_persist() allocated. */
void build_persist_fini(struct persist_params *p);

/* Fills in *p, all that the helper must know of the hooks, of the exec plugins behind them
 * (app/exec_plugins.h), and of the credential files. Strings are borrowed from conf and access, which
 * must outlive *p. ERR_CONFIG: a user, group or owner does not exist, or an output path is not
 * possible on this node. Release with build_helper_fini(), after an error too. */
enum err_kind build_helper(const struct conf *conf, const struct cluster_access_list *access,
                           const char *node_name, struct helper_params *p,
                           struct err *err) MUST_CHECK;

/* The number of the hook of the helper that stands for metrics.textfile, if there is one. */
uint32_t build_textfile_number(const struct conf *conf, const struct cluster_access_list *access);

/* The number of the hook behind these, which stands for all hooks that are not configured any more
 * (hook/gone). */
uint32_t build_gone_number(const struct conf *conf, const struct cluster_access_list *access);

/* Frees what build_helper() allocated. */
void build_helper_fini(struct helper_params *p);

/* Everything that the runner must know of all hooks, as an array in the order of conf->hooks; the
 * caller frees it. Its strings are borrowed from conf. */
struct runner_hook *build_runner_hooks(const struct conf *conf) MUST_CHECK;

#endif
