/* SPDX-License-Identifier: Apache-2.0 */
/*
 * token - what a bearer token says about its holder and its expiry, if it is a JWT; pure. Nothing is
 * verified: the result is for messages to people and for the time of the next reading, never for a
 * decision about what is allowed.
 */
#ifndef KUBE_TOKEN_H
#define KUBE_TOKEN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/compiler.h"
#include "base/str.h"

/* The claim sub of a JWT (RFC 7519 4.1.2), such as "system:serviceaccount:NAMESPACE:NAME": a new
 * string for the caller. NULL: the token is no JWT, or has no such claim. */
char *token_subject(struct str token) MUST_CHECK;

/* The claims iat and exp of a JWT (RFC 7519 4.1.6, 4.1.4), in seconds since 1970; 0 = the claim is
 * missing, or no time. False: the token does not say when it expires. */
bool token_dates(struct str token, int64_t *issued_s, int64_t *expires_s) MUST_CHECK;

#endif
