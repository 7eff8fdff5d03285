/* SPDX-License-Identifier: Apache-2.0 */
/*
 * listener - the control socket: HTTP/1.1 requests over a unix stream socket, each answered through
 * a callback; driver. A slow or silent client costs a slot until its deadline, never the loop.
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

/* Clients at once. For one more the one that has asked for nothing for longest is closed; if all have
 * asked for something, it waits. The last quarter of this, and of the numbers below, is for those who
 * are privileged, so that others cannot lock them out. */
#define LISTENER_CLIENTS      64
/* Answers not yet taken by their clients, all together; beyond, requests are answered with 503. */
#define LISTENER_QUEUED_BYTES ((size_t)256 * 1024 * 1024)
/* Answers that go on (admin/stream.h) at once; beyond, 503. */
#define LISTENER_STREAMS      16

/* Makes the socket, to be called before privileges are dropped: mode 0660, group as given
 * ((gid_t)-1 = leave it). Clients may connect from here on, and wait. A socket at path on which
 * nobody answers any more is replaced. *fd is the caller's, or listener_create()'s. ERR_CONFIG:
 * path is too long, is something else, its folder is missing or closed to us. ERR_IO: another
 * informerd answers there; anything else. */
enum err_kind listener_bind(const char *path, gid_t group, int *fd, struct err *err) MUST_CHECK;

struct listener_params {
    int fd;            /* of listener_bind(); taken */
    const char *path;  /* copied */
    uid_t started_uid; /* this user and root are privileged */
    /* A client must send a whole request within, and take some of its answer; 0 = 30 s. A stream
     * that has nothing to tell may be quiet for ever. */
    uint64_t idle_ms;
    /* One request: fills *out, whose body and stream are taken. Runs on the stack of a callback of
     * the loop; may dispose the listener. */
    void (*handle)(void *arg, const struct admin_request *req, struct admin_response *out);
    void *arg;
};

/* Starts to answer. The process must ignore SIGPIPE. Never NULL. */
struct listener *listener_create(struct loop *loop, const struct listener_params *params);

/* The end for the user: *l is NULL, all clients are cut off, the socket is removed if it is still
 * ours (and the folder allows it). The memory goes in a later turn. NULL is fine. */
void listener_dispose(struct listener **l);

#endif
