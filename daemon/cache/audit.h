/* SPDX-License-Identifier: Apache-2.0 */
/*
 * audit - compares the cache of a watch with a consistent list that is made beside its running
 * watches, and disturbs neither; pure (docs/design.md "Audit"). The audit only says what differs:
 * it applies nothing to the cache.
 */
#ifndef CACHE_AUDIT_H
#define CACHE_AUDIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"
#include "cache/store.h"

/* The longest time from audit_listed() to audit_finish(): so late may events come that were on
 * their way when the list was made. */
#define AUDIT_GRACE_MS 5000

/* So many differences are kept with their keys; the others are only counted. */
enum { AUDIT_KEYS = 100 };

enum audit_state {
    AUDIT_IDLE,
    AUDIT_LISTING,
    AUDIT_GRACE, /* the lists are complete; the cache may lag behind them */
};

struct audit_difference {
    const char *key;
    /* "missing" in the cache, "extra" in the cache, or "different": another version or
     * incarnation */
    const char *what;
};

/* How the last comparison ended. Before the first one all members but err are zero. */
struct audit_result {
    uint64_t done_ms;  /* when it ended, monotonic; 0 = none has ended */
    uint64_t compared; /* keys */
    /* Keys that changed meanwhile, or whose object cannot be used. */
    uint64_t not_compared;
    uint64_t differences;             /* also those that are not in v */
    bool applied;                     /* it succeeded, and its differences are to be repaired */
    const struct err *err;            /* why it failed; kind OK = it succeeded */
    const struct audit_difference *v; /* the first AUDIT_KEYS differences, sorted by key */
    size_t n;
    uint64_t runs; /* comparisons that have ended, the failed ones included */
};

struct audit;

/* An audit of the objects in s, which must outlive it. scopes: as many as the store has. Never
 * NULL. */
struct audit *audit_create(const struct store *s, size_t scopes);

/* Frees it and sets *a to NULL. NULL is fine. */
void audit_destroy(struct audit **a);

/* Begins a comparison; a comparison that is under way begins anew. apply: the caller will repair
 * the differences (audit_applies() and the result say so). The caller must ask for the lists after
 * this call, and without a resourceVersion, so that they are consistent. */
void audit_begin(struct audit *a, bool apply);

/* In the comparison that has just begun, equal resourceVersions prove nothing: the objects' digests
 * are compared as well. While LISTING, before the first item. */
void audit_doubt(struct audit *a);

/* The resourceVersion of this scope's list: the one that its items belong to. While LISTING. */
void audit_version(struct audit *a, size_t scope, struct str rv);

/* Takes an item of this scope's list that the watch selects. Only its key, uid and resourceVersion
 * are kept, and a digest if versions are in doubt. While LISTING. */
void audit_item(struct audit *a, size_t scope, const struct object *o);

/* The list has an item with this key that cannot be used: the key is not compared. While
 * LISTING. */
void audit_unusable(struct audit *a, size_t scope, struct str key);

/* The list has an item whose key cannot be read, and any object that the list does not name may be
 * that item: such objects are not compared. While LISTING. */
void audit_unnamed(struct audit *a);

/* The store has changed by d: if the change came after the version of the scope's list, its key is
 * not compared. Does nothing while IDLE. */
void audit_touched(struct audit *a, size_t scope, const struct delta *d);

/* The object of this key cannot be used from now on, or can be used again: its key is not compared.
 * Does nothing while IDLE. */
void audit_skipped(struct audit *a, size_t scope, struct str key);

/* The lists of all scopes are complete; events that were on their way may still come. While
 * LISTING; the state is GRACE then. */
void audit_listed(struct audit *a);

/* rv is the version that the cache of this scope has reached. Is it the version of the scope's
 * list, or newer? Then no event from before the list is on its way any more. While GRACE. */
bool audit_is_passed(const struct audit *a, size_t scope, struct str rv);

/* Would a comparison now find no difference? Then there is nothing to wait for. While GRACE. */
bool audit_agrees(const struct audit *a);

/* Compares; audit_result() has the outcome. A cached object that is newer than the listed one
 * (docs/kubernetes-protocol.md "Order of versions") is no difference. While GRACE; the state is
 * IDLE then. */
void audit_finish(struct audit *a, uint64_t now_ms);

/* Ends a comparison as failed, or notes that it could not begin; err is copied. In any state, which
 * is IDLE then. */
void audit_failed(struct audit *a, const struct err *err, uint64_t now_ms);

/* Did audit_begin() say that the differences of the comparison under way will be repaired? False
 * while IDLE. */
bool audit_applies(const struct audit *a);

/* The state of the comparison. */
enum audit_state audit_state(const struct audit *a);

/* The outcome of the last comparison. Never NULL; the struct and everything that it points to are
 * valid until the next comparison ends. */
const struct audit_result *audit_result(const struct audit *a);

#endif
