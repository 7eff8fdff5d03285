/* SPDX-License-Identifier: Apache-2.0 */
/* io/server_identity: which server processes are asked which cluster they are, and when. */
#include "io/server_identity.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define NOW UINT64_C(1000000)

static struct server_identity server_identity;

static int set_up(void **state)
{
    (void)state;
    server_identity = (struct server_identity){.interval_ms = SERVER_IDENTITY_INTERVAL_MS};
    return 0;
}

static int clean_up(void **state)
{
    (void)state;
    server_identity_fini(&server_identity);
    return 0;
}

/* A question that was sent at asked_ms ends now: with this status, Retry-After and body; status 0 =
 * with a lost connection. */
static enum server_identity_outcome ask(uint64_t asked_ms, uint64_t now_ms, int status,
                                        int64_t retry_after_s, const char *body,
                                        struct server_identity_reply *out)
{
    const struct http_head head = {.status = status, .retry_after_s = retry_after_s};
    const struct err lost = {ERR_CLOSED, 0, "lost"};

    server_identity_asked(&server_identity, 0, asked_ms);
    if (status > 0) {
        server_identity_head(&server_identity, &head);
        server_identity_body(&server_identity, body, strlen(body));
    }
    return server_identity_end(&server_identity, status > 0 ? NULL : &lost, true, now_ms, out);
}

/* The connection is lost: do the servers count as ones that do not tell from now on? */
static bool is_mute(uint64_t asked_ms, uint64_t now_ms)
{
    struct server_identity_reply reply;

    return ask(asked_ms, now_ms, 0, -1, "", &reply) == SERVER_IDENTITY_MUTE;
}

static void is_busy(uint64_t now_ms, int64_t retry_after_s)
{
    struct server_identity_reply reply;

    assert_int_equal(ask(now_ms, now_ms, 429, retry_after_s, "", &reply), SERVER_IDENTITY_FAILED);
    assert_int_equal(reply.err.kind, ERR_BUSY);
}

static bool must_ask(uint64_t peer, uint64_t now_ms)
{
    return server_identity_must_ask(&server_identity, peer, true, now_ms);
}

static void test_each_new_process_is_asked(void **state)
{
    uint64_t one = server_identity_new_peer(&server_identity);
    uint64_t two = server_identity_new_peer(&server_identity);

    (void)state;
    assert_true(one != 0 && two != 0 && one != two);
    assert_true(must_ask(one, NOW));
    server_identity_answered(&server_identity, one, "7", NOW);
    assert_false(must_ask(one, NOW));
    assert_true(must_ask(two, NOW));
    assert_string_equal(server_identity_revision(&server_identity, one), "7");
    assert_int_equal(server_identity_answered_ms(&server_identity, one), NOW);
    assert_string_equal(server_identity_revision(&server_identity, two), "");
    assert_int_equal(server_identity_answered_ms(&server_identity, two), 0);
}

static void test_an_answer_holds_for_ten_minutes(void **state)
{
    uint64_t one = server_identity_new_peer(&server_identity);

    (void)state;
    server_identity_answered(&server_identity, one, "7", NOW);
    assert_false(must_ask(one, NOW + SERVER_IDENTITY_MS));
    assert_true(must_ask(one, NOW + SERVER_IDENTITY_MS + 1));
    server_identity_answered(&server_identity, one, "9", NOW + SERVER_IDENTITY_MS + 1);
    assert_false(must_ask(one, NOW + SERVER_IDENTITY_MS + 2));
    assert_string_equal(server_identity_revision(&server_identity, one), "9");
}

static void test_the_oldest_answer_is_forgotten_first(void **state)
{
    uint64_t peers[SERVER_IDENTITY_PEERS + 1];

    (void)state;
    for (size_t i = 0; i <= SERVER_IDENTITY_PEERS; i++) {
        peers[i] = server_identity_new_peer(&server_identity);
        server_identity_answered(&server_identity, peers[i], "1", NOW);
    }
    assert_true(must_ask(peers[0], NOW));
    for (size_t i = 1; i <= SERVER_IDENTITY_PEERS; i++)
        assert_false(must_ask(peers[i], NOW));
}

/* The lists of a first start are not held up; before later lists, servers are asked as they are
 * before watches. */
static void test_lists_wait_once_the_cluster_is_known(void **state)
{
    uint64_t one = server_identity_new_peer(&server_identity);
    uint64_t two = server_identity_new_peer(&server_identity);

    (void)state;
    assert_false(server_identity_must_ask(&server_identity, one, false, NOW));
    server_identity_answered(&server_identity, one, "1", NOW);
    assert_true(server_identity_must_ask(&server_identity, two, false, NOW));
    server_identity_forget_all(&server_identity);
    assert_true(server_identity_must_ask(&server_identity, one, false, NOW));
}

static void test_a_server_is_asked_once_a_second(void **state)
{
    (void)state;
    assert_int_equal(server_identity_wait_ms(&server_identity, 0, NOW), 0);
    server_identity_asked(&server_identity, 0, NOW);
    assert_int_equal(server_identity_wait_ms(&server_identity, 0, NOW),
                     SERVER_IDENTITY_INTERVAL_MS);
    assert_int_equal(server_identity_wait_ms(&server_identity, 0, NOW + 400),
                     SERVER_IDENTITY_INTERVAL_MS - 400);
    assert_int_equal(
        server_identity_wait_ms(&server_identity, 0, NOW + SERVER_IDENTITY_INTERVAL_MS), 0);
    is_busy(NOW, 30);
    assert_int_equal(server_identity_wait_ms(&server_identity, 0, NOW), 30000);
    assert_int_equal(server_identity_wait_ms(&server_identity, 1, NOW), 0); /* another server */
}

/* Another server may still tell, so the cluster is not known by its CA alone yet. */
static void test_a_server_that_is_not_the_last_one_is_not_mute(void **state)
{
    static const struct err lost = {.kind = ERR_TIMEOUT, .text = "lost"};
    struct server_identity_reply reply;

    (void)state;
    for (int i = 0; i < 3; i++) {
        server_identity_asked(&server_identity, 0, NOW);
        assert_int_equal(server_identity_end(&server_identity, &lost, false, NOW + 100000, &reply),
                         SERVER_IDENTITY_FAILED);
    }
    assert_true(is_mute(NOW, NOW + 100000));
}

static void test_a_server_silent_for_five_seconds_is_not_asked_for_a_minute(void **state)
{
    uint64_t one = server_identity_new_peer(&server_identity);
    uint64_t at = NOW + SERVER_IDENTITY_PATIENCE_MS;

    (void)state;
    assert_false(is_mute(NOW, NOW + 10));
    assert_false(is_mute(NOW + 1000, at - 1));
    assert_true(is_mute(NOW + 2000, at));
    assert_false(must_ask(one, at + SERVER_IDENTITY_MUTE_MS - 1));
    assert_true(must_ask(one, at + SERVER_IDENTITY_MUTE_MS));
}

static void test_an_answer_or_a_busy_server_ends_the_failures(void **state)
{
    uint64_t one = server_identity_new_peer(&server_identity);

    (void)state;
    assert_false(is_mute(NOW, NOW));
    is_busy(NOW + 4000, -1);
    assert_false(is_mute(NOW + 4500, NOW + 6000));
    server_identity_answered(&server_identity, one, "", NOW + 8000);
    assert_false(is_mute(NOW + 8500, NOW + 13000));
}

static void test_another_cluster_takes_all_answers_back(void **state)
{
    uint64_t one = server_identity_new_peer(&server_identity);

    (void)state;
    server_identity_answered(&server_identity, one, "1", NOW);
    server_identity_forget_all(&server_identity);
    assert_true(must_ask(one, NOW));
    assert_true(is_mute(NOW, NOW + SERVER_IDENTITY_PATIENCE_MS)); /* without an identity */
    server_identity_forget_all(&server_identity);
    assert_true(
        must_ask(one, NOW + SERVER_IDENTITY_PATIENCE_MS)); /* the server is asked all the same */
}

static void test_what_an_answer_says(void **state)
{
    static const char good[] = "{\"metadata\":{\"resourceVersion\":\"7\"},\"items\":[{"
                               "\"metadata\":{\"name\":\"kube-system\",\"uid\":\"u-1\"}}]}";
    static const struct {
        int status;
        const char *body;
        enum server_identity_outcome outcome;
        const char *uid;
        enum err_kind kind;
        const char *text;
    } cases[] = {
        {200, good,     SERVER_IDENTITY_TOLD,   "u-1", ERR_OK,           ""                   },
        {200, "{}",     SERVER_IDENTITY_TOLD,   "",    ERR_OK,           ""                   },
        {403, "no",     SERVER_IDENTITY_TOLD,   "",    ERR_OK,           ""                   },
        {401, "no",     SERVER_IDENTITY_FAILED, "",    ERR_UNAUTHORIZED, "kube-system: server"},
        {500, "no",     SERVER_IDENTITY_FAILED, "",    ERR_BUSY,         "server says 500"    },
        {200, "<html>", SERVER_IDENTITY_FAILED, "",    ERR_BUSY,         "LIST of namespace"  },
        {0,   "",       SERVER_IDENTITY_FAILED, "",    ERR_CLOSED,       "kube-system: lost"  },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct server_identity_reply reply;

        assert_int_equal(ask(NOW, NOW, cases[i].status, -1, cases[i].body, &reply),
                         cases[i].outcome);
        assert_int_equal(reply.status, cases[i].status);
        assert_string_equal(reply.answer.id.uid, cases[i].uid);
        assert_int_equal(reply.err.kind, cases[i].kind);
        assert_non_null(strstr(reply.err.text, cases[i].text));
    }
}

/* An answer that was dropped is no part of the next one. */
static void test_each_question_has_its_own_answer(void **state)
{
    struct server_identity_reply reply;

    (void)state;
    server_identity_asked(&server_identity, 0, NOW);
    server_identity_head(&server_identity, &(struct http_head){.status = 200});
    server_identity_body(&server_identity, "[", 1);
    assert_int_equal(ask(NOW, NOW, 200, -1, "{}", &reply), SERVER_IDENTITY_TOLD);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, clean_up)
    const struct CMUnitTest tests[] = {
        TEST(test_each_new_process_is_asked),
        TEST(test_an_answer_holds_for_ten_minutes),
        TEST(test_the_oldest_answer_is_forgotten_first),
        TEST(test_lists_wait_once_the_cluster_is_known),
        TEST(test_a_server_is_asked_once_a_second),
        TEST(test_a_server_that_is_not_the_last_one_is_not_mute),
        TEST(test_a_server_silent_for_five_seconds_is_not_asked_for_a_minute),
        TEST(test_an_answer_or_a_busy_server_ends_the_failures),
        TEST(test_another_cluster_takes_all_answers_back),
        TEST(test_what_an_answer_says),
        TEST(test_each_question_has_its_own_answer),
    };
#undef TEST

    return cmocka_run_group_tests(tests, NULL, NULL);
}
