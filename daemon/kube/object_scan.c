/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/object_scan.h"

#include <stdint.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/panic.h"
#include "base/utf8.h"
#include "kube/shape.h"
#include "proto/json_cut.h"
#include "proto/json_out.h"

/* Members that count, by the object that they stand in. */
enum ident_top { IDENT_OTHER, IDENT_KIND, IDENT_API_VERSION, IDENT_METADATA };
enum ident_meta {
    IDENT_META_OTHER,
    IDENT_META_NAMESPACE,
    IDENT_META_NAME,
    IDENT_META_UID,
    IDENT_META_RV,
    IDENT_META_GENERATION,
    IDENT_META_MANAGED_FIELDS,
    IDENT_META_ANNOTATIONS,
};

/* Parts of the identity that cannot be relied on. */
enum ident_lost {
    IDENT_LOST_KEY = 1,  /* name or namespace can be read, but is not a valid one */
    IDENT_LOST_NAME = 2, /* name or namespace cannot be read */
    IDENT_LOST_UID = 4,
    IDENT_LOST_RV = 8,
};

/* The identity and the versions of one object, from its tokens. */
struct ident {
    bool partial; /* PartialObjectMetadata may come: kind and apiVersion are cut */
    struct ident_seen {
        enum ident_top top;
        enum ident_meta meta;
        bool in_metadata;
        bool in_annotations;
        bool annotation; /* the next value is that of initial-events-end */
        bool initial_events_end;
        unsigned members;     /* a bit for each member that counts and has come */
        unsigned lost;        /* bits of enum ident_lost */
        const char *wrong;    /* why the object cannot be used, a constant text; NULL = it can */
        size_t rv_at;         /* where in the bytes the value was cut out, SIZE_MAX = nowhere */
        size_t generation_at; /* the same for generation */
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

struct object_scan {
    struct json_cut bytes;
    struct ident id;
    struct shape_walk *walk;
    bool active;
    bool raw;
    const char *excess; /* which limit is exceeded, a constant text; NULL = none */
    unsigned depth;     /* of the object in its stream */
};

/* ---- The identity, and which members stay or go whatever the shape says */

/* Kubernetes' own limits for names and namespaces, and ample room for values that have none. */
enum { MAX_NAME = 253, MAX_NS = 63, MAX_ID = 128, MAX_GENERATION = 32, MAX_TYPE = 512 };

/* Bytes that are kept of a name that is not valid: it is for messages only. */
enum { MAX_ODD_NAME = 1024 };

/* In seen.members the bits of members of metadata stand above those of the object itself. */
enum { META_SHIFT = 8 };

/* Begins a new object. */
static void ident_begin(struct ident *id)
{
    id->seen = (struct ident_seen){.rv_at = SIZE_MAX, .generation_at = SIZE_MAX};
    buf_clear(&id->kind);
    buf_clear(&id->api_version);
    buf_clear(&id->ns);
    buf_clear(&id->name);
    buf_clear(&id->uid);
    buf_clear(&id->rv);
    buf_clear(&id->generation);
    buf_clear(&id->key);
}

static void ident_free(struct ident *id)
{
    buf_free(&id->kind);
    buf_free(&id->api_version);
    buf_free(&id->ns);
    buf_free(&id->name);
    buf_free(&id->uid);
    buf_free(&id->rv);
    buf_free(&id->generation);
    buf_free(&id->key);
}

/* If a member is there twice nobody can tell which value is right, so this part of the identity
 * is lost. A second metadata may have a second value of each. */
static unsigned lost_by_two(unsigned bit)
{
    switch (bit) {
    case 1U << IDENT_METADATA:
        return IDENT_LOST_NAME | IDENT_LOST_UID | IDENT_LOST_RV;
    case 1U << (META_SHIFT + IDENT_META_NAMESPACE):
    case 1U << (META_SHIFT + IDENT_META_NAME):
        return IDENT_LOST_NAME;
    case 1U << (META_SHIFT + IDENT_META_UID):
        return IDENT_LOST_UID;
    case 1U << (META_SHIFT + IDENT_META_RV):
        return IDENT_LOST_RV;
    default:
        return 0;
    }
}

/* Notes that a member has come. twice is the reason why an object that has it twice cannot be
 * used. */
static void mark_seen(struct ident *id, unsigned bit, const char *twice)
{
    if ((id->seen.members & bit) != 0) {
        id->seen.wrong = twice;
        id->seen.lost |= lost_by_two(bit);
    }
    id->seen.members |= bit;
}

/* Has the text neither control bytes nor forbidden ones? A NUL is a control byte, so strchr()
 * never sees it. */
static bool clean(struct str text, const char *forbidden)
{
    for (size_t i = 0; i < text.n; i++) {
        unsigned char c = (unsigned char)text.p[i];

        if (c < 0x20 || c == 0x7f || strchr(forbidden, c) != NULL)
            return false;
    }
    return true;
}

/* A name, namespace or uid becomes a part of keys and paths, so it must not hold a slash. */
static bool is_text(const struct json_token *t, size_t max)
{
    return t->type == JSON_STRING && t->text.n <= max && clean(t->text, "/");
}

/* Takes the name or the namespace. A string that is not valid is kept for messages: the object is
 * then known by its uid (docs/design.md "Skipped objects"). */
static void take_name(struct ident *id, struct buf *into, const struct json_token *t, size_t max,
                      const char *wrong)
{
    if (!is_text(t, max)) {
        id->seen.wrong = wrong;
        id->seen.lost |= t->type == JSON_STRING ? IDENT_LOST_KEY : IDENT_LOST_NAME;
    }
    if (t->type == JSON_STRING)
        buf_append_str(into, utf8_cut(t->text, MAX_ODD_NAME));
}

/* Takes the kind or the apiVersion, which is compared and shown. */
static void take_type(struct ident *id, struct buf *into, const struct json_token *t)
{
    if (t->type != JSON_STRING || t->text.n > MAX_TYPE || !clean(t->text, ""))
        id->seen.wrong = "its kind or apiVersion is wrong";
    else
        buf_append_str(into, t->text);
}

/* Takes the resourceVersion and cuts it out of the bytes, except for its quotes. Escapes would be
 * lost when the decoded text is spliced in again, so a version that needs them is wrong. */
static void take_rv(struct ident *id, struct json_cut *bytes, const struct json_token *t)
{
    size_t n = t->text.n;

    if (t->type == JSON_STRING && n == 0)
        return; /* the same as absent: some aggregated APIs write that */
    bool plain = t->type == JSON_STRING && n <= MAX_ID && clean(t->text, "\"\\");
    for (size_t i = 0; plain && i < n; i++)
        plain = (unsigned char)t->text.p[i] <= 0x7e; /* printable ASCII */
    if (!plain) {
        id->seen.wrong = "its metadata.resourceVersion is wrong";
        return;
    }
    buf_append_str(&id->rv, t->text);
    id->seen.rv_at = json_cut_text(bytes, t->end, t->text, true);
    if (id->seen.rv_at == SIZE_MAX && !bytes->too_big)
        id->seen.wrong = "its metadata.resourceVersion is written with escapes";
}

/* A key in metadata. The shape may not remove the members that identify the object; managedFields never
 * stay (docs/design.md "Selection and pruning"). */
static enum shape_walk_say meta_key(struct ident *id, const struct json_token *t)
{
    static const struct {
        const char *name;
        enum ident_meta meta;
        enum shape_walk_say say;
    } known[] = {
        {"name",            IDENT_META_NAME,           SHAPE_WALK_STAYS},
        {"namespace",       IDENT_META_NAMESPACE,      SHAPE_WALK_STAYS},
        {"uid",             IDENT_META_UID,            SHAPE_WALK_STAYS},
        {"resourceVersion", IDENT_META_RV,             SHAPE_WALK_STAYS},
        {"generation",      IDENT_META_GENERATION,     SHAPE_WALK_ASK  },
        {"managedFields",   IDENT_META_MANAGED_FIELDS, SHAPE_WALK_GOES },
        {"annotations",     IDENT_META_ANNOTATIONS,    SHAPE_WALK_ASK  },
    };

    id->seen.meta = IDENT_META_OTHER;
    for (size_t i = 0; i < ARRAY_LEN(known); i++) {
        if (!str_is(t->text, known[i].name))
            continue;
        id->seen.meta = known[i].meta;
        mark_seen(id, 1U << (META_SHIFT + id->seen.meta), "its metadata has a member twice");
        return known[i].say;
    }
    return SHAPE_WALK_ASK;
}

/* A value directly in metadata. The generation is cut out of the bytes, as the resourceVersion is. */
static void meta_value(struct ident *id, struct json_cut *bytes, const struct json_token *t)
{
    if (t->type == JSON_NULL)
        return; /* null is the same as absent */
    switch (id->seen.meta) {
    case IDENT_META_NAMESPACE:
        take_name(id, &id->ns, t, MAX_NS, "its metadata.namespace is wrong");
        break;
    case IDENT_META_NAME:
        take_name(id, &id->name, t, MAX_NAME, "its metadata.name is wrong");
        break;
    case IDENT_META_UID:
        if (is_text(t, MAX_ID))
            buf_append_str(&id->uid, t->text);
        else
            id->seen.wrong = "its metadata.uid is wrong";
        break;
    case IDENT_META_RV:
        take_rv(id, bytes, t);
        break;
    case IDENT_META_GENERATION:
        /* Anything but a plain number stays where it is and is a part of the object like any
         * other. */
        if (t->type != JSON_NUMBER || t->text.n > MAX_GENERATION || id->generation.len > 0)
            break;
        id->seen.generation_at = json_cut_text(bytes, t->end, t->text, false);
        if (id->seen.generation_at != SIZE_MAX)
            buf_append_str(&id->generation, t->text);
        break;
    case IDENT_META_ANNOTATIONS:
        id->seen.in_annotations = t->type == JSON_OBJECT;
        break;
    case IDENT_META_MANAGED_FIELDS:
    case IDENT_META_OTHER:
        break;
    }
}

/* A key or value directly in metadata, or the end of a value there. An end has the depth of its
 * value, so it closes annotations, if these were open. */
static enum shape_walk_say meta_token(struct ident *id, struct json_cut *bytes,
                                      const struct json_token *t)
{
    bool end = t->type == JSON_OBJECT_END || t->type == JSON_ARRAY_END;

    if (t->type == JSON_KEY)
        return meta_key(id, t);
    if (end)
        id->seen.in_annotations = false;
    else
        meta_value(id, bytes, t);
    return SHAPE_WALK_ASK;
}

/* The end of the initial events is marked by an annotation of a bookmark, with exactly this value
 * (docs/kubernetes-protocol.md "End of initial events"). */
static void annotation_token(struct ident *id, const struct json_token *t)
{
    if (t->type == JSON_KEY)
        id->seen.annotation = str_is(t->text, "k8s.io/initial-events-end");
    else if (id->seen.annotation)
        id->seen.initial_events_end = t->type == JSON_STRING && str_is(t->text, "true");
}

/* A key of the object itself. Where PartialObjectMetadata may come, kind and apiVersion are cut,
 * and object_scan puts the right ones at the front: pruned and partial objects then have the same
 * bytes. */
static enum shape_walk_say top_key(struct ident *id, const struct json_token *t)
{
    id->seen.top = IDENT_OTHER;
    if (str_is(t->text, "metadata"))
        id->seen.top = IDENT_METADATA;
    else if (str_is(t->text, "kind"))
        id->seen.top = IDENT_KIND;
    else if (str_is(t->text, "apiVersion"))
        id->seen.top = IDENT_API_VERSION;
    if (id->seen.top == IDENT_OTHER)
        return SHAPE_WALK_ASK;
    mark_seen(id, 1U << id->seen.top, "it has kind, apiVersion or metadata twice");
    return id->partial && id->seen.top != IDENT_METADATA ? SHAPE_WALK_HIDDEN : SHAPE_WALK_STAYS;
}

/* A key or value directly in the object. */
static enum shape_walk_say top_token(struct ident *id, const struct json_token *t)
{
    if (t->type == JSON_KEY)
        return top_key(id, t);
    if (id->seen.top == IDENT_KIND) {
        take_type(id, &id->kind, t);
    } else if (id->seen.top == IDENT_API_VERSION) {
        take_type(id, &id->api_version, t);
    } else if (id->seen.top == IDENT_METADATA) {
        id->seen.in_metadata = t->type == JSON_OBJECT;
        id->seen.meta = IDENT_META_OTHER;
    }
    return SHAPE_WALK_ASK;
}

/* Takes one token at this depth >= 1, counted from the object's own braces. Cuts the values of
 * resourceVersion and generation out of bytes. Returns what the shape must know about a KEY. */
static enum shape_walk_say ident_token(struct ident *id, struct json_cut *bytes,
                                       const struct json_token *t, unsigned depth)
{
    if (depth == 1)
        return top_token(id, t);
    if (depth == 2 && id->seen.in_metadata)
        return meta_token(id, bytes, t);
    if (depth == 3 && id->seen.in_annotations)
        annotation_token(id, t);
    return SHAPE_WALK_ASK;
}

/* How deep tokens matter next, in the same count. Outside of metadata only the members of the object
 * itself count, which saves the calls for everything below. */
static unsigned ident_deepest(const struct ident *id)
{
    if (id->seen.in_annotations)
        return 3;
    return id->seen.in_metadata ? 2 : 1;
}

static bool ident_has(const struct ident *id, enum ident_top top)
{
    return (id->seen.members & (1U << top)) != 0;
}

/* "namespace/name" or "name", borrowed until the next object. The name can be read but need not be
 * valid, and is cut if it is long; empty if it cannot be read. */
static struct str ident_name(struct ident *id)
{
    if (id->name.len == 0 || (id->seen.lost & IDENT_LOST_NAME) != 0)
        return (struct str){0};
    buf_clear(&id->key);
    buf_append_str(&id->key, buf_str(&id->ns));
    if (id->ns.len > 0)
        buf_putc(&id->key, '/');
    buf_append_str(&id->key, buf_str(&id->name));
    return buf_str(&id->key);
}

/* The same of a valid name; empty if the object has none. */
static struct str ident_key(struct ident *id)
{
    if ((id->seen.lost & IDENT_LOST_KEY) != 0)
        return (struct str){0};
    return ident_name(id);
}

/* metadata.uid; empty if the object has none that can be relied on. */
static struct str ident_uid(const struct ident *id)
{
    return (id->seen.lost & IDENT_LOST_UID) != 0 ? (struct str){0} : buf_str(&id->uid);
}

/* metadata.resourceVersion; empty if the object has none that can be relied on. */
static struct str ident_rv(const struct ident *id)
{
    return (id->seen.lost & IDENT_LOST_RV) != 0 ? (struct str){0} : buf_str(&id->rv);
}

/* ---- The scan */

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
    ident_free(&(*s)->id);
    json_cut_fini(&(*s)->bytes);
    free(*s);
    *s = NULL;
}

void object_scan_lend(struct object_scan *s, uint64_t start, const char *data, size_t n)
{
    json_cut_lend(&s->bytes, start, data, n);
}

void object_scan_save(struct object_scan *s)
{
    json_cut_save(&s->bytes, s->active);
}

static void begin(struct object_scan *s, uint64_t end, unsigned depth, bool raw)
{
    json_cut_begin(&s->bytes, end);
    ident_begin(&s->id);
    s->active = true;
    s->raw = raw;
    s->excess = NULL;
    s->depth = depth;
}

unsigned object_scan_begin(struct object_scan *s, uint64_t end, unsigned depth)
{
    begin(s, end, depth, false);
    json_cut_open(&s->bytes, end);
    shape_walk_begin(s->walk);
    return depth + 1;
}

unsigned object_scan_begin_raw(struct object_scan *s, uint64_t end, unsigned depth)
{
    begin(s, end, depth, true);
    return depth;
}

unsigned object_scan_token(struct object_scan *s, const struct json_token *t)
{
    unsigned depth = t->depth - s->depth;

    if (depth == 0) {
        json_cut_take(&s->bytes, t->end);
        s->active = false;
        return 0;
    }
    /* The identity comes first: it knows members that stay or go whatever the shape says, and
     * cuts the versions out while the value is the end of kept. */
    enum shape_walk_say say = ident_token(&s->id, &s->bytes, t, depth);
    if (depth <= shape_walk_deepest(s->walk)) {
        switch (shape_walk_token(s->walk, t, depth, say)) {
        case SHAPE_WALK_PASS:
            break;
        case SHAPE_WALK_OPEN:
            json_cut_open(&s->bytes, t->end);
            break;
        case SHAPE_WALK_KEEP_KEY:
            json_cut_keep_key(&s->bytes, t->end);
            break;
        case SHAPE_WALK_KEEP_VALUE:
            json_cut_keep_value(&s->bytes, t->end);
            break;
        case SHAPE_WALK_CUT_KEY:
            json_cut_drop_key(&s->bytes);
            break;
        case SHAPE_WALK_CUT_VALUE:
            json_cut_drop_value(&s->bytes, t->end);
            break;
        }
    }
    unsigned deepest = shape_walk_deepest(s->walk);
    unsigned other = ident_deepest(&s->id);
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
    if ((!ident_has(&s->id, IDENT_KIND) || s->id.partial) && kind.n > 0) {
        put_member(front, "\"kind\":", kind);
        shape_walk_add(s->walk, str_c("kind"), kind);
    }
    if ((!ident_has(&s->id, IDENT_API_VERSION) || s->id.partial) && api_version.n > 0) {
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
        json_cut_put_front(&s->bytes, buf_str(&front));
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

/* Why the object is NOT_OBJECT: it has no metadata.name, a member that identifies it is wrong or
 * there twice, or a limit is exceeded. NULL if nothing is wrong. A constant text, for the log. */
static const char *why_unusable(const struct object_scan *s)
{
    if (s->id.seen.wrong != NULL)
        return s->id.seen.wrong;
    return s->id.name.len == 0 ? "it has no metadata.name" : s->excess;
}

enum object_scan_result object_scan_end(struct object_scan *s, struct str kind,
                                        struct str api_version, struct object **out)
{
    *out = NULL;
    ensure(!s->active && !s->raw);
    if (s->bytes.too_big) {
        json_cut_done(&s->bytes);
        return OBJECT_SCAN_TOO_BIG;
    }
    if (why_unusable(s) != NULL) {
        json_cut_done(&s->bytes);
        return OBJECT_SCAN_NOT_OBJECT;
    }
    own_type(s, &kind, &api_version);
    complete(s, kind, api_version);
    if (s->bytes.too_big)
        return OBJECT_SCAN_TOO_BIG; /* there is no memory for its type */
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
    *out = object_try_create(&parts);
    if (*out == NULL)
        json_cut_give_up(&s->bytes);
    json_cut_done(&s->bytes);
    return *out != NULL ? OBJECT_SCAN_OK : OBJECT_SCAN_TOO_BIG;
}

struct unusable object_scan_unusable(struct object_scan *s, const char *why)
{
    struct unusable u = {.why = why, .key = ident_key(&s->id)};

    if (why == NULL)
        u.why = s->bytes.no_memory ? "it is larger than the memory that is left"
                : s->bytes.too_big ? "it is larger than limits.object_size"
                                   : why_unusable(s);
    u.name = ident_name(&s->id);
    u.uid = ident_uid(&s->id);
    u.rv = ident_rv(&s->id);
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

struct str object_scan_rv(const struct object_scan *s)
{
    return ident_rv(&s->id);
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
