/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tls_ctx - what a tls_ctx is made of, for tls.c alone; everybody else includes tls.h. Pure.
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
    mbedtls_x509_crt cert; /* chain and key of the client; unused without has_cert */
    mbedtls_pk_context key;
    bool has_cert;
    const char *alpn[2]; /* conf points here */
};

#endif
