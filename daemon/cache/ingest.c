/* SPDX-License-Identifier: Apache-2.0 */
#include "cache/ingest.h"

#include <stdlib.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/meter.h"
#include "kube/status.h"

void ingest_reset(struct ingest *in)
{
    in->stop = INGEST_GOES_ON;
    in->failure = (struct err){0};
    in->retry_after_s = 0;
    in->had_bookmark = false;
    overlap_end(&in->noted);
    overlap_end(&in->repeated);
}

void ingest_begin_renewal(struct ingest *in)
{
    overlap_begin(&in->noted, reflector_last_sync_rv(in->reflector),
                  reflector_collection_rv(in->reflector));
}

void ingest_end_renewal(struct ingest *in)
{
    overlap_end(&in->noted);
}

void ingest_renewed(struct ingest *in)
{
    struct overlap repeated = in->noted;

    in->noted = (struct overlap){0};
    ingest_reset(in);
    in->repeated = repeated;
}

void ingest_begin(struct ingest *in)
{
    store_begin(in->store, in->scope);
    in->proof = PROOF_NONE;
}

void ingest_fini(struct ingest *in)
{
    ingest_reset(in);
    free(in->rv);
    in->rv = NULL;
}

/* ---- limits.memory */

/* The bytes of the watch. Those of its records and of its hooks count for all watches together. */
static uint64_t own_bytes(const struct ingest *in)
{
    return store_bytes(in->store) + store_staged_bytes(in->store);
}

static bool may_grow(const struct ingest *in, enum memory_growth by)
{
    return memory_may_grow(in->memory, meter_bytes(), own_bytes(in), by);
}

static void stop_full(struct ingest *in)
{
    in->stop = INGEST_FULL;
    in->wanted = memory_wanted(in->memory, store_staged_bytes(in->store));
}

bool ingest_has_room(const struct ingest *in)
{
    return memory_has_room(in->memory, meter_bytes(), own_bytes(in), in->wanted);
}

/* Something of a list was staged. Items that are equal to stored objects stage nothing, so a list
 * without news is taken however full the memory is. */
static void look_at_staged(struct ingest *in, size_t before)
{
    if (store_staged_bytes(in->store) > before && !may_grow(in, MEMORY_LIST))
        stop_full(in);
}

/* ---- The items of lists */

/* The callbacks for a probe: only the version of its list counts. ignore_unusable() serves the LIST
 * that looks for existing objects, too. */
static void ignore_item(void *arg, struct object *o, bool selected)
{
    (void)arg;
    (void)o;
    (void)selected;
}

static void ignore_unusable(void *arg, const struct unusable *u)
{
    (void)arg;
    (void)u;
}

/* An item of a list, or an initial event with an object: an object that match does not select
 * has LEFT if it is stored. */
static void on_item(void *arg, struct object *o, bool selected)
{
    struct ingest *in = arg;
    size_t before = store_staged_bytes(in->store);

    if (in->stop == INGEST_FULL)
        return;
    if (selected)
        store_stage(in->store, in->scope, o);
    else
        store_stage_left(in->store, in->scope, o);
    look_at_staged(in, before);
}

static void on_unusable(void *arg, const struct unusable *u)
{
    struct ingest *in = arg;
    size_t before = meter_bytes();

    if (in->stop == INGEST_FULL)
        return;
    store_stage_kept(in->store, in->scope, u);
    if (meter_bytes() > before && !may_grow(in, MEMORY_LIST))
        stop_full(in);
}

/* The watch gives the contents of an object; a LIST beside it shows only that the object is there. */
static void on_present(void *arg, struct object *o, bool selected)
{
    struct ingest *in = arg;

    (void)selected;
    store_stage_present(in->store, in->scope, o);
}

/* An item of the LIST without selectors: the object exists, whatever match says of it. */
static void on_existing(void *arg, struct object *o, bool selected)
{
    struct ingest *in = arg;

    (void)selected;
    store_stage_existing(in->store, in->scope, o);
}

const struct list_events ingest_existing_events = {on_existing, ignore_unusable};
const struct list_events ingest_list_events = {on_item, on_unusable};
const struct list_events ingest_present_events = {on_present, on_unusable};
const struct list_events ingest_no_events = {ignore_item, ignore_unusable};

static void log_held(const struct ingest *in, size_t deletes)
{
    log_emit(LOG_LVL_WARN, "list held back",
             LOG_FIELDS(KV_STR("cluster", in->cluster), KV_STR("watch", in->watch),
                        KV_STR("because", guard_reason_name(in->guard.reason)),
                        KV_U64("would_delete", deletes), KV_U64("objects", store_count(in->store)),
                        KV_MS("hold", in->guard.params.hold_ms),
                        KV_STR("remedy", "a second list confirms it, or informerctl guard "
                                         "accept|reject")));
}

/* The server was perhaps restored from a backup, so the scope is listed anew without a version
 * (docs/kubernetes-protocol.md "Versions of the future"). */
static enum ingest_stop go_back(struct ingest *in, struct str rv)
{
    err_set(&in->doubt, ERR_SERVER, 0,
            "the server's resourceVersion went backwards, from %s to %.*s: was it restored from a "
            "backup?",
            reflector_last_sync_rv(in->reflector), STR_ARG(rv));
    return INGEST_BACKWARDS;
}

static void log_applied(const struct ingest *in, bool older, size_t deletes)
{
    log_emit(LOG_LVL_WARN,
             older ? "resourceVersion went backwards: the list is applied" : "held list released",
             LOG_FIELDS(KV_STR("cluster", in->cluster), KV_STR("watch", in->watch),
                        KV_U64("deletes", deletes)));
}

/* The cause of the events that the list makes (docs/design.md "Events"). Only the first list after a
 * start compares with the objects that an earlier process has left. */
static enum delta_cause cause_of(const struct ingest *in, enum relist_reason why)
{
    switch (in->resume) {
    case RESUME_PARTIAL:
    case RESUME_WHOLE:
        return CAUSE_RESTART;
    case RESUME_RESHAPED:
    case RESUME_EDITED:
        return CAUSE_CONFIG;
    case RESUME_NONE:
    case RESUME_OVER:
        break;
    }
    return why == RELIST_AUDIT ? CAUSE_AUDIT : CAUSE_RELIST;
}

/* A list of another cluster that answers at the same address looks like any other list. Even one
 * that changes nothing does harm: the watch would go on from its version, and the changes of the
 * right cluster up to that version would be lost. Two lists need no proof: one that changes nothing
 * and has the version that is known already, and the first list of a watch of which nothing is
 * known, unless it ends an incarnation; the watch behind it asks
 * (docs/decisions.md "A list proves its cluster after its last page"). */
static bool needs_identity(const struct ingest *in, struct str rv)
{
    if (in->resume == RESUME_NONE)
        return store_would_end(in->store, in->scope);
    return store_would_tell(in->store, in->scope) ||
           !str_is(rv, reflector_last_sync_rv(in->reflector));
}

/* The commit waits for a proof. The version is copied, as rv is lost with the response. */
static enum ingest_stop unproven(struct ingest *in, enum ingest_proof wants, struct str rv)
{
    char *copy = mem_strndup(rv.p, rv.n);

    free(in->rv);
    in->rv = copy;
    in->wants = wants;
    return INGEST_UNPROVEN;
}

enum ingest_stop ingest_commit(struct ingest *in, struct str rv)
{
    /* The proofs come before the guard: the list of another cluster must not be judged at all, and
     * which of the missing objects exist decides how many deletes the guard counts. */
    if (in->proof < PROOF_IDENTITY && needs_identity(in, rv))
        return unproven(in, PROOF_IDENTITY, rv);
    if (in->proof < PROOF_EXISTENCE && in->resume == RESUME_EDITED &&
        store_has_vanishing(in->store, in->scope))
        return unproven(in, PROOF_EXISTENCE, rv);
    struct store *store = in->store;
    bool held = guard_holds(&in->guard);
    enum guard_reason was = in->guard.reason;
    enum delta_cause cause = cause_of(in, reflector_why(in->reflector));
    bool older = reflector_is_older(in->reflector, rv);
    struct guard_case c = {
        .objects = store_count(store),
        .deletes = store_would_delete(store, in->scope),
        .backwards = reflector_goes_back(in->reflector, rv),
    };

    /* A list that was asked for by version may come from a server that lags, or from a restored
     * one: only the newest state is worth the guard's judgement. */
    if (c.backwards && !reflector_is_newest(in->reflector))
        return go_back(in, rv);
    if (guard_judge(&in->guard, in->window, &c, in->now.ms) == GUARD_HOLD) {
        /* One warning for each hold, not for each list that is held for the same reason. */
        if (in->guard.reason != was)
            log_held(in, c.deletes);
        return INGEST_HELD;
    }
    if (held || older)
        log_applied(in, older, c.deletes);
    store_commit(store, in->scope, cause, in->now);
    in->resume = RESUME_OVER;
    return INGEST_GOES_ON;
}

/* Initial events are a list, so an object that an event names is not deleted, even if it cannot be
 * used. A DELETED among them takes the object out of the list again. */
static void initial_unusable(struct ingest *in, const struct event *e)
{
    if (e->deleted && e->unusable->key.n > 0)
        store_unstage(in->store, in->scope, e->unusable->key);
    else
        on_unusable(in, e->unusable);
}

/* Stages an initial event. The bookmark with the right annotation ends the list and commits it
 * (docs/kubernetes-protocol.md "End of initial events"); other bookmarks are ignored. */
static bool initial_event(struct ingest *in, const struct event *e)
{
    struct store *store = in->store;

    if (e->type == EVENT_BOOKMARK) {
        if (!e->initial_events_end)
            return true;
        in->stop = ingest_commit(in, e->rv);
        if (in->stop != INGEST_GOES_ON)
            return false;
        reflector_streamed(in->reflector, e->rv, in->now.ms);
        return true;
    }
    if (e->type == EVENT_UNUSABLE)
        initial_unusable(in, e);
    else if (e->type == EVENT_DELETED)
        store_unstage(store, in->scope, object_key(e->object));
    else
        on_item(in, e->object, e->selected);
    reflector_seen(in->reflector, e->rv);
    return in->stop == INGEST_GOES_ON;
}

/* A bookmark of the watch. Everything up to its version was sent, so a watch that went on from a
 * resume point has caught up (docs/design.md "Synced"). */
static bool bookmark(struct ingest *in, const struct event *e)
{
    in->had_bookmark = true;
    in->bookmarks++;
    if (!overlap_bookmark(&in->repeated, e->rv, reflector_collection_rv(in->reflector))) {
        reflector_repeated(in->reflector);
        return true;
    }
    in->bookmark_ms = in->now.ms;
    if (reflector_bookmark(in->reflector, e->rv)) {
        in->resume = RESUME_OVER;
        return true;
    }
    in->stop = go_back(in, e->rv);
    return false;
}

static struct overlap_event overlap_event_of(const struct event *e)
{
    bool unusable = e->type == EVENT_UNUSABLE;

    return (struct overlap_event){.rv = e->rv,
                                  .key = unusable ? e->unusable->key : object_key(e->object),
                                  .deleted = unusable ? e->deleted : e->type == EVENT_DELETED};
}

/* Is the event one to take? False: the watch before this one has brought it already; or the two do
 * not fit together, and this one has to end. */
static bool is_new(struct ingest *in, const struct event *e)
{
    switch (overlap_judge(&in->repeated, overlap_event_of(e))) {
    case OVERLAP_NEW:
        return true;
    case OVERLAP_REPEATED:
        reflector_repeated(in->reflector);
        break;
    case OVERLAP_MISFIT:
        reflector_repeated(in->reflector);
        in->stop = INGEST_MISFIT;
        break;
    }
    return false;
}

/* Does the event show another incarnation of a stored key? */
static bool is_another_incarnation(const struct store *store, const struct event *e)
{
    const struct object *stored = store_get(store, object_key(e->object));

    return stored != NULL && !str_eq(object_uid(stored), object_uid(e->object));
}

/* The end of the stored incarnation was not seen. It is told with all objects that the LIST beside
 * the watch finds deleted, after the guard has judged them, and the new incarnation waits until
 * then (docs/decisions.md "Without list versions the watch begins before its LIST"). */
static void replace_later(struct ingest *in, const struct event *e)
{
    store_unstage(in->store, in->scope, object_key(e->object));
    if (e->selected)
        store_stage(in->store, in->scope, e->object);
}

/* Has the event no version, although the list had one? No watch could go on from behind such an
 * event, so its object is skipped (docs/kubernetes-protocol.md "Event types"). */
static bool lacks_version(const struct ingest *in, const struct event *e)
{
    return (e->type == EVENT_ADDED || e->type == EVENT_MODIFIED) && e->rv.n == 0 &&
           *reflector_last_sync_rv(in->reflector) != '\0';
}

static void skip_unversioned(struct ingest *in, const struct object *o)
{
    store_skip(in->store, in->scope,
               &(struct unusable){.why = "it has no metadata.resourceVersion",
                                  .key = object_key(o),
                                  .name = object_key(o)});
}

/* Would the event make the store larger? Called only when it may not grow. */
static bool would_grow(const struct ingest *in, const struct event *e)
{
    if (e->type == EVENT_UNUSABLE)
        return !e->deleted && !skips_has(store_skips(in->store), e->unusable->key);
    if (e->type == EVENT_DELETED || !e->selected)
        return false;
    const struct object *stored = store_get(in->store, object_key(e->object));
    return stored == NULL || object_bytes(e->object) > object_bytes(stored);
}

/* Takes an event of an established watch. Its version counts even if the object is skipped, as a
 * LIST would bring the same bytes; but e->rv is empty for an object of another kind
 * (docs/decisions.md "A skipped object moves the resourceVersion on"). */
static void watch_event(struct ingest *in, const struct event *e)
{
    struct store *store = in->store;

    if (e->type == EVENT_UNUSABLE && e->deleted)
        store_remove_unusable(store, in->scope, e->unusable, in->now);
    else if (e->type == EVENT_UNUSABLE)
        store_skip(store, in->scope, e->unusable);
    else if (lacks_version(in, e))
        skip_unversioned(in, e->object);
    else if (e->type == EVENT_DELETED)
        store_remove(store, e->object, in->now);
    else if (reflector_state(in->reflector) == REFLECTOR_COMPARING &&
             is_another_incarnation(store, e))
        replace_later(in, e);
    else if (e->selected)
        store_apply(store, in->scope, e->object, in->now);
    else
        store_leave(store, e->object, in->now);
    in->events += e->type != EVENT_UNUSABLE || !e->unusable->foreign;
    in->event_ms = in->now.ms;
    reflector_seen(in->reflector, e->rv);
    overlap_note(&in->noted, overlap_event_of(e));
}

/* ERROR is the end of the response (docs/kubernetes-protocol.md "Errors"); the reflector's state
 * says how to take all others. */
bool ingest_event(struct ingest *in, const struct event *e)
{
    in->events_by[e->type]++;
    if (e->type == EVENT_ERROR) {
        status_to_err(e->status, &in->failure);
        in->retry_after_s = e->status->retry_after_s;
        return false;
    }
    if (e->type == EVENT_SKIPPED) {
        log_emit(LOG_LVL_WARN, "bookmark skipped",
                 LOG_FIELDS(KV_STR("cluster", in->cluster), KV_STR("watch", in->watch),
                            KV_STR("why", e->why)));
        return true;
    }
    if (reflector_state(in->reflector) == REFLECTOR_STREAMING)
        return initial_event(in, e);
    if (e->type == EVENT_BOOKMARK)
        return bookmark(in, e);
    if (!is_new(in, e))
        return in->stop == INGEST_GOES_ON;
    /* The version of the event is not noted: the cache is that of the event before it. */
    if (!may_grow(in, MEMORY_EVENT) && would_grow(in, e)) {
        stop_full(in);
        return false;
    }
    watch_event(in, e);
    return true;
}

/* Another rule than for events of a server: an object with the stored resourceVersion may be another
 * one, as people write recordings by hand. */
void ingest_replay(struct ingest *in, struct object *o, struct delta as)
{
    if (as.type == DELTA_ADDED || as.type == DELTA_MODIFIED)
        store_put(in->store, o, as);
    else if (as.type == DELTA_DELETED && !as.final_state_unknown)
        store_remove(in->store, o, in->now); /* tells the final state */
    else
        store_drop(in->store, object_key(o), as);
    in->events++;
    in->events_by[as.type == DELTA_ADDED      ? EVENT_ADDED
                  : as.type == DELTA_MODIFIED ? EVENT_MODIFIED
                                              : EVENT_DELETED]++;
    in->event_ms = as.now_ms;
}
