/* SPDX-License-Identifier: Apache-2.0 */
#define MBEDTLS_ALLOW_PRIVATE_ACCESS /* mbedTLS 3: for in_msg, where alerts are */
#include "proto/tls.h"

#include <arpa/inet.h>
#include <errno.h>
#include <mbedtls/entropy.h>
#include <mbedtls/error.h>
#include <mbedtls/pk.h>
#include <mbedtls/ssl.h>
#include <mbedtls/version.h>
#include <psa/crypto.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/panic.h"
#include "proto/tls_cert.h"

/* Bytes that an error text shows: of the server's name, and of the peer's first bytes. */
enum { NAME_SHOWN = 64, FIRST_SHOWN = 5 };

enum tls_state {
    TLS_HANDSHAKING,
    TLS_OPEN,  /* the peer is verified */
    TLS_ENDED, /* the peer sent close_notify */
    TLS_DEAD,  /* failed */
};

struct tls_ctx {
    int refs;
    mbedtls_ssl_config conf;
    mbedtls_x509_crt ca;
    mbedtls_x509_crt cert; /* the client's chain; with key unused if !has_cert */
    mbedtls_pk_context key;
    bool has_cert;
    const char *alpn[2]; /* conf points here */
};

struct tls_session {
    mbedtls_ssl_session saved;
    mbedtls_x509_time valid_to;
    struct tls_ctx *ctx; /* with name: where it may be offered */
    char *name;
};

struct tls {
    mbedtls_ssl_context ssl;
    enum tls_state state;
    struct tls_ctx *ctx;
    char *name;           /* without a final dot */
    unsigned char ip[16]; /* the name as an address, if ip_bytes > 0 */
    size_t ip_bytes;
    bool name_ok;  /* the library accepted the name */
    bool offered;  /* a session went into the ClientHello */
    bool verified; /* check_cert() accepted chain and name; it never runs in a resumption */
    bool fresh;    /* there is a session to take */
    mbedtls_x509_time valid_to;   /* earliest end of validity in the chain */
    mbedtls_x509_time offered_to; /* valid_to of the session that was offered */
    char first[FIRST_SHOWN];      /* the peer's first bytes, to guess what it speaks if not TLS */
    size_t first_bytes;
    struct buf in;  /* from in_at on: not yet read by the library */
    struct buf out; /* from out_at on: not yet sent */
    size_t in_at;
    size_t out_at;
    struct buf why; /* why check_cert() refuses the chain; empty = it does not */
};

/* ---- struct tls_ctx: CAs and client certificate */

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

/* How often is this in the text? */
static size_t count(const char *text, const char *part)
{
    size_t n = 0;

    for (const char *at = text; (at = strstr(at, part)) != NULL; at += strlen(part))
        n++;
    return n;
}

/* A file that is just being written may end within a certificate. The library would be content with
 * the certificates before that. */
static enum err_kind parse_certs(mbedtls_x509_crt *out, struct str pem, const char *what,
                                 struct err *err)
{
    char *text = mem_strndup(pem.p, pem.n);
    size_t begins = count(text, "-----BEGIN CERTIFICATE-----");
    enum err_kind kind = ERR_OK;

    if (begins == 0) {
        kind = err_set(err, ERR_CREDENTIAL, 0, "%s holds no certificate in PEM form", what);
    } else if (begins != count(text, "-----END CERTIFICATE-----")) {
        kind = err_set(err, ERR_CREDENTIAL, 0, "%s is incomplete: a certificate has no end", what);
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

static enum err_kind parse_pair(mbedtls_x509_crt *cert, mbedtls_pk_context *key,
                                struct str cert_pem, struct str key_pem, struct err *err)
{
    if (cert_pem.n == 0 || key_pem.n == 0)
        return err_set(err, ERR_CREDENTIAL, 0, "a client certificate and its key go together: %s",
                       key_pem.n == 0 ? "the key is missing" : "the certificate is missing");
    enum err_kind kind = parse_certs(cert, cert_pem, "the client certificate", err);
    if (kind == ERR_OK)
        kind = parse_key(key, key_pem, err);
    if (kind == ERR_OK && mbedtls_pk_check_pair(&cert->pk, key KEY_RANDOM) != 0)
        kind = err_set(err, ERR_CREDENTIAL, 0,
                       "the client key does not belong to the (first) client certificate");
    return kind;
}

static enum err_kind load(struct tls_ctx *ctx, const struct tls_ctx_params *p, struct err *err)
{
    enum err_kind kind = parse_certs(&ctx->ca, p->ca_pem, "the CA", err);

    ctx->has_cert = p->cert_pem.n > 0 || p->key_pem.n > 0;
    if (kind != ERR_OK || !ctx->has_cert)
        return kind;
    return parse_pair(&ctx->cert, &ctx->key, p->cert_pem, p->key_pem, err);
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

enum err_kind tls_check_ca(struct str pem, struct err *err)
{
    mbedtls_x509_crt ca;

    mbedtls_x509_crt_init(&ca);
    enum err_kind kind = parse_certs(&ca, pem, "the CA", err);
    mbedtls_x509_crt_free(&ca);
    return kind;
}

enum err_kind tls_check_pair(struct str cert_pem, struct str key_pem, struct err *err)
{
    mbedtls_x509_crt cert;
    mbedtls_pk_context key;
    psa_status_t status = psa_crypto_init();

    ensure(status == PSA_SUCCESS);
    mbedtls_x509_crt_init(&cert);
    mbedtls_pk_init(&key);
    enum err_kind kind = parse_pair(&cert, &key, cert_pem, key_pem, err);
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
    free(c);
}

/* ---- The connection */

/* The library's send and receive functions: they move bytes to and from memory. */
static int send_out(void *arg, const unsigned char *data, size_t n)
{
    struct tls *t = arg;

    buf_append(&t->out, data, n);
    return (int)n;
}

static int recv_in(void *arg, unsigned char *data, size_t n)
{
    struct tls *t = arg;
    size_t left = t->in.len - t->in_at;

    if (left == 0)
        return MBEDTLS_ERR_SSL_WANT_READ;
    if (n > left)
        n = left;
    memcpy(data, t->in.data + t->in_at, n);
    t->in_at += n;
    if (t->in_at == t->in.len) { /* watches are many and mostly silent: they hold no buffer */
        buf_free(&t->in);
        t->in_at = 0;
    }
    return (int)n;
}

/* mbedTLS has no comparison of two times, only with the present. */
static bool earlier(const mbedtls_x509_time *a, const mbedtls_x509_time *b)
{
    const int x[] = {a->year, a->mon, a->day, a->hour, a->min, a->sec};
    const int y[] = {b->year, b->mon, b->day, b->hour, b->min, b->sec};

    for (size_t i = 0; i < ARRAY_LEN(x); i++)
        if (x[i] != y[i])
            return x[i] < y[i];
    return false;
}

/* mbedTLS calls this for each certificate of the chain, from the CA (depth > 0) to the peer's own
 * (depth 0). It never accepts what the library refuses: it adds the check of an IP address, and
 * notes the first reason of a refusal and the earliest end of validity. */
static int check_cert(void *arg, mbedtls_x509_crt *crt, int depth, uint32_t *flags)
{
    struct tls *t = arg;

    if (depth == 0 && t->ip_bytes > 0 && !tls_cert_has_ip(crt, t->ip, t->ip_bytes))
        *flags |= MBEDTLS_X509_BADCERT_CN_MISMATCH;
    if (*flags != 0 && t->why.len == 0)
        tls_cert_explain(&t->why, crt, *flags, t->name);
    if (t->valid_to.year == 0 || earlier(&crt->valid_to, &t->valid_to))
        t->valid_to = crt->valid_to;
    if (depth == 0)
        t->verified = t->why.len == 0;
    return 0;
}

static void set_name(struct tls *t, const char *server_name)
{
    size_t n = strlen(server_name);

    /* Certificates hold names without the final dot, and SNI must have none (RFC 6066 3). */
    if (n > 1 && server_name[n - 1] == '.')
        n--;
    t->name = mem_strndup(server_name, n);
    if (inet_pton(AF_INET, t->name, t->ip) == 1)
        t->ip_bytes = 4;
    else if (inet_pton(AF_INET6, t->name, t->ip) == 1)
        t->ip_bytes = 16;
    /* An address must not be sent as SNI (RFC 6066 3); NULL tells the library that this is on
     * purpose. */
    t->name_ok = n > 0 && mbedtls_ssl_set_hostname(&t->ssl, t->ip_bytes > 0 ? NULL : t->name) == 0;
}

/* Offers a session to the server. A session whose chain has expired is not offered, as a resumption
 * does not verify the chain again. */
static void offer(struct tls *t, const struct tls_session *s)
{
    if (s == NULL || s->ctx != t->ctx || strcmp(s->name, t->name) != 0)
        return;
    if (mbedtls_x509_time_is_past(&s->valid_to) != 0)
        return;
    if (mbedtls_ssl_set_session(&t->ssl, &s->saved) != 0)
        return;
    t->offered = true;
    t->offered_to = s->valid_to;
}

struct tls *tls_create(struct tls_ctx *ctx, const char *server_name,
                       const struct tls_session *resume)
{
    struct tls *t = mem_zalloc(sizeof(*t));

    t->ctx = tls_ctx_ref(ctx);
    mbedtls_ssl_init(&t->ssl);
    int ret = mbedtls_ssl_setup(&t->ssl, &ctx->conf);

    ensure(ret == 0); /* it fails only for lack of memory */
    set_name(t, server_name);
    mbedtls_ssl_set_bio(&t->ssl, t, send_out, recv_in, NULL);
    mbedtls_ssl_set_verify(&t->ssl, check_cert, t);
    offer(t, resume);
    return t;
}

void tls_destroy(struct tls **t)
{
    struct tls *gone = *t;

    if (gone == NULL)
        return;
    *t = NULL;
    mbedtls_ssl_free(&gone->ssl);
    tls_ctx_unref(&gone->ctx);
    buf_free(&gone->in);
    buf_free(&gone->out);
    buf_free(&gone->why);
    free(gone->name);
    free(gone);
}

void tls_feed(struct tls *t, const char *cipher, size_t n)
{
    for (size_t i = 0; i < n && t->first_bytes < sizeof(t->first); i++)
        t->first[t->first_bytes++] = cipher[i];
    if (t->in_at > 0) {
        buf_consume(&t->in, t->in_at);
        t->in_at = 0;
    }
    buf_append(&t->in, cipher, n);
}

struct alert {
    int code;
    bool about_client; /* or may be: the advice depends on whether there is a client certificate */
    const char *text;
};

/* RFC 8446 6, RFC 5246 7.2. Each alert has the text that the user gets. */
static const struct alert alerts[] = {
    {40,  true,  "handshake failure"                                                           },
    {41,  true,  "no certificate"                                                              },
    {42,  true,  "bad certificate"                                                             },
    {43,  true,  "unsupported certificate"                                                     },
    {44,  true,  "certificate revoked"                                                         },
    {45,  true,  "certificate expired"                                                         },
    {46,  true,  "certificate unknown"                                                         },
    {48,  true,  "unknown CA"                                                                  },
    {49,  true,  "access denied"                                                               },
    {51,  true,  "decrypt error"                                                               },
    {70,  false, "protocol version: it and this program share no version of TLS (1.2 or newer)"},
    {71,  false, "insufficient security"                                                       },
    {80,  false, "internal error"                                                              },
    {112, false,
     "unrecognized name: it serves no such host; check the server's address or tls_server_name"},
    {116, true,  "certificate required"                                                        },
    {120, false, "no application protocol: it does not speak HTTP/1.1 on this port"            },
};

static void put_alert(struct buf *out, const struct tls *t)
{
    /* An alert has two bytes: level and description. */
    int code = t->ssl.in_msg[1];

    for (size_t i = 0; i < ARRAY_LEN(alerts); i++) {
        const struct alert *a = &alerts[i];

        if (a->code != code)
            continue;
        buf_printf(out, "the server ended it with the alert: %s", a->text);
        if (a->about_client && t->ctx->has_cert)
            buf_puts(out, "; check the client certificate and its key");
        else if (a->about_client)
            buf_puts(out, "; perhaps it wants a client certificate, and none is configured");
        return;
    }
    buf_printf(out, "the server ended it with alert %d", code);
}

/* Explains a peer that does not speak TLS. A TLS record begins with its type, 20 to 24. Returns
 * false, and appends nothing, if the first bytes are one or there are none. */
static bool put_foreign(struct buf *out, const struct tls *t)
{
    struct str first = str_of(t->first, t->first_bytes);

    if (first.n == 0 || (first.p[0] >= 20 && first.p[0] <= 24))
        return false;
    buf_puts(out, "the peer does not speak TLS (");
    if (first.n >= 5 && memcmp(first.p, "HTTP/", 5) == 0) {
        buf_puts(out, "it answered in plain HTTP)");
    } else {
        buf_puts(out, "its answer begins \"");
        tls_cert_put_clean(out, first, FIRST_SHOWN);
        buf_puts(out, "\")");
    }
    buf_puts(out, "; check the port, and https:// in the address");
    return true;
}

/* The numbers are the same in both generations of mbedTLS, the names are not. */
enum { ILLEGAL_PARAMETER = -0x6600, BAD_PROTOCOL_VERSION = -0x6E80 };

/* Explains a failure that this side found, without an alert of the peer. */
static void put_own(struct buf *out, const struct tls *t, int ret)
{
    uint32_t flags = mbedtls_ssl_get_verify_result(&t->ssl);
    char text[256] = "";

    if (t->state == TLS_HANDSHAKING && flags != 0 && flags != UINT32_MAX) {
        mbedtls_x509_crt_verify_info(text, sizeof(text), "", flags);
        text[strcspn(text, "\n")] = '\0';
        buf_printf(out, "certificate is refused: %s", text);
    } else if (ret == BAD_PROTOCOL_VERSION) {
        buf_puts(out, "the server offers nothing newer than TLS 1.1; at least 1.2 is needed");
    } else {
        mbedtls_strerror(ret, text, sizeof(text));
        buf_puts(out, text);
        if (ret == ILLEGAL_PARAMETER && strcmp(tls_version(t), "TLSv1.2") == 0)
            buf_puts(out, " (if the server has an RSA key: mbedTLS up to 3.6.6 takes no RSA-PSS in "
                          "TLS 1.2; enable TLS 1.3 there, or use an ECDSA key)");
    }
}

/* The order matters: a peer that speaks no TLS makes mbedTLS report some other error, and
 * check_cert() says more about a refused chain than the error that follows from it. */
static void put_reason(struct buf *out, const struct tls *t, int ret)
{
    if (!t->name_ok) {
        buf_puts(out, "the server name is empty or too long");
    } else if (t->state == TLS_HANDSHAKING && put_foreign(out, t)) {
        return;
    } else if (t->why.len > 0) {
        buf_append_str(out, buf_str(&t->why));
    } else if (ret == MBEDTLS_ERR_SSL_FATAL_ALERT_MESSAGE) {
        put_alert(out, t);
    } else if (ret == MBEDTLS_ERR_SSL_PEER_CLOSE_NOTIFY) {
        buf_puts(out, "the server closed the connection during the handshake");
    } else {
        put_own(out, t, ret);
    }
}

/* Sets the error and the state TLS_DEAD, which nothing else sets. */
static enum tls_result fail(struct tls *t, int ret, struct err *err)
{
    struct buf text = {0};

    put_reason(&text, t, ret);
    err_set(err, ERR_TLS, ret, "TLS%s with %.*s: %s",
            t->state == TLS_HANDSHAKING ? " handshake" : "", NAME_SHOWN, t->name, buf_cstr(&text));
    buf_free(&text);
    t->state = TLS_DEAD;
    return TLS_FAILED;
}

/* Whether the code only says that a session ticket came in. mbedTLS 3.6 reports tickets of TLS 1.3
 * so; it is no error. */
static bool is_ticket(int ret)
{
#ifdef MBEDTLS_ERR_SSL_RECEIVED_NEW_SESSION_TICKET
    return ret == MBEDTLS_ERR_SSL_RECEIVED_NEW_SESSION_TICKET;
#else
    (void)ret;
    return false;
#endif
}

static bool is_wait(int ret)
{
    return ret == MBEDTLS_ERR_SSL_WANT_READ || ret == MBEDTLS_ERR_SSL_WANT_WRITE;
}

enum tls_result tls_handshake(struct tls *t, struct err *err)
{
    ensure(t->state == TLS_HANDSHAKING);
    if (!t->name_ok)
        return fail(t, MBEDTLS_ERR_SSL_BAD_INPUT_DATA, err);
    int ret = mbedtls_ssl_handshake(&t->ssl);

    if (is_wait(ret))
        return TLS_WANT;
    if (ret != 0)
        return fail(t, ret, err);
    /* A finished handshake has verified the chain, or resumed a session whose chain was verified
     * before. */
    ensure(t->verified || t->offered);
    t->state = TLS_OPEN;
    /* In TLS 1.3 tickets follow later. A resumed session of TLS 1.2 gives no new one: its owner
     * still has it. */
    t->fresh = t->verified && strcmp(tls_version(t), "TLSv1.3") != 0;
    return TLS_OK;
}

/* Reads, and goes on behind records that are no application data (tickets) while there is input. A
 * call that used up no input stops the loop: the rest is an incomplete record. */
static int read_on(struct tls *t, char *out, size_t cap)
{
    for (;;) {
        size_t before = t->in.len - t->in_at;
        int ret = mbedtls_ssl_read(&t->ssl, (unsigned char *)out, cap);
        size_t left = t->in.len - t->in_at;

        if (is_ticket(ret))
            t->fresh = true;
        else if (!is_wait(ret) || left == 0 || left == before)
            return ret;
    }
}

enum tls_result tls_read(struct tls *t, char *out, size_t cap, size_t *n, struct err *err)
{
    *n = 0;
    ensure(cap > 0 && (t->state == TLS_OPEN || t->state == TLS_ENDED));
    if (t->state == TLS_ENDED)
        return TLS_CLOSED;
    int ret = read_on(t, out, cap);

    if (ret > 0) {
        *n = (size_t)ret;
        return TLS_OK;
    }
    if (is_wait(ret))
        return TLS_WANT;
    /* A result of 0 is the end of the transport, which recv_in() never reports. */
    if (ret != 0 && ret != MBEDTLS_ERR_SSL_PEER_CLOSE_NOTIFY)
        return fail(t, ret, err);
    t->state = TLS_ENDED;
    return TLS_CLOSED;
}

enum tls_result tls_write(struct tls *t, const char *plain, size_t n, struct err *err)
{
    ensure(t->state == TLS_OPEN || t->state == TLS_ENDED);
    if (t->state == TLS_ENDED)
        return TLS_CLOSED;
    while (n > 0) {
        int ret = mbedtls_ssl_write(&t->ssl, (const unsigned char *)plain, n);

        /* A ticket that was received before is reported only now; nothing is written yet. */
        if (is_ticket(ret)) {
            t->fresh = true;
            continue;
        }
        if (ret <= 0)
            return fail(t, ret, err);
        plain += ret;
        n -= (size_t)ret;
    }
    return TLS_OK;
}

void tls_close(struct tls *t)
{
    if (t->state == TLS_OPEN || t->state == TLS_ENDED)
        (void)mbedtls_ssl_close_notify(&t->ssl);
}

struct str tls_out(const struct tls *t)
{
    return t->out.len == 0 ? str_of(NULL, 0)
                           : str_of(t->out.data + t->out_at, t->out.len - t->out_at);
}

void tls_sent(struct tls *t, size_t n)
{
    ensure(n <= t->out.len - t->out_at);
    t->out_at += n;
    if (t->out_at == t->out.len) {
        buf_free(&t->out);
        t->out_at = 0;
    }
}

struct tls_session *tls_take_session(struct tls *t)
{
    if (!t->fresh || (t->state != TLS_OPEN && t->state != TLS_ENDED))
        return NULL;
    t->fresh = false;
    struct tls_session *s = mem_zalloc(sizeof(*s));

    s->ctx = tls_ctx_ref(t->ctx);
    s->name = mem_strdup(t->name);
    /* A resumption saw no certificates: the session keeps the date of the one that it resumed, or
     * it could be renewed for ever after its chain has expired. */
    s->valid_to = t->verified ? t->valid_to : t->offered_to;
    mbedtls_ssl_session_init(&s->saved);
    if (mbedtls_ssl_get_session(&t->ssl, &s->saved) != 0)
        tls_session_free(&s);
    return s;
}

void tls_session_free(struct tls_session **s)
{
    struct tls_session *gone = *s;

    if (gone == NULL)
        return;
    *s = NULL;
    mbedtls_ssl_session_free(&gone->saved);
    tls_ctx_unref(&gone->ctx);
    free(gone->name);
    free(gone);
}

bool tls_resumed(const struct tls *t)
{
    return t->offered && !t->verified && (t->state == TLS_OPEN || t->state == TLS_ENDED);
}

const char *tls_version(const struct tls *t)
{
    return mbedtls_ssl_get_version(&t->ssl);
}
