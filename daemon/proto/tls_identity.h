/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tls_identity - who a client certificate says we are; pure.
 */
#ifndef PROTO_TLS_IDENTITY_H
#define PROTO_TLS_IDENTITY_H

#include "base/compiler.h"
#include "base/str.h"

/* The common name of the first certificate in a PEM text: a new string for the caller, or NULL when
 * there is none, it cannot be parsed, or the name holds anything but printable ASCII. */
char *tls_identity_common_name(struct str pem) MUST_CHECK;

#endif
