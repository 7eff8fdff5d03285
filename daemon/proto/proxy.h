/* SPDX-License-Identifier: Apache-2.0 */
/*
 * proxy - an HTTP proxy on the way to a server: its address, and the CONNECT request (RFC 9110
 * section 9.3.6) that makes it a tunnel; pure. Which proxy the environment names: proto/proxy_env.
 */
#ifndef PROTO_PROXY_H
#define PROTO_PROXY_H

#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "proto/url.h"

/* A head of the proxy's answer to CONNECT may have so many bytes. */
#define PROXY_ANSWER_BYTES ((size_t)16 * 1024)

struct proxy {
    struct url url; /* .tls: TLS to the proxy; the prefix does not count; host NULL = no proxy */
    char *authorization; /* secret: the value of Proxy-Authorization; NULL = none */
};

/* Parses http://[USER[:PASSWORD]@]HOST[:PORT] or the same with https://; user and password may be
 * percent-encoded. A path behind it is ignored, as Go does. ERR_CONFIG, with *out unchanged: the
 * text names the mistake (among them: socks5, which is not supported) and shows nothing of user and
 * password. Release with proxy_fini(). */
enum err_kind proxy_parse(const char *text, struct proxy *out, struct err *err) MUST_CHECK;

/* Can proxy_parse() take the address? Errors as there. */
enum err_kind proxy_check(const char *text, struct err *err) MUST_CHECK;

/* Wipes the secret, frees everything, and zeroes *p. */
void proxy_fini(struct proxy *p);

/* Appends the CONNECT request for the server at host (without brackets) and port. It has a secret in
 * it: the caller wipes the buffer. */
void proxy_put_connect(struct buf *out, const struct proxy *p, const char *host, uint16_t port);

/* Judges the status of the final answer to CONNECT. ERR_OK: the bytes behind its head are the
 * server's. Else ERR_IO, with the status as code and a text that says what to do. has_credentials:
 * the request had some. */
enum err_kind proxy_judge(int status, bool has_credentials, struct err *err) MUST_CHECK;

#endif
