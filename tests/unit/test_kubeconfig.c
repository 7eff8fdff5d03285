/* SPDX-License-Identifier: Apache-2.0 */
/* Kubeconfigs as they are in the field, and as they should not be. */
#include "kube/kubeconfig.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/base64.h"
#include "base/buf.h"
#include "base/mem.h"

/* A row of a table (clang-format 14 crashes on some with braces). */
#define ROW(...)    \
    {               \
        __VA_ARGS__ \
    }

static struct buf read_data(const char *name)
{
    struct buf text = {0};
    char *path = mem_printf(TEST_DATA "/kubeconfigs/%s", name);
    FILE *f = fopen(path, "r");

    assert_non_null(f);
    text.len = fread(buf_reserve(&text, 65536), 1, 65536, f);
    assert_true(text.len > 0 && text.len < 65536);
    assert_int_equal(fclose(f), 0);
    free(path);
    return text;
}

/* Reads one file. */
static enum err_kind parse(struct str text, const char *path, const char *context,
                           struct kubeconfig *k, struct err *err)
{
    const struct kubeconfig_file file = {path, text};

    return kubeconfig_parse(&file, 1, context, k, err);
}

static void test_kubeadm_with_data(void **state)
{
    struct buf text = read_data("two-contexts.yaml");
    struct kubeconfig k;
    struct err err = {0};

    (void)state;
    assert_int_equal(parse(buf_str(&text), "/etc/i/k", NULL, &k, &err), ERR_OK);
    assert_string_equal(k.context, "informerd@prod");
    assert_string_equal(k.server, "https://10.0.0.1:6443");
    assert_string_equal(k.ca_data, "-----BEGIN CERTIFICATE-----\nCA\n-----END CERTIFICATE-----\n");
    assert_string_equal(k.client_key_data,
                        "-----BEGIN PRIVATE KEY-----\nK\n-----END PRIVATE KEY-----\n");
    assert_non_null(k.client_cert_data);
    assert_null(k.ca_file);
    assert_null(k.client_cert_file);
    assert_null(k.client_key_file);
    assert_null(k.token);
    assert_null(k.token_file);
    assert_null(k.tls_server_name);
    kubeconfig_fini(&k);
    assert_null(k.server);
    buf_free(&text);
}

static void test_chosen_context_with_files(void **state)
{
    struct buf text = read_data("two-contexts.yaml");
    struct kubeconfig k;
    struct err err = {0};

    (void)state;
    assert_int_equal(parse(buf_str(&text), "/etc/i/k", "lab", &k, &err), ERR_OK);
    assert_string_equal(k.server, "https://lab.example.com/k8s/clusters/c-1");
    assert_string_equal(k.ca_file, "/etc/i/pki/ca.crt");
    assert_string_equal(k.tls_server_name, "kubernetes");
    assert_string_equal(k.client_cert_file, "/etc/i/client.pem");
    assert_string_equal(k.client_key_file, "/etc/i/client.pem");
    assert_string_equal(k.token, "abc123");
    assert_string_equal(k.token_file, "/run/token");
    kubeconfig_fini(&k);
    buf_free(&text);
}

static void test_json(void **state)
{
    struct buf text = read_data("compact.json");
    struct kubeconfig k;

    (void)state;
    assert_int_equal(parse(buf_str(&text), "k", "", &k, NULL), ERR_OK);
    assert_string_equal(k.server, "https://[::1]:6443");
    assert_string_equal(k.token, "t");
    kubeconfig_fini(&k);
    buf_free(&text);
}

/* Wherever a file ends, reading it ends too, with a result or with a message. */
static void test_cut_at_every_byte(void **state)
{
    static const char *const files[] = {"two-contexts.yaml", "compact.json"};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(files); i++) {
        struct buf text = read_data(files[i]);

        for (size_t n = 0; n < text.len; n++) {
            char *part = mem_dup(
                text.data,
                n); /* a copy of exactly these bytes, so that ASan sees a read behind them */
            struct kubeconfig k;
            struct err err = {0};
            enum err_kind kind = parse(str_of(part, n), "k", NULL, &k, &err);

            assert_true(kind == ERR_OK || kind == ERR_CONFIG);
            assert_int_equal(kind == ERR_OK, k.server != NULL);
            assert_true(kind == ERR_OK || strncmp(err.text, "k:", 2) == 0);
            kubeconfig_fini(&k);
            free(part);
        }
        buf_free(&text);
    }
}

#define HEAD               \
    "current-context: c\n" \
    "contexts: [{name: c, context: {cluster: k, user: u}}]\n"
#define CLUSTER "clusters: [{name: k, cluster: {server: 'https://h'}}]\n"

static const struct {
    const char *text;
    const char *error;
} wrong[] = {
    ROW("", "k:1: the file is empty"),
    ROW("# nothing\n", "k:1: the file is empty"),
    ROW("a: [", "k:2: bad YAML: did not find expected node content"),
    ROW("\n\n\tx: 1", "k:3: bad YAML: found character that cannot start any token"),
    ROW("- a\n", "k:1: a mapping with current-context was expected"),
    ROW("kind: Config\n", "k:1: there is no current-context: name a context"),
    ROW("current-context: \"\"\n", "k:1: there is no current-context: name a context"),
    ROW("current-context: [c]\n", "k:1: current-context must be a string"),
    ROW("kind: a\ncurrent-context: c\ncontexts: []\n",
        "k:2: there is no context \"c\" in contexts"),
    ROW("current-context: c\ncontexts: {c: d}\n", "k:2: contexts must be a list"),
    ROW("current-context: c\ncontexts: [c]\n", "k:2: a mapping with name was expected"),
    ROW("current-context: c\ncontexts:\n- name: c\n", "k:3: the entry \"c\" has no context"),
    ROW("current-context: c\ncontexts:\n- name: c\n  context: {user: u}\n",
        "k:4: the context names no cluster"),
    ROW("current-context: c\ncontexts:\n- name: c\n  context: {cluster: k}\n" CLUSTER,
        "k:4: the context names no user"),
    ROW("current-context: c\ncurrent-context: d\n", "k:2: current-context is there twice"),
    ROW(HEAD "users: []\n", "k:2: there is no cluster \"k\" in clusters"),
    ROW(HEAD CLUSTER "users: null\n", "k:2: there is no user \"u\" in users"),
    ROW(HEAD CLUSTER "users: [{name: u, user: {}}, {name: u, user: {}}]\n",
        "k:4: user \"u\" is there twice"),
    ROW(HEAD "clusters: [{name: k, cluster: {server: ''}}]\nusers: [{name: u, user: {}}]\n",
        "k:3: the cluster has no server"),
    ROW(HEAD "clusters: [{name: k, cluster: {server: a, certificate-authority-data: '*'}}]\n"
             "users: [{name: u, user: {}}]\n",
        "k:3: certificate-authority-data is not base64 of a PEM text"),
    ROW(HEAD CLUSTER "users: [{name: u, user: {client-certificate: a}}]\n",
        "k:4: client-certificate needs client-key"),
    ROW(HEAD CLUSTER "users: [{name: u, user: {client-key: a}}]\n",
        "k:4: client-key needs client-certificate"),
    ROW(HEAD CLUSTER "users: [{name: u, user: {client-key-data: 'c2VjcmV0A'}}]\n",
        "k:4: client-key-data is not base64 of a PEM text"),
    ROW(HEAD CLUSTER "users: [{name: u, user: {token: [s3cret]}}]\n",
        "k:4: token must be a string"),
    ROW(HEAD CLUSTER "users: [{name: u, user: {token: \"a\\0b\"}}]\n",
        "k:4: token holds a NUL byte"),
    ROW(HEAD CLUSTER "users: [{name: u, user: {}}]\n---\na: b\n",
        "k:5: a second document begins here: keep one per file"),
    ROW(HEAD CLUSTER "users: *nope\n", "k:4: bad YAML: found undefined alias"),
};

static void test_each_mistake_is_named(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
        struct kubeconfig k;
        struct err err = {0};

        assert_int_equal(parse(str_c(wrong[i].text), "k", NULL, &k, &err), ERR_CONFIG);
        assert_string_equal(err.text, wrong[i].error);
        assert_null(k.server);
        assert_null(k.context);
    }
}

static void test_unknown_context_of_the_caller(void **state)
{
    struct kubeconfig k;
    struct err err = {0};

    (void)state;
    assert_int_equal(parse(str_c(HEAD CLUSTER), "k", "x", &k, &err), ERR_CONFIG);
    assert_string_equal(err.text, "k:1: there is no context \"x\" in contexts");
}

/* Nulls and empty strings do not count as settings; data wins over a file. */
static void test_values_that_count_as_not_given(void **state)
{
    static const char text[] =
        HEAD "clusters: [{name: k, cluster: {server: a, proxy-url: '', certificate-authority: f,\n"
             " certificate-authority-data: UEVN, insecure-skip-tls-verify: false}}]\n"
             "users: [{name: u, user: {exec: null, username: ~, password: , token: 'null'}}]\n";
    struct kubeconfig k;
    struct err err = {0};

    (void)state;
    assert_int_equal(parse(str_c(text), "k", NULL, &k, &err), ERR_OK);
    assert_string_equal(k.ca_data, "PEM");
    assert_null(k.ca_file);
    assert_string_equal(k.token, "null");
    kubeconfig_fini(&k);
}

/* Aliases are followed, not copied: a "billion laughs" file stays small, and a loop ends. */
static void test_aliases(void **state)
{
    static const char bomb[] = "a: &a [x, x]\nb: &b [*a, *a]\nc: &c [*b, *b]\nd: [*c, *c]\n" HEAD
                               "clusters: [{name: k, cluster: &k {server: a, loop: *k}}]\n"
                               "users: [{name: u, user: *k}]\n";
    struct kubeconfig k;
    struct err err = {0};

    (void)state;
    assert_int_equal(parse(str_c(bomb), "k", NULL, &k, &err), ERR_OK);
    assert_string_equal(k.server, "a");
    kubeconfig_fini(&k);
}

static void fill(char *text, size_t n, const char *pattern)
{
    size_t len = strlen(pattern);

    for (size_t i = 0; i < n; i++)
        text[i] = pattern[i % len];
}

static void test_size_and_depth_are_bounded(void **state)
{
    size_t n = (size_t)1024 * 1024;
    char *text = mem_alloc(n + 1);
    struct kubeconfig k;
    struct err err = {0};

    (void)state;
    memset(text, '#', n + 1);
    assert_int_equal(parse(str_of(text, n), "k", NULL, &k, &err), ERR_CONFIG);
    assert_string_equal(err.text, "k:1: the file is empty");
    assert_int_equal(parse(str_of(text, n + 1), "k", NULL, &k, &err), ERR_CONFIG);
    assert_string_equal(err.text, "k: is larger than 1MiB: that is no kubeconfig");
    memset(text, '[', n);
    assert_int_equal(parse(str_of(text, n), "k", NULL, &k, &err), ERR_CONFIG);
    assert_string_equal(err.text,
                        "k:1: too deep, too many anchors or too many values for a kubeconfig");
    fill(text, n, "- &a  b\n");
    assert_int_equal(parse(str_of(text, n), "k", NULL, &k, &err), ERR_CONFIG);
    assert_string_equal(err.text,
                        "k:101: too deep, too many anchors or too many values for a kubeconfig");
    fill(text, n, "- a\n");
    assert_int_equal(parse(str_of(text, n), "k", NULL, &k, &err), ERR_CONFIG);
    free(text);
}

static void test_base64(void **state)
{
    static const struct {
        const char *text;
        const char *bytes; /* NULL = refused */
    } cases[] = {
        ROW("", ""),        ROW("QQ==", "A"),         ROW("QUI=", "AB"),
        ROW("QUJD", "ABC"), ROW("QU\r\nJD\n", "ABC"), ROW("+/+/", "\xfb\xff\xbf"),
        ROW("Q", NULL),     ROW("QQ", NULL),          ROW("QQ=", NULL),
        ROW("QQ===", NULL), ROW("=", NULL),           ROW("====", NULL),
        ROW("QR==", NULL),  ROW("Q=Q=", NULL),        ROW("QUI=QUI=", NULL),
        ROW("QU JD", NULL), ROW("QUJ-", NULL),        ROW("QUJDQ", NULL),
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct buf out = {0};
        bool ok = base64_decode(str_c(cases[i].text), &out);

        assert_int_equal(ok, cases[i].bytes != NULL);
        if (ok)
            assert_string_equal(buf_cstr(&out), cases[i].bytes);
        buf_free(&out);
    }
}

static void test_base64_of_bytes(void **state)
{
    static const char *const cases[][2] = {
        ROW("", ""),
        ROW("A", "QQ=="),
        ROW("AB", "QUI="),
        ROW("ABC", "QUJD"),
        ROW("\xfb\xff\xbf", "+/+/"),
        ROW("user:pass word", "dXNlcjpwYXNzIHdvcmQ="),
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct buf text = {0};
        struct buf back = {0};

        base64_encode(str_c(cases[i][0]), &text);
        assert_string_equal(buf_cstr(&text), cases[i][1]);
        assert_true(base64_decode(buf_str(&text), &back));
        assert_string_equal(buf_cstr(&back), cases[i][0]);
        buf_free(&text);
        buf_free(&back);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_kubeadm_with_data),
        cmocka_unit_test(test_chosen_context_with_files),
        cmocka_unit_test(test_json),
        cmocka_unit_test(test_cut_at_every_byte),
        cmocka_unit_test(test_each_mistake_is_named),
        cmocka_unit_test(test_unknown_context_of_the_caller),
        cmocka_unit_test(test_values_that_count_as_not_given),
        cmocka_unit_test(test_aliases),
        cmocka_unit_test(test_size_and_depth_are_bounded),
        cmocka_unit_test(test_base64),
        cmocka_unit_test(test_base64_of_bytes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
