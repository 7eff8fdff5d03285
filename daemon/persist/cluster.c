/* SPDX-License-Identifier: Apache-2.0 */
#include "persist/cluster.h"

#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/panic.h"
#include "persist/persist.h"

/* How often a cluster that is held is asked again which one it is: its address may have pointed to
 * the wrong cluster for a while only
 * (docs/decisions.md "Another cluster waits until a person accepts it"). */
#define ASK_AGAIN_MS ((uint64_t)5000)

/* How long runs wait for a cluster to say which one it is. */
#define AWAITED_MS 1000

/* The identity of a cluster of that name as the state has it; empty if the state has none. */
static struct cluster_identity id_kept(const struct persist *p, const struct restore *r,
                                       const char *name)
{
    struct cluster_identity id = {0};

    cluster_identity_parse(
        restore_value(r, ids_find(p->ids, ROW_KIND_CLUSTER, 0, str_c(name)), ROW_IDENTITY), &id);
    return id;
}

/* The same, as far as servers have told since. At a start there are no clusters yet. */
static struct cluster_identity id_now(const struct persist *p, const struct restore *r,
                                      const char *name)
{
    for (size_t i = 0; p->clusters != NULL && i < p->cluster_count; i++)
        if (strcmp(p->clusters[i].params.name, name) == 0)
            return p->clusters[i].id;
    return id_kept(p, r, name);
}

enum cluster_identity_relation persist_cluster_compare(const struct persist *p,
                                                       const struct restore *r, const char *a,
                                                       const char *b)
{
    if (strcmp(a, b) == 0)
        return CLUSTER_IDENTITY_SAME;
    struct cluster_identity of_a = id_now(p, r, a);
    struct cluster_identity of_b = id_now(p, r, b);

    return cluster_identity_compare(&of_a, &of_b);
}

/* The next watch of the cluster, from p->watches[*at] on, that has loaded objects, or whose objects
 * hooks know; NULL = there is none. *at moves behind it. */
static struct persist_watch *next_loaded(const struct persist *p, const struct persist_cluster *c,
                                         size_t *at)
{
    while (*at < p->watch_count) {
        struct persist_watch *mw = p->watches[(*at)++];

        if (mw->state != PERSIST_WATCH_EMPTY && &p->clusters[mw->cluster] == c)
            return mw;
    }
    return NULL;
}

/* A cluster waits for an answer if a watch has loaded objects. Such a watch may have been moved from
 * another cluster, or the cluster renamed: the objects are from the cluster that the state names.
 * Identities are looked up before ids_use() makes an item for a new name. */
void persist_cluster_load(struct persist *p, size_t cluster,
                          const struct persist_cluster_params *params, const struct restore *r,
                          struct persist_now now, struct batch *b)
{
    struct persist_cluster *c = &p->clusters[cluster];
    struct persist_watch *mw;

    *c = (struct persist_cluster){.params = *params, .id = id_kept(p, r, params->name)};
    for (size_t at = 0; (mw = next_loaded(p, c, &at)) != NULL;) {
        c->state = PERSIST_CLUSTER_WAITING;
        mw->identity = id_kept(p, r, mw->was_of != NULL ? mw->was_of : params->name);
    }
    if (c->state == PERSIST_CLUSTER_WAITING && params->stale_after_ms > 0)
        c->due_ms = now.ms + params->stale_after_ms;
    c->item = ids_use(p->ids, b, ROW_KIND_CLUSTER, 0, str_c(params->name));
}

void persist_cluster_add(struct persist *p, size_t cluster,
                         const struct persist_cluster_params *params, struct batch *b)
{
    struct persist_cluster *c = &p->clusters[cluster];

    *c = (struct persist_cluster){.params = *params};
    c->item = ids_use(p->ids, b, ROW_KIND_CLUSTER, 0, str_c(params->name));
}

/* Has the cluster not answered yet, with nothing loaded that waits for that? */
static bool is_new(const struct persist_cluster *c)
{
    return c->state == PERSIST_CLUSTER_EMPTY || c->state == PERSIST_CLUSTER_AWAITED ||
           c->state == PERSIST_CLUSTER_SILENT;
}

/* An empty identity is put as well once a server was asked: it says that the cluster cannot tell,
 * while no row at all makes the next start forget the objects (drop_unnamed() in persist/persist). */
void persist_cluster_put(const struct persist_cluster *c, struct batch *b)
{
    bool is_nobody = c->id.uid[0] == '\0' && c->id.authorities.n == 0;
    struct buf text = {0};

    if (is_new(c) && is_nobody)
        return;
    cluster_identity_put(&c->id, &text);
    batch_fact(b,
               &(struct row_fact){.item = c->item, .what = ROW_IDENTITY, .value = buf_str(&text)});
    buf_free(&text);
}

/* ---- A server has answered which cluster it is. */

static bool is_whole(const struct watch *w)
{
    size_t i = 0;

    while (i < watch_scope_count(w) && watch_resume_left(w, i) == RESUME_WHOLE)
        i++;
    return i == watch_scope_count(w);
}

/* Gives the loaded objects of a watch to hooks and views. */
static void show(const struct persist_cluster *c, struct persist_watch *mw, struct persist_now now)
{
    mw->state = PERSIST_WATCH_SHOWN;
    log_emit(LOG_LVL_INFO,
             is_whole(mw->watch) ? "watch resumes from the saved state"
                                 : "watch is listed and compared with the saved state",
             LOG_FIELDS(KV_STR("cluster", c->params.name), KV_STR("watch", mw->name),
                        KV_U64("objects", store_count(watch_store(mw->watch)))));
    watch_restore(mw->watch, (struct now){.ms = now.ms, .wall_ns = now.wall_ns});
}

bool persist_cluster_begin(struct persist *p, struct persist_watch *mw, struct persist_now now)
{
    struct persist_cluster *c = &p->clusters[mw->cluster];

    if (c->state == PERSIST_CLUSTER_KNOWN) {
        mw->identity = c->id;
        show(c, mw, now);
        return false;
    }
    if (is_new(c)) {
        c->state = PERSIST_CLUSTER_WAITING;
        c->due_ms = c->params.stale_after_ms > 0 ? now.ms + c->params.stale_after_ms : 0;
    }
    return true;
}

/* All watches that can show objects have done so: views compute their objects. */
static void restore_views(const struct persist *p, struct persist_now now)
{
    for (size_t i = 0; i < p->view_count; i++)
        view_restored(p->views[i], (struct now){.ms = now.ms, .wall_ns = now.wall_ns});
}

/* Writes an identity as text for people: "kube-system uid X", or how else the cluster is known. */
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
static void hold(struct persist_cluster *c, const struct cluster_identity *known, uint64_t now_ms)
{
    char was[160];
    char is[160];

    put_name(known, was, sizeof(was));
    put_name(&c->answer, is, sizeof(is));
    if (c->state != PERSIST_CLUSTER_HELD)
        log_error("another cluster answers: watches are held until the known cluster answers again "
                  "or informerctl guard accept WATCH accepts the new one",
                  KV_STR("cluster", c->params.name), KV_STR("known", was), KV_STR("answers", is));
    c->state = PERSIST_CLUSTER_HELD;
    snprintf(c->trouble, sizeof(c->trouble),
             "cluster %s: another cluster answers (%s) than the one that is followed (%s): "
             "its watches are held until that one answers again, or informerctl guard accept WATCH",
             c->params.name, is, was);
    c->due_ms = now_ms + ASK_AGAIN_MS;
}

static bool is_foreign(const struct persist_cluster *c, const struct persist_watch *mw)
{
    return cluster_identity_compare(&mw->identity, &c->answer) == CLUSTER_IDENTITY_OTHER;
}

static bool is_replaced(const struct persist_cluster *c)
{
    return cluster_identity_compare(&c->id, &c->answer) == CLUSTER_IDENTITY_OTHER;
}

/* From now on all objects of the watches are from the cluster that has answered. A cluster that is
 * the same one may have told more of itself than before, such as a new CA. Rows of another cluster
 * were dropped from the same batch, so these drops and the new identity are committed together. */
static void take_over(struct persist *p, struct persist_cluster *c, struct batch *b)
{
    if (is_replaced(c))
        c->id = c->answer;
    else
        cluster_identity_update(&c->id, &c->answer);
    for (size_t i = 0; i < p->watch_count; i++)
        if (&p->clusters[p->watches[i]->cluster] == c) {
            p->watches[i]->state = PERSIST_WATCH_SHOWN;
            p->watches[i]->identity = c->id;
        }
    persist_sources_are_of(p, c->params.name, b);
    /* These waits are over, but the watches of a cluster that cannot list still begin stale. */
    if (c->state == PERSIST_CLUSTER_AWAITED || c->state == PERSIST_CLUSTER_HELD)
        c->due_ms = 0;
    c->state = PERSIST_CLUSTER_KNOWN;
    c->trouble[0] = '\0';
    persist_cluster_put(c, b);
}

/* While another cluster is held by its uid, an answer without a uid does not end that: the same
 * server may just have lost the right to tell it. */
static bool stays_held(const struct persist_cluster *c, const struct cluster_identity *id)
{
    return c->state == PERSIST_CLUSTER_HELD && id->uid[0] == '\0' && c->answer.uid[0] != '\0';
}

/* Counts the watches whose objects are from another cluster than the one that has answered. If hooks
 * and views have such objects already (SHOWN), that is a conflict: *known is set to the cluster that
 * they know. */
static size_t count_foreign(struct persist *p, const struct persist_cluster *c,
                            const struct cluster_identity **known)
{
    struct persist_watch *mw;
    size_t n = 0;

    for (size_t at = 0; (mw = next_loaded(p, c, &at)) != NULL;)
        if (is_foreign(c, mw)) {
            n++;
            if (mw->state == PERSIST_WATCH_SHOWN)
                *known = &mw->identity;
        }
    return n;
}

/* May objects be taken from the server? Runs for each answer, and decides in this order: a conflict with
 * the objects that hooks know holds everything; objects that nobody has seen yet are dropped; the others
 * are shown.
 *
 * A hook or watch that is out of the configuration now may come back within seven days. With its
 * rows it would then be told DELETED for each object of the old cluster, so these rows go, too. */
enum persist_verdict persist_judge(struct persist *p, size_t cluster,
                                   const struct cluster_identity *id, struct persist_now now,
                                   struct batch *b, struct err *err)
{
    struct persist_cluster *c = &p->clusters[cluster];
    const struct cluster_identity *known = NULL;
    struct persist_watch *mw;
    bool was_held = c->state == PERSIST_CLUSTER_HELD;

    if (!stays_held(c, id))
        c->answer = *id;
    size_t foreign = count_foreign(p, c, &known);
    if (known != NULL) {
        hold(c, known, now.ms);
        err_set(err, ERR_FOREIGN, 0, "%s", c->trouble);
        return PERSIST_VERDICT_HELD;
    }
    if (foreign > 0)
        log_warn("state of the cluster reset: the saved state is from another cluster, and no "
                 "object counts as deleted",
                 KV_STR("cluster", c->params.name), KV_U64("watches", foreign));
    if (foreign > 0 || is_replaced(c))
        persist_drop_unused(p, c->params.name, b);
    if (was_held)
        log_warn("the known cluster answers again: watches are no longer held",
                 KV_STR("cluster", c->params.name));
    for (size_t at = 0; (mw = next_loaded(p, c, &at)) != NULL;)
        if (mw->state == PERSIST_WATCH_LOADED && is_foreign(c, mw))
            persist_forget(p, mw, b);
        else if (mw->state == PERSIST_WATCH_LOADED)
            show(c, mw, now);
    if (c->state == PERSIST_CLUSTER_WAITING)
        restore_views(p, now);
    take_over(p, c, b);
    return was_held ? PERSIST_VERDICT_RELEASED : PERSIST_VERDICT_GOOD;
}

void persist_accept(struct persist *p, size_t cluster, struct batch *b)
{
    struct persist_cluster *c = &p->clusters[cluster];
    struct persist_watch *mw;

    ensure(c->state == PERSIST_CLUSTER_HELD);
    log_warn("state of the cluster reset: the other cluster was accepted, and no object counts as "
             "deleted",
             KV_STR("cluster", c->params.name));
    persist_drop_unused(p, c->params.name, b);
    for (size_t at = 0; (mw = next_loaded(p, c, &at)) != NULL;)
        persist_forget(p, mw, b);
    take_over(p, c, b);
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
    return *age_ms > c->params.stale_max_age_ms
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
    bool renamed = mw->was_of != NULL && strcmp(mw->was_of, c->params.name) != 0;

    return mw->state == PERSIST_WATCH_LOADED && renamed &&
           cluster_identity_compare(&mw->identity, &c->id) != CLUSTER_IDENTITY_SAME;
}

/* Has a server sent anything for this watch? Then its lists decide, and the watch does not begin
 * stale. */
static bool is_followed(const struct watch *w)
{
    for (size_t i = 0; i < watch_list_watch_count(w); i++)
        if (list_watch_contact_ms(watch_list_watch(w, i)) > 0)
            return true;
    return false;
}

/* Lets a watch begin with the objects of the earlier process, marked stale, if they are young
 * enough and certainly from this cluster (docs/design.md "Stale start"). */
static void start_stale(const struct persist_cluster *c, struct persist_watch *mw,
                        struct persist_now now)
{
    uint64_t age_ms = 0;
    const char *why_not = NULL;

    if (is_followed(mw->watch) || watch_synced(mw->watch))
        return;
    if (is_doubtful(c, mw))
        why_not = "no server answers, and the saved state is from a cluster of another name: hooks "
                  "wait";
    else
        why_not = too_old(c, mw, now, &age_ms);
    if (why_not == NULL &&
        !watch_begin_stale(mw->watch, (struct now){.ms = now.ms, .wall_ns = now.wall_ns}, age_ms))
        why_not = "no server answers, and the saved state is incomplete: hooks wait";
    log_emit(LOG_LVL_WARN,
             why_not != NULL ? why_not
                             : "no server answers: hooks run with the saved state (start_stale)",
             LOG_FIELDS(KV_STR("cluster", c->params.name), KV_STR("watch", mw->name)));
    /* SHOWN if the cluster has answered, but not yet with objects of this watch. */
    if (why_not == NULL && mw->state == PERSIST_WATCH_LOADED)
        show(c, mw, now);
}

/* In KNOWN the cluster has answered the question, and may still fail to list: then watches begin
 * stale as in WAITING. */
bool persist_tick(struct persist *p, size_t cluster, struct persist_now now)
{
    struct persist_cluster *c = &p->clusters[cluster];
    struct persist_watch *mw;

    c->due_ms = 0;
    if (c->state == PERSIST_CLUSTER_HELD)
        return true;
    if (c->state == PERSIST_CLUSTER_AWAITED) {
        c->state = PERSIST_CLUSTER_SILENT;
        return false;
    }
    for (size_t at = 0; (mw = next_loaded(p, c, &at)) != NULL;)
        start_stale(c, mw, now);
    restore_views(p, now);
    return false;
}

/* ---- The cluster as a whole. */

static bool any_synced(const struct persist *p, const struct persist_cluster *c)
{
    for (size_t i = 0; i < p->watch_count; i++)
        if (&p->clusters[p->watches[i]->cluster] == c && watch_synced(p->watches[i]->watch))
            return true;
    return false;
}

/* The wait begins with the first list, not with the start: before that there is no run that could
 * wait. */
bool persist_awaits(struct persist *p, size_t cluster, bool is_heard, uint64_t now_ms)
{
    struct persist_cluster *c = &p->clusters[cluster];

    if (c->state == PERSIST_CLUSTER_EMPTY && is_heard && any_synced(p, c)) {
        c->state = PERSIST_CLUSTER_AWAITED;
        c->due_ms = now_ms + AWAITED_MS;
    }
    return c->state == PERSIST_CLUSTER_AWAITED;
}

/* The text is made when it is asked for, as each try to get an answer may end with
 * another error. */
const char *persist_trouble(struct persist *p, size_t cluster, const char *why)
{
    struct persist_cluster *c = &p->clusters[cluster];

    if (c->state == PERSIST_CLUSTER_WAITING || c->state == PERSIST_CLUSTER_SILENT)
        snprintf(c->trouble, sizeof(c->trouble),
                 "cluster %s: identity unknown, the server has not answered yet%s%s",
                 c->params.name, why != NULL ? ": " : "", why != NULL ? why : "");
    return c->trouble[0] != '\0' ? c->trouble : NULL;
}
