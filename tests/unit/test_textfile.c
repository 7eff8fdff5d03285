/* SPDX-License-Identifier: Apache-2.0 */
/* When app/textfile asks the helper for a write, of which hook, and how it reports the end. */
#include "app/textfile.h"

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/log.h"
#include "base/mem.h"
#include "io/helper_link.h"
#include "io/loop.h"
#include "loop_until.h"
#include "play_clock.h"
#include "silent_link.h"

/* A timer of 0 ms fires after 1 ms (io/deadline). */
enum { AT_ONCE_MS = 1, HOUR_MS = 3600000 };

struct rig {
    struct loop *loop;
    struct helper_link *link;
    int far; /* the helper's end */
    struct textfile *file;
    const char *trouble;
};

static struct rig rig;

static void put(void *arg, struct buf *out)
{
    (void)arg;
    buf_puts(out, "informerd_up 1\n");
}

static void on_trouble(void *arg, const char *trouble)
{
    (void)arg;
    rig.trouble = trouble;
}

static int set_up(void **state)
{
    (void)state;
    log_set_level(LOG_LVL_ERROR);
    play_clock_stop();
    rig = (struct rig){.loop = loop_create()};
    rig.link = silent_link_create(rig.loop, &rig.far);
    rig.file = textfile_create(&(struct textfile_params){
        .loop = rig.loop, .link = rig.link, .put = put, .on_trouble = on_trouble});
    return 0;
}

static int clean_up(void **state)
{
    (void)state;
    textfile_dispose(&rig.file);
    helper_link_dispose(&rig.link);
    close(rig.far);
    loop_destroy(&rig.loop);
    play_clock_go();
    return 0;
}

static void pass(uint64_t ms)
{
    play_clock_pass(ms);
    loop_turns(rig.loop, 3);
}

static void expect_no_request(void)
{
    char byte;

    assert_int_equal(recv(rig.far, &byte, sizeof(byte), MSG_PEEK | MSG_DONTWAIT), -1);
    assert_int_equal(errno, EAGAIN);
}

/* The next request asks for a write of this hook. Returns its id. */
static uint64_t expect_write(uint32_t number)
{
    struct wire_request_image head;
    int out;

    assert_int_equal(recv(rig.far, &head, sizeof(head), MSG_PEEK | MSG_DONTWAIT), sizeof(head));
    assert_int_equal(head.number, number);
    uint64_t id = silent_link_take(rig.far, &out);
    close(out);
    return id;
}

static void expect_kill(uint64_t id)
{
    struct wire_request_image head;

    assert_int_equal(recv(rig.far, &head, sizeof(head), MSG_DONTWAIT), sizeof(head));
    assert_int_equal(head.type, WIRE_KILL);
    assert_int_equal(head.id, id);
}

/* Returns the id of a write of /a.prom that has been killed and has not ended. */
static uint64_t begin_write_that_hangs(void)
{
    textfile_set(rig.file, "/a.prom", 3);
    pass(AT_ONCE_MS);
    uint64_t id = expect_write(3);

    pass(TEXTFILE_TIME_MS);
    expect_kill(id);
    return id;
}

static const struct run_end good = {.kind = RUN_END_EXITED};
static const struct run_end bad = {
    .kind = RUN_END_REFUSED, .stage = RUN_STAGE_SEND, .value = ENOENT};

static void end_write(uint64_t id, struct run_end end)
{
    silent_link_end(rig.far, id, end);
    loop_turns(rig.loop, 3);
}

static void test_it_is_written_at_once_and_then_in_intervals(void **state)
{
    (void)state;
    textfile_set(rig.file, "/a.prom", 3);
    pass(AT_ONCE_MS);
    end_write(expect_write(3), good);
    pass(TEXTFILE_EVERY_MS - 100);
    expect_no_request();
    pass(100);
    end_write(expect_write(3), bad);
    assert_non_null(rig.trouble);
    textfile_set(rig.file, "/a.prom", 5);
    pass(TEXTFILE_EVERY_MS);
    end_write(expect_write(5), good);
    assert_null(rig.trouble);
}

/* The helper has no hook for the file any more, and ends when main names one that it does not have. */
static void test_nothing_follows_a_write_that_was_under_way_when_it_is_switched_off(void **state)
{
    (void)state;
    textfile_set(rig.file, "/a.prom", 3);
    pass(AT_ONCE_MS);
    uint64_t id = expect_write(3);

    textfile_set(rig.file, NULL, 0);
    end_write(id, bad);
    assert_null(rig.trouble);
    pass(HOUR_MS);
    expect_no_request();
}

static void test_a_write_under_way_is_followed_at_once_by_that_of_the_new_path(void **state)
{
    (void)state;
    textfile_set(rig.file, "/a.prom", 3);
    pass(AT_ONCE_MS);
    uint64_t id = expect_write(3);

    textfile_set(rig.file, "/b.prom", 4);
    pass(AT_ONCE_MS);
    expect_no_request(); /* one write at a time */
    end_write(id, bad);
    assert_null(rig.trouble); /* that of the old path is nobody's trouble any more */
    pass(AT_ONCE_MS);
    end_write(expect_write(4), good);
}

static void test_it_is_written_when_it_is_switched_off_and_on_during_a_write(void **state)
{
    (void)state;
    textfile_set(rig.file, "/a.prom", 3);
    pass(AT_ONCE_MS);
    uint64_t id = expect_write(3);

    textfile_set(rig.file, NULL, 0);
    textfile_set(rig.file, "/a.prom", 7);
    end_write(id, good);
    pass(AT_ONCE_MS);
    end_write(expect_write(7), good);
}

/* A write that hangs is killed, whether its file is still wanted or not. */
static void test_a_write_that_hangs_is_killed(void **state)
{
    (void)state;
    for (int wanted = 0; wanted <= 1; wanted++) {
        textfile_set(rig.file, "/a.prom", 3);
        pass(AT_ONCE_MS);
        uint64_t id = expect_write(3);

        if (!wanted)
            textfile_set(rig.file, NULL, 0);
        pass(TEXTFILE_TIME_MS);
        expect_kill(id);
        end_write(id, (struct run_end){.kind = RUN_END_SIGNALED, .value = SIGKILL});
        assert_int_equal(rig.trouble != NULL, wanted);
    }
}

/* SIGKILL does not end a process that waits for a file system that hangs. */
static void test_a_write_that_cannot_be_killed_is_told(void **state)
{
    (void)state;
    uint64_t id = begin_write_that_hangs();

    assert_string_equal(rig.trouble, "/a.prom: the write has not ended within 60 s");
    pass(HOUR_MS);
    expect_no_request(); /* one write at a time */
    end_write(id, (struct run_end){.kind = RUN_END_SIGNALED, .value = SIGKILL});
    assert_string_equal(rig.trouble, "/a.prom: the write has not ended within 60 s");
    pass(TEXTFILE_EVERY_MS);
    end_write(expect_write(3), good);
    assert_null(rig.trouble);
}

static void test_a_file_that_waits_for_a_write_which_cannot_be_killed_is_told(void **state)
{
    (void)state;
    uint64_t id = begin_write_that_hangs();

    textfile_set(rig.file, "/b.prom", 4);
    assert_null(rig.trouble);
    pass(TEXTFILE_TIME_MS);
    expect_kill(id);
    assert_string_equal(rig.trouble,
                        "/b.prom: the write of the file before has not ended within 60 s");
    end_write(id, (struct run_end){.kind = RUN_END_SIGNALED, .value = SIGKILL});
    pass(AT_ONCE_MS);
    end_write(expect_write(4), good);
    assert_null(rig.trouble);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_it_is_written_at_once_and_then_in_intervals, set_up,
                                        clean_up),
        cmocka_unit_test_setup_teardown(
            test_nothing_follows_a_write_that_was_under_way_when_it_is_switched_off, set_up,
            clean_up),
        cmocka_unit_test_setup_teardown(
            test_a_write_under_way_is_followed_at_once_by_that_of_the_new_path, set_up, clean_up),
        cmocka_unit_test_setup_teardown(
            test_it_is_written_when_it_is_switched_off_and_on_during_a_write, set_up, clean_up),
        cmocka_unit_test_setup_teardown(test_a_write_that_hangs_is_killed, set_up, clean_up),
        cmocka_unit_test_setup_teardown(test_a_write_that_cannot_be_killed_is_told, set_up,
                                        clean_up),
        cmocka_unit_test_setup_teardown(
            test_a_file_that_waits_for_a_write_which_cannot_be_killed_is_told, set_up, clean_up),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
