/* SPDX-License-Identifier: Apache-2.0 */
/*
 * status - the answer of a server that refuses a request: a Status object, or any other body with
 * an HTTP code; pure. Turned into the kind of error by which the reflector decides
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
    char message[256]; /* of the Status, or a description of another body; printable */
    bool too_large;    /* "Too large resource version" in any of its three spellings */
    /* details.retryAfterSeconds; -1 = none. The caller may put a Retry-After header here before
     * status_to_err(). */
    int64_t retry_after_s;
};

/* Reads a body that came with http_code (0 = in an ERROR event). Never fails: of text that is no
 * JSON a part is quoted. JSON that is no Status may be an object with secrets, so nothing of it
 * is quoted but its kind or, if it has none, its message or error
 * (docs/kubernetes-protocol.md "Other bodies"). */
void status_parse(struct status *out, int http_code, struct str body);

/* Fills *err by the rules of docs/kubernetes-protocol.md "Errors", "Expired versions", "Too large
 * resource version": EXPIRED, FUTURE, UNAUTHORIZED, FORBIDDEN, NOT_FOUND, NO_VERB, BUSY (429, and
 * 503 with retry_after_s), else SERVER. err->code is s->code. The text names code, reason and
 * message and says what to do about 401, 403 and 404. Returns err->kind. */
enum err_kind status_to_err(const struct status *s, struct err *err);

#endif
