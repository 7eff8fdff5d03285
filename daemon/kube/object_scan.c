/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/object_scan.h"

#include <stdlib.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/panic.h"
#include "kube/object_cut.h"
#include "proto/json_out.h"

/* Kubernetes' own bounds, and room for those that have none. */
enum { MAX_NAME = 253, MAX_NS = 63, MAX_ID = 128, MAX_GENERATION = 32, MAX_TYPE = 512 };

/* Members that matter, by the object they stand in. */
enum member { M_OTHER, M_KIND, M_API_VERSION, M_METADATA };
enum meta {
    META_OTHER,
    META_NAMESPACE,
    META_NAME,
    META_UID,
    META_RV,
    META_GENERATION,
    META_MANAGED_FIELDS,
    META_ANNOTATIONS,
};

/* Which of them were seen: one bit each. */
enum {
    SEEN_META_SHIFT = 8,
    SEEN_KIND = 1 << M_KIND,
    SEEN_API_VERSION = 1 << M_API_VERSION,
};

/* In order of their writing: what one object sets, then buffers that are used again. */
struct object_scan {
    struct object_cut bytes;
    struct seen {
        bool active;
        unsigned depth;
        enum member member;
        enum meta meta;
        bool in_metadata;
        bool in_annotations;
        bool annotation; /* the next value is that of initial-events-end */
        bool initial_events_end;
        unsigned members; /* a bit for each that matters */
        const char *wrong;
        size_t rv_at;
        size_t generation_at;
    } seen;
    struct buf kind;
    struct buf api_version;
    struct buf ns;
    struct buf name;
    struct buf uid;
    struct buf rv;
    struct buf generation;
    struct buf key;
};

struct object_scan *object_scan_create(size_t limit)
{
    return MEM_NEW(struct object_scan, .bytes.limit = limit);
}

void object_scan_destroy(struct object_scan **s)
{
    if (*s == NULL)
        return;
    buf_free(&(*s)->bytes.kept);
    buf_free(&(*s)->kind);
    buf_free(&(*s)->api_version);
    buf_free(&(*s)->ns);
    buf_free(&(*s)->name);
    buf_free(&(*s)->uid);
    buf_free(&(*s)->rv);
    buf_free(&(*s)->generation);
    buf_free(&(*s)->key);
    free(*s);
    *s = NULL;
}

void object_scan_lend(struct object_scan *s, uint64_t start, const char *data, size_t n)
{
    object_cut_lend(&s->bytes, start, data, n);
}

void object_scan_save(struct object_scan *s)
{
    object_cut_save(&s->bytes, s->seen.active);
}

void object_scan_begin(struct object_scan *s, uint64_t end, unsigned depth)
{
    object_cut_begin(&s->bytes, end);
    s->seen =
        (struct seen){.active = true, .depth = depth, .rv_at = SIZE_MAX, .generation_at = SIZE_MAX};
    buf_clear(&s->kind);
    buf_clear(&s->api_version);
    buf_clear(&s->ns);
    buf_clear(&s->name);
    buf_clear(&s->uid);
    buf_clear(&s->rv);
    buf_clear(&s->generation);
    buf_clear(&s->key);
}

static void mark_seen(struct object_scan *s, unsigned bit, const char *twice)
{
    if ((s->seen.members & bit) != 0)
        s->seen.wrong = twice;
    s->seen.members |= bit;
}

/* No control bytes, and none of the forbidden ones. */
static bool clean(struct str text, const char *forbidden)
{
    for (size_t i = 0; i < text.n; i++) {
        unsigned char c = (unsigned char)text.p[i];

        if (c < 0x20 || c == 0x7f || strchr(forbidden, c) != NULL)
            return false;
    }
    return true;
}

static bool printable_ascii(struct str text)
{
    for (size_t i = 0; i < text.n; i++)
        if ((unsigned char)text.p[i] > 0x7e)
            return false;
    return clean(text, "");
}

/* One identifying string. */
static void take_text(struct object_scan *s, struct buf *into, const struct json_token *t,
                      size_t max, const char *wrong)
{
    if (t->type != JSON_STRING || t->text.n > max || !clean(t->text, "/"))
        s->seen.wrong = wrong;
    else
        buf_append_str(into, t->text);
}

static void take_type(struct object_scan *s, struct buf *into, const struct json_token *t)
{
    if (t->type != JSON_STRING || t->text.n > MAX_TYPE || !clean(t->text, ""))
        s->seen.wrong = "its kind or apiVersion is wrong";
    else
        buf_append_str(into, t->text);
}

/* Cuts the text between the quotes. Written with escapes it would not be the same when spliced. */
static void take_rv(struct object_scan *s, const struct json_token *t)
{
    size_t n = t->text.n;

    if (t->type == JSON_STRING && n == 0)
        return; /* as if there were none: some aggregated APIs do that */
    if (t->type != JSON_STRING || n > MAX_ID || !printable_ascii(t->text) ||
        !clean(t->text, "\"\\")) {
        s->seen.wrong = "its metadata.resourceVersion is wrong";
        return;
    }
    buf_append_str(&s->rv, t->text);
    s->seen.rv_at = object_cut_text(&s->bytes, t->end, t->text, true);
    if (s->seen.rv_at == SIZE_MAX && !s->bytes.too_big)
        s->seen.wrong = "its metadata.resourceVersion is written with escapes";
}

/* Anything but a plain number stays where it is. */
static void take_generation(struct object_scan *s, const struct json_token *t)
{
    if (t->type != JSON_NUMBER || t->text.n > MAX_GENERATION || s->generation.len > 0)
        return;
    s->seen.generation_at = object_cut_text(&s->bytes, t->end, t->text, false);
    if (s->seen.generation_at != SIZE_MAX)
        buf_append_str(&s->generation, t->text);
}

static void meta_key(struct object_scan *s, const struct json_token *t)
{
    static const struct {
        const char *name;
        enum meta meta;
    } known[] = {
        {"name",            META_NAME          },
        {"namespace",       META_NAMESPACE     },
        {"uid",             META_UID           },
        {"resourceVersion", META_RV            },
        {"generation",      META_GENERATION    },
        {"managedFields",   META_MANAGED_FIELDS},
        {"annotations",     META_ANNOTATIONS   },
    };

    s->seen.meta = META_OTHER;
    for (size_t i = 0; i < ARRAY_LEN(known) && s->seen.meta == META_OTHER; i++)
        if (str_is(t->text, known[i].name))
            s->seen.meta = known[i].meta;
    if (s->seen.meta != META_OTHER)
        mark_seen(s, 1U << (SEEN_META_SHIFT + s->seen.meta), "its metadata has a member twice");
    object_cut_key(&s->bytes, t->end, s->seen.meta == META_MANAGED_FIELDS);
}

static void meta_value(struct object_scan *s, const struct json_token *t)
{
    if (t->type == JSON_NULL)
        return; /* the same as absent */
    switch (s->seen.meta) {
    case META_NAMESPACE:
        take_text(s, &s->ns, t, MAX_NS, "its metadata.namespace is wrong");
        break;
    case META_NAME:
        take_text(s, &s->name, t, MAX_NAME, "its metadata.name is wrong");
        break;
    case META_UID:
        take_text(s, &s->uid, t, MAX_ID, "its metadata.uid is wrong");
        break;
    case META_RV:
        take_rv(s, t);
        break;
    case META_GENERATION:
        take_generation(s, t);
        break;
    case META_ANNOTATIONS:
        s->seen.in_annotations = t->type == JSON_OBJECT;
        break;
    case META_MANAGED_FIELDS:
    case META_OTHER:
        break;
    }
}

/* A key or value directly in metadata, or the end of one. */
static void meta_token(struct object_scan *s, const struct json_token *t)
{
    bool container = t->type == JSON_OBJECT || t->type == JSON_ARRAY;
    bool end = t->type == JSON_OBJECT_END || t->type == JSON_ARRAY_END;

    if (t->type == JSON_KEY) {
        meta_key(s, t);
        return;
    }
    if (!end)
        meta_value(s, t);
    if (container)
        return;
    s->seen.in_annotations = false;
    object_cut_value(&s->bytes, t->end, s->seen.meta == META_MANAGED_FIELDS);
}

static void annotation_token(struct object_scan *s, const struct json_token *t)
{
    if (t->type == JSON_KEY)
        s->seen.annotation = str_is(t->text, "k8s.io/initial-events-end");
    else if (s->seen.annotation)
        s->seen.initial_events_end = t->type == JSON_STRING && str_is(t->text, "true");
}

static void top_key(struct object_scan *s, const struct json_token *t)
{
    s->seen.member = M_OTHER;
    if (str_is(t->text, "metadata"))
        s->seen.member = M_METADATA;
    else if (str_is(t->text, "kind"))
        s->seen.member = M_KIND;
    else if (str_is(t->text, "apiVersion"))
        s->seen.member = M_API_VERSION;
    if (s->seen.member != M_OTHER)
        mark_seen(s, 1U << s->seen.member, "it has kind, apiVersion or metadata twice");
}

static void top_token(struct object_scan *s, const struct json_token *t)
{
    if (t->type == JSON_KEY) {
        top_key(s, t);
    } else if (s->seen.member == M_KIND) {
        take_type(s, &s->kind, t);
    } else if (s->seen.member == M_API_VERSION) {
        take_type(s, &s->api_version, t);
    } else if (s->seen.member == M_METADATA) {
        s->seen.in_metadata = t->type == JSON_OBJECT;
        s->seen.meta = META_OTHER;
        if (s->seen.in_metadata)
            object_cut_open(&s->bytes, t->end);
    }
}

bool object_scan_token(struct object_scan *s, const struct json_token *t)
{
    switch (t->depth - s->seen.depth) {
    case 0:
        object_cut_take(&s->bytes, t->end);
        s->seen.active = false;
        return true;
    case 1:
        top_token(s, t);
        break;
    case 2:
        if (s->seen.in_metadata)
            meta_token(s, t);
        break;
    case 3:
        if (s->seen.in_annotations)
            annotation_token(s, t);
        break;
    default:
        break;
    }
    return false;
}

static void put_member(struct buf *out, const char *key, struct str value)
{
    buf_puts(out, key);
    json_out_quote(out, value);
    buf_putc(out, ',');
}

/* Puts what the object does not say itself behind its '{'. An object with a name is never empty, so
 * that a comma is always right. */
static void complete(struct object_scan *s, struct str kind, struct str api_version)
{
    struct buf front = {0};

    if ((s->seen.members & SEEN_KIND) == 0 && kind.n > 0)
        put_member(&front, "\"kind\":", kind);
    if ((s->seen.members & SEEN_API_VERSION) == 0 && api_version.n > 0)
        put_member(&front, "\"apiVersion\":", api_version);
    if (front.len > 0) {
        char *end = buf_reserve(&s->bytes.kept, front.len);

        memmove(s->bytes.kept.data + 1 + front.len, s->bytes.kept.data + 1,
                (size_t)(end - s->bytes.kept.data) - 1);
        memcpy(s->bytes.kept.data + 1, front.data, front.len);
        s->bytes.kept.len += front.len;
        if (s->seen.rv_at != SIZE_MAX)
            s->seen.rv_at += front.len;
        if (s->seen.generation_at != SIZE_MAX)
            s->seen.generation_at += front.len;
    }
    buf_free(&front);
}

enum object_scan_result object_scan_end(struct object_scan *s, struct str kind,
                                        struct str api_version, struct object **out)
{
    *out = NULL;
    ensure(!s->seen.active);
    if (s->bytes.too_big) {
        object_cut_done(&s->bytes);
        return OBJECT_SCAN_TOO_BIG;
    }
    if (object_scan_why(s) != NULL)
        return OBJECT_SCAN_NOT_OBJECT;
    complete(s, kind, api_version);
    const struct object_parts parts = {
        .ns = buf_str(&s->ns),
        .name = buf_str(&s->name),
        .uid = buf_str(&s->uid),
        .rv = buf_str(&s->rv),
        .generation = buf_str(&s->generation),
        .api_version = s->api_version.len > 0 ? buf_str(&s->api_version) : api_version,
        .kind = s->kind.len > 0 ? buf_str(&s->kind) : kind,
        .body = buf_str(&s->bytes.kept),
        .rv_at = s->seen.rv_at,
        .generation_at = s->seen.generation_at,
    };
    *out = object_create(&parts);
    object_cut_done(&s->bytes);
    return OBJECT_SCAN_OK;
}

const char *object_scan_why(const struct object_scan *s)
{
    if (s->seen.wrong != NULL)
        return s->seen.wrong;
    return s->name.len == 0 ? "it has no metadata.name" : NULL;
}

const char *object_scan_why_no_rv(const struct object_scan *s)
{
    if (s->seen.wrong != NULL)
        return s->seen.wrong;
    return s->rv.len == 0 ? "it has no metadata.resourceVersion" : NULL;
}

bool object_scan_too_big(const struct object_scan *s)
{
    return s->bytes.too_big;
}

struct str object_scan_key(struct object_scan *s)
{
    if (s->name.len == 0 || s->seen.wrong != NULL)
        return (struct str){0};
    buf_clear(&s->key);
    buf_append_str(&s->key, buf_str(&s->ns));
    if (s->ns.len > 0)
        buf_putc(&s->key, '/');
    buf_append_str(&s->key, buf_str(&s->name));
    return buf_str(&s->key);
}

struct str object_scan_rv(const struct object_scan *s)
{
    return buf_str(&s->rv);
}

struct str object_scan_kind(const struct object_scan *s)
{
    return buf_str(&s->kind);
}

struct str object_scan_api_version(const struct object_scan *s)
{
    return buf_str(&s->api_version);
}

bool object_scan_initial_events_end(const struct object_scan *s)
{
    return s->seen.initial_events_end;
}

struct str object_scan_body(const struct object_scan *s)
{
    return s->bytes.too_big ? (struct str){0} : buf_str(&s->bytes.kept);
}
