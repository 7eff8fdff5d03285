/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tls_keys - the public keys of certificates as digests: a certificate that is renewed for the same
 * key is the same here; pure.
 */
#ifndef PROTO_TLS_KEYS_H
#define PROTO_TLS_KEYS_H

#include <stddef.h>

#include "base/digest.h"
#include "base/str.h"

/* More of them are a collection of the world's authorities, and tell nobody apart. */
enum { TLS_KEYS_MAX = 8 };

struct tls_keys {
    struct digest v[TLS_KEYS_MAX];
    size_t n; /* 0 = there is nothing to go by */
};

/* Reads the certificates of a PEM text in their order: what cannot be parsed is passed over; none if
 * there are more than TLS_KEYS_MAX. The digest is of the SubjectPublicKeyInfo (RFC 5280 4.1). */
void tls_keys_read(struct str pem, struct tls_keys *out);

#endif
