/* SPDX-License-Identifier: Apache-2.0 */
#include "app/reload_switch.h"

#include <stdlib.h>
#include <string.h>

#include "app/build.h"
#include "app/cluster_runtime.h"
#include "app/control.h"
#include "app/persist_driver.h"
#include "app/sources.h"
#include "base/mem.h"
#include "base/panic.h"
#include "hook/reload.h"
#include "io/helper_link.h"
#include "io/loop.h"
#include "persist/persist.h"

/* One switch. */
struct switching {
    const struct reload_parts *parts;
    const struct conf *was;
    const struct conf *conf;
    const struct reload_plan *plan;
    struct persist *persist;
    struct sources_moves moves;
    struct now now;
};

static struct now now(const struct reload_parts *p)
{
    return (struct now){.ms = loop_now_ms(p->loop), .wall_ns = loop_wall_ns()};
}

static bool leaves(const struct reload_entry *e)
{
    return e->change == RELOAD_REPLACE || e->change == RELOAD_DROP;
}

static const struct reload_entry *entry_of(const struct reload_plan *plan, const struct hook *h)
{
    for (size_t i = 0; i < plan->hooks.n; i++)
        if (plan->hooks.v[i].change != RELOAD_ADD && strcmp(plan->hooks.v[i].name, h->name) == 0)
            return &plan->hooks.v[i];
    panic("a hook without an entry in the plan: %s", h->name);
}

static bool hook_leaves(const void *plan, const struct hook *h)
{
    return leaves(entry_of(plan, h));
}

/* ---- Hooks retire. */

void reload_switch_retire(const struct reload_parts *p, const struct reload_plan *plan)
{
    for (size_t i = 0; i < p->hooks->n; i++)
        if (hook_leaves(plan, p->hooks->v[i]))
            hook_retire(p->hooks->v[i]);
}

void reload_switch_give_up(const struct reload_parts *p, const struct reload_plan *plan)
{
    for (size_t i = 0; i < p->hooks->n; i++) {
        struct hook *h = p->hooks->v[i];

        if (hook_leaves(plan, h) && !persist_driver_renews(p->persist, h))
            hook_serve(h);
    }
}

const struct hook *reload_switch_waits_for(const struct reload_parts *p,
                                           const struct reload_plan *plan)
{
    for (size_t i = 0; i < p->hooks->n; i++) {
        const struct hook *h = p->hooks->v[i];

        if (hook_leaves(plan, h) && !hook_is_retired(h))
            return h;
    }
    return NULL;
}

size_t reload_switch_running(const struct reload_parts *p, const struct reload_plan *plan)
{
    return runner_running_of(p->runner, hook_leaves, plan);
}

void reload_switch_kill(const struct reload_parts *p, const struct reload_plan *plan)
{
    runner_kill(p->runner, hook_leaves, plan);
}

bool reload_switch_is_possible(const struct reload_parts *p, const struct reload_plan *plan)
{
    return reload_switch_waits_for(p, plan) == NULL && !runner_is_sweeping(p->runner) &&
           !persist_driver_is_busy(p->persist);
}

/* ---- Hooks. */

static struct hook_params hook_params(const struct reload_parts *p, const struct conf *conf,
                                      size_t index)
{
    struct hook_params params;
    struct err err;

    if (build_hook(conf, index, p->sources, p->node_name, &params, &err) != ERR_OK)
        panic("a checked hook cannot be built: %s", err.text);
    return params;
}

/* Puts a new hook in the place of a retired one. It waits until its programs were read. */
static struct hook *replace_hook(const struct reload_parts *p, const struct conf *conf,
                                 struct hook *old, size_t index)
{
    struct hook_params params = hook_params(p, conf, index);
    const struct persist_hook_params kept = build_persist_hook(conf, index, NULL, p->node_name);
    struct hook *h =
        persist_replace_hook(persist_driver_persist(p->persist), old, &params, &kept,
                             persist_driver_now(p->persist), persist_driver_batch(p->persist));

    build_hook_fini(&params);
    hook_hold(h);
    return h;
}

static void add_hook(const struct switching *s, size_t index)
{
    const struct reload_parts *p = s->parts;
    struct hook_params params = hook_params(p, s->conf, index);
    struct hook *h = hooks_add(p->hooks, &params);
    const struct persist_hook_params kept = build_persist_hook(s->conf, index, h, p->node_name);

    build_hook_fini(&params);
    persist_add_hook(s->persist, &kept, persist_driver_now(p->persist),
                     persist_driver_batch(p->persist));
    hook_hold(h);
}

/* The hook stays: its settings of time, and its index. */
static void change_hook(const struct switching *s, struct hook *h, size_t index)
{
    struct hook_params params = hook_params(s->parts, s->conf, index);

    hook_change(h, &params, s->now.ms);
    hook_rules_fini(&params.rules);
    filter_fini(&params.filter);
    build_hook_fini(&params);
}

static void change_hooks(const struct switching *s)
{
    const struct reload_parts *p = s->parts;

    for (size_t i = 0; i < s->plan->hooks.n; i++) {
        const struct reload_entry *e = &s->plan->hooks.v[i];
        struct hook *h = hooks_find(p->hooks, str_c(e->name));

        if (e->change == RELOAD_DROP)
            persist_drop_hook(s->persist, h, persist_driver_now(p->persist),
                              persist_driver_batch(p->persist));
        else if (e->change == RELOAD_REPLACE)
            (void)replace_hook(p, s->conf, h, e->now);
        else if (e->change == RELOAD_ADD)
            add_hook(s, e->now);
        else
            change_hook(s, h, e->now);
    }
}

/* Shows the new hooks the objects of their sources. */
static void attach_hooks(const struct switching *s)
{
    for (size_t i = 0; i < s->plan->hooks.n; i++) {
        const struct reload_entry *e = &s->plan->hooks.v[i];

        if (e->change == RELOAD_REPLACE || e->change == RELOAD_ADD)
            hook_attach(hooks_find(s->parts->hooks, str_c(e->name)), s->now);
    }
}

static bool is_to_renew(const struct reload_parts *p, const struct reload_plan *plan,
                        const struct hook *h)
{
    return hook_is_retired(h) && (plan == NULL || !hook_leaves(plan, h)) &&
           persist_driver_renews(p->persist, h);
}

static bool any_to_renew(const struct reload_parts *p, const struct reload_plan *plan)
{
    for (size_t i = 0; i < p->hooks->n; i++)
        if (is_to_renew(p, plan, p->hooks->v[i]))
            return true;
    return false;
}

void reload_switch_renew(const struct reload_parts *p, const struct conf *conf,
                         const struct reload_plan *plan)
{
    if (!any_to_renew(p, plan) || runner_is_sweeping(p->runner))
        return;
    runner_before_change(p->runner);
    for (size_t i = 0; i < p->hooks->n; i++) {
        struct hook *h = p->hooks->v[i];

        if (!is_to_renew(p, plan, h))
            continue;
        h = replace_hook(p, conf, h, h->index);
        persist_driver_renew(p->persist, h);
        hook_attach(h, now(p));
        hook_serve(h);
    }
    runner_after_renewal(p->runner);
}

/* ---- Watches and views. */

static void rename_watch(const struct switching *s, const struct persist_watch_params *params)
{
    const struct persist_watch *mw = persist_find_watch(s->persist, params->watch);

    if (mw != NULL && strcmp(mw->name, params->name) != 0)
        persist_replace_watch(s->persist, params->watch, params,
                              persist_driver_batch(s->parts->persist));
}

/* The rows of a watch that leaves get a name of the watch that takes its place: their old name may be
 * that of another watch now. The new name was a name of the watch before, so no other rows have it. */
static void rename_leaving(const struct switching *s, const struct sources_move *m)
{
    const struct persist_watch *mw = persist_find_watch(s->persist, m->from);
    const struct persist_watch_params params = {.watch = m->from,
                                                .name = s->conf->watches[m->kept].name.v,
                                                .settings = mw->settings,
                                                .bytes = mw->bytes,
                                                .cluster = mw->cluster};

    rename_watch(s, &params);
}

/* Rows may be kept under a name that is one of another watch now: so this comes before new watches take
 * their names. */
static void rename_rows(const struct switching *s)
{
    for (size_t i = 0; i < s->conf->n_watches; i++) {
        const struct persist_watch_params params =
            build_persist_watch(s->conf, i, s->parts->sources);

        if (s->conf->watches[i].first == i)
            rename_watch(s, &params);
    }
    for (size_t i = 0; i < s->moves.n; i++)
        if (s->moves.v[i].to != NULL && s->moves.v[i].leaves)
            rename_leaving(s, &s->moves.v[i]);
}

static void move_rows(const struct switching *s, const struct sources_move *m)
{
    const struct persist_watch_params params =
        build_persist_watch(s->conf, m->kept, s->parts->sources);
    struct batch *b = persist_driver_batch(s->parts->persist);

    if (m->from == NULL)
        persist_add_watch(s->persist, &params, b);
    else if (m->leaves)
        persist_replace_watch(s->persist, m->from, &params, b);
    else
        persist_split_watch(s->persist, m->from, &params, b);
    struct persist_watch *mw = persist_find_watch(s->persist, m->to);
    if (m->from != NULL && m->leaves)
        persist_driver_forget_watch(s->parts->persist, mw);
    persist_driver_follow_watch(s->parts->persist, mw);
}

/* First the watches that have inherited from a watch and do not take its place: they need its rows. */
static void move_all_rows(const struct switching *s)
{
    for (int leaving = 0; leaving <= 1; leaving++)
        for (size_t i = 0; i < s->moves.n; i++)
            if (s->moves.v[i].to != NULL && s->moves.v[i].leaves == (leaving != 0))
                move_rows(s, &s->moves.v[i]);
}

static void drop_rows(const struct switching *s)
{
    for (size_t i = 0; i < s->moves.n; i++) {
        const struct sources_move *m = &s->moves.v[i];

        if (m->to != NULL)
            continue;
        persist_driver_forget_watch(s->parts->persist, persist_find_watch(s->persist, m->from));
        persist_drop_watch(s->persist, m->from, persist_driver_batch(s->parts->persist));
    }
}

/* The cluster of a watch, or of the watches of a view; NULL = there is no such source. */
static const char *cluster_of(const struct conf *conf, const char *source)
{
    const struct conf_view *v = conf_find_view(conf, source);
    const struct conf_watch *w = conf_find_watch(conf, v != NULL ? v->services.v : source);

    return w != NULL ? w->cluster.v : NULL;
}

static void forget_if_moved(const struct switching *s, const char *source)
{
    const char *now = cluster_of(s->conf, source);

    if (now != NULL && strcmp(now, cluster_of(s->was, source)) != 0)
        persist_forget_source(s->persist, source, persist_driver_batch(s->parts->persist));
}

/* A source that has moved to another cluster begins anew: the objects of the cluster before did not
 * end, so nothing is DELETED. The watch may have objects of the other cluster under another name. */
static void forget_moved(const struct switching *s)
{
    for (size_t i = 0; i < s->was->n_watches; i++)
        forget_if_moved(s, s->was->watches[i].name.v);
    for (size_t i = 0; i < s->was->n_views; i++)
        forget_if_moved(s, s->was->views[i].name.v);
}

/* ---- Clusters. */

/* was[i]: the index that cluster i had before. The caller frees it. */
static size_t *before(const struct reload_entries *e, size_t n)
{
    size_t *was = mem_array(n + 1, sizeof(*was));

    for (size_t i = 0; i < n; i++)
        was[i] = e->v[i].change == RELOAD_REPLACE ? RELOAD_NONE : e->v[i].was;
    return was;
}

static void change_persist_clusters(const struct switching *s, const size_t *was)
{
    size_t n = s->conf->n_clusters;
    struct persist_cluster_params *params = mem_array(n + 1, sizeof(*params));

    for (size_t i = 0; i < n; i++)
        params[i] = build_persist_cluster(s->conf, &s->conf->clusters[i]);
    persist_set_clusters(s->persist, params, was, n, persist_driver_batch(s->parts->persist));
    persist_driver_set_clusters(s->parts->persist, was, n);
    free(params);
}

static struct cluster_runtime *runtime_of(const struct switching *s, size_t watch)
{
    const struct conf_cluster *c = conf_find_cluster(s->conf, s->conf->watches[watch].cluster.v);

    return (*s->parts->clusters)[c - s->conf->clusters];
}

static void change_clusters(const struct switching *s, const size_t *was,
                            const struct cluster_access_list *access)
{
    const struct reload_parts *p = s->parts;
    struct cluster_runtime **old = *p->clusters;
    size_t n = s->conf->n_clusters;

    *p->clusters = mem_array(n + 1, sizeof(struct cluster_runtime *));
    for (size_t i = 0; i < n; i++) {
        bool is_new = was[i] == RELOAD_NONE;

        (*p->clusters)[i] =
            p->build_cluster(p->arg, s->conf, access, i, is_new ? NULL : old[was[i]]);
        if (is_new)
            persist_driver_follow_cluster(p->persist, i, (*p->clusters)[i]);
        else
            old[was[i]] = NULL;
    }
    for (size_t i = 0; i < *p->cluster_count; i++)
        cluster_runtime_dispose(&old[i]);
    *p->cluster_count = n;
    free(old);
}

/* Before clusters are disposed, as those that leave have watches that leave. */
static void leave_clusters(const struct switching *s)
{
    for (size_t i = 0; i < s->moves.n; i++) {
        const struct sources_move *m = &s->moves.v[i];

        if (m->to != NULL)
            continue;
        const struct conf_cluster *c = conf_find_cluster(s->was, watch_cluster(m->from));
        cluster_runtime_remove((*s->parts->clusters)[c - s->was->clusters], m->from);
    }
}

/* The watches begin, or go on from where the watch before was. */
static void follow_watches(const struct switching *s)
{
    for (size_t i = 0; i < s->moves.n; i++) {
        const struct sources_move *m = &s->moves.v[i];

        if (m->to == NULL)
            continue;
        struct cluster_runtime *c = runtime_of(s, m->now);
        uint64_t audit_ms = s->conf->watches[m->now].audit.v;
        bool held = persist_begin_watch(s->persist, persist_find_watch(s->persist, m->to),
                                        persist_driver_now(s->parts->persist));
        if (m->from != NULL && m->leaves)
            cluster_runtime_replace(c, m->from, m->to, audit_ms);
        else
            cluster_runtime_add(c, m->to, audit_ms);
        if (held)
            cluster_runtime_hold_back(c, m->to);
    }
    for (size_t i = 0; i < s->conf->n_watches; i++)
        if (s->plan->watches.v[i].change == RELOAD_CHANGE && s->conf->watches[i].first == i)
            cluster_runtime_set_audit(runtime_of(s, i), sources_watches(s->parts->sources)[i].watch,
                                      s->conf->watches[i].audit.v);
}

/* ---- The switch. */

static void change_watches(struct switching *s)
{
    const struct reload_parts *p = s->parts;

    sources_change(p->sources, s->conf, s->plan, s->now, &s->moves);
    drop_rows(s);
}

static void show_views(const struct switching *s)
{
    for (size_t i = 0; i < s->conf->n_views; i++)
        if (s->moves.is_new_view[i])
            view_restored(sources_views(s->parts->sources)[i], s->now);
}

/* The order: the new numbers of the helper count for everything below. Watches come before hooks,
 * which point to them, and their rows before those of hooks, which ask how much may be kept. Hooks
 * get their records before they see objects. Added watches begin when all hooks have told which keys
 * they know. The watches and views that leave are destroyed last, as the others point to them until
 * then. */
void reload_switch_over(const struct reload_parts *p, const struct conf *was,
                        const struct conf *conf, const struct cluster_access_list *cluster_access,
                        const struct reload_plan *plan)
{
    struct switching s = {.parts = p,
                          .was = was,
                          .conf = conf,
                          .plan = plan,
                          .persist = persist_driver_persist(p->persist),
                          .now = now(p)};
    size_t *clusters = before(&plan->clusters, conf->n_clusters);
    size_t *hooks = before(&plan->hooks, conf->n_hooks);
    struct runner_hook *runner_hooks = *p->runner_hooks;

    helper_link_commit(p->link);
    runner_before_change(p->runner);
    persist_driver_before_change(p->persist);
    change_watches(&s);
    leave_clusters(&s);
    change_persist_clusters(&s, clusters);
    rename_rows(&s);
    move_all_rows(&s);
    persist_set_views(s.persist, sources_views(p->sources), conf->n_views);
    forget_moved(&s);
    change_hooks(&s);
    show_views(&s);
    attach_hooks(&s);
    change_clusters(&s, clusters, cluster_access);
    follow_watches(&s);
    *p->runner_hooks = build_runner_hooks(conf);
    runner_change(p->runner, *p->runner_hooks, hooks, conf->n_hooks);
    hooks_set_slots(p->hooks, (unsigned)conf->limits.hook_concurrency.v);
    persist_driver_change(p->persist, conf, build_gone_number(conf, cluster_access));
    control_change(p->control, conf, cluster_access, *p->clusters, &s.moves);
    sources_moves_end(&s.moves);
    free(runner_hooks);
    free(clusters);
    free(hooks);
}
