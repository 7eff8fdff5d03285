/* SPDX-License-Identifier: Apache-2.0 */
/* A run that informerd itself ends, because it stops, has not failed: the next process runs it
 * again. */
#include "hook_disk.h"
#include "hook_rig.h"
#include "silent_link.h"

#include <signal.h>
#include <unistd.h>

#include "io/helper_link.h"
#include "io/loop.h"
#include "io/runner.h"
#include "io/state_driver.h"

enum { PARK = 75 };

struct scene {
    struct loop *loop;
    struct helper_link *link;
    struct state_driver *state_driver;
    struct runner *runner;
    struct loop_task look;
    size_t until; /* how many runs must be under way */
    int far;      /* the helper's end of the link */
};

static void on_event(void *arg)
{
    (void)arg;
}

static void look(struct loop_task *task)
{
    struct scene *s = container_of(task, struct scene, look);

    if (runner_running(s->runner) == s->until)
        loop_stop(s->loop);
    else
        loop_defer(s->loop, task);
}

static void run_until(struct scene *s, size_t running)
{
    s->until = running;
    loop_defer(s->loop, &s->look);
    loop_run(s->loop);
}

static int set_up(void **state)
{
    static const struct runner_events events = {.on_deliveries = on_event, .on_progress = on_event};
    static const struct state_driver_events no_events;
    static const struct runner_hook hook = {
        .program = "/bin/true", .timeout_ms = 3600000, .kill_signal = SIGTERM};
    static struct scene scene;
    struct scene *s = &scene;

    hook_rig_set_up(state);
    hook_rig_add(&(struct hook_rig_hook){.park_exit = PARK, .work_queue = {.attempts = 1}});
    hook_rig_sync(0);
    s->loop = loop_create();
    s->link = silent_link_create(s->loop, &s->far);
    s->state_driver =
        state_driver_create(&(struct state_driver_params){.loop = s->loop}, &no_events, NULL);
    s->runner = silent_link_runner(
        &(struct runner_params){
            .loop = s->loop, .link = s->link, .state_driver = s->state_driver, .by_index = &hook},
        &events, s);
    loop_task_init(&s->look, look);
    hook_rig.now = loop_now_ms(s->loop);
    hook_rig_change(0, DELTA_ADDED, "ns/n", "u1", "\"a\":1");
    runner_begin(s->runner);
    run_until(s, 1);
    *state = s;
    return 0;
}

static int clean_up(void **state)
{
    struct scene *s = *state;

    runner_dispose(&s->runner);
    state_driver_dispose(&s->state_driver);
    helper_link_dispose(&s->link);
    close(s->far);
    loop_destroy(&s->loop);
    return hook_rig_clean_up(state);
}

static void stop(struct scene *s, enum run_end_kind kind, int value)
{
    runner_stop(s->runner);
    runner_kill_all(s->runner);
    silent_link_end(s->far, 1, (struct run_end){.kind = kind, .value = value, .killed = true});
    run_until(s, 0);
}

/* The delivery record that the next process finds. To be called once. */
static struct delivery_record delivery(void)
{
    struct hook_disk disk = {0};

    hook_disk_commit(&disk, hook_rig.hooks.v[0]);
    struct delivery_record m = *hook_disk_delivery(&disk, "ns/n", "u1");
    hook_disk_clear(&disk);
    return m;
}

static void test_the_last_attempt_stays_attempted_and_is_not_parked(void **state)
{
    stop(*state, RUN_END_SIGNALED, SIGTERM);
    struct delivery_record m = delivery();
    assert_true(m.attempted);
    assert_int_equal(m.note & DELIVERY_PARKED, 0);
}

static void test_the_exit_status_of_a_stopped_run_parks_nothing(void **state)
{
    stop(*state, RUN_END_EXITED, PARK);
    struct delivery_record m = delivery();
    assert_true(m.attempted);
    assert_int_equal(m.note & DELIVERY_PARKED, 0);
}

static void test_a_run_that_succeeds_all_the_same_is_handled(void **state)
{
    stop(*state, RUN_END_EXITED, 0);
    struct delivery_record m = delivery();
    assert_false(m.attempted);
    assert_true(m.is_handled);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_the_last_attempt_stays_attempted_and_is_not_parked,
                                        set_up, clean_up),
        cmocka_unit_test_setup_teardown(test_the_exit_status_of_a_stopped_run_parks_nothing, set_up,
                                        clean_up),
        cmocka_unit_test_setup_teardown(test_a_run_that_succeeds_all_the_same_is_handled, set_up,
                                        clean_up),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
