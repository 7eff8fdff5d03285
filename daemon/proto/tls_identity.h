/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tls_identity - the user and groups that a client certificate names; pure.
 */
#ifndef PROTO_TLS_IDENTITY_H
#define PROTO_TLS_IDENTITY_H

#include <stdbool.h>
#include <stddef.h>

#include "base/compiler.h"
#include "base/str.h"

/* The user and groups as which an API server authenticates the holder of a certificate. */
struct tls_identity {
    char *user;    /* the common name; of several the last one, as in Go */
    char **groups; /* the organizations */
    size_t group_count;
};

/* Reads the first certificate of a PEM text. False, with *out zeroed, if there is no certificate,
 * or it cannot be parsed, has no common name, or has a name that is not UTF-8. Release with
 * tls_identity_fini(). */
bool tls_identity_read(struct str pem, struct tls_identity *out) MUST_CHECK;

/* Frees the names and zeroes *id. */
void tls_identity_fini(struct tls_identity *id);

#endif
