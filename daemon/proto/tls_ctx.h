/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tls_ctx - the inside of a TLS context, for the other files tls*.c. Its functions are declared in
 * proto/tls.h.
 */
#ifndef PROTO_TLS_CTX_H
#define PROTO_TLS_CTX_H

#include <mbedtls/pk.h>
#include <mbedtls/ssl.h>
#include <mbedtls/x509_crt.h>
#include <stdbool.h>

struct tls_ctx {
    int refs;
    mbedtls_ssl_config conf;
    mbedtls_x509_crt ca;   /* unused if insecure */
    mbedtls_x509_crt cert; /* the client's chain; with key unused if !has_cert */
    mbedtls_pk_context key;
    bool has_cert;
    bool insecure;
    /* Where CA and client certificate come from, for error texts; NULL = not known. */
    char *ca_from;
    char *cert_from;
    const char *alpn[2]; /* conf points here */
};

#endif
