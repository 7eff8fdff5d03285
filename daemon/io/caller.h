/* SPDX-License-Identifier: Apache-2.0 */
/*
 * caller - one client of the control socket: its requests, their answers, and answers without an
 * end; driver. A slow or silent client costs a place until its deadline, never the loop.
 */
#ifndef IO_CALLER_H
#define IO_CALLER_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/list.h"
#include "io/loop.h"

struct admin_request;
struct admin_response;
struct uv_stream_s;

/* What the callers of one socket share. The owner fills in the first part; the host must outlive
 * caller_close_all(). The last quarter of served_most, queued_most and streams_most is for
 * privileged callers, so that others cannot lock them out. */
struct caller_host {
    struct loop *loop;
    /* a client must send a whole request within this time, and take some of its answer */
    uint64_t idle_ms;
    uid_t started_uid; /* this user and root are privileged */
    /* callers with a place. When all places are taken, a caller without a request gives its place
     * up; if there is none, new callers wait */
    size_t served_most;
    size_t queued_most; /* bytes of answers that wait for their readers; beyond, requests get 503 */
    size_t streams_most; /* open streams (admin/stream.h); beyond, requests for one get 503 */
    /* Answers one request into *out, whose body and stream are taken over. May close all
     * callers. */
    void (*handle)(void *arg, const struct admin_request *req, struct admin_response *out);
    void *handle_arg;

    /* all callers. Those without a request stand in the order in which they began to wait for
     * one */
    struct list callers;
    size_t served;          /* callers with a place */
    size_t waiting;         /* callers that wait for a place */
    size_t queued;          /* bytes of answers that are being written */
    size_t streams;         /* open streams */
    struct loop_task admit; /* gives places to callers that wait */
};

/* Initialises the second part: no callers. */
void caller_host_init(struct caller_host *host);

/* Accepts a connection that waits on the socket: who the peer is can only be asked of an accepted
 * one. The caller then lives until its end without help of the owner. */
void caller_accept(struct caller_host *host, struct uv_stream_s *server);

/* Closes all callers. Their memory is freed in a later turn. */
void caller_close_all(struct caller_host *host);

#endif
