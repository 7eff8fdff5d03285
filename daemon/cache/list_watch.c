/* SPDX-License-Identifier: Apache-2.0 */
#include "cache/list_watch.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/panic.h"
#include "cache/api_error.h"
#include "cache/buffering.h"
#include "cache/ingest.h"
#include "cache/list_watch_replay.h"
#include "cache/liveness.h"
#include "cache/lookup.h"
#include "cache/pages.h"
#include "cache/query.h"
#include "cache/renewal.h"
#include "kube/rv.h"

/* The server was asked to end the watch after timeoutSeconds, and gets this much more
 * (docs/kubernetes-protocol.md "Dead connections": 5 to 15 s suffice). */
#define DEADLINE_MARGIN_MS 10000

/* The response under way. */
enum response {
    RESPONSE_NONE, /* no head yet */
    RESPONSE_GOOD,
    RESPONSE_ERROR, /* a status other than 200 */
};

struct list_watch {
    struct list_watch_params params;
    struct query query;
    struct object_rules rules;
    /* Kind of the objects, from the table, discovery or the first list; NULL = not known. */
    char *kind;
    char *api_version;
    struct reflector *reflector;
    struct ingest in;
    struct buf target;
    enum reflector_do asked; /* the request under way; WAIT = no request is */
    enum response response;
    enum relist_reason order; /* why a list was ordered; RELIST_REASONS = no list was */
    struct list_reader *list;
    struct event_reader *events;
    struct api_error api_error;
    struct err failure; /* found while reading this response; kind OK = no failure */
    struct pages pages;
    struct lookup lookup;
    struct liveness liveness;
    struct buffering buffering;
    struct renewal *renewal; /* of this watch by a second one; NULL = there is no second one */
    struct err last_error;
    uint64_t errors_by[ERR_KINDS];
    unsigned others; /* as the present call says */
    bool incomplete; /* as on_incomplete has told last */
};

/* ---- Making and freeing */

/* The rules that readers check objects against, from the resource. Without a kind the server is
 * asked for full objects: a PartialObjectMetadata does not say which kind of object it
 * describes. */
static void set_rules(struct list_watch *lw)
{
    const struct list_watch_params *p = &lw->params;
    struct buf version = {0};

    free(lw->kind);
    free(lw->api_version);
    lw->kind = mem_strdup(p->resource->kind);
    resource_put_api_version(&version, p->resource);
    lw->api_version = mem_strdup(buf_cstr(&version));
    buf_free(&version);
    lw->rules = (struct object_rules){
        .kind = lw->kind,
        .api_version = lw->api_version,
        .object_size = p->object_size,
        .shape = p->shape,
        .partial = lw->kind != NULL && p->shape != NULL && shape_is_metadata_only(p->shape),
    };
}

struct list_watch *list_watch_create(const struct list_watch_params *params)
{
    struct list_watch *lw = mem_zalloc(sizeof(*lw));

    lw->params = *params;
    set_rules(lw);
    query_init(&lw->query, params->resource, params->ns, params->name);
    query_select(&lw->query, params->label_selector, params->field_selector);
    lw->reflector = reflector_create(&params->reflector, params->seed);
    lw->in = (struct ingest){
        .cluster = params->cluster,
        .watch = params->watch,
        .store = params->store,
        .scope = params->scope,
        .reflector = lw->reflector,
        .window = params->window,
        .memory = params->memory,
        .guard.params = params->guard,
    };
    lw->liveness.bookmark_timeout_ms = params->bookmark_timeout_ms;
    lw->liveness.list_idle_timeout_ms = params->list_idle_timeout_ms;
    lw->asked = REFLECTOR_WAIT;
    lw->order = RELIST_REASONS;
    return lw;
}

void list_watch_limit_memory(struct list_watch *lw, const struct memory_limit *memory)
{
    lw->in.memory = memory;
}

/* Forgets the response under way. The items that it has staged in the store stay: a list that is
 * not proven yet is committed after its response has ended. */
static void end_response(struct list_watch *lw)
{
    list_reader_destroy(&lw->list);
    event_reader_destroy(&lw->events);
    api_error_reset(&lw->api_error);
    renewal_destroy(&lw->renewal);
    lw->response = RESPONSE_NONE;
    lw->failure = (struct err){0};
    ingest_reset(&lw->in);
}

void list_watch_destroy(struct list_watch **lwp)
{
    struct list_watch *lw = *lwp;

    if (lw == NULL)
        return;
    *lwp = NULL;
    end_response(lw);
    lookup_end(&lw->lookup);
    ingest_fini(&lw->in);
    reflector_destroy(&lw->reflector);
    buf_free(&lw->target);
    query_fini(&lw->query);
    pages_fini(&lw->pages);
    free(lw->kind);
    free(lw->api_version);
    free(lw);
}

/* ---- Requests */

/* Equal versions prove nothing in two cases, and then the store compares bytes, too. A server that
 * was restored from a backup gives versions out a second time, and a list without a version may be
 * from one. And objects that an earlier process has kept by other settings have other bytes. */
static void begin_staging(struct list_watch *lw)
{
    ingest_begin(&lw->in);
    if (reflector_is_newest(lw->reflector) || lw->in.resume == RESUME_RESHAPED ||
        lw->in.resume == RESUME_EDITED)
        store_doubt(lw->params.store, lw->params.scope);
}

/* Makes the readers for the request that the reflector wants. */
static void begin_request(struct list_watch *lw, const struct reflector_action *a)
{
    if (a->what == REFLECTOR_LIST) {
        if (a->next == NULL) /* page 1 of a new list; later pages add to the staged items */
            begin_staging(lw);
        pages_ask(&lw->pages, a->next);
        lw->list = list_reader_create(&lw->rules, &ingest_list_events, &lw->in);
    } else if (a->what == REFLECTOR_PROBE) {
        lw->list = list_reader_create(&lw->rules, &ingest_no_events, &lw->in);
    } else {
        lw->events = event_reader_create(&lw->rules);
    }
    if (a->what == REFLECTOR_STREAM || reflector_state(lw->reflector) == REFLECTOR_COMPARING) {
        begin_staging(lw);
        lw->in.proof = PROOF_IDENTITY; /* asked first: LW_STREAM, list_watch_compare() */
    }
    if (a->what == REFLECTOR_WATCH && reflector_state(lw->reflector) == REFLECTOR_COMPARING)
        store_compare(lw->params.store, lw->params.scope);
}

/* The request as the driver sends it. */
static struct list_watch_action request_for(struct list_watch *lw, const struct reflector_action *a)
{
    static const enum list_watch_do as[] = {LW_LIST, LW_STREAM, LW_WATCH, LW_LIST, LW_WAIT};
    bool events = a->what == REFLECTOR_WATCH || a->what == REFLECTOR_STREAM;

    buf_clear(&lw->target);
    query_put_target(&lw->query, &lw->target, a);
    return (struct list_watch_action){
        .what = as[a->what],
        .target = buf_cstr(&lw->target),
        .accept = query_accept(a->what, lw->rules.partial),
        .deadline_ms = events ? (uint64_t)a->timeout_s * 1000 + DEADLINE_MARGIN_MS : 0,
    };
}

/* Tells the watch when the scope has become incomplete, or complete again. */
static void look_complete(struct list_watch *lw)
{
    bool incomplete = reflector_is_incomplete(lw->reflector);

    if (incomplete == lw->incomplete)
        return;
    lw->incomplete = incomplete;
    if (lw->params.on_incomplete != NULL)
        lw->params.on_incomplete(lw->params.arg, lw->in.now);
}

/* Ends the last request and begins the next one, as far as that needs no network. Nothing stays
 * staged over a wait: the list after it begins anew. */
static struct list_watch_action act(struct list_watch *lw, struct reflector_action a)
{
    end_response(lw);
    lookup_end(&lw->lookup);
    look_complete(lw);
    lw->asked = a.what;
    if (a.what == REFLECTOR_WAIT) {
        store_abort(lw->params.store, lw->params.scope);
        return (struct list_watch_action){.what = LW_WAIT, .wait_ms = a.wait_ms};
    }
    begin_request(lw, &a);
    return request_for(lw, &a);
}

void list_watch_resume(struct list_watch *lw, const struct resume_point *resume)
{
    ensure(resume->kind != RESUME_OVER);
    reflector_resume(lw->reflector, resume);
    lw->in.resume = resume->kind;
}

struct list_watch_action list_watch_start(struct list_watch *lw, uint64_t now_ms)
{
    enum relist_reason why = lw->order;
    /* Without this, an order that came before the start would be lost behind a watch that resumes.
     * Any other scope begins with a list anyway. */
    bool wanted = why != RELIST_REASONS && lw->in.resume == RESUME_WHOLE;

    lw->order = RELIST_REASONS;
    return act(lw, wanted ? reflector_relist(lw->reflector, why, now_ms)
                          : reflector_start(lw->reflector, now_ms));
}

/* The wait for a list that may confirm a held one is our own choice, so that time makes nothing
 * stale (docs/design.md "Staleness"). */
static void end_hold(struct list_watch *lw, uint64_t now_ms)
{
    if (reflector_state(lw->reflector) == REFLECTOR_HELD)
        liveness_current(&lw->liveness, now_ms);
}

struct list_watch_action list_watch_timer(struct list_watch *lw, uint64_t now_ms)
{
    end_hold(lw, now_ms);
    if (reflector_state(lw->reflector) == REFLECTOR_FULL)
        return act(lw, reflector_look(lw->reflector, ingest_has_room(&lw->in), now_ms));
    return act(lw, reflector_timer(lw->reflector, now_ms));
}

/* ---- Responses, as they come */

/* The head of a watch came, or the initial events of a streaming list are complete. A watch without
 * a version (COMPARING) first sends all objects, and one from a resume point sends old events: only
 * liveness can tell when these are over. */
static void begin_following(struct list_watch *lw, uint64_t now_ms)
{
    if (reflector_state(lw->reflector) == REFLECTOR_COMPARING) {
        liveness_fill(&lw->liveness, now_ms);
        return;
    }
    lw->last_error = (struct err){0};
    if (lw->in.resume == RESUME_OVER)
        liveness_follow(&lw->liveness, now_ms);
    else
        liveness_resume(&lw->liveness, now_ms);
}

void list_watch_head(struct list_watch *lw, const struct http_head *head, uint64_t now_ms)
{
    api_error_head(&lw->api_error, head);
    if (lw->events != NULL)
        buffering_begin(&lw->buffering, now_ms);
    if (head->status != 200) {
        lw->response = RESPONSE_ERROR;
        return;
    }
    lw->response = RESPONSE_GOOD;
    guard_release_foreign(&lw->in.guard); /* while another cluster answers nothing is sent */
    if (api_error_type(head, &lw->failure) != ERR_OK)
        return;
    liveness_begin(&lw->liveness, lw->asked == REFLECTOR_STREAM, now_ms);
    if (lw->asked == REFLECTOR_WATCH)
        begin_following(lw, now_ms);
}

/* After each piece of a body: did it have the end of the initial events, so that the streaming list
 * is the watch from now on? Or the first bookmark of a watch from a resume point, which has caught
 * up by that (docs/design.md "Synced")? */
static void note_synced(struct list_watch *lw)
{
    bool watching = reflector_state(lw->reflector) == REFLECTOR_WATCHING;

    if (lw->in.resume == RESUME_OVER)
        liveness_settle(&lw->liveness, lw->in.now.ms);
    if (!watching || lw->liveness.state != LIVENESS_INITIAL)
        return;
    look_complete(lw);
    liveness_current(&lw->liveness, lw->in.now.ms);
    begin_following(lw, lw->in.now.ms);
}

bool list_watch_body(struct list_watch *lw, const char *data, size_t n, struct now now)
{
    struct err err = {0};
    enum err_kind kind;
    bool goes_on = true;
    unsigned bookmarks = lw->in.bookmarks;

    lw->in.now = now;
    if (lw->response == RESPONSE_ERROR)
        return api_error_body(&lw->api_error, data, n);
    if (lw->failure.kind != ERR_OK)
        return false;
    ensure(lw->response == RESPONSE_GOOD);
    if (lw->events != NULL) {
        const struct event *e;

        /* The events before an error count, too. */
        kind = event_reader_feed(lw->events, data, n, &err);
        while (goes_on && (e = event_reader_next(lw->events)) != NULL)
            goes_on = ingest_event(&lw->in, e);
        buffering_heard(&lw->buffering, lw->in.bookmarks - bookmarks, now.ms);
    } else {
        kind = list_reader_feed(lw->list, data, n, &err);
        goes_on = lw->in.stop == INGEST_GOES_ON;
    }
    note_synced(lw);
    if (!goes_on)
        lw->failure = lw->in.failure; /* the bytes behind the last event do not count */
    else if (kind != ERR_OK)
        lw->failure = err;
    else
        liveness_heard(&lw->liveness, now.ms);
    return goes_on && kind == ERR_OK;
}

/* ---- Errors */

/* The request failed: the reflector decides what comes next. A foreign cluster is held by the guard
 * until the right one answers, so that status and hooks see why nothing changes. */
static struct list_watch_action failed(struct list_watch *lw, const struct err *err)
{
    uint64_t wait_ms = api_error_wait_ms(&lw->api_error, lw->in.retry_after_s);

    lw->last_error = *err;
    lw->errors_by[err->kind]++;
    if (err->kind == ERR_FOREIGN)
        guard_hold_foreign(&lw->in.guard, lw->in.now.ms);
    return act(lw, reflector_failed(lw->reflector, err, wait_ms, lw->others, lw->in.now.ms));
}

/* Reads the error response. A 405 is no fault of anybody: the error then says in one sentence which
 * verb the API lacks. */
static void read_refusal(struct list_watch *lw, enum reflector_do asked, struct err *err)
{
    bool lists = asked == REFLECTOR_LIST || asked == REFLECTOR_PROBE;

    api_error_read(&lw->api_error, err);
    if (err->kind == ERR_NO_VERB)
        resource_no_verb(lw->params.resource, lists ? RESOURCE_LIST : RESOURCE_WATCH, err);
}

/* ---- A commit that needs a proof first */

/* Asks for a page of the lookup. It needs identities only, so no shape. The items of the list under
 * proof stay staged. */
static struct list_watch_action look_up(struct list_watch *lw)
{
    struct object_rules rules = lw->rules;

    rules.shape = NULL;
    rules.partial = lw->kind != NULL;
    lw->list = list_reader_create(&rules, &ingest_existing_events, &lw->in);
    buf_clear(&lw->target);
    lookup_put_target(&lw->lookup, &lw->target, lw->params.resource);
    return (struct list_watch_action){.what = LW_LIST,
                                      .target = buf_cstr(&lw->target),
                                      .accept = query_accept(REFLECTOR_LIST, rules.partial)};
}

/* The list is complete, but its commit needs a proof first. Its items stay staged. */
static struct list_watch_action prove(struct list_watch *lw)
{
    end_response(lw);
    if (lw->in.wants == PROOF_IDENTITY)
        return (struct list_watch_action){.what = LW_IDENTIFY};
    lookup_begin(&lw->lookup, lw->params.store, lw->params.scope, &lw->query);
    return look_up(lw);
}

/* ---- A list is complete, or was stopped */

/* ingest has ended the response although nothing failed, or has not committed its list. */
static struct list_watch_action stopped(struct list_watch *lw, enum ingest_stop why)
{
    uint64_t now_ms = lw->in.now.ms;

    switch (why) {
    case INGEST_UNPROVEN:
        return prove(lw);
    case INGEST_BACKWARDS:
        lw->last_error = lw->in.doubt;
        lw->errors_by[lw->in.doubt.kind]++;
        return act(lw, reflector_relist(lw->reflector, RELIST_BACKWARDS, now_ms));
    case INGEST_FULL:
        lw->last_error = (struct err){0};
        return act(lw, reflector_full(lw->reflector));
    /* The guard holds the list, which is no error of the server; the cache is older by our own
     * choice. */
    case INGEST_HELD:
        lw->last_error = (struct err){0};
        liveness_current(&lw->liveness, now_ms);
        return act(lw, reflector_held(lw->reflector, guard_wait_ms(&lw->in.guard, now_ms)));
    /* The driver drops a watch that is too silent, or whose old and new events cannot be told apart. It
     * resumes from its version without a list. */
    case INGEST_OVERDUE:
    case INGEST_MISFIT:
    case INGEST_GOES_ON:
        break;
    }
    return act(lw, reflector_ended(lw->reflector, false, lw->others, now_ms));
}

/* The list or the initial events are complete as of rv, and are committed if nothing is in the way:
 * a proof that is missing, or the guard. */
static struct list_watch_action commit(struct list_watch *lw, struct str rv)
{
    enum ingest_stop stop = ingest_commit(&lw->in, rv);

    if (stop != INGEST_GOES_ON)
        return stopped(lw, stop);
    liveness_current(&lw->liveness, lw->in.now.ms);
    lw->last_error = (struct err){0};
    return act(lw, reflector_listed(lw->reflector, rv, str_c(""), lw->in.now.ms));
}

/* The body of a LIST is complete: of a probe, a page, or the last page, which commits the list. */
static struct list_watch_action list_complete(struct list_watch *lw)
{
    struct list_page page;
    struct err err = {0};

    if (list_reader_end(lw->list, &page, &err) != ERR_OK)
        return failed(lw, &err);
    if (lw->asked == REFLECTOR_PROBE) /* a probe is no page of a list */
        return act(lw, reflector_listed(lw->reflector, page.rv, str_c(""), lw->in.now.ms));
    if (pages_check(&lw->pages, &page, &err) != ERR_OK)
        return failed(lw, &err);
    /* A custom resource that was not looked up by discovery has a kind only when its first list
     * says so. */
    if (lw->kind == NULL && page.kind.n > 0)
        lw->rules.kind = lw->kind = mem_strndup(page.kind.p, page.kind.n);
    if (page.next.n > 0)
        return act(lw, reflector_listed(lw->reflector, page.rv, page.next, lw->in.now.ms));
    return commit(lw, reflector_list_rv(lw->reflector, page.rv));
}

/* ---- The proof */

/* The proof for the staged list is there. The commit may still want a further one, or be held. */
static struct list_watch_action proven(struct list_watch *lw)
{
    lw->in.proof = lw->in.wants;
    return commit(lw, str_c(lw->in.rv));
}

struct list_watch_action list_watch_identified(struct list_watch *lw, const struct err *err,
                                               unsigned others, struct now now)
{
    lw->in.now = now;
    lw->others = others;
    return err != NULL ? failed(lw, err) : proven(lw);
}

/* For store_stage_guess(): does the edited watch certainly not select the object? Without a shape
 * the object has all its labels, so an absent label counts. */
static bool is_other(void *arg, struct object *o)
{
    const struct list_watch *lw = arg;

    return query_rejects(&lw->query, o, lw->params.shape == NULL);
}

/* Nobody can find out which of the objects exist, so the new selectors are applied to the
 * remembered objects (docs/design.md "Edited selectors"). */
static struct list_watch_action guess(struct list_watch *lw, const char *why)
{
    log_emit(LOG_LVL_WARN,
             "cannot check which objects outside the selectors of the edited watch still exist",
             LOG_FIELDS(KV_STR("cluster", lw->params.cluster), KV_STR("watch", lw->params.watch),
                        KV_STR("because", why)));
    end_response(lw);
    lookup_end(&lw->lookup);
    store_stage_guess(lw->params.store, lw->params.scope, is_other, lw);
    return proven(lw);
}

/* A 4xx that a later try will not change. The others pass: 401 with a new token, 408 and 429 with
 * time, 410 with a new list. */
static bool is_refused_for_good(int status)
{
    return status >= 400 && status < 500 && status != 401 && status != 408 && status != 410 &&
           status != 429;
}

/* A page of the lookup is complete. */
static struct list_watch_action looked_up(struct list_watch *lw)
{
    struct list_page page;
    struct err err = {0};

    if (list_reader_end(lw->list, &page, &err) != ERR_OK)
        return failed(lw, &err);
    enum lookup_step step = lookup_page(&lw->lookup, &page);

    if (step == LOOKUP_TOO_MANY)
        return guess(lw, "there are too many objects to look through");
    end_response(lw);
    if (step == LOOKUP_MORE)
        return look_up(lw);
    lookup_end(&lw->lookup);
    return proven(lw);
}

/* ---- Servers that are older, and another cluster */

bool list_watch_is_ahead(const struct list_watch *lw, const char *revision)
{
    return lw->asked == REFLECTOR_WATCH && reflector_is_older(lw->reflector, str_c(revision));
}

struct list_watch_action list_watch_doubted(struct list_watch *lw, uint64_t now_ms)
{
    return act(lw, reflector_doubted(lw->reflector, now_ms));
}

void list_watch_forget(struct list_watch *lw)
{
    const struct list_watch_params *p = &lw->params;

    end_response(lw);
    lookup_end(&lw->lookup);
    reflector_destroy(&lw->reflector);
    lw->reflector = reflector_create(&p->reflector, p->seed);
    lw->in.reflector = lw->reflector;
    lw->in.resume = RESUME_NONE;
    /* The guard may hold a list of the other cluster, and contact was with its servers. */
    lw->in.guard = (struct guard){.params = p->guard};
    lw->liveness = (struct liveness){.bookmark_timeout_ms = p->bookmark_timeout_ms,
                                     .list_idle_timeout_ms = p->list_idle_timeout_ms};
    lw->buffering = (struct buffering){0};
    lw->last_error = (struct err){0};
    look_complete(lw);
    list_watch_order(lw, RELIST_MANUAL);
}

/* ---- The end of a request */

/* Bytes that HTTP or TLS does not allow are no cut: a proxy or the network spoils the response, and
 * would spoil the next one at once. */
static bool is_spoilt(const struct err *err)
{
    return err != NULL &&
           (err->kind == ERR_PROTOCOL || err->kind == ERR_TOO_BIG || err->kind == ERR_TLS);
}

void list_watch_unanswered(struct list_watch *lw)
{
    /* One server may have left it unanswered, and the next one answered. */
    if (lw->response == RESPONSE_NONE && lw->events != NULL)
        buffering_unanswered(&lw->buffering);
}

/* Notes the signs of a buffering proxy that the end of the response under way gives. */
static void end_buffering(struct list_watch *lw)
{
    if (lw->events == NULL)
        buffering_listed(&lw->buffering, lw->response == RESPONSE_GOOD);
    else if (lw->response == RESPONSE_GOOD)
        buffering_end(&lw->buffering, lw->in.now.ms);
}

struct list_watch_action list_watch_end(struct list_watch *lw, const struct err *err,
                                        unsigned others, struct now now)
{
    lw->in.now = now;
    lw->others = others;
    end_buffering(lw);
    liveness_end(&lw->liveness, lw->failure.kind == ERR_OK, now.ms);
    /* The order of these questions matters. An answer of the server says more than the way in which
     * the connection ended; a failure inside the response more than the stop that followed from it;
     * and only a response with neither is judged by err. */
    struct err why = lw->failure; /* act() clears lw->failure */
    if (lw->response == RESPONSE_ERROR && lookup_goes_on(&lw->lookup) &&
        is_refused_for_good(lw->api_error.code))
        return guess(lw, "the LIST without selectors is refused");
    if (lw->response == RESPONSE_ERROR)
        read_refusal(lw, lw->asked, &why);
    if (why.kind != ERR_OK)
        return failed(lw, &why);
    if (lw->in.stop != INGEST_GOES_ON)
        return stopped(lw, lw->in.stop);
    if (err != NULL && err->kind == ERR_TIMEOUT &&
        reflector_state(lw->reflector) == REFLECTOR_STREAMING) {
        /* The initial events took too long or came too slowly. */
        log_emit(LOG_LVL_WARN, "streaming list failed: using an ordinary LIST",
                 LOG_FIELDS(KV_STR("cluster", lw->params.cluster),
                            KV_STR("watch", lw->params.watch), KV_ERR(err)));
        return failed(lw, err);
    }
    if (lw->response == RESPONSE_GOOD && lw->events != NULL && !is_spoilt(err))
        /* Complete or cut off: it goes on from its version. */
        return act(lw, reflector_ended(lw->reflector, err != NULL, others, now.ms));
    if (err != NULL)
        return failed(lw, err);
    ensure(lw->response == RESPONSE_GOOD);
    return lookup_goes_on(&lw->lookup) ? looked_up(lw) : list_complete(lw);
}

/* ---- The LIST beside a WATCH */

/* The reader of the LIST beside the watch is lw->list, which the watch itself does not use. */
bool list_watch_wants_compare(const struct list_watch *lw)
{
    return lw->liveness.state == LIVENESS_FILLED && lw->list == NULL;
}

struct list_watch_action list_watch_compare(struct list_watch *lw)
{
    struct reflector_action a = reflector_compare(lw->reflector);

    pages_ask(&lw->pages, a.next);
    api_error_reset(&lw->api_error); /* free for the LIST: the watch's head was good */
    lw->list = list_reader_create(&lw->rules, &ingest_present_events, &lw->in);
    return request_for(lw, &a);
}

void list_watch_compare_head(struct list_watch *lw, const struct http_head *head)
{
    api_error_head(&lw->api_error, head);
    if (head->status == 200)
        api_error_type(head, &lw->failure);
}

bool list_watch_compare_body(struct list_watch *lw, const char *data, size_t n, struct now now)
{
    lw->in.now = now;
    if (lw->api_error.code != 200)
        return api_error_body(&lw->api_error, data, n);
    return lw->failure.kind == ERR_OK &&
           list_reader_feed(lw->list, data, n, &lw->failure) == ERR_OK &&
           lw->in.stop == INGEST_GOES_ON;
}

/* A page of the LIST beside the watch came whole. The commit of the last one deletes the objects
 * that neither the LIST nor the watch has named; then the scope is in sync. */
static void compare(struct list_watch *lw)
{
    struct list_page page;

    if (list_reader_end(lw->list, &page, &lw->failure) != ERR_OK ||
        pages_check(&lw->pages, &page, &lw->failure) != ERR_OK)
        return;
    if (page.next.n == 0)
        lw->in.stop = ingest_commit(&lw->in, str_c(""));
    if (lw->in.stop != INGEST_GOES_ON)
        return;
    reflector_compared(lw->reflector, page.next);
    if (page.next.n > 0)
        return;
    look_complete(lw);
    liveness_current(&lw->liveness, lw->in.now.ms);
    begin_following(lw, lw->in.now.ms);
}

bool list_watch_compare_end(struct list_watch *lw, const struct err *err, struct now now)
{
    int code = lw->api_error.code;

    lw->in.now = now;
    /* A failure of the LIST ends the watch, too: nothing else would find the objects that were
     * deleted before it began. lw->failure keeps the error for list_watch_end(). */
    if (code != 0 && code != 200)
        read_refusal(lw, REFLECTOR_LIST, &lw->failure);
    else if (lw->failure.kind == ERR_OK && err != NULL)
        lw->failure = *err;
    else if (lw->failure.kind == ERR_OK && lw->in.stop == INGEST_GOES_ON)
        compare(lw);
    list_reader_destroy(&lw->list);
    return lw->failure.kind == ERR_OK && lw->in.stop == INGEST_GOES_ON;
}

/* ---- A second watch beside the watch */

/* Only a watch that follows the server is worth a second one. Any other request is over before long,
 * and the next one has the new credentials anyway. Without a version a second watch would send all
 * objects again (docs/decisions.md "A watch without a version is not renewed"). */
bool list_watch_can_renew(const struct list_watch *lw)
{
    return reflector_state(lw->reflector) == REFLECTOR_WATCHING &&
           lw->liveness.state == LIVENESS_FOLLOWS && lw->failure.kind == ERR_OK &&
           lw->in.stop == INGEST_GOES_ON && !list_watch_is_ordered(lw) && lw->renewal == NULL &&
           *reflector_last_sync_rv(lw->reflector) != '\0';
}

struct list_watch_action list_watch_renew(struct list_watch *lw, uint64_t now_ms)
{
    ensure(list_watch_can_renew(lw));
    struct reflector_action a = reflector_renew(lw->reflector, now_ms);

    lw->renewal = renewal_create(&lw->rules);
    ingest_begin_renewal(&lw->in);
    return request_for(lw, &a);
}

bool list_watch_renewal_is_ahead(const struct list_watch *lw, const char *revision)
{
    return rv_order(str_c(revision), str_c(lw->in.noted.from)) == RV_OLDER;
}

bool list_watch_renewal_head(struct list_watch *lw, const struct http_head *head)
{
    return renewal_head(lw->renewal, head);
}

enum renewal_outcome list_watch_renewal_body(struct list_watch *lw, const char *data, size_t n)
{
    return renewal_body(lw->renewal, data, n);
}

/* The half event that the first watch has brought is dropped: the second one brings it whole. */
bool list_watch_renewed(struct list_watch *lw, struct now now)
{
    if (!overlap_is_known(&lw->in.noted))
        return false;
    event_reader_destroy(&lw->events);
    lw->events = renewal_take(lw->renewal, &lw->api_error);
    renewal_destroy(&lw->renewal);
    lw->asked = REFLECTOR_WATCH;
    lw->in.now = now;
    ingest_renewed(&lw->in);
    reflector_renewed(lw->reflector);
    liveness_heard(&lw->liveness, now.ms);
    buffering_begin(&lw->buffering, now.ms);
    return true;
}

uint64_t list_watch_renewal_end(struct list_watch *lw, const struct err *err, struct err *why)
{
    uint64_t wait_ms = renewal_why(lw->renewal, err, why);

    renewal_destroy(&lw->renewal);
    ingest_end_renewal(&lw->in);
    return wait_ms;
}

/* ---- Silence */

uint64_t list_watch_due_ms(const struct list_watch *lw)
{
    return liveness_due_ms(&lw->liveness, lw->in.had_bookmark);
}

static void log_silence(const struct list_watch *lw, enum log_level level, const char *what,
                        uint64_t ms)
{
    log_emit(level, what,
             LOG_FIELDS(KV_STR("cluster", lw->params.cluster), KV_STR("watch", lw->params.watch),
                        KV_MS("silent_for", ms)));
}

bool list_watch_overdue(struct list_watch *lw, uint64_t now_ms)
{
    uint64_t silent_ms = liveness_silent_ms(&lw->liveness, now_ms);

    switch (liveness_look(&lw->liveness, lw->in.had_bookmark, now_ms)) {
    case LIVENESS_WELL:
        return false;
    case LIVENESS_PAUSED:
        log_silence(lw, LOG_LVL_WARN,
                    "streaming list: still waiting for the end of the initial events", silent_ms);
        return false;
    case LIVENESS_SETTLED:
        /* RESUMED: old events are over, so the scope is synced. FILLING was synced by its first
         * list. */
        lw->in.resume = RESUME_OVER;
        return false;
    case LIVENESS_STUCK:
        log_silence(lw, LOG_LVL_WARN, "streaming list stalled: using an ordinary LIST", silent_ms);
        /* A timeout while STREAMING: the reflector falls back to LIST. */
        err_set(&lw->failure, ERR_TIMEOUT, 0,
                "the server began to send the initial events, then nothing for %" PRIu64 " s",
                silent_ms / 1000);
        break;
    case LIVENESS_OVERDUE:
        log_silence(
            lw, LOG_LVL_INFO,
            "watch overdue: no bookmark came, the watch is restarted from its last resourceVersion",
            silent_ms);
        lw->in.stop = INGEST_OVERDUE;
        break;
    }
    return true;
}

/* ---- Orders */

bool list_watch_is_ordered(const struct list_watch *lw)
{
    return lw->order != RELIST_REASONS;
}

struct list_watch_action list_watch_restart(struct list_watch *lw, struct now now)
{
    enum relist_reason why = lw->order;

    ensure(list_watch_is_ordered(lw));
    lw->in.now = now;
    lw->order = RELIST_REASONS;
    /* The request was dropped from our side: note until when the watch followed the server. */
    liveness_end(&lw->liveness, lw->failure.kind == ERR_OK, now.ms);
    end_hold(lw, now.ms);
    return act(lw, reflector_relist(lw->reflector, why, now.ms));
}

void list_watch_order(struct list_watch *lw, enum relist_reason why)
{
    lw->order = why;
}

/* The objects that are stored have the old version or kind, so all of them are listed anew. */
void list_watch_move(struct list_watch *lw)
{
    set_rules(lw);
    list_watch_order(lw, RELIST_ERROR);
}

/* Accepted: a list is asked for at once. Rejected: lists go on to come every guard.hold. */
bool list_watch_guard(struct list_watch *lw, bool accept)
{
    bool held = accept ? guard_accept(&lw->in.guard) : guard_reject(&lw->in.guard);

    if (held && accept)
        list_watch_order(lw, RELIST_MANUAL);
    return held;
}

/* ---- For the drivers and the status */

void list_watch_can_stream(struct list_watch *lw, bool can)
{
    reflector_can_stream(lw->reflector, can);
}

void list_watch_put_list_target(const struct list_watch *lw, struct buf *out, unsigned limit,
                                const char *next)
{
    query_put_target(
        &lw->query, out,
        &(struct reflector_action){.what = REFLECTOR_LIST, .limit = limit, .next = next});
}

const char *list_watch_accept(const struct list_watch *lw)
{
    return query_accept(REFLECTOR_LIST, lw->rules.partial);
}

const struct object_rules *list_watch_rules(const struct list_watch *lw)
{
    return &lw->rules;
}

/* ---- Recordings */

bool list_watch_selects(const struct list_watch *lw, const struct object *o)
{
    return !query_rejects(&lw->query, o, true);
}

void list_watch_replay(struct list_watch *lw, struct object *o, struct delta as)
{
    lw->in.now = (struct now){.ms = as.now_ms, .wall_ns = as.received_ns};
    ingest_replay(&lw->in, o, as);
    liveness_heard(&lw->liveness, as.now_ms);
}

void list_watch_replay_stale(struct list_watch *lw, bool stale, uint64_t now_ms)
{
    if (stale) {
        liveness_end(&lw->liveness, true, now_ms);
        return;
    }
    liveness_begin(&lw->liveness, false, now_ms);
    liveness_follow(&lw->liveness, now_ms);
}

/* ---- The status */

bool list_watch_settled(const struct list_watch *lw)
{
    return list_watch_synced(lw) &&
           (reflector_why(lw->reflector) == RELIST_REASONS || guard_holds(&lw->in.guard));
}

bool list_watch_synced(const struct list_watch *lw)
{
    return lw->in.resume == RESUME_OVER;
}

bool list_watch_connected(const struct list_watch *lw)
{
    return liveness_watches(&lw->liveness) && lw->failure.kind == ERR_OK;
}

uint64_t list_watch_contact_ms(const struct list_watch *lw)
{
    return lw->liveness.contact_ms;
}

bool list_watch_is_incomplete(const struct list_watch *lw)
{
    return reflector_is_incomplete(lw->reflector);
}

bool list_watch_is_held(const struct list_watch *lw)
{
    return guard_holds(&lw->in.guard);
}

uint64_t list_watch_stale_from_ms(const struct list_watch *lw, uint64_t stale_after_ms)
{
    if (!list_watch_synced(lw) && lw->liveness.follow_ms == 0)
        /* A watch that has begun stale: no server has yet said anything of the remembered
         * objects. */
        return 0;
    if (list_watch_connected(lw) || reflector_state(lw->reflector) == REFLECTOR_HELD)
        return UINT64_MAX;
    return lw->liveness.follow_ms + stale_after_ms;
}

struct list_watch_status list_watch_status(const struct list_watch *lw)
{
    return (struct list_watch_status){
        .state = reflector_state(lw->reflector),
        .synced = list_watch_synced(lw),
        .resume = lw->in.resume,
        .incomplete = list_watch_is_incomplete(lw),
        .connected = list_watch_connected(lw),
        .contact_ms = lw->liveness.contact_ms,
        .follow_ms = lw->liveness.follow_ms,
        .event_ms = lw->in.event_ms,
        .bookmark_ms = lw->in.bookmark_ms,
        .rv = reflector_last_sync_rv(lw->reflector),
        .collection_rv = reflector_collection_rv(lw->reflector),
        .why = reflector_why(lw->reflector),
        .relists = reflector_relists(lw->reflector),
        .guard = &lw->in.guard,
        .buffering = &lw->buffering,
        .events = lw->in.events,
        .events_by = lw->in.events_by,
        .errors_by = lw->errors_by,
        .err = &lw->last_error,
    };
}

uint64_t list_watch_now_ms(const struct list_watch *lw)
{
    return lw->in.now.ms;
}

const char *list_watch_scope_name(const struct list_watch *lw)
{
    return query_scope(&lw->query);
}
