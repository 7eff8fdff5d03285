/* SPDX-License-Identifier: Apache-2.0 */
/*
 * relist - why a cache that was in sync is listed anew; pure.
 */
#ifndef CACHE_RELIST_H
#define CACHE_RELIST_H

#include <stdbool.h>

#include "base/err.h"

/* XX(identifier, name): why a cache that was in sync is listed anew. */
#define RELIST_MAP(XX)                                                                    \
    XX(EXPIRED, "expired")         /* the server has forgotten our version */             \
    XX(FUTURE, "future")           /* our version is newer than the server's newest */    \
    XX(EMPTY, "empty")             /* a stream ended at once without a word */            \
    XX(ERROR, "error")             /* the stream or its start failed otherwise */         \
    XX(BACKWARDS, "backwards")     /* the server's version went backwards */              \
    XX(UNVERSIONED, "unversioned") /* a stream ended that has no version to go on from */ \
    XX(MANUAL, "manual")           /* informerctl relist */                               \
    XX(AUDIT, "audit")             /* an audit found differences */                       \
    XX(UNNAMED, "unnamed")         /* a list with an item without a name left some open */

#define RELIST_ENUM(id, name) RELIST_##id,
enum relist_reason { RELIST_MAP(RELIST_ENUM) RELIST_REASONS };
#undef RELIST_ENUM

/* Why a watch that ended with this error must list; RELIST_REASONS: the error says nothing about
 * the version it would resume from, so that a list would only cost
 * (docs/kubernetes-protocol.md "Start of a watch"). */
enum relist_reason relist_reason_of(enum err_kind kind);

/* What comes next when a streaming list has failed
 * (docs/kubernetes-protocol.md "Failed streaming lists"). */
enum relist_way {
    RELIST_LATER,  /* a LIST would fare no better */
    RELIST_NEWEST, /* at once, without the version that was refused */
    RELIST_BY_LIST,
};

/* See above; for an error of this kind. */
enum relist_way relist_way_of(enum err_kind kind);

/* Does the server say by this error (a 4xx) that it does not know streaming lists?
 * docs/kubernetes-protocol.md "Failed streaming lists". */
bool relist_is_refusal(const struct err *err);

/* "expired", ...: for status and logs. */
const char *relist_reason_name(enum relist_reason why);

#endif
