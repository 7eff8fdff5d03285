/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/object_scan.h"

#include <stdlib.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/panic.h"
#include "kube/object_cut.h"
#include "kube/object_ident.h"
#include "kube/shape_walk.h"
#include "proto/json_out.h"

struct object_scan {
    struct object_cut bytes;
    struct object_ident id;
    struct shape_walk *walk;
    bool active;
    bool raw;
    const char *excess; /* which limit is exceeded, a constant text; NULL = none */
    unsigned depth;     /* of the object in its stream */
};

struct object_scan *object_scan_create(const struct object_rules *rules)
{
    return MEM_NEW(struct object_scan, .bytes.limit = rules->object_size,
                   .walk = shape_walk_create(rules->shape), .id.partial = rules->partial);
}

void object_scan_destroy(struct object_scan **s)
{
    if (*s == NULL)
        return;
    shape_walk_destroy(&(*s)->walk);
    object_ident_free(&(*s)->id);
    buf_free(&(*s)->bytes.kept);
    free(*s);
    *s = NULL;
}

void object_scan_lend(struct object_scan *s, uint64_t start, const char *data, size_t n)
{
    object_cut_lend(&s->bytes, start, data, n);
}

void object_scan_save(struct object_scan *s)
{
    object_cut_save(&s->bytes, s->active);
}

static void begin(struct object_scan *s, uint64_t end, unsigned depth, bool raw)
{
    object_cut_begin(&s->bytes, end);
    object_ident_begin(&s->id);
    s->active = true;
    s->raw = raw;
    s->excess = NULL;
    s->depth = depth;
}

unsigned object_scan_begin(struct object_scan *s, uint64_t end, unsigned depth)
{
    begin(s, end, depth, false);
    object_cut_open(&s->bytes, end);
    shape_walk_begin(s->walk);
    return depth + 1;
}

unsigned object_scan_begin_raw(struct object_scan *s, uint64_t end, unsigned depth)
{
    begin(s, end, depth, true);
    return depth;
}

/* Gives a token to the shape, and does with the bytes what the shape says. */
static void follow(struct object_scan *s, const struct json_token *t, unsigned depth,
                   enum shape_walk_say say)
{
    enum shape_walk_do what = shape_walk_token(s->walk, t, depth, say);

    switch (what) {
    case SHAPE_WALK_PASS:
        break;
    case SHAPE_WALK_OPEN:
        object_cut_open(&s->bytes, t->end);
        break;
    case SHAPE_WALK_KEEP_KEY:
    case SHAPE_WALK_CUT_KEY:
        object_cut_key(&s->bytes, t->end, what == SHAPE_WALK_CUT_KEY);
        break;
    case SHAPE_WALK_KEEP_VALUE:
    case SHAPE_WALK_CUT_VALUE:
        object_cut_value(&s->bytes, t->end, what == SHAPE_WALK_CUT_VALUE);
        break;
    }
}

unsigned object_scan_token(struct object_scan *s, const struct json_token *t)
{
    unsigned depth = t->depth - s->depth;

    if (depth == 0) {
        object_cut_take(&s->bytes, t->end);
        s->active = false;
        return 0;
    }
    /* The identity comes first: it knows members that stay or go whatever the shape says, and
     * cuts the versions out while the value is the end of kept. */
    enum shape_walk_say say = object_ident_token(&s->id, &s->bytes, t, depth);
    if (depth <= shape_walk_deepest(s->walk))
        follow(s, t, depth, say);
    unsigned deepest = shape_walk_deepest(s->walk);
    unsigned other = object_ident_deepest(&s->id);
    return s->depth + (deepest > other ? deepest : other);
}

void object_scan_excess(struct object_scan *s, const char *why)
{
    /* A part that is cut may be as deep as it likes, as nobody sees it, and of a raw object
     * nobody looks at the parts. */
    if (s->active && !s->raw && !s->bytes.cutting && s->excess == NULL)
        s->excess = why;
}

struct text_reader {
    struct object_scan *scan;
    unsigned deepest; /* 0 = the object did not begin yet, or is over */
};

static bool on_text_token(void *arg, const struct json_token *t)
{
    struct text_reader *r = arg;

    if (r->deepest == 0)
        r->deepest = object_scan_begin(r->scan, t->end, t->depth);
    else if (t->depth <= r->deepest)
        r->deepest = object_scan_token(r->scan, t);
    return true;
}

void object_scan_text(struct object_scan *s, struct str text)
{
    struct text_reader r = {.scan = s};

    object_scan_lend(s, 0, text.p, text.n);
    enum err_kind kind = json_in_scan(text, on_text_token, &r, NULL);
    ensure(kind == ERR_OK && !s->active);
    object_scan_save(s);
}

static void put_member(struct buf *out, const char *key, struct str value)
{
    buf_puts(out, key);
    json_out_quote(out, value);
    buf_putc(out, ',');
}

/* Puts kind and apiVersion in front that the object does not have, or that were cut, and shows
 * them to match, which has not seen them. */
static void put_type(struct object_scan *s, struct buf *front, struct str kind,
                     struct str api_version)
{
    if ((!object_ident_has(&s->id, IDENT_KIND) || s->id.partial) && kind.n > 0) {
        put_member(front, "\"kind\":", kind);
        shape_walk_add(s->walk, str_c("kind"), kind);
    }
    if ((!object_ident_has(&s->id, IDENT_API_VERSION) || s->id.partial) && api_version.n > 0) {
        put_member(front, "\"apiVersion\":", api_version);
        shape_walk_add(s->walk, str_c("apiVersion"), api_version);
    }
}

/* Inserts these members behind the '{' of the kept bytes and moves the positions of the versions.
 * Each ends in a comma, which is right because an object with a name is never empty. */
static void complete(struct object_scan *s, struct str kind, struct str api_version)
{
    struct buf front = {0};

    put_type(s, &front, kind, api_version);
    if (front.len > 0) {
        char *end = buf_reserve(&s->bytes.kept, front.len);

        memmove(s->bytes.kept.data + 1 + front.len, s->bytes.kept.data + 1,
                (size_t)(end - s->bytes.kept.data) - 1);
        memcpy(s->bytes.kept.data + 1, front.data, front.len);
        s->bytes.kept.len += front.len;
        if (s->id.seen.rv_at != SIZE_MAX)
            s->id.seen.rv_at += front.len;
        if (s->id.seen.generation_at != SIZE_MAX)
            s->id.seen.generation_at += front.len;
    }
    buf_free(&front);
}

/* Replaces kind and apiVersion by those that the object itself has. */
static void own_type(const struct object_scan *s, struct str *kind, struct str *api_version)
{
    if (object_scan_is_partial(s))
        return;
    if (s->id.kind.len > 0)
        *kind = buf_str(&s->id.kind);
    if (s->id.api_version.len > 0)
        *api_version = buf_str(&s->id.api_version);
}

enum object_scan_result object_scan_end(struct object_scan *s, struct str kind,
                                        struct str api_version, struct object **out)
{
    *out = NULL;
    ensure(!s->active && !s->raw);
    if (s->bytes.too_big) {
        object_cut_done(&s->bytes);
        return OBJECT_SCAN_TOO_BIG;
    }
    if (object_scan_why(s) != NULL) {
        object_cut_done(&s->bytes);
        return OBJECT_SCAN_NOT_OBJECT;
    }
    own_type(s, &kind, &api_version);
    complete(s, kind, api_version);
    const struct object_parts parts = {
        .ns = buf_str(&s->id.ns),
        .name = buf_str(&s->id.name),
        .uid = buf_str(&s->id.uid),
        .rv = buf_str(&s->id.rv),
        .generation = buf_str(&s->id.generation),
        .api_version = api_version,
        .kind = kind,
        .body = buf_str(&s->bytes.kept),
        .rv_at = s->id.seen.rv_at,
        .generation_at = s->id.seen.generation_at,
    };
    *out = object_create(&parts);
    object_cut_done(&s->bytes);
    return OBJECT_SCAN_OK;
}

const char *object_scan_why(const struct object_scan *s)
{
    if (s->id.seen.wrong != NULL)
        return s->id.seen.wrong;
    return s->id.name.len == 0 ? "it has no metadata.name" : s->excess;
}

struct unusable object_scan_unusable(struct object_scan *s, const char *why)
{
    struct unusable u = {.why = why, .key = object_ident_key(&s->id)};

    if (why == NULL)
        u.why = s->bytes.too_big ? "it is larger than limits.object_size" : object_scan_why(s);
    u.name = object_ident_name(&s->id);
    u.uid = object_ident_uid(&s->id);
    u.rv = object_ident_rv(&s->id);
    return u;
}

/* The shape walks over an object to its end even if the bytes are too many, so match is known. A
 * name, and the uid that tells one incarnation from the next, must be right. */
struct object *object_scan_left_out(struct object_scan *s, struct str kind, struct str api_version)
{
    struct buf front = {0};

    if (s->id.seen.wrong != NULL || s->id.name.len == 0 || s->id.uid.len == 0)
        return NULL;
    own_type(s, &kind, &api_version);
    put_type(s, &front, kind, api_version);
    buf_free(&front);
    if (shape_walk_selected(s->walk))
        return NULL;
    return object_create(&(struct object_parts){.ns = buf_str(&s->id.ns),
                                                .name = buf_str(&s->id.name),
                                                .uid = buf_str(&s->id.uid),
                                                .rv = buf_str(&s->id.rv),
                                                .kind = kind,
                                                .api_version = api_version,
                                                .rv_at = SIZE_MAX,
                                                .generation_at = SIZE_MAX});
}

const char *object_scan_why_no_rv(const struct object_scan *s)
{
    if (s->id.seen.wrong != NULL)
        return s->id.seen.wrong;
    return s->id.rv.len == 0 ? "it has no metadata.resourceVersion" : NULL;
}

bool object_scan_too_big(const struct object_scan *s)
{
    return s->bytes.too_big;
}

struct str object_scan_key(struct object_scan *s)
{
    return object_ident_key(&s->id);
}

struct str object_scan_rv(const struct object_scan *s)
{
    return object_ident_rv(&s->id);
}

struct str object_scan_kind(const struct object_scan *s)
{
    return buf_str(&s->id.kind);
}

struct str object_scan_api_version(const struct object_scan *s)
{
    return buf_str(&s->id.api_version);
}

bool object_scan_is_partial(const struct object_scan *s)
{
    struct str version = buf_str(&s->id.api_version);

    return s->id.partial && str_is(buf_str(&s->id.kind), "PartialObjectMetadata") &&
           (str_is(version, "meta.k8s.io/v1") || str_is(version, "meta.k8s.io/v1beta1"));
}

bool object_scan_selected(const struct object_scan *s)
{
    return shape_walk_selected(s->walk);
}

bool object_scan_initial_events_end(const struct object_scan *s)
{
    return s->id.seen.initial_events_end;
}

struct str object_scan_body(const struct object_scan *s)
{
    return s->bytes.too_big ? (struct str){0} : buf_str(&s->bytes.kept);
}
