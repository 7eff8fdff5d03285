/* SPDX-License-Identifier: Apache-2.0 */
#include "app/persist_cluster.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "admin/restore_status.h"
#include "base/log.h"
#include "base/mem.h"
#include "io/deadline.h"
#include "io/loop.h"

/* How often a cluster that is held is asked again which one it is: its address may have pointed to
 * the wrong cluster for a while only
 * (docs/decisions.md "Another cluster waits until a person accepts it"). */
#define ASK_AGAIN_MS ((uint64_t)5000)

/* How long runs wait for a cluster to say which one it is. */
#define AWAITED_MS 1000

enum persist_cluster_state {
    /* No objects were loaded: any cluster will do, and is asked after the first lists. */
    CLUSTER_EMPTY,
    CLUSTER_AWAITED, /* EMPTY, and first lists have come: runs wait for the answer */
    CLUSTER_SILENT,  /* EMPTY, and no answer came in time: runs do not wait any more */
    CLUSTER_WAITING, /* objects were loaded, and no server has said yet which cluster it is */
    CLUSTER_KNOWN,   /* the cluster has answered */
    CLUSTER_HELD,    /* another cluster answers than hooks know: nothing is taken from it */
};

struct persist_cluster {
    struct persist_cluster_params params;
    const struct persist_cluster_events *events;
    void *arg;
    const struct conf_cluster *conf;
    struct cluster_identity id;      /* all that is known of the cluster */
    struct cluster_identity *ids_of; /* by watch: of the cluster that its objects are from */
    struct cluster_identity answer;  /* the last answer of a server */
    size_t foreign;                  /* watches with objects of another cluster than the answer */
    /* The cluster of one of those whose objects hooks know; NULL = hooks know of none. */
    const struct cluster_identity *conflict;
    enum persist_cluster_state state;
    struct cluster_runtime *cluster_runtime;
    /* AWAITED: AWAITED_MS; WAITING, KNOWN: start_stale.after; HELD: until the next question. */
    struct deadline *patience;
    char trouble[512]; /* "" = none */
};

/* The identity of a cluster of that name as the state has it; empty if the state has none. */
static struct cluster_identity id_kept(const struct restore *r, struct ids *ids, const char *name)
{
    struct cluster_identity id = {0};

    cluster_identity_parse(
        restore_value(r, ids_find(ids, ROW_KIND_CLUSTER, 0, str_c(name)), ROW_IDENTITY), &id);
    return id;
}

static bool is_of(const struct persist_cluster *c, const struct persist_watch *mw)
{
    return strcmp(mw->conf->cluster.v, c->conf->name.v) == 0;
}

/* Calls fn for each watch of the cluster that has loaded objects, or whose objects hooks know. */
static void each_loaded(struct persist_cluster *c,
                        void (*fn)(struct persist_cluster *c, struct persist_watch *mw))
{
    for (size_t i = 0; i < c->params.watch_count; i++)
        if (c->params.watches[i].state != PERSIST_WATCH_EMPTY && is_of(c, &c->params.watches[i]))
            fn(c, &c->params.watches[i]);
}

/* The cluster waits for an answer, as this watch has loaded objects. The watch may have been moved
 * from another cluster, or the cluster renamed: the objects are from the cluster that the state
 * names. */
static void wait_for(struct persist_cluster *c, struct persist_watch *mw)
{
    const char *was_of = mw->was_of != NULL ? mw->was_of : c->conf->name.v;

    c->state = CLUSTER_WAITING;
    c->ids_of[mw - c->params.watches] = id_kept(c->params.restore, c->params.ids, was_of);
}

static void on_patience(void *arg);

struct persist_cluster *persist_cluster_create(const struct persist_cluster_params *params,
                                               const struct persist_cluster_events *events,
                                               void *arg)
{
    struct persist_cluster *c =
        MEM_NEW(struct persist_cluster, .params = *params, .events = events, .arg = arg);

    c->conf = &params->conf->clusters[params->index];
    c->id = id_kept(params->restore, params->ids, c->conf->name.v);
    c->ids_of = mem_array(params->watch_count + 1, sizeof(*c->ids_of));
    c->patience = deadline_create(params->loop, on_patience, c);
    each_loaded(c, wait_for);
    c->params.restore = NULL;
    c->params.ids = NULL;
    return c;
}

/* ---- A server has answered which cluster it is. */

/* Gives the loaded objects of a watch to hooks and views. */
static void show(struct persist_cluster *c, struct persist_watch *mw)
{
    bool goes_on = restore_status_began(mw->watch) == RESUME_WHOLE;

    mw->state = PERSIST_WATCH_SHOWN;
    log_emit(LOG_LVL_INFO,
             goes_on ? "watch resumes from the saved state"
                     : "watch is listed and compared with the saved state",
             LOG_FIELDS(KV_STR("cluster", c->conf->name.v), KV_STR("watch", mw->conf->name.v),
                        KV_U64("objects", store_count(watch_store(mw->watch)))));
    watch_restore(mw->watch,
                  (struct now){.ms = loop_now_ms(c->params.loop), .wall_ns = loop_wall_ns()});
}

static enum cluster_identity_relation relation(const struct persist_cluster *c,
                                               const struct persist_watch *mw)
{
    return cluster_identity_compare(&c->ids_of[mw - c->params.watches], &c->answer);
}

/* Writes for people what an identity is: "kube-system uid X", or how else the cluster is known. */
static void put_name(const struct cluster_identity *id, char *out, size_t n)
{
    if (id->uid[0] != '\0')
        snprintf(out, n, "kube-system uid %s", id->uid);
    else
        snprintf(out, n, "%s", id->authorities.n > 0 ? "known by its CA" : "unknown");
}

/* Another cluster answers than the one whose objects hooks know. Its lists lack those objects, but
 * they did not end: so nothing is taken from it until the known cluster answers or a person accepts
 * this one. */
static void hold(struct persist_cluster *c, const struct cluster_identity *known)
{
    char was[160];
    char is[160];

    put_name(known, was, sizeof(was));
    put_name(&c->answer, is, sizeof(is));
    if (c->state != CLUSTER_HELD)
        log_error("another cluster answers: watches are held until the known cluster answers again "
                  "or informerctl guard accept WATCH accepts the new one",
                  KV_STR("cluster", c->conf->name.v), KV_STR("known", was), KV_STR("answers", is));
    c->state = CLUSTER_HELD;
    snprintf(c->trouble, sizeof(c->trouble),
             "cluster %s: another cluster answers (%s) than the one that is followed (%s): "
             "its watches are held until that one answers again, or informerctl guard accept WATCH",
             c->conf->name.v, is, was);
    deadline_start(c->patience, ASK_AGAIN_MS);
}

static bool is_replaced(const struct persist_cluster *c)
{
    return cluster_identity_compare(&c->id, &c->answer) == CLUSTER_IDENTITY_OTHER;
}

/* From now on all objects of the watches are from the cluster that has answered. A cluster that is
 * the same one may have told more of itself than before, such as a new CA. */
static void take_over(struct persist_cluster *c)
{
    if (is_replaced(c))
        c->id = c->answer;
    else
        cluster_identity_update(&c->id, &c->answer);
    for (size_t i = 0; i < c->params.watch_count; i++)
        if (is_of(c, &c->params.watches[i])) {
            c->params.watches[i].state = PERSIST_WATCH_SHOWN;
            c->ids_of[i] = c->id;
        }
    c->state = CLUSTER_KNOWN;
    c->trouble[0] = '\0';
    c->events->on_identity(c->arg, c->params.index, &c->id);
}

/* Decides what becomes of the loaded objects of one watch, now that the cluster has answered, and
 * lets the watch begin. */
static void look_at(struct persist_cluster *c, struct persist_watch *mw)
{
    if (mw->state == PERSIST_WATCH_LOADED) {
        if (relation(c, mw) == CLUSTER_IDENTITY_OTHER)
            c->events->on_foreign(c->arg, mw);
        else
            show(c, mw);
    }
    cluster_runtime_follow(c->cluster_runtime, mw->watch);
}

/* Counts a watch whose objects are from another cluster than the one that has answered. If hooks
 * and views have these objects already (SHOWN), that is a conflict, and the other cluster is
 * held. */
static void note_foreign(struct persist_cluster *c, struct persist_watch *mw)
{
    if (relation(c, mw) != CLUSTER_IDENTITY_OTHER)
        return;
    if (mw->state == PERSIST_WATCH_SHOWN)
        c->conflict = &c->ids_of[mw - c->params.watches];
    c->foreign++;
}

/* The answer fits what hooks know. If another cluster was held before, the watches try at once. */
static void release(struct persist_cluster *c)
{
    if (c->state == CLUSTER_HELD) {
        log_warn("the known cluster answers again: watches are no longer held",
                 KV_STR("cluster", c->conf->name.v));
        deadline_stop(c->patience);
        cluster_runtime_retry(c->cluster_runtime);
    }
}

/* While another cluster is held by its uid, an answer without a uid does not end that: the same
 * server may just have lost the right to tell it. */
static bool stays_held(const struct persist_cluster *c, const struct cluster_identity *id)
{
    return c->state == CLUSTER_HELD && id->uid[0] == '\0' && c->answer.uid[0] != '\0';
}

/* A server has answered: may objects be taken from it? Runs for each answer, and decides in this
 * order: a conflict with what hooks know holds everything; objects that nobody has seen yet are
 * dropped; what is left is shown. */
static bool judge(void *arg, const struct cluster_identity *id, struct err *err)
{
    struct persist_cluster *c = arg;

    if (!stays_held(c, id))
        c->answer = *id;
    c->conflict = NULL;
    c->foreign = 0;
    each_loaded(c, note_foreign);
    if (c->conflict != NULL) {
        hold(c, c->conflict);
        err_set(err, ERR_FOREIGN, 0, "%s", c->trouble);
        return false;
    }
    if (c->foreign > 0)
        log_warn("state of the cluster reset: the saved state is from another cluster, and no "
                 "object counts as deleted",
                 KV_STR("cluster", c->conf->name.v), KV_U64("watches", c->foreign));
    if (c->foreign > 0 || is_replaced(c))
        c->events->on_replaced(c->arg);
    release(c);
    each_loaded(c, look_at);
    /* Views compute when they have the objects of all their watches. */
    if (c->state == CLUSTER_WAITING)
        sources_restored(c->params.sources);
    if (c->state == CLUSTER_AWAITED)
        deadline_stop(c->patience);
    take_over(c);
    return true;
}

/* Forgets the objects of a watch and lists anew: the watch may have been held back until now, or be
 * running. */
static void forget(struct persist_cluster *c, struct persist_watch *mw)
{
    c->events->on_foreign(c->arg, mw);
    cluster_runtime_follow(c->cluster_runtime, mw->watch);
    cluster_runtime_poke(c->cluster_runtime, mw->watch);
}

bool persist_cluster_accept(struct persist_cluster *c, bool accept)
{
    if (c->state != CLUSTER_HELD)
        return false;
    if (!accept) /* nothing is taken from that cluster already, and it stays so */
        return true;
    log_warn("state of the cluster reset: the other cluster was accepted, and no object counts as "
             "deleted",
             KV_STR("cluster", c->conf->name.v));
    deadline_stop(c->patience);
    c->events->on_replaced(c->arg);
    each_loaded(c, forget);
    take_over(c);
    c->events->on_progress(c->arg);
    return true;
}

/* ---- No server has answered: may the watches begin stale? */

/* Returns why the objects are too old to begin with, or why nobody can tell how old they are; NULL
 * if they are young enough. *age_ms: their age, if it is known. */
static const char *too_old(const struct persist_cluster *c, const struct persist_watch *mw,
                           struct persist_now now, uint64_t *age_ms)
{
    switch (persist_watch_age(mw, now, age_ms)) {
    case CONTACT_KNOWN:
        break;
    case CONTACT_NEVER:
        return "no server answers, and the time of the last contact is unknown "
               "(start_stale.max_age): hooks wait";
    case CONTACT_CLOCK_BACK:
        return "no server answers, and the clock is behind the last contact, so the saved state "
               "may be older than start_stale.max_age: hooks wait; set the clock";
    }
    return *age_ms > c->params.conf->start_stale.max_age.v
               ? "no server answers, and the saved state is older than start_stale.max_age: hooks "
                 "wait"
               : NULL;
}

/* May the objects be from another cluster than the configuration means? That is so if the watch was
 * moved to this cluster, or the cluster was renamed, and the identities that the state has for both
 * names do not show that they are one cluster
 * (docs/decisions.md "A watch of unknown cluster or age does not begin stale"). */
static bool is_doubtful(const struct persist_cluster *c, const struct persist_watch *mw)
{
    bool renamed = mw->was_of != NULL && strcmp(mw->was_of, c->conf->name.v) != 0;

    return mw->state == PERSIST_WATCH_LOADED && renamed &&
           cluster_identity_compare(&c->ids_of[mw - c->params.watches], &c->id) !=
               CLUSTER_IDENTITY_SAME;
}

/* Has a server sent anything for this watch? Then its lists decide, and the watch does not begin
 * stale. */
static bool is_followed(const struct watch *w)
{
    for (size_t i = 0; i < watch_list_watch_count(w); i++)
        if (list_watch_status(watch_list_watch(w, i)).contact_ms > 0)
            return true;
    return false;
}

/* Lets a watch begin with the objects of the earlier process, marked stale, if they are young
 * enough and certainly from this cluster (docs/design.md "Stale start"). */
static void start_stale(struct persist_cluster *c, struct persist_watch *mw)
{
    const struct persist_now now = {.ms = loop_now_ms(c->params.loop),
                                    .wall_ns = loop_wall_ns(),
                                    .boot_ns = loop_boot_ns(),
                                    .boot_id = c->params.boot_id};
    const struct kv *fields =
        LOG_FIELDS(KV_STR("cluster", c->conf->name.v), KV_STR("watch", mw->conf->name.v));
    uint64_t age_ms = 0;

    if (is_followed(mw->watch) || watch_synced(mw->watch))
        return;
    if (is_doubtful(c, mw)) {
        log_emit(
            LOG_LVL_WARN,
            "no server answers, and the saved state is from a cluster of another name: hooks wait",
            fields);
        return;
    }
    const char *why_not = too_old(c, mw, now, &age_ms);
    if (why_not != NULL) {
        log_emit(LOG_LVL_WARN, why_not, fields);
        return;
    }
    if (!watch_begin_stale(mw->watch, (struct now){.ms = now.ms, .wall_ns = now.wall_ns}, age_ms)) {
        log_emit(LOG_LVL_WARN, "no server answers, and the saved state is incomplete: hooks wait",
                 fields);
        return;
    }
    log_emit(LOG_LVL_WARN, "no server answers: hooks run with the saved state (start_stale)",
             fields);
    /* SHOWN if the cluster has answered, but not yet with objects of this watch. */
    if (mw->state == PERSIST_WATCH_LOADED)
        show(c, mw);
}

/* The wait of the state is over. In KNOWN the cluster has answered the question, and may still fail
 * to list: then watches begin stale as in WAITING. */
static void on_patience(void *arg)
{
    struct persist_cluster *c = arg;

    if (c->state == CLUSTER_HELD) {
        cluster_runtime_identify_again(c->cluster_runtime);
        return;
    }
    if (c->state == CLUSTER_AWAITED) {
        c->state = CLUSTER_SILENT;
        c->events->on_progress(c->arg);
        return;
    }
    each_loaded(c, start_stale);
    sources_restored(c->params.sources);
    c->events->on_progress(c->arg);
}

/* ---- The cluster as a whole. */

static void hold_back(struct persist_cluster *c, struct persist_watch *mw)
{
    cluster_runtime_hold_back(c->cluster_runtime, mw->watch);
}

void persist_cluster_follow(struct persist_cluster *c, struct cluster_runtime *cluster_runtime)
{
    c->cluster_runtime = cluster_runtime;
    cluster_runtime_identify(cluster_runtime, judge, c);
    if (c->state != CLUSTER_WAITING)
        return;
    each_loaded(c, hold_back);
    if (c->params.conf->start_stale.after.v > 0)
        deadline_start(c->patience,
                       c->conf->tuning.start_jitter.v + c->params.conf->start_stale.after.v);
}

static bool any_synced(const struct persist_cluster *c)
{
    for (size_t i = 0; i < c->params.watch_count; i++)
        if (is_of(c, &c->params.watches[i]) && watch_synced(c->params.watches[i].watch))
            return true;
    return false;
}

/* The wait begins with the first list, not with the start: before that there is no run that could
 * wait. */
bool persist_cluster_awaits(struct persist_cluster *c)
{
    bool is_heard =
        c->cluster_runtime != NULL && cluster_runtime_contact_ms(c->cluster_runtime) > 0;

    if (c->state == CLUSTER_EMPTY && is_heard && any_synced(c)) {
        c->state = CLUSTER_AWAITED;
        deadline_start(c->patience, AWAITED_MS);
    }
    return c->state == CLUSTER_AWAITED;
}

/* Once a server was asked, an empty identity is one as well: it says that the cluster cannot
 * tell. */
const struct cluster_identity *persist_cluster_id(const struct persist_cluster *c)
{
    bool is_asked =
        c->state == CLUSTER_EMPTY || c->state == CLUSTER_AWAITED || c->state == CLUSTER_SILENT;
    bool is_nobody = c->id.uid[0] == '\0' && c->id.authorities.n == 0;

    return is_asked && is_nobody ? NULL : &c->id;
}

/* Made when it is asked for, as each try to get an answer may end with another error. */
static void say_what_it_waits_for(struct persist_cluster *c)
{
    const char *why =
        c->cluster_runtime != NULL ? cluster_runtime_identity_trouble(c->cluster_runtime) : NULL;

    snprintf(c->trouble, sizeof(c->trouble),
             "cluster %s: identity unknown, the server has not answered yet%s%s", c->conf->name.v,
             why != NULL ? ": " : "", why != NULL ? why : "");
}

const char *persist_cluster_trouble(struct persist_cluster *c)
{
    if (c->state == CLUSTER_WAITING || c->state == CLUSTER_SILENT)
        say_what_it_waits_for(c);
    return c->trouble[0] != '\0' ? c->trouble : NULL;
}

void persist_cluster_dispose(struct persist_cluster **cp)
{
    struct persist_cluster *c = *cp;

    if (c == NULL)
        return;
    *cp = NULL;
    deadline_dispose(&c->patience);
    free(c->ids_of);
    free(c);
}
