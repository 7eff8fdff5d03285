/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tls_peer - the server's end for tests of proto/tls: certificates made on the spot, and a TLS
 * server over memory.
 */
#ifndef UNIT_TLS_PEER_H
#define UNIT_TLS_PEER_H

#include <mbedtls/pk.h>
#include <mbedtls/ssl.h>
#include <mbedtls/ssl_ticket.h>
#include <mbedtls/x509_crt.h>
#include <stdbool.h>

#include "base/buf.h"

/* The fields of a certificate. */
struct tls_peer_spec {
    const char *subject;     /* "CN=x,O=y" */
    const char *dns[16];     /* dNSName, up to a NULL */
    const char *ips[4];      /* iPAddress, up to a NULL */
    const char *from, *till; /* "20200101000000"; NULL = 2020 and 2099 */
    bool ca;
    bool no_intermediates; /* with ca: pathlen 0 */
    bool for_clients;      /* extendedKeyUsage is clientAuth alone */
    unsigned usage;        /* keyUsage: MBEDTLS_X509_KU_*; 0 = any */
    bool sha1;             /* signed with SHA-1 */
    unsigned rsa_bits;     /* 0 = ECDSA with P-256 */
};

/* A key with its certificate. */
struct tls_peer_id {
    mbedtls_pk_context key;
    char subject[128];
    char cert_pem[4096];
    char key_pem[2048];
};

struct tls_peer_server {
    mbedtls_ssl_config conf;
    mbedtls_ssl_ticket_context tickets;
    mbedtls_x509_crt cert;
    mbedtls_x509_crt client_ca;
};

enum tls_peer_versions { TLS_PEER_ALL, TLS_PEER_1_2 };

/* One connection; in and out are the network's bytes. */
struct tls_peer {
    mbedtls_ssl_context ssl;
    struct buf in;
    struct buf out;
};

/* Makes a key and a certificate for it with serial number 1234, signed by issuer (NULL: by itself). */
void tls_peer_issue(struct tls_peer_id *out, const struct tls_peer_id *issuer,
                    const struct tls_peer_spec *spec);

/* Releases the key. */
void tls_peer_id_fini(struct tls_peer_id *id);

/* A server that shows id, and asks for a client certificate of client_ca unless that is NULL. It
 * gives out tickets. id stays the caller's, and must outlive it. */
void tls_peer_server_init(struct tls_peer_server *s, struct tls_peer_id *id,
                          const struct tls_peer_id *client_ca, enum tls_peer_versions versions);

/* Releases a server without connections. */
void tls_peer_server_fini(struct tls_peer_server *s);

/* A connection on which no byte was read yet. Not to be moved. */
void tls_peer_init(struct tls_peer *p, const struct tls_peer_server *s);

/* Releases a connection. */
void tls_peer_fini(struct tls_peer *p);

/* Handshakes as far as p->in allows: 0 when done, WANT_READ or another code of mbedTLS. */
int tls_peer_handshake(struct tls_peer *p);

/* Appends all bytes that can be read from p->in; 0, or the code of its end (close_notify, ...). */
int tls_peer_read(struct tls_peer *p, struct buf *out);

/* Encrypts all n bytes. */
void tls_peer_write(struct tls_peer *p, const char *data, size_t n);

/* Sends a fatal alert. */
void tls_peer_alert(struct tls_peer *p, unsigned char code);

#endif
