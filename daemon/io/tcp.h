/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tcp - socket options and copied writes for a uv_tcp_t; driver, for conn alone.
 */
#ifndef IO_TCP_H
#define IO_TCP_H

#include <stddef.h>
#include <uv.h>

/* Turns Nagle's algorithm off, which with delayed ACKs cost each TLS 1.3 connection 44 ms at its
 * start when measured over loopback, and turns keepalive 25/5/3 with TCP_USER_TIMEOUT 40 s on
 * (docs/kubernetes-protocol.md "Dead connections"). 0 or UV_E*. */
int tcp_tune(const uv_tcp_t *tcp);

/* Sends n bytes, copied. 0, or UV_E*: nothing was sent. A failure that comes later is the read
 * side's to find, where what a peer said before it closed comes first. */
int tcp_send(uv_tcp_t *tcp, const char *data, size_t n);

#endif
