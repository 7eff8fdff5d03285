/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/object_ident.h"

#include <stdint.h>

#include "base/utf8.h"

/* Kubernetes' own limits for names and namespaces, and ample room for values that have none. */
enum { MAX_NAME = 253, MAX_NS = 63, MAX_ID = 128, MAX_GENERATION = 32, MAX_TYPE = 512 };

/* Bytes that are kept of a name that is not valid: it is for messages only. */
enum { MAX_ODD_NAME = 1024 };

/* In seen.members the bits of members of metadata stand above those of the object itself. */
enum { META_SHIFT = 8 };

void object_ident_begin(struct object_ident *id)
{
    id->seen = (struct object_ident_seen){.rv_at = SIZE_MAX, .generation_at = SIZE_MAX};
    buf_clear(&id->kind);
    buf_clear(&id->api_version);
    buf_clear(&id->ns);
    buf_clear(&id->name);
    buf_clear(&id->uid);
    buf_clear(&id->rv);
    buf_clear(&id->generation);
    buf_clear(&id->key);
}

void object_ident_free(struct object_ident *id)
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
static void mark_seen(struct object_ident *id, unsigned bit, const char *twice)
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

static bool printable_ascii(struct str text)
{
    for (size_t i = 0; i < text.n; i++)
        if ((unsigned char)text.p[i] > 0x7e)
            return false;
    return clean(text, "");
}

/* A name, namespace or uid becomes a part of keys and paths, so it must not hold a slash. */
static bool is_text(const struct json_token *t, size_t max)
{
    return t->type == JSON_STRING && t->text.n <= max && clean(t->text, "/");
}

/* Takes the name or the namespace. A string that is not valid is kept for messages: the object is
 * then known by its uid (docs/design.md "Skipped objects"). */
static void take_name(struct object_ident *id, struct buf *into, const struct json_token *t,
                      size_t max, const char *wrong)
{
    if (!is_text(t, max)) {
        id->seen.wrong = wrong;
        id->seen.lost |= t->type == JSON_STRING ? IDENT_LOST_KEY : IDENT_LOST_NAME;
    }
    if (t->type == JSON_STRING)
        buf_append_str(into, utf8_cut(t->text, MAX_ODD_NAME));
}

static void take_uid(struct object_ident *id, const struct json_token *t)
{
    if (is_text(t, MAX_ID))
        buf_append_str(&id->uid, t->text);
    else
        id->seen.wrong = "its metadata.uid is wrong";
}

/* Takes the kind or the apiVersion, which is compared and shown. */
static void take_type(struct object_ident *id, struct buf *into, const struct json_token *t)
{
    if (t->type != JSON_STRING || t->text.n > MAX_TYPE || !clean(t->text, ""))
        id->seen.wrong = "its kind or apiVersion is wrong";
    else
        buf_append_str(into, t->text);
}

/* Takes the resourceVersion and cuts it out of the bytes, except for its quotes. Escapes would be
 * lost when the decoded text is spliced in again, so a version that needs them is wrong. */
static void take_rv(struct object_ident *id, struct object_cut *bytes, const struct json_token *t)
{
    size_t n = t->text.n;

    if (t->type == JSON_STRING && n == 0)
        return; /* the same as absent: some aggregated APIs write that */
    if (t->type != JSON_STRING || n > MAX_ID || !printable_ascii(t->text) ||
        !clean(t->text, "\"\\")) {
        id->seen.wrong = "its metadata.resourceVersion is wrong";
        return;
    }
    buf_append_str(&id->rv, t->text);
    id->seen.rv_at = object_cut_text(bytes, t->end, t->text, true);
    if (id->seen.rv_at == SIZE_MAX && !bytes->too_big)
        id->seen.wrong = "its metadata.resourceVersion is written with escapes";
}

/* Takes the generation and cuts it out of the bytes. Anything but a plain number stays where it
 * is and is a part of the object like any other. */
static void take_generation(struct object_ident *id, struct object_cut *bytes,
                            const struct json_token *t)
{
    if (t->type != JSON_NUMBER || t->text.n > MAX_GENERATION || id->generation.len > 0)
        return;
    id->seen.generation_at = object_cut_text(bytes, t->end, t->text, false);
    if (id->seen.generation_at != SIZE_MAX)
        buf_append_str(&id->generation, t->text);
}

/* A key in metadata. The shape may not remove what identifies the object; managedFields never
 * stay (docs/design.md "Selection and pruning"). */
static enum shape_walk_say meta_key(struct object_ident *id, const struct json_token *t)
{
    static const struct {
        const char *name;
        enum object_ident_meta meta;
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

static void meta_value(struct object_ident *id, struct object_cut *bytes,
                       const struct json_token *t)
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
        take_uid(id, t);
        break;
    case IDENT_META_RV:
        take_rv(id, bytes, t);
        break;
    case IDENT_META_GENERATION:
        take_generation(id, bytes, t);
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
static enum shape_walk_say meta_token(struct object_ident *id, struct object_cut *bytes,
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
static void annotation_token(struct object_ident *id, const struct json_token *t)
{
    if (t->type == JSON_KEY)
        id->seen.annotation = str_is(t->text, "k8s.io/initial-events-end");
    else if (id->seen.annotation)
        id->seen.initial_events_end = t->type == JSON_STRING && str_is(t->text, "true");
}

/* A key of the object itself. Where PartialObjectMetadata may come, kind and apiVersion are cut,
 * and object_scan puts the right ones at the front: pruned and partial objects then have the same
 * bytes. */
static enum shape_walk_say top_key(struct object_ident *id, const struct json_token *t)
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
static enum shape_walk_say top_token(struct object_ident *id, const struct json_token *t)
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

enum shape_walk_say object_ident_token(struct object_ident *id, struct object_cut *bytes,
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

/* Outside of metadata only the members of the object itself count, which saves the calls for
 * everything below. */
unsigned object_ident_deepest(const struct object_ident *id)
{
    if (id->seen.in_annotations)
        return 3;
    return id->seen.in_metadata ? 2 : 1;
}

bool object_ident_has(const struct object_ident *id, enum object_ident_top top)
{
    return (id->seen.members & (1U << top)) != 0;
}

struct str object_ident_key(struct object_ident *id)
{
    if ((id->seen.lost & IDENT_LOST_KEY) != 0)
        return (struct str){0};
    return object_ident_name(id);
}

struct str object_ident_name(struct object_ident *id)
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

struct str object_ident_uid(const struct object_ident *id)
{
    return (id->seen.lost & IDENT_LOST_UID) != 0 ? (struct str){0} : buf_str(&id->uid);
}

struct str object_ident_rv(const struct object_ident *id)
{
    return (id->seen.lost & IDENT_LOST_RV) != 0 ? (struct str){0} : buf_str(&id->rv);
}
