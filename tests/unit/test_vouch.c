/* SPDX-License-Identifier: Apache-2.0 */
/* Which server processes are asked which cluster they are, and when. */
#include "io/vouch.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define NOW UINT64_C(1000000)

static struct vouch vouch;

static int set_up(void **state)
{
    (void)state;
    vouch = (struct vouch){.interval_ms = VOUCH_INTERVAL_MS};
    return 0;
}

static bool must_ask(uint64_t peer, uint64_t now_ms)
{
    return vouch_must_ask(&vouch, peer, true, now_ms);
}

static void test_each_new_process_is_asked(void **state)
{
    uint64_t one = vouch_new_peer(&vouch);
    uint64_t two = vouch_new_peer(&vouch);

    (void)state;
    assert_true(one != 0 && two != 0 && one != two);
    assert_true(must_ask(one, NOW));
    vouch_for(&vouch, one, "7", NOW);
    assert_false(must_ask(one, NOW));
    assert_true(must_ask(two, NOW));
    assert_string_equal(vouch_revision(&vouch, one), "7");
    assert_int_equal(vouch_said_ms(&vouch, one), NOW);
    assert_string_equal(vouch_revision(&vouch, two), "");
    assert_int_equal(vouch_said_ms(&vouch, two), 0);
}

static void test_an_answer_holds_for_ten_minutes(void **state)
{
    uint64_t one = vouch_new_peer(&vouch);

    (void)state;
    vouch_for(&vouch, one, "7", NOW);
    assert_false(must_ask(one, NOW + VOUCH_MS));
    assert_true(must_ask(one, NOW + VOUCH_MS + 1));
    vouch_for(&vouch, one, "9", NOW + VOUCH_MS + 1);
    assert_false(must_ask(one, NOW + VOUCH_MS + 2));
    assert_string_equal(vouch_revision(&vouch, one), "9");
}

static void test_the_oldest_answer_is_forgotten_first(void **state)
{
    uint64_t peers[VOUCH_PEERS + 1];

    (void)state;
    for (size_t i = 0; i <= VOUCH_PEERS; i++) {
        peers[i] = vouch_new_peer(&vouch);
        vouch_for(&vouch, peers[i], "1", NOW);
    }
    assert_true(must_ask(peers[0], NOW));
    for (size_t i = 1; i <= VOUCH_PEERS; i++)
        assert_false(must_ask(peers[i], NOW));
}

/* The lists of a first start are not held up; later ones are asked about like watches. */
static void test_lists_wait_once_the_cluster_is_known(void **state)
{
    uint64_t one = vouch_new_peer(&vouch);
    uint64_t two = vouch_new_peer(&vouch);

    (void)state;
    assert_false(vouch_must_ask(&vouch, one, false, NOW));
    vouch_for(&vouch, one, "1", NOW);
    assert_true(vouch_must_ask(&vouch, two, false, NOW));
    vouch_for_none(&vouch);
    assert_true(vouch_must_ask(&vouch, one, false, NOW));
}

static void test_a_server_is_asked_once_a_second(void **state)
{
    (void)state;
    assert_int_equal(vouch_wait_ms(&vouch, NOW), 0);
    vouch_asked(&vouch, NOW);
    assert_int_equal(vouch_wait_ms(&vouch, NOW), VOUCH_INTERVAL_MS);
    assert_int_equal(vouch_wait_ms(&vouch, NOW + 400), VOUCH_INTERVAL_MS - 400);
    assert_int_equal(vouch_wait_ms(&vouch, NOW + VOUCH_INTERVAL_MS), 0);
    vouch_excused(&vouch, NOW, 30000); /* Retry-After */
    assert_int_equal(vouch_wait_ms(&vouch, NOW), 30000);
}

static void test_who_gives_no_answer_for_five_seconds_is_not_asked_for_a_minute(void **state)
{
    uint64_t one = vouch_new_peer(&vouch);
    uint64_t at = NOW + VOUCH_PATIENCE_MS;

    (void)state;
    assert_false(vouch_failed(&vouch, NOW, NOW + 10));
    assert_false(vouch_failed(&vouch, NOW + 1000, at - 1));
    assert_true(vouch_failed(&vouch, NOW + 2000, at));
    assert_false(must_ask(one, at + VOUCH_MUTE_MS - 1));
    assert_true(must_ask(one, at + VOUCH_MUTE_MS));
}

static void test_an_answer_or_a_busy_server_ends_the_failures(void **state)
{
    uint64_t one = vouch_new_peer(&vouch);

    (void)state;
    assert_false(vouch_failed(&vouch, NOW, NOW));
    vouch_excused(&vouch, NOW + 4000, 0);
    assert_false(vouch_failed(&vouch, NOW + 4500, NOW + 6000));
    vouch_for(&vouch, one, "", NOW + 8000);
    assert_false(vouch_failed(&vouch, NOW + 8500, NOW + 13000));
}

static void test_another_cluster_takes_all_answers_back(void **state)
{
    uint64_t one = vouch_new_peer(&vouch);

    (void)state;
    vouch_for(&vouch, one, "1", NOW);
    vouch_for_none(&vouch);
    assert_true(must_ask(one, NOW));
    assert_true(vouch_failed(&vouch, NOW, NOW + VOUCH_PATIENCE_MS)); /* mute, .. */
    vouch_for_none(&vouch);
    assert_true(must_ask(one, NOW + VOUCH_PATIENCE_MS)); /* .. and asked all the same */
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup(name, set_up)
    const struct CMUnitTest tests[] = {
        TEST(test_each_new_process_is_asked),
        TEST(test_an_answer_holds_for_ten_minutes),
        TEST(test_the_oldest_answer_is_forgotten_first),
        TEST(test_lists_wait_once_the_cluster_is_known),
        TEST(test_a_server_is_asked_once_a_second),
        TEST(test_who_gives_no_answer_for_five_seconds_is_not_asked_for_a_minute),
        TEST(test_an_answer_or_a_busy_server_ends_the_failures),
        TEST(test_another_cluster_takes_all_answers_back),
    };
#undef TEST

    return cmocka_run_group_tests(tests, NULL, NULL);
}
