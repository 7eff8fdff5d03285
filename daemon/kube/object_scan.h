/* SPDX-License-Identifier: Apache-2.0 */
/*
 * object_scan - finds identity and versions of one object while its tokens stream by, cuts the
 * parts that the shape leaves out, and makes the struct object; pure. Shared by event and list.
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

/* How deep containers may be nested, the object's own braces included. A part that is nested
 * deeper and kept could not be read by others: jq, for one, has such a limit. */
enum { OBJECT_MAX_DEPTH = 512 };

struct object_scan; /* one per stream, for one object after the other */

/* Makes a scan. Objects over object_size are scanned for their identity but not kept. apiVersion,
 * kind, metadata.name, namespace, uid and resourceVersion stay whatever the shape says,
 * managedFields go. The shape must outlive the scan. Never NULL. */
struct object_scan *object_scan_create(const struct object_rules *rules);

/* Frees the scan and sets *s to NULL. NULL is fine. */
void object_scan_destroy(struct object_scan **s);

/* Lends the chunk whose tokens come next: n bytes at data, the first of them at position start.
 * Borrowed until object_scan_save(), which must be called before the next chunk is lent. */
void object_scan_lend(struct object_scan *s, uint64_t start, const char *data, size_t n);

/* The lent chunk goes away: copies the bytes that an unfinished object needs of it. */
void object_scan_save(struct object_scan *s);

/* Begins a new object with the '{' that ends at position end (json_token.end of its JSON_OBJECT,
 * at that token's depth); that byte must be in the lent chunk. Returns how deep tokens matter
 * next, as object_scan_token() does. */
unsigned object_scan_begin(struct object_scan *s, uint64_t end, unsigned depth);

/* The same for an object of which all bytes are kept and nothing is looked at: object_scan_body()
 * and object_scan_too_big() are then the only answers. */
unsigned object_scan_begin_raw(struct object_scan *s, uint64_t end, unsigned depth);

/* Takes one token inside the object, its own closing '}' included. Returns how deep tokens matter
 * next: deeper ones must not be handed over. 0 = that was the last token. */
unsigned object_scan_token(struct object_scan *s, const struct json_token *t);

/* The next token exceeds a limit (json_in_excess): the object cannot be used, unless this happens
 * in a part that is cut. Nothing happens outside of objects. */
void object_scan_excess(struct object_scan *s, const char *why);

/* Scans a whole object at once. text is one JSON object and nothing else, and was read without an
 * error before. */
void object_scan_text(struct object_scan *s, struct str text);

enum object_scan_result {
    OBJECT_SCAN_OK,
    OBJECT_SCAN_TOO_BIG,    /* over limit; identity is known */
    OBJECT_SCAN_NOT_OBJECT, /* cannot be used for another reason: object_scan_unusable() */
};

/* Ends the object, once, after the last token. kind and api_version (may be empty) are put at the
 * front if the object has no such members of its own (docs/design.md "Objects"). Where
 * PartialObjectMetadata may come both always stand at the front: the object's own, or these if
 * the object is a PartialObjectMetadata. *out (NULL unless OK) is the caller's. */
enum object_scan_result object_scan_end(struct object_scan *s, struct str kind,
                                        struct str api_version, struct object **out);

/* Why a BOOKMARK cannot be used, which needs a resourceVersion but no name. NULL if nothing is
 * wrong. A constant text, for the log. */
const char *object_scan_why_no_rv(const struct object_scan *s);

/* Gives the fields that could be read of an object that cannot be used; after object_scan_end() was not
 * OK, or in place of it. why is the reason, NULL = the one that object_scan_end() has found: it has no
 * metadata.name, a member that identifies it is wrong or there twice, or a limit is exceeded. Borrowed
 * until the next object begins. */
struct unusable object_scan_unusable(struct object_scan *s, const char *why);

/* For an object that is too large or too deep and that match does not select: its identity is all
 * that is needed of it. Returns a bare object, the caller's, or NULL if match does hold or the
 * identity cannot be relied on. Called in place of object_scan_unusable(), after
 * object_scan_end(). */
struct object *object_scan_left_out(struct object_scan *s, struct str kind, struct str api_version);

/* Is the object over limit, as far as it was seen? */
bool object_scan_too_big(const struct object_scan *s);

/* metadata.resourceVersion; empty if the object has none. Borrowed until the next object begins, as
 * are the texts below. */
struct str object_scan_rv(const struct object_scan *s);
/* The object's own kind; empty if it has none. */
struct str object_scan_kind(const struct object_scan *s);
/* The object's own apiVersion; empty if it has none. */
struct str object_scan_api_version(const struct object_scan *s);
/* Is the object a PartialObjectMetadata, and do the rules allow that? Its own kind and apiVersion
 * then say nothing about the object. */
bool object_scan_is_partial(const struct object_scan *s);
/* Does match hold? Known after object_scan_end() was OK. */
bool object_scan_selected(const struct object_scan *s);
/* Is the annotation k8s.io/initial-events-end "true"?
 * docs/kubernetes-protocol.md "End of initial events". */
bool object_scan_initial_events_end(const struct object_scan *s);
/* The kept bytes, after the last token and before object_scan_end(): without the parts that are
 * cut and the values of resourceVersion and generation. After object_scan_begin_raw() they are
 * complete. Empty if the object is over limit. */
struct str object_scan_body(const struct object_scan *s);

#endif
