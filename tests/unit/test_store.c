/* SPDX-License-Identifier: Apache-2.0 */
/* cache/store: random lists and events against an array that is searched from its beginning. */
#include "objects.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/rng.h"
#include "cache/store.h"
#include "campaign.h"

enum { SCOPES = 3, KEYS = 5, ALL = SCOPES * KEYS, STEPS = 25 };

/* The contents that the store should have: a plain array. */
struct model {
    struct object *at[ALL]; /* NULL = no such key */
};

/* One delta that was sent or is expected. */
struct note {
    enum delta_type type;
    enum delta_cause cause;
    struct object *object;
    bool unknown;
};

struct notes {
    struct note v[4 * ALL];
    size_t n;
};

struct world {
    struct store *store;
    struct model model;
    struct notes got;
    struct notes want;
    size_t want_any_order; /* the deltas that come first: vanished objects */
    struct rng rng;
    unsigned rv;
    unsigned uid;
};

static void note(struct notes *l, struct note n)
{
    assert_true(l->n < ARRAY_LEN(l->v));
    object_ref(n.object);
    l->v[l->n++] = n;
}

static void clear_notes(struct notes *l)
{
    for (size_t i = 0; i < l->n; i++)
        object_unref(&l->v[i].object);
    l->n = 0;
}

/* The store has changed already when a delta is sent. */
static void on_delta(void *arg, const struct delta *d)
{
    struct world *w = arg;
    struct object *is = store_get(w->store, object_key(d->object));

    if (d->type == DELTA_LEFT)
        assert_null(is);
    else if (d->type == DELTA_DELETED)
        assert_true(is == NULL || !str_eq(object_uid(is), object_uid(d->object)));
    else
        assert_ptr_equal(is, d->object);
    assert_int_equal(d->received_ns, 77);
    note(&w->got, (struct note){d->type, d->cause, d->object, d->final_state_unknown});
}

static uint64_t pick(struct world *w, uint64_t n)
{
    return rng_between(&w->rng, 0, n - 1);
}

static struct object *make(size_t key, unsigned uid, unsigned rv)
{
    char k[32];
    char u[16];
    char r[16];
    char data[32];

    snprintf(k, sizeof(k), "p%zu/k%zu", key / KEYS, key % KEYS);
    snprintf(u, sizeof(u), "u%u", uid);
    snprintf(r, sizeof(r), "%u", rv);
    snprintf(data, sizeof(data), "\"a\":%u", rv / 2 * 1000);
    return objects_make(k, u, r, data);
}

static struct object *same_uid(struct world *w, size_t key, const char *rv)
{
    const struct object *o = w->model.at[key];
    char *k = mem_strndup(object_key(o).p, object_key(o).n);
    char *u = mem_strndup(object_uid(o).p, object_uid(o).n);
    struct object *made = objects_make(k, u, rv, "\"a\":1");

    free(k);
    free(u);
    return made;
}

/* A state that a server may show for the key next; the caller has one reference. */
static struct object *next_state(struct world *w, size_t key)
{
    const struct object *o = w->model.at[key];
    char rv[16];

    if (o == NULL || pick(w, 4) == 0)
        return make(key, ++w->uid, ++w->rv);
    snprintf(rv, sizeof(rv), "%.*s", STR_ARG(object_rv(o)));
    if (pick(w, 2) == 0)
        snprintf(rv, sizeof(rv), "%u", ++w->rv);
    return same_uid(w, key, rv);
}

static bool same(const struct object *a, const struct object *b)
{
    return str_eq(object_uid(a), object_uid(b)) && str_eq(object_rv(a), object_rv(b));
}

static void set_model(struct world *w, size_t key, struct object *o)
{
    object_unref(&w->model.at[key]);
    w->model.at[key] = o != NULL ? object_ref(o) : NULL;
}

/* The key has state o: the delta that must come, after the deletes of a list or at once by a
 * watch. */
static void want_state(struct world *w, size_t key, struct object *o, enum delta_cause cause)
{
    const struct object *was = w->model.at[key];
    bool fresh = was == NULL || !str_eq(object_uid(was), object_uid(o));

    if (was != NULL && same(was, o))
        return;
    note(&w->want, (struct note){fresh ? DELTA_ADDED : DELTA_MODIFIED, cause, o, false});
    set_model(w, key, o);
}

/* The object that exists ends: as LEFT if it is the incarnation of left, which is not selected. */
static void want_gone(struct world *w, size_t key, const struct object *left,
                      enum delta_cause cause)
{
    struct object *was = w->model.at[key];
    bool same = left != NULL && str_eq(object_uid(was), object_uid(left));

    note(&w->want, (struct note){same ? DELTA_LEFT : DELTA_DELETED, cause, was, !same});
    set_model(w, key, NULL);
}

/* The object ends unless next is the same incarnation. */
static void want_end(struct world *w, size_t key, const struct object *next, enum delta_cause cause)
{
    struct object *was = w->model.at[key];

    if (was != NULL && (next == NULL || !str_eq(object_uid(was), object_uid(next))))
        note(&w->want, (struct note){DELTA_DELETED, cause, was, true});
}

static void check_content(struct world *w)
{
    struct object **sorted = store_sorted(w->store);
    size_t n = 0;
    size_t bytes = 0;

    for (size_t i = 0; i < ALL; i++) {
        struct object *o = w->model.at[i];

        if (o == NULL)
            continue;
        assert_true(same(sorted[n], o));
        assert_ptr_equal(store_get(w->store, object_key(o)), sorted[n]);
        bytes += object_bytes(sorted[n]);
        n++;
    }
    assert_int_equal(store_count(w->store), n);
    assert_int_equal(store_bytes(w->store), bytes);
    free(sorted);
}

static bool note_eq(const struct note *a, const struct note *b)
{
    return a->type == b->type && a->cause == b->cause && a->unknown == b->unknown &&
           str_eq(object_key(a->object), object_key(b->object)) && same(a->object, b->object);
}

static void check_notes(struct world *w)
{
    assert_int_equal(w->got.n, w->want.n);
    for (size_t i = 0; i < w->want_any_order; i++) {
        size_t found = 0;

        for (size_t k = 0; k < w->want_any_order; k++)
            found += note_eq(&w->want.v[i], &w->got.v[k]);
        assert_int_equal(found, 1);
    }
    for (size_t i = w->want_any_order; i < w->want.n; i++)
        assert_true(note_eq(&w->want.v[i], &w->got.v[i]));
    clear_notes(&w->got);
    clear_notes(&w->want);
    w->want_any_order = 0;
}

enum listed_as { LISTED, TOO_BIG, NOT_SELECTED, TAKEN_BACK };

/* A list of one scope, in a random order. */
struct listing {
    size_t keys[KEYS];
    struct object *items[KEYS];
    enum listed_as as[KEYS];
    bool named[ALL];
    size_t n;
};

static void make_listing(struct world *w, size_t scope, struct listing *l)
{
    static const enum listed_as as[] = {LISTED,  LISTED,       LISTED,     LISTED, LISTED,
                                        TOO_BIG, NOT_SELECTED, TAKEN_BACK, LISTED};

    *l = (struct listing){0};
    for (size_t tries = 0; tries < KEYS; tries++) {
        size_t key = scope * KEYS + pick(w, KEYS);

        if (l->named[key] || pick(w, 4) == 0)
            continue;
        l->named[key] = true;
        l->keys[l->n] = key;
        l->as[l->n] = as[pick(w, ARRAY_LEN(as))];
        l->items[l->n++] = next_state(w, key);
    }
}

/* Another state of the key that the same list may have had before. */
static void stage_older(struct world *w, size_t scope, size_t key)
{
    struct object *older = make(key, ++w->uid, ++w->rv);

    if (pick(w, 6) == 0)
        store_stage(w->store, scope, older);
    if (pick(w, 6) == 0)
        store_stage_left(w->store, scope, older);
    object_unref(&older);
}

static void stage_item(struct world *w, size_t scope, struct object *o, enum listed_as as)
{
    switch (as) {
    case LISTED:
        store_stage(w->store, scope, o);
        break;
    case TOO_BIG:
        store_stage_kept(
            w->store, scope,
            &(struct unusable){.key = object_key(o), .name = object_key(o), .why = ""});
        break;
    case NOT_SELECTED:
        store_stage_left(w->store, scope, o);
        break;
    case TAKEN_BACK: /* by a DELETED among initial events */
        if (pick(w, 2) == 0)
            store_stage(w->store, scope, o);
        else
            store_stage_left(w->store, scope, o);
        store_unstage(w->store, scope, object_key(o));
        break;
    }
}

static void stage(struct world *w, size_t scope, const struct listing *l)
{
    store_begin(w->store, scope);
    for (size_t i = 0; i < l->n; i++) {
        if (l->as[i] != TOO_BIG) /* the later item counts */
            stage_older(w, scope, l->keys[i]);
        stage_item(w, scope, l->items[i], l->as[i]);
    }
    assert_int_equal(w->got.n, 0);
    check_content(w); /* staged objects are not seen before commit */
}

static void want_vanished(struct world *w, size_t scope, const struct listing *l)
{
    for (size_t key = scope * KEYS; key < (scope + 1) * KEYS; key++)
        if (!l->named[key] && w->model.at[key] != NULL)
            want_gone(w, key, NULL, CAUSE_RELIST);
    for (size_t i = 0; i < l->n; i++) {
        if (w->model.at[l->keys[i]] == NULL)
            continue;
        if (l->as[i] == NOT_SELECTED)
            want_gone(w, l->keys[i], l->items[i], CAUSE_RELIST);
        else if (l->as[i] == TAKEN_BACK)
            want_gone(w, l->keys[i], NULL, CAUSE_RELIST);
    }
    w->want_any_order = w->want.n;
}

static void want_commit(struct world *w, size_t scope, const struct listing *l)
{
    want_vanished(w, scope, l);
    for (size_t i = 0; i < l->n; i++)
        if (l->as[i] == LISTED)
            want_end(w, l->keys[i], l->items[i], CAUSE_RELIST);
    for (size_t i = 0; i < l->n; i++)
        if (l->as[i] == LISTED)
            want_state(w, l->keys[i], l->items[i], CAUSE_RELIST);
}

static size_t count_deletes(const struct notes *l)
{
    size_t n = 0;

    for (size_t i = 0; i < l->n; i++)
        n += l->v[i].type == DELTA_DELETED;
    return n;
}

static void step_list(struct world *w)
{
    size_t scope = pick(w, SCOPES);
    struct listing l;

    make_listing(w, scope, &l);
    stage(w, scope, &l);
    if (pick(w, 3) == 0) {
        if (pick(w, 2) == 0)
            store_abort(w->store, scope); /* else the next store_begin() forgets the list */
    } else {
        want_commit(w, scope, &l);
        assert_int_equal(store_would_delete(w->store, scope), count_deletes(&w->want));
        store_commit(w->store, scope, CAUSE_RELIST, (struct now){77, 77});
    }
    for (size_t i = 0; i < l.n; i++)
        object_unref(&l.items[i]);
}

static void step_leave(struct world *w, size_t key)
{
    struct object *o = next_state(w, key);

    if (w->model.at[key] != NULL)
        want_gone(w, key, o, CAUSE_WATCH);
    store_leave(w->store, o, (struct now){77, 77});
    object_unref(&o);
}

static void step_remove(struct world *w, size_t key)
{
    struct object *was = w->model.at[key];
    struct object *last = next_state(w, key);

    if (was != NULL) {
        bool known = str_eq(object_uid(was), object_uid(last));

        note(&w->want, (struct note){DELTA_DELETED, CAUSE_WATCH, known ? last : was, !known});
        set_model(w, key, NULL);
    }
    store_remove(w->store, last, (struct now){77, 77});
    object_unref(&last);
}

static void step_event(struct world *w)
{
    size_t key = pick(w, ALL);

    if (pick(w, 3) == 0) {
        step_remove(w, key);
        return;
    }
    if (pick(w, 6) == 0) {
        step_leave(w, key);
        return;
    }
    struct object *o = next_state(w, key);
    want_end(w, key, o, CAUSE_WATCH);
    want_state(w, key, o, CAUSE_WATCH);
    store_apply(w->store, key / KEYS, o, (struct now){77, 77});
    object_unref(&o);
}

static void run_program(uint64_t seed)
{
    struct world w = {0};

    rng_seed(&w.rng, seed);
    w.store = store_create(SCOPES, on_delta, &w);
    for (size_t i = 0; i < STEPS; i++) {
        if (pick(&w, 3) == 0)
            step_list(&w);
        else
            step_event(&w);
        check_notes(&w);
        check_content(&w);
    }
    store_destroy(&w.store);
    assert_null(w.store);
    assert_int_equal(w.got.n, 0); /* destroying the store reports no delta */
    for (size_t i = 0; i < ALL; i++)
        object_unref(&w.model.at[i]);
}

static void test_random_programs_agree_with_a_naive_array(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < campaign_size(500, 2500); seed++)
        run_program(seed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random_programs_agree_with_a_naive_array),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
