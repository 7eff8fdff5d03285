/* SPDX-License-Identifier: Apache-2.0 */
/*
 * base64 - standard base64 (RFC 4648 section 4), as kubeconfigs and HTTP credentials have it; pure.
 */
#ifndef BASE_BASE64_H
#define BASE_BASE64_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/compiler.h"

/* Appends the decoded bytes of text to *out. Line ends may stand anywhere; padding is required.
 * False, with *out in any state, for any other byte, wrong padding, or bits left over that are
 * not 0. */
bool base64_decode(struct str text, struct buf *out) MUST_CHECK;

/* Appends the base64 of the bytes, with padding and without line ends. */
void base64_encode(struct str bytes, struct buf *out);

#endif
