/* SPDX-License-Identifier: Apache-2.0 */
#define MBEDTLS_ALLOW_PRIVATE_ACCESS /* mbedTLS 3: for in_msg, where alerts are */
#include "proto/tls.h"

#include <arpa/inet.h>
#include <mbedtls/error.h>
#include <mbedtls/ssl.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/panic.h"
#include "proto/tls_cert.h"
#include "proto/tls_ctx.h"
#include "proto/tls_failure.h"

/* Bytes that an error text shows: of the server's name, and of the peer's first bytes. */
enum { NAME_SHOWN = 64, FIRST_SHOWN = 5 };

enum tls_state {
    TLS_HANDSHAKING,
    TLS_OPEN,  /* the peer is verified */
    TLS_ENDED, /* the peer sent close_notify */
    TLS_DEAD,  /* failed */
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
    bool chain_ok; /* check_cert() accepted chain and name; it never runs in a resumption */
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
    struct buf who; /* HANDSHAKING: the peer's certificate in words, once check_cert() saw it */
};

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

static struct tls_failure_side side_of(const struct tls *t)
{
    return (struct tls_failure_side){t->ctx, t->name, time(NULL)};
}

/* mbedTLS calls this for each certificate of the chain, from the CA (depth > 0) to the peer's own
 * (depth 0). Unless the context is insecure it never accepts what the library refuses: it adds the
 * check of an IP address, and notes the first reason of a refusal and the earliest end of
 * validity. */
static int check_cert(void *arg, mbedtls_x509_crt *crt, int depth, uint32_t *flags)
{
    struct tls *t = arg;

    if (depth == 0 && t->ip_bytes > 0 && !tls_cert_has_ip(crt, t->ip, t->ip_bytes))
        *flags |= MBEDTLS_X509_BADCERT_CN_MISMATCH;
    if (t->ctx->insecure)
        *flags = 0;
    if (*flags != 0 && t->why.len == 0) {
        const struct tls_failure_side side = side_of(t);

        tls_failure_put_chain(&t->why, &side, crt, depth, *flags);
    }
    if (t->valid_to.year == 0 || earlier(&crt->valid_to, &t->valid_to))
        t->valid_to = crt->valid_to;
    if (depth == 0) {
        t->chain_ok = t->why.len == 0;
        tls_cert_put_who(&t->who, crt);
    }
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
    if (!t->ctx->insecure && mbedtls_x509_time_is_past(&s->valid_to) != 0)
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
    buf_free(&gone->who);
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

/* mbedTLS reports that something is too large as if the caller had made a mistake. For a handshake
 * message the code differs: mbedTLS 3.6 has that of a record. */
static const char *size_hint(int ret)
{
    if (ret == MBEDTLS_ERR_SSL_BAD_INPUT_DATA)
        return " (a record is longer than TLS allows, or a handshake message is longer than "
               "mbedTLS "
               "takes: are there very many certificates?)";
    if (ret == MBEDTLS_ERR_SSL_FEATURE_UNAVAILABLE)
        return " (a handshake message fills more than a record: are there very many certificates?)";
    return "";
}

/* Explains a failure that this side found, without an alert of the peer. */
static void put_own(struct buf *out, const struct tls *t, int ret)
{
    uint32_t flags = mbedtls_ssl_get_verify_result(&t->ssl);
    char text[256] = "";

    if (t->state == TLS_HANDSHAKING && flags != 0 && flags != UINT32_MAX) {
        tls_failure_put_usage(out, buf_str(&t->who), flags);
    } else if (ret == BAD_PROTOCOL_VERSION) {
        buf_puts(out, "the server offers nothing newer than TLS 1.1; at least 1.2 is needed");
    } else {
        mbedtls_strerror(ret, text, sizeof(text));
        buf_printf(out, "%s%s", text, size_hint(ret));
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
        const struct tls_failure_side side = side_of(t);

        /* An alert has two bytes: level and description. */
        tls_failure_put_alert(out, &side, t->ssl.in_msg[1]);
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
    ensure(t->chain_ok || t->offered);
    t->state = TLS_OPEN;
    buf_free(&t->who);
    /* In TLS 1.3 tickets follow later. A resumed session of TLS 1.2 gives no new one: its owner
     * still has it. */
    t->fresh = t->chain_ok && strcmp(tls_version(t), "TLSv1.3") != 0;
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
    size_t sent = t->out.len;
    int ret = read_on(t, out, cap);

    /* mbedTLS answers nothing by itself but a HelloRequest, and would refuse as many of these as
     * come. If the server does not read, the refusals would pile up. */
    if ((ret > 0 || is_wait(ret)) && t->out.len > sent) {
        buf_puts(&t->why,
                 "the server wants to renegotiate, which is refused; if it is to ask for a "
                 "client certificate, have it do so in the first handshake");
        return fail(t, MBEDTLS_ERR_SSL_UNEXPECTED_MESSAGE, err);
    }
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
    s->valid_to = t->chain_ok ? t->valid_to : t->offered_to;
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
    return t->offered && !t->chain_ok && (t->state == TLS_OPEN || t->state == TLS_ENDED);
}

const char *tls_version(const struct tls *t)
{
    return mbedtls_ssl_get_version(&t->ssl);
}

void tls_put_peer(struct buf *out, const struct tls *t)
{
    const mbedtls_x509_crt *crt = mbedtls_ssl_get_peer_cert(&t->ssl);

    ensure(t->state != TLS_HANDSHAKING);
    buf_puts(out, tls_version(t));
    if (crt == NULL || !t->chain_ok)
        return;
    buf_puts(out, ", certificate ");
    tls_cert_put_who(out, crt);
    buf_puts(out, ", its chain is valid until ");
    tls_cert_put_time(out, &t->valid_to);
}
