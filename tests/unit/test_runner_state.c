/* SPDX-License-Identifier: Apache-2.0 */
/* A run starts when the delivery record of its change is on disk, and without that when the disk
 * hangs. The tests move the clock themselves, so that a slow disk does not count as one that
 * hangs. */
#include "hook_rig.h"
#include "silent_link.h"

#include <stdint.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/compiler.h"
#include "io/helper_link.h"
#include "io/loop.h"
#include "io/runner.h"
#include "io/state_driver.h"
#include "loop_until.h"
#include "play_clock.h"
#include "state_rig.h"
#include "worker_gate.h"

/* The workers of libuv, and how long the runner waits for a disk. */
enum { WORKERS = 4, KEEPING_MS = 2000, DELIVERY_SOURCE = 5 };

struct scene {
    struct state_rig state;
    struct loop *loop;
    struct helper_link *link;
    struct state_driver *state_driver;
    struct runner *runner;
    struct loop_task look;                 /* in every turn */
    struct worker_gate gates[WORKERS + 1]; /* keep the workers from writing */
    int far;                               /* the helper's end of the link */
    size_t started;                        /* runs that the helper was asked to start */
    size_t wanted;                         /* how many runs the test waits for */
    uint64_t commits_then;
    uint64_t deliveries; /* how many delivery records were put */
};

static void open_all(struct scene *s)
{
    for (size_t i = 0; i < ARRAY_LEN(s->gates); i++)
        worker_gate_open(&s->gates[i]);
}

/* Counts the runs that the helper was asked to start. */
static void listen_to_link(struct scene *s)
{
    char message[4096];

    while (recv(s->far, message, sizeof(message), MSG_DONTWAIT) > 0) {
        s->commits_then = state_driver_status(s->state_driver).commits;
        s->started++;
    }
}

static void on_deliveries(void *arg)
{
    struct scene *s = arg;
    const struct row_delivery m = {.source = DELIVERY_SOURCE,
                                   .key = str_c("k"),
                                   .uid = str_c("u"),
                                   .delivered = {.lo = ++s->deliveries}};

    batch_delivery(state_driver_batch(s->state_driver, STATE_DRIVER_NOW), &m, NULL);
}

static void on_file_lost(void *arg)
{
    (void)arg;
}

static void on_progress(void *arg)
{
    (void)arg;
}

static void make_runner(struct scene *s)
{
    static const struct runner_hook hook = {
        .program = "/bin/true", .timeout_ms = 3600000, .kill_signal = 15, .kill_grace_ms = 3600000};
    static const struct runner_events events = {.on_deliveries = on_deliveries,
                                                .on_progress = on_progress};

    s->runner = silent_link_runner(
        &(struct runner_params){
            .loop = s->loop, .link = s->link, .state_driver = s->state_driver, .by_index = &hook},
        &events, s);
}

static int set_up(void **state)
{
    static const struct state_driver_events state_driver_events = {.on_lost = on_file_lost};
    struct scene *s = calloc(1, sizeof(*s));

    play_clock_stop();
    hook_rig_set_up(state);
    hook_rig_add(&(struct hook_rig_hook){0});
    hook_rig_sync(0);
    state_rig_init(&s->state);
    s->loop = loop_create();
    s->link = silent_link_create(s->loop, &s->far);
    s->state_driver = state_driver_create(&(struct state_driver_params){.loop = s->loop,
                                                                        .folder = s->state.folder,
                                                                        .limit = STATE_RIG_LIMIT,
                                                                        .retry_ms = 20,
                                                                        .release = NULL},
                                          &state_driver_events, s);
    make_runner(s);
    *state = s;
    return 0;
}

static int clean_up(void **state)
{
    struct scene *s = *state;

    open_all(s);
    runner_dispose(&s->runner);
    state_driver_dispose(&s->state_driver);
    helper_link_dispose(&s->link);
    loop_destroy(&s->loop);
    close(s->far);
    state_rig_fini(&s->state);
    free(s);
    play_clock_go();
    return hook_rig_clean_up(state);
}

/* A run of another key becomes due. */
static void change(struct scene *s, const char *key)
{
    hook_rig.now = loop_now_ms(s->loop);
    hook_rig_change(0, DELTA_ADDED, key, key + 3, "\"a\":1");
    runner_kick(s->runner);
}

static bool has_started(void *arg)
{
    struct scene *s = arg;

    listen_to_link(s);
    return s->started >= s->wanted;
}

static void until_started(struct scene *s, size_t n)
{
    s->wanted = n;
    loop_until(s->loop, has_started, s);
    assert_int_equal(s->started, n);
}

static bool is_running(void *arg)
{
    const struct scene *s = arg;

    return runner_running(s->runner) >= s->wanted;
}

/* The runs have left the scheduler; their delivery records may not be on disk. */
static void until_running(struct scene *s, size_t n)
{
    s->wanted = n;
    loop_until(s->loop, is_running, s);
}

/* One run is due, and waits for its delivery record until open_all(). */
static void begin_with_a_disk_that_hangs(struct scene *s)
{
    for (size_t i = 0; i < WORKERS; i++)
        worker_gate_close(&s->gates[i], s->loop);
    change(s, "ns/a");
    runner_begin(s->runner);
    until_running(s, 1);
}

static bool nothing_waits(void *arg)
{
    const struct scene *s = arg;

    return state_driver_status(s->state_driver).waiting == 0;
}

static bool something_waits(void *arg)
{
    return !nothing_waits(arg);
}

/* Runs some turns of the loop, in which runs that may start do so. */
static void turns(struct scene *s)
{
    loop_turns(s->loop, 10);
    listen_to_link(s);
}

static void test_a_run_starts_when_its_delivery_is_on_disk(void **state)
{
    struct scene *s = *state;

    change(s, "ns/a");
    change(s, "ns/b");
    runner_begin(s->runner);
    until_started(s, 2);
    assert_true(s->commits_then >= 1);
    assert_int_equal(runner_running(s->runner), 2);
}

/* The end of a run, and the start of the run that has waited for it: each commit costs a worker and
 * a wait. */
static void test_an_end_and_the_next_start_are_one_commit(void **state)
{
    struct scene *s = *state;

    change(s, "ns/a");
    runner_begin(s->runner);
    until_started(s, 1);
    hook_rig_change(0, DELTA_MODIFIED, "ns/a", "a", "\"a\":2");
    loop_until(s->loop, nothing_waits, s);
    uint64_t commits = state_driver_status(s->state_driver).commits;
    silent_link_end(s->far, 1, (struct run_end){0});
    until_started(s, 2);
    assert_int_equal(s->commits_then, commits + 1);
}

static void test_nothing_starts_before_the_runner_has_begun(void **state)
{
    struct scene *s = *state;

    change(s, "ns/a");
    turns(s);
    assert_int_equal(s->started + runner_running(s->runner), 0);
    runner_begin(s->runner);
    until_started(s, 1);
}

static void test_a_disk_that_hangs_is_waited_for_once(void **state)
{
    struct scene *s = *state;

    begin_with_a_disk_that_hangs(s);
    play_clock_pass(KEEPING_MS - 1);
    turns(s);
    assert_int_equal(s->started, 0);
    play_clock_pass(1);
    until_started(s, 1);
    assert_int_equal(s->commits_then, 0);

    change(s, "ns/b"); /* that run does not wait */
    until_started(s, 2);
    assert_int_equal(s->commits_then, 0);

    open_all(s); /* the disk works again */
    loop_until(s->loop, nothing_waits, s);
    assert_int_equal(s->started, 2);
    uint64_t commits = state_driver_status(s->state_driver).commits;
    change(s, "ns/c"); /* that run waits again */
    until_started(s, 3);
    assert_true(s->commits_then > commits);
}

/* A debugger or a frozen container stops main: the disk has done its part, but the timer fires
 * first. */
static void test_a_stopped_main_does_not_blame_the_disk(void **state)
{
    struct scene *s = *state;

    for (size_t i = 0; i < WORKERS; i++)
        worker_gate_close(&s->gates[i], s->loop);
    change(s, "ns/a");
    runner_begin(s->runner);
    loop_until(s->loop, something_waits, s);
    play_clock_pass(3600000);
    open_all(s);
    until_started(s, 1);
    assert_int_equal(s->commits_then, 1);
}

/* While there is always a run that waits, each waits for the disk as long as it may, and no
 * longer. */
static void test_a_later_run_waits_as_long(void **state)
{
    struct scene *s = *state;

    begin_with_a_disk_that_hangs(s);
    play_clock_pass(KEEPING_MS / 2);
    turns(s);
    assert_int_equal(s->started, 0);
    change(s, "ns/b");
    until_running(s, 2);
    worker_gate_close(&s->gates[WORKERS],
                      s->loop); /* behind the write under way, and before the next one */
    worker_gate_open(&s->gates[0]);
    until_started(s, 1);
    assert_int_equal(s->commits_then, 1);
    play_clock_pass(KEEPING_MS / 2);
    turns(s); /* the first run would not have waited any longer */
    play_clock_pass(KEEPING_MS / 2 - 1);
    turns(s);
    assert_int_equal(s->started, 1);
    play_clock_pass(1);
    until_started(s, 2);
    assert_int_equal(s->commits_then, 1);
}

static void test_a_waiting_run_does_not_start_when_all_are_killed(void **state)
{
    struct scene *s = *state;

    begin_with_a_disk_that_hangs(s);
    runner_stop(s->runner);
    runner_kill_all(s->runner);
    assert_int_equal(runner_running(s->runner), 0);
    open_all(s);
    loop_until(s->loop, nothing_waits, s);
    turns(s);
    assert_int_equal(s->started, 0);
}

static void test_a_waiting_run_is_given_up_with_the_runner(void **state)
{
    struct scene *s = *state;

    begin_with_a_disk_that_hangs(s);
    runner_dispose(&s->runner);
    assert_null(s->runner); /* it is disposed again when the test ends: that does nothing */
    open_all(s);
    loop_until(s->loop, nothing_waits, s);
    turns(s);
    assert_int_equal(s->started, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_a_run_starts_when_its_delivery_is_on_disk, set_up,
                                        clean_up),
        cmocka_unit_test_setup_teardown(test_an_end_and_the_next_start_are_one_commit, set_up,
                                        clean_up),
        cmocka_unit_test_setup_teardown(test_nothing_starts_before_the_runner_has_begun, set_up,
                                        clean_up),
        cmocka_unit_test_setup_teardown(test_a_disk_that_hangs_is_waited_for_once, set_up,
                                        clean_up),
        cmocka_unit_test_setup_teardown(test_a_stopped_main_does_not_blame_the_disk, set_up,
                                        clean_up),
        cmocka_unit_test_setup_teardown(test_a_later_run_waits_as_long, set_up, clean_up),
        cmocka_unit_test_setup_teardown(test_a_waiting_run_does_not_start_when_all_are_killed,
                                        set_up, clean_up),
        cmocka_unit_test_setup_teardown(test_a_waiting_run_is_given_up_with_the_runner, set_up,
                                        clean_up),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
