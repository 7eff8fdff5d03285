/* SPDX-License-Identifier: Apache-2.0 */
#include "delivery_rig.h"

#include <stdio.h>
#include <string.h>

#include "base/rng.h"
#include "hook/delivery_log.h"

/* The rules that a legal delivery keeps. */

static bool is_legal(void)
{
    return delivery_is_legal(&delivery_rig.queue, delivery_rig_delivery());
}

/* Deliveries to spoil, each of them legal. */

static void handle(void)
{
    delivery_rig_add_handled("u1", NULL);
}

static void handle_and_attempt(void)
{
    handle();
    delivery_rig_change(DELTA_MODIFIED, "u1", "\"a\":2");
    delivery_rig_run(false);
}

static void end(void)
{
    handle();
    delivery_rig_change(DELTA_DELETED, "u1", NULL);
}

static void supersede(void)
{
    delivery_rig_replace(DELTA_DELETED);
    delivery_rig_supersede_end();
}

static void follow(void)
{
    delivery_rig_replace(DELTA_DELETED);
    delivery_rig_run(false);
}

/* The first incarnation is back, the second one has ended. */
static void follow_back(void)
{
    follow();
    delivery_rig_change(DELTA_DELETED, "u2", NULL);
    delivery_rig_change(DELTA_ADDED, "u1", NULL);
}

static void add(void)
{
    delivery_rig_change(DELTA_ADDED, "u1", NULL);
}

static void spoil_uid(struct delivery *dl)
{
    known_trace(&dl->handled, str_c("u9"), (struct digest){0});
}

static void spoil_delivered(struct delivery *dl)
{
    known_set(&dl->delivered, NULL);
}

static void spoil_handled(struct delivery *dl)
{
    known_set(&dl->handled, NULL);
}

static void spoil_unhandled(struct delivery *dl)
{
    known_copy(&dl->handled, &dl->delivered);
}

static void spoil_twin(struct delivery *dl)
{
    known_copy(&delivery_ends_of(dl)->successor, &dl->delivered);
}

static void spoil_nothing(struct delivery *dl)
{
    dl->state = DELIVERED_NOTHING;
}

static void spoil_attempted(struct delivery *dl)
{
    dl->state = DELIVERED_ATTEMPTED;
}

static void spoil_reattempted(struct delivery *dl)
{
    dl->state = DELIVERED_REATTEMPTED;
}

static void spoil_renewed(struct delivery *dl)
{
    dl->state = DELIVERED_RENEWED;
}

static void spoil_superseded(struct delivery *dl)
{
    dl->state = DELIVERED_SUPERSEDED;
}

static void spoil_followed(struct delivery *dl)
{
    dl->state = DELIVERED_FOLLOWED;
}

static void spoil_inherited(struct delivery *dl)
{
    dl->inherited = true;
}

static void spoil_end(struct delivery *dl)
{
    object_unref(&dl->ends->pending_delete.object);
}

static void spoil_next_end(struct delivery *dl)
{
    delivery_event_set(&dl->ends->successor_delete, delivery_end(dl));
}

static void spoil_ends(struct delivery *dl)
{
    delivery_ends_of(dl);
}

static void spoil_life(struct delivery *dl)
{
    object_unref(&dl->newest.object);
    dl->newest.object = object_ref(delivery_end(dl)->object);
}

static void spoil_matter(struct delivery *dl)
{
    dl->last_was_end = false;
}

static void spoil_parked(struct delivery *dl)
{
    dl->ends->parked_at = 1;
}

static void spoil_paths(struct delivery *dl)
{
    delivery_set_paths(dl, str_c("data.a\n"));
}

static void spoil_existing(struct delivery *dl)
{
    dl->existing = true;
    delivery_rig.queue.existing_left++;
}

static void spoil_restored(struct delivery *dl)
{
    dl->restored = true;
}

static void spoil_pins(struct delivery *dl)
{
    dl->pins = 3;
}

static void spoil_work_item(struct delivery *dl)
{
    static struct work_item work_item;

    dl->work_item = &work_item;
}

static void test_facts_that_contradict_each_other_are_illegal(void **state)
{
    static const struct {
        void (*begin)(void);
        void (*spoil)(struct delivery *dl);
    } cases[] = {
        {handle,             spoil_uid        },
        {handle,             spoil_delivered  },
        {handle,             spoil_handled    },
        {handle,             spoil_nothing    },
        {handle,             spoil_attempted  },
        {handle,             spoil_renewed    },
        {handle,             spoil_superseded },
        {handle,             spoil_followed   },
        {handle,             spoil_ends       },
        {handle,             spoil_paths      },
        {handle,             spoil_existing   },
        {handle,             spoil_restored   },
        {handle,             spoil_pins       },
        {handle,             spoil_twin       },
        {handle,             spoil_work_item  },
        {handle_and_attempt, spoil_delivered  },
        {handle_and_attempt, spoil_handled    },
        {handle_and_attempt, spoil_renewed    },
        {add,                spoil_attempted  },
        {add,                spoil_reattempted},
        {add,                spoil_renewed    },
        {add,                spoil_superseded },
        {add,                spoil_followed   },
        {add,                spoil_inherited  },
        {add,                spoil_paths      },
        {end,                spoil_end        },
        {end,                spoil_life       },
        {end,                spoil_superseded },
        {follow_back,        spoil_parked     },
        {supersede,          spoil_matter     },
        {supersede,          spoil_reattempted},
        {supersede,          spoil_unhandled  },
        {follow,             spoil_unhandled  },
        {follow,             spoil_attempted  },
        {follow,             spoil_delivered  },
        {follow,             spoil_twin       },
        {follow,             spoil_next_end   },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        delivery_rig_restart(DELIVERY_RIG_ALL, NULL);
        cases[i].begin();
        assert_true(is_legal());
        cases[i].spoil(delivery_rig_delivery());
        if (is_legal())
            fail_msg("case %zu is legal", i);
    }
}

/* ---- The size of a delivery */

static void put(void *arg, size_t source, const struct delivery_record *m)
{
    (void)arg;
    (void)source;
    (void)m;
}

static void drop(void *arg, size_t source, struct str key, struct str uid)
{
    (void)arg;
    (void)source;
    (void)key;
    (void)uid;
}

static void seen(void *arg, size_t source)
{
    (void)arg;
    (void)source;
}

/* A handled object with its record, without the key: most deliveries are in this state. */
static void test_a_delivery_takes_240_bytes_at_most(void **state)
{
    static const struct delivery_log_sink sink = {put, drop, seen};

    (void)state;
    delivery_rig_add_handled("4e1d9d0a-6c7f-4b52-9f5e-0d6e8a3b2c1f", NULL);
    delivery_log_put(&delivery_rig.queue, &sink, NULL);
    const struct delivery *dl = delivery_rig_delivery();
    assert_true(dl->handled.object == dl->newest.object);
    assert_true(dl->delivered.object == dl->newest.object);
    assert_true(dl->ends == NULL && dl->delivered_paths == NULL && dl->kept[1] == NULL);
    assert_true(sizeof(*dl) + strlen(dl->kept[0]) + 1 <= 240);
    assert_null(dl->work_item); /* not in mode object */
    assert_true(sizeof(*dl->work_item) <= 112);
}

/* ---- Records that contradict themselves or each other. */

enum { STORIES = 20000, STEPS = 6 };

static bool toss(struct rng *rng)
{
    return rng_between(rng, 0, 1) == 1;
}

static const char *pick_uid(struct rng *rng)
{
    static const char *const uids[] = {"u1", "u2", "u3"};

    return uids[rng_between(rng, 0, ARRAY_LEN(uids) - 1)];
}

static void check(void)
{
    struct delivery *dl = delivery_rig_delivery();

    assert_true(dl == NULL || is_legal());
}

static void restore(struct rng *rng)
{
    const struct delivery_record m = {.key = str_c("ns/n"),
                                      .uid = str_c(pick_uid(rng)),
                                      .is_handled = toss(rng),
                                      .is_delivered = toss(rng),
                                      .attempted = toss(rng),
                                      .is_ended = toss(rng),
                                      .note = (uint32_t)rng_next(rng)};

    delivery_log_restore(&delivery_rig.queue, 0, &m, 1);
    check();
}

static void change(struct rng *rng)
{
    struct delivery *dl = delivery_rig_delivery();

    if (dl != NULL && dl->newest.object != NULL && toss(rng)) {
        char uid[8];

        snprintf(uid, sizeof(uid), "%.*s", STR_ARG(object_uid(dl->newest.object)));
        delivery_rig_change(toss(rng) ? DELTA_DELETED : DELTA_LEFT, uid, NULL);
    } else if (dl == NULL || dl->newest.object == NULL) {
        delivery_rig_change(DELTA_ADDED, pick_uid(rng), toss(rng) ? "\"a\":1" : NULL);
    }
    check();
}

/* The run that starts now is not started after all. */
static void not_start(struct rng *rng, size_t most)
{
    struct delivery *dl = delivery_rig_delivery();
    struct delivery_snapshot was[2];
    struct delivery_rig_run r = {0};
    size_t n = delivery_events(&delivery_rig.queue, dl, r.ev);

    for (; r.n < n && r.n < most && filter_takes(&delivery_rig.filter, r.ev[r.n].type); r.n++) {
        object_ref(r.ev[r.n].object);
        was[r.n] = delivery_snapshot_of(dl);
        delivery_started(&delivery_rig.queue, dl, &r.ev[r.n]);
    }
    change(rng);
    for (size_t i = r.n; i-- > 0;) {
        delivery_not_started(&delivery_rig.queue, dl, &was[i]);
        delivery_snapshot_fini(&was[i]);
        object_unref(&r.ev[i].object);
    }
    delivery_failed(&delivery_rig.queue, dl, delivery_rig.now);
}

/* As hook_gives_way() in hook/hook: an end has failed too often. */
static void lose_patience(struct rng *rng)
{
    struct delivery *dl = delivery_rig_delivery();

    if (dl == NULL || !delivery_is_due(dl) || !dl->last_was_end ||
        delivery_is_new_matter(&delivery_rig.queue, dl))
        return;
    if (dl->newest.object != NULL)
        delivery_supersede(&delivery_rig.queue, dl, delivery_rig.now);
    else if (toss(rng))
        delivery_give_up(&delivery_rig.queue, dl, delivery_rig.now);
}

/* A run with the first `most` of the events that are due. */
static void run(struct rng *rng, size_t most)
{
    if (delivery_rig_due()[0] == '\0')
        return;
    if (toss(rng)) {
        not_start(rng, most);
    } else {
        struct delivery_rig_run r = delivery_rig_start(most);

        change(rng);
        delivery_rig_end(r, toss(rng));
        if (most == 1)
            lose_patience(rng);
    }
    check();
}

static void tell_story(struct rng *rng)
{
    size_t most = rng_between(rng, 1, 2); /* mode object; the other modes */

    delivery_rig_fini();
    delivery_rig_init((unsigned)rng_between(rng, 0, DELIVERY_RIG_ALL), NULL);
    for (size_t n = rng_between(rng, 1, 3); n > 0; n--)
        restore(rng);
    if (toss(rng))
        change(rng);
    if (toss(rng))
        delivery_log_renew(&delivery_rig.queue, toss(rng));
    check();
    delivery_queue_open(&delivery_rig.queue, 0, toss(rng), delivery_rig.now);
    for (int i = 0; i < STEPS; i++) {
        check();
        if (toss(rng))
            change(rng);
        else
            run(rng, most);
    }
}

static void test_no_record_makes_a_delivery_illegal(void **state)
{
    struct rng rng;

    (void)state;
    rng_seed(&rng, 1);
    for (int i = 0; i < STORIES; i++)
        tell_story(&rng);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_facts_that_contradict_each_other_are_illegal,
                                        delivery_rig_set_up, delivery_rig_clean_up),
        cmocka_unit_test_setup_teardown(test_a_delivery_takes_240_bytes_at_most,
                                        delivery_rig_set_up, delivery_rig_clean_up),
        cmocka_unit_test_setup_teardown(test_no_record_makes_a_delivery_illegal,
                                        delivery_rig_set_up, delivery_rig_clean_up),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
