/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tls_failure - why a TLS handshake failed, in sentences for people: which certificate, which name,
 * which date, which file, and what to do; pure. Everything of a certificate is written as tls_cert
 * writes it. Both generations of mbedTLS give the same sentences.
 */
#ifndef PROTO_TLS_FAILURE_H
#define PROTO_TLS_FAILURE_H

#include <mbedtls/x509_crt.h>
#include <stdint.h>

#include "base/buf.h"

struct tls_ctx;

/* Our side of the handshake. */
struct tls_failure_side {
    const struct tls_ctx *ctx;
    const char *want; /* the name that was asked for */
    int64_t now_s;    /* the wall clock */
};

/* Appends why the chain of a server is refused at crt, and what to do. depth is that of mbedTLS: 0 =
 * the server's own certificate. flags are MBEDTLS_X509_BADCERT_* (not 0); of several the most useful
 * one counts. */
void tls_failure_put_chain(struct buf *out, const struct tls_failure_side *side,
                           const mbedtls_x509_crt *crt, int depth, uint32_t flags);

/* The same for a fault that the handshake itself finds in the server's certificate when its chain is
 * good: its key usage. who is the server's certificate as tls_cert_put_who() writes it; may be empty. */
void tls_failure_put_usage(struct buf *out, struct str who, uint32_t flags);

/* Appends that the server ended the connection with this fatal alert (RFC 8446 6), and what to do.
 * If the alert is about the client's certificate, the text says which one that is. */
void tls_failure_put_alert(struct buf *out, const struct tls_failure_side *side, int alert);

#endif
