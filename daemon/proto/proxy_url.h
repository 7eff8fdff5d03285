/* SPDX-License-Identifier: Apache-2.0 */
/*
 * proxy_url - the address of an HTTP proxy, which may hold a password; pure.
 */
#ifndef PROTO_PROXY_URL_H
#define PROTO_PROXY_URL_H

#include "base/err.h"

/* Checks an address: http:// or https://, an optional USER:PASSWORD@, a host, an optional port, no
 * path. ERR_CONFIG has a text that shows nothing of the address. */
enum err_kind proxy_url_check(const char *text, struct err *err) MUST_CHECK;

#endif
