/* SPDX-License-Identifier: Apache-2.0 */
/*
 * token - what a bearer token says about its holder, where it is a JWT; pure. Nothing is verified:
 * it is for what we tell people, never for what we allow.
 */
#ifndef KUBE_TOKEN_H
#define KUBE_TOKEN_H

#include "base/compiler.h"
#include "base/str.h"

/* The claim sub of a JWT (RFC 7519 4.1.2), as "system:serviceaccount:NAMESPACE:NAME": a new string
 * for the caller. NULL: it is none, or has no such claim. */
char *token_subject(struct str token) MUST_CHECK;

#endif
