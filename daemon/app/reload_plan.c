/* SPDX-License-Identifier: Apache-2.0 */
#include "app/reload_plan.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "app/build.h"
#include "base/buf.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/panic.h"
#include "conf/cluster_conf.h"
#include "conf/hook_text.h"
#include "conf/main_conf.h"
#include "conf/setting_compare.h"
#include "conf/value.h"

/* ---- Elements by name: there may be thousands */

struct names {
    struct map by_name;
    struct map_node *v; /* of element i */
};

/* Finds the elements of an array of n structs of size bytes that begin with their name. */
static void names_init(struct names *names, const void *first, size_t n, size_t size)
{
    *names = (struct names){.v = mem_array(n + 1, sizeof(*names->v))};
    for (size_t i = 0; i < n; i++) {
        const void *element = (const char *)first + i * size;

        map_put(&names->by_name, &names->v[i], str_c(((const struct conf_str *)element)->v));
    }
}

static void names_fini(struct names *names)
{
    for (struct map_node *n; (n = map_first(&names->by_name)) != NULL;)
        map_remove(&names->by_name, n);
    free(names->v);
}

/* The index of the element, or RELOAD_NONE. */
static size_t names_find(const struct names *names, const char *name)
{
    const struct map_node *n = map_get(&names->by_name, str_c(name));

    return n != NULL ? (size_t)(n - names->v) : RELOAD_NONE;
}

/* ---- Both configurations, and the plan as far as it is made */

struct side {
    const struct conf *conf;
    const struct cluster_access_list *cluster_access;
    struct names clusters;
    struct names watches;
    struct names views;
    struct names hooks;
};

struct planner {
    struct side was;
    struct side now;
    const char *node_name; /* only a restart changes it */
    struct reload_plan *plan;
};

static void side_init(struct side *s, const struct reload_side *params)
{
    const struct conf *c = params->conf;

    *s = (struct side){.conf = c, .cluster_access = params->cluster_access};
    names_init(&s->clusters, c->clusters, c->n_clusters, sizeof(*c->clusters));
    names_init(&s->watches, c->watches, c->n_watches, sizeof(*c->watches));
    names_init(&s->views, c->views, c->n_views, sizeof(*c->views));
    names_init(&s->hooks, c->hooks, c->n_hooks, sizeof(*c->hooks));
}

static void side_fini(struct side *s)
{
    names_fini(&s->clusters);
    names_fini(&s->watches);
    names_fini(&s->views);
    names_fini(&s->hooks);
}

static void add_text(struct reload_texts *t, const char *text)
{
    t->v = mem_grow(t->v, t->n, sizeof(*t->v));
    t->v[t->n++] = mem_strdup(text);
}

static struct reload_entry *add_entry(struct reload_entries *e, const char *name,
                                      enum reload_change change, size_t was, size_t now)
{
    e->v = mem_grow(e->v, e->n, sizeof(*e->v));
    e->v[e->n] = (struct reload_entry){.name = mem_strdup(name),
                                       .change = change,
                                       .was = was,
                                       .now = now,
                                       .first = now != RELOAD_NONE ? now : was};
    return &e->v[e->n++];
}

/* Appends a reason to those that are there. */
static void add_reason(struct reload_entry *e, const char *kind, const char *name, const char *what)
{
    char *before = e->because;

    e->because = before != NULL ? mem_printf("%s, %s %s %s", before, kind, name, what)
                                : mem_printf("%s %s %s", kind, name, what);
    free(before);
}

/* Does the struct watch or view go on that has the name of this entry? */
static bool goes_on(const struct reload_entry *e)
{
    return e->change == RELOAD_KEEP || e->change == RELOAD_CHANGE;
}

/* ---- Clusters */

static void note_setting(void *arg, const struct setting_difference *d)
{
    add_text(arg, d->key);
}

/* The kubeconfig has other content, although the cluster names the same file and context. */
static bool has_other_kubeconfig(const struct planner *p, size_t was, size_t now)
{
    const struct conf_cluster *a = &p->was.conf->clusters[was];
    const struct conf_cluster *b = &p->now.conf->clusters[now];

    return strcmp(a->kubeconfig.v, b->kubeconfig.v) == 0 &&
           strcmp(a->context.v, b->context.v) == 0 &&
           !kubeconfig_equal(&p->was.cluster_access->v[was].kubeconfig,
                             &p->now.cluster_access->v[now].kubeconfig);
}

/* Notes changes that the settings of the cluster do not show: of files that they name, and of settings
 * elsewhere that the cluster uses. */
static void note_access(const struct planner *p, struct reload_entry *e)
{
    const struct cluster_access_list *a = p->was.cluster_access;
    const struct cluster_access_list *b = p->now.cluster_access;

    if (has_other_kubeconfig(p, e->was, e->now))
        add_text(&e->settings, "kubeconfig content");
    /* The user of the daemon may own files of credentials. Else an owner has another uid, or a CA of
     * this machine has changed. */
    if (e->settings.n == 0 && !cluster_access_equal(a, e->was, b, e->now))
        add_text(&e->settings, strcmp(p->was.conf->user.v, p->now.conf->user.v) != 0
                                   ? "user"
                                   : "content or owner of its files");
    if (p->was.conf->limits.credential_expiry.v != p->now.conf->limits.credential_expiry.v)
        add_text(&e->settings, "limits.credential_expiry");
}

static void plan_cluster(struct planner *p, size_t now)
{
    const struct conf_cluster *c = &p->now.conf->clusters[now];
    size_t was = names_find(&p->was.clusters, c->name.v);
    struct reload_entry *e = add_entry(&p->plan->clusters, c->name.v, RELOAD_ADD, was, now);

    if (was == RELOAD_NONE)
        return;
    setting_compare(cluster_conf_settings, &p->was.conf->clusters[was], c, note_setting,
                    &e->settings);
    note_access(p, e);
    e->change = e->settings.n > 0 ? RELOAD_CHANGE : RELOAD_KEEP;
}

static void plan_clusters(struct planner *p)
{
    for (size_t i = 0; i < p->now.conf->n_clusters; i++)
        plan_cluster(p, i);
    for (size_t i = 0; i < p->was.conf->n_clusters; i++) {
        const char *name = p->was.conf->clusters[i].name.v;

        if (names_find(&p->now.clusters, name) == RELOAD_NONE)
            add_entry(&p->plan->clusters, name, RELOAD_DROP, i, RELOAD_NONE);
    }
}

/* ---- Watches */

/* The settings of a cluster that its connections alone use. All others of `tuning`, and stale_after, are
 * used by build_watch(): a new one replaces watches unless it stands here. */
static const char *const of_connections[] = {"tuning.connect_timeout", "tuning.tls_timeout",
                                             "tuning.response_timeout", "tuning.list_concurrency",
                                             "tuning.compression"};

static bool enters_watches(const char *key)
{
    for (size_t i = 0; i < ARRAY_LEN(of_connections); i++)
        if (strcmp(key, of_connections[i]) == 0)
            return false;
    return strncmp(key, "tuning.", strlen("tuning.")) == 0 || strcmp(key, "stale_after") == 0;
}

/* Collects the settings in which a watch and its cluster differ. */
struct watch_comparison {
    struct reload_entry *entry;
    const char *cluster;
    bool rebuilds; /* the struct watch would be another one */
};

static void note_of_watch(void *arg, const struct setting_difference *d)
{
    struct watch_comparison *c = arg;

    add_text(&c->entry->settings, d->key);
    /* Only the driver of the watch has the interval of audits. */
    if (strcmp(d->key, "audit") != 0)
        c->rebuilds = true;
}

static void note_of_its_cluster(void *arg, const struct setting_difference *d)
{
    struct watch_comparison *c = arg;

    if (!enters_watches(d->key))
        return;
    char *key = mem_printf("clusters.%s.%s", c->cluster, d->key);
    add_text(&c->entry->settings, key);
    c->rebuilds = true;
    free(key);
}

/* Compares all that build_watch() reads. Both watches are in clusters of the same name. Returns whether
 * the struct watch would be another one. */
static bool compare_watches(const struct planner *p, struct reload_entry *e)
{
    const struct conf_watch *a = &p->was.conf->watches[e->was];
    const struct conf_watch *b = &p->now.conf->watches[e->now];
    size_t cluster_was = names_find(&p->was.clusters, a->cluster.v);
    size_t cluster_now = names_find(&p->now.clusters, b->cluster.v);
    struct watch_comparison c = {.entry = e, .cluster = b->cluster.v};

    ensure(cluster_was != RELOAD_NONE && cluster_now != RELOAD_NONE);
    setting_compare(watch_conf_settings, a, b, note_of_watch, &c);
    setting_compare(cluster_conf_settings, &p->was.conf->clusters[cluster_was],
                    &p->now.conf->clusters[cluster_now], note_of_its_cluster, &c);
    if (p->was.conf->limits.object_size.v != p->now.conf->limits.object_size.v) {
        add_text(&e->settings, "limits.object_size");
        c.rebuilds = true;
    }
    return c.rebuilds;
}

static const char *first_name(const struct side *s, size_t watch)
{
    return s->conf->watches[s->conf->watches[watch].first].name.v;
}

/* Decides on a watch that both configurations have in clusters of the same name. A struct watch has the
 * name of the first of the watches that share it. */
static void plan_same_watch(const struct planner *p, struct reload_entry *e)
{
    const struct reload_entry *first = &p->plan->watches.v[e->first];
    bool rebuilds = compare_watches(p, e);
    bool same_first = strcmp(first_name(&p->was, e->was), first_name(&p->now, e->now)) == 0;

    e->change = e->settings.n > 0 ? RELOAD_CHANGE : RELOAD_KEEP;
    if (rebuilds || !same_first || (e != first && !goes_on(first)))
        e->change = RELOAD_REPLACE;
    if (!same_first)
        e->because = e != first ? mem_printf("shares the connections of watch %s now", first->name)
                                : mem_printf("shared the connections of watch %s so far",
                                             first_name(&p->was, e->was));
}

static void plan_watch(struct planner *p, size_t now)
{
    const struct conf_watch *w = &p->now.conf->watches[now];
    size_t was = names_find(&p->was.watches, w->name.v);
    bool stays =
        was != RELOAD_NONE && strcmp(p->was.conf->watches[was].cluster.v, w->cluster.v) == 0;
    struct reload_entry *e =
        add_entry(&p->plan->watches, w->name.v, RELOAD_ADD, stays ? was : RELOAD_NONE, now);

    e->first = w->first;
    if (stays)
        plan_same_watch(p, e);
    else if (was != RELOAD_NONE)
        add_text(&e->settings, "cluster");
}

static bool has_entry(const struct planner *p, size_t watch_was)
{
    size_t now = names_find(&p->now.watches, p->was.conf->watches[watch_was].name.v);

    return now != RELOAD_NONE && p->plan->watches.v[now].was == watch_was;
}

static void plan_watches(struct planner *p)
{
    for (size_t i = 0; i < p->now.conf->n_watches; i++)
        plan_watch(p, i);
    for (size_t i = 0; i < p->was.conf->n_watches; i++) {
        const struct conf_watch *w = &p->was.conf->watches[i];

        if (!has_entry(p, i))
            add_entry(&p->plan->watches, w->name.v, RELOAD_DROP, i, RELOAD_NONE)->first = w->first;
    }
}

/* ---- Views */

/* Is the source the same one as before? If not, notes that as a reason. */
static bool check_source(const struct planner *p, const char *name, struct reload_entry *e)
{
    size_t view = names_find(&p->now.views, name);
    size_t watch = names_find(&p->now.watches, name);

    ensure(view != RELOAD_NONE || watch != RELOAD_NONE);
    const struct reload_entry *source =
        view != RELOAD_NONE ? &p->plan->views.v[view] : &p->plan->watches.v[watch];
    if (!goes_on(source))
        add_reason(e, view != RELOAD_NONE ? "view" : "watch", name,
                   source->change == RELOAD_ADD ? "is added" : "is replaced");
    return goes_on(source);
}

static void plan_view(struct planner *p, size_t now)
{
    const struct conf_view *v = &p->now.conf->views[now];
    size_t was = names_find(&p->was.views, v->name.v);
    struct reload_entry *e = add_entry(&p->plan->views, v->name.v, RELOAD_ADD, was, now);

    if (was == RELOAD_NONE)
        return;
    setting_compare(view_conf_settings, &p->was.conf->views[was], v, note_setting, &e->settings);
    bool services = check_source(p, v->services.v, e);
    bool slices = check_source(p, v->slices.v, e);
    e->change = e->settings.n == 0 && services && slices ? RELOAD_KEEP : RELOAD_REPLACE;
}

static void plan_views(struct planner *p)
{
    for (size_t i = 0; i < p->now.conf->n_views; i++)
        plan_view(p, i);
    for (size_t i = 0; i < p->was.conf->n_views; i++) {
        const char *name = p->was.conf->views[i].name.v;

        if (names_find(&p->now.views, name) == RELOAD_NONE)
            add_entry(&p->plan->views, name, RELOAD_DROP, i, RELOAD_NONE);
    }
}

/* ---- Hooks */

/* Whether the hook names its user or leaves it to the daemon makes no difference if it is the same
 * user. */
static void note_of_hook(void *arg, const struct setting_difference *d)
{
    if (strcmp(d->key, "user") != 0)
        add_text(arg, d->key);
}

/* Does the hook run again for all objects? The rule is that of a restart. */
static bool is_renewed(const struct planner *p, const struct conf_hook *a,
                       const struct conf_hook *b)
{
    struct digest was = hook_text_digests(p->was.conf, a, p->node_name).now;
    struct digest now = hook_text_digests(p->now.conf, b, p->node_name).now;

    return !digest_eq(was, now);
}

static void compare_hooks(const struct planner *p, struct reload_entry *e)
{
    const struct conf_hook *a = &p->was.conf->hooks[e->was];
    const struct conf_hook *b = &p->now.conf->hooks[e->now];
    const char *user_was = build_hook_user(p->was.conf, a);
    const char *user_now = build_hook_user(p->now.conf, b);

    setting_compare(hook_conf_settings, a, b, note_of_hook, &e->settings);
    if (strcmp(user_was, user_now) != 0)
        add_text(&e->settings, "user");
    e->change = e->settings.n > 0 ? RELOAD_CHANGE : RELOAD_KEEP;
    /* The digests take longer than the comparison, and most hooks are as before. */
    if (e->settings.n > 0 && is_renewed(p, a, b)) {
        e->change = RELOAD_REPLACE;
        e->effect = RELOAD_RUNS_FOR_ALL;
    }
}

static void plan_hook(struct planner *p, size_t now)
{
    const struct conf_hook *h = &p->now.conf->hooks[now];
    size_t was = names_find(&p->was.hooks, h->name.v);
    struct reload_entry *e = add_entry(&p->plan->hooks, h->name.v, RELOAD_ADD, was, now);
    bool same_sources = true;

    e->effect = RELOAD_RUNS_FOR_UNHANDLED;
    if (was == RELOAD_NONE)
        return;
    e->effect = RELOAD_NO_RUN;
    compare_hooks(p, e);
    for (size_t i = 0; i < h->sources.n; i++)
        same_sources = check_source(p, h->sources.v[i].v, e) && same_sources;
    if (same_sources)
        return;
    e->change = RELOAD_REPLACE;
    if (e->effect == RELOAD_NO_RUN)
        e->effect = RELOAD_RUNS_FOR_CHANGES;
}

static void plan_hooks(struct planner *p)
{
    for (size_t i = 0; i < p->now.conf->n_hooks; i++)
        plan_hook(p, i);
    for (size_t i = 0; i < p->was.conf->n_hooks; i++) {
        const char *name = p->was.conf->hooks[i].name.v;

        if (names_find(&p->now.hooks, name) == RELOAD_NONE)
            add_entry(&p->plan->hooks, name, RELOAD_DROP, i, RELOAD_NONE);
    }
}

/* ---- All other settings */

static void note_at_the_top(void *arg, const struct setting_difference *d)
{
    struct reload_plan *plan = arg;

    if (d->row->type != SETTING_NAMED && d->change != SETTING_RESTARTS)
        add_text(&plan->settings, d->key);
}

static void add_restart(struct reload_plan *plan, const char *setting, const char *now,
                        const char *wanted, const struct where *at)
{
    plan->restarts = mem_grow(plan->restarts, plan->restart_count, sizeof(*plan->restarts));
    plan->restarts[plan->restart_count++] = (struct reload_restart){
        .setting = mem_strdup(setting),
        .now = mem_strdup(now),
        .wanted = mem_strdup(wanted),
        .at = at->line > 0 ? mem_printf("%s:%d", at->file, at->line) : NULL};
}

/* The value of a setting that needs a restart; the caller frees it. */
static char *text_of(const struct setting *row, const void *value)
{
    struct buf size = {0};

    if (row->type == SETTING_STR)
        return mem_strdup(((const struct conf_str *)value)->v);
    if (row->type == SETTING_WORD)
        return mem_strdup(row->words[((const struct conf_word *)value)->v]);
    if (row->type == SETTING_INT)
        return mem_printf("%" PRId64, ((const struct conf_int *)value)->v);
    ensure(row->type == SETTING_SIZE);
    value_put_size(&size, ((const struct conf_size *)value)->v);
    char *text = mem_strdup(buf_cstr(&size));
    buf_free(&size);
    return text;
}

static void note_restart(void *arg, const struct setting_difference *d)
{
    /* The name of the node has other sources than this setting. */
    if (d->change != SETTING_RESTARTS || strcmp(d->key, "node_name") == 0)
        return;
    char *now = text_of(d->row, d->a);
    char *wanted = text_of(d->row, d->b);
    add_restart(arg, d->key, now, wanted, d->b);
    free(now);
    free(wanted);
}

void reload_plan_add_restarts(struct reload_plan *p, const struct reload_side *was,
                              const struct reload_side *wanted)
{
    setting_compare(main_conf_settings, was->conf, wanted->conf, note_restart, p);
    if (strcmp(was->node_name, wanted->node_name) != 0)
        add_restart(p, "node_name", was->node_name, wanted->node_name, &wanted->conf->node_name.at);
}

/* ---- The plan */

struct reload_plan *reload_plan_create(const struct reload_side *was, const struct reload_side *now)
{
    struct planner p = {.plan = mem_zalloc(sizeof(*p.plan)), .node_name = was->node_name};

    side_init(&p.was, was);
    side_init(&p.now, now);
    /* In this order, as each looks at the entries of those that it uses. */
    plan_clusters(&p);
    plan_watches(&p);
    plan_views(&p);
    plan_hooks(&p);
    setting_compare(main_conf_settings, was->conf, now->conf, note_at_the_top, p.plan);
    p.plan->compares_programs = now->conf->n_hooks > 0 && conf_state_folder(now->conf) != NULL;
    side_fini(&p.was);
    side_fini(&p.now);
    return p.plan;
}

static void free_entries(struct reload_entries *e)
{
    for (size_t i = 0; i < e->n; i++) {
        mem_free_strs(e->v[i].settings.v, e->v[i].settings.n);
        free(e->v[i].name);
        free(e->v[i].because);
    }
    free(e->v);
}

void reload_plan_destroy(struct reload_plan **pp)
{
    struct reload_plan *p = *pp;

    if (p == NULL)
        return;
    *pp = NULL;
    free_entries(&p->clusters);
    free_entries(&p->watches);
    free_entries(&p->views);
    free_entries(&p->hooks);
    mem_free_strs(p->settings.v, p->settings.n);
    for (size_t i = 0; i < p->restart_count; i++) {
        free(p->restarts[i].setting);
        free(p->restarts[i].now);
        free(p->restarts[i].wanted);
        free(p->restarts[i].at);
    }
    free(p->restarts);
    free(p);
}

size_t reload_plan_count(const struct reload_entries *e, enum reload_change change)
{
    size_t n = 0;

    for (size_t i = 0; i < e->n; i++)
        n += e->v[i].change == change;
    return n;
}
