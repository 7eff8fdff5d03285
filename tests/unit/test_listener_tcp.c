/* SPDX-License-Identifier: Apache-2.0 */
/* The listener over TCP: its clients are nobody, it has all its places for them, and it touches no
 * file. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/socket_address.h"
#include "listener_rig.h"

enum { PLACES = 4 };

/* Makes the listener; `at` is where it listens. */
static void start(struct rig *t, const char *address, struct socket_address *at)
{
    struct listener_params p = {.clients = PLACES,
                                .queued_bytes = RIG_LARGE_BYTES,
                                .started_uid = getuid(),
                                .idle_ms = RIG_IDLE_MS,
                                .handle = rig_handle,
                                .arg = t};
    struct err err = {0};

    if (listener_bind_tcp(address, &p.fd, &err) != ERR_OK)
        fail_msg("%s", err.text);
    at->size = sizeof(at->to);
    assert_int_equal(getsockname(p.fd, &at->to.any, &at->size), 0);
    t->listener = listener_create(t->loop, &p);
}

static struct rig_peer *join(struct rig *t, const struct socket_address *at)
{
    struct rig_peer *p = &t->peers[t->peer_count++];

    p->reading = true;
    p->fd = socket(at->to.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(connect(p->fd, &at->to.any, at->size), 0);
    return p;
}

static void test_requests_are_answered_over_ipv4_and_ipv6(void **state)
{
    static const char *const addresses[] = {"127.0.0.1:0", "[::1]:0"};
    struct rig *t = *state;

    for (size_t i = 0; i < ARRAY_LEN(addresses); i++) {
        struct socket_address at;

        start(t, addresses[i], &at);
        rig_say(join(t, &at), "GET /a HTTP/1.1\r\n\r\nHEAD /b HTTP/1.1\r\n\r\n");
        rig_run_until(t, rig_first_answered);
        assert_non_null(strstr(buf_cstr(&t->peers[0].got), "HTTP/1.1 200 "));
        assert_false(t->privileged); /* not even the user that informerd was started as */
        assert_true(t->anonymous);
        listener_dispose(&t->listener);
        rig_run_until(t, rig_first_eof);
        close(t->peers[0].fd);
        buf_free(&t->peers[0].got);
        t->peers[0] = (struct rig_peer){0};
        t->peer_count = 0;
    }
}

static void test_clients_of_the_control_socket_are_somebody(void **state)
{
    struct rig *t = *state;

    rig_start(t);
    rig_say(rig_connect(t), "GET /a HTTP/1.1\r\n\r\n");
    rig_run_until(t, rig_first_answered);
    assert_false(t->anonymous);
}

static bool answered_twice(struct rig *t)
{
    const char *first = strchr(buf_cstr(&t->peers[0].got), '>');

    return first != NULL && strchr(first + 1, '>') != NULL;
}

/* The Host of one request is not that of the next one on the same connection. */
static void test_the_handler_gets_the_host_and_may_add_headers(void **state)
{
    struct rig *t = *state;
    struct socket_address at;

    start(t, "127.0.0.1:0", &at);
    rig_say(join(t, &at), "GET /headers HTTP/1.1\r\nHost: Node-1:9916\r\n\r\n"
                          "GET /a HTTP/1.1\r\n\r\n");
    rig_run_until(t, answered_twice);
    const char *got = buf_cstr(&t->peers[0].got);
    assert_non_null(strstr(got, "\r\nX-More: yes\r\n"));
    assert_non_null(strstr(got, "\r\n\r\nnode-1:9916</headers>"));
    assert_non_null(strstr(got, "\r\n\r\n</a>"));
}

static bool all_answered(struct rig *t)
{
    for (size_t i = 0; i < t->peer_count; i++)
        if (strchr(buf_cstr(&t->peers[i].got), '>') == NULL)
            return false;
    return true;
}

/* No quarter of the places is held back, and one more client takes the place of an idle one. */
static void test_all_places_are_for_all(void **state)
{
    struct rig *t = *state;
    struct socket_address at;

    start(t, "127.0.0.1:0", &at);
    for (int i = 0; i < PLACES; i++)
        rig_say(join(t, &at), "GET /a HTTP/1.1\r\n\r\n");
    rig_run_until(t, all_answered);
    for (int i = 0; i < PLACES; i++)
        assert_false(t->peers[i].eof);
    rig_say(join(t, &at), "GET /a HTTP/1.1\r\n\r\n");
    rig_run_until(t, all_answered);
    rig_run_until(t, rig_first_eof);
}

/* One byte now and then does not keep a place for longer than the deadline. */
static void test_a_request_must_be_whole_in_time(void **state)
{
    struct rig *t = *state;
    struct socket_address at;

    start(t, "127.0.0.1:0", &at);
    rig_say(join(t, &at), "GET /a HTT");
    rig_run_until(t, rig_one_turn);
    rig_say(&t->peers[0], "P");
    rig_pass(t);
    rig_run_until(t, rig_first_eof);
    assert_int_equal(t->asked.len, 0);
    assert_int_equal(t->peers[0].got.len, 0);
}

static bool refused(struct rig *t)
{
    return strstr(buf_cstr(&t->peers[t->peer_count - 1].got), " 503 ") != NULL;
}

static void test_answers_that_nobody_reads_are_bounded(void **state)
{
    struct rig *t = *state;
    struct socket_address at;

    start(t, "127.0.0.1:0", &at);
    join(t, &at)->reading = false;
    rig_say(&t->peers[0], "GET /big HTTP/1.1\r\n\r\n");
    rig_run_until(t, rig_asked);
    rig_say(join(t, &at), "GET /a HTTP/1.1\r\n\r\n");
    rig_run_until(t, refused);
}

static void test_a_long_head_is_refused(void **state)
{
    struct rig *t = *state;
    struct socket_address at;

    start(t, "127.0.0.1:0", &at);
    rig_say(join(t, &at), "GET /a HTTP/1.1\r\nX: ");
    rig_say_many(&t->peers[0], "0123456789", 2000);
    rig_run_until(t, rig_first_eof);
    assert_non_null(strstr(buf_cstr(&t->peers[0].got), "HTTP/1.1 400 "));
    assert_int_equal(t->asked.len, 0);
}

static void test_an_address_that_is_taken_is_an_error_that_passes(void **state)
{
    struct rig *t = *state;
    struct socket_address at;
    struct err err = {0};
    struct buf text = {0};
    int fd;

    start(t, "127.0.0.1:0", &at);
    socket_address_put(&text, &at);
    assert_int_equal(listener_bind_tcp(buf_cstr(&text), &fd, &err), ERR_IO);
    assert_int_equal(err.code, EADDRINUSE);
    assert_non_null(strstr(err.text, buf_cstr(&text)));
    buf_free(&text);
    /* documentation addresses (RFC 5737): no machine has them */
    assert_int_equal(listener_bind_tcp("192.0.2.1:0", &fd, &err), ERR_IO);
    assert_int_equal(err.code, EADDRNOTAVAIL);
    assert_int_equal(listener_bind_tcp("nonsense", &fd, &err), ERR_CONFIG);
}

/* Both can be bound, as the IPv6 socket leaves IPv4 alone. */
static void test_ipv6_leaves_ipv4_alone(void **state)
{
    struct rig *t = *state;
    struct socket_address at;
    struct err err = {0};
    char address[64];
    int fd;

    start(t, "[::]:0", &at);
    snprintf(address, sizeof(address), "0.0.0.0:%u", (unsigned)ntohs(at.to.v6.sin6_port));
    if (listener_bind_tcp(address, &fd, &err) == ERR_OK)
        close(fd);
    else if (err.code != EADDRINUSE) /* another process may have that port */
        fail_msg("%s", err.text);
}

#define WITH_RIG(test) cmocka_unit_test_setup_teardown(test, rig_set_up, rig_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_RIG(test_requests_are_answered_over_ipv4_and_ipv6),
        WITH_RIG(test_clients_of_the_control_socket_are_somebody),
        WITH_RIG(test_the_handler_gets_the_host_and_may_add_headers),
        WITH_RIG(test_all_places_are_for_all),
        WITH_RIG(test_a_request_must_be_whole_in_time),
        WITH_RIG(test_answers_that_nobody_reads_are_bounded),
        WITH_RIG(test_a_long_head_is_refused),
        WITH_RIG(test_an_address_that_is_taken_is_an_error_that_passes),
        WITH_RIG(test_ipv6_leaves_ipv4_alone),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
