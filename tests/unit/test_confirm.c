/* SPDX-License-Identifier: Apache-2.0 */
/* cache/confirm in virtual time: when DELETED passes it, which other deltas do, order, retries,
 * patience; and random programs against an oracle. */
#include "objects.h"

#include <stdio.h>
#include <string.h>

#include "base/compiler.h"
#include "base/mem.h"
#include "base/rng.h"
#include "cache/confirm.h"
#include "campaign.h"

struct rig {
    struct confirm *confirm;
    struct buf said; /* "LEFT a/x u1;" for each delta that came out */
    struct delta last;
    struct object *last_object;
};

static void on_delta(void *arg, const struct delta *d)
{
    struct rig *r = arg;

    buf_printf(&r->said, "%s %.*s %.*s;", delta_type_name(d->type), STR_ARG(object_key(d->object)),
               STR_ARG(object_uid(d->object)));
    object_unref(&r->last_object);
    r->last_object = object_ref(d->object);
    r->last = *d;
}

static void set_up(struct rig *r)
{
    *r = (struct rig){.confirm = confirm_create(on_delta, r)};
}

static void drop(struct rig *r)
{
    confirm_destroy(&r->confirm);
    assert_null(r->confirm);
    object_unref(&r->last_object);
    buf_free(&r->said);
}

static void take(struct rig *r, enum delta_type type, const char *key, const char *uid,
                 uint64_t now_ms)
{
    struct object *o = objects_make(key, uid, "7", NULL);

    confirm_take(r->confirm, &(struct delta){.type = type,
                                             .cause = CAUSE_RELIST,
                                             .object = o,
                                             .final_state_unknown = type == DELTA_DELETED,
                                             .received_ns = 42,
                                             .now_ms = now_ms});
    object_unref(&o);
}

static void assert_said(struct rig *r, const char *text)
{
    assert_string_equal(buf_cstr(&r->said), text);
    buf_clear(&r->said);
}

static void assert_next(const struct rig *r, const char *key, uint64_t now_ms)
{
    const struct object *o = confirm_next(r->confirm, now_ms);

    assert_non_null(o);
    assert_true(str_is(object_key(o), key));
}

/* Answers the GET that is made next, which must be for this key. */
static void ask(struct rig *r, const char *key, enum confirm_answer answer, uint64_t now_ms)
{
    assert_next(r, key, now_ms);
    confirm_started(r->confirm, now_ms);
    assert_null(confirm_next(r->confirm, now_ms));
    confirm_answer(r->confirm, answer, now_ms);
}

static void test_other_deltas_pass_at_once(void **state)
{
    struct rig r;

    (void)state;
    set_up(&r);
    take(&r, DELTA_ADDED, "a/x", "u1", 0);
    take(&r, DELTA_MODIFIED, "a/x", "u1", 0);
    take(&r, DELTA_LEFT, "a/x", "u1", 0);
    assert_said(&r, "ADDED a/x u1;MODIFIED a/x u1;LEFT a/x u1;");
    assert_null(confirm_next(r.confirm, 0));
    assert_int_equal(confirm_due_ms(r.confirm), UINT64_MAX);
    drop(&r);
}

static void test_gone_is_deleted_as_it_came(void **state)
{
    struct rig r;

    (void)state;
    set_up(&r);
    take(&r, DELTA_DELETED, "a/x", "u1", 5);
    assert_said(&r, "");
    assert_int_equal(confirm_count(r.confirm), 1);
    assert_true(confirm_due_ms(r.confirm) <= 5);
    ask(&r, "a/x", CONFIRM_GONE, 10);
    assert_said(&r, "DELETED a/x u1;");
    assert_true(r.last.final_state_unknown);
    assert_int_equal(r.last.cause, CAUSE_RELIST);
    assert_int_equal(r.last.received_ns, 42);
    assert_int_equal(confirm_count(r.confirm), 0);
    drop(&r);
}

static void test_same_is_left(void **state)
{
    struct rig r;

    (void)state;
    set_up(&r);
    take(&r, DELTA_DELETED, "a/x", "u1", 5);
    ask(&r, "a/x", CONFIRM_SAME, 10);
    assert_said(&r, "LEFT a/x u1;");
    assert_false(r.last.final_state_unknown);
    assert_int_equal(r.last.cause, CAUSE_RELIST);
    assert_true(str_is(object_rv(r.last_object), "7"));
    drop(&r);
}

static void test_a_later_incarnation_shows_that_the_object_was_deleted(void **state)
{
    struct rig r;

    (void)state;
    set_up(&r);
    take(&r, DELTA_DELETED, "a/x", "u1", 0);
    take(&r, DELTA_ADDED, "a/x", "u2", 1);
    assert_said(&r, "DELETED a/x u1;ADDED a/x u2;");
    take(&r, DELTA_DELETED, "a/x", "u2", 2);
    take(&r, DELTA_ADDED, "a/x", "u2", 3);
    assert_said(&r, "LEFT a/x u2;ADDED a/x u2;");
    take(&r, DELTA_DELETED, "a/x", "u2", 4);
    take(&r, DELTA_DELETED, "a/x", "u2", 5);
    assert_said(&r, "DELETED a/x u2;");
    assert_int_equal(confirm_count(r.confirm), 1);
    drop(&r);
}

static void test_no_key_waits_for_another(void **state)
{
    struct rig r;

    (void)state;
    set_up(&r);
    take(&r, DELTA_DELETED, "a/x", "u1", 0);
    take(&r, DELTA_ADDED, "a/y", "u2", 1);
    assert_said(&r, "ADDED a/y u2;");
    take(&r, DELTA_DELETED, "a/y", "u2", 2);
    take(&r, DELTA_DELETED, "a/z", "u3", 3);
    ask(&r, "a/x", CONFIRM_GONE, 4);
    ask(&r, "a/y", CONFIRM_SAME, 4);
    ask(&r, "a/z", CONFIRM_GONE, 4);
    assert_said(&r, "DELETED a/x u1;LEFT a/y u2;DELETED a/z u3;");
    drop(&r);
}

static void test_a_late_answer_is_ignored(void **state)
{
    struct rig r;

    (void)state;
    set_up(&r);
    take(&r, DELTA_DELETED, "a/x", "u1", 0);
    confirm_started(r.confirm, 0);
    take(&r, DELTA_ADDED, "a/x", "u2", 1);
    take(&r, DELTA_DELETED, "a/x", "u2", 2);
    assert_said(&r, "DELETED a/x u1;ADDED a/x u2;");
    assert_null(confirm_next(r.confirm, 3));
    confirm_answer(r.confirm, CONFIRM_SAME, 3);
    assert_said(&r, "");
    ask(&r, "a/x", CONFIRM_GONE, 3);
    assert_said(&r, "DELETED a/x u2;");
    drop(&r);
}

static void test_a_get_without_an_answer_is_made_again_later(void **state)
{
    struct rig r;

    (void)state;
    set_up(&r);
    take(&r, DELTA_DELETED, "a/x", "u1", 0);
    take(&r, DELTA_DELETED, "a/y", "u2", 0);
    ask(&r, "a/x", CONFIRM_NO_ANSWER, 0);
    assert_null(confirm_next(r.confirm, CONFIRM_RETRY_MS - 1));
    assert_int_equal(confirm_due_ms(r.confirm), CONFIRM_RETRY_MS);
    ask(&r, "a/y", CONFIRM_NO_ANSWER, 250);
    assert_int_equal(confirm_due_ms(r.confirm), 750);
    ask(&r, "a/x", CONFIRM_NO_ANSWER, 750);
    assert_int_equal(confirm_due_ms(r.confirm), 1750);
    ask(&r, "a/y", CONFIRM_NO_ANSWER, 1750);
    ask(&r, "a/x", CONFIRM_NO_ANSWER, 3750);
    assert_int_equal(confirm_due_ms(r.confirm), 3750 + CONFIRM_RETRY_MAX_MS);
    ask(&r, "a/y", CONFIRM_SAME, 7750);
    assert_said(&r, "LEFT a/y u2;");
    ask(&r, "a/x", CONFIRM_NO_ANSWER, 7750);
    assert_int_equal(confirm_due_ms(r.confirm), 8000);
    drop(&r);
}

static void test_patience_ends(void **state)
{
    struct rig r;

    (void)state;
    set_up(&r);
    take(&r, DELTA_DELETED, "a/x", "u1", 100);
    take(&r, DELTA_DELETED, "a/y", "u2", 200);
    confirm_started(r.confirm, 200);
    assert_int_equal(confirm_due_ms(r.confirm), 100 + CONFIRM_PATIENCE_MS);
    confirm_tick(r.confirm, 99 + CONFIRM_PATIENCE_MS);
    assert_said(&r, "");
    confirm_tick(r.confirm, 100 + CONFIRM_PATIENCE_MS);
    assert_said(&r, "DELETED a/x u1;");
    assert_true(r.last.final_state_unknown);
    confirm_answer(r.confirm, CONFIRM_SAME, 150 + CONFIRM_PATIENCE_MS);
    assert_said(&r, "");
    confirm_tick(r.confirm, 200 + CONFIRM_PATIENCE_MS);
    assert_said(&r, "DELETED a/y u2;");
    assert_int_equal(confirm_due_ms(r.confirm), UINT64_MAX);
    drop(&r);
}

static void test_destroy_reports_no_delta(void **state)
{
    struct rig r;

    (void)state;
    set_up(&r);
    take(&r, DELTA_DELETED, "a/x", "u1", 0);
    take(&r, DELTA_DELETED, "a/y", "u1", 0);
    confirm_started(r.confirm, 0);
    drop(&r);
    confirm_destroy(&r.confirm);
}

enum { KEYS = 4, STEPS = 60, WAITING = 4 };

/* The deltas that must still come out for a key, in this order. */
struct line {
    struct {
        struct object *object;
        enum delta_type type;
    } v[WAITING];
    uint64_t since_ms; /* since when a DELETED is held */
    size_t n;
};

struct world {
    struct confirm *confirm;
    struct rng rng;
    uint64_t now_ms;
    struct line lines[KEYS];
    unsigned cached[KEYS]; /* uid, 0 = not in the cache */
    unsigned uids;
    enum delta_type held_as; /* the event as which a held DELETED may come out now */
    bool may;                /* may it come out at all? */
    bool ticking;            /* only after the patience of confirm */
    unsigned asked;          /* key + 1 of the GET under way, 0 = none */
    bool answerable;         /* the DELETED is still held */
};

static size_t key_index(const struct object *o)
{
    struct str key = object_key(o);

    return (size_t)(key.p[key.n - 1] - '0');
}

static void judge(void *arg, const struct delta *d)
{
    struct world *w = arg;
    size_t k = key_index(d->object);
    struct line *l = &w->lines[k];
    bool held = l->n > 0 && l->v[0].type == DELTA_DELETED;

    assert_true(l->n > 0);
    assert_ptr_equal(l->v[0].object, d->object);
    assert_int_equal(d->type, held ? w->held_as : l->v[0].type);
    assert_true(!held || w->may);
    assert_true(!w->ticking || w->now_ms >= l->since_ms + CONFIRM_PATIENCE_MS);
    assert_int_equal(d->final_state_unknown, held && d->type == DELTA_DELETED);
    if (held && w->asked == k + 1)
        w->answerable = false;
    object_unref(&l->v[0].object);
    l->n--;
    memmove(l->v, l->v + 1, l->n * sizeof(l->v[0]));
}

static void give(struct world *w, size_t k, enum delta_type type, unsigned uid)
{
    struct line *l = &w->lines[k];
    char key[8];
    char text[16];

    (void)snprintf(key, sizeof(key), "a/%zu", k);
    (void)snprintf(text, sizeof(text), "u%u", uid);
    struct object *o = objects_make(key, text, "7", NULL);
    bool same = l->n > 0 && str_eq(object_uid(l->v[0].object), object_uid(o));
    w->held_as = same && type != DELTA_DELETED ? DELTA_LEFT : DELTA_DELETED;
    w->may = l->n > 0;
    l->v[l->n].object = o; /* with the reference */
    l->v[l->n++].type = type;
    confirm_take(w->confirm, &(struct delta){.type = type,
                                             .object = o,
                                             .final_state_unknown = type == DELTA_DELETED,
                                             .now_ms = w->now_ms});
    w->may = false;
    assert_int_equal(l->n, type == DELTA_DELETED ? 1 : 0);
    if (type == DELTA_DELETED)
        l->since_ms = w->now_ms;
}

/* Gives confirm a delta that a store may report next for one of the keys. */
static void change(struct world *w)
{
    size_t k = (size_t)rng_between(&w->rng, 0, KEYS - 1);
    unsigned choice = (unsigned)rng_between(&w->rng, 0, 3);
    const struct line *l = &w->lines[k];

    if (w->cached[k] == 0) {
        char text[16];
        unsigned last = w->uids;

        (void)snprintf(text, sizeof(text), "u%u", last);
        bool back = l->n > 0 && choice == 0 && str_is(object_uid(l->v[0].object), text);
        w->cached[k] = back ? last : ++w->uids;
        give(w, k, DELTA_ADDED, w->cached[k]);
        return;
    }
    if (choice == 0) {
        give(w, k, DELTA_MODIFIED, w->cached[k]);
        return;
    }
    give(w, k, choice == 1 ? DELTA_LEFT : DELTA_DELETED, w->cached[k]);
    w->cached[k] = 0;
}

static void begin_get(struct world *w)
{
    const struct object *o = confirm_next(w->confirm, w->now_ms);

    if (o == NULL)
        return;
    assert_int_equal(w->asked, 0);
    w->asked = (unsigned)key_index(o) + 1;
    w->answerable = true;
    assert_int_equal(w->lines[w->asked - 1].n, 1);
    confirm_started(w->confirm, w->now_ms);
}

static void end_get(struct world *w)
{
    enum confirm_answer answer = (enum confirm_answer)rng_between(&w->rng, 0, 2);

    if (w->asked == 0)
        return;
    const struct line *l = &w->lines[w->asked - 1];
    size_t before = l->n;
    bool out = w->answerable && answer != CONFIRM_NO_ANSWER;
    w->may = out;
    w->held_as = answer == CONFIRM_SAME ? DELTA_LEFT : DELTA_DELETED;
    w->asked = 0;
    confirm_answer(w->confirm, answer, w->now_ms);
    w->may = false;
    assert_int_equal(l->n, out ? before - 1 : before);
}

static void pass_time(struct world *w, uint64_t ms)
{
    w->now_ms += ms;
    w->held_as = DELTA_DELETED;
    w->may = w->ticking = true;
    confirm_tick(w->confirm, w->now_ms);
    w->may = w->ticking = false;
    for (size_t k = 0; k < KEYS; k++)
        assert_true(w->lines[k].n == 0 || w->now_ms < w->lines[k].since_ms + CONFIRM_PATIENCE_MS);
}

static size_t waiting(const struct world *w)
{
    size_t n = 0;

    for (size_t k = 0; k < KEYS; k++)
        n += w->lines[k].n;
    return n;
}

static void step(struct world *w)
{
    switch (rng_between(&w->rng, 0, 5)) {
    case 0:
        begin_get(w);
        break;
    case 1:
        end_get(w);
        break;
    case 2:
        pass_time(w, rng_between(&w->rng, 0, 9) == 0 ? 20000 : rng_between(&w->rng, 0, 900));
        break;
    default:
        change(w);
        break;
    }
    assert_int_equal(confirm_count(w->confirm), waiting(w));
    assert_true(waiting(w) == 0 || confirm_due_ms(w->confirm) <= w->now_ms + CONFIRM_PATIENCE_MS);
}

static void test_random_programs_against_an_oracle(void **state)
{
    (void)state;
    for (int program = 0; program < (int)campaign_size(600, 3000); program++) {
        struct world w = {.now_ms = 1};

        rng_seed(&w.rng, (uint64_t)program);
        w.confirm = confirm_create(judge, &w);
        for (int i = 0; i < STEPS; i++)
            step(&w);
        pass_time(&w, CONFIRM_PATIENCE_MS);
        assert_int_equal(waiting(&w), 0);
        assert_int_equal(confirm_count(w.confirm), 0);
        assert_int_equal(confirm_due_ms(w.confirm), UINT64_MAX);
        confirm_destroy(&w.confirm);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_other_deltas_pass_at_once),
        cmocka_unit_test(test_gone_is_deleted_as_it_came),
        cmocka_unit_test(test_same_is_left),
        cmocka_unit_test(test_a_later_incarnation_shows_that_the_object_was_deleted),
        cmocka_unit_test(test_no_key_waits_for_another),
        cmocka_unit_test(test_a_late_answer_is_ignored),
        cmocka_unit_test(test_a_get_without_an_answer_is_made_again_later),
        cmocka_unit_test(test_patience_ends),
        cmocka_unit_test(test_destroy_reports_no_delta),
        cmocka_unit_test(test_random_programs_against_an_oracle),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
