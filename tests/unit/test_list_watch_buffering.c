/* SPDX-License-Identifier: Apache-2.0 */
/* cache/list_watch and a proxy that buffers (cache/buffering): which bytes and ends of requests count. */
#include "identified.h"
#include "list_watch_script.h"

#include "cache/buffering.h"

enum { TIMES = BUFFERING_IN_A_ROW, LONG_MS = 300000 };

static const struct list_watch_script_setup lists = {.watch_list = WATCH_LIST_OFF};
static const struct err timeout = {.kind = ERR_TIMEOUT, .text = "no response"};

static struct list_watch_script script;

/* The list_watch watches from 10. */
static int set_up(void **state)
{
    static const struct answer synced = SYNCED;

    (void)state;
    list_watch_script_init(&script, &lists);
    list_watch_script_play(&script, &synced, 1);
    return 0;
}

static int clean_up(void **state)
{
    (void)state;
    list_watch_script_fini(&script);
    return 0;
}

static void sign(enum buffering_sign expected)
{
    struct list_watch_status s = list_watch_status(script.list_watch);

    assert_int_equal(buffering_look(s.buffering, script.now.ms), expected);
}

static void ends(const struct err *err)
{
    script.action = list_watch_end_identified(script.list_watch, err, script.now);
    while (script.action.what == LW_WAIT)
        script.action = list_watch_timer(script.list_watch, script.now.ms += script.action.wait_ms);
}

/* A watch of which this comes with its end. */
static void watch(const char *body, const struct err *err)
{
    assert_int_equal(script.action.what, LW_WATCH);
    list_watch_script_head(&script);
    script.now.ms += LONG_MS;
    list_watch_script_body(&script, body);
    ends(err);
}

static void list(void)
{
    static const char body[] =
        PAGE("10", "", ITEM("a", "u1", "3", "") "," ITEM("b", "u2", "4", ""));

    assert_int_equal(script.action.what, LW_LIST);
    list_watch_script_head(&script);
    list_watch_script_body(&script, body);
    ends(NULL);
}

static void test_events_that_come_with_the_end_of_their_watch(void **state)
{
    const struct err cut_off = {.kind = ERR_CLOSED, .text = "cut off"};

    (void)state;
    watch(EVENT("MODIFIED", "a", "u1", "11"), NULL);
    watch(BOOKMARK("12"), &cut_off);
    sign(BUFFERING_NONE);
    watch(EVENT("MODIFIED", "a", "u1", "13"), NULL);
    sign(BUFFERING_BODIES);
    list_watch_script_head(&script);
    list_watch_script_body(&script, BOOKMARK("14"));
    sign(BUFFERING_BODIES);
    script.now.ms += 1000;
    sign(BUFFERING_NONE);
}

static void test_bookmarks_that_come_together(void **state)
{
    (void)state;
    list_watch_script_head(&script);
    for (int i = 0; i < TIMES; i++) {
        script.now.ms += LONG_MS / 2;
        list_watch_script_body(&script, BOOKMARK("12") BOOKMARK("12"));
        list_watch_script_body(&script, BOOKMARK("12"));
    }
    script.now.ms += 1000;
    sign(BUFFERING_BODIES);
}

static void test_events_that_come_together_are_no_sign(void **state)
{
    (void)state;
    list_watch_script_head(&script);
    for (int i = 0; i < TIMES; i++) {
        script.now.ms += LONG_MS / 2;
        list_watch_script_body(&script,
                               EVENT("ADDED", "x", "u8", "11") EVENT("ADDED", "y", "u9", "12")
                                   EVENT("MODIFIED", "x", "u8", "13") BOOKMARK("14"));
    }
    script.now.ms += 1000;
    sign(BUFFERING_NONE);
}

static void unanswered(void)
{
    list_watch_unanswered(script.list_watch);
    ends(&timeout);
}

static void test_heads_that_do_not_come_after_a_list_that_came(void **state)
{
    (void)state;
    unanswered();
    unanswered();
    sign(BUFFERING_NONE);
    unanswered();
    sign(BUFFERING_HEADS);
    list_watch_script_head(&script);
    sign(BUFFERING_NONE);
}

static void
test_heads_that_do_not_come_count_only_with_a_list_behind_the_last_one_that_came(void **state)
{
    const struct http_head refusal = {.status = 403, .retry_after_s = -1};

    (void)state;
    list_watch_head(script.list_watch, &refusal, script.now.ms);
    ends(NULL);
    for (int i = 0; i < TIMES; i++)
        unanswered();
    sign(BUFFERING_NONE);
    list_watch_order(script.list_watch, RELIST_MANUAL);
    script.action = list_watch_restart(script.list_watch, script.now);
    list();
    sign(BUFFERING_HEADS);
    list_watch_order(script.list_watch, RELIST_MANUAL);
    script.action = list_watch_restart(script.list_watch, script.now);
    list_watch_unanswered(script.list_watch); /* the LIST: the server hangs */
    ends(&timeout);
    sign(BUFFERING_NONE);
}

/* A connection that could not be made says nothing; nor does one server of several that did not answer
 * before another one did. */
static void test_other_failures_of_watches_do_not_count(void **state)
{
    (void)state;
    for (int i = 0; i < 2 * TIMES; i++)
        ends(&timeout);
    sign(BUFFERING_NONE);
    for (int i = 0; i < 2 * TIMES; i++) {
        list_watch_script_head(&script);
        list_watch_unanswered(script.list_watch);
        script.now.ms += LONG_MS;
        ends(&timeout);
        if (script.action.what == LW_LIST)
            list(); /* the probe after silent watches */
    }
    sign(BUFFERING_NONE);
}

static void test_another_cluster_begins_anew(void **state)
{
    (void)state;
    for (int i = 0; i < TIMES; i++)
        unanswered();
    sign(BUFFERING_HEADS);
    list_watch_forget(script.list_watch);
    sign(BUFFERING_NONE);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, clean_up)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_events_that_come_with_the_end_of_their_watch),
        TEST(test_bookmarks_that_come_together),
        TEST(test_events_that_come_together_are_no_sign),
        TEST(test_heads_that_do_not_come_after_a_list_that_came),
        TEST(test_heads_that_do_not_come_count_only_with_a_list_behind_the_last_one_that_came),
        TEST(test_other_failures_of_watches_do_not_count),
        TEST(test_another_cluster_begins_anew),
    };

    return cmocka_run_group_tests(tests, list_watch_script_be_quiet, NULL);
}
