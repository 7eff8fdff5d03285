/* SPDX-License-Identifier: Apache-2.0 */
#include "delivery_rig.h"

/* What makes a delivery illegal. */

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

static void spoil_handled_successor(struct delivery *dl)
{
    known_copy(&dl->handled, &dl->delivered);
}

static void spoil_twin(struct delivery *dl)
{
    known_copy(&dl->successor, &dl->delivered);
}

static void spoil_attempted(struct delivery *dl)
{
    dl->attempted = !dl->attempted;
}

static void spoil_skipped(struct delivery *dl)
{
    dl->skipped = true;
}

static void spoil_inherited(struct delivery *dl)
{
    dl->inherited = true;
}

static void spoil_end(struct delivery *dl)
{
    object_unref(&dl->pending_delete.object);
}

static void spoil_next_end(struct delivery *dl)
{
    delivery_event_set(&dl->successor_delete, &dl->pending_delete);
}

static void spoil_life(struct delivery *dl)
{
    object_unref(&dl->newest.object);
    dl->newest.object = object_ref(dl->pending_delete.object);
}

static void spoil_superseded(struct delivery *dl)
{
    dl->superseded = true;
}

static void spoil_matter(struct delivery *dl)
{
    dl->last_was_end = false;
}

static void spoil_parked(struct delivery *dl)
{
    dl->parked_at = 1;
}

static void spoil_parked_time(struct delivery *dl)
{
    dl->parked_ms = 1;
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

static void test_facts_that_contradict_each_other_are_illegal(void **state)
{
    static const struct {
        void (*begin)(void);
        void (*spoil)(struct delivery *dl);
    } cases[] = {
        {handle,             spoil_uid              },
        {handle,             spoil_delivered        },
        {handle,             spoil_handled          },
        {handle,             spoil_superseded       },
        {handle,             spoil_parked           },
        {handle,             spoil_parked_time      },
        {handle,             spoil_paths            },
        {handle,             spoil_existing         },
        {handle,             spoil_restored         },
        {handle,             spoil_pins             },
        {handle,             spoil_twin             },
        {handle_and_attempt, spoil_delivered        },
        {handle_and_attempt, spoil_skipped          },
        {add,                spoil_attempted        },
        {add,                spoil_inherited        },
        {end,                spoil_end              },
        {end,                spoil_life             },
        {end,                spoil_superseded       },
        {end,                spoil_parked_time      },
        {supersede,          spoil_matter           },
        {supersede,          spoil_attempted        },
        {supersede,          spoil_handled_successor},
        {follow,             spoil_handled_successor},
        {follow,             spoil_attempted        },
        {follow,             spoil_delivered        },
        {follow,             spoil_twin             },
        {follow,             spoil_next_end         },
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_facts_that_contradict_each_other_are_illegal,
                                        delivery_rig_set_up, delivery_rig_clean_up),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
