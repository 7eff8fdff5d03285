/* SPDX-License-Identifier: Apache-2.0 */
/* io/loop and io/deadline: when deferred calls and timers run, that signals become calls, and that no
 * handle is left behind. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/compiler.h"
#include "io/deadline.h"
#include "io/loop.h"
#include "play_clock.h"

struct probe {
    struct loop_task task;
    struct loop *loop;
    char *seen; /* names of the tasks that ran, in order */
    char name;
    struct probe *then_slow; /* this one defers it as a slow call */
    struct probe *then;      /* the task that this one defers */
    struct probe *cancel;    /* the task that this one cancels */
};

static void on_probe(struct loop_task *task)
{
    struct probe *p = container_of(task, struct probe, task);
    size_t n = strlen(p->seen);

    p->seen[n] = p->name;
    p->seen[n + 1] = '\0';
    if (p->then_slow != NULL)
        loop_defer_slow(p->loop, &p->then_slow->task);
    if (p->then != NULL)
        loop_defer(p->loop, &p->then->task);
    if (p->cancel != NULL)
        loop_cancel(&p->cancel->task);
}

static void set_up(struct probe *probes, size_t n, struct loop *loop, char *seen)
{
    memset(probes, 0, n * sizeof(*probes));
    for (size_t i = 0; i < n; i++) {
        probes[i].loop = loop;
        probes[i].seen = seen;
        probes[i].name = (char)('a' + i);
        loop_task_init(&probes[i].task, on_probe);
    }
}

static void never(void *arg)
{
    (void)arg;
    fail_msg("this callback must not run");
}

struct turn {
    struct loop_task task;
    struct loop *loop;
    uint64_t takes_ms;
};

static void on_turn(struct loop_task *task)
{
    const struct turn *t = container_of(task, struct turn, task);

    play_clock_pass(t->takes_ms);
    loop_stop(t->loop);
}

static void run_turn(struct loop *loop, uint64_t takes_ms)
{
    struct turn t = {.loop = loop, .takes_ms = takes_ms};

    loop_task_init(&t.task, on_turn);
    loop_defer(loop, &t.task);
    loop_run(loop);
}

/* The first turn only begins the measurement. */
static void test_how_long_turns_take_is_counted(void **state)
{
    struct loop *loop = loop_create();
    const struct loop_lag *lag = loop_lag(loop);

    (void)state;
    play_clock_stop();
    run_turn(loop, 0);
    assert_int_equal(lag->count.total, 0);
    run_turn(loop, 70);
    run_turn(loop, 0);
    assert_int_equal(lag->busy_ns, 70000000);
    assert_int_equal(lag->count.sum_ms, 70);
    assert_int_equal(lag->count.max_ms, 70);
    assert_int_equal(lag->count.total, 2);
    play_clock_go();
    loop_destroy(&loop);
}

static void test_deferred_calls_keep_their_order_and_run_once(void **state)
{
    struct loop *loop = loop_create();
    struct probe p[3];
    char seen[16] = "";

    (void)state;
    set_up(p, 3, loop, seen);
    loop_defer(loop, &p[1].task);
    loop_defer(loop, &p[0].task);
    loop_defer(loop, &p[1].task);
    loop_defer(loop, &p[2].task);
    assert_string_equal(seen, "");
    loop_run(loop);
    assert_string_equal(seen, "bac");
    loop_run(loop);
    assert_string_equal(seen, "bac");
    loop_destroy(&loop);
    assert_null(loop);
}

/* b is deferred by a, so it comes in the turn behind c. */
static void test_a_call_deferred_by_a_call_waits_for_the_next_turn(void **state)
{
    struct loop *loop = loop_create();
    struct probe p[3];
    char seen[16] = "";

    (void)state;
    set_up(p, 3, loop, seen);
    p[0].then = &p[1];
    loop_defer(loop, &p[0].task);
    loop_defer(loop, &p[2].task);
    loop_run(loop);
    assert_string_equal(seen, "acb");
    loop_destroy(&loop);
}

static void test_a_call_can_be_cancelled_even_by_one_of_the_same_turn(void **state)
{
    struct loop *loop = loop_create();
    struct probe p[3];
    char seen[16] = "";

    (void)state;
    set_up(p, 3, loop, seen);
    p[0].cancel = &p[1];
    loop_defer(loop, &p[0].task);
    loop_defer(loop, &p[1].task);
    loop_defer(loop, &p[2].task);
    loop_cancel(&p[2].task);
    loop_cancel(&p[2].task);
    loop_run(loop);
    assert_string_equal(seen, "a");
    loop_destroy(&loop);
}

/* Defers a, b and e as slow calls, and c, which defers d, as another one. */
static void run_slow_calls(struct probe *p, struct loop *loop, char *seen)
{
    set_up(p, 5, loop, seen);
    p[2].then = &p[3];
    loop_defer_slow(loop, &p[0].task);
    loop_defer_slow(loop, &p[1].task);
    loop_defer_slow(loop, &p[4].task);
    loop_defer(loop, &p[2].task);
}

static void test_slow_calls_come_behind_the_others_of_their_turn(void **state)
{
    struct loop *loop = loop_create();
    struct probe p[5];
    char seen[16] = "";

    (void)state;
    play_clock_stop();
    run_slow_calls(p, loop, seen);
    loop_run(loop);
    assert_string_equal(seen, "cabed");
    play_clock_go();
    loop_destroy(&loop);
}

/* Each look at the clock takes longer than all slow calls of a turn may. */
static void test_slow_calls_that_take_long_run_one_per_turn(void **state)
{
    struct loop *loop = loop_create();
    struct probe p[5];
    char seen[16] = "";

    (void)state;
    play_clock_stop();
    play_clock_step(10);
    run_slow_calls(p, loop, seen);
    loop_run(loop);
    assert_string_equal(seen, "cadbe");
    play_clock_step(0);
    play_clock_go();
    loop_destroy(&loop);
}

/* e is the last slow call when the turn begins, and a cancels it: then b is the last one. */
static void test_the_last_slow_call_of_a_turn_can_be_cancelled(void **state)
{
    struct loop *loop = loop_create();
    struct probe p[5];
    char seen[16] = "";

    (void)state;
    play_clock_stop();
    run_slow_calls(p, loop, seen);
    p[0].cancel = &p[4];
    loop_run(loop);
    assert_string_equal(seen, "cabd");
    play_clock_go();
    loop_destroy(&loop);
}

/* a and b defer each other for ever: the task that c defers still gets its turn, and stops the loop. */
static void test_slow_calls_that_defer_each_other_leave_the_turn(void **state)
{
    struct loop *loop = loop_create();
    struct probe p[4];
    char seen[16] = "";

    (void)state;
    play_clock_stop();
    set_up(p, 4, loop, seen);
    p[0].then_slow = &p[1];
    p[1].then_slow = &p[0];
    p[2].then = &p[3];
    p[3].cancel = &p[1];
    loop_defer_slow(loop, &p[0].task);
    loop_defer(loop, &p[2].task);
    loop_run(loop);
    assert_string_equal(seen, "cad");
    play_clock_go();
    loop_destroy(&loop);
}

struct timed {
    struct loop *loop;
    struct deadline *deadline;
    struct deadline *other;
    uint64_t at_ms;
    int runs;
};

static void on_deadline(void *arg)
{
    struct timed *t = arg;

    t->runs++;
    t->at_ms = loop_now_ms(t->loop);
    assert_false(deadline_pending(t->deadline));
}

static void test_a_deadline_runs_once_and_not_early(void **state)
{
    struct timed t = {.loop = loop_create()};
    uint64_t start_ms = loop_now_ms(t.loop);

    (void)state;
    t.deadline = deadline_create(t.loop, on_deadline, &t);
    deadline_start(t.deadline, 3600000);
    deadline_start(t.deadline, 20);
    assert_true(deadline_pending(t.deadline));
    loop_run(t.loop);
    assert_int_equal(t.runs, 1);
    assert_in_range(t.at_ms, start_ms + 20, start_ms + 3600000 - 1);
    deadline_dispose(&t.deadline);
    assert_null(t.deadline);
    loop_destroy(&t.loop);
}

static void on_again(void *arg)
{
    struct timed *t = arg;

    if (++t->runs < 3)
        deadline_start(t->deadline, 0);
}

static void test_a_deadline_of_zero_leaves_the_turn(void **state)
{
    struct timed t = {.loop = loop_create()};

    (void)state;
    t.deadline = deadline_create(t.loop, on_again, &t);
    deadline_start(t.deadline, 0);
    assert_int_equal(t.runs, 0);
    loop_run(t.loop);
    assert_int_equal(t.runs, 3);
    deadline_dispose(&t.deadline);
    loop_destroy(&t.loop);
}

static void test_stopped_and_disposed_deadlines_stay_silent(void **state)
{
    struct loop *loop = loop_create();
    struct deadline *stopped = deadline_create(loop, never, NULL);
    struct deadline *disposed = deadline_create(loop, never, NULL);
    struct deadline *nothing = NULL;

    (void)state;
    deadline_start(stopped, 1);
    deadline_stop(stopped);
    deadline_stop(stopped);
    deadline_start(disposed, 1);
    deadline_dispose(&disposed);
    deadline_dispose(&disposed);
    deadline_dispose(&nothing);
    loop_run(loop);
    deadline_dispose(&stopped);
    loop_destroy(&loop);
}

static void on_dispose_both(void *arg)
{
    struct timed *t = arg;

    deadline_dispose(&t->deadline);
    deadline_dispose(&t->other);
}

static void test_a_deadline_may_dispose_itself_and_others(void **state)
{
    struct timed t = {.loop = loop_create()};

    (void)state;
    t.deadline = deadline_create(t.loop, on_dispose_both, &t);
    t.other = deadline_create(t.loop, never, NULL);
    deadline_start(t.deadline, 1);
    deadline_start(t.other, 1);
    loop_run(t.loop);
    assert_null(t.deadline);
    loop_destroy(&t.loop);
}

static void on_stop(void *arg)
{
    loop_stop(arg);
}

static void test_stop_ends_the_run_and_wall_clock_is_not_zero(void **state)
{
    struct loop *loop = loop_create();
    struct deadline *stop = deadline_create(loop, on_stop, loop);
    struct deadline *far = deadline_create(loop, never, NULL);

    (void)state;
    deadline_start(stop, 1);
    deadline_start(far, 3600000);
    loop_run(loop);
    assert_true(loop_wall_ns() > UINT64_C(1700000000000000000));
    deadline_dispose(&stop);
    deadline_dispose(&far);
    loop_destroy(&loop);
}

struct caught {
    struct loop *loop;
    int numbers[2];
    int n;
};

static void on_caught(void *arg, int number)
{
    struct caught *c = arg;

    c->numbers[c->n++] = number;
    if (c->n == 2)
        loop_stop(c->loop);
}

static void test_signals_are_calls_until_the_loop_ends(void **state)
{
    static const int numbers[] = {SIGUSR1, SIGUSR2};
    struct caught c = {.loop = loop_create()};
    struct sigaction is;

    (void)state;
    loop_catch(c.loop, numbers, ARRAY_LEN(numbers), on_caught, &c);
    raise(SIGUSR2);
    raise(SIGUSR1);
    assert_int_equal(c.n, 0);
    loop_run(c.loop);
    assert_int_equal(c.numbers[0], SIGUSR2);
    assert_int_equal(c.numbers[1], SIGUSR1);
    loop_destroy(&c.loop);
    for (size_t i = 0; i < ARRAY_LEN(numbers); i++) {
        sigaction(numbers[i], NULL, &is);
        assert_ptr_equal(is.sa_handler, SIG_DFL);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_how_long_turns_take_is_counted),
        cmocka_unit_test(test_deferred_calls_keep_their_order_and_run_once),
        cmocka_unit_test(test_a_call_deferred_by_a_call_waits_for_the_next_turn),
        cmocka_unit_test(test_a_call_can_be_cancelled_even_by_one_of_the_same_turn),
        cmocka_unit_test(test_slow_calls_come_behind_the_others_of_their_turn),
        cmocka_unit_test(test_slow_calls_that_take_long_run_one_per_turn),
        cmocka_unit_test(test_the_last_slow_call_of_a_turn_can_be_cancelled),
        cmocka_unit_test(test_slow_calls_that_defer_each_other_leave_the_turn),
        cmocka_unit_test(test_a_deadline_runs_once_and_not_early),
        cmocka_unit_test(test_a_deadline_of_zero_leaves_the_turn),
        cmocka_unit_test(test_stopped_and_disposed_deadlines_stay_silent),
        cmocka_unit_test(test_a_deadline_may_dispose_itself_and_others),
        cmocka_unit_test(test_stop_ends_the_run_and_wall_clock_is_not_zero),
        cmocka_unit_test(test_signals_are_calls_until_the_loop_ends),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
