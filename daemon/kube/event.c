/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/event.h"

#include <stdlib.h>

#include "base/mem.h"
#include "kube/object_scan.h"
#include "proto/json_in.h"

enum {
    ENVELOPE_BYTES = 4096, /* what a frame may hold besides its object */
    OBJECT_DEPTH = 1,
};

enum member { M_OTHER, M_TYPE, M_OBJECT };

struct event_reader {
    struct json_in *json;
    struct object_scan *scan;
    char *kind;
    char *api_version;
    struct object_rules rules; /* with the two above */
    event_cb *cb;
    void *arg;
    uint64_t fed;         /* position of the first byte not fed yet */
    uint64_t frame_start; /* the frame began there, or later */
    unsigned deepest;     /* in the object: how deep tokens matter; 0 = not in it */
    enum member member;
    bool has_type;
    bool has_object;
    bool raw; /* the object was taken as it is */
    enum event_type type;
    enum err_kind failed;
    struct err err;
};

static bool on_token(void *arg, const struct json_token *t);

struct event_reader *event_reader_create(const struct object_rules *rules, event_cb *cb, void *arg)
{
    struct event_reader *r = MEM_NEW(struct event_reader, .kind = mem_strdup(rules->kind),
                                     .api_version = mem_strdup(rules->api_version), .rules = *rules,
                                     .cb = cb, .arg = arg, .scan = object_scan_create(rules));

    r->rules.kind = r->kind;
    r->rules.api_version = r->api_version;
    r->json = json_in_create(JSON_IN_MAX_DEPTH, on_token, r);
    return r;
}

void event_reader_destroy(struct event_reader **r)
{
    if (*r == NULL)
        return;
    json_in_destroy(&(*r)->json);
    object_scan_destroy(&(*r)->scan);
    free((*r)->kind);
    free((*r)->api_version);
    free(*r);
    *r = NULL;
}

static bool fail(struct event_reader *r, const char *text)
{
    r->failed = err_set(&r->err, ERR_PROTOCOL, 0, "watch event: %s", text);
    return false;
}

static bool fail_too_big(struct event_reader *r)
{
    struct str key = object_scan_key(r->scan);

    r->failed = err_set(&r->err, ERR_TOO_BIG, 0,
                        "watch event over object_size (%zu bytes)%s%.*s: raise limits.object_size",
                        r->rules.object_size, key.n > 0 ? ", object " : "", STR_ARG(key));
    return false;
}

static bool parse_type(struct event_reader *r, const struct json_token *t)
{
    static const char *const names[] = {"ADDED", "MODIFIED", "DELETED", "BOOKMARK", "ERROR"};
    static const enum event_type types[] = {EVENT_ADDED, EVENT_MODIFIED, EVENT_DELETED,
                                            EVENT_BOOKMARK, EVENT_ERROR};

    if (r->has_type || t->type != JSON_STRING)
        return fail(r, "not one type");
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        if (!str_is(t->text, names[i]))
            continue;
        r->type = types[i];
        r->has_type = true;
        return true;
    }
    return fail(r, "unknown type");
}

/* Is it what this watch is about? NULL if so. */
static const char *wrong_type(const struct event_reader *r)
{
    struct str kind = object_scan_kind(r->scan);
    struct str api_version = object_scan_api_version(r->scan);

    if (object_scan_is_partial(r->scan))
        return r->kind == NULL || r->api_version == NULL
                   ? "it is a PartialObjectMetadata: the kind must be known to read it"
                   : NULL;
    if (kind.n > 0 ? r->kind != NULL && !str_is(kind, r->kind) : r->kind == NULL)
        return kind.n > 0 ? "its kind is not that of the watch" : "it has no kind";
    if (api_version.n > 0 && r->api_version != NULL && !str_is(api_version, r->api_version))
        return "its apiVersion is not that of the watch";
    return NULL;
}

static bool deliver(struct event_reader *r, struct event *e)
{
    if (e->why != NULL) {
        *e = (struct event){.type = EVENT_SKIPPED, .why = e->why};
        e->key = object_scan_key(r->scan);
    }
    return r->cb(r->arg, e);
}

static bool finish_error(struct event_reader *r)
{
    struct status status;

    status_parse(&status, 0, object_scan_body(r->scan));
    return deliver(r, &(struct event){.type = EVENT_ERROR, .status = &status});
}

static bool finish_bookmark(struct event_reader *r)
{
    struct event e = {.type = EVENT_BOOKMARK, .why = wrong_type(r)};

    if (e.why == NULL)
        e.why = object_scan_why_no_rv(r->scan);
    e.rv = object_scan_rv(r->scan);
    if (e.why == NULL && str_is(e.rv, "0"))
        e.why = "its metadata.resourceVersion is 0";
    e.initial_events_end = object_scan_initial_events_end(r->scan);
    return deliver(r, &e);
}

static bool finish_object(struct event_reader *r)
{
    struct event e = {.type = r->type, .why = wrong_type(r)};

    if (e.why == NULL)
        e.why = object_scan_why(r->scan);
    if (e.why != NULL)
        return deliver(r, &e);
    if (object_scan_end(r->scan, str_c(r->kind), str_c(r->api_version), &e.object) !=
        OBJECT_SCAN_OK)
        return fail_too_big(r);
    e.rv = object_rv(e.object);
    e.selected = object_scan_selected(r->scan);
    bool go_on = deliver(r, &e);
    object_unref(&e.object);
    return go_on;
}

static bool finish_by_type(struct event_reader *r)
{
    if (object_scan_too_big(r->scan))
        return fail_too_big(r);
    if (r->type == EVENT_ERROR)
        return finish_error(r);
    if (r->type == EVENT_BOOKMARK)
        return finish_bookmark(r);
    return finish_object(r);
}

/* Nothing was cut as nobody knew the type: only now it is read as what it is. */
static bool finish_late(struct event_reader *r)
{
    struct object_scan *raw = r->scan;

    r->scan = object_scan_create(&r->rules);
    object_scan_text(r->scan, object_scan_body(raw));
    bool go_on = finish_by_type(r);
    object_scan_destroy(&r->scan);
    r->scan = raw;
    return go_on;
}

/* The frame ends at position end: only now both its members are known, in whatever order. */
static bool finish_frame(struct event_reader *r, uint64_t end)
{
    bool too_big = end - r->frame_start > (uint64_t)r->rules.object_size + ENVELOPE_BYTES;

    r->frame_start = end;
    if (!r->has_type || !r->has_object)
        return fail(r, r->has_type ? "no object in it" : "no type in it");
    if (too_big || object_scan_too_big(r->scan))
        return fail_too_big(r);
    return r->raw && r->type != EVENT_ERROR ? finish_late(r) : finish_by_type(r);
}

/* A Status must stay whole, and the type, which tells that it is one, may stand behind it. */
static void begin_object(struct event_reader *r, const struct json_token *t)
{
    bool cuts = r->rules.shape != NULL || r->rules.partial;

    r->has_object = true;
    r->raw = cuts && (!r->has_type || r->type == EVENT_ERROR);
    if (r->raw)
        r->deepest = object_scan_begin_raw(r->scan, t->end, t->depth);
    else
        r->deepest = object_scan_begin(r->scan, t->end, t->depth);
}

static bool on_frame(struct event_reader *r, const struct json_token *t)
{
    if (t->type == JSON_OBJECT_END)
        return finish_frame(r, t->end);
    if (t->type != JSON_OBJECT)
        return fail(r, "not a JSON object");
    r->frame_start = t->end - 1;
    r->has_type = false;
    r->has_object = false;
    r->member = M_OTHER;
    return true;
}

static bool on_member(struct event_reader *r, const struct json_token *t)
{
    if (t->type == JSON_KEY) {
        bool type = str_is(t->text, "type");

        r->member = type ? M_TYPE : str_is(t->text, "object") ? M_OBJECT : M_OTHER;
        return true;
    }
    if (r->member == M_TYPE)
        return parse_type(r, t);
    if (r->member == M_OBJECT) {
        if (r->has_object || t->type != JSON_OBJECT)
            return fail(r, "not one object in it");
        begin_object(r, t);
    }
    return true;
}

NOINLINE static bool on_envelope(struct event_reader *r, const struct json_token *t)
{
    if (t->depth == 0)
        return on_frame(r, t);
    return t->depth > OBJECT_DEPTH || on_member(r, t);
}

static bool on_token(void *arg, const struct json_token *t)
{
    struct event_reader *r = arg;

    if (r->deepest == 0)
        return on_envelope(r, t);
    if (t->depth <= r->deepest)
        r->deepest = object_scan_token(r->scan, t);
    return true;
}

enum err_kind event_reader_feed(struct event_reader *r, const char *data, size_t n, struct err *err)
{
    struct err json_err;

    object_scan_lend(r->scan, r->fed, data, n);
    enum err_kind kind = json_in_feed(r->json, data, n, &json_err);
    r->fed += n;
    object_scan_save(r->scan);
    if (kind == ERR_OK && json_in_idle(r->json))
        r->frame_start = r->fed;
    if (kind == ERR_OK && r->fed - r->frame_start > (uint64_t)r->rules.object_size + ENVELOPE_BYTES)
        fail_too_big(r);
    if (r->failed == ERR_OK && kind != ERR_OK)
        r->failed = err_set(&r->err, kind, 0, "watch event: %s", json_err.text);
    if (r->failed != ERR_OK && err != NULL)
        *err = r->err;
    return r->failed;
}
