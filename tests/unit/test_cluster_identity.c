/* SPDX-License-Identifier: Apache-2.0 */
/* kube/cluster_identity: read from an answer, kept as text, compared; and the keys of
 * authorities. */
#include "kube/cluster_identity.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/compiler.h"
#include "base/mem.h"
#include "tls_peer.h"

/* A row of a table (clang-format 14 crashes on some with braces). */
#define ROW(...)    \
    {               \
        __VA_ARGS__ \
    }

#define LIST(meta, items) \
    "{\"kind\":\"NamespaceList\",\"metadata\":{" meta "},\"items\":[" items "]}"
#define ITEM(meta) "{\"metadata\":{" meta "}}"
#define SYSTEM     "\"name\":\"kube-system\""

static const struct {
    const char *body;
    const char *uid; /* NULL = the answer has no identity */
    const char *revision;
} answers[] = {
    ROW(LIST("\"resourceVersion\":\"77\"", ITEM(SYSTEM ",\"uid\":\"u-1\"")), "u-1", "77"),
    ROW(LIST("", ITEM("\"uid\":\"u-1\"," SYSTEM)), "u-1", ""),
    ROW(LIST("\"resourceVersion\":\"77\"", ""), "", "77"),
    /* of a server that knows no field selectors */
    ROW(LIST("\"resourceVersion\":\"7\"",
             ITEM("\"name\":\"a\",\"uid\":\"x\"") "," ITEM(
                 SYSTEM ",\"uid\":\"u-2\",\"resourceVersion\":\"9\"") "," ITEM("\"name\":\"b\","
                                                                               "\"uid\":\"y\"")),
        "u-2", "7"),
    /* members of those names elsewhere */
    ROW("{\"uid\":\"x\",\"items\":[{\"spec\":{\"uid\":\"x\",\"name\":\"kube-system\"},\"metadata\":"
        "{"
        "\"ownerReferences\":[{\"uid\":\"x\"}],\"labels\":{\"uid\":\"x\"},\"uid\":\"u-3\"," SYSTEM
        "},\"status\":{\"uid\":\"x\"}}],\"metadata\":{\"a\":{\"resourceVersion\":\"1\"}}}",
        "u-3", ""),
    ROW(LIST("", ITEM(SYSTEM)), "", ""),
    ROW(LIST("\"resourceVersion\":7", ITEM(SYSTEM ",\"uid\":7")), "", ""),
    ROW(LIST("", ITEM(SYSTEM ",\"uid\":\"a b\"")), "", ""),
    ROW(LIST("", ITEM(SYSTEM ",\"uid\":\"a\\nca:0\"")), "", ""),
    ROW(LIST("", ITEM(SYSTEM ",\"uid\":\"\\u00e4\"")), "", ""),
    ROW("{}", "", ""),
    ROW("[{\"metadata\":{\"uid\":\"u\"}}]", NULL, ""),
    ROW("\"uid\"", NULL, ""),
    ROW("{\"metadata\":{\"uid\":\"u\"}", NULL, ""),
    ROW("{\"metadata\":{\"uid\":\"u\"}}{}", NULL, ""),
    ROW("<html>", NULL, ""),
    ROW("", NULL, ""),
};

static void test_answers(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(answers); i++) {
        struct cluster_identity_answer said = {.id.uid = "before"};
        struct err err = {0};
        enum err_kind kind = cluster_identity_read(str_c(answers[i].body), &said, &err);

        assert_int_equal(kind, answers[i].uid != NULL ? ERR_OK : ERR_PROTOCOL);
        assert_string_equal(said.id.uid, answers[i].uid != NULL ? answers[i].uid : "before");
        assert_string_equal(said.revision, answers[i].revision);
    }
}

static void test_uid_of_any_length(void **state)
{
    (void)state;
    for (size_t n = CLUSTER_IDENTITY_UID_MAX; n <= CLUSTER_IDENTITY_UID_MAX + 1; n++) {
        char *uid = mem_zalloc(n + 1);
        struct cluster_identity_answer said = {0};

        memset(uid, 'u', n);
        char *body = mem_printf(LIST("", ITEM(SYSTEM ",\"uid\":\"%s\"")), uid);
        assert_int_equal(cluster_identity_read(str_c(body), &said, NULL), ERR_OK);
        assert_string_equal(said.id.uid, n <= CLUSTER_IDENTITY_UID_MAX ? uid : "");
        free(body);
        free(uid);
    }
}

static void test_refusals(void **state)
{
    static const int secret[] = {400, 403, 404, 405, 406, 410, 422};
    static const int later[] = {200, 301, 401, 408, 429, 500, 502, 503, 504};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(secret); i++)
        assert_true(cluster_identity_is_secret(secret[i]));
    for (size_t i = 0; i < ARRAY_LEN(later); i++)
        assert_false(cluster_identity_is_secret(later[i]));
}

/* ---- As text */

#define KEY_1 "ca:00000000000000010000000000000002\n"
#define KEY_2 "ca:fedcba98765432100123456789abcdef\n"

static struct cluster_identity parsed(const char *text)
{
    char *exact = mem_dup(
        text,
        strlen(
            text)); /* a copy of exactly these bytes, so that a sanitizer sees a read behind them */
    struct cluster_identity id;

    cluster_identity_parse(str_of(exact, strlen(text)), &id);
    free(exact);
    return id;
}

static void expect_text(const struct cluster_identity *id, const char *expected)
{
    struct buf text = {0};

    cluster_identity_put(id, &text);
    assert_string_equal(buf_cstr(&text), expected);
    buf_free(&text);
}

/* Older processes left texts on disk: their form must never change. */
static void test_text(void **state)
{
    const struct cluster_identity id = {
        .uid = "u-1",
        .authorities = {.v = {{.hi = 1, .lo = 2},
                              {.hi = 0xfedcba9876543210, .lo = 0x0123456789abcdef}},
                        .n = 2},
    };
    const struct cluster_identity nobody = {0};

    (void)state;
    expect_text(&id, "uid:u-1\n" KEY_1 KEY_2);
    expect_text(&nobody, "");
    struct cluster_identity back = parsed("uid:u-1\n" KEY_1 KEY_2);
    expect_text(&back, "uid:u-1\n" KEY_1 KEY_2);
}

static const struct {
    const char *text;
    const char *meant;
} texts[] = {
    ROW("", ""),
    ROW("later:x\nuid:u\n\n" KEY_1 "rv:7\n", "uid:u\n" KEY_1),
    ROW("uid:u", ""), /* the text was cut off */
    ROW("uid:\n", ""),
    ROW("uid:a b\n", ""),
    ROW("ca:0001\n", ""),
    ROW("ca:0000000000000001000000000000000G\n" KEY_2, KEY_2),
    ROW("ca:00000000000000010000000000000002 \n", ""),
    ROW(KEY_1 KEY_1 KEY_1 KEY_1 KEY_1 KEY_1 KEY_1 KEY_1 KEY_2 "uid:u\n",
        "uid:u\n" KEY_1 KEY_1 KEY_1 KEY_1 KEY_1 KEY_1 KEY_1 KEY_1),
};

static void test_any_text(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        struct cluster_identity id = parsed(texts[i].text);

        expect_text(&id, texts[i].meant);
    }
}

/* ---- Compared */

static const struct {
    const char *a;
    const char *b;
    enum cluster_identity_relation relation; /* both ways round */
} pairs[] = {
    ROW("uid:u\n", "uid:u\n", CLUSTER_IDENTITY_SAME),
    ROW("uid:u\n", "uid:v\n", CLUSTER_IDENTITY_OTHER),
    ROW("uid:u\n", "uid:uu\n", CLUSTER_IDENTITY_OTHER),
    ROW("uid:u\n" KEY_1, "uid:u\n" KEY_2, CLUSTER_IDENTITY_SAME), /* a new authority */
    ROW("uid:u\n" KEY_1, "uid:v\n" KEY_1,
        CLUSTER_IDENTITY_OTHER), /* the cluster was set up anew with the old authority */
    ROW("uid:u\n" KEY_1, KEY_1, CLUSTER_IDENTITY_SAME), /* the uid may not be read any more */
    ROW("uid:u\n" KEY_1, KEY_2, CLUSTER_IDENTITY_OTHER),
    ROW(KEY_1, KEY_1, CLUSTER_IDENTITY_SAME),
    ROW(KEY_1, KEY_2, CLUSTER_IDENTITY_OTHER),
    ROW(KEY_1 KEY_2, KEY_2,
        CLUSTER_IDENTITY_SAME), /* the old authority was taken out of the bundle */
    ROW("uid:u\n", KEY_1, CLUSTER_IDENTITY_UNKNOWN),
    ROW("uid:u\n", "", CLUSTER_IDENTITY_UNKNOWN),
    ROW(KEY_1, "", CLUSTER_IDENTITY_UNKNOWN),
    ROW("", "", CLUSTER_IDENTITY_UNKNOWN),
};

static void test_compared(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(pairs); i++) {
        struct cluster_identity a = parsed(pairs[i].a);
        struct cluster_identity b = parsed(pairs[i].b);

        assert_int_equal(cluster_identity_compare(&a, &b), pairs[i].relation);
        assert_int_equal(cluster_identity_compare(&b, &a), pairs[i].relation);
    }
}

static void test_updated(void **state)
{
    struct cluster_identity known = {0};
    struct cluster_identity now = parsed("uid:u\n" KEY_1);

    (void)state;
    cluster_identity_update(&known, &now);
    expect_text(&known, "uid:u\n" KEY_1);
    now = parsed(KEY_1 KEY_2); /* the uid may not be read any more */
    cluster_identity_update(&known, &now);
    expect_text(&known, "uid:u\n" KEY_1 KEY_2);
    now = parsed("uid:u\n");
    cluster_identity_update(&known, &now);
    expect_text(&known, "uid:u\n" KEY_1 KEY_2);
}

/* ---- Keys */

static struct tls_keys keys_of(const char *pem)
{
    char *exact = mem_dup(pem, strlen(pem));
    struct tls_keys keys;

    tls_keys_read(str_of(exact, strlen(pem)), &keys);
    free(exact);
    return keys;
}

static void test_keys_of_certificates(void **state)
{
    const struct tls_peer_spec spec = {.subject = "CN=a", .ca = true};
    const struct tls_peer_spec leaf = {.subject = "CN=c", .ca = true};
    struct tls_peer_id a;
    struct tls_peer_id b;
    struct tls_peer_id c;

    (void)state;
    tls_peer_issue(&a, NULL, &spec);
    tls_peer_issue(&b, NULL, &spec); /* the same name, another key */
    tls_peer_issue(&c, &a, &leaf);
    struct tls_keys of_a = keys_of(a.cert_pem);
    struct tls_keys of_b = keys_of(b.cert_pem);
    assert_true(of_a.n == 1 && of_b.n == 1);
    assert_false(digest_eq(of_a.v[0], of_b.v[0]));
    char *bundle = mem_printf("# bundle\n%s\n%s%s", b.cert_pem, a.cert_pem, c.cert_pem);
    struct tls_keys all = keys_of(bundle);
    assert_int_equal(all.n, 3);
    assert_true(digest_eq(all.v[0], of_b.v[0]) && digest_eq(all.v[1], of_a.v[0]));
    assert_int_equal(keys_of("").n, 0);
    assert_int_equal(keys_of("no certificate").n, 0);
    free(bundle);
    tls_peer_id_fini(&a);
    tls_peer_id_fini(&b);
    tls_peer_id_fini(&c);
}

/* A bundle of all authorities that a machine trusts says nothing about one cluster. */
static void test_too_many_keys(void **state)
{
    const struct tls_peer_spec spec = {.subject = "CN=a", .ca = true};
    struct buf bundle = {0};
    struct tls_peer_id a;

    (void)state;
    tls_peer_issue(&a, NULL, &spec);
    for (size_t n = 1; n <= TLS_KEYS_MAX + 2; n++) {
        buf_puts(&bundle, a.cert_pem);
        assert_int_equal(keys_of(buf_cstr(&bundle)).n, n <= TLS_KEYS_MAX ? n : 0);
    }
    buf_free(&bundle);
    tls_peer_id_fini(&a);
}

static struct tls_keys numbered(uint64_t from, size_t n)
{
    struct tls_keys keys = {.n = n};

    for (size_t i = 0; i < n; i++)
        keys.v[i] = (struct digest){from + i, 0};
    return keys;
}

/* The keys of a CA that was replaced stay behind those of the new one. */
static void test_keys_are_added(void **state)
{
    struct tls_keys keys = numbered(1, 2);
    struct tls_keys more = numbered(2, 3);

    (void)state;
    tls_keys_add(&keys, &more);
    assert_int_equal(keys.n, 4);
    for (size_t i = 0; i < keys.n; i++)
        assert_int_equal(keys.v[i].lo, i + 1);
    more = numbered(100, TLS_KEYS_MAX);
    tls_keys_add(&keys, &more);
    assert_int_equal(keys.n, TLS_KEYS_MAX);
    assert_int_equal(keys.v[4].lo, 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_answers),       cmocka_unit_test(test_uid_of_any_length),
        cmocka_unit_test(test_refusals),      cmocka_unit_test(test_text),
        cmocka_unit_test(test_any_text),      cmocka_unit_test(test_compared),
        cmocka_unit_test(test_updated),       cmocka_unit_test(test_keys_of_certificates),
        cmocka_unit_test(test_too_many_keys), cmocka_unit_test(test_keys_are_added),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
