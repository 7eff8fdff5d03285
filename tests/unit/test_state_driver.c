/* SPDX-License-Identifier: Apache-2.0 */
/* io/state_driver: when it commits, which callbacks it calls, and how it ends. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/compiler.h"
#include "base/mem.h"
#include "io/state_driver_sync.h"
#include "play_clock.h"
#include "state_driver_rig.h"

/* Objects are written after SOON_MS; a commit is synced within the second. */
enum { SOON_MS = 100, SYNC_IS_DUE_MS = 1000 };

static void test_one_turn_is_one_commit(void **state)
{
    struct state_driver_rig r;

    (void)state;
    state_driver_rig_init(&r, true);
    state_driver_rig_object(&r, "a", "{1}", STATE_DRIVER_SOON);
    state_driver_rig_delivery(&r, "a", 1);
    state_driver_rig_object(&r, "a", "{2}", STATE_DRIVER_SOON);
    state_driver_rig_delivery(&r, "b", 2);
    assert_int_equal(state_driver_status(r.state_driver).waiting, 4);
    assert_true(state_driver_rig_commit(&r));
    struct state_driver_status s = state_driver_status(r.state_driver);
    assert_true(s.is_kept && s.is_writable && s.reason == NULL);
    assert_true(s.commits == 1 && s.waiting == 0);
    assert_int_equal(r.held, 0);
    state_driver_rig_stop(&r); /* like a kill */
    state_rig_expect(&r.state, "mark 5 a u note 0 told 1\n"
                               "mark 5 b u note 0 told 2\n"
                               "object 3 a  rv  gen  / at -1 -1 {2}\n");
    state_driver_rig_fini(&r);
}

static void test_objects_come_soon_without_being_asked_for(void **state)
{
    struct state_driver_rig r;
    enum loader_found found;

    (void)state;
    play_clock_stop();
    state_driver_rig_init(&r, true);
    state_driver_rig_object(&r, "a", "{1}", STATE_DRIVER_SOON);
    state_driver_rig_turn(&r);
    play_clock_pass(SOON_MS - 1);
    for (int i = 0; i < 5; i++)
        state_driver_rig_until(&r, true);
    assert_int_equal(state_driver_status(r.state_driver).commits, 0);
    play_clock_pass(1);
    while (state_driver_status(r.state_driver).commits == 0)
        state_driver_rig_until(&r, true);
    state_driver_rig_stop(&r);
    char *text = state_rig_load(&r.state, &found);
    assert_non_null(strstr(text, "object 3 a"));
    free(text);
    state_driver_rig_fini(&r);
    play_clock_go();
}

static void test_many_objects_do_not_wait_for_more(void **state)
{
    char *body = mem_zalloc((1 << 20) + 1);
    struct state_driver_rig r;

    (void)state;
    memset(body, 'x', 1 << 20);
    state_driver_rig_init(&r, true);
    state_driver_rig_object(&r, "a", body, STATE_DRIVER_SOON);
    state_driver_rig_until(&r, true);
    /* The write began in the first turn: later rows are part of another commit. */
    state_driver_rig_delivery(&r, "a", 1);
    assert_true(state_driver_rig_commit(&r));
    assert_int_equal(state_driver_status(r.state_driver).commits, 2);
    free(body);
    state_driver_rig_fini(&r);
}

static void test_a_wait_for_nothing_is_answered_at_once(void **state)
{
    struct state_driver_rig r;

    (void)state;
    state_driver_rig_init(&r, true);
    assert_true(state_driver_rig_commit(&r));
    assert_int_equal(state_driver_status(r.state_driver).commits, 0);
    state_driver_await(r.state_driver, &r.wait);
    state_driver_cancel(&r.wait);
    state_driver_cancel(&r.wait);
    assert_true(state_driver_rig_flush(&r, 3600000));
    assert_int_equal(r.answers, 1);
    state_driver_rig_fini(&r);
}

static void test_a_wait_covers_everything_that_was_added(void **state)
{
    struct state_driver_rig r;

    (void)state;
    state_driver_rig_init(&r, true);
    state_driver_rig_object(&r, "a", "{1}", STATE_DRIVER_NOW);
    state_driver_rig_turn(&r); /* a worker has it */
    state_driver_rig_delivery(&r, "b", 1);
    assert_true(state_driver_rig_commit(&r));
    assert_int_equal(state_driver_status(r.state_driver).commits, 2);
    state_driver_rig_delivery(&r, "c", 1);
    state_driver_rig_turn(&r);
    /* the batch that the worker has is all that the wait needs */
    assert_true(state_driver_rig_commit(&r));
    assert_int_equal(state_driver_status(r.state_driver).commits, 3);
    state_driver_rig_fini(&r);
}

static void test_a_held_wait_is_answered_when_the_hold_ends(void **state)
{
    struct state_driver_rig r;

    (void)state;
    state_driver_rig_init(&r, true);
    state_driver_hold(r.state_driver, true);
    state_driver_rig_delivery(&r, "a", 1);
    state_driver_await(r.state_driver, &r.wait);
    while (state_driver_status(r.state_driver).commits == 0)
        state_driver_rig_until(&r, true);
    assert_int_equal(r.answers, 0);
    state_driver_hold(r.state_driver, false);
    state_driver_rig_delivery(&r, "b", 2); /* is part of the commit that the wait needs */
    loop_run(r.loop);
    assert_true(r.answers == 1 && r.durable);
    assert_int_equal(state_driver_status(r.state_driver).commits, 2);
    state_driver_rig_fini(&r);
}

static void test_without_a_folder_nothing_is_kept(void **state)
{
    struct state_driver_rig r;

    (void)state;
    state_driver_rig_init(&r, false);
    state_driver_rig_object(&r, "a", "{1}", STATE_DRIVER_SOON);
    assert_false(state_driver_rig_commit(&r));
    assert_int_equal(r.held, 0);
    struct state_driver_status s = state_driver_status(r.state_driver);
    assert_true(!s.is_kept && s.is_writable && s.waiting == 0);
    state_driver_rig_object(&r, "a", "{1}", STATE_DRIVER_NOW);
    assert_true(state_driver_rig_flush(&r, 3600000));
    state_driver_rig_fini(&r);
}

static void test_the_status_says_why_nothing_is_kept(void **state)
{
    const struct state_driver_params params = {.reason = "state_dir /x: Permission denied"};
    static const struct state_driver_events events;
    struct state_driver_params p = params;

    (void)state;
    p.loop = loop_create();
    struct state_driver *k = state_driver_create(&p, &events, NULL);
    struct state_driver_status s = state_driver_status(k);
    assert_true(!s.is_kept && !s.is_writable);
    assert_string_equal(s.reason, "state_dir /x: Permission denied");
    state_driver_dispose(&k);
    loop_destroy(&p.loop);
}

/* Delivery records one after the other, each awaited, while others come during a write. */
struct chain {
    struct state_driver_rig *rig;
    struct state_driver_wait wait;
    uint64_t n;
};

enum { LINKS = 300 };

static void go_on(struct state_driver_wait *w, bool durable)
{
    struct chain *c = container_of(w, struct chain, wait);
    char key[16];

    assert_true(durable);
    if (c->n == LINKS) {
        loop_stop(c->rig->loop);
        return;
    }
    snprintf(key, sizeof(key), "k%d", (int)(c->n % 7));
    state_driver_rig_delivery(c->rig, key, ++c->n);
    state_driver_await(c->rig->state_driver, &c->wait);
    state_driver_rig_object(c->rig, key, "{later}", STATE_DRIVER_SOON);
}

static void test_deliveries_follow_each_other(void **state)
{
    struct state_driver_rig r;
    struct chain c = {.rig = &r};
    enum loader_found found;

    (void)state;
    state_driver_rig_init(&r, true);
    state_driver_wait_init(&c.wait, go_on);
    state_driver_await(r.state_driver, &c.wait);
    loop_run(r.loop);
    assert_int_equal(c.n, LINKS);
    assert_true(state_driver_status(r.state_driver).commits >= LINKS);
    state_driver_rig_stop(&r);
    char *text = state_rig_load(&r.state, &found);
    for (int i = 0; i < 7; i++) {
        char line[64];
        int last = LINKS - (LINKS - 1 - i) % 7;

        snprintf(line, sizeof(line), "mark 5 k%d u note 0 told %x\n", i, (unsigned)last);
        assert_non_null(strstr(text, line));
    }
    free(text);
    state_driver_rig_fini(&r);
}

static void test_a_flush_leaves_one_whole_file(void **state)
{
    struct state_driver_rig r;

    (void)state;
    state_driver_rig_init(&r, true);
    state_driver_rig_delivery(&r, "a", 1);
    assert_true(state_driver_rig_commit(&r));
    state_driver_rig_object(&r, "a", "{1}", STATE_DRIVER_SOON);
    assert_true(state_driver_rig_flush(&r, 3600000));
    assert_int_equal(access(r.state.folder->wal, F_OK), -1);
    state_driver_rig_delivery(&r, "late", 1);
    assert_false(state_driver_rig_commit(&r));
    state_driver_rig_stop(&r);
    state_rig_expect(&r.state, "mark 5 a u note 0 told 1\n"
                               "object 3 a  rv  gen  / at -1 -1 {1}\n");
    state_driver_rig_fini(&r);
}

static void test_a_flush_ends_when_its_time_is_over(void **state)
{
    struct state_driver_rig r;

    (void)state;
    state_driver_rig_init(&r, true);
    state_driver_rig_delivery(&r, "a", 1);
    assert_true(state_driver_rig_commit(&r));
    /* Another process holds the file: SQLite waits for longer than the state driver does. */
    struct sqlite3 *other = state_rig_hold(&r.state);
    state_driver_rig_delivery(&r, "b", 1);
    assert_false(state_driver_rig_flush(&r, 50));
    state_rig_let_go(&other);
    state_driver_rig_fini(&r);
}

static void dispose_it(struct state_driver_wait *w, bool durable)
{
    struct state_driver_rig *r = container_of(w, struct state_driver_rig, wait);

    (void)durable;
    r->answers++;
    state_driver_dispose(&r->state_driver);
    loop_stop(r->loop);
}

static void test_a_state_driver_may_be_disposed_at_any_time(void **state)
{
    struct state_driver_rig r;

    (void)state;
    state_driver_rig_init(&r, true); /* before the first turn */
    state_driver_rig_fini(&r);
    state_driver_rig_init(&r, true); /* with a batch that waits */
    state_driver_rig_object(&r, "a", "{1}", STATE_DRIVER_NOW);
    state_driver_rig_fini(&r);
    state_driver_rig_init(&r, true); /* by the callback that it calls */
    state_driver_wait_init(&r.wait, dispose_it);
    state_driver_rig_delivery(&r, "a", 1);
    state_driver_await(r.state_driver, &r.wait);
    loop_run(r.loop);
    assert_int_equal(r.answers, 1);
    assert_null(r.state_driver);
    state_driver_rig_fini(&r);
}

static void test_a_file_that_was_deleted_begins_anew(void **state)
{
    struct state_driver_rig r;

    (void)state;
    state_driver_rig_init(&r, true);
    state_driver_rig_delivery(&r, "a", 1);
    assert_true(state_driver_rig_commit(&r));
    assert_int_equal(unlink(r.state.folder->db), 0);
    play_clock_pass(SYNC_IS_DUE_MS);
    while (r.losses == 0)
        state_driver_rig_until(&r, true);
    assert_true(state_driver_rig_commit(&r));
    state_driver_rig_stop(&r);
    state_rig_expect(&r.state, "mark 5 again u note 0 told 1\n");
    assert_int_equal(r.losses, 1);
    state_driver_rig_fini(&r);
}

/* The file that comes back is older than the commits that the driver knows: objects that were deleted in
 * between would be there again. */
static void test_a_folder_that_was_moved_away_comes_back_with_its_file(void **state)
{
    struct state_driver_rig r;

    (void)state;
    state_driver_rig_init(&r, true);
    state_driver_rig_object(&r, "a", "{1}", STATE_DRIVER_SOON);
    state_driver_rig_delivery(&r, "a", 1);
    assert_true(state_driver_rig_commit(&r));
    char *away = mem_printf("%s-away", r.state.path);
    assert_int_equal(rename(r.state.path, away), 0);
    state_driver_rig_delivery(&r, "b", 1);
    assert_false(state_driver_rig_commit(&r));
    state_driver_rig_until(&r, false);
    assert_int_equal(rename(away, r.state.path), 0);
    state_driver_rig_until(&r, true);
    state_driver_rig_stop(&r);
    state_rig_expect(&r.state, "mark 5 again u note 0 told 1\n");
    free(away);
    state_driver_rig_fini(&r);
}

struct synced {
    struct loop *loop;
    int losses;
};

static void on_sync(void *arg, const struct err *err)
{
    struct synced *s = arg;

    s->losses += err != NULL && err->kind == ERR_NOT_FOUND;
    loop_stop(s->loop);
}

/* While the state driver begins the file anew, the file does not exist for a moment: a sync in that
 * moment would report it as lost again. */
static void test_a_file_that_is_given_up_is_not_synced(void **state)
{
    (void)state;
    for (int forget = 0; forget < 2; forget++) {
        struct state_driver_rig r;

        state_driver_rig_init(&r, true);
        struct synced s = {.loop = r.loop};
        struct state_driver_sync *sync =
            state_driver_sync_create(r.loop, r.state.folder, on_sync, &s);
        state_driver_sync_note(sync, 1);
        if (forget == 1)
            state_driver_sync_forget(sync);
        play_clock_pass(SYNC_IS_DUE_MS);
        loop_run(r.loop); /* until the loss was reported, or nothing is left to come */
        assert_int_equal(s.losses, 1 - forget);
        state_driver_sync_dispose(&sync);
        state_driver_rig_fini(&r);
    }
}

/* A connection that syncs while the last one is closed would leave the log behind, and a later
 * connection would miss it. */
static void test_a_file_that_is_closed_is_not_synced(void **state)
{
    struct state_driver_rig r;

    (void)state;
    state_driver_rig_init(&r, true);
    state_driver_rig_delivery(&r, "a", 1);
    assert_true(state_driver_rig_commit(&r));
    assert_true(state_driver_rig_flush(&r, 3600000));
    play_clock_pass(SYNC_IS_DUE_MS);
    loop_run(r.loop); /* until nothing is left to come */
    assert_null(state_driver_status(r.state_driver).reason);
    state_driver_rig_fini(&r);
}

static void test_a_damaged_file_begins_anew(void **state)
{
    struct state_driver_rig r;

    (void)state;
    state_driver_rig_init(&r, true);
    int fd = open(r.state.folder->db, O_WRONLY | O_CREAT, 0600);
    assert_int_equal(write(fd, "this is a text and no database", 30), 30);
    close(fd);
    state_driver_rig_delivery(&r, "a", 1);
    assert_false(state_driver_rig_commit(&r));
    assert_int_equal(r.losses, 1);
    assert_true(state_driver_rig_commit(&r));
    assert_true(state_driver_status(r.state_driver).is_writable);
    state_driver_rig_delivery(&r, "b", 1);
    assert_true(state_driver_rig_commit(&r));
    state_driver_rig_stop(&r);
    assert_int_equal(access(r.state.folder->aside, F_OK), 0);
    state_rig_expect(&r.state, "mark 5 again u note 0 told 1\n"
                               "mark 5 b u note 0 told 1\n");
    state_driver_rig_fini(&r);
}

static void test_rows_that_could_not_be_read_are_forgotten(void **state)
{
    struct state_driver_rig r;

    (void)state;
    state_driver_rig_init(&r, true);
    state_driver_rig_delivery(&r, "old", 1);
    assert_true(state_driver_rig_commit(&r));
    state_driver_rig_stop(&r);
    state_driver_rig_start(&r, true);
    state_driver_rig_delivery(&r, "new", 1);
    assert_true(state_driver_rig_commit(&r));
    state_driver_rig_stop(&r);
    state_rig_expect(&r.state, "mark 5 new u note 0 told 1\n");
    state_driver_rig_fini(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_turn_is_one_commit),
        cmocka_unit_test(test_objects_come_soon_without_being_asked_for),
        cmocka_unit_test(test_many_objects_do_not_wait_for_more),
        cmocka_unit_test(test_a_wait_for_nothing_is_answered_at_once),
        cmocka_unit_test(test_a_wait_covers_everything_that_was_added),
        cmocka_unit_test(test_a_held_wait_is_answered_when_the_hold_ends),
        cmocka_unit_test(test_without_a_folder_nothing_is_kept),
        cmocka_unit_test(test_the_status_says_why_nothing_is_kept),
        cmocka_unit_test(test_deliveries_follow_each_other),
        cmocka_unit_test(test_a_flush_leaves_one_whole_file),
        cmocka_unit_test(test_a_flush_ends_when_its_time_is_over),
        cmocka_unit_test(test_a_state_driver_may_be_disposed_at_any_time),
        cmocka_unit_test(test_a_file_that_was_deleted_begins_anew),
        cmocka_unit_test(test_a_folder_that_was_moved_away_comes_back_with_its_file),
        cmocka_unit_test(test_a_file_that_is_given_up_is_not_synced),
        cmocka_unit_test(test_a_file_that_is_closed_is_not_synced),
        cmocka_unit_test(test_a_damaged_file_begins_anew),
        cmocka_unit_test(test_rows_that_could_not_be_read_are_forgotten),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
