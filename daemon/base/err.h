/* SPDX-License-Identifier: Apache-2.0 */
/*
 * err - an error as a value: the kind decides what the caller does, the text is for people. An
 * error is filled in once, where it happens; callers put context in front of the text on its way
 * up; the layer that decides logs it once.
 */
#ifndef BASE_ERR_H
#define BASE_ERR_H

#include "base/compiler.h"

/* XX(identifier, name): one kind for each case that a caller may treat in its own way. */
#define ERR_MAP(XX)                                                                               \
    XX(OK, "ok")                                                                                  \
    XX(IO, "io")                     /* a system call or the network failed */                    \
    XX(REFUSED, "refused")           /* nobody listens there (ECONNREFUSED) */                    \
    XX(TIMEOUT, "timeout")           /* a deadline of ours passed */                              \
    XX(CLOSED, "closed")             /* the peer ended it */                                      \
    XX(TLS, "tls")                   /* handshake, certificate or record failed */                \
    XX(PROTOCOL, "protocol")         /* bytes that break the rules of the protocol */             \
    XX(TOO_BIG, "too_big")           /* larger than a limit */                                    \
    XX(UNAUTHORIZED, "unauthorized") /* HTTP 401 */                                               \
    XX(FORBIDDEN, "forbidden")       /* HTTP 403 */                                               \
    XX(NOT_FOUND, "not_found")       /* HTTP 404 */                                               \
    XX(NO_VERB, "no_verb")           /* HTTP 405: the API cannot do that at all */                \
    XX(EXPIRED, "expired")           /* HTTP 410: resourceVersion or continue token is too old */ \
    XX(FUTURE, "future")             /* resourceVersion is too large: the server is behind it */  \
    XX(BUSY, "busy")                 /* HTTP 429, or 503 with Retry-After */                      \
    XX(SERVER, "server")             /* any other error the server reports */                     \
    XX(CONFIG, "config")             /* the user must change a file */                            \
    XX(CREDENTIAL, "credential")     /* a token, key or certificate cannot be used */             \
    XX(FOREIGN, "foreign") /* another cluster answers: docs/design.md "Cluster identity" */

#define ERR_ENUM(id, name) ERR_##id,
enum err_kind { ERR_MAP(ERR_ENUM) ERR_KINDS };
#undef ERR_ENUM

struct err {
    enum err_kind kind;
    int code;       /* errno, UV_E*, mbedTLS or HTTP status; 0 if none */
    char text[512]; /* outermost context first, cut if longer; never a secret */
};

/* Fills *e (which may be NULL) and returns kind, so that a failing path is one line. */
enum err_kind err_set(struct err *e, enum err_kind kind, int code, const char *fmt, ...)
    PRINTF_LIKE(4, 5);

/* Puts "context: " in front of e->text; returns e->kind. */
enum err_kind err_wrap(struct err *e, const char *fmt, ...) PRINTF_LIKE(2, 3);

/* The name of a kind ("io", "expired"), for logs. */
const char *err_kind_name(enum err_kind kind);

#endif
