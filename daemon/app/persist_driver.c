/* SPDX-License-Identifier: Apache-2.0 */
#include "app/persist_driver.h"

#include <stdlib.h>

#include "app/build.h"
#include "base/log.h"
#include "base/mem.h"
#include "io/deadline.h"
#include "io/fingerprints.h"
#include "io/loop.h"
#include "persist/persist.h"
#include "state/boot_id.h"

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

struct cluster {
    struct persist_driver *of;
    size_t index; /* in conf->clusters */
    struct cluster_runtime *runtime;
    struct deadline *due; /* for persist_tick() */
};

/* The subscription of a watch. */
struct followed {
    struct persist_driver *of;
    struct persist_watch *watch;
};

struct persist_driver {
    struct persist_driver_params params;
    const struct persist_driver_events *events;
    void *arg;
    struct persist *persist;
    struct state_driver *state_driver;
    struct cluster *clusters; /* as conf->clusters */
    struct followed *followed;
    struct fingerprints *programs;
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

static void follow_watches(struct persist_driver *d)
{
    static const struct subscriber subscriber = {.on_delta = on_delta, .on_skipped = on_skipped};
    struct persist *p = d->persist;

    d->followed = mem_array(p->watch_count + 1, sizeof(*d->followed));
    for (size_t i = 0; i < p->watch_count && keeps(d); i++) {
        d->followed[i] = (struct followed){d, &p->watches[i]};
        watch_subscribe(p->watches[i].watch, &subscriber, &d->followed[i]);
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

    for (size_t i = 0; i < d->params.conf->n_clusters && keeps(d); i++) {
        struct cluster *c = &d->clusters[i];
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
        if (p->watches[i].cluster == c->index) {
            cluster_runtime_follow(c->runtime, p->watches[i].watch);
            if (poke)
                cluster_runtime_poke(c->runtime, p->watches[i].watch);
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

    while (i < p->watch_count && p->watches[i].watch != w)
        i++;
    if (i == p->watch_count)
        return false;
    struct cluster *c = &d->clusters[p->watches[i].cluster];
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

void persist_driver_follow(struct persist_driver *d, struct cluster_runtime *const *clusters)
{
    const struct persist *p = d->persist;

    for (size_t i = 0; i < d->params.conf->n_clusters; i++) {
        d->clusters[i].runtime = clusters[i];
        cluster_runtime_identify(clusters[i], on_answer, &d->clusters[i]);
        set_due(&d->clusters[i]);
    }
    for (size_t i = 0; i < p->watch_count; i++)
        if (p->watches[i].state == PERSIST_WATCH_LOADED)
            cluster_runtime_hold_back(clusters[p->watches[i].cluster], p->watches[i].watch);
}

/* ---- Programs. */

static void on_ready(void *arg)
{
    const struct persist_driver *d = arg;

    d->events->on_ready(d->arg);
}

/* digest NULL: the programs could not be read. Then the hook keeps what it knew, and does not run
 * again for that. */
static void on_digest(void *arg, size_t hook, const struct digest *digest, const struct err *err)
{
    struct persist_driver *d = arg;
    struct persist_hook *mh = &d->persist->hooks[hook];

    if (digest != NULL)
        persist_hook_program(mh, *digest, batch(d, STATE_DRIVER_NOW));
    else
        log_warn("programs and files of a hook cannot be checked for changes",
                 KV_STR("hook", mh->hook->name), KV_ERR(err));
    persist_driver_look(d, STATE_DRIVER_NOW);
}

/* Without a state there is nothing to compare with: then no hook is asked for. */
static void ask_for_programs(struct persist_driver *d)
{
    static const struct fingerprints_events events = {on_digest, on_ready};
    const struct fingerprints_params p = {
        .loop = d->params.loop,
        .link = d->params.link,
        .hook_count = d->params.folder != NULL ? d->params.hooks->n : 0,
        .timeout_ms = PROGRAMS_MS,
    };

    d->programs = fingerprints_create(&p, &events, d);
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
                                               .limit = STATE_SIZE,
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

struct persist_driver *persist_driver_create(const struct persist_driver_params *params,
                                             const struct persist_driver_events *events, void *arg)
{
    struct persist_driver *d =
        MEM_NEW(struct persist_driver, .params = *params, .events = events, .arg = arg);

    d->sweep = deadline_create(params->loop, on_sweep, d);
    d->clusters = mem_array(params->conf->n_clusters + 1, sizeof(*d->clusters));
    for (size_t i = 0; i < params->conf->n_clusters; i++) {
        struct cluster *c = &d->clusters[i];

        *c = (struct cluster){.of = d, .index = i};
        c->due = deadline_create(params->loop, on_due, c);
    }
    boot_id_read(d->boot_id);
    load(d);
    persist_driver_look(d, STATE_DRIVER_NOW);
    follow_watches(d);
    ask_for_programs(d);
    return d;
}

struct state_driver *persist_driver_state(const struct persist_driver *d)
{
    return d->state_driver;
}

const struct stray_left *persist_driver_left(const struct persist_driver *d, size_t *n)
{
    *n = d->persist->left_count;
    return d->persist->left;
}

const char *persist_driver_trouble(struct persist_driver *d, size_t cluster)
{
    const struct cluster_runtime *runtime = d->clusters[cluster].runtime;

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
    for (size_t i = 0; i < d->params.conf->n_clusters; i++)
        deadline_dispose(&d->clusters[i].due);
    persist_destroy(&d->persist);
    state_driver_dispose(&d->state_driver);
    free(d->followed);
    free(d->clusters);
    free(d);
}
