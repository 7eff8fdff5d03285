/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tls_cert - reads a certificate, and describes it in words for error texts; pure. A peer's
 * certificate may be hostile until it is verified, and error texts are written before that: they get
 * printable ASCII of a bounded length.
 */
#ifndef PROTO_TLS_CERT_H
#define PROTO_TLS_CERT_H

#include <mbedtls/x509_crt.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

/* Whether the certificate has an iPAddress SAN of exactly these n (4 or 16) bytes. It is read from
 * v3_ext, since mbedTLS 2.28 leaves addresses out of the list of SANs that it parses. */
bool tls_cert_has_ip(const mbedtls_x509_crt *crt, const unsigned char *ip, size_t n);

/* Appends subject, issuer and serial number, so that a person finds the certificate:
 * (subject "CN=a", issuer "CN=b", serial 1F). The serial number is written as openssl(1) writes
 * it. */
void tls_cert_put_who(struct buf *out, const mbedtls_x509_crt *crt);

/* Appends a distinguished name in quotes: "O=a, CN=b". Both generations of mbedTLS give the same
 * text. */
void tls_cert_put_dn(struct buf *out, const mbedtls_x509_name *dn);

/* Appends the hosts that the certificate is made for: the dNSName and iPAddress SANs, or the common
 * names if there is no SAN at all (RFC 6125 6.4.4). */
void tls_cert_put_hosts(struct buf *out, const mbedtls_x509_crt *crt);

/* Appends a time: "2021-02-03 04:05:06 UTC". */
void tls_cert_put_time(struct buf *out, const mbedtls_x509_time *t);

/* Appends s as printable ASCII: other bytes, quotes and backslashes become '?'. A text of more than
 * max bytes is cut, with "..." behind it. */
void tls_cert_put_clean(struct buf *out, struct str s, size_t max);

#endif
