/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tls - a TLS client engine over memory; pure: no socket, no clock but the library's own check of
 * certificate dates. tls.c, tls_ctx.[ch] and tls_cert.[ch] are the only home of mbedTLS.
 *
 * The peer's chain and name are always verified: a DNS name against dNSName SANs (CN only without
 * any SAN), an IP literal against iPAddress SANs on both mbedTLS generations (2.28 skips them
 * itself, so tls_cert.c matches them). SNI is sent for names, never for IP literals. ALPN offers
 * http/1.1 only (docs/kubernetes-protocol.md "TLS"). TLS 1.2 is the minimum. The library's order of
 * suites stays: ChaCha20-Poly1305 is first, which mbedTLS decrypted 1.5 times as fast as AES-GCM
 * when measured on one core.
 */
#ifndef PROTO_TLS_H
#define PROTO_TLS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/str.h"

enum tls_result {
    TLS_OK,
    TLS_WANT,   /* needs more bytes from the peer */
    TLS_CLOSED, /* the peer said close_notify */
    TLS_FAILED, /* *err says why; only tls_out() (an alert) and tls_destroy() are left */
};

struct tls_ctx;     /* trust and identity, shared by engines; counted */
struct tls_session; /* a session that can be resumed */
struct tls;         /* one connection */

/* PEM (or DER for nothing): borrowed during tls_ctx_create(). */
struct tls_ctx_params {
    struct str ca_pem;   /* one or more certificates; required */
    struct str cert_pem; /* client certificate chain; empty = none */
    struct str key_pem;  /* its key; may be the same bytes as cert_pem (kubelet's combined file) */
};

/* Parses and checks certificates and key. ERR_CREDENTIAL says which of them is unusable and why
 * (never its content); a key that does not belong to the certificate counts, dates do not. One
 * reference for the caller. */
enum err_kind tls_ctx_create(const struct tls_ctx_params *p, struct tls_ctx **out,
                             struct err *err) MUST_CHECK;

/* One more reference; returns ctx. */
struct tls_ctx *tls_ctx_ref(struct tls_ctx *ctx);

/* Drops a reference and sets *ctx to NULL; the last one frees. NULL is fine. */
void tls_ctx_unref(struct tls_ctx **ctx);

/* An engine for one connection to server_name (DNS name or IP literal, copied; a final dot does not
 * count). resume (borrowed, may be NULL) is offered to the server if it came from the same ctx and
 * server_name and its certificates have not expired, else ignored: a resumption verifies nothing.
 * Holds a reference of ctx. Never NULL. */
struct tls *tls_create(struct tls_ctx *ctx, const char *server_name,
                       const struct tls_session *resume);

/* Frees the engine and sets *t to NULL. NULL is fine. */
void tls_destroy(struct tls **t);

/* Hands over n bytes from the network; copied. The caller bounds them: handshake or read until
 * TLS_WANT before feeding more. */
void tls_feed(struct tls *t, const char *cipher, size_t n);

/* Drives the handshake as far as the bytes fed allow; check tls_out() after each call. TLS_OK once
 * it is done and the peer is verified; never TLS_CLOSED. Errors: ERR_TLS with the reason in words
 * and the remedy (unknown CA, expired, name mismatch with the names the certificate has, peer
 * speaks plain HTTP, alert from the peer). */
enum tls_result tls_handshake(struct tls *t, struct err *err) MUST_CHECK;

/* After the handshake: decrypts up to cap > 0 bytes into out; *n > 0 with TLS_OK. TLS_WANT: nothing
 * (more) to read now. An end of the connection without TLS_CLOSED before it is a truncation, which
 * only the caller sees. A TLS 1.3 server refuses a client certificate here. */
enum tls_result tls_read(struct tls *t, char *out, size_t cap, size_t *n,
                         struct err *err) MUST_CHECK;

/* After the handshake: encrypts n bytes, all of them, or none with TLS_CLOSED (after tls_read()
 * said so); the result waits in tls_out(). */
enum tls_result tls_write(struct tls *t, const char *plain, size_t n, struct err *err) MUST_CHECK;

/* Queues close_notify; nothing before the end of the handshake. */
void tls_close(struct tls *t);

/* Bytes for the network; valid until the next call on t. */
struct str tls_out(const struct tls *t);

/* n bytes of tls_out() were taken. */
void tls_sent(struct tls *t, size_t n);

/* The newest session the server gave, or NULL when there is none that was not taken yet: TLS 1.2
 * after the handshake, TLS 1.3 from a ticket found by tls_read(), so ask after both. The caller's;
 * release with tls_session_free(). It holds a reference of ctx. */
struct tls_session *tls_take_session(struct tls *t);

/* Frees a session and sets *s to NULL. NULL is fine. */
void tls_session_free(struct tls_session **s);

/* Did the handshake resume the session offered? */
bool tls_resumed(const struct tls *t);

/* "TLSv1.3": for logs. */
const char *tls_version(const struct tls *t);

#endif
