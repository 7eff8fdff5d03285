/* SPDX-License-Identifier: Apache-2.0 */
/*
 * feature - what hooks did in the simulations, counted: what never happens is not tested.
 */
#ifndef SIM_FEATURE_H
#define SIM_FEATURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* XX(identifier, text). */
#define FEATURE_MAP(XX)                                                           \
    XX(OBJECT, "run in mode object")                                              \
    XX(BATCH, "run in mode batch")                                                \
    XX(SNAPSHOT, "run in mode snapshot")                                          \
    XX(EXISTING, "reason existing")                                               \
    XX(CHANGE, "reason change")                                                   \
    XX(RETRY, "reason retry")                                                     \
    XX(RERUN, "reason rerun")                                                     \
    XX(MANUAL, "reason manual")                                                   \
    XX(BEHIND_ANY, "run while another source is not synced")                      \
    XX(LATE_SOURCE, "source seen after the first run")                            \
    XX(WAITED_AFTER, "hook kept waiting by another hook's first run alone")       \
    XX(WAITED_STALE, "hook stopped by a stale source")                            \
    XX(PAUSED, "hook paused")                                                     \
    XX(PAUSED_DUE, "hook resumed that was due")                                   \
    XX(ORDER, "run ordered of one key, or of a hook in mode batch or snapshot")   \
    XX(ORDER_ALL, "run ordered of all keys")                                      \
    XX(ORDER_RUNNING, "run ordered of what runs")                                 \
    XX(ORDER_VOID, "ordered run that had nothing to tell when its turn came")     \
    XX(ORDER_REFUSED, "order refused")                                            \
    XX(HOT_START, "source that kept changing when it was first seen")             \
    XX(SKIPPED, "existing object skipped")                                        \
    XX(BURST, "change while it settles")                                          \
    XX(LIMIT, "burst cut by the limit of settle")                                 \
    XX(MIN_INTERVAL, "start delayed by min_interval")                             \
    XX(SPLAY, "start delayed by splay")                                           \
    XX(SPLAY_RERUN, "rerun delayed by splay")                                     \
    XX(NO_SLOT, "due without a slot")                                             \
    XX(SHARED, "start in a shared slot")                                          \
    XX(OWN_SLOT, "start in the own slot while another hook hangs")                \
    XX(HANG, "run that hangs for minutes")                                        \
    XX(TIMEOUT, "run that is killed at its timeout")                              \
    XX(NOT_STARTED, "run that the system had no means to start")                  \
    XX(NOT_STARTED_ORDER, "the same of one that was ordered")                     \
    XX(UNFIT, "run that cannot be told its fields")                               \
    XX(PARK_EXIT, "parked by its exit status")                                    \
    XX(PARK_ATTEMPTS, "parked when attempts were used up")                        \
    XX(CHANGED_RUNNING, "failed run of what has changed meanwhile")               \
    XX(UNPARKED, "unparked by a change")                                          \
    XX(FORWARD, "retry brought forward by a change")                              \
    XX(NEW_BACKOFF, "ladder begun anew by another matter")                        \
    XX(GAVE_WAY, "DELETED that gave way to the next life")                        \
    XX(NEXT_LIFE, "DELETED told, and ADDED of the next life")                     \
    XX(TWO_ENDS, "ends of two lives in one run")                                  \
    XX(CANCELLED, "change that was undone before it was told")                    \
    XX(UNDONE, "change back to the handled state after a run that failed")        \
    XX(OLD, "run that is told the last handled state")                            \
    XX(MORE_PATHS, "changed: more than what differs from the last handled state") \
    XX(VIEW_NOTHING, "change of its watches that changes nothing in the view")    \
    XX(VIEW_MOVED, "slice that moved to another Service")                         \
    XX(VIEW_DRAINING, "draining endpoints in use")                                \
    XX(VIEW_HELD, "endpoints held")                                               \
    XX(VIEW_LET_GO, "held endpoints let go by time")                              \
    XX(VIEW_NAME, "Service that became an ExternalName, or left")                 \
    XX(VIEW_LIFE, "Service that was another one at the next look")                \
    XX(VIEW_STALE, "view that went on while it was stale")                        \
    XX(FILE_SAME, "file that was as it should be")                                \
    XX(FILE_FOUND, "the same, and may never have been applied")                   \
    XX(FILE_LATE, "file in place though the run failed")                          \
    XX(FILE_REMOVED, "file removed")                                              \
    XX(FILE_TAKEN, "key refused, as its file is another one's")                   \
    XX(FILE_NOT_OWN, "end of such a key")                                         \
    XX(FILE_FREED, "file that another key may have now")                          \
    XX(APPLY, "files applied")                                                    \
    XX(APPLY_FIRST, "files of first runs applied")                                \
    XX(APPLY_RETRY, "apply tried again")                                          \
    XX(APPLY_AGAIN, "file written while apply ran")                               \
    XX(APPLY_HELD, "apply beside its command, held back long enough")             \
    XX(APPLY_ORDERED, "apply that a person waits for")                            \
    XX(APPLY_PARKED, "apply parked when attempts were used up")                   \
    XX(APPLY_NOT_STARTED, "apply that the system had no means to start")          \
    XX(OUTAGE, "STALE or FRESH told")                                             \
    XX(RESUMED, "stream synced without a list after a restart")                   \
    XX(RELIST_END, "DELETED found by a later list")                               \
    XX(UNVERSIONED, "list without a version")                                     \
    XX(BESIDE, "list beside a watch without a version")                           \
    XX(BESIDE_END, "DELETED that such a list found")                              \
    XX(BESIDE_LOST, "such a list that failed, or whose watch ended before it")    \
    XX(BOOKMARKED, "watch from a bookmark, of what has no version in lists")      \
    XX(NOT_RESUMED, "stream that had to list after a restart")                    \
    XX(BEGUN_STALE, "watch that began stale, as no server answered")              \
    XX(BEGUN_MISSED, "change told by such a watch before it has caught up")       \
    XX(LOST, "object lost on disk")                                               \
    XX(EDITED, "watch with other settings after a restart")                       \
    XX(MISSED, "change found by a list after a restart")                          \
    XX(MISSED_END, "DELETED found by a list after a restart")                     \
    XX(MISSED_LEFT, "object that is not selected by other settings")              \
    XX(REPLAYED, "change told by a watch that was resumed")                       \
    XX(WARM, "daemon started again in calm weather without a list")               \
    XX(KILLED, "run that was killed with the daemon")                             \
    XX(KILLED_OPENING, "run that waited for its marks then")                      \
    XX(STOPPED, "run that ended as the daemon did in order")                      \
    XX(KEPT, "start of hooks that were known")                                    \
    XX(KEPT_LATE, "mark that was not on disk when the daemon died")               \
    XX(KEPT_AGAIN, "told again what was handled, as that was in flight")          \
    XX(KEPT_BACK, "told the state that was handled before the one in flight")     \
    XX(KEPT_CHANGE, "change told of what an earlier process handled")             \
    XX(KEPT_END, "end told that was known before, or that the watch told of")     \
    XX(KEPT_GONE, "end told that nobody has seen")                                \
    XX(KEPT_OLD, "handled state known whole again")                               \
    XX(KEPT_TRACE, "handled state of which the digest is left")                   \
    XX(KEPT_RENEW, "handled state told again, as what was done is gone")          \
    XX(KEPT_RENEWAL, "renewal told that an earlier process has not handled")      \
    XX(KEPT_SNAPSHOT, "snapshot owed by an earlier process")                      \
    XX(KEPT_APPLY, "apply owed by an earlier process")                            \
    XX(KEPT_PARKED, "parked over a restart, and still when all is quiet")         \
    XX(KEPT_PAUSE, "paused over a restart")                                       \
    XX(KEPT_SKIP, "source whose objects are skipped")                             \
    XX(KEPT_HEIR, "two lives of one key known from before")                       \
    XX(KEPT_QUIET, "daemon started again that told its hooks nothing")            \
    XX(BARE, "object of which no more than a mark is left")                       \
    XX(ODD_ITEM, "item of a list that cannot be used")                            \
    XX(ODD_INITIAL, "initial event that cannot be used")                          \
    XX(ODD_EVENT, "event that cannot be used")                                    \
    XX(ODD_KEPT, "old state of what cannot be used")                              \
    XX(ODD_AGAIN, "usable state of what could not be used")                       \
    XX(ODD_END, "end of what could not be used")                                  \
    XX(ODD_RESTORED, "what could not be used, known over a restart")              \
    XX(ODD_UNNAMED, "object without a name")                                      \
    XX(ODD_MISSING, "object missing in a list that has one without a name")

#define FEATURE_ENUM(id, text) FEATURE_##id,
enum feature { FEATURE_MAP(FEATURE_ENUM) FEATURES };
#undef FEATURE_ENUM

/* What it is. */
const char *feature_text(enum feature feature);

/* Does it come up in fewer than one of eight simulations? */
bool feature_is_rare(enum feature feature);

#endif
