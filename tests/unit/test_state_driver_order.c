/* SPDX-License-Identifier: Apache-2.0 */
/* io/state_driver with one worker, which has a write and a sync in the order in which they were given. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>
#include <uv.h>

#include <cmocka.h>

#include "base/compiler.h"
#include "play_clock.h"
#include "state_driver_rig.h"

/* An object is written by then, and a sync is due. */
enum { SOON_MS = 100, SYNC_IS_DUE_MS = 1000 };

/* What keeps the worker busy. */
struct gate {
    uv_work_t work;
    pthread_mutex_t closed;
};

static void wait_at_gate(uv_work_t *work)
{
    struct gate *g = container_of(work, struct gate, work);

    pthread_mutex_lock(&g->closed);
    pthread_mutex_unlock(&g->closed);
}

static void after_gate(uv_work_t *work, int status)
{
    (void)work, (void)status;
}

static void close_gate(struct gate *g, struct state_driver_rig *r)
{
    pthread_mutex_init(&g->closed, NULL);
    pthread_mutex_lock(&g->closed);
    assert_int_equal(uv_queue_work(loop_uv(r->loop), &g->work, wait_at_gate, after_gate), 0);
}

static void test_a_loss_that_write_and_sync_see_is_one(void **state)
{
    struct state_driver_rig r;
    struct gate gate;

    (void)state;
    state_driver_rig_init(&r, true);
    state_driver_rig_delivery(&r, "a", 1);
    assert_true(state_driver_rig_commit(&r));
    assert_int_equal(unlink(r.state.folder->db), 0);
    close_gate(&gate, &r);
    state_driver_rig_delivery(&r, "b", 1);
    state_driver_rig_turn(&r); /* the write is given to the worker, and then the sync */
    play_clock_pass(SYNC_IS_DUE_MS);
    state_driver_rig_turn(&r);
    pthread_mutex_unlock(&gate.closed);
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
    struct gate gate;

    (void)state;
    play_clock_stop();
    state_driver_rig_init(&r, true);
    close_gate(&gate, &r);
    state_driver_rig_delivery(&r, "a", 1);
    state_driver_rig_turn(&r); /* the write is given to the worker */
    state_driver_rig_object(&r, "a", "{1}", STATE_DRIVER_SOON);
    state_driver_rig_turn(&r);
    pthread_mutex_unlock(&gate.closed);
    commits_are(&r, 1);
    state_driver_rig_turn(&r); /* SOON_MS counts from the turn after the write */
    assert_int_equal(state_driver_status(r.state_driver).waiting, 1);
    play_clock_pass(SOON_MS);
    commits_are(&r, 2);
    state_driver_rig_fini(&r);
    play_clock_go();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_loss_that_write_and_sync_see_is_one),
        cmocka_unit_test(test_an_object_that_comes_during_a_write_is_written_soon),
    };

    setenv("UV_THREADPOOL_SIZE", "1", 1); /* NOLINT(concurrency-mt-unsafe): one thread */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
