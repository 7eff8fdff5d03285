/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/event.h"

#include <stdlib.h>

#include "base/mem.h"
#include "kube/object_scan.h"
#include "proto/json_in.h"

enum {
    ENVELOPE_BYTES = 4096, /* a frame may have so many bytes besides its object */
    OBJECT_DEPTH = 1,      /* of the object in its frame */
};

/* An object over object_size costs no memory, and is skipped by reading to its end. A server that
 * never ends it must not keep the reader busy for ever (docs/design.md "Limits"). */
#define SKIP_BYTES ((uint64_t)64 * 1024 * 1024)

enum member { M_OTHER, M_TYPE, M_OBJECT };

/* An event that waits for event_reader_next(). It has a reference to its object. */
struct waiting {
    struct event event;
    void *memory; /* the texts that the event points to beside the object; NULL = none */
};

struct event_reader {
    struct json_in *json;
    struct object_scan *scan;
    struct object_scan *whole; /* keeps all bytes of an object that may be a Status; else NULL */
    char *kind;
    char *api_version;
    struct object_rules rules; /* a copy whose texts are kind and api_version above */
    struct waiting *queue;     /* count events, of which the first `taken` were taken */
    size_t count;
    size_t taken;
    size_t room;
    const char *data; /* being fed: n bytes */
    size_t n;
    uint64_t fed;         /* position of the first byte not fed yet */
    uint64_t frame_start; /* position where the frame began, or before it */
    uint64_t object_from; /* in an object: position of its start */
    uint64_t object_size; /* bytes of the object that has ended */
    unsigned deepest;     /* in an object: how deep tokens matter; 0 = outside of it */
    enum member member;
    bool has_type;
    bool has_object;
    enum event_type type;
    enum err_kind failed;
    struct err err;
};

static bool on_token(void *arg, const struct json_token *t);
static void on_excess(void *arg, const char *why);

struct event_reader *event_reader_create(const struct object_rules *rules)
{
    struct event_reader *r = MEM_NEW(struct event_reader, .kind = mem_strdup(rules->kind),
                                     .api_version = mem_strdup(rules->api_version), .rules = *rules,
                                     .scan = object_scan_create(rules));

    r->rules.kind = r->kind;
    r->rules.api_version = r->api_version;
    r->json = json_in_create(OBJECT_DEPTH + OBJECT_MAX_DEPTH, on_token, r);
    /* Too deep nesting or a too long number makes one object unusable. It must not end the watch:
     * a LIST would bring the same bytes. */
    json_in_tolerate(r->json, on_excess, rules->object_size);
    return r;
}

/* Releases the event that was taken last, then takes the next one. */
const struct event *event_reader_next(struct event_reader *r)
{
    if (r->taken > 0) {
        struct waiting *last = &r->queue[r->taken - 1];

        object_unref(&last->event.object);
        free(last->memory);
    }
    if (r->taken < r->count)
        return &r->queue[r->taken++].event;
    r->taken = r->count = 0;
    return NULL;
}

const struct event *event_reader_first(const struct event_reader *r)
{
    return r->taken < r->count ? &r->queue[r->taken].event : NULL;
}

void event_reader_destroy(struct event_reader **r)
{
    if (*r == NULL)
        return;
    while (event_reader_next(*r) != NULL)
        continue;
    free((*r)->queue);
    json_in_destroy(&(*r)->json);
    object_scan_destroy(&(*r)->scan);
    object_scan_destroy(&(*r)->whole);
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
    r->failed = err_set(&r->err, ERR_TOO_BIG, 0,
                        "a watch event is far larger than limits.object_size (%zu bytes)",
                        r->rules.object_size);
    return false;
}

/* An unknown type ends the stream: nobody knows what it means for the cache
 * (docs/kubernetes-protocol.md "Event types"). */
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

/* NULL if the object has the kind and apiVersion of this watch, otherwise the reason as a
 * constant text. A PartialObjectMetadata does not name the kind of its object, so the caller must
 * know it. */
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

/* Puts an event at the end of the queue, which takes over the reference to its object, and memory.
 * A chunk of a body has few events, so the queue stays small. */
static void push(struct event_reader *r, const struct event *e, void *memory)
{
    if (r->count == r->room) {
        r->room = r->room > 0 ? 2 * r->room : 8;
        r->queue = mem_realloc(r->queue, r->room * sizeof(*r->queue));
    }
    r->queue[r->count++] = (struct waiting){*e, memory};
}

/* Parses the Status of an ERROR. Its code has to come from the body: the HTTP code of the watch
 * was 200. */
static bool push_error(struct event_reader *r)
{
    const struct object_scan *scan = r->whole != NULL ? r->whole : r->scan;

    if (object_scan_too_big(scan))
        return fail_too_big(r);
    struct status *status = mem_zalloc(sizeof(*status));
    status_parse(status, 0, object_scan_body(scan));
    push(r, &(struct event){.type = EVENT_ERROR, .status = status}, status);
    return true;
}

/* A bookmark that cannot be used is no reason to end the watch: bookmarks are best effort, and
 * the next one may be good (docs/kubernetes-protocol.md "Bookmarks"). */
static void push_bookmark(struct event_reader *r)
{
    struct event e = {.type = EVENT_BOOKMARK, .why = wrong_type(r)};
    struct str rv = object_scan_rv(r->scan);

    if (e.why == NULL)
        e.why = object_scan_why_no_rv(r->scan);
    if (e.why == NULL && str_is(rv, "0"))
        e.why = "its metadata.resourceVersion is 0";
    if (e.why != NULL) {
        e.type = EVENT_SKIPPED;
        push(r, &e, NULL);
        return;
    }
    char *copy = mem_strndup(rv.p, rv.n);
    e.rv = str_of(copy, rv.n);
    e.initial_events_end = object_scan_initial_events_end(r->scan);
    push(r, &e, copy);
}

/* Takes over o. */
static void push_object(struct event_reader *r, struct object *o, bool selected)
{
    push(r, &(struct event){.type = r->type, .object = o, .rv = object_rv(o), .selected = selected},
         NULL);
}

/* The texts of u are those of the scan, so they are copied. The resourceVersion of an object of
 * another kind means nothing to this watch (docs/kubernetes-protocol.md "Event types"). */
static void push_unusable(struct event_reader *r, const struct unusable *u)
{
    struct unusable *copy = mem_alloc(sizeof(*copy) + u->key.n + u->name.n + u->uid.n + u->rv.n);
    char *at = (char *)(copy + 1);

    *copy = (struct unusable){.why = u->why,
                              .key = str_put(&at, u->key),
                              .name = str_put(&at, u->name),
                              .uid = str_put(&at, u->uid),
                              .rv = str_put(&at, u->rv),
                              .foreign = u->foreign};
    push(r,
         &(struct event){.type = EVENT_UNUSABLE,
                         .deleted = r->type == EVENT_DELETED,
                         .rv = u->foreign ? (struct str){0} : copy->rv,
                         .unusable = copy},
         copy);
}

/* The object of an ADDED, MODIFIED or DELETED has ended. Of one that is too large or too deep its
 * identity is enough if match does not select it: nobody would see the rest. A DELETED is not
 * asked for match, as its key is enough to remove the object. */
static void finish_object(struct event_reader *r)
{
    struct str kind = str_c(r->kind);
    struct str api_version = str_c(r->api_version);
    const char *foreign = wrong_type(r);
    struct object *o = NULL;

    if (foreign == NULL && object_scan_end(r->scan, kind, api_version, &o) == OBJECT_SCAN_OK) {
        push_object(r, o, object_scan_selected(r->scan));
        return;
    }
    if (foreign == NULL && r->type != EVENT_DELETED)
        o = object_scan_left_out(r->scan, kind, api_version);
    if (o != NULL) {
        push_object(r, o, false);
        return;
    }
    struct unusable u = object_scan_unusable(r->scan, foreign);
    u.foreign = foreign != NULL;
    push_unusable(r, &u);
}

/* The largest size that the frame may have, by its bytes so far. An object over object_size is allowed
 * up to SKIP_BYTES more while it is being read, and counts with its real size afterwards. */
static uint64_t frame_limit(const struct event_reader *r)
{
    uint64_t object = r->rules.object_size;

    if (r->deepest > 0)
        object += SKIP_BYTES;
    else if (r->has_object && r->object_size > object)
        object = r->object_size;
    return object + ENVELOPE_BYTES;
}

/* The frame ends at position end. Type and object come in any order, so only now both are known. */
static bool finish_frame(struct event_reader *r, uint64_t end)
{
    bool too_big = end - r->frame_start > frame_limit(r);
    bool good = true;

    r->frame_start = end;
    if (!r->has_type || !r->has_object)
        return fail(r, r->has_type ? "no object in it" : "no type in it");
    if (too_big)
        return fail_too_big(r);
    if (r->type == EVENT_ERROR)
        good = push_error(r);
    else if (r->type == EVENT_BOOKMARK)
        push_bookmark(r);
    else
        finish_object(r);
    r->has_object = false;
    object_scan_destroy(&r->whole);
    return good;
}

/* An object begins. The shape would cut a Status, which must stay whole. The type says whether
 * the object is a Status, but may come behind it: until then all bytes are kept a second time. */
static void begin_object(struct event_reader *r, const struct json_token *t)
{
    bool cuts = r->rules.shape != NULL || r->rules.partial;

    r->has_object = true;
    r->object_size = 0;
    r->object_from = t->end - 1;
    r->deepest = object_scan_begin(r->scan, t->end, t->depth);
    if (!cuts || (r->has_type && r->type != EVENT_ERROR))
        return;
    r->whole = object_scan_create(&r->rules);
    object_scan_lend(r->whole, r->fed, r->data, r->n);
    object_scan_begin_raw(r->whole, t->end, t->depth);
}

/* A token outside of all frames or the end of one: frames are JSON objects that follow each
 * other, with or without newlines between them. */
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

/* A key or value in the frame, beside the object. Members that this release does not know are
 * passed over. */
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

/* The scan has read the object to its end. If there is a second copy, its scan gets the closing
 * brace, too. */
static void end_object(struct event_reader *r, const struct json_token *t)
{
    r->object_size = t->end - r->object_from;
    if (r->whole != NULL)
        object_scan_token(r->whole, t);
}

static bool on_token(void *arg, const struct json_token *t)
{
    struct event_reader *r = arg;

    if (r->deepest == 0)
        return on_envelope(r, t);
    /* Most tokens are deeper than the scan has to look, so this check comes before everything
     * else that costs time. */
    if (t->depth > r->deepest)
        return true;
    r->deepest = object_scan_token(r->scan, t);
    if (r->deepest == 0)
        end_object(r, t);
    return true;
}

static void on_excess(void *arg, const char *why)
{
    struct event_reader *r = arg;

    if (r->deepest > 0)
        object_scan_excess(r->scan, why);
}

enum err_kind event_reader_feed(struct event_reader *r, const char *data, size_t n, struct err *err)
{
    struct err json_err;

    r->data = data;
    r->n = n;
    /* The scan copies bytes of the chunk by their positions, and must save those of an unfinished
     * object before the chunk goes away. */
    object_scan_lend(r->scan, r->fed, data, n);
    if (r->whole != NULL)
        object_scan_lend(r->whole, r->fed, data, n);
    enum err_kind kind = json_in_feed(r->json, data, n, &json_err);
    r->fed += n;
    object_scan_save(r->scan);
    if (r->whole != NULL)
        object_scan_save(r->whole);
    /* Between frames there is only white space, which does not count for the next frame. */
    if (kind == ERR_OK && json_in_idle(r->json))
        r->frame_start = r->fed;
    if (kind == ERR_OK && r->fed - r->frame_start > frame_limit(r))
        fail_too_big(r);
    /* An error that a callback has set, with the reader stopped, says more than "stopped". */
    if (r->failed == ERR_OK && kind != ERR_OK)
        r->failed = err_set(&r->err, kind, 0, "watch event: %s", json_err.text);
    if (r->failed != ERR_OK && err != NULL)
        *err = r->err;
    return r->failed;
}
