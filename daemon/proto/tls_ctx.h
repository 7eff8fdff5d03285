/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tls_ctx - the members of struct tls_ctx, for tls.c and tls_ctx.c alone; all others include tls.h.
 * Pure.
 */
#ifndef PROTO_TLS_CTX_H
#define PROTO_TLS_CTX_H

#include <mbedtls/ssl.h>
#include <stdbool.h>

#include "proto/tls.h"

struct tls_ctx {
    int refs;
    mbedtls_ssl_config conf;
    mbedtls_x509_crt ca;
    mbedtls_x509_crt cert; /* the client's chain; with key unused if !has_cert */
    mbedtls_pk_context key;
    bool has_cert;
    const char *alpn[2]; /* conf points here */
};

#endif
