/* SPDX-License-Identifier: Apache-2.0 */
/*
 * listener - the control socket, and sockets of metrics.listen: HTTP/1.1 requests over a unix stream
 * socket or over TCP, each answered through a callback; driver. A slow or silent client costs a place
 * until its deadline, never the loop.
 */
#ifndef IO_LISTENER_H
#define IO_LISTENER_H

#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

struct admin_request;
struct admin_response;
struct listener;
struct loop;

/* Clients with a place. When all places are taken, the client that has asked for nothing for
 * longest is closed for a new one; if all have asked for something, the new one waits. The last
 * quarter of this and of the numbers below is for privileged clients, so that others cannot lock
 * them out; over TCP there are none, and all can be taken. */
#define LISTENER_CLIENTS      64
/* Bytes of all answers that their clients have not read yet; beyond, requests get 503. */
#define LISTENER_QUEUED_BYTES ((size_t)256 * 1024 * 1024)
/* Open streams (admin/stream.h); beyond, requests for one get 503. */
#define LISTENER_STREAMS      16

/* Makes the socket; to be called before privileges are dropped. Its mode is 0660, its group as
 * given ((gid_t)-1 = leave it). Clients may connect from here on, and wait. A socket at path on
 * which no process answers any more is replaced. *fd is the caller's to close or to give to
 * listener_create(). ERR_CONFIG: path is too long, is no socket, or its folder is missing or not
 * writable. ERR_IO: another informerd answers there, or any other error. */
enum err_kind listener_bind(const char *path, gid_t group, int *fd, struct err *err) MUST_CHECK;

/* The same for TCP; clients may connect from here on. address is as base/socket_address reads it.
 * ERR_CONFIG: it is none, or its port is for root only. ERR_IO: another process listens there, this
 * machine does not have the address, or any other error. */
enum err_kind listener_bind_tcp(const char *address, int *fd, struct err *err) MUST_CHECK;

struct listener_params {
    int fd;            /* of listener_bind() or listener_bind_tcp(); taken over */
    const char *path;  /* of the socket file, which the listener removes; copied. NULL = TCP */
    uid_t started_uid; /* this user and root are privileged; nobody is over TCP */
    /* 0 = LISTENER_CLIENTS, LISTENER_QUEUED_BYTES. */
    size_t clients;
    size_t queued_bytes;
    /* A client must send a whole request within this time, and take some of its answer; 0 = 30 s. A
     * stream without changes may be quiet for ever. */
    uint64_t idle_ms;
    /* Answers one request into *out, whose body and stream are taken over. Runs on the stack of a
     * callback of the loop; may dispose the listener. */
    void (*handle)(void *arg, const struct admin_request *req, struct admin_response *out);
    void *arg;
};

/* Starts to answer. The process must ignore SIGPIPE. Never NULL; release with
 * listener_dispose(). */
struct listener *listener_create(struct loop *loop, const struct listener_params *params);

/* The end for the user: *l is NULL and all clients are closed. The socket file is removed if it is
 * still the one that was made (and the folder allows it). The memory is freed in a later turn. NULL
 * is fine. */
void listener_dispose(struct listener **l);

#endif
