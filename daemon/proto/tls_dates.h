/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tls_dates - from when until when certificates are valid; pure.
 */
#ifndef PROTO_TLS_DATES_H
#define PROTO_TLS_DATES_H

#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

struct tls_dates {
    int64_t from_s; /* seconds since 1970 */
    int64_t till_s;
    char *who; /* subject, issuer and serial number, as tls_cert_put_who() writes them */
};

/* Reads the first max certificates of a PEM text, in their order, without those that cannot be
 * parsed. Returns how many the text has, which may be more than max. The caller frees each `who`. */
size_t tls_dates_read(struct str pem, struct tls_dates *out, size_t max);

#endif
