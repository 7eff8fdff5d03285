/* SPDX-License-Identifier: Apache-2.0 */
/*
 * relist - why a cache that was in sync is listed anew, and what comes after a streaming list that
 * failed; pure.
 */
#ifndef CACHE_RELIST_H
#define CACHE_RELIST_H

#include <stdbool.h>

#include "base/err.h"

/* XX(identifier, name): the reasons. */
#define RELIST_MAP(XX)                                                                   \
    XX(EXPIRED, "expired")         /* the server has forgotten our version */            \
    XX(FUTURE, "future")           /* our version is newer than the server's newest */   \
    XX(EMPTY, "empty")             /* a watch ended at once without an event */          \
    XX(ERROR, "error")             /* the watch or its start failed otherwise */         \
    XX(BACKWARDS, "backwards")     /* the server's version went backwards */             \
    XX(UNVERSIONED, "unversioned") /* a watch ended that has no version to go on from */ \
    XX(MANUAL, "manual")           /* informerctl relist */                              \
    XX(AUDIT, "audit")             /* an audit found differences */                      \
    XX(UNNAMED, "unnamed")         /* a list had an item without a readable name */

#define RELIST_ENUM(id, name) RELIST_##id,
enum relist_reason { RELIST_MAP(RELIST_ENUM) RELIST_REASONS };
#undef RELIST_ENUM

/* Why a watch that ended with this error must be followed by a list. RELIST_REASONS: the error says
 * nothing about the version to resume from, so a list would only cost
 * (docs/kubernetes-protocol.md "Start of a watch"). */
enum relist_reason relist_reason_of(enum err_kind kind);

/* What comes next when a streaming list has failed
 * (docs/kubernetes-protocol.md "Failed streaming lists"). */
enum relist_way {
    RELIST_LATER,  /* wait, then ask again: a LIST would fare no better */
    RELIST_NEWEST, /* at once, without the version that was refused */
    RELIST_BY_LIST,
};

/* What comes next when a streaming list has failed with an error of this kind. */
enum relist_way relist_way_of(enum err_kind kind);

/* Does the server say by this error, a 4xx, that it does not support streaming lists
 * (docs/kubernetes-protocol.md "Failed streaming lists")? */
bool relist_is_refusal(const struct err *err);

/* "expired", ...: for status and logs. */
const char *relist_reason_name(enum relist_reason why);

#endif
