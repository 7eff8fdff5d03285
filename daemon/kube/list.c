/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/list.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "kube/object_scan.h"
#include "proto/json_in.h"

/* An item over object_size costs no memory, and is skipped by reading to its end. A server that
 * never ends it must not keep the reader busy for ever (docs/design.md "Limits"). */
#define SKIP_BYTES ((uint64_t)64 * 1024 * 1024)

/* The depth of an item: in the array items of the list. */
enum { ITEM_DEPTH = 2 };

/* Members of the list, and of its metadata, that count. */
enum member { M_OTHER, M_KIND, M_API_VERSION, M_METADATA, M_ITEMS };
enum meta { META_OTHER, META_RV, META_CONTINUE };

struct list_reader {
    struct json_in *json;
    struct object_scan *scan;
    char *want_kind;
    char *want_api_version;
    size_t object_size;
    bool may_be_partial;
    const struct list_events *events;
    void *arg;
    uint64_t fed;  /* position of the first byte not fed yet */
    uint64_t from; /* end of the last item, or 0; in an item: its start */
    bool begun;
    bool ended;
    bool in_metadata;
    bool in_items;
    unsigned deepest; /* in an item: how deep tokens matter; 0 = outside of items */
    bool partial;     /* the list is a PartialObjectMetadataList */
    enum member member;
    enum meta meta;
    unsigned seen;          /* a bit for each member that has come */
    struct buf list_kind;   /* kind of the list */
    struct buf kind;        /* of its items: without "List" */
    struct buf api_version; /* of the list */
    struct buf rv;
    struct buf next; /* continue token */
    size_t items;
    size_t skipped;
    struct err err; /* kind OK until something failed */
};

static bool on_token(void *arg, const struct json_token *t);
static void on_excess(void *arg, const char *why);

struct list_reader *list_reader_create(const struct object_rules *rules,
                                       const struct list_events *events, void *arg)
{
    struct list_reader *r =
        MEM_NEW(struct list_reader, .want_kind = mem_strdup(rules->kind),
                .want_api_version = mem_strdup(rules->api_version),
                .object_size = rules->object_size, .may_be_partial = rules->partial,
                .events = events, .arg = arg, .scan = object_scan_create(rules));

    r->json = json_in_create(ITEM_DEPTH + OBJECT_MAX_DEPTH, on_token, r);
    /* Too deep nesting or a too long number makes one item unusable, never the whole list
     * (docs/design.md "Skipped objects"). */
    json_in_tolerate(r->json, on_excess, rules->object_size);
    return r;
}

void list_reader_destroy(struct list_reader **r)
{
    if (*r == NULL)
        return;
    json_in_destroy(&(*r)->json);
    object_scan_destroy(&(*r)->scan);
    free((*r)->want_kind);
    free((*r)->want_api_version);
    buf_free(&(*r)->list_kind);
    buf_free(&(*r)->kind);
    buf_free(&(*r)->api_version);
    buf_free(&(*r)->rv);
    buf_free(&(*r)->next);
    free(*r);
    *r = NULL;
}

PRINTF_LIKE(2, 3) static bool fail(struct list_reader *r, const char *fmt, ...)
{
    char text[sizeof(r->err.text)];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    err_set(&r->err, ERR_PROTOCOL, 0, "list: %s", text);
    return false;
}

/* The kind of the items: the one that the caller knows, else that of the list. Empty = not known,
 * as long as the items stand before the kind of the list. */
static struct str item_kind(const struct list_reader *r)
{
    return r->want_kind != NULL ? str_c(r->want_kind) : buf_str(&r->kind);
}

static struct str item_api_version(const struct list_reader *r)
{
    return r->want_api_version != NULL ? str_c(r->want_api_version) : buf_str(&r->api_version);
}

/* PartialObjectMetadata does not name the kind and apiVersion of its object, so the caller has to
 * know both. */
static bool check_partial(struct list_reader *r)
{
    if (r->want_kind != NULL && r->want_api_version != NULL)
        return true;
    return fail(r, "it is of PartialObjectMetadata: the kind must be known to read it");
}

/* Checks the kind of the list as soon as it has come, so that a wrong answer ends early. */
static bool check_kind(struct list_reader *r)
{
    static const char suffix[] = "List";
    struct str kind = buf_str(&r->list_kind);
    size_t n = sizeof(suffix) - 1;

    if (str_is(kind, "Table"))
        return fail(r, "unsupported Table: the server did not send plain objects");
    if (kind.n <= n || memcmp(kind.p + kind.n - n, suffix, n) != 0)
        return fail(r, "not a list but kind \"%.*s\"", STR_ARG(kind));
    r->partial = r->may_be_partial && str_is(kind, "PartialObjectMetadataList");
    if (r->partial)
        return check_partial(r);
    buf_append(&r->kind, kind.p, kind.n - n);
    if (r->want_kind != NULL && !str_is(buf_str(&r->kind), r->want_kind))
        return fail(r, "wrong kind %.*s, expected %s", STR_ARG(buf_str(&r->kind)), r->want_kind);
    return true;
}

/* Checks the apiVersion, once it has come. kind may come before or after it: as long as the kind
 * is not known, the apiVersion may be that of a PartialObjectMetadataList. */
static bool check_api_version(struct list_reader *r)
{
    struct str v = buf_str(&r->api_version);
    bool meta = str_is(v, "meta.k8s.io/v1") || str_is(v, "meta.k8s.io/v1beta1");
    const char *want = r->partial ? "meta.k8s.io/v1" : r->want_api_version;

    if ((r->seen & 1U << M_API_VERSION) == 0 || want == NULL || str_is(v, want))
        return true;
    if (meta && (r->partial || (r->may_be_partial && r->list_kind.len == 0)))
        return true;
    return fail(r, "wrong apiVersion %.*s, expected %s", STR_ARG(v), want);
}

/* Some servers call a list of Tables TableList. meta.k8s.io is checked as well: a custom resource
 * may have the kind Table. */
static bool check_table(struct list_reader *r)
{
    static const char group[] = "meta.k8s.io/";
    struct str v = buf_str(&r->api_version);

    if (str_is(buf_str(&r->list_kind), "TableList") && v.n > sizeof(group) - 1 &&
        memcmp(v.p, group, sizeof(group) - 1) == 0)
        return fail(r, "unsupported Table: the server did not send plain objects");
    return true;
}

/* Takes a kind or apiVersion. Only short printable ASCII is good, because both end up in log
 * lines and error messages. */
static bool take_word(struct list_reader *r, struct buf *into, const struct json_token *t)
{
    bool good = t->type == JSON_STRING && t->text.n <= 253;

    for (size_t i = 0; good && i < t->text.n; i++)
        good = t->text.p[i] > 0x20 && t->text.p[i] < 0x7f;
    if (!good)
        return fail(r, "its kind or apiVersion is wrong");
    buf_append_str(into, t->text);
    return true;
}

/* Without a kind no item can be read. The kind must come from the item, from the caller, or from
 * the list before its items. */
static bool check_items(struct list_reader *r)
{
    if (object_scan_is_partial(r->scan))
        return check_partial(r);
    if (object_scan_kind(r->scan).n == 0 && item_kind(r).n == 0)
        return fail(r, "item %zu does not say its kind, nor did the list before it",
                    r->items + r->skipped);
    return true;
}

/* NULL if the item is of the kind and apiVersion of the list, otherwise the reason as a constant
 * text. */
static const char *foreign(const struct list_reader *r)
{
    struct str own = object_scan_kind(r->scan);
    struct str version = object_scan_api_version(r->scan);
    struct str kind = item_kind(r);

    if (object_scan_is_partial(r->scan))
        return NULL;
    if (own.n > 0 && kind.n > 0 && !str_eq(own, kind))
        return "its kind is not that of the watch";
    if (version.n > 0 && r->want_api_version != NULL && !str_is(version, r->want_api_version))
        return "its apiVersion is not that of the watch";
    return NULL;
}

static bool take_item(struct list_reader *r, struct object *o, bool selected)
{
    r->items++;
    r->events->on_item(r->arg, o, selected);
    object_unref(&o);
    return true;
}

static bool skip_item(struct list_reader *r, const struct unusable *u)
{
    r->skipped++;
    r->events->on_unusable(r->arg, u);
    return true;
}

/* An item is complete: delivers it, or skips it. Of an item that is too large or too deep its
 * identity is enough if match does not select it: nobody would see the rest. NOINLINE keeps this
 * out of on_token(), which runs for each token. */
NOINLINE static bool finish_item(struct list_reader *r, uint64_t end)
{
    const char *why = foreign(r);
    struct object *o = NULL;

    r->from = end;
    if (!check_items(r))
        return false;
    if (why == NULL &&
        object_scan_end(r->scan, item_kind(r), item_api_version(r), &o) == OBJECT_SCAN_OK)
        return take_item(r, o, object_scan_selected(r->scan));
    if (why == NULL)
        o = object_scan_left_out(r->scan, item_kind(r), item_api_version(r));
    if (o != NULL)
        return take_item(r, o, false);
    struct unusable u = object_scan_unusable(r->scan, why);
    u.foreign = why != NULL;
    return skip_item(r, &u);
}

/* A key of the list. A member that counts must not come twice, as nobody could tell which one is
 * right. */
static bool top_key(struct list_reader *r, struct str key)
{
    static const char *const names[] = {"", "kind", "apiVersion", "metadata", "items"};

    r->member = M_OTHER;
    for (size_t i = 1; i < ARRAY_LEN(names); i++)
        if (str_is(key, names[i]))
            r->member = (enum member)i;
    unsigned bit = r->member != M_OTHER ? 1U << r->member : 0;
    if ((r->seen & bit) != 0)
        return fail(r, "it has %s twice", names[r->member]);
    r->seen |= bit;
    return true;
}

/* The value of a member of the list, or the end of it. Go writes null for the items of an empty list. */
static bool top_value(struct list_reader *r, const struct json_token *t)
{
    switch (r->member) {
    case M_KIND:
        return take_word(r, &r->list_kind, t) && check_kind(r) && check_table(r) &&
               check_api_version(r);
    case M_API_VERSION:
        return take_word(r, &r->api_version, t) && check_table(r) && check_api_version(r);
    case M_METADATA:
        if (t->type != JSON_OBJECT && t->type != JSON_OBJECT_END && t->type != JSON_NULL)
            return fail(r, "its metadata is wrong");
        r->in_metadata = t->type == JSON_OBJECT;
        r->meta = META_OTHER;
        break;
    case M_ITEMS:
        r->in_items = t->type == JSON_ARRAY;
        if (!r->in_items && t->type != JSON_ARRAY_END && t->type != JSON_NULL)
            return fail(r, "its items are no array");
        break;
    case M_OTHER:
        break;
    }
    return true;
}

/* The braces of the list, or something behind them. */
static bool on_list(struct list_reader *r, const struct json_token *t)
{
    if (r->ended)
        return fail(r, "something stands behind it");
    if (t->type == JSON_OBJECT_END) {
        r->ended = true;
        return true;
    }
    r->begun = true;
    return t->type == JSON_OBJECT || fail(r, "not a JSON object");
}

/* A key or value directly in the metadata of the list. The end of metadata has depth 1, so
 * top_value() resets in_metadata. */
static bool metadata_token(struct list_reader *r, const struct json_token *t)
{
    struct buf *into = r->meta == META_RV ? &r->rv : &r->next;

    if (t->type == JSON_KEY) {
        r->meta = str_is(t->text, "resourceVersion") ? META_RV
                  : str_is(t->text, "continue")      ? META_CONTINUE
                                                     : META_OTHER;
        return true;
    }
    if (r->meta == META_OTHER || t->type == JSON_NULL)
        return true;
    if (t->type != JSON_STRING)
        return fail(r, "its metadata is wrong");
    buf_clear(into);
    buf_append_str(into, t->text);
    return true;
}

/* Bounds the bytes that no callback takes away: those beside the items by object_size, and an
 * item that is skipped for its size by SKIP_BYTES more. */
static bool check_size(struct list_reader *r, uint64_t pos)
{

    if (pos - r->from <= r->object_size + (r->deepest > 0 ? SKIP_BYTES : 0))
        return true;
    err_set(&r->err, ERR_TOO_BIG, 0, "list: %s is over %s (object_size is %zu bytes)",
            r->deepest > 0 ? "an item" : "what stands beside its items",
            r->deepest > 0 ? "object_size + 64 MiB" : "object_size", r->object_size);
    return false;
}

/* A token outside of items. */
NOINLINE static bool on_envelope(struct list_reader *r, const struct json_token *t)
{
    if (!check_size(r, t->end))
        return false;
    if (t->depth == 0)
        return on_list(r, t);
    if (t->depth == 1)
        return t->type == JSON_KEY ? top_key(r, t->text) : top_value(r, t);
    if (t->depth == 2 && r->in_metadata)
        return metadata_token(r, t);
    if (t->depth == ITEM_DEPTH && r->in_items && t->type != JSON_ARRAY_END) {
        if (t->type != JSON_OBJECT)
            /* A thing in items that is no object counts as an item whose name cannot be read:
             * such a list deletes nothing (docs/design.md "Skipped objects"). */
            return skip_item(r, &(struct unusable){.why = "it is no JSON object"});
        r->from = t->end - 1;
        r->deepest = object_scan_begin(r->scan, t->end, t->depth);
    }
    return true;
}

static bool on_token(void *arg, const struct json_token *t)
{
    struct list_reader *r = arg;

    if (r->deepest == 0)
        return on_envelope(r, t);
    /* Most tokens are deeper than the scan has to look, so this check comes before everything
     * else that costs time. */
    if (t->depth > r->deepest)
        return true;
    r->deepest = object_scan_token(r->scan, t);
    return r->deepest > 0 || finish_item(r, t->end);
}

static void on_excess(void *arg, const char *why)
{
    struct list_reader *r = arg;

    if (r->deepest > 0)
        object_scan_excess(r->scan, why);
}

static enum err_kind give_err(const struct list_reader *r, struct err *err)
{
    if (err != NULL && r->err.kind != ERR_OK)
        *err = r->err;
    return r->err.kind;
}

enum err_kind list_reader_feed(struct list_reader *r, const char *data, size_t n, struct err *err)
{
    struct err json_err;

    /* The scan copies bytes of the chunk by their positions, and must save those of an unfinished
     * item before the chunk goes away. */
    object_scan_lend(r->scan, r->fed, data, n);
    enum err_kind kind = json_in_feed(r->json, data, n, &json_err);
    r->fed += n;
    object_scan_save(r->scan);
    /* An error that a callback has set, with the reader stopped, says more than "stopped". */
    if (r->err.kind == ERR_OK && kind != ERR_OK)
        err_set(&r->err, kind, 0, "list: %s", json_err.text);
    if (r->err.kind == ERR_OK)
        check_size(r, r->fed);
    return give_err(r, err);
}

/* Checks a complete body. A list has a resourceVersion, or at least the member items: taken as an
 * empty list, an answer like {"kind": "XList"} would delete everything. */
static void check_page(struct list_reader *r)
{
    struct err json_err;
    bool whole = json_in_finish(r->json, &json_err) == ERR_OK;

    if (r->err.kind != ERR_OK)
        return; /* a last token ended only now */
    if (!whole)
        fail(r, "%s", json_err.text);
    else if (!r->begun)
        fail(r, "the body is empty");
    else if (r->list_kind.len == 0)
        fail(r, "not a list: it has no kind");
    else if (r->rv.len == 0 && (r->seen & 1U << M_ITEMS) == 0)
        fail(r, "not a list: it has neither items nor a metadata.resourceVersion");
}

enum err_kind list_reader_end(struct list_reader *r, struct list_page *page, struct err *err)
{
    if (r->err.kind == ERR_OK)
        check_page(r);
    *page = (struct list_page){0};
    if (r->err.kind != ERR_OK)
        return give_err(r, err);
    /* Some aggregated servers write "0" where they have no version
     * (docs/kubernetes-protocol.md "Lists without versions"). */
    page->rv = str_is(buf_str(&r->rv), "0") ? str_c("") : buf_str(&r->rv);
    page->next = buf_str(&r->next);
    page->kind = r->partial ? str_c(r->want_kind) : buf_str(&r->kind);
    page->items = r->items;
    page->skipped = r->skipped;
    return ERR_OK;
}
