/* SPDX-License-Identifier: Apache-2.0 */
/* The log lines about credentials that expire, and when they come. */
#include "io/expiry_driver.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/log.h"
#include "campaign.h"
#include "io/loop.h"
#include "loop_until.h"
#include "play_clock.h"
#include "tls_peer.h"

/* 2024-05-01T00:00:00Z */
#define DAY_1 INT64_C(1714521600)

#define HOUR INT64_C(3600)
#define DAY  INT64_C(86400)

enum { MINUTE_MS = 60000, HOUR_MS = 3600000, DAY_MS = 86400000 };

/* A certificate that is valid from DAY_1 for 100 days, and one for 200. */
static struct tls_peer_id old;
static struct tls_peer_id renewed;

struct rig {
    struct loop *loop;
    struct expiry_driver *driver;
    FILE *log;
    int stderr_fd; /* the real one */
};

static int set_up(void **state)
{
    static struct rig r;

    r.loop = loop_create();
    r.driver = expiry_driver_create(r.loop, "prod", DAY_MS);
    r.log = tmpfile();
    assert_non_null(r.log);
    r.stderr_fd = dup(STDERR_FILENO);
    assert_true(dup2(fileno(r.log), STDERR_FILENO) >= 0);
    *state = &r;
    return 0;
}

static int tear_down(void **state)
{
    struct rig *r = *state;

    dup2(r->stderr_fd, STDERR_FILENO);
    close(r->stderr_fd);
    fclose(r->log);
    expiry_driver_dispose(&r->driver);
    loop_destroy(&r->loop);
    return 0;
}

/* The log must have n lines, of which the last has these words. */
static void expect_log(const struct rig *r, size_t n, const char *words)
{
    char text[8192] = "";
    ssize_t len = pread(fileno(r->log), text, sizeof(text) - 1, 0);
    size_t lines = 0;
    const char *last = text;

    assert_true(len >= 0);
    for (const char *c = text; *c != '\0'; c++)
        if (*c == '\n') {
            lines++;
            if (c[1] != '\0')
                last = c + 1;
        }
    if (lines != n || strstr(last, words) == NULL)
        fail_msg("%zu lines and \"%s\" are not in: %s", n, words, text);
}

/* An hour passes, on both clocks. */
static void look_after_an_hour(struct rig *r, int64_t now_s)
{
    play_clock_set_wall(now_s);
    play_clock_pass(HOUR_MS);
    loop_turns(r->loop, 3);
}

static void test_it_is_said_once_and_again_when_it_changes(void **state)
{
    const int64_t end = DAY_1 + 100 * DAY;
    struct rig *r = *state;

    play_clock_set_wall(end - 2 * DAY);
    expiry_driver_set(r->driver, EXPIRY_CERT, str_c(old.cert_pem), "/c.pem");
    expect_log(r, 0, "");
    look_after_an_hour(r, end - DAY - 10);
    expect_log(r, 0, "");
    look_after_an_hour(r, end - DAY + 10); /* it fell into the window */
    expect_log(r, 1, "credential expires soon");
    expect_log(r, 1, "prod");
    expect_log(r, 1, "2024-08-09 00:00:00 UTC");
    look_after_an_hour(r, end - HOUR);
    expiry_driver_set(r->driver, EXPIRY_CERT, str_c(old.cert_pem), "/c.pem");
    expect_log(r, 1, "");
    look_after_an_hour(r, end + 1);
    expect_log(r, 2, "credential has expired");
    look_after_an_hour(r, end + DAY);
    expect_log(r, 2, "");
    expiry_driver_set(r->driver, EXPIRY_CERT, str_c(renewed.cert_pem), "/c.pem");
    expect_log(r, 3, "credential was renewed");
    look_after_an_hour(r, DAY_1 - DAY);
    expect_log(r, 4, "credential is not valid yet");
}

/* No timer is exact to the second if the wall clock is set while it runs. */
static void test_a_clock_that_is_set_is_seen_within_an_hour(void **state)
{
    struct rig *r = *state;

    play_clock_set_wall(DAY_1);
    expiry_driver_set(r->driver, EXPIRY_CERT, str_c(old.cert_pem), NULL);
    expect_log(r, 0, "");
    look_after_an_hour(r, DAY_1 + 101 * DAY);
    expect_log(r, 1, "credential has expired");
}

static void test_the_timer_is_there_when_the_window_begins(void **state)
{
    const int64_t end = DAY_1 + 100 * DAY;
    struct rig *r = *state;

    play_clock_set_wall(end - DAY - 60);
    expiry_driver_set(r->driver, EXPIRY_CERT, str_c(old.cert_pem), NULL);
    play_clock_set_wall(end - DAY);
    play_clock_pass(MINUTE_MS);
    loop_turns(r->loop, 3);
    expect_log(r, 1, "credential expires soon");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_it_is_said_once_and_again_when_it_changes),
        TEST(test_a_clock_that_is_set_is_seen_within_an_hour),
        TEST(test_the_timer_is_there_when_the_window_begins),
    };

    alarm(PATIENCE_S);
    play_clock_stop();
    tls_peer_issue(&old, NULL,
                   &(struct tls_peer_spec){
                       .subject = "CN=old", .from = "20240501000000", .till = "20240809000000"});
    tls_peer_issue(&renewed, NULL,
                   &(struct tls_peer_spec){
                       .subject = "CN=new", .from = "20240501000000", .till = "20241117000000"});
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    tls_peer_id_fini(&old);
    tls_peer_id_fini(&renewed);
    return failed;
}
