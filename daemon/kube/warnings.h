/* SPDX-License-Identifier: Apache-2.0 */
/*
 * warnings - the texts of Warning headers of API servers, such as that a version of a resource is
 * deprecated; pure. A server says it with each answer, and it is for people, so each text is given out
 * once (docs/kubernetes-protocol.md "Warnings").
 */
#ifndef KUBE_WARNINGS_H
#define KUBE_WARNINGS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/compiler.h"
#include "base/digest.h"
#include "base/str.h"

/* A server that never says the same thing twice must not fill the log: after so many texts there
 * are no further ones. */
enum { WARNINGS_MAX = 32 };

/* Zero-initialised: nothing was given out. */
struct warnings {
    struct digest told[WARNINGS_MAX];
    size_t n;
};

/* Gives out the next text that was not given out before. *lines is http_head.warnings at first; the
 * lines that were read are taken from its front. False: there is no further one. */
bool warnings_next(struct warnings *w, struct str *lines, struct buf *text) MUST_CHECK;

#endif
