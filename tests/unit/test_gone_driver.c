/* SPDX-License-Identifier: Apache-2.0 */
/* io/gone_driver: the files of hooks that are gone are removed by the helper, one hook after the other;
 * the test is the helper. */
#include "io/gone_driver.h"

#include <sys/socket.h>
#include <unistd.h>

#include "hook_rig.h"
#include "loop_until.h"
#include "play_clock.h"
#include "silent_link.h"

enum { NUMBER = 5, PLENTY_MS = 3600000 };

static struct gone gone;
static struct loop *loop;
static struct helper_link *link_to;
static struct gone_driver *driver;
static int far;
static size_t swept;

static void on_swept(void *arg)
{
    (void)arg;
    swept++;
}

static struct gone_hook *add(const char *name, const char *a, const char *b)
{
    struct gone_hook *gh = gone_add(&gone, str_c(name), 1);

    gone_add_file(gh, &(struct files_seen){.path = str_c(a), .source = SIZE_MAX});
    gone_add_file(gh, &(struct files_seen){.path = str_c(b), .source = SIZE_MAX});
    return gh;
}

static int set_up(void **state)
{
    hook_rig_set_up(state);
    play_clock_stop();
    loop = loop_create();
    link_to = silent_link_create(loop, &far);
    swept = 0;
    driver = gone_driver_create(
        &(struct gone_driver_params){loop, link_to, &gone, NUMBER, PLENTY_MS}, on_swept, NULL);
    return 0;
}

static int clean_up(void **state)
{
    gone_driver_dispose(&driver);
    gone_driver_dispose(&driver);
    helper_link_dispose(&link_to);
    loop_destroy(&loop);
    close(far);
    play_clock_go();
    gone_fini(&gone);
    return hook_rig_clean_up(state);
}

static void answer(unsigned char a, unsigned char b)
{
    const unsigned char bytes[] = {a, b};
    int out;
    uint64_t id = silent_link_take(far, &out);

    assert_int_equal(write(out, bytes, sizeof(bytes)), sizeof(bytes));
    close(out);
    silent_link_end(far, id, (struct run_end){0});
}

static void turns_until(size_t n)
{
    for (int i = 0; i < 100 && swept < n; i++)
        loop_turns(loop, 1);
    assert_int_equal(swept, n);
}

static void test_each_hook_has_its_turn(void **state)
{
    struct gone_hook *a = add("a", "/o/1", "/o/2");
    struct gone_hook *b = add("b", "/o/3", "/o/4");

    (void)state;
    gone_driver_look(driver);
    gone_forget(a, &hook_rig.hooks, true);
    gone_driver_look(driver);
    gone_forget(b, &hook_rig.hooks, true);
    gone_driver_look(driver);
    loop_turns(loop, 1);
    answer(WIRE_SWEPT_REMOVED, WIRE_SWEPT_CHANGED);
    turns_until(1);
    assert_int_equal(a->removed, 1);
    assert_int_equal(a->files.left, 1);
    assert_int_equal(b->files.due, 2);
    answer(WIRE_SWEPT_GONE, WIRE_SWEPT_REMOVED);
    turns_until(2);
    assert_true(gone_is_done(b) && b->removed == 1 && b->files.left == 0);
}

/* Has the files of the hook removed. Returns the id of the run, which the helper has got; *out: its
 * output. */
static uint64_t begin_removal(struct gone_hook *a, int *out)
{
    gone_forget(a, &hook_rig.hooks, true);
    gone_driver_look(driver);
    loop_turns(loop, 1);
    return silent_link_take(far, out);
}

static void test_a_helper_that_does_not_answer_leaves_the_files(void **state)
{
    struct gone_hook *a = add("a", "/o/1", "/o/2");
    int out;

    (void)state;
    uint64_t id = begin_removal(a, &out);
    close(out);
    silent_link_end(far, id, (struct run_end){.kind = RUN_END_SIGNALED, .value = 9});
    turns_until(1);
    assert_true(gone_is_done(a) && a->removed == 0 && a->files.left == 2);
}

/* SIGKILL does not end a process that waits for a file system that hangs. A reload waits for the driver, so
 * this must not last for ever. */
static void test_a_process_that_cannot_be_killed_leaves_its_files(void **state)
{
    struct gone_hook *a = add("a", "/o/1", "/o/2");
    struct wire_request_image kill;
    int out;

    (void)state;
    uint64_t id = begin_removal(a, &out);
    assert_true(gone_driver_is_on(driver));
    play_clock_pass(PLENTY_MS);
    turns_until(1);
    assert_int_equal(recv(far, &kill, sizeof(kill), MSG_DONTWAIT), sizeof(kill));
    assert_true(kill.type == WIRE_KILL && kill.id == id);
    assert_false(gone_driver_is_on(driver));
    assert_true(gone_is_done(a) && a->removed == 0 && a->files.left == 2);
    close(out);
    silent_link_end(far, id, (struct run_end){.kind = RUN_END_SIGNALED, .value = 9});
    loop_turns(loop, 3);
    assert_int_equal(swept, 1); /* nobody waits for its end any more */
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, clean_up)
    const struct CMUnitTest tests[] = {
        TEST(test_each_hook_has_its_turn),
        TEST(test_a_helper_that_does_not_answer_leaves_the_files),
        TEST(test_a_process_that_cannot_be_killed_leaves_its_files),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
