/* SPDX-License-Identifier: Apache-2.0 */
/* How often the metrics are made for those that ask, and which addresses a reload leaves and takes. */
#include "app/monitoring.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "app/control.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/socket_address.h"
#include "io/loop.h"
#include "loop_until.h"
#include "play_clock.h"

enum { CACHE_MS = 100 };

struct rig {
    struct loop *loop;
    struct monitoring *monitoring;
    unsigned made; /* answers that control has made */
    struct buf got;
    int client;
};

static struct rig rig;

/* ---- app/control, in the place of the real one */

void control_answer(struct control *c, const struct admin_request *req, struct admin_response *out)
{
    (void)c, (void)req;
    *out = (struct admin_response){.status = 200, .content_type = "text/plain"};
    buf_printf(&out->body, "<%u>", ++rig.made);
}

void control_put_metrics(struct control *c, struct buf *out)
{
    (void)c, (void)out;
}

void control_set_textfile_trouble(struct control *c, const char *trouble)
{
    (void)c, (void)trouble;
}

/* ---- The rig */

static int set_up(void **state)
{
    (void)state;
    signal(SIGPIPE, SIG_IGN);
    log_set_level(LOG_LVL_ERROR);
    play_clock_stop();
    rig = (struct rig){.loop = loop_create(), .client = -1};
    return 0;
}

static int clean_up(void **state)
{
    (void)state;
    monitoring_dispose(&rig.monitoring);
    loop_destroy(&rig.loop);
    buf_free(&rig.got);
    play_clock_go();
    return 0;
}

/* A configuration with up to two addresses. */
static struct conf conf_of(struct conf_str v[2], const char *first, const char *second)
{
    static char none[] = "none";
    struct conf c = {.metrics.textfile.v = none};
    const char *const texts[] = {first, second};

    c.metrics.listen = (struct conf_list){
        .at = {"f", 1},
          .v = v
    };
    for (size_t i = 0; i < ARRAY_LEN(texts) && texts[i] != NULL; i++)
        v[c.metrics.listen.n++] = (struct conf_str){.v = mem_strdup(texts[i])};
    return c;
}

static void free_conf(struct conf *c)
{
    for (size_t i = 0; i < c->metrics.listen.n; i++)
        free(c->metrics.listen.v[i].v);
}

static void start(const char *first, const char *second)
{
    struct conf_str v[2];
    struct conf c = conf_of(v, first, second);
    struct monitoring_sockets sockets;
    struct err err;

    if (monitoring_bind(&c, &sockets, &err) != ERR_OK)
        fail_msg("%s", err.text);
    rig.monitoring = monitoring_create(
        &(struct monitoring_params){.loop = rig.loop, .conf = &c, .sockets = &sockets});
    free_conf(&c);
}

static enum err_kind reload(const char *first, const char *second, struct err *err)
{
    struct conf_str v[2];
    struct conf c = conf_of(v, first, second);
    enum err_kind kind = monitoring_prepare(rig.monitoring, &c, err);

    if (kind == ERR_OK)
        monitoring_change(rig.monitoring, &c, 0);
    free_conf(&c);
    return kind;
}

/* ---- Clients */

static bool is_answered(void *arg)
{
    char bytes[1024];
    ssize_t n = recv(rig.client, bytes, sizeof(bytes), MSG_DONTWAIT);

    (void)arg;
    if (n > 0)
        buf_append(&rig.got, bytes, (size_t)n);
    assert_int_not_equal(n, 0);
    return strchr(buf_cstr(&rig.got), '>') != NULL;
}

static int dial(const char *address)
{
    struct socket_address at;

    assert_true(socket_address_read(address, &at));
    int fd = socket(at.to.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (connect(fd, &at.to.any, at.size) == 0)
        return fd;
    close(fd);
    return -1;
}

/* Asks at an address that answers. Returns the number of the answer that came. */
static unsigned ask(const char *address, const char *target)
{
    char *text = mem_printf("GET %s HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", target);
    unsigned number = 0;

    rig.client = dial(address);
    assert_true(rig.client >= 0);
    assert_int_equal(send(rig.client, text, strlen(text), 0), strlen(text));
    buf_clear(&rig.got);
    loop_until(rig.loop, is_answered, NULL);
    number = (unsigned)strtoul(strchr(buf_cstr(&rig.got), '<') + 1, NULL, 10);
    close(rig.client);
    free(text);
    return number;
}

static bool answers(const char *address)
{
    int fd = dial(address);

    if (fd >= 0)
        close(fd);
    return fd >= 0;
}

/* An address of the loopback network with a port that nobody uses at the moment. */
static char *new_address(const char *host, const char *with)
{
    struct socket_address at = {.size = sizeof(at.to)};
    struct buf text = {0};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    at.to.v4 = (struct sockaddr_in){.sin_family = AF_INET};
    assert_int_equal(bind(fd, &at.to.any, sizeof(at.to.v4)), 0);
    assert_int_equal(getsockname(fd, &at.to.any, &at.size), 0);
    close(fd);
    socket_address_put(&text, &at);
    char *address = mem_printf("%s%s", host, strrchr(with != NULL ? with : buf_cstr(&text), ':'));
    buf_free(&text);
    return address;
}

/* ---- The cache */

/* Each of them takes the loop's time; so no spelling may get around the limit. Escapes are refused
 * (tests/wire/test_page.py). */
static void test_all_spellings_of_metrics_share_one_answer(void **state)
{
    static const char *const targets[] = {"/metrics", "/metrics?x", "/metrics?", "/metrics?y=z"};
    char *address = new_address("127.0.0.1", NULL);

    (void)state;
    start(address, NULL);
    for (size_t i = 0; i < 2 * ARRAY_LEN(targets); i++)
        assert_int_equal(ask(address, targets[i % ARRAY_LEN(targets)]), 1);
    play_clock_pass(CACHE_MS);
    for (size_t i = 0; i < ARRAY_LEN(targets); i++)
        assert_int_equal(ask(address, targets[i]), 2);
    free(address);
}

static void test_the_page_and_its_data_have_an_answer_each(void **state)
{
    char *address = new_address("127.0.0.1", NULL);

    (void)state;
    start(address, NULL);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(ask(address, "/"), 1);
        assert_int_equal(ask(address, "/page.json"), 2);
        assert_int_equal(ask(address, "/metrics"), 3);
    }
    free(address);
}

static void test_all_else_is_asked_for_each_time(void **state)
{
    static const char *const targets[] = {"/livez", "/metrics/", "/livez?x", "/v1/metrics"};
    char *address = new_address("127.0.0.1", NULL);

    (void)state;
    start(address, NULL);
    for (size_t i = 0; i < ARRAY_LEN(targets); i++)
        assert_int_equal(ask(address, targets[i]), i + 1);
    free(address);
}

/* ---- A reload */

/* The kernel gives 0.0.0.0 and 127.0.0.1 with one port to one socket at a time. */
static void test_an_address_is_widened_and_narrowed(void **state)
{
    char *narrow = new_address("127.0.0.1", NULL);
    char *wide = new_address("0.0.0.0", narrow);
    char *other = new_address("127.0.0.2", narrow);
    struct err err;

    (void)state;
    start(narrow, NULL);
    assert_false(answers(other));
    assert_int_equal(reload(wide, NULL, &err), ERR_OK);
    ask(other, "/livez");
    assert_int_equal(reload(other, narrow, &err), ERR_OK);
    ask(narrow, "/livez");
    ask(other, "/livez");
    assert_int_equal(reload(narrow, NULL, &err), ERR_OK);
    assert_false(answers(other));
    free(narrow);
    free(wide);
    free(other);
}

static void test_an_address_that_stays_is_not_given_up_for_a_wider_one(void **state)
{
    char *narrow = new_address("127.0.0.1", NULL);
    char *wide = new_address("0.0.0.0", narrow);
    struct err err;

    (void)state;
    start(narrow, NULL);
    assert_int_equal(reload(narrow, wide, &err), ERR_IO);
    assert_non_null(strstr(err.text, wide));
    ask(narrow, "/livez");
    free(narrow);
    free(wide);
}

/* Nobody could know before: the port was ours. The next reload tries again. */
static void test_a_wider_address_that_another_process_keeps_from_us_is_tried_again(void **state)
{
    char *narrow = new_address("127.0.0.1", NULL);
    char *wide = new_address("0.0.0.0", narrow);
    char *other = new_address("127.0.0.2", narrow);
    struct socket_address at;
    struct err err;

    (void)state;
    start(narrow, NULL);
    assert_true(socket_address_read(other, &at));
    int taken = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(taken, &at.to.any, at.size), 0);
    log_mute();
    assert_int_equal(reload(wide, NULL, &err), ERR_OK);
    assert_false(answers(narrow));
    assert_int_equal(reload(wide, NULL, &err), ERR_IO);
    close(taken);
    assert_int_equal(reload(wide, NULL, &err), ERR_OK);
    ask(narrow, "/livez");
    free(narrow);
    free(wide);
    free(other);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_all_spellings_of_metrics_share_one_answer, set_up,
                                        clean_up),
        cmocka_unit_test_setup_teardown(test_the_page_and_its_data_have_an_answer_each, set_up,
                                        clean_up),
        cmocka_unit_test_setup_teardown(test_all_else_is_asked_for_each_time, set_up, clean_up),
        cmocka_unit_test_setup_teardown(test_an_address_is_widened_and_narrowed, set_up, clean_up),
        cmocka_unit_test_setup_teardown(test_an_address_that_stays_is_not_given_up_for_a_wider_one,
                                        set_up, clean_up),
        cmocka_unit_test_setup_teardown(
            test_a_wider_address_that_another_process_keeps_from_us_is_tried_again, set_up,
            clean_up),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
