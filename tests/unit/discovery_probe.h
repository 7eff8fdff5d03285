/* SPDX-License-Identifier: Apache-2.0 */
/*
 * discovery_probe - servers of both forms of discovery as tables of pages, and lookups in the
 * result of a round against them.
 */
#ifndef UNIT_DISCOVERY_PROBE_H
#define UNIT_DISCOVERY_PROBE_H

#include "base/buf.h"
#include "base/err.h"
#include "kube/discovery.h"

#define STATUS(code, reason)                                                             \
    "{\"kind\":\"Status\",\"status\":\"Failure\",\"message\":\"m\",\"reason\":\"" reason \
    "\",\"code\":" #code "}"

/* A row of a table (clang-format 14 makes a mess of some with braces). */
#define ROW(...)    \
    {               \
        __VA_ARGS__ \
    }

/* The answers of a server; ends with NULL. A body that begins with "@v2", "@v2beta1" (aggregated)
 * or "@old" (an APIResourceList, without GROUP and VERSION) is made of lines GROUP VERSION PLURAL
 * KIND SCOPE [SHORT,SHORT [SINGULAR [VERB,VERB]]]; "-" is empty, the plural "Stale" is a version
 * that is stale. */
struct page {
    const char *target;
    int code;
    const char *body;
};

/* A server with aggregated discovery. */
extern const struct page discovery_probe_new[3];
/* A server with the older form of discovery; it serves much the same. */
extern const struct page discovery_probe_old[7];

/* The page of a target, or the one that ends the table. */
const struct page *discovery_probe_page(const struct page *pages, const char *target);

/* The whole body of a page. */
void discovery_probe_body(const struct page *p, struct buf *out);

/* The server answers the request with this status, Retry-After (-1 = none) and body. */
void discovery_probe_answer(struct discovery *d, int code, int64_t retry_after_s, struct str body);

/* A name joins the round. */
void discovery_probe_want(struct discovery *d, const char *text);

/* Carries the round out, and adds each target to asked. A target without a page gets 404; a page
 * without a body is a lost connection. */
void discovery_probe_run(struct discovery *d, const struct page *pages, struct buf *asked);

/* A round for these names (ends with NULL). Asserts the targets that it asked for, unless NULL. */
struct discovery *discovery_probe_round(const struct page *pages, const char *const *names,
                                        const char *asked);

#define ROUND(pages, asked, ...) \
    discovery_probe_round(pages, (const char *const[]){__VA_ARGS__, NULL}, asked)

/* Looks a name up: PATH KIND SCOPE goes into out. */
enum err_kind discovery_probe_find(const struct discovery *d, const char *text, struct buf *out,
                                   struct err *err);

/* Asserts the meaning of a name. */
void discovery_probe_found(const struct discovery *d, const char *text, const char *expected);

/* Asserts that a name is not found, and a part of the error. */
void discovery_probe_missing(const struct discovery *d, const char *text, enum err_kind kind,
                             const char *says);

#endif
