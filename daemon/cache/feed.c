/* SPDX-License-Identifier: Apache-2.0 */
#include "cache/feed.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/panic.h"
#include "kube/event.h"
#include "kube/list.h"
#include "kube/status.h"
#include "proto/url.h"

/* A server that promised to end the stream gets this much more (PROTOCOL 2.8: 5..15 s). */
#define DEADLINE_MARGIN_MS 10000

/* Enough for a Status; more of an error body is not needed. */
#define ERROR_BODY_BYTES 65536

/* A page that says "back in a day" must not keep a watch dead for a day (API servers say 1..32 s). */
#define RETRY_AFTER_MAX_S 300

/* A stream that an error ends sooner was not meant as one (PROTOCOL 1.7). */
#define LIVED_MS 1000

/* The response under way. */
enum response {
    RESPONSE_NONE, /* no head yet */
    RESPONSE_LIST,
    RESPONSE_WATCH,
    RESPONSE_ERROR, /* a status other than 200 */
};

struct feed {
    struct feed_params params;
    char *ns;
    char *name;
    char *labels;
    char *fields;
    char *scope;
    char *kind; /* of the objects; learned from the table or the first list */
    char *api_version;
    struct reflector *reflector;
    struct buf target;
    enum response response;
    int http_code;
    int64_t retry_after_s;
    struct list_reader *list;
    struct event_reader *events;
    struct buf error_body;
    struct err failure; /* found in this response; kind OK = none */
    struct feed_now now;
    bool synced;
    uint64_t contact_ms;
    bool following;     /* a watch is established */
    uint64_t head_ms;   /* since when */
    uint64_t follow_ms; /* when the cache last was what the server has, 0 = never */
    uint64_t event_count;
    uint64_t skipped;
    uint64_t skipped_here; /* in this response: only the first is worth a warning */
    struct err last_error;
};

static char *selector(const char *s)
{
    return s != NULL && *s != '\0' ? mem_strdup(s) : NULL;
}

static char *scope_text(const struct feed_params *p)
{
    if (p->ns != NULL && p->name != NULL)
        return mem_printf("%s/%s", p->ns, p->name);
    if (p->ns != NULL)
        return mem_strdup(p->ns);
    return mem_strdup(p->name != NULL ? p->name : "");
}

struct feed *feed_create(const struct feed_params *params)
{
    struct feed *f = mem_zalloc(sizeof(*f));
    struct buf version = {0};

    f->params = *params;
    f->ns = mem_strdup(params->ns);
    f->name = mem_strdup(params->name);
    f->labels = selector(params->label_selector);
    f->fields = selector(params->field_selector);
    f->scope = scope_text(params);
    f->kind = mem_strdup(params->resource->kind);
    resource_put_api_version(&version, params->resource);
    f->api_version = mem_strdup(buf_cstr(&version));
    buf_free(&version);
    f->reflector = reflector_create(&params->reflector, params->seed);
    return f;
}

static void end_response(struct feed *f)
{
    list_reader_destroy(&f->list);
    event_reader_destroy(&f->events);
    buf_free(&f->error_body);
    f->response = RESPONSE_NONE;
    f->following = false;
    f->failure = (struct err){0};
    f->skipped_here = 0;
}

void feed_destroy(struct feed **fp)
{
    struct feed *f = *fp;

    if (f == NULL)
        return;
    *fp = NULL;
    end_response(f);
    reflector_destroy(&f->reflector);
    buf_free(&f->target);
    free(f->ns);
    free(f->name);
    free(f->labels);
    free(f->fields);
    free(f->scope);
    free(f->kind);
    free(f->api_version);
    free(f);
}

static void put_param(struct buf *b, const char *key, const char *value)
{
    if (value == NULL)
        return;
    buf_putc(b, memchr(b->data, '?', b->len) != NULL ? '&' : '?');
    buf_puts(b, key);
    buf_putc(b, '=');
    url_put_escaped(b, str_c(value));
}

static void put_number(struct buf *b, const char *key, unsigned value)
{
    char text[16];

    snprintf(text, sizeof(text), "%u", value);
    put_param(b, key, value > 0 ? text : NULL);
}

static void put_field_selector(struct buf *b, const struct feed *f)
{
    struct buf all = {0};

    if (f->name != NULL)
        buf_printf(&all, "metadata.name=%s", f->name);
    if (f->fields != NULL)
        buf_printf(&all, "%s%s", all.len > 0 ? "," : "", f->fields);
    put_param(b, "fieldSelector", all.len > 0 ? buf_cstr(&all) : NULL);
    buf_free(&all);
}

static const char *make_target(struct feed *f, const struct reflector_action *a)
{
    struct buf *b = &f->target;

    buf_clear(b);
    resource_put_path(b, f->params.resource, f->ns);
    if (a->what == REFLECTOR_WATCH) {
        put_param(b, "watch", "true");
        put_param(b, "allowWatchBookmarks", "true");
        put_number(b, "timeoutSeconds", a->timeout_s);
    }
    put_param(b, "resourceVersion", a->rv);
    put_number(b, "limit", a->limit);
    put_param(b, "continue", a->next);
    put_param(b, "labelSelector", f->labels);
    put_field_selector(b, f);
    return buf_cstr(b);
}

static bool on_event(void *arg, const struct event *e);
static void on_item(void *arg, struct object *o);
static void on_too_big(void *arg, struct str key);

static struct feed_action list_action(struct feed *f, const struct reflector_action *a)
{
    static const struct list_events events = {on_item, on_too_big};

    if (a->next == NULL)
        store_begin(f->params.store, f->params.part);
    f->list = list_reader_create(f->kind, f->api_version, f->params.object_size, &events, f);
    return (struct feed_action){.what = FEED_LIST, .target = make_target(f, a)};
}

static struct feed_action watch_action(struct feed *f, const struct reflector_action *a)
{
    f->events = event_reader_create(f->kind, f->api_version, f->params.object_size, on_event, f);
    return (struct feed_action){.what = FEED_WATCH,
                                .target = make_target(f, a),
                                .deadline_ms = (uint64_t)a->timeout_s * 1000 + DEADLINE_MARGIN_MS};
}

/* Carries out what the reflector wants, as far as that needs no network. */
static struct feed_action act(struct feed *f, struct reflector_action a)
{
    end_response(f);
    switch (a.what) {
    case REFLECTOR_LIST:
        return list_action(f, &a);
    case REFLECTOR_WATCH:
        return watch_action(f, &a);
    case REFLECTOR_WAIT:
        break;
    }
    store_abort(f->params.store, f->params.part);
    return (struct feed_action){.what = FEED_WAIT, .wait_ms = a.wait_ms};
}

struct feed_action feed_start(struct feed *f, uint64_t now_ms)
{
    return act(f, reflector_start(f->reflector, now_ms));
}

struct feed_action feed_timer(struct feed *f, uint64_t now_ms)
{
    return act(f, reflector_timer(f->reflector, now_ms));
}

/* A missing type is fine: proxies drop it, and the parser finds out. */
static bool is_json(struct str type)
{
    return type.n == 0 || str_is(type, "application/json");
}

void feed_head(struct feed *f, const struct http_head *head, uint64_t now_ms)
{
    f->http_code = head->status;
    f->retry_after_s = head->retry_after_s;
    if (head->status != 200) {
        f->response = RESPONSE_ERROR;
        return;
    }
    f->response = f->list != NULL ? RESPONSE_LIST : RESPONSE_WATCH;
    if (!is_json(head->content_type)) {
        err_set(&f->failure, ERR_PROTOCOL, 200,
                "the server answered with %.*s, not JSON: is its address that of an API server?",
                STR_ARG(head->content_type));
        return;
    }
    f->contact_ms = now_ms;
    if (f->response == RESPONSE_LIST)
        return;
    f->last_error = (struct err){0};
    f->following = true;
    f->head_ms = now_ms;
}

static void on_item(void *arg, struct object *o)
{
    struct feed *f = arg;

    store_stage(f->params.store, f->params.part, o);
}

static void log_skipped(struct feed *f, struct str key, const char *why)
{
    enum log_level level = f->skipped_here == 0 ? LOG_LVL_WARN : LOG_LVL_DEBUG;

    f->skipped++;
    f->skipped_here++;
    log_emit(level, "object skipped",
             LOG_FIELDS(KV_STR("cluster", f->params.cluster), KV_STR("watch", f->params.watch),
                        KV_VIEW("key", key), KV_STR("why", why)));
}

static void on_too_big(void *arg, struct str key)
{
    struct feed *f = arg;

    store_stage_kept(f->params.store, f->params.part, key);
    log_skipped(f, key, "larger than limits.object_size; its old state stays");
}

static bool on_event(void *arg, const struct event *e)
{
    struct feed *f = arg;
    struct store *store = f->params.store;

    switch (e->type) {
    case EVENT_ADDED:
    case EVENT_MODIFIED:
        store_apply(store, f->params.part, e->object, f->now.wall_ns);
        break;
    case EVENT_DELETED:
        store_remove(store, e->object, f->now.wall_ns);
        break;
    case EVENT_BOOKMARK:
        reflector_seen(f->reflector, e->rv);
        return true;
    case EVENT_SKIPPED:
        log_skipped(f, e->key, e->why);
        return true;
    case EVENT_ERROR:
        status_to_err(e->status, &f->failure);
        if (e->status->retry_after_s > 0)
            f->retry_after_s = e->status->retry_after_s;
        return false;
    }
    f->event_count++;
    reflector_seen(f->reflector, e->rv);
    return true;
}

static bool keep_error_body(struct feed *f, const char *data, size_t n)
{
    size_t room = ERROR_BODY_BYTES - f->error_body.len;

    buf_append(&f->error_body, data, n < room ? n : room);
    return n < room;
}

bool feed_body(struct feed *f, const char *data, size_t n, struct feed_now now)
{
    struct err err = {0};
    enum err_kind kind = ERR_OK;

    f->now = now;
    if (f->response == RESPONSE_ERROR)
        return keep_error_body(f, data, n);
    if (f->failure.kind != ERR_OK)
        return false;
    if (f->response == RESPONSE_LIST)
        kind = list_reader_feed(f->list, data, n, &err);
    else if (f->response == RESPONSE_WATCH)
        kind = event_reader_feed(f->events, data, n, &err);
    if (kind == ERR_OK)
        f->contact_ms = now.ms;
    else if (f->failure.kind == ERR_OK)
        f->failure = err;
    return kind == ERR_OK;
}

/* How long the server asked us to stay away, in ms. */
static uint64_t retry_after_ms(const struct feed *f)
{
    if (f->response == RESPONSE_NONE || f->retry_after_s <= 0)
        return 0;
    return f->retry_after_s < RETRY_AFTER_MAX_S ? (uint64_t)f->retry_after_s * 1000
                                                : (uint64_t)RETRY_AFTER_MAX_S * 1000;
}

static struct feed_action failed(struct feed *f, const struct err *err)
{
    uint64_t wait_ms = retry_after_ms(f);

    f->last_error = *err;
    return act(f, reflector_failed(f->reflector, err, wait_ms, f->now.ms));
}

static struct feed_action refused(struct feed *f)
{
    struct status status;
    struct err err = {0};

    status_parse(&status, f->http_code, buf_str(&f->error_body));
    if (status.retry_after_s > f->retry_after_s)
        f->retry_after_s = status.retry_after_s;
    else
        status.retry_after_s = f->retry_after_s;
    status_to_err(&status, &err);
    return failed(f, &err);
}

/* The kind of a resource outside the table is what its first list says. */
static void learn_kind(struct feed *f, const struct list_page *page)
{
    if (f->kind == NULL && page->kind.n > 0)
        f->kind = mem_strndup(page->kind.p, page->kind.n);
}

static bool has_nul(struct str s)
{
    return s.n > 0 && memchr(s.p, '\0', s.n) != NULL;
}

static enum err_kind end_list(struct feed *f, struct list_page *page, struct err *err)
{
    if (list_reader_end(f->list, page, err) != ERR_OK)
        return err->kind;
    if (has_nul(page->rv) || has_nul(page->next))
        return err_set(err, ERR_PROTOCOL, 0,
                       "list: its resourceVersion or continue token has a NUL in it");
    return ERR_OK;
}

static struct feed_action list_complete(struct feed *f)
{
    struct list_page page;
    struct err err = {0};

    if (end_list(f, &page, &err) != ERR_OK)
        return failed(f, &err);
    learn_kind(f, &page);
    if (page.next.n == 0) {
        store_commit(f->params.store, f->params.part, f->now.wall_ns);
        f->synced = true;
        f->follow_ms = f->now.ms;
        f->last_error = (struct err){0};
    }
    return act(f, reflector_listed(f->reflector, page.rv, page.next, f->now.ms));
}

/* A stream that begins with its own error never followed the server. */
static void note_end(struct feed *f)
{
    bool lived = f->failure.kind == ERR_OK || f->now.ms - f->head_ms >= LIVED_MS;

    if (f->following && lived)
        f->follow_ms = f->now.ms;
}

struct feed_action feed_end(struct feed *f, const struct err *err, struct feed_now now)
{
    f->now = now;
    note_end(f);
    if (f->response == RESPONSE_ERROR)
        return refused(f);
    if (f->failure.kind != ERR_OK) {
        struct err why = f->failure; /* act() forgets it */
        return failed(f, &why);
    }
    if (f->response == RESPONSE_WATCH) /* cut off is as good as ended: the version is known */
        return act(f, reflector_ended(f->reflector, now.ms));
    if (err != NULL)
        return failed(f, err);
    ensure(f->response == RESPONSE_LIST);
    return list_complete(f);
}

struct feed_status feed_status(const struct feed *f)
{
    return (struct feed_status){
        .state = reflector_state(f->reflector),
        .synced = f->synced,
        .connected = f->following && f->failure.kind == ERR_OK,
        .contact_ms = f->contact_ms,
        .follow_ms = f->follow_ms,
        .rv = reflector_rv(f->reflector),
        .lists = reflector_lists(f->reflector),
        .events = f->event_count,
        .skipped = f->skipped,
        .err = &f->last_error,
    };
}

const char *feed_scope(const struct feed *f)
{
    return f->scope;
}
