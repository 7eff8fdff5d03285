/* SPDX-License-Identifier: Apache-2.0 */
/*
 * object_scan - finds identity and versions of one object while its tokens stream by, cuts what the
 * shape leaves out, and makes the struct object; pure. Shared by event and list.
 */
#ifndef KUBE_OBJECT_SCAN_H
#define KUBE_OBJECT_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kube/object.h"
#include "kube/object_rules.h"
#include "kube/unusable.h"
#include "proto/json_in.h"

/* Containers in each other, the object's own braces included. What is deeper, in parts that are
 * kept, nobody could read again: jq, for one, has such a limit. */
enum { OBJECT_MAX_DEPTH = 512 };

struct object_scan; /* reusable: one per stream */

/* Objects over object_size are scanned for their identity but not kept. apiVersion, kind,
 * metadata.name, namespace, uid and resourceVersion stay whatever the shape, managedFields go.
 * Never NULL. */
struct object_scan *object_scan_create(const struct object_rules *rules);

/* Frees the scan and sets *s to NULL. NULL is fine. */
void object_scan_destroy(struct object_scan **s);

/* Lends the chunk whose tokens come next: n bytes at data, the first of them at position start.
 * Borrowed until object_scan_save(), which must be called before the next chunk is lent. */
void object_scan_lend(struct object_scan *s, uint64_t start, const char *data, size_t n);

/* The lent chunk goes away: copies what an unfinished object needs of it. */
void object_scan_save(struct object_scan *s);

/* A new object begins with the '{' that ends at position end (json_token.end of its JSON_OBJECT, at
 * that token's depth); that byte must be in the lent chunk. Returns like object_scan_token(). */
unsigned object_scan_begin(struct object_scan *s, uint64_t end, unsigned depth);

/* The like for an object of which all bytes are wanted and nothing is looked at:
 * object_scan_body(), and no other answer. */
unsigned object_scan_begin_raw(struct object_scan *s, uint64_t end, unsigned depth);

/* One token inside the object, its own closing '}' included. Returns how deep tokens matter next:
 * deeper ones must not be handed over. 0 = that was the last. */
unsigned object_scan_token(struct object_scan *s, const struct json_token *t);

/* A limit is exceeded by the next token (json_in_excess): the object cannot be used, unless that is
 * in a part which is cut. Nothing happens outside of objects. */
void object_scan_excess(struct object_scan *s, const char *why);

/* All of an object: text is one JSON object and nothing else, read without fault before. */
void object_scan_text(struct object_scan *s, struct str text);

enum object_scan_result {
    OBJECT_SCAN_OK,
    OBJECT_SCAN_TOO_BIG,    /* over limit; identity is known */
    OBJECT_SCAN_NOT_OBJECT, /* no identity to rely on: object_scan_why() */
};

/* After the last token, once. kind and api_version (may be empty) are put at the front when the
 * object has no such members of its own (docs/design.md "Objects"). Where PartialObjectMetadata may
 * come, both always stand at the front: the object's own, or these if it is one. *out (OK only,
 * else NULL) is the caller's. */
enum object_scan_result object_scan_end(struct object_scan *s, struct str kind,
                                        struct str api_version, struct object **out);

/* Why it is NOT_OBJECT: no metadata.name, a member that identifies it is wrong or stands there
 * twice, or a limit is exceeded. NULL if nothing is wrong. A constant text, for the log. */
const char *object_scan_why(const struct object_scan *s);

/* The like for what a BOOKMARK needs: resourceVersion, without a name. */
const char *object_scan_why_no_rv(const struct object_scan *s);

/* After object_scan_end() was not OK, or in its place: what is known of it. why NULL = what that has
 * found. */
struct unusable object_scan_unusable(struct object_scan *s, const char *why);

/* The like: it is only too large in some way, and match does not hold, which is all that must be
 * known. Returns a bare object with its identity, the caller's; else NULL. */
struct object *object_scan_left_out(struct object_scan *s, struct str kind, struct str api_version);

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
/* Is it a PartialObjectMetadata, and may it be? Its own kind and apiVersion say nothing then. */
bool object_scan_is_partial(const struct object_scan *s);
/* Does match hold? After object_scan_end() was OK. */
bool object_scan_selected(const struct object_scan *s);
/* Is the annotation k8s.io/initial-events-end "true"?
 * docs/kubernetes-protocol.md "End of initial events". */
bool object_scan_initial_events_end(const struct object_scan *s);
/* The kept bytes, after the last token and before object_scan_end(): without what is cut and the
 * values of RV and generation; all of them after object_scan_begin_raw(). Empty if over limit. */
struct str object_scan_body(const struct object_scan *s);

#endif
