/* SPDX-License-Identifier: Apache-2.0 */
/*
 * build - copies what each layer needs out of the configuration into that layer's own parameters.
 */
#ifndef APP_BUILD_H
#define APP_BUILD_H

#include "base/digest.h"
#include "cache/view.h"
#include "cache/watch.h"
#include "conf/conf.h"
#include "helper/helper.h"
#include "hook/hook.h"
#include "io/api_client.h"
#include "io/runner.h"

struct sources;

/* The user a hook runs as: its own, else the daemon's. */
const char *build_hook_user(const struct conf *conf, const struct conf_hook *h);

/* What the watches of a configuration have in common. */
struct build_watches {
    const struct conf *conf;
    const char *node_name;
    const struct watch_events *events;
    void *arg; /* of events */
};

/* One watch, and the digest of its settings (watch_digest()). Errors as watch_create(). */
enum err_kind build_watch(const struct build_watches *b, const struct conf_watch *w,
                          struct watch **out, struct digest *settings, struct err *err) MUST_CHECK;

/* The parameters of one view of these watches; borrows from v. */
struct view_params build_view(const struct conf_view *v, struct watch *services,
                              struct watch *slices, const char *node_name);

/* The parameters of one hook. The filter and the rules go to hooks_add(), which also copies the
 * array at p->sources and p->output; build_hook_fini() frees these. ERR_CONFIG as filter_init(). */
enum err_kind build_hook(const struct conf *conf, size_t index, const struct sources *sources,
                         const char *node_name, struct hook_params *p, struct err *err) MUST_CHECK;

/* Frees what hooks_add() has copied. */
void build_hook_fini(struct hook_params *p);

/* What the helper must know of all hooks; borrowed strings of conf must outlive it. ERR_CONFIG: a
 * user does not exist. Release with build_helper_fini(). */
enum err_kind build_helper(const struct conf *conf, const char *node_name, struct helper_params *p,
                           struct err *err) MUST_CHECK;

/* Frees what build_helper() allocated. */
void build_helper_fini(struct helper_params *p);

/* What the runner must know of all hooks; the caller frees the array. */
struct runner_hook *build_runner_hooks(const struct conf *conf) MUST_CHECK;

#endif
