/* SPDX-License-Identifier: Apache-2.0 */
/*
 * feature - counts the situations that hooks and watches came into during the simulations: a
 * situation that never came up was not tested.
 */
#ifndef SIM_FEATURE_H
#define SIM_FEATURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* XX(identifier, text): one situation each. */
#define FEATURE_MAP(XX)                                                                 \
    XX(OBJECT, "run in mode object")                                                    \
    XX(BATCH, "run in mode batch")                                                      \
    XX(SNAPSHOT, "run in mode snapshot")                                                \
    XX(EXISTING, "reason existing")                                                     \
    XX(CHANGE, "reason change")                                                         \
    XX(RETRY, "reason retry")                                                           \
    XX(RERUN, "reason rerun")                                                           \
    XX(MANUAL, "reason manual")                                                         \
    XX(BEHIND_ANY, "run while another source is not synced")                            \
    XX(LATE_SOURCE, "source seen after the first run")                                  \
    XX(WAITED_AFTER, "hook kept waiting only by another hook's first runs")             \
    XX(WAITED_STALE, "hook stopped by a stale source")                                  \
    XX(PAUSED, "hook paused")                                                           \
    XX(PAUSED_DUE, "hook resumed that had a run due")                                   \
    XX(ORDER, "manual run of one key, or of a hook in mode batch or snapshot")          \
    XX(ORDER_ALL, "manual run of all keys")                                             \
    XX(ORDER_RUNNING, "manual run wanted while a run is under way")                     \
    XX(ORDER_VOID, "manual run that had nothing to tell when its turn came")            \
    XX(ORDER_REFUSED, "manual run refused")                                             \
    XX(HOT_START, "source that kept changing when it was first seen")                   \
    XX(SKIPPED, "existing object skipped")                                              \
    XX(BURST, "change during the settle time")                                          \
    XX(LIMIT, "burst cut off by the limit of settle")                                   \
    XX(MIN_INTERVAL, "start delayed by min_interval")                                   \
    XX(SPLAY, "start delayed by splay")                                                 \
    XX(SPLAY_RERUN, "rerun delayed by splay")                                           \
    XX(NO_SLOT, "run due without a free slot")                                          \
    XX(SHARED, "start in a shared slot")                                                \
    XX(OWN_SLOT, "start in the hook's own slot while another hook hangs")               \
    XX(HANG, "run that hangs for minutes")                                              \
    XX(TIMEOUT, "run that is killed at its timeout")                                    \
    XX(NOT_STARTED, "run that the system could not start (shortage)")                   \
    XX(NOT_STARTED_ORDER, "manual run that the system could not start")                 \
    XX(UNFIT, "run that cannot get its fields")                                         \
    XX(PARK_EXIT, "parked by its exit status")                                          \
    XX(PARK_ATTEMPTS, "parked when attempts were used up")                              \
    XX(CHANGED_RUNNING, "failed run of a key that changed meanwhile")                   \
    XX(UNPARKED, "unparked by a change")                                                \
    XX(FORWARD, "retry brought forward by a change")                                    \
    XX(NEW_BACKOFF, "backoff begun anew by another incarnation or an end")              \
    XX(GAVE_WAY, "DELETED superseded by the next incarnation")                          \
    XX(NEXT_LIFE, "DELETED delivered together with ADDED of the next incarnation")      \
    XX(TWO_ENDS, "ends of two incarnations in one run")                                 \
    XX(CANCELLED, "change that was undone before a run delivered it")                   \
    XX(UNDONE, "change back to the handled state after a run that failed")              \
    XX(OLD, "run that gets the last handled state")                                     \
    XX(MORE_PATHS, "changed: more than what differs from the last handled state")       \
    XX(VIEW_NOTHING, "change of the view's watches that changes nothing in the view")   \
    XX(VIEW_MOVED, "slice that moved to another Service")                               \
    XX(VIEW_DRAINING, "draining endpoints in use")                                      \
    XX(VIEW_HELD, "endpoints held")                                                     \
    XX(VIEW_LET_GO, "held endpoints given up when their time was over")                 \
    XX(VIEW_NAME, "Service that became an ExternalName, or left")                       \
    XX(VIEW_LIFE, "Service of another incarnation at the next look")                    \
    XX(VIEW_STALE, "view that went on while it was stale")                              \
    XX(FILE_SAME, "file that already had the right content")                            \
    XX(FILE_FOUND, "file with the right content that may never have been applied")      \
    XX(FILE_LATE, "file in place although the run failed")                              \
    XX(FILE_REMOVED, "file removed")                                                    \
    XX(FILE_TAKEN, "key refused, as another key has its file")                          \
    XX(FILE_NOT_OWN, "end of a key that has no file, as another key has it")            \
    XX(FILE_FREED, "file that another key may have now")                                \
    XX(APPLY, "files applied")                                                          \
    XX(APPLY_FIRST, "files of first runs applied")                                      \
    XX(APPLY_RETRY, "apply tried again")                                                \
    XX(APPLY_AGAIN, "file written while apply ran")                                     \
    XX(APPLY_HELD, "apply beside the command, after the longest wait for it")           \
    XX(APPLY_ORDERED, "apply of a manual run")                                          \
    XX(APPLY_PARKED, "apply parked when attempts were used up")                         \
    XX(APPLY_NOT_STARTED, "apply that the system could not start (shortage)")           \
    XX(APPLY_SHARED, "one apply for several hooks")                                     \
    XX(OUTAGE, "STALE or FRESH delivered")                                              \
    XX(RESUMED, "scope synced without a list after a restart")                          \
    XX(ELSEWHERE, "request that went to another server without a wait")                 \
    XX(RELIST_END, "DELETED found by a later list")                                     \
    XX(UNVERSIONED, "list without a version")                                           \
    XX(BESIDE, "list beside a watch without a version")                                 \
    XX(BESIDE_END, "DELETED found by a list beside a watch")                            \
    XX(BESIDE_LOST, "list beside a watch that failed, or whose watch ended first")      \
    XX(BOOKMARKED, "watch from a bookmark, of a resource whose lists have no version")  \
    XX(NO_REVISION, "watch sent to another process, which does not tell its revision")  \
    XX(NOT_RESUMED, "scope that had to list after a restart")                           \
    XX(RENEWED, "watch renewed without a gap")                                          \
    XX(RENEWED_COMMON, "watch renewed that repeats events")                             \
    XX(RENEWAL_REFUSED, "second watch of a renewal that failed")                        \
    XX(RENEWAL_DROPPED, "watch that ended while it was renewed")                        \
    XX(BEGUN_STALE, "watch that began stale, as no server answered")                    \
    XX(BEGUN_RELOADED, "watch that began stale after a reload")                         \
    XX(BEGUN_MISSED, "change found by a watch that began stale, before it caught up")   \
    XX(LOST, "object lost on disk")                                                     \
    XX(EDITED, "watch with other settings after a restart")                             \
    XX(MISSED, "change found by a list after a restart")                                \
    XX(MISSED_END, "DELETED found by a list after a restart")                           \
    XX(MISSED_LEFT, "object that other settings do not select")                         \
    XX(REPLAYED, "change sent to a watch that was resumed")                             \
    XX(WARM, "daemon started again in calm weather without a list")                     \
    XX(KILLED, "run that was killed with the daemon")                                   \
    XX(KILLED_OPENING, "run that waited for its delivery records when the daemon died") \
    XX(STOPPED, "run that ended as the daemon was stopped in order")                    \
    XX(KEPT, "start with hooks that an earlier process had")                            \
    XX(KEPT_LATE, "delivery record that was not on disk when the daemon died")          \
    XX(KEPT_AGAIN, "handled state delivered again, as its run was in flight")           \
    XX(KEPT_BACK, "state delivered that was handled before the one in flight")          \
    XX(KEPT_CHANGE, "change delivered of a state that an earlier process handled")      \
    XX(KEPT_END, "end delivered that was known before, or that the watch announced")    \
    XX(KEPT_GONE, "end delivered that no process has seen")                             \
    XX(KEPT_OLD, "handled state known as a whole again")                                \
    XX(KEPT_TRACE, "handled state of which only the digest is left")                    \
    XX(KEPT_RENEW, "handled state delivered again, as its effects are gone")            \
    XX(KEPT_RENEWAL, "renewal delivered that an earlier process has not handled")       \
    XX(KEPT_SNAPSHOT, "snapshot owed by an earlier process")                            \
    XX(KEPT_APPLY, "apply owed by an earlier process")                                  \
    XX(KEPT_PARKED, "parked over a restart, and still parked when all is quiet")        \
    XX(KEPT_PAUSE, "paused over a restart")                                             \
    XX(KEPT_SKIP, "source whose existing objects are skipped")                          \
    XX(KEPT_SUCCESSOR, "two incarnations of one key known from before")                 \
    XX(KEPT_QUIET, "daemon started again whose hooks had nothing to run for")           \
    XX(BARE, "object of which only the delivery record is left")                        \
    XX(ODD_ITEM, "item of a list that cannot be used")                                  \
    XX(ODD_INITIAL, "initial event that cannot be used")                                \
    XX(ODD_EVENT, "event that cannot be used")                                          \
    XX(ODD_KEPT, "old state kept of an object that cannot be used")                     \
    XX(ODD_AGAIN, "usable state of an object that could not be used")                   \
    XX(ODD_END, "end of an object that could not be used")                              \
    XX(ODD_RESTORED, "object that cannot be used, known over a restart")                \
    XX(ODD_UNNAMED, "object without a name")                                            \
    XX(ODD_MISSING, "object missing in a list with an item without a name")             \
    XX(RELOAD_EMPTY, "scope that a reload replaced before it had anything")             \
    XX(RELOAD_PARTIAL, "scope that a reload replaced while its version was in doubt")   \
    XX(RELOAD_RESHAPED, "scope that a reload replaced, with other parts of objects")    \
    XX(RELOAD_EDITED, "scope that a reload replaced, with other selectors")             \
    XX(RELOAD_WHOLE, "scope that a reload replaced without a list")                     \
    XX(RELOAD_ALONE, "calm weather: scope that a reload replaced, and nobody listed")   \
    XX(RELOAD_QUIET, "calm weather: hook replaced that has nothing to run for")         \
    XX(RELOAD_CHANGED, "hook that a reload changed in place")                           \
    XX(RELOAD_SOONER, "wait that ends sooner by other settings")                        \
    XX(RELOAD_FEWER, "more runs under way than the new concurrency")                    \
    XX(RELOAD_REPLACED, "hook that a reload replaced")                                  \
    XX(RELOAD_RUNNING, "hook whose runs ended before a reload replaced or dropped it")  \
    XX(RELOAD_RENEWED, "hook that a reload renewed")                                    \
    XX(RELOAD_DROPPED, "hook that a reload dropped")                                    \
    XX(RELOAD_ADDED, "hook that a reload added")                                        \
    XX(RELOAD_UNSYNCED, "hook that a reload gave a source which was not synced")

#define FEATURE_ENUM(id, text) FEATURE_##id,
enum feature { FEATURE_MAP(FEATURE_ENUM) FEATURES };
#undef FEATURE_ENUM

/* The text of the situation. */
const char *feature_text(enum feature feature);

/* Is the situation so rare that fewer than one simulation of eight comes into it? */
bool feature_is_rare(enum feature feature);

#endif
