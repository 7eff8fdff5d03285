/* SPDX-License-Identifier: Apache-2.0 */
/* The TLS client engine against a TLS server, both over memory. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/compiler.h"
#include "tls_pair.h"

/* Made once: each key costs milliseconds. */
static struct tls_peer_id ca;
static struct tls_peer_id other_ca;
static struct tls_peer_id server_id;
static struct tls_peer_id client_id;
static struct tls_peer_id foreign_client_id;

static int make_ids(void **state)
{
    (void)state;
    tls_peer_issue(&ca, NULL, &(struct tls_peer_spec){.subject = "CN=test CA", .ca = true});
    tls_peer_issue(&other_ca, NULL, &(struct tls_peer_spec){.subject = "CN=other CA", .ca = true});
    tls_peer_issue(&server_id, &ca,
                   &(struct tls_peer_spec){
                       .subject = "CN=server",
                       .dns = {"api.example", "*.wild.example"},
                       .ips = {"10.0.0.1",    "fd00::1"       }
    });
    tls_peer_issue(&client_id, &ca, &(struct tls_peer_spec){.subject = "CN=client"});
    tls_peer_issue(&foreign_client_id, &other_ca, &(struct tls_peer_spec){.subject = "CN=foreign"});
    return 0;
}

static int drop_ids(void **state)
{
    (void)state;
    tls_peer_id_fini(&ca);
    tls_peer_id_fini(&other_ca);
    tls_peer_id_fini(&server_id);
    tls_peer_id_fini(&client_id);
    tls_peer_id_fini(&foreign_client_id);
    return 0;
}

static void expect(const struct tls_pair *p, const char *text)
{
    if (text == NULL && p->result != TLS_OK)
        fail_msg("refused: %s", p->err.text);
    if (text != NULL && p->result != TLS_FAILED)
        fail_msg("not refused, although: %s", text);
    if (text == NULL)
        return;
    assert_int_equal(p->err.kind, ERR_TLS);
    if (strstr(p->err.text, text) == NULL)
        fail_msg("\"%s\" is not in \"%s\"", text, p->err.text);
}

/* One handshake with a server that shows id. */
static void try_server(struct tls_peer_id *id, const struct tls_peer_id *trust, const char *name,
                       enum tls_peer_versions versions, const char *text)
{
    struct tls_peer_server server;
    struct tls_ctx *ctx = tls_pair_ctx(trust, NULL);
    struct tls_pair p;

    tls_peer_server_init(&server, id, NULL, versions);
    tls_pair_open(&p, &server, ctx, name, NULL);
    expect(&p, text);
    tls_pair_fini(&p);
    tls_ctx_unref(&ctx);
    tls_peer_server_fini(&server);
}

static void try_spec(const struct tls_peer_spec *spec, const char *name, const char *text)
{
    struct tls_peer_id id;

    tls_peer_issue(&id, &ca, spec);
    try_server(&id, &ca, name, TLS_PEER_ALL, text);
    try_server(&id, &ca, name, TLS_PEER_1_2, text);
    tls_peer_id_fini(&id);
}

static void test_names_that_match(void **state)
{
    static const char *const names[] = {"api.example",    "API.Example", "api.example.",
                                        "a.wild.example", "10.0.0.1",    "fd00::1",
                                        "fd00:0:0::1"};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        try_server(&server_id, &ca, names[i], TLS_PEER_ALL, NULL);
    try_spec(&(struct tls_peer_spec){.subject = "CN=old.example"}, "old.example", NULL);
}

static void test_names_that_do_not_match(void **state)
{
    static const char *const names[] = {"other.example", "wild.example", "a.b.wild.example",
                                        "10.0.0.2",      "fd00::2",      "api.example.org"};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        char text[200];

        snprintf(text, sizeof(text),
                 " is for api.example, *.wild.example, 10.0.0.1, fd00::1, not for %s; set",
                 names[i]);
        try_server(&server_id, &ca, names[i], TLS_PEER_ALL, text);
        try_server(&server_id, &ca, names[i], TLS_PEER_1_2, text);
    }
}

/* Names are no addresses, nor the other way round, and a common name does not count beside SANs. */
static void test_kinds_of_names_are_kept_apart(void **state)
{
    (void)state;
    try_spec(&(struct tls_peer_spec){.subject = "CN=10.0.0.1", .dns = {"10.0.0.1"}}, "10.0.0.1",
             "is for 10.0.0.1, not for 10.0.0.1");
    try_spec(&(struct tls_peer_spec){.subject = "CN=10.0.0.1"}, "10.0.0.1", "not for 10.0.0.1");
    try_spec(&(struct tls_peer_spec){.subject = "CN=a.example", .ips = {"10.0.0.1"}}, "a.example",
             "is for 10.0.0.1, not for a.example");
    try_spec(&(struct tls_peer_spec){.subject = "CN=a.example", .dns = {"b.example"}}, "a.example",
             "is for b.example, not for a.example");
    try_spec(&(struct tls_peer_spec){.subject = "CN=a", .ips = {"::ffff:10.0.0.1"}}, "10.0.0.1",
             "not for 10.0.0.1");
    try_spec(&(struct tls_peer_spec){.subject = "O=nobody"}, "a.example", "is for no host at all");
}

/* A certificate of a server itself may stand in the place of a CA. */
static void test_a_pinned_certificate(void **state)
{
    struct tls_peer_id lone;

    (void)state;
    tls_peer_issue(&lone, NULL, &(struct tls_peer_spec){.subject = "CN=a", .dns = {"a"}});
    try_server(&lone, &lone, "a", TLS_PEER_ALL, NULL);
    try_server(&lone, &ca, "a", TLS_PEER_ALL, "is self-signed, and not in");
    tls_peer_id_fini(&lone);
}

/* The text of a certificate comes from a stranger. */
static void test_hostile_names_are_shown_harmless(void **state)
{
    struct tls_peer_spec spec = {.subject = "CN=a"};
    struct tls_peer_server server;
    struct tls_ctx *ctx = tls_pair_ctx(&ca, NULL);
    struct tls_peer_id id;
    struct tls_pair p;

    (void)state;
    spec.dns[0] = "\x1b[31m\"\\\n\xff";
    for (size_t i = 1; i < ARRAY_LEN(spec.dns); i++)
        spec.dns[i] = "a-very-long-name-that-goes-on-and-on-and-on-and-on-and-on-and-on-and-on-"
                      "until-nobody-wants-to-read-it.example";
    tls_peer_issue(&id, &ca, &spec);
    tls_peer_server_init(&server, &id, NULL, TLS_PEER_ALL);
    tls_pair_open(&p, &server, ctx, "a.example", NULL);
    expect(&p, " is for ?[31m????, a-very-long-name");
    expect(&p, "..., ..., not for a.example; set tls_server_name to a name that it has");
    for (const char *c = p.err.text; *c != '\0'; c++)
        assert_in_range(*c, ' ', '~');
    tls_pair_fini(&p);
    tls_ctx_unref(&ctx);
    tls_peer_server_fini(&server);
    tls_peer_id_fini(&id);
}

/* One handshake with a server that wants a certificate of the client; a TLS 1.2 server refuses the
 * client before the handshake has ended. */
static void try_client(const struct tls_peer_id *client, enum tls_peer_versions versions,
                       const char *text)
{
    struct tls_peer_server server;
    struct tls_ctx *ctx = tls_pair_ctx(&ca, client);
    struct tls_pair p;

    tls_peer_server_init(&server, &server_id, &ca, versions);
    tls_pair_open(&p, &server, ctx, "api.example", NULL);
    expect(&p, text);
    tls_pair_fini(&p);
    tls_ctx_unref(&ctx);
    tls_peer_server_fini(&server);
}

static void test_client_certificate(void **state)
{
    (void)state;
    try_client(&client_id, TLS_PEER_ALL, NULL);
    try_client(&client_id, TLS_PEER_1_2, NULL);
    try_client(NULL, TLS_PEER_1_2, "the server ended it with the alert: ");
    try_client(&foreign_client_id, TLS_PEER_1_2, "the server ended it with the alert: unknown CA");
}

/* kubelet keeps certificate and key in one file. */
static void test_combined_file(void **state)
{
    struct buf both = {0};
    struct tls_ctx *ctx = NULL;

    (void)state;
    buf_puts(&both, client_id.cert_pem);
    buf_puts(&both, client_id.key_pem);
    const struct tls_ctx_params p = {
        .ca_pem = str_c(ca.cert_pem), .cert_pem = buf_str(&both), .key_pem = buf_str(&both)};
    assert_int_equal(tls_ctx_create(&p, &ctx, NULL), ERR_OK);
    tls_ctx_unref(&ctx);
    buf_free(&both);
}

/* A file that is written piece by piece is not used before its last certificate is complete. */
static void test_files_that_are_being_written(void **state)
{
    struct buf two = {0};
    size_t good = 0;

    (void)state;
    buf_puts(&two, ca.cert_pem);
    buf_puts(&two, server_id.cert_pem);
    for (size_t cut = 0; cut <= two.len; cut++) {
        struct str part = str_of(two.data, cut);
        const struct tls_ctx_params p = {
            .ca_pem = part, .cert_pem = part, .key_pem = str_c(ca.key_pem)};
        bool is_good = tls_check_ca(&p, NULL) == ERR_OK;

        assert_int_equal(tls_check_pair(&p, NULL) == ERR_OK, is_good);
        /* Either all of the second certificate is there, or not a whole first line of it. */
        good += is_good;
        assert_true(!is_good || cut <= strlen(ca.cert_pem) + strlen("-----BEGIN CERTIFICATE----") ||
                    cut >= two.len - 1);
    }
    assert_true(good > 2);
    for (size_t cut = 0; cut + 1 < strlen(ca.key_pem); cut++) {
        const struct tls_ctx_params p = {.cert_pem = str_c(ca.cert_pem),
                                         .key_pem = str_of(ca.key_pem, cut)};

        assert_int_equal(tls_check_pair(&p, NULL), ERR_CREDENTIAL);
    }
    buf_free(&two);
}

/* Several certificates in one CA file, the right one last. */
static void test_ca_bundle(void **state)
{
    struct tls_peer_server server;
    struct buf bundle = {0};
    struct tls_ctx *ctx = NULL;
    struct tls_pair p;

    (void)state;
    buf_puts(&bundle, other_ca.cert_pem);
    buf_puts(&bundle, ca.cert_pem);
    const struct tls_ctx_params params = {.ca_pem = buf_str(&bundle)};
    assert_int_equal(tls_ctx_create(&params, &ctx, NULL), ERR_OK);
    tls_peer_server_init(&server, &server_id, NULL, TLS_PEER_ALL);
    tls_pair_open(&p, &server, ctx, "api.example", NULL);
    expect(&p, NULL);
    tls_pair_fini(&p);
    tls_ctx_unref(&ctx);
    tls_peer_server_fini(&server);
    buf_free(&bundle);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names_that_match),
        cmocka_unit_test(test_names_that_do_not_match),
        cmocka_unit_test(test_kinds_of_names_are_kept_apart),
        cmocka_unit_test(test_a_pinned_certificate),
        cmocka_unit_test(test_hostile_names_are_shown_harmless),
        cmocka_unit_test(test_client_certificate),
        cmocka_unit_test(test_combined_file),
        cmocka_unit_test(test_files_that_are_being_written),
        cmocka_unit_test(test_ca_bundle),
    };

    return cmocka_run_group_tests(tests, make_ids, drop_ids);
}
