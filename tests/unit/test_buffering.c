/* SPDX-License-Identifier: Apache-2.0 */
/* cache/buffering: which rhythm of bytes shows a proxy that holds the responses of watches back, and
 * which does not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cache/buffering.h"

#define START  UINT64_C(1000000)
#define S      UINT64_C(1000)
#define MINUTE (60 * S)
#define WATCH  (5 * MINUTE)

static struct buffering b;
static uint64_t now;

static int set_up(void **state)
{
    (void)state;
    b = (struct buffering){0};
    now = START;
    return 0;
}

static void sign(enum buffering_sign expected)
{
    assert_int_equal(buffering_look(&b, now), expected);
}

/* A watch of which all bytes come with its end. */
static void held_watch(uint64_t ms, unsigned bookmarks)
{
    buffering_begin(&b, now);
    now += ms;
    buffering_heard(&b, bookmarks, now - 1);
    buffering_heard(&b, 0, now);
    buffering_end(&b, now);
}

/* A watch of five minutes with a bookmark each minute, and one 2 s before its end. */
static void healthy_watch(void)
{
    buffering_begin(&b, now);
    for (unsigned i = 1; i < WATCH / MINUTE; i++)
        buffering_heard(&b, 1, now + i * MINUTE);
    buffering_heard(&b, 1, now + WATCH - 2 * S);
    now += WATCH;
    buffering_end(&b, now);
}

static void test_three_watches_that_sent_all_with_their_end_are_a_sign(void **state)
{
    (void)state;
    held_watch(WATCH, 1);
    held_watch(WATCH, 1);
    sign(BUFFERING_NONE);
    held_watch(WATCH, 1);
    sign(BUFFERING_BODIES);
}

static void test_the_sign_goes_a_second_after_the_first_byte_of_an_open_watch(void **state)
{
    (void)state;
    for (int i = 0; i < 3; i++)
        held_watch(WATCH, 1);
    buffering_begin(&b, now);
    buffering_heard(&b, 0, now + 10 * S);
    now += 11 * S - 1;
    sign(BUFFERING_BODIES);
    now++;
    sign(BUFFERING_NONE);
    /* Also when the watch is dropped from this side, and another one begins. */
    buffering_begin(&b, now);
    sign(BUFFERING_NONE);
}

static void test_a_healthy_watch_is_no_sign_and_ends_the_row(void **state)
{
    (void)state;
    for (int i = 0; i < 10; i++)
        healthy_watch();
    sign(BUFFERING_NONE);
    held_watch(WATCH, 1);
    held_watch(WATCH, 1);
    healthy_watch();
    held_watch(WATCH, 1);
    sign(BUFFERING_NONE);
}

static void test_quiet_watches_show_nothing(void **state)
{
    (void)state;
    for (int i = 0; i < 10; i++) {
        buffering_begin(&b, now);
        now += WATCH;
        buffering_end(&b, now);
    }
    sign(BUFFERING_NONE);
    held_watch(WATCH, 0);
    held_watch(WATCH, 0);
    buffering_begin(&b, now);
    now += WATCH;
    buffering_end(&b, now);
    held_watch(WATCH, 0);
    sign(BUFFERING_BODIES);
}

static void test_watches_that_end_at_once_show_nothing(void **state)
{
    (void)state;
    for (int i = 0; i < 10; i++)
        held_watch(5 * S - 1, 0);
    sign(BUFFERING_NONE);
    for (int i = 0; i < 2; i++)
        held_watch(5 * S, 0);
    held_watch(S, 0);
    sign(BUFFERING_NONE);
    held_watch(5 * S, 0);
    sign(BUFFERING_BODIES);
}

static void test_a_last_event_a_second_before_the_end_is_no_sign(void **state)
{
    (void)state;
    for (int i = 0; i < 10; i++) {
        buffering_begin(&b, now);
        now += WATCH;
        buffering_heard(&b, 0, now - S);
        buffering_end(&b, now);
    }
    sign(BUFFERING_NONE);
}

static void test_an_event_with_the_end_is_no_sign_if_others_came_before(void **state)
{
    (void)state;
    for (int i = 0; i < 10; i++) {
        buffering_begin(&b, now);
        buffering_heard(&b, 0, now + MINUTE);
        now += WATCH;
        buffering_heard(&b, 2, now);
        buffering_end(&b, now);
    }
    sign(BUFFERING_NONE);
}

/* A burst in the middle of a watch, with so many bookmarks within a second. */
static void burst(unsigned bookmarks)
{
    for (unsigned i = 0; i < bookmarks; i++)
        buffering_heard(&b, 1, now + UINT64_C(999) * i / bookmarks);
    now += 4 * MINUTE;
}

static void test_bookmarks_that_come_by_threes_are_a_sign(void **state)
{
    (void)state;
    buffering_begin(&b, now);
    burst(3);
    burst(5);
    sign(BUFFERING_NONE);
    buffering_heard(&b, 3, now);
    sign(BUFFERING_NONE);
    now += S;
    sign(BUFFERING_BODIES);
    now += 4 * MINUTE;
    buffering_end(&b, now);
    sign(BUFFERING_BODIES);
}

/* The last bookmark of a watch may follow the one before at once. */
static void test_two_bookmarks_at_a_time_are_no_sign(void **state)
{
    (void)state;
    buffering_begin(&b, now);
    for (int i = 0; i < 10; i++)
        burst(2);
    sign(BUFFERING_NONE);
    burst(3);
    burst(3);
    burst(1);
    burst(3);
    sign(BUFFERING_NONE);
}

static void test_the_rest_of_a_buffer_comes_with_the_end_of_a_watch(void **state)
{
    (void)state;
    buffering_begin(&b, now);
    burst(3);
    buffering_heard(&b, 1, now);
    buffering_end(&b, now);
    sign(BUFFERING_NONE);
    buffering_begin(&b, now);
    burst(3);
    sign(BUFFERING_BODIES);
}

static void test_heads_that_do_not_come_are_a_sign_if_lists_are_answered(void **state)
{
    (void)state;
    buffering_listed(&b, true);
    buffering_unanswered(&b);
    buffering_unanswered(&b);
    sign(BUFFERING_NONE);
    buffering_unanswered(&b);
    sign(BUFFERING_HEADS);
    buffering_begin(&b, now);
    sign(BUFFERING_NONE);
    buffering_listed(&b, true);
    buffering_unanswered(&b);
    sign(BUFFERING_NONE);
}

/* Such a server hangs. A list that came before the watch that was answered last says nothing of it. */
static void test_heads_that_do_not_come_are_no_sign_of_a_server_that_hangs(void **state)
{
    (void)state;
    buffering_listed(&b, true);
    buffering_begin(&b, now);
    buffering_end(&b, now);
    for (int i = 0; i < 10; i++)
        buffering_unanswered(&b);
    sign(BUFFERING_NONE);
    buffering_listed(&b, true);
    sign(BUFFERING_HEADS);
    buffering_listed(&b, false);
    sign(BUFFERING_NONE);
}

#define TEST(name) cmocka_unit_test_setup(name, set_up)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_three_watches_that_sent_all_with_their_end_are_a_sign),
        TEST(test_the_sign_goes_a_second_after_the_first_byte_of_an_open_watch),
        TEST(test_a_healthy_watch_is_no_sign_and_ends_the_row),
        TEST(test_quiet_watches_show_nothing),
        TEST(test_watches_that_end_at_once_show_nothing),
        TEST(test_a_last_event_a_second_before_the_end_is_no_sign),
        TEST(test_an_event_with_the_end_is_no_sign_if_others_came_before),
        TEST(test_bookmarks_that_come_by_threes_are_a_sign),
        TEST(test_two_bookmarks_at_a_time_are_no_sign),
        TEST(test_the_rest_of_a_buffer_comes_with_the_end_of_a_watch),
        TEST(test_heads_that_do_not_come_are_a_sign_if_lists_are_answered),
        TEST(test_heads_that_do_not_come_are_no_sign_of_a_server_that_hangs),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
