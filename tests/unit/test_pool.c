/* SPDX-License-Identifier: Apache-2.0 */
/* io/pool: which idle connection is taken, dropped, and how long it is kept. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#include <cmocka.h>

#include "campaign.h"
#include "io/loop.h"
#include "io/pool.h"
#include "io_probe.h"

static const struct server_step hold[] = {
    {SERVER_HOLD, NULL}
};
static const struct server_step wait_say[] = {
    {SERVER_WAIT, NULL                                  },
    {SERVER_SEND, "HTTP/1.1 408 Request Timeout\r\n\r\n"},
    {SERVER_HOLD, NULL                                  }
};
static const struct server_step wait_close[] = {
    {SERVER_WAIT,  NULL},
    {SERVER_CLOSE, NULL}
};

/* An open connection, which the pool gets; the probe keeps the loop only. */
static struct conn *open_conn(struct io_probe *p)
{
    p->opens = 0;
    io_probe_connect_and_run(p);
    struct conn *conn = p->conn;

    p->conn = NULL;
    return conn;
}

static void test_the_youngest_is_taken_and_the_oldest_makes_room(void **state)
{
    struct server *s = server_start_two(hold, NULL, NULL);
    struct conn *conns[POOL_MAX_IDLE + 1];
    struct pool pool = {0};
    struct io_probe p;

    (void)state;
    io_probe_init(&p, server_port(s));
    assert_null(pool_take(&pool));
    for (unsigned i = 0; i <= POOL_MAX_IDLE; i++) {
        conns[i] = open_conn(&p);
        pool_put(&pool, conns[i], 1000 + i);
    }
    for (unsigned i = POOL_MAX_IDLE; i > 0; i--) {
        struct conn *conn = pool_take(&pool);

        assert_ptr_equal(conn, conns[i]);
        conn_dispose(&conn);
    }
    assert_null(pool_take(&pool));
    io_probe_fini(&p);
    server_stop(&s);
}

static void test_the_connection_that_is_idle_for_longest_makes_room(void **state)
{
    static const uint64_t since_ms[POOL_MAX_IDLE + 1] = {5000, 3000, 9000, 7000, 8000};
    struct server *s = server_start_two(hold, NULL, NULL);
    struct pool pool = {0};
    struct io_probe p;

    (void)state;
    io_probe_init(&p, server_port(s));
    for (unsigned i = 0; i <= POOL_MAX_IDLE; i++)
        pool_put(&pool, open_conn(&p), since_ms[i]); /* the last one stays for 3000 ms */
    assert_int_equal(pool_expire(&pool, 9000), POOL_MAX_IDLE_MS - 4000);
    assert_int_equal(pool_expire(&pool, 5000 + POOL_MAX_IDLE_MS), 2000);
    pool_clear(&pool);
    io_probe_fini(&p);
    server_stop(&s);
}

static void test_idle_connections_live_a_minute(void **state)
{
    struct server *s = server_start_two(hold, NULL, NULL);
    struct pool pool = {0};
    struct io_probe p;

    (void)state;
    io_probe_init(&p, server_port(s));
    assert_int_equal(pool_expire(&pool, 1000), 0);
    pool_put(&pool, open_conn(&p), 1000);
    pool_put(&pool, open_conn(&p), 3000);
    assert_int_equal(pool_expire(&pool, 1000), POOL_MAX_IDLE_MS);
    assert_int_equal(pool_expire(&pool, 1000 + POOL_MAX_IDLE_MS - 1), 1);
    assert_int_equal(pool_expire(&pool, 1000 + POOL_MAX_IDLE_MS), 2000);
    assert_int_equal(pool_expire(&pool, 3000 + POOL_MAX_IDLE_MS), 0);
    assert_null(pool_take(&pool));
    io_probe_fini(&p);
    server_stop(&s);
}

static void drops(const struct server_step *script)
{
    struct server *s = server_start_two(script, NULL, NULL);
    struct pool pool = {0};
    struct io_probe p;

    io_probe_init(&p, server_port(s));
    pool_put(&pool, open_conn(&p), 1000);
    server_go(s);
    io_probe_run(&p); /* the loop has nothing left to wait for */
    assert_null(pool_take(&pool));
    assert_int_equal(pool_expire(&pool, 1000), 0);
    io_probe_fini(&p);
    server_stop(&s);
}

static void test_connections_that_end_or_send_unasked_are_dropped(void **state)
{
    (void)state;
    drops(wait_close);
    drops(wait_say);
}

static void test_clear_disposes_all(void **state)
{
    struct server *s = server_start_two(hold, NULL, NULL);
    struct pool pool = {0};
    struct io_probe p;

    (void)state;
    io_probe_init(&p, server_port(s));
    pool_put(&pool, open_conn(&p), 1000);
    pool_put(&pool, open_conn(&p), 1000);
    pool_clear(&pool);
    pool_clear(&pool);
    assert_null(pool_take(&pool));
    io_probe_fini(&p);
    server_stop(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_youngest_is_taken_and_the_oldest_makes_room),
        cmocka_unit_test(test_the_connection_that_is_idle_for_longest_makes_room),
        cmocka_unit_test(test_idle_connections_live_a_minute),
        cmocka_unit_test(test_connections_that_end_or_send_unasked_are_dropped),
        cmocka_unit_test(test_clear_disposes_all),
    };

    alarm(PATIENCE_S);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
