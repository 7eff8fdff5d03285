/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tcp - socket options and copied writes for a uv_tcp_t; driver, for conn alone.
 */
#ifndef IO_TCP_H
#define IO_TCP_H

#include <stddef.h>
#include <uv.h>

/* Sets TCP_NODELAY: with Nagle's algorithm and delayed ACKs each TLS 1.3 connection started 44 ms
 * later, measured over loopback (docs/kubernetes-protocol.md "Keep-alive"). Turns on keepalive
 * 25/5/3 with TCP_USER_TIMEOUT 40 s, which finds a dead connection
 * (docs/kubernetes-protocol.md "Dead connections"). Returns 0, or UV_E* of the first option that
 * failed; the options after that one are not set then. */
int tcp_tune(const uv_tcp_t *tcp);

/* Sends n bytes, which are copied. Returns 0, or UV_E* if nothing was sent. A write that fails
 * later is not reported: the read side finds the broken connection, after it has read the last
 * bytes that the peer sent, for instance an error response. */
int tcp_send(uv_tcp_t *tcp, const char *data, size_t n);

#endif
