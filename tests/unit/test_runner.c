/* SPDX-License-Identifier: Apache-2.0 */
/* Many runs whose start takes long start together: the loop turns between them. */
#include "hook_rig.h"
#include "silent_link.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "io/helper_link.h"
#include "io/loop.h"
#include "io/runner.h"
#include "io/state_driver.h"
#include "play_clock.h"

/* A start takes a START_MS or two by the play clock, as megabytes of input do. */
enum { HOOKS = 12, OBJECTS = 8, BYTES = 1024, START_MS = 2 };

struct scene {
    struct loop *loop;
    struct runner *runner;
    struct loop_task look; /* in every turn */
    size_t seen[HOOKS];    /* how many runs were under way when the loop looked */
    size_t seen_count;
};

static void on_progress(void *arg)
{
    (void)arg;
}

static void look(struct loop_task *task)
{
    struct scene *s = container_of(task, struct scene, look);
    size_t running = runner_running(s->runner);

    if (running > 0 && (s->seen_count == 0 || s->seen[s->seen_count - 1] != running))
        s->seen[s->seen_count++] = running;
    if (running == HOOKS)
        loop_stop(s->loop);
    else
        loop_defer(s->loop, task);
}

static void add_hooks(struct runner_hook by_index[HOOKS])
{
    char *data = mem_alloc(BYTES + 8);

    memcpy(data, "\"a\":\"", 5);
    memset(data + 5, 'x', BYTES);
    data[5 + BYTES] = '"';
    data[6 + BYTES] = '\0';
    for (size_t i = 0; i < HOOKS; i++) {
        hook_rig_add(&(struct hook_rig_hook){.rules = {.mode = HOOK_SNAPSHOT}});
        by_index[i] = (struct runner_hook){
            .program = "/bin/true", .timeout_ms = 3600000, .kill_signal = SIGTERM};
    }
    for (int i = 0; i < OBJECTS; i++) {
        char key[] = {'n', 's', '/', (char)('a' + i), '\0'};

        hook_rig_change(0, DELTA_ADDED, key, key + 3, data);
    }
    hook_rig_sync(0);
    free(data);
}

static void on_deliveries(void *arg)
{
    (void)arg;
}

static void test_other_work_goes_on_between_many_starts(void **state)
{
    static const struct runner_events events = {.on_deliveries = on_deliveries,
                                                .on_progress = on_progress};
    static const struct state_driver_events no_events;
    struct runner_hook by_index[HOOKS];
    struct scene s = {.loop = loop_create()};
    int far;

    (void)state;
    add_hooks(by_index);
    struct helper_link *link = silent_link_create(s.loop, &far);
    struct state_driver *state_driver =
        state_driver_create(&(struct state_driver_params){.loop = s.loop}, &no_events, NULL);
    s.runner = silent_link_runner(
        &(struct runner_params){
            .loop = s.loop, .link = link, .state_driver = state_driver, .by_index = by_index},
        &events, &s);
    loop_task_init(&s.look, look);
    loop_defer(s.loop, &s.look);
    runner_kick(s.runner); /* too early */
    runner_begin(s.runner);
    play_clock_step(START_MS);
    loop_run(s.loop);
    play_clock_step(0);
    assert_true(s.seen_count > 1);
    assert_int_equal(s.seen[s.seen_count - 1], HOOKS);
    runner_dispose(&s.runner);
    state_driver_dispose(&state_driver);
    helper_link_dispose(&link);
    close(far);
    loop_destroy(&s.loop);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_other_work_goes_on_between_many_starts,
                                        hook_rig_set_up, hook_rig_clean_up),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
