/* SPDX-License-Identifier: Apache-2.0 */
/*
 * proxy_env - which proxy the environment names for a server: HTTPS_PROXY, HTTP_PROXY and NO_PROXY,
 * by the rules of client-go (docs/kubernetes-protocol.md "HTTP proxies"); pure.
 */
#ifndef PROTO_PROXY_ENV_H
#define PROTO_PROXY_ENV_H

#include <stdbool.h>

#include "base/err.h"
#include "base/str.h"
#include "proto/proxy.h"

/* The values of these variables, as they are; NULL or "" = not set. */
struct proxy_env {
    const char *https_proxy; /* for servers with https:// */
    const char *http_proxy;  /* for servers with http:// */
    const char *no_proxy;
};

/* Finds the proxy for a server. *out is zeroed if there is none: no variable names one, or the
 * server is exempt. ERR_CONFIG: the address of the proxy cannot be used (proxy_parse()). Release
 * with proxy_fini(). */
enum err_kind proxy_env_find(const struct proxy_env *env, const struct url *server,
                             struct proxy *out, struct err *err) MUST_CHECK;

/* Is a server exempt by the value of NO_PROXY, or because it is this machine? */
bool proxy_env_exempts(struct str no_proxy, const struct url *server);

#endif
