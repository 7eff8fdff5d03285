/* SPDX-License-Identifier: Apache-2.0 */
#define MBEDTLS_ALLOW_PRIVATE_ACCESS /* mbedTLS 3: for ext_types */
#include "tls_peer.h"

#include <arpa/inet.h>
#include <mbedtls/ecp.h>
#include <mbedtls/rsa.h>
#include <mbedtls/version.h>
#include <psa/crypto.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include "base/panic.h"

/* A failure here is the test's own fault. */
static void must(int ret)
{
    if (ret != 0)
        panic("mbedTLS: -0x%04x", (unsigned)-ret);
}

static int from_kernel(void *arg, unsigned char *out, size_t n)
{
    (void)arg;
    return getrandom(out, n, 0) == (ssize_t)n ? 0 : -1;
}

static void set_serial(mbedtls_x509write_cert *w)
{
#if MBEDTLS_VERSION_MAJOR >= 3
    must(mbedtls_x509write_crt_set_serial_raw(w, (unsigned char[]){0x12, 0x34}, 2));
#else
    mbedtls_mpi serial;

    mbedtls_mpi_init(&serial);
    must(mbedtls_mpi_lset(&serial, 0x1234));
    must(mbedtls_x509write_crt_set_serial(w, &serial));
    mbedtls_mpi_free(&serial);
#endif
}

static void only_tls_1_2(mbedtls_ssl_config *conf)
{
#if MBEDTLS_VERSION_MAJOR >= 3
    mbedtls_ssl_conf_max_tls_version(conf, MBEDTLS_SSL_VERSION_TLS1_2);
#else
    (void)conf;
#endif
}

static int send_out(void *arg, const unsigned char *data, size_t n)
{
    struct tls_peer *p = arg;

    buf_append(&p->out, data, n);
    return (int)n;
}

static int recv_in(void *arg, unsigned char *data, size_t n)
{
    struct tls_peer *p = arg;

    if (p->in.len == 0)
        return MBEDTLS_ERR_SSL_WANT_READ;
    if (n > p->in.len)
        n = p->in.len;
    memcpy(data, p->in.data, n);
    buf_consume(&p->in, n);
    return (int)n;
}

/* One GeneralName: short, so that its length is one byte. */
static void put_name(struct buf *out, char tag, const void *value, size_t n)
{
    ensure(n < 128);
    buf_putc(out, tag);
    buf_putc(out, (char)n);
    buf_append(out, value, n);
}

static void set_names(mbedtls_x509write_cert *w, const struct tls_peer_spec *spec)
{
    struct buf names = {0};
    struct buf san = {0};

    for (size_t i = 0; i < ARRAY_LEN(spec->dns) && spec->dns[i] != NULL; i++)
        put_name(&names, '\x82', spec->dns[i], strlen(spec->dns[i]));
    for (size_t i = 0; i < ARRAY_LEN(spec->ips) && spec->ips[i] != NULL; i++) {
        unsigned char ip[16];
        bool v6 = strchr(spec->ips[i], ':') != NULL;

        ensure(inet_pton(v6 ? AF_INET6 : AF_INET, spec->ips[i], ip) == 1);
        put_name(&names, '\x87', ip, v6 ? 16 : 4);
    }
    if (names.len > 0) {
        const unsigned char head[] = {0x30, 0x82, (unsigned char)(names.len >> 8),
                                      (unsigned char)names.len};

        buf_append(&san, head, sizeof(head));
        buf_append_str(&san, buf_str(&names));
        must(mbedtls_x509write_crt_set_extension(w, "\x55\x1d\x11", 3, 0,
                                                 (const unsigned char *)san.data, san.len));
    }
    buf_free(&names);
    buf_free(&san);
}

static void make_key(struct tls_peer_id *out, unsigned rsa_bits)
{
    mbedtls_pk_type_t type = rsa_bits > 0 ? MBEDTLS_PK_RSA : MBEDTLS_PK_ECKEY;

    mbedtls_pk_init(&out->key);
    must(mbedtls_pk_setup(&out->key, mbedtls_pk_info_from_type(type)));
    if (rsa_bits > 0)
        must(mbedtls_rsa_gen_key(mbedtls_pk_rsa(out->key), from_kernel, NULL, rsa_bits, 65537));
    else
        must(mbedtls_ecp_gen_key(MBEDTLS_ECP_DP_SECP256R1, mbedtls_pk_ec(out->key), from_kernel,
                                 NULL));
    must(mbedtls_pk_write_key_pem(&out->key, (unsigned char *)out->key_pem, sizeof(out->key_pem)));
}

/* One extension of a SEQUENCE with one OID: extendedKeyUsage with clientAuth. */
static void set_usage(mbedtls_x509write_cert *w, const struct tls_peer_spec *spec)
{
    static const unsigned char client_auth[] = {0x30, 0x0a, 0x06, 0x08, 0x2b, 0x06,
                                                0x01, 0x05, 0x05, 0x07, 0x03, 0x02};

    if (spec->usage != 0)
        must(mbedtls_x509write_crt_set_key_usage(w, spec->usage));
    if (spec->for_clients)
        must(mbedtls_x509write_crt_set_extension(w, "\x55\x1d\x25", 3, 0, client_auth,
                                                 sizeof(client_auth)));
}

void tls_peer_issue(struct tls_peer_id *out, const struct tls_peer_id *issuer,
                    const struct tls_peer_spec *spec)
{
    mbedtls_x509write_cert w;

    make_key(out, spec->rsa_bits);
    snprintf(out->subject, sizeof(out->subject), "%s", spec->subject);
    if (issuer == NULL)
        issuer = out;
    mbedtls_pk_context signer = issuer->key;
    mbedtls_x509write_crt_init(&w);
    mbedtls_x509write_crt_set_version(&w, MBEDTLS_X509_CRT_VERSION_3);
    mbedtls_x509write_crt_set_md_alg(&w, spec->sha1 ? MBEDTLS_MD_SHA1 : MBEDTLS_MD_SHA256);
    mbedtls_x509write_crt_set_subject_key(&w, &out->key);
    mbedtls_x509write_crt_set_issuer_key(&w, &signer);
    must(mbedtls_x509write_crt_set_subject_name(&w, out->subject));
    must(mbedtls_x509write_crt_set_issuer_name(&w, issuer->subject));
    set_serial(&w);
    must(mbedtls_x509write_crt_set_validity(&w, spec->from != NULL ? spec->from : "20200101000000",
                                            spec->till != NULL ? spec->till : "20991231235959"));
    must(
        mbedtls_x509write_crt_set_basic_constraints(&w, spec->ca, spec->no_intermediates ? 0 : -1));
    set_usage(&w, spec);
    set_names(&w, spec);
    must(mbedtls_x509write_crt_pem(&w, (unsigned char *)out->cert_pem, sizeof(out->cert_pem),
                                   from_kernel, NULL));
    mbedtls_x509write_crt_free(&w);
}

void tls_peer_id_fini(struct tls_peer_id *id)
{
    mbedtls_pk_free(&id->key);
}

static void parse_cert(mbedtls_x509_crt *out, const char *pem)
{
    must(mbedtls_x509_crt_parse(out, (const unsigned char *)pem, strlen(pem) + 1));
}

void tls_peer_server_init(struct tls_peer_server *s, struct tls_peer_id *id,
                          const struct tls_peer_id *client_ca, enum tls_peer_versions versions)
{
    ensure(psa_crypto_init() == PSA_SUCCESS);
    mbedtls_ssl_config_init(&s->conf);
    mbedtls_x509_crt_init(&s->cert);
    mbedtls_x509_crt_init(&s->client_ca);
    mbedtls_ssl_ticket_init(&s->tickets);
    must(mbedtls_ssl_config_defaults(&s->conf, MBEDTLS_SSL_IS_SERVER, MBEDTLS_SSL_TRANSPORT_STREAM,
                                     MBEDTLS_SSL_PRESET_DEFAULT));
    mbedtls_ssl_conf_rng(&s->conf, from_kernel, NULL);
    parse_cert(&s->cert, id->cert_pem);
    /* mbedTLS shows no certificate whose usage is wrong; other servers do. So it must not know. */
    s->cert.ext_types = 0;
    must(mbedtls_ssl_conf_own_cert(&s->conf, &s->cert, &id->key));
    if (client_ca != NULL) {
        parse_cert(&s->client_ca, client_ca->cert_pem);
        mbedtls_ssl_conf_ca_chain(&s->conf, &s->client_ca, NULL);
        mbedtls_ssl_conf_authmode(&s->conf, MBEDTLS_SSL_VERIFY_REQUIRED);
    }
    if (versions == TLS_PEER_1_2)
        only_tls_1_2(&s->conf);
    must(
        mbedtls_ssl_ticket_setup(&s->tickets, from_kernel, NULL, MBEDTLS_CIPHER_AES_256_GCM, 3600));
    mbedtls_ssl_conf_session_tickets_cb(&s->conf, mbedtls_ssl_ticket_write,
                                        mbedtls_ssl_ticket_parse, &s->tickets);
}

void tls_peer_server_fini(struct tls_peer_server *s)
{
    mbedtls_ssl_config_free(&s->conf);
    mbedtls_ssl_ticket_free(&s->tickets);
    mbedtls_x509_crt_free(&s->cert);
    mbedtls_x509_crt_free(&s->client_ca);
}

void tls_peer_init(struct tls_peer *p, const struct tls_peer_server *s)
{
    *p = (struct tls_peer){0};
    mbedtls_ssl_init(&p->ssl);
    must(mbedtls_ssl_setup(&p->ssl, &s->conf));
    mbedtls_ssl_set_bio(&p->ssl, p, send_out, recv_in, NULL);
}

void tls_peer_fini(struct tls_peer *p)
{
    mbedtls_ssl_free(&p->ssl);
    buf_free(&p->in);
    buf_free(&p->out);
}

int tls_peer_handshake(struct tls_peer *p)
{
    int ret = mbedtls_ssl_handshake(&p->ssl);

    /* mbedTLS 2.28 ends without an alert here, others do not. */
    if (ret == MBEDTLS_ERR_SSL_NO_CLIENT_CERTIFICATE)
        tls_peer_alert(p, MBEDTLS_SSL_ALERT_MSG_HANDSHAKE_FAILURE);
    return ret;
}

int tls_peer_read(struct tls_peer *p, struct buf *out)
{
    unsigned char data[4096];

    for (;;) {
        int n = mbedtls_ssl_read(&p->ssl, data, sizeof(data));

        if (n == MBEDTLS_ERR_SSL_WANT_READ)
            return 0;
        if (n <= 0)
            return n;
        buf_append(out, data, (size_t)n);
    }
}

void tls_peer_write(struct tls_peer *p, const char *data, size_t n)
{
    while (n > 0) {
        int done = mbedtls_ssl_write(&p->ssl, (const unsigned char *)data, n);

        ensure(done > 0);
        data += done;
        n -= (size_t)done;
    }
}

void tls_peer_alert(struct tls_peer *p, unsigned char code)
{
    must(mbedtls_ssl_send_alert_message(&p->ssl, MBEDTLS_SSL_ALERT_LEVEL_FATAL, code));
}
