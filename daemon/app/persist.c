/* SPDX-License-Identifier: Apache-2.0 */
#include "app/persist.h"

#include <stdlib.h>
#include <string.h>

#include "app/persist_cluster.h"
#include "app/persist_hook.h"
#include "app/persist_row.h"
#include "app/persist_watch.h"
#include "app/restore.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/panic.h"
#include "conf/hook_text.h"
#include "io/deadline.h"
#include "io/fingerprints.h"
#include "io/loop.h"
#include "state/boot_id.h"

/* Seconds until an item that no configuration has any more is forgotten
 * (docs/design.md "Missed deletes"). */
#define GRACE_S ((uint64_t)7 * 24 * 3600)

/* Bytes of the file (docs/design.md "Records on disk"): ten times what the Services and
 * EndpointSlices of a large cluster take. */
#define STATE_SIZE ((uint64_t)1 << 30)

/* For the programs and files of all hooks together. Runs wait for the end of this (runner_begin()),
 * so a file system that hangs must not hold them up for ever. */
#define PROGRAMS_MS 10000

/* How long the state driver waits after a failed write, and persist between two looks at bookmarks
 * and contacts. */
#define RETRY_MS 5000
#define SWEEP_MS 10000

struct persist {
    struct persist_params params;
    const struct persist_events *events;
    void *arg;
    struct ids *ids;
    struct state_driver *state_driver;
    struct persist_watch *watches; /* one of each group of equal watches */
    size_t watch_count;
    struct persist_hook *hooks;        /* as conf->hooks */
    struct persist_cluster **clusters; /* as conf->clusters */
    uint64_t *cluster_items;           /* the same: their rows in the state */
    struct fingerprints *programs;
    struct persist_removed removed;
    struct list dirty; /* scopes with objects in the batch, whose version is not yet in it */
    /* Bookmarks and contacts come without a change of an object, so they are looked at by time. */
    struct deadline *sweep;
    void (*flushed)(void *arg, bool all);
    char boot_id[BOOT_ID_LEN + 1];
};

/* Is anything written at all? With --dry-run the state is read, but never written. */
static bool keeps(const struct persist *m)
{
    return m->params.folder != NULL && !m->params.forgets;
}

static struct persist_now now_of(const struct persist *m)
{
    return (struct persist_now){.ms = loop_now_ms(m->params.loop),
                                .wall_ns = loop_wall_ns(),
                                .boot_ns = loop_boot_ns(),
                                .boot_id = m->boot_id};
}

/* ---- From watches and hooks to the state. */

/* The version of the scope follows its objects once, when persist_look() is called
 * (put_versions()): behind the objects in the batch, so a version is never on disk without the
 * objects that it stands for. */
static void version_follows(struct persist_scope *s)
{
    if (list_is_empty(&s->dirty))
        list_append(&s->of->persist->dirty, &s->dirty);
}

static struct batch *batch_of(const struct persist_watch *mw)
{
    return state_driver_batch(mw->persist->state_driver, STATE_DRIVER_SOON);
}

static void on_delta(void *arg, struct source from, const struct delta *d)
{
    struct persist_watch *mw = arg;
    size_t scope = watch_scope_of(from.watch, d->object);

    persist_watch_delta(mw, scope, d, batch_of(mw));
    version_follows(&mw->scopes[scope]);
}

static void on_skipped(void *arg, struct source from, const struct skip *s, bool gone)
{
    struct persist_watch *mw = arg;

    (void)from;
    persist_watch_skipped(mw, s, gone, batch_of(mw));
    version_follows(&mw->scopes[s->scope]);
}

static void follow_watches(struct persist *m)
{
    static const struct subscriber subscriber = {.on_delta = on_delta, .on_skipped = on_skipped};

    for (size_t i = 0; i < m->watch_count && keeps(m); i++)
        watch_subscribe(m->watches[i].watch, &subscriber, &m->watches[i]);
}

static struct persist_watch *find_watch(struct persist *m, const struct watch *w)
{
    size_t i = 0;

    while (i < m->watch_count && m->watches[i].watch != w)
        i++;
    ensure(i < m->watch_count);
    return &m->watches[i];
}

static void put_versions(struct persist *m)
{
    list_each (pos, tmp, &m->dirty)
        persist_watch_put_scope(list_entry(pos, struct persist_scope, dirty), now_of(m),
                                state_driver_batch(m->state_driver, STATE_DRIVER_SOON));
}

/* A delivery record is of no use to a later process that does not know from which cluster the
 * object was. So while a cluster that has sent its first lists has not said which one it is, the
 * state driver holds back its commits from the runs that wait for them
 * (docs/decisions.md "A cold start lists first and asks for the cluster then"). */
bool persist_awaits(struct persist *m)
{
    bool any = false;

    for (size_t i = 0; i < m->params.conf->n_clusters && keeps(m); i++)
        any = persist_cluster_awaits(m->clusters[i]) || any;
    state_driver_hold(m->state_driver, any);
    return any;
}

void persist_look(struct persist *m, enum state_driver_haste haste)
{
    if (!keeps(m))
        return;
    persist_awaits(m);
    put_versions(m);
    for (size_t i = 0; i < m->params.hooks->n; i++)
        persist_hook_put(&m->hooks[i], m->state_driver, haste);
    /* Started by a change only, so that an idle daemon is not woken. */
    if (!deadline_pending(m->sweep))
        deadline_start(m->sweep, SWEEP_MS);
}

/* Puts versions that moved on by bookmarks alone, and the times of contact. all: also contacts that
 * are less than a minute newer than those on disk, for the last write of the process. */
static void sweep(struct persist *m, bool all)
{
    struct persist_now now = now_of(m);

    for (size_t i = 0; i < m->watch_count; i++)
        persist_watch_sweep(&m->watches[i], now, all,
                            state_driver_batch(m->state_driver, STATE_DRIVER_SOON));
}

static void on_sweep(void *arg)
{
    struct persist *m = arg;

    sweep(m, false);
}

/* Puts what is known of a cluster. An empty identity is put as well: it says that the cluster was
 * asked and cannot tell, while no row at all makes the next start forget the objects
 * (drop_unnamed()). */
static void put_identity(struct persist *m, size_t cluster, const struct cluster_identity *id)
{
    struct buf text = {0};

    cluster_identity_put(id, &text);
    batch_fact(state_driver_batch(m->state_driver, STATE_DRIVER_NOW),
               &(struct row_fact){.item = m->cluster_items[cluster],
                                  .what = ROW_IDENTITY,
                                  .value = buf_str(&text)});
    buf_free(&text);
}

/* The file was damaged or taken away, and begins anew. All rows are put again: first the items,
 * which the other rows refer to, then the identities, without which the next start would forget the
 * objects. */
static void on_lost(void *arg)
{
    struct persist *m = arg;
    struct batch *b = state_driver_batch(m->state_driver, STATE_DRIVER_NOW);

    ids_put_all(m->ids, b);
    for (size_t i = 0; i < m->params.conf->n_clusters; i++)
        if (persist_cluster_id(m->clusters[i]) != NULL)
            put_identity(m, i, persist_cluster_id(m->clusters[i]));
    for (size_t i = 0; i < m->watch_count; i++)
        persist_watch_put_all(&m->watches[i], now_of(m), b);
    for (size_t i = 0; i < m->params.hooks->n; i++)
        persist_hook_lost(&m->hooks[i], b);
    persist_look(m, STATE_DRIVER_NOW);
}

/* ---- Clusters. */

/* Makes all hooks with this source forget it, and drops the fact that they have seen it: the
 * objects of the new cluster are then handled as at a first start. */
static void forget_source(struct persist *m, struct source of, struct batch *b)
{
    hooks_forget(m->params.hooks, of);
    for (size_t i = 0; i < m->params.hooks->n; i++) {
        struct hook *h = m->hooks[i].hook;

        for (size_t k = 0; k < h->source_count; k++)
            if (source_equal(h->sources[k].of, of))
                persist_hook_forget(&m->hooks[i], k, b);
    }
}

/* Forgets all that is known of a watch: in its rows, in the watch itself, in views of it, and in
 * the hooks that have it or such a view as a source. */
static void forget(struct persist *m, struct persist_watch *mw, struct batch *b)
{
    const struct conf *conf = m->params.conf;

    persist_watch_forget(mw, b);
    sources_forget(m->params.sources, mw->watch);
    forget_source(m, (struct source){.watch = mw->watch}, b);
    for (size_t i = 0; i < conf->n_views; i++)
        if (sources_find(m->params.sources, conf->views[i].services.v).watch == mw->watch ||
            sources_find(m->params.sources, conf->views[i].slices.v).watch == mw->watch)
            forget_source(m, sources_find(m->params.sources, conf->views[i].name.v), b);
}

static void on_foreign(void *arg, struct persist_watch *mw)
{
    struct persist *m = arg;

    forget(m, mw, state_driver_batch(m->state_driver, STATE_DRIVER_NOW));
    persist_look(m, STATE_DRIVER_NOW);
}

/* A hook or watch that is out of the configuration now may come back within seven days. With its
 * rows it would then be told DELETED for each object of the old cluster, so the rows go now. */
static void on_replaced(void *arg)
{
    struct persist *m = arg;

    ids_drop_unused(m->ids, state_driver_batch(m->state_driver, STATE_DRIVER_NOW));
}

static void on_progress(void *arg)
{
    struct persist *m = arg;

    m->events->on_progress(m->arg);
}

/* on_foreign() has dropped the rows of another cluster in the same turn, so the new identity and
 * these drops are committed together. */
static void on_identity(void *arg, size_t index, const struct cluster_identity *id)
{
    put_identity(arg, index, id);
    on_progress(arg);
}

void persist_follow(struct persist *m, struct cluster_runtime *const *clusters)
{
    for (size_t i = 0; i < m->params.conf->n_clusters; i++)
        persist_cluster_follow(m->clusters[i], clusters[i]);
}

/* ---- Programs. */

static void on_ready(void *arg)
{
    const struct persist *m = arg;

    m->events->on_ready(m->arg);
}

/* digest NULL: the programs could not be read. Then the hook keeps what it knew, and does not run
 * again for that. */
static void on_digest(void *arg, size_t hook, const struct digest *digest, const struct err *err)
{
    struct persist *m = arg;
    struct persist_hook *mh = &m->hooks[hook];

    if (digest != NULL)
        persist_hook_program(mh, *digest, state_driver_batch(m->state_driver, STATE_DRIVER_NOW));
    else
        log_warn("programs and files of a hook cannot be checked for changes",
                 KV_STR("hook", m->params.hooks->v[hook]->name), KV_ERR(err));
    if (keeps(m))
        persist_hook_put(mh, m->state_driver, STATE_DRIVER_NOW);
}

/* Without a state there is nothing to compare with: then no hook is asked for. */
static void ask_for_programs(struct persist *m)
{
    static const struct fingerprints_events events = {on_digest, on_ready};
    const struct fingerprints_params p = {
        .loop = m->params.loop,
        .link = m->params.link,
        .hook_count = m->params.folder != NULL ? m->params.hooks->n : 0,
        .timeout_ms = PROGRAMS_MS,
    };

    m->programs = fingerprints_create(&p, &events, m);
}

/* ---- From the state to watches and hooks, at the start. */

/* Equal watches are one watch with several names, and its rows are kept under one of them. Of these
 * names the one is used that the state has rows for, so that a new equal watch before it in the
 * configuration does not make informerd forget the rows; else the first name. */
static const struct conf_watch *kept_as(const struct persist *m, size_t first)
{
    const struct conf *conf = m->params.conf;

    for (size_t i = first; i < conf->n_watches; i++)
        if (conf->watches[i].first == first &&
            ids_find(m->ids, ROW_KIND_WATCH, 0, str_c(conf->watches[i].name.v)) != 0)
            return &conf->watches[i];
    return &conf->watches[first];
}

static void load_watches(struct persist *m, const struct restore *r, struct batch *b)
{
    const struct conf *conf = m->params.conf;

    m->watches = mem_array(conf->n_watches + 1, sizeof(*m->watches));
    for (size_t i = 0; i < conf->n_watches; i++) {
        struct persist_watch *mw = &m->watches[m->watch_count];

        /* An equal watch came before and has the rows. */
        if (conf->watches[i].first != i)
            continue;
        *mw = (struct persist_watch){.persist = m,
                                     .watch = sources_watches(m->params.sources)[i].watch,
                                     .conf = kept_as(m, i),
                                     .settings = sources_settings(m->params.sources, i)};
        persist_watch_init(mw, m->ids, b);
        persist_watch_load(mw, r, b);
        m->watch_count++;
    }
}

/* The watch whose keys a source has: of a view, the watch of its Services. */
static struct persist_watch *watch_of(struct persist *m, const char *source)
{
    const struct conf_view *v = conf_find_view(m->params.conf, source);

    return find_watch(m, sources_find(m->params.sources, v != NULL ? v->services.v : source).watch);
}

/* Tells the watch of the incarnations that a hook knows. successors: true = those that came after
 * another incarnation of their key, false = the others. An incarnation that has ended is left out:
 * its object is known to be gone. */
static void know_incarnations(struct persist_watch *mw, const struct restore_delivery *deliveries,
                              size_t n, bool successors)
{
    for (size_t i = 0; i < n; i++) {
        const struct delivery_record *m = &deliveries[i].delivery;

        if (!m->is_ended && ((m->note & DELIVERY_HAS_PREDECESSOR) != 0) == successors)
            persist_watch_know(mw, m->key, m->uid);
    }
}

/* Of two incarnations of a key the later one is in the cluster. It is told first, as
 * persist_watch_know() ignores a key that the cache has already. */
static void load_known(struct persist *m, const struct persist_hook *mh, const struct restore *r)
{
    for (size_t i = 0; i < mh->hook->source_count; i++) {
        struct persist_watch *mw = watch_of(m, mh->hook->sources[i].name);
        size_t n;
        const struct restore_delivery *deliveries = restore_deliveries(r, mh->sources[i].item, &n);

        know_incarnations(mw, deliveries, n, true);
        know_incarnations(mw, deliveries, n, false);
    }
}

static void load_hooks(struct persist *m, const struct restore *r, struct batch *b)
{
    struct persist_now now = now_of(m);

    m->hooks = mem_array(m->params.hooks->n + 1, sizeof(*m->hooks));
    for (size_t i = 0; i < m->params.hooks->n; i++) {
        struct persist_hook *mh = &m->hooks[i];
        const struct conf_hook *conf = &m->params.conf->hooks[i];

        *mh = (struct persist_hook){.hook = m->params.hooks->v[i],
                                    .conf = conf,
                                    .settings =
                                        hook_text_digest(m->params.conf, conf, m->params.node_name),
                                    .boot_id = m->boot_id};
        persist_hook_init(mh, m->params.conf, m->ids, b);
        persist_hook_load(mh, r, now, b);
        load_known(m, mh, r);
        /* Behind the load, which has read the digest of the programs that is put here. */
        persist_hook_put_facts(mh, b);
    }
}

/* After the watches: a cluster with loaded objects begins in another state than one without.
 * Identities are looked up before ids_use() makes an item for a new name. */
static void load_clusters(struct persist *m, const struct restore *r, struct batch *b)
{
    static const struct persist_cluster_events events = {on_foreign, on_replaced, on_identity,
                                                         on_progress};
    const struct conf *conf = m->params.conf;

    m->clusters = mem_array(conf->n_clusters + 1, sizeof(struct persist_cluster *));
    m->cluster_items = mem_array(conf->n_clusters + 1, sizeof(*m->cluster_items));
    for (size_t i = 0; i < conf->n_clusters; i++) {
        const struct persist_cluster_params p = {.loop = m->params.loop,
                                                 .boot_id = m->boot_id,
                                                 .conf = conf,
                                                 .index = i,
                                                 .sources = m->params.sources,
                                                 .watches = m->watches,
                                                 .watch_count = m->watch_count,
                                                 .restore = r,
                                                 .ids = m->ids};

        m->clusters[i] = persist_cluster_create(&p, &events, m);
        m->cluster_items[i] =
            ids_use(m->ids, b, ROW_KIND_CLUSTER, 0, str_c(conf->clusters[i].name.v));
    }
}

/* The last process ended before the cluster had said which one it is. The cluster may be another
 * one now, and objects that it does not have would count as deleted. So its objects and delivery
 * records are forgotten
 * (docs/decisions.md "A cold start lists first and asks for the cluster then"). */
static void drop_unnamed(struct persist *m, const struct restore *r, struct batch *b)
{
    bool any = false;

    for (size_t i = 0; i < m->watch_count; i++) {
        struct persist_watch *mw = &m->watches[i];
        const char *of = mw->was_of != NULL ? mw->was_of : mw->conf->cluster.v;
        uint64_t item = ids_find(m->ids, ROW_KIND_CLUSTER, 0, str_c(of));

        if (mw->state == PERSIST_WATCH_EMPTY || restore_value(r, item, ROW_IDENTITY).p != NULL)
            continue;
        log_warn("saved state of the watch discarded: the cluster identity was unknown when it was "
                 "saved",
                 KV_STR("cluster", of), KV_STR("watch", mw->conf->name.v));
        forget(m, mw, b);
        any = true;
    }
    if (any)
        ids_drop_unused(m->ids, b);
}

static void load(struct persist *m, const struct restore *r)
{
    struct batch *b = state_driver_batch(m->state_driver, STATE_DRIVER_NOW);

    /* Watches first: hooks tell them which incarnations they know. Items are swept when everything
     * in the configuration has been used. */
    load_watches(m, r, b);
    load_hooks(m, r, b);
    drop_unnamed(m, r, b);
    load_clusters(m, r, b);
    persist_removed_load(&m->removed, r, m->ids, m->params.hooks);
    ids_sweep(m->ids, b, now_of(m).wall_ns / 1000000000, GRACE_S);
    persist_look(m, STATE_DRIVER_NOW);
}

/* reset: the file could not be read and not be set aside, so the first batch must empty it. */
static void create_state_driver(struct persist *m, bool reset)
{
    static const struct state_driver_events events = {on_lost};
    const struct state_driver_params p = {.loop = m->params.loop,
                                          .folder = keeps(m) ? m->params.folder : NULL,
                                          .reason = m->params.reason,
                                          .reset = reset,
                                          .limit = STATE_SIZE,
                                          .retry_ms = RETRY_MS,
                                          .release = persist_row_release};

    m->state_driver = state_driver_create(&p, &events, m);
}

struct persist *persist_create(const struct persist_params *params,
                               const struct persist_events *events, void *arg)
{
    struct persist *m = MEM_NEW(struct persist, .params = *params, .events = events, .arg = arg);
    struct restore r;
    struct err err;

    list_init(&m->dirty);
    m->sweep = deadline_create(params->loop, on_sweep, m);
    boot_id_read(m->boot_id);
    enum loader_found found = restore_read(&r, params->folder, &err);
    if (found == LOADER_ASIDE || found == LOADER_FAILED)
        log_warn("state reset: the saved state cannot be used, so this start is like a first start",
                 KV_ERR(&err));
    m->ids = r.ids;
    create_state_driver(m, found == LOADER_FAILED);
    load(m, &r);
    /* Taken over by m. */
    r.ids = NULL;
    restore_fini(&r);
    follow_watches(m);
    ask_for_programs(m);
    return m;
}

/* ---- Commands, status and end. */

bool persist_guard(const struct persist *m, const struct watch *w, bool accept)
{
    for (size_t i = 0; i < m->params.conf->n_clusters; i++)
        if (strcmp(m->params.conf->clusters[i].name.v, watch_cluster(w)) == 0)
            return persist_cluster_accept(m->clusters[i], accept);
    return false;
}

struct state_driver *persist_state_driver(const struct persist *m)
{
    return m->state_driver;
}

const struct persist_removed *persist_removed(const struct persist *m)
{
    return &m->removed;
}

struct state_driver_status persist_status(const struct persist *m)
{
    return state_driver_status(m->state_driver);
}

const char *persist_trouble(const struct persist *m, size_t cluster)
{
    return persist_cluster_trouble(m->clusters[cluster]);
}

static void on_flushed(void *arg, bool all)
{
    const struct persist *m = arg;

    m->flushed(m->arg, all);
}

void persist_flush(struct persist *m, uint64_t timeout_ms, void (*done)(void *arg, bool all))
{
    if (keeps(m))
        sweep(m, true);
    persist_look(m, STATE_DRIVER_NOW);
    m->flushed = done;
    state_driver_flush(m->state_driver, timeout_ms, on_flushed);
}

void persist_dispose(struct persist **mp)
{
    struct persist *m = *mp;

    if (m == NULL)
        return;
    *mp = NULL;
    deadline_dispose(&m->sweep);
    fingerprints_dispose(&m->programs);
    for (size_t i = 0; i < m->params.conf->n_clusters; i++)
        persist_cluster_dispose(&m->clusters[i]);
    for (size_t i = 0; i < m->params.hooks->n; i++)
        persist_hook_fini(&m->hooks[i]);
    for (size_t i = 0; i < m->watch_count; i++)
        persist_watch_fini(&m->watches[i]);
    persist_removed_fini(&m->removed);
    state_driver_dispose(&m->state_driver);
    ids_destroy(&m->ids);
    free(m->clusters);
    free(m->cluster_items);
    free(m->hooks);
    free(m->watches);
    free(m);
}
