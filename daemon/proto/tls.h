/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tls - a TLS client engine that works on memory; pure: no socket, and no clock except for the check
 * of certificate dates and its error texts. The files tls*.[ch] of this folder are the only home of
 * mbedTLS.
 *
 * The peer's chain and name are verified, unless the context is insecure: a DNS name against the dNSName SANs (against the
 * CN only if there is no SAN at all), an IP literal against the iPAddress SANs with both
 * generations of mbedTLS (2.28 skips these SANs, so tls_cert.c compares them). SNI is sent for
 * names, never for IP literals. ALPN offers http/1.1 only (docs/kubernetes-protocol.md "TLS"). TLS
 * 1.2 is the minimum. The library's order of cipher suites stays: ChaCha20-Poly1305 is first, and
 * mbedTLS decrypted it 1.5 times as fast as AES-GCM when measured on one core.
 */
#ifndef PROTO_TLS_H
#define PROTO_TLS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"

enum tls_result {
    TLS_OK,
    TLS_WANT,   /* needs more bytes from the peer */
    TLS_CLOSED, /* the peer said close_notify */
    TLS_FAILED, /* *err says why; only tls_out() (an alert) and tls_destroy() are left */
};

struct tls_ctx;     /* CAs and client certificate, shared by engines; counted references */
struct tls_session; /* a TLS session that a later connection can resume */
struct tls;         /* one connection */

/* Certificates and key, in PEM form only. Everything is borrowed during tls_ctx_create(). The names
 * of their sources (a path, or a member of a kubeconfig) are for error texts; NULL = not known. */
struct tls_ctx_params {
    struct str ca_pem;   /* one or more CA certificates; required unless insecure */
    struct str cert_pem; /* client certificate chain; empty = none */
    struct str key_pem;  /* its key; may be the same bytes as cert_pem (kubelet's combined file) */
    const char *ca_from;
    const char *cert_from;
    const char *key_from;
    /* Servers are not verified: any certificate and any name will do, and ca_pem is not read. */
    bool insecure;
};

/* Parses and checks certificates and key. ERR_CREDENTIAL says which of them cannot be used, why, and
 * what to do, but never shows the content of a key. A key that does not belong to the certificate is
 * such an error; dates are not checked here. The caller gets one reference. */
enum err_kind tls_ctx_create(const struct tls_ctx_params *p, struct tls_ctx **out,
                             struct err *err) MUST_CHECK;

/* Can ca_pem of p be the CA of a context? Errors as tls_ctx_create(), which takes every CA that this
 * accepts; nothing else of p is looked at but ca_from. */
enum err_kind tls_check_ca(const struct tls_ctx_params *p, struct err *err) MUST_CHECK;

/* The same for cert_pem and key_pem, with their sources. ERR_CREDENTIAL if one of them is empty. */
enum err_kind tls_check_pair(const struct tls_ctx_params *p, struct err *err) MUST_CHECK;

/* One more reference; returns ctx. */
struct tls_ctx *tls_ctx_ref(struct tls_ctx *ctx);

/* Drops a reference and sets *ctx to NULL; the last one frees. NULL is fine. */
void tls_ctx_unref(struct tls_ctx **ctx);

/* An engine for one connection to server_name (a DNS name or an IP literal, copied; a final dot
 * does not count). resume (borrowed, may be NULL) is offered to the server if it came from the same
 * ctx and server_name and the certificates of its chain have not expired; else it is ignored, as a
 * resumption verifies nothing. The engine holds a reference of ctx. Never NULL. */
struct tls *tls_create(struct tls_ctx *ctx, const char *server_name,
                       const struct tls_session *resume);

/* Frees the engine and sets *t to NULL. NULL is fine. */
void tls_destroy(struct tls **t);

/* Hands over n bytes from the network, which are copied. The caller bounds their number: it calls
 * tls_handshake() or tls_read() until TLS_WANT before it feeds more. */
void tls_feed(struct tls *t, const char *cipher, size_t n);

/* Drives the handshake as far as the bytes fed so far allow; look at tls_out() after each call.
 * TLS_OK once the handshake is done and the peer is verified; never TLS_CLOSED. Errors: ERR_TLS
 * with the reason in words and the remedy: which certificate, name, date or source of ours does not
 * fit (proto/tls_failure.h), an alert from the peer, a peer that speaks plain HTTP. */
enum tls_result tls_handshake(struct tls *t, struct err *err) MUST_CHECK;

/* After the handshake: decrypts up to cap > 0 bytes into out; *n > 0 with TLS_OK. TLS_WANT: there
 * is nothing (more) to read now. If the connection ends without TLS_CLOSED before, it was
 * truncated, which only the caller sees. In TLS 1.3 a server that refuses the client certificate
 * says so here, after the handshake. */
enum tls_result tls_read(struct tls *t, char *out, size_t cap, size_t *n,
                         struct err *err) MUST_CHECK;

/* After the handshake: encrypts all n bytes, which then wait in tls_out(); none with TLS_CLOSED,
 * after tls_read() returned that. */
enum tls_result tls_write(struct tls *t, const char *plain, size_t n, struct err *err) MUST_CHECK;

/* Puts a close_notify into tls_out(). Does nothing before the end of the handshake. */
void tls_close(struct tls *t);

/* Bytes for the network; valid until the next call on t. */
struct str tls_out(const struct tls *t);

/* n bytes of tls_out() were taken. */
void tls_sent(struct tls *t, size_t n);

/* Takes the newest session that the server gave; NULL if there is none that was not taken yet. In
 * TLS 1.2 there is one after the handshake, in TLS 1.3 after tls_read() found a ticket, so ask
 * after both. The session is the caller's, holds a reference of ctx, and is released with
 * tls_session_free(). */
struct tls_session *tls_take_session(struct tls *t);

/* Frees a session and sets *s to NULL. NULL is fine. */
void tls_session_free(struct tls_session **s);

/* Whether the handshake resumed the session that was offered. */
bool tls_resumed(const struct tls *t);

/* The version of the connection as the library names it, such as "TLSv1.3", for logs. */
const char *tls_version(const struct tls *t);

/* After the handshake: appends the version, and, unless a session was resumed, the server's certificate
 * as tls_cert_put_who() writes it, and until when its chain is valid; for people. */
void tls_put_peer(struct buf *out, const struct tls *t);

#endif
