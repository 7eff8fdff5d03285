/* SPDX-License-Identifier: Apache-2.0 */
/*
 * caller - one client of the control socket: requests, answers, answers that go on; driver. A slow
 * or silent one costs a slot until its deadline, never the loop.
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

/* What the callers of one socket share; the first part is the owner's to fill in. It must outlive
 * caller_close_all(). The last quarter of each of the three numbers is for privileged callers. */
struct caller_host {
    struct loop *loop;
    uint64_t idle_ms;  /* for a whole request, and for some of the answer to be taken */
    uid_t started_uid; /* this user and root are privileged */
    size_t
        served_most; /* callers; beyond, one that has asked for nothing makes place, or they wait */
    size_t queued_most;  /* bytes of answers; beyond, requests are answered with 503 */
    size_t streams_most; /* answers that go on; beyond, 503 */
    /* One request; may close all callers. */
    void (*handle)(void *arg, const struct admin_request *req, struct admin_response *out);
    void *handle_arg;

    struct list
        callers; /* of those without a request the one that has had none for longest first */
    size_t served;
    size_t waiting; /* for a place */
    size_t queued;  /* bytes of answers under way */
    size_t streams;
    struct loop_task admit; /* gives places to those that wait */
};

/* Empties the second part. */
void caller_host_init(struct caller_host *host);

/* Takes a connection that waits on the socket: only then it is known whose it is. All that follows is
 * its own matter. */
void caller_accept(struct caller_host *host, struct uv_stream_s *server);

/* Cuts off all. The memory goes in a later turn. */
void caller_close_all(struct caller_host *host);

#endif
