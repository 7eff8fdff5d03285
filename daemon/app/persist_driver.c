/* SPDX-License-Identifier: Apache-2.0 */
#include "app/persist_driver.h"

#include <stdlib.h>

#include "app/build.h"
#include "base/list.h"
#include "base/log.h"
#include "base/mem.h"
#include "hook/reload.h"
#include "io/deadline.h"
#include "io/fingerprints.h"
#include "io/gone_driver.h"
#include "io/loop.h"
#include "persist/persist.h"
#include "state/boot_id.h"

/* For the programs and files of all hooks together. Runs wait for the end of this (runner_begin()),
 * so a file system that hangs must not hold them up for ever. */
#define PROGRAMS_MS 10000

/* How long the state driver waits after a failed write, and persist between two looks at bookmarks
 * and contacts. */
#define RETRY_MS 5000
#define SWEEP_MS 10000

/* For the removal of up to a thousand files of a hook that is gone. */
#define GONE_MS 60000

struct cluster {
    struct persist_driver *of;
    size_t index; /* in conf->clusters */
    struct cluster_runtime *runtime;
    struct deadline *due; /* for persist_tick() */
};

/* The subscription of a watch. */
struct followed {
    struct list link;
    struct persist_driver *of;
    struct persist_watch *watch;
};

struct persist_driver {
    struct persist_driver_params params;
    const struct persist_driver_events *events;
    void *arg;
    struct persist *persist;
    struct state_driver *state_driver;
    struct cluster **clusters; /* as conf->clusters */
    size_t cluster_count;
    struct list followed;
    struct fingerprints *programs;
    bool compares;                /* programs has not reported all hooks yet */
    struct digest_forms *digests; /* by hook.index: of hooks that retire to be renewed */
    struct gone_driver *gone_driver;
    /* Bookmarks and contacts come without a change of an object, so they are looked at by time. */
    struct deadline *sweep;
    void (*flushed)(void *arg, bool all);
    char boot_id[BOOT_ID_LEN + 1];
};

/* Is anything written at all? With --dry-run the state is read, but never written. */
static bool keeps(const struct persist_driver *d)
{
    return d->params.folder != NULL && !d->params.forgets;
}

static struct persist_now now_of(const struct persist_driver *d)
{
    return (struct persist_now){.ms = loop_now_ms(d->params.loop),
                                .wall_ns = loop_wall_ns(),
                                .boot_ns = loop_boot_ns(),
                                .boot_id = d->boot_id};
}

static struct batch *batch(const struct persist_driver *d, enum state_driver_haste haste)
{
    return state_driver_batch(d->state_driver, haste);
}

/* ---- From watches and hooks to the state. */

static void on_delta(void *arg, struct source from, const struct delta *delta)
{
    const struct followed *s = arg;

    (void)from;
    persist_watch_delta(s->watch, delta, batch(s->of, STATE_DRIVER_SOON));
}

static void on_skipped(void *arg, struct source from, const struct skip *skip, bool gone)
{
    const struct followed *s = arg;

    (void)from;
    persist_watch_skipped(s->watch, skip, gone, batch(s->of, STATE_DRIVER_SOON));
}

void persist_driver_follow_watch(struct persist_driver *d, struct persist_watch *mw)
{
    static const struct subscriber subscriber = {.on_delta = on_delta, .on_skipped = on_skipped};

    if (!keeps(d))
        return;
    struct followed *f = MEM_NEW(struct followed, .of = d, .watch = mw);
    list_init(&f->link);
    list_append(&d->followed, &f->link);
    watch_subscribe(mw->watch, &subscriber, f);
}

static void follow_watches(struct persist_driver *d)
{
    for (size_t i = 0; i < d->persist->watch_count; i++)
        persist_driver_follow_watch(d, d->persist->watches[i]);
}

void persist_driver_forget_watch(struct persist_driver *d, const struct persist_watch *mw)
{
    list_each (pos, tmp, &d->followed) {
        struct followed *f = list_entry(pos, struct followed, link);

        if (f->watch == mw) {
            list_remove(&f->link);
            free(f);
        }
    }
}

static void set_due(struct cluster *c)
{
    uint64_t due_ms = c->of->persist->clusters[c->index].due_ms;
    uint64_t now_ms = loop_now_ms(c->of->params.loop);

    if (due_ms == 0)
        deadline_stop(c->due);
    else
        deadline_start(c->due, due_ms > now_ms ? due_ms - now_ms : 0);
}

/* A delivery record is of no use to a later process that does not know from which cluster the
 * object was. So while a cluster that has sent its first lists has not said which one it is, the
 * state driver holds back its commits from the runs that wait for them
 * (docs/decisions.md "A cold start lists first and asks for the cluster then"). */
bool persist_driver_awaits(struct persist_driver *d)
{
    bool any = false;

    for (size_t i = 0; i < d->cluster_count && keeps(d); i++) {
        struct cluster *c = d->clusters[i];
        bool is_heard = c->runtime != NULL && cluster_runtime_contact_ms(c->runtime) > 0;

        if (persist_awaits(d->persist, i, is_heard, loop_now_ms(d->params.loop))) {
            set_due(c);
            any = true;
        }
    }
    state_driver_hold(d->state_driver, any);
    return any;
}

void persist_driver_look(struct persist_driver *d, enum state_driver_haste haste)
{
    if (!keeps(d))
        return;
    persist_driver_awaits(d);
    struct batch *b = batch(d, STATE_DRIVER_SOON);
    persist_put_versions(d->persist, now_of(d), b);
    size_t before = b->count;
    bool is_urgent = persist_put_hooks(d->persist, b);
    if (is_urgent || (haste == STATE_DRIVER_NOW && b->count > before))
        (void)batch(d, STATE_DRIVER_NOW);
    /* Started by a change only, so that an idle daemon is not woken. */
    if (!deadline_pending(d->sweep))
        deadline_start(d->sweep, SWEEP_MS);
}

static void on_sweep(void *arg)
{
    const struct persist_driver *d = arg;

    persist_sweep(d->persist, now_of(d), false, batch(d, STATE_DRIVER_SOON));
}

static void on_lost(void *arg)
{
    struct persist_driver *d = arg;

    persist_lost(d->persist, now_of(d), batch(d, STATE_DRIVER_NOW));
    persist_driver_look(d, STATE_DRIVER_NOW);
}

static void on_batch(void *arg)
{
    const struct persist_driver *d = arg;

    d->events->on_batch(d->arg);
}

/* ---- Clusters. */

/* The cluster is good: watches that were held back begin. The forgotten rows are dropped in the
 * batch that has the identity. poke: persist_accept() has ordered lists. A judge may not drop the
 * requests that this would drop. */
static void go_on(struct cluster *c, bool poke)
{
    struct persist_driver *d = c->of;
    const struct persist *p = d->persist;

    for (size_t i = 0; i < p->watch_count; i++)
        if (p->watches[i]->cluster == c->index) {
            cluster_runtime_follow(c->runtime, p->watches[i]->watch);
            if (poke)
                cluster_runtime_poke(c->runtime, p->watches[i]->watch);
        }
    set_due(c);
    persist_driver_look(d, STATE_DRIVER_NOW);
    (void)batch(d, STATE_DRIVER_NOW); /* the identity must not wait, either */
    d->events->on_progress(d->arg);
}

static bool on_answer(void *arg, const struct cluster_identity *id, struct err *err)
{
    struct cluster *c = arg;
    struct persist_driver *d = c->of;

    enum persist_verdict verdict =
        persist_judge(d->persist, c->index, id, now_of(d), batch(d, STATE_DRIVER_SOON), err);

    if (verdict == PERSIST_VERDICT_HELD)
        set_due(c);
    if (verdict == PERSIST_VERDICT_RELEASED)
        cluster_runtime_retry(c->runtime);
    if (verdict != PERSIST_VERDICT_HELD)
        go_on(c, false);
    return verdict != PERSIST_VERDICT_HELD;
}

bool persist_driver_guard(struct persist_driver *d, const struct watch *w, bool accept)
{
    const struct persist *p = d->persist;
    size_t i = 0;

    while (i < p->watch_count && p->watches[i]->watch != w)
        i++;
    if (i == p->watch_count)
        return false;
    struct cluster *c = d->clusters[p->watches[i]->cluster];
    if (p->clusters[c->index].state != PERSIST_CLUSTER_HELD)
        return false;
    if (accept) {
        persist_accept(d->persist, c->index, batch(d, STATE_DRIVER_NOW));
        go_on(c, true);
    }
    return true;
}

static void on_due(void *arg)
{
    struct cluster *c = arg;
    struct persist_driver *d = c->of;

    if (persist_tick(d->persist, c->index, now_of(d)))
        cluster_runtime_identify_again(c->runtime);
    else
        d->events->on_progress(d->arg);
}

static void follow_cluster(struct cluster *c, struct cluster_runtime *runtime)
{
    c->runtime = runtime;
    cluster_runtime_identify(runtime, on_answer, c);
    set_due(c);
}

void persist_driver_follow(struct persist_driver *d, struct cluster_runtime *const *clusters)
{
    const struct persist *p = d->persist;

    for (size_t i = 0; i < d->cluster_count; i++)
        follow_cluster(d->clusters[i], clusters[i]);
    for (size_t i = 0; i < p->watch_count; i++)
        if (p->watches[i]->state == PERSIST_WATCH_LOADED)
            cluster_runtime_hold_back(clusters[p->watches[i]->cluster], p->watches[i]->watch);
}

/* ---- Programs. */

static void on_ready(void *arg)
{
    struct persist_driver *d = arg;

    d->compares = false;
    d->events->on_ready(d->arg);
    d->events->on_progress(d->arg);
}

static struct persist_hook *entry_of(const struct persist_driver *d, const struct hook *h)
{
    struct persist *p = d->persist;
    size_t i = 0;

    while (p->of->v[i] != h)
        i++;
    return &p->hooks[i];
}

/* A hook that has had runs in this process is replaced by itself before it is renewed, so that a run
 * under way ends as a run of the old program. */
static void take_digest(struct persist_driver *d, struct persist_hook *mh,
                        const struct digest_forms *digest)
{
    bool may_run = d->params.hooks->phase != HOOKS_STARTING && mh->hook->stage != HOOK_STARTS;

    if (!may_run || !persist_hook_has_changed(mh, digest)) {
        persist_hook_program(mh, digest, batch(d, STATE_DRIVER_NOW));
        return;
    }
    log_info(
        "the programs or files of the hook have changed: it runs again when its runs have ended",
        KV_STR("hook", mh->hook->name));
    d->digests[mh->hook->index] = *digest;
    hook_retire(mh->hook);
}

bool persist_driver_renews(const struct persist_driver *d, const struct hook *h)
{
    return !digest_eq(d->digests[h->index].now, (struct digest){0});
}

bool persist_driver_compares(const struct persist_driver *d)
{
    const struct hooks *hooks = d->params.hooks;
    bool compares = d->compares;

    for (size_t i = 0; i < hooks->n; i++)
        compares = compares || persist_driver_renews(d, hooks->v[i]);
    return compares;
}

void persist_driver_renew(struct persist_driver *d, const struct hook *h)
{
    persist_hook_program(entry_of(d, h), &d->digests[h->index], batch(d, STATE_DRIVER_NOW));
    d->digests[h->index] = (struct digest_forms){0};
}

/* digest NULL: the programs could not be read. Then the hook keeps its last digest, and does not run
 * again for that. */
static void on_digest(void *arg, size_t hook, const struct digest_forms *digest,
                      const struct err *err)
{
    struct persist_driver *d = arg;
    const char *name = d->params.conf->hooks[hook].name.v;
    struct persist_hook *mh = entry_of(d, hooks_find(d->params.hooks, str_c(name)));

    if (digest == NULL)
        log_warn("programs and files of a hook cannot be checked for changes",
                 KV_STR("hook", mh->hook->name), KV_ERR(err));
    else
        take_digest(d, mh, digest);
    if (mh->hook->stage == HOOK_STARTS)
        hook_serve(mh->hook);
    persist_driver_look(d, STATE_DRIVER_NOW);
    d->events->on_progress(d->arg);
}

/* Without a state there is nothing to compare with: then hooks that wait for the comparison start. A
 * hook that waits for its runs to end, because a reload before has found its programs changed, starts as
 * well: the programs that this reload compares may be the old ones again. */
static void serve_hooks(struct persist_driver *d)
{
    for (size_t i = 0; i < d->params.hooks->n; i++) {
        struct hook *h = d->params.hooks->v[i];

        if (h->stage == HOOK_RETIRES || (h->stage == HOOK_STARTS && d->params.folder == NULL))
            hook_serve(h);
    }
}

static void ask_for_programs(struct persist_driver *d)
{
    size_t n = d->params.hooks->n;

    static const struct fingerprints_events events = {on_digest, on_ready};
    const struct fingerprints_params p = {
        .loop = d->params.loop,
        .link = d->params.link,
        .hook_count = d->params.folder != NULL ? n : 0,
        .timeout_ms = PROGRAMS_MS,
    };

    free(d->digests);
    d->digests = mem_array(n + 1, sizeof(*d->digests));
    serve_hooks(d);
    d->compares = p.hook_count > 0;
    d->programs = fingerprints_create(&p, &events, d);
}

/* ---- Hooks that are gone. */

const struct gone *persist_driver_gone(const struct persist_driver *d)
{
    return &d->persist->gone;
}

bool persist_driver_forget(struct persist_driver *d, struct gone_hook *gh, bool with_files)
{
    if (!keeps(d))
        return false;
    log_info(with_files ? "hook is forgotten, and its output files are removed"
                        : "hook is forgotten; its output files stay",
             KV_STR("hook", gh->name));
    gone_forget(gh, d->params.hooks, with_files);
    gone_driver_look(d->gone_driver);
    persist_driver_look(d, STATE_DRIVER_NOW);
    return true;
}

/* Files of hooks that are gone were removed: their records follow. */
static void on_swept(void *arg)
{
    struct persist_driver *d = arg;

    persist_driver_look(d, STATE_DRIVER_NOW);
    d->events->on_progress(d->arg);
}

static void create_gone_driver(struct persist_driver *d)
{
    const struct gone_driver_params p = {.loop = d->params.loop,
                                         .link = d->params.link,
                                         .gone = &d->persist->gone,
                                         .number = d->params.gone_number,
                                         .timeout_ms = GONE_MS};

    d->gone_driver = gone_driver_create(&p, on_swept, d);
}

/* ---- Start and end. */

/* If the file could not be read and not be set aside (FAILED), the first batch must empty it. */
static void load(struct persist_driver *d)
{
    static const struct state_driver_events events = {on_lost, on_batch};
    struct persist_params p =
        build_persist(d->params.conf, d->params.sources, d->params.hooks, d->params.node_name);
    struct restore r;
    struct err err;
    enum loader_found found = restore_read(&r, d->params.folder, &err);
    const struct state_driver_params params = {.loop = d->params.loop,
                                               .folder = keeps(d) ? d->params.folder : NULL,
                                               .reason = d->params.reason,
                                               .reset = found == LOADER_FAILED,
                                               .limit = d->params.conf->limits.state.v,
                                               .retry_ms = RETRY_MS,
                                               .release = persist_row_release};

    if (found == LOADER_ASIDE || found == LOADER_FAILED)
        log_warn("state reset: the saved state cannot be used, so this start is like a first start",
                 KV_ERR(&err));
    d->state_driver = state_driver_create(&params, &events, d);
    d->persist = persist_create(&p, &r, now_of(d), batch(d, STATE_DRIVER_NOW));
    restore_fini(&r);
    build_persist_fini(&p);
}

static struct cluster *new_cluster(struct persist_driver *d, size_t index)
{
    struct cluster *c = MEM_NEW(struct cluster, .of = d, .index = index);

    c->due = deadline_create(d->params.loop, on_due, c);
    return c;
}

static void free_cluster(struct cluster *c)
{
    deadline_dispose(&c->due);
    free(c);
}

struct persist_driver *persist_driver_create(const struct persist_driver_params *params,
                                             const struct persist_driver_events *events, void *arg)
{
    struct persist_driver *d =
        MEM_NEW(struct persist_driver, .params = *params, .events = events, .arg = arg);

    d->sweep = deadline_create(params->loop, on_sweep, d);
    list_init(&d->followed);
    d->cluster_count = params->conf->n_clusters;
    d->clusters = mem_array(d->cluster_count + 1, sizeof(struct cluster *));
    for (size_t i = 0; i < d->cluster_count; i++)
        d->clusters[i] = new_cluster(d, i);
    boot_id_read(d->boot_id);
    load(d);
    create_gone_driver(d);
    persist_driver_look(d, STATE_DRIVER_NOW);
    follow_watches(d);
    ask_for_programs(d);
    return d;
}

/* ---- A reload. */

struct persist *persist_driver_persist(const struct persist_driver *d)
{
    return d->persist;
}

struct batch *persist_driver_batch(const struct persist_driver *d)
{
    return batch(d, STATE_DRIVER_NOW);
}

struct persist_now persist_driver_now(const struct persist_driver *d)
{
    return now_of(d);
}

bool persist_driver_is_busy(const struct persist_driver *d)
{
    return gone_driver_is_on(d->gone_driver) || d->compares;
}

void persist_driver_before_change(struct persist_driver *d)
{
    gone_driver_dispose(&d->gone_driver);
    fingerprints_dispose(&d->programs);
}

void persist_driver_set_clusters(struct persist_driver *d, const size_t *was, size_t n)
{
    struct cluster **old = d->clusters;

    d->clusters = mem_array(n + 1, sizeof(struct cluster *));
    for (size_t i = 0; i < n; i++) {
        d->clusters[i] = was[i] != SIZE_MAX ? old[was[i]] : new_cluster(d, i);
        d->clusters[i]->index = i;
        if (was[i] != SIZE_MAX)
            old[was[i]] = NULL;
    }
    for (size_t i = 0; i < d->cluster_count; i++)
        if (old[i] != NULL)
            free_cluster(old[i]);
    d->cluster_count = n;
    free(old);
}

void persist_driver_follow_cluster(struct persist_driver *d, size_t cluster,
                                   struct cluster_runtime *runtime)
{
    follow_cluster(d->clusters[cluster], runtime);
}

void persist_driver_change(struct persist_driver *d, const struct conf *conf, uint32_t gone_number)
{
    d->params.conf = conf;
    d->params.gone_number = gone_number;
    create_gone_driver(d);
    gone_driver_look(d->gone_driver);
    ask_for_programs(d);
}

struct state_driver *persist_driver_state(const struct persist_driver *d)
{
    return d->state_driver;
}

const char *persist_driver_trouble(struct persist_driver *d, size_t cluster)
{
    const struct cluster_runtime *runtime = d->clusters[cluster]->runtime;

    return persist_trouble(d->persist, cluster,
                           runtime != NULL ? cluster_runtime_identity_trouble(runtime) : NULL);
}

static void on_flushed(void *arg, bool all)
{
    const struct persist_driver *d = arg;

    d->flushed(d->arg, all);
}

void persist_driver_flush(struct persist_driver *d, uint64_t timeout_ms,
                          void (*done)(void *arg, bool all))
{
    if (keeps(d))
        persist_sweep(d->persist, now_of(d), true, batch(d, STATE_DRIVER_SOON));
    persist_driver_look(d, STATE_DRIVER_NOW);
    d->flushed = done;
    state_driver_flush(d->state_driver, timeout_ms, on_flushed);
}

void persist_driver_dispose(struct persist_driver **dp)
{
    struct persist_driver *d = *dp;

    if (d == NULL)
        return;
    *dp = NULL;
    deadline_dispose(&d->sweep);
    fingerprints_dispose(&d->programs);
    gone_driver_dispose(&d->gone_driver);
    for (size_t i = 0; i < d->cluster_count; i++)
        free_cluster(d->clusters[i]);
    persist_destroy(&d->persist);
    state_driver_dispose(&d->state_driver);
    list_each (pos, tmp, &d->followed)
        free(list_entry(pos, struct followed, link));
    free(d->clusters);
    free(d->digests);
    free(d);
}
