/* SPDX-License-Identifier: Apache-2.0 */
/* The sentences for a TLS handshake that fails, against a TLS server over memory: in TLS 1.2 and
 * 1.3, and with both generations of mbedTLS, they are the same. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/compiler.h"
#include "proto/tls_ctx.h"
#include "proto/tls_failure.h"
#include "tls_pair.h"

/* Made once: each key costs milliseconds. */
enum {
    ROOT,
    OTHER_ROOT,   /* with a name of its own */
    REBUILT_ROOT, /* the name of ROOT, another key */
    EXPIRED_ROOT,
    FUTURE_ROOT,
    NO_CA,       /* signed by ROOT, and no CA */
    NO_SIGN,     /* a CA whose keyUsage lacks keyCertSign */
    SHORT_ROOT,  /* a CA that allows no intermediate CA */
    WEAK_ROOT,   /* RSA with 1024 bits */
    MIDDLE,      /* an intermediate CA of ROOT */
    MIDDLE_OVER, /* an expired one */
    MIDDLE_SHORT,
    SERVER,
    CLIENT,
    CLIENT_OVER,
    CLIENT_FUTURE,
    IDS
};

static const struct {
    int issuer; /* IDS = itself */
    struct tls_peer_spec spec;
} makes[IDS] = {
    [ROOT] = {IDS,        {.subject = "CN=root", .ca = true}                                   },
    [OTHER_ROOT] = {IDS,        {.subject = "CN=other root", .ca = true}                             },
    [REBUILT_ROOT] = {IDS,        {.subject = "CN=root", .ca = true}                                   },
    [EXPIRED_ROOT] = {IDS,        {.subject = "CN=old root", .till = "20210203040506", .ca = true}     },
    [FUTURE_ROOT] = {IDS,        {.subject = "CN=next root", .from = "20980203040506", .ca = true}    },
    [NO_CA] = {ROOT,       {.subject = "CN=no CA"}                                              },
    [NO_SIGN] = {IDS,
              {.subject = "CN=no sign", .ca = true, .usage = MBEDTLS_X509_KU_DIGITAL_SIGNATURE}},
    [SHORT_ROOT] = {IDS,        {.subject = "CN=short root", .ca = true, .no_intermediates = true}   },
    [WEAK_ROOT] = {IDS,        {.subject = "CN=weak root", .ca = true, .rsa_bits = 1024}            },
    [MIDDLE] = {ROOT,       {.subject = "O=example,CN=middle", .ca = true}                       },
    [MIDDLE_OVER] = {ROOT,       {.subject = "CN=old middle", .till = "20220304050607", .ca = true}   },
    [MIDDLE_SHORT] = {SHORT_ROOT, {.subject = "CN=middle", .ca = true}                                 },
    [SERVER] = {ROOT,       {.subject = "CN=api", .dns = {"api.example"}}                        },
    [CLIENT] = {ROOT,       {.subject = "O=system:nodes,CN=system:node:a"}                       },
    [CLIENT_OVER] = {ROOT,       {.subject = "CN=c", .till = "20230405060708"}                        },
    [CLIENT_FUTURE] = {ROOT,       {.subject = "CN=c", .from = "20970405060708"}                        },
};

static struct tls_peer_id ids[IDS];

static int make_ids(void **state)
{
    (void)state;
    for (int i = 0; i < IDS; i++)
        tls_peer_issue(&ids[i], makes[i].issuer == IDS ? NULL : &ids[makes[i].issuer],
                       &makes[i].spec);
    return 0;
}

static int drop_ids(void **state)
{
    (void)state;
    for (int i = 0; i < IDS; i++)
        tls_peer_id_fini(&ids[i]);
    return 0;
}

/* The error names the day of the clock. */
static void hide_today(struct err *err)
{
    static const char before[] = "the clock of this machine says ";
    char *day = strstr(err->text, before);

    if (day == NULL)
        return;
    day += sizeof(before) - 1;
    for (size_t i = 0; i < strlen("2026-01-01"); i++)
        assert_true((day[i] >= '0' && day[i] <= '9') || day[i] == '-');
    memcpy(day, "TODAY", 5);
    memmove(day + 5, day + 10, strlen(day + 10) + 1);
}

static void expect(struct tls_pair *p, const char *name, const char *begin, const char *text)
{
    char want[sizeof(p->err.text) + 100];

    snprintf(want, sizeof(want), "%s with %s: %s", begin, name, text);
    assert_int_equal(p->result, TLS_FAILED);
    assert_int_equal(p->err.kind, ERR_TLS);
    assert_true(strlen(p->err.text) < sizeof(p->err.text) - 1); /* nothing was cut off */
    hide_today(&p->err);
    assert_string_equal(p->err.text, want);
}

static struct tls_ctx *new_ctx(int trust, int client)
{
    struct tls_ctx_params p = {.ca_pem = str_c(ids[trust].cert_pem), .ca_from = "/etc/ca.crt"};
    struct tls_ctx *ctx = NULL;

    if (client != IDS) {
        p.cert_pem = str_c(ids[client].cert_pem);
        p.key_pem = str_c(ids[client].key_pem);
        p.cert_from = "/etc/client.pem";
    }
    assert_int_equal(tls_ctx_create(&p, &ctx, NULL), ERR_OK);
    return ctx;
}

/* A server that cannot be verified. */
struct server_case {
    const char *what;
    int issuer; /* of the server's certificate; IDS = itself */
    int trust;
    bool sends_issuer;
    struct tls_peer_spec spec; /* without a subject: "CN=api", without a host: api.example */
    const char *text;
};

#define CONFIGURE_CA \
    "configure the CA of the cluster (ca_file, or certificate-authority in the kubeconfig)"
#define ANY_FIX "; set tls_server_name to a name that it has, or fix the certificate"

/* A row of a table (clang-format 14 crashes on some with braces). */
#define ROW(...)    \
    {               \
        __VA_ARGS__ \
    }
#define DEFAULT         \
    {                   \
        .subject = NULL \
    }

#define API "the server's certificate (subject \"CN=api\", issuer \"CN=root\", serial 1234)"

static const struct server_case server_cases[] = {
    ROW("unknown CA, no chain", ROOT, OTHER_ROOT, false, DEFAULT,
        API " is signed by no CA of /etc/ca.crt; " CONFIGURE_CA
            ", or have the server send its intermediate certificates: it sends none"),
    ROW("unknown CA behind an intermediate one", MIDDLE, OTHER_ROOT, true, DEFAULT,
        "the intermediate certificate of the server (subject \"O=example, CN=middle\", issuer "
        "\"CN=root\", serial 1234) is signed by no CA of /etc/ca.crt; " CONFIGURE_CA),
    ROW("the intermediate certificate is not sent", MIDDLE, ROOT, false, DEFAULT,
        "the server's certificate (subject \"CN=api\", issuer \"O=example, CN=middle\", serial "
        "1234) is signed by no CA of /etc/ca.crt; " CONFIGURE_CA
        ", or have the server send its intermediate certificates: it sends none"),
    ROW("an unknown CA that the server sends itself", OTHER_ROOT, ROOT, true, DEFAULT,
        "the intermediate certificate of the server (subject \"CN=other root\", issuer \"CN=other "
        "root\", serial 1234) is self-signed, and not in /etc/ca.crt; " CONFIGURE_CA),
    ROW("self-signed", IDS, ROOT, false, DEFAULT,
        "the server's certificate (subject \"CN=api\", issuer \"CN=api\", serial 1234) is "
        "self-signed, and not in /etc/ca.crt; check the server's address, or add this certificate "
        "there"),
    ROW("the CA has the name and another key", ROOT, REBUILT_ROOT, false, DEFAULT,
        API " is signed by no CA that is known, and the certificate of that issuer in /etc/ca.crt "
            "has another key: the cluster was built anew, or another one answers; take the CA "
            "that the cluster has now"),
    ROW("the CA is no CA", NO_CA, NO_CA, false, DEFAULT,
        "the server's certificate (subject \"CN=api\", issuer \"CN=no CA\", serial 1234) is signed "
        "by no CA that is known, and the certificate of that issuer in /etc/ca.crt is no CA "
        "(basicConstraints without CA:TRUE); configure the CA that signs, not a certificate that "
        "it "
        "signed"),
    ROW("the CA may not sign", NO_SIGN, NO_SIGN, false, DEFAULT,
        "the server's certificate (subject \"CN=api\", issuer \"CN=no sign\", serial 1234) is "
        "signed by no CA that is known, and the certificate of that issuer in /etc/ca.crt may not "
        "sign certificates (keyUsage without keyCertSign); make the CA anew"),
    ROW("the CA allows no intermediate one", MIDDLE_SHORT, SHORT_ROOT, true, DEFAULT,
        "the intermediate certificate of the server (subject \"CN=middle\", issuer \"CN=short "
        "root\", serial 1234) is signed by no CA that is known, and the certificate of that issuer "
        "in /etc/ca.crt allows fewer intermediate certificates (pathlen); make the CA anew"),
    ROW("expired", ROOT, ROOT, false, {.till = "20210203040506"           },
        API " expired on 2021-02-03 04:05:06 UTC (the clock of this machine says TODAY); renew it "
            "at the server, or correct the clock"),
    ROW("expired intermediate certificate", MIDDLE_OVER, ROOT, true, DEFAULT,
        "the intermediate certificate of the server (subject \"CN=old middle\", issuer "
        "\"CN=root\", "
        "serial 1234) expired on 2022-03-04 05:06:07 UTC (the clock of this machine says TODAY); "
        "renew it at the server, or correct the clock"),
    ROW("expired CA", EXPIRED_ROOT, EXPIRED_ROOT, false, DEFAULT,
        "the CA certificate (subject \"CN=old root\", issuer \"CN=old root\", serial 1234) in "
        "/etc/ca.crt expired on 2021-02-03 04:05:06 UTC (the clock of this machine says TODAY); "
        "configure the CA that the cluster has now, or correct the clock"),
    ROW("not valid yet", ROOT, ROOT, false, {.from = "20980203040506"           },
        API " is not valid before 2098-02-03 04:05:06 UTC (the clock of this machine says TODAY); "
            "correct the clock of this machine, or that of the one that made it"),
    ROW("CA that is not valid yet", FUTURE_ROOT, FUTURE_ROOT, false, DEFAULT,
        "the CA certificate (subject \"CN=next root\", issuer \"CN=next root\", serial 1234) in "
        "/etc/ca.crt is not valid before 2098-02-03 04:05:06 UTC (the clock of this machine says "
        "TODAY); correct the clock of this machine, or that of the one that made it"),
    ROW("another name", ROOT, ROOT, false,
        {.dns = {"a.example", "*.b.example"}, .ips = {"10.0.0.1", "fd00::1"}},
        API " is for a.example, *.b.example, 10.0.0.1, fd00::1, not for api.example" ANY_FIX),
    ROW("no name", ROOT, ROOT, false, {.subject = "O=nobody"                                  },
        "the server's certificate (subject \"O=nobody\", issuer \"CN=root\", serial 1234) is for "
        "no "
        "host at all, not for api.example" ANY_FIX),
    ROW("weak hash", ROOT, ROOT, false, {.sha1 = true},
        API " is signed with a hash that is too weak (SHA-1); make it anew with SHA-256 or better"),
    ROW("weak key", ROOT, ROOT, false, {.rsa_bits = 1024                                  },
        API " has a key that is too weak (1024 bits); make it anew with RSA of 2048 bits or more, "
            "or with ECDSA"),
    ROW("weak key of the CA", WEAK_ROOT, WEAK_ROOT, false, DEFAULT,
        "the server's certificate (subject \"CN=api\", issuer \"CN=weak root\", serial 1234) is "
        "signed by a CA with a key that is too weak; make it anew with RSA of 2048 bits or more, "
        "or "
        "with ECDSA"),
    ROW("made for clients", ROOT, ROOT, false, {.for_clients = true},
        API " is not made for servers (extendedKeyUsage without serverAuth); check the address, or "
            "make it anew with serverAuth"),
    ROW("key usage", ROOT, ROOT, false, {.usage = MBEDTLS_X509_KU_KEY_AGREEMENT                                  },
        API " may not be used for this (keyUsage without digitalSignature); make it anew with "
            "digitalSignature"),
};

static void issue(struct tls_peer_id *out, const struct server_case *c)
{
    const struct tls_peer_id *issuer = c->issuer == IDS ? NULL : &ids[c->issuer];
    struct tls_peer_spec spec = c->spec;

    if (spec.subject == NULL) {
        spec.subject = "CN=api";
        if (spec.dns[0] == NULL)
            spec.dns[0] = "api.example";
    }
    tls_peer_issue(out, issuer, &spec);
    if (issuer != NULL && c->sends_issuer)
        strncat(out->cert_pem, issuer->cert_pem, sizeof(out->cert_pem) - strlen(out->cert_pem) - 1);
}

static void try_server(const struct server_case *c, struct tls_peer_id *id,
                       enum tls_peer_versions versions)
{
    struct tls_ctx *ctx = new_ctx(c->trust, IDS);
    struct tls_peer_server server;
    struct tls_pair p;

    print_message("%s\n", c->what);
    tls_peer_server_init(&server, id, NULL, versions);
    tls_pair_open(&p, &server, ctx, "api.example", NULL);
    expect(&p, "api.example", "TLS handshake", c->text);
    tls_pair_fini(&p);
    tls_ctx_unref(&ctx);
    tls_peer_server_fini(&server);
}

static void test_servers_that_cannot_be_verified(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(server_cases); i++) {
        struct tls_peer_id id;

        issue(&id, &server_cases[i]);
        try_server(&server_cases[i], &id, TLS_PEER_ALL);
        try_server(&server_cases[i], &id, TLS_PEER_1_2);
        tls_peer_id_fini(&id);
    }
}

/* A bundle may have the CA of a cluster that was built anew, beside the one before. The sentence is
 * about the one that has signed. */
static void test_of_two_cas_of_one_name_the_signer_counts(void **state)
{
    struct tls_peer_server server;
    struct tls_peer_id id;
    struct tls_peer_id twin;
    struct buf bundle = {0};
    struct tls_ctx *ctx = NULL;
    struct tls_pair p;

    (void)state;
    tls_peer_issue(&twin, NULL, &(struct tls_peer_spec){.subject = "CN=no CA", .ca = true});
    tls_peer_issue(&id, &ids[NO_CA],
                   &(struct tls_peer_spec){.subject = "CN=api", .dns = {"api.example"}});
    buf_puts(&bundle, ids[NO_CA].cert_pem);
    buf_puts(&bundle, twin.cert_pem);
    const struct tls_ctx_params params = {.ca_pem = buf_str(&bundle)};
    assert_int_equal(tls_ctx_create(&params, &ctx, NULL), ERR_OK);
    tls_peer_server_init(&server, &id, NULL, TLS_PEER_ALL);
    tls_pair_open(&p, &server, ctx, "api.example", NULL);
    assert_int_equal(p.result, TLS_FAILED);
    assert_non_null(strstr(p.err.text, "of that issuer in the configured CA is no CA"));
    tls_pair_fini(&p);
    tls_ctx_unref(&ctx);
    tls_peer_server_fini(&server);
    tls_peer_id_fini(&id);
    tls_peer_id_fini(&twin);
    buf_free(&bundle);
}

/* The same servers are taken by a context that verifies nothing, and its sessions are resumed. */
static void test_an_insecure_context_takes_them_all(void **state)
{
    const struct tls_ctx_params params = {.insecure = true};
    struct tls_ctx *ctx = NULL;

    (void)state;
    assert_int_equal(tls_ctx_create(&params, &ctx, NULL), ERR_OK);
    for (size_t i = 0; i < ARRAY_LEN(server_cases); i++) {
        struct tls_peer_server server;
        struct tls_peer_id id;
        struct tls_pair first;
        struct tls_pair second;

        print_message("%s\n", server_cases[i].what);
        issue(&id, &server_cases[i]);
        tls_peer_server_init(&server, &id, NULL, TLS_PEER_1_2);
        tls_pair_open(&first, &server, ctx, "10.0.0.9", NULL);
        assert_int_equal(first.result, TLS_OK);
        assert_false(tls_resumed(first.t));
        struct tls_session *session = tls_take_session(first.t);
        assert_non_null(session);
        tls_pair_open(&second, &server, ctx, "10.0.0.9", session);
        assert_int_equal(second.result, TLS_OK);
        assert_true(tls_resumed(second.t));
        tls_session_free(&session);
        tls_pair_fini(&second);
        tls_pair_fini(&first);
        tls_peer_server_fini(&server);
        tls_peer_id_fini(&id);
    }
    tls_ctx_unref(&ctx);
}

/* An alert of the server; client: the certificate that it got, IDS = none. */
struct alert_case {
    unsigned char alert;
    int client;
    const char *text;
};

#define WHO                                                                               \
    "check the client certificate (subject \"O=system:nodes, CN=system:node:a\", issuer " \
    "\"CN=root\", serial 1234) in /etc/client.pem: "
#define TRUSTED "use a certificate of a CA that the server takes clients from (--client-ca-file)"
#define NONE                                                                                    \
    "it wants a client certificate, perhaps, and none is configured: set client_cert_file and " \
    "client_key_file, or client-certificate and client-key in the kubeconfig"

static const struct alert_case alert_cases[] = {
    {40,  CLIENT,
     "handshake failure; " WHO "use one with a key of another type, or allow more cipher suites at "
     "the server"                                                                                      },
    {40,  IDS,           "handshake failure; " NONE                                                    },
    {42,  CLIENT,        "bad certificate; " WHO TRUSTED                                               },
    {42,  IDS,           "bad certificate; " NONE                                                      },
    {43,  CLIENT,        "unsupported certificate; " WHO "use one with a key of another type"          },
    {44,  CLIENT,        "certificate revoked; " WHO "have the CA of the cluster issue a new one"      },
    {45,  CLIENT,        "certificate expired; " WHO "renew it, or correct the clock of the server"    },
    {45,  CLIENT_OVER,
     "certificate expired; check the client certificate (subject \"CN=c\", issuer \"CN=root\", "
     "serial 1234) in /etc/client.pem, which expired on 2023-04-05 06:07:08 UTC (the clock of this "
     "machine says TODAY): renew it, or correct the clock"                                             },
    {42,  CLIENT_FUTURE,
     "bad certificate; check the client certificate (subject \"CN=c\", issuer \"CN=root\", serial "
     "1234) in /etc/client.pem, which is not valid before 2097-04-05 06:07:08 UTC (the clock of "
     "this machine says TODAY): correct the clocks"                                                    },
    {46,  CLIENT,        "certificate unknown; " WHO TRUSTED                                           },
    {48,  CLIENT,        "unknown CA; " WHO TRUSTED                                                    },
    {48,  IDS,           "unknown CA"                                                                  },
    {49,  CLIENT,        "access denied; " WHO TRUSTED                                                 },
    {51,  CLIENT,        "decrypt error; " WHO "check that its key is the right one"                   },
    {70,  CLIENT,        "protocol version: it and this program share no version of TLS (1.2 or newer)"},
    {71,  CLIENT,        "insufficient security: it wants stronger cipher suites or keys"              },
    {80,  CLIENT,        "internal error; the log of the server says more"                             },
    {112, CLIENT,
     "unrecognized name: it serves no such host; check the server's address or tls_server_name"        },
    {116, CLIENT,        "certificate required; " WHO TRUSTED                                          },
    {116, IDS,           "certificate required; " NONE                                                 },
    {120, CLIENT,        "no application protocol: it does not speak HTTP/1.1 on this port"            },
};

/* A server of TLS 1.3 sees the client's certificate after the client's handshake has ended, so the
 * alert may come then. */
static void try_alert(const struct alert_case *c, const struct tls_peer_server *server)
{
    struct tls_ctx *ctx = new_ctx(ROOT, c->client);
    struct buf got = {0};
    char text[sizeof(((struct err *)NULL)->text)];
    struct tls_pair p;

    snprintf(text, sizeof(text), "the server ended it with the alert: %s", c->text);
    tls_pair_open(&p, server, ctx, "api.example", NULL);
    assert_int_equal(p.result, TLS_OK);
    tls_peer_alert(&p.peer, c->alert);
    tls_pair_carry(&p, TLS_PAIR_ALL);
    p.result = tls_pair_read(&p, &got);
    expect(&p, "api.example", "TLS", text);
    tls_pair_fini(&p);
    tls_ctx_unref(&ctx);
}

static void test_alerts(void **state)
{
    (void)state;
    for (enum tls_peer_versions v = TLS_PEER_ALL; v <= TLS_PEER_1_2; v++) {
        struct tls_peer_server server;

        tls_peer_server_init(&server, &ids[SERVER], NULL, v);
        for (size_t i = 0; i < ARRAY_LEN(alert_cases); i++)
            try_alert(&alert_cases[i], &server);
        tls_peer_server_fini(&server);
    }
}

static void test_an_alert_during_the_handshake(void **state)
{
    struct tls_ctx *ctx = new_ctx(ROOT, CLIENT_OVER);
    struct tls_peer_server server;
    struct tls_pair p;

    (void)state;
    tls_peer_server_init(&server, &ids[SERVER], &ids[ROOT], TLS_PEER_1_2);
    tls_pair_open(&p, &server, ctx, "api.example", NULL);
    expect(&p, "api.example", "TLS handshake",
           "the server ended it with the alert: certificate expired; check the client "
           "certificate "
           "(subject \"CN=c\", issuer \"CN=root\", serial 1234) in /etc/client.pem, which "
           "expired on "
           "2023-04-05 06:07:08 UTC (the clock of this machine says TODAY): renew it, or "
           "correct "
           "the clock");
    tls_pair_fini(&p);
    tls_ctx_unref(&ctx);
    tls_peer_server_fini(&server);
}

/* ---- Credentials that cannot be used */

static const char locked[] = "-----BEGIN ENCRYPTED PRIVATE KEY-----\n"
                             "MIHsMFcGCSqGSIb3DQEFDTBKMCkGCSqGSIb3DQEFDDAcBAj4ZaxTkaJorAICCAAw\n"
                             "DAYIKoZIhvcNAgkFADAdBglghkgBZQMEASoEEFi6+YV+0Hr7XvDuLYPakgIEgZA6\n"
                             "GiEVV6yUF/LU0gzgzHJ6aI8KhEYD+iw5nkhqlN5XPMaMJMNlG0BPCV4HKe9AkKAV\n"
                             "Tl/NajwmKM4IXFOat+xdJw6W0XurT0kmQILTG2gj4sJ/CKKUYixs673gjl9MslnZ\n"
                             "1ExBDViIugoBJZVR09SfS8tAzCwSslqEU2l2VYOlRWZ9dlTceplYODkax+XzvW4=\n"
                             "-----END ENCRYPTED PRIVATE KEY-----\n";
static const char locked_before_pkcs8[] =
    "-----BEGIN EC PRIVATE KEY-----\n"
    "Proc-Type: 4,ENCRYPTED\n"
    "DEK-Info: AES-128-CBC,D551ECF7B5576106D20404A21D99760B\n\n"
    "G3UAdnXXjEiGyDyd09tFQW5aI/zXG99rbxyt2yNORG71rL4NjFmWlERUkR0hzWL+\n"
    "iMWZg74w4nAJphqbC0rbqcFtPDn080BEvbx/AXDxo5dkOJRtA7t1MGFm1c9Cfw6L\n"
    "IXXBJBjyj2u8j0shWQLa3J6UNwHs7oBZaps3of9svTE=\n"
    "-----END EC PRIVATE KEY-----\n";
static const char ed25519[] = "-----BEGIN PRIVATE KEY-----\n"
                              "MC4CAQAwBQYDK2VwBCIEIB4X11Im/hAwQFP45yk5sM9EiBsriZdAAbz8GCT7CsAh\n"
                              "-----END PRIVATE KEY-----\n";

#define ENCRYPTED                                                                                 \
    "the client key (/etc/client.key) is encrypted, and nobody is there to type its passphrase: " \
    "decrypt it with openssl pkey -in FILE -out NEW"
#define TYPE                                                                                   \
    "the client key (/etc/client.key) is of a type that is not supported: take RSA, or ECDSA " \
    "with "                                                                                    \
    "P-256, P-384 or P-521"

static void refused(struct tls_ctx_params p, const char *text)
{
    struct tls_ctx *ctx = NULL;
    struct err err = {0};

    assert_int_equal(tls_ctx_create(&p, &ctx, &err), ERR_CREDENTIAL);
    assert_null(ctx);
    if (strncmp(err.text, text, strlen(text)) != 0)
        fail_msg("\"%s\" does not begin \"%s\"", err.text, text);
    /* The checks of the parts say the same. */
    struct err part = {0};

    if (tls_check_ca(&p, &part) == ERR_OK)
        assert_int_equal(tls_check_pair(&p, &part), ERR_CREDENTIAL);
    assert_string_equal(part.text, err.text);
    if (p.ca_from == NULL)
        return;
    p.ca_from = p.cert_from = p.key_from = NULL; /* the same without the sources */
    assert_int_equal(tls_ctx_create(&p, &ctx, &err), ERR_CREDENTIAL);
    assert_null(strstr(err.text, "/etc/"));
}

static struct tls_ctx_params client_params(const char *cert, const char *key)
{
    return (struct tls_ctx_params){.ca_pem = str_c(ids[ROOT].cert_pem),
                                   .cert_pem = str_c(cert),
                                   .key_pem = str_c(key),
                                   .ca_from = "/etc/ca.crt",
                                   .cert_from = "/etc/client.crt",
                                   .key_from = "/etc/client.key"};
}

static void test_certificates_that_cannot_be_used(void **state)
{
    const char *cert = ids[CLIENT].cert_pem;
    const char *key = ids[CLIENT].key_pem;
    struct tls_ctx_params p = client_params("", "");

    (void)state;
    p.ca_pem = str_c("");
    refused(p, "the CA (/etc/ca.crt) holds no certificate in PEM form");
    p.ca_pem = str_c(key);
    refused(p, "the CA (/etc/ca.crt) holds a private key, and no certificate");
    p.ca_pem = str_c("\x30\x82\x01\x02");
    refused(p, "the CA (/etc/ca.crt) is not in PEM form: convert it with openssl x509 -inform DER "
               "-in FILE -out NEW");
    p.ca_pem = str_c("-----BEGIN CERTIFICATE-----\nMIIB");
    refused(p, "the CA (/etc/ca.crt) is incomplete: a certificate has no end");
    p.ca_pem = str_c("-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n");
    refused(p, "the CA (/etc/ca.crt) cannot be used: ");
    refused(client_params(cert, ""), "the client certificate (/etc/client.crt) needs its "
                                     "key: the key is missing or empty");
    refused(client_params("", key), "the client key (/etc/client.key) needs its certificate: the "
                                    "certificate is missing or empty");
    refused(client_params(key, key),
            "the client certificate (/etc/client.crt) holds a private key, and no certificate");
}

static void test_keys_that_cannot_be_used(void **state)
{
    const char *cert = ids[CLIENT].cert_pem;

    (void)state;
    refused(client_params(cert, locked), ENCRYPTED);
    refused(client_params(cert, locked_before_pkcs8), ENCRYPTED);
    refused(client_params(cert, ed25519), TYPE);
    refused(client_params(cert, "-----BEGIN DSA PRIVATE KEY-----\nMIIB\n-----END DSA PRIVATE "
                                "KEY-----\n"),
            TYPE);
    refused(client_params(cert, "-----BEGIN OPENSSH PRIVATE KEY-----\nb3Bl\n"),
            "the client key (/etc/client.key) is a key of OpenSSH: convert it with "
            "ssh-keygen -p "
            "-m PEM");
    refused(client_params(cert, cert),
            "the client key (/etc/client.key) holds a certificate, and no private key");
    refused(client_params(cert, "\x30\x82\x01\x02"),
            "the client key (/etc/client.key) is not in PEM form: convert it with openssl pkey "
            "-inform DER -in FILE -out NEW");
    refused(client_params(cert, "nonsense"),
            "the client key (/etc/client.key) holds no private key in PEM form");
    refused(client_params(cert, ids[SERVER].key_pem),
            "the client key (/etc/client.key) does not belong to the client certificate "
            "(subject "
            "\"O=system:nodes, CN=system:node:a\", issuer \"CN=root\", serial 1234) in "
            "/etc/client.crt: replace both");
}

/* Half of a key is no key, wherever it is cut, and no byte of it is shown. */
static void test_a_key_that_is_cut(void **state)
{
    const char *key = ids[CLIENT].key_pem;
    const char *body = strchr(key, '\n') + 1;

    (void)state;
    for (size_t n = 1; n + 30 < strlen(key); n++) {
        struct tls_ctx_params p = client_params(ids[CLIENT].cert_pem, "");
        struct tls_ctx *ctx = NULL;
        struct err err = {0};
        char secret[9] = "";

        p.key_pem = str_of(key, n);
        assert_int_equal(tls_ctx_create(&p, &ctx, &err), ERR_CREDENTIAL);
        memcpy(secret, body, sizeof(secret) - 1);
        assert_null(strstr(err.text, secret));
    }
}

/* In TLS 1.2 a server may send an empty list of certificates, for which mbedTLS shows an empty one. */
static void test_a_server_that_sends_no_certificate_is_told_so(void **state)
{
    struct tls_ctx ctx = {.refs = 1};
    const struct tls_failure_side side = {&ctx, "api.example", 0};
    mbedtls_x509_crt none;
    struct buf text = {0};

    (void)state;
    mbedtls_x509_crt_init(&ctx.ca);
    mbedtls_x509_crt_init(&none);
    tls_failure_put_chain(&text, &side, &none, 0, MBEDTLS_X509_BADCERT_NOT_TRUSTED);
    assert_string_equal(buf_cstr(&text),
                        "the server has sent no certificate; check the server's address");
    buf_free(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_servers_that_cannot_be_verified),
        cmocka_unit_test(test_of_two_cas_of_one_name_the_signer_counts),
        cmocka_unit_test(test_an_insecure_context_takes_them_all),
        cmocka_unit_test(test_alerts),
        cmocka_unit_test(test_an_alert_during_the_handshake),
        cmocka_unit_test(test_certificates_that_cannot_be_used),
        cmocka_unit_test(test_keys_that_cannot_be_used),
        cmocka_unit_test(test_a_key_that_is_cut),
        cmocka_unit_test(test_a_server_that_sends_no_certificate_is_told_so),
    };

    return cmocka_run_group_tests(tests, make_ids, drop_ids);
}
