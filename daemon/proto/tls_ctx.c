/* SPDX-License-Identifier: Apache-2.0 */
#include "proto/tls_ctx.h"

#include <errno.h>
#include <mbedtls/entropy.h>
#include <mbedtls/error.h>
#include <mbedtls/pk.h>
#include <mbedtls/version.h>
#include <psa/crypto.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/mem.h"
#include "base/panic.h"

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

/* Sets the error for a certificate or key that the library refuses; `what` names it. */
static enum err_kind unusable(struct err *err, const char *what, int ret)
{
    char text[128];

    if (ret == MBEDTLS_ERR_PK_PASSWORD_REQUIRED || ret == MBEDTLS_ERR_PK_PASSWORD_MISMATCH)
        return err_set(err, ERR_CREDENTIAL, ret,
                       "%s is encrypted, which is not supported; store it without a passphrase",
                       what);
    mbedtls_strerror(ret, text, sizeof(text));
    return err_set(err, ERR_CREDENTIAL, ret, "%s cannot be used: %s", what, text);
}

static enum err_kind parse_certs(mbedtls_x509_crt *out, struct str pem, const char *what,
                                 struct err *err)
{
    char *text = mem_strndup(pem.p, pem.n);
    enum err_kind kind = ERR_OK;

    if (strstr(text, "-----BEGIN CERTIFICATE-----") == NULL) {
        kind = err_set(err, ERR_CREDENTIAL, 0, "%s holds no certificate in PEM form", what);
    } else {
        int ret = mbedtls_x509_crt_parse(out, (const unsigned char *)text, strlen(text) + 1);

        /* A result > 0 is the number of certificates that the library could not parse; a CA bundle
         * may hold some of a kind that it does not know. At least one must have been parsed. */
        if (ret < 0 || out->raw.p == NULL)
            kind = unusable(err, what, ret < 0 ? ret : MBEDTLS_ERR_X509_UNKNOWN_SIG_ALG);
    }
    mem_wipe(text, pem.n); /* a client certificate's file may hold the key too */
    free(text);
    return kind;
}

static enum err_kind parse_key(mbedtls_pk_context *out, struct str pem, struct err *err)
{
    char *text = mem_strndup(pem.p, pem.n);
    int ret = mbedtls_pk_parse_key(out, (const unsigned char *)text, strlen(text) + 1, NULL,
                                   0 KEY_RANDOM);

    mem_wipe(text, pem.n);
    free(text);
    return ret == 0 ? ERR_OK : unusable(err, "the key of the client certificate", ret);
}

static enum err_kind load(struct tls_ctx *ctx, const struct tls_ctx_params *p, struct err *err)
{
    enum err_kind kind = parse_certs(&ctx->ca, p->ca_pem, "the CA", err);

    ctx->has_cert = p->cert_pem.n > 0;
    if (kind != ERR_OK)
        return kind;
    if ((p->cert_pem.n == 0) != (p->key_pem.n == 0))
        return err_set(err, ERR_CREDENTIAL, 0, "a client certificate and its key go together: %s",
                       ctx->has_cert ? "the key is missing" : "the certificate is missing");
    if (!ctx->has_cert)
        return ERR_OK;
    kind = parse_certs(&ctx->cert, p->cert_pem, "the client certificate", err);
    if (kind == ERR_OK)
        kind = parse_key(&ctx->key, p->key_pem, err);
    if (kind == ERR_OK && mbedtls_pk_check_pair(&ctx->cert.pk, &ctx->key KEY_RANDOM) != 0)
        kind = err_set(err, ERR_CREDENTIAL, 0,
                       "the client key does not belong to the (first) client certificate");
    return kind;
}

static void configure(struct tls_ctx *ctx)
{
    mbedtls_ssl_config *conf = &ctx->conf;

    int ret = mbedtls_ssl_config_defaults(conf, MBEDTLS_SSL_IS_CLIENT, MBEDTLS_SSL_TRANSPORT_STREAM,
                                          MBEDTLS_SSL_PRESET_DEFAULT);
    ensure(ret == 0);
    mbedtls_ssl_conf_rng(conf, get_random, NULL);
    /* No setting turns the verification off (docs/design.md "Security"). */
    mbedtls_ssl_conf_authmode(conf, MBEDTLS_SSL_VERIFY_REQUIRED);
    mbedtls_ssl_conf_ca_chain(conf, &ctx->ca, NULL);
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
    free(c);
}
