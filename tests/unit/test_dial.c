/* SPDX-License-Identifier: Apache-2.0 */
/* io/dial: several attempts at a time, of which only the one that won keeps its socket. */
#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/panic.h"
#include "campaign.h"
#include "io/dial.h"
#include "io/loop.h"
#include "io/resolver.h"
#include "loop_until.h"
#include "play_clock.h"
#include "play_names.h"
#include "server.h"

enum { TIMEOUT_MS = 10000, DELAY_MS = 250 };

static const struct server_step hold[] = {
    {SERVER_HOLD, NULL}
};

/* A server on 127.0.0.1, and two addresses with the same port that never answer. */
struct rig {
    struct loop *loop;
    struct resolver *resolver;
    struct server *server;
    int dead[2][3];
    bool calling; /* inside dial_create(): no callback may run */
    struct dial *dial;
    struct uv_tcp_s *tcp;
    struct buf address;
    struct err err; /* ERR_OK until on_failed */
};

static void on_connected(void *arg, struct uv_tcp_s *tcp, const struct address *to)
{
    struct rig *rig = arg;

    ensure(!rig->calling && rig->tcp == NULL && rig->err.kind == ERR_OK);
    rig->tcp = tcp;
    address_put(&rig->address, to);
    dial_dispose(&rig->dial);
}

static void on_failed(void *arg, const struct err *err)
{
    struct rig *rig = arg;

    ensure(!rig->calling && rig->tcp == NULL && rig->err.kind == ERR_OK);
    dial_dispose(&rig->dial);
    rig->err = *err;
}

static bool is_over(void *arg)
{
    const struct rig *rig = arg;

    return rig->tcp != NULL || rig->err.kind != ERR_OK;
}

/* How many sockets this process has open. */
static unsigned sockets(void)
{
    DIR *folder = opendir("/proc/self/fd");
    const struct dirent *entry;
    unsigned n = 0;

    assert_non_null(folder);
    while ((entry = readdir(folder)) != NULL) {
        char target[64] = "";

        (void)!readlinkat(dirfd(folder), entry->d_name, target, sizeof(target) - 1);
        n += strncmp(target, "socket:", 7) == 0;
    }
    closedir(folder);
    return n;
}

static void rig_init(struct rig *rig, const char *addresses)
{
    *rig = (struct rig){.loop = loop_create(), .server = server_start_two(hold, NULL, NULL)};
    rig->resolver = resolver_create(rig->loop);
    server_dead_port("127.0.0.2", server_port(rig->server), rig->dead[0]);
    server_dead_port("127.0.0.3", server_port(rig->server), rig->dead[1]);
    play_names_reset();
    play_names_set("api.test", addresses);
    play_clock_stop();
}

static void rig_dial(struct rig *rig)
{
    static const struct dial_events events = {on_connected, on_failed};
    const struct dial_params params = {rig->loop, rig->resolver, "api.test",
                                       server_port(rig->server), TIMEOUT_MS};

    rig->calling = true;
    rig->dial = dial_create(&params, "api.test", &events, rig);
    rig->calling = false;
}

static void rig_fini(struct rig *rig)
{
    dial_dispose(&rig->dial);
    if (rig->tcp != NULL)
        dial_close(rig->tcp);
    resolver_dispose(&rig->resolver);
    loop_destroy(&rig->loop);
    server_stop(&rig->server);
    for (size_t i = 0; i < 2; i++)
        for (size_t k = 0; k < 3; k++)
            close(rig->dead[i][k]);
    buf_free(&rig->address);
    play_clock_go();
}

static bool has_one_more(void *arg)
{
    return sockets() > *(const unsigned *)arg;
}

static void wait_for_attempt(struct rig *rig, unsigned before)
{
    loop_until(rig->loop, has_one_more, &before);
}

static bool has_accepted(void *arg)
{
    return server_accepted(arg) == 1;
}

static void test_attempts_run_beside_each_other_and_one_socket_is_left(void **state)
{
    struct rig rig;

    (void)state;
    rig_init(&rig, "127.0.0.2 127.0.0.3 127.0.0.1");
    unsigned before = sockets();
    rig_dial(&rig);
    wait_for_attempt(&rig, before);
    play_clock_pass(DELAY_MS);
    wait_for_attempt(&rig, before + 1);
    assert_false(is_over(&rig));
    play_clock_pass(DELAY_MS);
    loop_until(rig.loop, is_over, &rig);
    assert_string_equal(buf_cstr(&rig.address), "127.0.0.1");
    loop_turns(rig.loop, 2);
    loop_until(rig.loop, has_accepted, rig.server);
    assert_int_equal(sockets(), before + 2); /* both ends of the connection */
    rig_fini(&rig);
}

static void test_dispose_with_several_attempts_under_way(void **state)
{
    struct rig rig;

    (void)state;
    rig_init(&rig, "127.0.0.2 127.0.0.3");
    unsigned before = sockets();
    rig_dial(&rig);
    wait_for_attempt(&rig, before);
    play_clock_pass(DELAY_MS);
    wait_for_attempt(&rig, before + 1);
    dial_dispose(&rig.dial);
    dial_dispose(&rig.dial);
    loop_turns(rig.loop, 2);
    assert_int_equal(sockets(), before);
    assert_false(is_over(&rig));
    rig_fini(&rig);
}

static void test_the_timeout_ends_all_attempts(void **state)
{
    struct rig rig;

    (void)state;
    rig_init(&rig, "127.0.0.2 127.0.0.3");
    unsigned before = sockets();
    rig_dial(&rig);
    wait_for_attempt(&rig, before);
    play_clock_pass(TIMEOUT_MS);
    loop_until(rig.loop, is_over, &rig);
    assert_string_equal(rig.err.text, "connect: no answer within 10000 ms (127.0.0.2, 127.0.0.3)");
    assert_int_equal(rig.err.kind, ERR_TIMEOUT);
    rig_fini(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_attempts_run_beside_each_other_and_one_socket_is_left),
        cmocka_unit_test(test_dispose_with_several_attempts_under_way),
        cmocka_unit_test(test_the_timeout_ends_all_attempts),
    };

    alarm(PATIENCE_S);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
