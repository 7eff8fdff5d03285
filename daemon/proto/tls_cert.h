/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tls_cert - what a peer's certificate says, for tls.c alone; pure. Everything in it is hostile
 * until it is verified, and stays so in error texts: printable ASCII, bounded.
 */
#ifndef PROTO_TLS_CERT_H
#define PROTO_TLS_CERT_H

#include <mbedtls/x509_crt.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

/* Has it an iPAddress SAN of exactly these n (4 or 16) bytes? Read from v3_ext, since mbedTLS 2.28
 * leaves addresses out of the list that it parses. */
bool tls_cert_has_ip(const mbedtls_x509_crt *crt, const unsigned char *ip, size_t n);

/* Appends why a chain is refused at crt, and what to do: the first that counts of the
 * MBEDTLS_X509_BADCERT_* flags (not 0). want is the name that was asked for. */
void tls_cert_explain(struct buf *out, const mbedtls_x509_crt *crt, uint32_t flags,
                      const char *want);

/* Appends s as printable ASCII without quotes, backslashes; cut with "..." after max bytes. */
void tls_cert_put_clean(struct buf *out, struct str s, size_t max);

#endif
