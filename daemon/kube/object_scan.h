/* SPDX-License-Identifier: Apache-2.0 */
/*
 * object_scan - finds identity, versions and the ranges to cut in one object while its tokens
 * stream by, and makes the struct object; pure. Shared by event and list.
 */
#ifndef KUBE_OBJECT_SCAN_H
#define KUBE_OBJECT_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kube/object.h"
#include "proto/json_in.h"

struct object_scan; /* reusable: one per stream */

/* limit = object_size in bytes: larger objects are scanned for their identity but not kept. Never
 * NULL. */
struct object_scan *object_scan_create(size_t limit);

/* Frees the scan and sets *s to NULL. NULL is fine. */
void object_scan_destroy(struct object_scan **s);

/* Lends the chunk whose tokens come next: n bytes at data, the first of them at position start.
 * Borrowed until object_scan_save(), which must be called before the next chunk is lent. */
void object_scan_lend(struct object_scan *s, uint64_t start, const char *data, size_t n);

/* The lent chunk goes away: copies what an unfinished object needs of it. */
void object_scan_save(struct object_scan *s);

/* A new object begins with the '{' that ends at position end (json_token.end of its JSON_OBJECT, at
 * that token's depth); that byte must be in the lent chunk. */
void object_scan_begin(struct object_scan *s, uint64_t end, unsigned depth);

/* Tokens that stand so much deeper than the object itself need not be handed over. */
enum { OBJECT_SCAN_IGNORED = 4 };

/* One token inside the object, its own closing '}' included. True when that was the last. */
bool object_scan_token(struct object_scan *s, const struct json_token *t);

enum object_scan_result {
    OBJECT_SCAN_OK,
    OBJECT_SCAN_TOO_BIG,    /* over limit; identity is known */
    OBJECT_SCAN_NOT_OBJECT, /* no identity to rely on: object_scan_why() */
};

/* After the last token, once. kind and api_version (may be empty) are put at the front when the
 * object has no such members of its own (DESIGN 1.3). *out (OK only, else NULL) is the caller's. */
enum object_scan_result object_scan_end(struct object_scan *s, struct str kind,
                                        struct str api_version, struct object **out);

/* Why it is NOT_OBJECT: no metadata.name, or a member that identifies it is wrong or stands there
 * twice. NULL if nothing is wrong. A constant text, for the log. */
const char *object_scan_why(const struct object_scan *s);

/* The like for what a BOOKMARK needs: resourceVersion, without a name. */
const char *object_scan_why_no_rv(const struct object_scan *s);

/* Is it over limit, as far as it was seen? */
bool object_scan_too_big(const struct object_scan *s);

/* What was seen, also of objects that were not kept; borrowed until the next begin. Empty when the
 * object has no (usable) name. */
struct str object_scan_key(struct object_scan *s);
/* metadata.resourceVersion; empty if it has none. */
struct str object_scan_rv(const struct object_scan *s);
/* The object's own kind; empty if it has none. */
struct str object_scan_kind(const struct object_scan *s);
/* The object's own apiVersion; empty if it has none. */
struct str object_scan_api_version(const struct object_scan *s);
/* Is the annotation k8s.io/initial-events-end "true" (PROTOCOL 1.4)? */
bool object_scan_initial_events_end(const struct object_scan *s);
/* The kept bytes, after the last token and before object_scan_end(): without managedFields and the
 * values of RV and generation. Empty if over limit. */
struct str object_scan_body(const struct object_scan *s);

#endif
