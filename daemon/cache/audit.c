/* SPDX-License-Identifier: Apache-2.0 */
#include "cache/audit.h"

#include <stdlib.h>

#include "base/digest.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/meter.h"
#include "base/panic.h"
#include "kube/rv.h"

/* Where a key stands in the list. */
enum standing { UNLISTED, LISTED, UNUSABLE };

/* A key that was listed or touched. */
struct entry {
    struct map_node node;
    enum standing standing;
    size_t scope;
    /* The version with which the store changed the key last; "" = not known; NULL = the store has
     * not changed it since audit_begin(). */
    char *touched;
    struct str uid;
    struct str rv;
    struct digest digest; /* of the object, if doubted */
    char text[];          /* key, uid and rv, one behind the other */
};

struct audit {
    const struct store *store;
    enum audit_state state;
    bool apply;
    bool doubted;    /* equal versions prove nothing */
    bool unnamed;    /* the list has an item whose key cannot be read */
    struct map keys; /* empty while IDLE */
    size_t scopes;
    char **versions; /* of the lists, by scope; NULL = not known */
    struct err err;
    struct audit_difference *shown; /* result.v */
    char **shown_keys;              /* the keys of shown; owned */
    struct audit_result result;
};

/* A difference that a comparison has found; the key is borrowed. */
struct found {
    struct str key;
    const char *what;
};

struct comparison {
    const struct audit *audit;
    uint64_t compared;
    uint64_t not_compared;
    struct found *v;
    size_t n;
};

struct audit *audit_create(const struct store *s, size_t scopes)
{
    struct audit *a = MEM_NEW(struct audit, .store = s, .scopes = scopes);

    a->versions = mem_array(scopes, sizeof(*a->versions));
    a->result.err = &a->err;
    return a;
}

/* As the meter counts an entry. */
static size_t bytes_of(const struct entry *e)
{
    return sizeof(*e) + map_key(&e->node).n + e->uid.n + e->rv.n + METER_BLOCK + METER_SLOT;
}

static void remove_entry(struct audit *a, struct entry *e)
{
    meter_sub(bytes_of(e));
    map_remove(&a->keys, &e->node);
    free(e->touched);
    free(e);
}

/* The keys and versions that were collected are needed only while the comparison is under way. */
static void forget_keys(struct audit *a)
{
    for (struct map_node *n = map_first(&a->keys), *next; n != NULL; n = next) {
        next = map_next(n);
        remove_entry(a, map_entry(n, struct entry, node));
    }
    for (size_t i = 0; i < a->scopes; i++) {
        free(a->versions[i]);
        a->versions[i] = NULL;
    }
}

static void forget_differences(struct audit *a)
{
    for (size_t i = 0; i < a->result.n; i++)
        free(a->shown_keys[i]);
    free(a->shown_keys);
    free(a->shown);
    a->shown_keys = NULL;
    a->shown = NULL;
    a->result.v = NULL;
    a->result.n = 0;
}

void audit_destroy(struct audit **ap)
{
    struct audit *a = *ap;

    if (a == NULL)
        return;
    *ap = NULL;
    forget_keys(a);
    forget_differences(a);
    free(a->versions);
    free(a);
}

static struct entry *find(const struct audit *a, struct str key)
{
    struct map_node *node = map_get(&a->keys, key);

    return node != NULL ? map_entry(node, struct entry, node) : NULL;
}

static struct entry *add(struct audit *a, struct str key, struct str uid, struct str rv)
{
    struct entry *e = mem_zalloc(sizeof(*e) + key.n + uid.n + rv.n);
    char *at = e->text;
    struct str kept = str_put(&at, key);

    e->uid = str_put(&at, uid);
    e->rv = str_put(&at, rv);
    map_put(&a->keys, &e->node, kept);
    meter_add(bytes_of(e));
    return e;
}

void audit_begin(struct audit *a, bool apply)
{
    forget_keys(a);
    a->apply = apply;
    a->doubted = false;
    a->unnamed = false;
    a->state = AUDIT_LISTING;
}

void audit_doubt(struct audit *a)
{
    ensure(a->state == AUDIT_LISTING);
    a->doubted = true;
}

void audit_version(struct audit *a, size_t scope, struct str rv)
{
    ensure(a->state == AUDIT_LISTING && scope < a->scopes);
    free(a->versions[scope]);
    a->versions[scope] = mem_strndup(rv.n > 0 ? rv.p : "", rv.n);
}

/* Notes the object that the list has of the key, in a new entry with room for its texts. `touched` of
 * the old entry is kept. */
static struct entry *list_key(struct audit *a, size_t scope, struct str key,
                              const struct entry *says)
{
    struct entry *was = find(a, key);
    char *touched = NULL;

    ensure(a->state == AUDIT_LISTING && scope < a->scopes);
    if (was != NULL) {
        touched = was->touched;
        was->touched = NULL;
        remove_entry(a, was);
    }
    struct entry *e = add(a, key, says->uid, says->rv);
    e->standing = says->standing;
    e->scope = scope;
    e->touched = touched;
    return e;
}

void audit_item(struct audit *a, size_t scope, const struct object *o)
{
    const struct entry says = {.standing = LISTED, .uid = object_uid(o), .rv = object_rv(o)};

    struct entry *e = list_key(a, scope, object_key(o), &says);

    if (a->doubted)
        e->digest = object_digest(o);
}

void audit_unusable(struct audit *a, size_t scope, struct str key)
{
    list_key(a, scope, key, &(struct entry){.standing = UNUSABLE});
}

/* A change that came while the lists were made belongs to the time before or behind the list: only
 * its version says which. */
static void touch(struct audit *a, size_t scope, struct str key, struct str rv)
{
    if (a->state == AUDIT_IDLE)
        return;
    struct entry *e = find(a, key);
    if (e == NULL) {
        e = add(a, key, (struct str){0}, (struct str){0});
        e->scope = scope;
    }
    free(e->touched);
    e->touched = mem_strndup(rv.n > 0 ? rv.p : "", rv.n);
}

void audit_touched(struct audit *a, size_t scope, const struct delta *d)
{
    /* A delta that carries an older state, the last one selected or known, does not say the version
     * of the change: then it is not known, and the key is not compared. */
    bool older = d->type == DELTA_LEFT || d->final_state_unknown;

    touch(a, scope, object_key(d->object), older ? (struct str){0} : object_rv(d->object));
}

void audit_skipped(struct audit *a, size_t scope, struct str key)
{
    touch(a, scope, key, str_c(""));
}

void audit_unnamed(struct audit *a)
{
    ensure(a->state == AUDIT_LISTING);
    a->unnamed = true;
}

void audit_listed(struct audit *a)
{
    ensure(a->state == AUDIT_LISTING);
    a->state = AUDIT_GRACE;
}

static void note(struct comparison *c, struct str key, const char *what)
{
    c->v = mem_grow(c->v, c->n, sizeof(*c->v));
    c->v[c->n++] = (struct found){key, what};
}

/* Does the cache have another state than the list? If it has a newer one, the list was merely asked
 * for before the change. */
static bool is_different(const struct audit *a, const struct object *cached,
                         const struct entry *listed)
{
    if (str_eq(object_uid(cached), listed->uid) && str_eq(object_rv(cached), listed->rv))
        return a->doubted && !digest_eq(object_digest(cached), listed->digest);
    return rv_order(object_rv(cached), listed->rv) != RV_NEWER;
}

/* Without comparable versions nothing shows that the cache has come so far. */
bool audit_is_passed(const struct audit *a, size_t scope, struct str rv)
{
    ensure(scope < a->scopes);
    enum rv_order order = rv_order(rv, str_c(a->versions[scope]));

    return order == RV_SAME || order == RV_NEWER;
}

/* Can the cached state be compared with the list? Not if the list could not show the object, or if
 * the key has changed after the version of the list. */
static bool is_comparable(const struct audit *a, const struct entry *e)
{
    if (e->standing == UNUSABLE || e->touched == NULL)
        return e->standing != UNUSABLE;
    enum rv_order order = rv_order(str_c(e->touched), str_c(a->versions[e->scope]));
    return order == RV_OLDER || order == RV_SAME;
}

/* A key that was touched and is in neither cache nor list was created and deleted meanwhile. */
static void compare_entry(struct comparison *c, const struct entry *e)
{
    struct str key = map_key(&e->node);
    const struct object *cached = store_get(c->audit->store, key);
    bool listed = e->standing != UNLISTED;

    if (cached == NULL && !listed)
        return;
    if (!is_comparable(c->audit, e)) {
        c->not_compared++;
        return;
    }
    c->compared++;
    if (cached == NULL)
        note(c, key, "missing");
    else if (!listed)
        note(c, key, "extra");
    else if (is_different(c->audit, cached, e))
        note(c, key, "different");
}

/* A stored object that was neither listed nor touched: the list lacks it. The others have been
 * compared by compare_entry(). */
static void compare_stored(void *arg, struct object *o)
{
    struct comparison *c = arg;

    if (find(c->audit, object_key(o)) != NULL)
        return;
    c->compared++;
    note(c, object_key(o), "extra");
}

static int by_key(const void *a, const void *b)
{
    return str_cmp(((const struct found *)a)->key, ((const struct found *)b)->key);
}

/* Keeps the first AUDIT_KEYS differences for status and log. The keys are copied, as the collected
 * ones end with the comparison. */
static void keep_first(struct audit *a, const struct comparison *c)
{
    size_t n = c->n < AUDIT_KEYS ? c->n : AUDIT_KEYS;

    a->shown = mem_array(n + 1, sizeof(*a->shown));
    a->shown_keys = mem_array(n + 1, sizeof(*a->shown_keys));
    for (size_t i = 0; i < n; i++) {
        a->shown_keys[i] = mem_strndup(c->v[i].key.p, c->v[i].key.n);
        a->shown[i] = (struct audit_difference){a->shown_keys[i], c->v[i].what};
    }
    a->result.v = a->shown;
    a->result.n = n;
}

/* The comparison has ended: only the result is kept. */
static void end(struct audit *a, const struct err *err, const struct comparison *c, uint64_t now_ms)
{
    struct audit_result *r = &a->result;

    forget_differences(a);
    a->err = *err;
    r->done_ms = now_ms;
    r->compared = c->compared;
    r->not_compared = c->not_compared;
    r->differences = c->n;
    r->applied = a->apply && err->kind == ERR_OK;
    r->runs++;
    keep_first(a, c);
    forget_keys(a);
    a->apply = false;
    a->state = AUDIT_IDLE;
}

/* Fills *c, of which only audit is set, with the differences that there are now. */
static void compare(struct comparison *c)
{
    const struct audit *a = c->audit;

    ensure(a->state == AUDIT_GRACE);
    for (struct map_node *n = map_first(&a->keys); n != NULL; n = map_next(n))
        compare_entry(c, map_entry(n, struct entry, node));
    /* A stored object that the list does not name may be the item whose key cannot be read. */
    if (!a->unnamed)
        store_each(a->store, compare_stored, c);
}

bool audit_agrees(const struct audit *a)
{
    struct comparison c = {.audit = a};

    compare(&c);
    free(c.v);
    return c.n == 0;
}

void audit_finish(struct audit *a, uint64_t now_ms)
{
    struct comparison c = {.audit = a};

    compare(&c);
    if (c.n > 0)
        qsort(c.v, c.n, sizeof(*c.v), by_key);
    end(a, &(struct err){0}, &c, now_ms);
    free(c.v);
}

void audit_failed(struct audit *a, const struct err *err, uint64_t now_ms)
{
    end(a, err, &(struct comparison){0}, now_ms);
}

bool audit_applies(const struct audit *a)
{
    return a->apply;
}

enum audit_state audit_state(const struct audit *a)
{
    return a->state;
}

const struct audit_result *audit_result(const struct audit *a)
{
    return &a->result;
}
