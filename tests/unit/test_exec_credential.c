/* SPDX-License-Identifier: Apache-2.0 */
/* KUBERNETES_EXEC_INFO, and the answers of exec plugins: good ones, and what errors say of others. */
#include "kube/exec_credential.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"

#define V1      "client.authentication.k8s.io/v1"
#define V1BETA1 "client.authentication.k8s.io/v1beta1"

/* An answer with this status. */
#define ANSWER(version, status) \
    "{\"kind\":\"ExecCredential\",\"apiVersion\":\"" version "\",\"status\":" status "}"

#define TOKEN "eyJhbGciOiJub25lIn0.SECRET.x"
#define CERT  "-----BEGIN CERTIFICATE-----\\nAAAA\\n-----END CERTIFICATE-----\\n"
#define KEY   "-----BEGIN EC PRIVATE KEY-----\\nSECRET\\n-----END EC PRIVATE KEY-----\\n"

static void expect_info(const char *api_version, const struct exec_credential_cluster *cluster,
                        const char *text)
{
    struct buf out = {0};

    exec_credential_put_info(api_version, cluster, &out);
    assert_string_equal(buf_cstr(&out), text);
    buf_free(&out);
}

static void test_the_info_without_a_cluster(void **state)
{
    (void)state;
    expect_info(V1BETA1, NULL,
                "{\"kind\":\"ExecCredential\",\"apiVersion\":\"" V1BETA1
                "\",\"spec\":{\"interactive\":false}}");
}

static void test_the_info_has_what_is_known_of_the_cluster(void **state)
{
    static const struct exec_credential_cluster all = {
        .server = "https://api.example:6443/k8s/\"x\"",
        .tls_server_name = "kubernetes",
        .insecure_skip_tls_verify = true,
        .ca_pem = {"a PEM\n", 6},
        .proxy_url = "http://proxy.example:3128",
        .disable_compression = true,
        .config = "{\"audience\":[1,2]}"
    };
    static const struct exec_credential_cluster least = {.server = "https://a",
                                                         .tls_server_name = ""};

    (void)state;
    expect_info(V1, &all,
                "{\"kind\":\"ExecCredential\",\"apiVersion\":\"" V1 "\",\"spec\":{"
                "\"interactive\":false,\"cluster\":{"
                "\"server\":\"https://api.example:6443/k8s/\\\"x\\\"\","
                "\"tls-server-name\":\"kubernetes\","
                "\"insecure-skip-tls-verify\":true,"
                "\"certificate-authority-data\":\"YSBQRU0K\","
                "\"proxy-url\":\"http://proxy.example:3128\","
                "\"disable-compression\":true,"
                "\"config\":{\"audience\":[1,2]}}}}");
    expect_info(V1, &least,
                "{\"kind\":\"ExecCredential\",\"apiVersion\":\"" V1 "\",\"spec\":{"
                "\"interactive\":false,\"cluster\":{\"server\":\"https://a\"}}}");
}

/* Reads a copy of text, so that a sanitizer sees a read behind it. */
static enum err_kind read_exactly(struct str text, const char *api_version,
                                  struct exec_credential *out, struct err *err)
{
    char *exact = mem_dup(text.p, text.n);
    enum err_kind kind = exec_credential_read(str_of(exact, text.n), api_version, out, err);

    free(exact);
    return kind;
}

static void expect(const char *text, const char *api_version, const char *token, const char *cert,
                   const char *key)
{
    struct exec_credential c;
    struct err err = {0};

    if (read_exactly(str_c(text), api_version, &c, &err) != ERR_OK)
        fail_msg("%s", err.text);
    assert_string_equal(buf_cstr(&c.token), token);
    assert_string_equal(buf_cstr(&c.cert_pem), cert);
    assert_string_equal(buf_cstr(&c.key_pem), key);
    exec_credential_fini(&c);
    assert_null(c.token.data);
    assert_null(c.cert_pem.data);
    assert_null(c.key_pem.data);
}

static void test_a_token_a_pair_and_both(void **state)
{
    static const char cert[] = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
    static const char key[] =
        "-----BEGIN EC PRIVATE KEY-----\nSECRET\n-----END EC PRIVATE KEY-----\n";

    (void)state;
    expect(ANSWER(V1, "{\"token\":\"" TOKEN "\"}"), V1, TOKEN, "", "");
    expect(ANSWER(V1BETA1, "{\"token\":\"" TOKEN "\"}") "\n", V1BETA1, TOKEN, "", "");
    expect(ANSWER(V1, "{\"clientCertificateData\":\"" CERT "\",\"clientKeyData\":\"" KEY "\"}"), V1,
           "", cert, key);
    expect(ANSWER(V1, "{\"token\":\"" TOKEN "\",\"clientCertificateData\":\"" CERT
                      "\",\"clientKeyData\":\"" KEY "\"}"),
           V1, TOKEN, cert, key);
}

static void test_members_that_nobody_asked_for_do_no_harm(void **state)
{
    (void)state;
    expect("{\"spec\":{\"cluster\":{},\"token\":1},\"x\":[{}],\"status\":{\"y\":null,"
           "\"clientKeyData\":null,\"clientCertificateData\":\"\",\"expirationTimestamp\":null,"
           "\"token\":\"a\\u002fb\"},\"apiVersion\":\"" V1 "\",\"kind\":\"ExecCredential\"}",
           V1, "a/b", "", "");
}

static void expect_expiry(const char *json, bool expires, int64_t ms)
{
    struct exec_credential c;
    char *text =
        mem_printf(ANSWER(V1, "{\"token\":\"" TOKEN "\",\"expirationTimestamp\":%s}"), json);

    assert_int_equal(exec_credential_read(str_c(text), V1, &c, NULL), ERR_OK);
    assert_int_equal(c.expires, expires);
    assert_int_equal(c.expires_ms, ms);
    exec_credential_fini(&c);
    free(text);
}

static void test_the_time_of_expiry(void **state)
{
    (void)state;
    expect_expiry("\"2026-01-31T12:00:00Z\"", true, 1769860800000);
    expect_expiry("\"2026-01-31T13:00:00.123456789+01:00\"", true, 1769860800123);
    expect_expiry("\"1969-12-31T23:59:59Z\"", true, -1000);
    expect_expiry("null", false, 0);
}

/* The error has `why`, and nothing of a credential. */
static void refuse(struct str text, const char *why)
{
    struct exec_credential c;
    struct err err = {0};

    assert_int_equal(read_exactly(text, V1, &c, &err), ERR_CREDENTIAL);
    if (strstr(err.text, why) == NULL)
        fail_msg("\"%s\" does not say \"%s\"", err.text, why);
    assert_null(strstr(err.text, "SECRET"));
    exec_credential_fini(&c);
}

static void test_text_that_is_no_exec_credential(void **state)
{
    (void)state;
    refuse(str_c(""), "is empty");
    refuse(str_c("SECRET"), "is no JSON");
    refuse(str_c("error: SECRET\n"), "is no JSON");
    refuse(str_c("\"SECRET\""), "a JSON object is expected");
    refuse(str_c("[]"), "a JSON object is expected");
    refuse(str_c(ANSWER(V1, "{\"token\":\"SECRET\"}") "{}"), "is no JSON");
    refuse(str_c("{\"status\":{\"token\":\"SECRET\"}}"), "kind");
    refuse(str_c("{\"kind\":\"SECRET\",\"apiVersion\":\"" V1 "\"}"), "its kind is another one");
}

static void test_another_api_version(void **state)
{
    (void)state;
    refuse(str_c(ANSWER(V1BETA1, "{\"token\":\"SECRET\"}")),
           "the apiVersion " V1BETA1 ", but the kubeconfig says " V1 ":");
    refuse(str_c(ANSWER("v1", "{\"token\":\"SECRET\"}")), "another apiVersion");
    refuse(str_c(ANSWER("SECRET", "{\"token\":\"SECRET\"}")), "another apiVersion");
    refuse(str_c("{\"kind\":\"ExecCredential\",\"status\":{\"token\":\"SECRET\"}}"),
           "another apiVersion");
    /* An error is one line. */
    refuse(str_c(ANSWER(V1 "\\n", "{\"token\":\"SECRET\"}")), "another apiVersion");
}

/* The answer with this status. */
static void refuse_status(const char *status, const char *why)
{
    char *text = mem_printf(ANSWER(V1, "%s"), status);

    refuse(str_c(text), why);
    free(text);
}

static void test_a_status_without_a_whole_credential(void **state)
{
    (void)state;
    refuse(str_c("{\"kind\":\"ExecCredential\",\"apiVersion\":\"" V1 "\"}"), "has no status");
    refuse_status("null", "has no status");
    refuse_status("\"SECRET\"", "has no status");
    refuse_status("{}", "has no credential");
    refuse_status("{\"token\":\"\"}", "has no credential");
    refuse_status("{\"token\":17}", "status.token");
    refuse_status("{\"clientKeyData\":[\"SECRET\"],\"token\":\"SECRET\"}", "status.clientKeyData");
    refuse_status("{\"clientCertificateData\":\"SECRET\"}", "without clientKeyData");
    refuse_status("{\"clientKeyData\":\"SECRET\"}", "without clientCertificateData");
    refuse_status("{\"token\":\"SECRET\",\"clientKeyData\":\"SECRET\"}",
                  "without clientCertificateData");
    refuse_status("{\"token\":\"SECRET\",\"clientCertificateData\":\"SECRET\"}",
                  "without clientKeyData");
}

static void test_an_expiry_that_is_no_time(void **state)
{
    (void)state;
    refuse_status("{\"token\":\"SECRET\",\"expirationTimestamp\":\"SECRET\"}",
                  "expirationTimestamp");
    refuse_status("{\"token\":\"SECRET\",\"expirationTimestamp\":1769860800}",
                  "expirationTimestamp");
    refuse_status("{\"token\":\"SECRET\",\"expirationTimestamp\":\"\"}", "expirationTimestamp");
}

static void test_an_answer_that_was_cut_is_an_error_that_shows_nothing(void **state)
{
    static const char whole[] = ANSWER(V1, "{\"token\":\"" TOKEN "\",\"clientKeyData\":\"" KEY
                                           "\",\"clientCertificateData\":\"" CERT "\"}");

    (void)state;
    for (size_t n = 1; n < sizeof(whole) - 1; n++)
        refuse(str_of(whole, n), "is no JSON");
}

static void test_the_secrets_of_a_refused_answer_are_known(void **state)
{
    struct exec_credential c;

    (void)state;
    assert_int_equal(
        exec_credential_read(str_c(ANSWER(V1BETA1, "{\"token\":\"t\",\"clientKeyData\":\"k\"}")),
                             V1, &c, NULL),
        ERR_CREDENTIAL);
    assert_string_equal(buf_cstr(&c.token), "t");
    assert_string_equal(buf_cstr(&c.key_pem), "k");
    exec_credential_fini(&c);
}

static void test_a_mebibyte_is_the_most(void **state)
{
    struct buf text = {0};
    struct exec_credential c;

    (void)state;
    buf_puts(&text, ANSWER(V1, "{\"token\":\"" TOKEN "\"}"));
    while (text.len < EXEC_CREDENTIAL_MAX)
        buf_putc(&text, ' ');
    assert_int_equal(exec_credential_read(buf_str(&text), V1, &c, NULL), ERR_OK);
    exec_credential_fini(&c);
    buf_putc(&text, ' ');
    assert_int_equal(exec_credential_read(buf_str(&text), V1, &c, NULL), ERR_TOO_BIG);
    exec_credential_fini(&c);
    buf_free(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_info_without_a_cluster),
        cmocka_unit_test(test_the_info_has_what_is_known_of_the_cluster),
        cmocka_unit_test(test_a_token_a_pair_and_both),
        cmocka_unit_test(test_members_that_nobody_asked_for_do_no_harm),
        cmocka_unit_test(test_the_time_of_expiry),
        cmocka_unit_test(test_text_that_is_no_exec_credential),
        cmocka_unit_test(test_another_api_version),
        cmocka_unit_test(test_a_status_without_a_whole_credential),
        cmocka_unit_test(test_an_expiry_that_is_no_time),
        cmocka_unit_test(test_an_answer_that_was_cut_is_an_error_that_shows_nothing),
        cmocka_unit_test(test_the_secrets_of_a_refused_answer_are_known),
        cmocka_unit_test(test_a_mebibyte_is_the_most),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
