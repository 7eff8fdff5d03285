/* SPDX-License-Identifier: Apache-2.0 */
/* When credentials expire, and the messages about it, in virtual time. */
#include "kube/expiry.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "tls_peer.h"

/* 2024-05-01T00:00:00Z */
#define DAY_1 INT64_C(1714521600)

#define DAY INT64_C(86400)

/* Certificates that are made once for all tests, as each key costs milliseconds: the certificate of a
 * client that is valid from DAY_1 for 100 days, one that is valid for 100 minutes, a CA that ends after
 * 10 days, one that ends after 20. */
static struct tls_peer_id client;
static struct tls_peer_id brief;
static struct tls_peer_id ca_10;
static struct tls_peer_id ca_20;

static int make_ids(void **state)
{
    (void)state;
    tls_peer_issue(&client, NULL,
                   &(struct tls_peer_spec){
                       .subject = "CN=client", .from = "20240501000000", .till = "20240809000000"});
    tls_peer_issue(&brief, NULL,
                   &(struct tls_peer_spec){
                       .subject = "CN=brief", .from = "20240501000000", .till = "20240501014000"});
    tls_peer_issue(
        &ca_10, NULL,
        &(struct tls_peer_spec){
            .subject = "CN=ca 10", .from = "20200101000000", .till = "20240511000000", .ca = true});
    tls_peer_issue(
        &ca_20, NULL,
        &(struct tls_peer_spec){
            .subject = "CN=ca 20", .from = "20200101000000", .till = "20240521000000", .ca = true});
    return 0;
}

static int drop_ids(void **state)
{
    (void)state;
    tls_peer_id_fini(&client);
    tls_peer_id_fini(&brief);
    tls_peer_id_fini(&ca_10);
    tls_peer_id_fini(&ca_20);
    return 0;
}

static void expect(const struct expiry *e, enum expiry_item item, int64_t now_s,
                   enum expiry_state state)
{
    assert_int_equal(expiry_look(e, item, now_s, DAY).state, state);
}

static void expect_text(const struct expiry *e, enum expiry_item item, int64_t now_s,
                        const char *text)
{
    struct expiry_view view = expiry_look(e, item, now_s, DAY);
    struct buf out = {0};

    expiry_put(&out, e, item, &view);
    assert_string_equal(buf_cstr(&out), text);
    buf_free(&out);
}

#define CLIENT \
    "client certificate (subject \"CN=client\", issuer \"CN=client\", serial 1234) in /c.pem"

static void test_a_client_certificate(void **state)
{
    const int64_t end = DAY_1 + 100 * DAY;
    struct expiry e = {0};

    (void)state;
    expiry_set(&e, EXPIRY_CERT, str_c(client.cert_pem), "/c.pem");
    expect(&e, EXPIRY_CERT, DAY_1 - 1, EXPIRY_EARLY);
    expect_text(&e, EXPIRY_CERT, DAY_1 - 1,
                CLIENT " is not valid before 2024-05-01 00:00:00 UTC; correct the clock");
    expect(&e, EXPIRY_CERT, DAY_1, EXPIRY_VALID);
    expect_text(&e, EXPIRY_CERT, DAY_1, CLIENT " is valid until 2024-08-09 00:00:00 UTC");
    expect(&e, EXPIRY_CERT, end - DAY - 1, EXPIRY_VALID);
    expect(&e, EXPIRY_CERT, end - DAY, EXPIRY_SOON);
    expect_text(&e, EXPIRY_CERT, end - DAY, CLIENT " expires on 2024-08-09 00:00:00 UTC; renew it");
    expect(&e, EXPIRY_CERT, end - 1, EXPIRY_SOON);
    expect(&e, EXPIRY_CERT, end, EXPIRY_OVER);
    expect_text(&e, EXPIRY_CERT, end,
                CLIENT " expired on 2024-08-09 00:00:00 UTC; renew it, or correct the clock");
    assert_int_equal(expiry_first_s(&e, DAY_1), end);
    assert_int_equal(expiry_first_s(&e, end + 5), end);
    expiry_fini(&e);
}

/* Kubelets renew a certificate when less than a third of its life is left. */
static void test_a_short_life_is_not_always_near_its_end(void **state)
{
    struct expiry e = {0};

    (void)state;
    expiry_set(&e, EXPIRY_CERT, str_c(brief.cert_pem), NULL);
    expect(&e, EXPIRY_CERT, DAY_1, EXPIRY_VALID);
    expect(&e, EXPIRY_CERT, DAY_1 + 5400 - 1, EXPIRY_VALID);
    expect(&e, EXPIRY_CERT, DAY_1 + 5400, EXPIRY_SOON);
    expect_text(
        &e, EXPIRY_CERT, DAY_1 + 5400,
        "client certificate (subject \"CN=brief\", issuer \"CN=brief\", serial 1234) expires "
        "on 2024-05-01 01:40:00 UTC; renew it");
    expiry_fini(&e);
}

/* The times at which a timer has to look. */
static void test_the_next_time_at_which_a_state_changes(void **state)
{
    const int64_t end = DAY_1 + 100 * DAY;
    struct expiry e = {0};

    (void)state;
    assert_int_equal(expiry_next_s(&e, DAY_1, DAY), INT64_MAX);
    expiry_set(&e, EXPIRY_CERT, str_c(client.cert_pem), NULL);
    assert_int_equal(expiry_next_s(&e, DAY_1 - 9, DAY), DAY_1);
    assert_int_equal(expiry_next_s(&e, DAY_1, DAY), end - DAY);
    assert_int_equal(expiry_next_s(&e, end - DAY, DAY), end);
    assert_int_equal(expiry_next_s(&e, end, DAY), INT64_MAX);
    expiry_set(&e, EXPIRY_CA, str_c(ca_20.cert_pem), NULL);
    assert_int_equal(expiry_next_s(&e, DAY_1, DAY), DAY_1 + 19 * DAY);
    assert_int_equal(expiry_first_s(&e, DAY_1), DAY_1 + 20 * DAY);
    expiry_fini(&e);
}

/* A bundle keeps the CA that was, until all servers have a certificate of the next one. */
static void test_of_several_cas_the_next_to_expire_counts(void **state)
{
    struct expiry e = {0};
    struct buf both = {0};

    (void)state;
    buf_puts(&both, ca_20.cert_pem);
    buf_puts(&both, ca_10.cert_pem);
    expiry_set(&e, EXPIRY_CA, buf_str(&both), "/ca.crt");
    expect(&e, EXPIRY_CA, DAY_1, EXPIRY_VALID);
    expect_text(
        &e, EXPIRY_CA, DAY_1 + 9 * DAY,
        "CA certificate (subject \"CN=ca 10\", issuer \"CN=ca 10\", serial 1234) in /ca.crt "
        "expires on 2024-05-11 00:00:00 UTC; configure the CA that follows it");
    expect(&e, EXPIRY_CA, DAY_1 + 10 * DAY, EXPIRY_VALID);
    assert_int_equal(expiry_first_s(&e, DAY_1 + 10 * DAY), DAY_1 + 20 * DAY);
    expect(&e, EXPIRY_CA, DAY_1 + 19 * DAY, EXPIRY_SOON);
    expect_text(
        &e, EXPIRY_CA, DAY_1 + 20 * DAY,
        "CA certificate (subject \"CN=ca 20\", issuer \"CN=ca 20\", serial 1234) in /ca.crt "
        "expired on 2024-05-21 00:00:00 UTC; configure the CA that follows it, or correct "
        "the clock");
    for (int i = 0; i < EXPIRY_CAS_MAX; i++)
        buf_puts(&both, ca_10.cert_pem);
    expiry_set(&e, EXPIRY_CA, buf_str(&both), "/ca.crt"); /* a bundle of public CAs */
    expect(&e, EXPIRY_CA, DAY_1 + 20 * DAY, EXPIRY_NONE);
    expect_text(&e, EXPIRY_CA, DAY_1, "CA certificate in /ca.crt");
    buf_free(&both);
    expiry_fini(&e);
}

/* {"sub":"a","iat":1714550000,"exp":1714560000}; the same without sub and iat */
#define TOKEN     "h.eyJzdWIiOiJhIiwiaWF0IjoxNzE0NTUwMDAwLCJleHAiOjE3MTQ1NjAwMDB9.s"
#define EXP_ALONE "h.eyJleHAiOjE3MTQ1NjAwMDB9.s"

static void test_tokens(void **state)
{
    struct expiry e = {0};

    (void)state;
    expiry_set(&e, EXPIRY_TOKEN, str_c(TOKEN), "/token");
    expect(&e, EXPIRY_TOKEN, 1714549990, EXPIRY_VALID); /* iat is no nbf */
    expect(&e, EXPIRY_TOKEN, 1714558999, EXPIRY_VALID);
    expect(&e, EXPIRY_TOKEN, 1714559000, EXPIRY_SOON);
    expect_text(&e, EXPIRY_TOKEN, 1714560000,
                "token (a) in /token expired on 2024-05-01 10:40:00 UTC; renew it, or correct the "
                "clock");
    expiry_set(&e, EXPIRY_TOKEN, str_c(EXP_ALONE), "/token");
    expect(&e, EXPIRY_TOKEN, 1714560000 - DAY - 1, EXPIRY_VALID);
    expect_text(&e, EXPIRY_TOKEN, 1714560000 - DAY,
                "token in /token expires on 2024-05-01 10:40:00 UTC; renew it");
    expiry_set(&e, EXPIRY_TOKEN, str_c("opaque"), "/token");
    expect(&e, EXPIRY_TOKEN, 1714560000, EXPIRY_NONE);
    expect_text(&e, EXPIRY_TOKEN, 1714560000, "token in /token");
    expiry_fini(&e);
}

/* The token ends at 1714560000. */
static void test_what_a_plugin_gave_expires_when_it_or_the_plugin_says(void **state)
{
    struct expiry e = {0};

    (void)state;
    expiry_set_given(&e, EXPIRY_TOKEN, str_c("opaque"), "p", DAY_1);
    assert_int_equal(expiry_first_s(&e, 0), DAY_1);
    expiry_set_given(&e, EXPIRY_TOKEN, str_c(TOKEN), "p", 1714560000 - 1);
    assert_int_equal(expiry_first_s(&e, 0), 1714560000 - 1);
    expiry_set_given(&e, EXPIRY_TOKEN, str_c(TOKEN), "p", 1714560000 + 1);
    assert_int_equal(expiry_first_s(&e, 0), 1714560000);
    expiry_set_given(&e, EXPIRY_TOKEN, str_c(TOKEN), "p", 0);
    assert_int_equal(expiry_first_s(&e, 0), 1714560000);
    expiry_set_given(&e, EXPIRY_TOKEN, str_c("opaque"), "p", 0);
    assert_int_equal(expiry_first_s(&e, 0), 0);
    expiry_set_given(&e, EXPIRY_CERT, str_c(client.cert_pem), "p", DAY_1 + DAY);
    expiry_set_given(&e, EXPIRY_TOKEN, str_c(""), "p", DAY_1);
    assert_int_equal(expiry_first_s(&e, 0), DAY_1 + DAY);
    expiry_fini(&e);
}

static void test_what_a_plugin_gave_never_expires_soon(void **state)
{
    struct expiry e = {0};

    (void)state;
    expiry_set_given(&e, EXPIRY_CERT, str_c(client.cert_pem), "p", DAY_1 + DAY);
    expect(&e, EXPIRY_CERT, DAY_1 + DAY - 1, EXPIRY_VALID);
    expect(&e, EXPIRY_CERT, DAY_1 + DAY, EXPIRY_OVER);
    assert_int_equal(expiry_next_s(&e, DAY_1, DAY), DAY_1 + DAY);
    expiry_set(&e, EXPIRY_CERT, str_c(client.cert_pem), "/c.pem");
    expect(&e, EXPIRY_CERT, DAY_1 + 100 * DAY - 1, EXPIRY_SOON);
    expiry_set_given(&e, EXPIRY_TOKEN, str_c("opaque"), "the output of x", DAY_1);
    expect_text(&e, EXPIRY_TOKEN, DAY_1,
                "token in the output of x expired on 2024-05-01 00:00:00 UTC; renew it, or correct "
                "the clock");
    expiry_fini(&e);
}

static void test_an_item_that_goes(void **state)
{
    struct expiry e = {0};

    (void)state;
    expiry_set(&e, EXPIRY_CERT, str_c(client.cert_pem), "/c.pem");
    expiry_set(&e, EXPIRY_CERT, str_c(""), NULL);
    expect(&e, EXPIRY_CERT, INT64_MAX, EXPIRY_NONE);
    assert_int_equal(expiry_first_s(&e, DAY_1), 0);
    expiry_fini(&e);
}

/* The same message does not come again; another date or another state brings a new one. */
static void test_what_the_log_tells(void **state)
{
    static const struct tls_dates one = {.till_s = 100};
    static const struct tls_dates two = {.till_s = 200};
    static const struct {
        struct expiry_view view;
        bool is_news;
    } steps[] = {
        {{EXPIRY_VALID, &one}, false},
        {{EXPIRY_SOON, &one},  true },
        {{EXPIRY_SOON, &one},  false},
        {{EXPIRY_OVER, &one},  true },
        {{EXPIRY_OVER, &one},  false},
        {{EXPIRY_SOON, &two},  true },
        {{EXPIRY_VALID, &two}, true },
        {{EXPIRY_VALID, &one}, false},
        {{EXPIRY_EARLY, &one}, true },
        {{EXPIRY_NONE, NULL},  true },
        {{EXPIRY_NONE, NULL},  false},
    };
    struct expiry_said said = {0};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(steps); i++)
        assert_int_equal(expiry_is_news(&said, &steps[i].view), steps[i].is_news);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_client_certificate),
        cmocka_unit_test(test_a_short_life_is_not_always_near_its_end),
        cmocka_unit_test(test_the_next_time_at_which_a_state_changes),
        cmocka_unit_test(test_of_several_cas_the_next_to_expire_counts),
        cmocka_unit_test(test_tokens),
        cmocka_unit_test(test_what_a_plugin_gave_expires_when_it_or_the_plugin_says),
        cmocka_unit_test(test_what_a_plugin_gave_never_expires_soon),
        cmocka_unit_test(test_an_item_that_goes),
        cmocka_unit_test(test_what_the_log_tells),
    };

    return cmocka_run_group_tests(tests, make_ids, drop_ids);
}
