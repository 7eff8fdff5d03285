/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tls_pair - a client engine of proto/tls and the server's end of its connection, wired up.
 */
#ifndef UNIT_TLS_PAIR_H
#define UNIT_TLS_PAIR_H

#include <stdbool.h>
#include <stddef.h>

#include "proto/tls.h"
#include "tls_peer.h"

enum { TLS_PAIR_ALL = 1 << 20 }; /* as a step: all bytes that there are */

struct tls_pair {
    struct tls *t;
    struct tls_peer peer;
    struct err err;
    enum tls_result result; /* of the client's handshake */
};

/* A context that trusts one CA and shows client (NULL = nothing). */
struct tls_ctx *tls_pair_ctx(const struct tls_peer_id *trust, const struct tls_peer_id *client);

/* Makes both ends; no byte was sent yet. Not to be moved. */
void tls_pair_init(struct tls_pair *p, const struct tls_peer_server *server, struct tls_ctx *ctx,
                   const char *name, const struct tls_session *resume);

/* Releases both ends. */
void tls_pair_fini(struct tls_pair *p);

/* Carries up to step bytes each way; false when there were none. */
bool tls_pair_carry(struct tls_pair *p, size_t step);

/* Handshakes, in portions of step bytes, until both ends are done or stuck. */
void tls_pair_shake(struct tls_pair *p, size_t step);

/* tls_pair_init() and tls_pair_shake(). */
void tls_pair_open(struct tls_pair *p, const struct tls_peer_server *server, struct tls_ctx *ctx,
                   const char *name, const struct tls_session *resume);

/* Appends the bytes that the client can read now; returns the last result of tls_read(). */
enum tls_result tls_pair_read(struct tls_pair *p, struct buf *out);

#endif
