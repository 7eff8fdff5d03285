/* SPDX-License-Identifier: Apache-2.0 */
/*
 * secret_mask - takes credentials out of a text that is about to be logged
 * (docs/design.md "Exec plugins"); pure.
 */
#ifndef KUBE_SECRET_MASK_H
#define KUBE_SECRET_MASK_H

#include "base/buf.h"

/* Appends text to *out, with "***" in place of each word that is a secret. A word is a run of
 * letters, digits and "-._~+/", so a word of base64 is one. It is a secret if it has 8 bytes or more
 * and stands anywhere in secrets, or begins as tokens do: JWTs, those of EKS and of Google. The time
 * is in proportion to the words of text times the length of secrets. */
void secret_mask_put(struct str text, struct str secrets, struct buf *out);

#endif
