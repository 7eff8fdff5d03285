/* SPDX-License-Identifier: Apache-2.0 */
#include "proto/tls_ctx.h"

#include <errno.h>
#include <mbedtls/entropy.h>
#include <mbedtls/error.h>
#include <mbedtls/version.h>
#include <psa/crypto.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/panic.h"
#include "proto/tls.h"
#include "proto/tls_cert.h"

#if MBEDTLS_VERSION_MAJOR >= 3 /* key functions take a random generator, for blinding */
#define KEY_RANDOM , get_random, NULL

/* The library's own list of signature algorithms, but with RSA PKCS#1 before RSA-PSS: a server with
 * an RSA key that does not speak TLS 1.3 takes the first one, and mbedTLS 3.6.6 refuses RSA-PSS in
 * TLS 1.2 (Mbed-TLS/mbedtls#10674). */
static const uint16_t signatures[] = {
    MBEDTLS_TLS1_3_SIG_ECDSA_SECP256R1_SHA256, MBEDTLS_TLS1_3_SIG_ECDSA_SECP384R1_SHA384,
    MBEDTLS_TLS1_3_SIG_ECDSA_SECP521R1_SHA512, MBEDTLS_TLS1_3_SIG_RSA_PKCS1_SHA512,
    MBEDTLS_TLS1_3_SIG_RSA_PKCS1_SHA384,       MBEDTLS_TLS1_3_SIG_RSA_PKCS1_SHA256,
    MBEDTLS_TLS1_3_SIG_RSA_PSS_RSAE_SHA512,    MBEDTLS_TLS1_3_SIG_RSA_PSS_RSAE_SHA384,
    MBEDTLS_TLS1_3_SIG_RSA_PSS_RSAE_SHA256,    MBEDTLS_TLS1_3_SIG_NONE,
};
#else
#define KEY_RANDOM
#endif

/* Random bytes from the kernel, in the form that mbedTLS asks for: 0, or a negative code. */
static int get_random(void *arg, unsigned char *out, size_t n)
{
    (void)arg;
    while (n > 0) {
        ssize_t got = getrandom(out, n, 0);

        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return MBEDTLS_ERR_ENTROPY_SOURCE_FAILED;
        out += got;
        n -= (size_t)got;
    }
    return 0;
}

/* ---- Reading certificates and keys */

/* One item of the parameters, and how messages call it. */
struct item {
    struct str pem;
    const char *what;
    const char *from; /* NULL = not known */
};

/* Sets the error for an item that cannot be used: "the CA (FILE) ...". */
static enum err_kind refuse(const struct item *item, int ret, const char *why, struct err *err)
{
    bool known = item->from != NULL;

    return err_set(err, ERR_CREDENTIAL, ret, "%s%s%s%s %s", item->what, known ? " (" : "",
                   known ? item->from : "", known ? ")" : "", why);
}

static enum err_kind refuse_code(const struct item *item, int ret, struct err *err)
{
    char text[128];
    char why[sizeof(text) + 32];

    mbedtls_strerror(ret, text, sizeof(text));
    (void)snprintf(why, sizeof(why), "cannot be used: %s", text);
    return refuse(item, ret, why, err);
}

static bool has(const char *text, const char *words)
{
    return strstr(text, words) != NULL;
}

static size_t count(const char *text, const char *words)
{
    size_t n = 0;

    for (const char *at = text; (at = strstr(at, words)) != NULL; at += strlen(words))
        n++;
    return n;
}

/* A text that is no PEM of the kind that is wanted. DER is an ASN.1 SEQUENCE (0x30). */
static enum err_kind refuse_form(const struct item *item, const char *text, const char *kind,
                                 const char *command, struct err *err)
{
    char why[160];

    if (has(text, "PRIVATE KEY-----"))
        (void)snprintf(why, sizeof(why), "holds a private key, and no %s", kind);
    else if (has(text, "-----BEGIN CERTIFICATE-----"))
        (void)snprintf(why, sizeof(why), "holds a certificate, and no %s", kind);
    else if (text[0] == 0x30)
        (void)snprintf(why, sizeof(why), "is not in PEM form: convert it with %s", command);
    else
        (void)snprintf(why, sizeof(why), "holds no %s in PEM form", kind);
    return refuse(item, 0, why, err);
}

static enum err_kind parse_text(mbedtls_x509_crt *out, const struct item *item, const char *text,
                                struct err *err)
{
    size_t begins = count(text, "-----BEGIN CERTIFICATE-----");

    if (begins == 0)
        return refuse_form(item, text, "certificate", "openssl x509 -inform DER -in FILE -out NEW",
                           err);
    /* A file that is just being written may end within a certificate. The library would be content
     * with the certificates before that. */
    if (begins != count(text, "-----END CERTIFICATE-----"))
        return refuse(item, 0, "is incomplete: a certificate has no end", err);
    int ret = mbedtls_x509_crt_parse(out, (const unsigned char *)text, strlen(text) + 1);

    /* A result > 0 is the number of certificates that the library could not parse; a CA bundle may
     * hold some of a kind that it does not know. At least one must have been parsed. */
    if (ret >= 0 && out->raw.p != NULL)
        return ERR_OK;
    return refuse_code(item, ret < 0 ? ret : MBEDTLS_ERR_X509_UNKNOWN_SIG_ALG, err);
}

static enum err_kind parse_certs(mbedtls_x509_crt *out, const struct item *item, struct err *err)
{
    char *text = mem_strndup(item->pem.p, item->pem.n);
    enum err_kind kind = parse_text(out, item, text, err);

    mem_wipe(text, item->pem.n); /* a client certificate's file may hold the key too */
    free(text);
    return kind;
}

/* Why mbedTLS did not take a key. */
static enum err_kind refuse_key(const struct item *item, const char *text, int ret, struct err *err)
{
    if (ret == MBEDTLS_ERR_PK_PASSWORD_REQUIRED || ret == MBEDTLS_ERR_PK_PASSWORD_MISMATCH)
        return refuse(item, ret,
                      "is encrypted, and nobody is there to type its passphrase: decrypt it with "
                      "openssl pkey -in FILE -out NEW",
                      err);
    if (has(text, "-----BEGIN OPENSSH PRIVATE KEY-----"))
        return refuse(item, ret, "is a key of OpenSSH: convert it with ssh-keygen -p -m PEM", err);
    if (!has(text, "PRIVATE KEY-----"))
        return refuse_form(item, text, "private key", "openssl pkey -inform DER -in FILE -out NEW",
                           err);
    if (ret == MBEDTLS_ERR_PK_UNKNOWN_PK_ALG || ret == MBEDTLS_ERR_PK_UNKNOWN_NAMED_CURVE ||
        ret == MBEDTLS_ERR_PK_FEATURE_UNAVAILABLE || has(text, "-----BEGIN DSA PRIVATE KEY-----"))
        return refuse(item, ret,
                      "is of a type that is not supported: take RSA, or ECDSA with P-256, P-384 or "
                      "P-521",
                      err);
    return refuse_code(item, ret, err);
}

static enum err_kind parse_key(mbedtls_pk_context *out, const struct item *item, struct err *err)
{
    char *text = mem_strndup(item->pem.p, item->pem.n);
    enum err_kind kind = ERR_OK;
    int ret = mbedtls_pk_parse_key(out, (const unsigned char *)text, strlen(text) + 1, NULL,
                                   0 KEY_RANDOM);

    if (ret != 0)
        kind = refuse_key(item, text, ret, err);
    mem_wipe(text, item->pem.n);
    free(text);
    return kind;
}

static struct item ca_of(const struct tls_ctx_params *p)
{
    return (struct item){p->ca_pem, "the CA", p->ca_from};
}

/* While key and certificate are replaced one after the other they do not fit for a moment. */
static enum err_kind refuse_pair(const struct item *key, const mbedtls_x509_crt *cert,
                                 const char *cert_from, struct err *err)
{
    struct buf why = {0};

    buf_puts(&why, "does not belong to the client certificate ");
    tls_cert_put_who(&why, cert);
    if (cert_from != NULL)
        buf_printf(&why, " in %s", cert_from);
    buf_puts(&why, ": replace both");
    enum err_kind kind = refuse(key, 0, buf_cstr(&why), err);
    buf_free(&why);
    return kind;
}

static enum err_kind parse_pair(mbedtls_x509_crt *cert, mbedtls_pk_context *key,
                                const struct tls_ctx_params *p, struct err *err)
{
    const struct item cert_item = {p->cert_pem, "the client certificate", p->cert_from};
    const struct item key_item = {p->key_pem, "the client key", p->key_from};

    if (p->key_pem.n == 0)
        return refuse(&cert_item, 0, "needs its key: the key is missing or empty", err);
    if (p->cert_pem.n == 0)
        return refuse(&key_item, 0, "needs its certificate: the certificate is missing or empty",
                      err);
    enum err_kind kind = parse_certs(cert, &cert_item, err);

    if (kind == ERR_OK)
        kind = parse_key(key, &key_item, err);
    if (kind == ERR_OK && mbedtls_pk_check_pair(&cert->pk, key KEY_RANDOM) != 0)
        kind = refuse_pair(&key_item, cert, p->cert_from, err);
    return kind;
}

static enum err_kind load(struct tls_ctx *ctx, const struct tls_ctx_params *p, struct err *err)
{
    const struct item ca = ca_of(p);

    ctx->insecure = p->insecure;
    ctx->ca_from = mem_strdup(p->ca_from);
    ctx->cert_from = mem_strdup(p->cert_from);
    ctx->has_cert = p->cert_pem.n > 0 || p->key_pem.n > 0;
    if (!ctx->insecure && parse_certs(&ctx->ca, &ca, err) != ERR_OK)
        return ERR_CREDENTIAL;
    return ctx->has_cert ? parse_pair(&ctx->cert, &ctx->key, p, err) : ERR_OK;
}

/* ---- The context */

static void configure(struct tls_ctx *ctx)
{
    mbedtls_ssl_config *conf = &ctx->conf;

    int ret = mbedtls_ssl_config_defaults(conf, MBEDTLS_SSL_IS_CLIENT, MBEDTLS_SSL_TRANSPORT_STREAM,
                                          MBEDTLS_SSL_PRESET_DEFAULT);
    ensure(ret == 0);
    mbedtls_ssl_conf_rng(conf, get_random, NULL);
    /* OPTIONAL, not NONE: proto/tls.c tells by its callback whether the server showed a chain or
     * resumed a session. */
    mbedtls_ssl_conf_authmode(conf, ctx->insecure ? MBEDTLS_SSL_VERIFY_OPTIONAL
                                                  : MBEDTLS_SSL_VERIFY_REQUIRED);
    mbedtls_ssl_conf_ca_chain(conf, ctx->insecure ? NULL : &ctx->ca, NULL);
    mbedtls_ssl_conf_renegotiation(conf, MBEDTLS_SSL_RENEGOTIATION_DISABLED);
#if MBEDTLS_VERSION_MAJOR >= 3
    mbedtls_ssl_conf_sig_algs(conf, signatures);
#else /* 2.28 would also speak TLS 1.0 */
    mbedtls_ssl_conf_min_version(conf, MBEDTLS_SSL_MAJOR_VERSION_3, MBEDTLS_SSL_MINOR_VERSION_3);
#endif
/* From 3.6.1 on tickets of TLS 1.3 are only reported when this is asked for; without tickets no
 * session of TLS 1.3 can be resumed. */
#if MBEDTLS_VERSION_NUMBER >= 0x03060100 && defined(MBEDTLS_SSL_PROTO_TLS1_3)
    mbedtls_ssl_conf_tls13_enable_signal_new_session_tickets(
        conf, MBEDTLS_SSL_TLS1_3_SIGNAL_NEW_SESSION_TICKETS_ENABLED);
#endif
    ctx->alpn[0] = "http/1.1";
    ret = mbedtls_ssl_conf_alpn_protocols(conf, ctx->alpn);
    ensure(ret == 0);
    if (ctx->has_cert) {
        ret = mbedtls_ssl_conf_own_cert(conf, &ctx->cert, &ctx->key);
        ensure(ret == 0);
    }
}

enum err_kind tls_ctx_create(const struct tls_ctx_params *p, struct tls_ctx **out, struct err *err)
{
    struct tls_ctx *ctx = MEM_NEW(struct tls_ctx, .refs = 1);
    psa_status_t status = psa_crypto_init(); /* TLS 1.3 needs it; repeats are fine */

    ensure(status == PSA_SUCCESS);
    mbedtls_ssl_config_init(&ctx->conf);
    mbedtls_x509_crt_init(&ctx->ca);
    mbedtls_x509_crt_init(&ctx->cert);
    mbedtls_pk_init(&ctx->key);
    enum err_kind kind = load(ctx, p, err);

    if (kind != ERR_OK) {
        tls_ctx_unref(&ctx);
        return kind;
    }
    configure(ctx);
    *out = ctx;
    return ERR_OK;
}

enum err_kind tls_check_ca(const struct tls_ctx_params *p, struct err *err)
{
    const struct item item = ca_of(p);
    mbedtls_x509_crt ca;

    mbedtls_x509_crt_init(&ca);
    enum err_kind kind = parse_certs(&ca, &item, err);
    mbedtls_x509_crt_free(&ca);
    return kind;
}

enum err_kind tls_check_pair(const struct tls_ctx_params *p, struct err *err)
{
    mbedtls_x509_crt cert;
    mbedtls_pk_context key;
    psa_status_t status = psa_crypto_init();

    ensure(status == PSA_SUCCESS);
    mbedtls_x509_crt_init(&cert);
    mbedtls_pk_init(&key);
    enum err_kind kind = parse_pair(&cert, &key, p, err);
    mbedtls_x509_crt_free(&cert);
    mbedtls_pk_free(&key);
    return kind;
}

struct tls_ctx *tls_ctx_ref(struct tls_ctx *ctx)
{
    ctx->refs++;
    return ctx;
}

void tls_ctx_unref(struct tls_ctx **ctx)
{
    struct tls_ctx *c = *ctx;

    if (c == NULL)
        return;
    *ctx = NULL;
    if (--c->refs > 0)
        return;
    mbedtls_ssl_config_free(&c->conf);
    mbedtls_x509_crt_free(&c->ca);
    mbedtls_x509_crt_free(&c->cert);
    mbedtls_pk_free(&c->key);
    free(c->ca_from);
    free(c->cert_from);
    free(c);
}
