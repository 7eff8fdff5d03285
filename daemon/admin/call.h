/* SPDX-License-Identifier: Apache-2.0 */
/*
 * call - one request on its way to its answer, and helpers for the files of admin/ that answer;
 * pure.
 */
#ifndef ADMIN_CALL_H
#define ADMIN_CALL_H

#include <stdint.h>

#include "admin/admin.h"
#include "admin/target.h"
#include "cache/source.h"

struct hook;

#define CALL_JSON   "application/json"
#define CALL_NDJSON "application/x-ndjson"

/* All members are borrowed. out starts as status 200 with content type JSON and an empty body. */
struct call {
    const struct admin_model *m;
    const struct admin_request *req;
    const struct target *target;
    uint64_t now_ms;
    struct admin_response *out;
};

/* Whether the peer may see objects that may be Secrets: those are for privileged peers. If it may
 * not, *out is 403 on return. */
bool call_may_see(struct call *c, bool secrets) MUST_CHECK;

/* Whether the objects of the source are Secrets. */
bool call_has_secrets(struct source from);

/* Whether objects of Secrets reach the hook through one of its sources. */
bool call_gets_secrets(const struct hook *h);

/* Appends the newline that ends a JSON answer. */
void call_end(struct call *c);

#endif
