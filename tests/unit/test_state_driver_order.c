/* SPDX-License-Identifier: Apache-2.0 */
/* io/state_driver with one worker, which carries out writes and syncs in the order in which they
 * were given. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "play_clock.h"
#include "state_driver_rig.h"
#include "worker_gate.h"

/* After so long an object is written, and a sync is due. */
enum { SOON_MS = 100, SYNC_IS_DUE_MS = 1000 };

static void test_a_loss_that_write_and_sync_see_is_one(void **state)
{
    struct state_driver_rig r;
    struct worker_gate gate;

    (void)state;
    state_driver_rig_init(&r, true);
    state_driver_rig_delivery(&r, "a", 1);
    assert_true(state_driver_rig_commit(&r));
    assert_int_equal(unlink(r.state.folder->db), 0);
    worker_gate_close(&gate, r.loop);
    state_driver_rig_delivery(&r, "b", 1);
    state_driver_rig_turn(&r); /* the write is given to the worker, and then the sync */
    play_clock_pass(SYNC_IS_DUE_MS);
    state_driver_rig_turn(&r);
    worker_gate_open(&gate);
    while (r.losses == 0)
        state_driver_rig_until(&r, true);
    assert_true(state_driver_rig_commit(&r));
    assert_int_equal(r.losses, 1);
    state_driver_rig_stop(&r);
    state_rig_expect(&r.state, "mark 5 again u note 0 told 1\n");
    state_driver_rig_fini(&r);
}

static void commits_are(struct state_driver_rig *r, uint64_t count)
{
    while (state_driver_status(r->state_driver).commits < count)
        state_driver_rig_until(r, true);
}

static void test_an_object_that_comes_during_a_write_is_written_soon(void **state)
{
    struct state_driver_rig r;
    struct worker_gate gate;

    (void)state;
    play_clock_stop();
    state_driver_rig_init(&r, true);
    worker_gate_close(&gate, r.loop);
    state_driver_rig_delivery(&r, "a", 1);
    state_driver_rig_turn(&r); /* the write is given to the worker */
    state_driver_rig_object(&r, "a", "{1}", STATE_DRIVER_SOON);
    state_driver_rig_turn(&r);
    worker_gate_open(&gate);
    commits_are(&r, 1);
    state_driver_rig_turn(&r); /* SOON_MS counts from the turn after the write */
    assert_int_equal(state_driver_status(r.state_driver).waiting, 1);
    play_clock_pass(SOON_MS);
    commits_are(&r, 2);
    state_driver_rig_fini(&r);
    play_clock_go();
}

/* Else a kill behind the commit would leave an object without the delivery record of a hook that knows it. */
static void test_a_batch_is_completed_before_it_is_written(void **state)
{
    struct state_driver_rig r;

    (void)state;
    state_driver_rig_init(&r, true);
    r.completes = true;
    state_driver_rig_object(&r, "a", "{1}", STATE_DRIVER_NOW);
    commits_are(&r, 1);
    assert_int_equal(r.batches, 1);
    state_driver_rig_stop(&r);
    assert_true(state_rig_has(&r.state, "completed"));
    state_driver_rig_fini(&r);
}

static void test_a_state_driver_may_be_disposed_while_it_writes(void **state)
{
    struct state_driver_rig r;
    struct worker_gate gate;

    (void)state;
    state_driver_rig_init(&r, true);
    worker_gate_close(&gate, r.loop);
    state_driver_rig_object(&r, "a", "{1}", STATE_DRIVER_NOW);
    state_driver_await(r.state_driver, &r.wait);
    state_driver_rig_turn(&r); /* the write is given to the worker */
    state_driver_rig_object(&r, "a", "{2}", STATE_DRIVER_NOW);
    state_driver_dispose(&r.state_driver);
    worker_gate_open(&gate);
    state_driver_rig_fini(&r);
    assert_int_equal(r.answers, 0);
    assert_true(list_is_empty(&r.wait.link));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_loss_that_write_and_sync_see_is_one),
        cmocka_unit_test(test_an_object_that_comes_during_a_write_is_written_soon),
        cmocka_unit_test(test_a_batch_is_completed_before_it_is_written),
        cmocka_unit_test(test_a_state_driver_may_be_disposed_while_it_writes),
    };

    setenv("UV_THREADPOOL_SIZE", "1", 1); /* NOLINT(concurrency-mt-unsafe): one thread */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
