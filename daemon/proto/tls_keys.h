/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tls_keys - the public keys of certificates as digests; pure. A certificate that was renewed for
 * the same key has the same digest.
 */
#ifndef PROTO_TLS_KEYS_H
#define PROTO_TLS_KEYS_H

#include <stddef.h>

#include "base/digest.h"
#include "base/str.h"

/* A CA file with more certificates is a bundle of public CAs, and does not tell clusters apart. */
enum { TLS_KEYS_MAX = 8 };

struct tls_keys {
    struct digest v[TLS_KEYS_MAX];
    size_t n; /* 0 = nothing to compare */
};

/* Reads the certificates of a PEM text in their order, without those that cannot be parsed. out->n
 * is 0 if there are more than TLS_KEYS_MAX. The digest is of the SubjectPublicKeyInfo (RFC 5280
 * 4.1). */
void tls_keys_read(struct str pem, struct tls_keys *out);

/* Adds those of more that keys has not, as long as there is room. */
void tls_keys_add(struct tls_keys *keys, const struct tls_keys *more);

#endif
