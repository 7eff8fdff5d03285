/* SPDX-License-Identifier: Apache-2.0 */
/*
 * token - what a bearer token says about its holder and its expiry, if it is a JWT; pure. Nothing is
 * verified: the result is for messages to people and for the time of the next reading, never for a
 * decision about what is allowed.
 */
#ifndef KUBE_TOKEN_H
#define KUBE_TOKEN_H

#include <stdint.h>

#include "base/compiler.h"
#include "base/str.h"

/* The claim sub of a JWT (RFC 7519 4.1.2), such as "system:serviceaccount:NAMESPACE:NAME": a new
 * string for the caller. NULL: the token is no JWT, or has no such claim. */
char *token_subject(struct str token) MUST_CHECK;

/* The claim exp of a JWT (RFC 7519 4.1.4), in seconds since 1970. 0: the token is no JWT, or has no
 * exp, or one that is no whole number below 2^32 (in the year 2106). */
uint64_t token_expiry(struct str token) MUST_CHECK;

#endif
