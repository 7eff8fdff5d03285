/* SPDX-License-Identifier: Apache-2.0 */
/*
 * call - one request on its way to its answer; pure. What the files of admin that answer share.
 */
#ifndef ADMIN_CALL_H
#define ADMIN_CALL_H

#include <stdint.h>

#include "admin/admin.h"
#include "admin/target.h"

struct hook;

#define CALL_JSON   "application/json"
#define CALL_NDJSON "application/x-ndjson"

/* All borrowed. out is 200 and JSON to begin with. */
struct call {
    const struct admin_model *m;
    const struct admin_request *req;
    const struct target *target;
    uint64_t now_ms;
    struct admin_response *out;
};

/* May the peer see objects of this resource? If not, it is refused. */
bool call_may_see(struct call *c, const char *resource) MUST_CHECK;

/* Do objects of Secrets reach the hook? */
bool call_gets_secrets(const struct hook *h);

/* Ends the answer, which is JSON, with a newline. */
void call_end(struct call *c);

#endif
