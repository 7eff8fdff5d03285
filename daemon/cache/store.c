/* SPDX-License-Identifier: Apache-2.0 */
#include "cache/store.h"

#include <stdlib.h>

#include "base/list.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/meter.h"
#include "base/panic.h"

/* A key. It is in by_key if and only if it has an object or a staged one; the map borrows the key from
 * one of them. */
struct entry {
    struct map_node node;
    struct list mate;      /* on the entries of its scope */
    struct object *object; /* NULL: only staged, not visible yet */
    struct object *staged; /* from the list under way; on the scope's staged list if not NULL */
    struct list link;
    size_t scope;
    uint64_t seen;  /* generation of the last list that named it */
    uint64_t left;  /* generation of the last list that showed it as not selected */
    uint64_t guess; /* generation of the last list for which store_stage_guess() says LEFT */
};

struct store_scope {
    uint64_t generation; /* of the list under way, or the last one */
    bool doubted;        /* equal versions in that list prove nothing */
    struct list entries; /* all entries of the scope, so that a list costs other scopes nothing */
    bool unreadable;     /* the list has an item whose name cannot be read */
    bool compares;       /* the list stands beside a watch */
    struct list staged;  /* entries in the order of the list */
};

struct store {
    struct map by_key;
    struct store_scope *scopes;
    size_t scope_count;
    size_t count;
    size_t bytes;
    size_t staged_bytes;
    struct skips skips;
    delta_sink *sink;
    void *arg;
};

/* As the meter counts an entry. */
#define ENTRY_BYTES (sizeof(struct entry) + METER_BLOCK + METER_SLOT)

struct store *store_create(size_t scopes, delta_sink *sink, void *arg)
{
    struct store *s = mem_zalloc(sizeof(*s));

    ensure(scopes > 0 && sink != NULL);
    s->scopes = mem_array(scopes, sizeof(*s->scopes));
    s->scope_count = scopes;
    for (size_t i = 0; i < scopes; i++) {
        list_init(&s->scopes[i].entries);
        list_init(&s->scopes[i].staged);
    }
    s->sink = sink;
    s->arg = arg;
    return s;
}

static struct store_scope *scope_at(const struct store *s, size_t scope)
{
    ensure(scope < s->scope_count);
    return &s->scopes[scope];
}

static struct entry *find(const struct store *s, struct str key)
{
    struct map_node *node = map_get(&s->by_key, key);

    return node != NULL ? map_entry(node, struct entry, node) : NULL;
}

/* The new entry has no object yet: the caller stores or stages the one that the key was borrowed
 * from. */
static struct entry *add_entry(struct store *s, size_t scope, struct object *key_of)
{
    struct entry *e = mem_zalloc(sizeof(*e));

    meter_add(ENTRY_BYTES);
    e->scope = scope;
    list_append(&scope_at(s, scope)->entries, &e->mate);
    list_init(&e->link);
    map_put(&s->by_key, &e->node, object_key(key_of));
    return e;
}

/* A key belongs to the scope that named it last. */
static void move_entry(struct store *s, struct entry *e, size_t scope)
{
    if (e->scope == scope)
        return;
    e->scope = scope;
    list_remove(&e->mate);
    list_append(&scope_at(s, scope)->entries, &e->mate);
}

/* Takes the staged item away, if there is one. */
static void unset_staged(struct store *s, struct entry *e)
{
    if (e->staged == NULL)
        return;
    s->staged_bytes -= object_bytes(e->staged);
    object_unref(&e->staged);
}

static void free_entry(struct store *s, struct entry *e)
{
    map_remove(&s->by_key, &e->node);
    list_remove(&e->mate);
    list_remove(&e->link);
    object_unref(&e->object);
    unset_staged(s, e);
    free(e);
    meter_sub(ENTRY_BYTES);
}

void store_destroy(struct store **sp)
{
    struct store *s = *sp;

    if (s == NULL)
        return;
    *sp = NULL;
    for (struct map_node *n = map_first(&s->by_key), *next; n != NULL; n = next) {
        next = map_next(n);
        free_entry(s, map_entry(n, struct entry, node));
    }
    skips_fini(&s->skips);
    free(s->scopes);
    free(s);
}

/* d has the cause and the time; type and object are put in. */
static void emit(struct store *s, enum delta_type type, struct object *o, struct delta *d)
{
    d->type = type;
    d->object = o;
    s->sink(s->arg, d);
}

/* Keeps the sums for store_count() and store_bytes(). */
static void account(struct store *s, const struct object *was, const struct object *is)
{
    if (was != NULL) {
        s->count--;
        s->bytes -= object_bytes(was);
    }
    if (is != NULL) {
        s->count++;
        s->bytes += object_bytes(is);
    }
}

/* Makes o (a reference of ours) the object of e; returns the old object, whose reference is the
 * caller's now. */
static struct object *swap_in(struct store *s, struct entry *e, struct object *o)
{
    struct object *was = e->object;

    account(s, was, o);
    e->object = o;
    map_move_key(&e->node, object_key(o));
    return was;
}

/* Are both the same incarnation of a key? */
static bool same_incarnation(const struct object *a, const struct object *b)
{
    return str_eq(object_uid(a), object_uid(b));
}

/* Is the object the same as the stored one, as far as its list or watch can prove that? Some aggregated
 * APIs list objects without a version: these are compared by their bytes. Bare objects are compared by
 * their bytes, too: these are not known, so a bare object equals nothing that a server sends. */
static bool is_known(const struct store_scope *p, const struct object *stored,
                     const struct object *o)
{
    bool proves = !p->doubted && object_rv(o).n > 0 && !object_is_bare(stored);

    if (!same_incarnation(stored, o) || !str_eq(object_rv(stored), object_rv(o)))
        return false;
    return proves || object_same_bytes(stored, o);
}

/* An entry without a stored object exists for the staged one only, and goes with it. */
static void drop_staged(struct store *s, struct entry *e)
{
    list_remove(&e->link);
    if (e->object == NULL) {
        free_entry(s, e);
        return;
    }
    unset_staged(s, e);
}

void store_abort(struct store *s, size_t scope)
{
    struct store_scope *p = scope_at(s, scope);

    list_each (pos, tmp, &p->staged)
        drop_staged(s, list_entry(pos, struct entry, link));
    skips_abort(&s->skips, scope);
}

void store_begin(struct store *s, size_t scope)
{
    /* A new generation makes each seen, left and guess of an earlier list void, at no cost per
     * object. */
    store_abort(s, scope);
    scope_at(s, scope)->generation++;
    scope_at(s, scope)->doubted = false;
    scope_at(s, scope)->unreadable = false;
    scope_at(s, scope)->compares = false;
}

void store_compare(struct store *s, size_t scope)
{
    scope_at(s, scope)->compares = true;
}

void store_doubt(struct store *s, size_t scope)
{
    scope_at(s, scope)->doubted = true;
}

void store_stage(struct store *s, size_t scope, struct object *o)
{
    struct store_scope *p = scope_at(s, scope);
    struct entry *e = find(s, object_key(o));

    skips_unstage(&s->skips, object_key(o));
    if (e == NULL)
        e = add_entry(s, scope, o);
    move_entry(s, e, scope);
    e->seen = p->generation;
    /* Named twice by one list: the later item counts, and the key moves to it. */
    if (e->staged != NULL && e->object == NULL)
        map_move_key(&e->node, object_key(o));
    list_remove(&e->link);
    unset_staged(s, e);
    if (e->object != NULL && is_known(p, e->object, o))
        return;
    e->staged = object_ref(o);
    s->staged_bytes += object_bytes(o);
    list_append(&p->staged, &e->link);
}

void store_stage_kept(struct store *s, size_t scope, const struct unusable *u)
{
    struct store_scope *p = scope_at(s, scope);
    struct entry *e = find(s, u->key);

    /* Its name is known, so the stored object is not missing in the list. */
    if (e != NULL && e->object != NULL)
        e->seen = p->generation;
    p->unreadable = p->unreadable || u->name.n == 0;
    skips_stage(&s->skips, scope, u);
}

/* If the list names another incarnation, the stored one has ended and stays missing. */
void store_stage_present(struct store *s, size_t scope, const struct object *o)
{
    struct entry *e = find(s, object_key(o));

    skips_stage_present(&s->skips, object_key(o));
    if (e != NULL && e->object != NULL && same_incarnation(e->object, o))
        e->seen = scope_at(s, scope)->generation;
}

void store_unstage(struct store *s, size_t scope, struct str key)
{
    struct entry *e = find(s, key);

    ensure(scope < s->scope_count);
    skips_unstage(&s->skips, key);
    if (e == NULL)
        return;
    /* The generations of lists begin with 1, so 0 says that no list named the key. */
    e->seen = 0;
    e->left = 0;
    e->guess = 0;
    if (e->staged != NULL)
        drop_staged(s, e);
}

void store_stage_left(struct store *s, size_t scope, const struct object *o)
{
    struct entry *e;

    store_unstage(s, scope, object_key(o));
    /* store_unstage() may have freed the entry. */
    e = find(s, object_key(o));
    if (e != NULL && same_incarnation(e->object, o))
        e->left = scope_at(s, scope)->generation;
}

/* Is the object stored, and does the list of its scope not name it as selected? */
static bool is_missing(const struct store_scope *p, const struct entry *e)
{
    return e->object != NULL && e->seen != p->generation;
}

/* Can the missing object be one of the items that were skipped because their name is not valid or
 * cannot be read? Then it stays, unless the list shows that it LEFT. */
static bool is_spared(const struct store *s, const struct store_scope *p, const struct entry *e)
{
    return e->left != p->generation &&
           (p->unreadable || skips_has_odd(&s->skips, object_uid(e->object)));
}

/* Will a commit take the stored object away because the list does not name it? */
static bool vanishes(const struct store *s, const struct store_scope *p, const struct entry *e)
{
    return is_missing(p, e) && !is_spared(s, p, e);
}

/* The type of delta for an object that vanishes: LEFT if the server has shown that it exists, or if
 * the edited selectors would leave it out (store_stage_guess()). */
static enum delta_type end_of(const struct store_scope *p, const struct entry *e)
{
    bool left = e->left == p->generation || e->guess == p->generation;

    return left ? DELTA_LEFT : DELTA_DELETED;
}

/* Guesses count as deletes here, so that the guard judges them
 * (docs/design.md "Edited selectors"). */
size_t store_would_delete(const struct store *s, size_t scope)
{
    const struct store_scope *p = scope_at(s, scope);
    size_t n = 0;

    list_each (pos, tmp, &p->entries) {
        const struct entry *e = list_entry(pos, struct entry, mate);

        n += vanishes(s, p, e) && e->left != p->generation;
    }
    list_each (pos, tmp, &p->staged) {
        const struct entry *e = list_entry(pos, struct entry, link);

        n += e->object != NULL && !same_incarnation(e->object, e->staged);
    }
    return n;
}

void store_each_vanishing(const struct store *s, size_t scope,
                          void (*cb)(void *arg, struct object *o), void *arg)
{
    const struct store_scope *p = scope_at(s, scope);

    list_each (pos, tmp, &p->entries) {
        const struct entry *e = list_entry(pos, struct entry, mate);

        if (vanishes(s, p, e) && e->left != p->generation)
            cb(arg, e->object);
    }
}

bool store_has_vanishing(const struct store *s, size_t scope)
{
    const struct store_scope *p = scope_at(s, scope);

    list_each (pos, tmp, &p->entries) {
        const struct entry *e = list_entry(pos, struct entry, mate);

        if (vanishes(s, p, e) && e->left != p->generation)
            return true;
    }
    return false;
}

void store_stage_existing(struct store *s, size_t scope, const struct object *o)
{
    const struct store_scope *p = scope_at(s, scope);
    struct entry *e = find(s, object_key(o));

    if (e != NULL && e->object != NULL && is_missing(p, e) && same_incarnation(e->object, o))
        e->left = p->generation;
}

void store_stage_guess(struct store *s, size_t scope, bool (*is_other)(void *arg, struct object *o),
                       void *arg)
{
    const struct store_scope *p = scope_at(s, scope);

    list_each (pos, tmp, &p->entries) {
        struct entry *e = list_entry(pos, struct entry, mate);

        if (vanishes(s, p, e) && e->left != p->generation && is_other(arg, e->object))
            e->guess = p->generation;
    }
}

bool store_would_end(const struct store *s, size_t scope)
{
    const struct store_scope *p = scope_at(s, scope);

    list_each (pos, tmp, &p->entries)
        if (vanishes(s, p, list_entry(pos, struct entry, mate)))
            return true;
    list_each (pos, tmp, &p->staged) {
        const struct entry *e = list_entry(pos, struct entry, link);

        if (e->object != NULL && !same_incarnation(e->object, e->staged))
            return true;
    }
    return false;
}

bool store_would_tell(const struct store *s, size_t scope)
{
    return !list_is_empty(&scope_at(s, scope)->staged) || store_would_end(s, scope);
}

struct vanished {
    struct object *object; /* a reference of our own */
    enum delta_type type;
    struct list link;
};

/* Takes the objects that vanish out of the map, for tell_vanished(). Nothing is told here, as a
 * sink must find the whole new state in the store. */
static void take_vanished(struct store *s, size_t scope, struct list *gone)
{
    const struct store_scope *p = scope_at(s, scope);

    list_each (pos, tmp, &p->entries) {
        struct entry *e = list_entry(pos, struct entry, mate);

        if (!is_missing(p, e))
            continue;
        if (is_spared(s, p, e)) {
            skips_stage_missing(&s->skips, scope, object_key(e->object));
            continue;
        }
        struct vanished *v = mem_alloc(sizeof(*v));
        *v = (struct vanished){.object = object_ref(e->object), .type = end_of(p, e)};
        list_append(gone, &v->link);
        account(s, e->object, NULL);
        free_entry(s, e);
    }
}

/* Makes the new state the visible one, and then tells which objects vanished. */
static void tell_vanished(struct store *s, size_t scope, struct delta as)
{
    struct list gone;

    list_init(&gone);
    take_vanished(s, scope, &gone);
    list_each (pos, tmp, &s->scopes[scope].staged) {
        struct entry *e = list_entry(pos, struct entry, link);

        s->staged_bytes -= object_bytes(e->staged);
        e->staged =
            swap_in(s, e, e->staged); /* staged is the old state, and not counted, from now on */
    }
    list_each (pos, tmp, &gone) {
        struct vanished *v = list_entry(pos, struct vanished, link);

        as.final_state_unknown = v->type == DELTA_DELETED;
        emit(s, v->type, v->object, &as);
        object_unref(&v->object);
        free(v);
    }
}

void store_commit(struct store *s, size_t scope, enum delta_cause cause, struct now now)
{
    struct store_scope *p = scope_at(s, scope);
    struct delta as = {.cause = cause, .received_ns = now.wall_ns, .now_ms = now.ms};

    tell_vanished(s, scope, as);
    skips_commit(&s->skips, scope, scope_at(s, scope)->compares);
    /* All ends come before all additions: another incarnation of a key is DELETED first, ADDED
     * below (docs/design.md "Order"). */
    as.final_state_unknown = true;
    list_each (pos, tmp, &p->staged) {
        struct entry *e = list_entry(pos, struct entry, link);

        if (e->staged != NULL && !same_incarnation(e->staged, e->object)) {
            emit(s, DELTA_DELETED, e->staged, &as);
            object_unref(&e->staged);
        }
    }
    as.final_state_unknown = false;
    list_each (pos, tmp, &p->staged) {
        struct entry *e = list_entry(pos, struct entry, link);

        emit(s, e->staged == NULL ? DELTA_ADDED : DELTA_MODIFIED, e->object, &as);
        object_unref(&e->staged);
        list_remove(&e->link);
    }
}

/* Makes o the object of e and tells that: as DELETED and ADDED for another incarnation, as a
 * change, or, if it is quiet, not at all. */
static void replace(struct store *s, struct entry *e, struct object *o, bool quiet,
                    struct delta *as)
{
    struct object *was = swap_in(s, e, object_ref(o));

    if (was != NULL && !same_incarnation(was, o)) {
        as->final_state_unknown = true;
        emit(s, DELTA_DELETED, was, as);
        object_unref(&was);
    }
    as->final_state_unknown = false;
    if (was == NULL || !quiet)
        emit(s, was == NULL ? DELTA_ADDED : DELTA_MODIFIED, o, as);
    object_unref(&was);
}

void store_apply(struct store *s, size_t scope, struct object *o, struct now now)
{
    struct delta as = {.cause = CAUSE_WATCH, .received_ns = now.wall_ns, .now_ms = now.ms};
    const struct store_scope *p = scope_at(s, scope);
    struct entry *e = find(s, object_key(o));

    skips_clear(&s->skips, object_key(o), object_uid(o));
    if (e == NULL)
        e = add_entry(s, scope, o);
    e->seen = p->generation; /* a list beside the watch need not name it */
    if (e->object != NULL && is_known(p, e->object, o))
        return;
    replace(s, e, o, false, &as);
}

void store_put(struct store *s, struct object *o, struct delta as)
{
    struct entry *e = find(s, object_key(o));

    if (e == NULL)
        e = add_entry(s, 0, o);
    replace(s, e, o, e->object != NULL && object_same_bytes(e->object, o), &as);
}

/* Takes out the object that is stored under the key, with its skip record, and returns it as the
 * caller's reference; NULL: there was no object. uid: of the object that the event is about; it
 * finds a skip record without a key. */
static struct object *take_out(struct store *s, struct str key, struct str uid)
{
    struct entry *e = find(s, key);

    skips_clear(&s->skips, key, uid);
    if (e == NULL || e->object == NULL)
        return NULL;
    struct object *was = object_ref(e->object);
    account(s, was, NULL);
    free_entry(s, e);
    return was;
}

void store_leave(struct store *s, const struct object *o, struct now now)
{
    struct delta as = {.cause = CAUSE_WATCH, .received_ns = now.wall_ns, .now_ms = now.ms};
    struct object *was = take_out(s, object_key(o), object_uid(o));

    if (was == NULL)
        return;
    /* The watch shows another incarnation than the stored one, whose end was not seen. */
    as.final_state_unknown = !same_incarnation(was, o);
    emit(s, as.final_state_unknown ? DELTA_DELETED : DELTA_LEFT, was, &as);
    object_unref(&was);
}

void store_remove(struct store *s, struct object *last, struct now now)
{
    struct delta as = {.cause = CAUSE_WATCH, .received_ns = now.wall_ns, .now_ms = now.ms};
    struct object *was = take_out(s, object_key(last), object_uid(last));

    if (was == NULL)
        return;
    /* If last is another incarnation, it says nothing about the final state of the stored one. */
    as.final_state_unknown = !same_incarnation(was, last);
    as.before = as.final_state_unknown ? NULL : was;
    emit(s, DELTA_DELETED, as.final_state_unknown ? was : last, &as);
    object_unref(&was);
}

/* The key under which an object with this uid is stored; empty: no such object. Only for objects
 * whose name cannot be used: they are rare, so no index is kept for them. */
static struct str key_of_uid(const struct store *s, struct str uid)
{
    for (struct map_node *n = map_first(&s->by_key); n != NULL && uid.n > 0; n = map_next(n)) {
        const struct entry *e = map_entry(n, struct entry, node);

        if (e->object != NULL && str_eq(object_uid(e->object), uid))
            return object_key(e->object);
    }
    return str_c("");
}

void store_skip(struct store *s, size_t scope, const struct unusable *u)
{
    struct unusable known = *u;

    ensure(scope < s->scope_count);
    /* With a stored object of that uid the record is one of its key, so that a usable state of the
     * key ends it. */
    if (u->key.n == 0)
        known.key = key_of_uid(s, u->uid);
    if (u->key.n == 0 && known.key.n > 0)
        known.name = known.key;
    skips_add(&s->skips, scope, &known);
}

void store_remove_unusable(struct store *s, size_t scope, const struct unusable *u, struct now now)
{
    struct str key = u->key.n > 0 ? u->key : key_of_uid(s, u->uid);
    const struct object *is = store_get(s, key);
    bool other = u->foreign && is != NULL && !str_eq(object_uid(is), u->uid);
    struct delta as = {.type = DELTA_DELETED,
                       .cause = CAUSE_WATCH,
                       .final_state_unknown = true,
                       .received_ns = now.wall_ns,
                       .now_ms = now.ms};

    /* The object of the event is of another kind and only shares the key of the stored one. */
    if (other)
        return;
    bool known = skips_clear(&s->skips, key, u->uid);
    if (key.n > 0)
        store_drop(s, key, as);
    else if (!known && u->name.n == 0)
        store_skip(s, scope, u); /* an unknown object is gone */
}

void store_on_skip(struct store *s, skips_sink *sink, void *arg)
{
    s->skips.sink = sink;
    s->skips.arg = arg;
}

void store_load_skip(struct store *s, const struct skip *skip)
{
    ensure(skip->scope < s->scope_count);
    skips_load(&s->skips, skip);
}

const struct skips *store_skips(const struct store *s)
{
    return &s->skips;
}

void store_drop(struct store *s, struct str key, struct delta as)
{
    struct object *was = take_out(s, key, str_c(""));

    if (was != NULL)
        emit(s, as.type, was, &as);
    object_unref(&was);
}

void store_load(struct store *s, size_t scope, struct object *o)
{
    struct entry *e = find(s, object_key(o));
    struct object *was;

    ensure(list_is_empty(&scope_at(s, scope)->staged));
    if (e == NULL)
        e = add_entry(s, scope, o);
    move_entry(s, e, scope);
    was = swap_in(s, e, object_ref(o));
    object_unref(&was);
}

void store_unload(struct store *s, size_t scope)
{
    store_abort(s, scope);
    skips_unload(&s->skips, scope);
    list_each (pos, tmp, &s->scopes[scope].entries) {
        struct entry *e = list_entry(pos, struct entry, mate);

        account(s, e->object, NULL);
        free_entry(s, e);
    }
}

struct object *store_get(const struct store *s, struct str key)
{
    struct entry *e = find(s, key);

    return e != NULL ? e->object : NULL;
}

size_t store_count(const struct store *s)
{
    return s->count;
}

size_t store_bytes(const struct store *s)
{
    return s->bytes;
}

size_t store_staged_bytes(const struct store *s)
{
    return s->staged_bytes;
}

void store_each(const struct store *s, void (*cb)(void *arg, struct object *o), void *arg)
{
    for (struct map_node *n = map_first(&s->by_key); n != NULL; n = map_next(n)) {
        struct entry *e = map_entry(n, struct entry, node);

        if (e->object != NULL)
            cb(arg, e->object);
    }
}

struct collect {
    struct object **to;
    size_t n;
};

static void collect_one(void *arg, struct object *o)
{
    struct collect *c = arg;

    c->to[c->n++] = o;
}

struct object **store_sorted(const struct store *s)
{
    struct collect c = {.to = mem_array(s->count + 1, sizeof(struct object *))};

    store_each(s, collect_one, &c);
    qsort(c.to, c.n, sizeof(struct object *), object_by_key);
    return c.to;
}
