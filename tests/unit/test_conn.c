/* SPDX-License-Identifier: Apache-2.0 */
/* io/conn over plain TCP: addresses, every deadline, every way to end; dispose anywhere. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/compiler.h"
#include "campaign.h"
#include "io/loop.h"
#include "io_probe.h"
#include "play_clock.h"
#include "play_names.h"

static const struct server_step echo[] = {
    {SERVER_READ,  NULL   },
    {SERVER_SEND,  "hello"},
    {SERVER_CLOSE, NULL   }
};
static const struct server_step hold[] = {
    {SERVER_HOLD, NULL}
};
static const struct server_step reset[] = {
    {SERVER_READ,  NULL },
    {SERVER_SEND,  "hel"},
    {SERVER_WAIT,  NULL },
    {SERVER_RESET, NULL }
};
static const struct server_step half[] = {
    {SERVER_SEND,       "hello"},
    {SERVER_HALF_CLOSE, NULL   },
    {SERVER_HOLD,       NULL   }
};
static const struct server_step flood[] = {
    {SERVER_FLOOD, "0123456789abcdef0123456789abcdef"},
    {SERVER_CLOSE, NULL                              }
};

/* The error is "HOST:PORT: why". */
static void assert_text(const struct io_probe *p, enum err_kind kind, const char *why)
{
    char text[256];

    (void)snprintf(text, sizeof(text), "%s:%u: %s", p->params.host, (unsigned)p->params.port, why);
    assert_int_equal(p->closes, 1);
    assert_string_equal(p->err.text, text);
    assert_int_equal(p->err.kind, kind);
}

static void test_bytes_go_both_ways_until_the_peer_closes(void **state)
{
    struct server *s = server_start_two(echo, NULL, NULL);
    struct io_probe p;

    (void)state;
    io_probe_init(&p, server_port(s));
    p.say = "GET\r\n\r\n";
    p.till_closed = true;
    io_probe_connect(&p);
    assert_int_equal(conn_state(p.conn), CONN_DIALING);
    assert_null(conn_tls_ctx(p.conn));
    io_probe_run(&p);
    assert_int_equal(p.opens, 1);
    assert_string_equal(buf_cstr(&p.data), "hello");
    assert_string_equal(server_request(s, 0), "GET\r\n\r\n");
    assert_text(&p, ERR_CLOSED, "the server closed the connection");
    assert_int_equal(conn_state(p.conn), CONN_CLOSED);
    conn_write(p.conn, "late", 4);
    io_probe_fini(&p);
    server_stop(&s);
}

static void test_a_refused_connection_names_host_and_port(void **state)
{
    struct io_probe p;
    int fd;
    uint16_t port = server_refusing_port(&fd);

    (void)state;
    io_probe_init(&p, port);
    io_probe_connect_and_run(&p);
    assert_int_equal(p.opens, 0);
    assert_text(&p, ERR_REFUSED, "connect: connection refused");
    assert_int_equal(conn_reached(p.conn), CONN_DIALING);
    io_probe_fini(&p);
    close(fd);
}

static void test_the_next_address_is_tried_when_one_is_silent(void **state)
{
    struct server *s = server_start_two(echo, NULL, NULL);
    struct io_probe p;
    int fds[3];

    (void)state;
    server_dead_port("127.0.0.2", server_port(s), fds);
    play_names_set("api.test", "127.0.0.2 127.0.0.1");
    io_probe_init(&p, server_port(s));
    p.params.host = "api.test";
    io_probe_connect(&p);
    io_probe_run(&p);
    assert_int_equal(p.closes, 0);
    assert_int_equal(p.opens, 1);
    io_probe_fini(&p);
    server_stop(&s);
    for (int i = 0; i < 3; i++)
        close(fds[i]);
}

/* Disposes the connection and connects once more, with the same resolver. */
static void connect_again(struct io_probe *p)
{
    conn_dispose(&p->conn);
    p->opens = p->closes = 0;
    io_probe_connect_and_run(p);
}

static void test_an_address_that_was_silent_is_tried_last_the_next_time(void **state)
{
    struct server *s = server_start_two(hold, NULL, NULL);
    struct io_probe p;
    int fds[3];

    (void)state;
    server_dead_port("127.0.0.2", server_port(s), fds);
    play_names_set("api.test", "127.0.0.2 127.0.0.1");
    io_probe_init(&p, server_port(s));
    p.params.host = "api.test";
    io_probe_connect_and_run(&p);
    play_clock_stop(); /* another 250 ms would never pass */
    connect_again(&p);
    assert_int_equal(p.opens, 1);
    play_clock_go();
    io_probe_fini(&p);
    server_stop(&s);
    for (int i = 0; i < 3; i++)
        close(fds[i]);
}

static void test_a_new_answer_of_the_resolver_is_followed(void **state)
{
    struct server *old = server_start_two(hold, NULL, NULL);
    const struct server_params params = {
        .address = "127.0.0.2", .port = server_port(old), .scripts = SERVER_SCRIPTS(hold)};
    struct server *new = server_start(&params);
    struct io_probe p;

    (void)state;
    play_names_set("api.test", "127.0.0.1");
    io_probe_init(&p, server_port(old));
    p.params.host = "api.test";
    io_probe_connect_and_run(&p);
    play_names_set("api.test", "127.0.0.2");
    server_stop(&old);
    connect_again(&p);
    assert_int_equal(p.opens, 1);
    io_probe_fini(&p);
    server_stop(&new);
}

static void test_all_addresses_that_failed_are_named(void **state)
{
    struct io_probe p;
    int fd;
    uint16_t port = server_refusing_port(&fd);

    (void)state;
    play_names_set("api.test", "127.0.0.1 127.0.0.2");
    io_probe_init(&p, port);
    p.params.host = "api.test";
    io_probe_connect_and_run(&p);
    assert_text(&p, ERR_REFUSED, "connect: connection refused (127.0.0.1, 127.0.0.2)");
    io_probe_fini(&p);
    close(fd);
}

static void test_a_silent_address_ends_with_the_connect_timeout(void **state)
{
    struct io_probe p;
    int fds[3];
    uint16_t port = server_dead_port("127.0.0.1", 0, fds);

    (void)state;
    io_probe_init(&p, port);
    p.params.connect_timeout_ms = 30;
    io_probe_connect_and_run(&p);
    assert_text(&p, ERR_TIMEOUT, "connect: no answer within 30 ms");
    io_probe_fini(&p);
    for (int i = 0; i < 3; i++)
        close(fds[i]);
}

static void test_names_that_do_not_resolve_say_so(void **state)
{
    struct io_probe p;

    (void)state;
    io_probe_init(&p, 6443);
    p.params.host = "nowhere.test";
    io_probe_connect_and_run(&p);
    assert_text(&p, ERR_IO, "name lookup: unknown node or service");
    io_probe_fini(&p);

    io_probe_init(&p, 6443);
    p.params.host = "no name has spaces";
    io_probe_connect_and_run(&p);
    assert_int_equal(p.err.kind, ERR_IO);
    assert_non_null(strstr(p.err.text, "no name has spaces:6443: name lookup: "));
    io_probe_fini(&p);
}

static void test_a_lookup_without_answer_ends_with_the_connect_timeout(void **state)
{
    struct io_probe p;

    (void)state;
    play_names_hang();
    io_probe_init(&p, 6443);
    p.params.host = "api.test";
    p.params.connect_timeout_ms = 30;
    io_probe_connect_and_run(&p);
    assert_text(&p, ERR_TIMEOUT, "name lookup: no answer within 30 ms");
    play_names_go(); /* the end of the loop waits for the thread */
    io_probe_fini(&p);
}

static void test_the_resolver_of_the_system_is_asked_for_names(void **state)
{
    struct server *s = server_start_two(hold, NULL, NULL);
    struct buf way = {0};
    char expected[64];
    struct io_probe p;

    (void)state;
    io_probe_init(&p, server_port(s));
    p.params.host = "localhost"; /* ::1 refuses where it exists */
    io_probe_connect(&p);
    assert_int_equal(conn_state(p.conn), CONN_DIALING);
    io_probe_run(&p);
    assert_int_equal(p.opens, 1);
    conn_put_way(&way, p.conn);
    (void)snprintf(expected, sizeof(expected), "localhost:%u (127.0.0.1)",
                   (unsigned)server_port(s));
    assert_string_equal(buf_cstr(&way), expected);
    buf_free(&way);
    io_probe_fini(&p);
    server_stop(&s);
}

static void test_a_reset_is_an_error_and_not_an_end(void **state)
{
    struct server *s = server_start_two(reset, NULL, NULL);
    struct io_probe p;

    (void)state;
    io_probe_init(&p, server_port(s));
    p.say = "GET\r\n\r\n";
    p.want = 3;
    io_probe_connect_and_run(&p);
    assert_string_equal(buf_cstr(&p.data), "hel");
    server_go(s);
    io_probe_run(&p);
    assert_text(&p, ERR_IO, "connection reset by peer");
    io_probe_fini(&p);
    server_stop(&s);
}

static void test_a_half_closed_connection_is_closed(void **state)
{
    struct server *s = server_start_two(half, NULL, NULL);
    struct io_probe p;

    (void)state;
    io_probe_init(&p, server_port(s));
    p.till_closed = true;
    io_probe_connect_and_run(&p);
    assert_string_equal(buf_cstr(&p.data), "hello");
    assert_int_equal(p.err.kind, ERR_CLOSED);
    io_probe_fini(&p);
    server_stop(&s);
}

static void test_the_next_owner_gets_an_end_that_came_without_owner(void **state)
{
    static const struct server_step script[] = {
        {SERVER_WAIT,  NULL     },
        {SERVER_SEND,  "dropped"},
        {SERVER_CLOSE, NULL     }
    };
    struct server *s = server_start_two(script, NULL, NULL);
    struct io_probe p;

    (void)state;
    io_probe_init(&p, server_port(s));
    io_probe_connect_and_run(&p);
    conn_set_events(p.conn, NULL, NULL);
    server_go(s);
    io_probe_run(&p); /* until the loop has nothing more to wait for */
    assert_int_equal(conn_state(p.conn), CONN_CLOSED);
    assert_int_equal(p.closes, 0);
    assert_int_equal(p.data.len, 0);
    io_probe_adopt(&p);
    io_probe_run(&p);
    assert_int_equal(p.closes, 1);
    assert_int_equal(p.err.kind, ERR_CLOSED);
    io_probe_adopt(&p); /* the end is reported only once */
    io_probe_run(&p);
    assert_int_equal(p.closes, 1);
    io_probe_fini(&p);
    server_stop(&s);
}

static void test_dispose_inside_any_callback(void **state)
{
    (void)state;
    for (enum io_probe_dispose where = IO_ON_OPEN; where <= IO_ON_CLOSED; where++) {
        struct server *s = server_start_two(echo, NULL, NULL);
        struct io_probe p;

        io_probe_init(&p, server_port(s));
        p.say = "GET\r\n\r\n";
        p.till_closed = true;
        p.dispose = where;
        io_probe_connect_and_run(&p);
        assert_null(p.conn);
        assert_int_equal(p.closes, where == IO_ON_CLOSED);
        p.calling = true; /* no event comes any more */
        io_probe_run(&p);
        io_probe_fini(&p);
        server_stop(&s);
    }
}

static void test_dispose_in_any_state(void **state)
{
    static const char *const hosts[] = {"localhost", "127.0.0.1", "no name has spaces", "api.test"};
    struct server *s = server_start_two(hold, NULL, NULL);
    int fd;
    uint16_t refusing = server_refusing_port(&fd);

    (void)state;
    play_names_set("api.test", "127.0.0.2 127.0.0.1");
    for (int i = 0; i < 8; i++) {
        struct io_probe p;

        io_probe_init(&p, i < 4 ? server_port(s) : refusing);
        p.params.host = hosts[i % 4];
        io_probe_connect(&p);
        conn_dispose(&p.conn);
        conn_dispose(&p.conn);
        p.calling = true;
        io_probe_run(&p);
        io_probe_fini(&p);
    }
    server_stop(&s);
    close(fd);
}

struct fair {
    struct io_probe p;
    struct loop_task turn;
    size_t seen;
    size_t most; /* bytes delivered in one turn */
};

static void on_turn(struct loop_task *task)
{
    struct fair *f = container_of(task, struct fair, turn);

    if (f->p.data.len - f->seen > f->most)
        f->most = f->p.data.len - f->seen;
    f->seen = f->p.data.len;
    if (f->p.closes == 0)
        loop_defer(f->p.loop, &f->turn);
}

/* Reads a flood; *most is the number of bytes in the turn that had most. Each on_data counts so many
 * bytes more. */
static void read_flood(size_t counts, size_t *most)
{
    struct server *s = server_start_two(flood, NULL, NULL);
    struct fair f = {0};

    io_probe_init(&f.p, server_port(s));
    f.p.till_closed = true;
    f.p.counts = counts;
    loop_task_init(&f.turn, on_turn);
    loop_defer(f.p.loop, &f.turn);
    io_probe_connect_and_run(&f.p);
    loop_cancel(&f.turn);
    assert_int_equal(f.p.data.len, 65536 * 32);
    assert_int_equal(f.p.err.kind, ERR_CLOSED);
    *most = f.most;
    io_probe_fini(&f.p);
    server_stop(&s);
}

static void test_a_flood_leaves_turns_to_others(void **state)
{
    size_t most;

    (void)state;
    read_flood(0, &most);
    assert_in_range(most, 1, CONN_BURST_BYTES + LOOP_RECV_BYTES);
}

/* As when a body is decompressed: few bytes of the server are much work. */
static void test_bytes_that_have_become_more_count_as_more(void **state)
{
    size_t most;

    (void)state;
    read_flood(CONN_BURST_BYTES, &most);
    assert_in_range(most, 1, LOOP_RECV_BYTES);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bytes_go_both_ways_until_the_peer_closes),
        cmocka_unit_test(test_a_refused_connection_names_host_and_port),
        cmocka_unit_test(test_the_next_address_is_tried_when_one_is_silent),
        cmocka_unit_test(test_an_address_that_was_silent_is_tried_last_the_next_time),
        cmocka_unit_test(test_a_new_answer_of_the_resolver_is_followed),
        cmocka_unit_test(test_all_addresses_that_failed_are_named),
        cmocka_unit_test(test_a_silent_address_ends_with_the_connect_timeout),
        cmocka_unit_test(test_names_that_do_not_resolve_say_so),
        cmocka_unit_test(test_a_lookup_without_answer_ends_with_the_connect_timeout),
        cmocka_unit_test(test_the_resolver_of_the_system_is_asked_for_names),
        cmocka_unit_test(test_a_reset_is_an_error_and_not_an_end),
        cmocka_unit_test(test_a_half_closed_connection_is_closed),
        cmocka_unit_test(test_the_next_owner_gets_an_end_that_came_without_owner),
        cmocka_unit_test(test_dispose_inside_any_callback),
        cmocka_unit_test(test_dispose_in_any_state),
        cmocka_unit_test(test_a_flood_leaves_turns_to_others),
        cmocka_unit_test(test_bytes_that_have_become_more_count_as_more),
    };

    alarm(PATIENCE_S);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
