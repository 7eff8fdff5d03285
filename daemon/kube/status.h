/* SPDX-License-Identifier: Apache-2.0 */
/*
 * status - what a server says when it refuses: a Status object, or any other body with an HTTP
 * code; pure. Turns it into the error kind that the reflector decides by
 * (docs/kubernetes-protocol.md "Errors").
 */
#ifndef KUBE_STATUS_H
#define KUBE_STATUS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"

struct status {
    bool is_status; /* the body was a Status (kind and apiVersion may be missing) */
    int code;       /* Status.code, else the HTTP code given */
    char reason[64];
    char message[256]; /* or what can be said of a body that is no Status; printable */
    bool too_large;    /* "Too large resource version" in any of its three spellings */
    /* details.retryAfterSeconds; -1 = none. A Retry-After header may be put here before
     * status_to_err(). */
    int64_t retry_after_s;
};

/* Reads a body that came with http_code (0 = inside a watch stream). Never fails: text that it
 * cannot understand is quoted in part, JSON that is no Status is not (it may be an object with
 * secrets). */
void status_parse(struct status *out, int http_code, struct str body);

/* Fills *err by the rules of docs/kubernetes-protocol.md "Errors", "Expired versions",
 * "Too large resource version": EXPIRED, FUTURE, UNAUTHORIZED, FORBIDDEN, NOT_FOUND, NO_VERB,
 * BUSY (429, and 503 with retry_after_s), else SERVER. err->code is the code. The text names code,
 * reason and message and says what to do about 401, 403 and 404. Returns err->kind. */
enum err_kind status_to_err(const struct status *s, struct err *err);

#endif
