/* SPDX-License-Identifier: Apache-2.0 */
#include "cache/feed.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/panic.h"
#include "cache/intake.h"
#include "cache/lookup.h"
#include "cache/pages.h"
#include "cache/pulse.h"
#include "cache/query.h"
#include "cache/refusal.h"

/* A server that promised to end the stream gets this much more (PROTOCOL 2.8: 5..15 s). */
#define DEADLINE_MARGIN_MS 10000

/* The response under way. */
enum response {
    RESPONSE_NONE, /* no head yet */
    RESPONSE_GOOD,
    RESPONSE_ERROR, /* a status other than 200 */
};

struct feed {
    struct feed_params params;
    struct query query;
    struct object_rules rules;
    char *kind; /* of the objects; learned from the table, discovery or the first list */
    char *api_version;
    struct reflector *reflector;
    struct intake in;
    struct buf target;
    enum reflector_do asked; /* the request under way; WAIT = none */
    enum response response;
    enum relist_reason order; /* RELIST_REASONS = none */
    struct list_reader *list;
    struct event_reader *events;
    struct refusal refusal;
    struct err failure; /* found in this response; kind OK = none */
    struct pages pages;
    struct lookup lookup; /* of what an edited watch does not select any more */
    struct pulse pulse;
    struct err last_error;
};

/* What objects must be, by the resource. */
static void set_rules(struct feed *f)
{
    const struct feed_params *p = &f->params;
    struct buf version = {0};

    free(f->kind);
    free(f->api_version);
    f->kind = mem_strdup(p->resource->kind);
    resource_put_api_version(&version, p->resource);
    f->api_version = mem_strdup(buf_cstr(&version));
    buf_free(&version);
    f->rules = (struct object_rules){
        .kind = f->kind,
        .api_version = f->api_version,
        .object_size = p->object_size,
        .shape = p->shape,
        .partial = f->kind != NULL && p->shape != NULL && shape_is_metadata_only(p->shape),
    };
}

struct feed *feed_create(const struct feed_params *params)
{
    struct feed *f = mem_zalloc(sizeof(*f));

    f->params = *params;
    set_rules(f);
    query_init(&f->query, params->resource, params->ns, params->name);
    query_select(&f->query, params->label_selector, params->field_selector);
    f->reflector = reflector_create(&params->reflector, params->seed);
    f->in = (struct intake){
        .cluster = params->cluster,
        .watch = params->watch,
        .store = params->store,
        .part = params->part,
        .reflector = f->reflector,
        .window = params->window,
        .guard.params = params->guard,
    };
    f->pulse.bookmark_timeout_ms = params->bookmark_timeout_ms;
    f->pulse.list_idle_timeout_ms = params->list_idle_timeout_ms;
    f->asked = REFLECTOR_WAIT;
    f->order = RELIST_REASONS;
    return f;
}

static void end_response(struct feed *f)
{
    list_reader_destroy(&f->list);
    event_reader_destroy(&f->events);
    refusal_reset(&f->refusal);
    f->response = RESPONSE_NONE;
    f->failure = (struct err){0};
    intake_reset(&f->in);
}

void feed_destroy(struct feed **fp)
{
    struct feed *f = *fp;

    if (f == NULL)
        return;
    *fp = NULL;
    end_response(f);
    lookup_end(&f->lookup);
    intake_fini(&f->in);
    reflector_destroy(&f->reflector);
    buf_free(&f->target);
    query_fini(&f->query);
    pages_fini(&f->pages);
    free(f->kind);
    free(f->api_version);
    free(f);
}

/* A list without a version may come from a server that was restored from a backup and gives
 * versions out a second time. */
static void begin_staging(struct feed *f)
{
    intake_begin(&f->in);
    if (reflector_is_newest(f->reflector) || f->in.past == PAST_RESHAPED ||
        f->in.past == PAST_EDITED)
        store_doubt(f->params.store, f->params.part);
}

static void begin_list(struct feed *f, const char *token)
{
    if (token == NULL)
        begin_staging(f);
    pages_ask(&f->pages, token);
    f->list = list_reader_create(&f->rules, &intake_list_events, &f->in);
}

/* The readers for what the reflector asks. */
static void begin_request(struct feed *f, const struct reflector_action *a)
{
    if (a->what == REFLECTOR_LIST)
        begin_list(f, a->next);
    else if (a->what == REFLECTOR_PROBE)
        f->list = list_reader_create(&f->rules, &intake_no_events, &f->in);
    else
        f->events = event_reader_create(&f->rules, intake_event, &f->in);
    if (a->what == REFLECTOR_STREAM || reflector_state(f->reflector) == REFLECTOR_COMPARING) {
        begin_staging(f);
        f->in.proof = PROOF_IDENTITY; /* see FEED_STREAM, feed_list() */
    }
    if (a->what == REFLECTOR_WATCH && reflector_state(f->reflector) == REFLECTOR_COMPARING)
        store_compare(f->params.store, f->params.part);
    buf_clear(&f->target);
    query_put_target(&f->query, &f->target, a);
}

/* Carries out what the reflector wants, as far as that needs no network. */
static struct feed_action act(struct feed *f, struct reflector_action a)
{
    static const enum feed_do as[] = {FEED_LIST, FEED_STREAM, FEED_WATCH, FEED_LIST, FEED_WAIT};
    bool events = a.what == REFLECTOR_WATCH || a.what == REFLECTOR_STREAM;

    end_response(f);
    lookup_end(&f->lookup);
    f->asked = a.what;
    if (a.what == REFLECTOR_WAIT) {
        store_abort(f->params.store, f->params.part);
        return (struct feed_action){.what = FEED_WAIT, .wait_ms = a.wait_ms};
    }
    begin_request(f, &a);
    return (struct feed_action){
        .what = as[a.what],
        .target = buf_cstr(&f->target),
        .accept = query_accept(a.what, f->rules.partial),
        .deadline_ms = events ? (uint64_t)a.timeout_s * 1000 + DEADLINE_MARGIN_MS : 0,
    };
}

/* The kind of a resource that nobody knows is what its first list says. */
static void learn_kind(struct feed *f, struct str kind)
{
    if (f->kind != NULL || kind.n == 0)
        return;
    f->kind = mem_strndup(kind.p, kind.n);
    f->rules.kind = f->kind;
}

void feed_resume(struct feed *f, const struct past *past)
{
    ensure(past->kind != PAST_OVER);
    reflector_resume(f->reflector, past);
    f->in.past = past->kind;
}

struct feed_action feed_start(struct feed *f, uint64_t now_ms)
{
    enum relist_reason why = f->order;
    bool wanted = why != RELIST_REASONS && f->in.past == PAST_WHOLE;

    f->order = RELIST_REASONS;
    return act(f, wanted ? reflector_relist(f->reflector, why, now_ms)
                         : reflector_start(f->reflector, now_ms));
}

/* The wait for a list that may confirm a held one is ours: it makes nothing stale. */
static void end_hold(struct feed *f, uint64_t now_ms)
{
    if (reflector_state(f->reflector) == REFLECTOR_HELD)
        pulse_current(&f->pulse, now_ms);
}

struct feed_action feed_timer(struct feed *f, uint64_t now_ms)
{
    end_hold(f, now_ms);
    return act(f, reflector_timer(f->reflector, now_ms));
}

/* A missing type is fine: proxies drop it, and the parser finds out. */
static bool is_json(struct str type)
{
    return type.n == 0 || str_is(type, "application/json");
}

static bool check_type(struct feed *f, const struct http_head *head)
{
    if (is_json(head->content_type))
        return true;
    err_set(&f->failure, ERR_PROTOCOL, 200,
            "the server answered with %.*s, not JSON: is its address that of an API server?",
            STR_ARG(head->content_type));
    return false;
}

static void begin_following(struct feed *f, uint64_t now_ms)
{
    if (reflector_state(f->reflector) == REFLECTOR_COMPARING) {
        pulse_fill(&f->pulse, now_ms);
        return;
    }
    f->last_error = (struct err){0};
    if (f->in.past == PAST_OVER)
        pulse_follow(&f->pulse, now_ms);
    else
        pulse_resume(&f->pulse, now_ms);
}

void feed_head(struct feed *f, const struct http_head *head, uint64_t now_ms)
{
    refusal_head(&f->refusal, head);
    if (head->status != 200) {
        f->response = RESPONSE_ERROR;
        return;
    }
    f->response = RESPONSE_GOOD;
    guard_release_foreign(&f->in.guard); /* while another cluster answers nothing is sent */
    if (!check_type(f, head))
        return;
    pulse_begin(&f->pulse, f->asked == REFLECTOR_STREAM, now_ms);
    if (f->asked == REFLECTOR_WATCH)
        begin_following(f, now_ms);
}

/* The end of the initial events has come: the stream is the watch from now on. Or a bookmark of one
 * that goes on from before. */
static void note_synced(struct feed *f)
{
    bool watching = reflector_state(f->reflector) == REFLECTOR_WATCHING;

    if (f->in.past == PAST_OVER)
        pulse_settle(&f->pulse, f->in.now.ms);
    if (!watching || f->pulse.state != PULSE_INITIAL)
        return;
    pulse_current(&f->pulse, f->in.now.ms);
    begin_following(f, f->in.now.ms);
}

bool feed_body(struct feed *f, const char *data, size_t n, struct feed_now now)
{
    struct err err = {0};
    enum err_kind kind;

    f->in.now = now;
    if (f->response == RESPONSE_ERROR)
        return refusal_body(&f->refusal, data, n);
    if (f->failure.kind != ERR_OK)
        return false;
    ensure(f->response == RESPONSE_GOOD);
    if (f->events != NULL)
        kind = event_reader_feed(f->events, data, n, &err);
    else
        kind = list_reader_feed(f->list, data, n, &err);
    note_synced(f);
    if (kind == ERR_OK)
        pulse_heard(&f->pulse, now.ms);
    else if (f->in.failure.kind != ERR_OK)
        f->failure = f->in.failure;
    else if (f->in.stop == INTAKE_GOES_ON)
        f->failure = err;
    return kind == ERR_OK;
}

static struct feed_action failed(struct feed *f, const struct err *err)
{
    uint64_t wait_ms = refusal_wait_ms(&f->refusal, f->in.retry_after_s);

    f->last_error = *err;
    if (err->kind == ERR_FOREIGN)
        guard_hold_foreign(&f->in.guard, f->in.now.ms);
    return act(f, reflector_failed(f->reflector, err, wait_ms, f->in.now.ms));
}

/* An API that cannot do what was asked has nothing wrong with it: that is told in a word. */
static void read_refusal(struct feed *f, enum reflector_do asked, struct err *err)
{
    bool lists = asked == REFLECTOR_LIST || asked == REFLECTOR_PROBE;

    refusal_read(&f->refusal, err);
    if (err->kind == ERR_NO_VERB)
        resource_no_verb(f->params.resource, lists ? RESOURCE_LIST : RESOURCE_WATCH, err);
}

static struct feed_action refused(struct feed *f)
{
    struct err err = {0};

    read_refusal(f, f->asked, &err);
    return failed(f, &err);
}

/* A LIST of metadata without selectors, beside what is staged. */
static struct feed_action look_up(struct feed *f)
{
    struct object_rules rules = f->rules;

    rules.shape = NULL;
    rules.partial = f->kind != NULL;
    f->list = list_reader_create(&rules, &intake_existing_events, &f->in);
    buf_clear(&f->target);
    lookup_put_target(&f->lookup, &f->target);
    return (struct feed_action){.what = FEED_LIST,
                                .target = buf_cstr(&f->target),
                                .accept = query_accept(REFLECTOR_LIST, rules.partial)};
}

/* What is staged stays. */
static struct feed_action prove(struct feed *f)
{
    end_response(f);
    if (f->in.wants == PROOF_IDENTITY)
        return (struct feed_action){.what = FEED_IDENTIFY};
    lookup_begin(&f->lookup, &f->query, f->params.store, f->params.part);
    return look_up(f);
}

static struct feed_action stopped(struct feed *f, enum intake_stop why)
{
    uint64_t now_ms = f->in.now.ms;

    switch (why) {
    case INTAKE_UNPROVEN:
        return prove(f);
    case INTAKE_BACKWARDS:
        f->last_error = f->in.doubt;
        return act(f, reflector_relist(f->reflector, RELIST_BACKWARDS, now_ms));
    case INTAKE_HELD:
        f->last_error = (struct err){0};
        pulse_current(&f->pulse, now_ms);
        return act(f, reflector_held(f->reflector, guard_wait_ms(&f->in.guard, now_ms)));
    case INTAKE_OVERDUE:
    case INTAKE_GOES_ON:
        break;
    }
    return act(f, reflector_ended(f->reflector, now_ms));
}

/* The list, or the initial events, are committed as of rv. */
static struct feed_action committed(struct feed *f, struct str rv)
{
    pulse_current(&f->pulse, f->in.now.ms);
    f->last_error = (struct err){0};
    return act(f, reflector_listed(f->reflector, rv, str_c(""), f->in.now.ms));
}

static struct feed_action list_complete(struct feed *f)
{
    struct list_page page;
    struct err err = {0};

    if (list_reader_end(f->list, &page, &err) != ERR_OK)
        return failed(f, &err);
    if (f->asked == REFLECTOR_PROBE) /* no page of a list */
        return act(f, reflector_listed(f->reflector, page.rv, str_c(""), f->in.now.ms));
    if (pages_check(&f->pages, &page, &err) != ERR_OK)
        return failed(f, &err);
    learn_kind(f, page.kind);
    if (page.next.n > 0)
        return act(f, reflector_listed(f->reflector, page.rv, page.next, f->in.now.ms));
    enum intake_stop stop = intake_commit(&f->in, reflector_list_rv(f->reflector, page.rv));
    if (stop != INTAKE_GOES_ON)
        return stopped(f, stop);
    return committed(f, page.rv);
}

static struct feed_action proven(struct feed *f)
{
    f->in.proof = f->in.wants;
    enum intake_stop stop = intake_commit(&f->in, str_c(f->in.rv));
    if (stop != INTAKE_GOES_ON)
        return stopped(f, stop);
    return committed(f, str_c(f->in.rv));
}

struct feed_action feed_identified(struct feed *f, const struct err *err, struct feed_now now)
{
    f->in.now = now;
    return err != NULL ? failed(f, err) : proven(f);
}

static bool is_other(void *arg, struct object *o)
{
    const struct feed *f = arg;

    return query_rejects(&f->query, o, f->params.shape == NULL);
}

/* Nobody can say what exists: the selectors decide, where what is remembered allows it. */
static struct feed_action guess(struct feed *f, const char *why)
{
    log_emit(LOG_LVL_WARN,
             "it cannot be found out which objects that the edited watch does not select exist",
             LOG_FIELDS(KV_STR("cluster", f->params.cluster), KV_STR("watch", f->params.watch),
                        KV_STR("because", why)));
    end_response(f);
    lookup_end(&f->lookup);
    store_stage_guess(f->params.store, f->params.part, is_other, f);
    return proven(f);
}

static bool is_refused_for_good(int status)
{
    return status >= 400 && status < 500 && status != 401 && status != 408 && status != 410 &&
           status != 429;
}

static struct feed_action looked_up(struct feed *f)
{
    struct list_page page;
    struct err err = {0};

    if (list_reader_end(f->list, &page, &err) != ERR_OK)
        return failed(f, &err);
    switch (lookup_page(&f->lookup, &page)) {
    case LOOKUP_MORE:
        end_response(f);
        return look_up(f);
    case LOOKUP_TOO_MANY:
        return guess(f, "there are too many objects to look through");
    case LOOKUP_DONE:
        break;
    }
    end_response(f);
    lookup_end(&f->lookup);
    return proven(f);
}

bool feed_is_ahead(const struct feed *f, const char *revision)
{
    return f->asked == REFLECTOR_WATCH && reflector_is_past(f->reflector, str_c(revision));
}

struct feed_action feed_doubted(struct feed *f, uint64_t now_ms)
{
    return act(f, reflector_doubted(f->reflector, now_ms));
}

void feed_forget(struct feed *f)
{
    const struct feed_params *p = &f->params;

    end_response(f);
    reflector_destroy(&f->reflector);
    f->reflector = reflector_create(&p->reflector, p->seed);
    f->in.reflector = f->reflector;
    f->in.past = PAST_NONE;
    f->in.guard = (struct guard){.params = p->guard};
    f->pulse = (struct pulse){.bookmark_timeout_ms = p->bookmark_timeout_ms,
                              .list_idle_timeout_ms = p->list_idle_timeout_ms};
    f->last_error = (struct err){0};
    feed_order(f, RELIST_MANUAL);
}

/* The initial events took too long, or came too slowly. */
static struct feed_action give_up_stream(struct feed *f, const struct err *err)
{
    log_emit(LOG_LVL_WARN, "the initial events are given up: listing instead",
             LOG_FIELDS(KV_STR("cluster", f->params.cluster), KV_STR("watch", f->params.watch),
                        KV_ERR(err)));
    return failed(f, err);
}

struct feed_action feed_end(struct feed *f, const struct err *err, struct feed_now now)
{
    f->in.now = now;
    pulse_end(&f->pulse, f->failure.kind == ERR_OK, now.ms);
    if (f->response == RESPONSE_ERROR && lookup_is_on(&f->lookup) &&
        is_refused_for_good(f->refusal.code))
        return guess(f, "the LIST without selectors is refused");
    if (f->response == RESPONSE_ERROR)
        return refused(f);
    if (f->failure.kind != ERR_OK) {
        struct err why = f->failure; /* act() forgets it */
        return failed(f, &why);
    }
    if (f->in.stop != INTAKE_GOES_ON)
        return stopped(f, f->in.stop);
    if (err != NULL && err->kind == ERR_TIMEOUT &&
        reflector_state(f->reflector) == REFLECTOR_STREAMING)
        return give_up_stream(f, err);
    if (f->response == RESPONSE_GOOD && f->events != NULL)
        return act(f, reflector_ended(f->reflector, now.ms)); /* cut off: the version is known */
    if (err != NULL)
        return failed(f, err);
    ensure(f->response == RESPONSE_GOOD);
    return lookup_is_on(&f->lookup) ? looked_up(f) : list_complete(f);
}

bool feed_wants_list(const struct feed *f)
{
    return f->pulse.state == PULSE_FILLED && f->list == NULL;
}

struct feed_action feed_list(struct feed *f)
{
    struct reflector_action a = reflector_compare(f->reflector);

    pages_ask(&f->pages, a.next);
    refusal_reset(&f->refusal); /* of the watch, whose head was good */
    f->list = list_reader_create(&f->rules, &intake_present_events, &f->in);
    buf_clear(&f->target);
    query_put_target(&f->query, &f->target, &a);
    return (struct feed_action){.what = FEED_LIST,
                                .target = buf_cstr(&f->target),
                                .accept = query_accept(REFLECTOR_LIST, f->rules.partial)};
}

void feed_list_head(struct feed *f, const struct http_head *head)
{
    refusal_head(&f->refusal, head);
    if (head->status == 200)
        check_type(f, head);
}

bool feed_list_body(struct feed *f, const char *data, size_t n, struct feed_now now)
{
    f->in.now = now;
    if (f->refusal.code != 200)
        return refusal_body(&f->refusal, data, n);
    return f->failure.kind == ERR_OK && list_reader_feed(f->list, data, n, &f->failure) == ERR_OK;
}

/* The list beside the watch came whole, or a page of it. */
static void compare(struct feed *f)
{
    struct list_page page;

    if (list_reader_end(f->list, &page, &f->failure) != ERR_OK ||
        pages_check(&f->pages, &page, &f->failure) != ERR_OK)
        return;
    if (page.next.n == 0)
        f->in.stop = intake_commit(&f->in, str_c(""));
    if (f->in.stop != INTAKE_GOES_ON)
        return;
    reflector_compared(f->reflector, page.next);
    if (page.next.n > 0)
        return;
    pulse_current(&f->pulse, f->in.now.ms);
    begin_following(f, f->in.now.ms);
}

bool feed_list_end(struct feed *f, const struct err *err, struct feed_now now)
{
    int code = f->refusal.code;

    f->in.now = now;
    if (code != 0 && code != 200)
        read_refusal(f, REFLECTOR_LIST, &f->failure);
    else if (f->failure.kind == ERR_OK && err != NULL)
        f->failure = *err;
    else if (f->failure.kind == ERR_OK)
        compare(f);
    list_reader_destroy(&f->list);
    return f->failure.kind == ERR_OK && f->in.stop == INTAKE_GOES_ON;
}

uint64_t feed_due_ms(const struct feed *f)
{
    return pulse_due_ms(&f->pulse, f->in.had_bookmark);
}

static void log_silence(const struct feed *f, enum log_level level, const char *what, uint64_t ms)
{
    log_emit(level, what,
             LOG_FIELDS(KV_STR("cluster", f->params.cluster), KV_STR("watch", f->params.watch),
                        KV_MS("silent_for", ms)));
}

bool feed_overdue(struct feed *f, uint64_t now_ms)
{
    uint64_t silent_ms = pulse_silent_ms(&f->pulse, now_ms);

    switch (pulse_look(&f->pulse, f->in.had_bookmark, now_ms)) {
    case PULSE_WELL:
        return false;
    case PULSE_PAUSED:
        log_silence(f, LOG_LVL_WARN, "still waiting for the end of the initial events", silent_ms);
        return false;
    case PULSE_SETTLED:
        f->in.past = PAST_OVER;
        return false;
    case PULSE_STUCK:
        log_silence(f, LOG_LVL_WARN, "the initial events stand still: listing instead", silent_ms);
        err_set(&f->failure, ERR_TIMEOUT, 0,
                "the server began to send the initial events, then nothing for %" PRIu64 " s",
                silent_ms / 1000);
        break;
    case PULSE_OVERDUE:
        log_silence(f, LOG_LVL_INFO, "watch overdue: no bookmark came, it is resumed", silent_ms);
        f->in.stop = INTAKE_OVERDUE;
        break;
    }
    return true;
}

bool feed_is_ordered(const struct feed *f)
{
    return f->order != RELIST_REASONS;
}

struct feed_action feed_restart(struct feed *f, struct feed_now now)
{
    enum relist_reason why = f->order;

    ensure(feed_is_ordered(f));
    f->in.now = now;
    f->order = RELIST_REASONS;
    pulse_end(&f->pulse, f->failure.kind == ERR_OK, now.ms);
    end_hold(f, now.ms);
    return act(f, reflector_relist(f->reflector, why, now.ms));
}

void feed_order(struct feed *f, enum relist_reason why)
{
    f->order = why;
}

void feed_move(struct feed *f)
{
    set_rules(f);
    feed_order(f, RELIST_ERROR);
}

bool feed_guard(struct feed *f, bool accept)
{
    bool held = accept ? guard_accept(&f->in.guard) : guard_reject(&f->in.guard);

    if (held && accept)
        feed_order(f, RELIST_MANUAL);
    return held;
}

void feed_can_stream(struct feed *f, bool can)
{
    reflector_can_stream(f->reflector, can);
}

void feed_put_list_target(const struct feed *f, struct buf *out, unsigned limit, const char *next)
{
    query_put_target(
        &f->query, out,
        &(struct reflector_action){.what = REFLECTOR_LIST, .limit = limit, .next = next});
}

const char *feed_accept(const struct feed *f)
{
    return query_accept(REFLECTOR_LIST, f->rules.partial);
}

const struct object_rules *feed_rules(const struct feed *f)
{
    return &f->rules;
}

bool feed_settled(const struct feed *f)
{
    return f->in.past == PAST_OVER &&
           (reflector_why(f->reflector) == RELIST_REASONS || guard_holds(&f->in.guard));
}

struct feed_status feed_status(const struct feed *f)
{
    return (struct feed_status){
        .state = reflector_state(f->reflector),
        .synced = f->in.past == PAST_OVER,
        .past = f->in.past,
        .connected = pulse_watches(&f->pulse) && f->failure.kind == ERR_OK,
        .contact_ms = f->pulse.contact_ms,
        .follow_ms = f->pulse.follow_ms,
        .event_ms = f->in.event_ms,
        .bookmark_ms = f->in.bookmark_ms,
        .rv = reflector_rv(f->reflector),
        .mark = reflector_mark(f->reflector),
        .why = reflector_why(f->reflector),
        .relists = reflector_relists(f->reflector),
        .guard = &f->in.guard,
        .events = f->in.events,
        .err = &f->last_error,
    };
}

uint64_t feed_now_ms(const struct feed *f)
{
    return f->in.now.ms;
}

const char *feed_scope(const struct feed *f)
{
    return query_scope(&f->query);
}
