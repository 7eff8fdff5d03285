/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tls_cert - reads a peer's certificate for tls.c; pure. Its content may be hostile until it is
 * verified, and error texts are written before that: they get printable ASCII of a bounded length.
 */
#ifndef PROTO_TLS_CERT_H
#define PROTO_TLS_CERT_H

#include <mbedtls/x509_crt.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

/* Whether the certificate has an iPAddress SAN of exactly these n (4 or 16) bytes. It is read from
 * v3_ext, since mbedTLS 2.28 leaves addresses out of the list of SANs that it parses. */
bool tls_cert_has_ip(const mbedtls_x509_crt *crt, const unsigned char *ip, size_t n);

/* Appends why a chain is refused at crt, and what to do. flags are MBEDTLS_X509_BADCERT_* (not 0);
 * of several the most useful one counts. want is the name that was asked for. */
void tls_cert_explain(struct buf *out, const mbedtls_x509_crt *crt, uint32_t flags,
                      const char *want);

/* Appends s as printable ASCII: other bytes, quotes and backslashes become '?'. A text of more than
 * max bytes is cut, with "..." behind it. */
void tls_cert_put_clean(struct buf *out, struct str s, size_t max);

#endif
