/* SPDX-License-Identifier: Apache-2.0 */
/* How long a reload waits for its hooks, and what follows. The test stands in for app/reload_switch: it says
 * what there is to wait for, and notes what it is asked to do. */
#include "app/reload_wait.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "app/generation.h"
#include "base/log.h"
#include "base/mem.h"
#include "io/loop.h"
#include "loop_until.h"
#include "play_clock.h"

enum { PATIENCE_MS = 30000, GRACE_MS = 7000, HOUR_MS = 3600000 };

struct rig {
    struct loop *loop;
    struct reload_parts parts;
    struct reload_wait *wait;
    struct generation *generation;
    const struct hook *runs; /* a hook with a run under way; NULL = there is none */
    bool is_sweeping;        /* files are being removed */
    char done[64];           /* what reload_switch was asked to do, and the events */
    char why[256];           /* the reload was given up */
};

static struct rig rig;
static struct reload_plan the_plan;
static char name[] = "h";
static const struct hook hook = {.name = name};

static void note(const char *what)
{
    size_t n = strlen(rig.done);

    snprintf(rig.done + n, sizeof(rig.done) - n, "%s ", what);
}

/* ---- app/reload_switch */

void reload_switch_retire(const struct reload_parts *p, const struct reload_plan *plan)
{
    assert_ptr_equal(p, &rig.parts);
    assert_ptr_equal(plan, &the_plan);
    note("retire");
}

void reload_switch_give_up(const struct reload_parts *p, const struct reload_plan *plan)
{
    assert_ptr_equal(p, &rig.parts);
    assert_ptr_equal(plan, &the_plan);
    note("serve");
}

void reload_switch_kill(const struct reload_parts *p, const struct reload_plan *plan)
{
    assert_ptr_equal(p, &rig.parts);
    assert_ptr_equal(plan, &the_plan);
    note("kill");
}

const struct hook *reload_switch_waits_for(const struct reload_parts *p,
                                           const struct reload_plan *plan)
{
    (void)p, (void)plan;
    return rig.runs;
}

size_t reload_switch_running(const struct reload_parts *p, const struct reload_plan *plan)
{
    (void)p, (void)plan;
    return rig.runs != NULL;
}

bool reload_switch_is_possible(const struct reload_parts *p, const struct reload_plan *plan)
{
    (void)p, (void)plan;
    return rig.runs == NULL && !rig.is_sweeping;
}

uint64_t runner_longest_grace_ms(const struct runner *r)
{
    assert_ptr_equal(r, rig.parts.runner);
    return GRACE_MS;
}

/* ---- The rig */

static void on_retired(void *arg, struct generation *g, const struct reload_plan *plan)
{
    (void)arg;
    assert_ptr_equal(g, rig.generation);
    assert_ptr_equal(plan, &the_plan);
    note("switch");
    generation_destroy(&g);
}

static void on_given_up(void *arg, const char *why)
{
    (void)arg;
    note("end");
    snprintf(rig.why, sizeof(rig.why), "%s", why);
}

static int set_up(void **state)
{
    static const struct reload_wait_events events = {on_retired, on_given_up};

    (void)state;
    log_set_level(LOG_LVL_ERROR);
    play_clock_stop();
    rig = (struct rig){.loop = loop_create()};
    rig.wait = reload_wait_create(rig.loop, &rig.parts, &events, NULL);
    return 0;
}

static int clean_up(void **state)
{
    (void)state;
    reload_wait_dispose(&rig.wait);
    reload_wait_dispose(&rig.wait);
    loop_destroy(&rig.loop);
    play_clock_go();
    return 0;
}

static void begin(void)
{
    rig.generation = MEM_NEW(struct generation, .conf = NULL);
    reload_wait_begin(rig.wait, rig.generation, &the_plan, PATIENCE_MS);
}

static void pass(uint64_t ms)
{
    play_clock_pass(ms);
    loop_turns(rig.loop, 3);
}

/* Since the last call. */
static void expect_done(const char *done)
{
    assert_string_equal(rig.done, done);
    rig.done[0] = '\0';
}

/* ---- Tests */

static void test_without_runs_it_switches_at_the_first_look(void **state)
{
    (void)state;
    begin();
    expect_done("retire ");
    assert_ptr_equal(reload_wait_plan(rig.wait), &the_plan);
    reload_wait_look(rig.wait);
    expect_done("switch ");
    assert_null(reload_wait_plan(rig.wait));
    pass(HOUR_MS);
    expect_done("");
}

static void test_runs_that_end_in_time_are_not_killed(void **state)
{
    (void)state;
    rig.runs = &hook;
    begin();
    pass(PATIENCE_MS - 1000);
    reload_wait_look(rig.wait);
    expect_done("retire ");
    rig.runs = NULL;
    reload_wait_look(rig.wait);
    expect_done("switch ");
}

/* Only runs are killed: the removal of files has a limit of its own. */
static void test_a_removal_of_files_is_awaited_without_a_kill(void **state)
{
    (void)state;
    rig.is_sweeping = true;
    begin();
    pass(HOUR_MS);
    reload_wait_look(rig.wait);
    expect_done("retire ");
    rig.is_sweeping = false;
    reload_wait_look(rig.wait);
    expect_done("switch ");
}

static void test_runs_that_do_not_end_in_time_are_killed(void **state)
{
    (void)state;
    rig.runs = &hook;
    begin();
    pass(PATIENCE_MS);
    expect_done("retire kill ");
    rig.runs = NULL;
    reload_wait_look(rig.wait);
    expect_done("switch ");
    pass(HOUR_MS);
    expect_done("");
}

static void test_it_is_given_up_when_a_run_cannot_be_killed(void **state)
{
    (void)state;
    rig.runs = &hook;
    begin();
    pass(PATIENCE_MS);
    pass(GRACE_MS + RUNNER_LAST_WAIT_MS - 1000);
    expect_done("retire kill ");
    pass(1000);
    expect_done("serve end ");
    assert_non_null(strstr(rig.why, "hook h: its processes have not ended"));
    assert_null(reload_wait_plan(rig.wait));
    rig.runs = NULL;
    reload_wait_look(rig.wait);
    expect_done("");
    begin(); /* the next one has all its time */
    reload_wait_look(rig.wait);
    expect_done("retire switch ");
}

static void test_nothing_follows_a_stop(void **state)
{
    (void)state;
    rig.runs = &hook;
    begin();
    reload_wait_stop(rig.wait);
    rig.runs = NULL;
    reload_wait_look(rig.wait);
    pass(HOUR_MS);
    expect_done("retire ");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, clean_up)
    const struct CMUnitTest tests[] = {
        TEST(test_without_runs_it_switches_at_the_first_look),
        TEST(test_runs_that_end_in_time_are_not_killed),
        TEST(test_a_removal_of_files_is_awaited_without_a_kill),
        TEST(test_runs_that_do_not_end_in_time_are_killed),
        TEST(test_it_is_given_up_when_a_run_cannot_be_killed),
        TEST(test_nothing_follows_a_stop),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
