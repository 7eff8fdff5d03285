/* SPDX-License-Identifier: Apache-2.0 */
/* io/cred with an exec plugin, which is a real program behind a real helper: which parts of its answers
 * are given out, and when it runs. The clock stands unless the test moves it. */
#include "io/cred.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/log.h"
#include "base/mem.h"
#include "helper_rig.h"
#include "io/loop.h"
#include "kube/expiry.h"
#include "loop_until.h"
#include "play_clock.h"
#include "proto/json_out.h"
#include "proto/tls_dates.h"
#include "temp_folder.h"
#include "tls_pair.h"

#define V1 "client.authentication.k8s.io/v1"

/* {"alg":"none"}.{"exp":2000000000}. */
#define JWT   "eyJhbGciOiJub25lIn0.eyJleHAiOjIwMDAwMDAwMDB9.x"
#define JWT_S INT64_C(2000000000)

#define LATE_S INT64_C(1900000000)

enum { TRUE, PLUGIN, HOOKS };
enum { SECOND_MS = 1000, AGAIN_MS = 10000, EARLY_MS = 300000, HOUR_MS = 3600000, RETRY_MS = 800 };

struct rig {
    struct helper_rig helper;
    struct cred_params params;
    struct cred *cred;
    struct tls_ctx *ctx; /* the newest; NULL = none */
    char token[64];      /* "(none)": taken back */
    int contexts, tokens, ready;
    int awaited; /* so many contexts, tokens and runs */
};

static struct tls_peer_id ca, server_id, old_client, new_client;

/* ---- Events */

static void on_tls(void *arg, struct tls_ctx *ctx)
{
    struct rig *r = arg;

    tls_ctx_unref(&r->ctx);
    r->ctx = tls_ctx_ref(ctx);
    r->contexts++;
}

static void on_token(void *arg, const char *token)
{
    struct rig *r = arg;

    snprintf(r->token, sizeof(r->token), "%s", token != NULL ? token : "(none)");
    r->tokens++;
}

static void on_ready(void *arg)
{
    struct rig *r = arg;

    r->ready++;
}

/* ---- The plugin: prints the file "answer", and writes a line to "runs" */

static int runs(void)
{
    struct stat st;

    return stat("runs", &st) == 0 ? (int)st.st_size : 0;
}

static void put_pair(struct json_out *j, const struct tls_peer_id *cert,
                     const struct tls_peer_id *key)
{
    if (cert == NULL)
        return;
    json_out_key(j, "clientCertificateData");
    json_out_cstr(j, cert->cert_pem);
    json_out_key(j, "clientKeyData");
    json_out_cstr(j, key->key_pem);
}

/* From now on the plugin prints this; NULL and 0 = the answer does not have it. */
static void put_answer(const char *token, const struct tls_peer_id *cert,
                       const struct tls_peer_id *key, time_t expires_s)
{
    struct buf text = {0};
    struct json_out j = json_out_to(&text);
    char when[32];
    struct tm tm;

    buf_puts(&text, "{\"kind\":\"ExecCredential\",\"apiVersion\":\"" V1 "\",\"status\":");
    json_out_open(&j, '{');
    if (token != NULL) {
        json_out_key(&j, "token");
        json_out_cstr(&j, token);
    }
    put_pair(&j, cert, key);
    if (expires_s != 0) {
        assert_true(strftime(when, sizeof(when), "%FT%TZ", gmtime_r(&expires_s, &tm)) > 0);
        json_out_key(&j, "expirationTimestamp");
        json_out_cstr(&j, when);
    }
    json_out_close(&j, '}');
    buf_puts(&text, "}");
    FILE *f = fopen("answer.new", "we");
    assert_non_null(f);
    assert_int_equal(fwrite(text.data, 1, text.len, f), text.len);
    assert_int_equal(fclose(f), 0);
    assert_int_equal(rename("answer.new", "answer"), 0);
    buf_free(&text);
}

/* ---- Set-up */

static void begin(struct rig *r, bool tls)
{
    static const struct cred_events events = {on_tls, on_token, on_ready, NULL};
    char *script = mem_printf("cd %s && echo >>runs && cat answer", temp_folder_path());
    const char *const true_argv[] = {"/bin/true", NULL};
    const char *const argv[] = {"/bin/sh", "-c", script, NULL};
    const char *const env[] = {"PATH=/usr/bin:/bin", NULL};
    const struct helper_hook hooks[HOOKS] = {
        [TRUE] = {.argv = true_argv, .env = env      },
        [PLUGIN] = { .argv = argv, .env = env, .concurrency = 1, .kill_signal = 9},
    };

    *r = (struct rig){0};
    helper_rig_open_with(&r->helper, hooks, HOOKS);
    free(script);
    r->params = (struct cred_params){
        .loop = r->helper.loop,
        .link = r->helper.link,
        .cluster = "prod",
        .tls = tls,
        .items = {[CRED_CA] = {.data = ca.cert_pem}},
        .plugin = { .loop = r->helper.loop,
                  .link = r->helper.link,
                  .hook = PLUGIN,
                  .cluster = "prod",
                  .command = "plug",
                  .api_version = V1},
        .retry = {                   RETRY_MS,                                           RETRY_MS,    1, 0},
    };
    play_clock_stop();
    r->cred = cred_create(&r->params, &events, r);
    play_clock_pass(1); /* the first reading is due in a later turn */
}

static void finish(struct rig *r)
{
    cred_dispose(&r->cred);
    helper_rig_close(&r->helper);
    tls_ctx_unref(&r->ctx);
    play_clock_go();
}

static bool has_come(void *arg)
{
    const struct rig *r = arg;

    return r->contexts + r->tokens >= r->awaited;
}

static bool is_ready(void *arg)
{
    const struct rig *r = arg;

    return r->ready > 0;
}

static bool has_run(void *arg)
{
    const struct rig *r = arg;

    return runs() >= r->awaited;
}

/* Until so many contexts and tokens were given out. */
static void await(struct rig *r, int contexts, int tokens)
{
    r->awaited = contexts + tokens;
    loop_until(r->helper.loop, has_come, r);
    loop_turns(r->helper.loop, 3);
    assert_int_equal(r->contexts, contexts);
    assert_int_equal(r->tokens, tokens);
}

static void await_runs(struct rig *r, int n)
{
    r->awaited = n;
    loop_until(r->helper.loop, has_run, r);
    assert_int_equal(runs(), n);
}

/* A server refuses the last credential of the plugin. */
static void refuse(struct rig *r)
{
    play_clock_pass(HOUR_MS);
    loop_turns(r->helper.loop, 1); /* looks at the clock */
    cred_renew(r->cred);
    play_clock_pass(1);
}

/* The common name that a server sees of us, which asks for a certificate; "" = of one that does not
 * ask. */
static void expect_shown(const struct rig *r, const char *subject)
{
    char shown[128] = "";
    struct tls_peer_server server;
    struct tls_pair p;

    tls_peer_server_init(&server, &server_id, subject[0] != '\0' ? &ca : NULL, TLS_PEER_1_2);
    tls_pair_open(&p, &server, r->ctx, "api.example", NULL);
    const mbedtls_x509_crt *crt = mbedtls_ssl_get_peer_cert(&p.peer.ssl);
    assert_int_equal(p.result, TLS_OK);
    if (crt != NULL)
        assert_true(mbedtls_x509_dn_gets(shown, sizeof(shown), &crt->subject) > 0);
    assert_string_equal(shown, subject);
    tls_pair_fini(&p);
    tls_peer_server_fini(&server);
}

/* When the CA expires; all certificates do then. */
static int64_t ca_till_s(void)
{
    struct tls_dates dates;

    assert_int_equal(tls_dates_read(str_c(ca.cert_pem), &dates, 1), 1);
    free(dates.who);
    return dates.till_s;
}

/* ---- Credentials that are given out */

static void test_a_token(void **state)
{
    struct rig r;

    (void)state;
    put_answer("token-1", NULL, NULL, 0);
    begin(&r, true);
    loop_until(r.helper.loop, is_ready, &r);
    await(&r, 1, 1);
    assert_string_equal(r.token, "token-1");
    expect_shown(&r, "");
    play_clock_pass(HOUR_MS);
    loop_turns(r.helper.loop, 3);
    assert_int_equal(r.ready, 1);
    assert_int_equal(runs(), 1); /* without an expiry it serves until a 401 */
    finish(&r);
}

static void test_a_certificate(void **state)
{
    struct rig r;

    (void)state;
    put_answer(NULL, &old_client, &old_client, 0);
    begin(&r, true);
    loop_until(r.helper.loop, is_ready, &r);
    await(&r, 1, 0);
    expect_shown(&r, "CN=old");
    finish(&r);
}

/* The certificate is the same: its connections stay. */
static void test_a_new_token_beside_the_same_certificate(void **state)
{
    struct rig r;

    (void)state;
    put_answer("token-1", &old_client, &old_client, 0);
    begin(&r, true);
    await(&r, 1, 1);
    put_answer("token-2", &old_client, &old_client, 0);
    refuse(&r);
    await(&r, 1, 2);
    assert_string_equal(r.token, "token-2");
    finish(&r);
}

static void test_a_new_certificate_beside_the_same_token(void **state)
{
    struct rig r;

    (void)state;
    put_answer("token-1", &old_client, &old_client, 0);
    begin(&r, true);
    await(&r, 1, 1);
    put_answer("token-1", &new_client, &new_client, 0);
    refuse(&r);
    await(&r, 2, 1);
    expect_shown(&r, "CN=new");
    finish(&r);
}

static void test_a_token_and_a_certificate_take_turns(void **state)
{
    struct rig r;

    (void)state;
    put_answer("token-1", NULL, NULL, 0);
    begin(&r, true);
    await(&r, 1, 1);
    put_answer(NULL, &old_client, &old_client, 0);
    refuse(&r);
    await(&r, 2, 2);
    assert_string_equal(r.token, "(none)");
    expect_shown(&r, "CN=old");
    put_answer("token-2", NULL, NULL, 0);
    refuse(&r);
    await(&r, 3, 3);
    assert_string_equal(r.token, "token-2");
    expect_shown(&r, "");
    finish(&r);
}

static void test_without_tls_the_plugin_does_not_run(void **state)
{
    struct rig r;

    (void)state;
    put_answer("token-1", NULL, NULL, 0);
    begin(&r, false);
    loop_until(r.helper.loop, is_ready, &r);
    cred_renew(r.cred);
    loop_turns(r.helper.loop, 3);
    helper_rig_expect_clean(&r.helper);
    assert_int_equal(r.contexts + r.tokens + runs(), 0);
    finish(&r);
}

/* ---- Answers that cannot be used */

/* Runs the plugin with an answer that cannot be used, then with a good one. */
static void expect_lacking(const char *token, const struct tls_peer_id *cert,
                           const struct tls_peer_id *key)
{
    struct rig r;
    int before = runs();

    put_answer(token, cert, key, 0);
    begin(&r, true);
    await_runs(&r, before + 1);
    helper_rig_expect_clean(&r.helper);
    loop_turns(r.helper.loop, 3);
    assert_int_equal(r.ready + r.contexts + r.tokens, 0);
    put_answer("token-1", &new_client, &new_client, 0);
    play_clock_pass(RETRY_MS);
    await(&r, 1, 1);
    assert_int_equal(r.ready, 1);
    finish(&r);
}

static void test_answers_that_cannot_be_used_are_asked_again(void **state)
{
    (void)state;
    expect_lacking(NULL, NULL, NULL);
    expect_lacking("two words", NULL, NULL);
    expect_lacking("token-1\r\nX: y", NULL, NULL);
    expect_lacking(" \n", NULL, NULL);
    expect_lacking(NULL, &old_client, &new_client);
    expect_lacking("token-1", &old_client, &new_client); /* the good half is not used either */
}

static void test_the_last_good_answer_stays_in_use(void **state)
{
    struct rig r;

    (void)state;
    put_answer("token-1", &old_client, &old_client, 0);
    begin(&r, true);
    await(&r, 1, 1);
    put_answer("token-2", &old_client, &new_client, 0);
    refuse(&r);
    await_runs(&r, 2);
    helper_rig_expect_clean(&r.helper);
    loop_turns(r.helper.loop, 3);
    await(&r, 1, 1);
    assert_string_equal(r.token, "token-1");
    cred_renew(r.cred); /* does not hurry a plugin that fails */
    play_clock_pass(1);
    loop_turns(r.helper.loop, 3);
    assert_int_equal(runs(), 2);
    finish(&r);
}

/* ---- When the plugin runs */

/* Five minutes before; the answer is some seconds old when it is read. */
static void test_it_runs_before_the_credential_expires(void **state)
{
    struct rig r;

    (void)state;
    put_answer("token-1", NULL, NULL, time(NULL) + HOUR_MS / SECOND_MS);
    begin(&r, true);
    await(&r, 1, 1);
    put_answer("token-2", NULL, NULL, 0);
    play_clock_pass(HOUR_MS - EARLY_MS - EARLY_MS);
    loop_turns(r.helper.loop, 3);
    assert_int_equal(runs(), 1);
    play_clock_pass(EARLY_MS);
    await(&r, 1, 2);
    assert_int_equal(runs(), 2);
    finish(&r);
}

static void expect_expires(const struct rig *r, int64_t till_s)
{
    assert_int_equal(expiry_first_s(cred_expiry(r->cred), 0), till_s);
}

static void test_the_expiry_is_known(void **state)
{
    struct rig r;

    (void)state;
    put_answer("token-1", &old_client, &old_client, LATE_S);
    begin(&r, true);
    await(&r, 1, 1);
    expect_expires(&r, LATE_S);
    assert_int_equal(expiry_look(cred_expiry(r.cred), EXPIRY_TOKEN, LATE_S - 1, LATE_S).state,
                     EXPIRY_VALID);
    assert_int_equal(expiry_look(cred_expiry(r.cred), EXPIRY_CERT, LATE_S, LATE_S).state,
                     EXPIRY_OVER);
    put_answer(JWT, NULL, NULL, 0);
    refuse(&r);
    await(&r, 2, 2);
    expect_expires(&r, JWT_S);
    put_answer("token-2", NULL, NULL, 0);
    refuse(&r);
    await(&r, 2, 3);
    expect_expires(&r, ca_till_s());
    finish(&r);
}

static bool is_late(void *arg)
{
    const struct rig *r = arg;

    return expiry_first_s(cred_expiry(r->cred), 0) == LATE_S;
}

/* Nothing is given out, as the token is the same. */
static void test_the_same_token_for_a_longer_time(void **state)
{
    struct rig r;

    (void)state;
    put_answer("token-1", NULL, NULL, LATE_S - 1);
    begin(&r, true);
    await(&r, 1, 1);
    put_answer("token-1", NULL, NULL, LATE_S);
    refuse(&r);
    loop_until(r.helper.loop, is_late, &r);
    await(&r, 1, 1);
    finish(&r);
}

/* A time before 1970 is none that means "never". */
static void test_what_has_expired_is_used_and_soon_replaced(void **state)
{
    struct rig r;

    (void)state;
    put_answer("token-1", NULL, NULL, -1);
    begin(&r, true);
    await(&r, 1, 1);
    put_answer("token-2", NULL, NULL, 0);
    play_clock_pass(AGAIN_MS);
    await(&r, 1, 2);
    finish(&r);
}

static void test_refusals_while_it_runs_are_one_run(void **state)
{
    struct rig r;

    (void)state;
    put_answer("token-1", NULL, NULL, 0);
    begin(&r, true);
    await(&r, 1, 1);
    put_answer("token-2", NULL, NULL, 0);
    refuse(&r);
    await_runs(&r, 2);
    cred_renew(r.cred);
    cred_renew(r.cred);
    await(&r, 1, 2);
    assert_int_equal(runs(), 2);
    finish(&r);
}

static int issue_all(void **state)
{
    const struct tls_peer_spec ca_spec = {.subject = "CN=ca", .ca = true};
    const struct tls_peer_spec server = {.subject = "CN=api", .dns = {"api.example"}};
    const struct tls_peer_spec old_one = {.subject = "CN=old"};
    const struct tls_peer_spec new_one = {.subject = "CN=new"};

    (void)state;
    tls_peer_issue(&ca, NULL, &ca_spec);
    tls_peer_issue(&server_id, &ca, &server);
    tls_peer_issue(&old_client, &ca, &old_one);
    tls_peer_issue(&new_client, &ca, &new_one);
    return 0;
}

static int free_all(void **state)
{
    (void)state;
    tls_peer_id_fini(&ca);
    tls_peer_id_fini(&server_id);
    tls_peer_id_fini(&old_client);
    tls_peer_id_fini(&new_client);
    return 0;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, temp_folder_enter, temp_folder_leave)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_a_token),
        TEST(test_a_certificate),
        TEST(test_a_new_token_beside_the_same_certificate),
        TEST(test_a_new_certificate_beside_the_same_token),
        TEST(test_a_token_and_a_certificate_take_turns),
        TEST(test_without_tls_the_plugin_does_not_run),
        TEST(test_answers_that_cannot_be_used_are_asked_again),
        TEST(test_the_last_good_answer_stays_in_use),
        TEST(test_it_runs_before_the_credential_expires),
        TEST(test_the_expiry_is_known),
        TEST(test_the_same_token_for_a_longer_time),
        TEST(test_what_has_expired_is_used_and_soon_replaced),
        TEST(test_refusals_while_it_runs_are_one_run),
    };

    return cmocka_run_group_tests(tests, issue_all, free_all);
}
