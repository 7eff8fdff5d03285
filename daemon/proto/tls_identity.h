/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tls_identity - who a client certificate says we are; pure.
 */
#ifndef PROTO_TLS_IDENTITY_H
#define PROTO_TLS_IDENTITY_H

#include <stdbool.h>
#include <stddef.h>

#include "base/compiler.h"
#include "base/str.h"

/* Whom an API server takes the holder of a certificate for. */
struct tls_identity {
    char *user;    /* the common name, as Go has it: the last one */
    char **groups; /* the organizations */
    size_t group_count;
};

/* Reads the first certificate of a PEM text. False, with *out zeroed: there is none, it cannot be
 * parsed, has no common name, or a name that is no UTF-8. Release with tls_identity_fini(). */
bool tls_identity_read(struct str pem, struct tls_identity *out) MUST_CHECK;

/* Frees it; *id is zeroed. */
void tls_identity_fini(struct tls_identity *id);

#endif
