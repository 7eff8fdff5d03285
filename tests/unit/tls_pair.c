/* SPDX-License-Identifier: Apache-2.0 */
#include "tls_pair.h"

#include "base/panic.h"

struct tls_ctx *tls_pair_ctx(const struct tls_peer_id *trust, const struct tls_peer_id *client)
{
    struct tls_ctx_params p = {.ca_pem = str_c(trust->cert_pem)};
    struct tls_ctx *ctx = NULL;
    struct err err = {0};

    if (client != NULL) {
        p.cert_pem = str_c(client->cert_pem);
        p.key_pem = str_c(client->key_pem);
    }
    if (tls_ctx_create(&p, &ctx, &err) != ERR_OK)
        panic("%s", err.text);
    return ctx;
}

void tls_pair_init(struct tls_pair *p, const struct tls_peer_server *server, struct tls_ctx *ctx,
                   const char *name, const struct tls_session *resume)
{
    *p = (struct tls_pair){.t = tls_create(ctx, name, resume), .result = TLS_WANT};
    tls_peer_init(&p->peer, server);
}

void tls_pair_fini(struct tls_pair *p)
{
    tls_destroy(&p->t);
    tls_peer_fini(&p->peer);
}

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

bool tls_pair_carry(struct tls_pair *p, size_t step)
{
    struct str up = tls_out(p->t);
    size_t n_up = smaller(up.n, step);
    size_t n_down = smaller(p->peer.out.len, step);

    buf_append(&p->peer.in, up.p, n_up);
    tls_sent(p->t, n_up);
    tls_feed(p->t, p->peer.out.data, n_down);
    buf_consume(&p->peer.out, n_down);
    return n_up + n_down > 0;
}

void tls_pair_shake(struct tls_pair *p, size_t step)
{
    int server = MBEDTLS_ERR_SSL_WANT_READ;

    do {
        if (p->result == TLS_WANT)
            p->result = tls_handshake(p->t, &p->err);
        if (server == MBEDTLS_ERR_SSL_WANT_READ)
            server = tls_peer_handshake(&p->peer);
    } while (tls_pair_carry(p, step));
}

void tls_pair_open(struct tls_pair *p, const struct tls_peer_server *server, struct tls_ctx *ctx,
                   const char *name, const struct tls_session *resume)
{
    tls_pair_init(p, server, ctx, name, resume);
    tls_pair_shake(p, TLS_PAIR_ALL);
}

enum tls_result tls_pair_read(struct tls_pair *p, struct buf *out)
{
    char data[1000];
    enum tls_result r = TLS_OK;
    size_t n = 0;

    while ((r = tls_read(p->t, data, sizeof(data), &n, &p->err)) == TLS_OK) {
        ensure(n > 0 && n <= sizeof(data));
        buf_append(out, data, n);
    }
    ensure(n == 0);
    return r;
}
