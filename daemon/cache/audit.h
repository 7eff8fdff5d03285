/* SPDX-License-Identifier: Apache-2.0 */
/*
 * audit - compares a watch's cache with a consistent list made beside its running streams, and
 * disturbs neither; pure (docs/design.md "Audit"). It only says what differs: nothing is applied
 * here.
 */
#ifndef CACHE_AUDIT_H
#define CACHE_AUDIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"
#include "cache/store.h"

/* For audit_listed(): so long from now at most. */
#define AUDIT_GRACE_MS 5000

/* Differences that are kept by name. */
enum { AUDIT_KEYS = 100 };

enum audit_state {
    AUDIT_IDLE,
    AUDIT_LISTING,
    AUDIT_GRACE, /* the lists are complete; the cache may be behind them */
};

struct audit_difference {
    const char *key;
    const char *what; /* "missing" in the cache, "extra" in it, "different" version or life */
};

/* How the last comparison ended; zero but for err before the first. */
struct audit_result {
    uint64_t done_ms;                 /* when; 0 = there was none */
    uint64_t compared;                /* keys */
    uint64_t not_compared;            /* those that changed meanwhile, or cannot be used */
    uint64_t differences;             /* all of them */
    bool applied;                     /* it did not fail, and differences are to be repaired */
    const struct err *err;            /* why it failed; kind OK = it did not */
    const struct audit_difference *v; /* the first AUDIT_KEYS differences, sorted by key */
    size_t n;
    uint64_t runs; /* comparisons that have ended, failed ones too */
    uint64_t total_differences;
};

struct audit;

/* s must outlive it; parts as the store has them. Never NULL. */
struct audit *audit_create(const struct store *s, size_t scopes);

/* Frees it and sets *a to NULL. NULL is fine. */
void audit_destroy(struct audit **a);

/* A comparison begins; one that is under way begins anew. apply: differences are to be repaired by
 * whoever asked for it. The list must be asked for after this, without a version. */
void audit_begin(struct audit *a, bool apply);

/* Versions are in doubt in the comparison that has just begun: objects are compared by their bytes
 * as well. */
void audit_doubt(struct audit *a);

/* The version of the list of this part: what its items are the state of. While LISTING. */
void audit_version(struct audit *a, size_t scope, struct str rv);

/* An item of it that the watch selects; only key, uid, version and a digest are
 * kept. While LISTING. */
void audit_item(struct audit *a, size_t scope, const struct object *o);

/* The list has this key but does not show it: it is not compared. While LISTING. */
void audit_unusable(struct audit *a, size_t scope, struct str key);

/* The list has an item that no key can be told of: what it does not name may be there, and is not
 * compared. While LISTING. */
void audit_unnamed(struct audit *a);

/* The store has changed: a key of this part that changed after the version of the list is not
 * compared. Nothing happens while IDLE. */
void audit_touched(struct audit *a, size_t scope, const struct delta *d);

/* The like of a key that cannot be used from now on, or can again. */
void audit_skipped(struct audit *a, size_t scope, struct str key);

/* The lists of all parts are complete; events that were on their way may still come. While
 * LISTING. */
void audit_listed(struct audit *a);

/* Is this version of the cache the one of the part's list, or newer? Then no event of before is on
 * its way. While GRACE. */
bool audit_is_passed(const struct audit *a, size_t scope, struct str rv);

/* Is nothing different any more? Then there is nothing to wait for. While GRACE. */
bool audit_agrees(const struct audit *a);

/* Compares; audit_result() is the outcome. A cache that is newer than the list
 * (docs/kubernetes-protocol.md "Order of versions") is no difference. While GRACE. */
void audit_finish(struct audit *a, uint64_t now_ms);

/* The comparison failed, or could not begin; err is copied. In any state. */
void audit_failed(struct audit *a, const struct err *err, uint64_t now_ms);

/* Are the differences of the comparison under way to be repaired? False while IDLE. */
bool audit_applies(const struct audit *a);

/* What it is doing. */
enum audit_state audit_state(const struct audit *a);

/* Never NULL; valid, as what it points to, until the next comparison ends. */
const struct audit_result *audit_result(const struct audit *a);

#endif
